"""Stored topics as an auditor reads them: from a broker, read_committed, or from the files of an export.

Here too: the name of a stored lane's log, to which its checkpoints and claims are bound (`codecs.checkpoints.origin`);
writing an export; and what retention may have taken. Kafka deletes the beginning of a log for records older than
`retention.ms`, and at the request of an administrator (`DeleteRecords`). Checkpoints record each topic's
`retention.ms`, so that an audit tells the two apart. A ledger has no retention, so one that begins later was cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from ...codecs.blocks import unseal
from ...codecs.errors import DoesNotHoldError, UsageError
from ...codecs.ledger_statements import LedgerIdentity, identity_in, is_claim, read_claim
from ...codecs.notes import origin
from ...codecs.times import format_time
from ...streams.adjudication.outputs import VERDICTS
from ...streams.sightings.binding import BOUND, OBSERVATIONS
from ..kafka.connect import LEDGERS, log_ends, open_consumer, open_reader, partitions_of, reaching, unreachable
from ..kafka.packed_batches import RecordDecoder
from ..kafka.partition_reader import HangsError, fetches_to_end
from ..kafka.topic_reader import take_stored, unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS
from ..settings.process import now_ms
from ..settings.settings import Settings, secrets_of
from .export_files import (
    AUDITED,
    CHECKPOINTS,
    LATER,
    MANIFEST,
    OUTPUTS,
    Cut,
    FolderLogs,
    Manifest,
    Range,
    Stored,
    Writing,
    file_name,
)
from .interfaces import Logs, no_progress

if TYPE_CHECKING:
    from .interfaces import Logs

MARKER: Final = 1
"""A transaction's marker takes an offset: a jump over one is no reason to ask the broker."""

SKEW: Final = 60_000
"""So far may the clocks of worker, broker and auditor differ (ms) before a record counts as deleted early."""


class RecordedRetention(msgspec.Struct, frozen=True):
    """A topic's `retention.ms`, from the checkpoint on that records it, until another one records another."""

    since: int  # when the lane's checkpoint before that one was made (Unix ms); 0 where there is none
    time: int  # of the checkpoint that records it
    kept: int  # ms; negative: for ever

    @property
    def longest(self) -> int:
        """The same, so that for ever is the most."""
        return self.kept if self.kept >= 0 else 1 << 62


def may_be_taken(recorded: Sequence[RecordedRetention], written: int, until: int) -> bool | None:
    """Returns whether retention may have taken a record: at some time it was as old as every retention recorded until
    then.

    A retention that is lowered holds for what is written after it. So an operator who lowers it, deletes and raises it
    again explains nothing, and one who lowers it for good waits out the former one for what was written before.
    `recorded` is what a lane's checkpoints say of the topic, in their order; the record was `written` by its block, and
    the topic read at `until` (Unix ms). None where no checkpoint records a retention for that time.
    """
    longest: int | None = None
    for one in recorded:
        if one.time <= written:
            longest = one.longest
        elif one.since <= written:
            longest = max(longest or 0, one.longest)
        elif longest is None or one.time - written + SKEW >= longest:
            break
        else:
            longest = max(longest, one.longest)
    else:
        return None if longest is None else until - written + SKEW >= longest
    return None if longest is None else True


async def taken(logs: Logs, topic: str, lane: int, due: int, found: int) -> int:
    """Returns how many offsets of a partition (`topic`, `lane`) retention has taken from `due` on, the one behind the
    last read.

    `found` is the next offset that was read, or the end; `logs` are asked where the partition begins if more than a
    marker is gone.
    """
    if found - due <= MARKER:
        return 0
    return max(0, min((await logs.range(topic, lane)).first, found) - due)


def beheaded(ledger: str, lane: int, start: int) -> DoesNotHoldError:
    """Returns the error for a partition (`ledger`, `lane`) of which the beginning was deleted; `start` is the first
    offset left.
    """
    return DoesNotHoldError(
        "the ledger's head was deleted: without a snapshot its lane cannot be restored, and no audit can fold it",
        path=f"{ledger}/{lane}",
        expected="offset 0 as the first",
        got=str(start),
        hint="find who deletes its records, and keep the snapshots in state_dir; else begin under another topic_prefix",
    )


class _Stored(Protocol):
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...


def identity_of(record: _Stored, log: str) -> LedgerIdentity | None:
    """Returns what a claim or a block of a ledger names; None where it names nothing, or is of another log.

    `log` is what the names of the lane's log end with: a slash, the topic's full name, a slash, the lane's number.
    """
    try:
        if not is_claim(record.key):
            return identity_in(unseal(record.value or b""))
        signed = read_claim(record.value)
    except DoesNotHoldError:
        return None  # its lane says so
    ledger_id = signed.origin.removesuffix(log)
    return None if ledger_id == signed.origin else LedgerIdentity(ledger_id=ledger_id, app_id=signed.claim.app_id or "")


async def log_name_of(logs: Logs, topic: str, name: str, lane: int) -> str:
    """Returns the name of a lane's log by the first claim or block that names the ledger; `topic` is its logical,
    `name` its full name.

    Of a ledger that names no id it is the one that the application's name gives. `logs` have the topic and `lane`.
    """
    is_first = True
    try:
        async with aclosing(logs.records(topic, lane)) as records:
            async for record in records:
                if is_claim(record.key) or is_first:  # no later block names more than the first
                    is_first = is_first and is_claim(record.key)
                    if (identity := identity_of(record, f"/{name}/{lane}")) is not None:
                        return origin(identity.ledger_id, name, lane)
    except DoesNotHoldError:
        pass  # who reads the ledger says so
    return origin(logs.app_id, name, lane)


RECORDS_TOGETHER: Final = 8
"""So many partitions are waited for at once."""


@cache
def _decoder(having: str | None, *, in_place: bool) -> RecordDecoder:
    return RecordDecoder(Stored, in_place=in_place, having=having)


@asynccontextmanager
async def open_logs(settings: Settings, folder: Path | None = None, *, in_place: bool = False) -> AsyncGenerator[Logs]:
    """The topics of a broker, or of an export.

    Args:
        settings: the broker.
        folder: of the export; None: the broker is read.
        in_place: whether a broker's records of output topics may lie in the bytes that came, for who looks at each
            once: they are like `Stored`, a part is made whenever it is asked for, and each holds all those bytes.

    Raises:
        UsageError: the folder is no export, or the broker has no ledger.
        UnreachableError: no broker answers.
    """
    if folder is not None:
        yield FolderLogs(folder, secrets_of(settings))
        return
    async with open_consumer(settings) as consumer:
        ledger = topic_name(settings, "ledger")
        lanes = len(await partitions_of(consumer, settings, ledger))
        async with aclosing(KafkaLogs(settings, consumer, lanes, in_place=in_place)) as logs:
            yield logs


class _Expected(NamedTuple):
    """A reading that has begun before anybody reads: what is kept, and, unless that is nothing, its consumer."""

    kept: Range
    consumer: AIOKafkaConsumer | None
    opened: AsyncExitStack


class KafkaLogs:
    """The topics of a running broker (`settings`), as `interfaces.Logs`. Each reading has a consumer of its own.

    A consumer needs some 20 ms to open and to get its first answer. An audit reads several topics of each lane, so it
    says beforehand what it will read (`expect`), and the consumers open meanwhile. `consumer` is an open one, asked for
    offsets and partition counts, and not closed here; `lanes` are the ledger's partitions; `in_place` is as for
    `open_logs`.
    """

    def __init__(self, settings: Settings, consumer: AIOKafkaConsumer, lanes: int, *, in_place: bool = False) -> None:
        self._settings, self._consumer, self._in_place = settings, consumer, in_place
        self._counts = {"ledger": lanes}
        self._expected: dict[tuple[str, int], asyncio.Task[_Expected]] = {}
        self.where, self.lanes = settings.broker, lanes
        self.app_id, self.ledger = settings.app_id, topic_name(settings, "ledger")
        self.secrets = secrets_of(settings)

    async def aclose(self) -> None:
        """Closes the consumers of topics that were expected and not read."""
        expected = [*self._expected.values()]
        self._expected.clear()
        for one in expected:
            one.cancel()
        for found in await asyncio.gather(*expected, return_exceptions=True):
            if isinstance(found, _Expected):
                await found.opened.aclose()

    def expect(self, topic: str, lane: int) -> None:
        if (topic, lane) not in self._expected:
            self._expected[topic, lane] = asyncio.create_task(self._begin(topic, lane))

    async def _begin(self, topic: str, lane: int) -> _Expected:
        kept, opened = await self._range(topic, lane), AsyncExitStack()
        if kept.first == kept.end:
            return _Expected(kept, None, opened)
        reader = open_reader(self._settings, self._place(topic, lane))
        return _Expected(kept, await opened.enter_async_context(reader), opened)

    async def range(self, topic: str, lane: int) -> Range:
        expected = self._expected.get((topic, lane))
        return (await asyncio.shield(expected)).kept if expected is not None else await self._range(topic, lane)

    async def _range(self, topic: str, lane: int) -> Range:
        place = self._place(topic, lane)
        if lane >= await self._count(topic):
            return Range(0, 0)
        with reaching(self._settings):
            first, end = await log_ends(self._consumer, [place])
        return Range(first[place], end[place])

    def as_of(self) -> int:
        return now_ms()

    async def cut(self) -> Cut:
        # Each end is taken once all that stands below the one before it is decided: what was committed there has its
        # other halves, which were written in the same transactions, below the next.
        async with AsyncExitStack() as opened:
            of_all: AIOKafkaConsumer | None = None  # sees the ends of what is not decided, too
            if self._settings.delivery == "exactly-once":
                asking = open_consumer(self._settings, isolation_level="read_uncommitted")
                of_all = await opened.enter_async_context(asking)
                await self._ask_for((*AUDITED, *LATER), of_all)
            blocks = await self._settled_ends(LEDGERS, of_all)
            others = [topic for topic in (*AUDITED, *LATER) if topic not in LEDGERS]
            written = await self._settled_ends(others, of_all)
            named = await self._settled_ends(CHECKPOINTS, of_all)
            return Cut({**blocks, **written}, {**written, **named, **await self._ends(LEDGERS, of_all)})

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        """See `Logs`.

        Raises:
            DoesNotHoldError: a transaction hangs over the partition, or it holds bytes that are no records.
            UnreachableError: no broker answers.
        """
        if lane >= await self._count(topic) or (end is not None and end <= (start or 0)):
            return  # a consumer of nothing would wait for an answer all the same
        settings, place = self._settings, self._place(topic, lane)
        named = start is None and end is not None
        async with self._reading(topic, lane, start, expected=named) as consumer:
            decoder = _decoder(having, in_place=self._in_place and topic in (*OUTPUTS, VERDICTS))

            async def take(patience: float) -> list[Stored]:
                return await take_stored(consumer, place, patience, settings.max_unpacked_bytes, decoder)

            longest = settings.transaction_timeout + GRACE_SECONDS
            try:
                async with aclosing(fetches_to_end(consumer, place, longest, take, end)) as fetches:
                    async for fetched in fetches:
                        yield fetched
            except HangsError as hangs:
                raise hangs.sentence("a topic", place, then="") from None
            except (CorruptRecordException, UnicodeDecodeError) as error:
                raise unreadable(error, place) from None
            except (KafkaError, OSError) as error:
                raise unreachable(settings, error) from None

    @asynccontextmanager
    async def _reading(
        self, topic: str, lane: int, start: int | None, *, expected: bool
    ) -> AsyncGenerator[AIOKafkaConsumer]:
        """The consumer that was expected, where it may be, or another one."""
        async with AsyncExitStack() as opened:
            if expected and (begun := self._expected.get((topic, lane))) is not None:
                found = await begun
                del self._expected[topic, lane]
                opened.push_async_exit(found.opened)
                if found.consumer is not None:
                    yield found.consumer
                    return
            reader = open_reader(self._settings, self._place(topic, lane), start)
            yield await opened.enter_async_context(reader)

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        async with aclosing(self.batches(topic, lane, start)) as batches:
            async for batch in batches:
                for record in batch:
                    yield record

    async def _ask_for(self, topics: Sequence[str], other: AIOKafkaConsumer) -> None:
        """Has both clients hear of these topics: one that has not looks for them at its leisure."""
        counts = await asyncio.gather(*(self._count(topic) for topic in topics))
        there = [topic_name(self._settings, topic) for topic, count in zip(topics, counts, strict=True) if count]
        await asyncio.gather(*(partitions_of(other, self._settings, name) for name in there))

    async def _count(self, topic: str) -> int:
        """How many partitions a topic has; 0 where there is none of this name."""
        if topic not in self._counts:
            try:
                name = topic_name(self._settings, topic)
                self._counts[topic] = len(await partitions_of(self._consumer, self._settings, name))
            except UsageError:
                self._counts[topic] = 0
        return self._counts[topic]

    def _place(self, topic: str, lane: int) -> TopicPartition:
        return TopicPartition(topic_name(self._settings, topic), lane)

    async def _ends(self, topics: Sequence[str], consumer: AIOKafkaConsumer | None = None) -> dict[str, list[int]]:
        """The ends of these topics, by lane, as this consumer sees them; else as far as all is decided."""
        there = {
            topic: [self._place(topic, lane) for lane in range(min(self.lanes, await self._count(topic)))]
            for topic in topics
        }
        asked = [place for places in there.values() for place in places]
        with reaching(self._settings):
            _, found = await log_ends(consumer or self._consumer, asked)
        return {
            topic: [found[place] for place in places] + [0] * (self.lanes - len(places))
            for topic, places in there.items()
        }

    async def _settled_ends(self, topics: Sequence[str], of_all: AIOKafkaConsumer | None) -> dict[str, list[int]]:
        """The ends of these topics, once every transaction that began below them has ended.

        The broker tells how far a partition is decided; only one that is not yet is read, since that waits. `of_all`
        sees the ends of what is not decided, too; None where nothing is ever undecided.
        """
        if of_all is None:
            return await self._ends(topics)
        few = asyncio.Semaphore(RECORDS_TOGETHER)

        async def settle(topic: str, lane: int, end: int) -> None:
            async with few, aclosing(self.batches(topic, lane, end - 1, end)) as batches:
                async for _ in batches:
                    pass

        ends, stable = await asyncio.gather(self._ends(topics, of_all), self._ends(topics))
        places = [(topic, lane, end) for topic, of_topic in ends.items() for lane, end in enumerate(of_topic)]
        await asyncio.gather(*(settle(*place) for place in places if stable[place[0]][place[1]] < place[2]))
        return ends


async def export(
    logs: Logs,
    folder: Path,
    exported_at: str,
    progress: Callable[[str, int, int], None] = no_progress,
    gone: Callable[[str, int, int, int], None] = no_progress,
) -> Mapping[str, int]:
    """Writes what an audit needs into files, and returns how many records there are of each topic.

    `folder` must be new or empty; `exported_at` is the time that the manifest names. `progress` is told, after each
    batch, the topic, the lane and the last record's offset; `gone` the topic, the lane, and the first and last offset
    of what retention took from `logs` before it was read.

    Raises:
        UsageError: the folder holds something, or cannot be written to.
    """
    await asyncio.to_thread(_make_empty, folder)
    cut = await logs.cut()
    counts: dict[str, int] = dict.fromkeys(AUDITED, 0)
    ranges: dict[str, list[tuple[int, int]]] = {}
    files: dict[str, str] = {}
    for topic in (*AUDITED, *(one for one in LATER if any(cut.ends.get(one, ())))):
        counts[topic], ranges[topic] = 0, []
        for lane in range(logs.lanes):
            end = cut.ends[topic][lane]
            first = min((await logs.range(topic, lane)).first, end)
            ranges[topic].append((first, end))
            name = file_name(topic, lane)
            try:
                files[name] = await _export_one(logs, topic, lane, (first, end), folder / name, counts, progress, gone)
            except OSError as error:
                raise UsageError(f"cannot export there: {error.strerror}", path=str(folder)) from None
    manifest = Manifest(
        broker=logs.where,
        app_id=logs.app_id,
        ledger=logs.ledger,
        lanes=logs.lanes,
        exported_at=exported_at,
        ended_at=format_time(now_ms()),
        ranges=ranges,
        settled={topic: list(ends) for topic, ends in cut.settled.items() if topic in ranges},
        files=files,
    )
    # Last: a folder without it is no export.
    raw = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    await asyncio.to_thread((folder / MANIFEST).write_bytes, raw)
    return counts


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError("the folder is not empty", path=str(folder), hint="name a new one")
    except OSError as error:
        raise UsageError(f"cannot export there: {error.strerror}", path=str(folder)) from None


async def _export_one(
    logs: Logs,
    topic: str,
    lane: int,
    span: tuple[int, int],
    path: Path,
    counts: dict[str, int],
    progress: Callable[[str, int, int], None],
    gone: Callable[[str, int, int, int], None],
) -> str:
    """Writes one partition; the hash of its file."""
    due, end = span

    async def tell_gone(found: int) -> None:
        if count := await taken(logs, topic, lane, due, found):
            gone(topic, lane, due, due + count - 1)

    with await asyncio.to_thread(Writing, path) as file:
        async with aclosing(logs.batches(topic, lane, end=end)) as batches:
            async for batch in batches:
                await tell_gone(batch[0].offset)
                due = batch[-1].offset + 1
                kept = [one for one in batch if _is_bound(one)] if topic == OBSERVATIONS else batch
                await asyncio.to_thread(file.write, kept)
                counts[topic] += len(kept)
                progress(topic, lane, batch[-1].offset)
    await tell_gone(end)
    return file.digest


def _is_bound(record: Stored) -> bool:
    """Whether it has the mark of a binding lane: what observers wrote stands in the ledger, and is not compared."""
    return any(name == BOUND for name, _ in record.headers)
