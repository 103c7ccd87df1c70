"""A sluice in memory, for unit tests of programs that use one: no broker, no threads that wait, and a clock by hand.

What it decides is what the running system decides: the real decoders, the real folds, the real frames, over one lane.
What stands on its topics can be read like an export (`interfaces.Logs`), so the real auditor audits a fake.
"""

from __future__ import annotations

import asyncio
import bisect
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

import msgspec

from ...codecs.blocks import Event
from ...codecs.decode import assertion_text, decode_emission
from ...codecs.errors import Fault, UsageError
from ...codecs.identifiers import Span, parse_span_key
from ...codecs.records import CoverageLevel, Outcome
from ...codecs.times import EXPECTED, format_time, parse_duration, parse_time
from ...codecs.vocabulary import recognise
from ...streams.judging.claim_forms import checks_of
from ...streams.policy.policy import BY_FORM, DEFAULT_POLICY, Policy
from ...streams.policy.policy_toml import load_policy
from ...streams.policy.privacy import NO_SECRETS
from ..engine.chain import BlockBuilder, NewBlock
from ..engine.export_files import AUDITED, LATER, Cut, Range, Stored
from ..engine.folds import folds
from ..engine.interfaces import Fold
from ..kafka.input_records import Prepared
from ..kafka.topics import TOPICS
from .admitted_set import AdmittedRead
from .auditing import AsyncAuditor, Auditor
from .blocking import AdmittedReader, Emitter, ReEmissionReader, VerdictReader
from .client_readers import REQUESTS_TOPIC as REQUESTS
from .client_readers import VERDICTS_TOPIC as VERDICTS
from .client_readers import AsyncAdmittedReader, AsyncReEmissionReader, AsyncVerdictReader
from .emitting import (
    BUFFER_BYTES,
    BUFFER_RECORDS,
    AnyAttestation,
    AnyEmission,
    AnyObservation,
    AnyRecord,
    AnyReview,
    AnySighting,
    AsyncEmitter,
    prepared,
)
from .ports import Delivered, Position, StoredAt, demand_there


class FakeLane:
    """The only lane of each fold, with ledgers that start with one policy.

    Each fold reads its inputs from the topics; what one writes, another may read. While `is_down`, nobody does.

    Attributes:
        topics: the records of every topic, by its logical name; offsets are those of a log, also after compaction.
    """

    where, lanes, app_id, ledger, secrets = "a fake", 1, "fake", "ledger", NO_SECRETS

    def __init__(self, policy: Policy, start: int) -> None:
        self.topics: dict[str, list[Stored]] = {name: [] for name in TOPICS}
        self.is_down = False
        self._chains = [_Chain(self, fold, policy, start) for fold in folds(secrets=NO_SECRETS)]

    # ------------------------------------------------------------ what happens

    def take(self, record: Prepared, time: int) -> int:
        """An input record comes; returns its offset."""
        self.pass_to(time)
        offset = self.put(record.topic, record.key, record.value, list(record.headers), time)
        self._read(time)
        return offset

    def pass_to(self, time: int) -> None:
        """Time passes: whatever is due meanwhile fires at its instant, a block each."""
        while not self.is_down:
            dues = [(due, number) for number, chain in enumerate(self._chains) if (due := chain.next_due()) is not None]
            if not dues or min(dues)[0] > time:
                return
            due, number = min(dues)
            self._chains[number].settle(due)
            self._read(due)

    def come_back(self, time: int) -> None:
        """The lane runs again: it reads what came meanwhile before it closes anything for lack of evidence."""
        self.is_down = False
        self._read(time, marks=False)
        self.pass_to(time)

    def compact(self, topic: str) -> None:
        """What Kafka's log cleaner does: of each key the last record stays, at its offset."""
        last = {record.key: record.offset for record in self.topics[topic]}
        self.topics[topic] = [record for record in self.topics[topic] if last[record.key] == record.offset]

    def put(self, topic: str, key: bytes | None, value: bytes, headers: list[tuple[str, bytes]], time: int) -> int:
        """A record is stored; returns its offset."""
        offset = self.end(topic)
        self.topics[topic].append(Stored(offset, time, key, value, headers))
        return offset

    def _read(self, time: int, *, marks: bool = True) -> None:
        """Every fold reads what its inputs hold, until none finds anything; `marks`: whether watermarks move."""
        while not self.is_down and any(chain.read(time, marks=marks) for chain in self._chains):
            pass

    # ------------------------------------------------------------ what is there (`interfaces.Logs`)

    def after(self, topic: str, offset: int) -> list[Stored]:
        """The records from an offset on."""
        stored = self.topics[topic]
        return stored[bisect.bisect_left(stored, offset, key=lambda record: record.offset) :]

    def end(self, topic: str) -> int:
        """The offset behind the last record."""
        stored = self.topics[topic]
        return stored[-1].offset + 1 if stored else 0

    def expect(self, topic: str, lane: int) -> None:
        pass  # it is all there

    async def range(self, topic: str, lane: int) -> Range:
        return Range(0, self.end(topic))

    def as_of(self) -> int:
        return max((records[-1].timestamp for records in self.topics.values() if records), default=0)

    async def cut(self) -> Cut:
        ends = {topic: [self.end(topic)] for topic in (*AUDITED, *LATER)}
        return Cut(ends, ends)

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        found = [one for one in self.after(topic, start or 0) if end is None or one.offset < end]
        if found:
            yield found

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        for record in self.after(topic, start or 0):
            yield record


class _Chain:
    """One fold's blocks, made as lanes make them.

    Invariant: block times and watermarks never decrease.
    """

    def __init__(self, lane: FakeLane, fold: Fold, policy: Policy, start: int) -> None:
        self._lane, self._fold = lane, fold
        self._builder = BlockBuilder(fold, 0, 1, policy.hash)
        self._time = self._mark = start
        self._store(self._builder.start(start, policy.document))

    def read(self, time: int, *, marks: bool) -> bool:
        """Takes in what its inputs hold; whether there was anything."""
        events = [
            self._fold.event_for(number, one.offset, one.timestamp, one.headers, one.key, one.value)
            for number, topic in enumerate(self._fold.inputs)
            for one in self._lane.after(topic, self._builder.position(topic))
        ]
        if events:
            self._close(time, time if marks else self._mark, events)
            self._finish()
        return bool(events)

    def next_due(self) -> int | None:
        """The instant at which something fires; watermarks go with time."""
        dues = self._fold.next_due(self._builder.state)
        found = [due for due in dues if due is not None]
        return max(min(found), self._time) if found else None

    def settle(self, time: int) -> None:
        """Lets fire what is due at this instant."""
        self._close(time, time, ())
        self._finish()

    def _finish(self) -> None:
        """Closes empty blocks until nothing is due at this instant."""
        while self._fold.due(self._builder.state, self._time, self._mark):
            self._close(self._time, self._mark, ())

    def _close(self, time: int, mark: int, events: Sequence[Event]) -> None:
        self._time, self._mark = max(self._time, time), max(self._mark, mark)
        self._store(self._builder.add(self._time, self._mark, events))

    def _store(self, made: NewBlock) -> None:
        self._lane.put(self._fold.ledger, None, made.data, [], self._time)
        for output in made.outputs:
            self._lane.put(output.topic, output.key, output.value, output.headers, self._time)


class World:
    """One lane and the time, one user at a time.

    Attributes:
        now: the present, Unix milliseconds.
        lock: held while anything happens.
        groups: the positions that readers committed, by group and topic.
    """

    def __init__(self, policy: Policy, start: int) -> None:
        self.now, self.lane = start, FakeLane(policy, start)
        self.lock = threading.RLock()
        self.groups: dict[tuple[str, str], Position] = {}
        self.sources: set[FakeSource] = set()

    def clock(self) -> int:
        """The present."""
        return self.now

    def put(self, record: Prepared) -> Delivered:
        """A valid record is stored, and decided at once unless the lane is down."""
        with self.lock:
            offset = self.lane.take(record, self.now)
            self.tell()
            return Delivered(record.topic, 0, offset, self.now, record.key, record.value)

    def advance(self, milliseconds: int) -> None:
        """Time passes."""
        with self.lock:
            self.now += milliseconds
            self.lane.pass_to(self.now)
            self.tell()

    def tell(self) -> None:
        """Wakes the readers that wait."""
        for source in self.sources:
            source.wake()


class FakeOutlet:
    """An emitter's way in."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def open(self) -> None:
        """There is nothing to open."""

    async def send(self, record: Prepared) -> asyncio.Future[StoredAt]:
        at = self._world.put(record)
        stored: asyncio.Future[StoredAt] = asyncio.get_running_loop().create_future()
        stored.set_result(StoredAt(at.partition, at.offset, at.timestamp))
        return stored

    async def close(self) -> None:
        """There is nothing to close."""


class FakeSource:
    """A reader's way out: the records of one topic."""

    def __init__(self, world: World, group: str | None, topic: str = "admitted") -> None:
        self._world, self._group, self._topic = world, group, topic
        self._next = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    async def open(self) -> Sequence[int]:
        self._loop, self._next = asyncio.get_running_loop(), 0
        with self._world.lock:
            self._world.sources.add(self)
        return [0]

    def wake(self) -> None:
        """There is news; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def fetch(self, seconds: float) -> Sequence[AdmittedRead]:
        found = self._take()
        if not found and seconds > 0:
            self._news.clear()
            found = self._take()  # what came before the line above is news no more
            if not found:
                try:
                    await asyncio.wait_for(self._news.wait(), seconds)
                except TimeoutError:
                    pass
                found = self._take()
        return found

    def _take(self) -> Sequence[AdmittedRead]:
        with self._world.lock:
            found = self._world.lane.after(self._topic, self._next)
            self._next = max(self._next, self._world.lane.end(self._topic))
        return [AdmittedRead(0, record.offset, record.key, record.value) for record in found]

    async def at(self, partition: int) -> int:
        return self._next

    def goal(self) -> FakeGoal:
        with self._world.lock:
            return FakeGoal(self, self._world.lane.end(self._topic))

    async def first_offsets(self) -> Mapping[int, int]:
        return {0: 0}

    async def seek(self, offsets: Mapping[int, int]) -> None:
        with self._world.lock:
            demand_there(offsets, {0: self._world.lane.end(self._topic)}, self._topic)
            self._next = offsets.get(0, self._next)

    async def committed(self) -> Position | None:
        return None if self._group is None else self._world.groups.get((self._group, self._topic))

    async def commit(self, position: Position) -> None:
        if self._group is None:
            raise UsageError("a reader without a group commits nothing", hint="store `position` yourself, or name one")
        self._world.groups[self._group, self._topic] = position

    async def close(self) -> None:
        with self._world.lock:
            self._world.sources.discard(self)
            self._loop = None


class FakeGoal:
    """The end of a topic as of one moment."""

    def __init__(self, source: FakeSource, end: int) -> None:
        self._source, self._end = source, end

    @property
    def ends(self) -> Mapping[int, int]:
        return {0: self._end}

    async def reached(self) -> bool:
        return await self._source.at(0) >= self._end


OBSERVER = "observer-1"
_READABLE = tuple(name for name, spec in TOPICS.items() if spec.role in ("input", "output"))


class FakeReading(TypedDict, total=False):
    """How a fake's topic is read: what of `Reading` is not the fake's own."""

    from_position: Position | None
    group: str | None
    follow: bool


class FakeAdmittedReading(FakeReading, total=False):
    """How a fake's `admitted` is read."""

    grace: float


class FakeRecordReading(FakeReading, total=False):
    """How another topic of a fake is read."""

    wants: Callable[[str], bool] | None


class FakeSluice:
    """One lane, all its topics, and the time.

    >>> fake = FakeSluice()
    >>> _ = fake.emit({"emission_id": "em-1", "text": "It is out. [substrate.git.log]"})
    >>> _ = fake.corroborate("em-1", "substrate.git.log", "substrate.grep")
    >>> fake.records("admitted")[0]["status"]
    'admitted'

    May be used from several threads; what one does is done before the next one begins.

    Args:
        policy: a policy, or the text of a policy file; the reference policy where none is given.
        start: the time at the beginning, RFC 3339 with a Z or Unix milliseconds.

    Raises:
        UsageError: the policy is none, or the time.
    """

    def __init__(self, policy: Policy | str | None = None, start: str | int = "2026-01-01T00:00:00Z") -> None:
        if isinstance(policy, str):
            policy = load_policy(policy)
        now = parse_time(start)
        if now is None:
            raise UsageError("not a time", path="start", expected=EXPECTED, got=str(start))
        self._world = World(DEFAULT_POLICY if policy is None else policy, now)

    # ------------------------------------------------------------ time

    @property
    def now(self) -> int:
        """The present, Unix milliseconds."""
        return self._world.now

    @property
    def time(self) -> str:
        """The present, RFC 3339."""
        return format_time(self._world.now)

    def advance(self, duration: str) -> None:
        """Lets time pass: `500ms`, `10m`, `24h`. What is due meanwhile happens at its instant.

        Raises:
            UsageError: it is no duration.
        """
        milliseconds = parse_duration(duration)
        if milliseconds is None:
            raise UsageError("not a duration", path="advance", expected="one such as 500ms, 10m, 24h", got=duration)
        self._world.advance(milliseconds)

    @contextmanager
    def outage(self) -> Generator[None]:
        """The lane is down: inputs are stored, nobody decides, and no decay is written until it is back."""
        world = self._world
        world.lane.is_down = True
        try:
            yield
        finally:
            with world.lock:
                world.lane.come_back(world.now)
                world.tell()

    def compact(self) -> None:
        """What Kafka's log cleaner does to `admitted`, sooner or later: each key's last word stays."""
        with self._world.lock:
            self._world.lane.compact("admitted")

    # ------------------------------------------------------------ what comes in

    def emit(self, emission: AnyEmission) -> Delivered:
        """As an emitter's `emit`, stored and decided at once."""
        return self._put("emissions", emission)

    def observe(self, observation: AnyObservation) -> Delivered:
        """What an observer saw."""
        return self._put("observations", observation)

    def sight(self, sighting: AnySighting) -> Delivered:
        """What an observer saw who knows of no emission; it is bound to what cites it, if its class is one
        of the policy's `sightings`."""
        return self._put("sightings", sighting)

    def review(self, review: AnyReview) -> Delivered:
        """A person's decision."""
        return self._put("reviews", review)

    def attest(self, attestation: AnyAttestation) -> Delivered:
        """A validator's verdict; it comes out framed on `grounded`, or as a dead letter."""
        return self._put("attestations", attestation)

    def corroborate(
        self,
        emission_id: str,
        *classes: str,
        span: str | None = None,
        attempt: int = 0,
        outcome: Outcome = "corroborates",
        observer: str = OBSERVER,
        verified: Sequence[int] | None = None,
        coverage: CoverageLevel = "whole",
    ) -> int:
        """An observer looks, now, in these classes, and sees what `outcome` says.

        The observation's id is the one that the assertion declares for the class, where it declares one.

        Args:
            emission_id: of an emission that came before.
            classes: such as `substrate.grep`.
            span: the span key of one assertion; all of the emission where none is named.
            attempt: of which.
            outcome: of each observation.
            observer: who looks.
            verified: which of the assertion's checks hold, by their places; None for an observer that names none. Where
                the assertion brings none, 0 is the check that its words give.
            coverage: how much of the sentence they speak of, where some are named.

        Returns:
            How many observations there were.

        Raises:
            UsageError: there is no such emission, or assertion.
        """
        count = 0
        checked: dict[str, Any] = {} if verified is None else {"verified": list(verified), "coverage": coverage}
        for found, declared, derived in self._assertions(emission_id, attempt, span):
            told = {"detail": {"checks": derived}} if derived and 0 in checked.get("verified", ()) else {}
            for name in classes:
                self.observe(
                    {
                        "observation_id": declared.get(name, f"fake:{name}"),
                        "substrate_class": name,
                        "observed_at": self.time,
                        "observer": observer,
                        "subject": {
                            "emission_id": emission_id,
                            "span": msgspec.to_builtins(found),
                            "attempt": attempt,
                        },
                        "outcome": outcome,
                        **checked,
                        **told,
                    }
                )
                count += 1
        return count

    def _assertions(
        self, emission_id: str, attempt: int, span: str | None
    ) -> list[tuple[Span, dict[str, str], list[dict[str, Any]]]]:
        """Each assertion's span, the observation ids that it declares by bare class, and the check that its words give
        where it brings none, as an observer tells it.
        """
        for record in self._world.lane.topics["emissions"]:
            emission = decode_emission(record.value) if record.key == emission_id.encode() else None
            if emission is None or isinstance(emission, Fault) or emission.attempt != attempt:
                continue
            found: list[tuple[Span, dict[str, str], list[dict[str, Any]]]] = []
            for one in emission.assertions or ():
                declared = {
                    recognise(note.substrate_class).name or "": note.observation_id
                    for note in one.annotations
                    if note.observation_id is not None
                }
                if one.span is not None and span in (None, one.span_key):
                    brought = one.checks or one.proposal is not None
                    text = assertion_text(emission, one)
                    derived = () if brought else checks_of(text, one.kind, None).checks
                    told = [{"check": check, "holds": True, "by": BY_FORM} for check in derived]
                    found.append((one.span, declared, told))
            if not found and span is not None and (other := parse_span_key(span)) is not None:
                found.append((other, {}, []))
            return found
        raise UsageError(f"there is no attempt {attempt} of an emission {emission_id!r}", path="corroborate")

    def _put(self, topic: str, record: AnyRecord) -> Delivered:
        return self._world.put(prepared(topic, record, self._world.now))

    # ------------------------------------------------------------ what comes out

    def records(self, topic: str) -> list[dict[str, Any]]:
        """The records of an output or input topic, decoded; of a dead letter its reason, detail, source and value.

        Raises:
            UsageError: there is no such topic.
        """
        if topic not in _READABLE:
            expected = "one of " + ", ".join(_READABLE)
            raise UsageError(f"there is no topic {topic!r} of records", path="records", expected=expected)
        with self._world.lock:
            stored = list(self._world.lane.topics[topic])
        if topic != "dead-letters":
            return [msgspec.json.decode(record.value or b"") for record in stored]
        letters: list[dict[str, Any]] = []
        for record in stored:
            headers = reversed(record.headers)
            own = {name: (text or b"").decode() for name, text in headers if name.startswith("sluice-")}
            letters.append({name.removeprefix("sluice-"): text for name, text in own.items()} | {"value": record.value})
        return letters

    # ------------------------------------------------------------ the three users

    def async_emitter(self, *, buffer: int = BUFFER_RECORDS, buffer_bytes: int = BUFFER_BYTES) -> AsyncEmitter:
        """An `AsyncEmitter` whose records come here; it buffers so many records and bytes at the most."""
        return AsyncEmitter(
            buffer=buffer, buffer_bytes=buffer_bytes, outlet=FakeOutlet(self._world), clock=self._world.clock
        )

    def emitter(self, *, buffer: int = BUFFER_RECORDS, buffer_bytes: int = BUFFER_BYTES) -> Emitter:
        """An `Emitter` whose records come here; it buffers so many records and bytes at the most."""
        return Emitter(
            buffer=buffer, buffer_bytes=buffer_bytes, outlet=FakeOutlet(self._world), clock=self._world.clock
        )

    def async_reader(self, **reading: Unpack[FakeAdmittedReading]) -> AsyncAdmittedReader:
        """An `AsyncAdmittedReader` of what is decided here; unlike a real one it ends, by default, at what is there.

        Args:
            from_position, group, follow, grace: as for `AsyncAdmittedReader`; not both of the first two.

        Raises:
            UsageError: a position and a group are given.
        """
        return AsyncAdmittedReader(**self._reading("admitted", reading))

    def reader(self, **reading: Unpack[FakeAdmittedReading]) -> AdmittedReader:
        """As `async_reader`, an `AdmittedReader`."""
        return AdmittedReader(**self._reading("admitted", reading))

    def async_re_emission_reader(self, **reading: Unpack[FakeRecordReading]) -> AsyncReEmissionReader:
        """An `AsyncReEmissionReader` of what is asked here; it ends, by default, at what is there."""
        return AsyncReEmissionReader(**self._reading(REQUESTS, reading))

    def re_emission_reader(self, **reading: Unpack[FakeRecordReading]) -> ReEmissionReader:
        """A `ReEmissionReader` of what is asked here; it ends, by default, at what is there."""
        return ReEmissionReader(**self._reading(REQUESTS, reading))

    def async_verdict_reader(self, **reading: Unpack[FakeRecordReading]) -> AsyncVerdictReader:
        """An `AsyncVerdictReader` of what is told here; it ends, by default, at what is there."""
        return AsyncVerdictReader(**self._reading(VERDICTS, reading))

    def verdict_reader(self, **reading: Unpack[FakeRecordReading]) -> VerdictReader:
        """A `VerdictReader` of what is told here; it ends, by default, at what is there."""
        return VerdictReader(**self._reading(VERDICTS, reading))

    def _reading(self, topic: str, reading: FakeReading) -> dict[str, Any]:
        source = FakeSource(self._world, reading.get("group"), topic)
        return {"follow": False, **reading, "source": source, "clock": self._world.clock}

    def async_auditor(self) -> AsyncAuditor:
        """An `AsyncAuditor` of the ledger that was written here."""
        return AsyncAuditor(logs=self._world.lane)

    def auditor(self) -> Auditor:
        """An `Auditor` of the ledger that was written here."""
        return Auditor(logs=self._world.lane)
