"""Retention that deletes ahead of whoever reads: what it took is expired, and what else is absent is missing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from audited_lanes import World

from sluice.topology.audit.checkpoint_check import CheckpointClaims
from sluice.topology.audit.lane_audit import Task, audit_lane
from sluice.topology.audit.report import LaneReport, Span
from sluice.topology.engine.export_files import FolderLogs, Range, Stored
from sluice.topology.engine.stored_topics import SKEW, RecordedRetention, export, may_be_taken

HOUR = 3_600_000
ORIGINAL = World()
TOPIC, LANE = "dead-letters", 2
T = 1_790_000_000_000


class Overtaken(FolderLogs):
    """Topics of which one loses records while it is read; `deletes` tells whether the log's beginning says so."""

    def __init__(self, folder: Path, at: int, count: int, *, deletes: bool) -> None:
        super().__init__(folder)
        self._at, self._count, self._deletes, self._first = at, count, deletes, 0

    async def range(self, topic: str, lane: int) -> Range:
        kept = await super().range(topic, lane)
        return Range(self._first, kept.end) if (topic, lane) == (TOPIC, LANE) else kept

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        async for batch in super().batches(topic, lane, start, end):
            if (topic, lane) != (TOPIC, LANE):
                yield batch
                continue
            if self._at:
                yield batch[: self._at]
            rest = batch[self._at + self._count :]
            if self._deletes:
                self._first = batch[self._at + self._count - 1].offset + 1
            if rest:
                yield rest


async def audited(logs: FolderLogs) -> LaneReport:
    """The report of the lane."""
    return await audit_lane(logs, Task(await logs.cut(), LANE, CheckpointClaims(), Span()), lambda _: None)


LETTERS = len(ORIGINAL.topics[TOPIC, LANE])
PLACES = [(at, count) for at in range(LETTERS) for count in range(1, LETTERS - at + 1)]


@pytest.mark.parametrize(("at", "count"), PLACES)
async def test_what_retention_takes_ahead_of_the_audit_is_expired(tmp_path: Path, at: int, count: int):
    """From the beginning, within, and up to the end."""
    report = await audited(Overtaken(ORIGINAL.save(tmp_path), at, count, deletes=True))

    assert report.divergences == []
    assert report.topics[TOPIC].expired == count
    assert report.topics[TOPIC].equal == LETTERS - count


@pytest.mark.parametrize(("at", "count"), PLACES)
async def test_what_the_logs_beginning_does_not_explain_is_missing(tmp_path: Path, at: int, count: int):
    """A jump alone says nothing."""
    report = await audited(Overtaken(ORIGINAL.save(tmp_path), at, count, deletes=False))

    assert {one.kind for one in report.divergences} == {"missing-output"}
    assert sum(one.count for one in report.divergences) == count


@pytest.mark.parametrize(
    ("recorded", "age", "expected"),
    [
        ([], HOUR, None),
        ([(0, 1000, HOUR)], HOUR - SKEW - 1, False),
        ([(0, 1000, HOUR)], HOUR - SKEW, True),  # clocks may differ by so much
        ([(0, 1000, -1)], 1000 * HOUR, False),
        ([(0, 1000, 0)], 0, True),
        ([(T + 1, T + 1000, HOUR)], 0, None),  # nothing is recorded for its time
        ([(T - 5000, T + 1000, HOUR)], 2 * SKEW, False),  # the first one, between whose two it was written
        ([(0, 1000, HOUR), (T - 10, T - 5, 1000)], SKEW, True),  # lowered before it was written
        ([(0, 1000, HOUR), (T - 10, T + 5, 1000)], SKEW, False),  # lowered about then: the longer one counts
        ([(0, 1000, HOUR), (T + 10, T + 15, 1000)], SKEW, False),  # lowered behind it
        ([(0, 1000, HOUR), (T + 10, T + 15, 1000), (T + 20, T + 25, HOUR)], 2 * SKEW, False),  # and raised again
        ([(0, 1000, HOUR), (T + 10, T + 15, 1000), (T + 20, T + 25, HOUR)], HOUR, True),
        ([(0, 1000, HOUR), (T + HOUR, T + HOUR + 5, -1)], HOUR + 10, True),  # old enough before it was raised
        ([(0, 1000, HOUR), (T + 10, T + 15, -1)], 9 * HOUR, False),  # raised while it was young
    ],
)
def test_a_record_may_be_taken_once_it_is_as_old_as_all_that_was_recorded_since(
    recorded: list[tuple[int, int, int]], age: int, expected: bool | None
):
    """By the checkpoints that record a topic's `retention.ms`."""
    assert may_be_taken([RecordedRetention(*one) for one in recorded], T, T + age) is expected


async def test_an_export_tells_what_went_while_it_was_made(tmp_path: Path):
    """By topic, lane and offsets."""
    reported: list[tuple[str, int, int, int]] = []
    logs = Overtaken(ORIGINAL.save(tmp_path / "broker"), 1, 2, deletes=True)

    await export(logs, tmp_path / "export", "now", gone=lambda *one: reported.append(one))

    letters = ORIGINAL.topics[TOPIC, LANE]
    assert reported == [(TOPIC, LANE, letters[0].offset + 1, letters[2].offset)]
