"""One lane's ledger replayed: its chain followed, its blocks folded again, each link and root verified.

By `ledger.replay.follow` with the audit's checks (audit/ledger_checks.py), so that a block that stands elsewhere is
still found and sentences name divergences. The first thing that they note ends the replay.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

import msgspec

from ...codecs.blocks import Block, Event, EventKind, Header, Output
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.records import Admitted as AdmittedRecord
from ...codecs.records import Emission, Inadmissible, Observation, ReEmissionRequest, Review, ReviewRequest, Verdicts
from ..audit.divergences import Findings
from ..audit.ledger_checks import LedgerChecks
from ..audit.report import describe
from ..ledger.folds import FOLDS
from ..ledger.interfaces import Fold, Logs
from ..ledger.replay import Linked, follow

EventName: TypeAlias = Literal["record", "oversize", "policy", "gap", "quarantine", "adopt", "ledger"]
Input: TypeAlias = Emission | Observation | Review
Decided: TypeAlias = AdmittedRecord | Inadmissible | ReviewRequest | ReEmissionRequest | Verdicts

_DECODERS: Final = {"emissions": decode_emission, "observations": decode_observation, "reviews": decode_review}
_OUTPUTS: Final[dict[str, Any]] = {
    "admitted": msgspec.json.Decoder(AdmittedRecord),
    "inadmissible": msgspec.json.Decoder(Inadmissible),
    "review-requests": msgspec.json.Decoder(ReviewRequest),
    "re-emission-requests": msgspec.json.Decoder(ReEmissionRequest),
    "verdicts": msgspec.json.Decoder(Verdicts),
}
_NAMES: Final[dict[int, EventName]] = {
    EventKind.RECORD: "record",
    EventKind.OVERSIZE: "oversize",
    EventKind.POLICY: "policy",
    EventKind.GAP: "gap",
    EventKind.QUARANTINE: "quarantine",
    EventKind.ADOPT: "adopt",
    EventKind.LEDGER: "ledger",
}


class ReplayedEvent(NamedTuple):
    """What a lane took in.

    Attributes:
        kind: `record`, `oversize`, `policy`, `gap` (what retention deleted unread), or `quarantine` (a batch that
            could not be read; `sluice.codecs.quarantine` reads its `raw`).
        topic: its logical name; empty for what is neither a record nor a batch.
        record: decoded; None where it is no record, or none that could be taken in: then `fault` says why.
        raw: the bytes as they came. Quarantine: nobody has sanitised them.
    """

    kind: EventName
    topic: str
    offset: int
    timestamp: int
    key: bytes | None
    record: Input | None
    fault: Fault | None
    raw: bytes | None
    headers: Sequence[tuple[str, bytes]]


class ReplayedOutput(NamedTuple):
    """What a lane decided, folded again.

    Attributes:
        topic: its logical name.
        record: decoded, its text framed; None for a dead letter: `reason` says why it is one.
    """

    topic: str
    key: bytes | None
    record: Decided | None
    reason: str
    value: bytes
    headers: Sequence[tuple[str, bytes]]


class ReplayedBlock(NamedTuple):
    """One block of a lane's ledger, with what it took in and what it decided.

    Attributes:
        time, watermark: Unix milliseconds.
        policy, fold: what it was decided under.
        confirmed: whether the next block names the root of these outputs; the newest block has no next one.
    """

    lane: int
    height: int
    hash: str
    time: int
    watermark: int
    policy: str
    fold: str
    events: Sequence[ReplayedEvent]
    outputs: Sequence[ReplayedOutput]
    confirmed: bool


async def replay(logs: Logs, lane: int) -> AsyncGenerator[ReplayedBlock, None]:
    """The blocks of a lane, each once the next one has confirmed it.

    Raises:
        DoesNotHoldError: something does not hold; nothing behind it is handed out.
    """
    checks = _Checks(Findings(lane), logs, lane)
    held: ReplayedBlock | None = None
    end = (await logs.range("ledger", lane)).end
    batches = logs.batches("ledger", lane, end=end)
    async with aclosing(batches), aclosing(follow(batches, checks, lane, logs.lanes)) as blocks:
        async for (block, *_), outputs, _ in blocks:
            if held is not None:  # the checks of this block have judged the one before it as well
                yield held._replace(confirmed=True)
            assert block is not None, "a chain tells what is wrong before it gives no block"
            assert outputs is not None, "what is not folded ends the replay"
            held = _replayed(block, outputs)
    checks.demand_nothing_found()
    if held is not None:
        yield held


class _Checks(LedgerChecks):
    """Ends at the first thing that does not hold."""

    def judge(self, linked: Linked, state: Any, /) -> Fold | None:
        self.demand_nothing_found()
        fold = super().judge(linked, state)
        self.demand_nothing_found()
        return fold

    def failed(self, linked: Linked, error: Exception, /) -> NoReturn:
        raise error

    def is_foreign(self, linked: Linked, header: Header, expected: Sequence[str]) -> NoReturn:
        self.demand_nothing_found()
        raise DoesNotHoldError(
            "the block was decided by another version of the fold",
            path=f"ledger/{self.findings.lane}, block {header.height}",
            expected=" or ".join(FOLDS),
            got=header.fold,
        )

    def demand_nothing_found(self) -> None:
        """
        Raises:
            DoesNotHoldError: something was.
        """
        if self.findings.found:
            raise DoesNotHoldError(describe(self.findings.found[0]))


def _replayed(block: Block, outputs: Sequence[Output]) -> ReplayedBlock:
    header = block.header
    return ReplayedBlock(
        lane=header.lane,
        height=header.height,
        hash=block.hash,
        time=header.time,
        watermark=header.watermark,
        policy=header.policy,
        fold=header.fold,
        events=[_event(block, event) for event in block.events],
        outputs=[_output(output) for output in outputs],
        confirmed=False,
    )


def _event(block: Block, event: Event) -> ReplayedEvent:
    kind = _NAMES[event.kind]
    is_input = kind in ("record", "oversize", "quarantine")
    topic = block.header.sources[event.source].topic if is_input else ""
    found = _DECODERS[topic](event.value) if kind == "record" and topic in _DECODERS else None
    record, fault = (None, found) if isinstance(found, Fault) else (found, None)
    return ReplayedEvent(
        kind, topic, event.offset, event.timestamp, event.key, record, fault, event.value, event.headers
    )


def _output(output: Output) -> ReplayedOutput:
    decoder = _OUTPUTS.get(output.topic)
    reason = next((text.decode() for name, text in output.headers if name == "sluice-reason"), "")
    record = None if decoder is None else decoder.decode(output.value)
    return ReplayedOutput(
        output.topic, output.key, record, "" if decoder is not None else reason, output.value, output.headers
    )
