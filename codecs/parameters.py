"""The values of a group's parameters, read and written: `path=a%20b; lines=1-40; regex=true`
(docs/reference/records.md).

In a value `;`, `]`, `%` and white space stand percent-encoded (UTF-8); `[` is written so as well, that no writer's
bracket ever looks like the start of another group. What type a value has, its key says; every other one is a string.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec

from .identifier_characters import hides
from .nesting import MAX_NESTING, deeper_than
from .spans import IDENTIFIER_PATTERN
from .times import parse_time

MAX_ARGUMENTS: Final = MAX_NESTING // 2
"""How deep `arguments` may be nested: less than a record, so that the JSON form of what was read can be read too."""

_IDENTIFIER: Final = re.compile(IDENTIFIER_PATTERN)
_MILLISECONDS: Final = re.compile(r"\d{1,15}", re.ASCII)
_LINES: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_NOT_ENCODED: Final = re.compile(r"\s|%(?![0-9A-Fa-f]{2})")
_ENCODED: Final = re.compile(r"[;\[\]%\s]")


def read_value(key: str, raw: str) -> Any:
    """What a parameter says, in the type that its key asks for; None where it is illegal.

    Args:
        key: of the parameter.
        raw: its text, percent-encoded.
    """
    value = _decoded(raw)
    if value is None:
        return None
    if key == "observation-id":
        return value if _IDENTIFIER.match(value) and not hides(value) else None
    if key == "ts":
        time = int(value) if _MILLISECONDS.fullmatch(value) else value
        return time if parse_time(time) is not None else None
    if key == "lines":
        lines = _LINES.fullmatch(value)
        return [int(lines[1]), int(lines[2] or lines[1])] if lines else None
    if key == "regex":
        return {"true": True, "false": False}.get(value)
    if key == "tolerance":
        return _json(value) if _NUMBER.fullmatch(value) else None
    return _json(value) if key == "arguments" else value


def write_value(key: str, value: Any) -> str:
    """The text of a value; of one that no parameter can hold, a text that does not read as it."""
    if key == "lines" and isinstance(value, list):
        text = "-".join(map(str, cast("list[Any]", value)))
    elif isinstance(value, str) and key != "arguments":
        text = value
    else:
        text = msgspec.json.encode(value).decode()
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def _decoded(raw: str) -> str | None:
    if _NOT_ENCODED.search(raw):
        return None
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        return None


def _json(value: str) -> Any:
    data = value.encode()
    try:
        return None if deeper_than(MAX_ARGUMENTS, data) else msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None
