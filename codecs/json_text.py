"""JSON from outside: decoders in which no number costs more than its length, how deep a text is nested, why some
bytes are not JSON (RFC 8259), and which member names occur twice in an object.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from contextlib import suppress
from math import isinf
from typing import Any, Final, TypeGuard, TypeVar

import msgspec

_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def why_not_json(data: bytes, error: Exception) -> str:
    """Why a text is not JSON, in half a sentence, by what the decoder raised."""
    if data.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark, which JSON does not allow (RFC 8259, section 8.1)"
    if data.startswith(_UTF16):
        return "it is UTF-16; JSON is UTF-8 (RFC 8259, section 8.1)"
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"octet {wrong.start} is not UTF-8"
    half = _lone_surrogate(data)
    return f"a text holds the lone surrogate {half}, which stands for no character" if half else str(error)


def _lone_surrogate(data: bytes) -> str:
    """Returns the first escape of half a surrogate pair, or an empty text."""
    high: tuple[int, bytes] | None = None  # a first half: where it ends, and the escape itself
    for match in _ESCAPE.finditer(data):
        code = int(match[1] or b"0", 16)
        if high is not None and not (0xDC00 <= code <= 0xDFFF and match.start() == high[0]):
            return high[1].decode()
        if high is None and 0xDC00 <= code <= 0xDFFF:
            return match[0].decode()
        high = (match.end(), match[0]) if 0xD800 <= code <= 0xDBFF else None
    return high[1].decode() if high else ""


def repeated_member(data: bytes) -> str | None:
    """The first member name that occurs twice in one object of a JSON text, or None. Most decoders keep the last such
    member."""
    repeated: list[str] = []

    def take(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        repeated.extend(name for name, _ in pairs if name in seen or seen.add(name))

    with suppress(ValueError, RecursionError):
        json.loads(data, object_pairs_hook=take, parse_int=str, parse_float=str)
    return repeated[0] if repeated else None


MAX_NESTING: Final = 128
"""Arrays and objects inside one another in a record: twice what a chain of thirty derivations needs."""

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)  # one that never closes runs to the end
_ALL_BUT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def deeper_than(levels: int, data: bytes) -> bool:
    """Whether arrays and objects are nested deeper than `levels`; linear time, for bytes that are no JSON as well."""
    if data.count(b"[") + data.count(b"{") <= levels:
        return False  # almost every record: two passes of memchr
    depth = 0
    for byte in _STRING.sub(b"", data).translate(None, _ALL_BUT_BRACKETS):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        else:
            depth -= 1
    return False


T = TypeVar("T")


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder of one type, for bytes that anybody may have written; it takes and refuses what msgspec's own does."""
    return msgspec.json.Decoder(kind, float_hook=_number)


def _number(literal: str) -> float:
    number = float(literal)
    if isinf(number):
        raise ValueError("Number out of range")  # as msgspec says it
    return number


decode_any: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(float_hook=_number).decode
"""Decodes plain values."""


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a decoded value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a decoded value is a JSON array."""
    return isinstance(value, list)
