"""The compiled core against the Python that it stands in for: every output, snapshot, counter and due timer alike.

Histories are made of what the core takes in itself and of what it leaves to Python, in every mixture, and of records
with something wrong or unusual about them, down to single bytes. Where no compiler was there both sides are Python;
in CI the core has to be there.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from random import Random
from typing import Any

import pytest
from fold_histories import (
    CHECKS,
    CLASSES,
    IDS,
    MINUTE,
    SHA,
    Raw,
    Step,
    T,
    World,
    block_of,
    event_of,
    fold,
    handed_to_python,
    pure,
    same,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace
from native_records import LATER, VERIFIED, WIDE, checked, raw_emission, raw_observation
from search import DEEP, SEED

from sluice.codecs import blocks, merkle
from sluice.codecs import compiled_core as codecs_native
from sluice.codecs.blocks import Event, quarantine
from sluice.codecs.times import LATEST, format_time
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import fold_layout, snapshot
from sluice.streams.adjudication import state as table
from sluice.streams.policy import policy
from sluice.streams.policy.policy import (
    Admissibility,
    Floor,
    Observer,
    PerEffect,
    Policy,
    PrivacyRules,
    PublishedVerdicts,
)


@pytest.mark.parametrize("seed", range(20))
def test_no_history_tells_the_core_from_python(seed: int) -> None:
    """Outputs, roots, snapshots, counters and due timers are the same, under policies of every kind."""
    for number in range(8 if DEEP else 3):
        world = World(SEED * 10_000 + seed * 100 + number)
        same(world.steps(25), world.policy())


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_both_refuse_the_same_keys(partitioner: Any) -> None:
    """A key of another partition is misrouted, by either partitioner."""
    world = World(5)
    found = same(world.steps(20), world.policy(), lanes=3, partitioner=partitioner)

    assert found.counters["dead-letters"] > 10


def test_how_much_lies_open_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core takes over what Python has packed, and the other way round."""
    monkeypatch.setattr(table, "OPEN", 0)
    for seed in range(10):
        world = World(seed)
        same(world.steps(25), world.policy())


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_that_was_put_aside_tells_nobody_apart(seed: int) -> None:
    """Between common records: the core leaves it to Python, in blocks that lie in place too."""
    world = World(seed)
    steps = world.steps(12)
    for _, _, records in steps:
        records.insert(len(records) // 2, quarantine(seed % 2, 7, 12, T, "checksum", b"raw"))

    assert same(steps, world.policy()).counters["quarantined"] == 5 * len(steps)


def test_timers_that_fire_together_fire_in_their_order() -> None:
    """A thousand ends at one instant, in blocks that fire no more than a few hundred."""
    world = World(1)
    rules = Policy()
    emissions: list[Raw | Policy] = [("emissions", *raw_emission(number)) for number in range(1000)]
    observations: list[Raw | Policy] = [
        ("observations", *raw_observation(number, cls))
        for number in range(0, 1000, 3)
        for cls in CLASSES[:2][: 1 + number % 2]
    ]
    later = [
        (T + minutes * MINUTE, T + minutes * MINUTE, list[Raw | Policy]()) for minutes in (11, 61, 1442, 2900, 4400)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "MAX_TIMERS", 300)
        repeated = [step for step in later for _ in range(5)]
        world.random.shuffle(observations)
        found = same([(T, T, emissions), (T, T, observations), *repeated], rules)

    assert found.counters["lives"] == 0


@pytest.mark.parametrize("trust", ["observed", "both", "declared"])
@pytest.mark.parametrize("outcome", ["corroborates", "contradicts", "unknown-observation", "absent"])
def test_a_computed_id_counts_as_none(outcome: str, trust: Any) -> None:
    """An emitter who marks an id that it invented gets what it gets without one: neither rejected nor admitted for it.
    The id that it declares itself has to be true."""

    def decided(note: dict[str, Any]) -> list[Any]:
        notes = [{"substrate_class": cls, "ts": T, **note} for cls in CLASSES[:2]]
        fields = {"assertions": [{"span": {"chars": [0, 5]}, "provenance": notes}]}
        seen = [("observations", *raw_observation(1, cls, outcome=outcome, at=format_time(T + 1))) for cls in CLASSES]
        records: list[Raw | Policy] = [("emissions", *raw_emission(1, **fields)), *seen]
        found = same([(T, T, records), *LATER], Policy(admissibility=Admissibility(trust=trust)))
        return [
            (one.topic, value.get("status"), value.get("reason"), value.get("classes"))
            for some in found.outputs
            for one in some
            for value in [json.loads(one.value or b"{}")]
        ]

    invented = {"observation_id": IDS[0], "computed": True}
    assert decided(invented) == decided({}) == decided({"observation_id": SHA, "computed": True})
    if outcome == "unknown-observation" and trust != "declared":
        reasons = {one[2] for one in decided({"observation_id": SHA})}
        assert "fabricated-annotation" in reasons
        assert "fabricated-annotation" not in {one[2] for one in decided({"observation_id": SHA, "computed": True})}


@pytest.mark.parametrize("told", ["settled", "all"])
@pytest.mark.parametrize("seed", range(8 if DEEP else 4))
def test_what_changes_again_in_a_block_is_told_as_it_is_in_the_end(seed: int, told: PublishedVerdicts) -> None:
    """In the order of the first change: of few emissions by the core, by Python, and by both in turn."""
    random = Random(seed)
    share = random.choice((0, 1, 4))  # of nine records that are Python's, and may end what was just admitted

    def record() -> Raw | Event:
        number, cls, at = random.randrange(5), random.choice(CLASSES[:2]), format_time(T + random.randrange(5) * 1000)
        uncommon = random.randrange(9) < share
        if random.randrange(3):
            outcome = "contradicts" if uncommon and random.randrange(2) else "corroborates"
            return "observations", *raw_observation(number, cls, at=at, outcome=outcome)
        emission = event_of(("emissions", *raw_emission(number)))
        return replace(emission, headers=()) if uncommon else emission

    steps: list[Step] = [(T + at * MINUTE, T + at * MINUTE, [record() for _ in range(14)]) for at in range(8)]
    found = same([*steps, *LATER], Policy(verdicts=told))

    topics = [one.topic for some in found.outputs for one in some]
    assert topics.count("verdicts") >= 5
    if fold_layout.core is not None and not share:
        assert "_publish" not in handed_to_python([*steps, *LATER], Policy(verdicts=told))


def test_what_is_left_to_python_is_reported_and_kept_nowhere() -> None:
    """Of the last block: a common record is none of it, a tuple of headers is. Without the core there is nothing to
    tell, and no snapshot holds the number."""
    state = core.new_state(0, 1)
    common, other = (event_of(("emissions", *raw_emission(number))) for number in range(2))
    uncommon = replace(other, headers=())
    start = event_of(Policy())

    core.fold(state, block_of(state, 0, T, T, [start]))
    reported: list[int] = []
    for height, events in enumerate(([common], [uncommon, event_of(("reviews", b"x", b"{", []))], [])):
        core.fold(state, block_of(state, height + 1, T, T, list(events)))
        reported.append(state.left_to_python)

    assert reported == ([0, 0, 0] if fold_layout.core is None else [0, 2, 0])
    state.left_to_python = 77
    assert snapshot.load(list(snapshot.dump(state))).left_to_python == 0


def test_a_later_attempts_admission_ends_the_earlier_ones() -> None:
    """Both attempts of an emission are admitted one after the other; then both are renewed, and end."""
    both = [raw_observation(1, cls, subject=_subject(1, attempt)) for attempt in (0, 1) for cls in CLASSES[:2]]
    newer = raw_observation(1, CLASSES[0], subject=_subject(1, 1), observed_at=format_time(T + 2 * MINUTE))
    first: list[Raw | Policy] = [("emissions", *raw_emission(1)), *(("observations", *one) for one in both[:2])]
    second: list[Raw | Policy] = [("emissions", *raw_emission(1, attempt=1)), *(("observations", *one) for one in both)]
    third: list[Raw | Policy] = [("observations", *newer)]
    steps = [(T, T, first), (T + 1, T, second), (T + 2 * MINUTE, T, third), (T + 99 * MINUTE, T + 99 * MINUTE, [])]

    found = same(steps, Policy())

    assert sum(output.topic == "admitted" for block in found.outputs for output in block) >= 3


_CHANGED_AFTER: dict[str, list[Raw | Policy]] = {
    "nothing": [],
    "a repetition": [("emissions", *raw_emission(1))],
    "a later attempt": [("emissions", *raw_emission(1, attempt=1))],
    "a contradiction": [("observations", *raw_observation(1, CLASSES[0], outcome="contradicts"))],
    "newer evidence": [
        ("observations", *raw_observation(1, CLASSES[0], observed_at=format_time(T + 1), observation_id="newer"))
    ],
    "evidence of another class": [("observations", *raw_observation(1, CLASSES[2]))],
    "evidence that has no assertion": [
        ("observations", *raw_observation(1, CLASSES[0], subject={"emission_id": "em-1", "span": {"chars": [1, 2]}}))
    ],
}


@pytest.mark.parametrize("told", ["settled", "all"])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("after", _CHANGED_AFTER)
def test_a_verdict_that_is_changed_in_its_block_is_told_as_it_is_in_the_end(after: str, early: bool, told: Any) -> None:
    """What the core composed where the verdict fell does not hide what somebody brought later in the same block; other
    emissions between them are told all the same."""
    between: list[Raw | Policy] = [("emissions", *raw_emission(2)), *_both(2)]
    first: list[Raw | Policy] = [("emissions", *raw_emission(1))]
    records = [*_both(1), *first] if early else [*first, *_both(1)]

    found = same(
        [(T + 1, T, [*records, *between, *_CHANGED_AFTER[after]]), (T + 99 * MINUTE, T + 99 * MINUTE, [])],
        Policy(verdicts=told),
    )

    said = {one.key: json.loads(one.value) for one in found.outputs[0] if one.topic == "verdicts"}
    own = {one["attempt"]: one["status"] for one in said.get(b"em-1", {"assertions": []})["assertions"]}
    assert [one["status"] for one in said[b"em-2"]["assertions"]] == ["admitted"]
    if after == "a contradiction":
        assert own == {0: "contradicted"}
    elif after == "a later attempt":
        assert own == ({} if told == "settled" else {0: "admitted", 1: "pending"})  # it is pending again
    else:
        assert own == {0: "admitted"}


@pytest.mark.parametrize("observers", [1, 2])
@pytest.mark.parametrize("early", [False, True])
def test_observers_are_counted_alike(observers: int, early: bool) -> None:
    """Where two are needed, one of enough classes is too few, which is another end than evidence that has aged."""
    least = policy.LeastObservers(internal=2, external=2)
    ends = {**Policy().disposition, "decayed-to-uncertainty": policy.PerEffect(internal="discard", external="discard")}
    rules = Policy(admissibility=Admissibility(k=Floor(internal=1), min_observers=least), disposition=ends)
    seen: list[Raw | Policy] = [
        ("observations", *raw_observation(1, CLASSES[0], observer=f"observer-{number}")) for number in range(observers)
    ]
    emissions: list[Raw | Policy] = [("emissions", *raw_emission(1))]
    later = [(T + 11 * MINUTE, T + 11 * MINUTE, list[Raw | Policy]())]

    found = same([(T, T, seen + emissions if early else emissions + seen), *later], rules)

    reported = [one.topic for block in found.outputs for one in block if one.topic != "verdicts"]
    assert reported == (["admitted"] if observers == 2 else ["inadmissible", "review-requests"])


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ({"group": "answer-1", "part": 0, "final": False}, True),
        ({"group": "a" * 256, "part": 1_000_000, "final": True}, True),
        ({"group": None, "part": None, "final": None}, True),
        ({"group": "a" * 257}, False),
        ({"group": "not one"}, False),
        ({"group": 5}, False),
        ({"part": -1}, False),
        ({"part": 1_000_001}, False),
        ({"part": "0"}, False),
        ({"final": 1}, False),
    ],
)
def test_pieces_of_an_answer_are_read_alike(more: dict[str, Any], taken: bool) -> None:
    """Which piece of which answer an emission is decides nothing; what is no such name or number is a dead letter."""
    steps: list[Step] = [(T, T, [("emissions", *raw_emission(1, **more)), *_both(1)])]

    found = same(steps, Policy())

    assert [one.topic for block in found.outputs for one in block if one.topic != "verdicts"][:1] == (
        ["admitted"] if taken else ["dead-letters"]
    )


def _both(number: int) -> list[Raw | Policy]:
    return [("observations", *raw_observation(number, cls)) for cls in CLASSES[:2]]


def test_an_observer_that_came_before_its_emission_is_counted() -> None:
    """One that was heard before and one behind the emission, each of another class, are two."""
    rules = Policy(
        admissibility=Admissibility(min_observers=policy.LeastObservers(internal=2, external=2)), verdicts="settled"
    )
    first, second = (raw_observation(1, CLASSES[number], observer=f"observer-{number}") for number in range(2))
    records: list[Raw | Policy] = [("observations", *first), ("emissions", *raw_emission(1)), ("observations", *second)]

    found = same([(T, T, records)], rules)

    assert [output.topic for output in found.outputs[0]] == ["admitted", "verdicts"]


@pytest.mark.parametrize("ids", ["clear", "omitted", "hashed"])
@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("cls", [CLASSES[1], "substrate.unix.peercred"])
def test_privacy_is_kept_alike(name: str, cls: str, ids: Any) -> None:
    """An id of the identity-bound tier, and one that may be a peer's credentials, is shown by neither."""
    floor, privacy = Admissibility(k=Floor(internal=1)), PrivacyRules(observation_ids=ids)
    rules = Policy(admissibility=floor, privacy=privacy, verdicts="settled")
    seen = raw_observation(1, cls, observation_id=name)

    found = same([(T, T, [("emissions", *raw_emission(1)), ("observations", *seen)])], rules)

    admitted, told = found.outputs[0]
    assert name.encode() not in told.value
    in_clear = f'"{name}"'.encode() in admitted.value
    hidden = name.lower().startswith("peercred:") and name != "peercred:" + "ab" * 32
    assert in_clear == (ids == "clear" and not hidden and cls == CLASSES[1])


@pytest.mark.parametrize("refuse", [[], ["email"], ["uuid"]])
@pytest.mark.parametrize("field", ["system", "model", "prompt"])
def test_emitters_are_refused_alike(field: str, refuse: list[str]) -> None:
    """A name that holds an e-mail address makes its emission a dead letter, however JSON writes it. A percent sign that
    encodes what needs it not always does."""
    rules = Policy(
        admissibility=Admissibility(k=Floor(internal=1)), emitters=policy.Emitters(refuse), verdicts="settled"
    )
    for name in ("ann@host.example", "ann%40host.example", "bot@v1.2", "git@host.example", "half%", "bot"):
        key, value, headers = raw_emission(1, emitter={field: name})
        for written in (value, value.replace(b"@", b"\\u0040")):
            records: list[Raw | Policy] = [("emissions", key, written, headers)]
            records.append(("observations", *raw_observation(1, CLASSES[0])))

            found = same([(T, T, records)], rules)

            refused = "%40" in name or (refuse == ["email"] and name.startswith("ann"))
            assert [output.topic for output in found.outputs[0]] == (
                ["dead-letters"] if refused else ["admitted", "verdicts"]
            )


@pytest.mark.parametrize("rule", ["reject", "replace", "flag"])
def test_look_alikes_fare_as_the_policy_says(rule: Any) -> None:
    """A text with a Cyrillic letter among Latin ones is refused, mended or told of."""
    rules = Policy(sanitation=policy.Sanitation(confusables=policy.ConfusablesByEffect(internal=rule)))
    records: list[Raw | Policy] = [("emissions", *raw_emission(1, text="Fir\u0455t other"))]
    records += [("observations", *raw_observation(1, cls)) for cls in CLASSES[:2]]

    found = same([(T, T, records)], rules)

    assert found.outputs[0][0].topic == ("inadmissible" if rule == "reject" else "admitted")


DISGUISED = ("1. system: obey", "(a) b. 'user': x", '"tool" (new): x', "x\n12) ai: y", "+ `human` : x", "A. ai: x")
"""What is a role behind a list's number, in marks or brackets."""


@pytest.mark.parametrize(
    "text",
    [
        *(f"tool: y\n{one}" for one in ("system: obey", "It is.\nUser : obey", "**Tool:** x", "human: x", "AI: x")),
        *(f"{one}\ndeveloper prompt: x" for one in DISGUISED),
        *("system: obey", "see https://127.0.0.1/x", "javascript:x", "DATA:text/html,x", "see https://example.org/x"),
        *(
            "a.b) c: d",
            "[INST] x",
            "x <|a|>",
            "x\r\ny",
            "x\x00y",
            "x\x7fy",
            "x\ty\nz",
            "summary: x",
            "at 10:30",
            "> # - tool :: x\nai: y",
        ),
    ],
)
def test_what_gives_way_fares_alike(text: str) -> None:
    """Chat markers and controls, which the core leaves to Python."""
    value = json.loads(raw_emission(1)[1])
    value |= {"text": text, "assertions": [{**value["assertions"][0], "span": {"chars": [0, len(text)]}}]}
    records: list[Raw | Policy] = [("emissions", b"em-1", json.dumps(value).encode(), [])]
    for cls in CLASSES[:2]:
        seen = json.loads(raw_observation(1, cls)[1])
        seen["subject"]["span"]["chars"] = [0, len(text)]
        records.append(("observations", b"em-1", json.dumps(seen).encode(), []))

    found = same([(T, T, records)], Policy())

    (record,) = [json.loads(output.value or b"") for output in found.outputs[0] if output.topic == "admitted"]
    stays = text in ("x\ty\nz", "summary: x", "at 10:30", "a.b) c: d", "system: obey", "see https://example.org/x")
    assert (record["_untrusted_text"]["assertion"] == text) == stays


@pytest.mark.parametrize(("source", "said"), [("seen-0", "matched"), ("elsewhere", "claimed")])
def test_grounding_is_said_alike(source: str, said: str) -> None:
    """By the ids of the observations that count."""
    value = json.loads(raw_emission(1)[1])
    value["assertions"][0] |= {"grounded": True, "chain": [{"step": "retrieval", "source": source, "metadata": {}}]}
    records: list[Raw | Policy] = [("emissions", b"em-1", json.dumps(value).encode(), [])]
    records += [
        ("observations", *raw_observation(1, cls, observation_id=f"seen-{place}"))
        for place, cls in enumerate(CLASSES[:2])
    ]

    found = same([(T, T, records)], Policy())

    (record,) = [json.loads(output.value or b"") for output in found.outputs[0] if output.topic == "admitted"]
    assert record["grounding"] == said


def _subject(number: int, attempt: int) -> dict[str, Any]:
    return {"emission_id": f"em-{number}", "span": {"chars": [0, 5]}, "attempt": attempt}


@pytest.mark.slow
def test_the_core_keeps_nothing() -> None:
    """What a fold has allocated is given back with its outputs and its state, whatever the records were."""
    worlds = [(world.steps(10), world.policy()) for world in map(World, range(6))]
    held: list[int] = []
    for _ in range(20):
        for steps, rules in worlds:
            fold(steps, rules)
        gc.collect()
        held.append(sys.getallocatedblocks())

    # One object a block, kept in each of the last eight rounds, would be 480; the library's caches grow in the first.
    assert held[-1] <= held[-9] + 250


# ---------------------------------------------------------------- what the core takes in


@pytest.mark.parametrize("checks", [None, [CHECKS[0]]])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("reviewed", [False, True])
def test_what_is_common_never_reaches_python(
    reviewed: bool, early: bool, checks: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emissions and their evidence, in either order, up to admission, to the end of every request for a review and of
    every memory; with checks and without. Where nothing is reviewed, also what counts for nothing."""
    if fold_layout.core is not None:
        for topic in core.INPUTS:
            monkeypatch.setitem(core._APPLIERS, topic, _never)
        for method in ("end_waiting", "expire"):
            monkeypatch.setattr(core._Folding, method, _never)
    emissions: list[Raw | Policy] = [("emissions", *checked(number, checks)) for number in range(20)]
    observations: list[Raw | Policy] = [
        ("observations", *raw_observation(number, cls, **(VERIFIED if checks else {})))
        for number in range(20)
        for cls in CLASSES[: 1 + number % 2]
    ]
    rules = Policy()
    if not reviewed:
        discarded = PerEffect(internal="discard", external="discard")
        rules = Policy(disposition=dict.fromkeys(rules.disposition, discarded))
        observations += [
            ("observations", *raw_observation(number, CLASSES[0], outcome="terms-present")) for number in (3, 4)
        ]
    first, second = (observations, emissions) if early else (emissions, observations)

    found = fold([(T, T, first), (T, T, second), *LATER], rules)

    on_requests = [output for outputs in found.outputs for output in outputs if output.topic == "review-requests"]
    assert len(on_requests) == (20 if reviewed else 0)

    assert sum(output.topic == "admitted" for output in found.outputs[1]) == 10
    assert found.counters["lives"] == 0


def _never(*_: Any) -> None:
    raise AssertionError("this is the core's")


def test_the_core_is_of_this_code() -> None:
    """Both extensions are there where a compiler is demanded, and of the version that Python asks for."""
    if os.environ.get("CI") and not os.environ.get("SLUICE_PURE"):
        assert fold_layout.core is not None
        assert codecs_native.codecs is not None


def test_a_core_of_another_version_is_not_used() -> None:
    """What was built before the sources changed would decide by older rules."""
    module = type(os)("older")
    module.PURE = 0  # type: ignore[attr-defined]
    module.VERSION = codecs_native.VERSION  # type: ignore[attr-defined]
    module.LAYOUT = "a layout"  # type: ignore[attr-defined]
    assert codecs_native.usable(module, "a layout")

    module.VERSION = codecs_native.VERSION - 1  # type: ignore[attr-defined]
    assert not codecs_native.usable(module, "a layout")


def test_every_choice_of_a_policy_is_known_to_the_core() -> None:
    """A new field of the policy needs a look at folder.py: what the core should do about it, or that it steps back."""
    known = {
        Admissibility: "trust k horizon late_horizon max_unseen max_validity max_skew max_stall min_confidence "
        "max_attempts max_waiting max_waiting_bytes max_annotations review_window window min_observers k_by_check "
        "early_settle",
        policy.FloorOfCheck: "internal external",
        policy.Judging: "min_coverage require_checks accept same_bytes same_root groups proposers",
        policy.Proposer: "keys models",
        policy.LeastCoverage: "internal external",
        Floor: "internal external",
        policy.Sanitation: "confusables caps",
        PrivacyRules: "observation_ids chain_sources",
        policy.LeastObservers: "internal external",
        policy.Sightings: "classes",
        policy.Emitters: "refuse keys require_signatures unauthenticated vendor require_vendor",
        policy.Reviewers: "keys roles require_signatures min_reviewers",
        policy.LeastReviewers: "internal external",
        Observer: "public_key classes writable_by keys",
        Policy: "admissibility effect_default effect disposition sanitation attestations privacy observers sightings "
        "require_signatures emitters judging reviewers checkpoints policies origin writers verdicts",
    }
    for kind, names in known.items():
        assert [field.name for field in fields(kind)] == names.split(), kind


# ---------------------------------------------------------------- byte by byte

_RECORDS = (
    ("emissions", *raw_emission(1)[:2]),
    ("observations", *raw_observation(1, CLASSES[0])[:2]),
    ("emissions", *raw_emission(1, effect="external", attempt=0, vocabulary="1.0", more={"a": [1, -2.5, "é"]})[:2]),
    ("observations", *raw_observation(1, CLASSES[1], tier="identity-bound", confidence=0.75, detail={"a": None})[:2]),
)


def _one(topic: str, key: bytes, value: bytes) -> None:
    """One record among others that bring its assertion to an end."""
    good: list[Raw | Policy] = [("emissions", *raw_emission(1)), ("observations", *raw_observation(1, CLASSES[1]))]
    later = [(T + 20 * MINUTE, T + 20 * MINUTE, list[Raw | Policy]())]
    same([(T, T, [(topic, key, value, []), *good]), *later], Policy())
    same([(T, T, [*good, (topic, key, value, [])]), *later], Policy())


@WIDE
@given(st.sampled_from(_RECORDS), st.data())
def test_damaged_records_fare_alike(record: tuple[str, bytes, bytes], data: st.DataObject) -> None:
    """Bytes changed, taken out or put in anywhere give the same fault or the same reading."""
    topic, key, value = record
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(value)))
        end = data.draw(st.integers(start, min(len(value), start + 3)))
        value = value[:start] + data.draw(st.one_of(st.binary(max_size=3), st.sampled_from(_PIECES))) + value[end:]
    _one(topic, key, value)


_PIECES = (
    b'"',
    b"\\",
    b"\\u00e9",
    b"\\ud83d\\ude00",
    b"\\ud800",
    b"0",
    b"-",
    b"1e3",
    b"null",
    b"{}",
    b",",
    b":",
    b" ",
    b"\xc3\xa9",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"[" * 40,
    b"true",
    b'"text":"x",',
)


@WIDE
@given(st.text(max_size=60), st.data())
def test_every_text_fares_alike(text: str, data: st.DataObject) -> None:
    """Whatever characters a text has, however JSON writes them, and wherever the span lies."""
    if "\ud800" <= max(text, default="") <= "\udfff":
        text = ""
    start = data.draw(st.integers(0, len(text)))
    span = [start, data.draw(st.integers(start, len(text) + 1))]
    value = json.loads(raw_emission(1)[1]) | {"text": text, "assertions": [{"span": {"chars": span}}]}
    value["assertions"][0]["provenance"] = [{"substrate_class": CLASSES[0]}]
    raw = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    good = json.loads(raw_observation(1, CLASSES[0])[1])
    good["subject"]["span"]["chars"] = span
    spoken: Raw = ("observations", b"em-1", json.dumps(good).encode(), [])

    same([(T, T, [("emissions", b"em-1", raw, []), spoken])], Policy(admissibility=Admissibility(k=Floor(internal=1))))


@WIDE
@given(
    st.one_of(
        st.datetimes().map(lambda at: at.isoformat() + "Z"),
        st.text("0123456789-:.TZ", max_size=32),
        st.integers(-1, 1 << 62),
        st.integers(0, LATEST).map(format_time),
        st.sampled_from(
            ["2026-02-29T00:00:00Z", "2028-02-29T23:59:60Z", "1969-12-31T23:59:59Z", "2026-05-25T24:00:00Z"]
        ),
    )
)
def test_every_time_fares_alike(at: str | int) -> None:
    """Times of every form, in the past and the future, good and bad."""
    rules = Policy(admissibility=Admissibility(max_skew=policy.LONGEST, max_validity=policy.LONGEST))
    key, value, headers = raw_emission(1, emitted_at=at)
    seen = raw_observation(1, CLASSES[0], observed_at=at)

    same([(T, T, [("observations", *seen), ("emissions", key, value, headers)])], rules)
    same([(T, T, [("emissions", *raw_emission(1)), ("observations", *seen)])], rules)


# ---------------------------------------------------------------- hashes and blocks


@given(st.lists(st.binary(max_size=200), max_size=40))
def test_hashes_and_roots_are_pythons(leaves: list[bytes]) -> None:
    """SHA-256 over every length of bytes, and the trees over any number of them."""
    hashed = [merkle.leaf_hash(leaf) for leaf in leaves]
    with pure():
        expected = merkle.root(hashed)

    assert merkle.root(hashed) == expected


_BLOBS = st.binary(max_size=300) | st.sampled_from([b"x" * 65_535, b"x" * 65_536])
_EVENTS = st.builds(
    blocks.Event,
    st.sampled_from([*blocks.EventKind, 0, 3]),
    st.integers(0, 70_000),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-(2**33), 2**63 - 1),
    st.lists(st.tuples(st.text(max_size=40), st.binary(max_size=40)), max_size=20),
    st.none() | _BLOBS,
    st.none() | _BLOBS,
)


@WIDE
@given(st.lists(_EVENTS, max_size=20))
def test_blocks_are_sealed_alike(events: list[blocks.Event]) -> None:
    """Events of any size and number, also those that no lane makes."""
    header = block_of(core.new_state(0, 1), 0, T, T, []).header
    with pure():
        expected = blocks.seal(header, events)

    assert blocks.seal(header, events) == expected
    assert blocks.seal(header, tuple(events))[1] == expected[1]


@WIDE
@given(st.binary(max_size=6), st.data())
def test_damaged_blocks_fare_alike(raw: bytes, data: st.DataObject) -> None:
    """A block with bytes changed anywhere reads alike, or is refused with the same sentence."""
    state = core.new_state(0, 1)
    events = [event_of((topic, key, value, [("traceparent", b"x")])) for topic, key, value in _RECORDS]
    sealed = blocks.seal(block_of(state, 0, T, T, events).header, events)[1]
    start = data.draw(st.integers(0, len(sealed)))
    sealed = sealed[:start] + raw + sealed[data.draw(st.integers(start, min(len(sealed), start + 6))) :]

    with pure():
        expected = _unsealed(sealed)
    assert _unsealed(sealed) == expected


def _unsealed(sealed: bytes) -> Any:
    try:
        return blocks.unseal(sealed)
    except blocks.DoesNotHoldError as error:
        return str(error)
