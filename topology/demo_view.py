"""What the demo shows: a table that fills on a terminal, lines in a pipe, and a summary of what came of it all.

Everything that strangers wrote goes through `showing.escaped`. Nothing here waits, reads or decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .demo_board import Board, Entry
from .showing import escaped

HEADS = ("assertion", "status", "classes seen", "reason", "valid until")
STYLES = {
    "admitted": "green",
    "renewed": "green",
    "refused": "cyan",
    "unannotated": "dim",
    "unverified-inference": "yellow",
    "below-floor": "yellow",
    "decayed-to-uncertainty": "magenta",
    "contradicted": "red",
    "rejected": "red",
    "discarded": "dim",
}
WIDE = 120
"""Columns of a screen on which five columns leave room for an assertion."""
NARROW_CELL = 30
AROUND = 7
"""Lines of a live screen that are no rows: heads, rules, and the line that says how far it has come."""


def cells(entry: Entry) -> tuple[str, str, str, str, str]:
    """What one assertion's row says."""
    classes = ", ".join(name.removeprefix("substrate.") for name in entry.classes)
    text = escaped(entry.text) or f"({entry.key})"
    return text, entry.status or "…", classes, entry.reason, _clock(entry.valid_until)


def _clock(time: str) -> str:
    """The time of day of an RFC 3339 time: all that matters within a demo."""
    return time.partition("T")[2][:8]


# ---------------------------------------------------------------- a terminal


def live(board: Board, width: int, height: int) -> RenderableType:
    """The screen while it runs: the newest words, as many as fit, and how far it has come."""
    rows = sorted((entry for entry in board.entries if entry.status), key=lambda entry: entry.heard)
    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    heads = HEADS if width >= WIDE else HEADS[:2]
    for head in heads:
        shown.add_column(head, ratio=1 if head == HEADS[0] else None, no_wrap=True, overflow="ellipsis")
    for entry in rows[-max(1, height - AROUND) :]:
        shown.add_row(*_styled(entry)[: len(heads)])
    said = f"{len(rows)} of {counted(len(board.entries), 'assertion')} have their word; "
    return Group(shown, Text(f" {said}{counted(len(board.letters), 'dead letter')}", style="bold"))


def table(board: Board, width: int) -> RenderableType:
    """Every assertion, in the order in which they were emitted; on a narrow screen all that was said in one cell."""
    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    shown.add_column(HEADS[0], ratio=1, overflow="fold")
    if width >= WIDE:
        for head in HEADS[1:]:
            shown.add_column(head, overflow="fold")
        for entry in board.entries:
            shown.add_row(*_styled(entry))
        return shown
    shown.add_column(", ".join(HEADS[1:]), max_width=NARROW_CELL, overflow="fold")
    for entry in board.entries:
        text, status, classes, reason, until = _styled(entry)
        until = Text("until ") + until if until else until
        others = (status, *(cell for cell in (classes, reason, until) if cell and cell.plain != entry.status))
        shown.add_row(text, Text("\n").join(others))
    return shown


def _styled(entry: Entry) -> list[Text]:
    """The cells as Text, not markup: a square bracket in an assertion is a square bracket."""
    text, status, *others = cells(entry)
    return [Text(text), Text(status, style=STYLES.get(entry.status, "")), *map(Text, others)]


def print_table(board: Board, console: Console) -> None:
    """The table and the summary."""
    console.print(table(board, console.width))
    for line in summary(board):
        console.print(Text(line))


# ---------------------------------------------------------------- a pipe


def lines(board: Board) -> Iterator[str]:
    """One line an assertion, in the order in which they were emitted, then the summary."""
    for entry in board.entries:
        text, status, classes, reason, until = cells(entry)
        why = reason or (f"until {until}" if until else "-")
        yield f"{status:<23} {why:<22} {classes or '-':<36} {entry.key}  {text}"
    yield ""
    yield from summary(board)


def json_lines(board: Board) -> Iterator[str]:
    """Each assertion's last output record; one that has none is left out."""
    return (entry.json for entry in board.entries if entry.json)


# ---------------------------------------------------------------- what came of it


def summary(board: Board) -> Iterator[str]:
    """Counts, dead letters and repetitions, in sentences."""
    statuses = Counter(_group(entry) for entry in board.entries)
    yield f"{counted(len(board.entries), 'assertion')} in {counted(board.emissions, 'emission')}:"
    for (status, reason), number in sorted(statuses.items(), key=lambda item: (-item[1], item[0])):
        yield f"  {number:>3}  {status}" + (f" ({reason})" if reason not in ("", status) else "")
    if board.requests:
        yield f"On review-requests, for a person to decide: {board.requests}."
    if board.letters:
        yield f"{counted(len(board.letters), 'dead letter')}, raw, as they came:"
        for letter in board.letters:
            yield f"  line {letter.line}: {letter.reason}: {escaped(letter.detail)}"
    for line, before in board.repeated:
        yield f"Line {line} is line {before} once more: counted as a duplicate."
    missing = board.missing()
    if missing:
        yield f"No word about {len(missing)}: {', '.join(missing[:8])}" + (" …" if len(missing) > 8 else "")


def counted(number: int, noun: str) -> str:
    """A number with its noun in the right form."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _group(entry: Entry) -> tuple[str, str]:
    # A renewal is an admission whose evidence came in two steps: for counting it is one.
    return ("admitted" if entry.status == "renewed" else entry.status or "no word yet"), entry.reason


def next_steps(prefix: str, broker: str, embedded: bool) -> Iterator[str]:
    """Where somebody who has seen the demo may go next."""
    steps = [
        ("sluice demo --json", "each assertion's last record, with the evidence and the frame"),
        ("sluice demo --repo DIR --emissions FILE", "the same for a repository and emissions of your own"),
    ]
    if embedded:
        steps.append(("sluice broker run", "a real Kafka; sluice demo --broker kafka://… then runs exactly-once"))
    else:
        steps.append((f"sluice consume --broker {broker} --topic-prefix {prefix}", "what is on its topics now"))
    yield "Next:"
    yield from (f"  {command:<40} {what}" for command, what in steps)
