"""Which checks of an assertion stand, by example: one life, evidence put in by hand, no ledger."""

from __future__ import annotations

from typing import Any

import pytest

from sluice.codecs.identifiers import Span
from sluice.codecs.records import LookedAt, Observation, Subject
from sluice.streams.adjudication import check_tally, corroboration
from sluice.streams.adjudication.emission_state import NUMBER_OF, PART, AssertionState, CheckTerms, Covered, Terms
from sluice.streams.policy.policy import Admissibility, Judging, Policy

GIT, GREP, CODE, MCP = "substrate.git.log", "substrate.grep", "substrate.code.read", "substrate.mcp.brief"
WINDOWS = dict.fromkeys(NUMBER_OF, 1000)
TWO = ["equals(a, 1, path=x.py)", "calls(f, g, path=x.py)"]
POLICY = Policy(admissibility=Admissibility())


def assertion_state(
    checks: list[str] | None = TWO, terms: CheckTerms | None = None, effect: str = "internal", k: int = 2
) -> AssertionState:
    bounds = Terms(WINDOWS, 500, 0, 10_000, (1, 1), terms or CheckTerms())
    made = AssertionState(
        emission_id="em-1",
        attempt=0,
        emitted_at=1000,
        terms=bounds,
        span_key="c:0-9",
        kind="assertion",
        effect=effect,  # type: ignore[arg-type]
        k=k,
        text="It is so, and that is so as well.",
        annotated=True,
        grounded=False,
        confidence=None,
        chain=None,
        emitter=None,
        traceparent=None,
        terms_number=0,
        arrival=1000,
        order=1,
        ids=[],
        declared=[],
        seen=[],
        witnesses=[],
    )
    check_tally.begin(made, checks, bounds)
    return made


def saw(cls: str, ts: int = 1000, verified: list[int] | None = None, **fields: Any) -> Observation:
    return Observation(
        observation_id=f"seen:{cls}:{ts}",
        substrate_class=cls,
        observed_at=ts,
        observer=fields.pop("observer", "observer-1"),
        subject=Subject("em-1", Span(chars=(0, 9))),
        outcome=fields.pop("outcome", "corroborates"),
        verified=verified,
        **{"coverage": "whole" if verified is not None else None, **fields},
    )


def take(one: AssertionState, *observations: Observation, policy: Policy = POLICY) -> list[bool]:
    """Whether each observation counted and was news."""
    found: list[bool] = []
    for observation in observations:
        cls, ts = corroboration.class_of(observation), corroboration.observed_at(observation)
        assert cls is not None
        why = corroboration.exclusion_reason(policy, one, observation)
        found.append(why is None and corroboration.corroborate(policy, one, observation, ts, cls) is None)
    return found


def test_every_check_needs_k_classes_of_its_own():
    """Two classes that verify one check each admit nothing together."""
    one = assertion_state()
    take(one, saw(GREP, verified=[0]), saw(CODE, verified=[1]))
    assert not check_tally.stands(one)
    assert check_tally.missing(one) == 1

    take(one, saw(GIT, verified=[0, 1]))
    assert check_tally.stands(one)


def test_one_class_may_verify_its_checks_at_two_places():
    """Two annotations of a class are two looks; their checks add up, and the class counts once for each."""
    one = assertion_state()
    take(one, saw(CODE, 1000, [0]), saw(CODE, 1000, [1]), saw(GIT, 1000, [0, 1]))

    assert check_tally.stands(one)
    assert check_tally.classes_by_check(one) == [2, 2]
    assert one.fresh == 2


def test_a_check_is_carried_by_its_own_evidence():
    """Newer evidence of another check does not make an older one last longer."""
    one = assertion_state()
    take(one, saw(CODE, 1000, [0, 1]), saw(GIT, 1000, [0, 1]))
    assert corroboration.validity(one) == 2000

    take(one, saw(CODE, 1400, [0]), saw(GIT, 1400, [0]))
    assert corroboration.validity(one) == 2000

    take(one, saw(CODE, 1300, [1]), saw(GIT, 1200, [1]))
    assert corroboration.validity(one) == 2200


@pytest.mark.parametrize(
    "observation",
    [
        saw(CODE, verified=[]),
        saw(CODE, verified=[7]),
        saw(CODE, verified=[0, 1], refuted=[1]),
        saw(CODE, verified=[0, 1], coverage="none"),
    ],
)
def test_what_verifies_nothing_of_the_assertion_counts_for_nothing(observation: Observation):
    """No check, one that it does not have, a contradiction in itself, or checks that are not bound to the sentence."""
    one = assertion_state()

    assert take(one, observation) == [False]
    assert one.fresh == 0
    assert corroboration.contradict(one, CODE, 0) is None  # and it holds no contradiction off


def test_a_foreign_observation_speaks_of_all_checks_in_the_reference_profile():
    """Counted as before: each class once, the whole sentence, and nothing named as verified."""
    one = assertion_state()
    take(one, saw(CODE), saw(GIT))

    assert check_tally.stands(one)
    assert check_tally.covered(one) == Covered()
    assert check_tally.classes_by_check(one) == [0, 0]


def test_foreign_and_checked_evidence_add_up():
    """In either order; what was checked is told, what was not is not."""
    for observations in ((saw(CODE), saw(GIT, verified=[0, 1])), (saw(GIT, verified=[0, 1]), saw(CODE))):
        one = assertion_state()
        take(one, *observations)
        assert check_tally.stands(one)
        assert check_tally.classes_by_check(one) == [1, 1]


def test_require_checks_counts_no_foreign_observation():
    """Neither for nor against; a declared observation that is not known still unmasks."""
    strict = Policy(judging=Judging(require_checks=True))
    one = assertion_state()

    assert take(one, saw(CODE), policy=strict) == [False]
    assert corroboration.exclusion_reason(strict, one, saw(CODE, outcome="contradicts")) == "checks-required"


@pytest.mark.parametrize("fields", [{"refuted": []}, {"judge": "checks"}, {"coverage": "whole"}])
def test_require_checks_is_not_got_round(fields: dict[str, Any]):
    """By naming a judge, or by refuting nothing, while no check is named as verified."""
    strict = Policy(judging=Judging(require_checks=True))

    assert take(assertion_state(), saw(CODE, **fields), policy=strict) == [False]


def test_built_in_checks_count_only_where_they_are_accepted():
    """A policy may rest on judges alone; foreign observations are not its business."""
    judges = Policy(judging=Judging(accept=["arbiter"]))

    assert take(assertion_state(), saw(CODE, verified=[0]), policy=judges) == [False]
    assert take(assertion_state(), saw(CODE, verified=[0], judge="arbiter"), policy=judges) == [True]


def test_an_unknown_check_lets_the_others_admit_nothing():
    """Malformed, or of a later list: all classes may verify the others, and it is not admitted."""
    one = assertion_state(["equals(a, 1, path=x.py)", "levitates(a)"])
    take(one, *(saw(cls, verified=[0, 1]) for cls in (CODE, GIT, GREP, MCP)))

    assert not check_tally.stands(one)


def test_an_unknown_check_is_not_got_round_by_a_foreign_observer():
    """Who verifies nothing by name cannot stand for a check that nobody here can read."""
    one = assertion_state(["levitates(a)"])
    take(one, saw(CODE), saw(GIT))

    assert not check_tally.stands(one)


def test_a_judge_counts_where_the_policy_accepts_it():
    """Its name stands in the observation; the built-in checks are `checks`."""
    one = assertion_state()
    word = saw(CODE, verified=[0, 1], judge="arbiter")
    assert take(one, word) == [False]

    accepting = Policy(judging=Judging(accept=["arbiter", "checks"]))
    assert take(one, word, policy=accepting) == [True]


def test_coverage_is_the_least_of_what_counts():
    """With the spans of those who told it; what is out of the text is cut, and nothing told means all of it."""
    one = assertion_state()
    take(one, saw(CODE, verified=[0, 1]), saw(GIT, verified=[0, 1], coverage="part", unchecked=[(9, 14), (12, 999)]))
    assert check_tally.covered(one) == Covered(PART, [(9, len(one.text))])

    take(one, saw(GREP, verified=[0, 1], coverage="part"))
    assert check_tally.covered(one) == Covered(PART, [(0, len(one.text))])


def test_coverage_stays_as_it_was_at_admission():
    """Later observations change neither coverage nor what is unchecked."""
    one = assertion_state()
    take(one, saw(CODE, verified=[0, 1]), saw(GIT, verified=[0, 1]))
    check_tally.settle(one)
    take(one, saw(GREP, verified=[0, 1], coverage="part"))

    assert check_tally.covered(one) == Covered()


@pytest.mark.parametrize("effect", ["internal", "external"])
def test_a_part_is_not_enough_by_default(effect: Any):
    """`min_coverage` is `whole` for both."""
    one = assertion_state(effect=effect)
    take(one, saw(CODE, verified=[0, 1], coverage="part"), saw(GIT, verified=[0, 1]))
    assert not check_tally.covers_enough(one)


def test_k_by_check_goes_before_k():
    """For the effect that it names; the life's k is the greatest of its checks'."""
    terms = CheckTerms(k_by_check={"commit": (1, 0)})
    alone = assertion_state(["commit(4f2a91c)"], terms)
    take(alone, saw(GIT, verified=[0]))
    assert alone.k == 1
    assert check_tally.stands(alone)

    beside = assertion_state(["commit(4f2a91c)", "equals(a, 1)"], terms)
    take(beside, saw(GIT, verified=[0, 1]))
    assert beside.k == 2
    assert not check_tally.stands(beside)

    external = assertion_state(["commit(4f2a91c)"], terms, "external", 3)
    take(external, saw(GIT, verified=[0]))
    assert external.k == 3
    assert not check_tally.stands(external)


def at(root: str, content: str = "") -> dict[str, LookedAt]:
    return {"looked_at": LookedAt(root=root, content=content or None)}


def test_the_same_bytes_count_once():
    """grep and code.read of one content are one kind of evidence; what does not say what it read may be the same."""
    terms = CheckTerms(same_bytes=True)
    one = assertion_state(terms=terms)
    take(one, saw(GREP, verified=[0, 1], **at("a", "sha256:1")), saw(CODE, verified=[0, 1], **at("a", "sha256:1")))
    assert not check_tally.stands(one)

    other = assertion_state(terms=terms)
    take(other, saw(GREP, verified=[0, 1], **at("a", "sha256:1")), saw(CODE, verified=[0, 1], **at("b", "sha256:2")))
    assert check_tally.stands(other)

    silent = assertion_state(terms=terms)
    take(silent, saw(GREP, verified=[0, 1]), saw(CODE, verified=[0, 1], **at("b", "sha256:2")))
    assert not check_tally.stands(silent)


def test_one_root_gives_at_most_two_of_k():
    """So an external admission needs something outside the checkout, or a second one."""
    terms = CheckTerms(same_root=2)
    rooted = [saw(cls, verified=[0, 1], **at("a")) for cls in (GREP, CODE, GIT)]
    one = assertion_state(terms=terms, effect="external", k=3)
    take(one, *rooted)
    assert not check_tally.stands(one)

    take(one, saw(MCP, verified=[0, 1]))
    assert check_tally.stands(one)

    nameless = assertion_state(terms=terms, effect="external", k=3)
    take(nameless, *(saw(cls, verified=[0, 1]) for cls in (GREP, CODE, GIT)))
    assert not check_tally.stands(nameless)  # roots that nobody names are taken for one


def test_a_group_of_classes_counts_once():
    """Whichever of them carries longest."""
    terms = CheckTerms(groups=[[NUMBER_OF[GREP], NUMBER_OF[GIT]]])
    one = assertion_state(terms=terms)
    take(one, saw(GREP, verified=[0, 1]), saw(GIT, 1200, [0, 1]))
    assert not check_tally.stands(one)

    take(one, saw(CODE, 1100, [0, 1]))
    assert check_tally.stands(one)
    assert corroboration.validity(one) == 2100


def test_several_observers_are_counted_for_each_check():
    """One that is captured admits no check by itself, whatever an honest one says of another check."""
    one = assertion_state()
    one.terms = Terms(WINDOWS, 500, 0, 10_000, (2, 2))
    take(
        one,
        *(saw(cls, verified=[0, 1], observer="captured") for cls in (GREP, CODE, GIT)),
        saw(MCP, verified=[0], observer="honest"),
    )
    assert not corroboration.is_enough(one)
    assert corroboration.missing_observers(one) == 1
    assert corroboration.validity(one) == -1

    take(one, saw(MCP, verified=[1], observer="honest"))
    assert corroboration.is_enough(one)


def test_words_alone_never_count():
    """They are told of, and nothing else."""
    one = assertion_state(None)
    assert one.checking is None
    check_tally.note_words(one)

    assert one.checking is not None
    assert one.checking.words is True
    assert not check_tally.stands(one)


def test_a_life_without_checks_counts_plainly():
    """Nothing is kept of checks for it, so that a million of them stay small."""
    one = assertion_state(None)
    take(one, saw(CODE), saw(GIT))

    assert one.checking is None
    assert check_tally.stands(one)


def in_file(path: str | None, checks: int = 1, lines: int = 3, **looked: Any) -> dict[str, Any]:
    """The members of an observation that saw every check hold in this file."""
    reported = {"path": path, "lines": [lines, lines]} if path is not None else {}
    return {"detail": {"checks": [{"check": "…", "holds": True, **reported}] * checks}, **looked}


def test_two_files_do_not_bear_one_check_out():
    """The record names one file, so each class has to see it there; the hostile emitter names a file for each."""
    one = assertion_state(["equals(a, 1)"])
    take(one, saw(CODE, verified=[0], **in_file("a.py")), saw(GREP, verified=[0], **in_file("b.py")))
    assert not check_tally.stands(one)
    assert check_tally.missing(one) == 1
    assert check_tally.classes_by_check(one) == [1]

    take(one, saw(GIT, verified=[0], **in_file("b.py")))
    assert check_tally.stands(one)
    assert check_tally.place_of(one, 0).path == "b.py"
    assert check_tally.classes_by_check(one) == [2]


def test_the_order_of_two_files_does_not_matter():
    """Whichever file a class shows first."""
    one, other = assertion_state(["equals(a, 1)"]), assertion_state(["equals(a, 1)"])
    some = [saw(CODE, 1000, [0], **in_file("a.py")), saw(CODE, 1100, [0], **in_file("b.py")),
            saw(GREP, 1050, [0], **in_file("b.py"))]  # fmt: skip
    take(one, *some)
    take(other, *reversed(some))
    for each in (one, other):
        assert check_tally.stands(each)
        assert check_tally.place_of(each, 0).path == "b.py"
        assert corroboration.validity(each) == 2050


def test_evidence_that_names_no_file_counts_for_each():
    """A tool's answer, or a foreign observer that tells no place."""
    one = assertion_state(["equals(a, 1)"])
    take(one, saw(MCP, verified=[0]), saw(CODE, verified=[0], **in_file("a.py")))
    assert check_tally.stands(one)
    assert check_tally.place_of(one, 0).path == "a.py"

    other = assertion_state(["equals(a, 1)"])
    take(other, saw(CODE, verified=[0], **in_file("a.py")), saw(GREP, verified=[0], **in_file("b.py")), saw(GIT))
    assert check_tally.stands(other)
    assert check_tally.place_of(other, 0).path == "a.py"


def looking_at(path: str | None, **more: Any) -> dict[str, Any]:
    """The members of a foreign observer's answer: the file that it looked at, and nothing of each check."""
    return {"looked_at": LookedAt(path=path), **more}


def weigh(one: AssertionState, *observations: Observation) -> None:
    """Takes evidence in as the fold does from `versions.FILES` on."""
    take(one, *(check_tally.with_file(observation) for observation in observations))


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (looking_at("a.py"), looking_at("b.py"), False),
        (looking_at("b.py"), looking_at("a.py"), False),
        (looking_at("a.py"), looking_at("a.py"), True),
        (looking_at("a.py"), in_file("b.py"), False),  # one says it of each check, one of itself
        (in_file("b.py"), looking_at("a.py"), False),
        (in_file("a.py"), looking_at("a.py"), True),
        (looking_at("a.py"), in_file("a.py", lines=9), True),
        (looking_at("a.py"), looking_at(None), True),  # what names no file counts for each
        (looking_at(""), looking_at("a.py"), True),
        (looking_at("a.py"), in_file(None), True),
        (looking_at("a.py"), in_file(None, **looking_at("b.py")), False),  # the check is told, but no place for it
        (looking_at("a.py"), in_file("", **looking_at("b.py")), False),
        (looking_at("a.py"), in_file("x" * 5000, **looking_at("b.py")), False),
        (looking_at("a.py"), looking_at("b.py", detail={"checks": [{"check": "equals(a, 1)", "holds": True}]}), False),
        (looking_at("a.py"), looking_at("b.py", detail={"checks": [{"commit": "4f2a91c"}]}), True),  # in no file
        (looking_at("a.py"), looking_at("b.py", detail={"checks": [{"commit": "4" * 65}]}), False),
        (looking_at("a.py"), looking_at("b.py", detail={"checks": []}), False),  # nothing is said of the check
        (looking_at("a.py"), looking_at("b.py", detail={"checks": [None]}), False),
        (looking_at("a.py"), looking_at("b.py", detail={"checks": {"path": "a.py"}}), False),
        (looking_at("a.py"), looking_at("b.py", detail={"checks": "a.py"}), False),
        (looking_at("a.py"), looking_at("b.py", detail={"path": "a.py"}), False),
        (looking_at("a.py"), in_file("a.py", **looking_at("b.py")), True),  # what is said of the check goes before
        *((looking_at("a/b.py"), looking_at(odd), False) for odd in (
            "./a/b.py", "a//b.py", "/a/b.py", "a/./b.py", "a/c/../b.py", "a%2Fb.py", "a/b%2Epy", "A/b.py", "a/b.py ",
            "a\\b.py", "a/b.py\x00", "a/b\u200b.py", "\u0430/b.py",
        )),
    ],
)  # fmt: skip
def test_the_file_that_was_looked_at_is_the_checks(first: dict[str, Any], second: dict[str, Any], together: bool):
    """Where an observer says nothing of a check, evidence from two files is no evidence of two kinds. A path that is
    written otherwise is another file: that admits less, never more."""
    one = assertion_state(["equals(a, 1)"])
    weigh(one, saw(CODE, verified=[0], **first), saw(GREP, verified=[0], **second))

    assert check_tally.stands(one) == together


def test_one_class_may_look_at_two_files():
    """It counts once for each; a second class decides which of them the record names."""
    one = assertion_state(["equals(a, 1)"])
    weigh(one, saw(CODE, 1000, [0], **looking_at("a.py")), saw(CODE, 1100, [0], **looking_at("b.py")))
    assert check_tally.classes_by_check(one) == [1]

    weigh(one, saw(GREP, verified=[0], **looking_at("b.py")))
    assert check_tally.stands(one)
    assert check_tally.place_of(one, 0).path == "b.py"


def test_the_file_that_was_looked_at_is_taken_for_silent_checks_alone():
    """Each check by itself; what is said of none of them, or of all, stays as it is."""
    said = saw(CODE, verified=[0, 2], looked_at=LookedAt(path="b.py"), detail={"checks": [{"path": "a.py"}], "n": 1})
    found = check_tally.with_file(said)
    assert [check_tally.place_in(found, check).path for check in range(3)] == ["a.py", "", "b.py"]
    assert found.detail is not None
    assert found.detail["n"] == 1
    for whole in (
        saw(CODE, **looking_at("a.py")),
        saw(CODE, verified=[0], **in_file("a.py", **looking_at("b.py"))),
        saw(CODE, verified=[], **looking_at("a.py")),
        saw(CODE, verified=[0]),
    ):
        assert check_tally.with_file(whole) is whole


def test_another_file_renews_nothing():
    """Once admitted, the file that the record names is the one that counts."""
    one = assertion_state(["equals(a, 1)"])
    take(one, saw(CODE, verified=[0], **in_file("a.py")), saw(CODE, verified=[0], **in_file("b.py")),
         saw(GREP, verified=[0], **in_file("b.py")))  # fmt: skip
    one.valid_until = corroboration.validity(one)
    check_tally.settle(one)
    assert one.checking is not None
    assert (one.checking.elsewhere, check_tally.place_of(one, 0).path) == ([], "b.py")
    assert corroboration.validity(one) == one.valid_until == 2000

    assert take(one, saw(CODE, 1400, [0], **in_file("a.py")), saw(GREP, 1400, [0], **in_file("a.py"))) == [False, False]
    assert corroboration.validity(one) == 2000

    take(one, saw(CODE, 1300, [0], **in_file("b.py")), saw(GREP, 1300, [0], **in_file("b.py")))
    assert corroboration.validity(one) == 2300


def test_other_files_are_bounded():
    """However many files an observer names, a life keeps a few."""
    one = assertion_state(["equals(a, 1)"])
    take(one, *(saw(CODE, 1000 + number, [0], **in_file(f"{number}.py")) for number in range(50)))

    assert one.checking is not None
    assert len(one.checking.elsewhere) == 4


def test_several_observers_count_in_the_checks_own_file_only():
    """A captured observer and an honest one that saw two files are not two for either."""
    one = assertion_state(["equals(a, 1)"], k=1)
    one.terms = Terms(WINDOWS, 500, 0, 10_000, (2, 2))
    take(one, saw(CODE, verified=[0], observer="captured", **in_file("a.py")),
         saw(CODE, verified=[0], observer="honest", **in_file("b.py")))  # fmt: skip
    assert not corroboration.is_enough(one)

    take(one, saw(CODE, verified=[0], observer="honest", **in_file("a.py")))
    assert corroboration.is_enough(one)


def test_the_bytes_of_one_check_are_not_those_of_another():
    """grep last read b.py and code.read a.py: of each check they still read the same bytes."""
    terms = CheckTerms(same_bytes=True)
    one = assertion_state(terms=terms)
    a, b = at("r", "sha256:a"), at("r", "sha256:b")
    take(
        one, saw(GREP, 1000, [0], **a), saw(GREP, 1001, [1], **b), saw(CODE, 1000, [1], **b), saw(CODE, 1001, [0], **a)
    )

    assert not check_tally.stands(one)
