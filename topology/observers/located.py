"""What an annotation says was looked at, and whether what decides a check stands there [S §4] (docs/observing.md).

An observation is evidence only for what its class saw where the annotation says that it looked. A check that is decided
by something else stays undecided (`outside-locator`), and the observation tells where that stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...streams.judging.checks import Check
from ...streams.judging.results import Held
from .ask import Ask, CannotLook
from .content import text_of
from .file_contents import File

LAST: Final = 10**9
"""A line behind the end of any file."""
MAX_CONTEXT: Final = 1_000
ON_SCOPE: Final = frozenset(("absent", "count", "order", "only_in"))
"""Checks that speak of all of their scope: some lines of it do not decide them."""
ON_CHANGES: Final = frozenset(("added", "deleted", "renamed", "touched", "unchanged"))
"""Checks on what changed since a commit or tree."""
ON_TREES: Final = frozenset(("exists", "missing"))


class Located(NamedTuple):
    """The region that a locator names.

    Attributes:
        path: the file or folder; None where the locator names none, so that any file is meant.
        lines: first and last; None for all.
        shown: of a search, the numbers of the lines that it shows, by path; None where no pattern is named.
        pattern: its fixed string; empty for an expression.
        commit: the hash of the commit that the locator names; empty where it names none.
    """

    path: str | None = None
    lines: tuple[int, int] | None = None
    shown: Mapping[str, frozenset[int]] | None = None
    pattern: str = ""
    commit: str = ""

    def bind(self, check: Check, held: Held, path: str | None, file: File | None) -> Held:
        """What a check came to, undecided where the region does not hold what decides it.

        Args:
            check: the check.
            held: what it came to; its `lines` and `path` are kept.
            path: the file or folder that the check speaks of; None for all files.
            file: in which it was decided; None where it was none, or several.
        """
        if held.holds is None or self._holds(check, held, path, file):
            return held
        return held._replace(holds=None, reason="outside-locator")

    def _holds(self, check: Check, held: Held, path: str | None, file: File | None) -> bool:
        if self.path is not None and (check.name in ON_CHANGES or check.name == "only_in"):
            return path == self.path or self.path in check.arguments
        if self.path is not None and path is not None and not _same(check, self.path, path):
            return False
        if check.name in ON_TREES:
            return True
        lines = _witness(check, held, file)
        if lines is None:
            return self._is_whole(check, file)
        if self.lines is not None and not self.lines[0] <= lines[0] <= lines[1] <= self.lines[1]:
            return False
        if self.shown is None:
            return True
        shown = self.shown.get(held.path or path or "", frozenset[int]())
        return shown.issuperset(range(lines[0], lines[1] + 1))

    def _is_whole(self, check: Check, file: File | None) -> bool:
        """Whether the region is all that a check without lines speaks of: the whole file, or of a search everything in
        which the word of the check could stand."""
        if self.lines is not None and (self.lines[0] > 1 or file is None or self.lines[1] < file.line_count):
            return False
        return self.shown is None or (self.pattern != "" and self.pattern in _word(check))


def _same(check: Check, located: str, path: str) -> bool:
    """Whether a check speaks of the file that the locator names; of a tree also of a folder above or below it."""
    if located == path:
        return True
    return check.name in ON_TREES and (located.startswith(f"{path}/") or path.startswith(f"{located}/"))


def _witness(check: Check, held: Held, file: File | None) -> tuple[int, int] | None:
    """The lines that decide a check; None where its whole scope does.

    A definition is seen where its name stands: nobody has to have read its body.
    """
    if check.name in ON_SCOPE and not (check.name == "absent" and held.holds is check.negated):
        return check.lines if held.lines is None or check.name == "order" else held.lines
    if held.lines is None or check.name != "defines" or file is None:
        return held.lines
    first, last = held.lines
    text = text_of(file.part((first, last)))
    name = _word(check)
    for number, line in enumerate(text.text.split("\n") if text is not None else (), first):
        if name in line:
            return (number, number)
    return held.lines


def _word(check: Check) -> str:
    """The word that a check looks for: of a qualified name its last component."""
    word = next((value for value in check.arguments if isinstance(value, str)), "")
    return word if check.name in ON_SCOPE or check.name == "contains" else word.replace("::", ".").split(".")[-1]


def lines_of(locator: dict[str, Any]) -> tuple[int, int] | None:
    """First and last line of a locator, counted from 1; None where it names none.

    `offset` is the first line and `limit` how many there are, as [S §4] names them.

    Raises:
        CannotLook: it names lines that no file has, or names them twice.
    """
    value = locator.get("lines")
    if "offset" in locator or "limit" in locator:
        first, many = locator.get("offset", 1), locator.get("limit", LAST)
        if value is not None or type(first) is not int or type(many) is not int or first < 1 or many < 1:
            raise CannotLook("the locator's offset and limit are not a first line and a number of lines, from 1")
        return first, first + many - 1
    if value is None:
        return None
    if isinstance(value, str):
        value = [int(one) if one.isascii() and one.isdigit() and len(one) < 10 else 0 for one in value.split("-")]
    numbers: list[Any] = value if isinstance(value, list) else [value]
    if len(numbers) not in (1, 2) or not all(type(one) is int for one in numbers) or not 1 <= numbers[0] <= numbers[-1]:
        raise CannotLook("the locator's lines are not first and last, from 1")
    return numbers[0], numbers[-1]


def context_of(ask: Ask) -> int:
    """How many lines around a matching one a search shows.

    Raises:
        CannotLook: the locator's `context` is no such number.
    """
    value = ask.locator.get("context", 0)
    if type(value) is not int or not 0 <= value <= MAX_CONTEXT:
        raise CannotLook(f"the locator's context is not a number of lines from 0 to {MAX_CONTEXT}")
    return value
