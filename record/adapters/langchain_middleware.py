"""Middleware of LangChain's agents that records. `langchain.middleware` makes one."""

# pyright: basic, reportMissingImports=false
# LangChain is not in the ordinary environment (make test-adapters).

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware
from langgraph.config import get_config

from ..recorder import Recorder
from .framework_runs import ChainRuns
from .live import LiveRecorder

MOST_TIMES: Final = 10_000
"""Calls whose times are kept until their run ends."""


class SluiceMiddleware(LiveRecorder, AgentMiddleware):
    """Records a run of an agent as one turn when it ends; one that fails is not recorded. Nothing waits for it."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._runs = ChainRuns(recorder)
        self._lock = threading.Lock()
        self._times: OrderedDict[str, datetime] = OrderedDict()

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        answer = handler(request)
        self._note(request)
        return answer

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        answer = await handler(request)
        self._note(request)
        return answer

    def after_agent(self, state: Any, runtime: Any) -> None:
        try:
            with self._lock:
                times = dict(self._times)
            self._runs.whole(_thread(), state.get("messages") or [], times)
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever happens here
            self._runs.failed(error)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        self.after_agent(state, runtime)

    def _note(self, request: Any) -> None:
        call_id = (getattr(request, "tool_call", None) or {}).get("id")
        if isinstance(call_id, str):
            with self._lock:
                self._times[call_id] = datetime.now(UTC)
                while len(self._times) > MOST_TIMES:
                    self._times.popitem(last=False)


def _thread() -> str | None:
    """The thread that the agent's checkpoints belong to; None where it has none."""
    try:
        named = (get_config().get("configurable") or {}).get("thread_id")
    except RuntimeError:
        return None
    return None if named in (None, "") else str(named)
