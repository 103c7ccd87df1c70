"""How many statements and annotations an emission may have (docs/reference/policy.md, `max_annotations`)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from builders import GREP, assertion_value, emission_value, encoded, text_value
from fold_histories import pure

from sluice.codecs.records import MAX_ASSERTIONS
from sluice.streams.adjudication import validation
from sluice.streams.policy.policy import Admissibility, Policy
from sluice.streams.policy.policy_toml import PolicyError, load_policy

T = 1_800_000_000_000
sides = pytest.mark.parametrize("python_alone", [False, True])


def of(count: int, annotations: int, *, prose: bool) -> tuple[str, Any]:
    """An emission of so many statements; the first one has all annotations."""
    if prose:
        texts = ["It is so." + f" [{GREP}]" * (annotations if n == 0 else 0) for n in range(count)]
        return "emissions", text_value(text="\n\n".join(texts), at=T)
    claims = [
        assertion_value("ab", *([GREP] * (annotations if n == 0 else 0))) | {"span": {"chars": [n, n + 2]}}
        for n in range(count)
    ]
    return "emissions", emission_value(text="ab" * count, at=T) | {"assertions": claims}


def dead(new_lane: Any, most: int, *record: tuple[str, Any]) -> list[str]:
    policy = Policy(admissibility=Admissibility(max_annotations=most))
    outputs = new_lane(policy, T).block(T + 1, list(record))
    return [one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters"]


@sides
@pytest.mark.parametrize("prose", [False, True])
@pytest.mark.parametrize("most", [1, 3, 200, MAX_ASSERTIONS])
def test_one_bound_holds_for_both(new_lane: Any, most: int, *, prose: bool, python_alone: bool) -> None:
    """So many are taken, and one more of either is a dead letter, in both encodings."""
    with pure() if python_alone else nullcontext():
        assert dead(new_lane, most, of(most, most, prose=prose)) == []
        for refused in (of(most + 1, 1, prose=prose), of(1, most + 1, prose=prose)):
            assert dead(new_lane, most, refused) == ["too-many-annotations"]


@sides
@pytest.mark.parametrize("prose", [False, True])
def test_what_a_record_holds_is_refused_with_that_reason(new_lane: Any, *, prose: bool, python_alone: bool) -> None:
    """Eight records of nearly a megabyte, each with 36,000 annotations, in the least that an annotation takes."""
    count = 36_000 if prose else 24_000
    record = of(1, count, prose=prose)

    with pure() if python_alone else nullcontext():
        assert dead(new_lane, MAX_ASSERTIONS, *[record] * 8) == ["too-many-annotations"] * 8


@sides
@pytest.mark.parametrize("size", [0, 1, 9])
def test_attempts_are_bounded_together(new_lane: Any, monkeypatch: Any, size: int, *, python_alone: bool) -> None:
    """Attempt after attempt of a thousand assertions became a record on `verdicts` of 8 MB, which no broker takes."""
    most = 20
    monkeypatch.setattr(validation, "MAX_REMEMBERED", most * (size + 1))
    claims = [assertion_value("ab", GREP) | {"span": {"chars": [n, n + 2]}} for n in range(size)]
    with pure() if python_alone else nullcontext():
        lane = new_lane(Policy(), T)
        outputs = [
            lane.block(T + n, [("emissions", emission_value(text="ab" * 10, at=T, attempt=n) | {"assertions": claims})])
            for n in range(most + 1)
        ]
    reasons = [[one.headers.get("sluice-reason") for one in block if one.topic == "dead-letters"] for block in outputs]
    assert reasons == [[]] * most + [["too-many-annotations"]]


def chained(total: int) -> tuple[str, Any]:
    """An emission whose two chains have so many bytes together, of letters that NFKC makes ten times as long."""
    step = {"step": "retrieval", "metadata": {"\ufdfa" * 3: ""}}
    bare = len(encoded(step | {"source": ""})) + len("[]")
    chains = [[step | {"source": "a" * (half - bare)}] for half in (total // 2, total - total // 2)]
    claims = [assertion_value("ab", chain=chain) | {"span": {"chars": [n, n + 2]}} for n, chain in enumerate(chains)]
    return "emissions", emission_value(text="abab", at=T) | {"assertions": claims}


@sides
def test_chains_are_bounded_together(new_lane: Any, *, python_alone: bool) -> None:
    """A chain of 0.9 MB took 4 s to sanitise, and could become an output that no broker takes."""
    with pure() if python_alone else nullcontext():
        assert dead(new_lane, MAX_ASSERTIONS, chained(validation.MAX_CHAINED)) == []
        assert dead(new_lane, MAX_ASSERTIONS, chained(validation.MAX_CHAINED + 1)) == ["schema"]


@pytest.mark.parametrize("most", [0, -1, MAX_ASSERTIONS + 1, "many"])
def test_no_policy_allows_more_than_a_record_may_hold(most: Any) -> None:
    """The bound of a record stands in its schema, so that observers and consoles need no policy for it."""
    with pytest.raises(PolicyError, match="max_annotations"):
        load_policy(f"[admissibility]\nmax_annotations = {most!r}\n".replace("'", '"'))
