"""What an input says about an emission, for people: which events of a block are about it, and what they hold.

Free text and free values go through the sanitiser here, as they would on their way to an output [V §4].
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from ..codecs.blocks import Block, Event, EventKind
from ..codecs.records import Annotation, Assertion, Effect, Emission, Observation, Review
from ..codecs.times import format_time, parse_time
from ..codecs.vocabulary import recognise
from ..streams.policy import Policy
from ..streams.sanitise import Trace, clean, clean_tree
from .explanation import Claim, Observed, Reviewed

VALUE_CAP: Final = 2000
"""Octets that any one string of a locator or a detail keeps; the contract's cap for a rationale [V §4.1]."""
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
        self._id, self._octets = emission_id, emission_id.encode()

    def places(self, block: Block) -> list[int]:
        """The places of a block's events that are about it. Asked of every event: it must cost next to nothing."""
        octets, hidden = self._octets, _ESCAPED.search
        return [
            place
            for place, event in enumerate(block.events)
            if event.key == octets
            or (event.value is not None and (octets in event.value or hidden(event.value)) and self._is_named(event))
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


def shown_text(policy: Policy, text: str, effect: Effect) -> str:
    """An assertion's text as its outputs would have it."""
    rules = policy.sanitation
    given = rules.confusables.external if effect == "external" else rules.confusables.internal
    return clean(text, "assertion", rules.caps["assertion"], "replace" if given == "reject" else given, Trace())


def observed(policy: Policy, observation: Observation) -> Observed:
    """An observation; of the identity-bound tier without its id."""
    clear = observation.tier != "identity-bound"
    return Observed(
        substrate_class=_class(observation.substrate_class),
        outcome=observation.outcome,
        observer=observation.observer,
        observed_at=_time(observation.observed_at),
        observation_id=_id(policy, observation.observation_id) if clear else UNSET,
        tier=observation.tier,
        confidence=observation.confidence,
        locator=_value(observation.locator),
        detail=_value(observation.detail),
    )


def reviewed(review: Review) -> Reviewed:
    """A person's decision."""
    return Reviewed(
        decision=review.decision,
        reviewer=review.reviewer or UNSET,
        reason=clean(review.reason, "reason", VALUE_CAP, "replace", Trace()) or UNSET,
        decided_at=UNSET if review.decided_at is None else _time(review.decided_at),
    )


def claims(policy: Policy, emission: Emission, assertion: Assertion) -> list[Claim]:
    """An assertion's annotations."""
    return [_claim(policy, emission, annotation) for annotation in assertion.annotations]


def _claim(policy: Policy, emission: Emission, annotation: Annotation) -> Claim:
    found = recognise(annotation.substrate_class, emission.vocabulary)
    return Claim(
        substrate_class=_class(annotation.substrate_class),
        observation_id=UNSET if annotation.observation_id is None else _id(policy, annotation.observation_id),
        ts=UNSET if annotation.ts is None else _time(annotation.ts),
        locator=_value(annotation.locator),
        terminal=found.terminal,
        unknown=found.name is None or annotation.unknown,
    )


def emitter_of(emission: Emission) -> dict[str, str] | UnsetType:
    """Who emitted, as far as it was said."""
    emitter = emission.emitter
    named = {} if emitter is None else {"system": emitter.system, "model": emitter.model, "prompt": emitter.prompt}
    return {name: value for name, value in named.items() if value is not None} or UNSET


def _id(policy: Policy, observation_id: str) -> str | UnsetType:
    return observation_id if policy.privacy.observation_ids == "clear" else UNSET


def _class(substrate_class: str) -> str:
    """A class may be any text where it is none of the vocabulary's."""
    known = recognise(substrate_class).name is not None
    return substrate_class if known else clean(substrate_class, "substrate_class", VALUE_CAP, "replace", Trace())


def _time(value: str | int) -> str:
    return format_time(parse_time(value) or 0)


def _value(value: dict[str, Any] | None) -> Any:
    return UNSET if value is None else clean_tree(value, "locator", VALUE_CAP, "replace", Trace())
