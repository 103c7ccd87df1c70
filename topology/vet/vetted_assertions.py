"""Vetted assertions as a caller gets them, as a terminal shows them, and as an HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...codecs.records import Session
from ..audit.explanation_words import UNDECIDED
from ..settings.showing import STYLES, escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNSETTLED: Final = "unsettled"
"""The status of an assertion that the fold said nothing about: its emission was refused as a whole."""
NOT_LOOKED_AT: Final = "not-looked-at"
ADMITTED: Final = "admitted"
BELOW_FLOOR: Final = "below-floor"
CONTRADICTED: Final = "contradicted"
UNANNOTATED: Final = "unannotated"
IN_PART: Final = "admitted in part"
"""What readers are told instead of `admitted` where the checks cover only a part of the sentence."""

SESSION: Final = "session"
"""Stands for the emitter's own session, in the place of a substrate-class."""
SESSION_REASONS: Final = ("session-failed", "session-only", "narrower-run", "stale-run", "no-run")
_INNER_CODE: Final = str.maketrans({"`": "'", "«": "‹", "»": "›"})


def session_line(session: Session, reason: str) -> str:
    """What a session shows of a statement about a result, in one sentence, by the reason that the fold gives."""
    kind = session.kind.replace("-", " ")
    if reason == "no-run":
        return f"the session shows no {kind} run"
    command = f", `{session.command.translate(_INNER_CODE)}`," if session.command else ""
    run = f"the last {kind} run{command}"
    if reason == "stale-run":
        noun = "file was" if session.edits_after == 1 else "files were"
        return f"{session.edits_after} {noun} changed after {run.removesuffix(',')}, which {_came_to(session)}"
    came_to = f"{run} {_came_to(session)}"
    if reason == "narrower-run":
        return f"{came_to}, and was of less than this says"
    if reason == "session-only":
        has_failed = session.counts is not None and session.counts.failed + session.counts.errors > 0
        later = has_failed and session.runs_after
        return f"{came_to}, and something else was run after it" if later else f"{came_to}; only the session shows it"
    return came_to


def _came_to(session: Session) -> str:
    """How a run ended: «failed: 2 of 40»."""
    counts = session.counts
    if counts is None:
        return "has no result" if session.exit is None else f"ended with {session.exit}"
    failed = counts.failed + counts.errors
    if not failed:
        return f"passed: {counts.passed}" if counts.passed else "found nothing"
    return f"failed: {failed} of {failed + counts.passed}" if counts.passed else f"failed: {failed}"


class Place(NamedTuple):
    """Where an observer looked, and what came of it there.

    Attributes:
        substrate_class: who looked.
        outcome: of the whole observation.
        path: the file; None where it is about none.
        lines: the first and the last one, from 1.
        commit: None for a working tree.
    """

    substrate_class: str
    outcome: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    commit: str | None = None


class Missing(NamedTuple):
    """What an observer did not find, or found otherwise.

    Attributes:
        substrate_class: who looked; empty where nobody did, `session` for the emitter's own session.
        reason: in words.
        check: the check that does not hold.
        terms: words of the sentence that are not there.
        path: the file that the reason speaks of.
        lines: where it stands otherwise.
        found: the line that stands there instead; untrusted text.
    """

    substrate_class: str
    reason: str
    check: str | None = None
    terms: Sequence[str] = ()
    path: str | None = None
    lines: tuple[int, int] | None = None
    found: str = ""

    @property
    def head(self) -> str:
        """What stands before it where people read it."""
        return SESSION if self.substrate_class == SESSION else "missing"


class Verdict(NamedTuple):
    """One assertion and what became of it.

    Attributes:
        emission_id: of its emission.
        span: its place in the emission's text, as the record has it.
        text: its words; a stranger wrote them.
        status: as in docs/reference/records.md, but `admitted` also where more evidence came later; or `unsettled`.
        reason: the fold's word for why; empty where it has none.
        rendered: what was checked and verified, a sentence each.
        seen: where, best first.
        missing: what was not found.
        record: the last output record; None where there is none.
        file: that it stands in, as it was named; empty where nobody named one.
        turn: of the transcript, from 1; None for a plain answer.
    """

    emission_id: str
    span: Any
    text: str
    status: str
    reason: str
    rendered: Sequence[str]
    seen: Sequence[Place]
    missing: Sequence[Missing]
    record: dict[str, Any] | None
    file: str = ""
    turn: int | None = None

    @property
    def unsupported(self) -> bool:
        """No observer bore any of it out, and none found it false."""
        return self.status not in (ADMITTED, CONTRADICTED) and not (self.record or {}).get("classes")

    @property
    def not_looked_at(self) -> bool:
        """No observer could look: a bound, a closed root, or a record that the fold refuses."""
        return self.status == UNSETTLED or (self.reason == NOT_LOOKED_AT and bool(self.missing))

    @property
    def in_part(self) -> bool:
        """It is admitted, but its checks say only a part of what its words say (docs/checks.md, coverage)."""
        return self.status == ADMITTED and (self.record or {}).get("coverage") == "part"

    @property
    def label(self) -> str:
        """The status as readers are told it."""
        return IN_PART if self.in_part else self.status

    @property
    def shown(self) -> str:
        """The words as readers are shown them: `[unchecked]` stands for what an admission does not cover."""
        if not self.in_part or self.record is None:
            return self.text
        return str(self.record["_untrusted_text"].get("assertion", ""))

    @property
    def unchecked(self) -> list[str]:
        """The words that an admission does not cover."""
        spans: list[tuple[int, int]] = (self.record or {}).get("unchecked", []) if self.in_part else []
        return [self.text[start:end] for start, end in spans]

    def form(self) -> dict[str, Any]:
        """The verdict as a JSON-ready object: the members of the last output record (docs/reference/records.md), where
        there is one, and what vetting adds. Members without a value are left out.

        `status` is the record's, but `admitted` for `renewed`, and `unsettled` where there is no record.
        """
        return {
            "emission_id": self.emission_id,
            "span": self.span,
            **({"reason": self.reason} if self.reason else {}),
            **(self.record or {}),
            "status": self.status,
            **({"file": self.file} if self.file else {}),
            **({} if self.turn is None else {"turn": self.turn}),
            "statement": self.text,
            **({"shown": self.shown, "not_checked": self.unchecked} if self.in_part else {}),
            "rendered": list(self.rendered),
            "seen": [_members(one) for one in self.seen],
            "missing": [_members(one) for one in self.missing],
        }

    def slim(self) -> Verdict:
        """The verdict with as much of its record as people are shown: for who keeps many."""
        if self.record is None:
            return self
        frame = self.record["_untrusted_text"]
        kept = {name: self.record[name] for name in ("classes", "k", "coverage", "unchecked") if name in self.record}
        return self._replace(record={**kept, "_untrusted_text": {"assertion": frame.get("assertion", "")}})


def _members(one: Place | Missing) -> dict[str, Any]:
    return {name: value for name, value in one._asdict().items() if value not in (None, (), "")}


HEADS = ("verdict", "statement, and what was checked", "where, and what was missing")
MOST_LINES = 6
"""Places and missing things of one statement; the JSON document has all."""
MOST_TERMS = 8
MANY = 60
"""Statements from which on a table says of the admitted ones no more than that."""
UNCOMMITTED = UNDECIDED["not-committed"]
_NOT_COMMITTED = " History is no evidence for changes that are not committed: commit them."
_INNER_QUOTES = str.maketrans("«»≪≫《》⟪⟫", "‹›‹›‹›‹›")
"""The marks of a quotation, and what looks like them."""
EVERYWHERE = "all tracked files"
"""Where an observer looked that was told no path."""


def one_line(text: str) -> str:
    """Text as it may be shown, on one line."""
    return escaped(" ".join(text.split()))


def quoted(text: str, most: int | None = None) -> str:
    """A stranger's words between « and », on one line, at most `most` of them; no mark in them ends the quotation."""
    return f"«{_within(text, most)}»"


def _within(text: str, most: int | None = None) -> str:
    shown = one_line(text).translate(_INNER_QUOTES)
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
    """Every statement of a turn or answer, in its order; `briefly`: of what is admitted wholly, the statement alone."""
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


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c;
  background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
.statement { border-left: 4px solid #999; margin: 1rem 0; padding: .25rem 1rem; }
.admitted { border-color: #1a7f37; } .contradicted, .rejected { border-color: #b42318; }
.below-floor, .unverified-inference { border-color: #9a6700; } .status { font-weight: 600; }
ul { margin: .25rem 0; padding-left: 1.25rem; color: #444; font-size: .9rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616; } ul { color: #b8b8b8; } }
"""


def page(verdicts: Sequence[Verdict], title: str) -> str:
    """The verdicts as an HTML page; `title` says what was vetted."""
    body = "\n".join(
        (f"<h2>{escape(above)}</h2>\n" if above else "") + "\n".join(map(_statement, several))
        for above, several in headings(verdicts)
    )
    told = "\n".join(f"<p>{escape(line)}</p>" for line in reversed(summary(verdicts)))
    heading = escape(one_line(title))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vetting of {heading}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Vetting of {heading}</h1>
{told}
{body}
</body>
</html>
"""


def _statement(verdict: Verdict) -> str:
    checked, where = checked_lines(verdict)
    reason = f" ({why(verdict)})" if why(verdict) else ""
    items = "".join(f"<li>{escape(line)}</li>" for line in [*(f"checked: {one}" for one in checked), *where])
    below = f"<ul>{items}</ul>" if items else ""
    status = escape(verdict.status)
    said = escape(one_line(verdict.shown))
    return (
        f'<section class="statement {status}">'
        f'<p><span class="status">{escape(verdict.label)}</span>{escape(reason)}: {said}</p>{below}</section>'
    )
