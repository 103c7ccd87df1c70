"""Untrusted text as HTML: escaped, and with the characters that are not seen written out. Pure.

A text is marked as untrusted by the element that it stands in (console.css); nothing in it is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from ...codecs import unicode_text
from ...codecs.unicode_text import UNSEEN

MAX_SHOWN: Final = 20_000
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


def html_escape(text: object) -> Markup:
    """The text as HTML: every character that is not seen as `U+…`, and nothing that a browser would run.

    So are combining marks past the eighth of a row, and those at the beginning (`unicode_text.shown`).
    """
    shown = str(text)
    cut = len(shown) > MAX_SHOWN
    out: list[str] = []
    for one, is_shown in zip(shown[:MAX_SHOWN], unicode_text.shown(shown[:MAX_SHOWN], _shows), strict=True):
        if one == "\n" or is_shown:
            out.append(str(escape(one)))
        else:
            out.append(f'<span class="unseen">U+{ord(one):04X}</span>')
    if cut:
        out.append(f' <span class="unseen">… {len(shown) - MAX_SHOWN} more</span>')
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
