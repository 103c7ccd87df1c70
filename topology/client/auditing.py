"""The auditor: ledgers replayed block by block, as an iterator, with what was taken in and what was decided.

A block is handed out once the next one has confirmed what it decided; the first thing that does not hold ends the
replay with its sentence. Whether the output topics hold the same, and whether checkpoints vouch for the end, `report`
tells: that is the whole of `sluice audit`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from types import TracebackType
from typing import Self

from ...codecs.errors import UsageError
from ...codecs.notes import Verifier
from ...codecs.times import EXPECTED, LATEST, format_time, parse_time
from ..audit.report import Report
from ..audit.run import AuditRequest, audit
from ..ledger.interfaces import Logs
from ..ledger.log_reader import open_logs
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .errors import ClosedError
from .kafka import settings_for
from .lane_replay import ReplayedBlock, replay
from .portal import Held, next_of


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
