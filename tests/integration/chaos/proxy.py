"""A TCP proxy that can be cut: connections stay, new ones are taken, and nothing is forwarded until it is mended.

That is what a network without a route looks like to both ends: silence, no reset. What was on its way is forwarded
late, as TCP does, so the broker then gets the requests of a worker that it has long given up. A cut can also concern
what a worker says to its group's coordinator alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Collection

CHUNK = 65_536
MEMBERSHIP = frozenset({11, 12, 13, 14})
"""Kafka's API keys of what members of a group say to its coordinator: join, heartbeat, leave, sync."""


class Proxy:
    """Forwards `127.0.0.1:port` to `127.0.0.1:target`, as an asynchronous context manager."""

    def __init__(self) -> None:
        self.target = 0
        self.held = 0
        """Bytes that came while it was cut, over all cuts."""
        self._whole = asyncio.Event()
        self._whole.set()
        self._only: Collection[int] = ()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    def cut(self, only: Collection[int] = ()) -> None:
        """Forwards nothing from now on; of these API keys no request, and what follows one on its connection."""
        self._only = only
        self._whole.clear()

    def mend(self) -> None:
        """Forwards again, what was held included."""
        self._whole.set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if not self._only:
                await self._whole.wait()
            from_broker, to_broker = await asyncio.open_connection("127.0.0.1", self.target)
            try:
                both = [
                    asyncio.ensure_future(self._requests(reader, to_broker)),
                    asyncio.ensure_future(self._answers(from_broker, writer)),
                ]
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for one in both:
                    one.cancel()
                await asyncio.gather(*both, return_exceptions=True)
            finally:
                to_broker.close()
        except OSError:
            pass  # the broker is away: so is the connection
        except asyncio.CancelledError:
            pass  # the run is over; asyncio's server would log a cancelled handler
        finally:
            self._connections.discard(task)
            writer.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Kafka's frames, as each says first how long it is, and then what it asks for."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                size = await reader.readexactly(4)
                frame = await reader.readexactly(*struct.unpack(">i", size))
                (key,) = struct.unpack_from(">h", frame)
                if not self._only or key in self._only:
                    await self._hold(len(size) + len(frame))
                writer.write(size + frame)
                await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if not self._only:
                    await self._hold(len(data))
                writer.write(data)
                await writer.drain()

    async def _hold(self, size: int) -> None:
        """Waits while it is cut."""
        if not self._whole.is_set():
            self.held += size
            await self._whole.wait()
