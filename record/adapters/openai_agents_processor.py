"""A `TracingProcessor` of the OpenAI Agents SDK that records. `openai_agents.tracing_processor` makes one."""

# pyright: basic, reportMissingImports=false
# The SDK is not in the ordinary environment (make test-adapters).

from __future__ import annotations

from typing import Any

from agents.tracing import TracingProcessor

from ..recorder import Recorder
from .framework_runs import AgentRuns


class SluiceTracingProcessor(TracingProcessor):
    """Records each trace as one turn. Callbacks return at once.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._runs = AgentRuns(recorder)

    @property
    def failures(self) -> int:
        """How much could not be recorded."""
        return self._runs.failures

    def on_trace_start(self, trace: Any) -> None:
        """See the SDK."""
        self._runs.trace_began(trace)

    def on_trace_end(self, trace: Any) -> None:
        """See the SDK."""
        self._runs.trace_ended(trace)

    def on_span_start(self, span: Any) -> None:
        """See the SDK."""
        self._runs.span_began(span)

    def on_span_end(self, span: Any) -> None:
        """See the SDK."""
        self._runs.span_ended(span)

    def shutdown(self) -> None:
        """Records what is open. The sink is closed by who made it."""
        self._runs.close(10.0)

    def force_flush(self) -> None:
        """Waits until everything so far is recorded."""
        self._runs.flush()
