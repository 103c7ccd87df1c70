"""Rollouts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

The format is not documented, but Codex is open source: its types `RolloutLine`, `ResponseItem` and `EventMsg` are what
is written. This module was written to those types (read in the sources of late 2025 and mid-2026) and to public
descriptions of rollouts of 0.46 to 0.154. Descriptions are all there was for the newest ones' `item_completed` events
and for the flat lines before September 2025, which are response items without an envelope.

A line is `{"timestamp", "type", "payload"}`. Two logs are interleaved: `response_item` is what the model saw and wrote,
`event_msg` is what the terminal showed. Most things are in both.

What was taken into account:

- Prompts are the `user_message` events, and user messages that Codex did not write itself (those begin with a tag, such
  as `<environment_context>`). A prompt in both logs is one, since the agent does nothing in between.
- A text of the agent that both logs have is told once.
- A result is the `…_output` item of the call. What a command's end event says of exit code and directory is taken from
  there. Calls that only the event log has (those in a script of the `exec` tool) are told from it.
- The frame that Codex puts around a command's output (exit code, time) is taken off; a code other than 0 is a failure.
- Arguments that are no JSON object, such as a patch, are `{"input": …}`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, cast

from ..events import Event, Gap, Problem
from .foreign_json import (
    Unreadable,
    arguments,
    decode,
    directory,
    identifier,
    members,
    moment,
    result_text,
    text,
    whole,
)
from .transcript_lines import TurnBuilder, numbered, read_records, unknown

_FRAME: Final = re.compile(
    r"(?:(?:Chunk ID|Exit code|Wall time|Original token count|Total output lines): [^\n]*\n"
    r"|Process (?:exited|running) with [^\n]*\n){1,8}Output:(?:\n|\Z)"
)
_EXIT: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,10})", re.MULTILINE)
_NOT_A_PROMPT: Final = re.compile(r"\s*(?:<[a-z][a-z_ -]{2,60}>|# AGENTS\.md instructions)")
_FLAT: Final = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_DONE_AT_ONCE: Final = frozenset({"web_search_call", "image_generation_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_PASSED_OVER: Final = frozenset({
    "reasoning", "ghost_snapshot", "compaction", "compaction_summary", "compaction_trigger", "context_compaction",
    "other",
})  # fmt: skip
"""Items of a rollout that are no words to its user and no calls."""
_EVENTS_PASSED_OVER: Final = re.compile(
    r"\w+_(?:begin|started|delta|updated?|request)|(?:collab|realtime|list|mcp_startup)_\w+|token_count|error|warning"
    r"|stream_error|guardian_(?:warning|assessment)|agent_reasoning(?:_raw_content|_section_break)?|session_configured"
    r"|(?:turn|task)_complete|turn_(?:aborted|diff|moderation_metadata)|(?:undo|hook)_completed|context_compacted"
    r"|(?:entered|exited)_review_mode|thread_(?:rolled_back|settings_applied)|background_event|deprecation_notice"
    r"|shutdown_complete|skills_update_available|terminal_interaction|view_image_tool_call|model_(?:reroute|verification)"
    r"|safety_buffering|raw_response_item|mcp_list_tools_response|get_history_entry_response|request_(?:user_input|permissions)"
    r"|dynamic_tool_call_response|sub_agent_activity|(?:web_search|image_generation|patch_apply|exec_command)_end"
    r"|environment_(?:dis)?connected"
)
"""Events that are no words to the user and no calls, or of which the items of the rollout have both."""
_ITEMS_PASSED_OVER: Final = frozenset({
    "CollabAgentToolCall", "ContextCompaction", "DynamicToolCall", "EnteredReviewMode", "ExitedReviewMode", "Extension",
    "FileChange", "FunctionCallOutput", "HookPrompt", "ImageGeneration", "ImageView", "Plan", "Reasoning", "Sleep",
    "SubAgentActivity", "WebSearch",
})  # fmt: skip
"""The same of completed items."""
_ITEMS: Final = {
    "CommandExecution": "exec_command_end",
    "McpToolCall": "mcp_tool_call_end",
    "AgentMessage": "agent_message",
    "UserMessage": "user_message",
}


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a rollout; `lines` are those of the file, or those that `follow` gives."""
    return read_records(numbered(lines), Codex())


class Codex:
    """Reads the records of one rollout."""

    def __init__(self) -> None:
        self._turns = TurnBuilder()
        self._cwd: str | None = None
        self._next = ""  # the identifier that Codex gave the turn that is about to begin
        self._said: dict[str, dict[str, int]] = {}  # how often each log said a text in this turn
        self._ends: dict[
            str, tuple[str | None, bool, int | None]
        ] = {}  # what events told of calls that await their output

    def take(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        at, payload = moment(record.get("timestamp")), members(record.get("payload"))
        kind = text(record.get("type"))
        if kind == "compacted":
            yield Gap()
        elif kind in ("session_meta", "turn_context"):
            self._cwd = directory(payload.get("cwd")) or self._cwd
            self._next = text(payload.get("turn_id")) or self._next
        elif kind == "response_item":
            yield from self._item(line, payload, at)
        elif kind == "event_msg":
            yield from self._event(line, payload, at)
        elif kind in _FLAT:
            yield from self._item(line, record, at)

    def end(self) -> Iterator[Event]:
        yield from self._ended()
        yield from self._turns.end()

    def _ended(self) -> Iterator[Event]:
        """Calls whose output never came, but whose end did."""
        for call_id, (result, ok, code) in self._ends.items():
            yield from self._turns.result(call_id, result, ok, at=None, line=0, exit=code)
        self._ends.clear()
        self._said.clear()

    def _prompt(self, line: int, at: datetime | None) -> Iterator[Event]:
        if self._turns.running and not self._turns.active:
            return  # the same prompt in the other log
        yield from self._ended()
        yield from self._turns.begin(self._turn_id(line), at)

    def _ensure(self, line: int, at: datetime | None) -> Iterator[Event]:
        return self._turns.ensure(self._turn_id(line), at)

    def _turn_id(self, line: int) -> str:
        """What Codex calls the turn that begins, or another name where it had that one already."""
        return self._next if self._next and self._next != self._turns.turn_id else f"line-{line}"

    def _say(self, log: str, said: str | None, line: int, at: datetime | None) -> Iterator[Event]:
        if said is None or not said.strip():
            return
        yield from self._ensure(line, at)
        counts = self._said.setdefault(said.strip(), {})
        most = max(counts.values(), default=0)
        counts[log] = counts.get(log, 0) + 1
        if counts[log] > most:
            yield from self._turns.said(said, at)

    def _item(self, line: int, item: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        kind = text(item.get("type"))
        if kind == "message":
            said = result_text(item.get("content")) or ""
            if item.get("role") == "assistant":
                yield from self._say("items", said, line, at)
            elif item.get("role") == "user" and said.strip() and not _NOT_A_PROMPT.match(said):
                yield from self._prompt(line, at)
        elif kind is not None and (kind in _CALLS or kind in _DONE_AT_ONCE):
            yield from self._ensure(line, at)
            call_id = text(item.get("call_id")) or text(item.get("id")) or f"line-{line}"
            given = _given(item)
            name = text(item.get("name")) or kind.removesuffix("_call")
            space = text(item.get("namespace")) or ""
            cwd = self._where(given.get("workdir") or given.get("working_directory"))
            yield from self._turns.call(call_id, space + name, given, at=at, cwd=cwd)
            if kind in _DONE_AT_ONCE:
                yield from self._turns.result(call_id, None, item.get("status") != "failed", at=at, line=line)
        elif kind in _OUTPUTS:
            call_id = text(item.get("call_id"))
            if call_id is None:
                yield Problem(line=line, sentence="A tool result here names no call; it is passed over.")
                return
            result, ok, code = _output(item["output"]) if "output" in item else (None, True, None)
            _, ended_well, ended = self._ends.pop(call_id, (None, True, None))
            code = ended if code is None else code
            yield from self._turns.result(call_id, result, ok and ended_well, at=at, line=line, exit=code)
        elif kind not in _PASSED_OVER:
            yield unknown(line, "item", item.get("type"))

    def _event(self, line: int, event: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        kind = text(event.get("type"))
        if kind == "item_completed":
            event = members(event.get("item"))
            named = text(event.get("type")) or ""
            kind = _ITEMS.get(named)
            if kind is None:
                if named not in _ITEMS_PASSED_OVER:
                    yield unknown(line, "item", event.get("type"))
                return
        if kind in ("task_started", "turn_started"):
            self._next = text(event.get("turn_id")) or self._next
        elif kind == "user_message":
            yield from self._prompt(line, at)
        elif kind == "agent_message":
            said = text(event.get("message")) or result_text(event.get("content"))
            yield from self._say("events", said, line, at)
        elif kind == "exec_command_end" and event.get("source") not in ("user_shell", "userShell"):
            code = whole(event.get("exit_code"))
            shown = event.get("aggregated_output", event.get("stdout"))
            given = {"command": event.get("command")}
            ok = code in (None, 0)
            yield from self._call_ended("exec_command", given, event, result_text(shown), ok, line, at, code)
        elif kind == "mcp_tool_call_end":
            call = members(event.get("invocation")) or event
            answer = members(event.get("result"))
            result, bad = members(answer.get("Ok", answer)), "Err" in answer or event.get("error") is not None
            name = f"mcp__{text(call.get('server')) or ''}__{text(call.get('tool')) or ''}"
            ok = not bad and result.get("isError", result.get("is_error")) is not True
            shown = None if bad else result_text(result.get("content"))
            yield from self._call_ended(name, arguments(call.get("arguments")), event, shown, ok, line, at)
        elif kind is None or not _EVENTS_PASSED_OVER.fullmatch(kind):
            yield unknown(line, "event", event.get("type"))

    def _call_ended(
        self,
        name: str,
        given: dict[str, Any],
        event: dict[str, Any],
        result: str | None,
        ok: bool,
        line: int,
        at: datetime | None,
        code: int | None = None,
    ) -> Iterator[Event]:
        """The end of a call in the event log: noted until its output comes, or told where there is no such call."""
        call_id = identifier(event.get("call_id")) or identifier(event.get("id"))
        if call_id is None:
            return
        yield from self._ensure(line, at)
        if self._turns.awaits(call_id):
            self._ends[call_id] = result, ok, code
        elif not self._turns.knows(call_id):
            yield from self._turns.call(call_id, name, given, at=at, cwd=self._where(event.get("cwd")))
            yield from self._turns.result(call_id, result, ok, at=at, line=line, exit=code)

    def _where(self, written: object) -> str | None:
        given = directory(written)
        if given is None or self._cwd is None:
            return given or self._cwd
        return posixpath.normpath(posixpath.join(self._cwd, given))


def _given(item: dict[str, Any]) -> dict[str, Any]:
    """What a call was made with, under whichever member its kind has."""
    for member in ("arguments", "action"):
        if member in item:
            return arguments(item[member])
    return {"input": item["input"]} if "input" in item else {}


def _output(output: object) -> tuple[str | None, bool, int | None]:
    """The text of an output without the frame around it, whether the call went well, and its exit status."""
    ok = True
    if isinstance(output, dict):  # the flat lines of early versions
        whole_output = members(cast("object", output))
        ok = whole_output.get("success") is not False
        output = whole_output.get("content")
    shown = result_text(output)
    if shown is None:
        return None, ok, None
    if shown.startswith('{"output":'):
        try:
            framed = members(decode(shown.encode("utf-8", "replace")))
        except Unreadable:
            return shown, ok, None
        code = whole(members(framed.get("metadata")).get("exit_code"))
        return result_text(framed.get("output")), ok and code in (None, 0), code
    if (frame := _FRAME.match(shown)) is not None:
        told = _EXIT.search(frame[0])
        code = None if told is None else int(told[1])
        return result_text(shown[frame.end() :]), ok and code in (None, 0), code
    return shown, ok, None


def session_of(head: Iterable[bytes]) -> dict[str, Any]:
    """The `session_meta` of a rollout, from its first lines, or an empty object."""
    for _, line in zip(range(5), head, strict=False):
        try:
            record = members(decode(line))
        except Unreadable:
            continue
        if record.get("type") == "session_meta":
            return members(record.get("payload"))
    return {}


def of_a_subagent(session: dict[str, Any]) -> bool:
    """Whether a rollout is that of a subagent."""
    return "subagent" in members(session.get("source")) or session.get("thread_source") == "subagent"


__all__ = ["Codex", "of_a_subagent", "read", "session_of"]
