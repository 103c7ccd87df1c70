"""The short run of chaos, and that its judge and its schedule can be believed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from chaos.check import INPUTS, TOPICS, Counts, Reader, Verdict, compare_with_audit, is_settled, judge
from chaos.load import NUMBER, Load
from chaos.proxy import MEMBERSHIP, Proxy
from chaos.report import write_report
from chaos.schedule import FULL_MINUTES, KINDS, SHORT_MINUTES, schedule
from chaos.told import Told
from chaos.workload import POLICY
from lanes_on_kafka import records

from sluice.codecs.blocks import GENESIS, Event, EventKind, Header, Output, Source, outputs_root, seal, unseal
from sluice.codecs.times import parse_time
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.engine.chain import BlockBuilder
from sluice.topology.engine.folds import FrameAttestations
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

RUN = Path(__file__).with_name("run.py")
LAST_LINE = re.compile(r"faults=(\d+) lost=(\d+) doubled=(\d+)")
SECONDS = 1200.0
"""A run takes two minutes and a half; at a tenth of the processor it has taken ten."""
RATE = "40"
"""Records a second: a quarter of the load of `make chaos`, which costs a quarter less of the processor."""


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 60)
async def test_chaos_loses_and_doubles_nothing(tmp_path: Path):
    """The faults of a short run on three brokers: the last line says that nothing was lost and nothing doubled."""
    tests = RUN.parents[2]
    environment = os.environ | {"PYTHONPATH": f"{tests / 'support'}:{tests / 'integration'}"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(RUN), "--short", "--rate", RATE, "--report", str(tmp_path / "report.json")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    talking = asyncio.create_task(process.communicate())
    try:
        out, said = await asyncio.wait_for(asyncio.shield(talking), SECONDS)
    except TimeoutError:
        process.terminate()  # it ends its workers and its broker
        raise AssertionError(f"chaos does not end: {(await talking)[1].decode()[-3000:]}") from None

    reported = LAST_LINE.fullmatch(out.decode().splitlines()[-1]) if out else None
    assert reported is not None, said.decode()[-3000:]
    assert (process.returncode, reported[2], reported[3]) == (0, "0", "0"), said.decode()
    assert int(reported[1]) >= sum(kind.short for kind in KINDS.values())
    report = json.loads((tmp_path / "report.json").read_text())
    assert sum(kind["count"] > 0 for kind in report["kinds"].values()) >= 10
    assert (report["faults"], report["brokers"], report["complaints"]) == (int(reported[1]), 3, [])


# ---------------------------------------------------------------- the schedule


def test_a_seed_gives_one_schedule():
    """Equal seeds give equal faults, other seeds other ones."""
    assert schedule(7, 15, 3, short=False) == schedule(7, 15, 3, short=False)
    assert schedule(7, 15, 3, short=False) != schedule(8, 15, 3, short=False)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_every_kind_of_fault_comes_as_often_as_it_should(seed: int, short: bool):
    """As often as its kind says, within the time; there are always two workers."""
    minutes = SHORT_MINUTES if short else FULL_MINUTES
    plan = schedule(seed, minutes, 3, short=short)

    wanted = {name: kind.short if short else kind.full for name, kind in KINDS.items()}
    assert Counter(fault.kind for fault in plan) == Counter({name: count for name, count in wanted.items() if count})
    assert all(0 <= fault.at <= minutes * 60 for fault in plan)
    assert all(fault.workers is None or 2 <= fault.workers <= 4 for fault in plan)


def test_a_full_run_has_100_faults_of_10_kinds_and_a_short_one_every_sort():
    """What is promised of `make chaos`; a short run has kinds of all three tracks, ten at the least."""
    full, short = ({name for name, kind in KINDS.items() if getattr(kind, way)} for way in ("full", "short"))

    assert sum(kind.full for kind in KINDS.values()) >= 100
    assert full == KINDS.keys()
    assert len(short) >= 10
    assert {KINDS[name].track for name in short} == {"kills", "workers", "brokers"}


# ---------------------------------------------------------------- the report


@pytest.mark.parametrize(
    ("lost", "doubled", "complaint", "good"),
    [(0, 0, "", True), (1, 0, "", False), (0, 1, "", False), (0, 0, "nobody took over", False)],
)
def test_a_run_is_good_only_where_nothing_is_lost_doubled_or_missed(
    tmp_path: Path, lost: int, doubled: int, complaint: str, good: bool
):
    """A fault that did not show what it should have makes a run as bad as a loss does; the report says which it was."""
    told = Told(1, lambda _: None)
    told.begins("leader", "a leader is killed")
    told.take_overs += [3.0, 1.0, 2.0]
    if complaint:
        told.complain(complaint)
    given = {"seed": 7, "minutes": 1, "workers": 3, "rate": 1.0, "short": True}
    path = tmp_path / "report.json"
    report = write_report(path, given, "2026-11-24T12:00:00Z", 1.0, told, Verdict(lost, doubled, [], {"blocks": 2}))

    assert report == (f"faults=1 lost={lost} doubled={doubled}", good)
    kept = json.loads(path.read_text())
    assert kept["kinds"]["leader"]["count"] == 1
    assert kept["take_overs_beside_a_frozen_node"] == {"count": 3, "p50": 2.0, "p99": 3.0, "max": 3.0}
    assert kept["complaints"] == ([complaint] if complaint else [])
    assert (kept["lost"], kept["doubled"], kept["seed"]) == (lost, doubled, 7)


def test_the_audit_is_held_against_the_judge():
    """What the audit finds is told, and so is that it counts other blocks than the judge."""
    lane = SimpleNamespace(chain=3)
    found = SimpleNamespace(kind="outputs", place="admitted/0/1", sentence="it is not what the block folds to")
    verdict = Verdict(0, 0, [], {"blocks": 6})
    clean: Any = SimpleNamespace(lanes=[lane], frame=[lane], divergences=[])
    broken: Any = SimpleNamespace(lanes=[lane], frame=[], divergences=[found])

    assert compare_with_audit(clean, verdict) == []
    assert [line.split(":")[1] for line in compare_with_audit(broken, verdict)] == [
        " outputs at admitted/0/1",
        " it counts 3 blocks, and the judge 6",
    ]


# ---------------------------------------------------------------- the judge


class Lane:
    """What one lane without faults leaves in all topics, and the books of the load that it had."""

    def __init__(self) -> None:
        self.settings = Settings(partitions=1)
        self.load = Load(self.settings, 0, 1)
        self.policy = load_policy(POLICY).document
        self.found: dict[str, list[list[Any]]] = {topic: [[]] for topic in TOPICS}
        self._state, self._tip = core.new_state(0, 1), (GENESIS, outputs_root(()))
        self._next = dict.fromkeys(core.INPUTS, 0)
        self._close(1, [Event(EventKind.POLICY, 0, 0, 1, [], None, self.policy)])
        for number in range(12):
            self._take(number)
        self._frame()

    def _add(self, topic: str, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]) -> Any:
        log = self.found[topic][0]
        # Offsets have gaps, as those of markers.
        log.append(SimpleNamespace(offset=2 * len(log), timestamp=5, key=key, value=value, headers=tuple(headers)))
        return log[-1]

    def _send(self, topic: str, key: bytes | None, value: bytes | None) -> Any:
        number = len(self.load.acknowledged)
        record = self._add(topic, key, value, [(NUMBER, b"%d" % number)])
        self.load.acknowledged[number] = (topic, 0, record.offset)
        return record

    def _take(self, number: int) -> None:
        events: list[Event] = []
        poison = [("emissions", b"x", b"no json"), ("reviews", None, b"x" * 1_000_001)] if number == 3 else []
        for topic, key, value in [*records(number), *poison]:
            one = self._send(topic, key, value)
            source, headers = core.INPUTS.index(topic), list(one.headers)
            events.append(core.event_for(source, one.offset, one.timestamp, headers, one.key, one.value))
        self._close(1 + max(self._state.time, _now(records(number))), events)

    def _close(self, time: int, events: list[Event]) -> None:
        before = dict(self._next)
        for event in events:
            if event.kind != EventKind.POLICY:
                self._next[core.INPUTS[event.source]] = event.offset + 1
        header = Header(
            lane=0,
            lanes=1,
            height=len(self.found["ledger"][0]),
            prev=self._tip[0],
            time=time,
            watermark=time,
            policy=self._state.policy_hash,
            fold=core.fold_version("murmur2"),
            sources=[Source(topic, before[topic], self._next[topic]) for topic in core.INPUTS],
            outputs=self._tip[1],
        )
        block, data = seal(header, events)
        self._add("ledger", None, data, [])
        outputs = core.fold(self._state, block)
        self._tip = block.hash, outputs_root(outputs)
        self._write(outputs)

    def _write(self, outputs: list[Output]) -> None:
        for output in outputs:
            self._add(output.topic, output.key, output.value, output.headers)

    def _frame(self) -> None:
        fold = FrameAttestations()
        sent = [self._send("attestations", b"k%d" % number, b"no json") for number in range(3)]
        claim = b"0x" + b"ab" * 32
        word = b'{"claim_hash":"%s","validator_did":"did:web:v.example","verdict":"FALSE","consensus_domain":"%s"}'
        sent += [self._send("attestations", claim, word % (claim, b"scientific-default")) for _ in range(3)]
        builder = BlockBuilder(fold, 0, 1, "")
        events = [fold.event_for(0, one.offset, 5, list(one.headers), one.key, one.value) for one in sent]
        for block in (
            builder.start(9, self.policy),
            builder.add(10, 9, events[:2]),
            builder.add(10, 9),
            builder.add(11, 9, events[2:]),
        ):
            self._add("frame-ledger", None, block.data, [])
            self._write(block.outputs)

    def judged(self) -> Verdict:
        return judge(self.settings, self.found, self.load)


def _now(sent: Iterator[tuple[str, bytes, bytes]]) -> int:
    """The time of an emission, Unix ms."""
    return parse_time(json.loads(next(sent)[2])["emitted_at"]) or 0


def test_a_lane_without_faults_is_judged_to_be_one():
    """Nothing is lost and nothing doubled, with outputs on several topics and dead letters of both folds."""
    lane = Lane()
    verdict = lane.judged()

    assert (verdict.lost, verdict.doubled, verdict.complaints) == (0, 0, [])
    assert verdict.figures["inputs"] == len(lane.load.acknowledged)
    assert verdict.figures["admitted"] > 5
    assert verdict.figures["grounded"] == 3
    assert verdict.figures["dead-letters"] == 5


@pytest.mark.parametrize("topic", ["admitted", "grounded", "dead-letters", "ledger", "frame-ledger"])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_missing_record_is_lost(topic: str, place: int):
    """Wherever it is missing."""
    lane = Lane()
    del lane.found[topic][0][place]

    assert lane.judged().lost > 0


@pytest.mark.parametrize("topic", ["admitted", "grounded", "dead-letters", "ledger", "frame-ledger"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_record_that_comes_twice_is_doubled(topic: str, place: int):
    """Wherever the second one stands."""
    lane = Lane()
    lane.found[topic][0].append(lane.found[topic][0][place])

    assert lane.judged().doubled > 0


def test_a_second_block_of_a_height_is_doubled():
    """What a lane would write that took an older end of its ledger for the end, after a leader was elected."""
    lane = Lane()
    blocks = lane.found["ledger"][0]
    other = unseal(blocks[-1].value)
    again, data = seal(msgspec.structs.replace(other.header, time=other.header.time + 1), [])
    lane._add("ledger", None, data, [])

    assert again.hash != other.hash
    assert lane.judged().doubled > 0


def test_outputs_in_another_order_are_not_as_they_should_be():
    """The order is part of what folding gives."""
    lane = Lane()
    admitted = lane.found["admitted"][0]
    admitted[0], admitted[1] = admitted[1], admitted[0]

    assert (lane.judged().lost, lane.judged().doubled) == (2, 2)


def test_one_octet_of_an_output_counts():
    """It is both: what should be there is lost, and what is there is too much."""
    lane = Lane()
    lane.found["admitted"][0][1].value += b" "

    assert (lane.judged().lost, lane.judged().doubled) == (1, 1)


def test_an_acknowledged_input_that_no_topic_has_is_lost():
    """Also when no block has it either, so that ledger and outputs agree with one another."""
    lane = Lane()
    lane.load.acknowledged[10_000] = ("emissions", 0, 1)

    assert (lane.judged().lost, lane.judged().doubled) == (1, 0)


def test_an_input_that_no_block_has_is_lost():
    """It stands in its topic, and nowhere else."""
    lane = Lane()
    lane._send("emissions", b"em-99", b"{}")

    assert (lane.judged().lost, lane.judged().doubled) == (1, 0)


def test_an_aborted_input_that_stands_in_a_topic_is_doubled():
    """Nobody may ever see it."""
    lane = Lane()
    del lane.load.acknowledged[4]
    lane.load.aborted.add(4)

    assert (lane.judged().lost, lane.judged().doubled) == (0, 1)


def test_nothing_is_settled_before_everything_has_its_block_or_output():
    """An input without a block is waited for, and so is one that is acknowledged and not read yet."""
    lane = Lane()
    assert is_settled(lane.found, len(lane.load.acknowledged))

    assert not is_settled(lane.found, len(lane.load.acknowledged) + 1)
    del lane.found["ledger"][0][-1]
    assert not is_settled(lane.found, len(lane.load.acknowledged))
    assert {topic for topic in INPUTS if lane.found[topic][0]} >= {"emissions", "observations", "attestations"}


@pytest.mark.parametrize(
    ("written", "counted"),
    [("abc", (0, 0)), ("ab", (1, 0)), ("abcc", (0, 1)), ("abd", (1, 1)), ("acb", (2, 2)), ("", (3, 0))],
)
def test_sequences_are_compared_by_what_stands_where(written: str, counted: tuple[int, int]):
    """Missing is lost, too many is doubled, elsewhere is both."""
    counts = Counts()
    counts.compare("abc", written, "letters")

    assert (counts.lost, counts.doubled) == counted


# ---------------------------------------------------------------- the reader


async def test_the_reader_reads_to_the_end_of_today(kafka: str, prefix: str):
    """What a transaction wrote while nobody read is read whole: not one topic of it to today's end, one to yesterday's.

    A fetch leaves out the partitions whose records still wait to be taken, so that the end which it told is an old one.
    """
    settings = Settings(broker=kafka, topic_prefix=prefix, partitions=1)
    await create_topics(settings)
    places = [(f"{prefix}ledger", b"block"), (f"{prefix}admitted", b"output")]
    async with AIOKafkaProducer(bootstrap_servers=bootstrap(settings), transactional_id=prefix) as producer:

        async def block(*sent: tuple[str, bytes]) -> None:
            async with producer.transaction():
                for topic, value in sent:
                    await producer.send_and_wait(topic, value, b"key", partition=0)  # a compacted topic wants keys

        async with Reader(settings) as reader:
            await block(*places)
            assert await reader.until(lambda: len(reader.found["admitted"][0]) == 1, 60)
            await block(places[0])
            await asyncio.sleep(1)  # it is fetched, and waits
            await block(*places)
            await asyncio.sleep(1)

            assert await reader.to_end()
            assert [len(reader.found[topic][0]) for topic in ("ledger", "admitted")] == [3, 2]


# ---------------------------------------------------------------- the disk

USE_A_DISK = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from chaos.disk import Disk, take_mounts
disk = Disk(Path(sys.argv[2]), take_mounts() if sys.argv[3] == "mounted" else False)
kept, new = disk.folder / "lane" / "kept", disk.folder / "lane" / "new"
kept.parent.mkdir()
kept.write_bytes(b"kept")
disk.fill()
try:
    new.write_bytes(b"new")
except OSError:
    disk.free()
    new.write_bytes(b"new")
    disk.close()
"""


@pytest.mark.parametrize("way", ["mounted", "obstructed"])
def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path, way: str):
    """Whether a small one can be mounted or its folder is obstructed; what was there outlives the mounts."""
    command = [sys.executable, "-c", USE_A_DISK, str(RUN.parent.parent), str(tmp_path / "state"), way]
    subprocess.run(command, timeout=60, check=True)

    assert {path.name: path.read_bytes() for path in (tmp_path / "state" / "lane").iterdir()} == {
        "kept": b"kept",
        "new": b"new",
    }


# ---------------------------------------------------------------- the cut


FETCH, HEARTBEAT = 1, 12


def frame(key: int, body: bytes) -> bytes:
    """A request as Kafka's clients send it: its length, what it asks for, and the rest."""
    return struct.pack(">ih", 2 + len(body), key) + body


async def answer(reader: asyncio.StreamReader) -> bytes:
    size = await asyncio.wait_for(reader.readexactly(4), 60)
    return size + await asyncio.wait_for(reader.readexactly(*struct.unpack(">i", size)), 60)


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[list[bytes], Proxy]]:
    """A server that answers each frame with itself, the frames that it got, and a proxy before it."""
    got: list[bytes] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(EOFError):
            while True:
                got.append(await answer(reader))
                writer.write(got[-1])
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Proxy() as proxy:
        proxy.target = server.sockets[0].getsockname()[1]
        yield got, proxy


async def test_a_cut_holds_everything_and_loses_nothing():
    """Connections stay, nothing passes, and all of it comes once the cut is mended; new connections wait too."""
    async with echoing() as (got, proxy):
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(frame(FETCH, b"one"))
        assert await answer(reader) == frame(FETCH, b"one")
        proxy.cut()
        writer.write(frame(FETCH, b"two"))
        late_reader, late_writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        late_writer.write(frame(FETCH, b"new"))
        async with asyncio.timeout(60):
            while not proxy.held:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert got == [frame(FETCH, b"one")]
        assert proxy.held == len(frame(FETCH, b"two"))
        proxy.mend()

        assert await answer(reader) == frame(FETCH, b"two")
        assert await answer(late_reader) == frame(FETCH, b"new")
        writer.close()
        late_writer.close()


async def test_a_cut_from_the_coordinator_holds_nothing_else():
    """Heartbeats wait, with what follows them on their connection; another connection fetches as before."""
    async with echoing() as (got, proxy):
        proxy.cut(MEMBERSHIP)
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        other, fetching = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(frame(HEARTBEAT, b"alive") + frame(FETCH, b"behind"))
        fetching.write(frame(FETCH, b"before") + frame(FETCH, b"after"))

        assert [await answer(other), await answer(other)] == [frame(FETCH, b"before"), frame(FETCH, b"after")]
        assert frame(HEARTBEAT, b"alive") not in got
        proxy.mend()
        assert [await answer(reader), await answer(reader)] == [frame(HEARTBEAT, b"alive"), frame(FETCH, b"behind")]
        writer.close()
        fetching.close()
