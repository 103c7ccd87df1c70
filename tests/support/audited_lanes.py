"""A small world of three lanes, folded as lanes fold, with signed checkpoints, to be exported and tampered with.

What happened is one list of steps; the records of the topics follow from it and from a policy. So an operator who can
do everything (rewrite blocks, seal them anew, fold them again and replace all outputs) is a second world from changed
steps, beside the checkpoints of the first, which he cannot sign.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from builders import assertion_value, emission_value, encoded, observation_value, span_of
from msgspec.structs import replace

from sluice.codecs.blocks import GENESIS, Block, Event, EventKind, Header, Output, seal, unseal
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, origin
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.streams.adjudication.versions import FOLD_VERSIONS, number_of
from sluice.streams.policy.policy import DEFAULT_POLICY, Policy
from sluice.topology.engine.chain import BlockBuilder
from sluice.topology.engine.export_files import AUDITED, LATER, MANIFEST, Manifest, Stored, Writing, file_name
from sluice.topology.engine.folds import Adjudicate

LANES = 3
START = 1_790_000_000_000
MINUTE = 60_000
CLASSES = ("substrate.code.read", "substrate.git.log", "substrate.grep")
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
SIGNER = Signer("sluice/test", bytes(range(32)))
STRANGER = Signer("sluice/test", bytes(32))
KEY = str(SIGNER.verifier)


class Step(NamedTuple):
    """A block of a lane: its time, its records as (source, key, value), and whether a checkpoint comes with it."""

    lane: int
    time: int
    records: tuple[tuple[int, bytes, bytes], ...] = ()
    checkpoint: bool = False


def steps(seed: int = 1, rounds: int = 8) -> list[Step]:
    """What happened: every lane has emissions, evidence before and behind them, renewals, decays, dead letters."""
    choose, found, time, number = random.Random(seed), list[Step](), START, 0
    known: list[list[tuple[bytes, str]]] = [[] for _ in range(LANES)]
    for turn in range(rounds):
        time += 1000 if turn < rounds - 2 else 90 * MINUTE  # in the end all windows are over
        for lane in range(LANES):
            records: list[tuple[int, bytes, bytes]] = []
            for _ in range(choose.randint(1, 3)):
                number, key = _id_of(lane, number + 1)
                known[lane].append((key, f"sha256:{number:064x}"))
                records.append((0, key, _emission_at(key, f"sha256:{number:064x}", time)))
            for key, seen in choose.sample(known[lane], min(len(known[lane]), 3)):
                for name in CLASSES[: choose.randint(0, 3)]:
                    records.append((1, key, _observation_at(key, seen, name, time)))
            choose.shuffle(records)
            if turn % 2:
                records.append((choose.choice([0, 1, 2]), b"bad", b'{"not": %d' % turn))
            found.append(Step(lane, time + lane, tuple(records)))
            if turn % 3 == 2 or turn == rounds - 1:
                found.append(Step(lane, time + lane, checkpoint=True))
    return found


def _id_of(lane: int, number: int) -> tuple[int, bytes]:
    while PARTITIONERS["murmur2"](f"em-{number}".encode(), LANES) != lane:
        number += 1
    return number, f"em-{number}".encode()


def _emission_at(key: bytes, seen: str, time: int) -> bytes:
    at = format_time(time)
    notes = [{"substrate_class": name, "observation_id": seen, "ts": at} for name in CLASSES[:2]]
    return encoded(emission_value(key.decode(), TEXT, at=at, assertions=[assertion_value(TEXT, *notes)]))


def _observation_at(key: bytes, seen: str, name: str, time: int) -> bytes:
    about = {"emission_id": key.decode(), "span": span_of(TEXT), "at": format_time(time)}
    return encoded(observation_value(name, observation_id=seen, observer="observer-2", **about))


class _Fold(Adjudicate):
    """Folds whatever a header says that it is folded by, and goes on with its own version."""

    def named(self, state: Any, ledger: str = "") -> str:
        return self.version

    def fold(self, state: Any, block: Block) -> list[Output]:
        known = number_of(block.header.fold) in FOLD_VERSIONS
        return super().fold(state, block if known else block._replace(header=replace(block.header, fold=self.version)))


Alter = Callable[[Header], Header]


def _events(builder: BlockBuilder, step: Step) -> list[Event]:
    """A step's records, at the next offsets of their inputs."""
    ends, events = [builder.position(topic) for topic in builder.fold.inputs], list[Event]()
    for source, key, value in step.records:
        headers = [("traceparent", b"00-1-1-01")]
        events.append(Event(EventKind.RECORD, source, ends[source], step.time, headers, key, value))
        ends[source] += 1
    return events


class World:
    """Every record of every topic; tests change `topics` as they like.

    Attributes:
        topics: records by logical topic and lane.
        first: the log's start of a topic and lane, where retention has taken something.
    """

    def __init__(
        self,
        happened: list[Step] | None = None,
        policy: Policy = DEFAULT_POLICY,
        alter: Alter = lambda header: header,
        signer: Signer = SIGNER,
        partitioner: Any = "murmur2",
        fold: Adjudicate | None = None,
        retentions: Callable[[int], dict[str, int]] = lambda _: {},
    ) -> None:
        """`retentions`: what a checkpoint of that time records."""
        self.topics: dict[tuple[str, int], list[Stored]] = {
            (topic, lane): [] for topic in (*AUDITED, *LATER) for lane in range(LANES)
        }
        self.first: dict[tuple[str, int], int] = {}
        self._ends = dict.fromkeys(self.topics, 0)
        fold, tips, previous = fold or _Fold(partitioner), [Head()] * LANES, [NO_CHECKPOINT] * LANES
        builders = [BlockBuilder(fold, lane, LANES, policy.hash) for lane in range(LANES)]
        began = Event(EventKind.POLICY, 0, 0, START, [], None, policy.document)
        for lane, builder in enumerate(builders):
            self._block(builder, lane, START, [began], alter)
        for step in steps() if happened is None else happened:
            builder = builders[step.lane]
            self._block(builder, step.lane, step.time, _events(builder, step), alter)
            if step.checkpoint:
                tree = builder.head.tree
                tips[step.lane] = head = Head(tree.size, tree.root())
                name = origin("sluice", "ledger", step.lane)
                about = (step.time, previous[step.lane], tuple(tips), [*retentions(step.time).items()])
                said = Checkpoint(name, head, builder.head.hash, *about)
                previous[step.lane] = said.digest
                self._put("checkpoints", step.lane, name.encode(), signer.sign(said.text()).encode(), step.time)
        # A dead letter of the attestation lane stands between ours.
        letters = self.topics["dead-letters", 0]
        headers = [("sluice-reason", b"mistyped"), ("sluice-source", b"attestations/0/7")]
        letters.insert(1, replace(letters[0], offset=letters[0].offset + 1, value=b"{}", headers=headers))

    def _block(self, builder: BlockBuilder, lane: int, time: int, events: list[Event], alter: Alter) -> None:
        _, data, outputs, _ = builder.close(alter(builder.header(time, time, events)), events)
        self._put("ledger", lane, None, data, time)
        for output in outputs:
            self._put(output.topic, lane, output.key, output.value, time, output.headers)
        for topic in {"ledger", *(output.topic for output in outputs)}:
            self._ends[topic, lane] += 2  # a marker of the transaction takes an offset as well

    def _put(self, topic: str, lane: int, key: Any, value: bytes, time: int, headers: Any = ()) -> None:
        end = self._ends[topic, lane]
        self.topics[topic, lane].append(Stored(end, time, key, value, list(headers)))
        self._ends[topic, lane] = end + 1

    def copy(self) -> World:
        """The same, to be changed."""
        return copy.deepcopy(self)

    def ledger(self, lane: int) -> list[Stored]:
        """A lane's blocks."""
        return self.topics["ledger", lane]

    def replace(self, topic: str, lane: int, place: int, **changes: Any) -> None:
        """Changes a record where it stands."""
        records = self.topics[topic, lane]
        records[place] = replace(records[place], **changes)

    def renumber(self, topic: str, lane: int) -> None:
        """Gives the records of a partition offsets that increase, as whoever writes a topic anew would."""
        records = self.topics[topic, lane]
        self.topics[topic, lane] = [replace(record, offset=2 * place) for place, record in enumerate(records)]

    def blocks(self, lane: int) -> list[Block]:
        """A lane's blocks, unsealed."""
        return [unseal(record.value or b"") for record in self.ledger(lane)]

    def save(self, folder: Path, exported_at: str = "2026-11-21T09:00:00Z") -> Path:
        """Writes all of it down as an export."""
        folder.mkdir(parents=True, exist_ok=True)
        there = [*AUDITED, *(topic for topic in LATER if any(self.topics[topic, lane] for lane in range(LANES)))]
        ranges: dict[str, list[tuple[int, int]]] = {topic: [] for topic in there}
        files: dict[str, str] = {}
        for (topic, lane), records in self.topics.items():
            name = file_name(topic, lane)
            (folder / name).unlink(missing_ok=True)
            if topic not in ranges:
                continue
            with Writing(folder / name) as file:
                file.write(records)
            files[name] = file.digest
            end = max([1000, *(record.offset + 1 for record in records)])
            ranges[topic].append((self.first.get((topic, lane), 0), end))
        manifest = Manifest(
            broker="kafka://nowhere:9092",
            app_id="sluice",
            ledger="ledger",
            lanes=LANES,
            exported_at=exported_at,
            ranges=ranges,
            files=files,
        )
        (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))
        return folder


def resealed(world: World, lane: int, height: int, change: Callable[[Header, list[Event]], tuple[Header, list[Event]]]):
    """A lane's ledger with one block changed, and every hash behind it computed anew; the outputs stay."""
    records, prev = world.ledger(lane), GENESIS
    for place, record in enumerate(records):
        block = unseal(record.value or b"")
        header, events = block.header, list(block.events)
        if place == height:
            header, events = change(header, events)
        made, data = seal(replace(header, prev=prev), events)
        prev = made.hash
        records[place] = replace(record, value=data)


def with_outputs(world: World, topic: str, at_least: int = 3) -> Iterator[tuple[int, int]]:
    """Lanes and places of records that are neither the first nor the last of their partition, nor their key's last."""
    for lane in range(LANES):
        records = world.topics[topic, lane]
        if len(records) >= at_least:
            for place in range(1, len(records) - 1):
                yield lane, place
