"""Decentralized identifiers: one spelling for each, and the key that a `did:key` holds (docs/security.md).

One validator has one vote, so two spellings of its DID must not be two validators. The rules are those of DID Core 3.1
and RFC 3986: the method name is lower case, percent-encoding of a character that needs none is undone, and the digits
of other percent-encodings are upper case. `did:web` names a host, which has no case. A DID stands outside the frame, so
its method's grammar holds: a host name and names of folders, or a key in multibase, and not any 256 characters. Pure:
nothing is resolved by the network.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Final

_DID: Final = re.compile(r"[dD][iI][dD]:([A-Za-z0-9]+):((?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+)")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT: Final = {character: value for value, character in enumerate(_BASE58)}
_ED25519_MULTICODEC: Final = b"\xed\x01"
_MOST: Final = 256
_LONGEST_HOST: Final = 253
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_WEB: Final = re.compile(
    rf"{_LABEL}(?:\.{_LABEL})*(?:%3A[0-9]{{1,5}})?(?::(?:[A-Za-z0-9._-]|%[0-9A-F]{{2}}){{1,64}}){{0,8}}"
)
"""did:web: a host name (RFC 1123), perhaps a port, and folders."""
_KEY_BYTES: Final = {
    _ED25519_MULTICODEC: 32,
    b"\xec\x01": 32,
    b"\xe7\x01": 33,
    b"\xea\x01": 48,
    b"\xeb\x01": 96,
    b"\x80\x24": 33,
    b"\x81\x24": 49,
    b"\x82\x24": 67,
    b"\x85\x24": 0,
}
"""The keys that did:key names, by multicodec, and their lengths; an RSA key has any."""


def normalised(did: str) -> str | None:
    """A DID in its one spelling, without path, query and fragment; None for what is no DID.

    Args:
        did: at most 256 characters before its path, query or fragment.
    """
    bare = re.split(r"[/?#]", did, maxsplit=1)[0]
    match = _DID.fullmatch(bare) if len(bare) <= _MOST else None
    if match is None or match[2].endswith(":"):
        return None
    method, identifier = match[1].lower(), _PERCENT.sub(_decoded, match[2])
    if method == "web":
        host, colon, rest = identifier.partition(":")
        identifier = host.lower().replace("%3a", "%3A").rstrip(".") + colon + rest
        if not _WEB.fullmatch(identifier) or len(identifier.partition(":")[0].partition("%")[0]) > _LONGEST_HOST:
            return None
    elif method == "key" and not _is_key(identifier):
        return None
    return f"did:{method}:{identifier}"


@lru_cache(1024)
def _is_key(identifier: str) -> bool:
    """Whether it is a public key of a known multicodec in a multibase form of did:key 0.9: base58btc or base64url."""
    digits = identifier[1:]
    if identifier[:1] == "z":
        decoded = _base58(digits)
    elif identifier[:1] == "u" and re.fullmatch(r"[A-Za-z0-9_-]+", digits):
        decoded = base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4)) if len(digits) % 4 != 1 else None
    else:
        return False
    length = None if decoded is None else _KEY_BYTES.get(decoded[:2])
    return decoded is not None and length is not None and (not length or len(decoded) == length + 2)


def _decoded(match: re.Match[str]) -> str:
    character = chr(int(match[0][1:], 16))
    return character if character in _UNRESERVED else match[0].upper()


def key_of(did: str) -> str | None:
    """The Ed25519 public key that a `did:key` holds, as base64 of its 32 bytes; None for any other DID.

    The key is the multibase form `z`, base58btc of the multicodec `ed25519-pub` and the key (did:key 0.7).
    """
    found = normalised(did)
    if found is None or not found.startswith("did:key:z"):
        return None
    decoded = _base58(found.removeprefix("did:key:z"))
    if decoded is None or decoded[:2] != _ED25519_MULTICODEC or len(decoded) != 34:
        return None
    return base64.b64encode(decoded[2:]).decode()


def did_of(public_key: bytes) -> str:
    """The `did:key` of an Ed25519 public key of 32 bytes: what `key_of` reads back."""
    number, digits = int.from_bytes(_ED25519_MULTICODEC + public_key, "big"), ""
    while number:  # the multicodec does not begin with a zero byte, so that no leading `1` is needed
        number, digit = divmod(number, 58)
        digits = _BASE58[digit] + digits
    return f"did:key:z{digits}"


def _base58(text: str) -> bytes | None:
    number = 0
    for character in text:
        digit = _DIGIT.get(character)
        if digit is None:
            return None
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
