"""The small web server of a service: what it counts, whether it lives, whether it is ready (docs/metrics.md).

Not Faust's own, whose pages tell everybody more than a probe needs. It reads only, and knows no secrets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web

from ...codecs.errors import UsageError

TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""

T = TypeVar("T", bytes, str)
PageSource = Callable[[], T | Awaitable[T]]
"""Asked at each request; what has to be looked up first may take its time."""


class Web:
    """`/metrics`, `/healthz` and `/readyz` on one port.

    Args:
        host, port: where to listen.
        metrics: all of them, in Prometheus' text format.
        healthy: an empty text, or why the process had better be started again.
        ready: an empty text, or what it is waiting for.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        metrics: PageSource[bytes],
        healthy: PageSource[str],
        ready: PageSource[str],
    ) -> None:
        self._host, self._port = host, port
        app = web.Application()

        async def tell(_: web.Request) -> web.Response:
            return web.Response(body=await _asked(metrics), headers={"Content-Type": TEXT})

        app.router.add_get("/metrics", tell)
        app.router.add_get("/healthz", _probe(healthy))
        app.router.add_get("/readyz", _probe(ready))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)

    async def start(self) -> None:
        """Listens.

        Raises:
            UsageError: the port cannot be had.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise UsageError(
                f"the web server cannot listen: {error.strerror}",
                path=f"{self._host}:{self._port}",
                hint="see web_port",
            ) from None

    async def stop(self) -> None:
        """Closes the port."""
        await self._runner.cleanup()


async def _asked(ask: PageSource[T]) -> T:
    found = ask()
    return await found if isinstance(found, Awaitable) else found


def _probe(ask: PageSource[str]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        wrong = await _asked(ask)
        return web.Response(text=(wrong or "ok") + "\n", status=503 if wrong else 200)

    return answer
