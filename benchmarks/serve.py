"""`sluice serve` under load: streams of verdicts, emissions in by HTTP, and the first page of a long review queue.

All of it is real: Kafka, a worker, the service as the command runs it, sockets. A delivery is counted from before the
request that posts an emission to the arrival of its verdict at a client that listens; so the worker's block and fold
are in it. Most clients listen to one emitter each, as programs do; some hear everything, as dashboards do. The load
comes from one process on the same machine, which has to share its cores with broker, worker and service.

    make bench-serve                                    # 1,000 clients, 500 emissions/s, 10,000 open requests
    make bench-serve ARGS="--clients 50 --rate 20 --seconds 5 --requests 500 --output /tmp/serve.json"
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contestants import environment_with
from latency import percentile
from measuring import last_line, stop
from usage import Usage, usage

from sluice.codecs.errors import SluiceError
from sluice.codecs.times import format_time
from sluice.topology.http.tokens import new_token
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings

RESULTS = Path(__file__).parent / "results" / "serve.json"
SLUICE = str(Path(sys.executable).with_name("sluice"))
GOAL_FIRST_PAGE_MS = 200.0
TOKENS = 20
"""One principal has at most 200 streams."""
CONNECTIONS = 32
"""Of the load: so many requests are under way at a time."""
WARM_SECONDS = 3.0
"""Not counted: connections, first blocks."""
DRAIN_SECONDS = 20.0
START_SECONDS = 120.0
PAGE_LOOKS = 50
TICK_SECONDS = 0.01
TEXT = "Nobody has looked. [unverified-inference]"
"""Decided as soon as its lane takes it in: no look of an observer is in the times."""
_ID = re.compile(rb'"emission_id":"(b-\d{9})"')
_ID_BYTES = 40


class FailedError(Exception):
    """The run did not come to its end; the sentence says why."""


class Progress:
    """One line on standard error that says how far the run is, twice a second on a terminal and every 5 s else."""

    def __init__(self) -> None:
        self._every, self._at = (0.5, 0.0) if sys.stderr.isatty() else (5.0, 0.0)

    def __call__(self, what: str, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._at < self._every:
            return
        self._at = time.monotonic()
        is_terminal = sys.stderr.isatty()
        end = "" if is_terminal and not now else "\n"
        print(("\r\x1b[K" if is_terminal else "") + what, end=end, file=sys.stderr, flush=True)


# ---------------------------------------------------------------- clients


class Arrivals:
    """When which emission was posted, and how long its verdicts took to each client that listens."""

    def __init__(self) -> None:
        self.posted: dict[bytes, float] = {}
        self.took: list[float] = []
        self.count = 0
        self.counts_from = float("inf")

    def came(self, name: bytes) -> None:
        at = self.posted.get(name)
        if at is None:
            return
        self.count += 1
        if at >= self.counts_from:
            self.took.append(1000 * (time.perf_counter() - at))


class Listener(asyncio.Protocol):
    """One client of a stream. It counts the first verdict of each emission.

    Args:
        head: the request.
        arrivals: is told.
        ended: is called when the stream ends.
    """

    def __init__(self, head: bytes, arrivals: Arrivals, ended: Callable[[], None]) -> None:
        self._head, self._arrivals, self._ended = head, arrivals, ended
        self._rest, self._seen = b"", set[bytes]()
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        """Asks for the stream."""
        self.transport = transport
        transport.write(self._head)

    def data_received(self, data: bytes) -> None:
        """Verdicts come."""
        if not self.status.done():
            self.status.set_result(int(data[9:12]))
        data, end = self._rest + data, 0
        for found in _ID.finditer(data):
            end = found.end()
            if found[1] not in self._seen:
                self._seen.add(found[1])
                self._arrivals.came(found[1])
        self._rest = data[max(end, len(data) - _ID_BYTES) :]

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream has ended."""
        if not self.status.done():
            self.status.set_exception(FailedError("a stream was closed before it began"))
        self._ended()


class Poster:
    """One connection that posts, a request at a time."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of an answer."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = head_of(method, path, self._port, self._token)
        length = f"content-type: application/x-ndjson\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        self._writer.write(head + length + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"(?i)content-length: (\d+)", answer)
        return int(answer[9:12]), await self._reader.readexactly(int(size[1]) if size else 0)

    def close(self) -> None:
        """Lets the connection go."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def head_of(method: str, path: str, port: int, token: str) -> bytes:
    """The head of a request, without the empty line at its end."""
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n".encode()


# ---------------------------------------------------------------- the world


@contextmanager
def process(command: Sequence[str], log: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of sluice's, which ends with the block."""
    with log.open("wb") as file:
        running = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment_with({})
        )
    try:
        yield running
    finally:
        stop(running)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def until(
    ready: Callable[[], Awaitable[bool]], what: str, running: subprocess.Popen[bytes], log: Path, tell: Progress
) -> None:
    """Waits for something.

    Raises:
        FailedError: it does not come, or the process has ended.
    """
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if running.poll() is not None:
            raise FailedError(f"{what}: the process has ended: {last_line(log)}")
        if await ready():
            return
        tell(f"waits: {what}")
        await asyncio.sleep(0.2)
    raise FailedError(f"{what}: not within {START_SECONDS:g} s: {last_line(log)}")


async def fill_queue(settings: Settings, count: int) -> None:
    """Writes open requests for review, as the lanes do."""
    deadline = format_time(1000 * int(time.time() + 86_400))
    async with open_producer(settings) as producer:
        for number in range(count):
            text = f"Statement {number} is so."
            record = {
                "@type": "sluice:InadmissibleAssertion",
                "emission_id": f"q-{number:09d}",
                "attempt": 0,
                "span": {"chars": [0, len(text)]},
                "status": "below-floor",
                "reason": "too-few-classes",
                "effect": "internal",
                "revision": 1,
                "missing_floor": 1,
                "classes_seen": ["substrate.grep"],
                "deadline": deadline,
                "_untrusted_text": {"assertion": text},
            }
            key = f"{record['emission_id']}#c:0-{len(text)}"
            await producer.send(topic_name(settings, "review-requests"), json.dumps(record).encode(), key=key.encode())
        await producer.flush()


async def first_page(port: int, token: str, count: int, running: Any, log: Path, tell: Progress) -> dict[str, Any]:
    """How long the first page of the queue takes once all requests are in the view, as its client sees it."""
    poster = Poster(port, token)

    async def is_filled() -> bool:
        status, page = await poster.ask("GET", "/queue")
        return status == 200 and f"{count} open".encode() in page

    await until(is_filled, f"{count:,} requests in the view", running, log, tell)
    took: list[float] = []
    for _ in range(PAGE_LOOKS):
        began = time.perf_counter()
        await poster.ask("GET", "/queue")
        took.append(1000 * (time.perf_counter() - began))
    poster.close()
    took.sort()
    return {"requests": count, "looks": PAGE_LOOKS, **spread(took), "goal_ms": GOAL_FIRST_PAGE_MS}


def spread(ordered: Sequence[float]) -> dict[str, float]:
    """Percentiles of ascending milliseconds."""
    parts = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
    return {name: round(percentile(ordered, part), 1) for name, part in parts.items()} if ordered else {}


# ---------------------------------------------------------------- the load


class Load:
    """Emissions at a steady rate, in requests of so many each.

    Args:
        port: of the service.
        token: with which it posts.
        rate: emissions a second.
        batch: emissions of a request.
        emitters: names that take turns.
        arrivals: is told when each is posted.
    """

    def __init__(self, port: int, token: str, rate: float, batch: int, emitters: int, arrivals: Arrivals) -> None:
        self._rate, self._batch, self._emitters, self._arrivals = rate, batch, max(1, emitters), arrivals
        self._idle = [Poster(port, token) for _ in range(CONNECTIONS)]
        self._posters = list(self._idle)
        self.posted = self.refused = self.late = 0
        self.answers: list[float] = []

    async def run(self, seconds: float, tell: Callable[[float], None]) -> float:
        """Posts for so long; how long it took in the end."""
        began, tasks = time.perf_counter(), set[asyncio.Task[None]]()
        total, given = int(self._rate * seconds), 0
        while given < total or tasks:
            now = time.perf_counter() - began
            due = min(total, int(now * self._rate))
            while given + self._batch <= due or (due == total and given < total):
                if not self._idle:
                    self.late += 1
                    break
                some = range(given, min(given + self._batch, total))
                given = some.stop
                task = asyncio.create_task(self._post(self._idle.pop(), some))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            tell(now)
            await asyncio.sleep(TICK_SECONDS)
        return time.perf_counter() - began

    async def _post(self, poster: Poster, some: range) -> None:
        names = [f"b-{number:09d}" for number in some]
        lines = [
            {"emission_id": name, "emitter": {"system": f"bot-{number % self._emitters}"}, "text": TEXT}
            for name, number in zip(names, some, strict=True)
        ]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        began = time.perf_counter()
        self._arrivals.posted.update((name.encode(), began) for name in names)
        status, _ = await poster.ask("POST", "/v1/emissions", body)
        self.answers.append(1000 * (time.perf_counter() - began))
        self._idle.append(poster)
        if status == 202:
            self.posted += len(names)
        else:
            self.refused += len(names)
            for name in names:
                del self._arrivals.posted[name.encode()]

    def close(self) -> None:
        """Lets the connections go."""
        for poster in self._posters:
            poster.close()


async def listen(port: int, tokens: Sequence[str], clients: int, whole: int, arrivals: Arrivals, tell: Progress) -> Any:
    """Opens the streams; gives their protocols and a count of those that have ended."""
    loop, ended = asyncio.get_running_loop(), [0]
    listeners: list[Listener] = []

    def end() -> None:
        ended[0] += 1

    for number in range(clients):
        query = "" if number < whole else f"?emitter=bot-{number - whole}"
        head = head_of("GET", "/v1/verdicts/events" + query, port, tokens[number % len(tokens)]) + b"\r\n"
        _, listener = await loop.create_connection(lambda head=head: Listener(head, arrivals, end), "127.0.0.1", port)
        listeners.append(listener)
        if len(listeners) % 50 == 0:
            await asyncio.gather(*(one.status for one in listeners[-50:]))
            tell(f"opens streams: {len(listeners):,} of {clients:,}")
    statuses = await asyncio.gather(*(one.status for one in listeners))
    if (wrong := [status for status in statuses if status != 200]) != []:
        raise FailedError(f"{len(wrong)} of {clients} streams were refused, with {wrong[0]}")
    return listeners, ended


async def measure(args: argparse.Namespace, broker: RealBroker, folder: Path, tell: Progress) -> dict[str, Any]:
    """One run.

    Raises:
        FailedError: it did not come to its end.
    """
    settings = Settings(broker=broker.address, topic_prefix="bench.", partitions=args.partitions)
    await create_topics(settings)
    port, tokens_file, scopes = free_port(), folder / "tokens.json", ("emit", "read", "review")
    tokens = [new_token(tokens_file, f"bench-{number}", scopes, None)[0] for number in range(TOKENS)]
    where = [f"--broker={broker.address}", "--topic-prefix=bench."]
    serve = [SLUICE, "serve", f"--port={port}", f"--tokens={tokens_file}", "--rate=100000"]
    serve += [f"--view={folder / 'view.sqlite'}", f"--session-key={folder / 'session.key'}", *where]
    worker = [SLUICE, "worker", f"--partitions={args.partitions}", *where]
    worker_log, log = folder / "worker.log", folder / "serve.log"
    with process(worker, worker_log, folder) as working, process(serve, log, folder) as serving:
        poster = Poster(port, tokens[0])

        async def is_ready() -> bool:
            try:
                return (await poster.ask("GET", "/readyz"))[0] == 200
            except (OSError, asyncio.IncompleteReadError):
                poster.close()
                return False

        await until(is_ready, "the service", serving, log, tell)
        await fill_queue(settings, args.requests)
        page = await first_page(port, tokens[1], args.requests, serving, log, tell)
        tell(f"first page of {args.requests:,} open requests: p95 {page['p95']:g} ms", now=True)
        arrivals = Arrivals()
        listeners, ended = await listen(port, tokens, args.clients, args.whole, arrivals, tell)
        load = Load(port, tokens[0], args.rate, args.batch, args.clients - args.whole, arrivals)
        samples: list[tuple[float, Usage, Usage, Usage]] = []

        def look(now: float) -> None:
            if samples and time.perf_counter() - samples[-1][0] < 0.5:
                return
            samples.append((time.perf_counter(), usage(serving.pid), usage(working.pid), usage(broker.pid or 0)))
            whole = args.seconds + WARM_SECONDS
            tell(f"load: {now:.0f} of {whole:g} s, {load.posted:,} posted, {arrivals.count:,} delivered")

        arrivals.counts_from = time.perf_counter() + WARM_SECONDS
        took = await load.run(args.seconds + WARM_SECONDS, look)
        load.close()
        expected = load.posted * (1 + args.whole)
        end = time.monotonic() + DRAIN_SECONDS
        while arrivals.count < expected and time.monotonic() < end:
            tell(f"waits: {arrivals.count:,} of {expected:,} delivered")
            await asyncio.sleep(0.1)
        lost, broken = expected - arrivals.count, ended[0]
        for one in listeners:
            one.transport.abort()
        if serving.poll() is not None or working.poll() is not None:
            raise FailedError(f"a process has ended: {last_line(log)} {last_line(worker_log)}")
    (first_at, *first), (last_at, *last) = samples[0], samples[-1]
    cpu = [round((b.cpu - a.cpu) / max(last_at - first_at, 1e-9), 3) for a, b in zip(first, last, strict=True)]
    return {
        "at": format_time(1000 * int(time.time())),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load_before": round(args.load, 2)},
        "clients": args.clients,
        "of_them_hear_all": args.whole,
        "emissions_per_second": args.rate,
        "emissions_per_request": args.batch,
        "achieved_per_second": round(load.posted / took, 1),
        "seconds": args.seconds,
        "posted": load.posted,
        "refused": load.refused,
        "waited_for_a_connection": load.late,
        "post_ms": spread(sorted(load.answers)),
        "delivery_ms": {**spread(sorted(arrivals.took)), "samples": len(arrivals.took), "lost": lost},
        "streams_ended": broken,
        "first_page_ms": page,
        "service": {"cores": cpu[0], "peak_mb": max(one[1].resident for one in samples) // 1_000_000},
        "worker": {"cores": cpu[1], "peak_mb": max(one[2].resident for one in samples) // 1_000_000},
        "broker": {"cores": cpu[2]},
    }


def table(found: dict[str, Any]) -> str:
    """The figures as lines for people."""
    post, delivery, page = found["post_ms"], found["delivery_ms"], found["first_page_ms"]
    rows = [
        ("streams open, of which hear all", f"{found['clients']:,}, {found['of_them_hear_all']:,}"),
        ("emissions/s in by HTTP, wanted", f"{found['emissions_per_second']:g}"),
        ("emissions/s in by HTTP, achieved", f"{found['achieved_per_second']:g}"),
        ("a post until it is acknowledged, ms (p50, p95, p99)", f"{post['p50']}, {post['p95']}, {post['p99']}"),
        ("post to verdict, ms (p50, p95, p99)", f"{delivery.get('p50')}, {delivery.get('p95')}, {delivery.get('p99')}"),
        ("verdicts delivered, lost", f"{delivery['samples']:,}, {delivery['lost']:,}"),
        ("streams that ended", f"{found['streams_ended']:,}"),
        (f"first page of {page['requests']:,} open requests, ms (p50, p95)", f"{page['p50']}, {page['p95']}"),
        ("the service: cores, peak MB", f"{found['service']['cores']}, {found['service']['peak_mb']:,}"),
        ("the worker: cores, peak MB", f"{found['worker']['cores']}, {found['worker']['peak_mb']:,}"),
        ("the broker: cores", f"{found['broker']['cores']}"),
    ]
    return "\n".join(f"{name:<56} {value}" for name, value in rows)


def faults(found: dict[str, Any]) -> list[str]:
    """Which goals were missed."""
    missed: list[str] = []
    if found["delivery_ms"]["lost"] or found["refused"]:
        missed.append(f"{found['delivery_ms']['lost']:,} verdicts were lost, {found['refused']:,} emissions refused")
    if found["achieved_per_second"] < 0.95 * found["emissions_per_second"]:
        missed.append(f"{found['achieved_per_second']:g} emissions/s came in, not {found['emissions_per_second']:g}")
    if found["streams_ended"]:
        missed.append(f"{found['streams_ended']:,} streams ended")
    if found["first_page_ms"]["p95"] >= GOAL_FIRST_PAGE_MS:
        took = found["first_page_ms"]["p95"]
        missed.append(f"the first page took {took:g} ms (p95), not below {GOAL_FIRST_PAGE_MS:g}")
    return missed


def parsed() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=1000, help="streams that are open [1000]")
    parser.add_argument("--whole", type=int, default=2, help="of them, those that hear every verdict [2]")
    parser.add_argument("--rate", type=float, default=500, help="emissions a second [500]")
    parser.add_argument("--batch", type=int, default=1, help="emissions of one request [1]")
    parser.add_argument("--seconds", type=float, default=60, help="of load that count [60]")
    parser.add_argument("--requests", type=int, default=10_000, help="open requests for review [10000]")
    parser.add_argument("--partitions", type=int, default=4, help="of each topic [4]")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the figures go [results/serve.json]")
    args = parser.parse_args()
    if not 0 <= args.whole < args.clients or min(args.rate, args.batch, args.seconds, args.requests) <= 0:
        parser.error("expected --whole below --clients, and the others above 0")
    if args.clients > 200 * TOKENS:
        parser.error(f"at most {200 * TOKENS} clients: a principal has at most 200 streams")
    return args


def main() -> int:
    """Runs it; 1 where a goal is missed, 3 where it did not come to its end."""
    args, tell = parsed(), Progress()
    args.load = os.getloadavg()[0]
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as name:
            tell("starts Kafka", now=True)
            with RealBroker() as broker:
                found = asyncio.run(measure(args, broker, Path(name), tell))
    except (FailedError, SluiceError, OSError) as error:
        print(f"bench-serve: {error}", file=sys.stderr)
        return 3
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(table(found))
    missed = faults(found)
    for one in missed:
        print(f"missed: {one}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
