"""What functions take and give: how a call's arguments meet parameters, and what `return` and `yield` promise."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .machine import assumed
from .model import (
    ACCEPTS_ANY,
    ACCEPTS_BARE,
    ACCEPTS_GROUNDED,
    ACCEPTS_NONE,
    ANYTHING,
    NONE,
    NOTHING,
    OPEN,
    SEVERED,
    SOME_PLAIN,
    SOURCELESS,
    UNKNOWN,
    WRAPPED,
    Arguments,
    Environment,
    Function,
    Given,
    Slot,
    Value,
    cells,
    derive,
    join,
    of,
    only,
    union,
)
from .model import BARE as BARE_KINDS

if TYPE_CHECKING:
    from .machine import Machine
    from .model import Function

BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements stand in one another."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_stub(node: ast.AST) -> bool:
    """A body that says nothing: of a protocol, an overload, an abstract method."""
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Raise) and "NotImplemented" in ast.dump(one))
        for one in getattr(node, "body", [])
    )


def is_generator(machine: Machine, function: Function) -> bool:
    """Whether calling it gives an iterator."""
    if not function.module.has_yield:
        return False
    key = ("generator", function.node)
    if key not in machine.memo:
        node = function.node
        machine.memo[key] = not isinstance(node, ast.Lambda) and _yields(node.body)
    return machine.memo[key]


def _yields(body: list[Any]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, (*_SCOPES, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(one))
    return False


def annotated(machine: Machine, function: Function) -> list[tuple[str, ast.expr]]:
    """The annotated names of a body: an annotation holds for the whole of it, wherever it stands."""
    key = ("annotated", function.node)
    if key not in machine.memo:
        waiting: list[Any] = [function.node]
        found: list[tuple[str, ast.expr]] = []
        while waiting:
            one = waiting.pop()
            for name in BODIES:
                inner: list[Any] | None = getattr(one, name, None)
                if isinstance(inner, list):
                    waiting += [node for node in inner if not isinstance(node, _SCOPES)]
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                found.append((one.target.id, one.annotation))
        machine.memo[key] = found
    return machine.memo[key]


def collect(machine: Machine, env: Environment, node: ast.Call, keeps: bool = False) -> Arguments:
    """Evaluates the arguments of a call; a grounded value behind a `*` or `**` is taken apart.

    Args:
        keeps: the function that is called keeps the sources of what lies in a list that is written out here.
    """
    found = Arguments(node)
    if keeps:
        machine.handed_over.update(one.value if isinstance(one, ast.Starred) else one for one in node.args)
        machine.handed_over.update(one.value for one in node.keywords)
    for one in node.args:
        if isinstance(one, ast.Starred):
            value = machine.evaluate(env, one.value)
            if value.wrapped:
                machine.coerced(env, one, "unpacking")
            found.spread.append(Given(one, inside(value)))
        else:
            found.positional.append(Given(one, machine.evaluate(env, one)))
    for keyword in node.keywords:
        value = machine.evaluate(env, keyword.value)
        if keyword.arg is not None:
            found.named[keyword.arg] = Given(keyword.value, value)
            continue
        if value.wrapped:
            machine.coerced(env, keyword.value, "unpacking")
        known = [one for one in cells(value) if one.kind == "dict"]
        for cell in known:
            found.named |= {name: Given(keyword.value, cell.item(name)) for name in cell.items if isinstance(name, str)}
        found.doubled.append(Given(keyword.value, known[0].rest if len(known) == 1 else inside(value)))
    return found


def inside(value: Value) -> Value:
    """Any one of the elements of a container, or of a grounded one."""
    own = derive(value, SOME_PLAIN) if value.wrapped else NOTHING
    found = union([own, *(one.elements() for one in cells(value))])
    return found if found.kinds else ANYTHING


def parameters(function: Function) -> list[ast.arg]:
    """The positional parameters, then those by name."""
    own = function.node.args
    return [*own.posonlyargs, *own.args, *own.kwonlyargs]


def meet(machine: Machine, env: Environment, function: Function, given: Arguments) -> dict[str, Value]:
    """Binds arguments to parameters; what is grounded may only go where a `Grounded` is awaited [C §9.3]."""
    own = function.node.args
    positional = [*own.posonlyargs, *own.args]
    values: dict[str, Value] = {}
    left = list(given.positional)
    if given.receiver is not None and positional:
        values[positional[0].arg] = given.receiver
        positional = positional[1:]
    for one in positional:
        if left:
            values[one.arg] = _passed(machine, env, function, one, left.pop(0))
        elif one.arg in given.named:
            values[one.arg] = _passed(machine, env, function, one, given.named[one.arg])
        elif extras := [*given.spread, *given.doubled]:
            values[one.arg] = union(_passed(machine, env, function, one, extra) for extra in extras)
    for one in own.kwonlyargs:
        if one.arg in given.named:
            values[one.arg] = _passed(machine, env, function, one, given.named[one.arg])
        for extra in given.doubled:
            if one.arg not in given.named:
                values[one.arg] = _passed(machine, env, function, one, extra)
    taken = {one.arg for one in (*positional, *own.kwonlyargs)}
    if own.vararg:
        values[own.vararg.arg] = _rest(machine, env, function, own.vararg, [*left, *given.spread], "tuple")
    if own.kwarg:
        more = {name: one for name, one in given.named.items() if name not in taken}
        rest = _rest(machine, env, function, own.kwarg, [*more.values(), *given.doubled], "dict")
        for name, one in more.items():
            machine.put(cells(rest)[0], name, one.value)
        values[own.kwarg.arg] = rest
    for one in parameters(function):
        if one.arg not in values:
            values[one.arg] = function.defaults.get(one.arg) or as_declared(machine, function, one)
    return values


def _passed(machine: Machine, env: Environment, function: Function, parameter: ast.arg, given: Given) -> Value:
    slot = machine.slot(function.env, parameter.annotation)
    value = given.value
    if function.role.kind or isinstance(function.node, ast.Lambda):
        # Tools, prompts and agents take a Grounded wherever they are [C §9.4]; a lambda cannot be annotated, and is
        # followed as if it stood here.
        pass
    elif value.wrapped:
        if not slot.accepts & ACCEPTS_GROUNDED:
            machine.coerced(env, given.node, "argument", f"{parameter.arg!r} of {function.name}")
            if env.origin:
                # It has lost its wrapper here; what becomes of it further on is the same fault, reported once.
                value = msgspec.structs.replace(value, kinds=UNKNOWN)
    else:
        machine.flow(env, given.node, value, slot, "argument", f"{parameter.arg!r} of {function.name}")
    return assumed(machine, slot, parameter) if value.kinds == UNKNOWN and slot is not OPEN else value


def _rest(
    machine: Machine, env: Environment, function: Function, parameter: ast.arg, given: list[Given], kind: str
) -> Value:
    cell = machine.cell((given[0].node if given else parameter, function.node, kind), kind)
    for one in given:
        machine.put(cell, None, _passed(machine, env, function, parameter, one))
    return of(cell)


def as_declared(machine: Machine, function: Function, parameter: ast.arg) -> Value:
    """What a parameter holds by its annotation."""
    return assumed(machine, machine.slot(function.env, parameter.annotation), parameter)


def declared_values(machine: Machine, function: Function) -> dict[str, Value]:
    """The parameters of a function that is followed by itself."""
    values = {one.arg: as_declared(machine, function, one) for one in parameters(function)}
    for name, default in function.defaults.items():
        if default.wrapped or default.refs:
            values[name] = join(values[name], default)
    own = function.node.args
    if own.vararg:
        values[own.vararg.arg] = _declared_rest(machine, function, own.vararg, "tuple")
    if own.kwarg:
        values[own.kwarg.arg] = _declared_rest(machine, function, own.kwarg, "dict")
    first = [*own.posonlyargs, *own.args][:1]
    if function.owner is not None and first and "staticmethod" not in function.decorated:
        is_class = "classmethod" in function.decorated or function.name == "__new__"
        values[first[0].arg] = of(function.owner if is_class else function.owner.cell)
    return values


def _declared_rest(machine: Machine, function: Function, parameter: ast.arg, kind: str) -> Value:
    cell = machine.cell((parameter, "declared"), kind)
    machine.put(cell, None, as_declared(machine, function, parameter))
    cell.keys = SOME_PLAIN
    return of(cell)


def call_unknown(machine: Machine, env: Environment, given: Arguments, name: str, inert: bool = False) -> Value:
    """A call that leads out of sight: nothing grounded may go there [C §9.3], anything may come back."""
    for one in given.each():
        machine.flow_anywhere(env, one.node, one.value, "argument", name)
    env.open = env.open or not inert
    return ANYTHING


def promise_of(machine: Machine, function: Function) -> Slot:
    """What the function gives: as declared, and `Grounded` if its data has `grounded` [C §9.1].

    What a tool's or a prompt's body returns is the plain value; it promises nothing.
    """
    if isinstance(function.node, ast.Lambda) or function.role.external:
        return OPEN
    slot = machine.slot(function.env, function.node.returns)
    if function.role.grounded and slot.plain and slot.accepts & ACCEPTS_BARE:
        return msgspec.structs.replace(
            slot, accepts=slot.accepts & ~ACCEPTS_BARE | ACCEPTS_GROUNDED, element=None, items=(), kind=""
        )
    return slot


def returned(machine: Machine, env: Environment, node: ast.AST, value: Value) -> None:
    """`return value`, or the end of the body."""
    env.returned, env.came_back = join(env.returned, value), True
    function, slot = env.function, env.promise
    if function is None or slot is None or function.role.external:
        return
    value = _of_parts(value) if slot.accepts & ACCEPTS_GROUNDED else value
    machine.flow(env, node, value, slot, "return", function.name)
    if not env.own or function.opaque:
        return
    _grounded(machine, env, node, value, slot, function)
    least = function.role.min_confidence
    if least is not None and value.confidence < least:
        weakest = f" through {value.weakest}" if value.weakest else ""
        machine.report(
            env,
            node,
            "unreachable-confidence",
            f"{function.name} demands a confidence of {least:g}, but what it returns passes{weakest} "
            f"with at most {value.confidence:g}",
        )


def _of_parts(value: Value) -> Value:
    """A container of grounded values returned as one `Grounded`: the run time takes the wrapper round the whole."""
    found = NOTHING
    for one in cells(value):
        inside = one.elements() if one.kind != "instance" else NOTHING
        found = join(found, inside if inside.wrapped else _of_parts(inside))
    return only(found, WRAPPED | UNKNOWN) if found.wrapped and not value.wrapped else value


def yielded(machine: Machine, env: Environment, node: ast.AST, value: Value) -> None:
    """`yield value`: held against the element of the declared iterator."""
    function = env.function
    if function is None:
        return
    cell = env.yielded
    if cell is None:
        cell = env.yielded = machine.cell((function.node, "yield"), "generator")
    machine.put(cell, None, value)
    slot = OPEN if env.promise is None else env.promise.element or OPEN
    machine.flow(env, node, value, slot, "yield", function.name)
    if env.own and not function.opaque and not function.role.external:
        _grounded(machine, env, node, value, slot, function)


def _grounded(machine: Machine, env: Environment, node: ast.AST, value: Value, slot: Slot, function: Function) -> None:
    if not slot.promises:
        return
    wrong = value.kinds & (BARE_KINDS | SOURCELESS | SEVERED)
    if slot.accepts & ACCEPTS_NONE:
        wrong &= ~NONE
    if not wrong or slot.accepts & ACCEPTS_ANY:
        return
    what = _what(value, wrong)
    always = "" if value.kinds == wrong else " on some path"
    machine.report(
        env,
        node,
        "ungrounded-return",
        f"{function.name} is declared to return Grounded, but returns {what}{always}; {_hint(machine, env, value)}",
    )


def _what(value: Value, wrong: int) -> str:
    if wrong & SEVERED:
        return "a severed chain, which can claim no grounding any more"
    if wrong & SOURCELESS:
        return f"a chain without a retrieval ({value.note})" if value.note else "a chain without a retrieval"
    if wrong == NONE:
        return "None"
    return value.note or "a plain value"


def _hint(machine: Machine, env: Environment, value: Value) -> str:
    """Points at the missing retrieval [C §2]: the tools at hand that would be a source."""
    tools = sorted(
        {
            name
            for name in env.module.env.names
            for one in machine.lookup(env.module.env, name).refs
            if type(one) is Function and one.role.kind == "tool" and one.role.grounded
        }
    )
    if value.kinds & SEVERED and not value.kinds & WRAPPED & ~SEVERED:
        return "declare a plain return type, or return what was not severed"
    if tools:
        shown = ", ".join(f"{one}()" for one in tools[:3])
        return f"the retrieval is missing: let the result of {shown} flow into it"
    return 'the retrieval is missing: no tool with data="grounded" feeds it'
