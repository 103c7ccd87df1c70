"""Messages of frameworks as text and calls: OpenAI's, Anthropic's, LangChain's and OpenTelemetry's shapes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.errors import Fault
from ...codecs.records import Emission
from ..call_results import MAX_RESULT
from ..events import ToolCall
from ..sinks import Recorded
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

LONGEST_NAME: Final = 256
_HALVES: Final = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: half a character becomes U+FFFD; no offset changes."""
    return _HALVES.sub("\ufffd", text)


def plain(value: object) -> dict[str, Any]:
    """The object as a dictionary: itself, what its `model_dump()` gives, or an empty one."""
    if not isinstance(value, dict):
        dump = cast("Callable[[], object] | None", getattr(value, "model_dump", None))
        value = dump() if callable(dump) and not isinstance(value, type) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def shortened(name: str) -> str:
    """A name that an identifier holds: a longer one ends in its hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME - 25] + "~" + sha256(name.encode()).hexdigest()[:24]


def recorded(emission: Emission, headers: tuple[tuple[str, bytes], ...] = ()) -> Recorded | Fault:
    """The emission as a sink takes it, or `oversize` where no topic takes it."""
    value = msgspec.json.encode(emission)
    if len(value) > MAX_INPUT_BYTES:
        return Fault("oversize", f"the emission has {len(value)} bytes; at most {MAX_INPUT_BYTES} are taken")
    return Recorded(emission.emission_id, value, headers)


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
        for part in _span_parts(attributes, "gen_ai.input.messages", "gen_ai.output.messages"):
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
    for part in _span_parts(attributes, "gen_ai.input.messages", "gen_ai.output.messages"):
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


def _span_parts(span: Attributes, *attributes: str) -> Iterator[dict[str, Any]]:
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


MOST_MESSAGES: Final = 20_000
"""Messages of one call that are read: the last ones."""
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "tool_use", "mcp_tool_use")
_OUTPUTS: Final = (
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_result", "mcp_tool_result",
)  # fmt: skip
_TEXTS: Final = ("text", "output_text")


class _Asked(NamedTuple):
    """A call that a model asked for."""

    name: str
    arguments: dict[str, Any]


def calls_of(messages: Iterable[object]) -> list[ToolCall]:
    """The calls whose results stand in messages (dictionaries or objects with `model_dump()`), in that order."""
    asked: dict[str, _Asked] = {}
    found: list[ToolCall] = []
    several = [] if isinstance(messages, (str, bytes)) else list(messages)[-MOST_MESSAGES:]
    for part in (one for message in several for one in _parts(plain(message))):
        kind = part.get("type")
        call_id = _id(part)
        if kind == "mcp_call":
            failed = part.get("error") is not None
            name = mcp_name(part.get("server_label"), part.get("name"))
            if part.get("output") is not None or failed:
                found.append(tool_call(call_id, name, part.get("arguments"), part.get("output"), ok=not failed))
        elif kind in _CALLS:
            asked[call_id] = _asked(part)
        elif kind in _OUTPUTS and call_id in asked:
            one = asked[call_id]
            answered = part.get("output") if "output" in part else part.get("content")
            ok = part.get("is_error") is not True and part.get("status") not in ("incomplete", "error")
            found.append(tool_call(call_id, one.name, one.arguments, answered, ok=ok))
    return found


def answers_of(response: object) -> list[str]:
    """The texts of a model's response in any of the four APIs: one for each choice of a chat completion, else one."""
    found = plain(response)
    if "choices" in found:
        choices = map(members, items(found["choices"]))
        written = [one["text"] if "text" in one else plain(one.get("message")).get("content") for one in choices]
        return [said for one in written if (said := text_of(one)).strip()]
    if "output" in found:
        blocks = [
            block
            for one in map(plain, items(found["output"]))
            if one.get("type") == "message"
            for block in items(one.get("content"))
        ]
    else:
        blocks = items(found.get("content"))
    said = text_of(blocks)
    return [said] if said.strip() else []


def text_of(content: object) -> str:
    """The text of a message's content: a text, or blocks of which those of text count."""
    if isinstance(content, str):
        return clean(content)
    texts = (one.get("text") for one in map(plain, items(content)) if one.get("type") in _TEXTS)
    return clean("".join(one for one in texts if isinstance(one, str)))


def tool_call(
    call_id: str, name: object, arguments: object, result: object, *, ok: bool = True, at: datetime | None = None
) -> ToolCall:
    """A call with what a framework tells of it, as text and JSON. `at` is None where messages alone tell of it."""
    return ToolCall(
        call_id=clean(call_id),
        name=clean(text(name) or ""),
        arguments=arguments_of(arguments),
        result=result_of(result),
        ok=ok,
        at=at,
        cwd=None,
    )


def result_of(value: object) -> str | None:
    """What a tool answered, as text, as much of it as is read; None where it is no text."""
    content: object = value[:MAX_RESULT] if isinstance(value, str) else value
    content = plain(content) or content
    if members(content).get("type") in _TEXTS:
        content = members(content).get("text")
    found = text_of_result(content)
    return None if found is None else found[:MAX_RESULT]


def mcp_name(server: object, tool: object) -> str:
    """A tool of an MCP server, as the `ToolMap` knows it; the tool's own name where the server has none."""
    named, of = text(tool) or "", text(server)
    return named if of is None else f"mcp__{of}__{named}"


def size_of(messages: Iterable[object]) -> int:
    """About how many characters messages hold, without looking deeper than their contents."""
    total = 0
    for one in messages:
        found = members(one)
        content = one if isinstance(one, str) else found.get("content") or found.get("output")
        content = getattr(one, "content", None) if content is None else content
        total += len(content) if isinstance(content, str) else 1_000
    return total


def _parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls and results of a message, in one form."""
    if message.get("type") in (*_CALLS, *_OUTPUTS, "mcp_call"):
        yield message
        return
    role = message.get("role")
    if role == "tool":
        yield {**message, "type": "function_call_output", "output": message.get("content")}
    elif role == "function":
        yield {"type": "function_call_output", "call_id": message.get("name"), "output": message.get("content")}
    for one in map(plain, items(message.get("tool_calls"))):
        function = plain(one.get("function"))
        yield {"type": "function_call", "call_id": one.get("id"), **function}
    legacy = plain(message.get("function_call"))
    if legacy:
        yield {"type": "function_call", "call_id": legacy.get("name"), **legacy}
    if role in ("assistant", "user"):
        yield from (one for one in map(plain, items(message.get("content"))) if one.get("type") in (*_CALLS, *_OUTPUTS))


def _asked(part: dict[str, Any]) -> _Asked:
    if part.get("type") == "local_shell_call":
        action = plain(part.get("action"))
        given = {"command": action.get("command"), "workdir": action.get("working_directory")}
        return _Asked("local_shell", {name: value for name, value in given.items() if value is not None})
    name = part.get("name")
    if part.get("type") == "mcp_tool_use":
        name = mcp_name(part.get("server_name"), name)
    return _Asked(text(name) or "", arguments_of(part.get("arguments", part.get("input"))))


def _id(part: dict[str, Any]) -> str:
    for name in ("call_id", "tool_call_id", "tool_use_id", "id"):
        if (found := identifier(part.get(name))) is not None:
            return clean(found)
    return ""
