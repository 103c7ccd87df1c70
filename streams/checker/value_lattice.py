"""What the checker knows of a value: a small lattice (docs/check.md).

A `Value` says which *kinds* an expression may have on the paths that reach it, one bit each, and for its grounded
part the least confidence and the data categories of the chain [C §2, §6, §7]. Joining two paths unites the bits, so a
rule can ask «may it be plain here?» and «may it be grounded here?» apart. No bit at all means that nothing is known
to arrive, which raises no alarm; neither does `UNKNOWN`.

What a value may refer to is in `model` and `heap`. Never looks at a clock, a file or a hash's order.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

NONE: Final = 1
PLAIN: Final = 2
SOURCELESS: Final = 4
"""Wrapped, and certainly without a retrieval in its chain: a prompt that was given nothing retrieved."""
SEVERED: Final = 8
SOURCED: Final = 16
MAYBE: Final = 32
"""Wrapped; whether anything was retrieved is not known."""
UNKNOWN: Final = 64

WRAPPED: Final = SOURCELESS | SEVERED | SOURCED | MAYBE
BARE: Final = NONE | PLAIN
UNGROUNDED: Final = BARE | SOURCELESS | SEVERED
MAX_REFS: Final = 12
"""A value that may be more things than these is no longer followed: bounds the work on dispatch tables."""


class Value(msgspec.Struct, frozen=True):
    """An abstract value.

    Attributes:
        kinds: the bits above; 0 is «nothing arrives».
        confidence: the least declared confidence of the steps of its chain, 0 to 1 [C §7].
        data: the categories of its chain [C §6].
        open: there may be categories beside these.
        refs: what it may be: functions, classes, modules, cells.
        const: its literal value, where it has one (for decorator arguments and keys).
        note: how it came to have no source, for the hint.
        weakest: the step that has the least confidence, for the message.
    """

    kinds: int
    confidence: float = 1.0
    data: frozenset[str] = frozenset()
    open: bool = False
    refs: tuple[Any, ...] = ()
    const: str | float | bool | None = None
    note: str = ""
    weakest: str = ""

    @property
    def wrapped(self) -> bool:
        """It is, on some path, certainly a `Grounded`."""
        return self.kinds & WRAPPED != 0


NOTHING: Final = Value(0)
ANYTHING: Final = Value(UNKNOWN, open=True)
BARE_NONE: Final = Value(NONE, note="None")
SOME_PLAIN: Final = Value(PLAIN)
FROM_OUTSIDE: Final = Value(SOURCED, open=True)
"""A parameter that is annotated `Grounded[…]`: who calls has to have retrieved it."""


class Named(msgspec.Struct, frozen=True):
    """Something known by its dotted name only: a module, a builtin, the library's own, or what another file gives."""

    kind: str
    name: str
    path: str = ""


class Bound(msgspec.Struct, frozen=True):
    """A method with the value that it was taken from; `target` is its Function, or its name."""

    receiver: Value
    target: Any


@cache
def _derived_kinds(left: int, right: int) -> int:
    found = 0
    for one in _bits(left):
        for other in _bits(right):
            low, high = min(one, other), max(one, other)
            if SEVERED in (low, high):
                found |= SEVERED
            elif high <= PLAIN:
                found |= PLAIN if low else 0
            elif high == UNKNOWN and low in (SOURCELESS, SEVERED, MAYBE):
                found |= MAYBE
            elif (high == UNKNOWN and low == SOURCED) or (high == MAYBE and low == SOURCED):
                found |= SOURCED
            else:
                found |= high
    return found


def _bits(kinds: int) -> list[int]:
    return [1 << place for place in range(7) if kinds >> place & 1] or [0]


def settled(value: Value) -> Value:
    """A value read from the heap: where grounded and bare ones were put, no bare one is held against the reader."""
    if value.kinds & WRAPPED and value.kinds & BARE:
        return msgspec.structs.replace(value, kinds=value.kinds & ~BARE | UNKNOWN)
    return value


def join(left: Value, right: Value) -> Value:
    """Either of two: the kinds united, the lesser confidence, the categories of both."""
    if left is right or (not right.kinds and not right.refs):
        return left
    if (not left.kinds and not left.refs) or left == right:
        return right
    refs = left.refs
    if right.refs and right.refs != refs:
        refs = (*refs, *(one for one in right.refs if one not in refs))[:MAX_REFS]
    weaker = left if left.confidence <= right.confidence else right
    return Value(
        left.kinds | right.kinds,
        weaker.confidence,
        left.data | right.data,
        left.open or right.open,
        refs,
        left.const if left.const == right.const else None,
        (left if left.kinds & UNGROUNDED else right).note,
        weaker.weakest or left.weakest or right.weakest,
    )


def derive(left: Value, right: Value, note: str = "") -> Value:
    """What an operator makes of two operands [C §9.1]: wrapped if one is.

    A retrieval in either grounds both; a chain that was severed can claim nothing any more [C §3].
    """
    if left.kinds == right.kinds == PLAIN and not left.data and not right.data:
        return SOME_PLAIN
    weaker = left if left.confidence <= right.confidence else right
    return Value(
        _derived_kinds(left.kinds, right.kinds) or UNKNOWN,
        weaker.confidence,
        left.data | right.data,
        left.open or right.open,
        note=note or left.note or right.note,
        weakest=weaker.weakest,
    )


def only(value: Value, kinds: int) -> Value:
    """The value on the paths where it has one of these kinds."""
    if value.kinds & ~kinds == 0:
        return value
    return msgspec.structs.replace(value, kinds=value.kinds & kinds)


def of(*refs: Any, kinds: int = PLAIN, note: str = "") -> Value:
    """A plain value that refers to something."""
    return Value(kinds, refs=refs, note=note)
