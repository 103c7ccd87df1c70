"""What a request to a service passes before a route sees it, and what every answer carries. An ASGI application.

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
"""Asked by orchestrators and scrapers, which know a replica by its address alone: under any Host."""
MAX_BODY: Final = 5_000_000
"""Bytes of a request: what the recorder posts at once, and a fifth more."""
MAX_HEAD: Final = 32_768
"""Bytes of a request's path, query and headers. The server's own bound holds for a head that comes in pieces alone."""
MAX_DRAINED: Final = 20_000_000
"""So much of a body that is too large is read and dropped: a client that still writes would not read the refusal."""
STRANGERS_BODY: Final = 8192
"""Bytes of a request of a client that is not known: a form with a token."""
STRANGERS_DRAINED: Final = 65_536
MAX_REQUESTS: Final = 3000
"""Readers of event streams keep theirs open."""
IN_FLIGHT: Final = 64_000_000
"""Bytes of all bodies that are read or answered at a time; of one principal a quarter."""
STRANGERS_IN_FLIGHT: Final = 4_000_000
"""As `IN_FLIGHT`, of clients that are not known; they take nothing from those that are."""
BYTES_A_REQUEST: Final = 65_536
STATEMENTS_A_REQUEST: Final = 100
"""What one request of the rate pays for; a larger one counts as several, before it is read."""
BODY_SECONDS: Final = 15.0
PRINCIPAL: Final = "sluice.principal"
STILL: Final = "sluice.still"
"""Whether the client still may: what lasts asks it again and again."""
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


class Principal(NamedTuple):
    """The client that asks.

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
        """Returns whether it has a scope; `admin` has all."""
        return scope in self.scopes or "admin" in self.scopes


LOCAL: Final = Principal("local", "local", frozenset(SCOPES))
"""Every client on this machine, where no file of tokens is named."""
Session = Callable[[str], Principal | None]
"""The principal of a session's cookie."""
Turned = Literal["host", "origin", "rate", "token", "scope", "size", "time", "busy"]
Fate = Literal["stored", "repeated", "invalid", "conflict", "busy", "away", "denied"]


class Refusal(NamedTuple):
    """Why a request is not answered: a status of HTTP, one sentence, and the label that it is counted under."""

    status: int
    why: str
    counted_as: Turned


_BUSY: Final = Refusal(503, "more is being answered than there is room for: come again in a second", "busy")


def is_secure(config: ListenConfig) -> bool:
    """Returns whether browsers reach us over TLS: ours, or that of a proxy whose https Origin is allowed."""
    return config.certificate is not None or any(name.lower().startswith("https://") for name in config.allowed_origins)


class AllowedOrigins:
    """The hosts and origins that are ours: loopback and those of a configuration.

    Args:
        config: its `allowed_hosts` and `allowed_origins`, and whether there is TLS.
        of_machine: pages of every port of this machine may ask, and no others that are not listed; otherwise those of
            the very host that is asked.
    """

    def __init__(self, config: ListenConfig, *, of_machine: bool = False) -> None:
        self._hosts = {host.lower() for host in (*LOOPBACK, *config.allowed_hosts)}
        self._origins = {origin.lower() for origin in config.allowed_origins}
        self._scheme = "https" if config.certificate else "http"
        self._here = {f"{self._scheme}://{name}" for name in LOOPBACK} if of_machine else None

    def misdirected(self, method: str, headers: Mapping[str, str], *, by_cookie: bool = False) -> Refusal | None:
        """Returns why a request may not be answered; None where it may.

        `headers` have lower-case names. With `by_cookie`, what changes something needs an Origin.
        """
        host = headers.get("host", "").lower()
        if host not in self._hosts and without_port(host) not in self._hosts:
            return Refusal(421, "this is not the host that was asked for", "host")
        if origin := headers.get("origin", "").lower():
            here = origin == f"{self._scheme}://{host}" if self._here is None else without_port(origin) in self._here
            return None if here or origin in self._origins else Refusal(403, "this origin may not ask", "origin")
        site = headers.get("sec-fetch-site", "")
        if method in UNSAFE and (site not in ("", "same-origin", "none") or (by_cookie and site != "same-origin")):
            return Refusal(403, "this origin may not ask", "origin")
        return None


def is_open(path: str) -> bool:
    """Returns whether a path is answered to every client."""
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in OPEN)


def bearer_of(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; an empty text without one."""
    scheme, _, presented = headers.get("authorization", "").partition(" ")
    return presented.strip() if scheme.lower() == "bearer" else ""


def scopes_of(listed: Sequence[str]) -> frozenset[str]:
    """Those scopes of a token that are the service's."""
    return frozenset(listed) & frozenset(SCOPES)


class Quota:
    """Amounts that are taken and given back, by client: at most `each` of one, at most `total` of all together.

    Invariant: `taken` is the sum of what all clients hold.
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


class ServiceMetrics:
    """The metrics of one process of the service, in a registry of their own.

    `held` (records that wait for Kafka) and `streams` (open streams of verdicts) are asked at every scrape.
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
        """Counts an answered request; `route` is a template of ours."""
        self._requests.labels(route, str(status)).inc()
        if not route.endswith("/events"):  # a stream lasts as long as its client likes
            self._seconds.labels(route).observe(seconds)

    def records(self, topic: str, fate: Fate, count: int = 1) -> None:
        """Counts what became of posted records."""
        self._records.labels(topic, fate).inc(count)

    def turned_away(self, reason: Turned) -> None:
        """Counts a request that was refused."""
        self._turned.labels(reason).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self.registry)


class AuthMiddleware:
    """The service behind its checks.

    Args:
        inside: the routes.
        config: hosts, origins, rate; its file of tokens.
        meter: counts the requests that are refused.
        session: the principal that a cookie signs in.
        most: so many requests are answered at a time; probes besides.
    """

    def __init__(
        self,
        inside: Application,
        config: ListenConfig,
        meter: ServiceMetrics,
        session: Session = lambda _cookie: None,
        most: int = MAX_REQUESTS,
    ) -> None:
        self._inside, self._meter, self._session = inside, meter, session
        self._allowed = AllowedOrigins(config)
        self._tokens = None if config.tokens is None else Tokens(config.tokens)
        self._known_rates, self._address_rates, self._probe_rates = (Rates(config.rate, config.burst) for _ in range(3))
        self._headers = [*HEADERS, _STRICT_TRANSPORT] if is_secure(config) else list(HEADERS)
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
        if principal is not None:
            body = RequestBody(receive, self._bodies, principal.id, MAX_BODY, MAX_DRAINED)
        else:
            body = RequestBody(receive, self._strangers, address_of(scope), STRANGERS_BODY, STRANGERS_DRAINED)
        try:
            content = await body.read(headers, BODY_SECONDS)
            if isinstance(content, Refusal):
                await self._turn_away(answer, content)
                return
            if content is None:
                return  # the client has gone
            self._charge(scope, principal, len(content) / BYTES_A_REQUEST)

            def charge(statements: int) -> None:
                self._charge(scope, principal, statements / STATEMENTS_A_REQUEST)

            scope[CHARGE] = charge
            try:
                await self._inside(scope, replayed(content, receive), answer)
            finally:
                if answer.status:
                    self._meter.answered(scope.get(ROUTE, "other"), answer.status, monotonic() - began)
        finally:
            body.let_go()

    async def _turn_away(self, answer: _Answer, refusal: Refusal) -> None:
        self._meter.turned_away(refusal.counted_as)
        await refuse(answer, refusal.status, refusal.why)

    def _let_in(self, scope: AsgiScope, headers: Mapping[str, str]) -> tuple[Principal | None, Refusal | None]:
        if _head_size(scope) > MAX_HEAD:
            return None, Refusal(431, f"the head of a request has at most {MAX_HEAD:,} bytes", "size")
        principal = self._known(headers)
        by_cookie = principal is not None and principal.by_cookie
        refusal = self._allowed.misdirected(scope["method"], headers, by_cookie=by_cookie)
        if refusal is not None and not (refusal.counted_as == "host" and scope["path"] in PROBES):
            return None, refusal
        if not self._is_in_time(scope, principal):
            return None, Refusal(429, "too many requests: come again in a second", "rate")
        # A page sends a client that is not known to the sign-in; everything else is told here.
        if principal is None and not is_open(scope["path"]) and scope["path"].startswith("/v1/"):
            return None, Refusal(401, "a valid bearer token is needed", "token")
        return principal, None

    def _is_in_time(self, scope: AsgiScope, principal: Principal | None) -> bool:
        """Probes have a rate of their own: a busy address must not make a replica look dead."""
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


class RequestBody:
    """The body of one request, for which room is taken as it comes.

    Args:
        receive: of ASGI.
        quota: out of which room is taken; None: there is always room.
        who: takes it.
        most: bytes that the body may have.
        drained: bytes that are read at all, since a client that still writes would not read a refusal.
    """

    def __init__(self, receive: Receive, quota: Quota | None, who: str, most: int, drained: int) -> None:
        self._receive, self._quota, self._who, self._most, self._drained = receive, quota, who, most, drained
        self._taken = 0

    async def read(self, headers: Mapping[str, str], seconds: float) -> bytes | Refusal | None:
        """The body, which has to be there within so many seconds and to be small; None where the client has gone."""
        most = f"{self._most:,} bytes: post it in parts" if self._quota else f"{self._most} bytes"
        too_large = Refusal(413, f"a request has at most {most}", "size")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or len(length) > 9 or int(length) > self._drained:
            return too_large
        body, count = bytearray(), 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return None
                    piece: bytes = message.get("body", b"")
                    count += len(piece)
                    if count <= self._most:
                        if self._quota and not self._quota.take(self._who, len(piece)):
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
        if self._quota:
            self._quota.give(self._who, self._taken)
        self._taken = 0


def _head_size(scope: AsgiScope) -> int:
    size = len(scope["path"]) + len(scope["query_string"])
    return size + sum(len(name) + len(value) for name, value in scope["headers"])


def address_of(scope: AsgiScope) -> str:
    """The address that a request comes from; of IPv6 the network of 64 bits, which is one customer's."""
    client = scope.get("client")
    return network_of(client[0] if client else "")


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
            message = {**message, "headers": [*given, *(pair for pair in self._headers if pair[0] not in names)]}
        await self._send(message)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` of ASGI that gives a body that was read before, then what comes behind it."""
    rest: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return rest.pop() if rest else await receive()

    return again


async def refuse(send: Send, status: int, why: str, *, closes: bool = True) -> None:
    """Answers with one sentence.

    `closes` ends the connection behind a body that was not taken. Where nothing of such a body is drained, that would
    reset it before a client that still writes has read the answer.
    """
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if closes and status in (413, 408):
        headers.append((b"connection", b"close"))
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
