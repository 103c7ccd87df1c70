"""What counts as evidence: distinct classes, fresh at emission, by whoever may speak; and for how long it carries.

Times are small numbers here: an assertion emitted at 1000, W = 100 for grep and 300 for git, a horizon of 50.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from builders import observation_value, observed
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sluice.codecs.records import LookedAt, Observation
from sluice.streams.adjudication import corroboration
from sluice.streams.adjudication.check_tally import NotCountedReason
from sluice.streams.adjudication.emission_state import NUMBER_OF, AssertionState, Declared, Terms, short
from sluice.streams.policy.policy import Admissibility, Emitters, Judging, Observer, Policy, Trust

GIT, GREP, CODE = "substrate.git.log", "substrate.grep", "substrate.code.read"
EMITTED, HORIZON = 1000, 50
WINDOWS = {GIT: 300, GREP: 100, CODE: 100}
OBSERVED = Policy()


def trusting(trust: Trust, **fields: Any) -> Policy:
    return Policy(admissibility=Admissibility(trust=trust, **fields))


class Claim(NamedTuple):
    """An annotation as its emitter wrote it."""

    cls: str
    observation_id: str | None
    ts: int | None


def assertion_state(*claims: Claim, k: int = 2, emitter: str | None = "bot", **fields: Any) -> AssertionState:
    ids = [short(name) for name in dict.fromkeys(one.observation_id for one in claims) if name is not None]
    declared = [
        Declared(NUMBER_OF[one.cls], -1 if one.observation_id is None else ids.index(short(one.observation_id)), one.ts)
        for one in claims
    ]
    return AssertionState(
        emission_id="em-1",
        attempt=0,
        span_key="c:0-4",
        kind="assertion",
        effect="internal",
        k=k,
        text="text",
        ids=ids,
        declared=declared,
        annotated=bool(declared),
        grounded=False,
        confidence=None,
        chain=None,
        emitter=emitter,
        traceparent=None,
        emitted_at=EMITTED,
        arrival=EMITTED,
        terms=Terms(WINDOWS, HORIZON, 0, 1000),
        terms_number=0,
        order=1,
        **fields,
    )


def saw(ts: int, cls: str = GREP, observation_id: str = "o1", **fields: Any) -> Observation:
    return observed(observation_value(cls, span={"chars": (0, 4)}, at=ts, observation_id=observation_id, **fields))


def corroborate(one: AssertionState, *seen: Observation, policy: Policy = OBSERVED) -> list[bool]:
    """Whether each counts."""
    return [why is None for why in whys(one, *seen, policy=policy)]


def whys(one: AssertionState, *seen: Observation, policy: Policy = OBSERVED) -> list[NotCountedReason | None]:
    """Why each does not count."""
    return [
        corroboration.corroborate(policy, one, observed, corroboration.observed_at(observed), observed.substrate_class)
        for observed in seen
    ]


def classes(one: AssertionState) -> list[str]:
    """The classes that count."""
    return sorted(seen.substrate_class for seen in one.seen if seen.ts >= 0)


# ---------------------------------------------------------------- counting


@pytest.mark.parametrize(("ts", "counts"), [(899, False), (900, True), (1000, True), (1050, True), (1051, False)])
def test_evidence_is_fresh_from_w_before_to_horizon_after_emission(ts: int, counts: bool) -> None:
    """Both ends are included [S §3]."""
    one = assertion_state()

    assert corroborate(one, saw(ts)) == [counts]
    assert classes(one) == [GREP] * counts
    assert corroboration.is_fresh(one, 100, ts) == counts


def test_only_what_is_too_old_has_aged() -> None:
    """Evidence from after the horizon is not old: it does not make an assertion one that aged out."""
    late, old = assertion_state(), assertion_state()

    corroborate(late, saw(1051))
    corroborate(old, saw(899))

    assert (late.aged, old.aged) == (False, True)


def test_two_observations_of_one_class_count_once() -> None:
    """Whoever made them [S §7]; the newest is the one that is named."""
    one = assertion_state()

    corroborate(one, saw(1000), saw(1010, observer="observer-2", observation_id="o2"))

    assert classes(one) == [GREP]
    assert one.fresh == 1
    assert [(seen.ts, seen.observer, one.id_of(seen)) for seen in one.seen] == [(1010, "observer-2", "o2")]


def test_what_is_not_newer_is_no_news() -> None:
    """The same instant again, or an earlier one, changes nothing that counts."""
    one = assertion_state()

    assert corroborate(one, saw(1010), saw(1010, observer="other"), saw(990)) == [
        True,
        False,
        False,
    ]
    assert one.seen[0].observer == "observer-1"


def test_after_admission_newer_evidence_counts_however_late_it_comes() -> None:
    """For renewal the horizon does not matter; what lies before t - W never counts."""
    one = assertion_state(valid_until=1300)

    assert corroborate(one, saw(5000), saw(899, GIT), saw(699, GIT)) == [True, True, False]


# ---------------------------------------------------------------- trust


def test_in_declared_mode_observers_add_nothing() -> None:
    """The count is over the annotations; what observers saw still holds contradictions off."""
    one = assertion_state()

    assert corroborate(one, saw(1000), policy=trusting("declared")) == [False]
    assert classes(one) == []
    assert corroboration.contradict(one, GREP, 999) == "outweighed"


def test_declarations_count_where_their_time_is_within_w() -> None:
    """The memo's plain count [S §7]: without `ts` none, once per class, the newest of a class."""
    one = assertion_state(
        Claim(GREP, "o1", 900),
        Claim(GREP, None, 950),
        Claim(GIT, None, None),
        Claim(CODE, None, 899),
    )

    corroboration.count_declarations(one)

    assert classes(one) == [GREP]
    assert one.fresh == 1
    assert [seen.ts for seen in one.seen if seen.ts >= 0] == [950]
    assert one.aged


@pytest.mark.parametrize(("ts", "counts", "aged"), [(1050, True, False), (1051, False, False), (899, False, True)])
def test_a_declared_time_is_fresh_within_the_same_bounds(ts: int, counts: bool, aged: bool) -> None:
    """A time beyond the horizon does not count, and has not aged either."""
    one = assertion_state(Claim(GREP, None, ts))

    corroboration.count_declarations(one)

    assert (bool(classes(one)), one.aged) == (counts, aged)


@pytest.mark.parametrize(
    ("declared", "counts"),
    [
        ([], False),
        ([Claim(GIT, None, None)], False),
        ([Claim(GREP, None, None)], True),
        ([Claim(GREP, "o1", None)], True),
        ([Claim(GREP, "o2", None)], False),
        ([Claim(GREP, "o2", None), Claim(GREP, "o1", None)], True),
    ],
)
def test_in_both_mode_a_class_counts_when_declared_and_observed(declared: list[Claim], counts: bool) -> None:
    """With the same observation id where one was declared; no declared time is needed."""
    one = assertion_state(*declared)

    assert corroborate(one, saw(1000), policy=trusting("both")) == [counts]


@pytest.mark.parametrize(
    ("declared", "observed", "cls", "same"),
    [
        ("o1", "o1", GREP, True),
        ("o1", "o2", GREP, False),
        ("abcdef1", "abcdef1234", GREP, False),
        ("abcdef1", "abcdef1234", GIT, True),
        ("abcdef1234", "abcdef1", GIT, True),
        ("ABCDEF1", "abcdef1234", GIT, True),
        ("abcdef", "abcdef1234", GIT, False),
        ("abcdef2", "abcdef1234", GIT, False),
    ],
)
def test_of_a_commit_seven_digits_will_do(declared: str, observed: str, cls: str, same: bool) -> None:
    """Every other id names its observation exactly (observing.md)."""
    assert corroboration.same_observation(declared, observed, cls) == same


# ---------------------------------------------------------------- who may speak


def test_evidence_below_the_confidence_floor_may_not_count() -> None:
    """[C §7]: the floor itself is enough."""
    policy = trusting("observed", min_confidence=0.5)

    assert corroboration.exclusion_reason(policy, assertion_state(), saw(1000, confidence=0.49)) == "low-confidence"
    assert corroboration.exclusion_reason(policy, assertion_state(), saw(1000, confidence=0.5)) is None


@pytest.mark.parametrize(("emitter", "counts"), [("bot", False), ("other", True), (None, True)])
def test_a_substrate_that_the_emitter_can_write_to_is_no_evidence(emitter: str | None, counts: bool) -> None:
    """[S §3]: only for that emitter, and only from that observer."""
    policy = Policy(observers={"observer-1": Observer(writable_by=["bot"])})
    one = assertion_state(emitter=emitter)

    assert corroboration.exclusion_reason(policy, one, saw(1000)) == (None if counts else "writable-by-emitter")
    assert corroboration.exclusion_reason(policy, one, saw(1000, observer="observer-2")) is None


@pytest.mark.parametrize(
    ("emitter", "owner", "counts"),
    [
        ("bot", "Example Ltd", True),
        ("bot", "Acme", False),
        ("bot", " ACME\u00a0", False),
        ("bot", "\uff21cme", False),
        ("bot", None, False),
        ("other", "Acme", True),
        ("other", None, True),
        (None, "Acme", True),
    ],
)
def test_state_of_the_emitters_vendor_is_no_evidence(emitter: str | None, owner: str | None, counts: bool) -> None:
    """[S §4]: of a service, owned "by a party other than the inference system vendor"; who owns it has to be said."""
    policy = Policy(emitters=Emitters(vendor={"bot": "Acme"}))
    demanding = Policy(emitters=Emitters(vendor={"bot": "Acme"}, require_vendor=True))
    unnamed = Policy(emitters=Emitters(require_vendor=True))
    looked = None if owner is None else LookedAt(owner=owner)
    one = assertion_state(emitter=emitter)

    for name in ("substrate.mcp.brief", "1.0.substrate.mcp.brief"):
        for outcome in ("corroborates", "contradicts"):
            seen = saw(1000, name, outcome=outcome, looked_at=looked)
            assert corroboration.exclusion_reason(policy, one, seen) == (None if counts else "owned-by-vendor")
            assert corroboration.exclusion_reason(Policy(), one, seen) is None
            demanded = None if counts and emitter == "bot" else "owned-by-vendor"
            assert corroboration.exclusion_reason(demanding, one, seen) == demanded
            assert corroboration.exclusion_reason(unnamed, one, seen) == "owned-by-vendor"
    assert corroboration.exclusion_reason(policy, one, saw(1000, GREP, looked_at=looked)) is None
    assert corroboration.exclusion_reason(unnamed, one, saw(1000, GREP, looked_at=looked)) is None


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        (GREP, GREP),
        ("1.0." + GREP, GREP),
        ("9.0." + GREP, None),
        ("substrate.tarot", None),
        ("unverified-inference", None),
        ("decayed-to-uncertainty", None),
    ],
)
def test_an_observation_speaks_for_a_class_of_the_vocabulary_only(name: str, cls: str | None) -> None:
    """Bare or anchored; terminals never count, and unknown classes are not guessed at."""
    assert corroboration.class_of(saw(1000, name)) == cls


# ---------------------------------------------------------------- negatives


@pytest.mark.parametrize(("ts", "holds"), [(899, False), (900, True), (9000, True)])
def test_a_contradiction_counts_unless_it_is_older_than_w_before_emission(ts: int, holds: bool) -> None:
    """No later bound: what is found untrue is untrue however long after."""
    assert (corroboration.contradict(assertion_state(), GREP, ts) is None) == holds


def test_a_contradiction_is_held_against_corroborations_of_its_class() -> None:
    """One that is newer stands against it, whoever saw it and in whatever order they came; equal times do not."""
    one = assertion_state()
    corroborate(one, saw(1030), saw(1010))

    assert corroboration.contradict(one, GREP, 1029) == "outweighed"
    assert corroboration.contradict(one, GREP, 1030) is None
    assert corroboration.contradict(one, GIT, 1000) is None


def test_corroboration_that_does_not_count_stands_against_a_contradiction_all_the_same() -> None:
    """It was seen, if too late to admit by: a stalled observer's old news does not undo it."""
    one = assertion_state()
    corroborate(one, saw(2000))

    assert classes(one) == []
    assert corroboration.contradict(one, GREP, 1999) == "outweighed"


def test_an_unknown_observation_unmasks_only_what_was_declared() -> None:
    """The class and the id must be those of an annotation [S §11.1]."""
    one = assertion_state(Claim(GREP, "o1", None), Claim(CODE, None, None))

    assert corroboration.unmask(one, saw(1000), GREP, 1000) is None
    assert corroboration.unmask(one, saw(1000, observation_id="o2"), GREP, 1000) == "not-declared"
    assert corroboration.unmask(one, saw(1000), GIT, 1000) == "not-declared"
    assert corroboration.unmask(one, saw(1000), CODE, 1000) == "not-declared"
    assert corroboration.unmask(one, saw(1000), GREP, 899) == "too-old"


def test_a_true_annotation_does_not_cover_for_an_invented_one() -> None:
    """Only corroboration of the same id since then stands against an `unknown-observation`."""
    one = assertion_state(Claim(GREP, "o1", None), Claim(GREP, "o2", None))
    corroborate(one, saw(1030, observation_id="o1"), saw(1010, observation_id="o1"))

    assert corroboration.unmask(one, saw(1029, observation_id="o1"), GREP, 1029) == "outweighed"
    assert corroboration.unmask(one, saw(1030, observation_id="o1"), GREP, 1030) is None
    assert corroboration.unmask(one, saw(1029, observation_id="o2"), GREP, 1029) is None


# ---------------------------------------------------------------- validity


def test_validity_is_the_kth_largest_of_newest_time_and_w() -> None:
    """With k = 2 the second latest end counts: until then two classes are fresh."""
    one = assertion_state(k=2)
    corroborate(one, saw(1000, GREP), saw(950, GIT), saw(1040, CODE))

    assert corroboration.validity(one) == 1140  # ends at 1100, 1250, 1140


def test_below_k_nothing_carries() -> None:
    """An assertion without enough classes has no validity at all."""
    one = assertion_state(k=2)
    corroborate(one, saw(1000, GREP))

    assert corroboration.validity(one) == -1


def test_no_validity_goes_beyond_the_longest() -> None:
    """`arrival + max_validity`, however new the evidence."""
    one = assertion_state(k=1, valid_until=1100)
    corroborate(one, saw(9000))

    assert corroboration.validity(one) == one.longest


@given(
    st.lists(st.tuples(st.sampled_from([GIT, GREP, CODE]), st.integers(600, 1100)), max_size=8),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_evidence_comes_does_not_matter(
    evidence: list[tuple[str, int]], k: int, shuffling: Any
) -> None:
    """Classes and validity depend on what was seen, not on which of it was heard first."""
    shuffled = list(evidence)
    shuffling.shuffle(shuffled)
    one, other = assertion_state(k=k), assertion_state(k=k)

    corroborate(one, *(saw(ts, cls) for cls, ts in evidence))
    corroborate(other, *(saw(ts, cls) for cls, ts in shuffled))

    newest: dict[str, int] = {}
    for cls, ts in evidence:
        if EMITTED - WINDOWS[cls] <= ts <= EMITTED + HORIZON:
            newest[cls] = max(ts, newest.get(cls, ts))
    ends = sorted(ts + WINDOWS[cls] for cls, ts in newest.items())
    assert classes(one) == classes(other) == sorted(newest)
    assert one.fresh == other.fresh == len(newest)
    assert corroboration.validity(one) == corroboration.validity(other)
    assert corroboration.validity(one) == (min(ends[-k], one.longest) if len(ends) >= k else -1)


# ---------------------------------------------------------------- why it does not count


@pytest.mark.parametrize(
    ("trust", "ts", "cls", "why"),
    [
        ("observed", 899, GREP, "too-old"),
        ("observed", 1051, GREP, "too-late"),
        ("observed", 1000, GREP, None),
        ("observed", 990, CODE, "not-newer"),
        ("both", 899, GREP, "too-old"),
        ("both", 1051, GREP, "too-late"),
        ("both", 1000, GREP, "not-declared"),
        ("both", 990, CODE, "not-newer"),
        ("declared", 899, GREP, "declarations-only"),
    ],
)
def test_a_corroboration_that_does_not_count_says_why(trust: Trust, ts: int, cls: str, why: str | None) -> None:
    """Age before what was declared; nothing of an undeclared one makes the assertion aged."""
    one = assertion_state(Claim(CODE, None, None))
    corroborate(one, saw(1000, CODE))

    assert whys(one, saw(ts, cls), policy=trusting(trust)) == [why]
    assert one.aged == (why == "too-old" and trust == "observed")


@pytest.mark.parametrize("cls", [CODE, GREP])
def test_of_what_is_older_and_was_not_declared_it_is_said_that_it_was_not_declared(cls: str) -> None:
    """It would not be news either, but that is not why."""
    one = assertion_state(Claim(GIT, None, None))
    corroborate(one, saw(1000, cls))

    assert whys(one, saw(990, cls), policy=trusting("both")) == ["not-declared"]


def test_of_several_rules_against_it_the_last_that_would_have_to_give_way_is_named() -> None:
    """A substrate that the emitter can write to before missing checks, before the judge, before the confidence."""
    said: dict[str, Any] = {"confidence": 0.1, "judge": "model"}
    policy = Policy(
        admissibility=Admissibility(min_confidence=0.5),
        judging=Judging(require_checks=True),
        observers={"observer-1": Observer(writable_by=["bot"])},
    )
    strange = saw(1000, observer="observer-2", **said)
    checked = saw(1000, observer="observer-2", verified=[0], **said)

    assert (
        corroboration.exclusion_reason(policy, assertion_state(emitter="bot"), saw(1000, **said))
        == "writable-by-emitter"
    )
    assert corroboration.exclusion_reason(policy, assertion_state(emitter="bot"), strange) == "checks-required"
    assert corroboration.exclusion_reason(policy, assertion_state(emitter="bot"), checked) == "judge-not-accepted"
    trusted = replace(policy, judging=Judging(require_checks=True, accept=["model"]))
    assert corroboration.exclusion_reason(trusted, assertion_state(emitter="bot"), checked) == "low-confidence"
