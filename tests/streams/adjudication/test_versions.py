"""Each block is folded by the version that its header names, whichever package folds it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from builders import GIT, GREP, assertion_value, emission, observation
from fold_histories import pure
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.blocks import Block, Header, seal
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import fold_layout, versions
from sluice.streams.adjudication.versions import FOLD_VERSIONS, fold_version, next_number, number_of, rules_of
from sluice.streams.policy.policy import Policy
from sluice.streams.sightings import binding

T = 1_790_000_000_000
SPAN = {"chars": [0, 6]}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version, under which everything is said to the outside."""
    monkeypatch.setitem(FOLD_VERSIONS, 6, FOLD_VERSIONS[5].replace("5", "6", 1))
    monkeypatch.setattr(core._Folding, "effect", lambda folding, *_: "external" if folding.version > 5 else "internal")


def unannotated(name: str) -> tuple[str, Any]:
    return emission(name, "It is.", at=T, assertions=[assertion_value("It is.")])


def grep_and_log(name: str) -> list[tuple[str, Any]]:
    return [observation(cls, emission_id=name, span=SPAN, at=T) for cls in (GREP, GIT)]


def test_what_ledgers_name_is_never_changed() -> None:
    """Blocks that are there name it; other data make another version, with a number of its own."""
    data = "vocabulary=1.0 unicode=18.0.0 confusables=18.0.0 sanitation=0.1+3"
    assert {5: f"5 {data}"} == FOLD_VERSIONS
    assert fold_version("crc32", "0a1b2c3d") == f"{FOLD_VERSIONS[5]} partitioner=crc32 privacy=0a1b2c3d"


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("python_alone", [False, True])
def test_each_block_is_folded_by_its_own_version(
    new_lane: Any, monkeypatch: pytest.MonkeyPatch, *, python_alone: bool
) -> None:
    """Two classes are enough under ours; the compiled core leaves a later version to Python, which asks for three."""
    with pure() if python_alone else nullcontext():
        lane = new_lane(Policy(), T)
        first = lane.block(T + 1, [unannotated("em-1"), *grep_and_log("em-1")])
        monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=6))
        second = lane.block(T + 2, [unannotated("em-2"), *grep_and_log("em-2")])
        state = core.new_state(0, 1)
        again = [output for block in lane.ledger for output in core.fold(state, block)]

    assert [(one.topic, one.value["k"]) for one in first] == [("admitted", 2)]
    assert second == []
    assert again == lane.outputs
    assert core.counters(state)["lives"] == 2
    assert fold_layout.core is None or versions.COMPILED == 5


@pytest.mark.usefixtures("later")
def test_what_came_under_one_version_lives_on_under_the_next(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assertion that waits when its ledger is raised keeps what it began with."""
    lane = new_lane(Policy(), T)
    lane.block(T + 1, [unannotated("em-1")])
    monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=6))

    (admitted,) = lane.block(T + 2, grep_and_log("em-1"))

    assert (admitted.topic, admitted.value["k"]) == ("admitted", 2)


def test_a_later_version_is_not_folded(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here can know its rules; the state is left as it was."""
    lane = new_lane(Policy(), T)
    monkeypatch.setattr(core, "FOLD_VERSION", "6 of somebody else")

    with pytest.raises(LaterVersionError, match="written by a later version of sluice"):
        lane.block(T + 1)

    assert lane.state.time == T


def test_other_data_are_not_folded_with(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number with other Unicode data would decide otherwise: an installation that was tampered with."""
    lane = new_lane(Policy(), T)
    monkeypatch.setattr(core, "FOLD_VERSION", FOLD_VERSIONS[5].replace("unicode=18", "unicode=17"))

    with pytest.raises(DoesNotHoldError, match="other data than this package decides by"):
        lane.block(T + 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_versions_that_no_release_wrote_are_not_folded(number: int) -> None:
    """Their numbers are never used again."""
    fold = FOLD_VERSIONS[5].replace("5", str(number), 1)

    with pytest.raises(DoesNotHoldError, match="does not fold ledgers of that version"):
        rules_of(fold)
    with pytest.raises(DoesNotHoldError):
        binding.fold(binding.new_bind_state(0, 1), block_of(fold))


def test_binding_refuses_the_same() -> None:
    """Its ledgers have the same versions."""
    with pytest.raises(LaterVersionError):
        binding.fold(binding.new_bind_state(0, 1), block_of("6 of somebody else"))


def block_of(fold: str) -> Block:
    """An empty block of this version."""
    header = Header(
        lane=0, lanes=1, height=0, prev="", time=T, watermark=T, policy="", fold=fold, sources=[], outputs=""
    )
    return seal(header, [])[0]


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_ledger_is_raised_and_never_lowered(ledger: int, raised: int) -> None:
    """Its own version, or a later one that operators raise it to; a new ledger begins with that, or the newest."""
    before = f"{ledger} x" if ledger else ""

    number = next_number(before, raised)

    assert number >= number_of(before)
    assert number in (ledger, raised) or (not ledger and not raised and number == max(FOLD_VERSIONS))
    assert next_number(f"{number} x", raised) == number
