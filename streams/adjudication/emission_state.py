"""What a lane keeps of one emission: its attempts, their living assertions, and the evidence of each.

At rest all of it is one MessagePack string (`pack`), a few hundred bytes for an assertion with its evidence. It is
taken apart only while a block touches it (`unpack`). So a million live assertions are a million byte strings, which
the garbage collector does not track. What the compiled core reads of it is declared in fold_layout.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, get_args

import msgspec

from ...codecs.json_text import decoder_of
from ...codecs.records import AnyStep, Basis, CoverageLevel, Disposition, Effect, Kind, Outcome, Reason
from ...codecs.vocabulary import CLASSES_1_0
from .timers import TIME, WATERMARK


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
    """Takes the evidence `new` into `witnesses`, at most `most` observers a class; False where it is no news. Of equal
    times the name decides, so that the order in which observers come does not matter."""
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


CLASSES: Final = tuple(sorted(CLASSES_1_0))
"""Substrate-classes by the number that stands for them at rest. A later version's go behind these."""
NUMBER_OF: Final[Mapping[str, int]] = {name: number for number, name in enumerate(CLASSES)}


class Phase(IntEnum):
    """What an assertion waits for."""

    PENDING = 0  # evidence, on the watermark
    ADMITTED = 1  # the end of its validity, on time
    REVIEW = 2  # a reviewer, on time
    CLOSED = 3  # nothing


ALONE: Final = (1, 1)
"""`min_observers` where any one observer will do."""


NO_COVERAGE, PART, WHOLE = range(3)
"""How much of a sentence its checks speak of, as it is kept; `COVERAGE` names them."""
COVERAGE: Final[tuple[CoverageLevel, ...]] = ("none", "part", "whole")


STATUSES: Final = (
    *("pending", "admitted", "decayed-to-uncertainty", "contradicted", "rejected", "refused", "unverified-inference"),
    *("below-floor", "unannotated"),
)
"""What `verdicts` says of an assertion, by the number that stands for it at rest."""
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)
"""Reasons by the number that stands for them at rest; -1 for none."""
DISPOSITIONS: Final[tuple[Disposition, ...]] = ("discard", "review", "re-emit", "refuse")
"""Dispositions by number; -1 for none."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
OUTCOMES: Final[tuple[Outcome, ...]] = (
    *("absent", "terms-present", "unavailable", "contradicts", "unknown-observation", "corroborates"),
)
"""Outcomes by number. The last, in a look: some checks hold, others do not."""


class CheckTerms(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a policy says of checks and of independence (policy.py, `Judging`).

    Attributes:
        min_coverage: internal, external.
        k_by_check: internal, external; 0 for the effect's own k.
        same_bytes: what looked at the same bytes counts once.
        same_root: so many of k come from one root at the most; 0 for no bound.
        groups: classes by number.
    """

    min_coverage: tuple[int, int] = (WHOLE, WHOLE)
    k_by_check: dict[str, tuple[int, int]] = {}
    same_bytes: bool = False
    same_root: int = 0
    groups: list[list[int]] = []

    @property
    def counts_once(self) -> bool:
        """Every class counts once, whatever it looked at."""
        return not (self.same_bytes or self.same_root or self.groups)

    @property
    def counts_plainly(self) -> bool:
        """Every class counts once, and every check needs the k of its effect."""
        return self.counts_once and not self.k_by_check


class Terms(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The bounds that assertions begin with: of a policy, kept though a later one comes into force (milliseconds).

    Attributes:
        late_horizon: how much longer than the horizon evidence counts that comes before admission.
        min_observers: internal, external; 1 where observers are not counted.
        checks: what is said of checks.
    """

    windows: dict[str, int]
    horizon: int
    late_horizon: int
    max_validity: int
    min_observers: tuple[int, int] = ALONE
    checks: CheckTerms = CheckTerms()


# ---------------------------------------------------------------- observation ids

_HASH = re.compile(r"(sha256:)?(?:[0-9a-f]{64}|[0-9a-f]{40})", re.ASCII)
_BARE, _SHA256, _TEXT = b"\0", b"\1", b"\2"


@lru_cache(maxsize=4096)  # an id is declared, then observed: 0.1 us instead of 0.6 from the second time on
def short(observation_id: str) -> bytes:
    """An id in as few bytes as it can be had back from: those of a hash, or its text, behind one that says which."""
    match = _HASH.fullmatch(observation_id)
    if match is None:
        return _TEXT + observation_id.encode()
    return _SHA256 + bytes.fromhex(observation_id[7:]) if match[1] else _BARE + bytes.fromhex(observation_id)


def whole(kept: bytes) -> str:
    """The id that `short` was given."""
    form = kept[:1]
    if form == _SHA256:
        return "sha256:" + kept[1:].hex()
    return kept[1:].decode() if form == _TEXT else kept[1:].hex()


# ---------------------------------------------------------------- one assertion


class Declared(msgspec.Struct, gc=False, eq=False, array_like=True):
    """An annotation that may count: a class, and what it names. A claim, not evidence [S §11.1].

    Attributes:
        number: of the bare class.
        id: index into the assertion's `ids`, -1 where none was declared.
        ts: as declared, Unix ms.
        confirmed: the newest corroboration of the declared id, -1 where there is none.
    """

    number: int
    id: int
    ts: int | None
    confirmed: int = -1

    @property
    def substrate_class(self) -> str:
        """The bare class."""
        return CLASSES[self.number]


class ClassEvidence(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What corroborates one assertion in one class: the newest evidence only, whoever saw it.

    Attributes:
        number: of the bare class.
        latest: the newest corroboration by an observer that may count, fresh or not; holds contradictions off. Unix
            ms, -1 where there is none.
        ts: the newest that counts, -1 where none does; the other fields describe that one.
        id: index into the assertion's `ids`, -1 for none.
        attestation: its JSON.
    """

    number: int
    latest: int = -1
    ts: int = -1
    id: int = -1
    observer: str = ""
    identity_bound: bool = False
    attestation: bytes | None = None

    @property
    def substrate_class(self) -> str:
        """The bare class."""
        return CLASSES[self.number]


class Covered(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How much of a sentence the observations of a class said that checks cover.

    Attributes:
        level: the least that any of them told.
        unchecked: the spans that those of that level told.
        by: the proposer on whose word `whole` rests; empty for a claim form.
    """

    level: int = WHOLE
    unchecked: list[tuple[int, int]] = []
    by: str = ""


class Verified(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What the observations of one class verified of an assertion's checks (check_tally.py).

    Attributes:
        number: of the bare class.
        stamps: for each check the newest evidence that counts, Unix ms; -1 where there is none.
        named: a bit for each check that an observation named as verified, rather than corroborating as a whole.
        covered: one entry for all declared checks together; of told ones an entry for each.
        looked: for each check the root and the content hash that its newest evidence names; empty where the policy
            does not ask for independence.
    """

    number: int
    stamps: list[int]
    named: int = 0
    covered: list[Covered] = []
    looked: list[tuple[str, str]] = []


class Place(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a check was seen to hold, as far as the observation tells: lines from 1, 0 for none."""

    path: str = ""
    first: int = 0
    last: int = 0
    commit: str = ""


class Elsewhere(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What one class verified of one check in another file than the one in `Checking.places` (check_tally.py).

    Attributes:
        number: of the bare class.
        check: its place among the checks.
        place: where it was last seen to hold in that file.
        ts: the newest evidence that counts, Unix ms.
        looked: the root and the content hash that it names.
    """

    number: int
    check: int
    place: Place
    ts: int
    looked: tuple[str, str] = ("", "")


class Miss(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One check that did not hold where a class looked.

    Attributes:
        check: its place among the checks.
        refuted: it is exactly false there; else it was not found, or could not be decided.
        reason: why, a word of the closed list of judging/checks.py; empty where the observer gave none of it.
        place: where, as far as it is kept.
    """

    check: int
    refuted: bool = False
    reason: str = ""
    place: Place = Place()


class Look(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What one class saw instead of evidence, when it last looked (follow_up_requests.py).

    Attributes:
        number: of the bare class.
        outcome: its place in `OUTCOMES`.
        ts: when it looked, Unix ms.
        observer: who did.
        reason: why, a word of the closed list of judging/verify.py; empty where the observer gave none of it.
        terms: the words that it did not find.
        misses: the checks that did not hold.
    """

    number: int
    outcome: int
    ts: int
    observer: str
    reason: str = ""
    terms: list[str] = []
    misses: list[Miss] = []


class Looks(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What was seen instead of evidence, at most one look of a class.

    Attributes:
        words: an observer found the assertion's words, and nothing was checked.
        looks: in the order of their coming.
    """

    words: bool
    looks: list[Look]


class Checking(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What is known of an assertion's checks. Only assertions that need it have one: those that declare checks, that
    came under terms which ask more than plain counting, or that an observation speaks of in checks or words.

    Attributes:
        texts: the checks that it declares, or that were proposed for it; or else, with `told`, those that observers
            told; None where there is none.
        needs: k of each check; empty: the assertion's k for each.
        classes: by class, for those that verified a check.
        words: whether an observer found its words, and nothing was checked (`terms-present`); with the looks, while
            it is pending and may be asked for again (follow_up_requests.py).
        coverage, unchecked: fixed when it is admitted by evidence; -1 before.
        places: for each check where it was last seen to hold before that, in the first file that was told.
        elsewhere: evidence from other files, until the assertion is admitted.
        by: with `coverage`, the proposer on whose word `whole` rests.
        told: `texts` are what observers told of its words, and one of them is enough. At admission by evidence that one
            becomes the only check.
        proposed: the listed proposer, other than the emitter, who signed that the checks say all of the sentence; empty
            where a proposal came that says less or has no weight; None where none came.
    """

    texts: list[str] | None = None
    needs: list[int] = []
    classes: list[Verified] = []
    words: bool | Looks = False
    coverage: int = -1
    unchecked: list[tuple[int, int]] = []
    places: list[Place] = []
    elsewhere: list[Elsewhere] = []
    by: str = ""
    told: bool = False
    proposed: str | None = None

    @property
    def found_words(self) -> bool:
        """Whether an observer found its words, and nothing was checked."""
        return self.words.words if isinstance(self.words, Looks) else self.words


class NotCounted(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An observation that did not count for an assertion, for who may have to review it (follow_up_requests.py).

    Attributes:
        number: of the bare class.
        outcome: its place in `OUTCOMES`.
        ts: when it was made, Unix ms.
        observer: who made it.
        why: it did not count, a word of check_tally.py.
        reason: of an `absent` one, a word of the closed list of judging/verify.py; empty where there is none.
    """

    number: int
    outcome: int
    ts: int
    observer: str
    why: str
    reason: str = ""


class Material(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What a reviewer may need of an emission beside the assertion, while it may be put up for review.

    Attributes:
        before, after: the emission's text around it, as far as it is kept.
        locators: of `declared`, as they came; empty bytes for none. Empty where there is none at all.
        not_counted: observations that did not count.
    """

    before: str
    after: str
    locators: list[bytes]
    not_counted: list[NotCounted] = []


class Closed(msgspec.Struct, frozen=True, gc=False, eq=False, array_like=True):
    """What is remembered of a closed assertion, for `verdicts` (decision_json.py). Words stand as their numbers.

    Attributes:
        coverage: how much of the sentence its checks speak of; -1 where nothing was verified by name.
        by: the proposer on whose word `whole` rests; empty for a claim form.
        classes: by number, those that bore it out, fresh or not.
        missing: how many classes more it would have needed.
        checks: how many classes verified each check by name.
        valid_until: Unix ms; -1 where it was never admitted.
    """

    span_key: str
    kind: int
    effect: int
    status: int
    reason: int
    disposition: int
    coverage: int
    classes: list[int]
    missing: int
    checks: list[int]
    valid_until: int
    by: str = ""


NO_SESSION: Final = -1
NO_LOOK, A_LOOK, LATE = range(3)
"""Whether an observer that may count has looked at an assertion; `LATE`: none had by its horizon, and it waits on."""


class AssertionState(msgspec.Struct, gc=False, eq=False, kw_only=True, array_like=True):
    """One assertion of one attempt, from its arrival to its last word.

    Invariant: `phase` is CLOSED exactly when it is in no attempt's `assertions`. `clock`, `due` and `order` are its
    timer (timers.py). The first four fields are known to what holds it, and not packed.
    """

    emission_id: str
    attempt: int
    emitted_at: int
    terms: Terms | None
    span_key: str
    kind: Kind
    effect: Effect
    k: int
    text: str
    annotated: bool
    grounded: bool
    confidence: float | None
    chain: bytes | None  # its JSON
    emitter: str | None
    traceparent: bytes | None
    terms_number: int
    arrival: int
    order: int
    ids: list[bytes] = []  # observation ids, each once
    declared: list[Declared] = []
    phase: Phase = Phase.PENDING
    seen: list[ClassEvidence] = []
    fresh: int = 0  # how many of `seen` count: distinct classes
    aged: bool = False  # corroboration was seen that was already too old
    revision: int = 0
    basis: Basis | list[int | str] = "corroboration"  # while it is pending: `answers`; for a reviewer: `asked`
    admitted_at: int = -1  # or since when it waits for a reviewer
    valid_until: int = -1
    touched: bool = False  # its validity moved on in this block
    clock: int = WATERMARK
    due: int | None = None
    witnesses: list[Witness] = []  # where more than one observer is needed
    checking: Checking | None = None
    reviewers: list[str | Material] = []  # first its `material`, then `admitted_by`
    look: int = NO_LOOK
    session: int = NO_SESSION  # what its emitter's session says of it (grounding.py), by the number of the reason

    @property
    def bounds(self) -> Terms:
        """The terms that it began with."""
        assert self.terms is not None, "an assertion is looked at unpacked"
        return self.terms

    @property
    def based_on(self) -> Basis:
        """What its admission rests on."""
        assert isinstance(self.basis, str), "it is admitted"
        return self.basis

    @property
    def material(self) -> Material | None:
        """What a reviewer may need of its emission, while it may be put up for review."""
        first = self.reviewers[0] if self.reviewers else None
        return first if isinstance(first, Material) else None

    @property
    def admitted_by(self) -> list[str]:
        """Who have admitted it, where more than one reviewer is needed."""
        return [one for one in self.reviewers if isinstance(one, str)]

    @property
    def asked(self) -> list[int]:
        """Why it waits for a reviewer: status and reason, by number. Empty where it does not."""
        return [] if isinstance(self.basis, str) else [one for one in self.basis if isinstance(one, int)]

    @property
    def answers(self) -> list[str]:
        """Which observers have answered for which class (corroboration.py), where that may settle it."""
        return [] if isinstance(self.basis, str) else [one for one in self.basis if isinstance(one, str)]

    @property
    def min_observers(self) -> int:
        """How many distinct observers it needs (emission_state.py)."""
        internal, external = self.bounds.min_observers
        return external if self.effect == "external" else internal

    @property
    def longest(self) -> int:
        """No validity lies beyond this instant, Unix ms."""
        return self.arrival + self.bounds.max_validity

    def id_of(self, one: Declared | ClassEvidence) -> str | None:
        """The observation id that a declaration or evidence names."""
        return None if one.id < 0 else whole(self.ids[one.id])

    def keep_id(self, seen: ClassEvidence, kept: bytes) -> None:
        """Makes evidence name this observation (as `short` has it); an id that nothing names any more goes."""
        seen.id = -1
        if kept not in self.ids:  # else an annotation or other evidence names it
            named = {one.id for one in (*self.declared, *self.seen)}
            free = next((place for place in range(len(self.ids)) if place not in named), len(self.ids))
            self.ids[free : free + 1] = [kept]  # renewals never make the list longer
        seen.id = self.ids.index(kept)


_chains = decoder_of(list[AnyStep])


def steps_of(state: AssertionState) -> list[AnyStep] | None:
    """The provenance chain of an assertion, as its emission gave it."""
    return None if state.chain is None else _chains.decode(state.chain)


# ---------------------------------------------------------------- one emission


class Attempt(msgspec.Struct, gc=False, eq=False, kw_only=True, array_like=True):
    """The memory of one attempt of an emission: for duplicates, newer attempts, and evidence that comes late.

    It is dropped once a repetition would be too old and nothing of it lives; only then does it have a timer of its own.

    Attributes:
        digest: the first 16 bytes of the SHA-256 of its record; behind them, where an emitter signed it, the first 8 of
            the SHA-256 of that emitter's name (fold.py, `owner_of`).
        closed: of each closed assertion the span key; with what became of it, where `verdicts` is to tell that.
    """

    number: int
    emitted_at: int
    digest: bytes
    order: int
    assertions: list[AssertionState] = []
    closed: list[str | Closed] = []
    clock: int = TIME
    due: int | None = None

    def assertion(self, span_key: str) -> AssertionState | None:
        """The living assertion of a span. A scan: an emission holds at most 1000, nearly always fewer than ten."""
        for state in self.assertions:
            if state.span_key == span_key:
                return state
        return None

    def has_closed(self, span_key: str) -> bool:
        """Whether the assertion of a span has been closed."""
        return any(span_key == (one if isinstance(one, str) else one.span_key) for one in self.closed)


class PendingEvidence(msgspec.Struct, gc=False, eq=False, kw_only=True, array_like=True):
    """An observation that came before its emission, or names a span that the emission does not have.

    Attributes:
        record: the observation as it came, JSON.
        attempt, span_key: the assertion that it speaks of.
        negative: it corroborates nothing.
        slot: whose share of what may wait it takes (state.py).
    """

    record: bytes
    attempt: int
    span_key: str
    negative: bool
    order: int
    clock: int = WATERMARK
    due: int | None = None
    slot: str = ""


class EmissionState(msgspec.Struct, gc=False, eq=False, array_like=True):
    """All that a lane knows of one emission."""

    attempts: list[Attempt] = []
    waiting: list[PendingEvidence] = []

    def attempt(self, number: int) -> Attempt | None:
        """The memory of one attempt, or None where it is not known (any more)."""
        for attempt in self.attempts:
            if attempt.number == number:
                return attempt
        return None

    def newest(self) -> int:
        """The newest attempt known, -1 where none is."""
        return max((attempt.number for attempt in self.attempts), default=-1)

    def items(self) -> Iterator[AssertionState | Attempt | PendingEvidence]:
        """Everything that may have a timer."""
        for attempt in self.attempts:
            yield attempt
            yield from attempt.assertions
        yield from self.waiting

    def item(self, order: int) -> AssertionState | Attempt | PendingEvidence | None:
        """What has this order."""
        for attempt in self.attempts:
            if attempt.order == order:
                return attempt
            for state in attempt.assertions:
                if state.order == order:
                    return state
        for waiting in self.waiting:
            if waiting.order == order:
                return waiting
        return None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(EmissionState).decode


def pack(known: EmissionState) -> bytes:
    """What is known of an emission, at rest. `known` must not be used any more, unless it is filled in again."""
    for attempt in known.attempts:
        for state in attempt.assertions:
            state.emission_id, state.attempt, state.emitted_at, state.terms = "", 0, 0, None
    return _encode(known)


def unpack(emission_id: str, packed: bytes, terms: Sequence[Terms]) -> EmissionState:
    """Returns the state of `emission_id` that `pack` made `packed` of; `terms` are the lane's, by their number."""
    return fill(emission_id, _decode(packed), terms)


def fill(emission_id: str, known: EmissionState, terms: Sequence[Terms]) -> EmissionState:
    """Fills in what is not packed in `known`, and returns it: the assertions' `emission_id` and attempt, and their
    `terms`."""
    for attempt in known.attempts:
        number, emitted_at = attempt.number, attempt.emitted_at
        for state in attempt.assertions:
            state.emission_id, state.attempt, state.emitted_at = emission_id, number, emitted_at
            state.terms = terms[state.terms_number]
    return known


def json_of(value: Any) -> bytes | None:
    """A value of a record as it is kept; JSON, since MessagePack has no integers beyond 64 bits."""
    return None if value is None else msgspec.json.encode(value)
