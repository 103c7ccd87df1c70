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

import dataclasses
import logging
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from ..codecs.blocks import MAX_INPUT_BYTES
from ..codecs.errors import UsageError
from ..codecs.identifiers import Span
from ..codecs.records import MAX_ASSERTIONS, Annotation, Assertion, Effect, Emission, Emitter
from ..codecs.times import format_time
from ..codecs.vocabulary import recognise
from .answer_statements import Piece, Statement, Streaming, halves, pieces, read_answer
from .call_annotations import Annotator, CallText
from .call_results import arguments_of, result_text, seen
from .command_kinds import CommandKinds
from .events import Event, Gap, Message, Problem, Reading, ToolCall, TurnBegan, TurnEnded
from .looks import LookResult
from .naming import counted, milliseconds, name_of, trace_headers
from .session import Session, SessionView
from .sinks import Recorded, Sink
from .tools import ToolMap, output_of
from .workspaces import Checkout, Workspace, is_secret_line

MOST_CALLS: Final = 500
"""Calls of a conversation that are kept for its later turns; the oldest go first."""
MOST_KEPT: Final = 20_000_000
"""Characters of the results that a conversation keeps."""


class Calls(deque[CallText]):
    """The calls of a conversation, the newest within the bounds.

    Args:
        workspace: where its paths begin.
        session: what its commands and edits show.
    """

    def __init__(self, workspace: Workspace, session: Session) -> None:
        super().__init__()
        self.workspace, self.session = workspace, session
        self._size = 0

    def add(self, one: CallText) -> None:
        """Takes a call; lets the oldest go."""
        self.append(one)
        self._size += _size(one)
        while len(self) > MOST_CALLS or (self._size > MOST_KEPT and len(self) > 1):
            self._size -= _size(self.popleft())


def _size(one: CallText) -> int:
    return sum(len(line.text) for line in one.seen.lines) + len(one.seen.extra)


_HALVES: Final = re.compile("[\ud800-\udfff]")
_log = logging.getLogger("sluice.record")
_encode = msgspec.json.Encoder().encode


class Turn:
    """One turn of an agent. Use it as a context manager, or call `end`.

    With `async with` the event loop does not wait while the sink flushes.

    Text that came before a failure is emitted as well.

    Args:
        recorder: that emits what is said in the turn.
        group: names the conversation and the turn.
        attempt: the number of the attempt.
        headers: of each record.
        calls: of the conversation, from which annotations are made.
        cwd: where calls are made that do not say it themselves.
    """

    def __init__(
        self,
        recorder: Recorder,
        group: str,
        attempt: int,
        headers: tuple[tuple[str, bytes], ...],
        calls: Calls,
        cwd: str | None,
    ) -> None:
        self._recorder, self._group, self._attempt, self._headers = recorder, group, attempt, headers
        self._calls, self._cwd = calls, cwd
        self._stream, self._part, self._ended = Streaming(), 0, False
        self._whole, self._messages = "", [0]
        self.left_out: list[str] = []
        """Which of its author's annotations are not read, a sentence each, once it is emitted."""
        self._at: int | None = None
        self._known: Sequence[CallText] | None = None
        self._shown: SessionView | None = None

    @property
    def says(self) -> bool:
        """Whether anything was said in it."""
        return bool(self._whole.strip())

    def tool(
        self,
        *,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        result: object,
        ok: bool = True,
        at: datetime | int | str | None = None,
        cwd: str | None = None,
        call_id: str = "",
    ) -> None:
        """A call that was made. What it looked at may become annotations of whatever is said from now on.

        Args:
            name: of the tool.
            arguments: as the model gave them, or their JSON; what is no object has told nothing.
            result: the text that came back, or its UTF-8; another value as its JSON. None where nothing came.
            ok: whether it succeeded.
            at: when the result was there: RFC 3339, a `datetime`, or Unix milliseconds; the present where it is left
                out. A time without a zone is taken for UTC.
            cwd: where it was made, absolute.
            call_id: what the framework calls it.

        Raises:
            UsageError: the time is none, or the result is no text and has no JSON; or the turn is at its end.
        """
        moment = self._recorder.clock() if at is None else milliseconds(at)
        given, came = arguments_of(arguments), result_text(result)
        self._take(ToolCall(call_id=call_id, name=name, arguments=given, result=came, ok=ok, at=None, cwd=cwd), moment)

    def call(self, event: ToolCall) -> None:
        """As `tool`, of an event; one without a time has none in its annotations."""
        self._take(event, None if event.at is None else milliseconds(event.at))

    def cut(self) -> None:
        """Calls were made here, or before, that are not told."""
        self._calls.session.cut()

    def _take(self, event: ToolCall, at: int | None) -> None:
        self._demand_open()
        self._recorder.reading.calls += 1
        own = event.cwd
        if event.cwd is None and self._cwd is not None:
            event = dataclasses.replace(event, cwd=self._cwd)
        workspace = self._calls.workspace
        self._calls.session.take(event, at, workspace.folder(own))
        for one in workspace.seen(own, lambda root: self._seen(event, at, root)):
            self._calls.add(CallText(one))

    def _seen(self, event: ToolCall, at: int | None, root: str | None) -> list[LookResult]:
        """What a call saw, its paths relative to this folder."""
        output = output_of(event)
        return [
            seen(look, output, at, self._recorder.read_file)
            for look in self._recorder.tools.looks(event, root)
            # Where the agent typed a secret, a locator would carry it.
            if not any(is_secret_line(str(look.locator.get(name, ""))) for name in ("pattern", "arguments"))
        ]

    def text(self, text: str) -> None:
        """More of the answer, in any cut. Half a character, which no UTF-8 holds, becomes U+FFFD."""
        self._demand_open()
        text = _HALVES.sub("\ufffd", text)
        self._recorder.reading.messages += not self.says and bool(text.strip())
        self._whole += text
        if self._recorder.streamed:
            for piece in self._stream.add(text):
                self._emit(self._stream.text, [piece], final=False)

    def said(self, text: str, at: datetime | None = None) -> None:
        """A whole text of its own, parted from what was said before by a blank line."""
        self._at = self._at if at is None else milliseconds(at)
        before = self._whole
        self._messages.append(len(before))
        self._recorder.reading.messages += self.says and bool(text.strip())
        self.text(("\n\n" if before and not before.endswith("\n\n") else "") + text)

    def end(self, at: datetime | None = None) -> None:
        """Ends the turn: emits what is left, and flushes the sink. A second call does nothing.

        Raises:
            SluiceError: the sink does not take it.
        """
        if self._ended:
            return
        self.close(at)
        self.emit()

    def close(self, at: datetime | None = None) -> None:
        """Ends the turn, and emits nothing yet: `emit` does, with the calls that are known now, or nobody does."""
        self._ended = True
        self._at = self._at if at is None else milliseconds(at)
        self._known, self._shown = tuple(self._calls), self._calls.session.view()

    def emit(self) -> None:
        """Emits what is left of a turn that is closed, and flushes the sink.

        Raises:
            SluiceError: the sink does not take it.
        """
        self._emit_rest()
        self._flush()

    def _emit_rest(self) -> None:
        if not self._whole:
            return
        rest = self._stream.rest() if self._recorder.streamed else self._whole
        emitted = len(self._whole) - len(rest)
        starts = [emitted, *(start for start in self._messages if start > emitted), len(self._whole)]
        texts: list[str] = []
        found: list[Statement] = []
        for start, end in pairwise(starts):  # footnotes are of one message
            read = read_answer(self._whole[start:end])
            found += (one.moved(sum(map(len, texts))) for one in read.found)
            texts.append(read.text)
            self.left_out += read.left_out
        text = "".join(texts)
        self._emit(text, pieces(text, found), final=True)
        self._whole = ""
        for sentence in self.left_out:
            _log.info("sluice: %s: %s", self._group, sentence)

    def _flush(self) -> None:
        """One flush of a sink at a time: turns of an event loop end in threads."""
        with self._recorder.flushing:
            self._recorder.sink.flush()

    def _demand_open(self) -> None:
        if self._ended:
            raise UsageError("the turn is at its end", hint="begin another one")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            self.close()
            self._emit_rest()
            # Whoever gets here has imported it; `sluice vet` starts sooner without it.
            from asyncio import to_thread

            await to_thread(self._flush)

    def _emit(self, text: str, several: Sequence[Piece], *, final: bool) -> None:
        recorder = self._recorder
        emitted_at = format_time(recorder.clock() if self._at is None else self._at)
        calls = self._known if self._known is not None else tuple(self._calls)
        shown = self._shown or self._calls.session.view()
        ready: list[tuple[Piece, list[Assertion]]] = []
        waiting = [
            (piece, [self._assertion(piece, place, calls, shown) for place in range(len(piece.found))])
            for piece in several
        ]
        while waiting:
            piece, assertions = waiting.pop(0)
            size = len(_encode((text[piece.start : piece.end], assertions)))
            if size > MAX_INPUT_BYTES - 5_000 or sum(len(one.annotations) for one in assertions) > MAX_ASSERTIONS:
                waiting[:0] = _smaller(piece, assertions)
                continue
            ready.append((piece, assertions))
        in_parts = recorder.streamed or len(ready) > 1
        for place, (piece, assertions) in enumerate(ready):
            recorder.reading.statements += len(assertions)
            part = self._part if in_parts else None
            emission = Emission(
                emission_id=self._group if part is None else f"{self._group}:{part}",
                emitted_at=emitted_at,
                emitter=recorder.emitter,
                effect=recorder.effect,
                text=text[piece.start : piece.end],
                assertions=assertions,
                attempt=self._attempt,
                group=self._group if in_parts else None,
                part=part,
                final=final and place == len(ready) - 1 if in_parts else None,
            )
            recorder.sink.put(Recorded(emission.emission_id, _encode(emission), self._headers))
            self._part += 1

    def _assertion(self, piece: Piece, place: int, calls: Sequence[CallText], shown: SessionView) -> Assertion:
        one = piece.found[place]
        checks = list(one.checks) or None
        is_terminal = any(recognise(each.substrate_class).terminal for each in one.annotations)
        noted = [] if is_terminal else self._recorder.annotator.note(one.said, calls, checks)
        declared = {_place_of(each) for each in one.annotations}
        annotations = [*one.annotations, *(each for each in noted if _place_of(each) not in declared)]
        return Assertion(
            span=None if one.row else Span(chars=(one.start - piece.start, one.end - piece.start)),
            assertion=one.row or None,
            provenance=annotations or None,
            session=shown.about(one.said),
            checks=checks,
        )


def _place_of(annotation: Annotation) -> tuple[str, str]:
    """What an annotation has in common with another one of the same place."""
    locator = annotation.locator or {}
    return annotation.substrate_class, str(locator.get("path", locator))


def _smaller(piece: Piece, assertions: list[Assertion]) -> list[tuple[Piece, list[Assertion]]]:
    """A piece that no record takes: in two, or without its annotations, or cut where it states nothing."""
    several = halves(piece)
    if len(several) == 2:
        middle = len(several[0].found)
        moved = several[0].end - piece.start
        behind = [
            replace(one, span=Span(chars=(one.span.chars[0] - moved, one.span.chars[1] - moved)))
            if one.span is not None and one.span.chars is not None
            else one
            for one in assertions[middle:]
        ]
        return [(several[0], assertions[:middle]), (several[1], behind)]
    return [(piece, [replace(one, provenance=None) for one in assertions])]


MOST_CONVERSATIONS: Final = 100
MOST_TURNS: Final = 10_000
"""Turns whose attempts are counted."""


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
        headers = trace_headers(traceparent)
        group = f"{name_of(conversation, 'conversation')}:{name_of(str(number), 'turn')}"
        attempt = counted(self._turns, group, MOST_TURNS)
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
