"""OpenTelemetry's GenAI spans, as emissions: live by a span processor, and from files of OTLP JSON.

    provider.add_span_processor(span_processor(recorder))
    problems = record_otlp(recorder, "traces.jsonl")

A file holds one OTLP object (`{"resourceSpans": […]}`), or one a line, as the collector's file exporter writes them.
`otel_spans.py` says what becomes of which span. Only `otel_processor.py` needs OpenTelemetry.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ...codecs.errors import UsageError
from ..events import Problem
from ..recorder import Recorder
from ..transcripts.foreign_json import MAX_LINE, Unreadable, decode, items, members, text, whole
from .live import module_of
from .otel_spans import (
    GenAiSpan,
    Trace,
    events_of,
    is_genai,
    no_content,
    record_trace,
)

if TYPE_CHECKING:
    from .otel_processor import GenAiProcessor

__all__ = ["Trace", "events_of", "is_otlp", "read_otlp", "record_otlp", "span_processor"]

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
