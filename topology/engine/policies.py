"""Policies that come into force while lanes run: the topic `policies`, followed and written to.

A worker logs of each policy in force by which single party alone something could be admitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

import msgspec
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from ...codecs.blocks import MAX_INPUT_BYTES, Block, EventKind, events_of_kind, unseal
from ...codecs.errors import Fault, SluiceError
from ...codecs.ledger_statements import is_adoption
from ...streams.policy.policy import HEADER, Policy, follow, policy_of_document, signature_of, signer_of
from ..kafka.connect import open_consumer, open_producer, open_reader, partitions_of
from ..kafka.packed_batches import UnreadableError
from ..kafka.partition_reader import last_record, read_to_end
from ..kafka.topic_reader import take_stored, unreadable
from ..kafka.topics import topic_name
from ..settings.process import now_ms
from ..settings.settings import Settings
from .replay import blocks_of, is_block
from .stored_topics import open_logs

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Exposures:
    """Tells the exposures of each policy, and which of its keys count for nothing: once, a line each, whichever lane it
    comes into force in first."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def log_once(self, policy: Policy) -> None:
        """A policy is in force in a lane."""
        digest = policy.hash
        if digest in self._reported:
            return
        self._reported.add(digest)
        for path, sentence in policy.false_successors() + policy.exposures():
            log.warning(f"the policy's {path} {sentence}", policy=digest)


TOPIC: Final = "policies"
RETRY_SECONDS: Final = 5.0
FETCH_WAIT_MS: Final = 500
PATIENCE_SECONDS: Final = 30.0
MAX_SIGNATURE: Final = 100
"""Bytes of a signature's header: the base64 of 64 bytes has 88. What is longer is none."""


class Applied(NamedTuple):
    """A document as it stands in the topic. `timestamp` is the record's, Unix ms; of its headers the signature's."""

    offset: int
    timestamp: int
    key: bytes | None
    document: bytes
    headers: Sequence[tuple[str, bytes]] = ()


class PolicyFeed:
    """All documents of the topic on the broker of `settings`, for the lanes of one worker. `run` is its only task.

    Invariant: `documents` are those of the topic in order, from its first on; `read_once` is set when what stood there
    at the beginning has been read. `on_news` is called when a document has come; `first` is the worker's own policy,
    after which those of the topic come (`newest_first`).
    """

    def __init__(
        self, settings: Settings, on_news: Callable[[], None] = lambda: None, first: Policy | None = None
    ) -> None:
        self._settings, self._on_news = settings, on_news
        self._newest, self._counting = first, list[bytes]()
        self._behind, self._suspect = 0, -1  # batches that cannot be read: to go on at, and to be fetched again
        self.documents: list[Applied] = []
        self.read_once = asyncio.Event()

    def after(self, position: int) -> Sequence[Applied]:
        """The documents at this offset and later: what a lane that has come so far has to take in."""
        documents, place = self.documents, len(self.documents)
        while place and documents[place - 1].offset >= position:
            place -= 1
        return documents[place:]

    def newest_first(self) -> Iterator[bytes]:
        """The policies that may follow upon one another (policy/policy.py), the newest first."""
        return reversed(self._counting)

    async def run(self) -> None:
        """Follows the topic until cancelled; a broker that is away is tried again."""
        while True:
            try:
                await self._follow()
            except UnreadableError as error:
                self._pass_over(error)
            except (SluiceError, KafkaError, OSError) as error:
                log.warning("policies cannot be read: trying again", error=str(error) or repr(error))
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        settings, place = self._settings, TopicPartition(topic_name(self._settings, TOPIC), 0)
        unpacked, behind = settings.max_unpacked_bytes, self.documents[-1].offset + 1 if self.documents else 0
        start = max(behind, self._behind) or None
        async with open_reader(settings, place, start, FETCH_WAIT_MS) as consumer:
            async with aclosing(read_to_end(consumer, place, PATIENCE_SECONDS, unpacked=unpacked)) as records:
                async for record in records:
                    self._take(record)
            self._suspect = -1
            self.read_once.set()
            while True:
                for record in await take_stored(consumer, place, FETCH_WAIT_MS / 1000, unpacked):
                    self._take(record)

    def _pass_over(self, batch: UnreadableError) -> None:
        """Goes on behind a batch that cannot be read, as behind a record that is no policy.

        What is damaged may have been damaged on the way, so it is fetched once more. The settings may say that nothing
        is passed (`on_poison`).
        """
        is_sure = batch.reason == "too-large" or self._suspect == batch.offset
        if is_sure and batch.next is not None and self._settings.on_poison == "go-on":
            log.error("a batch of the topic policies cannot be read: it is passed over", error=str(batch))
            self._behind = batch.next
        else:
            self._suspect = batch.offset
            log.warning("policies cannot be read: trying again", error=str(batch))

    def _take(self, record: Any) -> None:
        offset, value = record.offset, record.value or b""
        if offset >= self._suspect:  # the batch could be read after all
            self._suspect = -1
        if len(value) > MAX_INPUT_BYTES:
            log.error("a record of the topic policies is no policy: it is passed over", offset=offset)
            return
        self.documents.append(Applied(offset, record.timestamp, record.key, value, _signatures(record.headers)))
        found = follow(self._newest, value, record.headers, now_ms())
        if isinstance(found, Fault):
            if not is_adoption(record.key):
                log.warning("a policy is refused", offset=offset, reason=found.reason, detail=found.detail)
        else:
            self._newest = found
            self._counting.append(value)
            if self.read_once.is_set():  # the others were applied long ago
                log.info("a policy was applied", offset=offset, key=(record.key or b"").decode("ascii", "replace"))
        self._on_news()


def _signatures(headers: Sequence[tuple[str, bytes | None]]) -> Sequence[tuple[str, bytes]]:
    """Of a record's headers the one that a lane needs."""
    signature = signature_of(headers)
    return () if signature is None or len(signature) > MAX_SIGNATURE else [(HEADER, signature)]


# ---------------------------------------------------------------- the operator's side


class InForce(NamedTuple):
    """What one lane decides by as of its newest block, and that block's height; -1 and no hash before the first."""

    lane: int
    height: int
    hash: str


async def apply(settings: Settings, policy: Policy, signature: bytes | None = None) -> int:
    """Writes a policy to the topic, from where every lane takes it, and returns its offset there.

    `signature` stands under its document (`policy.signed_policies.sign`), where the policy in force asks for one;
    `settings` name the broker.

    Raises:
        UnreachableError: no broker answers.
        UsageError: there is no such topic.
    """
    headers = [] if signature is None else [(HEADER, signature)]
    return await write(settings, [(policy.hash.encode(), policy.document)], headers)


async def write(
    settings: Settings, records: Iterable[tuple[bytes, bytes]], headers: Sequence[tuple[str, bytes]] = ()
) -> int:
    """Writes `records`, pairs of key and value, with `headers` to the topic `policies` of `settings`; returns the last
    offset.

    Raises:
        UnreachableError: no broker answers.
        UsageError: there is no such topic.
    """
    name, offset = topic_name(settings, TOPIC), -1
    async with open_producer(settings) as producer:
        await partitions_of(producer, settings, name)
        async with asyncio.timeout(PATIENCE_SECONDS):
            for key, value in records:
                sent = cast("Any", await producer.send_and_wait(name, value, key, 0, headers=[*headers]))
                offset = int(sent.offset)
    return offset


async def in_force(settings: Settings) -> list[InForce]:
    """What each lane decides by, as its ledger's newest block says.

    Raises:
        UnreachableError: no broker answers.
        UsageError: there is no ledger topic.
    """
    return [
        InForce(lane, -1, "") if block is None else await _in_force(settings, lane, block)
        async for lane, block in newest_blocks(settings, "ledger")
    ]


async def newest_blocks(settings: Settings, ledger: str) -> AsyncGenerator[tuple[int, Block | None], None]:
    """Each lane with the newest block of its ledger; None before the first. `ledger` is the topic's logical name.

    Raises:
        UnreachableError: no broker answers.
        UsageError: there is no such topic.
    """
    name = topic_name(settings, ledger)
    async with open_consumer(settings) as consumer:
        lanes = await partitions_of(consumer, settings, name)
    for lane in lanes:
        yield lane, await newest_block(settings, TopicPartition(name, lane))


async def newest_block(settings: Settings, place: TopicPartition) -> Block | None:
    """The newest block of a lane's ledger; None before the first. `place` has the topic's full name.

    Raises:
        UnreachableError: no broker answers.
        DoesNotHoldError: a transaction hangs over the end of the ledger.
    """
    newest = await last_record(settings, place, is_block)
    return None if newest is None else unseal(newest.value or b"")


async def _in_force(settings: Settings, lane: int, block: Block) -> InForce:
    """By which policy the block after this one is decided: one that this one has taken in, or its own."""
    header = block.header
    digest, events = header.policy, events_of_kind(block.events, EventKind.POLICY)
    before = await document_of(settings, digest) if events and header.height else None
    for event in events:
        found = follow(before, event.value or b"", event.headers, header.time)
        if not isinstance(found, Fault):
            before, digest = found, _hash(event.value or b"")
    return InForce(lane, header.height, digest)


class Refused(NamedTuple):
    """A record of the topic that the policy in force lets no lane take: its offset, and why."""

    offset: int
    reason: str
    detail: str


async def refused_since(settings: Settings, policy: Policy) -> list[Refused]:
    """What stands in the topic behind a policy in force, and may not follow upon it.

    Raises:
        UnreachableError: no broker answers.
    """
    found: list[Refused] = []
    async with aclosing(_records(settings)) as records:
        async for record in records:
            value = record.value or b""
            if _hash(value) == policy.hash:
                found.clear()
                continue
            followed = follow(policy, value, record.headers, now_ms())
            if isinstance(followed, Fault) and not is_adoption(record.key):
                found.append(Refused(record.offset, followed.reason, followed.detail))
    return found


async def _records(settings: Settings) -> AsyncGenerator[Any, None]:
    """All records of the topic."""
    place = TopicPartition(topic_name(settings, TOPIC), 0)
    async with open_consumer(settings, fetch_max_wait_ms=50) as consumer:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        unpacked = settings.max_unpacked_bytes
        try:
            async with aclosing(read_to_end(consumer, place, PATIENCE_SECONDS, unpacked=unpacked)) as records:
                async for record in records:
                    yield record
        except CorruptRecordException as error:
            raise unreadable(error, place) from None


async def document_of(settings: Settings, wanted: str) -> Policy | None:
    """The policy of a hash: from the topic, or from the ledgers, whose first blocks have what workers began with.

    Raises:
        UnreachableError: no broker answers.
    """
    async with aclosing(_records(settings)) as records:
        async for record in records:
            if (policy := _policy_of(record.value or b"", wanted)) is not None:
                return policy
    async with aclosing(_first_documents(settings)) as documents:
        async for document in documents:
            if (policy := _policy_of(document, wanted)) is not None:
                return policy
    return None


async def signer_of_policy(settings: Settings, digest: str) -> str | None:
    """Returns who signed a policy of the topic: the name under which the policy before it lists the key.

    None where the topic has no such policy, or the policy before it asks for no signature.

    Raises:
        UnreachableError: no broker answers.
    """
    before, name = None, None
    async with aclosing(_first_documents(settings)) as documents:
        async for document in documents:
            before = _policy_of(document)
            break
    async with aclosing(_records(settings)) as records:
        async for record in records:
            value = record.value or b""
            found = follow(before, value, record.headers, record.timestamp)
            if not isinstance(found, Fault):
                if found.hash == digest and before is not None:
                    name = signer_of(before, value, record.headers, record.timestamp)
                before = found
    return name


async def _first_documents(settings: Settings) -> AsyncGenerator[bytes, None]:
    """The policies that the lanes' ledgers began with; later ones come from the topic."""
    async with open_logs(settings) as logs:
        for lane in range(logs.lanes):
            async with aclosing(blocks_of(logs, lane)) as blocks:
                async for _, data in blocks:
                    for event in unseal(data).events:
                        if event.kind == EventKind.POLICY:
                            yield event.value or b""
                    break


def _policy_of(document: bytes, wanted: str | None = None) -> Policy | None:
    """The policy of a document, where it is one, and has this hash if one is wanted."""
    if wanted is not None and _hash(document) != wanted:
        return None
    try:
        return policy_of_document(document)
    except msgspec.MsgspecError:
        return None


def _hash(document: bytes) -> str:
    return "sha256:" + sha256(document).hexdigest()
