"""A callback handler of LangChain that records. `langchain.callback_handler` makes one."""

# pyright: basic, reportMissingImports=false
# LangChain is not in the ordinary environment (make test-adapters).

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from ..recorder import Recorder
from .framework_runs import ChainRuns
from .live import LiveRecorder


class SluiceCallbackHandler(LiveRecorder, BaseCallbackHandler):
    """Records each outermost run as one turn. Callbacks return at once, so event loops may call them."""

    run_inline = True

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._runs = ChainRuns(recorder)

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, metadata: Any = None, **more: Any
    ) -> None:
        self._runs.began(run_id, parent_run_id, metadata)

    def on_chain_end(self, outputs: Any, *, run_id: Any, **more: Any) -> None:
        self._runs.ended(run_id, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._runs.ended(run_id)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        metadata: Any = None,
        **more: Any,
    ) -> None:
        self._runs.asked(run_id, parent_run_id, metadata, messages[0] if messages else ())

    def on_llm_start(
        self,
        serialized: Any,
        prompts: Any,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        metadata: Any = None,
        **more: Any,
    ) -> None:
        """See LangChain."""
        self._runs.began(run_id, parent_run_id, metadata)

    def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
        self._runs.said(run_id, _written(response))

    def on_llm_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._runs.said(run_id, _written(more.get("response")))

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        metadata: Any = None,
        inputs: Any = None,
        **more: Any,
    ) -> None:
        name = (serialized or {}).get("name") or more.get("name")
        self._runs.tool_began(run_id, parent_run_id, metadata, name, inputs)

    def on_tool_end(self, output: Any, *, run_id: Any, **more: Any) -> None:
        self._runs.tool_ended(run_id, output)

    def on_tool_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._runs.ended(run_id)


def _written(response: Any) -> list[Any]:
    """What a model wrote, of the first of several generations of each prompt."""
    generations = getattr(response, "generations", None) or []
    first = [several[0] for several in generations if several]
    return [getattr(one, "message", None) or getattr(one, "text", "") for one in first]
