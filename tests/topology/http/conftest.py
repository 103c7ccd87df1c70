"""The service on a fake sluice: its routes behind its gate, asked as programs ask it."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from adapter_view import Filled

from sluice.topology.client import FakeSluice
from sluice.topology.http.auth_middleware import AuthMiddleware, ServiceMetrics, is_secure
from sluice.topology.http.console import Console, console
from sluice.topology.http.http_server import ListenConfig
from sluice.topology.http.kept_view import Arrived, Batch, Readers
from sluice.topology.http.record_intake import Intake, Outbox
from sluice.topology.http.review_service import ReviewService, reviewing
from sluice.topology.http.routes import Parts, routes
from sluice.topology.http.service_view import ServiceView
from sluice.topology.http.sign_in import OidcClient, Seal, Sessions
from sluice.topology.http.tokens import Tokens, new_token
from sluice.topology.http.verdict_streams import Sight, VerdictBroadcaster, reading


@pytest.fixture
def fake():
    """A sluice in memory."""
    return FakeSluice()


@pytest.fixture
def tokens(tmp_path):
    """Makes tokens of one file."""
    file = tmp_path / "tokens.json"

    def token(*scopes, expires_at=None, name="lab-1"):
        return new_token(file, name, scopes, expires_at)

    token.file = file
    return token


class FilledService:
    """A view, and the records that come into it by hand."""

    def __init__(self, path, now):
        self.view, self._now, self._ends = ServiceView(path, "test"), now, {}
        self.tell()

    def tell(self, partitions=2):
        """It is up to date."""
        self.view.tell(caught_up_at=str(self._now()), **{"partitions.verdicts": str(partitions)})

    def put(self, topic, key, value, partition=0, offset=None):
        """A record comes; None for a tombstone."""
        place = (topic, partition)
        offset = self._ends.get(place, 0) if offset is None else offset
        raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        self.view.take({place: Batch([Arrived(offset, key.encode(), raw, self._now())], offset + 1)})
        self._ends[place] = offset + 1

    def emit(self, emission_id="em-1", text="It is out. It is old.", **more):
        """An emission comes."""
        value = {"emission_id": emission_id, "emitted_at": self._now(), "text": text, **more}
        self.put("emissions", emission_id, value)

    def judge(self, emission_id="em-1", *statuses, settled=True, partition=0, **more):
        """The verdicts of an emission come."""
        entries = [
            {"attempt": 0, "span_key": f"c:{number * 11}-{number * 11 + 10}", "status": status, "effect": "internal"}
            for number, status in enumerate(statuses)
        ]
        value = {"emission_id": emission_id, "attempt": 0, "settled": settled, "assertions": entries, **more}
        self.put("verdicts", emission_id, value, partition)

    def ask(self, emission_id="em-1", text="It is out.", **more):
        """A request for the review of the first assertion comes."""
        value = {
            "@type": "sluice:InadmissibleAssertion",
            "emission_id": emission_id,
            "attempt": 0,
            "span": {"chars": [0, 10]},
            "status": "below-floor",
            "reason": "too-few-classes",
            "effect": "internal",
            "revision": 1,
            "missing_floor": 1,
            "classes_seen": ["substrate.grep"],
            "_untrusted_text": {"assertion": text},
            **more,
        }
        self.put("review-requests", f"{emission_id}#c:0-10", value)
        return f"{emission_id}#c:0-10"

    def lease(self, key, holder, seconds=300):
        """A word on the leases comes."""
        emission_id, _, span_key = key.partition("#")
        word = {"emission_id": emission_id, "span_key": span_key, "holder": holder, "seconds": seconds}
        self.put("review-leases", key, word)


@pytest.fixture
def view(tmp_path, fake):
    """The service's view, filled by hand."""
    filled = FilledService(tmp_path / "serve.sqlite", lambda: fake.now)
    yield filled
    filled.view.close()


@pytest.fixture
def service(fake, view):
    """Opens the service; gives a client that asks it."""

    @asynccontextmanager
    async def service(
        emitter=None,
        seconds=2.0,
        room=20_000,
        signing=None,
        undo=5.0,
        streams=None,
        provider=None,
        most=3000,
        walks=None,
        audit=None,
        tips=None,
        **named,
    ):
        intake = Intake(emitter or fake.async_emitter, seconds=seconds, room=room)
        meter = ServiceMetrics(lambda: intake.held)

        async def ready():
            return "" if intake.is_open else intake.why

        readers = Readers(view.view.path)
        hub = VerdictBroadcaster(readers)
        sight = Sight(readers, hub, meter, lambda: fake.now, streams)
        door = ListenConfig(**named)
        known = None if door.tokens is None else Tokens(door.tokens)
        realm = "" if provider is None else provider.realm
        still = known.is_valid if known else lambda _: False
        sessions = Sessions(b"k" * 32, lambda: fake.now, still, realm, is_secure=is_secure(door))
        people = (
            None if provider is None else OidcClient(provider, Seal(b"k" * 32, "sluice-sign-in/1"), lambda: fake.now)
        )
        outbox = Outbox(intake.take, undo)
        desk = ReviewService(sight, intake, outbox, signing, "sluice-serve", lambda: fake.now)
        site = Console(desk, sessions, known, (), people, walks, audit, tips)
        more = [*reading(sight), *reviewing(desk), *console(site)]
        gate = AuthMiddleware(
            routes(Parts(intake, meter, ready, lambda: fake.now), more), door, meter, sessions.of, most
        )
        tasks = [asyncio.create_task(intake.run()), asyncio.create_task(hub.run())]
        try:
            for _ in range(1000):
                await asyncio.sleep(0.001)
                if intake.is_open and hub.at >= 0:
                    break
            transport = httpx2.ASGITransport(app=gate)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                client.intake, client.hub, client.gate, client.outbox = intake, hub, gate, outbox
                client.readers = readers
                yield client
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            readers.close()

    return service


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the view is."""
    return tmp_path / "view.sqlite"


@pytest.fixture
def filled(path: Path) -> Iterator[Filled]:
    """An empty view."""
    filled = Filled(path)
    yield filled
    filled.view.close()


@pytest.fixture
def db(filled: Filled, path: Path) -> Iterator[sqlite3.Connection]:
    """A reader of the view."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    yield db
    db.close()


@pytest.fixture
def readers(path: Path) -> Iterator[Readers]:
    """Readers of the view, as the adapter has them."""
    readers = Readers(path)
    yield readers
    readers.close()
