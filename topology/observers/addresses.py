"""Which addresses a name may lead to: public ones, unless the operator listed the channel as private (observing.md).

A name is resolved once for each connection, every address that it has is held against this, and the connection goes to
one of those addresses: so a name that leads elsewhere the next time (DNS rebinding) leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

PRIVATE: Final = "the channel's name leads to an address that is not public"
_TRANSLATED: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
"""IPv6 networks of which an address ends with an IPv4 one (RFC 6052, RFC 8215)."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: str) -> bool:
    """Whether an address is one of the internet: not loopback, private, link-local, shared, reserved or multicast,
    in whichever spelling, and by no IPv6 address that stands for such an IPv4 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = _inner(found)
        if inner is not None:
            return _is_global(inner)
    return _is_global(found)


def _is_global(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for; None where it stands for itself."""
    found = address.ipv4_mapped or address.sixtofour
    if found is None and any(address in network for network in _TRANSLATED):
        found = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return found


def names_an_address(url: str) -> bool:
    """Whether a URL's host is an address itself, or this machine: then the operator listed it as what it is."""
    host = urlsplit(url).hostname or ""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


class NotPublicError(OSError):
    """A name leads to an address that is not public."""

    def __init__(self) -> None:
        super().__init__(PRIVATE)


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses only; one that has any other is not resolved at all."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name, as aiohttp connects to them.

        Raises:
            NotPublicError: one of them is not public.
            OSError: there are none.
        """
        found = await self._inner.resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise NotPublicError
        return found

    async def close(self) -> None:
        """Nothing is kept."""
        await self._inner.close()
