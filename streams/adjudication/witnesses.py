"""The observers whose evidence supports an assertion, where the policy asks for several (`min_observers`, [S §11.3]).

k classes do not protect against a party that controls all of them, or that controls the only observer of all of them.
`min_observers = n` also asks for evidence from n distinct observers: an assertion is admitted if and only if the
evidence that counts for it has at least k distinct classes and at least n distinct observers.

Classes and observers are counted separately: one class may count for several observers, and one observer for several
classes. The assertion is valid while both counts hold: until the lesser of the k-th largest end of a class and the n-th
largest end of an observer. The end of an observer is the latest of newest ts + W over the classes that it observed.

For each class the fold keeps the n observers with the newest evidence, and only the newest evidence of each. This is
enough. An observer that is left out of a class has n others before it there, and their evidence only grows newer, so
the observer is never among the first n by that class. Its evidence in another class is kept under that class. Where n
is 1 (the default) nothing of this is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec


class Witness(msgspec.Struct, gc=False, eq=False, array_like=True):
    """The newest evidence of one observer in one class.

    Attributes:
        number: of the bare class (emission_state.py).
        observer: who saw it.
        ts: when, Unix ms.
        id: its observation id, as `emission_state.short` has it.
        identity_bound: its tier [S §12].
        checks: a bit for each check of the assertion that it verified; -1: all of them.
    """

    number: int
    observer: str
    ts: int
    id: bytes
    identity_bound: bool = False
    checks: int = -1


def note(witnesses: list[Witness], new: Witness, most: int) -> bool:
    """Takes evidence in, at most `most` observers a class; False where it is no news.

    Of equal times the name decides, so that the order in which observers are heard does not matter.
    """
    same = [one for one in witnesses if one.number == new.number]
    for one in same:
        if one.observer == new.observer:
            more = new.checks & ~one.checks != 0
            one.checks |= new.checks
            if new.ts <= one.ts:
                return more
            one.ts, one.id, one.identity_bound = new.ts, new.id, new.identity_bound
            return True
    if len(same) < most:
        witnesses.append(new)
        return True
    last = same[0]
    for one in same:
        if _is_before(last, one):
            last = one
    if not _is_before(new, last):
        return False
    witnesses[witnesses.index(last)] = new
    return True


def count(witnesses: Sequence[Witness], check: int = 0) -> int:
    """How many distinct observers there are of one check, counted no further than `note` keeps them."""
    return len({one.observer for one in witnesses if one.checks >> check & 1})


def carried_until(witnesses: Sequence[Witness], window: Callable[[int], int], least: int, check: int = 0) -> int:
    """The last instant at which evidence of `least` observers still holds, Unix ms; -1 where there are fewer.

    Args:
        witnesses: those that count.
        window: W of a class by its number, ms.
        least: n.
        check: of which check; its place.
    """
    ends: dict[str, int] = {}
    for one in witnesses:
        if not one.checks >> check & 1:
            continue
        end = one.ts + window(one.number)
        if end > ends.get(one.observer, -1):
            ends[one.observer] = end
    return -1 if len(ends) < least else sorted(ends.values())[-least]


def _is_before(one: Witness, other: Witness) -> bool:
    """Whether one is kept rather than the other."""
    return one.ts > other.ts or (one.ts == other.ts and one.observer < other.observer)
