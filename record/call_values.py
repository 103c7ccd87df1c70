"""What a program hands over of a call, as `events.ToolCall` has it: arguments as an object, the result as a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..codecs.errors import UsageError


def arguments_of(given: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments as an object; empty where they are none, or are JSON that a model wrote wrongly.

    Args:
        given: as the model gave them, or as JSON, as some interfaces pass them on.
    """
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
    return dict(given) if isinstance(given, Mapping) else {}


def result_text(result: object) -> str | None:
    """The result as a text: UTF-8 decoded, other values as their JSON; None stays None.

    Raises:
        UsageError: it is no text, and has no JSON.
    """
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, bytes | bytearray):
        return bytes(result).decode("utf-8", "replace")
    try:
        return msgspec.json.encode(result).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        got = type(result).__name__
        raise UsageError("the result of a call is no text", expected="text, bytes or JSON values", got=got) from None
