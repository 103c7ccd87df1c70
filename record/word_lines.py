"""Which lines of a text have how many of some words: one search for each word, not one for each line and word."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class LinedText:
    """A text whose lines are asked about, however often.

    Args:
        text: its lines end with a line feed.
    """

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []

    def word_counts(self, words: Iterable[str]) -> dict[int, int]:
        """How many of these words each line has; lines that have none are left out.

        Args:
            words: a word that stands here twice counts twice. One that is empty, or goes on over a line's end, is in
                none.

        Returns:
            By the place of the line, from 0; in no order.
        """
        text, starts = self.text, self._starts
        found: dict[int, int] = {}
        for word in words:
            at = text.find(word) if word and "\n" not in word else -1
            if at >= 0 and not starts:
                starts = self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
            while at >= 0:
                line = bisect_right(starts, at) - 1
                found[line] = found.get(line, 0) + 1
                at = text.find(word, starts[line + 1]) if starts[line + 1] < len(text) else -1
        return found
