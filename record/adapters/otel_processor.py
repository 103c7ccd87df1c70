"""A span processor of OpenTelemetry's SDK that records GenAI spans. `otel.span_processor` makes one."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from threading import RLock
from typing import Any, Final, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from ...codecs.errors import SluiceError
from ..recorder import Recorder
from .otel_spans import GenAiSpan, Trace, is_genai, no_content, record_trace

MAX_TRACES: Final = 1000
"""Traces that are open at once; the oldest one beyond is recorded as it is."""

_log = logging.getLogger(__name__)


class GenAiProcessor(SpanProcessor):
    """Records a trace as one turn when its local root ends: a span without a parent in this process.

    Any thread may end spans. What a sink does not take is logged as a warning and told by `failures`; a program that is
    observed must not fail for it.

    Attributes:
        failures: how many traces could not be recorded.
        unread: how many traces have GenAI spans, and no text of the agent in them. The first one is logged.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.failures = self.unread = 0
        self._recorder = recorder
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._lock = RLock()  # a sink may make spans itself

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Does nothing: what counts is there when a span ends."""

    def on_end(self, span: ReadableSpan) -> None:
        """Keeps the span, and records its trace where it is the local root."""
        context = span.get_span_context()
        if context is None:
            return
        trace_id, span_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"
        parent = "" if span.parent is None else f"{span.parent.span_id:016x}"
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is None:
                trace = self._traces[trace_id] = Trace(trace_id)
            trace.add(_genai(span, span_id, int(context.trace_flags)), span_id, parent)
            if span.parent is None or span.parent.is_remote:
                self._record(self._traces.pop(trace_id))
            while len(self._traces) > MAX_TRACES:
                self._record(self._traces.popitem(last=False)[1])

    def shutdown(self) -> None:
        """Records what is open. The sink is closed by who made it."""
        with self._lock:
            while self._traces:
                self._record(self._traces.popitem(last=False)[1])
            reading = self._recorder.reading
            level = logging.WARNING if reading.is_nothing or reading.not_understood else logging.INFO
            _log.log(level, "sluice: %s", reading)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flushes the sink; open traces wait for their ends. The sink's own time limit holds."""
        with self._lock:
            try:
                self._recorder.sink.flush()
            except SluiceError as error:
                _log.warning("emissions wait for their sink: %s", error)
                return False
        return True

    def _record(self, trace: Trace) -> None:
        try:
            texts = record_trace(self._recorder, trace)
            if not texts and trace.is_speaking:
                self.unread += 1
                self._recorder.reading.not_understood += 1
                if self.unread == 1:
                    _log.warning("the trace %s has %s", trace.trace_id, no_content(len(trace.spans)))
        except (SluiceError, OSError) as error:
            self.failures += 1
            self._recorder.reading.not_understood += 1
            _log.warning("the trace %s is not recorded, or its emissions wait: %s", trace.trace_id, error)
        if trace.left_out:
            _log.warning("the trace %s has too many spans; %d are left out", trace.trace_id, trace.left_out)


def _genai(span: ReadableSpan, span_id: str, flags: int) -> GenAiSpan | None:
    attributes: dict[str, Any] = {}
    for event in span.events:
        attributes |= dict(event.attributes or {})
    attributes |= dict(span.attributes or {})
    if not is_genai(attributes):
        return None
    return GenAiSpan(
        span_id=span_id,
        name=span.name,
        flags=flags,
        start=span.start_time,
        end=span.end_time,
        attributes={name: _lists(value) for name, value in attributes.items()},
        failed=span.status.status_code is StatusCode.ERROR,
    )


def _lists(value: Any) -> Any:
    """The SDK keeps sequences as tuples, and objects as mappings."""
    if isinstance(value, Mapping):
        return {name: _lists(one) for name, one in cast("Mapping[str, Any]", value).items()}
    return [_lists(one) for one in cast("list[Any]", value)] if isinstance(value, (tuple, list)) else value
