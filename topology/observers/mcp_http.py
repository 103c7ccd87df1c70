"""The streamable HTTP transport of MCP, bounded (MCP, «Transports», streamable HTTP).

The official client reads a JSON answer whole, whatever its length; here the bytes are counted where they come from
the network, uncompressed: nothing compressed is asked for or taken. No proxy of the environment is used, and the
official client follows redirects within the listed origin only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from .mcp_stdio import Meter

_SILENCE: Final = 300.0
"""Seconds without a byte until a waiting connection is closed: looks have shorter bounds of their own."""


class _Counted(httpx2.AsyncByteStream):
    """A body that is counted while it is read."""

    def __init__(self, stream: httpx2.AsyncByteStream, meter: Meter) -> None:
        self._stream, self._meter = stream, meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if not self._meter.spend(len(chunk)):
                raise httpx2.ReadError("too many bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncBaseTransport):
    """HTTP whose answers are counted, and come uncompressed or not at all."""

    def __init__(self, meter: Meter) -> None:
        self._inner, self._meter = httpx2.AsyncHTTPTransport(trust_env=False), meter

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            await answer.aclose()
            self._meter.broken("the server compresses its answers although nobody asked for it")
            raise httpx2.ReadError("a compressed answer", request=request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Counted(answer.stream, self._meter),
            extensions=answer.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], seconds: float, meter: Meter) -> AsyncIterator[Any]:
    """The streams that the client wants, to a server behind a URL.

    Args:
        url: as the operator lists it.
        headers: of every request.
        seconds: to connect, and to send a request.
        meter: bounds what it may send.
    """
    timeout = httpx2.Timeout(seconds, read=_SILENCE)
    async with (
        httpx2.AsyncClient(transport=_Bounded(meter), headers=dict(headers), timeout=timeout, trust_env=False) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=meter.size) as streams,
    ):
        yield streams
