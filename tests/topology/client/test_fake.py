"""The fake decides as the running system does, at the instants at which it would, and is held against `sluice fold`."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from builders import attestation_value, sighting_value, text_value
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.client import FakeSluice, UsageError
from sluice.topology.engine.folds import FoldFilter

START = 1_795_251_600_000
CLASSES = ("substrate.git.log", "substrate.grep", "substrate.code.read")


def numbered(fake: FakeSluice, number: int) -> dict[str, Any]:
    return text_value(f"em-{number}", at=fake.now)


STEPS = st.lists(
    st.tuples(st.sampled_from(["emit", "look", "contradict", "review", "wait"]), st.integers(1, 3), st.integers(0, 2)),
    max_size=15,
)


@settings(max_examples=examples(50), deadline=None)
@given(STEPS)
def test_it_decides_as_the_filter_of_the_fold_does(steps: list[tuple[str, int, int]]):
    """Each of its blocks as a line, at the block's time: the same outputs, but for the place in the ledger."""
    fake, emitted = FakeSluice(start=START), set[int]()
    for what, number, choice in steps:
        if what == "emit":
            fake.emit(numbered(fake, number))
            emitted.add(number)
        elif what == "wait":
            fake.advance(["1s", "11m", "2h"][choice])
        elif number in emitted and what == "review":
            decision = "admit" if choice else "refuse"
            fake.review({"emission_id": f"em-{number}", "span": {"chars": [0, 10]}, "decision": decision})
        elif number in emitted:
            outcome = "contradicts" if what == "contradict" else "corroborates"
            fake.corroborate(f"em-{number}", CLASSES[choice], outcome=outcome)
    filtering = FoldFilter(DEFAULT_POLICY)
    with fake.auditor() as auditor:
        blocks = list(auditor)[1:]
    assert len(blocks) >= len(emitted)
    for block in blocks:
        line: dict[str, Any] = {"at": block.time}
        for event in block.events:
            line |= {"topic": event.topic, "value": (event.raw or b"").decode()}
        folded = list(filtering.line(json.dumps(line).encode()))
        assert [one["topic"] for one in folded] == [one.topic for one in block.outputs]
        for ours, theirs in zip(block.outputs, folded, strict=True):
            assert {name: text.decode() for name, text in ours.headers} == theirs["headers"]
            assert placeless(ours.value) == placeless(msgspec.json.encode(theirs["value"]))


def placeless(value: bytes) -> dict[str, Any]:
    record = json.loads(value)
    record.pop("ledger", None)
    return record


@pytest.mark.parametrize(("wait", "reason"), [("20m", None), ("1201s", "not-looked-at")])
def test_a_horizon_ends_at_its_instant(wait: str, reason: str | None):
    """Not before, and the block is of that instant whatever time was moved to."""
    policy = "[disposition]\nunverified-inference = 'review'\n"
    fake = FakeSluice(policy, start=START)
    fake.emit(numbered(fake, 1))
    fake.advance(wait)
    found = fake.records("inadmissible")
    assert [record["reason"] for record in found] == ([reason] if reason else [])


def test_a_decay_is_of_the_instant_after_its_validity():
    """Though time was moved on by hours at once."""
    fake = FakeSluice(start=START)
    fake.emit(numbered(fake, 1))
    fake.corroborate("em-1", *CLASSES[:2])
    fake.advance("24h")
    admitted, decayed = fake.records("admitted")
    assert (admitted["status"], decayed["status"]) == ("admitted", "decayed-to-uncertainty")
    with fake.auditor() as auditor:
        *_, last = auditor
    assert last.time == START + 3_600_001


def test_evidence_that_came_during_an_outage_is_not_missed():
    """A lane that comes back reads what its inputs hold before it closes anything for lack of it."""
    fake = FakeSluice(start=START)
    fake.emit(numbered(fake, 1))
    with fake.outage():
        fake.corroborate("em-1", *CLASSES[:2])
        fake.advance("15m")
        assert fake.records("admitted") == []
    assert [record["status"] for record in fake.records("admitted")] == ["admitted"]


def test_observations_name_what_was_declared():
    """The id that the assertion declares for the class; where it declares none, one of the fake's own."""
    fake = FakeSluice()
    fake.emit(text_value(text="It is out. [substrate.git.log; observation-id=abc]"))
    assert fake.corroborate("em-1", *CLASSES[:2]) == 2
    ids = {one["substrate_class"]: one["observation_id"] for one in fake.records("observations")}
    assert ids == {"substrate.git.log": "abc", "substrate.grep": "fake:substrate.grep"}


def test_one_assertion_of_several_can_be_corroborated():
    """By its span key."""
    fake = FakeSluice()
    fake.emit(text_value(text="It is out. [substrate.git.log] It works. [substrate.grep]"))
    assert fake.corroborate("em-1", *CLASSES[:2], span="c:11-20") == 2
    assert [record["span"] for record in fake.records("admitted")] == [{"chars": [11, 20]}]


def test_a_sighting_is_bound_to_the_assertion_that_cites_it():
    """Whichever comes first; the observation that comes of it is judged like any other."""
    part = '[judging]\nmin_coverage = { internal = "part" }\n'
    fake = FakeSluice(part + '[sightings]\nclasses = ["substrate.grep"]')
    text = "The build of 2026-05-25 passed."
    fake.sight(sighting_value("sse-1", at=fake.time, substrate_class="substrate.grep", content=text))
    note = {"substrate_class": "substrate.grep", "observation_id": "sse-1"}
    fake.emit(
        text_value(
            text=text, assertions=[{"span": {"chars": [0, 31]}, "provenance": note, "checks": ["contains(2026-05-25)"]}]
        )
    )
    assert [one["observation_id"] for one in fake.records("citations")] == ["sse-1"]
    assert [one["outcome"] for one in fake.records("observations")] == ["corroborates"]
    fake.corroborate("em-1", "substrate.git.log")
    assert fake.records("admitted")[0]["classes"] == ["substrate.git.log", "substrate.grep"]


def test_attestations_come_out_framed_or_as_dead_letters():
    """As from the attestation lane."""
    fake = FakeSluice()
    attestation = attestation_value(rationale="S\u200bo")
    fake.attest(attestation)
    fake.attest({**attestation, "consensus_domain": "unheard-of"})
    (grounded,) = fake.records("grounded")
    assert grounded["attestations"][0]["_untrusted_text"]["rationale"] == "So"
    (letter,) = fake.records("dead-letters")
    assert (letter["reason"], letter["source"]) == ("mistyped", "attestations/0/1")


def test_a_dead_letter_is_shown_with_its_reason():
    """And the raw value."""
    fake = FakeSluice(start=START)
    fake.emit(numbered(fake, 1))
    fake.emit(numbered(fake, 1) | {"text": "Other."})
    (letter,) = fake.records("dead-letters")
    assert letter["reason"] == "conflicting-emission"
    assert json.loads(letter["value"])["text"] == "Other."


@pytest.mark.parametrize(
    "call",
    [
        lambda: FakeSluice(start="then"),
        lambda: FakeSluice("k = 2"),
        lambda: FakeSluice().advance("soon"),
        lambda: FakeSluice().records("gossip"),
        lambda: FakeSluice().corroborate("em-1", "substrate.grep"),
    ],
)
def test_wrong_usage_is_reported(call: Any):
    """In one sentence each."""
    with pytest.raises(UsageError):
        call()
