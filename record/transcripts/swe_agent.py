"""Trajectories of SWE-agent: `trajectories/<user>/<experiment>/<instance>/<instance>.traj`.

The format is documented in part (swe-agent.com, «Output files»): one JSON object whose `trajectory` is a list of steps
with `thought`, `response`, `action`, `observation` and `state`. The rest was taken from the open source code (read at
1.1, July 2026). The `.traj.json` of mini-SWE-agent is another format and is not read.

What was taken into account:

- The whole file is one turn. A step says its thought, or its response where it has no action.
- An action is a command line for SWE-agent's shell, whose tools (`open`, `edit`) are programs: each call is told as
  `bash` with the action as `command`. It ran in the `working_dir` of the step before.
- Steps have no time and no exit code: `at` is None, and a call that was made counts as one that went well.
- Of a run with several attempts, the chosen one is read, which SWE-agent copies to `trajectory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..events import Event, Problem
from .foreign_json import Unreadable, decode, members, result_text, text
from .transcript_lines import TurnBuilder, elements, read_records

_LISTS: Final = frozenset({b"trajectory"})
_SAYS: Final = frozenset(("thought", "response", "action"))


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a trajectory; `lines` are the document's bytes, cut anywhere."""
    return read_records(elements(lines, _LISTS, objects=False), SweAgent(), "step")


class SweAgent:
    """Reads the steps of one trajectory."""

    def __init__(self) -> None:
        self._turns = TurnBuilder()
        self._cwd: str | None = None
        self._steps = 0

    def take(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        self._steps += 1
        if _SAYS.isdisjoint(record):
            yield Problem(line=line, sentence="This step has no thought, response or action; it is passed over.")
            return
        yield from self._turns.ensure("trajectory", None)
        action = text(record.get("action"))
        said = text(record.get("thought")) or (None if action else text(record.get("response")))
        if said is not None:
            yield from self._turns.said(said, None)
        if action is not None and action.strip():
            call_id = f"step-{self._steps}"
            yield from self._turns.call(call_id, "bash", {"command": action.rstrip("\n")}, at=None, cwd=self._cwd)
            if isinstance(record.get("observation"), (str, list)):
                result = result_text(record.get("observation"))
                yield from self._turns.result(call_id, result, True, at=None, line=line)
        state = record.get("state")
        if isinstance(state, str):  # before 1.0: JSON in a text
            try:
                state = decode(state.encode("utf-8", "replace"))
            except Unreadable:
                state = None
        self._cwd = text(members(state).get("working_dir")) or self._cwd

    def end(self) -> Iterator[Event]:
        if not self._steps:
            yield Problem(line=1, sentence="There is no list of steps named trajectory here.")
        yield from self._turns.end()
