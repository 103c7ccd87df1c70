"""What a block's fold did about one emission: a typed list, made only where a caller asks for it (`fold.fold`).

The entries stand in the order in which things happened. A traced block is folded in Python alone, since the compiled
core keeps no trace; outputs and state are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ...codecs.blocks import Event, Output
from ...codecs.errors import Fault
from ...codecs.records import Disposition, Effect, Reason, RequestEnd, Status
from . import check_tally
from .check_tally import NotCountedReason
from .emission_state import CLASSES, AssertionState

CLOCKS: Final = -1
"""In the place of an event: the clocks moved to the block's, and what was due fired."""
END: Final = 1 << 30
"""In the place of an event: all of them were taken in, and what is said once a block is said."""

Late: TypeAlias = Literal["closed", "waits-for-reviewer"]
"""What an assertion is that evidence comes too late for."""
Ignored: TypeAlias = Literal["no-other-reviewer"]
"""Why a person's decision changes nothing."""


class CheckProgress(msgspec.Struct, frozen=True):
    """How far one check of an assertion has come.

    Attributes:
        counted: how many independent classes carry it, of `k`.
        classes: those that verified it by name, sorted.
    """

    counted: int
    k: int
    classes: list[str]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the fold did.

    Attributes:
        event: which of the block's events brought it about, or `CLOCKS`, or `END`.
    """

    event: int


class Refused(Entry, frozen=True, kw_only=True):
    """An input became a dead letter, whichever emission it is about."""

    fault: Fault


class Repeated(Entry, frozen=True, kw_only=True):
    """An attempt came again with the same bytes: nothing happened."""

    attempt: int


class TakenIn(Entry, frozen=True, kw_only=True):
    """An attempt was taken in; its assertions begin behind this, in the order of the emission."""

    attempt: int


class OfAssertion(Entry, frozen=True, kw_only=True):
    """Something about one assertion."""

    attempt: int
    span_key: str


class Began(OfAssertion, frozen=True, kw_only=True):
    """An assertion began, with the bounds of the policy in force."""

    effect: Effect
    k: int
    min_observers: int


class PutAside(OfAssertion, frozen=True, kw_only=True):
    """Evidence waits for its assertion, under a number of its own (`order`)."""

    order: int


class Unmatched(OfAssertion, frozen=True, kw_only=True):
    """The time is over of evidence that waited under a number."""

    order: int


class Weighed(OfAssertion, frozen=True, kw_only=True):
    """Evidence met its assertion.

    Attributes:
        fate: whether it counted.
        why: why it did not; for what was late, whether the assertion was closed or waits for a reviewer.
        order: of evidence that waited, its number; -1 for what has just come.
        classes: how many distinct classes count after it.
        short: how many more the check that has the fewest needs, where as many as k count; else 0.
    """

    fate: Literal["counted", "not-counted", "late", "duplicate"]
    why: NotCountedReason | Late | Literal[""] = ""
    order: int = -1
    classes: int = 0
    short: int = 0


class Reviewed(OfAssertion, frozen=True, kw_only=True):
    """A person's decision met its assertion. It was followed, or is one of the several that are needed, or `why` not:
    it would not hold longer for it, or its reviewer has spoken already or gives no name."""

    why: Ignored | Literal[""] = ""


class Decided(OfAssertion, frozen=True, kw_only=True):
    """A record was written about an assertion.

    Attributes:
        status, reason, disposition: of the record; `reason` and `disposition` empty where it has none.
        output: the record. Of what was discarded it is the one that would have asked a reviewer, and stands nowhere.
        checks: how far each check had come; empty where the assertion has none.
    """

    status: Status
    reason: Reason | Literal[""]
    disposition: Disposition | Literal[""]
    output: Output
    checks: list[CheckProgress]


class Ended(OfAssertion, frozen=True, kw_only=True):
    """An assertion ended without a record of its own.

    Attributes:
        by_attempt: the newer attempt whose word ended it; -1 where its review window is over.
    """

    by_attempt: int = -1


class RequestEnded(OfAssertion, frozen=True, kw_only=True):
    """The request for a review of an assertion ended with a record.

    Attributes:
        status: how it ended.
        output: the record.
    """

    status: RequestEnd
    output: Output


class Armed(OfAssertion, frozen=True, kw_only=True):
    """An assertion waits from now on until a clock (timers.py) has passed `due`, Unix ms."""

    clock: int
    due: int


class Fired(OfAssertion, frozen=True, kw_only=True):
    """What an assertion waited for on a clock has come; what that brought about stands behind this."""

    clock: int


class FoldTrace:
    """Notes what the fold of one block does about one emission; dead letters are noted whichever they are about.

    Args:
        emission_id: of the emission; empty where nothing is noted (`UNTRACED`).

    Attributes:
        entries: so far, in order.
    """

    def __init__(self, emission_id: str) -> None:
        self.entries: list[Entry] = []
        self._emission_id, self._event = emission_id, CLOCKS

    def follows(self, emission_id: str) -> bool:
        """Whether the trace is about an emission."""
        return emission_id == self._emission_id

    def each(self, events: Sequence[Event]) -> Iterator[Event]:
        """The block's events; entries name the one that was returned last."""
        for self._event, event in enumerate(events):
            yield event
        self._event = END

    def note(self, kind: Callable[..., Entry], emission_id: str, attempt: int, **fields: Any) -> None:
        """Notes an entry of a kind about an attempt; `fields` are those of the kind's class."""
        if emission_id == self._emission_id:
            self.entries.append(kind(event=self._event, attempt=attempt, **fields))

    def note_of(self, kind: Callable[..., Entry], assertion_state: AssertionState, **fields: Any) -> None:
        """Notes an entry of a kind about an assertion; `fields` are those of the kind's class."""
        if assertion_state.emission_id == self._emission_id:
            attempt, span_key = assertion_state.attempt, assertion_state.span_key
            self.entries.append(kind(event=self._event, attempt=attempt, span_key=span_key, **fields))

    def refused(self, fault: Fault) -> None:
        """Notes that an input became a dead letter."""
        if self._emission_id:
            self.entries.append(Refused(event=self._event, fault=fault))

    def weighed(self, assertion_state: AssertionState, why: NotCountedReason | None, order: int = -1) -> None:
        """Notes that evidence was weighed for `assertion_state`, which has it; `why` and `order` as in `Weighed`."""
        if assertion_state.emission_id != self._emission_id:
            return
        if why is not None:
            self.note_of(Weighed, assertion_state, fate="not-counted", why=why, order=order)
            return
        fresh = assertion_state.fresh
        short = 0 if fresh < assertion_state.k else check_tally.missing(assertion_state)
        self.note_of(Weighed, assertion_state, fate="counted", order=order, classes=fresh, short=short)

    def decided(
        self,
        assertion_state: AssertionState,
        output: Output,
        status: Status,
        reason: Reason | None = None,
        disposition: Disposition | Literal[""] = "",
    ) -> None:
        """Notes a decision about `assertion_state`; `output`, `status`, `reason` and `disposition` as in `Decided`."""
        if assertion_state.emission_id == self._emission_id:
            fields = {"status": status, "reason": reason or "", "disposition": disposition}
            self.note_of(Decided, assertion_state, output=output, checks=progress(assertion_state), **fields)


UNTRACED: Final = FoldTrace("")
"""Notes nothing: no emission has an empty id."""


def progress(assertion_state: AssertionState) -> list[CheckProgress]:
    """For each check of an assertion that has to stand how many independent classes carry it, and which verified it by
    name; nothing where no check is known."""
    if not check_tally.texts(assertion_state):
        return []
    needs = assertion_state.checking.needs if assertion_state.checking is not None else []
    return [
        CheckProgress(
            counted=len(check_tally.ends(assertion_state, place)),
            k=needs[place] if needs else assertion_state.k,
            classes=_by_name(assertion_state, place),
        )
        for place in check_tally.weighed(assertion_state)
    ]


def _by_name(assertion_state: AssertionState, place: int) -> list[str]:
    if assertion_state.checking is None:
        return []
    counted = {seen.number for seen in assertion_state.seen if seen.ts >= 0}
    named = (one.number for one in assertion_state.checking.classes if one.named >> place & 1)
    return sorted(CLASSES[number] for number in named if number in counted)
