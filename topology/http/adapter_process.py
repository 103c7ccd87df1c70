"""One process of the adapter: the view that follows the broker in the background, and a transport in front of it.

Over HTTP a request passes these in order: the address is loopback unless told otherwise; the request has a Host that is
ours and an Origin that is listed, so that no page in a browser gets through (DNS rebinding); its bearer token is known;
its client asks no more often than the rate; its body is small and comes at once. The rate is a token's own. Clients
without a known token share the rate of their address, and use up nothing of the rates of tokens. Only then does the SDK
see the request. Tokens stand in no log, and a refusal says nothing about what is there.

With the setting `web_port` also the pages of metrics and probes, as workers have them (web.py), on a port of their own.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import MutableMapping
from contextlib import suppress
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
    without_port,
)
from .kept_view import Readers
from .mcp_server import AdapterMetrics, Refusal, create_server, sentence
from .tokens import Tokens
from .view_follower import Following

PATH: Final = "/mcp"
MAX_BODY: Final = 65_536
"""Bytes of a request: the longest arguments are some 10,000 characters."""
BODY_SECONDS: Final = 10.0
MAX_SESSIONS: Final = 1000
SESSION_SECONDS: Final = 600.0
MAX_CONNECTIONS: Final = 200
_REFUSALS: Final[dict[int, Refusal]] = {
    421: "host",
    403: "origin",
    429: "rate",
    401: "token",
    413: "size",
    408: "time",
}
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def adapter_application(server: Server[Any], door: ListenConfig, meter: AdapterMetrics | None = None) -> Application:
    """The ASGI application: the SDK's, behind the door.

    Args:
        server: the SDK's server.
        door: which requests are let in.
        meter: counts the requests that are refused.
    """
    hosts = [*LOOPBACK, *door.allowed_hosts]
    scheme = "https" if door.certificate else "http"
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
                *door.allowed_origins,
            ],
        ),
    )
    return AdapterMiddleware(inside, door, None if door.tokens is None else Tokens(door.tokens), meter)


def open_sessions(server: Server[Any]) -> int:
    """How many sessions over HTTP a server has open: none where it has no `application`."""
    try:
        return len(server.session_manager._server_instances)
    except RuntimeError:
        return 0


class AdapterMiddleware:
    """What a request passes before the SDK sees it. An ASGI application around another.

    Args:
        inside: the SDK's application.
        door: which requests are let in.
        tokens: that are known; None where the service needs none.
        meter: counts the requests that are refused.
    """

    def __init__(
        self, inside: Application, door: ListenConfig, tokens: Tokens | None, meter: AdapterMetrics | None = None
    ) -> None:
        self._inside, self._door, self._tokens = inside, door, tokens
        self._meter = meter or AdapterMetrics()
        self._known_rates = Rates(door.rate, door.burst)
        self._address_rates = Rates(door.rate, door.burst)  # apart: many addresses must not make a token's be forgotten
        self._hosts = {host.lower() for host in (*LOOPBACK, *door.allowed_hosts)}
        scheme = "https" if door.certificate else "http"
        self._origins = {origin.lower() for origin in door.allowed_origins}
        self._own = tuple(f"{scheme}://{host}" for host in LOOPBACK)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed by not being accepted
        headers = headers_of(scope)
        refusal = self._misdirected(headers)
        if refusal is None:
            refusal = self._too_often(scope) if self._tokens is None else self._unknown(scope, headers, self._tokens)
        if refusal is not None:
            await self._refuse(send, *refusal)
            return
        await self._with_body(scope, headers, receive, send)

    def _misdirected(self, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "").lower()
        if host not in self._hosts and without_port(host) not in self._hosts:
            return 421, "this is not the host that was asked for"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            name = origin.lower()
            if not any(name == own or name.startswith(own + ":") for own in self._own):
                return 403, "this origin may not ask"
        return None

    def _too_often(self, scope: AsgiScope, token: str | None = None) -> tuple[int, str] | None:
        """By token, else by address: which bounds guessing at tokens, and nobody's use of one."""
        client = scope.get("client")
        allowed = (
            self._address_rates.take(client[0] if client else "") if token is None else self._known_rates.take(token)
        )
        return None if allowed else (429, "too many requests")

    def _unknown(self, scope: AsgiScope, headers: dict[str, str], tokens: Tokens) -> tuple[int, str] | None:
        scheme, _, presented = headers.get("authorization", "").partition(" ")
        token = tokens.of(presented.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            return self._too_often(scope) or (401, "a valid bearer token is needed")
        # So that a session belongs to the client that opened it, and tools can ask for scopes.
        access = AccessToken(token="(not kept)", client_id=token.id, scopes=token.scopes)
        scope["user"] = AuthenticatedUser(access)
        return self._too_often(scope, token.id)

    async def _with_body(self, scope: AsgiScope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Hands the request on with its body, which has to be there soon and to be small."""
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 9 or int(length) > MAX_BODY:
            await self._refuse(send, 413, f"a request has at most {MAX_BODY} bytes")
            return
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # whoever asked has gone
                    body += message.get("body", b"")
                    if len(body) > MAX_BODY:
                        await self._refuse(send, 413, f"a request has at most {MAX_BODY} bytes")
                        return
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            await self._refuse(send, 408, "the request did not come in time")
            return
        rest: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> MutableMapping[str, Any]:
            return rest.pop() if rest else await receive()

        async def seen(message: MutableMapping[str, Any]) -> None:
            if message.get("status") == 503:  # the SDK has as many sessions as it may
                self._meter.refused("sessions")
            await send(message)

        await self._inside(scope, again, seen)

    async def _refuse(self, send: Send, status: int, why: str) -> None:
        self._meter.refused(_REFUSALS[status])
        await _refuse(send, status, why)


async def serve_adapter(server: Server[Any], door: ListenConfig, meter: AdapterMetrics | None = None) -> None:
    """Serves until cancelled; requests that are being answered then have three seconds.

    Args:
        server: the SDK's server.
        door: the address, and which requests are let in.
        meter: counts the requests that are refused.

    Raises:
        UsageError: the door would let strangers in.
        UnreachableError: the address cannot be bound.
    """
    door.check()
    log.info("the adapter serves HTTP", host=door.host, port=door.port, tls=door.certificate is not None, path=PATH)
    await served(adapter_application(server, door, meter), door, MAX_CONNECTIONS)


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 429:
        headers.append((b"retry-after", b"1"))
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def run_adapter(settings: Settings, view: Path, door: ListenConfig | None) -> None:
    """Runs the adapter until its client ends the session (stdio), or until SIGTERM or SIGINT.

    Args:
        settings: the broker.
        view: the view's file.
        door: how HTTP is reached; None: the session is on standard input and output.

    Raises:
        SluiceError: the view cannot be written, or the address not be bound.
    """
    logs.configure(settings.log_level, sys.stderr)
    if door is None:
        # The thread that waits for standard input cannot be told to end. The view takes no harm from it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_run(settings, view, door))


async def _run(settings: Settings, path: Path, door: ListenConfig | None) -> None:
    readers, watching, following = Readers(path), Readers(path), Following(settings, path)
    adapter = Adapter(readers, settings)
    meter = AdapterMetrics(watching, lambda: open_sessions(server), following.refused)
    server = create_server(adapter, meter)
    web = _web(settings, meter, adapter)
    try:
        await _listen(web, needed=door is not None)
        follows: asyncio.Task[object] = asyncio.create_task(following.run(), name="view-follows")
        answers = _stdio(server) if door is None else serve_adapter(server, door, meter)
        serving: asyncio.Task[object] = asyncio.create_task(answers, name="adapter-serves")
        # A session on standard input ends with its client.
        await until_stopped((follows, serving), asyncio.Event() if door is None else None)
    finally:
        await _stop(web, readers, watching)


def _web(settings: Settings, meter: AdapterMetrics, adapter: Adapter) -> Web | None:
    """The pages of metrics and probes, where a port is configured for them."""
    if settings.web_port is None:
        return None

    async def why_not_ready() -> str:
        try:
            await adapter.standing()
        except SluiceError as error:
            return sentence(error)
        return ""

    # What it cannot go on from ends the process: it lives as long as it answers.
    return Web(settings.web_host, settings.web_port, metrics=meter.text, healthy=str, ready=why_not_ready)


async def _listen(web: Web | None, *, needed: bool) -> None:
    if web is None:
        return
    try:
        await web.start()
    except UsageError as error:
        if needed:
            raise
        # Each client on this machine starts a process of its own, with the same settings: only one can have the port.
        log.warning("no metrics of this session", why=str(error))


async def _stop(web: Web | None, *readers: Readers) -> None:
    if web is not None:
        await web.stop()
    for one in readers:
        one.close()


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
