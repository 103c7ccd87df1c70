"""Kafka clients as sluice opens them: bounded in time, with TLS and SASL from the settings, and one sentence where no
broker answers.

aiokafka tries for 40 s and more, and logs each failed step; here a broker answers within `CONNECT_SECONDS` or an
`UnreachableError` says which address failed and why. Secrets come from files or variables, and stand in no log and no
error: only the name of the file or variable does.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol, TypeVar

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CorruptRecordException, KafkaConnectionError, KafkaError, KafkaTimeoutError
from aiokafka.partitioner import DefaultPartitioner

from ...codecs.errors import UnreachableError, UsageError
from ..settings.files import demand_plain, open_plain
from ..settings.settings import Settings, bootstrap
from .aiokafka_inside import AskingAnyNode, client_of, hook_fetcher, partitioner_of
from .reconnect import START, causes_of, paced, sentence_of
from .requests import topics_now

SYSTEM = "system"
"""As `broker_ca`: whom the operating system trusts."""


def client_options(settings: Settings) -> dict[str, Any]:
    """What every Kafka client is opened with, beside the address: nothing where neither TLS nor SASL is asked for.

    Raises:
        UsageError: a file cannot be read or holds something else, or the settings do not fit together.
    """
    tls = _context(settings) if settings.broker_ca is not None else None
    if tls is None and (settings.broker_cert or settings.broker_key):
        raise _wrong("a certificate of ours is of no use without TLS", "broker_cert", "`broker_ca` as well")
    options: dict[str, Any] = {} if tls is None else {"ssl_context": tls}
    if settings.broker_user is None:
        if settings.broker_password or settings.broker_password_file:
            raise _wrong("a password needs the user that it is of", "broker_password", "`broker_user` as well")
        return options | ({"security_protocol": "SSL"} if tls is not None else {})
    if tls is None and settings.broker_mechanism == "PLAIN":
        raise _wrong("without TLS, PLAIN would send the password readably", "broker_mechanism", "SCRAM, or `broker_ca`")
    return options | {
        "security_protocol": "SASL_PLAINTEXT" if tls is None else "SASL_SSL",
        "sasl_mechanism": settings.broker_mechanism,
        "sasl_plain_username": settings.broker_user,
        "sasl_plain_password": _password(settings),
    }


def _context(settings: Settings) -> ssl.SSLContext:
    """Checks certificate and host name, by the authorities of the settings."""
    authorities = settings.broker_ca
    try:
        if authorities not in (None, SYSTEM):
            demand_plain(authorities)
        context = ssl.create_default_context(cafile=None if authorities == SYSTEM else authorities)
    except OSError as error:  # an SSLError is one
        raise _unreadable("broker_ca", authorities or "", error, "certificates in PEM form") from None
    if settings.broker_cert is not None:
        try:
            for name in (settings.broker_cert, settings.broker_key):
                if name is not None:
                    demand_plain(name)
            # Without a password: it would be asked for at the terminal.
            context.load_cert_chain(settings.broker_cert, settings.broker_key, password="")
        except (OSError, ValueError) as error:
            place = f"{settings.broker_cert}, {settings.broker_key or 'no broker_key'}"
            raise _unreadable("broker_cert", place, error, "a certificate and its key in PEM form") from None
    elif settings.broker_key is not None:
        raise _wrong("a key needs the certificate that it is of", "broker_key", "`broker_cert` as well")
    return context


def certificate_ends(settings: Settings) -> dict[str, float]:
    """When the certificates in the files that the settings name expire, Unix seconds.

    That of `broker_cert` is `client`, that of `broker_ca` that expires first is `authority`. Of a file that is not
    there or cannot be read nothing is said.
    """
    from cryptography import x509

    found: dict[str, float] = {}
    for name, file in (("client", settings.broker_cert), ("authority", settings.broker_ca)):
        if file is None or file == SYSTEM:
            continue
        try:
            with open_plain(file) as opened:
                ends = [one.not_valid_after_utc for one in x509.load_pem_x509_certificates(opened.read())]
        except (OSError, ValueError):
            continue
        found[name] = min(ends).timestamp()
    return found


def _password(settings: Settings) -> str:
    if settings.broker_password_file is not None:
        if settings.broker_password is not None:
            raise _wrong("the password is given twice", "broker_password", "either it or `broker_password_file`")
        try:
            with open_plain(settings.broker_password_file) as file:
                password = file.read().decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable("broker_password_file", settings.broker_password_file, error, "text") from None
    else:
        password = settings.broker_password or ""
    if not password:
        raise _wrong("the user has no password", "broker_user", "`broker_password_file` or SLUICE_BROKER_PASSWORD")
    return password


def _wrong(what: str, name: str, expected: str) -> UsageError:
    return UsageError(what, path=name, expected=expected)


def _unreadable(name: str, place: str, error: Exception, expected: str) -> UsageError:
    said = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return UsageError(f"{name} cannot be read: {said or 'it holds something else'}", path=place, expected=expected)


CONNECT_SECONDS = 8.0
START_SECONDS = 15.0
"""A broker that is just starting is waited for so long."""
AGAIN_SECONDS = 0.5
STOP_SECONDS = 5.0
"""How long a client may take to end: aiokafka's idempotent producer would send its last batches for ever."""
METADATA_SECONDS = 5.0
"""How long a topic may take to show: one that was just created is known everywhere within milliseconds."""
MAX_RECORD_BYTES = 4_300_000
"""Output topics take 4 MiB; a little more, so that it is the broker's limit that speaks."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def quiet() -> None:
    """Silences aiokafka's logger: at the command line the one sentence of the error is all there is to say."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


def unreachable(settings: Settings, error: BaseException, client: object = None) -> UnreachableError:
    """The sentence for a broker that does not answer, or that answers with a refusal.

    Args:
        settings: the broker.
        error: that was raised.
        client: whose attempts failed; its causes, one for each address, are told.
    """
    causes = causes_of(client)
    if causes:
        cause = sentence_of(causes)
        return UnreachableError(f"no Kafka broker answers: {cause.words}", path=settings.broker, hint=cause.hint)
    # A failed connection has nothing to add but aiokafka's own words for the address.
    said = "" if isinstance(error, KafkaConnectionError | OSError | EOFError) else str(error).strip()
    what = f"the Kafka broker refuses: {said[:200]}" if said else "no Kafka broker answers"
    if isinstance(error, KafkaTimeoutError):
        what = ": ".join(["no Kafka broker answers in time", *(str(said)[:200] for said in error.args[:1])])
    return UnreachableError(what, path=settings.broker, hint=START)


@contextmanager
def reaching(settings: Settings, client: object = None) -> Generator[None]:
    """What a broker is asked within the block is answered, or the error says in a sentence that it was not.

    A record that cannot be read is no such error, nor is a file.

    Args:
        settings: the broker.
        client: that is asked, for why its attempts failed.

    Raises:
        UnreachableError: the broker does not answer, or refuses.
    """
    try:
        yield
    except CorruptRecordException:
        raise
    except (KafkaError, ConnectionError, TimeoutError, EOFError) as error:
        raise unreachable(settings, error, client) from None


T = TypeVar("T")


async def until_answered(settings: Settings, ask: Callable[[], Awaitable[T]]) -> T:
    """What a process asks of the broker at its start; asked again from its beginning while no broker answers.

    Args:
        settings: the broker.
        ask: asks, and closes the clients that it opened.

    Raises:
        UnreachableError: no broker answered in `START_SECONDS`; it says why the last attempt failed.
    """
    loop = asyncio.get_running_loop()
    end, is_told = loop.time() + START_SECONDS, False
    while True:
        try:
            with reaching(settings):
                return await ask()
        except UnreachableError:
            if loop.time() + AGAIN_SECONDS >= end:
                raise
            if not is_told:
                log.info("waiting for the broker", broker=settings.broker, seconds=START_SECONDS)
            is_told = True
            await asyncio.sleep(AGAIN_SECONDS)


class _Client(Protocol):
    async def start(self) -> None: ...


class _Stoppable(Protocol):
    def stop(self) -> Coroutine[Any, Any, None]: ...


C = TypeVar("C", bound=_Client)


async def _start(client: C) -> C:
    async with asyncio.timeout(CONNECT_SECONDS):
        await client.start()
    return client


async def _stop(client: _Stoppable) -> None:
    # In a task of its own: when a broker dies under a fetch, aiokafka's consumer lets the cancellation of its own
    # fetch escape from stop(), and here it would pass for ours.
    ending = asyncio.create_task(client.stop())
    await asyncio.wait({ending}, timeout=STOP_SECONDS)
    if not ending.done():
        ending.cancel()
    elif not ending.cancelled() and (error := ending.exception()) is not None:
        logging.getLogger(__name__).debug("a client did not end in order: %s", error)


@asynccontextmanager
async def open_admin(settings: Settings) -> AsyncGenerator[AIOKafkaAdminClient]:
    """An admin client.

    Raises:
        UnreachableError: no broker answers in time.
    """
    admin = paced(
        AskingAnyNode(
            bootstrap_servers=bootstrap(settings),
            request_timeout_ms=int(CONNECT_SECONDS * 1000),
            **client_options(settings),
        )
    )
    try:
        with reaching(settings, admin):
            yield await _start(admin)
    finally:
        await admin.close()


@asynccontextmanager
async def open_producer(settings: Settings, **options: Any) -> AsyncGenerator[AIOKafkaProducer]:
    """An idempotent producer, acknowledged by all replicas, with the partitioner of the settings.

    Raises:
        UnreachableError: no broker answers in time.
    """
    options = {
        "acks": "all",
        "enable_idempotence": True,
        "partitioner": partitioner(settings),
        "max_request_size": MAX_RECORD_BYTES,
        "linger_ms": 5,
    } | options
    producer = paced(AIOKafkaProducer(bootstrap_servers=bootstrap(settings), **options, **client_options(settings)))
    try:
        with reaching(settings, producer):
            yield await _start(producer)
    finally:
        await _stop(producer)


@asynccontextmanager
async def open_consumer(settings: Settings, **options: Any) -> AsyncGenerator[AIOKafkaConsumer]:
    """A consumer without a group, read_committed, of no topic yet: the caller assigns partitions.

    Raises:
        UnreachableError: no broker answers in time.
    """
    options = {
        "isolation_level": "read_committed",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "max_partition_fetch_bytes": MAX_RECORD_BYTES,
        # The mock cluster leaves checksums wrong; TCP has its own, and the broker checks them as it stores a batch.
        "check_crcs": settings.delivery == "exactly-once",
    } | options
    consumer = paced(AIOKafkaConsumer(bootstrap_servers=bootstrap(settings), **options, **client_options(settings)))
    try:
        with reaching(settings, consumer):
            hook_fetcher(await _start(consumer))
            yield consumer
    finally:
        await _stop(consumer)


@asynccontextmanager
async def open_reader(
    settings: Settings, place: TopicPartition, start: int | None = None, wait_ms: int = 50
) -> AsyncGenerator[AIOKafkaConsumer]:
    """A consumer of one partition from an offset, or its beginning, on: of what is committed, where lanes commit.

    Args:
        settings: the broker and delivery.
        place: to be read.
        start: the first offset; None: the beginning.
        wait_ms: how long the broker may hold an empty answer, milliseconds.

    Raises:
        UnreachableError: no broker answers.
    """
    isolation = "read_committed" if settings.delivery == "exactly-once" else "read_uncommitted"
    async with open_consumer(settings, isolation_level=isolation, fetch_max_wait_ms=wait_ms) as consumer:
        await seek(consumer, place, start)
        yield consumer


async def seek(consumer: AIOKafkaConsumer, place: TopicPartition, start: int | None) -> None:
    """Has a consumer read one partition, and no other.

    Args:
        consumer: without a group.
        place: to be read.
        start: the first offset; None: the beginning.
    """
    consumer.assign([place])
    if start is None:
        await consumer.seek_to_beginning(place)
    else:
        consumer.seek(place, start)


async def log_ends(
    consumer: AIOKafkaConsumer, places: Sequence[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """The first offset of each partition's log, and the one behind its last record."""
    firsts: dict[TopicPartition, int] = {}
    ends: dict[TopicPartition, int] = {}
    if places:
        firsts |= await consumer.beginning_offsets(places)
        ends |= await consumer.end_offsets(places)
    return firsts, ends


async def partitions_of(client: AIOKafkaProducer | AIOKafkaConsumer, settings: Settings, topic: str) -> list[int]:
    """The partition numbers of a topic, in order.

    Args:
        client: an open one that asks; a producer of `open_producer` keeps to the lanes from then on.
        settings: the broker, for the error's sentence.
        topic: by its full name.

    Raises:
        UsageError: the broker has no such topic.
        UnreachableError: the broker does not answer any more.
    """
    kafka = client_of(client)
    end, is_answered = asyncio.get_running_loop().time() + METADATA_SECONDS, False
    kafka.add_topic(topic)
    while True:
        if await kafka.force_metadata_update():
            is_answered = True
            found: Collection[int] | None = kafka.cluster.partitions_for_topic(topic)
            if found:
                await keep_to_lanes(client, settings)
                return sorted(found)
        if asyncio.get_running_loop().time() > end:
            break
        await asyncio.sleep(0.1)
    if not is_answered:
        raise unreachable(settings, TimeoutError(), client)
    raise UsageError(f"the broker has no topic {topic}", path=settings.broker, hint="`sluice topics create` makes them")


class Crc32Partitioner:
    """The partitioner of librdkafka's `consistent`: CRC-32 of the key, modulo the number of partitions."""

    def __call__(self, key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
        """The partition of a key; our records always have one."""
        return all_partitions[zlib.crc32(key or b"") % len(all_partitions)]


class LanePartitioner:
    """Chooses a key's partition among those that lanes read: a topic may have more.

    Args:
        choose: a partitioner of aiokafka's form.

    Attributes:
        lanes: how many partitions lanes read; None while no broker has told it: then all that the topic has.
    """

    def __init__(self, choose: Callable[[bytes | None, Sequence[int], Sequence[int]], int]) -> None:
        self._choose = choose
        self.lanes: int | None = None

    def __call__(self, key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
        """The partition of a key."""
        if self.lanes is not None and self.lanes < len(all_partitions):
            all_partitions = sorted(all_partitions)[: self.lanes]
            available = [number for number in available if number < self.lanes]
        return self._choose(key, all_partitions, available)


def partitioner(settings: Settings) -> LanePartitioner:
    """What chooses a key's partition: Kafka's default, murmur2, unless the settings say otherwise."""
    return LanePartitioner(Crc32Partitioner() if settings.partitioner == "crc32" else DefaultPartitioner())


LEDGERS = ("ledger", "bind-ledger", "frame-ledger")
INPUTS = ("emissions", "observations", "sightings", "citations", "reviews", "attestations")
"""The logical names of what lanes read: those that `topics.TOPICS` declares as inputs."""


async def keep_to_lanes(client: object, settings: Settings) -> None:
    """Has a producer of `open_producer` write only to partitions that lanes read, as soon as a broker says how many.

    There are as many as the ledgers have, which grow only where an operator raises them. Where no ledger may be seen,
    there are as many as the input has that has fewest. Once known, the number stays.

    Args:
        client: any client; others than such producers stay as they are.
        settings: the prefix.
    """
    chooser = partitioner_of(client)
    if not isinstance(chooser, LanePartitioner) or chooser.lanes is not None:
        return
    told = await topics_now(client, [settings.topic_prefix + name for name in (*LEDGERS, *INPUTS)])
    for names in (LEDGERS, INPUTS):
        there = [told[name] for name in (settings.topic_prefix + one for one in names) if name in told]
        chooser.lanes = min((one.partitions for one in there if one.partitions), default=None)
        if chooser.lanes is not None:
            return
