"""What counts as evidence, for an assertion and against it ([S §3, §7, §11.1]).

Two observations of one class are one; terminals and what the emitter can write to are none; negatives are held against
what observers saw since; and the trust mode says whether observers, the emitter's declarations, or both are counted.
"""

import pytest
from fold_lines import adjudicate, annotation, at, claim, emission, nothing_discarded, observation, review, seconds_of

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"

HOUR = 3600
DECLARED = '[admissibility]\ntrust = "declared"\n'
BOTH = '[admissibility]\ntrust = "both"\n'
COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"
ADMITTED = ("admitted", "admitted", None)
CONTRADICTED = ("inadmissible", "contradicted", "contradicted")
FABRICATED = ("inadmissible", "rejected", "fabricated-annotation")
BELOW_FLOOR = ("inadmissible", "below-floor", "below-floor")


# ---------------------------------------------------------------- distinct classes


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({}, id="the same again"),
        pytest.param({"observation_id": "another"}, id="another observation"),
        pytest.param({"observer": "observer-2"}, id="another observer"),
        pytest.param({"observer": "observer-2", "observation_id": "another", "seen": -5}, id="another of everything"),
    ],
)
def test_two_observations_of_one_class_count_once(second):
    """Distinct kinds are counted, not observations, whoever made them."""
    lines = [emission(0), observation(1, GREP), observation(2, GREP, **second)]

    outputs = adjudicate(lines, until=600.001)

    assert outputs.words == [BELOW_FLOOR]
    assert outputs.on("review-requests")[0]["missing_floor"] == 1


def test_one_class_is_the_same_class_with_its_anchor():
    """`1.0.substrate.grep` and `substrate.grep` are one class [S §4]."""
    lines = [emission(0), observation(1, GREP), observation(2, "1.0." + GREP)]

    assert adjudicate(lines, until=600.001).words == [BELOW_FLOOR]


def test_one_observer_may_bear_out_several_classes():
    """Distinct are the classes; one observer with access to two substrates is enough."""
    lines = [emission(0), observation(1, GREP, observer="observer-1"), observation(2, GIT, observer="observer-1")]

    assert adjudicate(lines).words == [ADMITTED]


def test_the_order_in_which_evidence_comes_does_not_matter():
    """Before the emission or after it, in either order, two classes are two classes."""
    stories = [
        [emission(0), observation(0, GREP), observation(0, GIT)],
        [observation(0, GREP), emission(0), observation(0, GIT)],
        [observation(0, GIT), observation(0, GREP), emission(0)],
    ]

    for story in stories:
        outputs = adjudicate(story)
        assert outputs.words == [ADMITTED]
        assert outputs.on("admitted")[0]["classes"] == [GIT, GREP]


@pytest.mark.parametrize("terminal", ["unverified-inference", "decayed-to-uncertainty"])
def test_a_terminal_never_counts(terminal):
    """A terminal names no substrate: an observer's observation of one bears nothing out."""
    lines = [emission(0), observation(1, GREP), observation(2, terminal)]

    assert adjudicate(lines, until=600.001).words == [BELOW_FLOOR]


def test_an_unknown_class_never_counts():
    """What the vocabulary does not hold is no evidence, from an observer either [S §8]."""
    lines = [emission(0), observation(1, GREP), observation(2, "substrate.telepathy")]

    assert adjudicate(lines, until=600.001).words == [BELOW_FLOOR]


def test_an_observation_speaks_of_its_own_span():
    """Evidence for one assertion of an emission counts for no other one."""
    first, second = "It is there.", "It is new."
    lines = [
        emission(0, text=f"{first} {second}", claims=[claim(first), claim(second, 13)]),
        observation(1, GREP, span={"chars": [0, 12]}),
        observation(2, GIT, span={"chars": [13, 23]}),
        observation(3, MCP, span={"chars": [13, 23]}),
    ]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["span"] == {"chars": [13, 23]}


def test_an_observation_speaks_of_its_own_emission():
    """The same span of another emission is another assertion."""
    lines = [emission(0), emission(0, "em-2"), observation(1, GREP), observation(2, GIT, emission_id="em-2")]

    assert adjudicate(lines, until=600).words == []


@pytest.mark.parametrize(
    "span",
    [
        pytest.param({"tokens": [0, 9], "tokenizer": "cl100k"}, id="tokens"),
        pytest.param({"path": "/summary"}, id="path"),
    ],
)
def test_every_form_of_span_joins(span):
    """Evidence finds its assertion by token offsets and field paths as by characters."""
    line = emission(0, text='{"summary": "It is there."}', claims=[claim(span=span)])

    outputs = adjudicate([line, observation(1, GREP, span=span), observation(2, GIT, span=span)])

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["span"] == span


# ---------------------------------------------------------------- substrates that the emitter writes, and confidence


def test_what_the_emitter_can_write_to_never_counts():
    """An observer of a substrate that this emitter can write to is no independent witness [S §3]."""
    policy = '[observers]\n"observer-2" = { writable_by = ["release-notes-bot"] }\n'
    evidence = [observation(1, GREP), observation(2, GIT, observer="observer-2")]

    own = emission(0, fields={"emitter": {"system": "release-notes-bot"}})
    other = emission(0, fields={"emitter": {"system": "another-bot"}})

    assert adjudicate([own, *evidence], policy, until=600.001).words == [BELOW_FLOOR]
    assert adjudicate([other, *evidence], policy).words == [ADMITTED]


def test_what_the_emitters_vendor_owns_never_counts():
    """A service is a substrate where its state is owned "by a party other than the inference system vendor" [S §4]."""
    policy = '[emitters.vendor]\n"release-notes-bot" = "Acme"\n'
    brief = "substrate.mcp.brief"

    def after(owner, system):
        looked = {} if owner is None else {"looked_at": {"owner": owner}}
        lines = [emission(0, fields={"emitter": {"system": system}}), observation(1, GREP),
                 observation(2, brief, **looked)]  # fmt: skip
        return adjudicate(lines, policy, until=600.001).words

    assert after("Example Ltd", "release-notes-bot") == [ADMITTED]
    assert after("acme", "release-notes-bot") == [BELOW_FLOOR]
    assert after(None, "release-notes-bot") == [BELOW_FLOOR]
    assert after("Acme", "another-bot") == [ADMITTED]


def test_another_observer_of_the_same_class_counts_beside_a_writable_one():
    """Not the class but the writable substrate is left out: who saw the class elsewhere counts."""
    policy = '[observers]\n"observer-2" = { writable_by = ["release-notes-bot"] }\n'
    lines = [
        emission(0, fields={"emitter": {"system": "release-notes-bot"}}),
        observation(1, GREP),
        observation(2, GIT, observer="observer-2"),
        observation(3, GIT, observer="observer-3"),
    ]

    outputs = adjudicate(lines, policy)

    assert outputs.words == [ADMITTED]
    assert {item["observer"] for item in outputs.on("admitted")[0]["evidence"]} == {"observer-1", "observer-3"}


@pytest.mark.parametrize(("confidence", "words"), [(0.8, [ADMITTED]), (0.79, [BELOW_FLOOR])])
def test_evidence_below_the_floor_of_confidence_is_not_counted(confidence, words):
    """Evidence at the policy's floor counts; below it, it is left out and rejects nothing."""
    policy = "[admissibility]\nmin_confidence = 0.8\n"
    lines = [emission(0), observation(1, GREP), observation(2, GIT, confidence=confidence)]

    assert adjudicate(lines, policy, until=600.001).words == words


# ---------------------------------------------------------------- negatives


@pytest.mark.parametrize(("seen", "words"), [(-HOUR, [CONTRADICTED]), (-HOUR - 0.001, [])])
def test_a_contradiction_not_older_than_the_window_counts(seen, words):
    """A negative ages like evidence: `t - W` is the oldest that counts."""
    assert adjudicate([emission(0), observation(1, GREP, "contradicts", seen=seen)], until=600).words == words


def test_a_contradiction_has_no_upper_bound():
    """A contradiction from after the horizon counts as long as the assertion waits."""
    assert adjudicate([emission(60, emitted=0), observation(650, GREP, "contradicts")]).words == [CONTRADICTED]


@pytest.mark.parametrize(("seen", "words"), [(-HOUR, [FABRICATED]), (-HOUR - 0.001, [])])
def test_an_unknown_observation_not_older_than_the_window_counts(seen, words):
    """Old news of a fabrication is dropped by the same bound as an old contradiction."""
    lines = [
        emission(0, provenance=annotation(CODE, -20, "sha256:aa")),
        observation(1, CODE, "unknown-observation", observation_id="sha256:aa", seen=seen),
    ]

    assert adjudicate(lines, until=600).words == words


def test_a_stalled_observer_s_old_contradiction_undoes_nothing():
    """A contradiction older than an observed corroboration of its class does not count."""
    lines = [emission(0), observation(10, GREP), observation(20, GREP, "contradicts", seen=9), observation(30, GIT)]

    assert adjudicate(lines).words == [ADMITTED]


def test_old_news_does_not_count_whoever_corroborated_since():
    """«No observer has corroborated since» means any observer, not the same one."""
    lines = [
        emission(0),
        observation(10, GREP, observer="observer-2"),
        observation(20, GREP, "contradicts", seen=9, observer="observer-1"),
    ]

    assert adjudicate(lines, until=600).words == []


def test_old_news_that_lay_ready_does_not_count_either():
    """The times of observation decide, not the order of arrival."""
    lines = [observation(10, GREP, "contradicts", seen=8), observation(11, GREP, seen=9), emission(12)]

    assert adjudicate(lines, until=600).words == []


def test_a_newer_contradiction_of_a_corroborated_class_counts():
    """Who looked last is right."""
    lines = [emission(0), observation(10, GREP), observation(20, GREP, "contradicts", seen=11)]

    assert adjudicate(lines).words == [CONTRADICTED]


def test_a_contradiction_is_held_against_its_own_class_only():
    """A newer corroboration of another class does not take a contradiction back."""
    lines = [emission(0), observation(10, GIT), observation(20, GREP, "contradicts", seen=9)]

    assert adjudicate(lines).words == [CONTRADICTED]


def test_a_true_annotation_does_not_cover_for_an_invented_one():
    """An unknown observation is not held against newer corroborations of another observation id."""
    provenance = [annotation(CODE, -20, "sha256:aa"), annotation(CODE, -20, "sha256:bb")]
    lines = [
        emission(0, provenance=provenance),
        observation(10, CODE, observation_id="sha256:bb"),
        observation(20, CODE, "unknown-observation", observation_id="sha256:aa", seen=9),
    ]

    assert adjudicate(lines).words == [FABRICATED]


def test_a_corroboration_of_the_same_observation_answers_an_older_unknown():
    """Who has found the very observation since shows that it is not invented."""
    lines = [
        emission(0, provenance=annotation(CODE, -20, "sha256:aa")),
        observation(10, CODE, observation_id="sha256:aa"),
        observation(20, CODE, "unknown-observation", observation_id="sha256:aa", seen=9, observer="observer-2"),
    ]

    assert adjudicate(lines, until=600).words == []


def test_a_newer_unknown_goes_before_an_older_corroboration_of_the_same_observation():
    """An observation that is gone now was found earlier: the last look counts."""
    lines = [
        emission(0, provenance=annotation(CODE, -20, "sha256:aa")),
        observation(10, CODE, observation_id="sha256:aa"),
        observation(20, CODE, "unknown-observation", observation_id="sha256:aa", seen=11),
    ]

    assert adjudicate(lines).words == [FABRICATED]


# ---------------------------------------------------------------- negatives after admission


def test_a_contradiction_after_admission_takes_it_back():
    """The closing word is `contradicted`, on `admitted`, once, and no decay follows it."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), observation(100, GREP, "contradicts")]

    outputs = adjudicate([*lines, observation(101, MCP, "contradicts")], until=2 * HOUR)

    assert outputs.words == [ADMITTED, ("admitted", "contradicted", "contradicted")]
    assert outputs.on("admitted")[-1]["_untrusted_text"]["assertion"] == ""


def test_a_fabrication_found_after_admission_takes_it_back():
    """The closing word is `rejected` for `fabricated-annotation`, on `admitted`."""
    lines = [
        emission(0, provenance=annotation(CODE, -20, "sha256:aa")),
        observation(0, GREP),
        observation(0, GIT),
        observation(100, CODE, "unknown-observation", observation_id="sha256:aa"),
    ]

    assert adjudicate(lines, until=2 * HOUR).words == [ADMITTED, ("admitted", "rejected", "fabricated-annotation")]


def test_a_refusal_by_a_reviewer_after_admission_takes_it_back():
    """A reviewer may refuse what evidence admitted; the closing word is on `admitted`."""
    lines = [emission(0), observation(0, GREP), observation(0, GIT), review(100, "refuse")]

    assert adjudicate(lines, until=2 * HOUR).words == [ADMITTED, ("admitted", "rejected", "review")]


def test_a_contradiction_takes_a_reviewer_s_admission_back():
    """What a person admitted is admitted like anything else, and a contradiction closes it."""
    lines = [emission(0), {"at": at(601)}, review(602), observation(603, GREP, "contradicts")]

    assert adjudicate(lines, nothing_discarded).words[-2:] == [ADMITTED, ("admitted", "contradicted", "contradicted")]


def test_a_stalled_observer_s_old_contradiction_takes_no_admission_back():
    """After admission as before it, old news is held against newer evidence of its class."""
    lines = [
        emission(0),
        observation(50, GREP),
        observation(50, GIT),
        observation(100, GREP, "contradicts", seen=49),
    ]

    assert adjudicate(lines, until=HOUR).words == [ADMITTED]


# ---------------------------------------------------------------- trust = "declared" [S §7]


def test_declared_trust_counts_annotations():
    """The memo's plain count admits at once, says `declaration`, and ends with the k-th largest `ts + W`."""
    provenance = [annotation(GREP, -100), annotation(GIT, -200)]

    outputs = adjudicate([emission(0, provenance=provenance)], DECLARED)

    assert outputs.words == [ADMITTED]
    (word,) = outputs.on("admitted")
    assert (word["basis"], word["classes"]) == ("declaration", [GIT, GREP])
    assert seconds_of(word["valid_until"]) == HOUR - 200


def test_declared_trust_counts_distinct_classes():
    """Two annotations of one class are one."""
    provenance = [annotation(GREP, -1, "a"), annotation(GREP, -2, "b")]

    assert adjudicate([emission(0, provenance=provenance)], DECLARED, until=600).words == []


def test_an_annotation_without_a_time_does_not_count():
    """Without `ts` nothing says that the declaration is within W."""
    provenance = [annotation(GREP, -1), annotation(GIT)]

    assert adjudicate([emission(0, provenance=provenance)], DECLARED, until=600).words == []


@pytest.mark.parametrize(("seen", "words"), [(-HOUR, [ADMITTED]), (-HOUR - 0.001, [])])
def test_a_declared_time_is_within_w_that_instant_included(seen, words):
    """An annotation exactly W old counts, a millisecond more does not."""
    assert adjudicate([emission(0, provenance=[annotation(GREP, -1), annotation(GIT, seen)])], DECLARED).words == words


def test_a_contradiction_is_held_against_what_was_observed_not_declared():
    """A declaration, however new, answers no observer's contradiction."""
    provenance = [annotation(GREP, -1), annotation(GIT, -1)]
    lines = [observation(0, GREP, "contradicts", seen=-50), emission(0, provenance=provenance)]

    assert adjudicate(lines, DECLARED).words == [CONTRADICTED]


def test_declared_trust_decays_like_any_other():
    """A declared admission ends when its declarations have aged."""
    provenance = [annotation(GREP, -100), annotation(GIT, -200)]

    outputs = adjudicate([emission(0, provenance=provenance)], DECLARED, until=HOUR - 199.999)

    assert outputs.words == [ADMITTED, ("admitted", "decayed-to-uncertainty", "validity-ended")]


# ---------------------------------------------------------------- trust = "both"


def test_both_needs_each_class_declared_and_observed():
    """A class that was only declared, or only observed, does not count; the declared time is not needed."""
    provenance = [annotation(GREP), annotation(GIT)]
    line = emission(0, provenance=provenance)

    assert adjudicate([line], BOTH, until=600).words == []
    assert adjudicate([line, observation(1, GREP), observation(2, MCP)], BOTH, until=600).words == []
    assert adjudicate([line, observation(1, GREP), observation(2, GIT)], BOTH).words == [ADMITTED]


@pytest.mark.parametrize(("seen_id", "words"), [("sha256:aa", [ADMITTED]), ("sha256:ab", []), ("sha256:aaa", [])])
def test_both_needs_the_declared_observation_id(seen_id, words):
    """Where an id was declared, the observation that counts has the same one."""
    line = emission(0, provenance=[annotation(CODE, observation_id="sha256:aa"), annotation(GREP)])
    lines = [line, observation(1, GREP), observation(2, CODE, observation_id=seen_id)]

    assert adjudicate(lines, BOTH, until=600).words == words


@pytest.mark.parametrize(("declared", "words"), [(COMMIT, [ADMITTED]), (COMMIT[:7], [ADMITTED]), (COMMIT[1:9], [])])
def test_both_takes_a_prefix_of_a_commit(declared, words):
    """Commits are named by a prefix of seven digits or more; other digits name another commit."""
    line = emission(0, provenance=[annotation(GIT, observation_id=declared), annotation(GREP)])
    lines = [line, observation(1, GREP), observation(2, GIT, observation_id=COMMIT)]

    assert adjudicate(lines, BOTH, until=600).words == words


def test_both_judges_freshness_by_the_observation():
    """A fresh declaration does not freshen an aged observation, nor does an aged one spoil a fresh observation."""
    fresh = emission(0, provenance=[annotation(GREP, -1), annotation(GIT, -1)])
    aged = emission(0, provenance=[annotation(GREP, -7200), annotation(GIT, -7200)])

    assert adjudicate([fresh, observation(1, GREP, seen=-7200), observation(2, GIT)], BOTH, until=600).words == []
    assert adjudicate([aged, observation(1, GREP), observation(2, GIT)], BOTH).words == [ADMITTED]
