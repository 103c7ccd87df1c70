"""Which ledgers a worker writes, and as whom: ledger ids, consumer group, application, and a lane's claims.

A ledger's topic that is empty beside what an earlier ledger left is refused (docs/howto/recover.md). A lane claims its
ledger with the worker's name, group and key (codecs/ledger_statements.py).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError

from ...codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from ...codecs.ledger_statements import Claim, LedgerIdentity, is_claim, write_claim
from ...codecs.notes import Signer, parse_checkpoint, parse_note
from ...codecs.times import format_time
from ..kafka.connect import log_ends, open_consumer, partitions_of
from ..kafka.membership import Member
from ..kafka.partition_reader import last_record
from ..kafka.requests import log_spans, topic_ids
from ..kafka.topic_reader import PassingReader, StoredRecord
from ..kafka.topics import topic_name
from ..settings.process import now_ms
from ..settings.settings import Settings
from .interfaces import Fold
from .stored_topics import identity_of

ENDS_SECONDS: Final = 30.0


class Left(NamedTuple):
    """What an earlier ledger left."""

    topics: Sequence[str] = ()  # full names of the topics on which it wrote
    folder: Path | None = None  # with snapshots of it; None where there are none
    ledger_id: str = ""  # as its checkpoints name it; empty where none does


def own_topics(fold: Fold, folds: Sequence[Fold]) -> list[str]:
    """Returns the logical names of the topics that only the lanes of one fold write, its ledger apart."""
    shared: set[str] = {topic for other in folds for topic in other.inputs}
    shared |= {topic for other in folds if other.name != fold.name for topic in other.outputs}
    return [topic for topic in (*fold.outputs, fold.checkpoints) if topic not in shared]


def demand_none(left: Left, topic: str, topic_id: str, begins: str | None) -> None:
    """Demands that an earlier ledger left nothing beside the empty ledger `topic`.

    It may have where `begins`, the setting `new_ledger`, names the topic's id.

    Raises:
        UsageError: an earlier ledger left something (`left`), and `begins` is not `topic_id`.
    """
    if begins == topic_id or not (left.topics or left.folder):
        return
    there = [f"records on {', '.join(left.topics)}"] if left.topics else []
    there += [f"snapshots in {left.folder}"] if left.folder else []
    name = f"the ledger {left.ledger_id}" if left.ledger_id else "an earlier ledger"
    raise UsageError(
        f"the ledger's topic was made anew and is empty, and {name} left {' and '.join(there)}",
        path=topic,
        hint="give the topic back its records, or use another topic_prefix; "
        f"to begin a new ledger here, set new_ledger to {topic_id!r}",
    )


async def demand_no_earlier(
    settings: Settings, consumer: AIOKafkaConsumer, fold: Fold, folds: Sequence[Fold], topic_id: str
) -> None:
    """Demands that the empty ledger topic of `fold`, with the id `topic_id`, was not made anew after an earlier ledger.

    `settings` has the topics, the folder of snapshots and `new_ledger`; `consumer` is open; `folds` are all of the
    installation.

    Raises:
        UsageError: it was.
    """
    name = topic_name(settings, fold.ledger)
    topics = [topic_name(settings, topic) for topic in own_topics(fold, folds)]
    written = await _written(settings, consumer, topics)
    folder = Path(settings.state_dir) / name
    has_snapshots = next(folder.glob("*/*.snapshot"), None) is not None
    if (not written and not has_snapshots) or await _written(settings, consumer, [name]):
        return  # asked last: another worker's lanes may have begun this ledger meanwhile
    checkpoints = topic_name(settings, fold.checkpoints)
    ledger_id = ""
    for place in written:
        if place.topic == checkpoints and (ledger_id := await _newest_named(settings, place)):
            break
    left_on = list(dict.fromkeys(place.topic for place in written))
    demand_none(Left(left_on, folder if has_snapshots else None, ledger_id), name, topic_id, settings.new_ledger)


async def _written(settings: Settings, consumer: AIOKafkaConsumer, topics: Collection[str]) -> Sequence[TopicPartition]:
    """The partitions of topics that have ever had a record, whatever retention has left of them."""
    places = [
        TopicPartition(topic, number) for topic in topics for number in await partitions_of(consumer, settings, topic)
    ]
    spans = await log_spans(consumer, places, ENDS_SECONDS, committed=settings.delivery == "exactly-once")
    if (unknown := next((place for place in places if place not in spans), None)) is not None:
        raise KafkaTimeoutError(f"no leader says where {unknown.topic}/{unknown.partition} ends")
    return [place for place in places if spans[place][1]]


async def _newest_named(settings: Settings, place: TopicPartition) -> str:
    """The id of the ledger that the newest checkpoint of a partition names; empty where none names one."""
    try:
        newest = await last_record(settings, place, lambda record: _ledger_in(record.value) is not None, goes_on=True)
    except DoesNotHoldError:
        return ""  # a transaction hangs over it: the ledger stays without a name
    return "" if newest is None else _ledger_in(newest.value) or ""


def _ledger_in(value: bytes | None) -> str | None:
    """The id of the ledger that a checkpoint names; None for what is no checkpoint."""
    try:
        return parse_checkpoint(parse_note(value or b"").text).origin.partition("/")[0]
    except DoesNotHoldError:
        return None


DIGITS: Final = 8
"""So many characters of the ledger topic's id, as Kafka's tools show it, stand in the group's name."""
ASK_SECONDS: Final = 30.0
FETCH_BYTES: Final = 65_536
HIDDEN_SECONDS: Final = 3.0
"""A lane's first record is waited for so long."""
FIRST_SECONDS: Final = 10.0
"""The same of all lanes of a ledger."""
"""Leaders of topics that were just made answer so late: a broker takes 10 s for 2,700 partitions, longer where it is
busy."""
LEDGER: Final = "ledger"


class Identities(NamedTuple):
    """What a worker is to its broker.

    Attributes:
        ledgers: by logical name, each ledger's id; one that is missing goes by its topic's full name.
    """

    group: str  # its consumer group
    ledgers: Mapping[str, str] = {}

    def id_of(self, settings: Settings, ledger: str) -> str:
        """The id of a ledger by its logical name."""
        return self.ledgers.get(ledger) or topic_name(settings, ledger)

    def of(self, settings: Settings, ledger: str) -> LedgerIdentity:
        """The identity under which a worker writes a ledger; `was` is the application that it was renamed from."""
        ledger_id = self.id_of(settings, ledger)
        return LedgerIdentity(ledger_id=ledger_id, app_id=settings.app_id, was=settings.renamed_from)


def group_of(settings: Settings, topic_id: str = "") -> str:
    """Returns the consumer group of an installation's workers, named by the adjudicating ledger's topic id, where there
    is one.
    """
    return f"sluice-{settings.topic_prefix}-{topic_id[:DIGITS]}"


def producer_of(ledger_id: str, fold: str) -> str:
    """Returns what the transactional ids of a ledger's lanes begin with; a hyphen and the lane's number follow."""
    return f"sluice-{ledger_id}-{fold}"


def demand_application(writes: str, ours: LedgerIdentity, path: str) -> None:
    """Demands that a ledger is written by this worker's application (`ours`), or by the one that it was renamed from.

    `writes` is the application that the ledger names, empty where it names none; `path` is the ledger, for the
    sentence.

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
    """Asks the broker which ledgers these folds write.

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
    """Returns the consumer group of the workers on these topics.

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
    firsts, ends = await log_ends(consumer, [place])
    if firsts == ends:
        return None
    consumer.seek(place, firsts[place])
    reader = PassingReader(consumer, settings.max_unpacked_bytes)
    while not (records := (await reader.take(0.1)).get(place)):
        pass
    return records[0]


class Draft(NamedTuple):
    """A claim that is not written yet, and the member in whose name it is written."""

    value: bytes
    member: Member


class Claimant:
    """Drafts the claims of one lane.

    Args:
        lane: the partition number.
        origin: the name of the lane's log.
        worker: this worker's name, for people.
        package: its version.
        signer: its key; None: it has none, and claims stand unsigned.
        member: says who it is in its group now; raises `NotAMemberError` where it is nobody.
        clock: the wall clock, Unix ms.
        app_id: the application's name.
    """

    def __init__(
        self,
        lane: int,
        origin: str,
        worker: str,
        package: str,
        signer: Signer | None,
        member: Callable[[], Member],
        clock: Callable[[], int] = now_ms,
        app_id: str = "",
    ) -> None:
        self._app_id = app_id
        self._lane, self._origin, self._worker, self._package = lane, origin, worker, package
        self._signer, self._ask_member, self._clock = signer, member, clock

    def member(self) -> Member:
        """Who this worker is in its group now.

        Raises:
            NotAMemberError: it is no member.
        """
        return self._ask_member()

    def draft(self) -> Draft:
        """A claim as of now.

        Raises:
            NotAMemberError: the worker is no member of its group.
        """
        member = self.member()
        claim = Claim(
            lane=self._lane,
            worker=self._worker,
            member=member.member,
            generation=member.generation,
            package=self._package,
            claimed_at=format_time(self._clock()),
            app_id=self._app_id,
        )
        return Draft(write_claim(claim, self._origin, self._signer), member)


def worker_name(instance: str | None) -> str:
    """A worker's name for people: the static member's, or that of its host and process."""
    return instance or f"{socket.gethostname()}-{os.getpid()}"
