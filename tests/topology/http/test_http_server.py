"""Connections that ask nothing: they end, and they keep nobody out. Over real sockets."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvicorn

from sluice.topology.http import http_server as sockets_module
from sluice.topology.http.http_server import Sockets, connections_of, network_of

ASK = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


@asynccontextmanager
async def serving(most=10, of_one=10, seconds=60.0, body=b"ok"):
    """A server that answers at once, and `/wait` never; gives its port and its sockets."""

    async def application(scope, receive, send):
        if scope["path"] == "/wait":
            await asyncio.Event().wait()
        if scope["path"] == "/headers":
            while (await receive()).get("more_body"):
                pass
            names = b" ".join(sorted(name for name, _ in scope["headers"]))
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-names", names)]})
            await send({"type": "http.response.body"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    kind = connections_of(most, of_one, seconds)
    config = uvicorn.Config(application, port=0, http=kind, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1], kind.sockets
    finally:
        for connection in list(server.server_state.connections):
            connection.drop()
        for task in list(server.server_state.tasks):
            task.cancel()
        for one in server.servers:
            one.close()


async def _answer(stream):
    async with asyncio.timeout(60):
        return (await stream[0].readline()).split()[1]


async def _is_closed(stream):
    async with asyncio.timeout(60):
        try:
            return await stream[0].read(1) == b""
        except ConnectionError:
            return True


async def _open(port, *writes):
    stream = await asyncio.open_connection("127.0.0.1", port)
    for one in writes:
        stream[1].write(one)
    return stream


async def _until(wanted):
    async with asyncio.timeout(60):
        while not wanted():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_silent_connections_keep_nobody_out():
    """Where all places are taken, the one that has been silent longest is closed for a new one."""
    async with serving(most=3) as (port, sockets):
        silent = []
        for _ in range(3):
            silent.append(await _open(port))
            await _until(lambda: len(sockets) == len(silent))
        asking = await _open(port, ASK)

        assert await _answer(asking) == b"200"
        assert await _is_closed(silent[0])
        assert len(sockets) == 3


async def test_one_that_is_answered_is_not_closed_for_another():
    """A new one is told that there is no room."""
    async with serving(most=2) as (port, sockets):
        waiting = [await _open(port, ASK.replace(b"/ ", b"/wait ")) for _ in range(2)]
        await _until(lambda: len(sockets) == 2 and not sockets._silent)
        told = await _open(port, ASK)

        assert await _answer(told) == b"503"
        assert len(sockets) == 2
        assert not waiting[0][0].at_eof()


async def test_one_address_has_its_share():
    """Its own silent connection goes, though there is room for others."""
    async with serving(most=10, of_one=1) as (port, sockets):
        first = await _open(port)
        await _until(lambda: len(sockets) == 1)
        second = await _open(port, ASK)

        assert await _answer(second) == b"200"
        assert await _is_closed(first)


@pytest.mark.parametrize("said", [b"", ASK[:20], pytest.param(ASK + ASK[:5], marks=pytest.mark.slow)])
async def test_a_request_that_does_not_come_ends_its_connection(said):
    """Silent, or with a head by bits, at the beginning or behind an answer."""
    async with serving(seconds=0.1) as (port, _):
        stream = await _open(port, said)
        if said.startswith(ASK):
            assert await _answer(stream) == b"200"
            async with asyncio.timeout(60):
                await stream[0].read()
        else:
            assert await _is_closed(stream)


CHUNKED = b"POST /headers HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", b"a" * 1000),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n", b"x: a\r\n" * 200),
        (b"GET /", b"a" * 1000),
        (CHUNKED + b"1;a=", b"b" * 1000),
        (CHUNKED + b"0\r\nx: ", b"a" * 1000),
        (CHUNKED + b"0\r\n", b"x: a\r\n" * 200),
    ],
)
async def test_what_never_ends_is_refused(begin, piece):
    """A head, a line of it, the extension of a chunk, what stands behind a body: none of them fills the memory."""
    async with serving() as (port, sockets):
        reader, writer = await _open(port, begin)
        sent = 0
        async with asyncio.timeout(60):
            while (not reader.at_eof() and len(sockets)) or not sent:
                try:
                    writer.write(piece)
                    await writer.drain()
                except ConnectionError:
                    break
                sent += len(piece)
                await asyncio.sleep(0)
        assert sent < 10_000_000
        await _until(lambda: len(sockets) == 0)


async def test_what_stands_behind_a_body_is_no_header():
    """A proxy in front has taken nothing out of it: it names no host, no origin and no token."""
    behind = b"0\r\nauthorization: Bearer stolen\r\norigin: http://localhost\r\n\r\n"
    async with serving() as (port, _):
        for pieces in ([CHUNKED + b"1\r\na\r\n" + behind], [CHUNKED, b"1\r\na\r\n", behind]):
            stream = await _open(port, pieces[0])
            for one in pieces[1:]:
                await asyncio.sleep(0.02)
                stream[1].write(one)
            assert await _answer(stream) == b"200"
            async with asyncio.timeout(60):
                head = await stream[0].readuntil(b"\r\n\r\n")
            assert b"x-names: host transfer-encoding\r\n" in head


async def test_requests_in_one_piece_are_answered_in_their_order():
    """Each with its own answer, and the connection is silent behind the last one."""
    async with serving() as (port, sockets):
        stream = await _open(port, CHUNKED + b"0\r\n\r\n" + ASK + CHUNKED + b"0\r\n\r\n")
        found = b""
        async with asyncio.timeout(60):
            while found.count(b"HTTP/1.1 200") < 3 or not found.endswith(b"0\r\n\r\n"):
                found += await stream[0].read(10_000)
        await _until(lambda: len(sockets._silent) == 1)

    first, second, third = (part.partition(b"\r\n\r\n")[0] for part in found.split(b"HTTP/1.1 ")[1:])
    assert [b"x-names" in one for one in (first, second, third)] == [True, False, True]


async def test_whoever_does_not_read_is_let_go(monkeypatch):
    """An answer that nobody takes holds no place for ever."""
    monkeypatch.setattr(sockets_module, "STALLED_SECONDS", 0.1)
    async with serving(body=b"x" * 50_000_000) as (port, sockets):
        await _open(port, ASK)
        await _until(lambda: len(sockets) == 1)
        await _until(lambda: len(sockets) == 0)

    assert sockets._counts == {}


def test_a_network_is_counted_as_one():
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert network_of("::ffff:10.0.0.1") == "10.0.0.1"
    assert network_of("10.0.0.1") != network_of("10.0.0.2")
    assert network_of("unix") == "unix"


def test_what_is_closed_twice_is_counted_once():
    sockets = Sockets(2, 2)
    sockets.opened("a", "net")
    sockets.closed("a")
    sockets.closed("a")
    sockets.answered("a")

    assert (len(sockets), sockets._counts, list(sockets._silent)) == (0, {}, [])
