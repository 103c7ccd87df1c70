"""Each block is folded by the version that its header names, whichever package folds it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from builders import GIT, GREP, assertion_value, dispositions, emission, observation
from fold_histories import pure
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.blocks import Block, Header, seal
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.streams.adjudication import compiled_fold, versions
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication.versions import FOLD_VERSIONS, fold_version, next_number, number_of, rules_of
from sluice.streams.policy.policy import Policy
from sluice.streams.sightings import binding

T = 1_790_000_000_000
SPAN = {"chars": [0, 6]}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version, under which everything is said to the outside."""
    monkeypatch.setitem(FOLD_VERSIONS, 5, FOLD_VERSIONS[1].replace("1", "5", 1))
    monkeypatch.setattr(core._Folding, "effect", lambda folding, *_: "external" if folding.version >= 5 else "internal")


def unannotated(name: str) -> tuple[str, Any]:
    return emission(name, "It is.", at=T, assertions=[assertion_value("It is.")])


def grep_and_log(name: str) -> list[tuple[str, Any]]:
    return [observation(cls, emission_id=name, span=SPAN, at=T) for cls in (GREP, GIT)]


def test_what_ledgers_name_is_never_changed() -> None:
    """Blocks that are there name it; other data make another version, with a number of its own."""
    data = "vocabulary=1.0 unicode=18.0.0 confusables=18.0.0 sanitation=0.1"
    assert {number: f"{number} {data}" for number in (1, 2, 3, 4)} == FOLD_VERSIONS
    assert fold_version("crc32", "0a1b2c3d") == f"{FOLD_VERSIONS[4]} partitioner=crc32 privacy=0a1b2c3d"


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("python_alone", [False, True])
def test_each_block_is_folded_by_its_own_version(
    new_lane: Any, monkeypatch: pytest.MonkeyPatch, *, python_alone: bool
) -> None:
    """Two classes are enough under ours; the compiled core leaves a later version to Python, which asks for three."""
    with pure() if python_alone else nullcontext():
        lane = new_lane(Policy(), T)
        first = lane.block(T + 1, [unannotated("em-1"), *grep_and_log("em-1")])
        monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=5))
        second = lane.block(T + 2, [unannotated("em-2"), *grep_and_log("em-2")])
        state = core.new_state(0, 1)
        again = [output for block in lane.ledger for output in core.fold(state, block)]

    assert [(one.topic, one.value["k"]) for one in first] == [("admitted", 2)]
    assert second == []
    assert again == lane.outputs
    assert core.counters(state)["lives"] == 2
    assert compiled_fold.core is None or versions.COMPILED == 4


@pytest.mark.usefixtures("later")
def test_what_came_under_one_version_lives_on_under_the_next(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assertion that waits when its ledger is raised keeps what it began with."""
    lane = new_lane(Policy(), T)
    lane.block(T + 1, [unannotated("em-1")])
    monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=5))

    (admitted,) = lane.block(T + 2, grep_and_log("em-1"))

    assert (admitted.topic, admitted.value["k"]) == ("admitted", 2)


@pytest.mark.parametrize(
    ("written", "vocabulary", "first", "now"),
    [
        ("decayed-to-uncertainty", "1.0", "decayed-to-uncertainty", "decayed-to-uncertainty"),
        ("decayed-to-uncertainty", "7.0", "decayed-to-uncertainty", "unverified-inference"),
        ("7.0.decayed-to-uncertainty", "1.0", "unverified-inference", "unverified-inference"),
        ("DECAYED-TO-UNCERTAINTY", "1.0", "unverified-inference", "decayed-to-uncertainty"),
        ("1.0.Decayed-to-Uncertainty", "7.0", "unverified-inference", "decayed-to-uncertainty"),
    ],
)
def test_terminals_are_read_as_their_version_read_them(
    new_lane: Any, monkeypatch: pytest.MonkeyPatch, written: str, vocabulary: str, first: str, now: str
) -> None:
    """Ledgers of versions 1 and 2 knew bare terminals of any vocabulary, and in lower case only [S §4]."""
    review = dispositions("review")
    for number, expected in ((1, first), (2, first), (3, now)):
        monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=number))
        lane = new_lane(Policy(disposition=review), T)
        topic, value = unannotated("em-1")
        value["assertions"][0]["provenance"] = [{"substrate_class": written}]
        said = lane.block(T + 1, [(topic, value | {"vocabulary": vocabulary})])
        assert {one.value["status"] for one in said} == {expected}


def test_a_later_version_is_not_folded(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here can know its rules; the state is left as it was."""
    lane = new_lane(Policy(), T)
    monkeypatch.setattr(core, "FOLD_VERSION", "5 of somebody else")

    with pytest.raises(LaterVersionError, match="written by a later version of sluice"):
        lane.block(T + 1)

    assert lane.state.time == T


def test_other_data_are_not_folded_with(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number with other Unicode data would decide otherwise: an installation that was tampered with."""
    lane = new_lane(Policy(), T)
    monkeypatch.setattr(core, "FOLD_VERSION", FOLD_VERSIONS[3].replace("unicode=18", "unicode=17"))

    with pytest.raises(DoesNotHoldError, match="other data than this package decides by"):
        lane.block(T + 1)


@pytest.mark.usefixtures("later")
def test_a_version_that_was_dropped_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks lie beyond every restore bound; the package that wrote them still folds them."""
    monkeypatch.delitem(FOLD_VERSIONS, 1)

    with pytest.raises(DoesNotHoldError, match="does not have any more"):
        rules_of("1 vocabulary=1.0")


def test_binding_refuses_the_same() -> None:
    """Its ledgers have the same versions."""
    with pytest.raises(LaterVersionError):
        binding.fold(binding.new_state(0, 1), block_of("5 of somebody else"))


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


@pytest.mark.parametrize("python_alone", [False, True])
@pytest.mark.parametrize("name", ["a%3Ab", "a%2Fb"])
@pytest.mark.parametrize(("version", "refused"), [(3, 0), (4, 3)])
def test_needless_encodings_are_refused_from_version_4_on(
    new_lane: Any, monkeypatch: pytest.MonkeyPatch, version: int, refused: int, name: str, *, python_alone: bool
) -> None:
    """One name, one spelling; an older ledger folds as it did, also what waited when it was raised."""
    monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=version))
    _, grep = grep_and_log(name)
    with pure() if python_alone else nullcontext():
        lane = new_lane(Policy(), T)
        outputs = lane.block(T + 1, [grep, grep, unannotated(name)])
        found = [one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters"]
        assert found == ["schema"] * refused
        assert (name in lane.state) == (refused == 0)
        plain = lane.block(T + 2, [unannotated("a:b/c%3Cd%25"), *grep_and_log("a:b/c%3Cd%25")])
        assert [one.topic for one in plain if one.topic in ("admitted", "dead-letters")] == ["admitted"]


def test_what_waited_before_the_rule_about_names_still_counts(new_lane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken in when it came."""
    monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=3))
    lane = new_lane(Policy(), T)
    waiting = [(topic, value | {"observer": "me%2Fyou"}) for topic, value in grep_and_log("em-1")]
    lane.block(T + 1, waiting)
    monkeypatch.setattr(core, "FOLD_VERSION", fold_version(number=4))
    assert [one.topic for one in lane.block(T + 2, [unannotated("em-1")]) if one.topic == "admitted"] == ["admitted"]


def test_rules_that_the_core_knows_by_one_flag_are_of_one_version():
    """`binds_subjects` stands for all three in the compiled core (native/folding.c, native/timers.c)."""
    assert versions.SUBJECTS == versions.REVIEWS == versions.FILES
