"""The demo's account: what was sent, and what has come of it.

Every assertion that was sent has to get its word, every bad record its dead letter, and the demo ends when all have.
Nothing is decided here: a bad line is sent as it stands, and the lanes decide about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from ...codecs.decode import assertion_text, decode_emission, decode_observation
from ...codecs.errors import Fault, UsageError
from ...codecs.records import Observation
from ...codecs.spans import span_key
from ...codecs.times import parse_time
from ..kafka.consume import Record
from ..kafka.input_records import Prepared, prepare
from ..terminal.showing import Shown, parse
from ..terminal.showing_checks import HELD, ShownBasis, basis_of

DISCARDED = "discarded"
"""Shown in the place of a status: what a policy discards is counted, and nothing is written about it."""


# ---------------------------------------------------------------- what is sent


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


# ---------------------------------------------------------------- what came of it


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
