"""JSON that others wrote: decoded without ever failing in more than one way, and read without trusting a type.

Every function takes any JSON value and answers with a value of the type that its name says, or with none.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

from ...codecs.json_text import MAX_NESTING, deeper_than

MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes of one line, or of one element of a JSON list. A longer one is passed over with a `Problem`."""

_MAX_DIGITS: Final = 400  # of an integer; a longer one stays text, as no float holds it
_SAMPLE: Final = 4096  # characters of a result that are looked at to tell text from bytes shown as text
_ESCAPE: Final = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_LONE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}\Z")
_DATA_URL: Final = re.compile(r"data:[^,\s]{0,100};base64,")


class Unreadable(Exception):
    """What was read is no JSON that can be used; the text says why, in half a sentence."""


def _whole_pairs(escape: re.Match[str]) -> str:
    return r"\ufffd" if _LONE.match(escape[0]) else escape[0]


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _number(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def decode(data: bytes) -> object:
    """The JSON value in `data`.

    Numbers that no float holds, and the NaN and Infinity that Python writes, stay text; half a surrogate pair becomes
    U+FFFD; NUL bytes around the value, which a crash leaves in some files, are ignored.

    Raises:
        Unreadable: it is longer than `MAX_LINE`, nested deeper than `MAX_NESTING`, not UTF-8, or not JSON.
    """
    if len(data) > MAX_LINE:
        raise Unreadable(f"is longer than {MAX_LINE // 1024 // 1024} MB")
    data = data.strip(b"\0 \t\r\n")
    if not data:
        raise Unreadable("has only NUL bytes")
    if deeper_than(MAX_NESTING, data):
        raise Unreadable(f"is nested deeper than {MAX_NESTING} levels")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(_whole_pairs, text)
    try:
        return json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError):
        raise Unreadable("is not JSON, or is cut off") from None


def members(value: object) -> dict[str, Any]:
    """The object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The list, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str | None:
    """The text, or None where it is no text or empty."""
    return value if isinstance(value, str) and value else None


def directory(value: object) -> str | None:
    """A directory that is written as a path or, as newer agents do, as a `file:` URI; None where it is neither."""
    given = text(value)
    if given is None or not given.startswith("file:"):
        return given
    try:
        return unquote(urlsplit(given).path) or None
    except ValueError:
        return None


def whole(value: object) -> int | None:
    """The integer, or None; true and false are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def identifier(value: object) -> str | None:
    """An identifier that is written as text or as an integer."""
    number = whole(value)
    return text(value) if number is None else str(number)


def moment(value: object) -> datetime | None:
    """A moment in ISO 8601, in UTC; one without a zone is in that of this machine, where agents write such."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        return datetime.fromisoformat(value.strip()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def arguments(value: object) -> dict[str, Any]:
    """What a tool was called with: the object, that in a JSON text, or `{"input": …}` around anything else."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            decoded = decode(value.encode("utf-8", "replace"))
        except Unreadable:
            return {"input": value}
        if isinstance(decoded, dict):
            return cast("dict[str, Any]", decoded)
    return {"input": value}


def readable(value: str) -> str | None:
    """The text of a result, or None where it is bytes shown as text: NUL, base64 data, or a tenth unreadable."""
    if "\0" in value or _DATA_URL.match(value):
        return None
    sample = value[:_SAMPLE]
    return None if sample.count("\ufffd") * 10 > len(sample) else value


def result_text(content: object) -> str | None:
    """What a tool answered, as text.

    `content` is a text, or a list of blocks of which those with a text count, joined by line ends. None where it has
    no text but something else (an image, a document), and where the text is bytes shown as text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return readable(content)
    if isinstance(content, dict):
        content = cast("list[object]", [content])
    if not isinstance(content, list):
        return None
    blocks = items(cast("object", content))
    texts = [block if isinstance(block, str) else members(block).get("text") for block in blocks]
    found = [each for each in texts if isinstance(each, str)]
    return readable("\n".join(found)) if found or not blocks else None
