"""Records an agent's turns: its calls and its words in, emissions out (recording.md, «Recorder»).

    recorder = Recorder(emitter="coding-agent", sink=FileSink("emissions.jsonl"), root=".")
    with recorder.turn(conversation="c-1") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=text, ok=True)
        turn.text("The cap is 1000, see `MAX_ASSERTIONS`.")

The annotations come from the calls, and from those that the answer itself has in a form for machines
(docs/annotating.md); what its prose says about its sources adds none. Results are read by their layout,
obeyed in nothing, and leave the process only as quotes of single lines.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..codecs.errors import UsageError
from ..codecs.records import Effect, Emitter
from .call_annotations import Annotator
from .command_kinds import CommandKinds
from .events import Event, Gap, Message, Problem, Reading, ToolCall, TurnBegan, TurnEnded
from .naming import counted, name_of
from .session import Session
from .sinks import Sink
from .tools import ToolMap
from .turns import Calls, Turn
from .workspaces import Checkout, Workspace

MOST_CONVERSATIONS: Final = 100
MOST_TURNS: Final = 10_000
"""Turns whose attempts are counted."""
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Emitted(NamedTuple):
    """A turn of a session that is recorded.

    Attributes:
        number: counts those that say something, from 1.
        left_out: which of the answer's own annotations are not read, a sentence each.
    """

    number: int
    left_out: Sequence[str] = ()


def now_ms() -> int:
    """The present in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Recorder:
    """Makes emissions of turns. One thread uses it at a time.

    Args:
        emitter: the name of the emitting system, an identifier; or all that is known of it.
        sink: where emissions go. The recorder flushes it at each turn's end; who made it closes it.
        tools: which call looked where; the defaults where it is left out.
        root: the checkout's folder. With it, files are read to complete what results show only in part, and to know
            observation ids; without it a call's own folder is taken for the root, and results are all there is.
        effect: where the answers take effect.
        streamed: whether each statement is emitted as soon as it is complete, as a part of a group.
        clock: the present in Unix milliseconds.

    Attributes:
        reading: what was read so far: messages, the statements of those that were emitted, what was not understood.

    Raises:
        UsageError: the emitter's name is none.
    """

    def __init__(
        self,
        emitter: str | Emitter,
        sink: Sink,
        tools: ToolMap | None = None,
        root: str | Path | None = None,
        *,
        effect: Effect = "internal",
        streamed: bool = False,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self.emitter = Emitter(system=name_of(emitter, "emitter")) if isinstance(emitter, str) else emitter
        self.effect: Effect = effect
        self.sink, self.streamed, self.clock = sink, streamed, clock
        self.flushing, self.reading = threading.Lock(), Reading()
        self.tools = ToolMap.default() if tools is None else tools
        self.checkout = None if root is None else Checkout(root)
        read_file = None if self.checkout is None else self.checkout.text
        self.read_file = read_file
        self.kinds = CommandKinds(read_file)
        self.annotator = Annotator(None if self.checkout is None else self.checkout.data)
        self._calls: OrderedDict[str, Calls] = OrderedDict()
        self._turns: OrderedDict[str, int] = OrderedDict()
        self._numbers: OrderedDict[str, int] = OrderedDict()

    @property
    def root(self) -> str | None:
        """The checkout's folder, absolute."""
        return None if self.checkout is None else self.checkout.root

    def turn(
        self,
        conversation: str,
        number: int | str | None = None,
        *,
        traceparent: str | None = None,
        cwd: str | None = None,
    ) -> Turn:
        """A turn, to be used as a context manager; at the end of its block it is emitted.

        Args:
            conversation: names the session; the same name is the same session.
            number: of the turn, or its name; left out, turns count from 0. The same one again is another attempt.
            traceparent: of W3C Trace Context; it goes into the headers.
            cwd: where calls are made that do not say it themselves.

        Raises:
            UsageError: a name is empty, or the traceparent is none.
        """
        if number is None:
            number = counted(self._numbers, name_of(conversation, "conversation"), MOST_TURNS)
        if traceparent is not None and not _TRACEPARENT.fullmatch(traceparent):
            raise UsageError("the traceparent is none of W3C Trace Context", expected="00-<32 hex>-<16 hex>-<2 hex>")
        group = f"{name_of(conversation, 'conversation')}:{name_of(str(number), 'turn')}"
        attempt = counted(self._turns, group, MOST_TURNS)
        headers = () if traceparent is None else (("traceparent", traceparent.encode()),)
        return Turn(self, group, attempt, headers, self._calls_of(conversation), cwd)

    def _calls_of(self, conversation: str) -> Calls:
        """The calls of a conversation, which counts as the newest."""
        calls = self._calls.pop(conversation, None)
        if calls is None:
            calls = Calls(Workspace(self.root, self.read_file), Session(self.tools, self.kinds))
        self._calls[conversation] = calls
        while len(self._calls) > MOST_CONVERSATIONS:
            self._calls.popitem(last=False)
        return calls

    def record(self, conversation: str, events: Iterable[Event], *, cwd: str | None = None) -> list[Problem]:
        """Records a session's events, turn by turn; text and calls outside a turn are a turn of their own.

        Args:
            conversation: names the session.
            events: in their order.
            cwd: where calls are made that do not say it themselves.

        Returns:
            What could not be read of it.
        """
        return [one for one in self.recording(conversation, events, cwd=cwd) if isinstance(one, Problem)]

    def recording(
        self,
        conversation: str,
        events: Iterable[Event],
        *,
        cwd: str | None = None,
        chosen: Callable[[int], bool] = lambda number: True,
        last: bool = False,
    ) -> Iterator[Problem | Emitted]:
        """As `record`, while the events come: holds what is open, and no more.

        Args:
            conversation: names the session.
            events: in their order.
            cwd: where calls are made that do not say it themselves.
            chosen: whether a turn is emitted, by its number from 1; what was called in the others is known all the
                same. Turns that say nothing have no number.
            last: the last turn that says something is emitted, at the end, and no other. Neither this nor `chosen`
                is for a streamed recorder, which emits before a turn ends.

        Yields:
            What cannot be read, as it comes; and of each turn that was emitted its number, once the sink has it.
        """
        number, kept = 0, None
        self._calls_of(conversation).session.is_told = True
        for turn in self._turns_of(conversation, events, cwd):
            if isinstance(turn, Problem):
                yield turn
            elif turn.says:
                number += 1
                if last:
                    kept = turn
                elif chosen(number):
                    turn.emit()
                    yield Emitted(number, tuple(turn.left_out))
        if kept is not None:
            kept.emit()
            yield Emitted(number, tuple(kept.left_out))

    def _turns_of(self, conversation: str, events: Iterable[Event], cwd: str | None) -> Iterator[Problem | Turn]:
        """The turns of a session, closed, and what cannot be read."""
        turn: Turn | None = None
        for event in events:
            match event:
                case Problem():
                    self.reading.not_understood += event.lines
                    yield event
                case TurnBegan(turn_id=name):
                    if turn is not None:
                        turn.close()
                        yield turn
                    turn = self.turn(conversation, name or None, cwd=cwd)
                case TurnEnded(at=at):
                    if turn is not None:
                        turn.close(at)
                        yield turn
                    turn = None
                case Gap():
                    turn = turn or self.turn(conversation, cwd=cwd)
                    turn.cut()
                case ToolCall():
                    turn = turn or self.turn(conversation, cwd=cwd)
                    turn.call(event)
                case Message(text=text, at=at):
                    turn = turn or self.turn(conversation, cwd=cwd)
                    turn.said(text, at)
        if turn is not None:
            turn.close()
            yield turn
