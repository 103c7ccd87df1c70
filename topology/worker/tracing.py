"""Traces: a producer's `traceparent` goes on to what its emission led to (W3C Trace Context, OpenTelemetry).

Each record that a lane writes because of an emission with a sampled trace becomes a span of that trace: from when the
emission reached its topic, or the block began that decided later, until the record was committed. Outputs carry the
producer's own `traceparent` on, unchanged, since what a lane writes must not depend on who watches it.

Configured by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT` …); without one of those nothing is traced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from time import time_ns
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TracerProvider

from ...codecs.blocks import Output
from ...codecs.errors import UsageError
from ...streams.adjudication.outputs import traceparent_of
from ..settings.extras import DISTRIBUTION
from .interfaces import Committed, Meter
from .metrics import kind_of

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_MS = 1_000
"""What is left at the end may take so long: a worker that is told to end has five seconds in all."""

_SAMPLED = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f][13579bdf]")


class Traces:
    """Makes the spans of a worker's lanes. Implements `interfaces.Meter`."""

    def __init__(self, provider: TracerProvider, clock: Callable[[], int] = time_ns) -> None:
        """
        Args:
            provider: of the SDK; it decides what is exported, and where to.
            clock: Unix nanoseconds.
        """
        self._tracer, self._clock = provider.get_tracer("sluice"), clock

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        traced = [(output, parent) for output in block.outputs if (parent := _parent(output)) is not None]
        if not traced:
            return
        arrived = {header: event.timestamp for event in block.events if (header := traceparent_of(event)) is not None}
        now = self._clock()
        for output, (header, parent) in traced:
            topic, status, reason = kind_of(output)
            attributes: dict[str, Any] = {
                "messaging.system": "kafka",
                "messaging.destination.name": topic,
                "messaging.destination.partition.id": str(lane),
                "sluice.emission_id": (output.key or b"").partition(b"#")[0].decode("utf-8", "replace"),
                "sluice.height": block.height,
                **({"sluice.status": status} if status else {}),
                **({"sluice.reason": reason} if reason else {}),
            }
            start = min(arrived.get(header, block.time) * 1_000_000, now)
            span = self._tracer.start_span(
                f"{topic} {status}".rstrip(),
                trace.set_span_in_context(NonRecordingSpan(parent)),
                kind=SpanKind.PRODUCER,
                attributes=attributes,
                start_time=start,
            )
            span.end(now)

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        """No span: nobody's trace led to it."""

    def claimed(self, fold: str, lane: int) -> None:
        """No span: no record came of it."""

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        """No span: nothing was written."""


class Meters:
    """Several that count as one. Implements `interfaces.Meter`."""

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = meters

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        for meter in self._meters:
            meter.committed(fold, lane, block)

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        for meter in self._meters:
            meter.restored(fold, lane, seconds)

    def claimed(self, fold: str, lane: int) -> None:
        for meter in self._meters:
            meter.claimed(fold, lane)

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        for meter in self._meters:
            meter.aborted(fold, lane, error)


def provider_of(variables: Mapping[str, str] = os.environ) -> Any:
    """The SDK's provider as OpenTelemetry's variables configure it; None where they name no place to export to.

    Raises:
        UsageError: they do, and the SDK is not installed.
    """
    if not any(variables.get(name) for name in VARIABLES) or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as SdkProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise UsageError(
            "traces are to be exported, but the SDK is not installed",
            path=VARIABLES[0],
            hint=f'run pip install "{DISTRIBUTION}[otel]", or unset the variable',
        ) from None
    named = {} if variables.get("OTEL_SERVICE_NAME") else {"service.name": "sluice"}
    provider = SdkProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _parent(output: Output) -> tuple[bytes, SpanContext] | None:
    """The `traceparent` of an output and what it says, where its trace is sampled."""
    header = next((value for name, value in output.headers if name == "traceparent"), b"")
    found = _SAMPLED.fullmatch(header)
    if found is None:
        return None
    trace_id, span_id = int(found[1], 16), int(found[2], 16)
    return header, SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
