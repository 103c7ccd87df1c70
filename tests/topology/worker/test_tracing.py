"""What a lane writes because of a traced emission is a span of the producer's trace."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sluice.codecs.blocks import Event, EventKind, Output
from sluice.topology.engine.interfaces import Committed
from sluice.topology.engine.telemetry import Traces, provider_of

T = 1_800_000_000_000
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def spans(flags: str, *, in_block: bool) -> tuple[ReadableSpan, ...]:
    """Of one block, decided a second after the emission came, and committed 20 ms later."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    header = [("traceparent", f"00-{TRACE}-{SPAN}-{flags}".encode())]
    event = Event(EventKind.RECORD, 0, 0, T, header, b"em-1", b"{}")
    outputs = [
        Output("admitted", b"em-1#c:0-9", b'{"status":"admitted"}', header),
        Output("admitted", b"em-2#c:0-9", b'{"status":"admitted"}', []),
    ]
    block = Committed(7, T + 1_000, ("emissions",), [event] if in_block else [], 10, outputs, 0.001, 0.02)
    Traces(provider, clock=lambda: (T + 1_020) * 1_000_000).committed("adjudicate", 3, block)
    return exporter.get_finished_spans()


def test_a_sampled_trace_goes_on():
    """From when the emission came until its record was committed, as a child of the producer's span."""
    (span,) = spans("01", in_block=True)

    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == SPAN
    assert f"{span.context.trace_id:032x}" == TRACE
    assert (span.start_time, span.end_time) == (T * 1_000_000, (T + 1_020) * 1_000_000)
    assert span.name == "admitted admitted"
    assert dict(span.attributes or {}) | {"sluice.emission_id": "em-1", "sluice.status": "admitted"} == span.attributes


def test_a_decision_that_falls_later_begins_with_its_block():
    """The emission stands in an earlier one."""
    (span,) = spans("01", in_block=False)

    assert span.start_time == (T + 1_000) * 1_000_000


def test_a_trace_that_is_not_sampled_has_no_span():
    """The producer has decided."""
    assert spans("00", in_block=True) == ()


@pytest.mark.parametrize(
    "variables", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}]
)
def test_without_a_place_to_export_to_nothing_is_traced(variables: dict[str, str]):
    """Nor where the SDK is switched off."""
    assert provider_of(variables) is None


def test_with_one_there_is_a_provider():
    """It can be shut down although nobody listens there."""
    provider = provider_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})

    assert isinstance(provider, TracerProvider)
    provider.shutdown()
