"""GenAI spans of one trace, as events: what the agent called and said.

The attributes are those of OpenTelemetry's GenAI semantic conventions (in development). Contents are opt-in there; a
span without them gives what is left. Values may be structured, or JSON in a text. Nothing here needs OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ..events import Event, Message, ToolCall
from ..recorder import Recorder
from ..transcripts.foreign_json import identifier, text
from .messages import Answered, answered_in, arguments_of, calls_in, clean, text_of_result, texts_in

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
