"""What classes saw instead of evidence, and which observations did not count: the compiled core keeps both while an
assertion is pending, and they are Python's byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fold_histories import (
    CHECKS,
    CLASSES,
    COMMIT,
    COMMITS,
    LINES,
    MINUTE,
    PATHS,
    SHA,
    Folded,
    Raw,
    Step,
    T,
    handed_to_python,
    same,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from native_records import LATER, VERIFIED, WIDE, checked, raw_observation
from search import examples

from sluice.codecs.identifiers import digest_of
from sluice.streams.adjudication import fold_layout
from sluice.streams.judging.checks import HeldReason
from sluice.streams.judging.verify import AbsentReason
from sluice.streams.policy.policy import (
    Admissibility,
    Floor,
    Judging,
    Observer,
    PerEffect,
    Policy,
)

REVIEWED = dict.fromkeys(Policy().disposition, PerEffect(internal="review", external="review"))
DISCARDED = dict.fromkeys(Policy().disposition, PerEffect(internal="discard", external="discard"))
MISSED: dict[str, Any] = {
    "reason": "check-fails",
    "missing": ["MAX", "1000"],
    "checks": [{"check": CHECKS[0], "holds": False, "reason": "differs", "path": "a/b.py", "lines": [3, 9]}],
}


def spoken(cls: str, **more: Any) -> Raw:
    return "observations", *raw_observation(1, cls, **more)


def asked(found: Folded) -> dict[str, Any]:
    return next(json.loads(one.value) for some in found.outputs for one in some if one.topic == "review-requests")


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("checks", [None, [CHECKS[0]]])
@pytest.mark.parametrize(
    ("seen", "looks", "why"),
    [
        ({"outcome": "absent", "detail": MISSED}, ["absent"], ["absent"]),
        ({"outcome": "absent"}, ["absent"], ["absent"]),
        ({"outcome": "unavailable"}, ["unavailable"], ["unavailable"]),
        ({"outcome": "terms-present", "detail": {"terms": ["MAX"]}}, ["terms-present"], ["terms-present"]),
        ({"confidence": 0.1}, [], ["low-confidence"]),
        ({"outcome": "absent", "confidence": 0.1}, [], ["absent"]),
        ({"outcome": "terms-present", "confidence": 0.1}, [], ["terms-present"]),
        ({**VERIFIED, "coverage": "none"}, [], ["check-not-bound"]),
        ({**VERIFIED, "refuted": [0]}, [], ["contradicts-itself"]),
        ({**VERIFIED, "verified": [7]}, ["corroborates"], ["verifies-nothing"]),
        ({"observed_at": T - 99_999 * MINUTE}, [], ["too-old"]),
        ({"observer": "captured"}, [], ["writable-by-emitter"]),
        ({"subject": {"emission_id": "em-1", "span": {"chars": [0, 5]}, "digest": SHA}}, [], ["other-record"]),
    ],
)
def test_what_bears_nothing_out_is_the_cores(
    early: bool, checks: list[str] | None, seen: dict[str, Any], looks: list[str], why: list[str]
) -> None:
    """Before and behind the emission, of declared checks and of words: none of it reaches Python, but another record's
    that waited, what tells a check of an assertion without its own, and the end of what no observer has looked at."""
    waits = early and seen.get("outcome") != "unavailable"
    records: list[Raw] = [("emissions", *checked(1, checks, "`MAX` equals 1000.")), spoken(CLASSES[1], **seen)]
    steps: list[Step] = [(T, T, list(records[::-1] if early else records)), *LATER]
    rules = Policy(
        admissibility=Admissibility(min_confidence=0.5),
        observers={"captured": Observer(writable_by=["bot"])},
        disposition=REVIEWED,
    )

    found = same(steps, rules)

    request = asked(found)
    is_lost = early and not waits
    # The word alone gives no check, so nothing of it is missed.
    kept = [] if checks is None and looks == ["corroborates"] else looks
    assert [one["outcome"] for one in request["looks"]] == ([] if is_lost else kept)
    assert [one["why"] for one in request["not_counted"]] == ([] if is_lost else _without_checks(seen, checks, why))
    if fold_layout.core is not None:
        tells = checks is None and ("verified" in seen or seen.get("detail") == MISSED)
        handed = set(handed_to_python(steps, rules))
        assert ("take_in" in handed) == (tells or (early and why == ["other-record"]))
        assert tells or ("end_waiting" in handed) == (why[0] in UNSEEN or seen.get("confidence") == 0.1)


UNSEEN = ("unavailable", "low-confidence", "writable-by-emitter", "other-record")
"""Why an observation does not count whose observer has looked at nothing, or does not count at all."""


def _without_checks(seen: dict[str, Any], checks: list[str] | None, why: list[str]) -> list[str]:
    return ["other-checks"] if checks is None and "verified" in seen else why


def test_what_a_look_tells_is_in_the_request() -> None:
    """Why, which words, and of each check whether it is refuted, why and where; of the class's newest look."""
    older, newer = MISSED, {**MISSED, "missing": [" ", "x" * 99, 7, "é", ""], "reason": "path-missing"}
    records: list[Raw] = [
        ("emissions", *checked(1, [CHECKS[0]])),
        spoken(CLASSES[1], outcome="absent", detail=newer, refuted=[0], observed_at=T + 1),
        spoken(CLASSES[1], outcome="absent", detail=older),
    ]

    request = asked(same([(T + 1, T, list(records)), *LATER], Policy(disposition=REVIEWED)))

    assert [one["reason"] for one in request["looks"]] == ["path-missing"]
    assert request["checks"][0]["refuted"] == [CLASSES[1]]
    frame = request["reviewing"]["_untrusted_text"]
    assert frame["missing_terms"] == ["x" * 80, "é"]
    assert frame["asked"][0]["seen"] == [{"substrate_class": CLASSES[1], "path": "a/b.py", "lines": [3, 9]}]


@pytest.mark.parametrize("listed", [0, 3, 7])
def test_strangers_hide_no_listed_observer(listed: int) -> None:
    """Five observations of strangers are kept and five of listed observers, whoever comes first."""
    rules = Policy(disposition=REVIEWED, observers={f"listed-{number}": Observer() for number in range(listed)})
    records: list[Raw] = [("emissions", *checked(1, None))]
    records += [spoken(CLASSES[1], outcome="absent", observer=f"stranger-{number}") for number in range(9)]
    records += [spoken(CLASSES[1], outcome="absent", observer=f"listed-{number}") for number in range(listed)]
    steps: list[Step] = [(T, T, list(records)), *LATER]

    told = [one["observer"] for one in asked(same(steps, rules))["not_counted"]]

    assert told == sorted(
        [f"listed-{number}" for number in range(min(listed, 5))] + [f"stranger-{number}" for number in range(5)]
    )
    if fold_layout.core is not None:
        assert handed_to_python(steps, rules) == []


@pytest.mark.parametrize("outcome", ["absent", "terms-present", "corroborates"])
def test_a_policy_that_reviews_no_more_keeps_alike(outcome: str) -> None:
    """What was begun for a reviewer stays with its assertion; a later policy may keep none, or again."""
    about = {"emission_id": "em-1", "span": {"chars": [0, 5]}, "digest": SHA}
    seen = [
        spoken(CLASSES[1], outcome=outcome, observed_at=T + at, confidence=0.1 * at, subject=subject)
        for at, subject in enumerate((about, {"emission_id": "em-1", "span": {"chars": [0, 5]}}))
    ]
    floor = Admissibility(min_confidence=0.5)
    kept, rules = ([Policy(disposition=given, admissibility=floor)] for given in (REVIEWED, DISCARDED))
    steps: list[Step] = [
        (T, T, [("emissions", *checked(1, [CHECKS[0]])), *rules]),
        (T + 1, T, [*seen, *kept]),
        (T + 2, T, []),
        *LATER,
    ]

    found = same(steps, Policy(disposition=REVIEWED, admissibility=floor))

    newer = {"corroborates": "low-confidence"}
    assert [one["why"] for one in asked(found)["not_counted"]] == [newer.get(outcome, outcome)]


def _one_of(*closed: Any) -> Any:
    return st.one_of(st.sampled_from(closed), st.none(), st.integers(0, 3), st.just("ignore all of it"), st.text())


_CHECK = st.one_of(
    st.none(),
    st.just("x"),
    st.fixed_dictionaries(
        {},
        optional={
            "check": st.sampled_from([CHECKS[0], CHECKS[0], CHECKS[1], "no check", None]),
            "holds": st.sampled_from([True, False, None, 1, "true"]),
            "reason": _one_of(*HeldReason.__args__),
            "path": st.sampled_from([*PATHS, None, "a" * 200, "a" * 201]),
            "lines": st.sampled_from([*LINES, None]),
            "commit": st.sampled_from([*COMMITS, None, COMMIT]),
        },
    ),
)
_DETAIL = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "checks": st.one_of(st.lists(_CHECK, max_size=22), st.sampled_from([None, {}, "x"])),
            "missing": st.one_of(
                st.lists(
                    st.one_of(
                        st.text(max_size=100), st.sampled_from(["MAX", " ", "\t\x1c", "\u3000", "é" * 99, 1, None])
                    ),
                    max_size=25,
                ),
                st.sampled_from([None, {}, "x"]),
            ),
            "reason": _one_of(*AbsentReason.__args__),
        },
    ),
)
_SEEN = st.fixed_dictionaries(
    {
        "substrate_class": st.sampled_from(CLASSES),
        "observed_at": st.sampled_from([T, T, T + 1000, T - 1000, T - 61 * MINUTE, T + 99 * MINUTE]),
        "outcome": st.sampled_from(
            [*["absent", "terms-present", "unavailable", "corroborates"] * 2, "contradicts", "unknown-observation"]
        ),
        "observer": st.sampled_from(["observer-1", *(f"stranger-{n}" for n in range(7)), "captured", "narrow"]),
        "detail": _DETAIL,
    },
    optional={
        "verified": st.one_of(
            st.none(), st.sampled_from([[0], [0, 1], [1], list[int]()]), st.lists(st.integers(0, 19))
        ),
        "refuted": st.one_of(st.none(), st.just([0]), st.lists(st.integers(0, 19), max_size=3)),
        "coverage": st.sampled_from(["whole", "part", "none", None]),
        "confidence": st.sampled_from([0.1, 0.9]),
        "tier": st.sampled_from(["identity-bound", "pseudonymous"]),
        "digest": st.sampled_from(["own", SHA]),
    },
)


@settings(WIDE, max_examples=examples(150))
@given(
    checks=st.one_of(st.none(), st.lists(st.sampled_from(CHECKS), min_size=1, max_size=3)),
    text=st.sampled_from(["First other, and more.", "`MAX` equals 1000."]),
    dispositions=st.lists(st.sampled_from(["review", "re-emit", "discard"]), min_size=8, max_size=8),
    attempts=st.integers(1, 3),
    accept=st.sampled_from([["checks"], ["checks"], list[str]()]),
    early=st.lists(_SEEN, max_size=4),
    late=st.lists(_SEEN, max_size=12),
)
def test_what_is_kept_of_a_pending_assertion_is_the_same(
    checks: list[str] | None,
    text: str,
    dispositions: list[Any],
    attempts: int,
    accept: list[str],
    early: list[dict[str, Any]],
    late: list[dict[str, Any]],
) -> None:
    """Honest and hostile, before and behind the emission; in the state, the requests and the counters."""
    span = {"chars": [0, len(text)]}
    made = checked(1, checks, text, span=span)
    ends = list(Policy().disposition)
    rules = Policy(
        admissibility=Admissibility(k=Floor(internal=2), min_confidence=0.5, max_attempts=attempts),
        judging=Judging(accept=accept),
        observers={"captured": Observer(writable_by=["bot"]), "narrow": Observer(classes=["substrate.grep"])}
        | {"observer-1": Observer()},
        disposition={
            end: PerEffect(internal=dispositions[place % 8], external=dispositions[place % 8])
            for place, end in enumerate(ends)
        },
    )

    def observed(seen: list[dict[str, Any]]) -> list[Any]:
        found: list[Any] = []
        for one in seen:
            given = dict(one)
            digest = given.pop("digest", None)
            named = {} if digest is None else {"digest": digest_of(made[1]) if digest == "own" else digest}
            found.append(spoken(CLASSES[0], **given, subject={"emission_id": "em-1", "span": span, **named}))
        return found

    same([(T, T, [*observed(early), ("emissions", *made)]), (T + MINUTE, T, observed(late)), *LATER], rules)
