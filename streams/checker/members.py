"""Members of classes: found along their bases, bound to the value that they are taken from."""

from __future__ import annotations

from typing import Any

from .model import OPEN, Function, Klass, Slot
from .value_lattice import NOTHING, Bound, Value


def of_class(klass: Klass, name: str, receiver: Value, bound: bool) -> Value:
    """A member of a class, found along its bases; functions bind their receiver, properties are called."""
    for one in klass.lineage():
        member = one.members.get(name)
        if member is not None:
            return _bind(member, receiver, bound)
    return NOTHING


def _bind(member: Value, receiver: Value, bound: bool) -> Value:
    if not any(type(one) is Function for one in member.refs):
        return member
    refs: list[Any] = []
    for one in member.refs:
        if type(one) is not Function or "staticmethod" in one.decorated:
            refs.append(one)
        elif bound or "classmethod" in one.decorated:
            refs.append(Bound(receiver, one))
        else:
            refs.append(one)
    return Value(member.kinds, refs=tuple(refs))


def field_slot(klass: Klass, name: str) -> Slot:
    """What an attribute is declared to hold."""
    for one in klass.lineage():
        if name in one.fields:
            return one.fields[name]
    return OPEN
