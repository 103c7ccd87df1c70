"""Conditions and containers: what a condition tells of the names in it, and what lists, mappings, comprehensions,
indexes and awaited values hold.

Without the former every `doc = None` before a loop would be held against the return after `if doc is None: raise`.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING, Any

from .machine import merge
from .model import (
    ANYTHING,
    BARE,
    DECLARED_PLAIN,
    MAYBE,
    NONE,
    NOTHING,
    PLAIN,
    SOME_PLAIN,
    UNKNOWN,
    WRAPPED,
    Arguments,
    Cell,
    Environment,
    Given,
    Klass,
    Named,
    TypeForm,
    Value,
    cells,
    derive,
    join,
    of,
    of_class,
    only,
    union,
)

if TYPE_CHECKING:
    from .machine import Machine
    from .model import Environment, State


def narrowed(machine: Machine, env: Environment, test: ast.expr, positive: bool) -> State:
    """The names as they are where the test is true, or where it is not."""
    changes: dict[str, Value] = {}
    _collect(machine, env, test, positive, changes)
    return env.names | changes if changes else env.names


def _collect(machine: Machine, env: Environment, test: ast.expr, positive: bool, changes: dict[str, Value]) -> None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _collect(machine, env, test.operand, not positive, changes)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == positive:
            for one in test.values:
                _collect(machine, env, one, positive, changes)
    elif isinstance(test, ast.NamedExpr):
        _collect(machine, env, test.target, positive, changes)
    elif isinstance(test, ast.Name):
        if positive:
            _keep(env, test.id, ~NONE, changes)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _compared(env, test, positive, changes)
    elif isinstance(test, ast.Call) and len(test.args) == 2 and getattr(test.func, "id", "") == "isinstance":
        _instance(machine, env, test, positive, changes)


def _compared(env: Environment, test: ast.Compare, positive: bool, changes: dict[str, Value]) -> None:
    left = test.left.target if isinstance(test.left, ast.NamedExpr) else test.left
    other = test.comparators[0]
    if not isinstance(left, ast.Name) or not isinstance(other, ast.Constant) or other.value is not None:
        return
    if isinstance(test.ops[0], ast.Is | ast.Eq):
        _keep(env, left.id, NONE | UNKNOWN if positive else ~NONE, changes)
    elif isinstance(test.ops[0], ast.IsNot | ast.NotEq):
        _keep(env, left.id, ~NONE if positive else NONE | UNKNOWN, changes)


def _instance(machine: Machine, env: Environment, test: ast.Call, positive: bool, changes: dict[str, Value]) -> None:
    subject = test.args[0]
    if not isinstance(subject, ast.Name):
        return
    kinds = machine.evaluate(env, test.args[1]).refs
    if any(type(one) is Named and one.kind == "library" and one.name == "Grounded" for one in kinds):
        old = changes.get(subject.id, env.names.get(subject.id))
        if positive and old is not None and old.kinds & UNKNOWN and not old.wrapped:
            changes[subject.id] = Value(MAYBE, old.confidence, old.data, True)
        else:
            _keep(env, subject.id, WRAPPED if positive else BARE | UNKNOWN, changes)
    elif kinds and all(type(one) is Named and one.kind == "builtin" for one in kinds):
        _keep(env, subject.id, BARE & ~NONE | UNKNOWN if positive else ~0, changes)


def _keep(env: Environment, name: str, kinds: int, changes: dict[str, Value]) -> None:
    old = changes.get(name, env.names.get(name))
    if old is not None:
        new = only(old, kinds)
        if new is not old:
            changes[name] = new


def truth(machine: Machine, env: Environment, node: ast.expr) -> Value:
    """Evaluates a condition: the truth of a grounded value is taken [C §9.2], which is a site."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        truth(machine, env, node.operand)
        return SOME_PLAIN
    return machine.taken(env, node, "condition")


def is_type(value: Value) -> bool:
    return any(
        type(one) in (Klass, TypeForm) or (type(one) is Named and one.kind in ("library", "builtin", "external"))
        for one in value.refs
    )


def spread(machine: Machine, env: Environment, node: ast.expr, value: Value, site: str = "iteration") -> Value:
    """What iterating over a value gives."""
    if value.wrapped:
        machine.coerced(env, node, site)
        return elements(value)
    own = special(machine, env, node, value, "__iter__")
    return elements(value) if own is None else elements(own)


def special(
    machine: Machine, env: Environment, node: ast.expr, value: Value, name: str, argument: Value | None = None
) -> Value | None:
    """Calls a special method that a class of the given files defines; None where there is none."""
    members = [of_class(one.klass, name, of(one), True) for one in cells(value) if one.klass is not None]
    given = Arguments(node, [] if argument is None else [Given(node, argument)])
    results = [machine.call(env, member, given) for member in members if member.refs]
    return union(results) if results else None


def elements(value: Value) -> Value:
    """What iterating over a container gives: the keys of a mapping, the elements of all others; grounded items of a
    grounded one, as the library has it."""
    if value.kinds & UNKNOWN and not value.refs and not value.wrapped:
        return ANYTHING
    own = derive(value, SOME_PLAIN) if value.wrapped else NOTHING
    found = union([own, *(one.keys if one.kind == "dict" else _any_of(one) for one in cells(value))])
    if found.kinds:
        return found
    return ANYTHING if value.kinds & UNKNOWN or cells(value) else SOME_PLAIN


def sequence(machine: Machine, env: Environment, node: ast.List | ast.Tuple | ast.Set) -> Value:
    cell = machine.cell(node, type(node).__name__.lower())
    exact = True
    found: list[tuple[ast.expr, Value]] = []
    for place, one in enumerate(node.elts):
        if isinstance(one, ast.Starred):
            exact = False
            value = spread(machine, env, one, machine.evaluate(env, one.value), "unpacking")
        else:
            value = machine.evaluate(env, one)
        machine.put(cell, place if exact else None, value)
        found.append((one, value))
    if (
        not isinstance(node, ast.Tuple)
        and node not in machine.handed_over
        and any(one.kinds & PLAIN and not one.wrapped for _, one in found)
    ):
        # Lists and sets are of one type: where some elements are plain, so is the element type [C §9.3].
        for one, value in found:
            if value.wrapped:
                machine.coerced(env, one, "element", "the other elements are plain")
    return of(cell)


def mapping(machine: Machine, env: Environment, node: ast.Dict) -> Value:
    cell = machine.cell(node, "dict")
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = machine.evaluate(env, value_node)
        if key is None:
            if value.wrapped:
                machine.coerced(env, value_node, "unpacking")
            for one in cells(value):
                machine.put(cell, None, one.elements())
                cell.keys = join(cell.keys, one.keys)
            continue
        name = machine.evaluate(env, key)
        cell.keys = join(cell.keys, name)
        machine.put(cell, name.const, value)
    return of(cell)


def subscript(machine: Machine, env: Environment, node: ast.Subscript) -> Value:
    value = machine.evaluate(env, node.value)
    if value.refs and not cells(value) and is_type(value):
        return of(TypeForm(node, env))
    if value.wrapped:
        return derive(value, _grounded_key(machine, env, node.slice))  # an operator [C §9.1], whatever the key
    key = machine.taken(env, node.slice, "index")
    own = special(machine, env, node, value, "__getitem__", key)
    if own is not None:
        return own
    found = union(of(one) if isinstance(node.slice, ast.Slice) else _item(one, key) for one in cells(value))
    if found.kinds:
        return found
    return ANYTHING if value.kinds & UNKNOWN or value.refs else SOME_PLAIN


def _grounded_key(machine: Machine, env: Environment, node: ast.expr) -> Value:
    if not isinstance(node, ast.Slice):
        return machine.evaluate(env, node)
    return reduce(derive, (machine.evaluate(env, one) for one in parts_of(node)), SOME_PLAIN)


def parts_of(node: ast.Slice) -> list[ast.expr]:
    """The expressions of a slice that are there."""
    return [one for one in (node.lower, node.upper, node.step) if one is not None]


def _item(cell: Any, key: Value) -> Value:
    if cell.kind == "instance":
        return ANYTHING
    if isinstance(key.const, str | int) and key.const in cell.items:
        return cell.item(key.const)
    return _any_of(cell)


def _any_of(cell: Cell) -> Value:
    """One of its elements; of a container that nothing was put into where we look, what it is declared to hold."""
    found = cell.elements()
    if found.kinds or found.refs or cell.declared is None or cell.declared.element is None:
        return found
    element = cell.declared.element
    return DECLARED_PLAIN if element.plain and not (element.kind or element.klass) else found


def comprehension(
    machine: Machine, env: Environment, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Value:
    before = dict(env.names)
    own = {one.id for part in node.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
    for part in node.generators:
        value = machine.evaluate(env, part.iter)
        machine.assign(env, part.target, spread(machine, env, part.iter, value), part.iter)
        for test in part.ifs:
            truth(machine, env, test)
            env.names = narrowed(machine, env, test, True)
    kind = "dict" if isinstance(node, ast.DictComp) else type(node).__name__.lower()
    cell = machine.cell(node, kind)
    if isinstance(node, ast.DictComp):
        cell.keys = join(cell.keys, machine.evaluate(env, node.key))
        machine.put(cell, None, machine.evaluate(env, node.value))
    else:
        machine.put(cell, None, machine.evaluate(env, node.elt))
    after = {name: value for name, value in env.names.items() if name not in own}
    after.update((name, before[name]) for name in own if name in before)
    env.names = merge(before, after)
    return of(cell)


def awaited(value: Value) -> Value:
    """What awaiting gives: the result of a coroutine, or an unknown value."""
    found = union(one.elements() if one.kind == "coroutine" else ANYTHING for one in cells(value))
    return found if found.kinds else ANYTHING
