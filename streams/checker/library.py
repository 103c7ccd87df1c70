"""Calls of the library itself: its decorators and what they say of a function, `Grounded`, `template` (grounded.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .arguments import inside
from .model import Arguments, Environment, Function, cells
from .roles import Role
from .sites import GROUNDED_FACE, UNWRAP
from .value_lattice import ANYTHING, MAYBE, NOTHING, SOME_PLAIN, Bound, Value, derive, of

if TYPE_CHECKING:
    from .machine import Machine


class Decorator(msgspec.Struct, frozen=True):
    """`@tool(…)` and its kind, ready to be applied."""

    role: Role


def decorate(machine: Machine, env: Environment, decorator: Decorator, given: Arguments) -> Value:
    """Applies a decorator of the library to a function."""
    role = decorator.role
    for one in given.value(0).refs:
        target = one.target if type(one) is Bound else one
        if type(target) is Function:
            old = target.role
            target.role = (
                msgspec.structs.replace(role, pure=old.pure or role.pure)
                if role.kind
                else msgspec.structs.replace(old, pure=True)
            )
    return given.value(0)


def library(machine: Machine, env: Environment, name: str, given: Arguments) -> Value:
    if name in ("tool", "prompt", "agent", "grounded_pure"):
        role = role_from(name, given)
        if given.positional and any(type(one) is Function for one in given.value(0).refs):
            return decorate(machine, env, Decorator(role), given)
        return of(Decorator(role))
    if name == "discarding":
        machine.impure(env, given.node, "explicit-unwrap", "discarding() declares that sources may go")
        return ANYTHING
    if name in ("to_record", "enc_hook"):
        for one in given.each():
            machine.flow_anywhere(env, one.node, one.value, "argument", f"{name}()")  # the plain value lies in it
        return ANYTHING
    if name == "Answer":
        return _answer(given)
    head, _, last = name.partition(".")
    if head in ("Grounded", "template"):
        if last == UNWRAP:
            return SOME_PLAIN
        if last and last not in GROUNDED_FACE:
            for one in given.each():
                if one.value.wrapped:
                    machine.coerced(env, one.node, "attribute", name)
            return ANYTHING
        found = NOTHING
        for one in given.each():
            value = inside(one.value) if cells(one.value) else one.value
            found = derive(found, value) if found.kinds else value
        if (last or head == "template") and found.kinds:
            return derive(found, SOME_PLAIN)
        return Value(MAYBE, open=True)
    return ANYTHING


def _answer(given: Arguments) -> Value:
    """`Answer(value, confidence=…)` is its value, and no surer than it says."""
    found, said = given.value(0, "value"), _number(given, "confidence")
    if not found.kinds or given.spread or given.doubled:
        return ANYTHING
    if said is not None and said < found.confidence:
        found = msgspec.structs.replace(found, confidence=said, weakest="an Answer")
    return found


def role_from(name: str, given: Arguments) -> Role:
    """Reads the arguments of a decorator; what is no literal leaves everything possible."""
    if name == "grounded_pure":
        return Role(pure=True)
    data, is_known = frozenset[str](), True
    if "data" in given.named:
        data, is_known = categories(given.named["data"].value)
    if given.doubled:
        is_known = False
    confidence = _number(given, "confidence")
    return Role(
        name, False, data, is_known, 1.0 if confidence is None else confidence, _number(given, "min_confidence")
    )


def _number(given: Arguments, name: str) -> float | None:
    const = given.named[name].value.const if name in given.named else None
    return float(const) if isinstance(const, int | float) else None


def categories(value: Value) -> tuple[frozenset[str], bool]:
    """The data categories that a value spells out, and whether it spells them all out."""
    if isinstance(value.const, str):
        return frozenset((value.const,)), True
    found: set[str] = set()
    whole = bool(cells(value)) or value.kinds == 1
    for cell in cells(value):
        for one in (*cell.items.values(), *((cell.rest,) if cell.rest.kinds else ())):
            if isinstance(one.const, str):
                found.add(one.const)
            else:
                whole = False
    return frozenset(found), whole
