"""Attempts of one emission, duplicates, conflicts and late reviews.

A re-emission keeps its emission id and counts `attempt` up. It supersedes what is pending of earlier attempts; what an
earlier attempt had admitted lives on until the newer one has a word of its own on `admitted`.
"""

import pytest
from fold_lines import adjudicate, at, claim, emission, nothing_discarded, observation, review

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"

HOUR = 3600
ADMITTED = ("admitted", "admitted", None)
DECAYED = ("admitted", "decayed-to-uncertainty", "validity-ended")
BELOW_FLOOR = ("inadmissible", "below-floor", "below-floor")
SUPERSEDED = ("inadmissible", "rejected", "superseded")
NEXT = {"attempt": 1}


def attempts_of(outputs):
    """The attempt that each verdict speaks of, in order."""
    return [line["value"]["attempt"] for line in outputs.lines_on("admitted", "inadmissible")]


# ---------------------------------------------------------------- duplicates and conflicts


def test_a_duplicate_changes_nothing():
    """The same emission with the same bytes again neither writes anything nor waits anew."""
    once = adjudicate([emission(0)], nothing_discarded, until=600.001)
    again = adjudicate([emission(0), emission(300, emitted=0)], nothing_discarded, until=600.001)

    assert again.words == once.words == [("inadmissible", "unverified-inference", "not-looked-at")]
    assert again.dead == []


@pytest.mark.parametrize("gap", [10, 700, 5000], ids=["while admitted", "past the horizon", "after the decay"])
def test_a_duplicate_of_what_was_admitted_writes_nothing(gap):
    """What has been decided is not decided again when its emission is delivered again."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT)]

    outputs = adjudicate([*lines, emission(gap, emitted=0)], until=6000)

    assert outputs.words == [ADMITTED, DECAYED]
    assert outputs.dead == []


def test_a_duplicate_of_what_was_discarded_writes_nothing():
    """An emission whose assertions were all discarded is remembered: later evidence does not admit its duplicate."""
    lines = [emission(0), {"at": at(601)}, emission(700, emitted=0), observation(701, GREP), observation(702, GIT)]

    outputs = adjudicate(lines, until=2000)

    assert outputs.words == []
    assert outputs.dead == []


@pytest.mark.parametrize(("again", "dead"), [(86_400, []), (86_400.001, ["too-old"])])
def test_an_emission_is_remembered_until_it_is_too_old(again, dead):
    """The memory of seen emissions ends at `emitted_at + max_validity`, and from then on the emission is too old."""
    outputs = adjudicate([emission(0), emission(again, emitted=0)], until=90_000)

    assert outputs.words == []
    assert outputs.dead == dead


def test_a_duplicate_of_an_earlier_attempt_is_a_duplicate():
    """An attempt that was superseded is not superseded twice."""
    outputs = adjudicate([emission(0), emission(5, fields=NEXT), emission(6, emitted=0)])

    assert outputs.words == [SUPERSEDED]
    assert outputs.dead == []


def test_other_bytes_under_the_same_attempt_conflict():
    """The second version is a dead letter, and the first one stands."""
    text = "CHANGELOG.md has an entry dated 2026-05-26."
    lines = [emission(0), emission(5, emitted=0, text=text), observation(6, GREP), observation(7, GIT)]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["_untrusted_text"]["assertion"].endswith("2026-05-25.")
    assert outputs.dead == ["conflicting-emission"]


def test_a_conflict_is_reported_after_the_verdict_too():
    """The memory of an emission outlives its verdict."""
    lines = [emission(0), observation(1, GREP), observation(2, GIT), emission(1000, emitted=0, confidence=0.5)]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.dead == ["conflicting-emission"]


def test_another_attempt_is_no_conflict():
    """Other bytes under the next attempt are what a re-emission is."""
    outputs = adjudicate([emission(0), emission(5, emitted=0, fields=NEXT, confidence=0.5)])

    assert outputs.dead == []
    assert outputs.words == [SUPERSEDED]


def test_one_span_key_twice_is_a_schema_error():
    """Two assertions of one attempt with one span key cannot be told apart."""
    outputs = adjudicate([emission(0, claims=[claim(), claim(confidence=0.5)])], until=700)

    assert outputs.words == []
    assert outputs.dead == ["schema"]


# ---------------------------------------------------------------- superseding


def test_a_newer_attempt_closes_every_pending_assertion_of_the_earlier():
    """Spans that the newer attempt does not have are superseded as well."""
    first, second = "It is there.", "It is new."
    old = emission(0, text=f"{first} {second}", claims=[claim(first), claim(second, 13)])
    new = emission(5, text=first, claims=[claim(first)], fields=NEXT)

    outputs = adjudicate([old, new])

    assert outputs.words == [SUPERSEDED, SUPERSEDED]
    assert attempts_of(outputs) == [0, 0]
    assert {word["span"]["chars"][0] for word in outputs.on("inadmissible")} == {0, 13}


def test_an_earlier_attempt_that_comes_later_is_superseded_on_arrival():
    """The order of delivery does not matter: the newer attempt is known, so the earlier one is closed at once."""
    outputs = adjudicate([emission(0, fields=NEXT), emission(5)])

    assert outputs.words == [SUPERSEDED]
    assert attempts_of(outputs) == [0]


def test_an_earlier_attempt_that_comes_after_the_newer_one_s_admission_is_superseded():
    """A newer attempt is known for as long as it is remembered, admitted or not."""
    lines = [emission(0, fields=NEXT), observation(0, GREP, attempt=1), observation(0, GIT, attempt=1), emission(5)]

    outputs = adjudicate(lines, until=HOUR + 0.001)

    assert outputs.words == [ADMITTED, SUPERSEDED, DECAYED]
    assert attempts_of(outputs) == [1, 0, 1]


def test_an_earlier_attempt_never_speaks_over_the_newer_one_s_word():
    """Evidence that lay ready for an earlier attempt does not put it in the newer one's place on `admitted`.

    Once the newer attempt has a word under the key, an earlier one has no life there: the last word of a key says what
    holds, and it is the newer attempt's.
    """
    lines = [emission(0, fields=NEXT), observation(0, GREP, attempt=1), observation(0, GIT, attempt=1)]
    lines += [observation(1, GREP), observation(1, GIT), emission(5)]

    assert [(word["attempt"], word["status"]) for word in adjudicate(lines).on("admitted")] == [(1, "admitted")]


def test_evidence_waits_for_the_attempt_that_it_speaks_of():
    """Observations of an attempt that has not come yet are joined to it when it does."""
    lines = [emission(0), observation(1, GREP, attempt=1), observation(1, GIT, attempt=1), emission(5, fields=NEXT)]

    outputs = adjudicate(lines)

    assert outputs.words == [SUPERSEDED, ADMITTED]
    assert attempts_of(outputs) == [0, 1]


def test_attempts_come_in_order():
    """At most one above the newest known: a number that nobody reaches would close what is pending for good."""
    outputs = adjudicate([emission(0), emission(5, fields={"attempt": 7}), emission(6, fields={"attempt": 1})])

    assert outputs.words == [SUPERSEDED]
    assert attempts_of(outputs) == [0]
    assert outputs.dead == ["attempt-out-of-order"]
    (letter,) = outputs.lines_on("dead-letters")
    assert letter["headers"]["sluice-detail"] == "$.attempt: expected 1 at most, got 7"


@pytest.mark.parametrize(("attempt", "dead"), [(3, []), (4, ["attempt-out-of-order"])])
def test_an_unknown_emission_begins_with_any_attempt_up_to_max_attempts(attempt: int, dead: list):
    """Earlier attempts may have been forgotten, or still come; beyond `max_attempts` (3) nobody is asked for one."""
    outputs = adjudicate([emission(0, fields={"attempt": attempt}), emission(1, fields={"attempt": 0})])

    assert outputs.dead == dead
    assert attempts_of(outputs) == ([0] if not dead else [])


def test_evidence_speaks_of_the_attempt_that_was_looked_at():
    """Observations of the earlier attempt do not admit the newer one."""
    lines = [emission(0), observation(1, GREP), emission(5, fields=NEXT)]

    without = adjudicate([*lines, observation(6, GIT, attempt=1)], until=605)
    with_both = adjudicate([*lines, observation(6, GIT, attempt=1), observation(7, GREP, attempt=1)])

    assert without.words == [SUPERSEDED]
    assert with_both.words == [SUPERSEDED, ADMITTED]
    assert attempts_of(with_both) == [0, 1]


def test_an_observation_without_an_attempt_speaks_of_attempt_0():
    """The default attempt is 0 for evidence as for emissions."""
    newer = [emission(0, fields=NEXT), observation(1, GREP), observation(2, GIT)]
    oldest = [emission(0), observation(1, GREP, attempt=0), observation(2, GIT)]

    assert adjudicate(newer, until=600).words == []
    assert adjudicate(oldest).words == [ADMITTED]


def test_revisions_count_per_attempt():
    """Each attempt begins with revision 1."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(10, fields=NEXT)]
    lines += [observation(11, GREP, attempt=1), observation(12, GIT, attempt=1)]

    outputs = adjudicate(lines, until=HOUR + 100)

    decided = [(word["attempt"], word["status"], word["revision"]) for word in outputs.on("admitted")]
    assert decided == [(0, "admitted", 1), (1, "admitted", 1), (1, "decayed-to-uncertainty", 2)]


# ---------------------------------------------------------------- the earlier life and the newer word


def test_an_earlier_admission_lives_on_while_the_newer_attempt_waits():
    """A re-emission does not take back what was admitted; it decays in its own time."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(5, fields=NEXT)]

    outputs = adjudicate(lines, until=HOUR + 0.001)

    assert outputs.words == [ADMITTED, DECAYED]
    assert attempts_of(outputs) == [0, 0]


def test_an_inadmissible_newer_attempt_does_not_end_the_earlier_life():
    """A word on `inadmissible` is no word on `admitted`."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(5, fields=NEXT)]

    outputs = adjudicate([*lines, observation(6, GREP, attempt=1)], until=HOUR + 0.001)

    assert outputs.words == [ADMITTED, BELOW_FLOOR, DECAYED]
    assert attempts_of(outputs) == [0, 1, 0]


def test_the_newer_attempt_s_word_ends_the_earlier_life_in_silence():
    """Once the newer attempt is admitted, the earlier one writes nothing more, its decay included."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(1000, fields=NEXT)]
    lines += [observation(1000, GREP, attempt=1), observation(1000, GIT, attempt=1)]

    before = adjudicate(lines, until=1000 + HOUR)
    after = adjudicate(lines, until=1000 + HOUR + 0.001)

    assert before.words == [ADMITTED, ADMITTED]
    assert after.words == [ADMITTED, ADMITTED, DECAYED]
    assert attempts_of(after) == [0, 1, 1]


def test_evidence_for_an_earlier_life_that_ended_changes_nothing():
    """After the newer attempt's word neither renewal nor contradiction of the earlier one is written."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(10, fields=NEXT)]
    lines += [observation(11, GREP, attempt=1), observation(12, GIT, attempt=1)]
    late = [observation(20, GREP), observation(20, GIT), observation(21, GREP, "contradicts")]

    assert adjudicate([*lines, *late]).words == [ADMITTED, ADMITTED]


def test_evidence_renews_an_earlier_life_while_it_lives_on():
    """While the newer attempt only waits, the earlier life goes on as before."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(5, fields=NEXT)]

    outputs = adjudicate([*lines, observation(20, GREP), observation(20, GIT)])

    assert outputs.words == [ADMITTED, ("admitted", "renewed", None)]
    assert attempts_of(outputs) == [0, 0]


def test_a_refusal_by_the_newer_attempt_is_a_word_of_its_own():
    """A newer attempt that refuses ends the earlier life: `refused` is a word on `admitted`."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(10, fields=NEXT, kind="refusal")]

    outputs = adjudicate(lines, until=HOUR + 1)

    assert outputs.words[0] == ADMITTED
    assert [word[:2] for word in outputs.words[1:]] == [("admitted", "refused")]


def test_a_refusal_by_policy_of_the_newer_attempt_is_a_word_of_its_own():
    """Where the newer attempt's end is an explicit refusal, the earlier life ends without a decay."""
    policy = '[disposition]\nbelow-floor = "refuse"\n'
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(5, fields=NEXT)]

    outputs = adjudicate([*lines, observation(6, GREP, attempt=1), {"at": at(700)}], policy, until=HOUR + 1)

    assert [(word["attempt"], word["status"]) for word in outputs.on("admitted")] == [(0, "admitted"), (1, "refused")]


def test_another_span_s_word_does_not_end_the_earlier_life():
    """Only a word under the same key ends the earlier life."""
    first, second = "It is there.", "It is new."
    spans = [{"chars": [0, 12]}, {"chars": [13, 23]}]
    old = emission(0, text=f"{first} {second}", claims=[claim(first)])
    new = emission(10, text=f"{first} {second}", claims=[claim(second, 13)], fields=NEXT)
    lines = [old, observation(0, GREP, span=spans[0]), observation(0, GIT, span=spans[0]), new]
    lines += [observation(10, name, span=spans[1], attempt=1) for name in (GREP, GIT)]

    outputs = adjudicate(lines, until=HOUR + 10.001)

    assert outputs.words == [ADMITTED, ADMITTED, DECAYED, DECAYED]
    assert sorted(attempts_of(outputs)) == [0, 0, 1, 1]


# ---------------------------------------------------------------- late reviews


def test_a_review_of_an_unknown_emission_is_late():
    """There is nothing to review, and the review is kept as a dead letter."""
    outputs = adjudicate([review(0)])

    assert outputs.dead == ["late-review"]
    assert outputs.words == []


def test_a_review_of_an_unknown_attempt_is_late():
    """A review speaks of its own attempt only."""
    outputs = adjudicate([emission(0), review(1, attempt=1)], until=600)

    assert outputs.dead == ["late-review"]
    assert outputs.words == []


def test_a_review_of_an_earlier_attempt_is_late_after_the_newer_word():
    """The earlier life has ended, so its refusal is a dead letter and the newer word stands."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(10, fields=NEXT)]
    lines += [observation(11, GREP, attempt=1), observation(12, GIT, attempt=1)]

    outputs = adjudicate([*lines, review(20, "refuse", attempt=0)])

    assert outputs.words == [ADMITTED, ADMITTED]
    assert outputs.dead == ["late-review"]


@pytest.mark.parametrize("has_spoken", [False, True])
def test_a_review_of_what_waited_is_late_once_a_newer_attempt_is_there(has_spoken):
    """Nobody reviews what is not said any more: the newer attempt ends the request, whether it has spoken or not."""
    lines = [emission(0), observation(1, GREP), emission(700, fields=NEXT)]
    spoken = [observation(701, GREP, attempt=1), observation(702, GIT, attempt=1)] if has_spoken else []

    outputs = adjudicate([*lines, *spoken, review(710, attempt=0)])

    assert outputs.words == [BELOW_FLOOR, *([ADMITTED] if has_spoken else [])]
    assert outputs.ends == [(0, "superseded")]
    assert outputs.dead == ["late-review"]


def test_a_review_of_an_earlier_life_that_lives_on_is_in_time():
    """While the newer attempt waits, a reviewer may take the earlier admission back."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), emission(10, fields=NEXT)]

    outputs = adjudicate([*lines, review(20, "refuse", attempt=0)], until=600)

    assert outputs.words == [ADMITTED, ("admitted", "rejected", "review")]
    assert attempts_of(outputs) == [0, 0]
    assert outputs.dead == []


def test_a_review_after_the_decay_is_late():
    """What was admitted and has decayed waits for no reviewer."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), {"at": at(HOUR + 1)}, review(HOUR + 2)]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED, DECAYED]
    assert outputs.dead == ["late-review"]


def test_a_review_of_the_newer_attempt_decides_the_newer_attempt():
    """A review that names the attempt refuses that one; the earlier was superseded."""
    outputs = adjudicate([emission(0), emission(5, fields=NEXT), review(10, "refuse", attempt=1)])

    assert outputs.words == [SUPERSEDED, ("inadmissible", "rejected", "review")]
    assert attempts_of(outputs) == [0, 1]


# ---------------------------------------------------------------- how often re-emission is asked for


def test_re_emission_is_asked_for_first_and_review_at_last():
    """The first attempt that decayed is asked for again; one past `max_attempts` goes to a reviewer."""
    asked = []
    for attempt in (0, 3):
        lines = [emission(0, fields={"attempt": attempt}), observation(1, GREP, seen=-7200, attempt=attempt)]
        asked.append(adjudicate(lines, until=600.001).requests)

    assert asked == [["re-emission-requests"], ["review-requests"]]


def test_max_attempts_is_the_policy_s():
    """A policy with one attempt sends the second one to a reviewer."""
    policy = "[admissibility]\nmax_attempts = 1\n"
    lines = [emission(0, fields=NEXT), observation(1, GREP, seen=-7200, attempt=1)]

    outputs = adjudicate(lines, policy, until=600.001)

    assert outputs.requests == ["review-requests"]
    assert outputs.on("inadmissible")[0]["status"] == "decayed-to-uncertainty"


def test_the_answer_to_a_request_is_the_next_attempt():
    """The next attempt of the same emission, with fresh evidence, is admitted."""
    lines = [
        emission(0),
        observation(1, GREP, seen=-7200),
        emission(700, fields=NEXT),
        observation(701, GREP, attempt=1),
        observation(702, GIT, attempt=1),
    ]

    outputs = adjudicate(lines)

    assert outputs.words == [("inadmissible", "decayed-to-uncertainty", "aged-out"), ADMITTED]
    assert attempts_of(outputs) == [0, 1]
    assert outputs.on("re-emission-requests")[0]["attempt"] == 0


def test_a_superseded_assertion_asks_for_nothing():
    """The record is written, a request is not: the newer attempt is the answer already."""
    outputs = adjudicate([emission(0), emission(5, fields=NEXT)])

    assert outputs.words == [SUPERSEDED]
    assert outputs.requests == []
