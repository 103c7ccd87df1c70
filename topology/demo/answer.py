"""The demo's first half: one answer about this repository, vetted as `sluice vet` does it.

The session is an example that people wrote in the manner of a coding agent: the question, calls that were made here,
what they gave, and an answer. Nothing is
decided here; the observers look at the checkout as it is now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ...record import ToolCall
from ...record.transcripts import open_transcript
from ..observers.instruments import Instruments
from ..observers.roots import DEFAULT, Roots
from ..settings.settings import Settings
from ..terminal.showing import escaped
from ..vet.at_hand import AtHand
from ..vet.sources import folder_of, of_events
from ..vet.vetted_assertions import Verdict
from ..vet.vetting import VETTING_POLICY, Vetter
from .demo_view import counted

SESSION: Final = "answer.jsonl"
ANSWER: Final = "answer.md"
_QUESTION: Final = re.compile(r"> (.+)")


class Answered(NamedTuple):
    """A vetted answer.

    Attributes:
        question: what was asked.
        calls: how many tool calls were made.
        verdicts: about its statements, in their order.
    """

    question: str
    calls: int
    verdicts: Sequence[Verdict]


def is_about(folder: Path | None, root: str) -> bool:
    """Whether the examples have a session, and it is about what is looked at: the checkout that they lie in.

    Args:
        folder: of the examples.
        root: the roots, as the setting of that name holds them.
    """
    if folder is None or not (folder / SESSION).is_file() or not (folder / ANSWER).is_file():
        return False
    default = Roots.of(root).named.get(DEFAULT)
    return default is not None and Path(default).resolve() == folder.resolve().parent


def vetted(folder: Path, settings: Settings) -> Answered:
    """The answer of the examples and its verdicts.

    Args:
        folder: of the examples.
        settings: with the roots that are looked at.

    Raises:
        TranscriptError: the session cannot be read.
        UnreachableError: the root is not there.
    """
    question = _QUESTION.match((folder / ANSWER).read_text("utf-8"))
    events = list(open_transcript(str(folder / SESSION)))
    roots = Roots.of(settings.root)
    files = [str(folder / name) for name in (SESSION, ANSWER)]
    with closing(Instruments(settings, vetted=files)) as instruments:
        vetter = Vetter(settings, roots, instruments)
        checkout = folder_of(roots)
        at_hand = AtHand(checkout, settings, instruments, VETTING_POLICY)
        source = of_events(events, checkout, conversation="answer", at_hand=at_hand)
        verdicts = [verdict for one in source.emissions for verdict in vetter.vet(one)]
    calls = sum(isinstance(one, ToolCall) for one in events)
    return Answered(question[1] if question else "", calls, verdicts)


def introduction(answered: Answered) -> Iterator[str]:
    """What a reader has to know before the verdicts."""
    yield "1. An answer about this repository, and what each of its statements is worth"
    yield ""
    yield f"Asked was: {escaped(answered.question)}"
    yield (
        f"The answer is an example, written in the manner of a coding agent (examples/{ANSWER}); its "
        f"{counted(answered.calls, 'tool call')} and their results are real (examples/{SESSION})."
    )
    yield "Observers now look at the places that these calls looked at. `checked` is what they verified; a statement is"
    yield "admitted where two kinds of evidence bear that out. `[unchecked]` stands for words that nobody checked."
    yield ""


def between() -> Iterator[str]:
    """What a reader has to know before the second half."""
    yield ""
    yield "2. The stream: what other models said of this repository (examples/emissions.jsonl)"
    yield ""
    yield "The same rules, now as a service: a broker, lanes that decide, and observers, all in this process."
    yield "Of each statement: its verdict, until when it holds or why it does not, which kinds of evidence bear it out,"
    yield "what was checked, and where that was seen."
    yield ""
