"""What an input says about an emission, for people: which events of a block are about it, and what they hold.

Free text and free values go through the sanitiser here, as they would on their way to an output [V §4].
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.blocks import Block, Event, EventKind
from ...codecs.records import Annotation, Assertion, Emission, Observation, Review
from ...codecs.times import format_time, parse_time
from ...codecs.vocabulary import recognise
from ...streams.adjudication.corroboration import class_of
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import IDENTITY_BOUND, RedactionPolicy, binds_identity
from ...streams.sanitise import Trace, clean, clean_tree
from .explained_checks import Stated, observed_checks, rest_of
from .explanation import ClaimedLook, Observed, Reviewed

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
    """An observation, as far as it may be shown [S §12]: its id as in the outputs; where that is not in clear, nothing
    of the place that was looked at either, and of the detail only which terms were found and why not.

    Args:
        policy: whose rules of sanitation hold.
        veil: what may be shown.
        observation: an observer's word.
        of: the assertion that it speaks of; None where that is not known.
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
        texts = value if isinstance(value, list) else [value]
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
