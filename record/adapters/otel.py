"""OpenTelemetry's GenAI spans, as emissions: live by a span processor, and from files of OTLP JSON.

    provider.add_span_processor(span_processor(recorder))
    problems = record_otlp(recorder, "traces.jsonl")

A file holds one OTLP object (`{"resourceSpans": […]}`), or one a line, as the collector's file exporter writes them.
The attributes are those of the GenAI semantic conventions (in development). Contents are opt-in there; a span without
them gives what is left. Values may be structured, or JSON in a text. Only `otel_processor` needs OpenTelemetry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ...codecs.errors import UsageError
from ..events import Event, Message, Problem, ToolCall
from ..recorder import Recorder
from ..transcripts.foreign_json import MAX_LINE, Unreadable, decode, identifier, items, members, text, whole
from .live import module_of
from .messages import Answered, answered_in, arguments_of, calls_in, clean, text_of_result, texts_in

if TYPE_CHECKING:
    from .otel_processor import GenAiProcessor

__all__ = ["Trace", "events_of", "is_otlp", "read_otlp", "record_otlp", "span_processor"]

MAX_SPANS: Final = 10_000
"""Spans of one trace that are kept; those beyond are left out."""

_TOOL: Final = "execute_tool"
_SAYING: Final = ("chat", "generate_content", "text_completion", "invoke_agent", "invoke_workflow")
_PREFIX: Final = "gen_ai."


@dataclass(frozen=True, slots=True, kw_only=True)
class GenAiSpan:
    """A span that has ended and has attributes of the conventions.

    Attributes:
        span_id: 16 hex digits.
        name: of the span.
        flags: of the trace, one byte.
        start: Unix nanoseconds; None where it is not known.
        end: as `start`.
        attributes: plain values; those of the span's events that are messages are among them.
        failed: whether its status is an error.
    """

    span_id: str
    name: str
    flags: int
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    failed: bool


@dataclass(slots=True)
class Trace:
    """What is known of one trace: its GenAI spans, of every span its parent, and how many log records it has."""

    trace_id: str
    spans: list[GenAiSpan] = field(default_factory=list[GenAiSpan])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    rooted: bool = False
    left_out: int = 0
    log_records: int = 0

    @property
    def is_speaking(self) -> bool:
        """Whether it tells of a model that says something, as embeddings and rankings do not."""
        return self.log_records > 0 or any(_operation(span) in ("", *_SAYING) for span in self.spans)

    def add(self, span: GenAiSpan | None, span_id: str, parent: str) -> None:
        """Adds a span: with its GenAI attributes, or only its place."""
        self.rooted = self.rooted or not parent
        if span_id in self.parents:
            return
        if len(self.parents) >= MAX_SPANS:
            self.left_out += 1
            return
        self.parents[span_id] = parent
        if span is not None:
            self.spans.append(span)


def is_genai(attributes: Mapping[str, Any]) -> bool:
    """Whether one of the attributes is of the conventions."""
    return any(name.startswith(_PREFIX) for name in attributes)


def events_of(trace: Trace) -> list[Event]:
    """What was called and said, in the order in which it ended.

    A call is told once, by its `gen_ai.tool.call.id`: by its span, else by a message that brings its result. A text is
    told once, so an agent's span does not repeat its model's. Models below a tool's span speak to that tool.
    """
    spans = sorted(trace.spans, key=lambda span: (_time(span.end), _time(span.start)))
    called = calls_in(span.attributes for span in spans)
    own = {one for span in spans if _operation(span) == _TOOL and (one := _call_id(span))}
    inner = _below_tools(trace)
    events: list[Event] = []
    said: set[str] = set()
    for span in spans:
        operation = _operation(span)
        if operation == _TOOL:
            call = _tool_call(span, called.get(_call_id(span)))
            events += [] if call is None else [call]
        elif operation in _SAYING:
            for call_id in answered_in(span.attributes):
                if call_id in called and call_id not in own:
                    own.add(call_id)
                    events.append(_from_messages(call_id, called[call_id]))
            if span.span_id not in inner:
                for one in texts_in(span.attributes):
                    if one not in said:
                        said.add(one)
                        events.append(Message(text=one, at=_moment(span.end)))
    return events


def record_trace(recorder: Recorder, trace: Trace) -> int:
    """Records a trace as one turn, and returns how many texts of the agent it has.

    The conversation is `gen_ai.conversation.id`, or the trace id. The turn is named by the trace id; where the trace's
    root was not seen, by its first span, as other parts of the trace may come from elsewhere.

    Raises:
        SluiceError: the recorder's sink does not take it.
    """
    events = events_of(trace)
    if not events:
        return 0
    first = min(trace.spans, key=lambda span: (_time(span.start), -_time(span.end)))
    named = (text(span.attributes.get("gen_ai.conversation.id")) for span in trace.spans)
    turn = recorder.turn(
        next((one for one in named if one), trace.trace_id),
        trace.trace_id if trace.rooted else first.span_id,
        traceparent=f"00-{trace.trace_id}-{first.span_id}-{first.flags & 0xFF:02x}",
    )
    for event in events:
        if isinstance(event, ToolCall):
            turn.call(event)
        elif isinstance(event, Message):
            turn.said(event.text, event.at)
    turn.end()
    return sum(isinstance(event, Message) for event in events)


def no_content(spans: int, others: int = 0) -> str:
    """The sentence for telemetry in which no text of an agent was read, of so many GenAI spans, and others."""
    told = f"{spans} GenAI span{'' if spans == 1 else 's'}"
    if others:
        told += f" and {others} other span{'' if others == 1 else 's'} or log records"
    return f"{told}, no content that is read."


def _tool_call(span: GenAiSpan, answered: Answered | None) -> ToolCall | None:
    found = span.attributes
    name = text(found.get("gen_ai.tool.name")) or (answered.name if answered else "") or span.name.partition(" ")[2]
    if not name:
        return None
    # The second names are those of earlier versions of the conventions.
    given = found.get("gen_ai.tool.call.arguments", found.get("gen_ai.tool.parameters"))
    result = found.get("gen_ai.tool.call.result", found.get("gen_ai.tool.result"))
    return ToolCall(
        call_id=_call_id(span),
        name=clean(name),
        arguments=arguments_of(given) if given is not None or answered is None else answered.arguments,
        result=text_of_result(result) if result is not None or answered is None else answered.result,
        ok=not span.failed and not found.get("error.type"),
        at=_moment(span.end),
        cwd=None,
    )


def _from_messages(call_id: str, answered: Answered) -> ToolCall:
    """A call that no span tells of. When it was made is not known."""
    return ToolCall(
        call_id=call_id,
        name=answered.name,
        arguments=answered.arguments,
        result=answered.result,
        ok=True,
        at=None,
        cwd=None,
    )


def _below_tools(trace: Trace) -> set[str]:
    """The spans that have a tool's span above them."""
    tools = {span.span_id for span in trace.spans if _operation(span) == _TOOL}
    answers: dict[str, bool] = dict.fromkeys(tools, True)
    for span in trace.spans:
        way: list[str] = []
        place = span.span_id
        while place and place not in answers:
            answers[place] = False  # also ends a circle
            way.append(place)
            place = trace.parents.get(place, "")
        if answers.get(place, False):
            answers.update(dict.fromkeys(way, True))
    return {span_id for span_id, below in answers.items() if below}


def _operation(span: GenAiSpan) -> str:
    return text(span.attributes.get("gen_ai.operation.name")) or ""


def _call_id(span: GenAiSpan) -> str:
    return clean(identifier(span.attributes.get("gen_ai.tool.call.id")) or "")


def _time(nanoseconds: int | None) -> int:
    return nanoseconds or 0


def _moment(nanoseconds: int | None) -> datetime | None:
    try:
        return None if not nanoseconds else datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return None


MAX_PROBLEMS: Final = 20
"""Lines that are told one by one; one more `Problem` counts the others."""
_SAMPLE: Final = 4_096
_BEGINNING: Final = re.compile(rb'\s*\{\s*"resource(?:Spans|Metrics|Logs)"\s*:')
"""How a file of the collector begins: it has one kind of telemetry, or all."""
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_HEX: Final = re.compile(r"[0-9a-f]*")
_LATEST: Final = 2**64


def span_processor(recorder: Recorder) -> GenAiProcessor:
    """A span processor for a `TracerProvider`. It alone uses the recorder from then on.

    Raises:
        UsageError: OpenTelemetry's SDK is not installed.
    """
    return module_of("otel_processor", "OpenTelemetry's SDK", "otel").GenAiProcessor(recorder)


def is_otlp(path: str | Path) -> bool:
    """Whether a file is one of OTLP JSON, by its beginning. One that cannot be read is none."""
    try:
        with open(path, "rb") as file:
            return _BEGINNING.match(file.read(_SAMPLE)) is not None
    except OSError:
        return False


def read_otlp(path: str | Path | IO[bytes]) -> tuple[list[Trace], list[Problem]]:
    """The traces of a file that have GenAI spans, in the order in which they begin in it, and what cannot be read.

    Args:
        path: of the file, or the open file, which is read from its beginning.

    Raises:
        UsageError: the file cannot be read.
    """
    traces: dict[str, Trace] = {}
    problems: list[Problem] = []
    bad = 0
    try:
        with open(path, "rb") if isinstance(path, (str, Path)) else nullcontext(path) as file:
            data = _one_object(file.read(MAX_LINE + 1))
            if data is not None:
                sentence = _add(traces, data)
                return list(traces.values()), [Problem(line=1, sentence=sentence)] if sentence else []
            file.seek(0)
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                sentence = "" if not line.strip() else _add_line(traces, line)
                while len(line) > MAX_LINE and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE + 1)
                bad += bool(sentence)
                if sentence and bad <= MAX_PROBLEMS:
                    problems.append(Problem(line=number, sentence=sentence))
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", path=_name_of(path)) from None
    if bad > MAX_PROBLEMS:
        others = bad - MAX_PROBLEMS
        problems.append(Problem(line=number, sentence=f"{others} more lines cannot be read.", lines=others))
    return list(traces.values()), problems


def record_otlp(recorder: Recorder, path: str | Path | IO[bytes]) -> list[Problem]:
    """Records each trace of a file as one turn, and returns what could not be read of it.

    Raises:
        UsageError: the file cannot be read.
        SluiceError: the sink does not take an emission.
    """
    traces, problems = read_otlp(path)
    silent: list[Trace] = []
    for trace in traces:
        if not record_trace(recorder, trace) and trace.is_speaking:
            silent.append(trace)
        if trace.left_out:
            sentence = f"The trace {trace.trace_id} has too many spans; {trace.left_out} are left out."
            problems.append(Problem(line=1, sentence=sentence, lines=trace.left_out))
    if recorder.reading.is_nothing:
        silent = traces
    spans = sum(len(trace.spans) for trace in silent)
    others = sum(len(trace.parents) + trace.log_records for trace in silent) - spans
    if silent or (recorder.reading.is_nothing and not problems):
        which = len(silent)
        problems.append(
            Problem(line=1, sentence=no_content(spans, others), nothing_read=not recorder.reading.messages, lines=which)
        )
    recorder.reading.not_understood += sum(one.lines for one in problems)
    return problems


def _name_of(file: str | Path | IO[bytes]) -> str:
    return str(file) if isinstance(file, (str, Path)) else str(getattr(file, "name", "standard input"))


def _one_object(data: bytes) -> object | None:
    """The file as one object, where it is one."""
    if len(data) > MAX_LINE:
        return None
    try:
        return decode(data)
    except Unreadable:
        return None


def _add_line(traces: dict[str, Trace], line: bytes) -> str:
    """Adds the spans of a line; a sentence where it cannot be read."""
    try:
        value = decode(line)
    except Unreadable as error:
        return f"The line {error}."
    return _add(traces, value)


def _add(traces: dict[str, Trace], value: object) -> str:
    """Adds the spans of an OTLP object; a sentence where it is none. Metrics are passed over, log records counted."""
    found = members(value)
    if not found:
        return "This is no OTLP object."
    for resource in items(found.get("resourceSpans")):
        for scope in items(members(resource).get("scopeSpans")):
            for span in map(members, items(members(scope).get("spans"))):
                _add_span(traces, span)
    for resource in items(found.get("resourceLogs")):
        for scope in items(members(resource).get("scopeLogs")):
            for record in map(members, items(members(scope).get("logRecords"))):
                trace_id = _id(record.get("traceId"), _NO_TRACE)
                traces.setdefault(trace_id, Trace(trace_id)).log_records += 1
    return ""


def _add_span(traces: dict[str, Trace], span: dict[str, Any]) -> None:
    trace_id, span_id = _id(span.get("traceId"), _NO_TRACE), _id(span.get("spanId"), _NO_SPAN)
    if not trace_id or not span_id:
        return
    attributes: dict[str, Any] = {}
    for event in items(span.get("events")):
        attributes |= _attributes(members(event).get("attributes"))
    attributes |= _attributes(span.get("attributes"))
    found = GenAiSpan(
        span_id=span_id,
        name=text(span.get("name")) or "",
        flags=(whole(span.get("flags")) or 0) & 0xFF,
        start=_nanoseconds(span.get("startTimeUnixNano")),
        end=_nanoseconds(span.get("endTimeUnixNano")),
        attributes=attributes,
        failed=members(span.get("status")).get("code") in (2, "STATUS_CODE_ERROR"),
    )
    trace = traces.setdefault(trace_id, Trace(trace_id))
    trace.add(found if is_genai(attributes) else None, span_id, _id(span.get("parentSpanId"), _NO_SPAN))


def _id(value: object, nothing: str) -> str:
    """The id in lower case; empty where it is none."""
    written = value.lower() if isinstance(value, str) and len(value) == len(nothing) else ""
    return written if _HEX.fullmatch(written) and written != nothing else ""


def _nanoseconds(value: object) -> int | None:
    """64-bit numbers are decimal texts in OTLP's JSON, or numbers."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdigit():
        value = int(value)
    number = whole(value)
    return number if number is not None and 0 < number < _LATEST else None


def _attributes(value: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in map(members, items(value)):
        if (key := text(one.get("key"))) is not None:
            found[key] = _any_value(one.get("value"))
    return found


def _any_value(value: object) -> Any:
    """OTLP's AnyValue as plain JSON; bytes are left out. Its depth is bounded by that of the JSON."""
    found = members(value)
    if "arrayValue" in found:
        return [_any_value(one) for one in items(members(found["arrayValue"]).get("values"))]
    if "kvlistValue" in found:
        return _attributes(members(found["kvlistValue"]).get("values"))
    if "intValue" in found:
        number = found["intValue"]
        return int(number) if isinstance(number, str) and re.fullmatch(r"-?[0-9]{1,20}", number) else number
    for name in ("stringValue", "boolValue", "doubleValue"):
        if name in found:
            return found[name]
    return None
