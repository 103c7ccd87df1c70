"""The laws of the fold, held against random histories; beside it stands a naive fold, written anew (fold_laws.py).

The naive one has no timers, no table and no incremental counting: at each block it looks at every assertion that it
has ever met, and counts the evidence of its whole history anew. Histories live in a small world (three emissions, two
attempts, two spans, four classes) on a lattice of times a millisecond around the bounds of the policy, so that every
bound is met on both sides.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from typing import Any

import msgspec
import pytest
from fold_laws import (
    BASE,
    Block,
    U,
    World,
    decisions_of,
    differences,
    run,
    smallest,
    worlds,
)
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from search import SEED, examples

from sluice.codecs.records import OUTPUTS
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import snapshot
from sluice.streams.adjudication import state as table
from sluice.streams.policy.policy import (
    Policy,
    PrivacyRules,
)

SEARCH = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SEARCH
@given(worlds())
def test_every_assertion_fares_as_the_design_says(new_lane: Any, world: tuple[Policy, list[Block]]) -> None:
    """Statuses, reasons, revisions, bases, dispositions, classes, valid_until, dead letters; every input's one fate."""
    assert differences(new_lane, *world) is None


@pytest.mark.parametrize("seed", range(60))
def test_every_assertion_of_a_long_history_fares_as_the_design_says(new_lane: Any, seed: int) -> None:
    """One seed, one run: longer and denser histories than a search draws, made small where they fail."""
    world = World(random.Random(SEED * 1_000 + seed).choice)
    for _ in range(10):
        policy, history = world.policy(), world.history(20)
        if differences(new_lane, policy, history) is not None:
            history = smallest(history, lambda shorter: differences(new_lane, policy, shorter))  # noqa: B023
            real, expected = differences(new_lane, policy, history) or (None, None)
            assert real == expected, (policy.admissibility, history)


# ---------------------------------------------------------------- laws


@pytest.fixture(params=range(15))
def world(request: pytest.FixtureRequest) -> World:
    """A seeded world: every law is held against ten histories of each."""
    return World(random.Random(1000 + request.param).choice)


def test_the_same_ledger_gives_the_same_bytes(new_lane: Any, world: World) -> None:
    """Folding the blocks again, into a new state, gives every output byte for byte, and the same hashes."""
    for _ in range(10):
        lane, _ = run(new_lane, world.policy(), world.history(12))

        state = core.new_state(0, 1)
        again = [output for block in lane.ledger for output in core.fold(state, block)]

        assert again == lane.outputs
        assert core.counters(state) == core.counters(lane.state)


def test_what_lies_packed_decides_as_what_lies_open(
    new_lane: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much of the state is kept unpacked between blocks is nobody's business but the table's."""
    for _ in range(5):
        policy, history = world.policy(), world.history(15)
        monkeypatch.setattr(table, "OPEN", 1000)
        lane, _ = run(new_lane, policy, history)
        monkeypatch.setattr(table, "OPEN", 0)
        other, _ = run(new_lane, policy, history)

        assert other.outputs == lane.outputs
        assert list(snapshot.dump(other.state)) == list(snapshot.dump(lane.state))


def test_bytes_do_not_depend_on_how_this_process_hashes() -> None:
    """Two interpreters with different hash seeds write the same outputs."""
    world = World(random.Random(9).choice)
    lines = [
        {"at": time, "topic": topic, "value": value}
        for time, _, records in world.history(60)
        for topic, value in records
    ]
    given = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)

    first, second = (
        subprocess.run(
            [sys.executable, "-c", "from sluice.topology.cli import main; main()", "fold", "--until", "1900000000000"],
            input=given,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        ).stdout
        for seed in ("1", "2")
    )

    assert first == second
    assert first.count(b"sluice:AdmittedAssertion") > 3


def test_every_output_names_its_place_in_the_ledger(new_lane: Any, world: World) -> None:
    """Partition, height, the block's hash, and the place among the block's outputs, dead letters counted."""
    for _ in range(10):
        lane = new_lane(world.policy(), BASE - U)
        for time, watermark, records in world.history(12):
            for index, output in enumerate(lane.block(time, records, watermark)):
                if output.topic != "dead-letters":
                    block = lane.ledger[-1]
                    place = {"partition": 0, "height": block.header.height, "index": index, "block": block.hash}
                    assert output.value["ledger"] == place


SCHEMAS = {
    "admitted": "admitted",
    "inadmissible": "inadmissible",
    "review-requests": "review-request",
    "re-emission-requests": "re-emission-request",
    "verdicts": "verdicts",
}


def test_every_output_satisfies_its_schema(new_lane: Any, world: World) -> None:
    """What the fold writes is what `sluice schema` promises."""
    validators = {topic: Draft202012Validator(msgspec.json.schema(OUTPUTS[name])) for topic, name in SCHEMAS.items()}
    _, outputs = run(new_lane, world.policy(), world.history(30))

    for output in outputs:
        if output.topic != "dead-letters":
            validators[output.topic].validate(output.value)


@pytest.mark.parametrize("ids", ["clear", "omitted"])
def test_every_record_is_what_msgspec_makes_of_its_struct(new_lane: Any, world: World, ids: Any) -> None:
    """Byte for byte, though it is written without that struct (decision_json.py)."""
    lane = new_lane(replace(world.policy(), privacy=PrivacyRules(observation_ids=ids)), BASE - U)
    for time, watermark, records in world.history(40):
        lane.block(time, records, watermark)

    for output in lane.outputs:
        if output.topic != "dead-letters":
            struct = OUTPUTS[SCHEMAS[output.topic]]
            assert msgspec.json.encode(msgspec.json.decode(output.value, type=struct)) == output.value


def apart_from(output: Any, *fields: str) -> tuple[Any, ...]:
    """An output without its place in the ledger and some fields; of a dead letter, its bytes and reason."""
    if output.topic == "dead-letters":
        return output.topic, output.key, output.value, output.headers["sluice-reason"]
    value = {name: item for name, item in output.value.items() if name not in ("ledger", *fields)}
    headers = {name: item for name, item in output.headers.items() if not (fields and name == "ce_id")}
    return output.topic, output.key, value, headers


def about(name: str, value: dict[str, Any]) -> bool:
    return value.get("subject", value)["emission_id"] == name


def test_unrelated_emissions_do_not_influence_each_other(new_lane: Any, world: World) -> None:
    """With all other emissions left out of the history, one has the same outputs, places in the ledger apart."""
    for _ in range(10):
        policy, history = world.policy(), world.history(15)
        _, all_outputs = run(new_lane, policy, history)
        for name in ("em-0", "em-1", "em-2"):
            alone = [
                (time, watermark, [record for record in records if about(name, record[1])])
                for time, watermark, records in history
            ]

            _, outputs = run(new_lane, policy, alone)

            of_one = [output for output in all_outputs if output.key.partition("#")[0] == name]
            assert [apart_from(one) for one in outputs] == [apart_from(one) for one in of_one]


def settled(outputs: list[Any]) -> dict[Any, list[tuple[Any, ...]]]:
    """The outputs by key, attempt and topic, `renewed` coalesced: of one instant only what was said last is kept.

    Revisions count the words, and so do ids; a `renewed` that is told later may name more of the evidence.
    """
    found: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    last = {(one.key, one.headers["ce_time"]): place for place, one in enumerate(outputs) if one.topic == "admitted"}
    for place, one in enumerate(outputs):
        if one.topic == "dead-letters":
            found["dead letters"].append(apart_from(one))
        elif one.value["status"] != "renewed":
            found[one.key, one.value["attempt"], one.topic].append(apart_from(one, "id", "revision"))
        elif last[one.key, one.headers["ce_time"]] == place:
            said = (one.headers["ce_time"], "renewed", one.value["valid_until"], one.value["basis"])
            found[one.key, one.value["attempt"], one.topic].append(said)
    return found


def test_splitting_a_block_changes_only_places_and_how_often_renewed_is_reported(new_lane: Any, world: World) -> None:
    """A block's records may as well stand in several blocks at the same time."""
    for _ in range(10):
        policy, history = world.policy(), world.history(15)
        split = [(time, watermark, [record]) for time, watermark, records in history for record in records]
        empty = [(time, watermark, []) for time, watermark, records in history if not records]

        lane, whole = run(new_lane, policy, history)
        other, parts = run(new_lane, policy, sorted(split + empty, key=lambda block: block[:2]))

        assert settled(parts) == settled(whole)
        assert core.counters(other.state) == core.counters(lane.state)


def test_empty_blocks_in_between_change_only_when_decays_are_reported(new_lane: Any, world: World) -> None:
    """A lane that wakes at every moment says the same, word by word for each key, as one that sleeps in between.

    The review window begins when its request is written: here it is longer than the history. Nothing is told on
    `verdicts`, for which an attempt is remembered to the end of the block in which it ended.
    """
    for _ in range(10):
        policy = world.policy()
        rules = replace(policy.admissibility, review_window=1000 * U)
        policy = replace(policy, admissibility=rules, verdicts="none")
        history = world.history(15, lag=False)
        times = [BASE + n * U + beside for n in range(80) for beside in (-1, 0, 1, U // 2)]
        between = [(time, time, []) for time in times if history[0][0] < time < history[-1][0]]
        awake = sorted([*history, *between], key=lambda block: block[0])
        end = [(history[-1][0] + 900 * U,) * 2 + ([],)]

        lane, asleep = run(new_lane, policy, history + end)
        other, outputs = run(new_lane, policy, awake + end)

        assert decisions_of(outputs) == decisions_of(asleep)
        assert core.counters(other.state) == core.counters(lane.state)


def test_nothing_stays_after_everything_has_expired(new_lane: Any, world: World) -> None:
    """Memory is bounded by what is live: no attempts, lives, waiting evidence or timers are left, and none is due."""
    for _ in range(10):
        history = world.history(15)
        lane, _ = run(new_lane, world.policy(), history)

        lane.block(history[-1][0] + 1000 * U)
        lane.block(history[-1][0] + 2000 * U)  # review windows that began in the block before
        lane.block(history[-1][0] + 2001 * U)  # attempts whose end was told in the block before

        state = lane.state
        assert (list(state), state.asides, state.live) == ([], 0, 0)
        assert (len(state.pending), len(state.expiring)) == (0, 0)
        assert core.next_due(state) == (None, None)


def test_a_restored_state_is_the_uninterrupted_one_at_every_cut(new_lane: Any, world: World) -> None:
    """Dumped after any block and loaded, the rest of the history gives the same bytes, and the same state again.

    The policy changes on the way, so that lives with the terms of another one are among those that are restored.
    """
    for _ in range(4):
        history = world.history(12)
        changes = {place: [("policies", world.policy())] for place in (3, 7) if place < len(history)}
        blocks = [(at, mark, [*records, *changes.get(n, [])]) for n, (at, mark, records) in enumerate(history)]
        blocks += [(blocks[-1][0] + add * U,) * 2 + ([],) for add in (30, 1000, 2000)]
        whole, policy = None, world.policy()
        for cut in range(len(blocks) + 1):
            lane = new_lane(policy, blocks[0][0])
            for place, (at, mark, records) in enumerate(blocks):
                if place == cut:
                    lane.state = snapshot.load(list(snapshot.dump(lane.state)))
                lane.block(at, records, mark)
            end = (lane.outputs, [block.hash for block in lane.ledger], list(snapshot.dump(lane.state)))
            whole = whole or end
            assert end == whole
