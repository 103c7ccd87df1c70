"""Which addresses a name may lead to: public ones, unless the operator listed the channel as private (observing.md).

Names are resolved, and held against this, in public_resolver.py.
"""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

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
