"""What leaves a function, held against what its declaration and its decorators promise [C §2, §7, §9.3]."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import msgspec

from .model import ANY, BARE, GROUNDED, NULL, OPEN, Environment, Function, Slot, cells
from .value_lattice import BARE as BARE_KINDS
from .value_lattice import NONE, NOTHING, SEVERED, SOURCELESS, UNKNOWN, WRAPPED, Value, join, only

if TYPE_CHECKING:
    from .machine import Machine


def promise_of(machine: Machine, function: Function) -> Slot:
    """What the function gives: as declared, and `Grounded` if its data has `grounded` [C §9.1].

    What a tool's or a prompt's body returns is the plain value; it promises nothing.
    """
    if isinstance(function.node, ast.Lambda) or function.role.external:
        return OPEN
    slot = machine.slot(function.env, function.node.returns)
    if function.role.grounded and slot.plain and slot.accepts & BARE:
        return msgspec.structs.replace(slot, accepts=slot.accepts & ~BARE | GROUNDED, element=None, items=(), kind="")
    return slot


def returned(machine: Machine, env: Environment, node: ast.AST, value: Value) -> None:
    """`return value`, or the end of the body."""
    env.returned, env.came_back = join(env.returned, value), True
    function, slot = env.function, env.promise
    if function is None or slot is None or function.role.external:
        return
    value = _of_parts(value) if slot.accepts & GROUNDED else value
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
    if slot.accepts & NULL:
        wrong &= ~NONE
    if not wrong or slot.accepts & ANY:
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
