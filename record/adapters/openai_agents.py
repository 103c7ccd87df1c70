"""Runs of the OpenAI Agents SDK, as emissions: a `TracingProcessor`.

    agents.add_trace_processor(tracing_processor(recorder))

`framework_runs.py` says what becomes of what; docs/adapters.md shows an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..recorder import Recorder
from .live import module_of

if TYPE_CHECKING:
    from .openai_agents_processor import SluiceTracingProcessor

__all__ = ["tracing_processor"]


def tracing_processor(recorder: Recorder) -> SluiceTracingProcessor:
    """A processor for `agents.add_trace_processor`, or for `agents.set_trace_processors`.

    Args:
        recorder: what records; only adapters use it from then on, in a thread of their own.

    Raises:
        UsageError: the SDK is not installed.
    """
    module = module_of("openai_agents_processor", "The OpenAI Agents SDK", "openai-agents")
    return module.SluiceTracingProcessor(recorder)
