"""What becomes of inadmissible assertions ([S §7]), and of refusals and denials.

The defaults are those of the reference policy file. All but `discard` write the record; `review` and `re-emit` write
their request besides; `refuse` lets the next consumer see that something was withheld.
"""

import pytest
from fold_lines import adjudicate, annotation, emission, nothing_discarded, observation, review

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"

ADMITTED = ("admitted", "admitted", None)
EXTERNAL = {"effect": "external"}


def disposition_policy(status, value):
    """A policy that disposes of one status in one way."""
    return f"[disposition]\n{status} = {value}\n"


# ---------------------------------------------------------------- the reference policy's defaults


@pytest.mark.parametrize("fields", [{}, EXTERNAL], ids=["internal", "external"])
@pytest.mark.parametrize(
    "provenance",
    [
        pytest.param({"substrate_class": CODE}, id="no corroboration"),
        pytest.param({"substrate_class": "unverified-inference"}, id="declared terminal"),
        pytest.param({"substrate_class": "substrate.telepathy"}, id="unknown class"),
        pytest.param(None, id="unannotated"),
    ],
)
def test_unverified_and_unannotated_assertions_are_discarded(fields, provenance):
    """By default they leave nothing but the counter, the ledger, and what `verdicts` tells of every emission."""
    outputs = adjudicate([emission(0, provenance=provenance, fields=fields)], until=600.001)

    assert outputs.about_assertions == []
    (told,) = outputs.on("verdicts")
    assert [one["disposition"] for one in told["assertions"]] == ["discard"]


def test_below_the_floor_goes_to_review():
    """By default a reviewer decides about what has too few kinds of evidence."""
    outputs = adjudicate([emission(0), observation(1, GREP)], until=600.001)

    assert outputs.on("inadmissible")[0]["disposition"] == "review"
    assert outputs.requests == ["review-requests"]


def test_what_aged_out_is_asked_for_again():
    """By default decayed evidence asks the emitter for a new attempt."""
    outputs = adjudicate([emission(0), observation(1, GREP, seen=-7200)], until=600.001)

    assert outputs.on("inadmissible")[0]["disposition"] == "re-emit"
    assert outputs.requests == ["re-emission-requests"]


def test_a_declared_decay_is_asked_for_again_at_once():
    """The declared terminal has the same disposition as the one that adjudication finds."""
    outputs = adjudicate([emission(0, provenance=annotation("decayed-to-uncertainty"))])

    assert outputs.on("inadmissible")[0]["disposition"] == "re-emit"
    assert outputs.requests == ["re-emission-requests"]


def test_an_internal_contradiction_goes_to_review():
    """By default a reviewer decides about an internal contradiction."""
    outputs = adjudicate([emission(0), observation(1, GREP, "contradicts")])

    assert outputs.on("inadmissible")[0]["disposition"] == "review"
    assert outputs.requests == ["review-requests"]


def test_an_external_contradiction_is_refused():
    """By default an external contradiction puts an explicit refusal where the assertion would have stood."""
    outputs = adjudicate([emission(0, fields=EXTERNAL), observation(1, GREP, "contradicts")])

    assert outputs.on("inadmissible")[0]["disposition"] == "refuse"
    (refusal,) = outputs.on("admitted")
    assert (refusal["status"], refusal["basis"], refusal["effect"]) == ("refused", "policy", "external")
    assert outputs.requests == []


def test_rejected_assertions_go_to_review():
    """By default a reviewer decides about what was rejected."""
    outputs = adjudicate([emission(0, grounded=True)])

    assert outputs.on("inadmissible")[0]["disposition"] == "review"
    assert outputs.requests == ["review-requests"]


REFERENCE = """
[admissibility]
trust = "observed"
k = { internal = 2, external = 3 }
horizon = "10m"
max_validity = "24h"
max_skew = "30s"
max_stall = "1h"
min_confidence = 0.0
max_attempts = 3
[admissibility.window]
default = "1h"
"substrate.fs.mtime" = "10m"
"substrate.do.sse-count" = "1m"
[effect]
default = "internal"
"release-notes-bot" = "external"
[disposition]
unverified-inference = "discard"
unannotated = "discard"
below-floor = "review"
decayed-to-uncertainty = "re-emit"
contradicted = { internal = "review", external = "refuse" }
rejected = "review"
[sanitation]
confusables = { internal = "replace", external = "reject" }
caps = { rationale = 2000, qualifications = 2000, quote = 1000, quotes = 5, assertion = 2000, title = 300 }
[attestations]
consensus_domains = ["scientific-default"]
[privacy]
observation_ids = "clear"
chain_sources = "clear"
"""


def test_the_reference_policy_decides_as_no_policy_does():
    """Its values are the defaults: the same story has the same words and requests, the policy's hash apart."""
    lines = [
        emission(0),
        observation(0, GREP),
        observation(0, GIT),
        emission(1, "em-2"),
        emission(2, "em-3", provenance=annotation("decayed-to-uncertainty")),
        emission(3, "em-4", fields=EXTERNAL),
        observation(4, GREP, "contradicts", emission_id="em-4"),
        emission(5, "em-5", provenance=None),
        emission(6, "em-6"),
        observation(7, MCP, emission_id="em-6", seen=-3594),
        observation(8, GREP, emission_id="em-6", seen=-3595),
    ]

    with_file = adjudicate(lines, REFERENCE, until=90_000)
    without = adjudicate(lines, until=90_000)

    assert len(without.words) == 6
    assert with_file.words == without.words
    assert with_file.requests == without.requests


# ---------------------------------------------------------------- the policy chooses


@pytest.mark.parametrize(
    ("disposition", "topics"),
    [
        ("discard", []),
        ("review", ["inadmissible", "review-requests"]),
        ("re-emit", ["inadmissible", "re-emission-requests"]),
        ("refuse", ["admitted", "inadmissible"]),
    ],
)
def test_each_disposition_writes_what_it_promises(disposition, topics):
    """`discard` writes nothing; the others write the record, and each what goes with it."""
    policy = disposition_policy("below-floor", f'"{disposition}"')

    outputs = adjudicate([emission(0, provenance=None), observation(1, GREP)], policy, until=600.001)

    assert outputs.about_assertions == topics
    assert {word["disposition"] for word in outputs.on("inadmissible")} <= {disposition}


@pytest.mark.parametrize(("effect", "topics"), [("internal", []), ("external", ["inadmissible", "review-requests"])])
def test_a_disposition_may_differ_by_effect(effect, topics):
    """The policy names the disposition by status, then by effect."""
    policy = disposition_policy("below-floor", '{ internal = "discard", external = "review" }')
    lines = [emission(0, provenance=None, fields={"effect": effect}), observation(1, GREP)]

    assert adjudicate(lines, policy, until=600.001).about_assertions == topics


def test_a_disposition_of_one_status_leaves_the_others_alone():
    """A policy file changes what it names; every other key keeps its default."""
    policy = disposition_policy("unverified-inference", '"review"')
    lines = [
        emission(0),
        emission(0, "em-2", provenance=None),
        emission(0, "em-3"),
        observation(1, GREP, emission_id="em-3"),
    ]

    outputs = adjudicate(lines, policy, until=600.001)

    decided = {(word["emission_id"], word["disposition"]) for word in outputs.on("inadmissible")}
    assert decided == {("em-1", "review"), ("em-3", "review")}


# ---------------------------------------------------------------- refuse


def test_a_refusal_by_policy_stands_under_the_assertion_s_key():
    """The next consumer finds the refusal where it would have found the assertion."""
    policy = disposition_policy("below-floor", '"refuse"')

    outputs = adjudicate([emission(0), observation(1, GREP)], policy, until=600.001)

    (refusal,) = outputs.lines_on("admitted")
    assert refusal["key"] == "em-1#c:0-43"
    assert refusal["value"]["@type"] == "sluice:AdmittedAssertion"
    assert (refusal["value"]["status"], refusal["value"]["basis"]) == ("refused", "policy")
    assert "valid_until" not in refusal["value"]


def test_a_refusal_by_policy_does_not_decay():
    """Nothing was admitted, so nothing ends."""
    policy = disposition_policy("below-floor", '"refuse"')

    outputs = adjudicate([emission(0), observation(1, GREP)], policy, until=3 * 86_400)

    assert [word["status"] for word in outputs.on("admitted")] == ["refused"]


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize(("topic", "disposition"), [("review-requests", "review"), ("re-emission-requests", "re-emit")])
def test_a_request_is_the_inadmissible_record_with_what_is_missing(topic, disposition):
    """Whoever answers a request sees the record, framed, and how much was missing."""
    policy = disposition_policy("below-floor", f'"{disposition}"')
    lines = [emission(0, fields=EXTERNAL | {"attempt": 2}), observation(1, GREP, attempt=2)]
    policy += "[admissibility]\nmax_attempts = 5\n"

    outputs = adjudicate(lines, policy, until=600.001)

    (record,), (request,) = outputs.on("inadmissible"), outputs.on(topic)
    assert (request["missing_floor"], request["classes_seen"], request["attempt"]) == (2, [GREP], 2)
    for field in ("id", "emission_id", "span", "status", "reason", "disposition", "revision", "k", "_untrusted_text"):
        assert request[field] == record[field]
    assert request["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."
    assert "missing_floor" not in record


@pytest.mark.parametrize(("effect", "missing"), [("internal", 2), ("external", 3)])
def test_without_any_evidence_the_whole_floor_is_missing(effect, missing):
    """`missing_floor` is k minus the count."""
    policy = disposition_policy("unannotated", '"review"')

    outputs = adjudicate([emission(0, provenance=None, fields={"effect": effect})], policy, until=600.001)

    (request,) = outputs.on("review-requests")
    assert (request["missing_floor"], request["classes_seen"]) == (missing, [])


def test_the_classes_seen_are_sorted():
    """A request names the classes in order, not in the order of arrival."""
    lines = [emission(0, fields=EXTERNAL), observation(1, MCP), observation(2, GIT)]

    outputs = adjudicate(lines, until=600.001)

    assert outputs.on("review-requests")[0]["classes_seen"] == [GIT, MCP]
    assert outputs.on("review-requests")[0]["missing_floor"] == 1


def test_what_a_reviewer_refused_asks_for_no_review():
    """The record is written; asking the reviewer again would be in vain."""
    outputs = adjudicate([emission(0), review(1, "refuse")])

    assert outputs.words == [("inadmissible", "rejected", "review")]
    assert outputs.requests == []


# ---------------------------------------------------------------- reviews that answer


def test_a_review_admits_what_waited_for_it():
    """The answer to a review request is the next revision of the same assertion, with its text."""
    outputs = adjudicate([emission(0), observation(1, GREP), review(700, "admit")])

    assert outputs.words == [("inadmissible", "below-floor", "below-floor"), ADMITTED]
    (word,) = outputs.on("admitted")
    assert (word["basis"], word["revision"]) == ("review", 2)
    assert word["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."


def test_a_review_refuses_what_waited_for_it():
    """A reviewer's refusal of an inadmissible assertion rejects it, and asks nobody again."""
    outputs = adjudicate([emission(0), observation(1, GREP), review(700, "refuse")])

    assert outputs.words == [
        ("inadmissible", "below-floor", "below-floor"),
        ("inadmissible", "rejected", "review"),
    ]
    assert outputs.requests == ["review-requests"]
    assert outputs.ends == [(0, "reviewed")]


def test_a_discarded_assertion_waits_for_no_reviewer():
    """What was discarded is not kept for a review."""
    outputs = adjudicate([emission(0), review(700)])

    assert outputs.words == []
    assert outputs.dead == ["late-review"]


def test_evidence_does_not_admit_what_waits_for_a_reviewer():
    """Evidence for an assertion already closed is late, though a reviewer may still admit it."""
    outputs = adjudicate([emission(0), observation(1, GREP), observation(700, GIT, seen=590), observation(701, MCP)])

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]


# ---------------------------------------------------------------- refusals and denials [S §5]


def test_an_emitter_s_refusal_is_passed_on():
    """A refusal goes to `admitted` at once, with status `refused` and basis `emitter`, and is never adjudicated."""
    outputs = adjudicate([emission(0, kind="refusal")], until=7200)

    assert [word[:2] for word in outputs.words] == [("admitted", "refused")]
    (word,) = outputs.on("admitted")
    assert (word["kind"], word["basis"]) == ("refusal", "emitter")


@pytest.mark.parametrize(
    "fields",
    [
        {"grounded": True},
        {"confidence": 0.0},
        {"provenance": {"substrate_class": "substrate.telepathy"}},
        {"provenance": None},
    ],
    ids=["ungrounded", "unsure", "unknown class", "unannotated"],
)
def test_a_refusal_is_never_adjudicated(fields):
    """What would reject an assertion says nothing about a refusal."""
    policy = "[admissibility]\nmin_confidence = 0.8\n"

    outputs = adjudicate([emission(0, kind="refusal", **fields)], policy, until=7200)

    assert [word[:2] for word in outputs.words] == [("admitted", "refused")]


def test_evidence_changes_nothing_about_a_refusal():
    """Neither corroboration nor contradiction concerns a refusal."""
    lines = [
        emission(0, kind="refusal"),
        observation(1, GREP),
        observation(2, GIT),
        observation(3, GREP, "contradicts"),
    ]

    assert [word[:2] for word in adjudicate(lines, until=7200).words] == [("admitted", "refused")]


def test_a_denial_is_admitted_like_an_assertion():
    """A denial is a truth-evaluable claim: two distinct fresh classes admit it, as a denial."""
    outputs = adjudicate([emission(0, kind="denial"), observation(1, GREP), observation(2, GIT)])

    assert outputs.words == [ADMITTED]
    assert outputs.on("admitted")[0]["kind"] == "denial"


def test_a_denial_is_found_inadmissible_like_an_assertion():
    """A denial needs its evidence: below the floor it goes to review, and a contradiction closes it."""
    few = adjudicate([emission(0, kind="denial"), observation(1, GREP)], until=600.001)
    against = adjudicate([emission(0, kind="denial"), observation(1, GREP, "contradicts")])

    assert few.words == [("inadmissible", "below-floor", "below-floor")]
    assert against.words == [("inadmissible", "contradicted", "contradicted")]
    assert few.on("inadmissible")[0]["kind"] == against.on("inadmissible")[0]["kind"] == "denial"


def test_six_ends_stay_distinct_from_end_to_end():
    """Assertion, denial, refusal, both terminals and no annotation never fall together [S §5]."""
    lines = [
        emission(0, "em-assertion"),
        emission(0, "em-denial", kind="denial"),
        emission(0, "em-refusal", kind="refusal"),
        emission(0, "em-unverified", provenance=annotation("unverified-inference")),
        emission(0, "em-decayed", provenance=annotation("decayed-to-uncertainty")),
        emission(0, "em-unannotated", provenance=None),
    ]
    for name in ("em-assertion", "em-denial"):
        lines += [observation(1, GREP, emission_id=name), observation(1, GIT, emission_id=name)]

    outputs = adjudicate(lines, nothing_discarded, until=600.001)

    spoken = [line["value"] for line in outputs.lines_on("admitted", "inadmissible")]
    ends = {word["emission_id"]: (word["kind"], word["status"]) for word in spoken}
    assert ends == {
        "em-assertion": ("assertion", "admitted"),
        "em-denial": ("denial", "admitted"),
        "em-refusal": ("refusal", "refused"),
        "em-unverified": ("assertion", "unverified-inference"),
        "em-decayed": ("assertion", "decayed-to-uncertainty"),
        "em-unannotated": ("assertion", "unannotated"),
    }
    assert len(spoken) == len(set(ends.values())) == 6
