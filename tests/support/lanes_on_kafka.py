"""Workers as processes, load from clients that know nothing of sluice, and what must be true afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from builders import ENTRY, assertion_value, emission_value, keyed, observation_value, span_of

from sluice.codecs.blocks import Block, EventKind, unseal
from sluice.codecs.ledger_statements import SignedClaim, is_claim, read_claim
from sluice.codecs.times import format_time
from sluice.streams.adjudication import fold as core
from sluice.topology.engine.folds import folds
from sluice.topology.settings.settings import Settings, bootstrap

OUTPUTS = ("admitted", "inadmissible", "review-requests", "re-emission-requests", "verdicts", "dead-letters")
CLASSES = ("substrate.code.read", "substrate.git.log")


class Workers:
    """`sluice worker` processes, each with its standard error in a file of `folder`, and settings from `variables`.

    `prelude` is Python that each of them runs before anything else.
    """

    def __init__(self, settings: Settings, folder: Path, prelude: str = "", **variables: str) -> None:
        self._folder, self._lanes = folder, settings.partitions * len(folds())
        self._program = f"{prelude}\nfrom sluice.topology.cli import main; main()"
        self._environment = os.environ | {
            "SLUICE_BROKER": settings.broker,
            "SLUICE_TOPIC_PREFIX": settings.topic_prefix,
            "SLUICE_APP_ID": settings.app_id,
            "SLUICE_PARTITIONS": str(settings.partitions),
            "SLUICE_SESSION_TIMEOUT": "6",  # the least that a broker takes by default
            "SLUICE_TRANSACTION_TIMEOUT": "8",
            **variables,
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """One more worker, with variables of its own."""
        command = [sys.executable, "-c", self._program, "worker", *arguments]
        with open(self._folder / f"worker-{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                command,
                env=self._environment | variables,
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def said(self, process: subprocess.Popen[bytes]) -> str:
        """What a worker wrote to standard error so far."""
        return (self._folder / f"worker-{self.processes.index(process)}.log").read_text("utf-8", "replace")

    async def until_said(self, process: subprocess.Popen[bytes], text: str, count: int = 1) -> None:
        """Waits until a worker has said something so often."""
        async with asyncio.timeout(150):
            while self.said(process).count(text) < count:
                if process.poll() is not None:
                    raise AssertionError(f"the worker ended with {process.returncode}: {self.said(process)[-2000:]}")
                await asyncio.sleep(0.05)

    async def until_taken_over(self, process: subprocess.Popen[bytes]) -> None:
        """Waits until a worker that is alone has every lane of every fold."""
        await self.until_said(process, "lane taken over", self._lanes)

    async def replace_frozen(self, zombie: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Freezes a worker until another one has taken all its lanes over, and wakes it; returns the other."""
        zombie.send_signal(signal.SIGSTOP)
        other = self.start()
        await self.until_taken_over(other)
        zombie.send_signal(signal.SIGCONT)
        return other

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)


async def ended(process: subprocess.Popen[bytes], seconds: float = 150) -> int:
    """Waits until a worker has ended; returns its exit status."""
    return await asyncio.to_thread(process.wait, seconds)


def records(number: int) -> Iterator[tuple[str, bytes, bytes]]:
    """(topic, key, value) of one emission and its evidence: every fifth has evidence of one class only."""
    now, name, seen = time.time_ns() // 1_000_000, f"em-{number}", f"sha256:{number:064x}"
    at, before = format_time(now), format_time(now - 1000)
    notes = [{"substrate_class": cls, "observation_id": seen, "ts": before} for cls in CLASSES]
    fields: dict[str, Any] = {
        "assertions": [assertion_value(ENTRY, *notes)],
        "emitter": {"system": "release-notes-bot"},
    }
    yield "emissions", *keyed(emission_value(name, ENTRY, at=at, **fields))
    for cls in CLASSES[: 2 if number % 5 else 1]:
        about = {"emission_id": name, "span": span_of(ENTRY), "at": at}
        yield "observations", *keyed(observation_value(cls, observation_id=seen, observer="observer-2", **about))


async def load(settings: Settings, first: int, count: int, seconds: float = 0.0) -> int:
    """Sends emissions `first` to `first + count` with their evidence, over so long; returns how many records."""
    return await send(settings, [list(records(number)) for number in range(first, first + count)], seconds)


async def send(settings: Settings, groups: Sequence[Sequence[tuple[str, bytes, bytes]]], seconds: float = 0.0) -> int:
    """Sends groups of (topic, key, value) in their order, over so long; returns how many records."""
    async with _client(settings) as producer:
        return await _send(producer, settings, groups, seconds)


@contextlib.asynccontextmanager
async def _client(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap(settings),
        acks="all",
        enable_idempotence=True,
        linger_ms=10,
        request_timeout_ms=120_000,  # a broker that was killed may take a minute to come back on a busy machine
    )
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def _send(
    producer: AIOKafkaProducer,
    settings: Settings,
    groups: Sequence[Sequence[tuple[str, bytes, bytes]]],
    seconds: float,
) -> int:
    began = time.monotonic()
    for number, group in enumerate(groups):
        for topic, key, value in group:
            await producer.send(settings.topic_prefix + topic, key=key, value=value)
        if seconds and number % 10 == 0:
            await asyncio.sleep(max(0.0, began + seconds * number / len(groups) - time.monotonic()))
    return sum(map(len, groups))


@contextlib.asynccontextmanager
async def loading(settings: Settings, first: int = 0) -> AsyncIterator[list[int]]:
    """Sends a hundred emissions a second with their evidence, from `first` on, while the block lasts, however slow the
    machine is, and whatever becomes of its brokers.

    Yields how many records each second had; the list is whole once the block has ended.
    """
    sent, enough = list[int](), asyncio.Event()

    async def go_on() -> None:
        async with _client(settings) as producer:
            while not enough.is_set():
                start = first + 100 * len(sent)
                groups = [list(records(number)) for number in range(start, start + 100)]
                sent.append(await _send(producer, settings, groups, 1))

    going = asyncio.create_task(go_on())
    try:
        yield sent
    finally:
        enough.set()
        await going


async def until_all_write(settings: Settings) -> None:
    """Waits until each lane has written a further block: under a load, whoever has it now."""
    before = {lane: len(chain) for lane, chain in (await ledger(settings)).items()}
    async with asyncio.timeout(150):
        while any(len(chain) <= before[lane] for lane, chain in (await ledger(settings)).items()):  # noqa: ASYNC110
            await asyncio.sleep(0.3)


async def read(settings: Settings, topic: str) -> dict[int, list[Any]]:
    """All committed records of a topic as of now, by partition; of a ledger its blocks, without the claims."""
    found = await read_all(settings, topic)
    return {lane: [one for one in some if not is_claim(one.key)] for lane, some in found.items()}


async def claims(settings: Settings, topic: str = "ledger") -> dict[int, list[SignedClaim]]:
    """Every lane's claims."""
    found = await read_all(settings, topic)
    return {lane: [read_claim(one.value) for one in some if is_claim(one.key)] for lane, some in found.items()}


async def read_all(settings: Settings, topic: str) -> dict[int, list[Any]]:
    """All committed records of a topic as of now, by partition, the claims between a ledger's blocks included."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap(settings),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=5_000_000,
        fetch_max_wait_ms=50,
    )
    await consumer.start()
    try:
        partitions = [TopicPartition(settings.topic_prefix + topic, number) for number in range(settings.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        found: dict[int, list[Any]] = {number: [] for number in range(settings.partitions)}
        async with asyncio.timeout(150):
            while True:
                for partition, batch in (await consumer.getmany(timeout_ms=100)).items():
                    found[partition.partition] += batch
                ends = [(await consumer.position(one), consumer.highwater(one)) for one in partitions]
                if all(end is not None and position >= end for position, end in ends):
                    return found
    finally:
        await consumer.stop()


async def ledger(settings: Settings) -> dict[int, list[Block]]:
    """Every lane's blocks."""
    return {lane: [unseal(one.value) for one in found] for lane, found in (await read(settings, "ledger")).items()}


async def until_read(settings: Settings, count: int, seconds: float = 150) -> dict[int, list[Block]]:
    """Waits until so many records stand in the ledgers."""
    async with asyncio.timeout(seconds):
        while True:
            blocks = await ledger(settings)
            if sum(_is_record(event) for lane in blocks.values() for block in lane for event in block.events) >= count:
                return blocks
            await asyncio.sleep(0.5)


def _is_record(event: Any) -> bool:
    return event.kind == EventKind.RECORD


async def assert_exactly_once(settings: Settings, sent: int) -> None:
    """Every input stands in one block, once; outputs are, byte for byte and in order, what the blocks fold to."""
    blocks = await until_read(settings, sent)
    inputs = {topic: await read(settings, topic) for topic in core.INPUTS}
    outputs = {topic: await read(settings, topic) for topic in OUTPUTS}
    for lane, chain in blocks.items():
        state, prev, wanted = core.new_state(lane, settings.partitions), chain[0].header.prev, dict[str, list[Any]]()
        taken: dict[str, list[tuple[int, bytes | None]]] = {topic: [] for topic in inputs}
        for height, block in enumerate(chain):
            assert (block.header.height, block.header.prev) == (height, prev)
            prev = block.hash
            for event in filter(_is_record, block.events):
                taken[block.header.sources[event.source].topic].append((event.offset, event.value))
            for output in core.fold(state, block):
                wanted.setdefault(output.topic, []).append((output.key, output.value, tuple(output.headers)))
        for topic, found in inputs.items():
            assert taken[topic] == [(one.offset, one.value) for one in found[lane]], f"inputs of lane {lane}: {topic}"
        for topic, found in outputs.items():
            written = [(one.key, one.value, tuple(one.headers)) for one in found[lane]]
            assert written == wanted.get(topic, []), f"outputs of lane {lane}: {topic}"
    assert sum(len(one) for lane in inputs.values() for one in lane.values()) == sent
