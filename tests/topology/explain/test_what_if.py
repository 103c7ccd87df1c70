"""`what-if`: the past under another policy, held against plain folds under both."""

from __future__ import annotations

import asyncio
import csv
import io
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import fold_laws as laws
import pytest
from exported import (
    BASE,
    KEY,
    ExportedLane,
    H,
    M,
    S,
    emission_after,
    explanation_of,
    lane_after,
    observation_after,
    reviewed_claim,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from search import examples

from sluice.codecs.errors import DoesNotHoldError
from sluice.streams.policy.policy import DEFAULT_POLICY, Floor, PerEffect, Policy
from sluice.topology.audit import what_if as what_if_compare
from sluice.topology.audit.what_if import Comparison, Decided, Row, what_if
from sluice.topology.audit.what_if_view import COLUMNS, lines, report, write_csv
from sluice.topology.engine.export_files import FolderLogs

CODE, GIT, GREP = "code.read", "git.log", "grep"
EVIDENCE = [observation_after(S, CODE), observation_after(S, GIT)]
ADMITTED = [(0, [emission_after()]), (2 * S, EVIDENCE)]
END = (21 * M, [])
Sides = tuple[tuple[str, str | None], tuple[str, str | None]]


def stricter(**rules: Any) -> Policy:
    """The reference policy with other rules."""
    return replace(DEFAULT_POLICY, admissibility=replace(DEFAULT_POLICY.admissibility, **rules))


K3 = stricter(k=Floor(internal=3, external=3))


async def compared(
    lane: ExportedLane, policy: Policy, folder: Path, since: int | None = None, until: int | None = None
) -> Comparison:
    """What another policy would have decided otherwise."""
    comparison = Comparison(since, until)
    await what_if(FolderLogs(lane.export(folder / "export")), lane.lane, policy, comparison)
    return comparison


def sides(comparison: Comparison) -> dict[tuple[str, int, str], Sides]:
    """What changed: both decisions of each assertion."""
    return {
        (row.emission_id, row.attempt, row.span_key): (
            (row.old.status, row.old.reason),
            (row.new.status, row.new.reason),
        )
        for row in comparison.changes
    }


# ---------------------------------------------------------------- examples


async def test_what_had_too_few_classes_is_found(tmp_path: Path):
    """With one more class wanted, exactly those change that had no more than before."""
    third = [emission_after(0, "em-2"), *(observation_after(S, name, emission_id="em-2") for name in (CODE, GIT, GREP))]
    lane = lane_after((0, [emission_after(), *third[:1]]), (2 * S, [*EVIDENCE, *third[1:]]), END)

    comparison = await compared(lane, K3, tmp_path)

    assert sides(comparison) == {("em-1", 0, KEY): (("admitted", None), ("below-floor", "below-floor"))}
    row = comparison.changes[0]
    assert (row.old.k, row.new.k, row.old.classes, row.new.classes) == (2, 3, *2 * (row.old.classes,))
    assert comparison.counts == {("admitted", "below-floor"): 1, ("admitted", "admitted"): 1}


@pytest.mark.parametrize("disposition", ["discard", "review", "re-emit", "refuse"])
async def test_what_is_done_about_a_decision_is_none(tmp_path: Path, disposition: Any):
    """Another disposition alone changes nothing: not even discards, which leave no record, are told otherwise."""
    one = PerEffect(internal=disposition, external=disposition)
    other = replace(DEFAULT_POLICY, disposition=dict.fromkeys(DEFAULT_POLICY.disposition, one))
    lane = lane_after(
        *ADMITTED, (3 * S, [emission_after(0, "em-2"), emission_after(0, "em-3", confidence=0.1)]), (30 * M, [])
    )

    comparison = await compared(lane, other, tmp_path)

    assert (comparison.changes, comparison.counts.total()) == ([], 3)
    assert comparison.counts["unverified-inference", "unverified-inference"] == 2


async def test_a_discarded_assertion_cannot_be_reviewed(tmp_path: Path):
    """It is concealed before the next review, also within its block: what is revealed must not live on."""
    lane = lane_after(
        (0, [emission_after(provenance=[{"substrate_class": "x.y"}]), reviewed_claim("admit")]),
        (S, [reviewed_claim("admit")]),
    )

    comparison = await compared(lane, K3, tmp_path)

    assert comparison.counts == {("unverified-inference", "unverified-inference"): 1}


async def test_what_would_not_have_been_taken_in_is_named(tmp_path: Path):
    """With the dead letter's reason in the place of that of a decision."""
    comparison = await compared(lane_after((2 * H, [emission_after()])), stricter(max_validity=H), tmp_path)

    assert sides(comparison) == {("em-1", 0, KEY): (("pending", None), ("dead-letter", "too-old"))}


async def test_the_new_policy_stands_for_all_of_the_ledgers(tmp_path: Path):
    """It comes with the first block; what came into force later is left out, and what it changed is told."""
    lane = lane_after(*ADMITTED, (3 * S, [("policies", K3)]), (4 * S, [emission_after(4 * S, "em-2")]))
    lane.block(BASE + 5 * S, [observation_after(4 * S, name, emission_id="em-2") for name in (CODE, GIT)])

    comparison = await compared(lane, DEFAULT_POLICY, tmp_path)

    assert sides(comparison) == {("em-2", 0, KEY): (("pending", None), ("admitted", None))}
    assert comparison.policies >= {DEFAULT_POLICY.hash, K3.hash}


async def test_since_and_until_choose_by_when_an_assertion_came(tmp_path: Path):
    """Each is followed to its end, however late that is; both bounds are included."""
    said = [(at * M, [emission_after(at * M, f"em-{at}")]) for at in range(4)]
    lane = lane_after(*said, (30 * M, []))

    some = await compared(lane, K3, tmp_path / "a", since=BASE + M, until=BASE + 2 * M)
    all_ = await compared(lane, K3, tmp_path / "b")

    assert some.counts == {("unverified-inference", "unverified-inference"): 2}
    assert all_.counts == {("unverified-inference", "unverified-inference"): 4}


async def test_nothing_is_read_once_nothing_can_change(tmp_path: Path):
    """After `until`, and after the last assertion that came before it, the ledger needs no more folding."""
    lane = lane_after(
        (0, [emission_after(provenance=[{"substrate_class": "x.y"}])]), *((n * H, []) for n in range(1, 9))
    )
    read: list[int] = []
    comparison = Comparison(until=BASE + M)

    await what_if(FolderLogs(lane.export(tmp_path)), 0, K3, comparison, lambda offset, *_: read.append(offset))

    assert comparison.counts.total() == 1
    assert len(read) < len(lane.blocks)


async def test_more_may_be_due_than_one_block_fires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Empty blocks are put in before records are taken, as a lane would: evidence comes too late for all of them."""
    for module in ("fold", "state"):
        monkeypatch.setattr(f"sluice.streams.adjudication.{module}.MAX_TIMERS", 1)
    lane = lane_after((0, [emission_after(0, f"em-{n}") for n in range(4)]))
    late = [observation_after(M, name, emission_id=f"em-{n}") for n in range(4) for name in (CODE, GIT)]
    lane.block(BASE + 6 * M, late)

    comparison = await compared(lane, stricter(horizon=5 * M, late_horizon=1), tmp_path)

    assert comparison.counts == {("admitted", "unverified-inference"): 4}


async def test_a_broken_chain_is_not_compared(tmp_path: Path):
    """What follows would be about another history."""
    lane = lane_after(*ADMITTED)
    del lane.blocks[1]

    with pytest.raises(DoesNotHoldError, match="the chain of blocks is broken"):
        await compared(lane, K3, tmp_path)


async def test_an_empty_ledger_has_no_assertions(tmp_path: Path):
    """Nothing to compare is no error."""
    lane = lane_after()
    lane.blocks.clear()

    assert not (await compared(lane, K3, tmp_path)).counts


# ---------------------------------------------------------------- laws

_SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def folded(policy: Policy, history: list[laws.Block]) -> ExportedLane:
    """A lane after a history."""
    lane = ExportedLane(policy, laws.BASE - laws.U)
    for time, watermark, records in history:
        lane.block(time, records, watermark)
    return lane


@_SETTINGS
@given(laws.worlds())
def test_the_ledgers_own_policy_changes_nothing(world: tuple[Policy, list[laws.Block]]):
    """Whatever the history: the same rules decide the same."""
    with tempfile.TemporaryDirectory() as folder:
        comparison = asyncio.run(compared(folded(*world), world[0], Path(folder)))

    assert comparison.changes == []
    assert all(old == new for old, new in comparison.counts)


@_SETTINGS
@given(laws.worlds(), laws.worlds())
def test_both_sides_decide_as_plain_folds_would(
    world: tuple[Policy, list[laws.Block]], other: tuple[Policy, list[laws.Block]]
):
    """The old side as the lane did, the new one as a lane would have that had the new policy from the beginning."""
    (old, history), new = world, other[0]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(what_if_compare, "SWEEP_AT", 2)
        comparison = asyncio.run(compared(folded(old, history), new, Path(folder, "a")))
        stories = [asyncio.run(_last_words(folded(rules, history), Path(folder))) for rules in (old, new)]
    # An attempt that a side has forgotten can come again: then there is more than one assertion of that name.
    once = {
        key
        for key in stories[0].keys() | stories[1].keys()
        if len({at for story in stories for at, _ in story.get(key, ())}) == 1
    }
    wanted = {key: tuple(_last(story.get(key)) for story in stories) for key in once}

    found = {key: both for key, both in sides(comparison).items() if key in once}
    assert {key: _statuses(both) for key, both in found.items()} == {
        key: _statuses(both) for key, both in wanted.items() if both[0] != both[1]
    }
    if once == stories[0].keys() | stories[1].keys():
        assert comparison.counts == Counter(_statuses(both) for both in wanted.values())


async def _last_words(lane: ExportedLane, folder: Path) -> dict[Any, list[Any]]:
    """The last decision about each assertion that a lane has taken in, with when it came."""
    found: dict[Any, list[Any]] = {}
    for emission_id in ("em-0", "em-1", "em-2"):
        if not any(event.key == emission_id.encode() for *_, event in lane.inputs):
            continue
        explanation = await explanation_of(lane, folder, emission_id)
        for one in explanation.assertions:
            words = [
                verdict
                for verdict in one.verdicts
                if verdict.topic in (UNSET, "admitted", "inadmissible") and verdict.basis != "policy"
            ]
            last = ("pending", None)
            if words:
                status, reason = words[-1].status, words[-1].reason
                last = ("admitted" if status == "renewed" else status, None if reason is UNSET else reason)
            claimed = next(event for event in one.events if event.what == "claimed")
            found.setdefault((emission_id, one.attempt, one.span_key), []).append((claimed.height, last))
    return found


def _last(found: list[Any] | None) -> tuple[str, str | None]:
    return ("dead-letter", None) if found is None else found[-1][1]


def _statuses(both: Any) -> tuple[Any, Any]:
    """Both statuses, with the reasons of decisions; which of several dead letters was the first is left open."""
    return both[0][0], both[1][0]


# ---------------------------------------------------------------- k raised by one


@_SETTINGS
@given(st.lists(st.sets(st.sampled_from((CODE, GIT, GREP, "fs.mtime"))), max_size=12))
def test_with_k_raised_by_one_exactly_those_change_that_had_fewer(seen: list[set[str]]):
    """Exactly k classes are no longer enough; fewer never were, and more still are."""
    lane = lane_after((0, [emission_after(0, f"em-{n}") for n in range(len(seen))]))
    lane.block(
        BASE + 2 * S,
        [observation_after(S, name, emission_id=f"em-{n}") for n, names in enumerate(seen) for name in sorted(names)],
    )
    lane.block(BASE + 5 * M)
    with tempfile.TemporaryDirectory() as folder:
        comparison = asyncio.run(compared(lane, K3, Path(folder)))

    assert {row.emission_id for row in comparison.changes} == {f"em-{n}" for n, one in enumerate(seen) if len(one) == 2}


# ---------------------------------------------------------------- what is shown


def changed() -> Comparison:
    """A comparison with one change."""
    comparison = Comparison()
    old = Decided("admitted", None, 2, ("substrate.code.read", "substrate.git.log"))
    new = Decided("below-floor", "below-floor", 3, ("substrate.code.read", "substrate.git.log"))
    comparison.changes.append(Row("em-1", 1, KEY, "2026-11-21T09:00:00Z", old, new))
    comparison.counts.update({("admitted", "below-floor"): 1, ("admitted", "admitted"): 4})
    comparison.policies.add("sha256:old")
    return comparison


def test_the_report_says_what_cannot_be_known():
    """In every form: what people did because of the old decisions is part of the past."""
    found = report(changed(), "sha256:new", [0, 1], "somewhere")

    assert (found["@type"], found["@version"], found["policies"]) == ("sluice:WhatIf", "1.0", ["sha256:old"])
    assert (found["assertions"], found["changed"]) == (5, 1)
    assert found["changes"][0]["new"] == {
        "status": "below-floor",
        "reason": "below-floor",
        "k": 3,
        "classes": ["substrate.code.read", "substrate.git.log"],
    }
    assert "re-emissions and reviews come as they came" in found["limits"]
    assert list(lines(changed()))[-1] == found["limits"]


def test_the_csv_has_a_line_for_each_change():
    """With both decisions, and their classes separated by spaces."""
    file = io.StringIO()
    write_csv(changed(), file)

    (row,) = csv.DictReader(io.StringIO(file.getvalue()))
    assert tuple(row) == COLUMNS
    assert (row["old_status"], row["new_status"], row["new_k"]) == ("admitted", "below-floor", "3")
    assert row["old_classes"] == "substrate.code.read substrate.git.log"


def test_lines_count_before_they_list():
    """How many of how many, then every pair of statuses, then each change."""
    found = list(lines(changed()))

    assert found[0] == "5 assertions, of which 1 would have been decided otherwise"
    assert found[3] == (
        f"em-1#{KEY} attempt 1  admitted (2 of 2: code.read, git.log) -> below-floor (2 of 3: code.read, git.log)"
    )
