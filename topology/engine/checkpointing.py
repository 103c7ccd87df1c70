"""The checkpoints of one lane: when one is due, what it says, and what a ledger must be to follow upon the last one.

The worker's key is compared with those that signed its ledger before (docs/howto/keys.md). Checkpoints record how long
each output topic keeps its records, so that audits can tell what retention has taken.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.blocks import Output, unseal
from ...codecs.errors import DoesNotHoldError, SluiceError, UsageError, cut
from ...codecs.notes import (
    NO_CHECKPOINT,
    Checkpoint,
    Head,
    Note,
    Signer,
    origin,
    parse_checkpoint,
    parse_note,
    signers_of,
)
from ...streams.policy.policy import Policy
from ..kafka.connect import log_ends, open_consumer, partitions_of
from ..kafka.partition_reader import TAIL, last_record
from ..kafka.requests import log_spans
from ..kafka.shared_clients import LogBounds, ReaderPool
from ..kafka.topic_reader import PassingReader
from ..kafka.topics import kept_for, topic_name
from ..settings.settings import Settings
from .chain import AUDIT, ChainHead
from .policies import document_of, in_force
from .replay import Blocks
from .signing import load_or_make_signer, load_signer
from .trust import Trust, listed

FIRST_SECONDS: Final = 2.0
"""A lane's first checkpoint waits so long at most for the broker's first answer."""
EVERY_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Retentions:
    """The `retention.ms` of output topics, by their logical names, asked for once a minute at least."""

    def __init__(self, settings: Settings, topics: Collection[str]) -> None:
        self._settings, self._topics = settings, topics
        self._known: Mapping[str, int] = {}
        self._asked = asyncio.Event()

    async def ready(self) -> None:
        """Waits until the broker was asked once, `FIRST_SECONDS` at most."""
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                await self._asked.wait()
        except TimeoutError:
            return

    def of(self, topics: Collection[str]) -> Sequence[tuple[str, int]]:
        """Returns what the broker said last of these topics (ms; -1: for ever), in their order."""
        return [(topic, self._known[topic]) for topic in topics if topic in self._known]

    async def follow(self) -> None:
        """Asks again and again, until cancelled. While no broker answers, what it said last counts."""
        failed = ""
        while True:
            try:
                self._known, failed = {**self._known, **await kept_for(self._settings, self._topics)}, ""
            except (SluiceError, KafkaError, OSError) as error:
                if (said := str(error) or repr(error)) != failed:
                    log.warning("checkpoints cannot record how long topics keep records", error=said)
                failed = said
            self._asked.set()
            await asyncio.sleep(min(EVERY_SECONDS, self._settings.checkpoint_interval))


TOPIC: Final = "checkpoints"
KEY_FILE: Final = "signing.key"
SOON_SECONDS: Final = 1.0
"""A lane's first news waits so long for company: what follows upon it then stands under the same checkpoint."""
RETRY_SECONDS: Final = 5.0
FETCH_WAIT_MS: Final = 500
FETCH_BYTES: Final = 65_536


Wanted = Callable[[bytes | None], bool]


def origin_of(settings: Settings, lane: int, ledger: str = "ledger", ledger_id: str = "") -> str:
    """Returns the name of a lane's log (`codecs.checkpoints.origin`).

    The topic's full name (of the logical name `ledger`, under the prefix in `settings`) stands in for an empty
    `ledger_id`; `lane` is the partition number.
    """
    name = topic_name(settings, ledger)
    return origin(ledger_id or name, name, lane)


def read_checkpoint(value: bytes | None, log_name: str, trust: Trust | None = None) -> Checkpoint:
    """Returns the checkpoint in a record's `value`, which must be of the log `log_name`.

    Its signatures are checked where `trust` is given.

    Raises:
        DoesNotHoldError: it is none, or another log's, or signed by nobody whose key is known.
    """
    note = parse_note(value or b"")
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin != log_name:
        raise DoesNotHoldError("a checkpoint is of another log", expected=log_name, got=checkpoint.origin)
    if trust is not None:
        trust.demand(checkpoint, note)
    return checkpoint


class Tips:
    """The newest checkpoint known of every lane, whoever wrote it: one head for each, and they only grow."""

    def __init__(self, lanes: int) -> None:
        self._heads = [Head()] * lanes

    def apply(self, lane: int, head: Head) -> None:
        """Somebody names this as a lane's."""
        if lane < len(self._heads) and head.size > self._heads[lane].size:
            self._heads[lane] = head

    def beside(self, lane: int, head: Head) -> Sequence[Head]:
        """Of all lanes, with this one in its own lane's place."""
        return [head if number == lane else known for number, known in enumerate(self._heads)]


class Draft(NamedTuple):
    """A checkpoint that is not committed yet, and the record for it."""

    checkpoint: Checkpoint
    output: Output


class Checkpoints:
    """The checkpoints of one lane, while it is here.

    Calls come from the lane's task: `begin`, `held` and `hold` on each take-over, `after_block` after each block, and
    around the block that bears a checkpoint `draft` and `written`.

    Invariant: `_last` is the newest checkpoint that is known to be committed, or the lane must be taken over anew.
    """

    def __init__(
        self,
        signer: Signer,  # signs them
        log_name: str,  # the origin that they name
        lane: int,  # whose they are
        tips: Tips,  # the other lanes', and where this lane's are told
        every: float,  # seconds between two, while there is news
        last: Callable[[Wanted], Awaitable[object]],
        clock: Callable[[], float] = monotonic,  # never goes back, in seconds
        trust: Trust | None = None,  # whose checkpoints count; None: only the signer's
        topic: str = TOPIC,  # the logical name of that which they are written to
        retentions: Retentions | None = None,  # how long topics keep records; None: no checkpoint says it
        outputs: Collection[str] = (),  # the logical names of those of which checkpoints say it
    ) -> None:
        """
        Args:
            last: asks about the committed records' values, the newest first, until it is told yes.
        """
        self._signer, self._name, self._lane, self._topic = signer, log_name, lane, topic
        self._tips, self._every, self._find, self._clock = tips, every, last, clock
        self._trust = trust or Trust(signer.verifier)
        self._retentions, self._outputs = retentions, outputs
        self._last: Checkpoint | None = None
        self._before = NO_CHECKPOINT
        self._written_at: float | None = None
        self._news_at: float | None = None

    # ------------------------------------------------------------ taking over

    async def begin(self) -> None:
        """Reads the lane's last committed checkpoint that a known key signed; all others are told and passed over, as
        batches are that nobody can read.

        The next checkpoint names the one before it in the topic, whoever signed that: so the chain has no gap for an
        auditor who knows all keys. What that one says of the ledger counts for nothing.

        Raises:
            DoesNotHoldError: a transaction hangs over it.
        """
        found: list[Checkpoint] = []
        passed, reason, newest = 0, "", ""

        def is_ours(value: bytes | None) -> bool:
            nonlocal passed, reason, newest
            try:
                newest = newest or read_checkpoint(value, self._name).digest
                found.append(read_checkpoint(value, self._name, self._trust))
            except DoesNotHoldError as error:
                passed, reason = passed + 1, reason or str(error)
                return False
            return True

        await self._find(is_ours)
        if passed:
            log.warning(
                "checkpoints are passed over: they are none of this ledger's, or signed by no known key",
                count=passed,
                reason=reason,
                hint="list the keys of other workers under [checkpoints.keys] in the policy",
            )
        if self._retentions is not None:
            await self._retentions.ready()
        self._last, self._news_at = found[0] if found else None, None
        self._before = newest or NO_CHECKPOINT

    def held(self, blocks: Blocks) -> Blocks:
        """The same blocks, of which the one that the last checkpoint ends with must be the one that it names."""
        last = self._last
        if last is None:
            return blocks

        async def passing(start: int | None) -> AsyncGenerator[tuple[int, bytes], None]:
            left: int | None = None
            passed: Any = blocks(start)
            async with aclosing(passed):
                async for offset, data in passed:
                    if left is None:
                        left = last.head.size - 1 - unseal(data).header.height
                    if left == 0:
                        block = unseal(data).hash
                        self._demand(block == last.block, last, block)
                    left -= 1
                    yield offset, data

        return passing

    @property
    def height(self) -> int:
        """Of the block that the last checkpoint ends with: the ledger had it. -1 where there is no checkpoint."""
        return -1 if self._last is None else self._last.head.size - 1

    @property
    def time(self) -> int | None:
        """Of that block, Unix ms; None where there is no checkpoint."""
        return None if self._last is None else self._last.time

    def hold(self, tip: ChainHead) -> None:
        """The ledger is restored, up to this tip, which is not below `height`: it must be the checkpoint's ledger.

        Raises:
            DoesNotHoldError: it is another one: the lane must not run.
        """
        last = self._last
        if last is not None:
            if last.head.size == tip.tree.size:
                self._demand((last.block, last.head.root) == (tip.hash, tip.tree.root()), last, tip.hash)
            for lane, head in enumerate(last.tips):
                self._tips.apply(lane, head)
        self.after_block(tip)

    def _demand(self, holds: bool, last: Checkpoint, block: str) -> None:
        if not holds:
            raise DoesNotHoldError(
                "the ledger is not the one that its own checkpoint is of: a block was replaced",
                path=f"ledger of lane {self._lane}, block {last.head.size - 1}",
                expected=last.block,
                got=block,
                hint=AUDIT,
            )

    # ------------------------------------------------------------ while it runs

    def after_block(self, tip: ChainHead) -> None:
        """The ledger ends with this tip now."""
        covered = self._last.head.size if self._last is not None else 0
        if self._news_at is None and tip.tree.size > covered:
            self._news_at = self._clock()

    def wait(self) -> float | None:
        """Seconds until a checkpoint is due; None while there is nothing new to be covered."""
        if self._news_at is None:
            return None
        due = self._news_at + min(SOON_SECONDS, self._every)
        if self._written_at is not None:
            due = max(due, self._written_at + self._every)
        return due - self._clock()

    def draft(self, tip: ChainHead) -> Draft:
        """The checkpoint of the ledger up to this tip, for the transaction of its last block."""
        head = Head(tip.tree.size, tip.tree.root())
        tips = self._tips.beside(self._lane, head)
        kept = () if self._retentions is None else self._retentions.of(self._outputs)
        checkpoint = Checkpoint(self._name, head, tip.hash, tip.time, self._before, tips, kept)
        note = self._signer.sign(checkpoint.text())
        return Draft(checkpoint, Output(self._topic, self._name.encode(), note.encode(), []))

    def written(self, draft: Draft) -> None:
        """It is committed: nothing is news any more."""
        self._last, self._written_at, self._news_at = draft.checkpoint, self._clock(), None
        self._before = draft.checkpoint.digest
        self._tips.apply(self._lane, draft.checkpoint.head)

    def postpone(self) -> None:
        """The block that was to bear it has outputs, which no header names yet: another one has to come."""
        self._news_at = self._clock()


# ---------------------------------------------------------------- on Kafka


def key_path(settings: Settings) -> Path:
    """The file of a worker's key: `key_file`, else one beside `state_dir`, which may be deleted at any time."""
    return Path(settings.key_file or Path(settings.state_dir).parent / "keys" / KEY_FILE)


def load_key(settings: Settings) -> Signer | None:
    """The key that a worker signs with: the one that `key_file` names, or the default file's, made on first use.

    None where that one is not there and cannot be made: a full disk stops no lane. Who wants no lane without
    checkpoints names a key.

    Raises:
        UsageError: the key cannot be read.
    """
    path = key_path(settings)
    if settings.key_file is not None or path.exists():
        return load_signer(path)
    try:
        signer = load_or_make_signer(path, re.sub(r"[\s+]+", "-", f"sluice/{settings.app_id}")[:256])
    except UsageError as error:
        log.error("no checkpoints are written: there is no key to sign them with", error=str(error))
        return None
    log.info("a key was made to sign checkpoints with", path=str(path), verifier=str(signer.verifier))
    return signer


def checkpoints_of(
    settings: Settings,
    signer: Signer,
    lane: int,
    tips: Tips,
    trust: Trust | None = None,
    ledger: str = "ledger",
    topic: str = TOPIC,
    ledger_id: str = "",
    retentions: Retentions | None = None,
    outputs: Collection[str] = (),
    log_bounds: LogBounds | None = None,
    readers: ReaderPool | None = None,
) -> Checkpoints:
    """Returns the `Checkpoints` of a lane, on the broker of these settings.

    `ledger` and `topic` are the logical names of the ledger and the checkpoints. `log_bounds` tells, for less than a
    consumer costs, where a lane has no checkpoint yet; `readers` read them (None: a consumer each time). The others are
    as for `Checkpoints` and `origin_of`.
    """
    partition = TopicPartition(topic_name(settings, topic), lane)
    reader = None if readers is None else readers.reader

    async def last(wanted: Wanted) -> None:
        span: tuple[int, int] | None = None
        if log_bounds is not None:
            bounds = (await log_bounds.of([partition]))[partition]
            if bounds.first == bounds.end:
                return
            span = bounds.first, bounds.end
        await last_record(
            settings, partition, lambda record: wanted(record.value), goes_on=True, reader=reader, span=span
        )

    name, every = origin_of(settings, lane, ledger, ledger_id), settings.checkpoint_interval
    return Checkpoints(
        signer, name, lane, tips, every, last, trust=trust, topic=topic, retentions=retentions, outputs=outputs
    )


async def follow(
    settings: Settings, tips: Tips, trust: Trust, ledger: str = "ledger", topic: str = TOPIC, ledger_id: str = ""
) -> None:
    """Reads the checkpoints of every lane of a ledger into `tips`, until cancelled. While no broker answers it tries
    again.

    `trust` says who has to have signed them; `ledger` and `topic` are logical names; `ledger_id` is as for `origin_of`.
    """
    names = [origin_of(settings, lane, ledger, ledger_id) for lane in range(settings.partitions)]
    while True:
        try:
            await _follow(settings, tips, trust, names, topic)
        except (SluiceError, KafkaError, OSError) as error:
            log.debug("the lanes' checkpoints are not heard of just now", error=str(error) or repr(error))
        await asyncio.sleep(RETRY_SECONDS)


async def _follow(settings: Settings, tips: Tips, trust: Trust, names: Sequence[str], topic: str) -> None:
    partitions = [TopicPartition(topic_name(settings, topic), lane) for lane in range(settings.partitions)]
    options = {
        "isolation_level": "read_committed" if settings.delivery == "exactly-once" else "read_uncommitted",
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "max_partition_fetch_bytes": FETCH_BYTES,  # a longer record comes all the same, alone
    }
    async with open_consumer(settings, **options) as consumer:
        consumer.assign(partitions)
        firsts, ends = await log_ends(consumer, partitions)
        for partition in partitions:
            consumer.seek(partition, max(firsts[partition], ends[partition] - TAIL))
        reader = PassingReader(consumer, settings.max_unpacked_bytes)
        while True:
            for partition, records in (await reader.take(FETCH_WAIT_MS / 1000)).items():
                for record in records:
                    try:
                        name = names[partition.partition]
                        tips.apply(partition.partition, read_checkpoint(record.value, name, trust).head)
                    except DoesNotHoldError:
                        continue  # its own lane tells of it


ENDS_SECONDS: Final = 10.0


async def worker_key(settings: Settings, policy: Policy, ledger_id: str) -> Signer | None:
    """Returns the worker's key, made where there is none and the ledger has no checkpoint; None where none can be made.

    `policy` is that of the worker's file; what the ledger (`ledger_id`, the adjudicating one) has in force counts as
    well.

    Raises:
        UsageError: the key cannot be read; or another one has signed the ledger's checkpoints, and no policy lists this
            one.
        UnreachableError: no broker answers.
        DoesNotHoldError: a transaction hangs over the checkpoints.
    """
    path = key_path(settings)
    is_there = settings.key_file is not None or await asyncio.to_thread(path.exists)
    signer = await asyncio.to_thread(load_key, settings) if is_there else None
    if signer is not None and _lists(policy, signer):
        return signer
    places = await _places(settings)
    newest = await _newest_note(settings, places, ledger_id)
    if newest is None:
        return signer if is_there else await asyncio.to_thread(load_key, settings)
    if signer is not None and (
        _has_signed(signer, newest)
        or await _is_in_force(settings, signer)
        or await _has_signed_any(settings, places, signer, ledger_id)
    ):
        return signer
    raise UsageError(
        "another key signed the checkpoints of this ledger",
        path=str(path),
        expected=cut(", ".join(f"{one.name}+{one.key_id.hex()}" for one in newest.signatures)),
        got="no key file" if signer is None else str(signer.verifier),
        hint="put that key back (key_file), or `sluice key succeed` and list the new one under [checkpoints.keys]",
    )


async def _newest_note(settings: Settings, places: Sequence[TopicPartition], ledger_id: str) -> Note | None:
    """The newest checkpoint of the first lane that has any; None where none has."""
    for place in places:
        newest = await _newest(settings, place, lambda value: _checkpoint(value, ledger_id) is not None)
        if (note := _checkpoint(newest, ledger_id)) is not None:
            return note
    return None


async def _has_signed_any(settings: Settings, places: Sequence[TopicPartition], signer: Signer, ledger_id: str) -> bool:
    """Whether a key has signed any checkpoint of a ledger, whatever stands behind it."""

    def is_ours(value: bytes | None) -> bool:
        note = _checkpoint(value, ledger_id)
        return note is not None and _has_signed(signer, note)

    for place in places:
        if await _newest(settings, place, is_ours) is not None:
            return True
    return False


async def _places(settings: Settings) -> list[TopicPartition]:
    """The lanes that have checkpoints, or of which no leader says whether they have."""
    name = topic_name(settings, TOPIC)
    async with open_consumer(settings) as consumer:
        places = [TopicPartition(name, lane) for lane in await partitions_of(consumer, settings, name)]
        spans = await log_spans(consumer, places, ENDS_SECONDS, committed=settings.delivery == "exactly-once")
    return [place for place in places if place not in spans or spans[place][0] < spans[place][1]]


async def _newest(settings: Settings, place: TopicPartition, wanted: Callable[[bytes | None], bool]) -> bytes | None:
    """The newest value of a partition that is wanted; None where there is none."""
    newest = await last_record(settings, place, lambda one: wanted(one.value), goes_on=True)
    return None if newest is None else newest.value


def _checkpoint(value: bytes | None, ledger_id: str) -> Note | None:
    """The note of a checkpoint of this ledger; None for anything else."""
    try:
        note = parse_note(value or b"")
        return note if parse_checkpoint(note.text).origin.startswith(f"{ledger_id}/") else None
    except DoesNotHoldError:
        return None


def _has_signed(signer: Signer, note: Note) -> bool:
    try:
        return bool(signers_of(note, [signer.verifier]))
    except DoesNotHoldError:
        return False


async def _is_in_force(settings: Settings, signer: Signer) -> bool:
    """Whether a policy that a lane has in force lists a key for checkpoints."""
    hashes = {one.hash for one in await in_force(settings) if one.hash}
    policies = [await document_of(settings, one) for one in sorted(hashes)]
    return any(_lists(one, signer) for one in policies if one is not None)


def _lists(policy: Policy, signer: Signer) -> bool:
    return str(signer.verifier) in {str(key.verifier) for key in listed(policy)}
