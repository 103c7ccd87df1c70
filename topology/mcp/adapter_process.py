"""One process of the adapter: the view that follows the broker in the background, and a transport in front of it.

With the setting `web_port` also the pages of metrics and probes, as workers have them (web.py), on a port of their own.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import structlog
from mcp.server import Server
from mcp.server.stdio import stdio_server

from ...codecs.errors import SluiceError, UsageError
from ..settings import logs
from ..settings.settings import Settings
from ..worker.web import Web
from .adapter import Adapter
from .adapter_metrics import AdapterMetrics
from .door import until_stopped
from .http import Door, open_sessions, serve
from .readers import Readers
from .server import create_server, sentence
from .view_follower import Following

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


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
    readers, watching, following = Readers(path), Readers(path), Following(settings, path)
    adapter = Adapter(readers, settings)
    meter = AdapterMetrics(watching, lambda: open_sessions(server), following.refused)
    server = create_server(adapter, meter)
    web = _web(settings, meter, adapter)
    try:
        await _listen(web, needed=door is not None)
        follows: asyncio.Task[object] = asyncio.create_task(following.run(), name="view-follows")
        answers = _stdio(server) if door is None else serve(server, door, meter)
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
