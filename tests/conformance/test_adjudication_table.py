"""The decision table (docs/reference/decisions.md): each row with a case and a near miss, and the order of the rows.

The order is tested with assertions to which two neighbouring rows apply. Observations that come before their emission
wait for it, so all evidence can lie ready when the emission arrives, and the row alone decides.
"""

import pytest
from fold_lines import adjudicate, annotation, at, emission, nothing_discarded, observation, review, seconds_of

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"

PENDING_ENDS = 600.001
CYRILLIC = "The release job wrote the chаngelog."  # the first a of the last word is U+0430
QUOTING = 'The log says "released by hand" at its end.'
STRICT = {"context": "ctx-1", "strictly": True}
RETRIEVAL = {"step": "retrieval", "source": "CHANGELOG.md"}
SEVERED = {"step": "severed", "reason": "mixed with memory"}
CHOOSY = "[admissibility]\nmin_confidence = 0.8\n"


# ---------------------------------------------------------------- a review in time


def test_a_review_admits_what_is_up_for_review():
    """A reviewer's admission needs no evidence, has the basis `review`, no reason, and lasts `max_validity`."""
    outputs = adjudicate([emission(0), {"at": at(601)}, review(700, "admit")], nothing_discarded)

    assert outputs.words[-1] == ("admitted", "admitted", None)
    (word,) = outputs.on("admitted")
    assert word["basis"] == "review"
    assert "reason" not in word
    assert seconds_of(word["valid_until"]) == 700 + 86_400


def test_a_review_refuses_what_is_pending():
    """A reviewer's refusal rejects, for the reason `review`."""
    assert adjudicate([emission(0), review(100, "refuse")]).words == [("inadmissible", "rejected", "review")]


def test_a_review_of_another_span_decides_nothing():
    """A review speaks of its own span only; the assertion goes its way without it."""
    outputs = adjudicate([emission(0), review(100, span={"chars": [0, 5]})], nothing_discarded, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "unverified-inference", "not-looked-at")]
    assert outputs.dead == ["late-review"]


def test_a_review_goes_before_a_declared_terminal():
    """A person may admit even what its own emitter declared unverified."""
    lines = [emission(0, provenance=annotation("unverified-inference")), review(100)]

    assert adjudicate(lines, nothing_discarded).words == [
        ("inadmissible", "unverified-inference", "declared-terminal"),
        ("admitted", "admitted", None),
    ]


def test_a_review_goes_before_a_contradiction():
    """A person may admit what an observer contradicted, while it waits for the reviewer."""
    outputs = adjudicate([emission(0), observation(5, GREP, "contradicts"), review(100)])

    assert outputs.words == [("inadmissible", "contradicted", "contradicted"), ("admitted", "admitted", None)]
    assert outputs.on("admitted")[0]["basis"] == "review"


# ---------------------------------------------------------------- declared terminals


@pytest.mark.parametrize("terminal", ["unverified-inference", "decayed-to-uncertainty"])
def test_a_declared_terminal_is_the_verdict(terminal):
    """Each of the two terminals is passed through as it was declared, at once."""
    outputs = adjudicate([emission(0, provenance=annotation(terminal))], nothing_discarded)

    assert outputs.words == [("inadmissible", terminal, "declared-terminal")]


@pytest.mark.parametrize("terminal", ["unverified-inference", "decayed-to-uncertainty"])
@pytest.mark.parametrize("in_line", [False, True])
def test_a_terminal_in_upper_case_is_that_terminal(terminal, in_line):
    """The memo names them in upper case, too [S §2, §4]; both encodings mean the same."""
    for written in (terminal.upper(), f"1.0.{terminal.upper()}"):
        line = emission(0, text=f"It is so. [{written}]", fields={"assertions": None}) if in_line else (
            emission(0, provenance=annotation(written)))  # fmt: skip
        assert adjudicate([line], nothing_discarded).words == [("inadmissible", terminal, "declared-terminal")]


@pytest.mark.parametrize("terminal", ["unverified-inference", "decayed-to-uncertainty", "DECAYED-TO-UNCERTAINTY"])
@pytest.mark.parametrize("in_line", [False, True])
def test_a_terminal_of_a_version_that_is_not_loaded_is_unknown(terminal, in_line):
    """Recognised if and only if it stands in a loaded version, like any other class [S §4]."""
    for written, vocabulary in ((terminal, "7.0"), (f"7.0.{terminal}", "1.0"), (terminal, "0.9")):
        fields = {"vocabulary": vocabulary}
        line = emission(0, text=f"It is so. [{written}]", fields=fields | {"assertions": None}) if in_line else (
            emission(0, provenance=annotation(written), fields=fields))  # fmt: skip
        outputs = adjudicate([line], nothing_discarded)
        assert outputs.words == [("inadmissible", "unverified-inference", "unknown-class")]


def test_one_terminal_among_other_annotations_is_enough():
    """A terminal decides whatever else was declared beside it."""
    provenance = [annotation(GREP), annotation("decayed-to-uncertainty"), annotation(GIT)]

    outputs = adjudicate([emission(0, provenance=provenance)], nothing_discarded)

    assert outputs.words == [("inadmissible", "decayed-to-uncertainty", "declared-terminal")]


def test_a_class_is_not_a_terminal():
    """An assertion with ordinary annotations is pending, not decided on arrival."""
    outputs = adjudicate([emission(0, provenance=[annotation(GREP), annotation(GIT)])], nothing_discarded, until=600)

    assert outputs.words == []


# ---------------------------------------------------------------- unknown classes


@pytest.mark.parametrize(
    "unknown", ["substrate.telepathy", "2.0.substrate.grep", "1.1.substrate.git.log", "grep", "Substrate.grep"]
)
def test_an_unknown_class_is_unverified_inference(unknown):
    """What the loaded vocabulary does not hold, a later version's anchor included, is never guessed at [S §4]."""
    outputs = adjudicate([emission(0, provenance=annotation(unknown))], nothing_discarded)

    assert outputs.words == [("inadmissible", "unverified-inference", "unknown-class")]


def test_one_unknown_class_spoils_the_known_ones():
    """Any annotation's class is enough to make the assertion unverified."""
    provenance = [annotation(GREP), annotation("substrate.telepathy"), annotation(GIT)]

    outputs = adjudicate([emission(0, provenance=provenance)], nothing_discarded)

    assert outputs.words == [("inadmissible", "unverified-inference", "unknown-class")]


def test_a_bare_class_is_of_the_vocabulary_that_the_emission_names():
    """A bare class of a vocabulary that is not loaded is unknown, even where ours has the same name."""
    line = emission(0, provenance=annotation(GREP), fields={"vocabulary": "2.0"})

    assert adjudicate([line], nothing_discarded).words == [("inadmissible", "unverified-inference", "unknown-class")]


@pytest.mark.parametrize("vocabulary", ["1.0", "2.0"])
def test_an_anchored_class_of_a_loaded_version_is_known(vocabulary):
    """The anchor as the leading element names the version, whatever the emission's vocabulary is [S §4]."""
    line = emission(0, provenance=annotation("1.0.substrate.grep"), fields={"vocabulary": vocabulary})

    assert adjudicate([line], nothing_discarded, until=600).words == []


# ---------------------------------------------------------------- grounding [C §2, §3]


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(None, id="no chain"),
        pytest.param([], id="an empty chain"),
        pytest.param([{"step": "prompt-transform", "prompt_name": "summarise"}], id="only a transform"),
        pytest.param([{"step": "agent-handoff", "agent_name": "writer"}], id="only a hand-off"),
        pytest.param([RETRIEVAL, SEVERED], id="severed after a retrieval"),
        pytest.param([SEVERED, RETRIEVAL], id="severed before a retrieval"),
    ],
)
def test_a_claim_to_be_grounded_needs_an_unsevered_retrieval(chain):
    """A chain that claims grounding without a retrieval, or with a severed step, rejects the assertion."""
    assert adjudicate([emission(0, grounded=True, chain=chain)]).words == [("inadmissible", "rejected", "ungrounded")]


def test_a_step_severed_inside_a_derived_one_severs_the_chain():
    """A `derived` step keeps both chains, so what was severed in either is severed still."""
    chain = [{"step": "derived", "operator": "+", "left": [RETRIEVAL], "right": [SEVERED]}]

    assert adjudicate([emission(0, grounded=True, chain=chain)]).words == [("inadmissible", "rejected", "ungrounded")]


@pytest.mark.parametrize(
    ("grounded", "chain"),
    [
        pytest.param(True, [RETRIEVAL], id="a retrieval"),
        pytest.param(
            True, [{"step": "derived", "operator": "+", "left": [], "right": [RETRIEVAL]}], id="a derived retrieval"
        ),
        pytest.param(False, [SEVERED], id="severed, and not claimed"),
        pytest.param(None, [], id="nothing claimed"),
    ],
)
def test_what_is_grounded_or_does_not_claim_it_stays_pending(grounded, chain):
    """A retrieval anywhere in the chain grounds it, and who claims nothing has nothing to show."""
    assert adjudicate([emission(0, grounded=grounded, chain=chain)], until=600).words == []


# ---------------------------------------------------------------- strict citations [C §4]


@pytest.mark.parametrize(
    "context",
    [
        pytest.param("It was released by a robot.", id="other words"),
        pytest.param("It was released  by hand.", id="other white space"),
        pytest.param("It was Released by hand.", id="another letter case"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_quote_that_is_not_in_its_context_is_a_violation(context):
    """A strictly cited quote stands in its context character for character, or the assertion is rejected."""
    line = emission(0, text=QUOTING, cites=STRICT, fields={"contexts": {"ctx-1": context}})

    assert adjudicate([line]).words == [("inadmissible", "rejected", "citation-violation")]


def test_a_quote_of_a_context_that_is_not_there_is_a_violation():
    """A context that the emission does not carry holds no quote."""
    line = emission(0, text=QUOTING, cites=STRICT, fields={"contexts": {"ctx-2": "released by hand"}})

    assert adjudicate([line]).words == [("inadmissible", "rejected", "citation-violation")]


def test_every_quote_has_to_be_in_the_context():
    """One quote that stands in the context does not cover for another one."""
    text = 'It says "released by hand" and "signed by nobody" as well.'
    line = emission(0, text=text, cites=STRICT, fields={"contexts": {"ctx-1": "It was released by hand."}})

    assert adjudicate([line]).words == [("inadmissible", "rejected", "citation-violation")]


@pytest.mark.parametrize(
    ("strictly", "context"),
    [
        pytest.param(True, "It was released by hand, they say.", id="strict and verbatim"),
        pytest.param(False, "Nothing of the kind.", id="not strict"),
    ],
)
def test_a_verbatim_or_a_loose_citation_stays_pending(strictly, context):
    """Only what was asked to be verified strictly, and is not verbatim, is a violation."""
    cites = {"context": "ctx-1", "strictly": strictly}
    line = emission(0, text=QUOTING, cites=cites, fields={"contexts": {"ctx-1": context}})

    assert adjudicate([line], until=600).words == []


# ---------------------------------------------------------------- confidence [C §7]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"confidence": 0.79}, id="its own"),
        pytest.param({"chain": [RETRIEVAL | {"confidence": 0.99}, SEVERED | {"confidence": 0.7}]}, id="the least step"),
        pytest.param({"confidence": 0.9, "chain": [RETRIEVAL | {"confidence": 0.7}]}, id="the step, not its own"),
        pytest.param(
            {"chain": [{"step": "derived", "operator": "+", "left": [RETRIEVAL | {"confidence": 0.7}], "right": []}]},
            id="a step inside a derived one",
        ),
    ],
)
def test_confidence_below_the_floor_rejects(fields):
    """The assertion's own confidence, and its chain's weakest step, are held against the policy's floor."""
    assert adjudicate([emission(0, **fields)], CHOOSY).words == [("inadmissible", "rejected", "low-confidence")]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"confidence": 0.8}, id="its own"),
        pytest.param({"chain": [RETRIEVAL | {"confidence": 0.8}]}, id="the least step"),
        pytest.param({}, id="none stated"),
    ],
)
def test_confidence_at_the_floor_or_unstated_stays_pending(fields):
    """The floor itself is not below the floor."""
    assert adjudicate([emission(0, **fields)], CHOOSY, until=600).words == []


def test_without_a_floor_no_confidence_is_too_low():
    """The default floor is 0."""
    assert adjudicate([emission(0, confidence=0.0)], until=600).words == []


# ---------------------------------------------------------------- confusable text [V §4.3]


def test_confusable_text_rejects_where_the_effect_is_external():
    """By default an external effect is too high an impact for a Cyrillic letter among Latin ones."""
    outputs = adjudicate([emission(0, text=CYRILLIC, fields={"effect": "external"})])

    assert outputs.words == [("inadmissible", "rejected", "confusable-text")]


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        pytest.param("internal", CYRILLIC, id="an internal effect replaces"),
        pytest.param("external", "The job’s log – “done” – is there.", id="typographic marks reject nothing"),
        pytest.param("external", "Plain text, 1 to 10.", id="plain ASCII"),
    ],
)
def test_text_that_is_not_confusable_for_its_effect_stays_pending(effect, text):
    """Only a letter or digit of another script, under `reject`, rejects."""
    assert adjudicate([emission(0, text=text, fields={"effect": effect})], until=600).words == []


def test_confusables_are_what_the_policy_makes_of_them():
    """The policy chooses per effect whether confusable text is rejected."""
    policy = '[sanitation]\nconfusables = { internal = "reject", external = "flag" }\n'
    internal = emission(0, "em-1", text=CYRILLIC)
    external = emission(0, "em-2", text=CYRILLIC, fields={"effect": "external"})

    outputs = adjudicate([internal, external], policy, until=600)

    assert [(word["emission_id"], word["reason"]) for word in outputs.on("inadmissible")] == [
        ("em-1", "confusable-text")
    ]


# ---------------------------------------------------------------- fabrication and contradiction


def test_an_unknown_declared_observation_is_a_fabrication():
    """An observer that does not find the declared observation rejects the assertion [S §11.1]."""
    line = emission(0, provenance=annotation(CODE, -20, "sha256:aa"))

    outputs = adjudicate([line, observation(5, CODE, "unknown-observation", observation_id="sha256:aa")])

    assert outputs.words == [("inadmissible", "rejected", "fabricated-annotation")]


def test_an_unknown_observation_that_nobody_declared_is_no_fabrication():
    """Only an observation id that the assertion declares can be fabricated."""
    line = emission(0, provenance=annotation(CODE, -20, "sha256:aa"))

    outputs = adjudicate([line, observation(5, CODE, "unknown-observation", observation_id="sha256:bb")], until=600)

    assert outputs.words == []


def test_a_contradiction_is_the_verdict():
    """An observer's contradiction closes the assertion, though another class bears it out."""
    outputs = adjudicate([emission(0), observation(1, GREP), observation(5, CODE, "contradicts")])

    assert outputs.words == [("inadmissible", "contradicted", "contradicted")]


@pytest.mark.parametrize("outcome", ["absent", "unavailable"])
def test_not_finding_something_is_not_finding_its_opposite(outcome):
    """`absent` and `unavailable` count for nothing, neither against the assertion nor for it."""
    lines = [emission(0), observation(1, GREP, outcome), observation(2, GREP), observation(3, GIT)]

    assert adjudicate(lines).words == [("admitted", "admitted", None)]


# ---------------------------------------------------------------- admission


def test_two_distinct_fresh_classes_admit_an_internal_effect():
    """The floor of an internal effect is two [S §7]."""
    outputs = adjudicate([emission(0), observation(1, GREP), observation(2, GIT)])

    assert outputs.words == [("admitted", "admitted", None)]
    (word,) = outputs.on("admitted")
    assert (word["k"], word["basis"], word["classes"]) == (2, "corroboration", [GIT, GREP])


def test_one_class_does_not_admit():
    """One class is below the floor, and the assertion waits for another one."""
    assert adjudicate([emission(0), observation(1, GREP)], until=600).words == []


def test_an_external_effect_needs_three_classes():
    """The floor of an external effect is three: two leave it pending, the third admits it [S §7]."""
    external = emission(0, fields={"effect": "external"})
    two = [external, observation(1, GREP), observation(2, GIT)]

    assert adjudicate(two, until=600).words == []
    outputs = adjudicate([*two, observation(3, MCP)])
    assert outputs.words == [("admitted", "admitted", None)]
    assert (outputs.on("admitted")[0]["effect"], outputs.on("admitted")[0]["k"]) == ("external", 3)


def test_an_assertion_can_raise_its_own_effect():
    """An assertion's own effect raises what the emission says."""
    lines = [emission(0, effect="external"), observation(1, GREP), observation(2, GIT)]

    assert adjudicate(lines, until=600).words == []


@pytest.mark.parametrize("lowered_by", ["emission", "assertion"])
def test_nobody_chooses_a_lower_floor_than_the_policy(lowered_by):
    """The policy gives the emitter its least effect; an emission or assertion can only raise it."""
    policy = '[effect]\n"release-notes-bot" = "external"\n'
    fields = {"emitter": {"system": "release-notes-bot"}}
    if lowered_by == "emission":
        line = emission(0, fields=fields | {"effect": "internal"})
    else:
        line = emission(0, fields=fields, effect="internal")

    two = [line, observation(1, GREP), observation(2, GIT)]

    assert adjudicate(two, policy, until=600).words == []
    assert adjudicate([*two, observation(3, MCP)], policy).words == [("admitted", "admitted", None)]


def test_the_floor_is_the_policy_s():
    """`k` per effect comes from the policy file."""
    policy = "[admissibility]\nk = { internal = 3, external = 4 }\n"
    two = [emission(0), observation(1, GREP), observation(2, GIT)]

    assert adjudicate(two, policy, until=600).words == []
    assert adjudicate([*two, observation(3, MCP)], policy).words == [("admitted", "admitted", None)]


def test_an_unannotated_assertion_is_admitted_on_evidence():
    """Annotations are only claims: without any, evidence alone admits [S §11.1]."""
    outputs = adjudicate([emission(0, provenance=None), observation(1, GREP), observation(2, GIT)])

    assert outputs.words == [("admitted", "admitted", None)]


def test_annotations_alone_never_admit():
    """What the emitter declares is no evidence of it, however much it is [S §11.1]."""
    provenance = [annotation(name, -1, f"id-{name}") for name in (GREP, GIT, CODE, MCP)]

    outputs = adjudicate([emission(0, provenance=provenance)], nothing_discarded, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "unverified-inference", "not-looked-at")]


# ---------------------------------------------------------------- superseded, and the end of the pending time


def test_a_newer_attempt_supersedes_what_is_pending():
    """An assertion that waits is closed by the next attempt of its emission."""
    outputs = adjudicate([emission(0), emission(5, fields={"attempt": 1})])

    assert outputs.words == [("inadmissible", "rejected", "superseded")]
    assert outputs.on("inadmissible")[0]["attempt"] == 0


def test_another_emission_supersedes_nothing():
    """Only an attempt of the same emission is a newer attempt."""
    assert adjudicate([emission(0), emission(5, "em-2", fields={"attempt": 1})], until=600).words == []


def test_too_few_fresh_classes_end_below_the_floor():
    """Fresh evidence of too few kinds is `below-floor`, once the pending time has ended."""
    outputs = adjudicate([emission(0), observation(1, GREP)], until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]


def test_aged_evidence_ends_as_decayed_to_uncertainty():
    """Evidence there was, and it aged out before emission [S §5]."""
    outputs = adjudicate([emission(0), observation(1, GREP, seen=-3601), observation(2, GIT, seen=-7200)], until=601)

    assert outputs.words == [("inadmissible", "decayed-to-uncertainty", "aged-out")]


def test_no_evidence_ends_as_unverified_inference():
    """An annotated assertion that nobody bore out is unverified, whatever it declared."""
    outputs = adjudicate([emission(0)], nothing_discarded, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "unverified-inference", "not-looked-at")]


def test_no_evidence_and_no_annotation_ends_as_unannotated():
    """The absence of annotation stays distinct from the terminals [S §5]."""
    outputs = adjudicate([emission(0, provenance=None)], nothing_discarded, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "unannotated", "no-corroboration")]


def test_an_unannotated_assertion_with_some_evidence_is_below_the_floor():
    """`unannotated` is the word for no evidence only."""
    outputs = adjudicate([emission(0, provenance=None), observation(1, GREP)], until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]


@pytest.mark.parametrize(("outcome", "reason"), [("absent", "no-corroboration"), ("unavailable", "not-looked-at")])
def test_looking_in_vain_is_no_corroboration(outcome, reason):
    """An observer that found nothing leaves the assertion without corroboration; one that could not look has not."""
    outputs = adjudicate([emission(0), observation(1, GREP, outcome)], nothing_discarded, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "unverified-inference", reason)]


# ---------------------------------------------------------------- the order of the rows


def test_a_declared_terminal_goes_before_an_unknown_class():
    """Both annotations stand there; the terminal is the verdict, in whichever order they stand."""
    provenance = [annotation("substrate.telepathy"), annotation("decayed-to-uncertainty")]
    for order in (provenance, provenance[::-1]):
        outputs = adjudicate([emission(0, provenance=order)], nothing_discarded)

        assert outputs.words == [("inadmissible", "decayed-to-uncertainty", "declared-terminal")]


def test_an_unknown_class_goes_before_ungrounded():
    """An unknown class is unverified even where the chain is empty too."""
    outputs = adjudicate([emission(0, provenance=annotation("substrate.x"), grounded=True)], nothing_discarded)

    assert outputs.words == [("inadmissible", "unverified-inference", "unknown-class")]


def test_ungrounded_goes_before_a_citation_violation():
    """A chain without retrieval is told before the quote that it does not bear."""
    outputs = adjudicate([emission(0, text=QUOTING, grounded=True, cites=STRICT)])

    assert outputs.words == [("inadmissible", "rejected", "ungrounded")]


def test_a_citation_violation_goes_before_low_confidence():
    """A wrong quote is told before a low confidence."""
    outputs = adjudicate([emission(0, text=QUOTING, cites=STRICT, confidence=0.1)], CHOOSY)

    assert outputs.words == [("inadmissible", "rejected", "citation-violation")]


def test_low_confidence_goes_before_confusable_text():
    """A low confidence is told before a confusable letter."""
    outputs = adjudicate([emission(0, text=CYRILLIC, confidence=0.1, fields={"effect": "external"})], CHOOSY)

    assert outputs.words == [("inadmissible", "rejected", "low-confidence")]


def test_confusable_text_goes_before_a_fabrication():
    """An observer's finding that lay ready does not come before the text itself."""
    span = {"chars": [0, len(CYRILLIC)]}
    lines = [
        observation(0, CODE, "unknown-observation", observation_id="sha256:aa", span=span),
        emission(1, text=CYRILLIC, provenance=annotation(CODE, -20, "sha256:aa"), fields={"effect": "external"}),
    ]

    assert adjudicate(lines).words == [("inadmissible", "rejected", "confusable-text")]


@pytest.mark.parametrize("first", ["unknown-observation", "contradicts"])
def test_a_fabrication_goes_before_a_contradiction(first):
    """Both findings lay ready; the fabrication is the verdict, whichever came first."""
    findings = [
        observation(0, CODE, "unknown-observation", observation_id="sha256:aa"),
        observation(0, GREP, "contradicts"),
    ]
    findings.sort(key=lambda line: line["value"]["outcome"] != first)

    outputs = adjudicate([*findings, emission(1, provenance=annotation(CODE, -20, "sha256:aa"))])

    assert outputs.words == [("inadmissible", "rejected", "fabricated-annotation")]


def test_a_contradiction_goes_before_admission():
    """Enough classes lay ready, and one contradiction of another class undoes them."""
    lines = [observation(0, GREP), observation(0, GIT), observation(0, CODE, "contradicts"), emission(1)]

    assert adjudicate(lines).words == [("inadmissible", "contradicted", "contradicted")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"provenance": {"substrate_class": "unverified-inference"}}, "declared-terminal"),
        ({"provenance": {"substrate_class": "substrate.telepathy"}}, "unknown-class"),
        ({"grounded": True}, "ungrounded"),
        ({"text": 'The entry is "of today".', "cites": STRICT}, "citation-violation"),
        ({"confidence": 0.1}, "low-confidence"),
    ],
)
def test_what_the_assertion_itself_shows_goes_before_any_evidence(fields, reason):
    """Three fresh classes that lay ready do not admit what its own form makes inadmissible."""
    span = {"chars": [0, len(fields["text"])]} if "text" in fields else None
    ready = [observation(0, name, span=span) for name in (GREP, GIT, MCP)]

    outputs = adjudicate([*ready, emission(1, **fields)], CHOOSY + nothing_discarded)

    assert [word[2] for word in outputs.words] == [reason]


def test_admission_goes_before_being_superseded():
    """An admitted assertion is not pending any more: a newer attempt does not reject it."""
    lines = [emission(0), observation(1, GREP), observation(2, GIT), emission(5, fields={"attempt": 1})]

    assert adjudicate(lines).words == [("admitted", "admitted", None)]


def test_being_superseded_goes_before_the_end_of_the_pending_time():
    """An attempt with too little evidence is superseded, not below the floor, and closed once only."""
    lines = [emission(0), observation(1, GREP), emission(300, fields={"attempt": 1}), observation(301, GREP, attempt=1)]

    outputs = adjudicate(lines, until=900.001)

    assert outputs.words == [
        ("inadmissible", "rejected", "superseded"),
        ("inadmissible", "below-floor", "below-floor"),
    ]
    assert [word["attempt"] for word in outputs.on("inadmissible")] == [0, 1]


def test_below_the_floor_goes_before_aged_out():
    """One fresh class beside aged ones is too few, not too old."""
    lines = [emission(0), observation(1, GREP, seen=-7200), observation(2, GIT)]

    assert adjudicate(lines, until=PENDING_ENDS).words == [("inadmissible", "below-floor", "below-floor")]


def test_aged_out_goes_before_no_corroboration():
    """Old evidence is still evidence that there was, for an unannotated assertion as well."""
    outputs = adjudicate([emission(0, provenance=None), observation(1, GREP, seen=-7200)], until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "decayed-to-uncertainty", "aged-out")]
