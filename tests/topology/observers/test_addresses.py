"""Channels are public unless the operator lists them as private; what counts is the address that is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from sluice.codecs.errors import UsageError
from sluice.topology.observers.ask import CannotLook
from sluice.topology.observers.operator_list import SseChannel, is_public, load_access, names_an_address
from sluice.topology.observers.sse_channel import PRIVATE, Channel, NotPublicError, PublicResolver

ADDRESSES = {
    "8.8.8.8": True, "2606:4700::1111": True, "127.0.0.1": False, "127.8.8.8": False, "0.0.0.0": False,
    "10.0.0.1": False, "172.16.3.4": False, "192.168.1.1": False, "169.254.169.254": False, "100.64.0.1": False,
    "198.18.0.1": False, "192.0.2.7": False, "224.0.0.1": False, "255.255.255.255": False, "240.0.0.1": False,
    "::": False, "::1": False, "fe80::1": False, "fe80::1%eth0": False, "fc00::1": False, "fd12::1": False,
    "ff02::1": False, "::ffff:127.0.0.1": False, "::ffff:10.0.0.1": False, "::ffff:8.8.8.8": True,
    "64:ff9b::7f00:1": False, "64:ff9b::a9fe:a9fe": False, "64:ff9b::808:808": True, "2002:7f00:1::": False,
    "2002:0a00:0001::1": False, "2001:db8::1": False, "": False, "localhost": False, "8.8.8": False,
}  # fmt: skip


@pytest.mark.parametrize(("address", "public"), ADDRESSES.items())
def test_which_addresses_are_public(address: str, public: bool):
    """In every spelling, and through every way in which IPv6 carries IPv4."""
    assert is_public(address) is public


def test_a_channel_is_private_where_it_is_listed_as_such():
    """By an address in its URL, as this machine, or by `private`; any other name has to lead to the internet."""
    listed = load_access(
        '[sse]\nurls = ["http://127.0.0.1:8/a", "http://LOCALHOST./b", "http://[::1]/c", "https://events.test/d"]\n'
        '[sse.inner]\nurl = "http://inner.test/e"\nprivate = true\n[sse.outer]\nurl = "http://2130706433/f"\n'
    ).sse
    private = {channel.url.rpartition("/")[2]: channel.private for channel in listed.values()}
    assert private == {"a": True, "b": True, "c": True, "d": False, "e": True, "f": False}
    with pytest.raises(UsageError, match="true or false"):
        load_access('[sse]\nurls = ["https://events.test/d"]\nprivate = "yes"\n')


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Somebody who listens on this machine, and whom nobody may call."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(0.2)
        yield made


def addresses(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Has names resolve to these addresses, one answer after the other; which names were asked."""
    asked: list[str] = []
    left = list(answers)

    async def resolve(self: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, object]]:
        asked.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [{"hostname": host, "host": one, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
                for one in found]  # fmt: skip

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    return asked


async def why(url: str, *, private: bool = False) -> str:
    """Why a channel cannot be heard."""
    text = f'[sse.one]\nurl = "{url}"\nprivate = {str(private).lower()}\n'
    (listed,) = load_access(text).sse.values()
    channel = Channel(listed, fresh=10, size=10_000, connect=2, clock=lambda: 0)
    with pytest.raises(CannotLook) as refused:
        await channel.report()
    assert channel._task is not None
    channel._task.cancel()
    return str(refused.value)


@pytest.mark.parametrize("host", ["events.test", "2130706433", "0x7f.1", "127.1", "metadata.internal"])
async def test_a_name_that_leads_inside_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, server: socket.socket, host: str
):
    """Whatever it is called: what it resolves to counts. One inner address among public ones is enough."""
    for found in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"]):
        addresses(monkeypatch, found)
        said = await why(f"http://{host}:{server.getsockname()[1]}/events")
        assert said == PRIVATE or said.endswith("InvalidUrlClientError")  # what is a number, aiohttp takes for no name
    with pytest.raises(TimeoutError):
        server.accept()


async def test_a_name_is_resolved_once_and_that_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, server: socket.socket
):
    """A name that was public when it was looked up, and is loopback when it is looked up again, leads nowhere."""
    asked = addresses(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    connected: list[str] = []

    async def connect(self: object, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise OSError("no network in a test")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(type(loop), "sock_connect", lambda self, sock, address: connect(self, address))
    said = await why(f"http://events.test:{server.getsockname()[1]}/events")
    assert said.startswith("the channel is not to be reached")
    assert (asked, connected) == (["events.test"], ["8.8.8.8"])


async def test_what_is_listed_as_private_is_connected_to(monkeypatch: pytest.MonkeyPatch, server: socket.socket):
    """The operator's word."""
    addresses(monkeypatch, ["127.0.0.1"])
    looking = asyncio.create_task(why(f"http://inner.test:{server.getsockname()[1]}/events", private=True))
    connection, _ = await asyncio.to_thread(server.accept)
    connection.close()
    assert await looking != PRIVATE


async def test_the_resolver_says_so_itself(monkeypatch: pytest.MonkeyPatch):
    """And gives the public addresses of a name as they are."""
    addresses(monkeypatch, ["8.8.8.8", "1.1.1.1"], ["10.0.0.1"])
    resolver = PublicResolver()
    assert [one["host"] for one in await resolver.resolve("events.test", 80)] == ["8.8.8.8", "1.1.1.1"]
    with pytest.raises(NotPublicError):
        await resolver.resolve("events.test", 80)
    await resolver.close()


def test_which_urls_name_an_address():
    """Only what reads as one to anybody."""
    assert names_an_address("http://[fe80::1]/")
    assert not names_an_address("http://127.1/")
    assert not names_an_address("http://localhost.example/")
    assert "private" in SseChannel._fields
