"""The folds that a worker's lanes run, one lane group each, and adjudication without a broker.

What is declared grounded must come from a source, or the app is not built [C §2]. `FoldFilter` makes JSON lines into
blocks of one lane and folds them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Protocol, cast

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.blocks import Event, Header, Output, unseal
from ...codecs.decode import decode_json
from ...codecs.errors import Fault, UsageError, schema_fault
from ...codecs.partition import PARTITIONERS, Partitioner
from ...codecs.times import EXPECTED, parse_time
from ...streams.adjudication import fold as core
from ...streams.adjudication import outputs, snapshot
from ...streams.adjudication.versions import FOLD_VERSIONS, next_number, number_of
from ...streams.attestations import framing
from ...streams.attestations import framing as framing_state
from ...streams.policy import policy as adoption_rule
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import NO_SECRETS, Secrets, without_key
from ...streams.sightings import binding
from ...streams.sightings import binding as binding_state
from .chain import BlockBuilder
from .interfaces import Fold, Logs
from .replay import blocks_of

GROUNDED = "grounded"
SOURCES = frozenset({"observations", "sightings", "attestations"})
"""Topics of what was looked up, by observers and validators. What emitters write is a claim, and grounds nothing."""

Categories = Mapping[str, Collection[str]]
"""Data categories by the logical name of a topic."""


class Declares(Protocol):
    """What an agent of the topology says of itself.

    Attributes:
        name: of the agent.
        consumes, produces: the categories of each topic that it reads and writes.
    """

    @property
    def name(self) -> str: ...
    @property
    def consumes(self) -> Categories: ...
    @property
    def produces(self) -> Categories: ...


def demand_grounded(agents: Iterable[Declares]) -> None:
    """That every output that is declared grounded can be reached from a source.

    Raises:
        UngroundedReturn: one cannot; it names the agent and the topic.
    """
    agents = list(agents)
    grounded = set(SOURCES)
    grew = True
    while grew:
        found = {topic for agent in agents if _reaches(agent, grounded) for topic in _claimed(agent.produces)}
        grew = not found <= grounded
        grounded |= found
    for agent in agents:
        if _reaches(agent, grounded):
            continue
        for topic in _claimed(agent.produces):
            from ...streams.grounded import UngroundedReturn  # that room takes its time to load

            read = ", ".join(sorted(_claimed(agent.consumes))) or "nothing that is grounded"
            raise UngroundedReturn(
                f"{agent.name}: {topic}",
                f"it reads {read}, and no source leads there",
                f"let it read what comes from one of {', '.join(sorted(SOURCES))}, or do not declare it grounded",
            )


def _claimed(topics: Categories) -> list[str]:
    return [topic for topic, categories in topics.items() if GROUNDED in categories]


def _reaches(agent: Declares, grounded: Collection[str]) -> bool:
    return any(topic in grounded for topic in _claimed(agent.consumes))


def _categories(topics: Sequence[str], grounded: str) -> Categories:
    """Of these topics one holds what was looked up; of the others nothing is said."""
    return {topic: frozenset({GROUNDED} if topic == grounded else ()) for topic in topics}


class _Keyed:
    """What the folds (`interfaces.Fold`) have in common: the partitioner of their inputs' keys, which their version
    names.
    """

    layout = ""
    event_for = staticmethod(core.event_for)

    def __init__(self, partitioner: Partitioner = "murmur2", raised: int = 0) -> None:
        self._partitioner: Partitioner = partitioner
        self._raised = raised
        self.version = core.fold_version(partitioner)
        self.form = f"state={self.layout} partitioner={partitioner}"

    def named(self, state: Any, ledger: str = "") -> str:
        return core.fold_version(self._partitioner, number=next_number(ledger, self._raised))

    def policy_in_force(self, state: Any) -> Policy | None:
        return None

    def _policy_of(self, state: Any) -> Policy | None:
        """The policy of the next block; None before the first one."""
        return self.policy_in_force(state)

    def refuses(self, state: Any, adoption: Event, time: int) -> str:
        policy = self._policy_of(state)
        return "no policy came before it" if policy is None else adoption_rule.adoption_refusal(adoption, policy, time)


class Adjudicate(_Keyed):
    """Emissions, observations and reviews become verdicts (streams/adjudication/fold.py): an `interfaces.Fold`.

    Args:
        partitioner: by which keys are spread.
        secrets: what identifiers are hashed with, where the policy says so.
        raised: the number of the version that ledgers are raised to; 0 leaves them at their own.
    """

    name = "adjudicate"
    inputs: Sequence[str] = core.INPUTS
    outputs: Sequence[str] = (
        outputs.ADMITTED,
        outputs.INADMISSIBLE,
        outputs.REVIEWS,
        outputs.REEMISSIONS,
        outputs.VERDICTS,
        outputs.CITATIONS,
        outputs.DEAD_LETTERS,
    )
    ledger = "ledger"
    checkpoints = "checkpoints"
    layout = snapshot.LAYOUT
    consumes: Categories = _categories(inputs, "observations")
    produces: Categories = _categories(outputs, "admitted")
    fold = staticmethod(core.fold)
    due = staticmethod(core.due)
    next_due = staticmethod(core.next_due)
    counters = staticmethod(core.counters)
    dump = staticmethod(snapshot.dump)

    def __init__(self, partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS, raised: int = 0) -> None:
        super().__init__(partitioner, raised)
        self._secrets = secrets

    def new(self, lane: int, lanes: int) -> core.State:
        return core.new_state(lane, lanes, self._partitioner, self._secrets)

    def policy_hash(self, state: core.State) -> str:
        return state.policy_hash

    def policy_in_force(self, state: core.State) -> Policy | None:
        return state.next_policy or state.policy

    def named(self, state: core.State, ledger: str = "") -> str:
        return core.fold_version(self._partitioner, state.key_in_force, next_number(ledger, self._raised))

    def load(self, chunks: Iterable[bytes]) -> core.State:
        return snapshot.load(chunks, self._secrets)


class Bind(_Keyed):
    """Sightings and citations become observations (streams/sightings/binding.py): an `interfaces.Fold`."""

    name = "bind"
    inputs: Sequence[str] = binding.INPUTS
    outputs: Sequence[str] = (binding.OBSERVATIONS, outputs.DEAD_LETTERS)
    ledger = "bind-ledger"
    checkpoints = "bind-checkpoints"
    layout = binding_state.LAYOUT
    consumes: Categories = _categories(inputs, "sightings")
    produces: Categories = _categories(outputs, "observations")
    fold = staticmethod(binding.fold)
    due = staticmethod(binding_state.due)
    next_due = staticmethod(binding_state.next_due)
    counters = staticmethod(binding_state.counters)
    dump = staticmethod(binding_state.dump)
    load = staticmethod(binding_state.load)

    def __init__(self, partitioner: Partitioner = "murmur2", raised: int = 0) -> None:
        super().__init__(partitioner, raised)
        self.version += binding.FORMS

    def named(self, state: Any, ledger: str = "") -> str:
        return super().named(state, ledger) + binding.FORMS

    def new(self, lane: int, lanes: int) -> binding.BindState:
        return binding.new_bind_state(lane, lanes, self._partitioner)

    def policy_hash(self, state: binding.BindState) -> str:
        return state.rules.policy_hash

    def _policy_of(self, state: binding.BindState) -> Policy | None:
        return state.rules.next_policy or state.rules.policy


class FrameAttestations(_Keyed):
    """Attestations are typed, sanitised and framed (streams/attestations/framing.py): an `interfaces.Fold`."""

    name = "frame"
    inputs: Sequence[str] = framing.INPUTS
    outputs: Sequence[str] = (framing.GROUNDED, outputs.DEAD_LETTERS)
    ledger = "frame-ledger"
    checkpoints = "frame-checkpoints"
    layout = framing_state.LAYOUT
    consumes: Categories = _categories(inputs, "attestations")
    produces: Categories = _categories(outputs, "grounded")
    fold = staticmethod(framing.fold)
    dump = staticmethod(framing_state.dump)
    load = staticmethod(framing_state.load)

    def new(self, lane: int, lanes: int) -> framing_state.State:
        return framing_state.State(lane, lanes, self._partitioner)

    def due(self, state: framing_state.State, time: int, watermark: int) -> int:
        return 0

    def next_due(self, state: framing_state.State) -> tuple[int | None, int | None]:
        return None, None

    def policy_hash(self, state: framing_state.State) -> str:
        return state.policy_hash

    def _policy_of(self, state: framing_state.State) -> Policy | None:
        return state.next_policy

    def counters(self, state: framing_state.State) -> dict[str, int]:
        return dict(state.counters)


def folds(partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS, raised: int = 0) -> tuple[Fold, ...]:
    """All that a worker runs; every partition number has one lane of each. The arguments are those of `Adjudicate`.

    Raises:
        UsageError: ledgers are to be raised to a version that this package does not fold.
    """
    if raised and raised not in FOLD_VERSIONS:
        raise UsageError(
            "this package does not fold the version that ledgers are to be raised to",
            path="fold_version",
            expected=" or ".join(map(str, sorted(FOLD_VERSIONS))),
            got=str(raised),
            hint="upgrade every worker first, then raise it (docs/howto/upgrade.md)",
        )
    return Adjudicate(partitioner, secrets, raised), Bind(partitioner, raised), FrameAttestations(partitioner, raised)


FOLDS: Final[dict[str, Partitioner]] = {
    core.fold_version(name, number=number): name for number in sorted(FOLD_VERSIONS) for name in PARTITIONERS
}
"""The versions of the fold that this package can recompute, and each one's partitioner."""


class FoldByVersion:
    """The fold of a ledger that nobody vouches for: chosen by its first header, and kept while versions follow.

    Args:
        secrets: what its identifiers are hashed with, where they are.
        make: makes the fold of the ledger's lane group.

    Attributes:
        fold: the one in use; None before the first block.
    """

    def __init__(
        self, secrets: Secrets = NO_SECRETS, make: Callable[[Partitioner, Secrets], Fold] = Adjudicate
    ) -> None:
        self.fold: Fold | None = None
        self._secrets, self._make, self._version = secrets, make, ""  # the version without a key, of the block before

    def take(self, header: Header) -> Fold | None:
        """The fold of the next block; None where it is not ours, or may not follow upon the one before."""
        version = without_key(header.fold).removesuffix(binding.FORMS)
        if not self._follows(version):
            return None
        if self.fold is None:
            self.fold = self._make(FOLDS[version], self._secrets)
        self._version = version
        return self.fold

    def expected(self) -> list[str]:
        """The versions that the next block may have."""
        return [version for version in FOLDS if self._follows(version)]

    def _follows(self, version: str) -> bool:
        """Whether a block of this version can be folded here: the same as before, or one raised since."""
        partitioner, before = FOLDS.get(version), self._version
        if partitioner is None or not before:
            return partitioner is not None
        return partitioner == FOLDS.get(before) and number_of(version) >= number_of(before)


async def partitioner_of(logs: Logs, lane: int | None = None) -> Partitioner:
    """Returns the partitioner of a ledger's keys: its first block names it; Kafka's own where there is no block yet.

    `lane`: whose blocks are asked; None: those of the first lane that has any.
    """
    for number in range(logs.lanes) if lane is None else (lane,):
        async with aclosing(blocks_of(logs, number)) as blocks:
            async for _, data in blocks:
                return partitioner_named(unseal(data).header.fold)
    return "murmur2"


def partitioner_named(fold: str) -> Partitioner:
    """The partitioner that a block header's `fold` names (`streams.adjudication.versions.fold_version`)."""
    return "crc32" if "partitioner=crc32" in fold.split() else "murmur2"


class Line(msgspec.Struct, gc=False):
    """One line of input; `value` is kept as its bytes stand, since duplicates are judged by bytes."""

    at: str | int
    topic: str | None = None
    key: str | UnsetType | None = UNSET
    value: msgspec.Raw = msgspec.Raw(b"")
    headers: dict[str, str] = {}


_lines = msgspec.json.Decoder(Line)


def parse_until(text: str | None) -> int | None:
    """The time of `--until`, Unix ms.

    Raises:
        UsageError: it is no time.
    """
    if text is None:
        return None
    time = parse_time(int(text) if text.isdecimal() else text)
    if time is None:
        raise UsageError("--until is not a time", expected=EXPECTED, got=text)
    return time


class FoldFilter:
    """One lane fed by lines. Invariant: block times never decrease."""

    def __init__(self, policy: Policy, secrets: Secrets = NO_SECRETS) -> None:
        self._policy = policy
        self._builder = BlockBuilder(Adjudicate(secrets=secrets), 0, 1, policy.hash)
        self._time = -1

    def line(self, data: bytes) -> Iterator[Any]:
        """The outputs of one line, as JSON-ready values; a Fault for a line that cannot be read."""
        line = self._decode(data)
        if isinstance(line, Fault):
            yield line
            return
        time = parse_time(line.at)
        if time is None:
            yield schema_fault("$.at", EXPECTED, line.at)
        elif time < self._time:
            yield schema_fault("$.at", "a time that is not before that of the line before", line.at)
        elif line.topic is None:
            yield from self.pass_time(time)
        elif line.topic not in core.INPUTS:
            yield schema_fault("$.topic", "one of " + ", ".join(core.INPUTS), line.topic)
        else:
            yield from self._record(time, line.topic, line)

    def together(self, time: int, topic: str, values: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        """Yields the outputs of several records of one topic in one block, as a lane takes what arrives together.

        `time` is in Unix ms, not before that of the last block; `topic` is an input; `values` are at most as many as a
        block holds.
        """
        source, offset = core.INPUTS.index(topic), self._builder.position(topic)
        events: list[Event] = []
        for place, value in enumerate(values):
            key = _own_key(value)
            encoded = None if key is None else key.encode()
            events.append(core.event_for(source, offset + place, time, [], encoded, value))
        yield from self._settle(time)
        yield from self._close(time, events)

    def pass_time(self, time: int) -> Iterator[dict[str, Any]]:
        """The outputs of letting time pass."""
        yield from self._settle(time)
        yield from self._close(time, [])

    def end(self, until: int | None) -> Iterator[dict[str, Any]]:
        """The outputs of letting time pass at the end of input, if `until` is later than the last line."""
        if until is not None and until > self._time:
            yield from self.pass_time(until)

    def _decode(self, data: bytes) -> Line | Fault:
        return decode_json(data, _lines)

    def _record(self, time: int, topic: str, line: Line) -> Iterator[dict[str, Any]]:
        value = _raw_bytes(line.value)
        key = _own_key(value) if line.key is UNSET else line.key
        headers = [(name, text.encode()) for name, text in line.headers.items()]
        source = core.INPUTS.index(topic)
        offset = self._builder.position(topic)
        event = core.event_for(source, offset, time, headers, None if key is None else str(key).encode(), value)
        yield from self._settle(time)
        yield from self._close(time, [event])

    def _settle(self, time: int) -> Iterator[dict[str, Any]]:
        """The ledger's beginning, and empty blocks while more timers are due than fire in one."""
        if self._builder.head.height < 0:
            yield from map(_shown, self._builder.start(time, self._policy.document).outputs)
            self._time = time
        while core.due(self._builder.state, time, time) > core.MAX_TIMERS:
            yield from self._close(time, [])

    def _close(self, time: int, events: list[Event]) -> Iterator[dict[str, Any]]:
        outputs = self._builder.add(time, time, events).outputs
        self._time = time
        return map(_shown, outputs)


def _raw_bytes(value: msgspec.Raw) -> bytes | None:
    data = bytes(value)
    if data[:1] == b'"':
        return msgspec.json.decode(data, type=str).encode()
    return None if data in (b"", b"null") else data


def _own_key(value: bytes | None) -> str | None:
    """The key that a producer would have given the record."""
    try:
        record: Any = msgspec.json.decode(value or b"")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    members = cast("dict[str, Any]", record)
    subject = members.get("subject")
    key: Any = (cast("dict[str, Any]", subject) if isinstance(subject, dict) else members).get("emission_id")
    return key if isinstance(key, str) else None


def _shown(output: Output) -> dict[str, Any]:
    """An output as a line; a dead letter's raw value as the object that it is, else as text."""
    value: Any = msgspec.Raw(output.value)
    if output.topic == "dead-letters":
        try:
            if not isinstance(msgspec.json.decode(output.value), dict):
                value = output.value.decode(errors="replace")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            value = output.value.decode(errors="replace")
    return {
        "topic": output.topic,
        "key": None if output.key is None else output.key.decode(errors="replace"),
        "value": value,
        "headers": {name: content.decode(errors="replace") for name, content in output.headers},
    }
