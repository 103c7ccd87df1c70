"""Runs of agents and chains, as their frameworks' callbacks report them, made into turns.

No framework is imported here: the modules `langchain_handler`, `langchain_middleware`, `litellm_logger` and
`openai_agents_processor` derive from the frameworks' classes and call these.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from ..events import ToolCall
from ..naming import counted
from ..recorder import Recorder, Turn
from ..transcripts.foreign_json import identifier, items, members, moment, text
from .live import LiveRecorder
from .messages import answers_of, calls_of, clean, mcp_name, plain, size_of, text_of, tool_call

MOST_CONVERSATIONS: Final = 100
MOST_CALLS: Final = 10_000
"""Calls of a conversation that are remembered; beyond, all are forgotten and recorded once more."""


class KnownCalls:
    """The calls of the newest conversations. One thread uses it at a time."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, set[str]] = OrderedDict()

    def new(self, conversation: str, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """Those of the calls that are not known yet, which now are."""
        known = self._known.pop(conversation, set[str]())
        if len(known) > MOST_CALLS:
            known.clear()
        self._known[conversation] = known
        while len(self._known) > MOST_CONVERSATIONS:
            self._known.popitem(last=False)
        found: list[ToolCall] = []
        for call in calls:
            key = _fingerprint(call)
            if key not in known:
                known.add(key)
                found.append(call)
        return found


def _fingerprint(call: ToolCall) -> str:
    """What tells a call from the others: some models give the same id twice."""
    written = json.dumps([call.call_id, call.name, call.arguments, call.ok], sort_keys=True, default=str)
    return sha256(f"{written}\0{call.result}".encode("utf-8", "replace")).hexdigest()


MOST_TRACES: Final = 1_000
"""Traces that are open at once; the oldest one beyond is recorded as it is."""
MOST_SPANS: Final = 100_000
"""Spans of a trace whose places are remembered."""


@dataclass(slots=True)
class _AgentRun:
    """A trace that is open: its turn, and which of its spans stand below a function."""

    turn: Turn
    inner: dict[str, bool] = field(default_factory=dict[str, bool])
    hosted: set[str] = field(default_factory=set[str])


class AgentRuns(LiveRecorder):
    """Records traces of the OpenAI Agents SDK, whose `TracingProcessor` has these methods."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._runs: OrderedDict[str, _AgentRun] = OrderedDict()

    def close(self, seconds: float = 30.0) -> bool:
        """Records what is open, too."""
        self._live.do(self._end_all)
        return self.flush(seconds)

    def on_trace_start(self, trace: Any) -> None:
        self._hand(self._begin, trace, "trace_id", "group_id")

    def on_trace_end(self, trace: Any) -> None:
        self._hand(self._end, trace, "trace_id")

    def on_span_start(self, span: Any) -> None:
        self._hand(self._place, span, "trace_id", "span_id", "parent_id", "span_data")

    def on_span_end(self, span: Any) -> None:
        self._hand(self._take, span, "trace_id", "span_id", "span_data", "error", "ended_at")

    def _hand(self, job: Any, of: Any, *names: str) -> None:
        try:
            output = getattr(getattr(of, "span_data", None), "output", None)
            size = len(output) if isinstance(output, str) else 1_000
            self._live.do(job, *(getattr(of, name, None) for name in names), size=size)
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self._live.failed("a part of a trace is not recorded", error)

    def _run(self, trace_id: object, group: object = None) -> _AgentRun:
        named = text(trace_id) or "trace"
        run = self._runs.get(named)
        if run is None:
            run = self._runs[named] = _AgentRun(self._recorder.turn(text(group) or named, named))
            while len(self._runs) > MOST_TRACES:
                self._runs.popitem(last=False)[1].turn.end()
        return run

    def _begin(self, trace_id: object, group: object) -> None:
        self._run(trace_id, group)

    def _end(self, trace_id: object) -> None:
        run = self._runs.pop(text(trace_id) or "trace", None)
        if run is not None:
            run.turn.end()

    def _end_all(self) -> None:
        while self._runs:
            self._runs.popitem(last=False)[1].turn.end()

    def _place(self, trace_id: object, span_id: object, parent_id: object, data: Any) -> None:
        run = self._run(trace_id)
        if isinstance(span_id, str) and len(run.inner) < MOST_SPANS:
            function = getattr(data, "type", None) == "function"
            run.inner[span_id] = function or (isinstance(parent_id, str) and run.inner.get(parent_id, False))

    def _take(self, trace_id: object, span_id: object, data: Any, error: object, ended: object) -> None:
        run, kind, at = self._run(trace_id), getattr(data, "type", None), moment(ended)
        if kind == "function":
            server, name = members(getattr(data, "mcp_data", None)).get("server"), getattr(data, "name", None)
            given, output = getattr(data, "input", None), getattr(data, "output", None)
            run.turn.call(tool_call("", mcp_name(server, name), given, output, ok=error is None, at=at))
        elif kind == "response":
            self._say(run, span_id, [getattr(data, "response", None)], at)
        elif kind == "generation":
            self._say(run, span_id, items(getattr(data, "output", None)), at)

    def _say(self, run: _AgentRun, span_id: object, responses: list[object], at: datetime | None) -> None:
        inner = isinstance(span_id, str) and run.inner.get(span_id, False)
        for response in responses:
            found = plain(response)
            for call in calls_of(items(found.get("output"))):
                if call.call_id not in run.hosted:
                    run.hosted.add(call.call_id)
                    run.turn.call(call)
            whole = "output" in found or "choices" in found
            for said in () if inner else answers_of(found) if whole else [text_of(found.get("content"))]:
                if said.strip():
                    run.turn.said(said, at)


MOST_RUNS: Final = 1_000
"""Outermost runs that are open at once; the oldest one beyond is recorded as it is."""
MOST_INNER: Final = 100_000
"""Runs below an outermost one whose places are remembered."""
_THREADS: Final = ("session_id", "thread_id", "conversation_id")
"""Names under which a run's metadata tell its conversation."""


class _Text(NamedTuple):
    message_id: str | None
    text: str
    at: datetime


@dataclass(slots=True)
class _ChainRun:
    """An outermost run that is open.

    Attributes:
        conversation: its name.
        number: of the turn.
        members: the runs below it, and itself; true where a tool stands above or is meant.
        tools: what runs of tools were given, until they end.
        calls: whose results are there, by the model's ids where they have one.
        from_messages: calls that stand in messages.
        texts: that models wrote.
    """

    conversation: str
    number: str
    members: dict[str, bool] = field(default_factory=dict[str, bool])
    tools: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict[str, "tuple[str, dict[str, Any]]"])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    from_messages: list[ToolCall] = field(default_factory=list[ToolCall])
    texts: list[_Text] = field(default_factory=list[_Text])


class ChainRuns(LiveRecorder):
    """Records runs of LangChain's chains, models and tools."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._known = KnownCalls()
        self._runs: OrderedDict[str, _ChainRun] = OrderedDict()
        self._roots: dict[str, str] = {}

    def began(self, run_id: object, parent_id: object, metadata: object) -> None:
        """A run begins that is no tool's."""
        self._hand(self._begin, str(run_id), _id(parent_id), metadata, False)

    def asked(self, run_id: object, parent_id: object, metadata: object, messages: Sequence[object]) -> None:
        """A chat model begins, with these messages."""
        self._hand(self._begin, str(run_id), _id(parent_id), metadata, False)
        self._hand(self._history, str(run_id), messages)

    def tool_began(self, run_id: object, parent_id: object, metadata: object, name: object, given: object) -> None:
        """A tool begins, with these arguments."""
        self._hand(self._begin, str(run_id), _id(parent_id), metadata, True)
        self._hand(self._tool, str(run_id), name, given)

    def tool_ended(self, run_id: object, output: object) -> None:
        """A tool has answered."""
        self._hand(self._answered, str(run_id), [output], datetime.now(UTC))
        self._hand(self._end, str(run_id), None)

    def said(self, run_id: object, messages: Sequence[object]) -> None:
        """A model has written, or has begun to and failed: messages, or texts."""
        self._hand(self._say, str(run_id), messages, datetime.now(UTC))
        self._hand(self._end, str(run_id), None)

    def ended(self, run_id: object, outputs: object = None) -> None:
        """A run has ended, with this or by an error."""
        self._hand(self._end, str(run_id), outputs)

    def whole(self, conversation: str | None, messages: Sequence[object], times: Mapping[str, datetime]) -> None:
        """An agent's run has ended, with these messages; of them, what is new since the user's last one is the turn."""
        self._hand(self._whole, conversation, messages, times, datetime.now(UTC))

    def _hand(self, job: Any, name: str | None, given: Any, *more: Any) -> None:
        """Hands over what was told; of messages a list of its own, since the program adds to its lists."""
        try:
            size = 100
            if isinstance(given, (list, tuple)):
                given = list(cast("Iterable[object]", given))
                size += size_of(given)
            self._live.do(job, name, given, *more, size=size)
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """A part of a run could not be handed over."""
        self._live.failed("a part of a run is not recorded", error)

    def _begin(self, run_id: str, parent_id: str | None, metadata: object, tool: bool) -> None:
        root = self._roots.get(parent_id or "")
        if root is None:
            known = members(metadata)
            named = (identifier(known.get(name)) for name in _THREADS)
            self._runs[run_id] = _ChainRun(next((one for one in named if one), run_id), run_id)
            root = run_id
            while len(self._runs) > MOST_RUNS:
                self._emit(self._forget(next(iter(self._runs))), None)
        run = self._runs[root]
        if len(run.members) < MOST_INNER:
            run.members[run_id] = tool or run.members.get(parent_id or "", False)
            self._roots[run_id] = root

    def _of(self, run_id: str) -> _ChainRun | None:
        return self._runs.get(self._roots.get(run_id, ""))

    def _tool(self, run_id: str, name: object, given: object) -> None:
        run = self._of(run_id)
        if run is not None:
            run.tools[run_id] = (clean(text(name) or ""), _json_only(given))

    def _history(self, run_id: str, messages: list[object]) -> None:
        run = self._of(run_id)
        if run is not None and not run.members.get(run_id, False):
            run.from_messages += calls_in(messages)

    def _answered(self, run_id: str, outputs: list[object], at: datetime) -> None:
        run, output = self._of(run_id), outputs[0]
        if run is None or run_id not in run.tools:
            return
        name, given = run.tools.pop(run_id)
        message = _tool_message(output)
        result = output if message is None else getattr(message, "content", None)
        call_id, ok = (
            identifier(getattr(message, "tool_call_id", None)),
            getattr(message, "status", "success") != "error",
        )
        run.calls.append(tool_call(call_id or "", name, given, result, ok=ok, at=at))

    def _say(self, run_id: str, messages: list[object], at: datetime) -> None:
        run = self._of(run_id)
        if run is None or run.members.get(run_id, False):
            return
        for message in messages:
            said = text_of(message if isinstance(message, str) else getattr(message, "content", None))
            if said.strip():
                run.texts.append(_Text(identifier(getattr(message, "id", None)), said, at))

    def _end(self, run_id: str, outputs: object) -> None:
        if run_id in self._runs:
            self._emit(self._forget(run_id), outputs)

    def _forget(self, root: str) -> _ChainRun:
        run = self._runs.pop(root)
        for one in run.members:
            self._roots.pop(one, None)
        return run

    def _emit(self, run: _ChainRun, outputs: object) -> None:
        answered = {call.call_id for call in run.calls if call.call_id}
        calls = [*run.calls, *(call for call in run.from_messages if call.call_id not in answered)]
        # Calls that only messages tell of go first: they were made before.
        calls.sort(key=lambda call: call.at is not None)
        self._record(run.conversation, run.number, calls, _answers(run.texts, outputs))

    def _whole(
        self, conversation: str | None, messages: list[object], times: Mapping[str, datetime], at: datetime
    ) -> None:
        asked = [place for place, one in enumerate(messages) if getattr(one, "type", None) == "human"]
        turn = [one for one in messages[asked[-1] + 1 if asked else 0 :] if getattr(one, "type", None) == "ai"]
        if not turn:
            return
        number = identifier(getattr(turn[-1], "id", None))
        texts = [_Text(None, said, at) for one in turn if (said := text_of(getattr(one, "content", None))).strip()]
        self._record(conversation or number or "langchain", number, calls_in(messages, times), texts)

    def _record(self, conversation: str, number: str | None, calls: list[ToolCall], texts: list[_Text]) -> None:
        new = self._known.new(conversation, calls)
        if not new and not texts:
            return
        turn = self._recorder.turn(conversation, number)
        for call in new:
            turn.call(call)
        for one in texts:
            turn.said(one.text, one.at)
        turn.end()


def calls_in(messages: Iterable[object], times: Mapping[str, datetime] | None = None) -> list[ToolCall]:
    """The calls whose results stand in LangChain's messages, in the order of the results; `times` by their ids."""
    asked: dict[str, dict[str, Any]] = {}
    found: list[ToolCall] = []
    for message in messages:
        for one in map(members, items(getattr(message, "tool_calls", None))):
            if (call_id := identifier(one.get("id"))) is not None:
                asked[call_id] = one
        call_id = identifier(getattr(message, "tool_call_id", None))
        if getattr(message, "type", None) != "tool" or call_id not in asked:
            continue
        one, ok = asked[call_id], getattr(message, "status", "success") != "error"
        content, at = getattr(message, "content", None), None if times is None else times.get(call_id)
        found.append(tool_call(call_id, one.get("name"), _json_only(one.get("args")), content, ok=ok, at=at))
    return found


def _answers(texts: list[_Text], outputs: object) -> list[_Text]:
    """Of the texts those that the outermost run gave back, if any."""
    given: object = members(outputs).get("messages", outputs)
    several = items(given) or [given]
    back = [one for one in several if getattr(one, "type", None) == "ai"]
    names = {getattr(one, "id", None) for one in back} - {None}
    said = {text_of(getattr(one, "content", None)) for one in back}
    kept = [one for one in texts if one.message_id in names or one.text in said]
    return kept or texts


def _tool_message(output: object) -> object | None:
    """The tool message that a tool gave back: itself, or the one in a command's update."""
    if getattr(output, "type", None) == "tool":
        return output
    update: object = getattr(output, "update", None)
    several = items(members(update).get("messages"))
    return next((one for one in several if getattr(one, "type", None) == "tool"), None)


def _json_only(given: object) -> dict[str, Any]:
    """The arguments that JSON holds: what the framework adds, such as its own runtime, is left out."""
    return {name: value for name, value in members(given).items() if _is_json(value)}


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _id(value: object) -> str | None:
    return None if value is None else str(value)


REDACTED: Final = "redacted-by-litellm"
"""What LiteLLM puts where messages are not to be logged."""
MOST_NUMBERS: Final = 10_000


class ModelCalls(LiveRecorder):
    """Records LiteLLM's model calls that have ended.

    Attributes:
        failed_calls: model calls that LiteLLM told to have failed; they have no answer.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.failed_calls = 0
        self._known = KnownCalls()
        self._seen: OrderedDict[str, int] = OrderedDict()

    def ended(self, kwargs: object, response: object, at: object = None) -> None:
        """A model call has ended at `at`, with `response` None where it failed; see LiteLLM's `CustomLogger`."""
        try:
            given = cast("Mapping[str, Any]", kwargs)
            messages: list[object] = list(items(given.get("messages")) or items(given.get("input")))
            self._live.do(self._record, given, messages, response, at, size=size_of(messages))
            self.failed_calls += response is None
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self._live.failed("a model call is not recorded", error)

    def _record(self, given: Mapping[str, Any], messages: list[object], response: object, at: object) -> None:
        conversation, name = _conversation(given), text(given.get("litellm_call_id"))
        if name is not None and response is not None and counted(self._seen, name, MOST_NUMBERS):
            return  # told of as a synchronous call, and as an asynchronous one
        calls = self._known.new(conversation, calls_of(messages))
        answers = answers_of(response)
        self._recorder.reading.not_understood += answers.count(REDACTED)
        answers = [one for one in answers if one != REDACTED]
        if not calls and not answers:
            return
        ended = at.astimezone() if isinstance(at, datetime) else None
        for place, answer in enumerate(answers or [""]):
            number = None if name is None else name if not place else f"{name}~{place}"
            turn = self._recorder.turn(conversation, number)
            for call in calls if not place else ():
                turn.call(call)
            if answer:
                turn.said(answer, ended)
            turn.end()


def _conversation(given: Mapping[str, Any]) -> str:
    """The session that the caller named, else the trace that LiteLLM made up for this call."""
    parameters = members(given.get("litellm_params"))
    for metadata in (parameters.get("metadata"), parameters.get("litellm_metadata")):
        if (named := text(members(metadata).get("session_id"))) is not None:
            return named
    logged = text(members(given.get("standard_logging_object")).get("trace_id"))
    return logged or text(given.get("litellm_trace_id")) or text(given.get("litellm_call_id")) or "litellm"
