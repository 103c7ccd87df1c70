"""One process of the service: the way to Kafka, and HTTP in front of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog
import uvloop

from ...codecs.errors import UsageError
from ...codecs.notes import Verifier
from ..client import AsyncEmitter
from ..engine.signing import signing_of
from ..kafka import connect
from ..kafka.topics import TOPICS
from ..settings import logs
from ..settings.process import SERVICE, now_ms, seldom_collected
from ..settings.settings import Settings
from .auth_middleware import MAX_REQUESTS, AuthMiddleware, Quota, ServiceMetrics, is_secure
from .console import Console, console
from .http_server import ListenConfig, served, until_stopped
from .kept_view import Readers
from .ledger_jobs import LaneTips, LedgerJobs
from .record_intake import ACK_SECONDS, ROOM_BYTES, ROOM_RECORDS, Intake, Outbox
from .request_bodies import BodyReader
from .review_service import ReviewService, reviewing
from .routes import Parts, routes
from .service_view import ServiceView
from .sign_in import OidcClient, Provider, Seal, Sessions, session_key
from .tokens import Tokens
from .verdict_streams import MAX_STREAMS, STREAMS_OF_ONE, Sight, VerdictBroadcaster, reading
from .view_follower import Following

MAX_CONNECTIONS = MAX_REQUESTS + 500
"""Some more than requests: where all of these are taken, probes are answered, and others told so."""
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Service(NamedTuple):
    """What one process serves with.

    Attributes:
        door: how HTTP is reached.
        view: the view's file.
        session_key: the file with the key of sessions, which replicas share; made where it is missing.
        role: whose key signs reviews, as the policy lists it; the key is the setting `producer_key`.
        verifiers: whose signatures on proofs count.
        provider: at which people sign in; None: with tokens only.
        audit: the file with what `sluice audit --json` wrote last; None: the insight page has none.
    """

    door: ListenConfig
    view: Path
    session_key: Path
    role: str = "sluice-serve"
    verifiers: Sequence[Verifier] = ()
    provider: Provider | None = None
    audit: Path | None = None

    def check(self) -> None:
        """
        Raises:
            UsageError: strangers could come in, or what the door or the provider names is of no use.
        """
        self.door.check()
        if self.provider is not None:
            if self.door.tokens is None:
                raise UsageError(
                    "without a file of tokens whoever is on this machine may do everything",
                    path="--oidc-issuer",
                    expected="a file of tokens besides, which may be empty",
                    hint="--tokens FILE",
                )
            self.provider.check()


def run_service(settings: Settings, service: Service) -> None:
    """Runs the service until SIGTERM or SIGINT.

    Args:
        settings: the broker.
        service: what it serves with.

    Raises:
        SluiceError: the address cannot be bound, or the view not be written.
    """
    logs.configure(settings.log_level, sys.stderr)
    connect.quiet()
    with seldom_collected(SERVICE):
        uvloop.run(run(settings, service))


async def run(settings: Settings, service: Service, stop: asyncio.Event | None = None) -> None:
    """As `run_service`, in an event loop that runs already, until `stop` is set (None: until SIGTERM or SIGINT)."""
    door = service.door
    service.check()
    signing, key = signing_of(settings), session_key(service.session_key)
    # Nothing is signed on the way in: whoever posts would speak with the service's key.
    unsigned = msgspec.structs.replace(settings, producer_key=None)

    def emitter() -> AsyncEmitter:
        return AsyncEmitter(unsigned, buffer=2 * ROOM_RECORDS, buffer_bytes=2 * ROOM_BYTES)

    # What programs post, and what people decide: neither fails or waits with the other.
    intake, decisions = Intake(emitter, seconds=ACK_SECONDS), Intake(emitter, seconds=ACK_SECONDS)
    readers = Readers(service.view)
    broadcaster = VerdictBroadcaster(readers)
    meter = ServiceMetrics(lambda: intake.held + decisions.held, lambda: broadcaster.count)
    sight = Sight(readers, broadcaster, meter, now_ms, Quota(MAX_STREAMS, STREAMS_OF_ONE))

    async def ready() -> str:
        for one in (intake, decisions):
            if not one.is_open:
                return f"the broker is away: {one.why}"
        return await sight.why_not()

    tokens = None if door.tokens is None else Tokens(door.tokens)
    provider = service.provider
    people = None if provider is None else OidcClient(provider, Seal(key, "sluice-sign-in/1"), now_ms)
    sessions = Sessions(
        key,
        now_ms,
        tokens.is_valid if tokens is not None else lambda _id: False,
        "" if provider is None else provider.realm,
        is_secure=is_secure(door),
    )
    outbox = Outbox(decisions.take, file=service.view.with_name(service.view.name + ".unsent"))
    reviews = ReviewService(sight, decisions, outbox, signing, service.role, now_ms)
    jobs = LedgerJobs(settings)
    site = console(
        Console(reviews, sessions, tokens, service.verifiers, people, jobs, service.audit, LaneTips(settings))
    )
    more = [*reading(sight, streams="verdicts" in TOPICS), *reviewing(reviews), *site]
    reader = BodyReader()
    reader.start()
    application = AuthMiddleware(routes(Parts(intake, meter, ready, reader=reader), more), door, meter, sessions.of)
    following = Following(settings, service.view, ServiceView, broadcaster.wake)
    log.info("the service serves HTTP", host=door.host, port=door.port, tls=door.certificate is not None)
    work: list[asyncio.Task[object]] = [
        asyncio.create_task(intake.run(), name="intake"),
        asyncio.create_task(decisions.run(), name="decisions"),
        asyncio.create_task(following.run(), name="view-follows"),
        asyncio.create_task(broadcaster.run(), name="broadcaster"),
        asyncio.create_task(served(application, door, MAX_CONNECTIONS, MAX_CONNECTIONS // 2), name="serves"),
    ]
    earlier = asyncio.create_task(outbox.restore(), name="decisions-of-earlier-processes")
    try:
        await until_stopped(work, stop, outbox.close)
    finally:
        jobs.close()
        reader.close()
        earlier.cancel()
        await asyncio.gather(earlier, return_exceptions=True)
        readers.close()
