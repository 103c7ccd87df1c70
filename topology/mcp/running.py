"""One process of the adapter: the view that follows the broker in the background, and a transport in front of it."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from mcp.server import Server
from mcp.server.stdio import stdio_server

from .. import logs
from ..settings import Settings
from .adapter import Adapter
from .following import Following
from .http import Door, serve
from .readers import Readers
from .server import create_server


def run_adapter(settings: Settings, view: Path, door: Door | None) -> None:
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


async def _run(settings: Settings, path: Path, door: Door | None) -> None:
    readers = Readers(path)
    server = create_server(Adapter(readers, settings))
    following: asyncio.Task[object] = asyncio.create_task(Following(settings, path).run(), name="view-follows")
    serving: asyncio.Task[object] = asyncio.create_task(
        _stdio(server) if door is None else serve(server, door), name="adapter-serves"
    )
    told = asyncio.Event()
    if door is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
    until_told: asyncio.Task[object] = asyncio.create_task(told.wait(), name="until-told")
    tasks = {following, serving, until_told}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # with the reason why it ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        readers.close()


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
