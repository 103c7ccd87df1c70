"""The streamable HTTP transport of the adapter: who may come in, how often, and with how much (MCP, «Transports»).

In the order in which they are asked: the address is loopback unless told otherwise; a request has a Host that is ours
and an Origin that is listed, so that no page in a browser gets through (DNS rebinding); a bearer token is known; nobody
asks more often than the rate; and a body is small and comes at once. The rate is a token's own. Clients without a known
token share the rate of their address, and use up nothing of the rates of tokens. Only then does the SDK see the
request. Tokens stand in no log, and a refusal says nothing about what is there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, Final

import structlog
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings

from .adapter_metrics import AdapterMetrics, Refusal
from .door import (
    LOOPBACK,
    Application,
    Door,
    Rates,
    Receive,
    Scope,
    Send,
    headers_of,
    served,
    without_port,
)
from .tokens import Tokens

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


def application(server: Server[Any], door: Door, meter: AdapterMetrics | None = None) -> Application:
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
    return Entrance(inside, door, None if door.tokens is None else Tokens(door.tokens), meter)


def open_sessions(server: Server[Any]) -> int:
    """How many sessions over HTTP a server has open: none where it has no `application`."""
    try:
        return len(server.session_manager._server_instances)
    except RuntimeError:
        return 0


class Entrance:
    """What a request passes before the SDK sees it. An ASGI application around another.

    Args:
        inside: the SDK's application.
        door: which requests are let in.
        tokens: that are known; None where the service needs none.
        meter: counts the requests that are refused.
    """

    def __init__(
        self, inside: Application, door: Door, tokens: Tokens | None, meter: AdapterMetrics | None = None
    ) -> None:
        self._inside, self._door, self._tokens = inside, door, tokens
        self._meter = meter or AdapterMetrics()
        self._known_rates = Rates(door.rate, door.burst)
        self._address_rates = Rates(door.rate, door.burst)  # apart: many addresses must not make a token's be forgotten
        self._hosts = {host.lower() for host in (*LOOPBACK, *door.allowed_hosts)}
        scheme = "https" if door.certificate else "http"
        self._origins = {origin.lower() for origin in door.allowed_origins}
        self._own = tuple(f"{scheme}://{host}" for host in LOOPBACK)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

    def _too_often(self, scope: Scope, token: str | None = None) -> tuple[int, str] | None:
        """By token, else by address: which bounds guessing at tokens, and nobody's use of one."""
        client = scope.get("client")
        allowed = (
            self._address_rates.take(client[0] if client else "") if token is None else self._known_rates.take(token)
        )
        return None if allowed else (429, "too many requests")

    def _unknown(self, scope: Scope, headers: dict[str, str], tokens: Tokens) -> tuple[int, str] | None:
        scheme, _, presented = headers.get("authorization", "").partition(" ")
        token = tokens.of(presented.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            return self._too_often(scope) or (401, "a valid bearer token is needed")
        # So that a session belongs to the client that opened it, and tools can ask for scopes.
        access = AccessToken(token="(not kept)", client_id=token.id, scopes=token.scopes)
        scope["user"] = AuthenticatedUser(access)
        return self._too_often(scope, token.id)

    async def _with_body(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
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


async def serve(server: Server[Any], door: Door, meter: AdapterMetrics | None = None) -> None:
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
    await served(application(server, door, meter), door, MAX_CONNECTIONS)


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
