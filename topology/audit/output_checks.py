"""Compares a partition of an output topic with what the fold gives, byte for byte and in order.

An output record names its own identity; a difference between two records is told by the first field that differs.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from itertools import islice, takewhile, zip_longest
from operator import lt
from typing import Final, NamedTuple

import msgspec

from ...codecs import compiled_core
from ...codecs.blocks import Output
from ...codecs.notes import is_hash
from ..engine.export_files import Stored
from .divergences import Findings, Kind, short
from .lane_groups import mark_of, place_in
from .report import Counts

Identity = tuple[int, int] | bytes
"""What tells an output from all others: its block and place there, or the source of a dead letter."""


class Claimed(msgspec.Struct):
    """What an output says of its own place."""

    height: int
    index: int
    block: str = ""


class Named(msgspec.Struct):
    """What an output says of itself."""

    ledger: Claimed
    policy: str = ""


class Sourced(msgspec.Struct):
    """What a record on `grounded` says of its original."""

    source: str


_named = msgspec.json.Decoder(Named)
_sourced = msgspec.json.Decoder(Sourced)


def named_by(record: Stored | Output) -> tuple[int, str] | None:
    """The height and the hash of the block that an output names; None where it names none."""
    found = claimed_by(record)
    return None if found is None or not is_hash(found.ledger.block) else (found.ledger.height, found.ledger.block)


def claimed_by(record: Stored | Output) -> Named | None:
    """What an output says of itself; None where it says nothing of the kind."""
    mark = mark_of(record)
    if mark is not None:
        place = place_in(mark)
        return None if place is None else Named(Claimed(place[1], place[2]))
    try:
        return _named.decode(record.value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def source_of(record: Stored | Output) -> bytes | None:
    """The input that a dead letter was; None where the record is none."""
    return next((value for name, value in record.headers if name == "sluice-source"), None)


def original_of(record: Stored | Output) -> bytes | None:
    """The input that a dead letter was, or a record on `grounded` was made from; None where the record is neither."""
    source = source_of(record)
    if source is not None:
        return source
    try:
        return _sourced.decode(record.value or b"").source.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def identity_of(record: Stored | Output) -> Identity | None:
    """What the record says that it is."""
    source = source_of(record)
    if source is not None:
        return source
    found = claimed_by(record)
    return original_of(record) if found is None else (found.ledger.height, found.ledger.index)


def policy_of(record: Stored | Output) -> str:
    """The policy that an output names; empty where it names none."""
    found = claimed_by(record)
    return "" if found is None else found.policy


def digest_of(record: Stored | Output) -> int:
    """Tells records apart within one run: Python's own hash, which never leaves this process."""
    return hash((record.key, record.value, tuple(record.headers)))


def difference(expected: Output, got: Stored) -> tuple[str, str]:
    """Where two records part: what is expected there, and what stands there."""
    if expected.key != got.key:
        return f"key {short(expected.key or b'')}", f"key {short(got.key or b'')}"
    if expected.value != got.value:
        return _first_difference(expected.value, got.value or b"")
    for mine, other in zip_longest(expected.headers, got.headers):
        if mine == other:
            continue
        got_value = None if other is None else other[1]
        if mine is None or other is None or mine[0] != other[0] or got_value is None:
            return _header(mine), _header(other)
        wanted, stands = _first_difference(mine[1], got_value)
        return f"header {short(mine[0])}, {wanted}", f"header {short(mine[0])}, {stands}"
    return "", ""


def _first_difference(mine: bytes, other: bytes) -> tuple[str, str]:
    at = next((place for place, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), None)
    at = min(len(mine), len(other)) if at is None else at
    start = max(0, at - 12)
    return f"byte {at}: {short(mine[start : at + 24])}", f"byte {at}: {short(other[start : at + 24])}"


def _header(header: tuple[str, bytes | None] | None) -> str:
    if header is None:
        return "no header more"
    name, value = header
    return f"header {short(name)} without a value" if value is None else f"header {short(name)}: {short(value)}"


AHEAD: Final = 256
"""So many records are looked at for an output that does not come next."""
AHEAD_BYTES: Final = 16_000_000
STRAYS: Final = 1024
"""So many records that no block gave are kept, in case they are the later place of an absent one."""
ABSENT: Final = 2_000_000
"""So many absent outputs wait for a later record of their key; what exceeds it is judged as it stands."""


class Expected(NamedTuple):
    """An output that the fold gives, `number` among its block's.

    `newer`: it may have come after what was read of the topic.
    """

    output: Output
    height: int
    number: int
    time: int
    newer: bool
    policy: str

    def is_(self, record: Stored) -> bool:
        """Whether this is the record."""
        return _is_same(self.output, record)


def _is_same(output: Output, record: Stored) -> bool:
    return output.value == record.value and output.key == record.key and output.headers == record.headers


def matching(some: list[Output], at: int, records: list[Stored], first: int = 0) -> int:
    """How many of the records from `first` on are these outputs from `at` on, in order."""
    if compiled_core.codecs is not None:
        return compiled_core.codecs.matching(some, at, records, first)
    pairs = zip(islice(some, at, None), islice(records, first, None))  # noqa: B905 -- one is longer
    return sum(1 for _ in takewhile(lambda pair: _is_same(*pair), pairs))


def run_of(batch: Sequence[Stored], before: int) -> int | None:
    """The bytes of the records' values, if their offsets increase from one before them on; else None."""
    if compiled_core.codecs is not None and isinstance(batch, list):
        byte_count = compiled_core.codecs.run(batch, before)
        if byte_count is not None:
            return byte_count
    offsets = [before, *[record.offset for record in batch]]
    return sum([len(record.value or b"") for record in batch]) if all(map(lt, offsets, offsets[1:])) else None


class Absent(NamedTuple):
    """What is kept of an absent output."""

    digest: int
    height: int
    number: int
    time: int
    newer: bool
    identity: Identity | None
    early: bool


class Comparison:
    """One topic in one lane. `expect` for a block's outputs, then `feed` or `end` while it is `hungry`.

    Args:
        topic, lane: what is compared.
        foreign: whether a record is none of this lane's, and of no block of this ledger; it is told whether one of the
            lane's stands before it. None: all are this lane's.
        may_be_taken: whether retention may have taken a record of a block of this time (Unix ms); None: it is not
            recorded how long the topic keeps records, and what its beginning says is believed.
    """

    def __init__(
        self,
        findings: Findings,  # told what diverges
        topic: str,
        lane: int,
        first: int,  # the first offset that is kept: greater than 0 where retention has taken something
        compacts: bool,  # whether the topic keeps only the last of a key
        foreign: Callable[[Stored, bool], bool] | None = None,
        may_be_taken: Callable[[int], bool | None] = lambda _: None,
    ) -> None:
        self._findings, self._topic, self._lane, self._foreign = findings, topic, lane, foreign
        self._first, self._compacts, self._may_be_taken = first, compacts, may_be_taken
        self._wanted = deque[Expected]()
        self._ahead = deque[Stored]()
        self._byte_count = 0  # of what is ahead
        # The plain case: a batch as it came, and how many of it were passed. Nothing is ahead beside it.
        self._batch, self._passed = list[Stored](), 0
        self._ended = self._begun = self._has_own = False
        self._values: Counter[bytes | None] | None = None  # of what is ahead, once something was searched for
        self._strays: OrderedDict[int, Stored] = OrderedDict()
        self._absent: OrderedDict[bytes | None, list[Absent]] = OrderedDict()
        self._absences = 0
        self._gone: dict[int | None, int] = {}  # by the offset of the record that comes next, how many may be absent
        self._before_first = 0  # outputs that are absent before the first record that is kept
        self._offset = -1
        self.counts = Counts()

    def expect(self, outputs: Sequence[Expected]) -> None:
        """The next block's outputs on this topic."""
        self._lay_out()
        self._wanted.extend(outputs)
        self.counts.expected += len(outputs)
        self._walk()

    def pass_equal(self, some: list[Output], at: int) -> int:
        """Passes over the next block's outputs (`some`), from `at` on, as far as they are what comes next; returns how
        many.

        The plain case at the least cost: where something is amiss it passes none, and `expect` is to be told of them.
        """
        if self._wanted or self._absent or self._values is not None:
            return 0
        if self._ahead:
            found = matching(some, at, list(islice(self._ahead, len(some) - at)))
            for _ in range(found):
                self._pop()
        else:
            found = matching(some, at, self._batch, self._passed)
            self._passed += found
            if self._passed == len(self._batch):
                self._batch, self._passed = [], 0
        if found:
            self._begun = True
            self.counts.expected += found
            self.counts.equal += found
        return found

    def feed(self, batch: Sequence[Stored]) -> None:
        """More records of the topic."""
        plain = self._foreign is None and self._values is None
        if plain and (byte_count := run_of(batch, self._offset)) is not None:
            self._offset = batch[-1].offset if batch else self._offset
            if not self.has_waiting and not self._wanted:
                self._batch, self._passed = list(batch), 0
                return
            self._lay_out()
            self._ahead.extend(batch)
            self._byte_count += byte_count
            self._walk()
            return
        self._lay_out()
        for record in batch:
            if record.offset <= self._offset:
                self._say("unreadable", record, None, "the offsets of the topic's records do not increase")
            self._offset = record.offset
            if self._foreign is not None:
                if self._foreign(record, self._has_own):
                    self.counts.foreign += 1
                    continue
                self._has_own = True
            self._ahead.append(record)
            self._byte_count += len(record.value or b"")
            if self._values is not None:
                self._values[record.value] += 1
        self._walk()

    def expire(self, count: int, before: int | None) -> None:
        """Retention took `count` offsets before the record at `before` (None: there is none); to be told before that is
        fed.
        """
        self._gone[before] = count

    def end(self) -> None:
        """The topic has no more records."""
        self._lay_out()
        self._ended = True
        self._walk()

    @property
    def ended(self) -> bool:
        """Whether the topic has no more records than those that were fed."""
        return self._ended

    @property
    def hungry(self) -> bool:
        """Whether records are needed to go on."""
        return bool(self._wanted) and not self._ended

    @property
    def has_waiting(self) -> bool:
        """Whether records have come that were not needed yet."""
        return bool(self._ahead or self._batch)

    @property
    def waiting(self) -> Sequence[Stored]:
        """The records that have come and were not needed yet."""
        self._lay_out()
        return self._ahead

    @property
    def is_missing_some(self) -> bool:
        """Whether outputs are absent of which a later record may yet come."""
        return bool(self._absent)

    def settle(self, judged: bool) -> None:
        """All blocks are folded that will be: nothing that comes now was given by any of them.

        `judged`: whether these were all the blocks there are; otherwise what comes now may be theirs that were not.
        """
        self._lay_out()
        while self._ahead:
            record = self._pop()
            if judged:
                self._stray(record)
            else:
                self.counts.unjudged += 1
                self._resolve(record.key)

    def close(self, judged: bool) -> None:
        """Nothing more comes; `judged` as in `settle`."""
        self.settle(judged)
        for key, absent in self._absent.items():
            for one in absent:
                self._missing(key, one)
        for record in self._strays.values():
            self._say("additional-output", record, None, "no block gives this record")
        self._absent.clear()
        self._strays.clear()

    # ------------------------------------------------------------ the walk

    def _lay_out(self) -> None:
        """What is left of a batch is ahead from now on, record by record: something else than the plain case comes."""
        if self._batch:
            left = self._batch[self._passed :]
            self._batch, self._passed = [], 0
            self._ahead.extend(left)
            self._byte_count += run_of(left, -1) or 0  # they increase: that was looked at as they came

    def _walk(self) -> None:
        # Plain: nearly every step is the first branch.
        wanted, ahead, counts = self._wanted, self._ahead, self.counts
        while wanted:
            if ahead and wanted[0].is_(ahead[0]):
                record = self._pop()
                wanted.popleft()
                counts.equal += 1
                self._begun = True
                if self._absent:
                    self._resolve(record.key)
                continue
            if not self._ended and len(ahead) < AHEAD and self._byte_count < AHEAD_BYTES:
                return  # look further ahead first
            self._search(wanted.popleft())

    def _search(self, expected: Expected) -> None:
        """An output that does not come next: it is ahead, or was set aside, or absent."""
        if self._values is None:
            self._values = Counter(record.value for record in self._ahead)
        if self._values[expected.output.value]:  # 0.5 us; the search itself takes 30
            for place, record in enumerate(self._ahead):
                if expected.is_(record):
                    for _ in range(place):
                        self._stray(self._pop())
                    self._wanted.appendleft(expected)
                    return
        key = digest_of(expected.output)
        stray = self._strays.get(key)
        if stray is not None and expected.is_(stray):
            del self._strays[key]
            self._say("reordered-output", stray, expected, "the output stands before one that comes before it")
            self._resolve(stray.key)
            return
        head = self._ahead[0] if self._ahead else None
        if head is not None and (of_head := identity_of(head)) is not None and of_head == identity_of(expected.output):
            self._changed(self._pop(), expected.height, expected.number, expected)
            return
        self._lose(expected)

    def _pop(self) -> Stored:
        record = self._ahead.popleft()
        self._byte_count -= len(record.value or b"")
        if self._values is not None:
            self._values[record.value] -= 1
            if not self._values[record.value]:
                del self._values[record.value]
        return record

    def _lose(self, expected: Expected) -> None:
        early = self._is_before_the_log()
        if early:
            in_order = self._may_be_taken(expected.time)
            if in_order is not False:
                self.counts.expired += 1
                self.counts.unrecorded += in_order is None
                return
        output, identity = expected.output, identity_of(expected.output)
        about = (expected.height, expected.number, expected.time, expected.newer)
        one = Absent(digest_of(output), *about, identity, early)
        if self._absences >= ABSENT:
            key, oldest = self._absent.popitem(last=False)
            self._absences -= len(oldest)
            for absent in oldest:
                self._missing(key, absent)
        self._absent.setdefault(output.key, []).append(one)
        self._absences += 1

    def _is_before_the_log(self) -> bool:
        """Whether the output that is absent stood before where the log begins by now."""
        if not self._begun and self._before_first < self._first:
            self._before_first += 1
            return True
        before = self._ahead[0].offset if self._ahead else None
        if not self._gone.get(before):
            return False
        self._gone[before] -= 1
        return True

    def _resolve(self, key: bytes | None) -> None:
        """A later record of the key stands: compaction may have taken the earlier ones."""
        if self._compacts and (absent := self._absent.pop(key, None)) is not None:
            self.counts.compacted += len(absent)
            self._absences -= len(absent)

    def _stray(self, record: Stored) -> None:
        """A record that is not expected where it stands: the changed form or the later place of an absent one?"""
        absent = self._absent.get(record.key)
        identity, digest = identity_of(record), digest_of(record)
        if absent is not None:
            for one in absent:
                if one.digest == digest:
                    self._forget(record.key, one)
                    self._say("reordered-output", record, None, "the output stands behind one that comes after it", one)
                    return
        few = identity is not None and self._absences <= AHEAD
        for key, known in list(self._absent.items()) if few else ():
            for one in known:
                if one.identity == identity:
                    self._forget(key, one)
                    self._changed(record, one.height, one.number, None, one)
                    return
        if absent is not None:
            one = absent[0]
            self._forget(record.key, one)
            self._changed(record, one.height, one.number, None, one)
            return
        self._strays[digest] = Stored(record.offset, record.timestamp, record.key, record.value, record.headers)
        if len(self._strays) > STRAYS:
            _, oldest = self._strays.popitem(last=False)
            self._say("additional-output", oldest, None, "no block gives this record")

    def _forget(self, key: bytes | None, one: Absent) -> None:
        known = self._absent[key]
        known.remove(one)
        self._absences -= 1
        if not known:
            del self._absent[key]

    # ------------------------------------------------------------ telling

    def _missing(self, key: bytes | None, one: Absent) -> None:
        if one.newer:
            self.counts.newer += 1
            return
        kind: Kind = "deleted-early" if one.early else "missing-output"
        if self._follows(kind, one.height):
            return
        self._findings.add(
            kind,
            "the output was deleted although its topic keeps records for longer than its age"
            if one.early
            else "the fold gives this output, and it is not there",
            height=one.height,
            place=f"{self._topic}/{self._lane}",
            expected=f"{short(key or b'')}, output {one.number} of block {one.height}",
            got="no record",
            time=one.time,
        )

    def _changed(
        self, record: Stored, height: int, index: int, expected: Expected | None, absent: Absent | None = None
    ) -> None:
        self._begun = True
        kind: Kind = "changed-output"
        sentence, wanted, got = "the output is not what the fold gives", f"output {index} of block {height}", ""
        if expected is not None:
            wanted, got = difference(expected.output, record)
            other = policy_of(record)
            if other and other != expected.policy and other != policy_of(expected.output):
                kind, sentence = "policy", "the output was decided under another policy than the one in force"
                wanted, got = expected.policy, other
        if not self._follows(kind, height):
            self._findings.add(
                kind,
                sentence,
                height=height,
                place=f"{self._topic}/{self._lane}/{record.offset}",
                expected=wanted,
                got=got or short(record.value or b""),
                time=expected.time if expected is not None else absent.time if absent is not None else 0,
            )

    def _say(
        self, kind: Kind, record: Stored, expected: Expected | None, sentence: str, absent: Absent | None = None
    ) -> None:
        claimed, known = claimed_by(record), expected or absent
        height = known.height if known is not None else claimed.ledger.height if claimed is not None else -1
        if kind != "unreadable" and self._follows(kind, height):
            return
        self._findings.add(
            kind,
            sentence,
            height=height,
            place=f"{self._topic}/{self._lane}/{record.offset}",
            expected="" if known is None else f"output {known.number} of block {known.height}",
            got=short(record.key or b""),
            time=known.time if known is not None else record.timestamp,
        )

    def _follows(self, kind: Kind, height: int) -> bool:
        broken = self._findings.broken
        # Of a record that tells no height nobody knows where it belongs.
        return broken is not None and (height < 0 or height >= broken.height) and self._findings.follow(kind)
