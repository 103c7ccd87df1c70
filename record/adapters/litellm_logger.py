"""LiteLLM's `CustomLogger` that records. `litellm.logger` makes one."""

# pyright: basic, reportMissingImports=false
# LiteLLM is not in the ordinary environment (make test-adapters).

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from ..recorder import Recorder
from .framework_runs import ModelCalls
from .live import LiveRecorder


class SluiceLogger(LiveRecorder, CustomLogger):
    """Records each answer of a model with the calls whose results it was given. Callbacks return at once."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._calls = ModelCalls(recorder)

    @property
    def failed_calls(self) -> int:
        """How many model calls failed."""
        return self._calls.failed_calls

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._calls.ended(kwargs, response_obj, end_time)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._calls.ended(kwargs, response_obj, end_time)

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._calls.ended(kwargs, None, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._calls.ended(kwargs, None, end_time)
