"""The auditor: ledgers replayed block by block, as an iterator, with what was taken in and what was decided.

A lane's chain is followed, its blocks are folded again, each link and root verified with the audit's own checks
(audit/ledger_checks.py). A block is handed out once the next one has confirmed what it decided; the first thing that
does not hold ends the iterator.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, NoReturn, Self, TypeAlias

import msgspec

from ...codecs.blocks import Block, Event, EventKind, Header, Output
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import DoesNotHoldError, Fault, UsageError
from ...codecs.notes import Verifier
from ...codecs.records import Admitted as AdmittedRecord
from ...codecs.records import Emission, Inadmissible, Observation, ReEmissionRequest, Review, ReviewRequest, Verdicts
from ...codecs.times import EXPECTED, LATEST, format_time, parse_time
from ..audit.divergences import Findings
from ..audit.ledger_checks import LedgerChecks
from ..audit.report import Report, describe
from ..audit.run import AuditRequest, audit
from ..engine.folds import FOLDS
from ..engine.interfaces import Fold, Logs
from ..engine.replay import Linked, follow
from ..engine.stored_topics import open_logs
from ..settings.process import now_ms
from ..settings.settings import Settings
from .blocking import Held, next_of
from .kafka_ports import settings_for
from .ports import ClosedError

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
            could not be read; `sluice.codecs.blocks` reads its `raw`).
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


class AsyncAuditor:
    """Replays ledgers. Use it as an async context manager, and iterate it, or `blocks`.

    Args:
        settings: the broker and prefix, and the secrets that identifiers are hashed with, where they are.
        bootstrap: a broker's address instead; all else is as the environment and `sluice.toml` have it.
        folder: an export instead of a broker (`sluice audit --export`).
        logs: stored topics instead of either.

    Raises:
        UnreachableError: no broker answers.
        UsageError: on entering, where the folder is no export, or the broker has no ledger.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        bootstrap: str | None = None,
        folder: str | Path | None = None,
        logs: Logs | None = None,
    ) -> None:
        self._settings = settings_for(settings, bootstrap)
        self._folder = None if folder is None else Path(folder)
        self._logs = logs
        self._given = logs
        self._stack = AsyncExitStack()
        self._opened = False

    def __aiter__(self) -> AsyncIterator[ReplayedBlock]:
        return self.blocks()

    async def blocks(
        self, lanes: Sequence[int] = (), since: str | int | None = None, until: str | int | None = None
    ) -> AsyncGenerator[ReplayedBlock, None]:
        """Blocks in the order of their times; those of one lane in the order of its chain.

        Every lane is folded from its beginning, whatever `since` says: only so can it be verified.

        Args:
            lanes: these only; all where none are named.
            since, until: block times to hand out, both included; RFC 3339 with a Z or Unix milliseconds.

        Raises:
            DoesNotHoldError: something does not hold; nothing behind it in any lane is handed out.
            UsageError: there is no such lane, or a time is none.
        """
        logs = self._demand_open()
        first, last = _time("since", since, 0), _time("until", until, LATEST)
        chosen = sorted(set(lanes)) or list(range(logs.lanes))
        if not set(chosen) <= set(range(logs.lanes)):
            got = ", ".join(map(str, chosen))
            raise UsageError("there is no such lane", path="lanes", expected=f"0 to {logs.lanes - 1}", got=got)
        async with AsyncExitStack() as opened:
            replays = [await opened.enter_async_context(aclosing(replay(logs, lane))) for lane in chosen]
            heads = {
                number: block for number, one in enumerate(replays) if (block := await anext(one, None)) is not None
            }
            while heads:
                number = min(heads, key=lambda one: (heads[one].time, one))
                block = heads[number]
                if block.time > last:
                    return
                if block.time >= first:
                    yield block
                after = await anext(replays[number], None)
                if after is None:
                    del heads[number]
                else:
                    heads[number] = after

    async def report(self, verifiers: Sequence[Verifier] = ()) -> Report:
        """The whole audit: chain, folding, output topics byte for byte, and checkpoints (`sluice audit`).

        Args:
            verifiers: whose signatures are believed; without any none is checked.
        """
        self._demand_open()
        if self._given is not None:
            raise UsageError("a fake has no topics that could differ from its ledger", path="auditor")
        return await audit(AuditRequest(self._settings, self._folder, verifiers=verifiers), format_time(now_ms()))

    def _demand_open(self) -> Logs:
        if not self._opened or self._logs is None:
            raise ClosedError("auditor")
        return self._logs

    async def __aenter__(self) -> Self:
        if self._given is None:
            self._logs = await self._stack.enter_async_context(open_logs(self._settings, self._folder))
        self._opened = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes; a second call does nothing."""
        self._opened = False
        await self._stack.aclose()


def _time(name: str, value: str | int | None, default: int) -> int:
    if value is None:
        return default
    time = parse_time(value)
    if time is None:
        raise UsageError("not a time", path=name, expected=EXPECTED, got=str(value))
    return time


class Auditor(Held):
    """As `AsyncAuditor`, blocking, for one thread. Arguments are those of `AsyncAuditor`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        bootstrap: str | None = None,
        folder: str | Path | None = None,
        logs: Logs | None = None,
    ) -> None:
        self._auditor = AsyncAuditor(settings, bootstrap=bootstrap, folder=folder, logs=logs)
        super().__init__("auditor", self._auditor)

    def __iter__(self) -> Iterator[ReplayedBlock]:
        return self.blocks()

    def blocks(
        self, lanes: Sequence[int] = (), since: str | int | None = None, until: str | int | None = None
    ) -> Iterator[ReplayedBlock]:
        """As `AsyncAuditor.blocks`: `lanes`, `since` and `until` are its arguments, and it raises the same errors."""
        blocks = self._auditor.blocks(lanes, since, until)
        while (block := self._portal.call(next_of(blocks))) is not None:
            yield block

    def report(self, verifiers: Sequence[Verifier] = ()) -> Report:
        """As `AsyncAuditor.report`."""
        return self._portal.call(self._auditor.report(verifiers))
