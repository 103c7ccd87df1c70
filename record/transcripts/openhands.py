"""Event logs of OpenHands: a directory of events, or a trajectory in one JSON document.

Both shapes are those of open source code, which is their only description: `event_to_dict` of OpenHands 0.x (read at
0.62, November 2025), and the events of its software agent SDK (read at 1.43, August 2026).

- 0.x: `sessions/<id>/events/<number>.json`, or the list that «download trajectory» gives (also as the `trajectory` or
  `history` of an object). An action has `action`, `args`, `source`; the observation of it names it in `cause`.
- SDK: `<conversation>/events/event-<number>-<id>.json`. Events have a `kind`; `ObservationEvent`, `AgentErrorEvent` and
  `UserRejectObservation` name the call in `tool_call_id`.

What was taken into account:

- Prompts are messages whose source is the user. What the agent said is its messages, the thought that comes with a
  call, and the text that it finished with.
- In 0.x a tool is named by the action (`run`, `read`), since the arguments are the action's; in the SDK by `tool_name`.
- A command whose exit code is known and is not 0 failed. What a 0.x agent delegated is told as one call.
- Times have no zone: they are in that of the machine that wrote them, and are read in that of this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from ..events import Event, Problem
from .foreign_json import arguments, identifier, members, moment, result_text, text, whole
from .transcript_lines import TurnBuilder, elements, read_records, unknown

_LISTS: Final = frozenset({b"trajectory", b"history", b"events"})
_ACTIONS: Final = frozenset({
    "browse",
    "browse_interactive",
    "call_tool_mcp",
    "delegate",
    "edit",
    "read",
    "run",
    "run_ipython",
    "task_tracking",
    "write",
})  # fmt: skip
_NO_CALLS: Final = frozenset({
    "agent_state_changed", "change_agent_state", "chat", "condensation", "condensation_request", "condense", "download",
    "error", "loop_detection", "loop_recovery", "mcp", "message", "microagent", "null", "pause", "push", "recall",
    "reject", "resume", "send_pr", "server_ready", "start", "stop", "success", "summarize", "system", "think",
    "user_rejected", "workspace_context",
})  # fmt: skip
"""Actions and observations of 0.x that are no calls of a tool, or answer one under another name."""
_NO_WORDS: Final = frozenset({
    "Condensation", "CondensationRequest", "CondensationSummaryEvent", "ConversationErrorEvent",
    "ConversationIterationLimitEvent", "ConversationStateUpdateEvent", "HookExecutionEvent", "InterruptEvent",
    "LLMCompletionLogEvent", "PauseEvent", "SecurityAnalyzerConfigurationEvent", "StreamingDeltaEvent",
    "SystemPromptEvent", "TokenEvent",
})  # fmt: skip
"""Events of the SDK that are neither words nor calls."""
_ANSWERS: Final = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a trajectory; `lines` are the document's bytes, cut anywhere."""
    return read_records(elements(lines, _LISTS, objects=True), OpenHands(), "event")


def read_documents(documents: Iterable[bytes]) -> Iterator[Event]:
    """The events of a directory: each document is one file of it, in order. Lines in problems count the files."""
    return read_records(enumerate(documents, 1), OpenHands(), "event")


class OpenHands:
    """Reads the events of one conversation."""

    def __init__(self) -> None:
        self._turns = TurnBuilder()
        self._cwd: str | None = None
        self._delegated = ""  # the call that another agent works on

    def take(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        at = moment(record.get("timestamp"))
        own = identifier(record.get("id")) or f"line-{line}"
        if text(record.get("kind")) is not None:
            yield from self._event(line, own, record, at)
        elif text(record.get("action")) is not None:
            yield from self._action(line, own, record, at)
        elif text(record.get("observation")) is not None:
            yield from self._observation(line, record, at)
        else:
            yield unknown(line, "event", None)

    def end(self) -> Iterator[Event]:
        return self._turns.end()

    def _prompt(self, own: str, at: datetime | None) -> Iterator[Event]:
        if not (self._turns.running and own == self._turns.turn_id):
            yield from self._turns.begin(own, at)

    def _say(self, own: str, said: str | None, at: datetime | None) -> Iterator[Event]:
        if said is not None and said.strip():
            yield from self._turns.ensure(own, at)
            yield from self._turns.said(said, at)

    def _action(self, line: int, own: str, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        kind, given, source = record["action"], members(record.get("args")), record.get("source")
        if kind not in _ACTIONS and kind not in _NO_CALLS and kind != "finish":
            yield unknown(line, "action", kind)
        elif kind == "message" and source == "user":
            yield from self._prompt(own, at)
        elif source != "agent" or (self._delegated and self._turns.awaits(self._delegated)):
            return
        elif kind == "message":
            yield from self._say(own, text(given.get("content")), at)
        elif kind == "finish":
            yield from self._say(own, text(given.get("final_thought")) or text(record.get("message")), at)
        elif kind in _ACTIONS:
            yield from self._say(own, text(given.get("thought")), at)
            yield from self._turns.ensure(own, at)
            cwd = text(given.get("cwd")) or self._cwd
            yield from self._turns.call(own, kind, given, at=at, cwd=cwd)
            self._delegated = own if kind == "delegate" else ""

    def _observation(self, line: int, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        extras = members(record.get("extras"))
        metadata = members(extras.get("metadata"))
        cwd = text(metadata.get("working_dir"))
        code = whole(metadata.get("exit_code", extras.get("exit_code")))
        failed = record["observation"] in ("error", "user_rejected") or record.get("success") is False
        cause = identifier(record.get("cause"))
        if cause is not None and self._turns.awaits(cause):  # others answer what is no call: state changes, recalls
            result = result_text(record.get("content"))
            ok = not failed and code in (None, 0)
            yield from self._turns.result(cause, result, ok, at=at, line=line, cwd=cwd, exit=code)
        elif record["observation"] not in _ACTIONS and record["observation"] not in _NO_CALLS:
            yield unknown(line, "observation", record["observation"])
        self._cwd = cwd or self._cwd

    def _event(self, line: int, own: str, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        kind = record["kind"]
        if kind == "MessageEvent":
            content = result_text(members(record.get("llm_message")).get("content"))
            if record.get("source") == "user":
                yield from self._prompt(own, at)
            elif record.get("source") == "agent":
                yield from self._say(own, content, at)
        elif kind == "ActionEvent":
            yield from self._call(own, record, at)
        elif kind in _ANSWERS:
            yield from self._answer(line, record, at)
        elif kind == "ACPToolCallEvent":
            yield from self._foreign(line, own, record, at)
        elif kind not in _NO_WORDS:
            yield unknown(line, "event", kind)

    def _call(self, own: str, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        action, call = members(record.get("action")), members(record.get("tool_call"))
        name = text(record.get("tool_name")) or text(call.get("name")) or ""
        given = {key: value for key, value in action.items() if key != "kind"} or arguments(call.get("arguments"))
        yield from self._say(own, result_text(record.get("thought")), at)
        if name == "finish":
            yield from self._say(own, text(given.get("message")), at)
        elif name != "think":
            yield from self._turns.ensure(own, at)
            yield from self._turns.call(
                identifier(record.get("tool_call_id")) or own, name, given, at=at, cwd=self._cwd
            )

    def _answer(self, line: int, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        call_id = identifier(record.get("tool_call_id"))
        if call_id is None:
            yield Problem(line=line, sentence="A tool result here names no call; it is passed over.")
            return
        if record.get("tool_name") in ("finish", "think"):
            return
        observation = members(record.get("observation"))
        metadata = members(observation.get("metadata"))
        cwd = text(metadata.get("working_dir"))
        code = None
        if record["kind"] == "ObservationEvent":
            code = whole(observation.get("exit_code", metadata.get("exit_code")))
            ok = observation.get("is_error") is not True and not observation.get("error") and code in (None, 0)
            result = result_text(observation.get("content", observation.get("output")))
        else:
            ok, result = False, text(record.get("error")) or text(record.get("rejection_reason"))
        yield from self._turns.result(call_id, result, ok, at=at, line=line, cwd=cwd, exit=code)
        self._cwd = cwd or self._cwd

    def _foreign(self, line: int, own: str, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
        """A call that an agent behind the Agent Client Protocol made; each state of it is told again."""
        call_id = identifier(record.get("tool_call_id")) or own
        yield from self._turns.ensure(own, at)
        name = text(record.get("title")) or ""
        yield from self._turns.call(call_id, name, arguments(record.get("raw_input")), at=at, cwd=self._cwd)
        if record.get("status") in ("completed", "failed"):
            output, ok = record.get("raw_output"), record.get("status") == "completed"
            result = result_text(output if output is not None else record.get("content"))
            yield from self._turns.result(call_id, result, ok and record.get("is_error") is not True, at=at, line=line)
