"""Runs of LangChain and LangGraph, as emissions: a callback handler for any run, and middleware for its agents.

    agent.invoke(question, {"callbacks": [callback_handler(recorder)]})
    agent = create_agent(model, tools, middleware=[middleware(recorder)])

`framework_runs.py` says what becomes of what; docs/adapters.md shows examples. Use one of the two for an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..recorder import Recorder
from .live import module_of

if TYPE_CHECKING:
    from .langchain_handler import SluiceCallbackHandler
    from .langchain_middleware import SluiceMiddleware

__all__ = ["callback_handler", "middleware"]


def callback_handler(recorder: Recorder) -> SluiceCallbackHandler:
    """A handler for the `callbacks` of a run, for `invoke` and `ainvoke` alike.

    Args:
        recorder: what records; only adapters use it from then on, in a thread of their own.

    Raises:
        UsageError: LangChain is not installed.
    """
    return module_of("langchain_handler", "LangChain", "langchain").SluiceCallbackHandler(recorder)


def middleware(recorder: Recorder) -> SluiceMiddleware:
    """Middleware for `langchain.agents.create_agent`.

    Args:
        recorder: what records; only adapters use it from then on, in a thread of their own.

    Raises:
        UsageError: LangChain is not installed, or is older than 1.0.
    """
    return module_of("langchain_middleware", "LangChain 1.0 or later", "langchain").SluiceMiddleware(recorder)
