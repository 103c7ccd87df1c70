"""Keeps a view: follows its topics as committed, and writes what comes into it, with the positions.

Its own consumer, without a group: the view's positions are the only ones, and stand in the view. One process writes; a
second one with the same file reads it, and takes over when the first one ends. Whatever fails (the broker away, the
file lost or damaged, topics made anew) is tried again for ever: answers say meanwhile that they are not ready.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final, cast

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError
from ..engine.intake import InputMarks
from ..engine.policies import document_of, in_force
from ..kafka.connect import open_consumer, partitions_of
from ..kafka.partition_reader import nothing_follows
from ..kafka.requests import log_ends
from ..kafka.topic_reader import PassingReader
from ..kafka.topics import topic_name
from ..settings.process import now_ms
from ..settings.settings import Settings
from .adapter_view import AdapterView
from .kept_view import BEHIND, PARTITIONS, Arrived, Batch, InUse, KeptView, Place

RETRY_SECONDS: Final = 2.0
TAKE_OVER_SECONDS: Final = 1.0
TELL_SECONDS: Final = 1.0
"""So often the view is told that it is up to date: `STALE_SECONDS` of adapter.py is far above."""
PRUNE_SECONDS: Final = 30.0
POLICY_SECONDS: Final = 60.0
IDLE_SECONDS: Final = 3.0
"""A partition that stands still so long before its end is asked whether anything is there at all."""
RECORDS_AT_ONCE: Final = 2000
WAIT_MS: Final = 250

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _Anew(Exception):
    """The view does not go with the broker's topics any more, or its file is gone: it is to be made anew."""


class Following:
    """Follows the broker into one view of a kind. `run` is its only task; it calls `taken` whenever something came into
    it.

    `refused` counts by topic the records that were not fit to be shown, in every view that this process has kept.
    """

    def __init__(
        self,
        settings: Settings,
        path: Path,
        kind: type[KeptView] = AdapterView,
        taken: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings, self._path, self._kind, self.taken = settings, path, kind, taken
        self.refused: Counter[str] = Counter()
        self._identity = f"{settings.broker} {settings.topic_prefix}"
        self._policy: str | None = None

    async def run(self) -> None:
        """Follows until cancelled."""
        waiting = False
        while True:
            try:
                view = await asyncio.to_thread(self._kind, self._path, self._identity, self.refused)
            except InUse:
                if not waiting:
                    log.info("another process keeps the view", path=str(self._path))
                waiting = True
                await asyncio.sleep(TAKE_OVER_SECONDS)
                continue
            except (sqlite3.Error, OSError) as error:
                log.error("the view cannot be opened: trying again", path=str(self._path), error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            waiting = False
            await self._keep(view)

    async def _keep(self, view: KeptView) -> None:
        """Follows into an open view until it has to be opened again."""
        asking = asyncio.create_task(self._ask_for_policies())
        anew = False
        try:
            await self._follow(view)
        except _Anew as why:
            log.warning("the view is made anew", why=str(why))
            anew = True
        except (SluiceError, KafkaError, OSError, sqlite3.Error) as error:
            log.warning("the view does not follow: trying again", error=str(error) or repr(error))
        finally:
            asking.cancel()
            if anew and not view.lost:
                with suppress(OSError):
                    self._path.unlink()
            view.close()
        await asyncio.sleep(0 if anew else RETRY_SECONDS)

    async def _follow(self, view: KeptView) -> None:
        settings = self._settings
        isolation = "read_committed" if settings.delivery == "exactly-once" else "read_uncommitted"
        async with open_consumer(settings, isolation_level=isolation, fetch_max_wait_ms=WAIT_MS) as consumer:
            places: dict[TopicPartition, Place] = {}
            for topic in view.topics:
                name = topic_name(settings, topic)
                for number in await partitions_of(consumer, settings, name):
                    places[TopicPartition(name, number)] = (topic, number)
            consumer.assign(list(places))
            starts = await _seek(consumer, view, places)
            log.info(
                "the view follows", path=str(self._path), behind=sum(one.end - one.start for one in starts.values())
            )
            await _Pass(settings, consumer, view, places, starts, self).run()

    async def _ask_for_policies(self) -> None:
        while True:
            try:
                found = Counter(lane.hash for lane in await in_force(self._settings) if lane.hash)
                # Lanes differ only while one takes its next block: the one that most have.
                chosen = max(sorted(found), key=lambda one: found[one], default=None)
                policy = None if chosen is None else await document_of(self._settings, chosen)
                self._policy = "" if policy is None else policy.document.decode()
            except (SluiceError, KafkaError, OSError) as error:
                log.info("the policy in force cannot be read: trying again", error=str(error))
            await asyncio.sleep(POLICY_SECONDS)

    @property
    def policy(self) -> dict[str, str]:
        """The policy in force, as the view is told of it; nothing before it is known."""
        return {} if self._policy is None else {"policy": self._policy}


class _Range:
    """Where reading began, where the log ended then, and the marks of its end since."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end, self.at = start, end, start
        self.marks = InputMarks()
        self.moved_at = monotonic()


async def _seek(
    consumer: AIOKafkaConsumer, view: KeptView, places: dict[TopicPartition, Place]
) -> dict[TopicPartition, _Range]:
    """Goes to where the view has come to.

    Raises:
        _Anew: the topics are not those that the view was read from.
    """
    known = await asyncio.to_thread(view.positions)
    if set(known) - set(places.values()):
        raise _Anew("there are fewer partitions than it was read from")
    first = cast("dict[TopicPartition, int]", await consumer.beginning_offsets(list(places)))
    ends = cast("dict[TopicPartition, int]", await consumer.end_offsets(list(places)))
    ranges: dict[TopicPartition, _Range] = {}
    for partition, place in places.items():
        tail = view.tails.get(place[0])
        start = known.get(place, 0 if tail is None else max(first[partition], ends[partition] - tail))
        if start > ends[partition]:
            raise _Anew("a topic ends before what was read from it")
        if start < first[partition]:
            if start:
                log.warning("retention has deleted what was not read", topic=place[0], partition=place[1])
                await asyncio.to_thread(view.forget, *place)
            start = first[partition]
        consumer.seek(partition, start)
        ranges[partition] = _Range(start, ends[partition])
    return ranges


class _Pass:
    """One stretch of following, with one consumer."""

    def __init__(
        self,
        settings: Settings,
        consumer: AIOKafkaConsumer,
        view: KeptView,
        places: dict[TopicPartition, Place],
        ranges: dict[TopicPartition, _Range],
        following: Following,
    ) -> None:
        self._settings, self._consumer, self._view = settings, consumer, view
        self._places, self._ranges, self._following = places, ranges, following
        self._reported_at = self._pruned_at = self._asked_at = 0.0

    async def run(self) -> None:
        reader = PassingReader(self._consumer, self._settings.max_unpacked_bytes)
        while True:
            fetched = await reader.take(WAIT_MS / 1000, RECORDS_AT_ONCE)
            batches: dict[Place, Batch] = {}
            for partition, place in self._places.items():
                records, moved = fetched.get(partition, []), self._ranges[partition]
                position = await self._consumer.position(partition)
                if position != moved.at:
                    moved.at, moved.moved_at = position, monotonic()
                    batches[place] = Batch(
                        [Arrived(one.offset, one.key, one.value, one.timestamp) for one in records], position
                    )
            now = monotonic()
            if now - self._asked_at >= TELL_SECONDS:
                self._asked_at = now
                await self._mark()
            if batches or now - self._reported_at >= TELL_SECONDS:
                if self._view.lost:
                    raise _Anew("its file is gone")
                await asyncio.to_thread(self._view.take, batches, **self._about())
                if batches:
                    self._following.taken()
                self._reported_at = now
            if now - self._pruned_at >= PRUNE_SECONDS:
                self._pruned_at = now
                await asyncio.to_thread(self._view.prune, now_ms())
            await self._pass_what_is_gone()

    async def _mark(self) -> None:
        """Asks leaders where their partitions end: each of which the last end has been read."""
        asked = now_ms()
        free = [one for one, moved in self._ranges.items() if not moved.marks.is_waiting(moved.at)]
        for partition, (end, _) in (await log_ends(self._consumer, free)).items():
            self._ranges[partition].marks.ended(end, asked)

    def _end(self, partition: TopicPartition) -> int | None:
        stable = self._consumer.last_stable_offset(partition)
        return stable if stable is not None and stable >= 0 else self._consumer.highwater(partition)

    def _about(self) -> dict[str, str]:
        """Up to when the view has everything, or how much of it, before it first has; and what is not in it yet."""
        about = dict(self._following.policy)
        behind: Counter[str] = Counter()
        for partition, (topic, _) in self._places.items():
            end, moved = self._end(partition), self._ranges[partition]
            behind[topic] += max(0, (moved.end if end is None else end) - moved.at)
        about.update((f"{BEHIND}{topic}", str(count)) for topic, count in behind.items())
        counts = Counter(topic for topic, _ in self._places.values())
        about.update((f"{PARTITIONS}{topic}", str(count)) for topic, count in counts.items())
        marks = [moved.marks.read_to(moved.at) for moved in self._ranges.values()]
        passed = [mark for mark in marks if mark is not None]
        if len(passed) == len(marks):
            about["caught_up_at"] = str(min(passed))
        else:
            of = sum(moved.end for moved in self._ranges.values())
            done = sum(min(moved.at, moved.end) for moved in self._ranges.values())
            about["progress"] = f"{done / max(of, 1):.4f}"
        return about

    async def _pass_what_is_gone(self) -> None:
        """Goes past offsets that the broker removed since: no fetch ever would (partition_reader.py)."""
        for partition, moved in self._ranges.items():
            end = None if moved.marks.pending is None else moved.marks.pending.end
            if end is None or moved.at >= end or monotonic() - moved.moved_at < IDLE_SECONDS:
                continue
            moved.moved_at = monotonic()
            if await nothing_follows(self._settings, partition, moved.at):
                self._consumer.seek(partition, end)
