"""One lane's ledger replayed: its chain followed, its blocks folded again, each link and root verified.

With the audit's own readers and rules (audit/chain_check.py, audit/rules.py); what they find ends the replay. Not
`ledger.replay`: the auditor's sentences name divergences, and a block that stands elsewhere is still found.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ...codecs.blocks import Block, Event, EventKind, Output, outputs_root
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.records import Admitted as AdmittedRecord
from ...codecs.records import Emission, Inadmissible, Observation, Request, Review
from ..audit.chain_check import ChainCheck, Linked
from ..audit.divergences import Findings
from ..audit.report import describe
from ..audit.rules import Rules
from ..ledger.folds import FOLDS, FoldByVersion
from ..ledger.interfaces import Logs

EventName: TypeAlias = Literal["record", "oversize", "policy", "gap"]
Input: TypeAlias = Emission | Observation | Review
Decided: TypeAlias = AdmittedRecord | Inadmissible | Request

_DECODERS: Final = {"emissions": decode_emission, "observations": decode_observation, "reviews": decode_review}
_OUTPUTS: Final[dict[str, Any]] = {
    "admitted": msgspec.json.Decoder(AdmittedRecord),
    "inadmissible": msgspec.json.Decoder(Inadmissible),
    "review-requests": msgspec.json.Decoder(Request),
    "re-emission-requests": msgspec.json.Decoder(Request),
}
_NAMES: Final[dict[int, EventName]] = {
    EventKind.RECORD: "record",
    EventKind.OVERSIZE: "oversize",
    EventKind.POLICY: "policy",
    EventKind.GAP: "gap",
}


class ReplayedEvent(NamedTuple):
    """What a lane took in.

    Attributes:
        kind: `record`, `oversize`, `policy`, or `gap` (what retention deleted unread).
        topic: its logical name; empty for what is no record.
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
    replaying = _Replay(logs, lane)
    held: ReplayedBlock | None = None
    async with aclosing(_chain(logs, lane, replaying.findings)) as chain:
        async for linked in chain:
            block = replaying.step(linked)  # judges the one before it as well
            if held is not None:
                yield held._replace(confirmed=True)
            held = block
    replaying.demand_nothing_found()
    if held is not None:
        yield held


async def _chain(logs: Logs, lane: int, findings: Findings) -> AsyncGenerator[Linked, None]:
    """The blocks of a lane in the order of the chain, as far as its ledger goes now."""
    chain, end = ChainCheck(findings, lane, {}), (await logs.range("ledger", lane)).end
    async with aclosing(logs.batches("ledger", lane, end=end)) as batches:
        ended = False
        while True:
            while not ended and chain.hungry:
                batch = await anext(batches, None)
                if batch is None:
                    ended = True
                    chain.end()
                else:
                    chain.feed(batch)
            linked = chain.take()
            if linked is not None:
                yield linked
            elif ended:
                return


class _Replay:
    """One lane on its way: its state is the fold of the blocks so far."""

    def __init__(self, logs: Logs, lane: int) -> None:
        self._lane, self._lanes = lane, logs.lanes
        self.findings = Findings(lane)
        self._rules = Rules(self.findings, lane, logs.lanes)
        self._by_version = FoldByVersion(logs.secrets)
        self._state: Any = None

    def step(self, linked: Linked) -> ReplayedBlock:
        """Judges and folds the next block.

        Raises:
            DoesNotHoldError: something does not hold, here or in the block before.
            UsageError: identifiers are hashed with a secret that the settings do not have.
        """
        self.demand_nothing_found()
        block = linked.block
        assert block is not None, "a chain tells what is wrong before it gives no block"
        self._rules.judge(block, linked.height)
        self.demand_nothing_found()
        fold = self._by_version.take(block.header)
        if fold is None:
            raise self._not_ours(block)
        if self._state is None:
            self._state = fold.new(self._lane, self._lanes)
        self._rules.policy(block, linked.height, fold.policy_hash(self._state))
        self.demand_nothing_found()
        outputs = fold.fold(self._state, block)
        self._rules.root = outputs_root(outputs)
        return _replayed(block, outputs)

    def demand_nothing_found(self) -> None:
        """
        Raises:
            DoesNotHoldError: something was.
        """
        if self.findings.found:
            found = self.findings.found[0]
            raise DoesNotHoldError(describe(found))

    def _not_ours(self, block: Block) -> DoesNotHoldError:
        return DoesNotHoldError(
            "the block was decided by another version of the fold",
            path=f"ledger/{self._lane}, block {block.header.height}",
            expected=" or ".join(FOLDS),
            got=block.header.fold,
        )


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
    is_input = kind in ("record", "oversize")
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
