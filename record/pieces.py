"""An answer as one emission or several: how a long one is cut, and where a streamed one may be cut already.

Every character of the answer, but for its author's annotations, is in one piece, in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..codecs.check_notes import INFO
from ..codecs.inline import separate
from .answer_statements import Statement, statements

MOST_ASSERTIONS: Final = 500
"""Assertions of one piece; an emission takes 1,000."""
MOST_CHARACTERS: Final = 100_000
"""Characters of one piece: an emission has to fit into a megabyte with all of its annotations."""
LONG_BLOCK: Final = 4_000
"""Characters of a block from which on it is read anew ever more rarely: whenever it has grown by a sixteenth."""
GROWN: Final = 16
LONG_BRACKET: Final = 400
"""Characters of a bracket that is waited for, since it may be an annotation."""
_GOES_ON: Final = re.compile(r"\s\W{0,200}\w")
_END: Final = re.compile(r"[.!?…。！？\n]")
_MAY_END: Final = re.compile(r"[.!?…。！？][^\w\s]{0,9}\s\W{0,40}\w|\n\W{0,40}\w")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_BLOCK_END: Final = re.compile(r"\n[ \t]*\n(?=\S)")
_ANNOTATION: Final = re.compile(
    rf"\[\^|\[[^\[\]]{{0,{LONG_BRACKET}}}\]?|(?:^|\n)[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*{INFO}\b"
)
"""Where annotations may begin."""


class Piece(NamedTuple):
    """A stretch `[start, end)` of the answer, and the statements in it, whose spans count in the answer."""

    start: int
    end: int
    found: tuple[Statement, ...]


def pieces(text: str, found: Sequence[Statement]) -> list[Piece]:
    """The pieces of a whole answer; one, unless it is long.

    Args:
        text: the answer.
        found: the statements in it.
    """
    cuts: list[Piece] = []
    start, inside = 0, list[Statement]()
    for one in found:
        if inside and (len(inside) >= MOST_ASSERTIONS or one.end - start > MOST_CHARACTERS):
            cuts.append(Piece(start, inside[-1].end, tuple(inside)))
            start, inside = inside[-1].end, []
        while one.start - start > MOST_CHARACTERS:
            cuts.append(Piece(start, start + MOST_CHARACTERS, ()))
            start += MOST_CHARACTERS
        inside.append(one)
    while inside and len(text) - start > MOST_CHARACTERS and inside[-1].end - start < len(text) - start:
        cuts.append(Piece(start, inside[-1].end, tuple(inside)))
        start, inside = inside[-1].end, []
    while len(text) - start > MOST_CHARACTERS:
        cuts.append(Piece(start, start + MOST_CHARACTERS, tuple(inside)))
        start, inside = start + MOST_CHARACTERS, []
    if start < len(text) or not cuts or inside:
        cuts.append(Piece(start, len(text), tuple(inside)))
    return cuts


def halves(piece: Piece) -> list[Piece]:
    """A piece in two, where it has two statements at least."""
    middle = len(piece.found) // 2
    if not middle:
        return [piece]
    cut = piece.found[middle - 1].end
    return [Piece(piece.start, cut, piece.found[:middle]), Piece(cut, piece.end, piece.found[middle:])]


class Streaming:
    """Tells which statements of a text that still grows are complete: those behind which a word follows, or a block
    ends.

    Where an annotation of its author may begin, the rest waits for the end: a footnote stands behind the whole answer.

    Invariant: `past` is the end of what was handed out; `base` begins the block that is still open, at or before it;
    nothing in `text` is an annotation, and `held` is what waits behind it.
    """

    def __init__(self) -> None:
        self.text = self.held = ""
        self._holds = False
        self.past = 0
        self._base = self._looked = self._unread = 0

    def add(self, text: str) -> list[Piece]:
        """Takes more of the answer; returns the pieces that are complete now."""
        self.held += text
        if self._holds:
            return []
        self.text += self._settled()
        opened = len(self.text) - self._base
        # A block is read anew when a sentence or line may have ended in it; a long one only when it has grown by a part
        # of its length, so that the work stays in proportion to the answer.
        if opened > LONG_BLOCK and len(self.text) - self._looked < opened // GROWN:
            return []
        if not _MAY_END.search(self.text, self._unread):
            self._unread = max(self._unread, len(self.text) - 60)  # longer than any match
            return []
        self._looked = len(self.text)
        last = [match.start() for match in _END.finditer(self.text, max(self._unread, self._looked - 200))]
        self._unread = last[-1] if last else self._looked
        made: list[Piece] = []
        begins = len(self.text)  # of the first statement that is not complete
        for one in self._open():
            if one.start < self.past:
                continue
            if not _GOES_ON.match(self.text, one.end):
                begins = min(begins, one.start)
                break
            made.append(Piece(self.past, one.end, (one,)))
            self.past = one.end
        self._advance(begins)
        return made

    def rest(self) -> str:
        """What was not handed out when the answer is at its end, annotations included."""
        rest, self.past = self.text[self.past :] + self.held, len(self.text)
        self.held = ""
        return rest

    def _settled(self) -> str:
        """What of `held` no annotation begins in; it is held no longer."""
        at, cut = 0, len(self.held)
        while (match := _ANNOTATION.search(self.held, at)) is not None:
            bracket = match[0].lstrip()
            is_open = bracket[0] == "[" and bracket[-1] != "]" and bracket != "[^"
            if is_open and match.end() < len(self.held):
                at = match.start() + 1  # another bracket opens in it, or it is too long
                continue
            self._holds = not is_open and (bracket[-1] != "]" or bool(separate(f".{bracket}").marks))
            if self._holds or is_open:
                cut = match.start()
                break
            at = match.end()
        line = self.held.rfind("\n", 0, cut) + 1
        begun = self.held[line:cut].strip()
        if (begun.startswith(("```", "~~~")) or not begun.strip("`~")) and cut - line < LONG_BRACKET:
            cut = line  # a fence may begin
        settled, self.held = self.held[:cut], self.held[cut:]
        return settled

    def _open(self) -> list[Statement]:
        """The statements of the block that is open."""
        base = self._base
        return [one.moved(base) for one in statements(self.text[base:])]

    def _advance(self, most: int) -> None:
        """Moves `base` behind the last block that is at its end, at `most`, unless a fence is open there."""
        ends = [match.end() for match in _BLOCK_END.finditer(self.text, self._base, most)]
        if ends and len(_FENCE.findall(self.text[self._base : ends[-1]])) % 2 == 0:
            self._base = ends[-1]
