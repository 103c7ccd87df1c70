"""What a worker's lanes run: one fold a lane group, each with inputs of its own and outputs that it declares."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from builders import attestation_value, emission_value, encoded, sighting_value

from sluice.codecs import blocks
from sluice.codecs.blocks import MAX_INPUT_BYTES, Event, EventKind, Header, Output, Source
from sluice.codecs.partition import PARTITIONERS, Partitioner
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.streams.sightings import binding
from sluice.topology.engine.folds import Adjudicate, Bind, FrameAttestations, folds
from sluice.topology.engine.interfaces import Fold
from sluice.topology.kafka.topics import TOPICS

T = 1_800_000_000_000
CLAIM = "0x" + "ab" * 32
POLICY = Event(EventKind.POLICY, 0, 0, T, [], None, DEFAULT_POLICY.document)


def fold_of(fold: Fold, state: Any, events: list[Event], time: int = T, lane: int = 0, lanes: int = 1) -> list[Output]:
    """Folds one sealed block of these events."""
    header = Header(
        lane=lane,
        lanes=lanes,
        height=0,
        prev=blocks.GENESIS,
        time=time,
        watermark=time,
        policy="",
        fold=fold.version,
        sources=[Source(topic, 0, 1) for topic in fold.inputs],
        outputs=blocks.outputs_root([]),
    )
    return fold.fold(state, blocks.seal(header, events)[0])


GOOD = {
    "adjudicate": (b"em-1", encoded(emission_value())),
    "bind": (b"o-1", encoded(sighting_value("o-1"))),
    "frame": (CLAIM.encode(), encoded(attestation_value())),
}


def test_a_worker_runs_adjudication_binding_and_framing():
    """By these names in logs, groups and transactional ids."""
    assert [fold.name for fold in folds()] == ["adjudicate", "bind", "frame"]


def test_no_two_folds_share_a_ledger():
    """Each has one of its own, and checkpoints of its own."""
    ledgers = {fold.name: (fold.ledger, fold.checkpoints) for fold in folds()}

    assert ledgers == {
        "adjudicate": ("ledger", "checkpoints"),
        "bind": ("bind-ledger", "bind-checkpoints"),
        "frame": ("frame-ledger", "frame-checkpoints"),
    }
    assert {TOPICS[topic].role for topics in ledgers.values() for topic in topics} == {"ledger"}


def test_every_input_has_one_reader():
    """A frame of a topic has one lane to go to."""
    inputs = [topic for fold in folds() for topic in fold.inputs]

    assert sorted(inputs) == ["attestations", "citations", "emissions", "observations", "reviews", "sightings"]
    assert {TOPICS[topic].role for topic in inputs} == {"input"}


def test_every_output_topic_has_a_writer():
    """Dead letters have three; and two folds write what the other one reads."""
    outputs = [topic for fold in folds() for topic in fold.outputs]

    written = {topic for topic in outputs if TOPICS[topic].role == "output"}
    assert written == {spec.name for spec in TOPICS.values() if spec.role == "output"}
    assert set(outputs) - written == {"citations", "observations"}
    assert {TOPICS[topic].role for topic in set(outputs) - written} == {"input"}
    assert [topic for topic in set(outputs) if outputs.count(topic) > 1] == ["dead-letters"]


def test_framing_has_one_input_and_two_outputs():
    frame = FrameAttestations()

    assert list(frame.inputs) == ["attestations"]
    assert list(frame.outputs) == ["grounded", "dead-letters"]


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_the_version_names_the_partitioner(partitioner: Partitioner):
    """Under another one other records are misrouted: it is a part of what decides."""
    version = core.fold_version(partitioner)
    assert [fold.version for fold in folds(partitioner)] == [version, version + binding.FORMS, version]
    assert core.fold_version("murmur2") != core.fold_version("crc32")


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_the_partitioner_reaches_the_lane(partitioner: Partitioner):
    """A claim of another lane by this partitioner is a dead letter here."""
    frame = FrameAttestations(partitioner)
    hashes = ["0x" + sha256(bytes([number])).hexdigest() for number in range(20)]
    events = [
        frame.event_for(0, number, T, [], one.encode(), encoded(attestation_value(claim_hash=one)))
        for number, one in enumerate(hashes)
    ]

    outputs = fold_of(frame, frame.new(1, 4), [POLICY, *events], lane=1, lanes=4)

    ours = [PARTITIONERS[partitioner](one.encode(), 4) == 1 for one in hashes]
    assert [output.topic == "grounded" for output in outputs] == ours
    assert {True, False} == set(ours)


@pytest.mark.parametrize("fold", [Adjudicate(), Bind(), FrameAttestations()], ids=lambda fold: fold.name)
def test_a_policy_that_was_taken_in_is_reported(fold: Fold):
    """No block before it, no policy."""
    state = fold.new(0, 1)
    assert fold.policy_hash(state) == ""

    assert fold_of(fold, state, [POLICY]) == []
    assert fold.policy_hash(state) == DEFAULT_POLICY.hash


@pytest.mark.parametrize("fold", [Adjudicate(), Bind(), FrameAttestations()], ids=lambda fold: fold.name)
def test_what_a_fold_writes_is_what_it_declares(fold: Fold):
    """Good records and bad ones; and each bad one is counted or has a dead letter."""
    state = fold.new(0, 1)
    fold_of(fold, state, [POLICY])
    key, good = GOOD[fold.name]
    events = [fold.event_for(0, 0, T, [], key, good), fold.event_for(0, 1, T, [], key, b"{")]

    outputs = fold_of(fold, state, events)

    assert {output.topic for output in outputs} <= set(fold.outputs)
    assert [output.value for output in outputs if output.topic == "dead-letters"] == [b"{"]


@pytest.mark.parametrize("fold", [Adjudicate(), Bind(), FrameAttestations()], ids=lambda fold: fold.name)
def test_what_is_too_large_to_keep_is_told_apart(fold: Fold):
    """The event holds its hash and length, not its bytes."""
    value = b"x" * (MAX_INPUT_BYTES + 1)

    assert fold.event_for(0, 3, T, [], b"k", b"small") == Event(EventKind.RECORD, 0, 3, T, [], b"k", b"small")
    event = fold.event_for(0, 4, T, [], b"k", value)
    assert (event.kind, event.offset, event.key) == (EventKind.OVERSIZE, 4, b"k")
    assert msgspec.json.decode(event.value or b"") == {"sha256": sha256(value).hexdigest(), "length": len(value)}


def test_a_framing_lane_waits_for_records_alone():
    """Nothing in it ever falls due."""
    frame = FrameAttestations()
    state = frame.new(0, 1)
    fold_of(frame, state, [POLICY], time=T)

    assert frame.next_due(state) == (None, None)
    assert frame.due(state, T + 10**12, T + 10**12) == 0


def test_an_adjudicating_lane_is_due_when_something_waits():
    """Nothing is due of a lane that holds nothing; a pending assertion is once the watermark has passed its time."""
    fold = Adjudicate()
    state = fold.new(0, 1)
    fold_of(fold, state, [POLICY])
    assert fold.next_due(state) == (None, None)

    fold_of(fold, state, [fold.event_for(0, 0, T, [], b"em-1", _pending())])

    _, mark = fold.next_due(state)
    assert mark is not None
    assert (fold.due(state, T, mark - 1), fold.due(state, T, mark)) == (0, 1)


def _pending() -> bytes:
    return encoded(emission_value(at=T))


def test_counters_are_a_copy():
    """A status that was handed out does not change behind its reader's back."""
    frame = FrameAttestations()
    state = frame.new(0, 1)
    record = frame.event_for(0, 0, T, [], CLAIM.encode(), encoded(attestation_value()))
    fold_of(frame, state, [POLICY, record])
    reported = frame.counters(state)

    fold_of(frame, state, [record])

    assert reported == {"grounded": 1}
    assert frame.counters(state) == {"grounded": 2}
