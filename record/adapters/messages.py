"""The messages of a model call, as providers write them: which tools were called, what came back, what was answered.

Three shapes are read, in any mixture: OpenAI's chat completions (`tool_calls`, and messages of the role `tool`), the
items of its Responses API (`function_call`, `function_call_output`, `mcp_call`), and the blocks of Anthropic's Messages
API (`tool_use`, `tool_result`). Whatever has another shape is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from ..call_results import MAX_RESULT
from ..events import ToolCall
from ..transcripts.foreign_json import identifier, items, members, text
from .otel_messages import arguments_of, text_of_result
from .plain import clean, plain

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
    """The calls whose results stand in the messages, in the order of the results.

    Args:
        messages: dictionaries, or objects with `model_dump()`. A text instead of a list has no calls.
    """
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
    """The texts of a model's response: one for each choice of a chat completion, else one.

    Args:
        response: of the chat, text completion, Responses or Messages API: a dictionary, or an object.
    """
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


def tool_call(call_id: str, name: object, arguments: object, result: object, *, ok: bool = True) -> ToolCall:
    """A call that only messages tell of: when it was made is not known."""
    return ToolCall(
        call_id=clean(call_id),
        name=clean(text(name) or ""),
        arguments=arguments_of(arguments),
        result=result_of(result),
        ok=ok,
        at=None,
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
