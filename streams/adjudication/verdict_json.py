"""What the topic `verdicts` says of an emission: of each of its assertions what became of it, and no text
(docs/verdicts.md).

`admitted` and `inadmissible` tell of an assertion when something is decided about it; what is discarded or still
pending stands on neither. Here one record an emission says all of it, at most once a block. Only identifiers,
enumerated values, numbers and times stand in it, so nothing has to be sanitised. Pure; written in one go like
decision_json.py, and held to the structs of `records.py` by the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from ...codecs.blocks import Block
from ...codecs.records import EFFECTS, Disposition, Reason, Status
from ...codecs.times import format_time
from ..policy.policy import BY_FORM
from . import standing
from .decision_json import to_json
from .decisions import Verdict
from .emission_state import (
    CLASSES,
    COVERAGE,
    DISPOSITIONS,
    KINDS,
    LATE,
    REASONS,
    STATUSES,
    WHOLE,
    AssertionState,
    Closed,
    EmissionState,
    Phase,
)
from .fold_layout import VerdictTexts

NONE: Final = -1
"""Stands for no reason, no disposition, and nothing covered."""
_STATUS: Final = {status: number for number, status in enumerate(STATUSES)}
_REASON: Final = {reason: number for number, reason in enumerate(REASONS)}
_PENDING, _ADMITTED = _STATUS["pending"], _STATUS["admitted"]
_REVIEW: Final = DISPOSITIONS.index("review")


def asked(status: str, reason: Reason | None) -> list[int | str]:
    """Why an assertion waits for a reviewer, as it is kept (`AssertionState.asked`)."""
    return list(_numbers(status, reason))


def asked_for(state: AssertionState) -> Verdict:
    """The verdict for which an assertion waits for a reviewer, which it keeps (`AssertionState.asked`)."""
    status, reason = state.asked
    return Verdict(cast("Status", STATUSES[status]), None if reason == NONE else REASONS[reason])


def _numbers(status: str, reason: Reason | None) -> tuple[int, int]:
    return _STATUS[status], NONE if reason is None else _REASON[reason]


def closed(
    state: AssertionState, status: str, reason: Reason | None = None, disposition: Disposition | None = None
) -> Closed:
    """What is remembered of an assertion that ends with this status, reason and disposition."""
    number = NONE if disposition is None else DISPOSITIONS.index(disposition)
    return _closed(state, *_numbers(status, reason), number)


def _closed(state: AssertionState, status: int, reason: int, disposition: int) -> Closed:
    coverage, by = NONE, ""
    checks = standing.classes_by_check(state)
    if any(checks):
        least = standing.covered(state)
        coverage, by = least.level, least.by
    elif not standing.has_own(state):
        checks = []  # a check that observers tell is told of once it was verified
    return Closed(
        state.span_key,
        KINDS.index(state.kind),
        EFFECTS.index(state.effect),
        status,
        reason,
        disposition,
        coverage,
        sorted(seen.number for seen in state.seen if seen.latest >= 0 or seen.ts >= 0),
        standing.missing(state),
        checks,
        state.valid_until,
        by,
    )


def remembered(state: AssertionState) -> Closed:
    """What is said of an assertion that lives, as if it ended so."""
    if state.phase == Phase.PENDING:
        return _closed(state, _PENDING, _REASON["not-looked-at"] if state.look == LATE else NONE, NONE)
    if state.phase == Phase.ADMITTED:
        return _closed(state, _ADMITTED, NONE, NONE)
    status, reason = state.asked
    return _closed(state, status, reason, _REVIEW)


def is_settled(known: EmissionState) -> bool:
    """Whether none of an emission's assertions is pending."""
    return not any(state.phase == Phase.PENDING for attempt in known.attempts for state in attempt.assertions)


class VerdictWriter:
    """Writes the records of one block.

    Args:
        block: the block.
        policy_hash: of the policy in force.
    """

    def __init__(self, block: Block, policy_hash: str) -> None:
        header = block.header
        self.texts = VerdictTexts(
            at=f'"decided_at":"{format_time(header.time)}","assertions":['.encode(),
            ledger=f'],"policy":"{policy_hash}","ledger":{{"partition":{header.lane},"height":{header.height},'
            f'"index":'.encode(),
            behind=f',"block":"{block.hash}"}}}}'.encode(),
            id=f"verdicts/{header.lane}/{header.height}/".encode(),
        )

    def record(self, emission_id: str, emitter: str | None, known: EmissionState, index: int) -> tuple[bytes, bool]:
        """The record of an emission, and whether it is settled.

        Args:
            emission_id: whose.
            emitter: who made it; None where it does not say.
            known: what is known of it, at the end of the block.
            index: the record's place among the block's outputs.
        """
        by = "" if emitter is None else f'"emitter":"{emitter}",'
        settled = is_settled(known)
        head = (
            f'{{"@type":"sluice:Verdicts","@version":"1.0","emission_id":"{emission_id}","attempt":{known.newest()},'
            f'{by}"settled":{"true" if settled else "false"},'
        )
        texts = self.texts
        said = ",".join(_entries(known))
        value = b"".join((head.encode(), texts.at, said.encode(), texts.ledger, str(index).encode(), texts.behind))
        return value, settled


def _entries(known: EmissionState) -> Iterator[str]:
    """Of each attempt first what was closed, in the order of its closing, then what lives, in that of the emission."""
    for attempt in known.attempts:
        for one in (*attempt.closed, *map(remembered, attempt.assertions)):
            if isinstance(one, Closed):  # of what was closed while nothing was told, only the span key is known
                yield _entry(attempt.number, one)


def _entry(attempt: int, one: Closed) -> str:
    key = f'"{one.span_key}"' if one.span_key.startswith("c:") else to_json(one.span_key)
    said = (
        f'{{"attempt":{attempt},"span_key":{key},"kind":"{KINDS[one.kind]}","effect":"{EFFECTS[one.effect]}",'
        f'"status":"{STATUSES[one.status]}",'
    )
    if one.reason != NONE:
        said += f'"reason":"{REASONS[one.reason]}",'
    if one.disposition != NONE:
        said += f'"disposition":"{DISPOSITIONS[one.disposition]}",'
    if one.coverage != NONE:
        said += f'"coverage":"{COVERAGE[one.coverage]}",'
        if one.coverage == WHOLE:
            said += f'"coverage_by":"{one.by or BY_FORM}",'
    if one.checks:
        checks = ",".join(f'{{"number":{number},"classes":{classes}}}' for number, classes in enumerate(one.checks))
        said += f'"checks":[{checks}],'
    classes = ",".join(f'"{CLASSES[number]}"' for number in one.classes)
    said += f'"classes_seen":[{classes}],"missing_floor":{one.missing}'
    return said + (f',"valid_until":"{format_time(one.valid_until)}"}}' if one.valid_until >= 0 else "}")
