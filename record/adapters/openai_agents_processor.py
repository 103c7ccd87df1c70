"""A `TracingProcessor` of the OpenAI Agents SDK that records. `openai_agents.tracing_processor` makes one."""

# pyright: basic, reportMissingImports=false
# The SDK is not in the ordinary environment (make test-adapters).

from __future__ import annotations

from agents.tracing import TracingProcessor

from .framework_runs import AgentRuns


class SluiceTracingProcessor(AgentRuns, TracingProcessor):
    """Records each trace as one turn. Callbacks return at once."""

    def shutdown(self) -> None:
        """Records what is open. The sink is closed by who made it."""
        self.close(10.0)

    def force_flush(self) -> None:
        """Waits until everything so far is recorded."""
        self.flush()
