"""URIs of attestations: which are refused, their hardened form, and hosts that are private [V §4]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from ipaddress import AddressValueError, IPv4Network, IPv6Address
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, unquote_to_bytes

from ...codecs.signatures import normalised
from ...codecs.unicode_text import find_invisible, settle
from ._markup import find_markers, may_be_html, may_be_link

if TYPE_CHECKING:
    from rfc3986 import URIReference

_NAMES: Final = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|svc|home\.arpa"
    r"|localtest\.me|lvh\.me|(?:nip|sslip|xip)\.io)"
)
"""Special names (RFC 6761, RFC 6762 appendix G), a cluster's services, and public names that lead to addresses of the
reader's network."""
_LABEL: Final = r"(?!-)[A-Za-z0-9_-]{1,63}+(?<!-)"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+\.?")
_NUMBER: Final = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")


_PRIVATE: Final = tuple(
    (int(network[0]), int(network[-1]))
    for network in map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
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
    addresses: set[int] = set()
    for octal in (True, False):
        try:
            numbers = [_number(part, octal) for part in parts]
        except ValueError:
            continue
        *front, last = numbers
        if all(number < 256 for number in front) and last < 256 ** (5 - len(parts)):
            addresses.add(last + sum(number << 8 * (3 - place) for place, number in enumerate(front)))
    return addresses


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


# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# (rfc3986 has no types of its own)


UriRefusal = Literal[
    "empty",
    "too-long",
    "not-rfc3986",
    "scheme",
    "host",
    "userinfo",
    "private-host",
    "type",
    "encoded-invisible",
    "encoded-control",
    "encoded-markup",
]
MAX_BYTES: Final = 1024
_SCHEMES: Final = frozenset({"https", "did", "urn", "arxiv"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_URN_NAMESPACES: Final = frozenset({"doi", "isbn", "pmid"})
_DID = re.compile(r"did:[a-z0-9]+:(?:[A-Za-z0-9._%-]*:)*[A-Za-z0-9._%-]+(?=[/?#]|\Z)", re.IGNORECASE)
_CHARACTERS = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*+")
_EMPTY_USERINFO = re.compile(r"https://@", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Most URIs are as plain as these, a small part of RFC 3986 that needs no parser: 0.6 us instead of 20.
_PLAIN = re.compile(
    r"https://((?:(?!-)[a-z0-9-]{1,63}+(?<!-)\.)*+[a-z][a-z0-9-]{0,62}+(?<!-))(?::[0-9]{1,4})?(?:/[A-Za-z0-9._~/-]*)?"
)
_PLAIN_NAME = re.compile(r"(?:(urn):(?:doi|isbn|pmid)|(arxiv)):[A-Za-z0-9][A-Za-z0-9._/-]*")


@cache
def _reader() -> Callable[[str], URIReference | None]:
    """Reads a URI; None for what is none. Made for the first one that is not plain: hardly any text has one, and to
    import the library takes a good part of the time in which a command starts."""
    from rfc3986 import uri_reference
    from rfc3986.exceptions import RFC3986Exception
    from rfc3986.validators import Validator

    syntax = (
        Validator()
        .require_presence_of("scheme")
        .check_validity_of("scheme", "userinfo", "host", "port", "path", "query", "fragment")
    )

    def read(uri: str) -> URIReference | None:
        try:
            parsed = uri_reference(uri)
            syntax.validate(parsed)
        except (RFC3986Exception, ValueError):
            return None
        return parsed

    return read


def harden_uri(uri: str) -> tuple[str, None] | tuple[None, UriRefusal]:
    """`[hostname] → URI` and None, or None and why the URI may not stand in the output.

    No user is named before the host, and the host is none of the reader's own network. It is that of the real
    authority; a URI without an authority has its scheme in the brackets.
    """
    if len(uri) <= MAX_BYTES:
        plain = _PLAIN.fullmatch(uri) or _PLAIN_NAME.fullmatch(uri)
        if plain:
            if plain.re is _PLAIN and is_private(plain[1]):
                return None, "private-host"
            return f"[{plain[plain.lastindex or 1]}] → {uri}", None
    if not uri:
        return None, "empty"
    if len(uri) > MAX_BYTES:
        return None, "too-long"
    scheme = _SCHEME.match(uri)
    if scheme and scheme[1].lower() not in _SCHEMES:
        return None, "scheme"
    # The characters first: the library lets a line feed at the end of a host pass.
    parsed = _parse(uri) if _CHARACTERS.fullmatch(uri) else None
    if parsed is None:
        return None, "host" if _has_empty_userinfo(uri) else "not-rfc3986"
    refusal = _refuse_scheme(uri, parsed) or (_refuse_encoded(uri) if "%" in uri else None)
    if refusal is None:
        refusal = _refuse_host(uri, parsed)
    if refusal is not None:
        return None, refusal
    web = _DID_WEB.match(uri)
    host = _host_of_did(web[1]) if web else parsed.host or parsed.scheme or ""
    return f"[{host.lower()}] → {uri}", None


def _parse(uri: str) -> URIReference | None:
    parsed = _reader()(uri)
    # It also encodes what must be encoded before it looks: what it puts together must be what was there.
    return parsed if parsed is not None and parsed.unsplit() == uri else None


def _has_empty_userinfo(uri: str) -> bool:
    """Whether an `@` with no name before it is all that the library refuses.

    RFC 3986 3.2.1 lets user information be empty, and the library drops it; refused all the same, since all that such
    an `@` is good for is to make two readers see two hosts.
    """
    at = _EMPTY_USERINFO.match(uri)
    return at is not None and _CHARACTERS.fullmatch(uri) is not None and _parse(uri.replace("@", "", 1)) is not None


def _refuse_scheme(uri: str, parsed: URIReference) -> UriRefusal | None:
    """What each of the contract's schemes asks for beyond RFC 3986."""
    scheme = (parsed.scheme or "").lower()
    path = parsed.path or ""
    if scheme == "https":
        # A reader decides by the host, so there must be one, written out: `%65xample.org` reads as something else.
        host = parsed.host or ""
        return None if is_host(host) or (host[:1] == "[" and "%" not in host) else "host"
    if parsed.authority is not None:
        return "not-rfc3986"
    if scheme == "urn":
        namespace, _, rest = path.partition(":")
        return None if namespace.lower() in _URN_NAMESPACES and rest else "scheme"
    if scheme == "did":
        return None if _DID.match(uri) else "not-rfc3986"
    return None if path else "not-rfc3986"


_DID_WEB: Final = re.compile(r"did:web:([^:/?#]*)", re.IGNORECASE)


def _refuse_host(uri: str, parsed: URIReference) -> UriRefusal | None:
    """User information, and hosts of the reader's own network; `did:web` names one as well."""
    if parsed.userinfo is not None:
        return "userinfo"
    web = _DID_WEB.match(uri)
    if web and normalised(uri) is None:
        return "host"  # it is shown as one
    host = _host_of_did(web[1]) if web else parsed.host
    return "private-host" if host and is_private(host) else None


def _host_of_did(identifier: str) -> str:
    """The host that the first part of a `did:web` names; its port is percent-encoded behind it."""
    return unquote(identifier).partition(":")[0]


def _refuse_encoded(uri: str) -> UriRefusal | None:
    """Decodes until nothing changes: who encodes twice hides twice."""
    text = uri
    while True:
        raw = unquote_to_bytes(text)
        try:
            decoded = raw.decode()
        except UnicodeDecodeError:
            decoded = raw.decode("latin-1")
        if decoded == text:
            return None
        if find_invisible(decoded):
            return "encoded-invisible"
        if _CONTROL.search(decoded):
            return "encoded-control"
        seen = settle(decoded)
        if may_be_html(seen) or may_be_link(seen) or find_markers(seen):
            return "encoded-markup"
        text = decoded


# ---------------------------------------------------------------- in prose

_SCHEME_BEFORE = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}\Z")
_SCRIPTED: Final = frozenset({"javascript", "vbscript", "livescript", "blob", "filesystem", "view-source"})
"""Schemes without an authority that run something, or hold what runs."""
_DATA = re.compile(r"[A-Za-z]{1,30}/|[;,]")
# Longer than a URI may be, and no longer: a text of nothing but schemes took 10 s for 80 kB.
_TAIL = re.compile(r"(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){0,1100}+")
_SCHEME_ENDS: Final = ("script", "blob", "filesystem", "view-source", "data")


def may_hold_uri(text: str) -> bool:
    """The cheap look: False where no URI of `bare_uris` begins."""
    position = text.find(":")
    while position >= 0:
        if text.startswith("//", position + 1) or text[max(0, position - 11) : position].lower().endswith(_SCHEME_ENDS):
            return True
        position = text.find(":", position + 1)
    return False


def bare_uris(text: str) -> Iterator[tuple[int, int, UriRefusal]]:
    """URIs in prose that `harden_uri` refuses: start and end of the scheme that has to go, and the refusal.

    A URI that may stand is passed over whole. It ends where a character comes that none has; punctuation at its end
    belongs to the sentence.
    """
    position = 0
    while (colon := text.find(":", position)) >= 0:
        low, position = position, colon + 1
        # By its colon, of which prose has few: a search for schemes takes 10 us for 300 characters.
        match = _SCHEME_BEFORE.search(text[max(low, colon - 32) : colon])
        if match is None:
            continue
        scheme = match[0].lower()
        if text.startswith("//", position):
            position += 2
        elif not (
            (scheme in _SCRIPTED and not text[position : position + 1].isspace() and position < len(text))
            or (scheme == "data" and _DATA.match(text, position))
        ):
            continue
        start = colon - len(match[0])
        end = _TAIL.match(text, position).end()  # type: ignore[union-attr]
        uri = text[start:end].rstrip(".,;:!?*_~'(")
        if uri.endswith(")") and "(" not in uri:
            uri = uri.rstrip(").,;:!?*_~'")
        refusal = harden_uri(uri)[1]
        if refusal is None and end < len(text) and not text[end].isascii() and text[end].isalnum():
            refusal = "not-rfc3986"  # a reader goes on where we stop, and asks another host
        if refusal is None:
            position = end
        else:
            yield start, position, refusal
