"""What `sluice demo` shows: the board of assertions while the pipeline runs, and the vetted answer without a broker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...codecs.decode import assertion_text, decode_emission, decode_observation
from ...codecs.errors import Fault, UsageError
from ...codecs.identifiers import span_key
from ...codecs.records import Observation
from ...codecs.times import parse_time
from ...record import ToolCall
from ...record.transcripts import open_transcript
from ..kafka.input_records import Prepared, prepare
from ..kafka.topic_reader import Record
from ..observers.observer_registry import ObserverRegistry
from ..observers.roots import DEFAULT, Roots
from ..settings.settings import Settings
from ..settings.showing import HELD, STYLES, Shown, ShownBasis, basis_of, checked_cell, escaped, parse, stacked_cell
from ..vet.at_hand import AtHand
from ..vet.sources import folder_of, of_events
from ..vet.vetted_assertions import Missing, Place, Verdict, missing_line, one_line
from ..vet.vetting import VETTING_POLICY, Vetter, missing_of, places

DISCARDED = "discarded"
"""Shown in the place of a status: what a policy discards is counted, and nothing is written about it."""


class Sent(NamedTuple):
    """One line of the emissions file, ready to be sent. `fault` is why `sluice produce` would have refused it."""

    line: int
    record: Prepared
    fault: Fault | None


def prepare_all(lines: Iterable[bytes], now: int) -> list[Sent]:
    """Every line as `sluice produce` prepares it; a bad one as it stands, since not every producer looks first.

    One moment for all: a line that stands there twice is the same record twice.

    Raises:
        UsageError: a line is larger than brokers take.
    """
    sent: list[Sent] = []
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line:
            continue
        prepared = prepare(line, "emissions", now)
        if isinstance(prepared, Fault) and prepared.reason == "oversize":
            raise UsageError(f"line {number} cannot be sent: {prepared.detail}", hint="leave it out")
        if isinstance(prepared, Fault):
            sent.append(Sent(number, Prepared("emissions", _key(line, number), line), prepared))
        else:
            sent.append(Sent(number, prepared, None))
    return sent


def _key(line: bytes, number: int) -> bytes:
    try:
        value = msgspec.json.decode(line)
        return value["emission_id"].encode()
    except (msgspec.DecodeError, UnicodeError, RecursionError, LookupError, TypeError, AttributeError):
        return f"line-{number}".encode()


class Entry(msgspec.Struct):
    """One assertion and the last word about it; `status` is empty before there is one.

    Attributes:
        text: the emitter's words, as the last record that has any shows them; before that as they were sent.
        sent: the words as they were sent.
        basis: what that word says was checked.
        unchecked: of the words as they were sent, those that an admission does not cover.
        seen: what observers saw, by kind of evidence; the newest of each.
    """

    line: int
    key: str
    text: str
    basis: ShownBasis = ShownBasis()
    unchecked: Sequence[str] = ()
    status: str = ""
    reason: str = ""
    classes: Sequence[str] = ()
    valid_until: str = ""
    rank: tuple[int, bool] = (0, False)
    json: str = ""
    changed: int = 0
    sent: str = ""
    seen: dict[str, Observation] = msgspec.field(default_factory=dict[str, Observation])


class Letter(NamedTuple):
    """A dead letter and the line that it came from."""

    line: int
    reason: str
    detail: str


class Board:
    """What was sent, and what has come of it.

    Invariant: every record that was sent is accounted for once: by its entries, by a dead letter that is there or
    awaited, or as a repetition.
    """

    def __init__(self, sent: Iterable[Sent]) -> None:
        self.letters: list[Letter] = []
        self.repeated: list[tuple[int, int]] = []
        """Lines that are a record which was sent before, each with that record's line: counted, and nothing else."""
        self.emissions = 0
        self.requests = 0
        """How many assertions wait for a reviewer."""
        self._entries: dict[tuple[str, int, str], Entry] = {}
        self._lines: dict[bytes, list[int]] = {}  # on which each record stands, by its hash
        self._awaited: set[int] = set()  # lines of which nothing but a dead letter can come
        self._count = 0
        first: dict[tuple[str, int], bytes] = {}
        for one in sent:
            self._take(one, first)

    def _take(self, one: Sent, first: dict[tuple[str, int], bytes]) -> None:
        digest = sha256(one.record.value).digest()
        same = self._lines.setdefault(digest, [])
        same.append(one.line)
        emission = decode_emission(one.record.value)
        if isinstance(emission, Fault):
            self._awaited.add(one.line)
            return
        attempt = (emission.emission_id, emission.attempt)
        if first.get(attempt) == digest:
            self.repeated.append((one.line, same[0]))
            return
        if attempt in first:
            self._awaited.add(one.line)
            return
        first[attempt] = digest
        self.emissions += 1
        for assertion in emission.assertions or ():
            span = assertion.span_key or ""
            key = f"{emission.emission_id}#{span}" + (f" attempt {emission.attempt}" if emission.attempt else "")
            text = assertion_text(emission, assertion)
            self._entries[emission.emission_id, emission.attempt, span] = Entry(one.line, key, text, sent=text)

    @property
    def entries(self) -> Sequence[Entry]:
        """The assertions in the order in which they were emitted."""
        return list(self._entries.values())

    def apply(self, topic: str, record: Record) -> None:
        """Takes in a record of an output topic, or an observation; what is about others (an earlier run, say) is passed
        over."""
        if topic == "observations":
            self._apply_observation(record)
            return
        shown = parse(topic, record)
        if topic == "dead-letters":
            self._apply_dead_letter(record, shown)
        elif topic == "review-requests":
            if self._entry_of(shown) is not None:
                self.requests += -1 if "ended_at" in shown.value else 1
        else:
            self._apply_decision(topic, shown)

    def _apply_observation(self, record: Record) -> None:
        """An observation settles nothing: it says where one looked, and what one saw there."""
        one = decode_observation(record.value)
        if isinstance(one, Fault):
            return
        subject = one.subject
        entry = self._entries.get((subject.emission_id, subject.attempt, span_key(subject.span)))
        if entry is not None:
            entry.seen[one.substrate_class] = one

    def _entry_of(self, shown: Shown) -> Entry | None:
        span = (shown.key or b"").decode(errors="replace").partition("#")[2]
        return self._entries.get((shown.value.get("emission_id", ""), shown.value.get("attempt", 0), span))

    def _apply_decision(self, topic: str, shown: Shown) -> None:
        value, entry = shown.value, self._entry_of(shown)
        # Where the policy substitutes a refusal, that and the verdict share a revision: the verdict says more.
        rank = (value.get("revision", 0), topic == "inadmissible")
        if entry is None or rank <= entry.rank:
            return
        self._count += 1
        entry.changed, entry.json, entry.rank = self._count, shown.json, rank
        entry.status, entry.reason = value.get("status", ""), value.get("reason", "")
        entry.classes, entry.valid_until = value.get("classes", ()), value.get("valid_until", "")
        entry.basis = basis_of(value)
        entry.unchecked = [] if entry.status not in HELD else _cut(entry.sent, value.get("unchecked"))
        entry.text = entry.basis.prose or entry.text  # closing words carry none

    def _apply_dead_letter(self, record: Record, shown: Shown) -> None:
        same = self._lines.get(sha256(record.value or b"").digest())
        if not same:
            return
        line = same.pop(0)
        self._count += 1
        self._awaited.discard(line)
        self.repeated = [pair for pair in self.repeated if pair[0] != line]  # what is refused is refused again
        self.letters.append(Letter(line, shown.value["reason"], shown.value["detail"]))
        self.letters.sort()
        buried = [key for key, entry in self._entries.items() if entry.line == line]
        self.emissions -= bool(buried)
        for key in buried:
            del self._entries[key]

    def discarded(self, number: int) -> None:
        """The lanes have discarded so many assertions: where no more than those are silent, these are they."""
        silent = [entry for entry in self._entries.values() if not entry.status]
        if silent and len(silent) == number and not self._awaited:
            for entry in silent:
                entry.status = DISCARDED

    @property
    def changed(self) -> int:
        """How many words and dead letters have come."""
        return self._count

    def missing(self) -> list[str]:
        """What has neither a word nor a dead letter yet."""
        return [entry.key for entry in self._entries.values() if not entry.status] + [
            f"line {line}" for line in sorted(self._awaited)
        ]

    def settled(self, end: int) -> bool:
        """Whether everything has its word, and nothing that is admitted ends before `end` (Unix ms)."""
        if self._awaited:
            return False
        for entry in self._entries.values():
            if not entry.status:
                return False
            if entry.status in ("admitted", "renewed") and (parse_time(entry.valid_until) or end + 1) <= end:
                return False
        return True


def _cut(text: str, spans: Any) -> list[str]:
    """The parts of a text that a record's `unchecked` names; nothing where it names none."""
    try:
        found = msgspec.convert(spans or [], list[tuple[int, int]])
    except msgspec.ValidationError:
        return []
    return [text[start:end] for start, end in found]


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


SESSION: Final = "answer.jsonl"
ANSWER: Final = "answer.md"
_QUESTION: Final = re.compile(r"> (.+)")


class Answered(NamedTuple):
    """A vetted answer.

    Attributes:
        question: what was asked.
        calls: how many tool calls were made.
        verdicts: about its statements, in their order.
    """

    question: str
    calls: int
    verdicts: Sequence[Verdict]


def is_about(folder: Path | None, root: str) -> bool:
    """Whether the examples have a session, and it is about what is looked at: the checkout that they lie in.

    Args:
        folder: of the examples.
        root: the roots, as the setting of that name holds them.
    """
    if folder is None or not (folder / SESSION).is_file() or not (folder / ANSWER).is_file():
        return False
    default = Roots.of(root).named.get(DEFAULT)
    return default is not None and Path(default).resolve() == folder.resolve().parent


def vetted(folder: Path, settings: Settings) -> Answered:
    """The answer of the examples and its verdicts.

    Args:
        folder: of the examples.
        settings: with the roots that are looked at.

    Raises:
        TranscriptError: the session cannot be read.
        UnreachableError: the root is not there.
    """
    question = _QUESTION.match((folder / ANSWER).read_text("utf-8"))
    events = list(open_transcript(str(folder / SESSION)))
    roots = Roots.of(settings.root)
    files = [str(folder / name) for name in (SESSION, ANSWER)]
    with closing(ObserverRegistry(settings, vetted=files)) as instruments:
        vetter = Vetter(settings, roots, instruments)
        checkout = folder_of(roots)
        at_hand = AtHand(checkout, settings, instruments, VETTING_POLICY)
        source = of_events(events, checkout, conversation="answer", at_hand=at_hand)
        verdicts = [verdict for one in source.emissions for verdict in vetter.vet(one)]
    calls = sum(isinstance(one, ToolCall) for one in events)
    return Answered(question[1] if question else "", calls, verdicts)


def introduction(answered: Answered) -> Iterator[str]:
    """What a reader has to know before the verdicts."""
    yield "1. An answer about this repository, and what each of its statements is worth"
    yield ""
    yield f"Asked was: {escaped(answered.question)}"
    yield (
        f"The answer is an example, written in the manner of a coding agent (examples/{ANSWER}); its "
        f"{counted(answered.calls, 'tool call')} and their results are real (examples/{SESSION})."
    )
    yield "Observers now look at the places that these calls looked at. `checked` is what they verified; a statement is"
    yield "admitted where two kinds of evidence bear that out. `[unchecked]` stands for words that nobody checked."
    yield ""


def between() -> Iterator[str]:
    """What a reader has to know before the second half."""
    yield ""
    yield "2. The stream: what other models said of this repository (examples/emissions.jsonl)"
    yield ""
    yield "The same rules, now as a service: a broker, lanes that decide, and observers, all in this process."
    yield "Of each statement: its verdict, until when it holds or why it does not, which kinds of evidence bear it out,"
    yield "what was checked, and where that was seen."
    yield ""
