"""A vetting for people: a table on a terminal, lines in a pipe. Everything that strangers wrote is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ..explain.words import UNDECIDED
from ..terminal.showing import escaped
from ..terminal.styles import STYLES
from .vetted_assertions import ADMITTED, BELOW_FLOOR, CONTRADICTED, UNANNOTATED, Missing, Place, Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HEADS = ("verdict", "statement, and what was checked", "where, and what was missing")
MOST_LINES = 6
"""Places and missing things of one statement; the JSON document has all."""
MOST_TERMS = 8
MANY = 60
"""Statements from which on a table says of the admitted ones no more than that."""
UNCOMMITTED = UNDECIDED["not-committed"]
_NOT_COMMITTED = " History is no evidence for changes that are not committed: commit them."
_INNER = str.maketrans("«»≪≫《》⟪⟫", "‹›‹›‹›‹›")
"""The marks of a quotation, and what looks like them."""
EVERYWHERE = "all tracked files"
"""Where an observer looked that was told no path."""


def one_line(text: str) -> str:
    """Text as it may be shown, on one line."""
    return escaped(" ".join(text.split()))


def quoted(text: str, most: int | None = None) -> str:
    """Words of a stranger between « and », on one line; no mark in them ends the quotation.

    Args:
        text: the words.
        most: characters of them that are shown.
    """
    return f"«{_within(text, most)}»"


def _within(text: str, most: int | None = None) -> str:
    shown = one_line(text).translate(_INNER)
    return shown if most is None or len(shown) <= most else shown[:most] + "…"


def place_line(place: Place) -> str:
    """Where an observer looked, as `limits.py, line 1 (code.read)`; escaped."""
    path = "" if place.path is None else one_line(place.path)
    where = "" if place.lines is None else lines_in_words(place.lines)
    commit = "" if place.commit is None else f"commit {one_line(place.commit)[:12]}"
    shown = ", ".join(part for part in (path, where, commit) if part) or EVERYWHERE
    return f"{shown} ({_class(place.substrate_class)})"


def lines_in_words(lines: tuple[int, int]) -> str:
    """`line 3`, or `lines 3 to 5`."""
    first, last = lines
    return f"line {first}" if first == last else f"lines {first} to {last}"


def missing_line(one: Missing) -> str:
    """What was not found, and why; escaped."""
    what = _within(one.check or "")
    if one.terms:
        shown = ", ".join(map(quoted, one.terms[:MOST_TERMS]))
        what = shown + (" …" if len(one.terms) > MOST_TERMS else "")
    where = "" if one.path is None else f" ({_within(one.path)}"
    where += "" if one.path is None else f", {lines_in_words(one.lines)})" if one.lines else ")"
    told = f"{what}: {one_line(one.reason)}{where}" if what else one_line(one.reason)
    return f"{told}: {quoted(one.found)}" if one.found else told


def why_unseen(verdict: Verdict) -> str:
    """Why no observer could look at a statement."""
    return next((one.reason for one in verdict.missing), verdict.reason)


def why(verdict: Verdict) -> str:
    """The reason behind a verdict, where it says more than the status; escaped."""
    return "" if verdict.reason in ("", verdict.status) else one_line(verdict.reason)


def _class(name: str) -> str:
    return name.removeprefix("substrate.")


def checked_lines(verdict: Verdict) -> tuple[list[str], list[str]]:
    """What was checked, and where and what was missing: lines of text, escaped, at most `MOST_LINES` of each."""
    checked = list(dict.fromkeys(map(one_line, verdict.rendered)))  # two checks may say the same
    seen = [place_line(place) for place in verdict.seen]
    missing = [f"{one.head}: {missing_line(one)}" for one in verdict.missing]
    unchecked = [f"not checked: {quoted(words)}" for words in verdict.unchecked]
    return _some(checked), [*_some(seen), *_some(unchecked), *_some(missing)]


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"and {more} more"]


def headings(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Sequence[Verdict]]]:
    """The verdicts turn by turn, each with what stands above it; nothing where there is one turn or answer alone."""
    places = dict.fromkeys((one.file, one.turn) for one in verdicts)
    files = {file for file, _ in places}
    for (file, turn), several in groupby(verdicts, key=lambda one: (one.file, one.turn)):
        parts = ["" if turn is None else f"turn {turn}", one_line(file) if len(files) > 1 else ""]
        yield ", ".join(part for part in parts if part) if len(places) > 1 else "", list(several)


def table(verdicts: Sequence[Verdict], *, briefly: bool = False) -> Table:
    """Every statement, in the order of the answer.

    Args:
        verdicts: of one turn or answer.
        briefly: of what is admitted wholly, the statement alone.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    shown.add_column(HEADS[0], max_width=22, overflow="fold")
    shown.add_column(HEADS[1], ratio=1, overflow="fold")
    shown.add_column(HEADS[2], ratio=1, overflow="fold")
    for verdict in verdicts:
        checked, where = ([], []) if briefly and verdict.label == ADMITTED else checked_lines(verdict)
        status = Text(verdict.label, style=STYLES.get(verdict.status, ""))
        if why(verdict):
            status = Text("\n").join([status, Text(why(verdict), style="dim")])
        # Cells are Text, not markup: a square bracket in a statement is a square bracket.
        said = Text("\n").join([Text(one_line(verdict.shown)), *(Text(f"✓ {line}", style="green") for line in checked)])
        shown.add_row(status, said, Text("\n".join(where)))
    return shown


def print_table(verdicts: Sequence[Verdict], console: Console) -> None:
    """A table for each turn; behind many statements once more those that are contradicted; and the summary."""
    from rich.text import Text

    many = len(verdicts) > MANY
    for heading, several in headings(verdicts):
        if heading:
            console.print(Text(heading, style="bold"))
        console.print(table(several, briefly=many))
    wrong = [one for one in verdicts if one.status == CONTRADICTED]
    if many and wrong:
        console.print(Text("contradicted, of all of them:", style="bold"))
        for one in wrong:
            turn = "" if one.turn is None else f"turn {one.turn}: "
            console.print(Text(f"  {turn}{one_line(one.text)}"))
            console.print(Text("\n".join(f"    {missing_line(each)}" for each in one.missing[:1]), style="dim"))
        console.print()
    for line in summary(verdicts):
        console.print(Text(line))


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """For a pipe: a line for each statement, what was found indented below it, then the summary."""
    for heading, several in headings(verdicts):
        if heading:
            yield f"{heading}:"
        for verdict in several:
            checked, where = checked_lines(verdict)
            reason = f" ({why(verdict)})" if why(verdict) else ""
            yield f"{verdict.label}{reason}: {one_line(verdict.shown)}"
            yield from (f"    checked: {line}" for line in checked)
            yield from (
                f"    {line}" if line.startswith(("missing: ", "not checked: ", "session: ")) else f"    seen: {line}"
                for line in where
            )
    yield from summary(verdicts)


def summary(verdicts: Iterable[Verdict]) -> list[str]:
    """How many statements there are, by status, as the last line; above it what the verdicts that say the least mean,
    and what to do about them."""
    tally = Tally()
    for one in verdicts:
        tally.add(one)
    return tally.lines()


class Tally:
    """Counts verdicts for their summary."""

    def __init__(self) -> None:
        self._labels: Counter[str] = Counter()
        self._wanted: set[int] = set()
        self._unseen: Counter[str] = Counter()
        self._is_edited = False

    def add(self, verdict: Verdict) -> None:
        """Counts one."""
        self._labels[verdict.label] += 1
        if verdict.status == BELOW_FLOOR and verdict.record is not None:
            self._wanted.add(int(verdict.record.get("k", 0)))
            self._is_edited = self._is_edited or any(one.reason == UNCOMMITTED for one in verdict.missing)
        if verdict.not_looked_at:
            self._unseen[why_unseen(verdict)] += 1

    @property
    def saw_nothing(self) -> bool:
        """There are statements, and no observer could look at any of them."""
        return 0 < self._unseen.total() == self._labels.total()

    def lines(self) -> list[str]:
        """The summary."""
        total = sum(self._labels.values())
        if not total:
            return ["No statement that can be checked was found."]
        told: list[str] = []
        if self._labels[BELOW_FLOOR]:
            wanted = " or ".join(map(str, sorted(self._wanted)))
            told.append(
                f"below-floor: what was looked at bears these out, but with fewer than the {wanted} kinds of evidence "
                "that the policy wants, or in part only."
                + (_NOT_COMMITTED if self._is_edited else "")
                + " A --policy may ask for fewer."
            )
        if self._labels[UNANNOTATED]:
            told.append(
                "unannotated: nothing that was looked at bears on these. Ask the agent to look, or to withdraw them."
            )
        told += [
            f"{number} of {total} could not be looked at, and {'is' if number == 1 else 'are'} neither true nor false: "
            f"{one_line(reason)}."
            for reason, number in self._unseen.most_common(MOST_LINES)
        ]
        noun = "statement" if total == 1 else "statements"
        counts = ", ".join(f"{number} {status}" for status, number in self._labels.most_common())
        return [*told, f"{total} {noun}: {counts}"]
