"""Time in adjudication: freshness, pending time, validity, and what is too old or too new.

Every bound is tested on both of its sides, a millisecond apart. In `sluice fold` each line is a block, and both its
time and its watermark are the line's time. Unless a test says otherwise W is one hour, the horizon ten minutes.
"""

import pytest
from fold_lines import adjudicate, annotation, at, emission, nothing_discarded, observation, review, seconds_of

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"
MTIME = "substrate.fs.mtime"

HOUR = 3600
DAY = 86_400
WINDOWS = '[admissibility.window]\n"substrate.fs.mtime" = "10m"\n'
ADMITTED = ("admitted", "admitted", None)
RENEWED = ("admitted", "renewed", None)
DECAYED = ("admitted", "decayed-to-uncertainty", "validity-ended")
AGED_OUT = ("inadmissible", "decayed-to-uncertainty", "aged-out")
BELOW_FLOOR = ("inadmissible", "below-floor", "below-floor")
NO_CORROBORATION = ("inadmissible", "unverified-inference", "not-looked-at")


# ---------------------------------------------------------------- freshness [S §3]


@pytest.mark.parametrize(("seen", "verdict"), [(-HOUR, BELOW_FLOOR), (-HOUR - 0.001, AGED_OUT)])
def test_evidence_is_fresh_from_w_before_emission_that_instant_included(seen, verdict):
    """What was seen exactly W before emission is fresh, and a millisecond earlier it has aged."""
    assert adjudicate([emission(0), observation(1, GREP, seen=seen)], until=600.001).words == [verdict]


def test_freshness_is_judged_at_emission_not_at_arrival():
    """An emission that took five minutes to arrive is as fresh as when it was made."""
    lines = [emission(300, emitted=0), observation(301, GREP, seen=-HOUR), observation(302, GIT, seen=-HOUR - 0.001)]

    outputs = adjudicate(lines, until=900.001)

    assert outputs.words == [BELOW_FLOOR]
    assert outputs.on("review-requests")[0]["missing_floor"] == 1


def test_evidence_is_fresh_until_the_horizon_after_emission_that_instant_included():
    """What was seen exactly one horizon after emission counts."""
    lines = [emission(60, emitted=0), observation(61, GREP), observation(650, GIT, seen=600)]

    assert adjudicate(lines).words == [ADMITTED]


def test_evidence_from_after_the_late_horizon_does_not_admit():
    """What was seen a millisecond later than both horizons after emission does not count."""
    lines = [emission(60, emitted=0), observation(61, GREP), observation(650, GIT, seen=630.001)]

    assert adjudicate(lines, '[admissibility]\nlate_horizon = "30s"\n', until=660.001).words == [BELOW_FLOOR]


def test_each_class_has_its_own_window():
    """W is per class: what is fresh for grep has aged for a modification time."""
    lines = [emission(0), observation(1, MTIME, seen=-601)]
    others = [emission(0), observation(1, GREP, seen=-601)]
    bound = [emission(0), observation(1, MTIME, seen=-600)]

    assert adjudicate(lines, WINDOWS, until=600.001).words == [AGED_OUT]
    assert adjudicate(others, WINDOWS, until=600.001).words == [BELOW_FLOOR]
    assert adjudicate(bound, WINDOWS, until=600.001).words == [BELOW_FLOOR]


def test_the_default_window_is_the_policy_s():
    """Every class without a window of its own has the policy's default one."""
    policy = '[admissibility.window]\ndefault = "2h"\n"substrate.fs.mtime" = "10m"\n'

    for seen, verdict in ((-2 * HOUR, BELOW_FLOOR), (-2 * HOUR - 0.001, AGED_OUT)):
        assert adjudicate([emission(0), observation(1, GREP, seen=seen)], policy, until=600.001).words == [verdict]


def test_evidence_that_is_not_fresh_does_not_hide_what_is():
    """A later observation of a class, from after the horizon, does not take its fresh one away."""
    lines = [
        emission(60, emitted=0),
        observation(61, GREP),
        observation(640, GREP, seen=630),
        observation(650, GIT, seen=600),
    ]

    assert adjudicate(lines).words == [ADMITTED]


# ---------------------------------------------------------------- horizon and pending time


def test_an_assertion_waits_until_the_watermark_passes_the_horizon():
    """At arrival plus horizon it still waits; a millisecond later the verdict falls."""
    lines = [emission(0), {"at": at(300)}, {"at": at(600)}]

    assert adjudicate(lines, nothing_discarded).words == []
    assert adjudicate([*lines, {"at": at(600.001)}], nothing_discarded).words == [NO_CORROBORATION]


def test_the_pending_time_counts_from_arrival():
    """An emission that was late has its whole pending time all the same."""
    lines = [emission(0, emitted=-500)]

    assert adjudicate(lines, nothing_discarded, until=600).words == []
    assert adjudicate(lines, nothing_discarded, until=600.001).words == [NO_CORROBORATION]


def test_evidence_in_the_last_instant_of_the_pending_time_counts():
    """Evidence that arrives exactly when the horizon ends still admits."""
    assert adjudicate([emission(0), observation(1, GREP), observation(600, GIT, seen=599)]).words == [ADMITTED]


def test_evidence_after_the_pending_time_is_late_and_changes_nothing():
    """Once the verdict has fallen, evidence writes no further word."""
    lines = [emission(0), observation(1, GREP), observation(600.001, GIT, seen=599), observation(700, MCP, seen=600)]

    outputs = adjudicate(lines, until=2 * HOUR)

    assert outputs.words == [BELOW_FLOOR]
    assert outputs.dead == []


def test_the_verdict_falls_once():
    """Time that goes on passing repeats no verdict."""
    lines = [emission(0), *({"at": at(seconds)} for seconds in (601, 602, 1200, 5000))]

    assert adjudicate(lines, nothing_discarded).words == [NO_CORROBORATION]


def test_verdicts_fall_in_the_order_in_which_they_were_due():
    """When one step of time ends several waits, the earliest end comes first."""
    lines = [emission(0, "em-2"), emission(10, "em-3"), emission(20, "em-1")]

    outputs = adjudicate(lines, nothing_discarded, until=5000)

    assert [word["emission_id"] for word in outputs.on("inadmissible")] == ["em-2", "em-3", "em-1"]


def test_the_horizon_is_the_policy_s():
    """The policy's horizon is the pending time."""
    policy = '[admissibility]\nhorizon = "30s"\n' + nothing_discarded

    assert adjudicate([emission(0)], policy, until=30).words == []
    assert adjudicate([emission(0)], policy, until=30.001).words == [NO_CORROBORATION]


@pytest.mark.parametrize(("arrival", "words"), [(599, [ADMITTED]), (600.001, [])])
def test_an_observation_waits_for_its_emission_for_one_horizon(arrival, words):
    """Evidence that came first is joined when the emission comes in time, and dropped in silence when it does not."""
    lines = [observation(0, GREP), observation(0, GIT), emission(arrival)]

    outputs = adjudicate(lines)

    assert outputs.words == words
    assert outputs.dead == []


def test_each_observation_waits_from_its_own_arrival():
    """Of two observations without an emission the first one's end does not end the second one's wait."""
    lines = [observation(0, GREP), observation(300, GIT), emission(700), observation(701, MCP)]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["classes"] == [GIT, MCP]


def test_an_observation_of_a_span_that_is_not_there_is_dropped_in_silence():
    """Evidence for a span that the emission does not have counts for no other span and is no dead letter."""
    other = {"chars": [0, 5]}
    lines = [emission(0), observation(1, GREP, span=other), observation(2, GIT, span=other)]

    outputs = adjudicate(lines, nothing_discarded, until=700)

    assert outputs.words == [NO_CORROBORATION]
    assert outputs.dead == []


def test_until_lets_time_pass_at_the_end_of_the_input():
    """`--until` does what a last line with only `at` does."""
    lines = [emission(0, provenance=None), emission(0, "em-2")]
    policy = '[disposition]\nunannotated = "review"\nunverified-inference = "review"\n'

    until = adjudicate(lines, policy, until=600.001)
    line = adjudicate([*lines, {"at": at(600.001)}], policy)

    assert len(until.words) == 2
    assert until == line


def test_times_may_be_milliseconds():
    """A reader accepts an integer of Unix milliseconds wherever a time stands."""
    base = 1_795_251_600_000
    lines = [emission(0), observation(1, GREP), observation(2, GIT)]
    for line, time, field in zip(
        lines, (base, base + 1000, base + 2000), ("emitted_at", *["observed_at"] * 2), strict=True
    ):
        line["at"] = line["value"][field] = time

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["emitted_at"] == "2026-11-21T09:00:00Z"


# ---------------------------------------------------------------- validity


def test_validity_is_the_kth_largest_of_newest_evidence_plus_its_window():
    """With three classes and a floor of two, the second largest end counts: the third class is not needed."""
    lines = [
        observation(0, GREP, seen=-100),
        observation(0, GIT, seen=-200),
        observation(0, MCP, seen=-300),
        emission(0),
    ]

    (word,) = adjudicate(lines).on("admitted")

    assert seconds_of(word["valid_until"]) == HOUR - 200


def test_validity_of_an_external_effect_is_the_third_largest():
    """With a floor of three the third largest end counts."""
    lines = [
        observation(0, GREP, seen=-100),
        observation(0, GIT, seen=-200),
        observation(0, MCP, seen=-300),
        emission(0, fields={"effect": "external"}),
    ]

    (word,) = adjudicate(lines).on("admitted")

    assert seconds_of(word["valid_until"]) == HOUR - 300


def test_the_newest_observation_of_a_class_is_its_evidence():
    """Older observations of the same class, whenever they come, do not shorten the validity."""
    lines = [
        observation(0, GREP, seen=-100),
        observation(0, GREP, seen=-3000, observer="observer-2"),
        observation(0, GIT, seen=-50),
        emission(0),
    ]

    (word,) = adjudicate(lines).on("admitted")

    assert seconds_of(word["valid_until"]) == HOUR - 100


def test_each_class_ends_by_its_own_window():
    """A class with a short window ends early, and the k-th largest end takes that into account."""
    two = [observation(0, GREP, seen=-100), observation(0, MTIME, seen=-1), emission(0)]
    three = [observation(0, GIT, seen=-200), *two]

    assert seconds_of(adjudicate(two, WINDOWS).on("admitted")[0]["valid_until"]) == 599
    assert seconds_of(adjudicate(three, WINDOWS).on("admitted")[0]["valid_until"]) == HOUR - 200


def test_the_decay_fires_at_the_first_block_after_the_validity():
    """At `valid_until` the assertion is still admitted; a millisecond later it has decayed."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), {"at": at(HOUR)}]

    assert adjudicate(lines).words == [ADMITTED]
    assert adjudicate([*lines, {"at": at(HOUR + 0.001)}]).words == [ADMITTED, DECAYED]


def test_the_decay_has_the_key_of_the_admission_and_no_text():
    """A closing word takes back, under the same key, what was admitted; the frame is there, its text is empty."""
    outputs = adjudicate([emission(0), observation(0, GREP), observation(0, GIT)], until=HOUR + 1)

    first, last = outputs.lines_on("admitted")
    assert first["key"] == last["key"] == "em-1#c:0-43"
    assert first["value"]["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."
    assert last["value"]["_untrusted_text"]["assertion"] == ""
    assert last["value"]["revision"] == 2


def test_the_decay_of_what_was_admitted_is_never_inadmissible():
    """After admission every word is on `admitted`, and there is one decay only."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), {"at": at(HOUR + 1)}, {"at": at(DAY)}]

    outputs = adjudicate(lines, until=2 * DAY)

    assert outputs.words == [ADMITTED, DECAYED]
    assert outputs.on("inadmissible") == []


def test_a_decayed_assertion_does_not_come_back():
    """Evidence for an assertion already closed changes nothing."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), {"at": at(HOUR + 1)}]

    assert adjudicate([*lines, observation(HOUR + 2, GREP), observation(HOUR + 3, GIT)]).words == [ADMITTED, DECAYED]


def test_a_validity_already_past_does_not_admit():
    """Enough fresh classes whose validity has gone by wait on, and end as aged out without newer evidence."""
    lines = [emission(0), observation(300, GREP, seen=-HOUR + 60), observation(301, GIT, seen=-HOUR + 60)]

    assert adjudicate([*lines, {"at": at(600)}]).words == []
    assert adjudicate([*lines, {"at": at(600.001)}]).words == [AGED_OUT]


def test_newer_evidence_admits_what_waited_with_a_validity_past():
    """The wait for newer evidence ends with it: when the k-th largest end lies ahead again, it is admitted."""
    lines = [emission(0), observation(300, GREP, seen=-HOUR + 60), observation(301, GIT, seen=-HOUR + 60)]
    newer = [observation(400, GREP), observation(500, GIT)]

    assert adjudicate([*lines, newer[0]]).words == []
    outputs = adjudicate([*lines, *newer])
    assert outputs.words == [ADMITTED]
    assert seconds_of(outputs.on("admitted")[0]["valid_until"]) == HOUR + 400


@pytest.mark.parametrize(("arrival", "words"), [(60, [ADMITTED]), (60.001, [])])
def test_the_last_instant_of_validity_still_admits(arrival, words):
    """`valid_until` itself is included: whoever reaches k in that instant is admitted."""
    lines = [
        emission(0),
        observation(1, GREP, seen=-HOUR + 60),
        observation(arrival, GIT, seen=0),
    ]

    assert adjudicate(lines).words == words


def test_max_validity_caps_the_validity_from_arrival():
    """However new its evidence is, no admission lasts longer than `arrival + max_validity`."""
    policy = '[admissibility]\nmax_validity = "2h"\n'
    lines = [
        emission(0, emitted=-100),
        observation(0, GREP),
        observation(0, GIT),
        observation(3500, GREP),
        observation(3500, GIT),
        observation(3700, GREP),
        observation(3700, GIT),
        observation(3800, GREP),
        observation(3800, GIT),
    ]

    outputs = adjudicate(lines, policy, until=2 * HOUR + 0.001)

    assert outputs.words == [ADMITTED, RENEWED, RENEWED, DECAYED]
    assert [seconds_of(word["valid_until"]) for word in outputs.on("admitted")[:3]] == [3600, 7100, 7200]


def test_a_capped_validity_lasts_to_its_last_instant():
    """At `arrival + max_validity` the assertion is still admitted."""
    policy = '[admissibility]\nmax_validity = "70m"\n'
    lines = [emission(0), observation(0, GREP), observation(0, GIT), observation(3000, GREP), observation(3000, GIT)]

    assert adjudicate(lines, policy, until=4200).words == [ADMITTED, RENEWED]
    assert adjudicate(lines, policy, until=4200.001).words == [ADMITTED, RENEWED, DECAYED]


# ---------------------------------------------------------------- renewal


def test_evidence_that_moves_the_validity_renews():
    """A renewal is written when the k-th largest end moves on, and only then."""
    lines = [
        emission(0),
        observation(0, GREP),
        observation(0, GIT),
        observation(1000, GREP),
        observation(1100, GIT),
        observation(1200, MCP),
    ]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED, RENEWED, RENEWED]
    assert [seconds_of(word["valid_until"]) for word in outputs.on("admitted")] == [HOUR, HOUR + 1000, HOUR + 1100]
    assert [word["revision"] for word in outputs.on("admitted")] == [1, 2, 3]


def test_a_renewal_carries_the_text_and_the_newest_evidence():
    """Compaction may leave a renewal as the last word, so it says everything again."""
    lines = [
        emission(0),
        observation(0, GREP, observation_id="a1"),
        observation(0, GIT, observation_id="b1"),
        observation(10, GREP, observation_id="a2"),
        observation(11, GIT, observation_id="b2"),
    ]

    renewed = adjudicate(lines).on("admitted")[-1]

    assert renewed["status"] == "renewed"
    assert renewed["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."
    assert {item["observation_id"] for item in renewed["evidence"]} == {"a2", "b2"}


def test_evidence_from_long_after_emission_renews():
    """For renewal any corroboration newer than its class's last one counts, far beyond the horizon."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT)]
    for seconds in (3000, 6000, 9000, 12_000, 15_000):
        lines += [observation(seconds, GREP), observation(seconds, GIT)]

    assert adjudicate(lines, until=15_000 + HOUR).words == [ADMITTED] + [RENEWED] * 5


@pytest.mark.parametrize("seen", [0, -1, -3599])
def test_evidence_that_is_not_newer_renews_nothing(seen):
    """An observation as old as its class's last one, or older, moves nothing."""
    lines = [
        emission(0),
        observation(0, GREP),
        observation(0, GIT),
        observation(10, GREP, seen=seen, observer="observer-2"),
        observation(11, GIT, seen=seen, observer="observer-2"),
    ]

    assert adjudicate(lines, until=HOUR + 0.001).words == [ADMITTED, DECAYED]


def test_a_renewal_moves_the_decay():
    """The old end of validity passes without a word; the new one decays."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), observation(1000, GREP), observation(1000, GIT)]

    assert adjudicate(lines, until=HOUR + 1000).words == [ADMITTED, RENEWED]
    assert adjudicate(lines, until=HOUR + 1000.001).words == [ADMITTED, RENEWED, DECAYED]


def test_there_is_at_most_one_renewal_a_block():
    """One block that moves the validity writes one renewal, never one for each class that it moved."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), observation(0, MCP)]
    lines += [observation(100 + step, name) for step, name in enumerate((GREP, GIT, MCP, GREP, GIT, MCP))]

    renewals = [line for line in adjudicate(lines).lines_on("admitted") if line["value"]["status"] == "renewed"]

    heights = [line["value"]["ledger"]["height"] for line in renewals]
    assert len(heights) >= 2
    assert len(set(heights)) == len(heights)


def test_evidence_in_the_block_after_the_end_comes_too_late_to_renew():
    """A block first moves the time, firing what is due, and then applies its record."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), observation(10, GREP)]

    assert adjudicate([*lines, observation(HOUR, GIT)]).words == [ADMITTED, RENEWED]
    assert adjudicate([*lines, observation(HOUR + 0.001, GIT)]).words == [ADMITTED, DECAYED]


# ---------------------------------------------------------------- too old, and from the future


@pytest.mark.parametrize(("emitted", "dead"), [(-DAY, []), (-DAY - 0.001, ["too-old"])])
def test_an_emission_older_than_max_validity_is_a_dead_letter(emitted, dead):
    """An emission exactly `max_validity` old is taken, a millisecond more is too old."""
    assert adjudicate([emission(0, emitted=emitted)]).dead == dead


def test_too_old_follows_the_policy_s_max_validity():
    """The bound is the policy's, not a constant."""
    policy = '[admissibility]\nmax_validity = "2h"\n'

    assert adjudicate([emission(0, emitted=-2 * HOUR)], policy).dead == []
    assert adjudicate([emission(0, emitted=-2 * HOUR - 0.001)], policy).dead == ["too-old"]


@pytest.mark.parametrize(("ahead", "dead"), [(30, []), (30.001, ["clock-skew"])])
def test_an_emission_from_the_future_is_refused(ahead, dead):
    """`max_skew` ahead of block time is taken for a clock's error, more is refused."""
    assert adjudicate([emission(0, emitted=ahead)]).dead == dead


@pytest.mark.parametrize(("ahead", "words", "dead"), [(30, [ADMITTED], []), (30.001, [], ["clock-skew"])])
def test_an_observation_from_the_future_is_refused(ahead, words, dead):
    """A date from the future would never grow old: such an observation is a dead letter and counts for nothing."""
    outputs = adjudicate([emission(0), observation(1, GREP), observation(2, GIT, seen=2 + ahead)])

    assert outputs.words == words
    assert outputs.dead == dead


def test_an_annotation_from_the_future_is_refused():
    """A declared time too far ahead is refused like any other timestamp."""
    policy = '[admissibility]\ntrust = "declared"\n'
    provenance = [annotation(GREP, 0), annotation(GIT, 30.001)]

    outputs = adjudicate([emission(0, provenance=provenance)], policy)

    assert outputs.words == []
    assert outputs.dead == ["clock-skew"]


def test_max_skew_is_the_policy_s():
    """The bound of the skew comes from the policy."""
    policy = '[admissibility]\nmax_skew = "5s"\n'

    assert adjudicate([emission(0, emitted=5)], policy).dead == []
    assert adjudicate([emission(0, emitted=5.001)], policy).dead == ["clock-skew"]


def test_a_review_from_the_future_is_refused():
    """The time at which a person decided is a timestamp as well."""
    lines = [emission(0), review(1, decided_at=at(31.001)), review(2, "refuse", decided_at=at(32))]

    outputs = adjudicate(lines)

    assert outputs.dead == ["clock-skew"]
    assert outputs.words == [("inadmissible", "rejected", "review")]


# ---------------------------------------------------------------- the review window


@pytest.mark.parametrize(
    ("policy", "window"), [("", DAY), ('[admissibility]\nreview_window = "1h"\n', HOUR)], ids=["default", "1h"]
)
def test_what_waits_for_a_reviewer_is_kept_for_the_review_window(policy, window):
    """Within the window a review decides; after it, it is a dead letter."""
    policy += '[disposition]\nunverified-inference = "review"\n'
    lines = [emission(0), {"at": at(600.001)}]

    early = adjudicate([*lines, review(600 + window)], policy)
    late = adjudicate([*lines, review(601 + window)], policy)

    assert early.words == [NO_CORROBORATION, ADMITTED]
    assert early.dead == []
    assert late.words == [NO_CORROBORATION]
    assert late.dead == ["late-review"]


def test_the_review_window_defaults_to_max_validity():
    """A policy with another `max_validity` and no window of its own moves the window with it."""
    policy = '[admissibility]\nmax_validity = "2h"\n[disposition]\nunverified-inference = "review"\n'
    lines = [emission(0), {"at": at(600.001)}]

    assert adjudicate([*lines, review(600 + 2 * HOUR)], policy).words == [NO_CORROBORATION, ADMITTED]
    assert adjudicate([*lines, review(601 + 2 * HOUR)], policy).dead == ["late-review"]


def test_a_reviewer_s_admission_ends_like_any_other():
    """It is valid until the review's block time plus `max_validity`, and decays after that."""
    lines = [emission(0), {"at": at(601)}, review(700), {"at": at(700 + DAY)}]

    assert adjudicate(lines, nothing_discarded).words[1:] == [ADMITTED]
    assert adjudicate(lines, nothing_discarded, until=700 + DAY + 0.001).words[1:] == [ADMITTED, DECAYED]
