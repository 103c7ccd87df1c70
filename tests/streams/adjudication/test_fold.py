"""The fold by example: clocks, timers, gates, policies and gaps. What it decides, random histories tell
(test_fold_properties.py); here stand the bounds and the order of things.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from builders import dispositions, emission, observation, review
from msgspec.structs import replace

from sluice.codecs import blocks
from sluice.codecs.blocks import Event, EventKind, Header, Source, quarantine
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import Admissibility, Observer, PerEffect, Policy

T = 1_800_000_000_000
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
GIT, GREP, CODE = "substrate.git.log", "substrate.grep", "substrate.code.read"
TEXT = "It is so."


def nothing_discarded(**fields: Any) -> Policy:
    """The reference policy with other admissibility, nothing discarded, and no wait beyond the horizon."""
    return Policy(admissibility=Admissibility(**{"max_unseen": 0, **fields}), disposition=dispositions("review"))


def words(outputs: list[Any]) -> list[tuple[str, str]]:
    """Topic and status, or reason of a dead letter, of each output."""
    return [
        (one.topic, one.headers["sluice-reason"] if one.topic == "dead-letters" else one.value["status"])
        for one in outputs
        if not one.topic.endswith("-requests")
    ]


# ---------------------------------------------------------------- the ledger's beginning


def _block(height: int, events: list[Event], time: int = T) -> blocks.Block:
    header = Header(
        lane=0,
        lanes=1,
        height=height,
        prev=blocks.GENESIS,
        time=time,
        watermark=time,
        policy="",
        fold="",
        sources=[Source(topic, 0, 0) for topic in core.INPUTS],
        outputs="",
    )
    return blocks.seal(header, events)[0]


def test_a_ledger_begins_with_a_policy() -> None:
    """A record before any policy stops the lane with one sentence: nobody could say by which rules it was decided."""
    event = core.event_for(0, 0, T, [], b"em-1", b"{}")

    with pytest.raises(DoesNotHoldError, match="a ledger begins with a policy"):
        core.fold(core.new_state(0, 1), _block(0, [event]))


def test_the_inputs_of_this_fold_are_those_of_the_design() -> None:
    """The order is that of a header's `sources`."""
    assert core.INPUTS == ("emissions", "observations", "reviews")


def test_the_first_policy_is_in_force_from_the_second_block(new_lane: Any) -> None:
    """Its hash is what the second block's header names."""
    lane = new_lane(nothing_discarded(), T)
    assert lane.state.policy is None
    assert lane.state.policy_hash == nothing_discarded().hash

    lane.block(T + 1, [emission()])

    assert lane.state.policy == nothing_discarded()
    assert lane.ledger[1].header.policy == nothing_discarded().hash


# ---------------------------------------------------------------- clocks


def test_what_waits_for_evidence_waits_on_the_watermark(new_lane: Any) -> None:
    """However late it is, an assertion stays pending until the watermark has passed its pending time."""
    lane = new_lane(nothing_discarded(horizon=MINUTE), T)
    lane.block(T, [emission()])

    assert lane.block(T + HOUR, watermark=T + MINUTE) == []
    assert words(lane.block(T + HOUR, watermark=T + MINUTE + 1)) == [("inadmissible", "unverified-inference")]


def test_evidence_without_its_emission_waits_on_the_watermark_too(new_lane: Any) -> None:
    """It is matched as long as the watermark stands, and dropped and counted once that has passed the horizon."""
    lane = new_lane(nothing_discarded(horizon=MINUTE, k=nothing_discarded().admissibility.k), T)
    lane.block(T, [observation(GREP), observation(GIT), observation(GIT, emission_id="em-2")])

    outputs = lane.block(T + HOUR, [emission(at=T)], watermark=T + MINUTE)
    lane.block(T + HOUR, watermark=T + MINUTE + 1)

    assert words(outputs) == [("admitted", "admitted")]
    assert core.counters(lane.state)["unmatched"] == 1
    assert core.counters(lane.state)["waiting"] == 0


def test_what_expires_runs_on_time(new_lane: Any) -> None:
    """A validity ends by the block's time, that instant still included, whatever the watermark says."""
    lane = new_lane(nothing_discarded(), T)
    lane.block(T, [emission(), observation(GREP), observation(GIT)])

    assert lane.block(T + HOUR, watermark=T) == []
    assert words(lane.block(T + HOUR + 1, watermark=T)) == [("admitted", "decayed-to-uncertainty")]


def test_clocks_never_go_back(new_lane: Any) -> None:
    """A header with an earlier time or watermark is folded at the latest one seen: nothing comes to life again."""
    lane = new_lane(nothing_discarded(), T)
    lane.block(T + DAY)

    outputs = lane.block(T, [emission(at=T - 1)], watermark=T)

    assert (lane.state.time, lane.state.watermark) == (T + DAY, T + DAY)
    assert words(outputs) == [("dead-letters", "too-old")]


def test_due_timers_fire_in_the_order_of_their_instants_on_either_clock(new_lane: Any) -> None:
    """A block after a long sleep says what blocks in between would have said, in the same order."""
    rules = nothing_discarded(horizon=2 * MINUTE, window=dict.fromkeys(CLASSES_1_0, MINUTE))
    rules = replace(
        rules, disposition={**rules.disposition, "unverified-inference": _refuse(), "unannotated": _refuse()}
    )
    lane = new_lane(rules, T)
    lane.block(T, [emission(), observation(GREP), observation(GIT)])  # admitted until T + 1 min
    lane.block(T, [emission(attempt=1)])  # pending until T + 2 min, then refused under the same key

    outputs = lane.block(T + HOUR)

    assert words(outputs) == [
        ("admitted", "decayed-to-uncertainty"),
        ("inadmissible", "unverified-inference"),
        ("admitted", "refused"),
    ]


def _refuse() -> PerEffect:
    return PerEffect(internal="refuse", external="refuse")


def test_a_newer_attempt_s_word_ends_an_earlier_life_that_would_have_decayed_later(new_lane: Any) -> None:
    """The other way round: refused at T + 2 min, the earlier life ends without a word of its own."""
    rules = nothing_discarded(horizon=2 * MINUTE)
    rules = replace(rules, disposition={**rules.disposition, "unverified-inference": _refuse()})
    lane = new_lane(rules, T)
    lane.block(T, [emission(), observation(GREP), observation(GIT)])  # admitted until T + 1 h
    lane.block(T, [emission(attempt=1)])

    outputs = lane.block(T + 2 * HOUR)

    assert words(outputs) == [("inadmissible", "unverified-inference"), ("admitted", "refused")]
    assert core.counters(lane.state)["lives"] == 0


# ---------------------------------------------------------------- how much fires, and when


def test_at_most_two_hundred_timers_fire_in_a_block_earliest_first(new_lane: Any) -> None:
    """After an outage the lane closes empty blocks at one time until nothing is due; each of them is bounded."""
    lane = new_lane(nothing_discarded(horizon=MINUTE), T)
    for part in range(4):
        lane.block(T + part, [observation(GIT, emission_id=f"em-{part}-{number}") for number in range(60)])
    late = T + HOUR
    assert core.due(lane.state, late, late) == core.MAX_TIMERS + 1

    lane.block(late)
    unmatched, left = core.counters(lane.state)["unmatched"], set(lane.state)
    rest = core.due(lane.state, late, late)
    lane.block(late)

    assert core.MAX_TIMERS == unmatched == 200
    assert rest == 40
    assert left == {f"em-3-{number}" for number in range(20, 60)}
    assert core.counters(lane.state)["unmatched"] == 240
    assert core.due(lane.state, late, late) == 0


def test_the_bound_is_over_both_clocks(new_lane: Any) -> None:
    """Pending ends and memories together are no more than two hundred a block."""
    lane = new_lane(nothing_discarded(horizon=MINUTE, review_window=HOUR), T)
    lane.block(T, [emission(emission_id=f"em-{number}", assertions=[]) for number in range(120)])  # memories only
    lane.block(T, [observation(GIT, emission_id=f"other-{number}") for number in range(120)])
    late = T + 2 * DAY

    lane.block(late)

    fired = core.counters(lane.state)["unmatched"] + 120 - sum(name.startswith("em-") for name in lane.state)
    assert fired == 200
    assert core.due(lane.state, late, late) == 40


def test_the_next_due_is_a_millisecond_after_the_earliest_instant(new_lane: Any) -> None:
    """An idle lane knows when to wake: at the earliest end on either clock, and not before."""
    lane = new_lane(nothing_discarded(), T)
    assert core.next_due(lane.state) == (None, None)

    lane.block(T, [emission(), observation(GREP), observation(GIT)])
    assert core.next_due(lane.state) == (T + HOUR + 1, None)
    assert lane.block(T + HOUR) == []

    lane.block(T + HOUR + 1)
    assert core.next_due(lane.state) == (T + DAY + 1, None)  # the memory of the attempt


def test_what_waits_for_a_watermark_that_does_not_come_asks_for_a_block_a_second(new_lane: Any) -> None:
    """So that `max_stall`, which counts running time, runs on an idle lane as well."""
    lane = new_lane(nothing_discarded(horizon=MINUTE), T)
    lane.block(T, [emission()])
    assert core.next_due(lane.state) == (T + MINUTE + 1, T + MINUTE + 1)

    lane.block(T + HOUR, watermark=T)

    assert core.next_due(lane.state) == (T + HOUR + SECOND, T + MINUTE + 1)


# ---------------------------------------------------------------- max_stall

STALL = {"horizon": 10 * SECOND, "max_stall": 20 * SECOND}


def test_a_watermark_that_stands_still_bounds_the_wait_by_max_stall(new_lane: Any) -> None:
    """What waits is over after horizon and `max_stall` of running time, give or take the second it is counted in."""
    lane = new_lane(nothing_discarded(**STALL), T)
    lane.block(T, [emission(), observation(GIT, emission_id="em-2")], watermark=T)
    closed = []
    for half_second in range(1, 80):
        time = T + half_second * 500
        if lane.block(time, watermark=T):
            closed.append(time - T)

    counted = core.counters(lane.state)
    assert len(closed) == 1
    assert 30 * SECOND < closed[0] <= 32 * SECOND
    assert (counted["stalled"], counted["unmatched"]) == (1, 1)


def test_time_in_which_the_lane_did_not_run_counts_as_a_second(new_lane: Any) -> None:
    """A lane that sleeps for hours between blocks closes nothing before thirty of them have passed."""
    lane = new_lane(nothing_discarded(**STALL, max_validity=30 * DAY), T)
    lane.block(T, [emission()], watermark=T)

    outputs = [lane.block(T + hour * HOUR, watermark=T) for hour in range(1, 34)]

    assert not any(outputs[:30])
    assert any(outputs[30:])


def test_what_the_watermark_closes_is_not_counted_as_stalled(new_lane: Any) -> None:
    """`stalled` is told only where evidence may have been left unread."""
    lane = new_lane(nothing_discarded(**STALL), T)
    lane.block(T, [emission()], watermark=T)
    for second in range(1, 40):
        lane.block(T + second * SECOND, watermark=T + second * SECOND)

    assert core.counters(lane.state).get("stalled", 0) == 0
    assert core.counters(lane.state)["lives"] == 1  # waits for a reviewer


# ---------------------------------------------------------------- gates


def dead(outputs: list[Any]) -> tuple[str, str]:
    """Reason and detail of the one dead letter."""
    (output,) = outputs
    assert output.topic == "dead-letters"
    return output.headers["sluice-reason"], output.headers["sluice-detail"]


@pytest.mark.parametrize(
    ("record", "reason", "part"),
    [
        (("emissions", b"{"), "not-json", "not JSON"),
        (("emissions", b"[]"), "schema", "expected object"),
        (("emissions", {"emission_id": "em-1"}), "schema", "emitted_at"),
        (emission(assertions=[{"span": {"chars": [0, 10]}}]), "span-out-of-range", "c:0-10"),
        (emission(at=T + 30_001), "clock-skew", "$.emitted_at"),
        (observation(GREP, at=T + 30_001), "clock-skew", "$.observed_at"),
        (review(decided_at=T + 30_001), "clock-skew", "$.decided_at"),
        (emission(at=T - DAY - 1), "too-old", "$.emitted_at"),
        (review(), "late-review", "em-1#c:0-9 of attempt 0"),
        (observation(CODE, observer="narrow"), "unauthorised-observer", "substrate.grep"),
    ],
)
def test_what_is_wrong_with_a_record_makes_it_a_dead_letter(
    new_lane: Any, record: tuple[str, Any], reason: str, part: str
) -> None:
    """With its reason, a sentence that names the place, its source, its key, and its bytes untouched."""
    lane = new_lane(replace(nothing_discarded(), observers={"narrow": Observer(classes=[GREP])}), T)

    outputs = lane.block(T, [record])

    found, detail = dead(outputs)
    raw = record[1] if isinstance(record[1], bytes) else msgspec.json.encode(record[1])
    assert (found, part in detail) == (reason, True), detail
    assert outputs[0].value == raw
    assert outputs[0].headers["sluice-source"] == f"{record[0]}/0/0"
    assert core.counters(lane.state)["dead-letters"] == 1


@pytest.mark.parametrize(
    "record",
    [
        emission(at=T + 30_000),
        emission(at=T - DAY),
        emission(assertions=[{"span": {"chars": [0, 9]}, "provenance": {"substrate_class": GREP, "ts": T + 30_000}}]),
        observation(GREP, at=T + 30_000),
    ],
)
def test_times_on_a_bound_pass(new_lane: Any, record: tuple[str, Any]) -> None:
    """`max_skew` ahead and `max_validity` back are still allowed."""
    assert new_lane(nothing_discarded(), T).block(T, [record]) == []


@pytest.mark.parametrize(
    "claim",
    [
        {"provenance": [{"substrate_class": GREP}, {"substrate_class": GREP, "ts": T + 30_001}]},
        {"chain": [{"step": "retrieval", "timestamp": T + 30_001}]},
        {"chain": [{"step": "derived", "right": [{"step": "retrieval", "timestamp": T + 30_001}]}]},
    ],
)
def test_a_date_from_the_future_is_found_wherever_an_emission_names_one(new_lane: Any, claim: dict[str, Any]) -> None:
    """Annotations and chains, inner ones included: it would never grow old."""
    lane = new_lane(nothing_discarded(), T)

    reason, detail = dead(lane.block(T, [emission(assertions=[{"span": {"chars": [0, 9]}, **claim}])]))

    assert reason == "clock-skew"
    assert detail.startswith("$.assertions[0].")


def _lane_of(name: str, lanes: int, partitioner: Any) -> int:
    return PARTITIONERS[partitioner](name.encode(), lanes)


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_a_record_in_the_partition_of_its_key_passes_and_in_another_does_not(new_lane: Any, partitioner: Any) -> None:
    """The detail names the partitioner and both partitions."""
    mine = _lane_of("em-1", 8, partitioner)
    other = (mine + 1) % 8

    right = new_lane(nothing_discarded(), T, mine, 8, partitioner)
    wrong = new_lane(nothing_discarded(), T, other, 8, partitioner)

    assert right.block(T, [emission(), observation(GREP), review("refuse")])[0].topic == "inadmissible"
    reason, detail = dead(wrong.block(T, [emission()]))
    assert reason == "misrouted"
    assert detail == f"{partitioner} puts the key 'em-1' into partition {mine} of 8, got {other}"


@pytest.mark.parametrize("topic", core.INPUTS)
@pytest.mark.parametrize("key", [None, b"em-2", b"\xff", b""])
def test_a_key_that_is_not_the_emission_id_is_misrouted(new_lane: Any, topic: str, key: bytes | None) -> None:
    """Another id, no id, or no text: evidence would not meet its emission."""
    lane = new_lane(nothing_discarded(), T)
    values = dict([emission(), observation(GREP), review()])
    place = core.INPUTS.index(topic)
    event = core.event_for(place, 0, T, [], key, msgspec.json.encode(values[topic]))

    reason, detail = dead(lane.block(T, [(topic, event)]))

    assert reason == "misrouted"
    assert "murmur2" in detail


def test_a_record_as_large_as_an_input_may_be_is_taken_whole() -> None:
    """Value, key and headers together count; one byte more, and only hash and length are kept."""
    value = b"x" * 999_980
    fits = core.event_for(0, 5, T, [("name", b"0123456789")], b"em-xxx", value)
    over = core.event_for(0, 5, T, [("name", b"0123456789")], b"em-xxxx", value)

    assert (fits.kind, fits.value) == (EventKind.RECORD, value)
    assert over.kind == EventKind.OVERSIZE
    assert over.key == b"em-xxxx"
    assert msgspec.json.decode(over.value or b"") == {"sha256": sha256(value).hexdigest(), "length": 999_980}


def test_a_fetched_record_makes_the_event_that_the_ledger_gives_back() -> None:
    """Not only equal: an audit reads headers as a list, and what a lane folds is to be the same in kind."""
    fetched = core.event_for(0, 5, T, (("traceparent", b"00-1"), ("empty", None)), b"em-1", b"{}")

    assert fetched.headers == [("traceparent", b"00-1"), ("empty", b"")]
    assert type(fetched.headers) is list
    assert type(core.event_for(0, 5, T, (), b"em-1", b"{}").headers) is list
    assert blocks.event_of(blocks.leaf_data(fetched)) == fetched


def test_a_key_that_is_itself_enormous_is_not_kept() -> None:
    """A block must not grow by what it refuses to hold."""
    event = core.event_for(0, 0, T, [("h", b"x" * 2000)], b"k" * 1_000_001, None)

    assert (event.kind, event.key, event.headers) == (EventKind.OVERSIZE, None, [])
    assert len(msgspec.msgpack.encode(event)) < 200


def test_an_oversize_record_s_dead_letter_has_its_hash_length_and_source(new_lane: Any) -> None:
    """Instead of its bytes."""
    lane = new_lane(nothing_discarded(), T)
    value = b"{" + b" " * 1_000_000 + b"}"

    outputs = lane.block(T, [("observations", value)])

    assert dead(outputs)[0] == "oversize"
    assert msgspec.json.decode(outputs[0].value) == {
        "sha256": sha256(value).hexdigest(),
        "length": len(value),
        "source": "observations/0/0",
    }


def test_offsets_that_retention_has_deleted_are_counted_as_lost(new_lane: Any) -> None:
    """A recorded gap says where it begins and where the input goes on; it has no output."""
    lane = new_lane(nothing_discarded(), T)
    gap = Event(EventKind.GAP, 1, 40, T, [], None, b"100")

    assert lane.block(T, [("observations", gap)]) == []
    assert core.counters(lane.state)["lost"] == 60


def test_a_batch_that_could_not_be_read_is_a_dead_letter_and_counted(new_lane: Any) -> None:
    """The dead letter says what the ledger has of it; the counter, how many offsets it took."""
    lane = new_lane(nothing_discarded(), T)
    event = quarantine(1, 40, 43, T, "too-large", b"bomb")

    (output,) = lane.block(T, [("observations", event)])

    assert dead([output]) == (
        "unreadable-batch",
        "the batch from offset 40 to 42 cannot be read: it unpacks to more than a lane takes",
    )
    assert output.headers["sluice-source"] == "observations/0/40"
    assert msgspec.json.decode(output.value) == {
        "next": 43,
        "reason": "too-large",
        "length": 4,
        "sha256": sha256(b"bomb").hexdigest(),
        "first": b"bomb".hex(),
        "source": "observations/0/40",
    }
    assert core.counters(lane.state)["quarantined"] == 3
    assert core.counters(lane.state)["dead-letters"] == 1


def test_a_record_of_a_topic_that_this_fold_does_not_take_in_is_a_dead_letter() -> None:
    """A block that names another input is folded all the same."""
    event = core.event_for(0, 3, T, [], b"em-1", b"{}")
    header = replace(_block(1, []).header, sources=[Source("sightings", 3, 4)])
    state = core.new_state(0, 1)
    core.fold(state, _block(0, [Event(EventKind.POLICY, 0, 0, T, [], None, nothing_discarded().document)]))

    (output,) = core.fold(state, blocks.seal(header, [event])[0])

    assert dict(output.headers)["sluice-reason"] == b"schema"
    assert dict(output.headers)["sluice-source"] == b"sightings/0/3"


def test_a_bad_record_stops_nothing(new_lane: Any) -> None:
    """What stands after it in the block is folded as if it were not there."""
    lane = new_lane(nothing_discarded(), T)

    outputs = lane.block(T, [("emissions", b"\xff"), emission(), ("observations", b""), observation(GREP)])

    assert words(outputs) == [("dead-letters", "not-json")] * 2
    assert core.counters(lane.state)["lives"] == 1


# ---------------------------------------------------------------- every input has a fate


def _fates(lane: Any) -> int:
    """How many records have been given up to a counter or the dead letters."""
    counted = core.counters(lane.state)
    return sum(counted.get(name, 0) for name in ("dead-letters", "duplicate", "late", "unmatched", "not-counted"))


def test_an_admission_by_review_that_changes_nothing_is_accounted_for(new_lane: Any) -> None:
    """A second reviewer who admits in the same instant leaves an output, or a count."""
    lane = new_lane(nothing_discarded(), T)
    lane.block(T, [emission(), review()])
    outputs, before = len(lane.outputs), _fates(lane)

    lane.block(T, [review()])

    assert (len(lane.outputs), _fates(lane)) != (outputs, before)


def test_evidence_that_waited_and_does_not_count_is_accounted_for(new_lane: Any) -> None:
    """The same observation is not-counted before its emission as it would be after it."""
    old = observation(GREP, at=T - HOUR - 1)
    before, after = new_lane(nothing_discarded(), T), new_lane(nothing_discarded(), T)

    before.block(T, [old, emission()])
    after.block(T, [emission(), old])

    assert core.counters(before.state) == core.counters(after.state)
    assert core.counters(after.state)["not-counted"] == 1


# ---------------------------------------------------------------- policies


def test_a_policy_is_in_force_from_the_block_after(new_lane: Any) -> None:
    """Records beside it, before and after, are still decided under the one before, and say so."""
    first, second = nothing_discarded(), nothing_discarded(min_confidence=0.5)
    lane = new_lane(first, T)
    low = {"span": {"chars": [0, 9]}, "confidence": 0.4, "kind": "refusal"}
    doubtful = {"span": {"chars": [0, 9]}, "confidence": 0.4}

    with_it = lane.block(
        T, [emission("em-1", assertions=[doubtful]), ("policies", second), emission("em-2", assertions=[low])]
    )
    after_it = lane.block(T, [emission("em-3", assertions=[doubtful])])

    assert [one.value["policy"] for one in with_it] == [first.hash]
    assert words(with_it) == [("admitted", "refused")]
    assert words(after_it) == [("inadmissible", "rejected")]
    assert {one.value["policy"] for one in after_it} == {second.hash}
    assert lane.ledger[-1].header.policy == second.hash


def test_the_last_of_several_policies_in_a_block_holds(new_lane: Any) -> None:
    """None of the others is ever in force."""
    lane = new_lane(nothing_discarded(), T)
    second, third = nothing_discarded(min_confidence=0.5), nothing_discarded(min_confidence=0.25)

    lane.block(T, [("policies", second), ("policies", third)])
    lane.block(T)

    assert lane.state.policy == third


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b'{"trust": 1}',
        b'{"effect_default": "none"}',
        b'{"disposition": {}}',
        b'{"sanitation": {"caps": {}}}',
        b'{"admissibility": {"k": {"internal": 0, "external": 0}}}',
        b'{"admissibility": {"max_skew": 9999999999999999}}',
    ],
)
def test_a_document_that_is_no_policy_is_a_dead_letter_and_stops_nothing(new_lane: Any, document: bytes) -> None:
    """The policy before it stays in force, and the lane goes on: the ledger keeps such a document for ever."""
    lane = new_lane(nothing_discarded(), T)

    outputs = lane.block(T, [("policies", document)])
    lane.block(T, [emission(), observation(GREP)])
    lane.block(T + HOUR)

    assert words(outputs) == [("dead-letters", "schema")]
    assert lane.state.policy == nothing_discarded()


def test_lives_keep_the_floor_horizon_and_longest_validity_that_they_started_with(new_lane: Any) -> None:
    """A stricter policy closes nothing early that is under way, and a laxer one admits nothing of it."""
    strict = nothing_discarded(k=replace(Policy().admissibility.k, internal=3), horizon=SECOND, max_validity=2 * SECOND)
    lane = new_lane(nothing_discarded(max_validity=HOUR), T)
    lane.block(T, [emission(), emission("em-2"), ("policies", strict)])

    outputs = lane.block(T + MINUTE, [observation(cls, at=T) for cls in (GREP, GIT)])

    assert words(outputs) == [("admitted", "admitted")]
    assert outputs[0].value["k"] == 2
    assert outputs[0].value["valid_until"] == "2027-01-15T09:00:00Z"  # T + 1 h
    assert words(lane.block(T + 10 * MINUTE + 1)) == [("inadmissible", "unverified-inference")]


def test_lives_keep_the_windows_that_they_started_with(new_lane: Any) -> None:
    """What an assertion's evidence is worth does not change under it: W is one of its bounds."""
    longer = nothing_discarded(window=dict.fromkeys(CLASSES_1_0, 4 * HOUR))
    lane = new_lane(nothing_discarded(), T)
    lane.block(T, [emission(), observation(GREP), observation(GIT), ("policies", longer)])

    outputs = lane.block(T + MINUTE, [observation(GREP, at=T + MINUTE), observation(GIT, at=T + MINUTE)])

    assert words(outputs) == [("admitted", "renewed")]
    assert outputs[0].value["valid_until"] == "2027-01-15T09:01:00Z"  # T + 1 min + 1 h


def test_too_old_is_judged_by_the_smallest_max_validity_in_force_since_emission(new_lane: Any) -> None:
    """While a shorter one was in force, the memory of the emission may have ended; a longer one brings none back."""
    lane = new_lane(nothing_discarded(max_validity=10 * HOUR), T)
    lane.block(T, [("policies", nothing_discarded(max_validity=2 * HOUR))])
    lane.block(T + MINUTE, [("policies", nothing_discarded(max_validity=10 * HOUR))])
    lane.block(T + 2 * MINUTE)
    later = T + 3 * HOUR

    outputs = lane.block(
        later,
        [
            emission("before", at=T),
            emission("during", at=T + MINUTE),
            emission("after", at=T + 2 * MINUTE),
        ],
    )

    assert words(outputs) == [("dead-letters", "too-old")] * 2
    assert list(lane.state) == ["after"]


def test_no_change_of_policy_lets_a_repetition_in_as_new(new_lane: Any) -> None:
    """An emission dated ahead within the skew, under a policy that ends before that date, is remembered as well."""
    short, long = nothing_discarded(max_validity=2 * HOUR), nothing_discarded(max_validity=10 * HOUR)
    ahead = emission(at=T + 20 * SECOND, assertions=[])  # nothing of it lives on
    lane = new_lane(short, T)
    lane.block(T, [ahead, ("policies", long)])
    lane.block(T + SECOND)
    lane.block(T + 2 * HOUR + MINUTE)

    outputs = lane.block(T + 2 * HOUR + 2 * MINUTE, [ahead])

    counted = core.counters(lane.state)
    assert (words(outputs), counted.get("duplicate", 0)) in [([("dead-letters", "too-old")], 0), ([], 1)]


def test_passing_over_a_block_takes_policies_and_clocks_only(new_lane: Any) -> None:
    """Below the restore bound nothing else can still matter; the hash and the time are those of a full fold."""
    lane = new_lane(nothing_discarded(), T)
    lane.block(T + 1, [emission(), ("policies", nothing_discarded(min_confidence=0.5))])
    lane.block(T + 2, [emission("em-2")])
    state = core.new_state(0, 1)

    for block in lane.ledger:
        core.pass_over(state, block)

    assert (state.time, state.watermark, state.ran) == (lane.state.time, lane.state.watermark, lane.state.ran)
    assert (state.policy, state.policy_hash) == (lane.state.policy, lane.state.policy_hash)
    assert state.max_validities == lane.state.max_validities
    assert (list(state), state.live, dict(state.counters)) == ([], 0, {})


def test_the_fold_s_version_names_everything_that_decides() -> None:
    """Code, vocabulary, Unicode data, confusables and sanitation; it stands in every block."""
    number, *parts = core.FOLD_VERSION.split(" ")

    assert number.isdecimal()
    assert [part.partition("=")[0] for part in parts] == ["vocabulary", "unicode", "confusables", "sanitation"]
    assert all(part.partition("=")[2] for part in parts)
