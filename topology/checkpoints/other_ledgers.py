"""The stored topics as a proof of another ledger than the adjudicating lanes' reads them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from ..ledger.export_files import Cut, Range, Stored
from ..ledger.folds import Adjudicate, folds
from ..ledger.interfaces import Logs

FOLDS: Final = {fold.ledger: fold for fold in folds()}
"""By the ledger that each writes."""
DEFAULT: Final = Adjudicate.ledger


class LedgerLogs:
    """Logs whose `ledger` and `checkpoints` are those of one fold, as `interfaces.Logs`; all else is as it was.

    Args:
        logs: the stored topics.
        ledger: the logical name of the fold's ledger.
    """

    def __init__(self, logs: Logs, ledger: str) -> None:
        self._logs, self._names = logs, {DEFAULT: ledger, "checkpoints": FOLDS[ledger].checkpoints}
        self.where, self.secrets, self.lanes, self.app_id = logs.where, logs.secrets, logs.lanes, logs.app_id
        self.ledger = logs.ledger.removesuffix(DEFAULT) + ledger

    def expect(self, topic: str, lane: int) -> None:
        self._logs.expect(self._of(topic), lane)

    async def range(self, topic: str, lane: int) -> Range:
        return await self._logs.range(self._of(topic), lane)

    def as_of(self) -> int:
        return self._logs.as_of()

    async def cut(self) -> Cut:
        return await self._logs.cut()

    def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        return self._logs.batches(self._of(topic), lane, start, end, having=having)

    def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        return self._logs.records(self._of(topic), lane, start)

    def _of(self, topic: str) -> str:
        return self._names.get(topic, topic)
