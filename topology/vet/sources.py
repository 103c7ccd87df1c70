"""Emissions of a transcript or of a plain answer, in memory: what `sluice vet` and the agents' hooks judge.

Of a transcript the last turn that says something, or all of them; calls of earlier turns count, since the agent still
knows their results. A plain answer's calls nobody saw: its annotations are proposed from what it names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ...codecs.errors import UsageError
from ...codecs.records import Kind
from ...record import (
    Deriver,
    Event,
    MemorySink,
    Message,
    Noted,
    Problem,
    Recorded,
    Recorder,
    ToolMap,
    TurnBegan,
    proposals,
)
from ...record.annotating import Annotator, CallText
from ...record.checkouts import Checkout
from ...record.tracked import checkout_around
from ...record.transcripts import TranscriptError, detect
from ..observers.roots import DEFAULT, SEPARATOR, Roots
from ..observers.tracked import main_repository
from ..settings.files import demand_plain, read_file

EMITTER: Final = "coding-agent"
MARKDOWN: Final = (".md", ".markdown")
"""Endings of files that hold a plain answer."""
EITHER: Final = (".txt", "")
"""Endings of files that hold one, unless their content is a transcript's."""
MAX_ANSWER: Final = 4_000_000
"""Bytes of a plain answer."""


class Source(NamedTuple):
    """What there is to vet.

    Attributes:
        emissions: in their order.
        problems: what of the transcript could not be read.
    """

    emissions: Sequence[Recorded]
    problems: Sequence[Problem] = ()


class _Proposing(Annotator):
    """Proposes annotations from what a sentence names; calls there are none."""

    def __init__(self, listing: frozenset[str], deriver: Deriver) -> None:
        super().__init__(deriver)
        self._listing, self._proposer = listing, deriver

    def note(self, text: str, calls: Sequence[CallText], kind: Kind = "assertion") -> Noted:
        """See `Annotator`."""
        return proposals(text, self._listing, self._proposer)


def of_events(
    events: Iterable[Event],
    root: str,
    *,
    conversation: str,
    cwd: str | None = None,
    every: bool = False,
    message: str | None = None,
    emitter: str = EMITTER,
    tools: ToolMap | None = None,
) -> Source:
    """The emissions of a session.

    Args:
        events: of the transcript, in their order.
        root: the checkout's folder.
        conversation: names the session.
        cwd: where calls were made that do not say it themselves.
        every: all turns, not the last alone.
        message: the last turn's text, where it is known better than from the transcript, which may lag.
        emitter: the name of the emitting system.
        tools: which call looked where; the defaults where it is left out.
    """
    known = list(events)
    if message is not None:
        known = [*(one for one in known if not isinstance(one, Message)), Message(text=message, at=None)]
    elif not every:
        last = _last_turn(known)
        known = [one for place, one in enumerate(known) if place >= last or not isinstance(one, Message)]
    sink = MemorySink()
    problems = Recorder(emitter, sink, tools, root).record(conversation, known, cwd=cwd)
    return Source(sink.records, problems)


def _last_turn(events: Sequence[Event]) -> int:
    """Where the last turn that says something begins."""
    said = False
    for place in range(len(events) - 1, -1, -1):
        said = said or isinstance(events[place], Message)
        if said and isinstance(events[place], TurnBegan):
            return place
    return 0


def of_answer(
    text: str, root: str, listing: frozenset[str], *, conversation: str = "answer", emitter: str = EMITTER
) -> Source:
    """The emissions of an answer in Markdown, with proposed annotations.

    Args:
        text: the Markdown.
        root: the checkout's folder.
        listing: the paths that may be named, relative to the root.
        conversation: names the answer.
        emitter: the name of the emitting system.
    """
    sink = MemorySink()
    recorder = Recorder(emitter, sink, root=root)
    recorder.annotator = _Proposing(listing, Deriver(Checkout(root).text))
    with recorder.turn(conversation) as turn:
        turn.text(text)
    return Source(sink.records)


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
    """Whether a file is a plain answer, not a transcript: by its ending, where that says it, else by its content."""
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
        UsageError: it cannot be read, or is too large.
    """
    if path != "-":
        return read_file(path, MAX_ANSWER, f"the answer {path!r}").decode("utf-8", "replace")
    data = sys.stdin.buffer.read(MAX_ANSWER + 1)
    if len(data) > MAX_ANSWER:
        raise UsageError("the answer is too large", path=path, expected=f"at most {MAX_ANSWER} bytes")
    return data.decode("utf-8", "replace")


def checkout_of(here: Path) -> str:
    """The git checkout that a folder is in; the folder where it is in none."""
    return str(checkout_around(here) or here)


def roots_around(here: Path) -> str:
    """The roots for a folder where nobody named any: its checkout, and of a linked work tree the main repository too.

    Returns:
        As the setting `root` has them.
    """
    top = checkout_of(here)
    main = main_repository(top)
    return top if main is None else SEPARATOR.join((top, f"main={main}"))


def folder_of(roots: Roots) -> str:
    """The checkout that the agent works in: the root without a name, or else the first one."""
    return roots.named.get(DEFAULT) or next(iter(roots.named.values()))
