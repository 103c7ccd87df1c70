"""What happened in an agent's session, in the order in which it happened.

Readers of transcripts make these events, and live adapters do; the recorder takes them. They say what was done and said
and nothing of what it means: which call looked at what is decided by `tools`, what a sentence states by `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call with its result.

    Attributes:
        call_id: what the session calls this call; empty where it has no name.
        name: of the tool, as the agent's framework writes it, such as `Read` or `mcp__server__tool`.
        arguments: as the model gave them.
        result: the text that came back; None where none is recorded.
        ok: whether the call succeeded.
        at: when the result was there, with a time zone; None where it is not known.
        cwd: the directory in which the call was made, absolute; None where it is not known.
        exit: the exit status that the session tells of a command line; None where it tells none. Two tellings of a
            call are equal without it.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    result: str | None
    ok: bool
    at: datetime | None
    cwd: str | None
    exit: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Text that the agent addressed to its user: Markdown.

    Attributes:
        text: the Markdown, or a piece of it.
        at: when it was written, with a time zone; None where it is not known.
    """

    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    """A turn began: what the agent does and says until it ends answers one request.

    Attributes:
        turn_id: what the session calls the turn.
        at: when it began, with a time zone; None where it is not known.
    """

    turn_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The turn that began last ended.

    Attributes:
        at: when it ended, with a time zone; None where it is not known.
    """

    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Calls that were made here are not in the transcript: it was compacted, or its beginning is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line of a transcript that could not be read; what stands around it is read nevertheless.

    Attributes:
        line: its number, from 1.
        sentence: one sentence that says what is wrong with it.
        nothing_read: no line of the transcript has a known form, so nothing of it was read.
        lines: how many lines, elements or results it tells of.
    """

    line: int
    sentence: str
    nothing_read: bool = False
    lines: int = 1


Event: TypeAlias = ToolCall | Message | TurnBegan | TurnEnded | Gap | Problem


@dataclass(slots=True)
class Reading:
    """What was read of what an agent did and said, as it is told to a person: `N messages, M statements, K not
    understood`.

    Attributes:
        messages: texts of the agent.
        statements: that were found in them.
        not_understood: lines, elements, results or traces that could not be read.
        calls: of tools.
    """

    messages: int = 0
    statements: int = 0
    not_understood: int = 0
    calls: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing that an agent did or said was read."""
        return not self.messages and not self.calls

    def __str__(self) -> str:
        told = f"{self.messages} messages, {self.statements} statements, {self.not_understood} not understood"
        return f"{told}: nothing of an agent was read" if self.is_nothing else told
