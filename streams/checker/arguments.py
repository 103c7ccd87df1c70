"""A call's arguments, and how they meet a function's parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import msgspec

from .annotations import assumed
from .model import GROUNDED, OPEN, Arguments, Environment, Function, Given, Slot, cells
from .value_lattice import ANYTHING, NOTHING, SOME_PLAIN, UNKNOWN, Value, derive, join, of

if TYPE_CHECKING:
    from .machine import Machine


def collect(machine: Machine, env: Environment, node: ast.Call, keeps: bool = False) -> Arguments:
    """Evaluates the arguments of a call; a grounded value behind a `*` or `**` is taken apart.

    Args:
        keeps: whoever is called keeps the sources of what lies in a list that is written out here.
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
    found = derive(value, SOME_PLAIN) if value.wrapped else NOTHING
    for one in cells(value):
        found = join(found, one.elements())
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
        elif given.spread or given.doubled:
            for extra in (*given.spread, *given.doubled):
                values[one.arg] = join(values.get(one.arg, NOTHING), _passed(machine, env, function, one, extra))
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
            default = function.defaults.get(one.arg)
            values[one.arg] = default_or_declared(machine, function, one) if default is None else default
    return values


def _passed(machine: Machine, env: Environment, function: Function, parameter: ast.arg, given: Given) -> Value:
    slot = machine.slot(function.env, parameter.annotation)
    value = given.value
    if function.role.kind or isinstance(function.node, ast.Lambda):
        # Tools, prompts and agents take a Grounded wherever they are [C §9.4]; a lambda cannot be annotated, and is
        # followed as if it stood here.
        pass
    elif value.wrapped:
        if not slot.accepts & GROUNDED:
            machine.coerced(env, given.node, "argument", f"{parameter.arg!r} of {function.name}")
            if env.origin:
                # It has lost its wrapper here; what becomes of it further on is the same fault, told once.
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


def default_or_declared(machine: Machine, function: Function, parameter: ast.arg) -> Value:
    """What a parameter holds when nobody is known to pass anything: what its annotation says."""
    slot = machine.slot(function.env, parameter.annotation)
    return assumed(machine, slot, parameter)


def declared_values(machine: Machine, function: Function) -> dict[str, Value]:
    """The parameters of a function that is followed by itself."""
    values = {one.arg: default_or_declared(machine, function, one) for one in parameters(function)}
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
    slot: Slot = machine.slot(function.env, parameter.annotation)
    cell = machine.cell((parameter, "declared"), kind)
    machine.put(cell, None, assumed(machine, slot, parameter))
    cell.keys = Value(2)
    return of(cell)


def stranger(machine: Machine, env: Environment, given: Arguments, name: str, inert: bool = False) -> Value:
    """A call that leads out of sight: nothing grounded may go there [C §9.3], anything may come back."""
    for one in given.each():
        machine.flow_anywhere(env, one.node, one.value, "argument", name)
    env.open = env.open or not inert
    return ANYTHING
