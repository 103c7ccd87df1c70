"""A wire proxy before one broker that ages the high watermark in its fetch answers.

That is what a client meets after an election: the new leader has all committed records, and its high watermark lags
until the followers have fetched from it. It gives fewer records than are committed, and calls that the end; only
`ListOffsets` is guarded (KIP-207). The proxy does so for one partition for as long as it is told to.

It reads Kafka's frames: requests by their first bytes (API key, version, correlation id), answers by correlation id.
The broker's port in the answers that name it becomes the proxy's.
"""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import Mapping

from aiokafka.protocol import fetch

from sluice.topology.kafka.requests import ListOffsetsResponse_v5

FETCH, LIST_OFFSETS, METADATA, COORDINATOR = 1, 2, 3, 10


class AgeingProxy:
    """Forwards `127.0.0.1:port` to `127.0.0.1:target`, as an asynchronous context manager.

    Attributes:
        aged: by topic and partition, the high watermark and last stable offset that fetch answers tell, and beyond
            which they give no records.
        ages_lists: whether `ListOffsets` (version 5, our own) tells the aged end as well, as a leader does that is cut
            off from its cluster and does not know it yet.
        others: the proxy's port for each broker's, where answers name several; by default its own alone.
        aged_answers, aged_lists: how many fetch answers, and how many of those, were changed.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self.aged: dict[tuple[str, int], int] = {}
        self.others: Mapping[int, int] = {}
        self.ages_lists = False
        self.aged_answers = self.aged_lists = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    async def __aenter__(self) -> AgeingProxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        asked: dict[int, tuple[int, int]] = {}  # API key and version by correlation id
        starts: dict[int, Mapping[tuple[str, int], int]] = {}  # what a fetch asked for
        from_broker, to_broker = await asyncio.open_connection("127.0.0.1", self._target)

        async def requests() -> None:
            while True:
                frame = await _frame(reader)
                key, version, number = struct.unpack_from(">hhi", frame)
                asked[number] = key, version
                if key == FETCH:
                    starts[number] = _starts(version, frame)
                _send(to_broker, frame)

        async def answers() -> None:
            while True:
                frame = await _frame(from_broker)
                (number,) = struct.unpack_from(">i", frame)
                key, version = asked.pop(number)
                if key in (METADATA, COORDINATOR):
                    for broker, proxy in (self.others or {self._target: self.port}).items():
                        frame = frame.replace(_host(broker), _host(proxy))
                elif key == FETCH and self.aged:
                    frame = frame[:4] + self._age(version, frame[4:], starts.pop(number))
                elif key == LIST_OFFSETS and version == 5 and self.ages_lists:
                    frame = frame[:4] + self._age_list(frame[4:])
                _send(writer, frame)

        both = [asyncio.ensure_future(requests()), asyncio.ensure_future(answers())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # the test is over; asyncio's server would log a cancelled handler
        finally:
            for one in both:
                one.cancel()
            self._tasks.discard(task)
            to_broker.close()
            writer.close()

    def _age_list(self, data: bytes) -> bytes:
        answer = ListOffsetsResponse_v5.decode(io.BytesIO(data))
        topics: list[tuple[str, list[tuple[int, ...]]]] = []
        for topic, rows in answer.topics:
            changed: list[tuple[int, ...]] = []
            for number, code, time, offset, epoch in rows:
                limit = self.aged.get((topic, number), offset)
                self.aged_lists += offset > limit
                changed.append((number, code, time, min(offset, limit), epoch))
            topics.append((topic, changed))
        return bytes(ListOffsetsResponse_v5(answer.throttle_time_ms, topics).encode())

    def _age(self, version: int, data: bytes, starts: Mapping[tuple[str, int], int]) -> bytes:
        form = getattr(fetch, f"FetchResponse_v{version}")
        answer = form.decode(io.BytesIO(data))
        topics: list[tuple[str, list[tuple[object, ...]]]] = []
        for topic, rows in answer.topics:
            changed: list[tuple[object, ...]] = []
            for number, code, high, stable, *more, records in rows:
                limit = self.aged.get((topic, number))
                if limit is not None and not code and high > limit:
                    self.aged_answers += 1
                    kept = records if starts[topic, number] < limit else b""
                    high = stable = limit
                    records = _before(limit, bytes(kept or b""))
                changed.append((number, code, high, stable, *more, records))
            topics.append((topic, changed))
        values = [topics if name == "topics" else getattr(answer, name) for name in form.SCHEMA.names]
        return bytes(form(*values).encode())


def _before(limit: int, records: bytes) -> bytes:
    """The batches that begin before an offset."""
    at = 0
    while at + 12 <= len(records):
        base, length = struct.unpack_from(">qi", records, at)
        if base >= limit:
            break
        at += 12 + length
    return records[:at]


def _starts(version: int, frame: bytes) -> Mapping[tuple[str, int], int]:
    (length,) = struct.unpack_from(">h", frame, 8)
    form = getattr(fetch, f"FetchRequest_v{version}")
    request = form.decode(io.BytesIO(frame[10 + max(0, length) :])).to_object()  # behind the client's name
    return {
        (topic["topic"], row["partition"]): row.get("fetch_offset", row.get("offset"))
        for topic in request["topics"]
        for row in topic["partitions"]
    }


def _host(port: int) -> bytes:
    return struct.pack(">h", 9) + b"127.0.0.1" + struct.pack(">i", port)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)
