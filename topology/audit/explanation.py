"""The shape of what `sluice explain --json` prints: one object, `sluice:Explanation`, version 1.0."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType, field

from ...codecs.identifiers import Span
from ...codecs.records import (
    Basis,
    CheckForm,
    CoverageLevel,
    Disposition,
    Effect,
    Kind,
    LedgerPlace,
    Outcome,
    Reason,
    Status,
    Tier,
)


class Part(msgspec.Struct, kw_only=True):
    """Base of the parts: what does not apply is left out."""


class CheckPlace(Part, kw_only=True):
    """Where a check was seen to hold, or to be false: lines from 1."""

    path: str | UnsetType = UNSET
    lines: tuple[int, int] | UnsetType = UNSET
    commit: str | UnsetType = UNSET


class CheckResult(Part, kw_only=True):
    """What one check came to where an observer looked.

    Attributes:
        reason: why it does not hold, as far as the observer says so in a word that is known (docs/checks.md).
    """

    index: int  # of the check, among the assertion's
    holds: bool | None  # whether it holds; false: exactly false there; null: undecided
    reason: str | UnsetType = UNSET
    check: str | UnsetType = UNSET  # the check as the observer writes it, where the assertion is not known
    place: CheckPlace | UnsetType = UNSET


class CheckCount(Part, kw_only=True):
    """How far one check had come.

    Attributes:
        classes: those that verified it by name. They may be more, where the policy counts some of them as one, and
            fewer, where it counts observers that name no check.
    """

    counted: int  # how many independent classes carried it, of `k`
    k: int
    classes: list[str]


class Check(Part, kw_only=True):
    """One check of an assertion."""

    check: str  # its canonical form
    unknown: str | UnsetType = UNSET  # why it is not a check that this version knows; then the others admit nothing
    count: CheckCount | UnsetType = UNSET  # how far it has come, while the assertion lives


Fate = Literal[
    "taken-in",  # an emission: its assertions are adjudicated
    "counted",  # an observation: it changed what is known for or against its assertion
    "decided",  # a review: it was followed
    "waiting",  # an observation whose assertion has not come
    "duplicate",
    "late",
    "unmatched",
    "not-counted",
    "dead-letter",
]
"""What became of an input. Each has exactly one; the last five are dead letters and counters."""
What = Literal["claimed", "observed", "reviewed", "verdict", "ended"]


class Observed(Part, kw_only=True):
    """What an observer said it saw.

    Attributes:
        verified, refuted: which of the assertion's checks hold there and which are false, by index; absent where the
            observer names none.
        coverage: how much of the sentence its checks speak of, by the observer's word; `left_open`: what they do not,
            quoted.
    """

    substrate_class: str
    outcome: Outcome
    observer: str
    observed_at: str
    observation_id: str | UnsetType = UNSET
    tier: Tier | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    judge: str | UnsetType = UNSET  # who decided, where not the built-in checks did
    verified: list[int] | UnsetType = UNSET
    refuted: list[int] | UnsetType = UNSET
    coverage: CoverageLevel | UnsetType = UNSET
    unchecked: list[tuple[int, int]] | UnsetType = UNSET
    left_open: list[str] | UnsetType = UNSET
    checks: list[CheckResult] | UnsetType = UNSET  # what each check came to
    looked_at: dict[str, str] | UnsetType = UNSET
    locator: Any = UNSET
    detail: Any = UNSET  # whatever else it tells


class Reviewed(Part, kw_only=True):
    """What a person decided."""

    decision: Literal["admit", "refuse"]
    reviewer: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    decided_at: str | UnsetType = UNSET


class Input(Part, kw_only=True):
    """One input about the emission, once, with its one fate.

    Attributes:
        why: of what was not counted, a word (streams/adjudication/check_tally.py; of a review
            `no-other-reviewer`); of what was late, `closed` or `waits-for-reviewer`; of a dead letter,
            its reason.
    """

    at: str
    height: int
    index: int  # its place among the block's events
    source: str  # `topic/partition/offset`
    fate: Fate
    why: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET  # a dead letter's detail
    settled_at: str | UnsetType = UNSET  # when its fate fell, where that was later than `at`
    attempt: int | UnsetType = UNSET
    span_key: str | UnsetType = UNSET
    observation: Observed | UnsetType = UNSET  # of an observation, also of one that was refused, where it could be read
    review: Reviewed | UnsetType = UNSET


class VerdictView(Part, kw_only=True):
    """A word about an assertion. One that was discarded stands on no topic: it has no `topic`, `id` and `ledger`.

    Attributes:
        rendered: what observers verified, a sentence for each check; of an admission, what is admitted.
        assertion: the emitter's words as the record shows them, with `[unchecked]` where an admission does not speak
            of them; `marked`: all of them, with what no check speaks of in double brackets.
        coverage, unchecked: as in the record (docs/reference/records.md).
        classes: that counted then; `missing_floor`, `missing_observers` and `classes_seen` as in a request
            (docs/reference/records.md); `min_observers` where more than one is needed.
        ledger: the output's place: lane, height, index among the block's outputs, and the block's hash.
    """

    rendered: list[str] | UnsetType = UNSET
    assertion: str | UnsetType = UNSET
    marked: str | UnsetType = UNSET
    coverage: CoverageLevel | UnsetType = UNSET
    unchecked: list[tuple[int, int]] | UnsetType = UNSET
    checks: list[CheckCount] | UnsetType = UNSET  # how far each of the assertion's checks had come, in their order

    at: str
    height: int
    status: Status
    k: int
    classes: list[str]
    revision: int | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    basis: Basis | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    missing_floor: int | UnsetType = UNSET
    classes_seen: list[str] | UnsetType = UNSET
    min_observers: int | UnsetType = UNSET
    missing_observers: int | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET
    policy: str | UnsetType = UNSET
    ledger: LedgerPlace | UnsetType = UNSET


class Event(Part, kw_only=True):
    """One moment of an assertion's life; `events` has them in the order in which they happened.

    Attributes:
        counted: classes that counted after it, of `k`; `short`: how many more the check that has the fewest needed.
    """

    at: str
    height: int
    what: What
    source: str | UnsetType = UNSET  # of the input that it was, in `inputs`
    fate: Fate | UnsetType = UNSET
    why: str | UnsetType = UNSET  # as in an input; of `ended`: `newer-attempt`, or `review-window-over`
    detail: str | UnsetType = UNSET
    counted: int | UnsetType = UNSET
    k: int | UnsetType = UNSET
    short: int | UnsetType = UNSET
    observation: Observed | UnsetType = UNSET
    review: Reviewed | UnsetType = UNSET
    verdict: VerdictView | UnsetType = UNSET
    by_attempt: int | UnsetType = UNSET  # the newer attempt whose word ended it


class ClaimedLook(Part, kw_only=True):
    """An annotation: what the emitter claims to have consulted [S §6]."""

    substrate_class: str
    observation_id: str | UnsetType = UNSET
    ts: str | UnsetType = UNSET
    locator: Any = UNSET
    terminal: bool = False
    unknown: bool = False
    computed: bool = False


class Now(Part, kw_only=True):
    """How it stands at the ledger's end.

    Attributes:
        status: the last decision; `pending` where there is none yet, `ended` where a newer attempt's word took the
            place of an admission.
        holds: whether it is admitted at `as_of`. That is this machine's clock, and the only thing here that the ledger
            does not tell.
        waits_for: `evidence` (until the watermark has passed `until`) or `reviewer` (until `until`).
    """

    status: Status | Literal["pending", "ended"]
    as_of: str
    holds: bool
    reason: Reason | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET
    waits_for: Literal["evidence", "reviewer"] | UnsetType = UNSET
    until: str | UnsetType = UNSET


class Assertion(Part, kw_only=True):
    """The story of one assertion of one attempt.

    Attributes:
        rendered: of the last decision that has any; what is admitted, where that is an admission which holds.
        checks: those that it declares, or the one that its words give; `form` says which (`sentence`: only that its
            sentence stands there).
        classes: that count, or did when it was closed; `classes_seen` also those that were not enough in themselves;
            `missing_floor` is what they fall short of `k`, of the check that has the fewest.
    """

    span: Span | None
    span_key: str
    attempt: int
    rendered: list[str] | UnsetType = UNSET
    text: str  # all that the emitter said; `marked`: the same, with what no check speaks of in double brackets
    marked: str | UnsetType = UNSET
    kind: Kind
    effect: Effect
    k: int
    form: CheckForm = "none"
    checks: list[Check] = field(default_factory=list[Check])
    claims: list[ClaimedLook]
    events: list[Event]
    verdicts: list[VerdictView]
    classes: list[str]
    missing_floor: int
    now: Now
    classes_seen: list[str] | UnsetType = UNSET
    min_observers: int | UnsetType = UNSET  # where more than one is needed [S §11.3]
    grounded: bool | UnsetType = UNSET
    confidence: float | UnsetType = UNSET


class Attempt(Part, kw_only=True):
    """One attempt of the emission, as it was taken in. `policy` was in force then."""

    attempt: int
    at: str
    height: int
    source: str
    emitted_at: str
    policy: str
    assertions: int
    emitter: dict[str, str] | UnsetType = UNSET
    superseded_by: int | UnsetType = UNSET


class Explanation(Part, kw_only=True):
    """All that a lane's ledger tells of one emission.

    Attributes:
        attempts, assertions: in the order in which they came. An attempt that was forgotten and came again is there
            twice.
    """

    type_: str = field(name="@type", default="sluice:Explanation")
    version: str = field(name="@version", default="1.0")
    emission_id: str
    lane: int
    lanes: int
    ledger: dict[str, Any]  # where it was read, and its last block: `{where, height, block, time}`
    attempts: list[Attempt]
    assertions: list[Assertion]
    inputs: list[Input]  # every input about the emission, in the ledger's order
