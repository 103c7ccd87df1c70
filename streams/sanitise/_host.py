"""Hosts that no reader of a stranger's URI should be sent to: those of its own machine and of the network around it.

A client that fetches a cited work would ask them on the attacker's behalf. A name without a dot is one of them: no
public host has such a name, and a resolver completes it with the domain of its own network. Every spelling counts that
some client understands: decimal, octal and hexadecimal numbers, fewer than four parts, IPv6 with an IPv4 address in it,
a dot at the end. The ranges are written down here: those of the standard library depend on its version, and what
becomes of a record must not.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final

_NAMES: Final = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|svc|home\.arpa"
    r"|localtest\.me|lvh\.me|(?:nip|sslip|xip)\.io)"
)
"""Special names (RFC 6761, RFC 6762 appendix G), a cluster's services, and public names that lead to addresses of the
reader's network."""
_LABEL: Final = r"(?!-)[A-Za-z0-9_-]{1,63}+(?<!-)"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+\.?")
_NUMBER: Final = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")


def _range(first: str, bits: int) -> tuple[int, int]:
    low = 0
    for part in first.split("."):
        low = low << 8 | int(part)
    return low, low | ((1 << 32 - bits) - 1)


_PRIVATE: Final = (
    *(_range("0.0.0.0", 8), _range("10.0.0.0", 8), _range("100.64.0.0", 10), _range("127.0.0.0", 8)),
    *(_range("169.254.0.0", 16), _range("172.16.0.0", 12), _range("192.0.0.0", 24), _range("192.168.0.0", 16)),
    *(_range("198.18.0.0", 15), _range("224.0.0.0", 4), _range("240.0.0.0", 4)),
)
"""This host, private, shared, loopback, link-local, protocols, benchmarks, multicast, reserved (RFC 6890)."""
_PRIVATE_6: Final = ((0xFC00, 7), (0xFE80, 10), (0xFEC0, 10), (0xFF00, 8))
"""Unique local, link-local, site-local, multicast: the first 16 bits, and how many of them count."""


def is_host(host: str) -> bool:
    """Whether a host is a name that DNS knows (RFC 1123, with `_`): RFC 3986 lets it also be
    `a.example;b.example`, which is shown as one host and read as another."""
    return len(host) <= 254 and _HOST.fullmatch(host) is not None


def is_private(host: str) -> bool:
    """Whether a host, as it stands in a URI, is loopback, private or link-local, or may be one for some reader.

    Args:
        host: a name or an address, IPv6 in brackets; not percent-encoded.
    """
    host = host.lower().rstrip(".")
    if host.startswith("["):
        return _is_private_6(host.strip("[]"))
    if _NAMES.fullmatch(host):
        return True
    last = host.rpartition(".")[2]
    if not _NUMBER.fullmatch(last):
        return "." not in host
    readings = _readings(host)
    # What ends in a number and is no address is refused as well: who knows what a client makes of it.
    return not readings or any(low <= reading <= high for reading in readings for low, high in _PRIVATE)


def _readings(host: str) -> set[int]:
    """The addresses that clients read in a host of numbers: with octal and hexadecimal parts, and with decimal ones."""
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) and len(part) <= 20 for part in parts):
        return set()
    found: set[int] = set()
    for octal in (True, False):
        try:
            numbers = [_number(part, octal) for part in parts]
        except ValueError:
            continue
        *front, last = numbers
        if all(number < 256 for number in front) and last < 256 ** (5 - len(parts)):
            address = last
            for place, number in enumerate(front):
                address += number << 8 * (3 - place)
            found.add(address)
    return found


def _number(part: str, octal: bool) -> int:
    if part[:2] == "0x":
        return int(part[2:] or "0", 16)
    return int(part, 8) if octal and part[0] == "0" else int(part)


def _is_private_6(host: str) -> bool:
    try:
        address = int(IPv6Address(host))
    except AddressValueError:
        return True  # a version of the future, or a zone: no public host
    head = address >> 112
    if any(head >> 16 - bits == first >> 16 - bits for first, bits in _PRIVATE_6) or address >> 80 == 0x64FF9B0001:
        return True
    return any(low <= inner <= high for inner in _inside(address) for low, high in _PRIVATE)


def _inside(address: int) -> list[int]:
    """The IPv4 addresses that an IPv6 address carries: mapped, compatible, translated, 6to4, Teredo."""
    low, front = address & 0xFFFFFFFF, address >> 32
    if front in (0, 0xFFFF, 0xFFFF0000, 0x0064FF9B << 64):  # `::1` and `::` are in 0/8 as well
        return [low]
    if address >> 112 == 0x2002:
        return [address >> 80 & 0xFFFFFFFF]
    if address >> 96 == 0x20010000:
        return [address >> 64 & 0xFFFFFFFF, low ^ 0xFFFFFFFF]
    return []
