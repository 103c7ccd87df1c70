"""`explain` on checks: what each came to, what was verified, why an observation did not count, and how it is shown."""

from __future__ import annotations

import asyncio
import io
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from exported import (
    TEXT,
    ExportedLane,
    M,
    S,
    emission_after,
    explanation_of,
    lane_after,
    observation_after,
    reviewed_claim,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from rich.console import Console
from search import examples

from sluice.streams.adjudication import check_tally
from sluice.streams.policy.policy import (
    DEFAULT_POLICY,
    INADMISSIBLE,
    Admissibility,
    FloorOfCheck,
    Judging,
    LeastCoverage,
    PerEffect,
    Policy,
    PrivacyRules,
)
from sluice.topology.audit.emission_facts import counts
from sluice.topology.audit.explanation import Explanation
from sluice.topology.audit.explanation_view import lines, show
from sluice.topology.settings.showing import WORDS_ALONE

CODE, GIT, GREP = "code.read", "git.log", "grep"
CHECKS = ["equals(MAX, 5, path=limits.py)", "calls(f, g, path=x.py)"]
COMMIT = "4f2a91c0"
PLACES = [
    {"check": CHECKS[0], "holds": True, "path": "limits.py", "lines": [1, 1], "commit": COMMIT},
    {"check": CHECKS[1], "holds": True, "path": "x.py", "lines": [3, 9]},
]
END = (21 * M, [])


def saw(at: int, name: str, verified: list[int] | None, outcome: str = "corroborates", **fields: Any) -> Any:
    """An observation by checks; whole coverage and both places where nothing else is said."""
    explanation = {"verified": verified, "coverage": "whole", "detail": {"checks": PLACES}} | fields
    return observation_after(
        at, name, outcome, **{name: value for name, value in explanation.items() if value is not None}
    )


def stated(checks: list[str] | None = CHECKS, **claim: Any) -> Any:
    return emission_after(checks=checks, **claim)


ADMITTED = [
    (0, [stated()]),
    (S, [saw(S, CODE, [0, 1]), saw(S, GIT, [0, 1], coverage="part", unchecked=[[0, 9], [32, 42]])]),
]
FIRST = "`MAX` in `limits.py` equals 5 (line 1"


PARTS = Policy(judging=Judging(min_coverage=LeastCoverage(internal="part")))


async def explained(folder: Path, *blocks: Any, policy: Policy = PARTS, **more: Any) -> Explanation:
    return await explanation_of(lane_after(*blocks, policy=policy), folder, **more)


def text_of(explanation: Explanation) -> str:
    return "\n".join(lines(explanation))


def line_with(explanation: Explanation, words: str) -> str:
    """The one line that has these words, without what is before them."""
    found = [line for line in lines(explanation) if words in line]
    assert len(found) == 1, found
    return found[0].strip()


# ---------------------------------------------------------------- an admission


async def test_an_admission_tells_first_what_observers_verified(tmp_path: Path):
    """The sentences, then the emitter's words with what no check speaks of marked, then how far each check came."""
    explanation = await explained(tmp_path, *ADMITTED)

    shown = [line.strip() for line in lines(explanation)]
    start = shown.index(next(line for line in shown if line.startswith("c:0-43")))
    assert [line.split(" (")[0] for line in shown[start + 1 : start + 3]] == [
        "admitted: `MAX` in `limits.py` equals 5",
        "admitted: `f` in `x.py` calls `g`",
    ]
    assert shown[start + 3] == "in the emitter's words: «⟦CHANGELOG⟧.md has an entry dated ⟦2026-05-25⟧.»"
    at = next(place for place, line in enumerate(shown) if " #2  admitted" in line)
    below = shown[at + 1 : at + 6]
    assert below[0].startswith(f"admitted: {FIRST}")
    assert below[2] == "in the emitter's words: «⟦CHANGELOG⟧.md has an entry dated ⟦2026-05-25⟧.»"
    assert below[3] == "check 0 `equals(MAX, 5, path=limits.py)`: 2 of 2 classes: code.read, git.log"
    assert below[4] == "check 1 `calls(f, g, path=x.py)`: 2 of 2 classes: code.read, git.log"


async def test_the_model_has_what_the_record_has(tmp_path: Path):
    """Rendered sentences, coverage and unchecked parts as they stand on the topic; counts with the classes' names."""
    lane = lane_after(*ADMITTED, policy=PARTS)
    explanation = await explanation_of(lane, tmp_path)

    record = msgspec.json.decode(next(one.value for one in lane.outputs if one.topic == "admitted"))
    (one,) = explanation.assertions
    (verdict,) = one.verdicts
    frame = record["_untrusted_text"]
    assert (verdict.rendered, verdict.assertion) == (frame["rendered"], frame["assertion"])
    assert verdict.assertion == "[unchecked].md has an entry dated [unchecked]."
    assert (verdict.coverage, [list(span) for span in verdict.unchecked]) == ("part", record["unchecked"])
    assert [(count.counted, count.k, len(count.classes)) for count in verdict.checks] == [
        (2, 2, check["classes"]) for check in record["checks"]
    ]
    assert (one.rendered, one.text, one.form) == (frame["rendered"], TEXT, "declared")
    assert [check.check for check in one.checks] == CHECKS
    assert all(check.count is not UNSET and check.count.classes == verdict.classes for check in one.checks)


async def test_the_explanation_reads_back_as_it_was_written(tmp_path: Path):
    """Its JSON is of the shape that the structs name."""
    explanation = await explained(tmp_path, *ADMITTED)

    raw = msgspec.json.encode(explanation)
    assert msgspec.json.encode(msgspec.json.decode(raw, type=Explanation)) == raw
    assert b'"rendered"' in raw[: raw.index(b'"text"')]


async def test_a_renewal_repeats_no_sentence(tmp_path: Path):
    """What it says is what the admission said; only the counts are new."""
    renewed = (5 * M, [saw(5 * M, CODE, [0, 1]), saw(5 * M, GIT, [0, 1])])
    explanation = await explained(tmp_path, *ADMITTED, renewed)

    text = text_of(explanation)
    assert text.count(f"admitted: {FIRST}") == 2  # under the assertion, and at its admission
    assert text.count("2 of 2 classes: code.read, git.log") == 4


async def test_what_holds_no_more_was_admitted(tmp_path: Path):
    """By this machine's clock, or by the lane's word: the sentences are told as what was."""
    past = await explained(tmp_path / "a", *ADMITTED, now=2**41)
    ended = await explained(tmp_path / "b", *ADMITTED, (5 * M, [observation_after(5 * M, GREP, "contradicts")]))

    for explanation in (past, ended):
        assert f"  was admitted: {FIRST}" in text_of(explanation)
        assert f"  admitted: {FIRST}" not in text_of(explanation).partition(" claims ")[0]
    assert "no longer admitted" in text_of(ended)


REVIEWED = Policy(disposition=dict.fromkeys(INADMISSIBLE, PerEffect(internal="review", external="review")))


@pytest.mark.parametrize(
    ("blocks", "policy", "said"),
    [
        (
            [(0, [emission_after()]), (S, [observation_after(S, CODE), observation_after(S, GIT)])],
            None,
            "borne out, not checked",
        ),
        ([(0, [emission_after()]), (21 * M, []), (22 * M, [reviewed_claim("admit")])], REVIEWED, "a reviewer admitted"),
    ],
)
async def test_an_admission_that_rests_on_something_else_says_so(
    tmp_path: Path, blocks: list[Any], policy: Policy | None, said: str
):
    """Nobody is told that it was checked."""
    explanation = await explained(tmp_path, *blocks, policy=policy or DEFAULT_POLICY)

    shown = [line.strip() for line in lines(explanation)]
    assert f"admitted: {said}" in shown
    assert said in shown[shown.index(next(line for line in shown if " admitted " in line)) + 1 :]
    assert explanation.assertions[0].rendered is UNSET


async def test_foreign_evidence_beside_checks_is_told_apart(tmp_path: Path):
    """It counts in the reference profile, and names no check."""
    explanation = await explained(tmp_path, (0, [stated()]), (S, [observation_after(S, GREP), saw(S, CODE, [0, 1])]))

    assert "check 0 `equals(MAX, 5, path=limits.py)`: 2 of 2 classes: code.read, and 1 without naming a check" in (
        text_of(explanation)
    )
    assert "bears it out as a whole, naming no check" in text_of(explanation)
    assert "bears it out by checks" in text_of(explanation)


async def test_classes_that_are_not_independent_are_reported(tmp_path: Path):
    """Two verified it by name, and count as one."""
    policy = Policy(judging=Judging(groups=[["substrate.code.read", "substrate.grep"]]))
    explanation = await explained(
        tmp_path, (0, [stated()]), (S, [saw(S, CODE, [0, 1]), saw(S, GREP, [0, 1])]), policy=policy
    )

    assert "counted  " in text_of(explanation)
    counts_now = [check.count for check in explanation.assertions[0].checks]
    assert [(one.counted, one.classes) for one in counts_now] == [(1, ["substrate.code.read", "substrate.grep"])] * 2
    explanation = await explained(
        tmp_path / "b", (0, [stated()]), (S, [saw(S, CODE, [0, 1]), saw(S, GREP, [0, 1])]), END, policy=policy
    )
    assert (
        "check 0 `equals(MAX, 5, path=limits.py)`: 1 of 2 classes, counting as one what is not independent: "
        "code.read, grep"
    ) in text_of(explanation)
    assert explanation.assertions[0].missing_floor == 1


async def test_k_by_check_is_reported_for_each_check(tmp_path: Path):
    """One class is enough for the one, two are needed for the other."""
    policy = Policy(admissibility=Admissibility(k_by_check={"commit": FloorOfCheck(internal=1)}))
    checks = [f"commit({COMMIT})", CHECKS[0]]
    decided = {"checks": [{"check": check, "holds": True} for check in checks]}
    seen = [saw(S, GIT, [0, 1], detail=decided), saw(S, CODE, [1], detail=decided)]
    explanation = await explained(tmp_path, (0, [stated(checks)]), (S, seen), policy=policy)

    (verdict,) = explanation.assertions[0].verdicts
    assert [(one.counted, one.k) for one in verdict.checks] == [(1, 1), (2, 2)]


async def test_a_check_that_lacks_a_class_is_reported_while_it_waits(tmp_path: Path):
    """As many classes as k have counted, and one check has only one of them."""
    explanation = await explained(tmp_path, (0, [stated()]), (S, [saw(S, CODE, [0]), saw(S, GIT, [0, 1])]))

    assert ": 2 of 2, and a check lacks 1 class" in text_of(explanation)
    assert explanation.assertions[0].missing_floor == 1
    assert "now: pending" in text_of(explanation)


# ---------------------------------------------------------------- what was not admitted


async def test_partly_checked_is_reported_in_a_plain_sentence(tmp_path: Path):
    """With what was verified, which is not admitted for it."""
    policy = Policy(
        judging=Judging(min_coverage=LeastCoverage(internal="whole")),
        disposition=dict.fromkeys(INADMISSIBLE, PerEffect(internal="review", external="review")),
    )
    explanation = await explained(tmp_path, *ADMITTED, END, policy=policy)

    text = text_of(explanation)
    assert "below-floor            partly-checked" in text
    assert "its checks hold, but speak of less of the sentence than this policy wants" in text
    assert f"verified by 2 classes, not admitted: {FIRST}" in text
    assert "⟦CHANGELOG⟧" in text
    assert "  admitted: " not in text


@pytest.mark.parametrize("disposition", ["discard", "review", "refuse", "re-emit"])
async def test_not_checked_is_reported_in_a_plain_sentence(tmp_path: Path, disposition: str):
    """The same for the observation and for the decision, whatever is done about it."""
    one = PerEffect(internal=disposition, external=disposition)  # type: ignore[arg-type]
    policy = Policy(disposition=dict.fromkeys(INADMISSIBLE, one))
    words = (S, [observation_after(S, CODE, "terms-present"), observation_after(S, GIT, "absent")])
    explanation = await explained(tmp_path, (0, [emission_after()]), words, END, policy=policy)

    assert WORDS_ALONE == "its words are there; what it says of them was not checked"
    seen = line_with(explanation, "terms-present")
    assert seen.endswith(f"; {WORDS_ALONE}")
    assert [one.strip() for one in lines(explanation)].count(WORDS_ALONE) == 2  # of the assertion, and of its decision
    assert explanation.assertions[0].verdicts[0].reason == "not-checked"


async def test_a_check_that_is_not_known_is_named_as_such(tmp_path: Path):
    """With why; the others may all be verified, and it is not admitted."""
    checks = [CHECKS[0], "levitates(a)"]
    explanation = await explained(tmp_path, (0, [stated(checks)]), (S, [saw(S, one, [0]) for one in (CODE, GIT)]), END)

    known = "check 1 `levitates(a)`: not a check that this version knows (there is no check of that name)"
    assert f"{known}: the others admit nothing beside it" in text_of(explanation)
    assert known in [line.strip() for line in lines(explanation)]  # of the decision
    assert explanation.assertions[0].checks[1].unknown == "there is no check of that name"
    assert explanation.assertions[0].now.status == "below-floor"


async def test_a_derived_check_says_where_it_comes_from(tmp_path: Path):
    """It is read from the words; words that no claim form reads give none."""
    claim = await explained(tmp_path / "a", (0, [emission_after(text="`MAX` in `limits.py` equals 5.")]))
    other = await explained(tmp_path / "b", (0, [emission_after(text="The limits were raised with care.")]))

    assert claim.assertions[0].form == "claim"
    assert line_with(claim, "check 0").endswith("`: read from its words")
    assert other.assertions[0].form == "none"
    assert "check 0" not in text_of(other)


# ---------------------------------------------------------------- an observation

UNDECIDED = {
    "checks": [{"holds": None, "reason": "computed", "path": "a b.py"}, {"holds": False, "reason": "differs"}],
    "reason": "check-fails",
}


async def test_every_check_of_an_observation_is_reported(tmp_path: Path):
    """Holds, is false, or undecided and why; with the place, the coverage and what it leaves open."""
    seen = saw(
        S,
        CODE,
        [0],
        coverage="part",
        unchecked=[[0, 9]],
        looked_at={"root": "main", "path": "limits.py", "commit": COMMIT},
        judge=None,
    )
    refuting = saw(2 * S, GIT, [], "contradicts", refuted=[1], detail=UNDECIDED)
    explanation = await explained(tmp_path, (0, [stated()]), (2 * S, [seen, refuting]))

    shown = [line.strip() for line in lines(explanation)]
    for said in (
        "check 0 `equals(MAX, 5, path=limits.py)`: holds at limits.py:1, commit 4f2a91c0",
        "check 1 `calls(f, g, path=x.py)`: undecided at x.py:3-9",
        "coverage part: its checks speak of a part of the sentence",
        "unchecked: «CHANGELOG»",
        "looked at root main, path limits.py, commit 4f2a91c0",
        "a check is false there",
        'check 0 `equals(MAX, 5, path=limits.py)`: undecided: its value is computed at "a b.py"',
        "check 1 `calls(f, g, path=x.py)`: is false",
    ):
        assert said in shown, said
    observed = explanation.inputs[1].observation
    assert (observed.verified, observed.refuted, observed.coverage) == ([0], UNSET, "part")
    assert observed.left_open == ["CHANGELOG"]
    assert observed.detail is UNSET  # all of it was taken over
    assert explanation.inputs[2].observation.detail == {"reason": "check-fails"}


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("check-fails", "what a check asks for was not found"),
        ("check-undecided", "no check of it could be decided"),
        ("check-not-bound", "its checks speak of nothing in the sentence, or say the opposite"),
        ("outside-locator", "what decides it stands outside of what the annotation says was looked at"),
        ("changed-since", "a check is false now, but the file has changed since"),
        ("path-missing", "the file is not there"),
        ("terms-missing", "its words are not there"),
    ],
)
async def test_why_it_is_absent_is_reported_in_words(tmp_path: Path, reason: str, said: str):
    """Each reason has its sentence; another one is left as it came."""
    seen = [observation_after(S, CODE, "absent", detail={"reason": one}) for one in (reason, "because")]
    explanation = await explained(tmp_path, (0, [stated()]), (S, seen))

    assert said in [line.strip() for line in lines(explanation)]
    assert "because" not in text_of(explanation)


async def test_an_observation_that_waited_is_reported_with_its_assertions_checks(tmp_path: Path):
    """Once that has come; before, by what the observer calls them."""
    waits = await explained(tmp_path / "a", (0, [saw(0, CODE, [0], unchecked=[[0, 9]], coverage="part")]))
    found = await explained(
        tmp_path / "b", (0, [saw(0, CODE, [0], unchecked=[[0, 9]], coverage="part")]), (S, [stated()])
    )

    assert [one.check for one in waits.inputs[0].observation.checks] == CHECKS
    assert waits.inputs[0].observation.left_open is UNSET
    assert [one.check for one in found.inputs[0].observation.checks] == [UNSET, UNSET]
    assert found.inputs[0].observation.left_open == ["CHANGELOG"]


@pytest.mark.parametrize("rule", ["omitted", "hashed", "identity-bound"])
async def test_where_an_observer_looked_is_reported_as_far_as_the_policy_lets_it_out(tmp_path: Path, rule: str):
    """Not its root, file, commit or content, where the id is not told in clear [S §12]; what was verified is."""
    secret = "sha256:" + "a" * 64
    at = {"root": "payroll", "path": "secret.py", "content": secret, "commit": COMMIT}
    detail = {"checks": [{"holds": True, "path": "secret.py", "lines": [1, 2], "commit": COMMIT}], "host": "payroll"}
    tier = "identity-bound" if rule == "identity-bound" else "pseudonymous"
    policy = Policy() if rule == "identity-bound" else Policy(privacy=PrivacyRules(observation_ids=rule))  # type: ignore[arg-type]
    seen = saw(S, CODE, [0], looked_at=at, detail=detail, tier=tier)
    explanation = await explained(tmp_path, (0, [stated()]), (S, [seen]), policy=policy)

    observed = explanation.inputs[1].observation
    assert (observed.verified, [one.holds for one in observed.checks]) == ([0], [True, None])
    everything = msgspec.json.encode(explanation.inputs) + text_of(explanation).encode()
    for hidden in (b"payroll", b"secret.py", COMMIT.encode(), secret.encode()):
        assert hidden not in everything


# ---------------------------------------------------------------- why it did not count

STRICT = Policy(judging=Judging(require_checks=True))
NOT_COUNTED: dict[str, tuple[Any, Policy]] = {
    "terms-present": (observation_after(S, CODE, "terms-present"), DEFAULT_POLICY),
    "judge-not-accepted": (saw(S, CODE, [0, 1], judge="arbiter"), DEFAULT_POLICY),
    "checks-required": (observation_after(S, CODE), STRICT),
    "contradicts-itself": (saw(S, CODE, [0, 1], refuted=[1]), DEFAULT_POLICY),
    "check-not-bound": (saw(S, CODE, [0, 1], coverage="none"), DEFAULT_POLICY),
    "verifies-nothing": (saw(S, CODE, [7]), DEFAULT_POLICY),
    "low-confidence": (saw(S, CODE, [0], confidence=0.1), Policy(admissibility=Admissibility(min_confidence=0.5))),
    "too-old": (saw(-2 * 60 * M, CODE, [0, 1]), DEFAULT_POLICY),
    "not-newer": (saw(0, CODE, [0, 1]), DEFAULT_POLICY),
}


@pytest.mark.parametrize("came_before", [False, True], ids=["after its emission", "before its emission"])
@pytest.mark.parametrize("why", NOT_COUNTED)
async def test_what_did_not_count_says_why(tmp_path: Path, why: str, came_before: bool):
    """By asking the fold again with one circumstance after another taken away."""
    record, policy = NOT_COUNTED[why]
    first = [saw(S, CODE, [0, 1])] if why == "not-newer" else []
    blocks = [(S, [*first, record]), (2 * S, [stated()])] if came_before else [(0, [stated()]), (S, [*first, record])]
    explanation = await explained(tmp_path, *blocks, policy=policy)

    seen = [one for one in explanation.inputs if one.observation is not UNSET][-1]
    assert (seen.fate, seen.why) == ("not-counted", why)


async def test_a_contradiction_that_names_no_check_counts_for_nothing_where_checks_are_required(tmp_path: Path):
    """Neither for nor against."""
    explanation = await explained(
        tmp_path, (0, [stated()]), (S, [observation_after(S, CODE, "contradicts")]), policy=STRICT
    )

    assert (explanation.inputs[1].fate, explanation.inputs[1].why) == ("not-counted", "checks-required")


def test_counts_are_those_of_the_core():
    """By name as in the outputs; and as many as decide whether it stands."""
    lane = lane_after((0, [stated()]), (S, [saw(S, CODE, [0]), saw(S, GIT, [0, 1]), observation_after(S, GREP)]))
    attempt = lane.state.attempt("em-1", 0)
    assert attempt is not None
    assertion_state = attempt.assertions[0]

    found = counts(assertion_state)
    assert [len(one.classes) for one in found] == check_tally.classes_by_check(assertion_state)
    assert all(one.counted >= one.k for one in found) == check_tally.stands(assertion_state)
    assert max(0, *(one.k - one.counted for one in found)) == check_tally.missing(assertion_state)


_looks = st.tuples(
    st.sampled_from([CODE, GIT, GREP, "fs.mtime"]),
    st.sampled_from([None, [], [0], [1], [0, 1]]),
    st.integers(0, 3),
    st.sampled_from(["corroborates", "corroborates", "corroborates", "contradicts", "terms-present"]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(_looks, max_size=3), max_size=5), st.sampled_from(["discard", "review", "refuse"]))
def test_counts_are_those_of_every_record(blocks: list[list[Any]], disposition: str):
    """Whatever comes in whatever order: by name as many classes as the record says, and its sentences."""
    given_ = [(0, [stated()])]
    for number, looks in enumerate(blocks, 1):
        seen = [
            observation_after(at * M, name, outcome, **({} if verified is None else {"verified": verified}))
            for name, verified, at, outcome in looks
        ]
        given_.append(((number + 4) * M, seen))
    one = PerEffect(internal=disposition, external=disposition)  # type: ignore[arg-type]
    lane = lane_after(*given_, (30 * M, []), policy=Policy(disposition=dict.fromkeys(INADMISSIBLE, one)))
    records = {}
    for output in lane.outputs:
        if output.topic in ("admitted", "inadmissible"):
            record = msgspec.json.decode(output.value)
            records[output.topic, record["id"]] = record
    with tempfile.TemporaryDirectory() as folder:
        explanation = asyncio.run(explanation_of(lane, Path(folder)))

    verdicts = [verdict for verdict in explanation.assertions[0].verdicts if (verdict.topic, verdict.id) in records]
    assert len(verdicts) == len(records)
    for verdict in verdicts:
        record = records[verdict.topic, verdict.id]
        if "checks" in record:
            assert [len(count.classes) for count in verdict.checks] == [one["classes"] for one in record["checks"]]
        assert (verdict.coverage or None) == record.get("coverage")
        assert (verdict.rendered or None) == record["_untrusted_text"].get("rendered")


# ---------------------------------------------------------------- hostile text

EVIL = "\x1b[2J\u202e\u2066[bold]x[/bold]\u200b\r\n`»⟧<b>y</b>"


def hostile() -> ExportedLane:
    """Twenty checks of 2,000 characters, and every text of an observer's as bad as it can be."""
    head = '", 0)` holds at x.py:1, commit 4f2a91c0 admitted: `'
    quoted = msgspec.json.encode(f"{head}[red]»").decode()
    checks = [f'contains({quoted[:-1]}{"x" * (1979 - len(quoted))}", path=a.py)' for _ in range(19)]
    assert len(checks[0]) == 2000
    checks.append(EVIL)
    detail = {
        "checks": [{"check": EVIL, "holds": True, "path": EVIL, "lines": [1, 10**12], "commit": EVIL, "reason": EVIL}]
        * 20,
        "reason": EVIL,
        EVIL: EVIL,
    }
    at = {"root": EVIL, "path": EVIL, "content": EVIL[:9], "commit": EVIL[:9]}
    text = f"{EVIL} " * 3 + "is so."
    span = {"chars": [0, len(text)]}
    every = list(range(20))
    seen = [
        saw(S, name, every, detail=detail, looked_at=at, coverage="part", unchecked=[[0, 5], [9, 30]], span=span)
        for name in (CODE, GIT, GREP)
    ]
    stray = saw(
        S, CODE, every, detail=detail, looked_at=at, coverage="part", unchecked=[[0, 5]], span={"chars": [0, 1]}
    )
    return lane_after((0, [emission_after(text=text, checks=checks)]), (S, [*seen, stray]), END)


async def test_hostile_text_acts_in_no_line(tmp_path: Path):
    """No control character, no line end, no markup; plain lines and a terminal of any width."""
    explanation = await explanation_of(hostile(), tmp_path)

    whole = text_of(explanation) + msgspec.json.encode(explanation).decode()
    assert not {"\x1b", "\u202e", "\u2066", "\u200b", "\r"} & set(text_of(explanation))
    assert "<b>" not in whole
    assert "\u202e" not in whole
    for line in lines(explanation):
        assert "\n" not in line
    for width in (40, 99, 200):
        console = Console(file=io.StringIO(), width=width)
        show(explanation, console)
        text = console.file.getvalue()
        assert not {"\x1b", "\u202e", "\u2066", "\u200b", "\r"} & set(text)
        assert "[bold]" in text


async def test_no_check_can_claim_its_own_outcome(tmp_path: Path):
    """Its text stands in back-ticks that nothing in it can close, and is cut where it is only named."""
    explanation = await explanation_of(hostile(), tmp_path)

    for line in (one.strip() for one in lines(explanation)):
        if line.startswith("check "):
            assert line.count("`") == 2
            outcome = line.rpartition("`")[2]
            assert outcome.startswith(": ")
            assert "4f2a91c0" not in outcome
        assert not line.startswith("admitted: `x.py`")
    assert all(len(line) < 3000 for line in lines(explanation))
    assert sum(map(len, lines(explanation))) < 200_000


async def test_what_an_observer_tells_is_taken_over_in_the_agreed_form_alone(tmp_path: Path):
    """Lines that are none, a commit that is none, a reason that nobody knows: they are not there."""
    explanation = await explanation_of(hostile(), tmp_path)

    held = explanation.inputs[1].observation.checks[0]
    assert (held.holds, held.reason, held.check) == (True, UNSET, UNSET)
    assert held.place is not UNSET
    assert (held.place.lines, held.place.commit) == (UNSET, UNSET)
    assert len(explanation.inputs[1].observation.checks) == 20
