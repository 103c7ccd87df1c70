"""The connections of an HTTP server: how many there may be, of one network too, and how long one may say nothing.

A connection that asks nothing holds a place that others want. So the head of a request has to be there soon; where all
places are taken, the connection that has been silent longest is closed for a new one. One that is being answered is
never closed for another.

httptools reads requests, in C. It has no bound of its own for a head or for what stands behind a body, and gives both
to one callback: the bounds are here.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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

    Args:
        most: connections at a time.
        of_one: of them, of one network.
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
