"""The same without an event loop: threads, time-outs, interruption, and closing at any moment."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from builders import text_value

from sluice.topology.client import (
    Admitted,
    BufferFullError,
    ClosedError,
    Emitter,
    FakeSluice,
    InvalidRecordError,
    Position,
    UnreachableError,
)
from sluice.topology.client.ports import StoredAt
from sluice.topology.kafka.input_records import Prepared

TWO = ("substrate.git.log", "substrate.grep")


class Frozen:
    """A broker that takes records and never answers, until it is thawed."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[StoredAt]] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thawed = False

    async def open(self) -> None:
        self.loop = asyncio.get_running_loop()

    async def send(self, record: Prepared) -> asyncio.Future[StoredAt]:
        answer: asyncio.Future[StoredAt] = asyncio.get_running_loop().create_future()
        if self.thawed:
            answer.set_result(StoredAt(0, 0, 0))
        self.waiting.append(answer)
        return answer

    def thaw(self) -> None:
        def answer() -> None:
            self.thawed = True
            for one in self.waiting:
                if not one.done():
                    one.set_result(StoredAt(0, 0, 0))

        assert self.loop is not None
        self.loop.call_soon_threadsafe(answer)

    async def close(self) -> None:
        pass


def numbered(number: int) -> dict[str, str]:
    return text_value(f"em-{number}")


def sluice_threads() -> int:
    return sum(thread.name.startswith("sluice-") for thread in threading.enumerate())


def test_a_program_without_a_loop_emits_and_reads():
    """Each leaves no thread behind."""
    fake, before = FakeSluice(), sluice_threads()
    with fake.emitter() as emitter, fake.reader() as reader:
        assert emitter.emit(numbered(1)).result(60).offset == 0
        emitter.flush()
        fake.corroborate("em-1", *TWO)
        (change,) = list(reader)
        assert isinstance(change, Admitted)
        assert list(reader.current) == [change.key]
        assert reader.position == Position({0: 1}, 0)
        assert reader.next(0.01) is None
    assert sluice_threads() == before


def test_many_threads_may_emit_at_once():
    """Each record is taken once; those of one thread keep their order."""
    fake = FakeSluice()
    with fake.emitter(buffer=5) as emitter, ThreadPoolExecutor(8) as pool:

        def work(thread: int) -> None:
            for number in range(20):
                emitter.emit(numbered(100 * thread + number))

        list(pool.map(work, range(8)))
    ids = [int(record["emission_id"][3:]) for record in fake.records("emissions")]
    assert sorted(ids) == [100 * thread + number for thread in range(8) for number in range(20)]
    for thread in range(8):
        mine = [one for one in ids if one // 100 == thread]
        assert mine == sorted(mine)


def test_a_full_buffer_blocks_for_as_long_as_the_caller_likes():
    """Then nothing is sent, and the sentence says how full it is; room made meanwhile is taken at once."""
    frozen = Frozen()
    with Emitter(outlet=frozen, buffer=2) as emitter:
        deliveries = [emitter.emit(numbered(number)) for number in range(2)]
        began = time.monotonic()
        with pytest.raises(BufferFullError, match=r"full for 0\.1 s with 2 records"):
            emitter.emit(numbered(2), timeout=0.1)
        assert time.monotonic() - began >= 0.1
        threading.Timer(0.05, frozen.thaw).start()
        deliveries.append(emitter.emit(numbered(3), timeout=5))
    assert [one.result(0).key for one in deliveries] == [b"em-0", b"em-1", b"em-3"]


def test_a_delivery_that_failed_says_so_in_its_future_and_on_closing():
    """Both, so that nobody has to look at each."""
    emitter = Emitter(outlet=Frozen(), delivery_timeout=0.1)
    with emitter:
        delivery = emitter.emit(numbered(1))
        with pytest.raises(UnreachableError, match=r"no answer for 0.1 s"):
            delivery.result(60)
        with pytest.raises(UnreachableError, match=r"no answer for 0.1 s"):
            emitter.close()


def test_a_bad_record_is_refused_before_anything_else():
    """In the thread that made it."""
    with FakeSluice().emitter() as emitter, pytest.raises(InvalidRecordError, match=r"\$\.emission_id"):
        emitter.emit({"emission_id": "", "text": "x"})


def test_closing_from_another_thread_ends_a_waiting_reader():
    """It is told so, instead of waiting for ever."""
    fake = FakeSluice()
    reader = fake.reader(follow=True)
    with reader:
        threading.Timer(0.05, reader.close).start()
        with pytest.raises(ClosedError):
            next(iter(reader))
    reader.close()
    with pytest.raises(ClosedError):
        reader.next(0)


def test_closing_an_emitter_twice_from_two_threads_is_closing_it_once():
    """And what was taken before is stored."""
    fake = FakeSluice()
    emitter = fake.emitter()
    with emitter:
        emitter.emit(numbered(1))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: emitter.close(), range(4)))
        with pytest.raises(ClosedError):
            emitter.emit(numbered(2))
    assert len(fake.records("emissions")) == 1


def test_a_broker_that_is_away_is_reported_on_entering():
    """And the thread is gone again."""
    before = sluice_threads()
    with pytest.raises(UnreachableError, match="no Kafka broker answers"), Emitter(bootstrap="127.0.0.1:1"):
        pass
    assert sluice_threads() == before


def test_the_set_may_be_looked_at_from_any_thread():
    """While another one iterates and what it shows comes and goes."""
    fake = FakeSluice()
    with fake.reader(follow=True) as reader:
        done = threading.Event()
        seen: list[int] = []

        def look() -> None:
            while not done.is_set():
                seen.append(len(reader.current))
                assert all(record.status == "admitted" for record in reader.current.values())

        with ThreadPoolExecutor(1) as pool:
            looking = pool.submit(look)
            for number in range(50):
                fake.emit(numbered(number))
                fake.corroborate(f"em-{number}", *TWO)
                assert reader.next(5) is not None
            done.set()
            looking.result(60)
        assert len(reader.current) == 50
        assert seen == sorted(seen)


def test_an_interrupted_loop_can_be_taken_up_again():
    """`break` loses nothing: the position is behind what was handed out."""
    fake = FakeSluice()
    for number in range(3):
        fake.emit(numbered(number))
        fake.corroborate(f"em-{number}", *TWO)
    with fake.reader() as reader:
        for change in reader:
            assert change.emission_id == "em-0"
            break
        assert [change.emission_id for change in reader] == ["em-1", "em-2"]
        assert json.loads(reader.position.encode())["offsets"] == {"0": 3}


def test_an_auditor_without_a_loop_replays():
    """As its asynchronous twin."""
    fake = FakeSluice()
    fake.emit(numbered(1))
    with fake.auditor() as auditor:
        assert [block.height for block in auditor] == [0, 1]
        assert [block.height for block in auditor.blocks(since=fake.now)] == [0, 1]
    auditor.close()
    with pytest.raises(ClosedError):
        next(iter(auditor))
