"""Which ledgers a worker writes: their ids, its consumer group, and the application that they belong to.

All that fences workers is made of the ledger, never of what a worker is configured with: a second worker under another
name would else write the same ledger beside the first. A ledger's id is that which Kafka drew for its topic when the
first block was written (16 random bytes). It stands in that block, so that a copy on another cluster keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.errors import UnreachableError, UsageError
from ...codecs.lane_claims import is_claim
from ...codecs.ledger_identity import LedgerIdentity
from ..kafka.connect import open_consumer, partitions_of
from ..kafka.partition_reader import last_record
from ..kafka.passing import PassingReader
from ..kafka.requests import log_spans, topic_ids
from ..kafka.stored_records import StoredRecord
from ..kafka.topics import topic_name
from ..settings.settings import Settings
from .earlier_ledger import demand_no_earlier
from .interfaces import Fold
from .log_names import identity_of

DIGITS: Final = 8
"""So many characters of the ledger topic's id, as Kafka's tools show it, stand in the group's name."""
ASK_SECONDS: Final = 30.0
FETCH_BYTES: Final = 65_536
HIDDEN_SECONDS: Final = 3.0
"""A lane's first record is waited for so long."""
FIRST_SECONDS: Final = 10.0
"""The same of all lanes of a ledger."""
ENDS_SECONDS: Final = 30.0
"""Leaders of topics that were just made answer so late: a broker takes 10 s for 2,700 partitions, longer where it is
busy."""
LEDGER: Final = "ledger"


class Identities(NamedTuple):
    """What a worker is to its broker.

    Attributes:
        group: its consumer group.
        ledgers: by logical name, each ledger's id; one that is missing goes by its topic's full name.
    """

    group: str
    ledgers: Mapping[str, str] = {}

    def id_of(self, settings: Settings, ledger: str) -> str:
        """The id of a ledger by its logical name."""
        return self.ledgers.get(ledger) or topic_name(settings, ledger)

    def of(self, settings: Settings, ledger: str) -> LedgerIdentity:
        """The identity under which a worker writes a ledger; `was` is the application that it was renamed from."""
        ledger_id = self.id_of(settings, ledger)
        return LedgerIdentity(ledger_id=ledger_id, app_id=settings.app_id, was=settings.renamed_from)


def group_of(settings: Settings, topic_id: str = "") -> str:
    """The consumer group of an installation's workers.

    Args:
        settings: with the topics' prefix.
        topic_id: the id of the adjudicating ledger's topic; empty where the broker tells none.
    """
    return f"sluice-{settings.topic_prefix}-{topic_id[:DIGITS]}"


def producer_of(ledger_id: str, fold: str) -> str:
    """What the transactional ids of a ledger's lanes begin with; a hyphen and the lane's number follow.

    Args:
        ledger_id: of the ledger.
        fold: the name of the lane group.
    """
    return f"sluice-{ledger_id}-{fold}"


def demand_application(writes: str, ours: LedgerIdentity, path: str) -> None:
    """That a ledger is written by this worker's application, or by the one that it was renamed from.

    Args:
        writes: the application that the ledger names; empty where it names none.
        ours: this worker's.
        path: the ledger, for the sentence.

    Raises:
        UsageError: another application writes it.
    """
    if writes not in ("", ours.app_id, ours.was):
        raise UsageError(
            f"the application {writes!r} writes this ledger, and this worker's app_id is {ours.app_id!r}",
            path=path,
            hint=f"set app_id to {writes!r}; where the application was renamed, set renamed_from to {writes!r}",
        )


async def identify(settings: Settings, folds: Sequence[Fold]) -> Identities:
    """Asks the broker which ledgers these are.

    Args:
        settings: the broker, the topics and the application.
        folds: that the worker runs.

    Raises:
        UnreachableError: no broker answers, or none tells the ids of topics, which exactly-once needs.
        UsageError: another application writes a ledger, or one is empty and was made anew after an earlier one.
        DoesNotHoldError: a transaction hangs over a ledger's end.
    """
    names = {fold.ledger: topic_name(settings, fold.ledger) for fold in folds}
    async with open_consumer(
        settings,
        isolation_level="read_committed" if settings.delivery == "exactly-once" else "read_uncommitted",
        fetch_max_wait_ms=50,
        max_partition_fetch_bytes=FETCH_BYTES,
    ) as consumer:
        ids = await _topic_ids(settings, consumer, list(names.values()))
        identities = Identities(
            group_of(settings, ids.get(topic_name(settings, LEDGER), "")),
            {ledger: ids[name] for ledger, name in names.items() if name in ids},
        )
        ledgers = dict(identities.ledgers)
        begun = await _begun(settings, consumer, list(names.values()))
        for fold in folds:
            ledger, name = fold.ledger, names[fold.ledger]
            named = await _first_named(settings, consumer, begun[name])
            if named is None:
                if settings.delivery == "exactly-once":  # else the broker is the embedded one, which keeps nothing
                    await demand_no_earlier(settings, consumer, fold, folds, ids[name])
                continue
            place, identity = named
            ledgers[ledger] = identity.ledger_id
            if identity.app_id != settings.app_id:  # it may have been renamed since
                identity = await _newest_claim(settings, place) or identity
            demand_application(identity.app_id, identities.of(settings, ledger), f"{place.topic}/{place.partition}")
    return identities._replace(ledgers=ledgers)


async def present_group(settings: Settings) -> str:
    """The consumer group of the workers on these topics.

    Args:
        settings: the broker and the topics' prefix.

    Raises:
        UnreachableError: no broker answers, or none tells the ids of topics, which exactly-once needs.
        UsageError: there is no ledger.
    """
    name = topic_name(settings, LEDGER)
    async with open_consumer(settings) as consumer:
        await partitions_of(consumer, settings, name)
        return group_of(settings, (await _topic_ids(settings, consumer, [name])).get(name, ""))


async def _topic_ids(settings: Settings, consumer: AIOKafkaConsumer, names: Sequence[str]) -> Mapping[str, str]:
    """The ids of topics. A broker that is slow to tell them is asked again: workers must never take several names."""
    end = asyncio.get_running_loop().time() + ASK_SECONDS
    while True:
        ids = await topic_ids(consumer, names)
        if settings.delivery != "exactly-once" or len(ids) == len(names):
            return ids
        if asyncio.get_running_loop().time() > end:
            raise UnreachableError(
                "no broker tells the ids of the ledgers' topics",
                path=settings.broker,
                hint="exactly-once needs Apache Kafka 3.1 or later",
            )
        await asyncio.sleep(0.5)


async def _begun(
    settings: Settings, consumer: AIOKafkaConsumer, names: Collection[str]
) -> Mapping[str, Sequence[TopicPartition]]:
    """By ledger, the lanes that have records, or of which no leader says whether they have."""
    of_ledger = {
        name: [TopicPartition(name, lane) for lane in await partitions_of(consumer, settings, name)] for name in names
    }
    places = [place for some in of_ledger.values() for place in some]
    spans = await log_spans(consumer, places, ENDS_SECONDS, committed=settings.delivery == "exactly-once")
    empty = {place for place, (first, end) in spans.items() if first == end}
    return {name: [place for place in some if place not in empty] for name, some in of_ledger.items()}


async def _first_named(
    settings: Settings, consumer: AIOKafkaConsumer, places: Sequence[TopicPartition]
) -> tuple[TopicPartition, LedgerIdentity] | None:
    """A lane of a ledger, and what its first record names: a claim or a block; None: no lane has any."""
    gives_up_at = asyncio.get_running_loop().time() + FIRST_SECONDS
    for place in places:
        # What no leader answers for, or a transaction hides, is left to the lanes, which look again.
        if asyncio.get_running_loop().time() > gives_up_at:
            return None
        with suppress(TimeoutError, KafkaError):
            async with asyncio.timeout(HIDDEN_SECONDS):
                if (record := await _first_record(settings, consumer, place)) is None:
                    continue
                if (identity := identity_of(record, f"/{place.topic}/{place.partition}")) is not None:
                    return place, identity
    return None


async def _newest_claim(settings: Settings, place: TopicPartition) -> LedgerIdentity | None:
    """What a lane's newest claim names; None where there is none."""
    log = f"/{place.topic}/{place.partition}"
    newest = await last_record(settings, place, lambda one: is_claim(one.key) and identity_of(one, log) is not None)
    return None if newest is None else identity_of(newest, log)


async def _first_record(settings: Settings, consumer: AIOKafkaConsumer, place: TopicPartition) -> StoredRecord | None:
    """A partition's first record; None where it has none."""
    consumer.assign([place])
    first, end = (await consumer.beginning_offsets([place]))[place], (await consumer.end_offsets([place]))[place]
    if first == end:
        return None
    consumer.seek(place, first)
    reader = PassingReader(consumer, settings.max_unpacked_bytes)
    while not (records := (await reader.take(0.1)).get(place)):
        pass
    return records[0]
