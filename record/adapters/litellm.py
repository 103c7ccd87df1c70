"""LiteLLM's calls, as emissions: a `CustomLogger` for `litellm.callbacks`, in a program and in the proxy.

    litellm.callbacks = [logger(recorder)]

`framework_runs.py` says what becomes of what. The guardrail that withholds answers is
`sluice.topology.vet.litellm_guardrail.SluiceGuardrail`; docs/adapters.md shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..recorder import Recorder
from .live import module_of

if TYPE_CHECKING:
    from .litellm_logger import SluiceLogger

__all__ = ["logger"]


def logger(recorder: Recorder) -> SluiceLogger:
    """A logger for `litellm.callbacks`.

    Args:
        recorder: what records; only adapters use it from then on, in a thread of their own.

    Raises:
        UsageError: LiteLLM is not installed.
    """
    return module_of("litellm_logger", "LiteLLM", "litellm").SluiceLogger(recorder)
