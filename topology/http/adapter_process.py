"""One process of the adapter: the view that follows the broker in the background, and a transport in front of it.

Over HTTP a request passes these in order: the address is loopback unless told otherwise; the request has a Host that is
ours and an Origin that is listed, so that no page in a browser gets through (DNS rebinding); its bearer token is known;
its client asks no more often than the rate; its body is small and comes at once. The rate is a token's own. Clients
without a known token share the rate of their address, and use up nothing of the rates of tokens. Only then does the SDK
see the request. Tokens stand in no log, and a refusal says nothing about what is there.

With the setting `web_port` also the pages of metrics and probes, as workers have them, on a port of their own.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final

import structlog
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from ...codecs.errors import SluiceError, UsageError
from ..engine.probe_server import Web
from ..settings import logs
from ..settings.settings import Settings
from .adapter import Adapter
from .auth_middleware import AllowedOrigins, Refusal, RequestBody, bearer_of, refuse, replayed
from .http_server import (
    LOOPBACK,
    Application,
    AsgiScope,
    ListenConfig,
    Rates,
    Receive,
    Send,
    headers_of,
    served,
    until_stopped,
)
from .kept_view import Readers
from .mcp_server import AdapterMetrics, create_server, sentence
from .tokens import Tokens
from .view_follower import Following

PATH: Final = "/mcp"
MAX_BODY: Final = 65_536
"""Bytes of a request: the longest arguments are some 10,000 characters."""
BODY_SECONDS: Final = 10.0
MAX_SESSIONS: Final = 1000
SESSION_SECONDS: Final = 600.0
MAX_CONNECTIONS: Final = 200
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def adapter_application(
    server: Server[Any], config: ListenConfig, meter: AdapterMetrics | None = None
) -> AdapterMiddleware:
    """The ASGI application: the SDK's, behind our checks. Arguments are those of `serve_adapter`."""
    hosts = [*LOOPBACK, *config.allowed_hosts]
    scheme = "https" if config.certificate else "http"
    inside: Any = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY,
        session_idle_timeout=SESSION_SECONDS,
        max_sessions=MAX_SESSIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[name for host in hosts for name in (host, f"{host}:*")],
            allowed_origins=[
                *(name for host in LOOPBACK for name in (f"{scheme}://{host}", f"{scheme}://{host}:*")),
                *config.allowed_origins,
            ],
        ),
    )
    return AdapterMiddleware(inside, config, meter or AdapterMetrics())


def open_sessions(server: Server[Any]) -> int:
    """The number of a server's open sessions over HTTP: none where it has no application."""
    try:
        manager: Any = server.session_manager
        return len(manager._server_instances)
    except RuntimeError:
        return 0


class AdapterMiddleware:
    """What a request passes before the SDK sees it. Arguments are those of `AuthMiddleware`."""

    def __init__(self, inside: Application, config: ListenConfig, meter: AdapterMetrics) -> None:
        self._inside, self._meter = inside, meter
        self._tokens = None if config.tokens is None else Tokens(config.tokens)
        self._allowed = AllowedOrigins(config, of_machine=True)
        self._known_rates = Rates(config.rate, config.burst)
        self._address_rates = Rates(config.rate, config.burst)  # apart: many addresses must not push out a token's rate

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed by not being accepted
        headers = headers_of(scope)
        content = self._allowed.misdirected("", headers) or self._turned_away(scope, headers)
        if content is None:
            content = await RequestBody(receive, None, "", MAX_BODY, MAX_BODY).read(headers, BODY_SECONDS)
        if isinstance(content, Refusal):
            self._meter.refused(content.counted_as)
            await refuse(send, content.status, content.why, closes=False)
        elif content is not None:

            async def seen(message: MutableMapping[str, Any]) -> None:
                if message.get("status") == 503:  # the SDK has as many sessions as it may
                    self._meter.refused("sessions")
                await send(message)

            await self._inside(scope, replayed(content, receive), seen)

    def _turned_away(self, scope: AsgiScope, headers: dict[str, str]) -> Refusal | None:
        """Checks token and rate. The rate of addresses bounds guessing at tokens, and not the use of one."""
        token = None if self._tokens is None else self._tokens.of(bearer_of(headers))
        client = scope.get("client")
        if token is None:
            if not self._address_rates.take(client[0] if client else ""):
                return Refusal(429, "too many requests", "rate")
            return None if self._tokens is None else Refusal(401, "a valid bearer token is needed", "token")
        # So that a session belongs to the client that opened it, and tools can ask for scopes.
        scope["user"] = AuthenticatedUser(AccessToken(token="(not kept)", client_id=token.id, scopes=token.scopes))
        return None if self._known_rates.take(token.id) else Refusal(429, "too many requests", "rate")


async def serve_adapter(server: Server[Any], config: ListenConfig, meter: AdapterMetrics | None = None) -> None:
    """Serves the SDK's server over HTTP until cancelled; requests that are being answered then have three seconds.

    Args:
        server: the SDK's server.
        config: the address, and which requests are let in.
        meter: counts the requests that are refused.

    Raises:
        UsageError: the configuration would let strangers in.
        UnreachableError: the address cannot be bound.
    """
    config.check()
    tls = config.certificate is not None
    log.info("the adapter serves HTTP", host=config.host, port=config.port, tls=tls, path=PATH)
    await served(adapter_application(server, config, meter), config, MAX_CONNECTIONS)


def run_adapter(settings: Settings, view: Path, config: ListenConfig | None) -> None:
    """Runs the adapter until its client ends the session (stdio), or until SIGTERM or SIGINT.

    Args:
        settings: the broker.
        view: the view's file.
        config: how HTTP is reached; None: the session is on standard input and output.

    Raises:
        SluiceError: the view cannot be written, or the address not be bound.
    """
    logs.configure(settings.log_level, sys.stderr)
    if config is None:
        # The thread that waits for standard input cannot be told to end. The view takes no harm from it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_run(settings, view, config))


async def _run(settings: Settings, path: Path, config: ListenConfig | None) -> None:
    readers, watching, following = Readers(path), Readers(path), Following(settings, path)
    adapter = Adapter(readers, settings)
    meter = AdapterMetrics(watching, lambda: open_sessions(server), following.refused)
    server = create_server(adapter, meter)

    async def why_not_ready() -> str:
        try:
            await adapter.standing()
        except SluiceError as error:
            return sentence(error)
        return ""

    web = None
    if settings.web_port is not None:
        # What it cannot go on from ends the process: it lives as long as it answers.
        web = Web(settings.web_host, settings.web_port, metrics=meter.text, healthy=str, ready=why_not_ready)
    try:
        if web is not None:
            try:
                await web.start()
            except UsageError as error:
                if config is not None:
                    raise
                # Each client on this machine starts a process, with the same settings: only one can have the port.
                log.warning("no metrics of this session", why=str(error))
        follows: asyncio.Task[object] = asyncio.create_task(following.run(), name="view-follows")
        answers = _stdio(server) if config is None else serve_adapter(server, config, meter)
        serving: asyncio.Task[object] = asyncio.create_task(answers, name="adapter-serves")
        # A session on standard input ends with its client.
        await until_stopped((follows, serving), asyncio.Event() if config is None else None)
    finally:
        if web is not None:
            await web.stop()
        readers.close()
        watching.close()


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
