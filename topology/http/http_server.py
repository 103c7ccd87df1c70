"""How a service of ours is reached over HTTP: its address, its TLS, its connections, how often a client may ask.

The adapter (adapter_process.py) and `sluice serve` (service_process.py) listen in the same way. A connection that asks
nothing holds a place that others want. So the head of a request has to be there soon; where all places are taken, the
connection that has been silent longest is closed for a new one. One that is being answered is never closed for another.

httptools reads requests, in C. It has no bound of its own for a head or for what stands behind a body, and gives both
to one callback: the bounds are here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...codecs.errors import UnreachableError, UsageError
from .tokens import read_tokens

HEADER_SECONDS: Final = 10.0
"""So long the head of a request may take, from the connection or its first byte on."""
STALLED_SECONDS: Final = 30.0
"""So long whoever asked may read nothing of an answer that waits."""
MAX_HEAD: Final = 32_768
"""Bytes of a request, beside what one read of the socket gives, that are neither a whole head nor a piece of a body."""
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-length: 41\r\n\r\n"
    b'{"error": "all connections are in use"}\r\n'
)


def network_of(address: str) -> str:
    """The address; of IPv6 its network of 64 bits, which is one customer's."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


class Sockets:
    """The open connections of a server, those that ask nothing in the order in which they fell silent.

    At most `most` at a time, of one network `of_one`.
    """

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._open: dict[Connection, str] = {}
        self._counts: dict[str, int] = {}
        self._silent: OrderedDict[Connection, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection, network: str) -> bool:
        """A new connection; False where there is no place for it, and none can be made."""
        if self._counts.get(network, 0) >= self._of_one and not self._make_room(network):
            return False
        if len(self._open) >= self._most and not self._make_room(None):
            return False
        self._open[connection] = network
        self._counts[network] = self._counts.get(network, 0) + 1
        self._silent[connection] = None
        return True

    def closed(self, connection: Connection) -> None:
        """It is gone; a second call does nothing."""
        network = self._open.pop(connection, None)
        self._silent.pop(connection, None)
        if network is None:
            return
        self._counts[network] -= 1
        if not self._counts[network]:
            del self._counts[network]

    def asks(self, connection: Connection) -> None:
        """A request of it is being answered."""
        self._silent.pop(connection, None)

    def answered(self, connection: Connection) -> None:
        """It asks nothing any more."""
        if connection in self._open:
            self._silent[connection] = None

    def _make_room(self, network: str | None) -> bool:
        """Closes the connection that has been silent longest, of one network or of all."""
        for connection in self._silent:
            if network is None or self._open[connection] == network:
                self.closed(connection)
                connection.drop()
                return True
        return False


class _MisreadError(Exception):
    """The head of a request says what no head may say."""


class Connection(HttpToolsProtocol):
    """One connection. `sockets` is set by `connections_of`.

    Invariant: `_unread` is what came since the last whole head, piece of a body or end of a request.
    """

    sockets: Sockets
    seconds: float = HEADER_SECONDS

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._unread = 0
        self._is_in_head = self._moved = False

    def connection_made(self, transport: Any) -> None:
        """Takes a place, or is closed at once."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self.sockets.opened(self, network_of(address)):
            transport.write(_FULL)
            transport.close()
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leaves its place."""
        self._in_time()
        self._reads_on()
        self.sockets.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The head of a request has to be there soon behind its first byte."""
        asks = self._asks
        self._moved = False
        super().data_received(data)
        self._unread = 0 if self._moved else self._unread + len(data)
        if self._unread > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")
        if self._asks:
            self._in_time()
            if not asks:
                self.sockets.asks(self)
        elif self._late is None:
            self._expect()

    def on_message_begin(self) -> None:
        """The head of a request begins."""
        self._is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what stands behind a body is none: a proxy has not looked at it as one."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there; it names its host once.

        Raises:
            _MisreadError: it does not, and is answered with 400.
        """
        self._is_in_head, self._moved = False, True
        assert self.parser is not None, "it is what calls"
        if sum(name == b"host" for name, _ in self.headers) != 1 and self.parser.get_http_version() == "1.1":
            raise _MisreadError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        self._moved = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """It is silent again, unless its next request has come already."""
        super().on_response_complete()
        if not self._asks:
            self.sockets.answered(self)

    def pause_writing(self) -> None:
        """Whoever asked does not read; after a time it is let go."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.drop)

    def resume_writing(self) -> None:
        """It reads on."""
        super().resume_writing()
        self._reads_on()

    def drop(self) -> None:
        """Closes it at once."""
        self._in_time()
        self.transport.abort()

    @property
    def _asks(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _expect(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.drop)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _reads_on(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def connections_of(most: int, of_one: int, seconds: float = HEADER_SECONDS) -> type[Connection]:
    """The class of the connections of one server.

    Args:
        most: connections at a time.
        of_one: of them, of one network.
        seconds: so long the head of a request may take.
    """
    return type("Connection", (Connection,), {"sockets": Sockets(most, of_one), "seconds": seconds})


CLIENTS: Final = 10_000
"""So many clients' rates are remembered; the one that was silent longest is forgotten first."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")

AsgiScope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def is_loopback(host: str) -> bool:
    """Returns whether a host is this machine, by its name or address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ListenConfig(NamedTuple):
    """How a service is reached.

    Attributes:
        host: to bind to; without a file of tokens, loopback only.
        tokens: the file of tokens; None: every client on this machine may ask.
        allowed_hosts: besides loopback, as clients write them: `name` or `name:port`.
        allowed_origins: besides none at all and loopback's, for pages in browsers.
        rate, burst: requests a second of one client, and how many at once.
        certificate, key: of TLS; both or none.
    """

    host: str = "127.0.0.1"
    port: int = 8710
    tokens: Path | None = None
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    rate: float = 20.0
    burst: int = 40
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """Returns whether only this machine reaches it."""
        return is_loopback(self.host.strip("[]"))

    def check(self) -> None:
        """
        Raises:
            UsageError: strangers could come in, or TLS is named by half, or by files that are of no use to it.
        """
        if self.tokens is None and not self.is_loopback:
            raise UsageError(
                "whoever reaches this address could ask",
                path="--host",
                expected="loopback, or a file of tokens besides",
                hint="`sluice mcp token new --tokens FILE` makes one, `--tokens FILE` names it",
            )
        if self.tokens is not None:
            read_tokens(self.tokens)  # or nobody would be told before the first request
        if (self.certificate is None) != (self.key is None):
            raise UsageError("a certificate and its key go together", path="--tls-cert, --tls-key")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise UsageError("there is no such file", path=str(file))
        if self.certificate is not None and self.key is not None:
            _check_chain(self.certificate, self.key)


def _check_chain(certificate: Path, key: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(certificate)
    except OSError:
        raise UsageError("no certificate can be read from it", path=str(certificate), expected="PEM") from None
    try:
        context.load_cert_chain(certificate, key, password="")  # or a service would wait for somebody to type one
    except OSError:
        raise UsageError(
            "no private key of that certificate can be read from it",
            path=str(key),
            expected="PEM, without a passphrase",
        ) from None


class Rates:
    """Token buckets, one for each client: `burst` requests at once, `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> bool:
        """Whether this client may ask once more now."""
        now = monotonic()
        left, since = self._buckets.pop(who, (float(self._burst), now))
        left = min(float(self._burst), left + (now - since) * self._rate)
        allowed = left >= 1
        self._buckets[who] = (left - 1 if allowed else left, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return allowed

    def charge(self, who: str, requests: float) -> None:
        """Charges a client for further requests: it is refused until its allowance has grown back."""
        left, since = self._buckets.get(who, (float(self._burst), monotonic()))
        self._buckets[who] = (left - requests, since)


async def served(application: Application, config: ListenConfig, connections: int, of_one: int | None = None) -> None:
    """Serves an application until cancelled; what is being answered then has three seconds.

    Args:
        application: what answers.
        config: where.
        connections: so many at a time.
        of_one: of them, of one address; None: all.

    Raises:
        UnreachableError: the address cannot be bound.
    """
    if not config.is_loopback and config.certificate is None:
        log.warning("bearer tokens cross the network in clear: use --tls-cert and --tls-key, or a proxy that ends TLS")
    server_config = uvicorn.Config(
        application,  # pyright: ignore[reportArgumentType]  # uvicorn's own names for the same shapes
        host=config.host.strip("[]"),
        port=config.port,
        ssl_certfile=config.certificate,
        ssl_keyfile=config.key,
        log_config=None,
        access_log=False,  # what is asked is nobody's to keep
        server_header=False,
        proxy_headers=False,  # an address in a header is whatever the client says
        http=connections_of(connections, of_one or connections),
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
    )
    running = _Server(server_config)
    serving = asyncio.ensure_future(running.serve(sockets=[_bound(config)]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        running.should_exit = True
        await asyncio.wait({serving}, timeout=5)
        raise


async def until_stopped(
    work: Sequence[asyncio.Task[object]],
    stop: asyncio.Event | None,
    last: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Waits until one of the tasks ends or a stop is asked for, then runs `last` and cancels the tasks.

    Args:
        work: the tasks.
        stop: asks for the stop once it is set; None: SIGINT and SIGTERM do.
        last: runs before the tasks are cancelled; None: nothing does.

    Raises:
        Exception: whatever ended a task with an error.
    """
    if stop is None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tasks: list[asyncio.Task[object]] = [*work, asyncio.create_task(stop.wait(), name="until-stopped")]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # with the reason why it ended
    finally:
        if last is not None:
            await last()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Server(uvicorn.Server):
    """Leaves signals to the process, which has a view to let go of as well."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _bound(config: ListenConfig) -> socket.socket:
    """A socket at the configured address; uvicorn would end the process where there can be none."""
    host = config.host.strip("[]")
    try:
        return socket.create_server((host, config.port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UnreachableError(
            f"the address cannot be bound: {error.strerror}",
            path=f"{config.host}:{config.port}",
            hint="choose another with --port",
        ) from None


def headers_of(scope: AsgiScope) -> dict[str, str]:
    """The headers of an ASGI request, with their names in small letters.

    Several of one name are one list (RFC 9110, section 5.3), so two tokens or origins are neither of them.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        between = "; " if name == "cookie" else ", "
        headers[name] = headers[name] + between + value if name in headers else value
    return headers


def without_port(host: str) -> str:
    """A `Host` header without its port; an IPv6 address without one stays whole."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host
