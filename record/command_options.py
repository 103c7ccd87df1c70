"""The options of well-known commands, told from their operands by the letters that take a value, and nothing more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Given(NamedTuple):
    """What a command was given.

    Attributes:
        options: each with its value, empty where it takes none; short ones by their letter, long ones by their name.
        operands: the other words, in order.
        behind: those of them that stand behind `--`.
    """

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    behind: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(name in names for name, _ in self.options)

    def value(self, *names: str) -> str | None:
        """The value of the last of these options; None where none was given."""
        found = [value for name, value in self.options if name in names]
        return found[-1] if found else None

    def only(self, names: str, *long: str) -> bool:
        """Whether no other options than these letters and names were given."""
        return all(name in long if len(name) > 1 else name in names for name, _ in self.options)


def given(words: Sequence[str], valued: str = "", long: Sequence[str] = ()) -> Given:
    """The options and operands of a command.

    Args:
        words: without the command's name.
        valued: letters of short options that take a value, in the same word or the next.
        long: names of long options that take a value as the next word; with `=` every one may have a value.
    """
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    behind: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            behind = list(words[at:])
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in long and at < len(words):
                value, at = words[at], at + 1
            options.append((name, value))
        elif re.fullmatch(r"-\d+", word):
            options.append(("#", word[1:]))
        elif word.startswith("-") and len(word) > 1:
            at = _short(word[1:], words, at, valued, options)
        else:
            operands.append(word)
    return Given(tuple(options), (*operands, *behind), tuple(behind))


def _short(letters: str, words: Sequence[str], at: int, valued: str, options: list[tuple[str, str]]) -> int:
    for place, letter in enumerate(letters):
        if letter in valued:
            value = letters[place + 1 :]
            if not value and at < len(words):
                value, at = words[at], at + 1
            options.append((letter, value))
            return at
        options.append((letter, ""))
    return at
