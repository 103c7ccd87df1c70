"""The checkpoints of one lane: when one is due, what it says, and what a ledger must be to follow upon the last one.

A checkpoint is committed with a block, as one (lane.py). That block is empty, at the time of the one before it, so that
it has no outputs: the outputs of every other block then stand under a root that the checkpoint covers. Nothing is kept
beside the topic: whoever takes the lane over reads the last checkpoint there, and does not run on a ledger that falls
short of it. What checkpoints look like is in codecs/checkpoints.py; nothing here reads or writes blocks.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.blocks import Output, unseal
from ...codecs.checkpoints import NO_CHECKPOINT, Checkpoint, Head, origin, parse_checkpoint
from ...codecs.errors import DoesNotHoldError, SluiceError, UsageError
from ...codecs.notes import Signer, parse_note
from ..kafka.connect import open_consumer
from ..kafka.log_bounds import LogBounds
from ..kafka.partition_reader import TAIL, last_record
from ..kafka.passing import PassingReader
from ..kafka.reader_pool import ReaderPool
from ..kafka.topics import topic_name
from ..ledger.chain import AUDIT, ChainHead
from ..ledger.replay import Blocks
from ..settings.settings import Settings
from .retentions import Retentions
from .signing import load_or_make_signer, load_signer
from .trust import Trust

TOPIC: Final = "checkpoints"
KEY_FILE: Final = "signing.key"
SOON_SECONDS: Final = 1.0
"""A lane's first news waits so long for company: what follows upon it then stands under the same checkpoint."""
RETRY_SECONDS: Final = 5.0
FETCH_WAIT_MS: Final = 500
FETCH_BYTES: Final = 65_536

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

Wanted = Callable[[bytes | None], bool]


def origin_of(settings: Settings, lane: int, ledger: str = "ledger", ledger_id: str = "") -> str:
    """The name of a lane's log (`codecs.checkpoints.origin`).

    Args:
        settings: with the topics' prefix.
        lane: the lane's number.
        ledger: the ledger topic's logical name.
        ledger_id: of the ledger; empty: its topic's full name.
    """
    name = topic_name(settings, ledger)
    return origin(ledger_id or name, name, lane)


def read_checkpoint(value: bytes | None, log_name: str, trust: Trust | None = None) -> Checkpoint:
    """A lane's checkpoint, of a record's value.

    Args:
        value: a note.
        log_name: the lane's origin.
        trust: who has to have signed it; None: its signatures are not looked at.

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
        signer: Signer,
        log_name: str,
        lane: int,
        tips: Tips,
        every: float,
        last: Callable[[Wanted], Awaitable[object]],
        clock: Callable[[], float] = monotonic,
        trust: Trust | None = None,
        topic: str = TOPIC,
        retentions: Retentions | None = None,
        outputs: Collection[str] = (),
    ) -> None:
        """
        Args:
            signer: signs them.
            log_name: the origin that they name.
            lane: whose they are.
            tips: the other lanes', and where this lane's are told.
            every: seconds between two, while there is news.
            last: asks about the committed records' values, the newest first, until it is told yes.
            clock: never goes back, in seconds.
            trust: whose checkpoints count; None: only the signer's.
            topic: the logical name of that which they are written to.
            retentions: how long topics keep records; None: no checkpoint says it.
            outputs: the logical names of those of which checkpoints say it.
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
    """The `Checkpoints` of a lane, on the broker of these settings.

    Args:
        settings: the broker, and the interval of checkpoints.
        signer: that signs them.
        lane: the lane's number.
        tips: the newest checkpoints that are known of every lane; each checkpoint names them.
        trust: who has to have signed earlier checkpoints; None: their signatures are not looked at.
        ledger: the ledger topic's logical name.
        topic: the checkpoint topic's logical name.
        ledger_id: as for `origin_of`.
        retentions, outputs: as for `Checkpoints`.
        readers: read them; None: a consumer each time.
        log_bounds: says, for less than a consumer costs, where a lane has no checkpoint yet.
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
    """Reads the checkpoints of every lane of a ledger, until cancelled. While no broker answers it tries again.

    Args:
        settings: the broker.
        tips: where the newest checkpoint of each lane is kept.
        trust: who has to have signed them.
        ledger: the ledger topic's logical name.
        topic: the checkpoint topic's logical name.
        ledger_id: as for `origin_of`.
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
        firsts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
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
