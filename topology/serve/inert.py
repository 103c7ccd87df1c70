"""Text of strangers for people's eyes: escaped, and with what nobody would see written out. Pure.

A text is marked as untrusted by the element that it stands in (console.css); nothing in it is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import category

from markupsafe import Markup, escape

from ...codecs.unicode_text import MAX_MARKS, UNSEEN

MOST: Final = 20_000
"""Characters of one text that a page shows."""


class Mark(NamedTuple):
    """A stretch of a text that stands for an assertion."""

    start: int
    end: int
    key: str
    status: str


class Piece(NamedTuple):
    """A part of a text; `key` and `status` are empty where no assertion stands."""

    text: str
    key: str
    status: str


def inert(text: object) -> Markup:
    """The text as HTML: every character that is not seen as `U+…`, and nothing that a browser would run.

    Combining marks past `MAX_MARKS` stand there as `U+…` too, and those at the beginning: they would go on with the
    letter of the text before.
    """
    shown = str(text)
    cut = len(shown) > MOST
    out: list[str] = []
    stacked = MAX_MARKS
    for one in shown[:MOST]:
        stacked = stacked + 1 if not one.isascii() and category(one)[0] == "M" else 0
        if one == "\n" or (_shows(one) and stacked <= MAX_MARKS):
            out.append(str(escape(one)))
        else:
            out.append(f'<span class="unseen">U+{ord(one):04X}</span>')
    if cut:
        out.append(f' <span class="unseen">… {len(shown) - MOST} more</span>')
    return Markup("".join(out))


def is_seen(text: str) -> bool:
    """Whether a text has any character that a reader sees."""
    return any(_shows(one) and not one.isspace() for one in text)


def _shows(one: str) -> bool:
    """Whether a page shows a character as itself."""
    return one.isprintable() and one not in UNSEEN


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """The text in pieces, each within one assertion or none; where two overlap the earlier one has it.

    Joined, they are the text.
    """
    found: list[Piece] = []
    at = 0
    for mark in sorted(marks):
        start, end = max(mark.start, at), min(mark.end, len(text))
        if start >= end:
            continue
        if start > at:
            found.append(Piece(text[at:start], "", ""))
        found.append(Piece(text[start:end], mark.key, mark.status))
        at = end
    if at < len(text):
        found.append(Piece(text[at:], "", ""))
    return found
