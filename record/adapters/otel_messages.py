"""The messages of GenAI spans (`gen_ai.input.messages`, `gen_ai.output.messages`), and values of tool calls.

A message has a role and parts: `text` with its `content`, `tool_call` with `id`, `name` and `arguments`,
`tool_call_response` with `id` and `response` (`result` in earlier versions of the conventions).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..transcripts.foreign_json import (
    Unreadable,
    arguments,
    decode,
    identifier,
    items,
    members,
    readable,
    result_text,
    text,
)
from .plain import clean

Attributes = Mapping[str, Any]


class Answered(NamedTuple):
    """A call as the messages of a model call show it."""

    name: str
    arguments: dict[str, Any]
    result: str | None
    has_result: bool


def calls_in(spans: Iterable[Attributes]) -> dict[str, Answered]:
    """The calls that messages tell of, by their ids; what comes first stays."""
    found: dict[str, Answered] = {}
    for attributes in spans:
        for part in _parts(attributes, "gen_ai.input.messages", "gen_ai.output.messages"):
            call_id = identifier(part.get("id"))
            if call_id is None:
                continue
            call_id = clean(call_id)
            known = found.get(call_id, Answered("", {}, None, False))
            if part.get("type") == "tool_call" and not known.name:
                name = clean(text(part.get("name")) or "")
                found[call_id] = known._replace(name=name, arguments=arguments_of(part.get("arguments")))
            elif part.get("type") == "tool_call_response" and not known.has_result:
                found[call_id] = known._replace(result=text_of_result(_response(part)), has_result=True)
    return {call_id: one for call_id, one in found.items() if one.name}


def answered_in(attributes: Attributes) -> Iterator[str]:
    """The ids of calls whose results this model call was given, or which the service made in it."""
    for part in _parts(attributes, "gen_ai.input.messages", "gen_ai.output.messages"):
        if part.get("type") == "tool_call_response":
            yield clean(identifier(part.get("id")) or "")


def _response(part: dict[str, Any]) -> object:
    """The result in a message: `response`, which earlier versions called `result`."""
    return part.get("response", part.get("result"))


def arguments_of(value: object) -> dict[str, Any]:
    """As `foreign_json.arguments`, with nothing in it that JSON does not hold."""
    given = arguments(value)
    try:
        return members(decode(json.dumps(given).encode()))
    except (Unreadable, TypeError, ValueError, RecursionError):
        return {}


def text_of_result(value: object) -> str | None:
    """What came back, as text: blocks of text joined, any other structure as JSON."""
    decoded = _decoded(value) if isinstance(value, str) and value[:1] in ('"', "[", "{") else value
    blocks = items(members(decoded).get("content", decoded))
    if blocks and all("type" in members(one) for one in blocks):
        texts = [one for one in map(members, blocks) if one["type"] == "text"]
        value = result_text([{"text": one.get("text", one.get("content"))} for one in texts]) if texts else None
    elif isinstance(decoded, str):
        value = decoded
    if value is None or isinstance(value, bytes):
        return None
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return None
    return None if (found := readable(value)) is None else clean(found)


def texts_in(attributes: Attributes) -> Iterator[str]:
    for message in _messages(attributes, "gen_ai.output.messages"):
        parts = [members(part) for part in items(message.get("parts"))]
        found = "".join(
            part["content"] for part in parts if part.get("type") == "text" and isinstance(part.get("content"), str)
        )
        if found.strip() and message.get("role", "assistant") == "assistant":
            yield clean(found)


def _parts(span: Attributes, *attributes: str) -> Iterator[dict[str, Any]]:
    for attribute in attributes:
        messages = _messages(span, attribute)
        for message in _this_turn(messages) if attribute == "gen_ai.input.messages" else messages:
            yield from map(members, items(message.get("parts")))


def _this_turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What came after the user's last text: earlier calls belong to earlier turns."""
    asked = (
        place
        for place in range(len(messages) - 1, -1, -1)
        if messages[place].get("role") == "user"
        and any(members(part).get("type") == "text" for part in items(messages[place].get("parts")))
    )
    return messages[next(asked, -1) + 1 :]


def _messages(span: Attributes, attribute: str) -> list[dict[str, Any]]:
    value = span.get(attribute)
    decoded = _decoded(value) if isinstance(value, str) else value
    return [members(one) for one in items(decoded)]


def _decoded(value: str) -> object:
    try:
        return decode(value.encode("utf-8", "replace"))
    except Unreadable:
        return None
