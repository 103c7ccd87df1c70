"""Emissions of a transcript or of a plain answer, in memory: what `sluice vet` and the agents' hooks judge.

Of a transcript all turns that say something, or the last one; calls of earlier turns count, since the agent still
knows their results. A plain answer's calls nobody saw: its annotations are proposed from what it names.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...codecs.errors import UsageError
from ...record import Event, MemorySink, Message, Problem, Reading, Recorded, Recorder, ToolMap
from ...record.transcripts import TranscriptError, detect
from ...record.workspaces import checkout_around
from ..observers.nameable_files import repositories_of
from ..observers.roots import DEFAULT, SEPARATOR, Roots
from ..settings.files import demand_plain, read_file
from .annotating import Proposing, Widening
from .at_hand import AtHand

EMITTER: Final = "coding-agent"
MARKDOWN: Final = (".md", ".markdown")
"""Endings of files that hold a plain answer."""
EITHER: Final = (".txt", "")
"""Endings of files that hold one, unless their content is a transcript's."""
STANDARD_INPUT: Final = "-"
_BEGINNING: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*([^\s\0])")
MAX_ANSWER: Final = 4_000_000
"""Bytes of a plain answer."""


class Source(NamedTuple):
    """What there is to vet.

    Attributes:
        emissions: in their order.
        problems: what of the transcript could not be read.
        reading: what was read of it.
        left_out: which of the answer's own annotations are not read, a sentence each.
    """

    emissions: Sequence[Recorded]
    problems: Sequence[Problem] = ()
    reading: Reading = Reading()
    left_out: Sequence[str] = ()


class Turn(NamedTuple):
    """What an agent said in one turn, as emissions.

    Attributes:
        number: of the turn, from 1, among those that say something.
        emissions: in their order; a long answer is several.
        left_out: which of its own annotations are not read, a sentence each.
    """

    number: int
    emissions: Sequence[Recorded]
    left_out: Sequence[str] = ()


def turns_of(
    events: Iterable[Event],
    root: str,
    *,
    conversation: str,
    cwd: str | None = None,
    chosen: Callable[[int], bool] = lambda number: True,
    last: bool = False,
    tools: ToolMap | None = None,
    at_hand: AtHand | None = None,
) -> Iterator[Turn | Problem | Reading]:
    """The emissions of a session, turn by turn while the events come, and at its end what was read. What was said is
    not kept, and of what was called the newest (`record.kept_calls`).

    Args:
        events: of the transcript, in their order.
        root: the checkout's folder.
        conversation: names the session.
        cwd: where calls were made that do not say it themselves.
        chosen: whether a turn is wanted, by its number from 1, among those that say something.
        last: the last of these alone.
        tools: which call looked where; the defaults where it is left out.
        at_hand: the checkout, for the kinds of evidence that the agent's calls did not give (`annotating`); without it
            a statement has what the calls give it, and nothing else.
    """
    sink = MemorySink()
    recorder = Recorder(EMITTER, sink, tools, root)
    if at_hand is not None:
        recorder.annotator = Widening(recorder.annotator, at_hand)
    for one in recorder.recording(conversation, events, cwd=cwd, chosen=chosen, last=last):
        if isinstance(one, Problem):
            yield one
        else:
            yield Turn(one.number, tuple(sink.records), one.left_out)
            sink.records.clear()
    yield recorder.reading


def of_events(
    events: Iterable[Event],
    root: str,
    *,
    conversation: str,
    cwd: str | None = None,
    message: str | None = None,
    tools: ToolMap | None = None,
    at_hand: AtHand | None = None,
) -> Source:
    """The emissions of a session's last turn that says something, at once. Arguments are those of `turns_of`.

    Args:
        message: the last turn's text, where it is known better than from the transcript, which may lag.
    """

    def with_message() -> Iterator[Event]:
        for one in events:
            if message is None or not isinstance(one, Message):
                yield one
        if message is not None:
            yield Message(text=message, at=None)

    turns: list[Turn] = []
    problems: list[Problem] = []
    reading = Reading()
    for one in turns_of(
        with_message(),
        root,
        conversation=conversation,
        cwd=cwd,
        last=message is None,
        tools=tools,
        at_hand=at_hand,
    ):
        if isinstance(one, Problem):
            problems.append(one)
        elif isinstance(one, Turn):
            turns.append(one)
        else:
            reading = one
    emissions = [emission for turn in turns for emission in turn.emissions]
    return Source(emissions, problems, reading, [sentence for turn in turns for sentence in turn.left_out])


def of_answer(text: str, at_hand: AtHand, *, conversation: str = "answer") -> Source:
    """The emissions of an answer: `text` in Markdown, annotated by itself and from `at_hand`, as this conversation."""
    sink = MemorySink()
    recorder = Recorder(EMITTER, sink, root=at_hand.folder)
    recorder.annotator = Proposing(at_hand)
    with recorder.turn(conversation) as turn:
        turn.text(text)
    return Source(sink.records, left_out=turn.left_out)


def demand_readable(path: str) -> None:
    """That a path is no pipe, socket or device, which could be waited for without end; `-` is standard input.

    Raises:
        UsageError: it is one.
    """
    try:
        if path != "-" and os.path.exists(path):
            demand_plain(path)
    except OSError as error:
        hint = f"`- < {path}` reads a pipe" if os.path.exists(path) else ""
        raise UsageError(f"cannot read {path!r}: {error.strerror}", hint=hint) from None


def is_answer(path: str) -> bool:
    """Whether a file is a plain answer, not a transcript: by its ending, where that says it, else by its content.

    Of standard input only the beginning is known before it is read: every transcript begins with a bracket or a brace.
    """
    if path == STANDARD_INPUT:
        peek: Any = getattr(sys.stdin.buffer, "peek", None)
        begins = None if peek is None else _BEGINNING.match(peek(1))
        return begins is not None and begins[1] not in b"[{"
    ending = Path(path).suffix.lower()
    if ending in MARKDOWN:
        return True
    if ending not in EITHER or not Path(path).is_file():
        return False
    try:
        detect(path)
    except TranscriptError:
        return True
    return False


def read_answer(path: str) -> str:
    """The text of a plain answer; `-` is standard input. What is no UTF-8 becomes U+FFFD.

    Raises:
        UsageError: it cannot be read, is too large, or is no text.
    """
    if path != STANDARD_INPUT:
        data = read_file(path, MAX_ANSWER, f"the answer {path!r}")
    else:
        data = sys.stdin.buffer.read(MAX_ANSWER + 1)
    if len(data) > MAX_ANSWER:
        raise UsageError("the answer is too large", path=path, expected=f"at most {MAX_ANSWER} bytes")
    text = data.decode("utf-8", "replace")
    if b"\0" in data and "\ufffd" in text:
        raise UsageError("the answer is binary", path=path, expected="Markdown in UTF-8")
    return text


def checkout_of(here: Path) -> str:
    """The git checkout that a folder is in; the folder where it is in none."""
    return str(checkout_around(here) or here)


def roots_around(here: Path) -> str:
    """The roots for a folder where none are set, as the setting `root` has them: its checkout, and the folders in which
    the checkout's repository keeps its own: of a linked work tree, a submodule, or a clone that borrows objects.
    """
    top = checkout_of(here)
    return SEPARATOR.join((top, *(f"{name}={path}" for name, path in repositories_of(top).items())))


def folder_of(roots: Roots) -> str:
    """The checkout that the agent works in: the root without a name, or else the first one."""
    return roots.named.get(DEFAULT) or next(iter(roots.named.values()))
