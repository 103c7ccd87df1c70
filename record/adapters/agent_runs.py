"""Traces of the OpenAI Agents SDK, as emissions: a trace is a turn, of whatever agents it goes through.

A function's span is a call; so is one of an MCP server, which the SDK marks (`mcp_data`), and a call of a hosted MCP
server, which stands in the model's response. The texts of response and generation spans are the answer, unless a
function's span stands above them: that agent speaks to the one that called it. Nothing here needs the SDK.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..events import ToolCall
from ..recorder import Recorder
from ..transcripts.foreign_json import items, members, moment, text
from ..turns import Turn
from .live import live
from .messages import answers_of, calls_of, mcp_name, result_of, text_of
from .otel_messages import arguments_of
from .plain import clean, plain

MOST_TRACES: Final = 1_000
"""Traces that are open at once; the oldest one beyond is recorded as it is."""
MOST_SPANS: Final = 100_000
"""Spans of a trace whose places are remembered."""


@dataclass(slots=True)
class _Run:
    """A trace that is open: its turn, and which of its spans stand below a function."""

    turn: Turn
    inner: dict[str, bool] = field(default_factory=dict[str, bool])
    hosted: set[str] = field(default_factory=set[str])


class AgentRuns:
    """Records traces. Any thread may call; nobody waits."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._live = live(recorder)
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    @property
    def failures(self) -> int:
        """How much could not be recorded."""
        return self._live.failures

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until everything so far is recorded; whether it was. Open traces wait for their ends."""
        return self._live.flush(seconds)

    def close(self, seconds: float = 30.0) -> bool:
        """Records what is open, too."""
        self._live.do(self._end_all)
        return self._live.flush(seconds)

    def trace_began(self, trace: Any) -> None:
        """A trace begins."""
        self._hand(self._begin, trace, "trace_id", "group_id")

    def trace_ended(self, trace: Any) -> None:
        """A trace ends."""
        self._hand(self._end, trace, "trace_id")

    def span_began(self, span: Any) -> None:
        """A span begins: where it stands."""
        self._hand(self._place, span, "trace_id", "span_id", "parent_id", "span_data")

    def span_ended(self, span: Any) -> None:
        """A span ends: what it holds."""
        self._hand(self._take, span, "trace_id", "span_id", "span_data", "error", "ended_at")

    def _hand(self, job: Any, of: Any, *names: str) -> None:
        try:
            output = getattr(getattr(of, "span_data", None), "output", None)
            size = len(output) if isinstance(output, str) else 1_000
            self._live.do(job, *(getattr(of, name, None) for name in names), size=size)
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self._live.failed("a part of a trace is not recorded", error)

    # ------------------------------------------------------------ in the recording thread

    def _run(self, trace_id: object, group: object = None) -> _Run:
        named = text(trace_id) or "trace"
        run = self._runs.get(named)
        if run is None:
            run = self._runs[named] = _Run(self._recorder.turn(text(group) or named, named))
            while len(self._runs) > MOST_TRACES:
                self._runs.popitem(last=False)[1].turn.end()
        return run

    def _begin(self, trace_id: object, group: object) -> None:
        self._run(trace_id, group)

    def _end(self, trace_id: object) -> None:
        run = self._runs.pop(text(trace_id) or "trace", None)
        if run is not None:
            run.turn.end()

    def _end_all(self) -> None:
        while self._runs:
            self._runs.popitem(last=False)[1].turn.end()

    def _place(self, trace_id: object, span_id: object, parent_id: object, data: Any) -> None:
        run = self._run(trace_id)
        if isinstance(span_id, str) and len(run.inner) < MOST_SPANS:
            function = getattr(data, "type", None) == "function"
            run.inner[span_id] = function or (isinstance(parent_id, str) and run.inner.get(parent_id, False))

    def _take(self, trace_id: object, span_id: object, data: Any, error: object, ended: object) -> None:
        run, kind, at = self._run(trace_id), getattr(data, "type", None), moment(ended)
        if kind == "function":
            run.turn.call(_function(data, error is None, at))
        elif kind == "response":
            self._say(run, span_id, [getattr(data, "response", None)], at)
        elif kind == "generation":
            self._say(run, span_id, items(getattr(data, "output", None)), at)

    def _say(self, run: _Run, span_id: object, responses: list[object], at: datetime | None) -> None:
        inner = isinstance(span_id, str) and run.inner.get(span_id, False)
        for response in responses:
            found = plain(response)
            for call in calls_of(items(found.get("output"))):
                if call.call_id not in run.hosted:
                    run.hosted.add(call.call_id)
                    run.turn.call(call)
            whole = "output" in found or "choices" in found
            for said in () if inner else answers_of(found) if whole else [text_of(found.get("content"))]:
                if said.strip():
                    run.turn.said(said, at)


def _function(data: Any, ok: bool, at: datetime | None) -> ToolCall:
    server = members(getattr(data, "mcp_data", None)).get("server")
    return ToolCall(
        call_id="",
        name=clean(mcp_name(server, getattr(data, "name", None))),
        arguments=arguments_of(getattr(data, "input", None)),
        result=result_of(getattr(data, "output", None)),
        ok=ok,
        at=at,
        cwd=None,
    )
