"""Why some bytes are not JSON (RFC 8259), in words that are true, and which member names occur twice in an object.

A decoder tells where it gave up. Of the faults that users meet most it says another thing: of half a surrogate pair
that the text was cut off, of a byte order mark that a character is invalid.
"""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from typing import Any, Final

_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def why_not_json(data: bytes, error: Exception) -> str:
    """Returns in half a sentence why a text is not JSON.

    Args:
        data: the text.
        error: what the decoder raised.
    """
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
    """Returns the first member name that occurs twice in one object, or None; a text that is not JSON has no such name.

    Args:
        data: a JSON text. Most decoders keep the last of such members and say nothing.
    """
    repeated: list[str] = []

    def take(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        repeated.extend(name for name, _ in pairs if name in seen or seen.add(name))

    with suppress(ValueError, RecursionError):
        json.loads(data, object_pairs_hook=take, parse_int=str, parse_float=str)
    return repeated[0] if repeated else None
