"""Finds what an earlier ledger left beside a ledger's topic that is empty (docs/howto/recover.md).

A ledger's topic that was deleted and made anew has another id, and so names another ledger. What the former one decided
still stands on its outputs. A lane that began anew beside that would decide all of it once more without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from ...codecs.checkpoints import parse_checkpoint
from ...codecs.errors import DoesNotHoldError, UsageError
from ...codecs.notes import parse_note
from ..kafka.connect import partitions_of
from ..kafka.partition_reader import last_record
from ..kafka.requests import log_spans
from ..kafka.topics import topic_name
from ..settings.settings import Settings
from .interfaces import Fold

ENDS_SECONDS: Final = 30.0


class Left(NamedTuple):
    """What an earlier ledger left.

    Attributes:
        topics: full names of the topics on which it wrote.
        folder: with snapshots of it; None where there are none.
        ledger_id: as its checkpoints name it; empty where none does.
    """

    topics: Sequence[str] = ()
    folder: Path | None = None
    ledger_id: str = ""


def own_topics(fold: Fold, folds: Sequence[Fold]) -> list[str]:
    """The topics that only the lanes of one fold write, its ledger apart, by their logical names."""
    shared: set[str] = {topic for other in folds for topic in other.inputs}
    shared |= {topic for other in folds if other.name != fold.name for topic in other.outputs}
    return [topic for topic in (*fold.outputs, fold.checkpoints) if topic not in shared]


def demand_none(left: Left, topic: str, topic_id: str, begins: str | None) -> None:
    """That an earlier ledger left nothing beside an empty one, or that the operator wants a new ledger all the same.

    Args:
        left: what was found.
        topic: the ledger's, by its full name; it has never had a record.
        topic_id: its id.
        begins: the id of the topic that may begin a new ledger (the setting `new_ledger`).

    Raises:
        UsageError: an earlier ledger left something.
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
    """That the empty topic of a fold's ledger was not made anew after an earlier ledger.

    Args:
        settings: the broker, the topics, the folder of snapshots and `new_ledger`.
        consumer: an open one.
        fold: whose ledger has no record.
        folds: all of the installation.
        topic_id: the id of the ledger's topic.

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
    """The partitions of topics that have ever had a record, whatever retention has left of them.

    Raises:
        KafkaTimeoutError: not all leaders say it.
    """
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
