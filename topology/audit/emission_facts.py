"""What inputs, checks and outputs say about an emission, for explanations and comparisons.

Which events of a block are about it and what they hold, which checks an assertion has and what each came to, and which
decisions an output holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec
from msgspec import UNSET, UnsetType, field

from ...codecs.blocks import Block, Event, EventKind, Output
from ...codecs.decode import assertion_text
from ...codecs.records import (
    MAX_CHECKS,
    Annotation,
    Assertion,
    Basis,
    CheckForm,
    CoverageLevel,
    Disposition,
    Effect,
    Emission,
    LedgerPlace,
    Observation,
    Reason,
    Review,
    Status,
)
from ...codecs.times import format_time, parse_time
from ...codecs.vocabulary import recognise
from ...streams.adjudication.corroboration import class_of
from ...streams.adjudication.emission_state import AssertionState
from ...streams.adjudication.outputs import CITATIONS, DEAD_LETTERS, VERDICTS, ends_request
from ...streams.adjudication.trace import CheckProgress, progress
from ...streams.judging.checks import HeldReason, Unknown, canonical, parse_check
from ...streams.judging.claim_forms import checks_of
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import IDENTITY_BOUND, RedactionPolicy, binds_identity
from ...streams.sanitise import Trace, clean, clean_tree
from . import explanation
from .explanation import ClaimedLook, Observed, Reviewed
from .explanation_words import quotes, shown_check

_VALUE_CAP: Final = 2000
_REASONS: Final = frozenset(get_args(HeldReason))
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")


class Stated(NamedTuple):
    """What an emission states in one assertion, as observers take it."""

    text: str  # as it was emitted
    effect: Effect
    checks: Sequence[str]  # those that it declares, or the one that its words give, as text
    form: CheckForm  # which of these they are


def stated(emission: Emission, assertion: Assertion, effect: Effect) -> Stated:
    """What an assertion states, with the checks that it has by the core's own rules."""
    text = assertion_text(emission, assertion)
    proposed = None if assertion.proposal is None else assertion.proposal.checks
    derived = checks_of(text, assertion.kind, assertion.checks or proposed or None)
    return Stated(text, effect, tuple(derived.checks), derived.form)


def checks(policy: Policy, of: Stated) -> list[explanation.Check]:
    """The checks of an assertion, in their canonical form; what is no check stands as it came."""
    found: list[explanation.Check] = []
    for text in of.checks:
        one = parse_check(text)
        if isinstance(one, Unknown):
            found.append(explanation.Check(check=shown_check(policy, text, of.effect), unknown=one.why))
        else:
            found.append(explanation.Check(check=shown_check(policy, canonical(one), of.effect)))
    return found


# ---------------------------------------------------------------- how far they have come


def counts(state: AssertionState) -> list[explanation.CheckCount]:
    """For each check of an assertion how many independent classes carry it, and which verified it by name."""
    return check_counts(progress(state))


def check_counts(checks: Iterable[CheckProgress]) -> list[explanation.CheckCount]:
    """How far each check has come, as the fold says it."""
    return [explanation.CheckCount(counted=one.counted, k=one.k, classes=one.classes) for one in checks]


# ---------------------------------------------------------------- what an observer says of them


def observed_checks(policy: Policy, observation: Observation, of: Stated | None, *, hidden: bool) -> dict[str, Any]:
    """Returns the members of `Observed` about checks, by the rules of sanitation of `policy`.

    `observation` is an observer's word, `of` what it speaks of (None where that is not known); `hidden`: the place that
    was looked at is not to be shown [S §12].
    """
    found: dict[str, Any] = {
        "judge": observation.judge or UNSET,
        "verified": _or_unset(observation.verified),
        "refuted": _or_unset(observation.refuted),
        "coverage": observation.coverage or UNSET,
        "unchecked": _or_unset(observation.unchecked),
        "looked_at": UNSET if hidden else _looked_at(observation),
    }
    if of is not None and observation.unchecked:
        found["left_open"] = quotes(policy, of.text, of.effect, observation.unchecked)
    if observation.verified is not None or observation.refuted is not None:
        found["checks"] = _helds(observation, of, hidden=hidden)
    return found


def rest_of(detail: dict[str, Any] | None) -> dict[str, Any] | None:
    """A detail without what `told_of` has taken over."""
    if detail is None or not isinstance(detail.get("checks"), list):
        return detail
    return {name: value for name, value in detail.items() if name != "checks"} or None


def _or_unset(value: list[Any] | None) -> list[Any] | UnsetType:
    return UNSET if value is None else list(value)


def _helds(observation: Observation, of: Stated | None, *, hidden: bool) -> list[explanation.CheckResult]:
    verified, refuted = set(observation.verified or ()), set(observation.refuted or ())
    detail: Any = (observation.detail or {}).get("checks")
    each = cast("list[Any]", detail) if isinstance(detail, list) else []
    known = len(of.checks) if of is not None else 0
    number = min(max([known, len(each) if of is None else 0, *(place + 1 for place in verified | refuted)]), MAX_CHECKS)
    found: list[explanation.CheckResult] = []
    for place in range(number):
        one = cast("dict[str, Any]", each[place]) if place < len(each) and isinstance(each[place], dict) else {}
        holds = None if (place in verified) == (place in refuted) else place in verified
        found.append(
            explanation.CheckResult(
                index=place,
                holds=holds,
                reason=_reason(one, contradicts=place in verified and place in refuted) if holds is not True else UNSET,
                check=_text(one.get("check")) if of is None else UNSET,
                place=UNSET if hidden else _place(one),
            )
        )
    return found


def _reason(one: dict[str, Any], *, contradicts: bool) -> str | UnsetType:
    if contradicts:
        return "contradicts-itself"
    reason = one.get("reason")
    return reason if isinstance(reason, str) and reason in _REASONS else UNSET


def _place(one: dict[str, Any]) -> explanation.CheckPlace | UnsetType:
    lines: Any = one.get("lines")
    pair = cast("list[Any]", lines) if isinstance(lines, list) else []
    fits = len(pair) == 2 and all(type(line) is int for line in pair) and 1 <= pair[0] <= pair[1] < 2**31
    commit = one.get("commit")
    place = explanation.CheckPlace(
        path=_text(one.get("path")),
        lines=(pair[0], pair[1]) if fits else UNSET,
        commit=commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else UNSET,
    )
    return UNSET if place == explanation.CheckPlace() else place


def _looked_at(observation: Observation) -> dict[str, str] | UnsetType:
    if (at := observation.looked_at) is None:
        return UNSET
    texts = {"root": at.root, "path": at.path, "content": at.content, "commit": at.commit, "owner": at.owner}
    shown = {name: _text(text) for name, text in texts.items()}
    return {name: text for name, text in shown.items() if text is not UNSET} or UNSET


def _text(value: Any) -> str | UnsetType:
    """A free text of an observer's, sanitised."""
    if not isinstance(value, str) or not value:
        return UNSET
    return clean(value, "detail", _VALUE_CAP, "replace-in-words", Trace())


VALUE_CAP: Final = 2000
"""Bytes that any one string of a locator or a detail keeps; the contract's cap for a rationale [V §4.1]."""
_ESCAPED: Final = re.compile(rb"\\(?:u00[2-7]|/)")
"""How JSON may hide the characters of an identifier."""


class _Subject(msgspec.Struct, gc=False):
    emission_id: Any = None


class _Names(msgspec.Struct, gc=False):
    emission_id: Any = None
    subject: _Subject | None = None


_names = msgspec.json.Decoder(_Names)


class About:
    """Which events are about one emission: their key is its id, or their value names it."""

    def __init__(self, emission_id: str) -> None:
        self._id, self._raw = emission_id, emission_id.encode()

    def places(self, block: Block) -> list[int]:
        """The places of a block's events that are about it. Asked of every event: it must cost next to nothing."""
        raw, hidden = self._raw, _ESCAPED.search
        return [
            place
            for place, event in enumerate(block.events)
            if event.key == raw
            or ((value := event.value) is not None and (raw in value or hidden(value)) and self._is_named(event))
        ]

    def _is_named(self, event: Event) -> bool:
        if event.kind != EventKind.RECORD:
            return False
        try:
            named = _names.decode(event.value or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return self._id in (named.emission_id, named.subject and named.subject.emission_id)


# ---------------------------------------------------------------- for people


def is_bound(observation: Observation) -> bool:
    """Whether an observation is of the identity-bound tier, by its own word or by its class."""
    return binds_identity(observation.tier, class_of(observation) or "")


def observed(policy: Policy, redaction: RedactionPolicy, observation: Observation, of: Stated | None) -> Observed:
    """Returns an observation, as far as it may be shown [S §12]: its id as in the outputs; where that is not in clear,
    nothing of the place that was looked at either, and of the detail only which terms were found and why not.

    `policy` and `redaction` say what is shown of `observation`; `of` is the assertion that it speaks of, None where
    that is not known.
    """
    bound = is_bound(observation)
    hidden = bound or redaction.hides_ids
    shown = redaction.observation_id(observation.observation_id, identity_bound=bound)
    detail = rest_of(observation.detail)
    return Observed(
        substrate_class=_class(observation.substrate_class),
        outcome=observation.outcome,
        observer=observation.observer,
        observed_at=_time(observation.observed_at),
        observation_id=UNSET if shown is None else shown,
        tier=observation.tier,
        confidence=observation.confidence,
        **observed_checks(policy, observation, of, hidden=hidden),
        locator=UNSET if hidden else _value(observation.locator),
        detail=_value(_terms_only(detail, observation.observation_id) if hidden and detail is not None else detail),
    )


def _terms_only(detail: dict[str, Any], observation_id: str) -> dict[str, Any]:
    """What a detail says of the assertion's own terms; whatever else an observer puts there may name somebody."""
    kept: dict[str, Any] = {}
    for name in ("found", "missing", "reason"):
        value = detail.get(name)
        texts = cast("list[Any]", value) if isinstance(value, list) else [value]
        shown = [one for one in texts if isinstance(one, str) and observation_id not in one]
        if shown or value == []:
            kept[name] = shown if isinstance(value, list) else shown[0]
    return kept


def reviewed(review: Review) -> Reviewed:
    """A person's decision."""
    return Reviewed(
        decision=review.decision,
        reviewer=review.reviewer or UNSET,
        reason=clean(review.reason, "reason", VALUE_CAP, "replace-in-words", Trace()) or UNSET,
        decided_at=UNSET if review.decided_at is None else _time(review.decided_at),
    )


def claims(redaction: RedactionPolicy, emission: Emission, assertion: Assertion) -> list[ClaimedLook]:
    """An assertion's annotations, as far as they may be shown."""
    return [_claim(redaction, emission, annotation) for annotation in assertion.annotations]


def _claim(redaction: RedactionPolicy, emission: Emission, annotation: Annotation) -> ClaimedLook:
    found = recognise(annotation.substrate_class, emission.vocabulary)
    bound, declared = found.name in IDENTITY_BOUND, annotation.observation_id
    shown = None if declared is None else redaction.observation_id(declared, identity_bound=bound)
    return ClaimedLook(
        substrate_class=_class(annotation.substrate_class),
        observation_id=UNSET if shown is None else shown,
        ts=UNSET if annotation.ts is None else _time(annotation.ts),
        locator=UNSET if bound or redaction.hides_ids else _value(annotation.locator),
        terminal=found.terminal,
        unknown=found.name is None or annotation.unknown,
        computed=annotation.computed,
    )


def emitter_of(emission: Emission) -> dict[str, str] | UnsetType:
    """Who emitted, as far as it was said."""
    emitter = emission.emitter
    named = {} if emitter is None else {"system": emitter.system, "model": emitter.model, "prompt": emitter.prompt}
    return {name: value for name, value in named.items() if value is not None} or UNSET


def _class(substrate_class: str) -> str:
    """A class may be any text where it is none of the vocabulary's."""
    known = recognise(substrate_class).name is not None
    return (
        substrate_class if known else clean(substrate_class, "substrate_class", VALUE_CAP, "replace-in-words", Trace())
    )


def _time(value: str | int) -> str:
    return format_time(parse_time(value) or 0)


def _value(value: dict[str, Any] | None) -> Any:
    return UNSET if value is None else clean_tree(value, "locator", VALUE_CAP, "replace-in-words", Trace())


class FramedText(msgspec.Struct, frozen=True, gc=False):
    """What stands in the frame of an output about an assertion, as far as a story needs it: sanitised."""

    assertion: str = ""
    rendered: list[str] | UnsetType = UNSET


class DecisionSummary(msgspec.Struct, frozen=True, gc=False):
    """What an output says about an assertion, as far as an explanation or a comparison needs it."""

    id: str
    emission_id: str
    attempt: int
    status: Status
    revision: int
    effect: Effect
    k: int
    classes: list[str]
    policy: str
    ledger: LedgerPlace
    basis: Basis | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET
    missing_floor: int | UnsetType = UNSET
    classes_seen: list[str] | UnsetType = UNSET
    min_observers: int | UnsetType = UNSET
    missing_observers: int | UnsetType = UNSET
    coverage: CoverageLevel | UnsetType = UNSET
    unchecked: list[tuple[int, int]] | UnsetType = UNSET
    frame: FramedText = field(name="_untrusted_text", default=FramedText())


class DecisionOutput(NamedTuple):
    """A word, and where it was said."""

    topic: str
    span_key: str
    decision: DecisionSummary


_decisions = msgspec.json.Decoder(DecisionSummary)
_NO_WORDS = (DEAD_LETTERS, CITATIONS, VERDICTS)


def decisions_in(outputs: Iterable[Output]) -> Iterator[DecisionOutput]:
    """The words among some outputs, in order; dead letters, citations, what `verdicts` repeats and the ends of requests
    are none."""
    for output in outputs:
        if output.topic not in _NO_WORDS and not ends_request(output):
            yield decision_in(output)


def decision_in(output: Output) -> DecisionOutput:
    """What an output about an assertion says."""
    topic, key, value, _ = output
    return DecisionOutput(topic, (key or b"").decode().partition("#")[2], _decisions.decode(value))
