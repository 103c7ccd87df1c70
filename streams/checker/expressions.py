"""What each kind of expression does with grounded values: one small function a node class, and their table.

An operator keeps the wrapper [C §9.1]; a condition, a format, an index or an iteration takes it away [C §9.2, §9.3].
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from .call_signatures import yielded
from .calls import attribute, call
from .containers import (
    awaited,
    comprehension,
    elements,
    is_type,
    mapping,
    narrowed,
    parts_of,
    sequence,
    special,
    spread,
    subscript,
    truth,
)
from .flow import assign
from .machine import assumed, merge
from .model import (
    ANYTHING,
    BARE,
    BARE_NONE,
    NO_ROLE,
    NONE,
    NOTHING,
    PLAIN,
    SOME_PLAIN,
    Environment,
    Function,
    TypeForm,
    Value,
    cells,
    derive,
    join,
    of,
    only,
)

if TYPE_CHECKING:
    from .machine import Expression, Machine

_OPERATORS: Final[dict[type, str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_LITERAL = Value(PLAIN, note="a literal")


def _constant(machine: Machine, env: Environment, node: ast.Constant) -> Value:
    value = node.value
    if value is None:
        return BARE_NONE
    if isinstance(value, str | int | float):
        return Value(PLAIN, const=value, note="a literal")
    return _LITERAL


def _name(machine: Machine, env: Environment, node: ast.Name) -> Value:
    return machine.lookup(env, node.id)


def _bool_op(machine: Machine, env: Environment, node: ast.BoolOp) -> Value:
    conjunction = isinstance(node.op, ast.And)
    before = env.names
    found = NOTHING
    for one in node.values[:-1]:
        value = truth(machine, env, one)
        found = join(found, value if conjunction else only(value, ~NONE))
        env.names = narrowed(machine, env, one, conjunction)
    found = join(found, machine.evaluate(env, node.values[-1]))
    env.names = merge(before, env.names) if env.names is not before else before
    return found


def _named(machine: Machine, env: Environment, node: ast.NamedExpr) -> Value:
    value = machine.evaluate(env, node.value)
    assign(machine, env, node.target, value, node.value)
    return value


def _bin_op(machine: Machine, env: Environment, node: ast.BinOp) -> Value:
    # A sum of thousands of terms is one long left arm: walked in a loop, it costs no depth.
    chain: list[ast.BinOp] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        chain.append(first)
        first = first.left
    left = machine.evaluate(env, first)
    for one in reversed(chain):
        left = _operate(machine, env, one, left, machine.evaluate(env, one.right))
    return left


def _operate(machine: Machine, env: Environment, node: ast.BinOp, left: Value, right: Value) -> Value:
    if isinstance(node.op, ast.BitOr) and (is_type(left) or is_type(right)):
        return of(TypeForm(node, env))
    if isinstance(node.op, ast.Mod) and isinstance(left.const, str):
        machine.flow_anywhere(env, node, right, "formatting", "`%`")
        return _LITERAL
    if left.refs or right.refs:
        name = _OPERATORS.get(type(node.op), "")
        own = special(machine, env, node, left, f"__{name}__", right)
        own = special(machine, env, node, right, f"__r{name}__", left) if own is None else own
        if own is not None:
            return own
    if isinstance(node.op, ast.Add) and left.refs and right.refs and cells(left) and cells(right):
        return join(left, right)
    return derive(left, right, "" if left.kinds & ~BARE or right.kinds & ~BARE else "a computation")


def _unary(machine: Machine, env: Environment, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return truth(machine, env, node)
    value = machine.evaluate(env, node.operand)
    if isinstance(node.op, ast.USub) and isinstance(value.const, int | float):
        return Value(PLAIN, const=-value.const, note="a literal")
    return derive(value, SOME_PLAIN)


def _lambda(machine: Machine, env: Environment, node: ast.Lambda) -> Value:
    function = Function(node, env.module, env, NO_ROLE)
    function.defaults = default_slots(machine, env, node.args)
    machine.later(function, env.origin)
    return of(function)


def default_slots(machine: Machine, env: Environment, arguments: ast.arguments) -> dict[str, Value]:
    """Default values flow into the slots of their parameters; gives them by name."""
    defaults: dict[str, Value] = {}
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for one, default in pairs:
        value = defaults[one.arg] = machine.evaluate(env, default)
        machine.flow(env, default, value, machine.slot(env, one.annotation), "argument", f"default of {one.arg!r}")
    return defaults


def _if_exp(machine: Machine, env: Environment, node: ast.IfExp) -> Value:
    truth(machine, env, node.test)
    before = env.names
    arms: list[Value] = []
    after = before
    for arm, positive in ((node.body, True), (node.orelse, False)):
        env.names = narrowed(machine, env, node.test, positive)
        arms.append(machine.evaluate(env, arm))
        after = merge(after, env.names)
        env.names = before
    env.names = after if any(isinstance(one, ast.NamedExpr) for one in ast.walk(node)) else before
    left, right = arms
    if left.wrapped and right.kinds & PLAIN and not right.wrapped:
        machine.coerced(env, node.body, "arm")
    elif right.wrapped and left.kinds & PLAIN and not left.wrapped:
        machine.coerced(env, node.orelse, "arm")
    return join(left, right)


def _joined(machine: Machine, env: Environment, node: ast.JoinedStr) -> Value:
    for one in node.values:
        if isinstance(one, ast.FormattedValue):
            # Before Python 3.12 the places inside a multi-line f-string are off: the string is the place.
            machine.flow_anywhere(env, node, machine.evaluate(env, one.value), "formatting", "f-string")
            if one.format_spec is not None:
                machine.evaluate(env, one.format_spec)
    return Value(PLAIN, note="a formatted string")


def _formatted(machine: Machine, env: Environment, node: ast.FormattedValue) -> Value:
    """Stands only inside a JoinedStr, which knows its place; by itself it is followed for what is inside."""
    return machine.evaluate(env, node.value)


def _compare(machine: Machine, env: Environment, node: ast.Compare) -> Value:
    left = machine.evaluate(env, node.left)
    found = SOME_PLAIN
    for place, (operator, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if found.wrapped:
            machine.coerced(env, node, "condition", "a chained comparison")
        right = machine.evaluate(env, other)
        if isinstance(operator, ast.Is | ast.IsNot):
            found = SOME_PLAIN
        elif isinstance(operator, ast.In | ast.NotIn):
            if left.wrapped or right.wrapped or (cells(right) and elements(right).wrapped):
                machine.coerced(env, other if place else node, "membership")
            found = SOME_PLAIN
        else:
            found = derive(left, right, "a comparison")
        left = right
    return found


def _slice(machine: Machine, env: Environment, node: ast.Slice) -> Value:
    for one in parts_of(node):
        machine.taken(env, one, "index")
    return SOME_PLAIN


def _starred(machine: Machine, env: Environment, node: ast.Starred) -> Value:
    return machine.evaluate(env, node.value)


def _await(machine: Machine, env: Environment, node: ast.Await) -> Value:
    return awaited(machine.taken(env, node.value, "await"))


def _yield(machine: Machine, env: Environment, node: ast.Yield) -> Value:
    yielded(machine, env, node, machine.evaluate(env, node.value) if node.value else BARE_NONE)
    return ANYTHING


def _yield_from(machine: Machine, env: Environment, node: ast.YieldFrom) -> Value:
    value = machine.evaluate(env, node.value)
    yielded(machine, env, node, spread(machine, env, node.value, value))
    return ANYTHING


EXPRESSIONS: Final[dict[type, Expression]] = {
    ast.Attribute: attribute,
    ast.Await: _await,
    ast.BinOp: _bin_op,
    ast.BoolOp: _bool_op,
    ast.Call: call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: mapping,
    ast.DictComp: comprehension,
    ast.FormattedValue: _formatted,
    ast.GeneratorExp: comprehension,
    ast.IfExp: _if_exp,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.List: sequence,
    ast.ListComp: comprehension,
    ast.Name: _name,
    ast.NamedExpr: _named,
    ast.Set: sequence,
    ast.SetComp: comprehension,
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.Subscript: subscript,
    ast.Tuple: sequence,
    ast.UnaryOp: _unary,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
}

__all__ = ["EXPRESSIONS", "assumed", "awaited", "elements", "truth"]
