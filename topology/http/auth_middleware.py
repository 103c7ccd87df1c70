"""What a request to the service passes before a route sees it, and what every answer carries. An ASGI application.

In this order: the Host is ours, the Origin is ours (DNS rebinding, forged requests), a token or session is known, the
rate holds, the body is small and comes at once, and there is room for it. Each principal has a rate of its own; clients
that are not known share the rate of their address. Each route asks for the scope that it needs. Tokens stand in no log,
and a refusal reveals nothing of the data.

Metrics (docs/metrics.md): no label holds text of third parties; routes, topics, outcomes and reasons are lists of ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Final, Literal, NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .http_server import (
    LOOPBACK,
    Application,
    AsgiScope,
    ListenConfig,
    Rates,
    Receive,
    Send,
    headers_of,
    network_of,
    without_port,
)
from .tokens import Tokens

TokenScope = Literal["emit", "read", "review", "admin"]
SCOPES: Final[tuple[str, ...]] = get_args(TokenScope)
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OPEN: Final = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/static/", "/sign-in", "/sign-in/", "/sign-out")
"""Paths that say nothing of what is on the topics: every client that reaches the service may ask for them."""

HEALTH: Final = "/healthz"
"""Says that the process lives, and costs nothing."""
PROBES: Final = (HEALTH, "/readyz", "/metrics")
"""Asked by orchestrators and scrapers, which know a replica by its address alone: under whatever Host."""


class Principal(NamedTuple):
    """Who asks.

    Attributes:
        id: of the token, or the subject of a person: what limits are kept by, and what a review is signed with.
        name: for people.
        scopes: what it may do.
        by_cookie: it was signed in by a browser's cookie, which a foreign page could make the browser send.
        subject: of a person, as the identity provider has it; empty for tokens.
    """

    id: str
    name: str
    scopes: frozenset[str]
    by_cookie: bool = False
    subject: str = ""

    def may(self, scope: TokenScope) -> bool:
        """Whether it has a scope; `admin` has all."""
        return scope in self.scopes or "admin" in self.scopes


LOCAL: Final = Principal("local", "local", frozenset(SCOPES))
"""Every client on this machine, where no file of tokens is named."""


class Refusal(NamedTuple):
    """A request that is for somebody else, or from a page that may not ask."""

    status: int
    why: str
    counted_as: str


def is_secure(door: ListenConfig) -> bool:
    """Whether browsers reach us over TLS: ours, or that of a proxy whose https Origin is allowed."""
    return door.certificate is not None or any(one.lower().startswith("https://") for one in door.allowed_origins)


class AllowedOrigins:
    """Which hosts and origins are ours.

    Args:
        door: its `allowed_hosts` and `allowed_origins` besides loopback.
    """

    def __init__(self, door: ListenConfig) -> None:
        self._hosts = {host.lower() for host in (*LOOPBACK, *door.allowed_hosts)}
        self._origins = {origin.lower() for origin in door.allowed_origins}
        self._scheme = "https" if door.certificate else "http"

    def misdirected(self, method: str, headers: Mapping[str, str], *, by_cookie: bool = False) -> Refusal | None:
        """Why a request may not be answered; None where it may.

        Args:
            method: of HTTP.
            headers: by lower-case name.
            by_cookie: it comes with a cookie: what changes something needs an Origin then.
        """
        host = headers.get("host", "").lower()
        if host not in self._hosts and without_port(host) not in self._hosts:
            return Refusal(421, "this is not the host that was asked for", "host")
        origin = headers.get("origin", "").lower()
        if origin:
            if origin in self._origins or origin == f"{self._scheme}://{host}":
                return None
            return Refusal(403, "this origin may not ask", "origin")
        if method in UNSAFE:
            site = headers.get("sec-fetch-site", "")
            if site not in ("", "same-origin", "none") or (by_cookie and site != "same-origin"):
                return Refusal(403, "this origin may not ask", "origin")
        return None


def is_open(path: str) -> bool:
    """Whether a path is answered to whoever asks."""
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in OPEN)


def bearer_of(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; an empty text without one."""
    scheme, _, presented = headers.get("authorization", "").partition(" ")
    return presented.strip() if scheme.lower() == "bearer" else ""


def scopes_of(listed: Sequence[str]) -> frozenset[str]:
    """Those scopes of a token that are the service's."""
    return frozenset(listed) & frozenset(SCOPES)


class Quota:
    """Amounts that are taken and given back, by who has them.

    Invariant: `taken` is the sum of what everybody holds; nobody holds more than `each`.

    Args:
        total: of all together.
        each: of one.
    """

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._held: dict[str, int] = {}
        self.taken = 0

    def take(self, who: str, amount: int = 1) -> bool:
        """Takes an amount; False, and nothing taken, where there is no room for it."""
        held = self._held.get(who, 0) + amount
        if held > self._each or self.taken + amount > self._total:
            return False
        if amount:
            self._held[who] = held
            self.taken += amount
        return True

    def give(self, who: str, amount: int = 1) -> None:
        """Gives back what was taken."""
        left = self._held.get(who, 0) - amount
        self.taken -= amount
        if left > 0:
            self._held[who] = left
        else:
            self._held.pop(who, None)


SECONDS: Final = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
Turned = Literal["host", "origin", "rate", "token", "scope", "size", "time", "busy"]
Fate = Literal["stored", "repeated", "invalid", "conflict", "busy", "away", "denied"]


class ServiceMetrics:
    """The metrics of one process of the service, in a registry of their own.

    Args:
        held: how many records wait for Kafka; asked at every scrape.
        streams: how many streams of verdicts are open; likewise.
    """

    def __init__(self, held: Callable[[], float] = int, streams: Callable[[], float] = int) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter("sluice_serve_requests", "Answered requests", ["route", "status"], registry=registry)
        self._seconds = Histogram(
            "sluice_serve_answer_seconds", "Answering a request", ["route"], buckets=SECONDS, registry=registry
        )
        self._records = Counter("sluice_serve_records", "Posted records", ["topic", "outcome"], registry=registry)
        self._turned = Counter(
            "sluice_serve_refusals", "Requests that were turned away at the door", ["reason"], registry=registry
        )
        for reason in get_args(Turned):
            self._turned.labels(reason)
        waiting = Gauge("sluice_serve_held_records", "Records that wait for Kafka", registry=registry)
        waiting.set_function(held)
        Gauge("sluice_serve_streams", "Streams of verdicts that are open", registry=registry).set_function(streams)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is a template of ours."""
        self._requests.labels(route, str(status)).inc()
        if not route.endswith("/events"):  # a stream lasts as long as its client likes
            self._seconds.labels(route).observe(seconds)

    def records(self, topic: str, fate: Fate, count: int = 1) -> None:
        """What became of posted records."""
        self._records.labels(topic, fate).inc(count)

    def turned_away(self, reason: Turned) -> None:
        """A request did not get through the gate."""
        self._turned.labels(reason).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self.registry)


MAX_BODY: Final = 5_000_000
"""Bytes of a request: what the recorder posts at once, and a fifth more."""
MAX_HEAD: Final = 32_768
"""Bytes of a request's path, query and headers. The server's own bound holds for a head that comes in pieces alone."""
MAX_DRAINED: Final = 20_000_000
"""So much of a body that is too large is read and dropped: whoever still writes would not read the refusal."""
STRANGERS_BODY: Final = 8192
"""Bytes of a request of whoever is not known: a form with a token."""
STRANGERS_DRAINED: Final = 65_536
MAX_REQUESTS: Final = 3000
"""Readers of event streams keep theirs open."""
IN_FLIGHT: Final = 64_000_000
"""Bytes of all bodies that are read or answered at a time; of one principal a quarter."""
STRANGERS_IN_FLIGHT: Final = 4_000_000
"""As `IN_FLIGHT`, of whoever is not known; they take nothing from those who are."""
BYTES_A_REQUEST: Final = 65_536
STATEMENTS_A_REQUEST: Final = 100
"""What one request of the rate pays for; a larger one counts as several, before it is read."""
BODY_SECONDS: Final = 15.0
PRINCIPAL: Final = "sluice.principal"
STILL: Final = "sluice.still"
"""Whether whoever asked still may: what lasts asks it again and again."""
CHARGE: Final = "sluice.charge"
"""Charges the client for so many statements."""
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


class AuthMiddleware:
    """The service behind its door.

    Args:
        inside: the routes.
        door: hosts, origins, rate; its file of tokens.
        meter: is told whom it turns away.
        session: who a cookie signs in; None: nobody.
        most: so many requests are answered at a time; probes besides.
    """

    def __init__(
        self,
        inside: Application,
        door: ListenConfig,
        meter: ServiceMetrics,
        session: Session = lambda _cookie: None,
        most: int = MAX_REQUESTS,
    ) -> None:
        self._inside, self._meter, self._session = inside, meter, session
        self._places = AllowedOrigins(door)
        self._tokens = None if door.tokens is None else Tokens(door.tokens)
        self._known_rates, self._address_rates, self._probe_rates = (Rates(door.rate, door.burst) for _ in range(3))
        self._headers = [*HEADERS, _STRICT_TRANSPORT] if is_secure(door) else list(HEADERS)
        self._bodies = Quota(IN_FLIGHT, IN_FLIGHT // 4)
        self._strangers = Quota(STRANGERS_IN_FLIGHT, STRANGERS_IN_FLIGHT // 4)
        self._requests = Quota(most, most)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed by not being accepted
        answer, headers = _Answer(send, self._headers), headers_of(scope)
        if scope["path"] in PROBES:
            await self._answer(scope, headers, receive, answer)
        elif self._requests.take(""):
            try:
                await self._answer(scope, headers, receive, answer)
            finally:
                self._requests.give("")
        else:
            await self._turn_away(answer, _BUSY)

    async def _answer(self, scope: AsgiScope, headers: Mapping[str, str], receive: Receive, answer: _Answer) -> None:
        began = monotonic()
        principal, refusal = self._let_in(scope, headers)
        scope[PRINCIPAL] = principal
        scope[STILL] = lambda: principal is not None and self._known(headers) == principal
        if refusal is not None:
            await self._turn_away(answer, refusal)
            return
        body = _Body(receive, *self._bounds(scope, principal))
        try:
            found = await body.read(headers)
            if isinstance(found, Refusal):
                await self._turn_away(answer, found)
                return
            if found is None:
                return  # whoever asked has gone
            self._charge(scope, principal, len(found) / BYTES_A_REQUEST)
            scope[CHARGE] = lambda statements: self._charge(scope, principal, statements / STATEMENTS_A_REQUEST)
            try:
                await self._inside(scope, _again(found, receive), answer)
            finally:
                if answer.status:
                    self._meter.answered(scope.get(ROUTE, "other"), answer.status, monotonic() - began)
        finally:
            body.let_go()

    async def _turn_away(self, answer: _Answer, refusal: Refusal) -> None:
        self._meter.turned_away(_COUNTED[refusal.counted_as])
        await refuse(answer, refusal.status, refusal.why)

    def _bounds(self, scope: AsgiScope, principal: Principal | None) -> tuple[Quota, str, int, int]:
        """Out of which shares a body is taken and by whom; how large it may be; how much of it is read at all."""
        if principal is not None:
            return self._bodies, principal.id, MAX_BODY, MAX_DRAINED
        return self._strangers, address_of(scope), STRANGERS_BODY, STRANGERS_DRAINED

    def _let_in(self, scope: AsgiScope, headers: Mapping[str, str]) -> tuple[Principal | None, Refusal | None]:
        if _head_size(scope) > MAX_HEAD:
            return None, Refusal(431, f"the head of a request has at most {MAX_HEAD:,} bytes", "size")
        principal = self._known(headers)
        by_cookie = principal is not None and principal.by_cookie
        refusal = self._places.misdirected(scope["method"], headers, by_cookie=by_cookie)
        if refusal is not None and not (refusal.counted_as == "host" and scope["path"] in PROBES):
            return None, refusal
        if not self._is_in_time(scope, principal):
            return None, Refusal(429, "too many requests: come again in a second", "rate")
        # A page sends whoever is not known to the sign-in; everything else is told here.
        if principal is None and not is_open(scope["path"]) and scope["path"].startswith("/v1/"):
            return None, Refusal(401, "a valid bearer token is needed", "token")
        return principal, None

    def _is_in_time(self, scope: AsgiScope, principal: Principal | None) -> bool:
        """Whether the rate allows it. Probes have their own: a busy address must not make a replica look dead."""
        if scope["path"] == HEALTH:
            return True
        if scope["path"] in PROBES:
            return self._probe_rates.take(address_of(scope))
        if principal is not None:
            return self._known_rates.take(principal.id)
        return self._address_rates.take(address_of(scope))

    def _charge(self, scope: AsgiScope, principal: Principal | None, requests: float) -> None:
        """Charges what goes beyond the one request that the rate has let in."""
        if requests > 1 and principal is not None:
            self._known_rates.charge(principal.id, requests - 1)
        elif requests > 1:
            self._address_rates.charge(address_of(scope), requests - 1)

    def _known(self, headers: Mapping[str, str]) -> Principal | None:
        if presented := bearer_of(headers):
            token = None if self._tokens is None else self._tokens.of(presented)
            return None if token is None else Principal(token.id, token.name, scopes_of(token.scopes))
        if (signed_in := self._session(headers.get("cookie", ""))) is not None:
            return signed_in
        return LOCAL if self._tokens is None else None


class _Body:
    """The body of one request, for which room is taken as it comes.

    Args:
        receive: of ASGI.
        shares: out of which room is taken.
        who: asks.
        most: bytes that it may have.
        drained: so many bytes are read at all; whoever still writes would not read a refusal.
    """

    def __init__(self, receive: Receive, shares: Quota, who: str, most: int, drained: int) -> None:
        self._receive, self._shares, self._who, self._most, self._drained = receive, shares, who, most, drained
        self._taken = 0

    async def read(self, headers: Mapping[str, str]) -> bytes | Refusal | None:
        """The body, which has to be there soon and to be small; None where whoever asked has gone."""
        too_large = Refusal(413, f"a request has at most {self._most:,} bytes: post it in parts", "size")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or len(length) > 9 or int(length) > self._drained:
            return too_large
        body, count = bytearray(), 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return None
                    piece: bytes = message.get("body", b"")
                    count += len(piece)
                    if count <= self._most:
                        if not self._shares.take(self._who, len(piece)):
                            return _BUSY
                        self._taken += len(piece)
                        body += piece
                    elif count > self._drained:
                        return too_large
                    if not message.get("more_body", False):
                        return bytes(body) if count <= self._most else too_large
        except TimeoutError:
            return Refusal(408, "the request did not come in time", "time")

    def let_go(self) -> None:
        """Gives the room back."""
        self._shares.give(self._who, self._taken)
        self._taken = 0


def _head_size(scope: AsgiScope) -> int:
    size = len(scope["path"]) + len(scope["query_string"])
    return size + sum(len(name) + len(value) for name, value in scope["headers"])


def address_of(scope: AsgiScope) -> str:
    """The address that a request comes from; of IPv6 the network of 64 bits, which is one customer's."""
    client = scope.get("client")
    address: str = client[0] if client else ""
    return network_of(address)


_BUSY: Final = Refusal(503, "more is being answered than there is room for: come again in a second", "busy")
_COUNTED: Final[dict[str, Turned]] = {
    "host": "host",
    "origin": "origin",
    "rate": "rate",
    "token": "token",
    "size": "size",
    "time": "time",
    "busy": "busy",
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
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if status in (413, 408):
        headers.append((b"connection", b"close"))
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
