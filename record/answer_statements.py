"""From an agent's Markdown to the statements in it, each with its place in the answer's own text (recording.md).

Paragraphs and list items give sentences; a row of a table is one statement; code blocks and headings are none. What
asks, plans, greets or instructs is none (`stating`), unless its author annotated it. Spans are code points of the
answer, half open, in order, and do not overlap: `answer[start:end]` is the statement's source, the marks around it
excluded. Linear in the answer's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from ..codecs.check_notes import MAX_SHARED, few, matched
from ..codecs.inline import Mark, separate
from ..codecs.records import MAX_CHECK_LENGTH, MAX_CHECKS, Annotation
from ..codecs.sentences import sentences
from .markdown_blocks import Run, runs, without_reasoning
from .stating import MAX_STATEMENT, states, states_row

MOST_DECLARED: Final = 10
"""Annotations that its author gives a statement."""
_TASK: Final = re.compile(r"\[[ xX]\]\s+")
_EMPHASIS: Final = re.compile(r"\*{1,3}|_{1,3}|~~")
_WORD: Final = re.compile(r"\w")


class Statement(NamedTuple):
    """One statement.

    Attributes:
        start, end: its place in the answer, in code points.
        text: what stands there.
        row: of a table's row the words of the header with each cell; empty for a sentence.
        annotations: that its author gave it.
        checks: likewise.
    """

    start: int
    end: int
    text: str
    row: str = ""
    annotations: tuple[Annotation, ...] = ()
    checks: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What it says."""
        return self.row or self.text

    def moved(self, by: int) -> Statement:
        """The same one, of a text in which it stands so much further on."""
        return self._replace(start=self.start + by, end=self.end + by)


class Read(NamedTuple):
    """An answer as it is emitted.

    Attributes:
        text: without annotations.
        found: the statements in it, in order.
        left_out: which annotations are not read, a sentence each.
    """

    text: str
    found: list[Statement]
    left_out: list[str]


def read_answer(answer: str) -> Read:
    """An answer without what its author wrote into it for machines, and its statements with that.

    Args:
        answer: Markdown, of which the first `markdown_blocks.MAX_TEXT` characters without annotations are read.
    """
    text, marks, entries, told = separate(answer, seen=without_reasoning(answer))
    every = list(_candidates(text))
    if not marks and not entries:
        return Read(text, [one for one, is_stated in every if is_stated], told)
    given: dict[int, list[Mark]] = {}
    place, lost = 0, 0
    nobody = -1
    for mark in marks:
        while place < len(every) and every[place][0].start < mark.position:
            place, nobody = place + 1, -1
        if place and nobody < 0:  # where words stand behind the statement that are none
            word = _WORD.search(text, every[place - 1][0].end)
            nobody = len(text) if word is None else word.start()
        if place and mark.position <= nobody:
            given.setdefault(place - 1, []).append(mark)
        else:
            lost += 1
    said, unmatched = matched(entries, ((one.text, one.said) for one, _ in every))
    found: list[Statement] = []
    over = size = 0
    for number, (one, is_stated) in enumerate(every):
        checks = [check for mark in given.get(number, ()) for check in mark.checks] + [*said.get(number, ())]
        annotations = [mark.annotation for mark in given.get(number, ()) if mark.annotation is not None]
        fit = [check for check in dict.fromkeys(checks) if len(check) <= MAX_CHECK_LENGTH][:MAX_CHECKS]
        size += sum(map(len, fit))
        fit = fit if size <= MAX_SHARED else []
        over += len(dict.fromkeys(checks)) - len(fit) + max(0, len(annotations) - MOST_DECLARED)
        if is_stated or annotations or fit:
            found.append(one._replace(annotations=tuple(annotations[:MOST_DECLARED]), checks=tuple(fit)))
    if lost:
        told.append(f"{lost} annotations stand behind no sentence; they are left out.")
    if over:
        told.append(
            f"{over} annotations are left out: a statement has at most {MAX_CHECKS} checks of {MAX_CHECK_LENGTH} "
            f"characters, and {MOST_DECLARED} places; an answer has {MAX_SHARED} characters of checks."
        )
    return Read(text, found, few([*told, *unmatched]))


def statements(text: str) -> list[Statement]:
    """The statements of an answer, in order, whatever its author annotated.

    Args:
        text: Markdown, of which the first `markdown_blocks.MAX_TEXT` characters are read.
    """
    return [one for one, is_stated in _candidates(text) if is_stated]


def _candidates(text: str) -> Iterator[tuple[Statement, bool]]:
    """Every sentence and row, and whether it states something."""
    for row, group in groupby(runs(text), key=lambda run: run.row):
        cells = list(group)
        yield from _of_runs(cells, text) if row is None else _of_row(cells, text)


def _of_runs(several: list[Run], text: str) -> Iterator[tuple[Statement, bool]]:
    for run in several:
        for start, end in sentences(run.mask):
            one = _trimmed(text, run.start + start, run.start + end)
            if one is not None:
                yield one, states(one.text)


def _of_row(cells: list[Run], text: str) -> Iterator[tuple[Statement, bool]]:
    start, end = cells[0].start, cells[-1].end
    sources = [text[cell.start : cell.end].replace("\\|", "|") for cell in cells]
    row = "; ".join(
        f"{cell.head}: {source}" if cell.head else source for cell, source in zip(cells, sources, strict=True)
    )
    yield Statement(start, end, text[start:end], row), states_row(sources, [cell.head for cell in cells])


def _trimmed(text: str, start: int, end: int) -> Statement | None:
    """Without the box of a task, white space, and the marks of emphasis around it."""
    box = _TASK.match(text, start, end)
    start, end = _stripped(text, start if box is None else box.end(), end)
    mark = _EMPHASIS.match(text, start, end)
    if mark is not None and text.endswith(mark[0], mark.end(), end):
        if text.find(mark[0], mark.end(), end) == end - len(mark[0]):
            start, end = mark.end(), end - len(mark[0])
    elif mark is not None and mark[0] == "**" and text.find("**", mark.end(), end) < 0:
        closing = text.find("**", end, end + MAX_STATEMENT)  # of several sentences in bold the first one
        start = start if closing < 0 else mark.end()
    elif text.endswith("**", start, end) and text.find("**", start, end) == end - 2:
        end -= 2
    start, end = _stripped(text, start, end)
    return Statement(start, end, text[start:end]) if start < end else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without the white space around it."""
    source = text[start:end]
    inner = source.lstrip()
    start += len(source) - len(inner)
    return start, start + len(inner.rstrip())
