"""The stdio transport of MCP, bounded: a server's process, its lines in and out (MCP, «Transports», stdio).

The official client's own transport keeps a line in memory however long it grows; this one ends the server instead.
The process has a group of its own, which is ended with the session: standard input is closed, then SIGTERM, then
SIGKILL, so that no orphan stays. What it writes to standard error is a stranger's, and nobody's to read.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import mcp_types
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

_CHUNK: Final = 65_536
GRACE_SECONDS: Final = 1.0
"""How long a server may take to end by itself, and again after SIGTERM."""
MAX_NONSENSE: Final = 20
"""Lines that are no message: some servers log to standard output; one that does nothing else is none."""


class Meter:
    """What a session may still send: bytes, and lines that are no message.

    Args:
        size: bytes between two calls of `reset`, and in one line, event or body.
        broken: told why, once, when either is exceeded or the stream ends.
    """

    def __init__(self, size: int, broken: Callable[[str], None]) -> None:
        self.size, self._broken = size, broken
        self._left, self._nonsense = size, 0

    def reset(self) -> None:
        """A new call: it may bring as much again."""
        self._left = self.size

    def spend(self, size: int) -> bool:
        """Counts bytes that came; False where they are too many."""
        self._left -= size
        if self._left < 0:
            self.broken(f"the server sent more than {self.size} bytes")
        return self._left >= 0

    def nonsense(self) -> bool:
        """Counts a line that is no message; False where there were too many."""
        self._nonsense += 1
        if self._nonsense > MAX_NONSENSE:
            self.broken("the server does not speak the Model Context Protocol")
        return self._nonsense <= MAX_NONSENSE

    def broken(self, reason: str) -> None:
        """The session is of no more use."""
        self._broken(reason)


@asynccontextmanager
async def stdio_transport(command: Sequence[str], variables: Mapping[str, str], meter: Meter) -> AsyncIterator[Any]:
    """Starts the server; yields the streams that the client wants; ends the server.

    Args:
        command: the program and its arguments; never a shell.
        variables: of its environment, beside PATH, HOME and their like.
        meter: bounds what it may send.

    Raises:
        OSError: it cannot be started.
    """
    process = await anyio.open_process(
        list(command),
        env={**get_default_environment(), **variables},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    to_client, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        assert process.stdout is not None
        buffer = bytearray()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
            async with to_client:
                while True:
                    chunk = await process.stdout.receive(_CHUNK)
                    if not meter.spend(len(chunk)):
                        return
                    *lines, rest = chunk.split(b"\n")
                    for line in lines:
                        message = _message(bytes(buffer) + line)
                        buffer.clear()
                        if message is not None:
                            await to_client.send(message)
                        elif not meter.nonsense():
                            return
                    buffer += rest
        meter.broken("the server ended")

    async def write() -> None:
        assert process.stdin is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for sent in from_client:
                line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(line.encode() + b"\n")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            try:
                yield from_server, to_server
            finally:
                tasks.cancel_scope.cancel()
    finally:
        try:
            with anyio.CancelScope(shield=True):
                await _end(process)
        finally:
            _kill(process)
        for stream in (to_client, from_server, to_server, from_client):
            stream.close()


def _message(line: bytes) -> SessionMessage | None:
    """The message of a line; None where it is none. An empty line is nonsense as well."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _end(process: Process) -> None:
    """Ends the process and whatever it started in its group. Every wait is bounded."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.aclose()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        if number != signal.SIGKILL and process.returncode is None:
            await _ended(process)
    await _ended(process)
    if process.stdout is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdout.aclose()


def _kill(process: Process) -> None:
    """The last word, without waiting: also where the wait was cut off."""
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    # A child that inherited the pipes would keep the event loop's end of them open; nothing public closes it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _ended(process: Process) -> None:
    # Not process.wait(): that also waits for the end of the pipes, which a child may have inherited.
    deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
