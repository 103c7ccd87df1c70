"""What the demo shows: a table that fills on a terminal, lines in a pipe, and a summary of what came of it all.

What was checked stands before the emitter's words: that is what is admitted (showing_checks.py). Behind it stands where
observers looked, and what they saw there. Everything that strangers wrote goes through `showing.escaped`. Nothing here
waits, reads or decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..terminal.showing import checked_cell, escaped, stacked_cell
from ..terminal.styles import STYLES
from ..vet.vetted_assertions import Missing, Place
from ..vet.vetting import missing_of, places
from ..vet.vetting_view import missing_line, one_line
from .board import DISCARDED, Board, Entry

HEADS = ("status", "what was checked", "the emitter's words", "classes seen", "reason, or valid until")
NARROW_HEADS = ("status, classes seen, reason, or valid until", "what was checked, and the emitter's words")
WIDE = 160
"""Columns of a screen on which five columns leave room for what was checked and for an assertion."""
NARROW_CELL = 30
MOST_SEEN = 4
"""Lines about where one looked and what was not there, for one assertion; `--json` and `sluice explain` have all."""
_SAW = {
    "corroborates": "bears it out",
    "contradicts": "says otherwise",
    "terms-present": "has its words",
    "unknown-observation": "never gave what is cited",
}
AROUND = 7
"""Lines of a live screen that are no rows: heads, rules, and the line that says how far it has come."""


def cells(entry: Entry) -> tuple[str, str, str, str, str]:
    """What one assertion's row says, escaped: status, what was checked, the emitter's words, classes, and why."""
    return entry.status or "…", _checked(entry), _prose(entry), _classes(entry), _why(entry)


def _checked(entry: Entry) -> str:
    return checked_cell(entry.basis) if entry.status not in ("", DISCARDED) else ""


def _prose(entry: Entry) -> str:
    return escaped(entry.text) or f"({entry.key})"


def _classes(entry: Entry) -> str:
    return ", ".join(map(_short, entry.classes))


def _why(entry: Entry) -> str:
    """The reason of what is not admitted; of what is, the time of day until which it is: all that matters here."""
    until = entry.valid_until.partition("T")[2][:8]
    return entry.reason or (f"until {until}" if until else "")


def _stacked(entry: Entry) -> str:
    """What was checked and the emitter's words in one cell."""
    return stacked_cell(entry.basis, _prose(entry)) if _checked(entry) else _prose(entry)


def seen_lines(entry: Entry) -> list[str]:
    """Where observers looked and what they saw there, as `a.py:3 bears it out (code.read, grep)`, then the words that
    nobody checked, then what was not so; escaped, at most `MOST_SEEN` lines. Nothing about what is discarded or has no
    word yet."""
    if entry.status in ("", DISCARDED):
        return []
    seen = list(entry.seen.values())
    by_place: dict[str, dict[str, None]] = {}
    for place in places(seen):
        if (said := _place(place)) is not None:
            by_place.setdefault(said, {})[_short(place.substrate_class)] = None
    lines = [f"seen: {said} ({', '.join(names)})" for said, names in by_place.items()]
    unique: dict[Missing, None] = {}
    for one in seen:
        unique |= dict.fromkeys(each._replace(substrate_class="") for each in missing_of(one))
    lines += [f"not checked: «{one_line(words)}»" for words in entry.unchecked]
    lines += [f"{'not so' if one.check else 'missing'}: {missing_line(one)}" for one in unique]
    more = len(lines) - MOST_SEEN
    return lines if more <= 0 else [*lines[:MOST_SEEN], f"and {more} more"]


def _place(place: Place) -> str | None:
    """A place in the short form of compilers, and what was seen there; None where it says nothing."""
    what = _SAW.get(place.outcome)
    if what is None:
        return None
    where = one_line(place.path or "")
    if where and place.lines is not None:
        where += f":{place.lines[0]}" + ("" if place.lines[0] == place.lines[1] else f"-{place.lines[1]}")
    return f"{where or 'the repository'} {what}"


def _short(name: str) -> str:
    return name.removeprefix("substrate.")


# ---------------------------------------------------------------- a terminal


def live(board: Board, width: int, height: int) -> RenderableType:
    """The screen while the demo runs: the newest decisions, each on one line, and how far the demo has come.

    Args:
        board: what is known of the demo's assertions.
        width: of the terminal, in columns.
        height: of the terminal, in lines; as many decisions are shown as fit.
    """
    rows = sorted((entry for entry in board.entries if entry.status), key=lambda entry: entry.changed)
    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    wide = width >= WIDE
    for place, head in enumerate(HEADS if wide else (HEADS[0], NARROW_HEADS[1])):
        shown.add_column(head, ratio=1 if place in (1, 2) else None, no_wrap=True, overflow="ellipsis")
    for entry in rows[-max(1, height - AROUND) :]:
        said = cells(entry)[1:] if wide else (_stacked(entry),)
        shown.add_row(_status(entry), *(Text(_one_line(cell)) for cell in said))
    said = f"{len(rows)} of {counted(len(board.entries), 'assertion')} have their word; "
    return Group(shown, Text(f" {said}{counted(len(board.letters), 'dead letter')}", style="bold"))


def table(board: Board, width: int) -> RenderableType:
    """Every assertion, in the order in which they were emitted; on a narrow screen in two cells."""
    shown = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    if width >= WIDE:
        for place, head in enumerate(HEADS):
            shown.add_column(head, ratio=1 if place in (1, 2) else None, overflow="fold")
        for entry in board.entries:
            _, checked, *others = cells(entry)
            shown.add_row(_status(entry), _with_seen(checked, entry), *map(Text, others))
        return shown
    shown.add_column(NARROW_HEADS[0], max_width=NARROW_CELL, overflow="fold")
    shown.add_column(NARROW_HEADS[1], ratio=1, overflow="fold")
    for entry in board.entries:
        others = (cell for cell in (_classes(entry), _why(entry)) if cell and cell != entry.status)
        shown.add_row(Text("\n").join([_status(entry), *map(Text, others)]), _with_seen(_stacked(entry), entry))
    return shown


def _with_seen(cell: str, entry: Entry) -> Text:
    """A cell with the lines about what was seen below it."""
    below = (Text(line, style="dim") for line in seen_lines(entry))
    return Text("\n").join([*([Text(cell)] if cell else []), *below])


def _status(entry: Entry) -> Text:
    """Cells are Text, not markup: a square bracket in an assertion is a square bracket."""
    return Text(entry.status or "…", style=STYLES.get(entry.status, ""))


def _one_line(cell: str) -> str:
    return cell.replace("\n", " ")


def print_table(board: Board, console: Console) -> None:
    """The table and the summary."""
    console.print(table(board, console.width))
    for line in summary(board):
        console.print(Text(line))


# ---------------------------------------------------------------- a pipe


def lines(board: Board) -> Iterator[str]:
    """One line an assertion, in the order in which they were emitted, with what was seen below it; then the summary."""
    for entry in board.entries:
        status, _, _, classes, why = cells(entry)
        yield f"{status:<23} {why or '-':<22} {classes or '-':<36} {entry.key}  {_one_line(_stacked(entry))}"
        yield from (f"    {line}" for line in seen_lines(entry))
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
    """Lines that name the next commands to try after the demo.

    Args:
        prefix: of the demo's topics.
        broker: the demo's.
        embedded: whether that was the embedded broker, whose topics are gone.
    """
    steps = [
        ("sluice demo --json", "each assertion's last record, with the evidence and the frame"),
        ("sluice demo --root DIR --emissions FILE", "the same for a repository and emissions of your own"),
    ]
    if embedded:
        steps.append(("sluice broker run", "a real Kafka; sluice demo --broker kafka://… then runs exactly-once"))
    else:
        steps.append((f"sluice consume --broker {broker} --topic-prefix {prefix}", "what is on its topics now"))
    yield "Next:"
    yield from (f"  {command:<40} {what}" for command, what in steps)
