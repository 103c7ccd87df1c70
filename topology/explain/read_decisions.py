"""What outputs say about assertions, as far as an explanation or a comparison needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType, field

from ...codecs.blocks import Output
from ...codecs.records import Basis, CoverageLevel, Disposition, Effect, LedgerPlace, Reason, Status
from ...streams.adjudication.outputs import CITATIONS, DEAD_LETTERS, VERDICTS, ends_request


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
