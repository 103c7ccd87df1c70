"""From an agent's Markdown to the statements in it, each with its place in the answer's own text (recording.md).

Paragraphs, list items and table cells give sentences; code blocks and headings do not. A row of a table whose cells are
no sentences is one statement. What asks, plans, greets or instructs is none (`stating`). Spans are code points of the
answer, half open, in order, and do not overlap: `answer[start:end]` is the statement's source, emphasis and links
included. Linear in the answer's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from ..codecs.sentences import sentences
from ..streams.judging.quotes import PLAIN
from .markdown_blocks import Run, runs
from .stating import states, states_row

_TASK: Final = re.compile(r"\[[ xX]\]\s+")
_FULL: Final = re.compile(r"[.!?…。！？][" + "".join(PLAIN) + r")\]*_`]*$")


class Statement(NamedTuple):
    """One statement: `text` is what stands at `[start, end)` of the answer, in code points."""

    start: int
    end: int
    text: str


def statements(text: str) -> list[Statement]:
    """The statements of an answer, in order.

    Args:
        text: Markdown, of which the first `markdown_blocks.MAX_TEXT` characters are read.
    """
    found: list[Statement] = []
    for row, group in groupby(runs(text), key=lambda run: run.row):
        several = list(group)
        found += _of_runs(several, text) if row is None else _of_row(several, text)
    return found


def _of_runs(several: list[Run], text: str) -> Iterator[Statement]:
    for run in several:
        for start, end in sentences(run.mask):
            one = _trimmed(text, run.start + start, run.start + end)
            if one is not None and states(one.text):
                yield one


def _of_row(cells: list[Run], text: str) -> Iterator[Statement]:
    """Sentences where a cell holds any, else the row."""
    if any(_FULL.search(text[cell.start : cell.end]) and " " in cell.mask for cell in cells):
        yield from _of_runs(cells, text)
    elif states_row([text[cell.start : cell.end] for cell in cells]):
        start, end = cells[0].start, cells[-1].end
        yield Statement(start, end, text[start:end])


def _trimmed(text: str, start: int, end: int) -> Statement | None:
    """Without the box of a task and white space."""
    box = _TASK.match(text, start, end)
    start = start if box is None else box.end()
    source = text[start:end]
    inner = source.strip()
    if not inner:
        return None
    start += len(source) - len(source.lstrip())
    return Statement(start, start + len(inner), inner)
