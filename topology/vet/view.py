"""A vetting for people: a table on a terminal, lines in a pipe. Everything that strangers wrote is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..terminal.showing import escaped
from ..terminal.styles import STYLES
from .verdicts import Missing, Place, Verdict

HEADS = ("verdict", "statement, and what was checked", "where, and what was missing")
MOST_LINES = 6
"""Places and missing things of one statement; the JSON document has all."""
MOST_TERMS = 8
EVERYWHERE = "all tracked files"
"""Where an observer looked that was told no path."""


def one_line(text: str) -> str:
    """Text as it may be shown, on one line."""
    return escaped(" ".join(text.split()))


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
    what = one_line(one.check or "")
    if one.terms:
        shown = ", ".join(f"«{one_line(term)}»" for term in one.terms[:MOST_TERMS])
        what = shown + (" …" if len(one.terms) > MOST_TERMS else "")
    where = "" if one.path is None else f" ({one_line(one.path)}"
    where += "" if one.path is None else f", {lines_in_words(one.lines)})" if one.lines else ")"
    return f"{what}: {one_line(one.reason)}{where}" if what else one_line(one.reason)


def why(verdict: Verdict) -> str:
    """The reason behind a verdict, where it says more than the status; escaped."""
    return "" if verdict.reason in ("", verdict.status) else one_line(verdict.reason)


def _class(name: str) -> str:
    return name.removeprefix("substrate.")


def checked_lines(verdict: Verdict) -> tuple[list[str], list[str]]:
    """What was checked, and where and what was missing: lines of text, escaped, at most `MOST_LINES` of each."""
    checked = list(dict.fromkeys(map(one_line, verdict.rendered)))  # two checks may say the same
    seen = [place_line(place) for place in verdict.seen]
    missing = [f"missing: {missing_line(one)}" for one in verdict.missing]
    unchecked = [f"not checked: «{one_line(words)}»" for words in verdict.unchecked]
    return _some(checked), [*_some(seen), *_some(unchecked), *_some(missing)]


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"and {more} more"]


def table(verdicts: Sequence[Verdict]) -> Table:
    """Every statement, in the order of the answer."""
    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    shown.add_column(HEADS[0], max_width=22, overflow="fold")
    shown.add_column(HEADS[1], ratio=1, overflow="fold")
    shown.add_column(HEADS[2], ratio=1, overflow="fold")
    for verdict in verdicts:
        checked, where = checked_lines(verdict)
        status = Text(verdict.label, style=STYLES.get(verdict.status, ""))
        if why(verdict):
            status = Text("\n").join([status, Text(why(verdict), style="dim")])
        # Cells are Text, not markup: a square bracket in a statement is a square bracket.
        said = Text("\n").join([Text(one_line(verdict.shown)), *(Text(f"✓ {line}", style="green") for line in checked)])
        shown.add_row(status, said, Text("\n".join(where)))
    return shown


def print_table(verdicts: Sequence[Verdict], console: Console) -> None:
    """The table and the summary."""
    if verdicts:
        console.print(table(verdicts))
    console.print(Text(summary(verdicts)))


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """For a pipe: a line for each statement, what was found indented below it, then the summary."""
    for verdict in verdicts:
        checked, where = checked_lines(verdict)
        reason = f" ({why(verdict)})" if why(verdict) else ""
        yield f"{verdict.label}{reason}: {one_line(verdict.shown)}"
        yield from (f"    checked: {line}" for line in checked)
        yield from (
            f"    {line}" if line.startswith(("missing: ", "not checked: ")) else f"    seen: {line}" for line in where
        )
    yield summary(verdicts)


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many statements there are, by status."""
    if not verdicts:
        return "No statement that can be checked was found."
    counts = Counter(verdict.label for verdict in verdicts)
    noun = "statement" if len(verdicts) == 1 else "statements"
    return f"{len(verdicts)} {noun}: " + ", ".join(f"{number} {status}" for status, number in counts.most_common())
