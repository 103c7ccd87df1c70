"""A sluice in memory, for unit tests of programs that use one: no broker, no threads that wait, and a clock by hand.

What it decides is what the running system decides: the real decoders, the real fold, the real frames. Its emitters,
readers and auditors are the real classes too, with another way to the records. What it leaves out: several lanes, the
network, transactions, and time that passes by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

import msgspec

from ...codecs.decode import assertion_text, decode_emission
from ...codecs.errors import Fault, UsageError
from ...codecs.records import CoverageLevel, Outcome
from ...codecs.spans import Span, parse_span_key
from ...codecs.times import EXPECTED, format_time, parse_duration, parse_time
from ...codecs.vocabulary import recognise
from ...streams.judging.derivation import checks_of
from ...streams.policy.policy import BY_FORM, DEFAULT_POLICY, Policy
from ...streams.policy.toml_reader import load_policy
from ..kafka.topics import TOPICS
from .admitted_reader import AsyncAdmittedReader
from .auditing import AsyncAuditor, Auditor
from .blocking import AdmittedReader, Emitter, ReEmissionReader, VerdictReader
from .emitting import BUFFER_BYTES, BUFFER_RECORDS, AsyncEmitter
from .fake_world import FakeOutlet, FakeSource, World
from .ports import Delivered, Position
from .preparing import (
    AnyAttestation,
    AnyEmission,
    AnyObservation,
    AnyRecord,
    AnyReview,
    AnySighting,
    prepared,
)
from .reemission_reader import TOPIC as REQUESTS
from .reemission_reader import AsyncReEmissionReader
from .verdict_reader import TOPIC as VERDICTS
from .verdict_reader import AsyncVerdictReader

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
    def outage(self) -> Iterator[None]:
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
        checked = {} if verified is None else {"verified": list(verified), "coverage": coverage}
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
