"""The gate: what a request passes before a route sees it, and what every answer carries. An ASGI application.

In this order: the Host is ours, the Origin is ours (DNS rebinding, forged requests), a token or session is known, the
rate holds, the body is small and comes at once. The rate is a principal's own; whoever is not known shares that of the
address. Tokens stand in no log, and a refusal says nothing about what is there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from ..mcp.door import Application, Door, Rates, Receive, Scope, Send, headers_of
from ..mcp.tokens import Tokens
from .access import LOCAL, PROBES, Misdirected, Places, Principal, bearer_of, is_open, scopes_of
from .metering import ServiceMetrics, Turned

MAX_BODY: Final = 5_000_000
"""Bytes of a request: what the recorder posts at once, and a fifth more."""
MAX_DRAINED: Final = 20_000_000
"""So much of a body that is too large is read and dropped: whoever still writes would not read the refusal."""
BODY_SECONDS: Final = 15.0
PRINCIPAL: Final = "sluice.principal"
ROUTE: Final = "sluice.route"
"""Where a route leaves its template, for the metrics."""
HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # with `no-referrer` a browser sends the forms with `Origin: null`
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
"""On every answer. None of them opens anything to another origin: CORS is off."""
_STRICT_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")
Session = Callable[[str], Principal | None]
"""The principal of a session's cookie."""


class Gate:
    """The service behind its door.

    Args:
        inside: the routes.
        door: hosts, origins, rate; its file of tokens.
        meter: is told whom it turns away.
        session: who a cookie signs in; None: nobody.
    """

    def __init__(
        self, inside: Application, door: Door, meter: ServiceMetrics, session: Session = lambda _cookie: None
    ) -> None:
        self._inside, self._meter, self._session = inside, meter, session
        self._places = Places(door)
        self._tokens = None if door.tokens is None else Tokens(door.tokens)
        self._known_rates, self._address_rates = Rates(door.rate, door.burst), Rates(door.rate, door.burst)
        self._headers = [*HEADERS, _STRICT_TRANSPORT] if door.certificate else list(HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed by not being accepted
        began = monotonic()
        answer = _Answer(send, self._headers)
        headers = headers_of(scope)
        principal, refusal = self._let_in(scope, headers)
        scope[PRINCIPAL] = principal
        if refusal is not None:
            self._meter.turned_away(_COUNTED[refusal.counted_as])
            await refuse(answer, refusal.status, refusal.why)
            return
        body = await self._body(headers, receive)
        if isinstance(body, Misdirected):
            self._meter.turned_away(_COUNTED[body.counted_as])
            await refuse(answer, body.status, body.why)
            return
        if body is None:
            return  # whoever asked has gone
        try:
            await self._inside(scope, _again(body, receive), answer)
        finally:
            if answer.status:
                self._meter.answered(scope.get(ROUTE, "other"), answer.status, monotonic() - began)

    def _let_in(self, scope: Scope, headers: Mapping[str, str]) -> tuple[Principal | None, Misdirected | None]:
        principal = self._known(headers)
        by_cookie = principal is not None and principal.by_cookie
        refusal = self._places.misdirected(scope["method"], headers, by_cookie=by_cookie)
        if refusal is not None and not (refusal.counted_as == "host" and scope["path"] in PROBES):
            return None, refusal
        client = scope.get("client")
        address = client[0] if client else ""
        allowed = self._address_rates.take(address) if principal is None else self._known_rates.take(principal.id)
        if not allowed:
            return None, Misdirected(429, "too many requests: come again in a second", "rate")
        # A page sends whoever is not known to the sign-in; everything else is told here.
        if principal is None and not is_open(scope["path"]) and scope["path"].startswith("/v1/"):
            return None, Misdirected(401, "a valid bearer token is needed", "token")
        return principal, None

    def _known(self, headers: Mapping[str, str]) -> Principal | None:
        if presented := bearer_of(headers):
            token = None if self._tokens is None else self._tokens.of(presented)
            return None if token is None else Principal(token.id, token.name, scopes_of(token.scopes))
        if (signed_in := self._session(headers.get("cookie", ""))) is not None:
            return signed_in
        return LOCAL if self._tokens is None else None

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes | Misdirected | None:
        """The body, which has to be there soon and to be small; None where whoever asked has gone."""
        too_large = Misdirected(413, f"a request has at most {MAX_BODY:,} bytes: post it in parts", "size")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 9 or int(length) > MAX_DRAINED:
            return too_large
        body, count = bytearray(), 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    piece: bytes = message.get("body", b"")
                    count += len(piece)
                    if count <= MAX_BODY:
                        body += piece
                    elif count > MAX_DRAINED:
                        return too_large
                    if not message.get("more_body", False):
                        return bytes(body) if count <= MAX_BODY else too_large
        except TimeoutError:
            return Misdirected(408, "the request did not come in time", "time")


_COUNTED: Final[dict[str, Turned]] = {
    "host": "host",
    "origin": "origin",
    "rate": "rate",
    "token": "token",
    "size": "size",
    "time": "time",
}


class _Answer:
    """Adds the headers that every answer carries, and notes its status."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send, self._headers = send, headers
        self.status = 0

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            if b"cache-control" not in names:
                given.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*given, *(one for one in self._headers if one[0] not in names)]}
        await self._send(message)


def _again(body: bytes, receive: Receive) -> Receive:
    rest: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return rest.pop() if rest else await receive()

    return again


async def refuse(send: Send, status: int, why: str) -> None:
    """Answers with one sentence."""
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 429:
        headers.append((b"retry-after", b"1"))
    if status in (413, 408):
        headers.append((b"connection", b"close"))
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
