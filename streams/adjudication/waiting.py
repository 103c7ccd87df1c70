"""Evidence that waits for its assertion, and how much of it may (docs/limits.md).

An observation that comes before its emission waits for the horizon, and anybody who may write to the topic can send
any number of them for emissions that never come. So each emission keeps at most `max_waiting` of one *slot*: an
observer that the policy lists has a slot of its own, all others share one, so that strangers take nothing from those
that are listed. The lane keeps at most `max_waiting_bytes`, in equal shares for each slot. The same record twice is
one. What is beyond that becomes a dead letter, `too-many-waiting`.

A few records lie packed with their emission (emission_state.py). Where more than `FEW` of them wait, or more than
`SMALL` bytes, they make a `Crowd` beside it: it is never packed while the lane runs, and taking one in, finding it,
matching it and dropping it cost the same however many there are. Where they lie decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from ...codecs.errors import Fault
from ..policy.policy import Policy
from .emission_state import PendingEvidence

FEW: Final = 16
"""So many records lie packed with their emission."""
SMALL: Final = 32_768
"""So many bytes of records lie packed with their emission."""
BESIDE: Final = 256
"""Bytes that a record which waits costs beside its own: its place, its timer, its digest."""
OTHERS: Final = ""
"""The slot of all observers that the policy does not list, and of all that came under earlier versions of the fold."""


class Crowd:
    """All that waits for one emission, where that is much.

    Invariant: every record in `_items` is in `_by_attempt` under its attempt and counted in `_slots` and `_digests`.
    The orders rise along every dictionary, as they were given.
    """

    __slots__ = ("_by_attempt", "_digests", "_items", "_slots")

    def __init__(self, items: Iterable[PendingEvidence] = ()) -> None:
        self._items: dict[int, PendingEvidence] = {}
        self._by_attempt: dict[int, dict[int, None]] = {}
        self._slots: Counter[str] = Counter()
        self._digests: Counter[bytes] = Counter()
        for one in items:
            self.add(one)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, one: PendingEvidence) -> None:
        """Takes a record in, behind all others."""
        self._items[one.order] = one
        self._by_attempt.setdefault(one.attempt, {})[one.order] = None
        self._slots[one.slot] += 1
        self._digests[_digest(one.record)] += 1

    def remove(self, one: PendingEvidence) -> None:
        """Takes a record out."""
        del self._items[one.order]
        orders = self._by_attempt[one.attempt]
        del orders[one.order]
        if not orders:
            del self._by_attempt[one.attempt]
        _less(self._slots, one.slot)
        _less(self._digests, _digest(one.record))

    def item(self, order: int) -> PendingEvidence | None:
        """The record with this order, None where there is none."""
        return self._items.get(order)

    def items(self) -> list[PendingEvidence]:
        """All of them, in the order of their coming."""
        return list(self._items.values())

    def of(self, attempt: int) -> list[PendingEvidence]:
        """Those that speak of an attempt, in the order of their coming."""
        return [self._items[order] for order in self._by_attempt.get(attempt, ())]

    def count(self, slot: str) -> int:
        """How many there are of a slot."""
        return self._slots[slot]

    def has(self, record: bytes) -> bool:
        """Whether a record with these bytes waits."""
        return _digest(record) in self._digests


def _digest(record: bytes) -> bytes:
    return blake2b(record, digest_size=16).digest()


def _less(counted: Counter[str] | Counter[bytes], name: str | bytes) -> None:
    """One less; a name that stands for nothing any more goes."""
    counts: Counter[str | bytes] = counted  # pyright: ignore[reportAssignmentType]
    counts[name] -= 1
    if not counts[name]:
        del counts[name]


def cost(record: bytes) -> int:
    """What a record that waits takes of its slot's share, in bytes."""
    return len(record) + BESIDE


def is_much(items: list[PendingEvidence]) -> bool:
    """Whether so much waits that it must not lie packed with its emission."""
    return len(items) > FEW or sum(len(one.record) for one in items) > SMALL


def slot_of(policy: Policy, observer: str) -> str:
    """Whose share an observation takes."""
    return observer if observer in policy.observers else OTHERS


def share_of(policy: Policy) -> int:
    """The bytes that each slot may have waiting in a lane."""
    return policy.admissibility.max_waiting_bytes // (len(policy.observers) + 1)


def too_many(
    policy: Policy, what: str, slot: str, count: int, held: int, record: bytes, share: int | None = None
) -> Fault | None:
    """`too-many-waiting` where nothing more of a slot may wait.

    Args:
        policy: in force.
        what: for which it would wait, for a person.
        slot: whose.
        count: how many of it wait for the same emission.
        held: how many bytes of it wait in the lane.
        record: that has come.
        share: the bytes that may; None: those of an adjudicating lane.
    """
    most, share = policy.admissibility.max_waiting, share_of(policy) if share is None else share
    who = "an observer" if slot else "the observers that the policy does not list"
    if count >= most:
        return Fault(
            "too-many-waiting", f"$: expected at most {most} records of {who} to wait for {what}, got one more"
        )
    if held + cost(record) > share:
        got = f"{held} and one of {len(record)}"
        return Fault("too-many-waiting", f"$: expected at most {share} bytes of {who} to wait in a lane, got {got}")
    return None
