"""Where several observers are needed [S §11.3]: what is kept is enough, beside an oracle that keeps everything.

The oracle is the definition of emission_state.py, by brute force: every choice of evidence, every instant.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from builders import observation_value, observed
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.records import Observation
from sluice.streams.adjudication import corroboration
from sluice.streams.adjudication.emission_state import (
    NUMBER_OF,
    AssertionState,
    EmissionState,
    Terms,
    Witness,
    carried_until,
    count,
    note,
    pack,
    unpack,
)
from sluice.streams.adjudication.emission_state import Attempt as Memory
from sluice.streams.policy.policy import DEFAULT_POLICY

CLASSES = ("substrate.git.log", "substrate.grep", "substrate.code.read")
WINDOWS = dict(zip(CLASSES, (30, 10, 20), strict=True))
EMITTED, HORIZON, LONGEST = 100, 8, 60


class Seen(NamedTuple):
    cls: str
    observer: str
    ts: int


SEEN = st.builds(Seen, st.sampled_from(CLASSES), st.sampled_from("abcde"), st.integers(60, 115))


def assertion_state(k: int, n: int) -> AssertionState:
    return AssertionState(
        emission_id="em-1",
        attempt=0,
        span_key="c:0-4",
        kind="assertion",
        effect="internal",
        k=k,
        text="text",
        annotated=False,
        grounded=False,
        confidence=None,
        chain=None,
        emitter=None,
        traceparent=None,
        emitted_at=EMITTED,
        arrival=EMITTED,
        terms=Terms(WINDOWS, HORIZON, 0, LONGEST, (n, n)),
        terms_number=0,
        order=1,
    )


def observation_of(one: Seen) -> Observation:
    name = f"{one.cls}:{one.observer}:{one.ts}"
    about = {"span": {"chars": (0, 4)}, "observation_id": name, "observer": one.observer}
    return observed(observation_value(one.cls, at=one.ts, **about))


def is_fresh(one: Seen) -> bool:
    return EMITTED - WINDOWS[one.cls] <= one.ts <= EMITTED + HORIZON


def holds(evidence: list[Seen], k: int, n: int) -> bool:
    """Whether some choice of the evidence has k distinct classes and n distinct observers, one choice after another."""
    return any(
        len({one.cls for one in chosen}) >= k and len({one.observer for one in chosen}) >= n
        for size in range(len(evidence) + 1)
        for chosen in combinations(evidence, size)
    )


def last_instant(evidence: list[Seen], k: int, n: int) -> int:
    """The last instant at which the evidence that is then still within its window holds; -1 where it never does."""
    if not holds(evidence, k, n):
        return -1
    return max(
        (
            now
            for now in range(EMITTED + LONGEST + 1)
            if holds([one for one in evidence if now <= one.ts + WINDOWS[one.cls]], k, n)
        ),
        default=-1,
    )


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(SEEN, max_size=7), st.integers(1, 3), st.integers(1, 4))
def test_admission_and_validity_are_those_of_the_definition(heard: list[Seen], k: int, n: int) -> None:
    """Of all the evidence that counts, though only a few of it is kept."""
    one = assertion_state(k, n)
    for each in heard:
        corroboration.corroborate(DEFAULT_POLICY, one, observation_of(each), each.ts, each.cls)
    fresh = [each for each in heard if is_fresh(each)]

    assert corroboration.is_enough(one) == holds(fresh, k, n)
    assert corroboration.validity(one) == last_instant(fresh, k, n)
    assert corroboration.missing_observers(one) == max(0, n - len({each.observer for each in fresh})) * (n > 1)


@given(st.lists(SEEN, max_size=12), st.integers(2, 4), st.randoms(use_true_random=False))
def test_the_order_in_which_evidence_comes_does_not_matter(heard: list[Seen], n: int, random: object) -> None:
    """As many observers, for as long, whoever is heard first; and the same ones are named."""
    shuffled = list(heard)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found: list[set[tuple[int, str, int]]] = []
    for order in (heard, shuffled):
        kept: list[Witness] = []
        for each in order:
            note(kept, Witness(NUMBER_OF[each.cls], each.observer, each.ts, b""), n)
        found.append({(one.number, one.observer, one.ts) for one in kept})

    assert found[0] == found[1]


@given(st.lists(SEEN, max_size=30), st.integers(2, 4))
def test_what_is_kept_is_bounded_and_enough(heard: list[Seen], n: int) -> None:
    """At most n observers a class; the n-th largest end is that of all evidence."""
    kept: list[Witness] = []
    for each in heard:
        note(kept, Witness(NUMBER_OF[each.cls], each.observer, each.ts, b""), n)
    ends = {
        name: max(each.ts + WINDOWS[each.cls] for each in heard if each.observer == name)
        for name in {each.observer for each in heard}
    }
    windows = {NUMBER_OF[cls]: window for cls, window in WINDOWS.items()}

    assert all(sum(one.number == NUMBER_OF[cls] for one in kept) <= n for cls in CLASSES)
    assert carried_until(kept, windows.__getitem__, n) == (sorted(ends.values())[-n] if len(ends) >= n else -1)
    assert min(count(kept), n) == min(len(ends), n)


def test_an_older_observation_by_another_observer_is_news() -> None:
    """Though it makes its class no newer; the same observer's is none."""
    one = assertion_state(1, 2)
    reported = [
        corroboration.corroborate(DEFAULT_POLICY, one, observation_of(seen), seen.ts, seen.cls)
        for seen in (
            Seen("substrate.grep", "a", 100),
            Seen("substrate.grep", "b", 95),
            Seen("substrate.grep", "b", 94),
            Seen("substrate.grep", "a", 100),
        )
    ]

    assert reported == [None, None, "not-newer", "not-newer"]
    assert one.fresh == 1


def test_nothing_is_kept_where_one_observer_will_do() -> None:
    """So the default costs no memory."""
    one = assertion_state(2, 1)
    for name in "abc":
        corroboration.corroborate(
            DEFAULT_POLICY, one, observation_of(Seen("substrate.grep", name, 100)), 100, "substrate.grep"
        )

    assert one.witnesses == []


def test_witnesses_outlive_their_rest() -> None:
    """They are packed and unpacked with the life that they are of, and so stand in snapshots."""
    one = assertion_state(2, 2)
    for name in "ab":
        seen = Seen("substrate.grep", name, 100)
        corroboration.corroborate(DEFAULT_POLICY, one, observation_of(seen), seen.ts, seen.cls)
    terms = [one.bounds]
    known = EmissionState([Memory(number=0, emitted_at=EMITTED, digest=b"", order=0, assertions=[one])])

    again = unpack("em-1", pack(known), terms).attempts[0].assertions[0]

    assert [(each.observer, each.ts, each.id) for each in again.witnesses] == [
        ("a", 100, b"\x02substrate.grep:a:100"),
        ("b", 100, b"\x02substrate.grep:b:100"),
    ]
    assert again.min_observers == 2
