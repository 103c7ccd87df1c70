"""The shape of what adjudication writes (docs/reference/records.md), and that it is a function of its input alone."""

import json
import re
from hashlib import sha256

import pytest
from fold_lines import adjudicate, at, claim, emission, nothing_discarded, observation, review, seconds_of
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

GIT = "substrate.git.log"
GREP = "substrate.grep"
CODE = "substrate.code.read"
MCP = "substrate.mcp.brief"

TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
HASH = re.compile(r"sha256:[0-9a-f]{64}")
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
COMMON = {
    "@type", "@version", "id", "emission_id", "attempt", "span", "kind", "status", "revision", "effect", "k", "classes",
    "evidence", "grounded", "data", "emitted_at", "_untrusted_text", "canonical_hash", "canonicalisation_version",
    "policy", "ledger", "_meta",
}  # fmt: skip
META = {
    "sanitation_version", "unicode_version", "truncated", "confusables_replaced", "stripped_positions",
    "markup_stripped", "uris_rejected", "normalised", "scripts", "confusables_present",
}  # fmt: skip


def admission(**claim):
    """The lines of an assertion that is admitted; keywords become fields of the assertion."""
    return [emission(0, **claim), observation(1, GREP), observation(2, GIT)]


@pytest.fixture(scope="session")
def whole_story():
    """Lines that lead to outputs on every topic: admission, renewal, decay, review, re-emission, refusal, fault."""
    return [
        emission(0),
        observation(0, GREP),
        observation(0, GIT),
        emission(1, "em-2", grounded=True),
        emission(2, "em-3", kind="refusal"),
        emission(3, "em-4", provenance={"substrate_class": "decayed-to-uncertainty"}),
        emission(4, "em-5", fields={"effect": "external"}),
        observation(5, GREP, "contradicts", emission_id="em-5"),
        emission(6, "em-6", fields={"effect": "cosmic"}),
        review(7, "admit", emission_id="em-2"),
        observation(100, GREP),
        observation(100, GIT),
    ]


def decisions(outputs):
    """Every output line that is about an assertion."""
    return outputs.lines_on("admitted", "inadmissible", "review-requests", "re-emission-requests")


# ---------------------------------------------------------------- the record


def test_an_admission_says_everything_about_the_assertion():
    """The record of docs/reference/records.md, field by field."""
    (word,) = adjudicate(admission(confidence=0.93)).on("admitted")

    assert set(word) >= COMMON | {"basis", "admitted_at", "valid_until", "confidence"}
    assert (word["@type"], word["@version"]) == ("sluice:AdmittedAssertion", "1.0")
    assert (word["emission_id"], word["attempt"], word["span"]) == ("em-1", 0, {"chars": [0, 43]})
    assert (word["kind"], word["status"], word["revision"]) == ("assertion", "admitted", 1)
    assert (word["effect"], word["k"], word["confidence"]) == ("internal", 2, 0.93)
    assert seconds_of(word["emitted_at"]) == 0
    assert seconds_of(word["admitted_at"]) == 2
    assert seconds_of(word["valid_until"]) == 3601


def test_an_inadmissible_record_has_its_type_reason_and_disposition():
    """The same record under its own type, with reason and disposition."""
    (word,) = adjudicate([emission(0, grounded=True)]).on("inadmissible")

    assert set(word) >= COMMON | {"reason", "disposition"}
    assert (word["@type"], word["@version"]) == ("sluice:InadmissibleAssertion", "1.0")
    assert (word["status"], word["reason"], word["disposition"]) == ("rejected", "ungrounded", "review")


def test_evidence_is_named_by_class_id_time_and_observer():
    """The observations that were counted stand in the record."""
    lines = [
        emission(0),
        observation(1, GREP, observation_id="g-1", observer="observer-7", seen=-5),
        observation(2, GIT),
    ]

    (word,) = adjudicate(lines).on("admitted")

    by_class = {item["substrate_class"]: item for item in word["evidence"]}
    assert set(by_class) == {GREP, GIT}
    assert by_class[GREP]["observation_id"] == "g-1"
    assert by_class[GREP]["observer"] == "observer-7"
    assert seconds_of(by_class[GREP]["observed_at"]) == -5


def test_classes_are_sorted_whatever_the_order_of_evidence():
    """`classes` does not depend on who came first."""
    lines = [emission(0, fields={"effect": "external"})]
    lines += [observation(1, name) for name in (MCP, GREP, GIT)]

    (word,) = adjudicate(lines).on("admitted")

    assert word["classes"] == sorted([MCP, GREP, GIT])


def test_classes_are_named_without_their_anchor():
    """A class is written in its one bare form, however it was observed."""
    lines = [emission(0), observation(1, "1.0." + GREP), observation(2, GIT)]

    assert adjudicate(lines).on("admitted")[0]["classes"] == [GIT, GREP]


def test_data_are_the_sorted_union_of_the_chain_s_categories():
    """Categories compose by union, `grounded` among them [C §6]."""
    chain = [
        {"step": "retrieval", "source": "ledger.csv", "data": ["pii", "grounded"]},
        {"step": "prompt-transform", "prompt_name": "summarise", "data": ["financial"]},
    ]

    (word,) = adjudicate(admission(grounded=True, chain=chain)).on("admitted")

    assert word["grounded"] is True
    assert word["data"] == ["financial", "grounded", "pii"]


def test_who_does_not_claim_grounding_is_not_grounded():
    """Without a claim `grounded` is false."""
    (word,) = adjudicate(admission()).on("admitted")

    assert word["grounded"] is False
    assert "grounded" not in word["data"]


def test_a_citation_violation_shows_the_span_of_the_quote():
    """The verdict says which quote is not in its context [C §4]."""
    text = 'The log says "released by hand" at its end.'
    line = emission(0, text=text, cites={"context": "ctx-1", "strictly": True}, fields={"contexts": {"ctx-1": "no"}})

    (word,) = adjudicate([line]).on("inadmissible")

    start, end = word["citation"]["span"]["chars"]
    assert text[start:end].strip('"') == "released by hand"


# ---------------------------------------------------------------- identity


@pytest.mark.parametrize("index", range(4))
def test_the_id_is_a_hash_of_what_the_output_is_about(whole_story, index):
    """The first 32 hex digits of SHA-256 over emission id, attempt, span key, status and revision, by U+001F."""
    lines = decisions(adjudicate(whole_story, until=3700.001))
    assert len(lines) > 8

    for line in lines[index::4]:
        value = line["value"]
        parts = [value["emission_id"], str(value["attempt"]), "c:0-43", value["status"], str(value["revision"])]
        assert value["id"] == sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def test_the_attempt_and_the_span_are_part_of_the_id():
    """Two spans, and two attempts of one span, have ids of their own, computed by the same rule."""
    text = "It is there. It is new."
    claims = [claim("It is there.", kind="refusal"), claim("It is new.", 13, kind="refusal")]
    lines = [emission(0, text=text, claims=claims), emission(1, text=text, claims=claims, fields={"attempt": 1})]

    assert {(word["attempt"], word["span"]["chars"][0]): word["id"] for word in adjudicate(lines).on("admitted")} == {
        (attempt, start): sha256(f"em-1\x1f{attempt}\x1fc:{start}-{end}\x1frefused\x1f1".encode()).hexdigest()[:32]
        for attempt in (0, 1)
        for start, end in ((0, 12), (13, 23))
    }


@pytest.mark.parametrize(
    ("span", "key", "shown"),
    [
        ({"chars": [0, 9]}, "em-1#c:0-9", {"chars": [0, 9]}),
        ({"tokens": [3, 9], "tokenizer": "bpe"}, "em-1#t:bpe:3-9", {"tokens": [3, 9], "tokenizer": "bpe"}),
        ({"path": "/a/b"}, "em-1#p:/a/b", {"path": "/a/b"}),
        ({"path": "/c<d/!~1x"}, "em-1#p:/c%3Cd/%21~1x", {"path": "/c%3Cd/%21~1x"}),
    ],
)
def test_the_key_is_emission_id_and_span_key(span, key, shown):
    """The Kafka key joins the emission id and the canonical span key by `#`; a pointer's names are the emitter's
    words, so outside the frame they stand percent-encoded, as in the key."""
    text = json.dumps({"a": {"b": "It is."}, "c<d": {"!/x": "So."}})

    (line,) = adjudicate([emission(0, text=text, claims=[claim(span=span, kind="refusal")])]).lines_on("admitted")

    assert line["key"] == key
    assert line["value"]["span"] == shown


def test_every_word_about_an_assertion_has_its_key(whole_story):
    """Verdicts and requests alike have the key of their assertion."""
    for line in decisions(adjudicate(whole_story, until=3700.001)):
        assert line["key"] == line["value"]["emission_id"] + "#c:0-43"


def test_no_two_outputs_share_an_event_id(whole_story):
    """`ce_id` tells apart what `id` alone would not: the record and the request about it."""
    ids = [line["headers"]["ce_id"] for line in decisions(adjudicate(whole_story, until=3700.001))]

    assert len(set(ids)) == len(ids)


# ---------------------------------------------------------------- headers


def test_outputs_are_cloud_events_in_binary_mode(whole_story):
    """Every output about an assertion carries the attributes of CloudEvents 1.0 as headers."""
    lines = decisions(adjudicate(whole_story, until=3700.001))

    assert {line["topic"] for line in lines} == {
        "admitted", "inadmissible", "review-requests", "re-emission-requests",
    }  # fmt: skip
    for line in lines:
        headers = line["headers"]
        assert set(headers) >= {"ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "content-type"}
        assert headers["ce_specversion"] == "1.0"
        assert headers["ce_id"] == f"{line['topic']}/{line['value']['id']}"
        assert headers["ce_source"]
        assert headers["ce_type"]
        assert headers["content-type"].startswith("application/json")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", headers["ce_time"])


def test_the_header_tells_what_holds_from_what_does_not(whole_story):
    """`ce_type` has the status of each record. A record without validity, or with nothing verified, has neither of the
    two statuses that hold."""
    policy = nothing_discarded.replace('unannotated = "review"', 'unannotated = "refuse"')
    refused = [emission(0, "em-8", kind="refusal"), emission(0, "em-9", annotations=[])]
    lines = adjudicate([*refused, *whole_story], policy, until=3700.001).lines_on("admitted")

    assert sum(line["value"]["status"] == "refused" for line in lines) == 2
    assert {line["value"]["status"] for line in lines} >= {"admitted", "decayed-to-uncertainty"}
    for line in lines:
        value, said = line["value"], line["headers"]["ce_type"]
        assert said == f"sluice.admitted.{value['status']}"
        assert (said in ("sluice.admitted.admitted", "sluice.admitted.renewed")) == (
            value["status"] in ("admitted", "renewed")
        )
        if value["status"] == "refused":
            assert not {"admitted_at", "valid_until", "rendered"} & set(value)


def test_the_trace_of_an_emission_is_passed_through():
    """`traceparent` of the input stands on the output."""
    (line,) = adjudicate([emission(0, kind="refusal", headers={"traceparent": TRACE})]).lines_on("admitted")

    assert line["headers"]["traceparent"] == TRACE


def test_without_a_trace_none_is_invented():
    """An output has a `traceparent` only where an input had one."""
    (line,) = adjudicate([emission(0, kind="refusal")]).lines_on("admitted")

    assert "traceparent" not in line["headers"]


# ---------------------------------------------------------------- place in the ledger, policy, hash


def test_an_output_names_its_place_in_the_ledger():
    """Outputs of one block share height and block hash, and `index` counts them."""
    text = "It is there. It is new."
    claims = [claim("It is there.", kind="refusal"), claim("It is new.", 13, kind="refusal")]
    for one in claims:
        one["provenance"] = []
    lines = [emission(0, text=text, claims=claims), emission(1, "em-2", kind="refusal", provenance=None)]

    places = [word["ledger"] for word in adjudicate(lines).on("admitted")]

    assert all(set(place) == {"partition", "height", "index", "block"} for place in places)
    assert all(place["partition"] == 0 and HASH.fullmatch(place["block"]) for place in places)
    assert [place["index"] for place in places] == [0, 1, 0]
    assert places[0]["height"] == places[1]["height"] < places[2]["height"]
    assert places[0]["block"] == places[1]["block"] != places[2]["block"]


def test_places_in_the_ledger_grow(whole_story):
    """In the order of the outputs, height and index only grow."""
    ledgers = [line["value"]["ledger"] for line in decisions(adjudicate(whole_story, until=3700.001))]

    places = [(ledger["height"], ledger["index"]) for ledger in ledgers]
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_a_different_past_gives_a_different_block():
    """The block's hash chains what came before: the same record after another past lies in another block."""
    last = emission(10, "em-9", kind="refusal")

    blocks = [
        adjudicate([emission(0, provenance=provenance), last]).on("admitted")[-1]["ledger"]["block"]
        for provenance in (None, {"substrate_class": GREP})
    ]

    assert blocks[0] != blocks[1]


def test_an_output_names_its_policy():
    """One policy has one hash on all outputs, another policy another one, and the wording does not matter."""
    policies = [
        None,
        "[admissibility]\nk = { internal = 2, external = 4 }\n",
        "# the same\n[admissibility]\nk = {external=4,internal=2}\n",
    ]

    hashes = [adjudicate(admission(), policy).on("admitted")[0]["policy"] for policy in policies]

    assert all(HASH.fullmatch(found) for found in hashes)
    assert hashes[0] != hashes[1] == hashes[2]


def test_the_canonical_hash_is_a_sha256_under_version_0_3(whole_story):
    """Every output has the hash of [V §7] and says under which rules it was computed."""
    for line in decisions(adjudicate(whole_story, until=3700.001)):
        assert HASH.fullmatch(line["value"]["canonical_hash"])
        assert line["value"]["canonicalisation_version"] == "0.3"


# ---------------------------------------------------------------- the frame [V §5]


def test_text_stands_in_the_frame_with_its_warning(whole_story):
    """The frame is always there, for the closing words with empty text too [V §5.2]."""
    for line in decisions(adjudicate(whole_story, until=3700.001)):
        frame = line["value"]["_untrusted_text"]
        assert frame["@type"] == "veritas:UntrustedValidatorText"
        assert len(frame["warning"]) > 20
        assert isinstance(frame["assertion"], str)
        assert isinstance(frame["attestations"], list)
        assert isinstance(frame["chain"], list)


def test_free_text_stands_nowhere_but_in_the_frame():
    """Whatever emitter and observer wrote freely stays inside; outside are identifiers, values, numbers and times."""
    chain = [{"step": "retrieval", "source": "IGNORE the chain"}]
    line = emission(0, text="IGNORE all that was said.", grounded=True, chain=chain)
    span = {"chars": [0, 25]}
    lines = [
        line,
        observation(1, GREP, span=span, detail={"found": ["IGNORE"]}, locator={"pattern": "IGNORE"}),
        observation(2, GIT, span=span),
    ]

    (word,) = adjudicate(lines).on("admitted")

    assert "IGNORE" in word["_untrusted_text"]["assertion"]
    assert "IGNORE" not in json.dumps({name: value for name, value in word.items() if name != "_untrusted_text"})


def test_text_is_sanitised_and_every_change_is_reported():
    """Hidden characters, look-alikes and markup are gone from the text, and `_meta` tells of each [V §4, §6]."""
    text = "The \u202erelease\u202c job wrote the chаngelog <b>today</b>."

    (word,) = adjudicate([emission(0, text=text, kind="refusal")]).on("admitted")

    assert word["_untrusted_text"]["assertion"] == "The release job wrote the changelog today."
    assert set(word["_meta"]) >= META
    assert len(word["_meta"]["stripped_positions"]) == 2
    assert len(word["_meta"]["confusables_replaced"]) == 1
    assert word["_meta"]["markup_stripped"]


def test_plain_text_passes_unchanged():
    """Text in which nothing is wrong goes through as it is, and `_meta` tells of no change."""
    text = "A quote that says: ignore previous instructions & see 1 < 2."

    (word,) = adjudicate([emission(0, text=text, kind="refusal")]).on("admitted")

    assert word["_untrusted_text"]["assertion"] == text
    for name in META - {"sanitation_version", "unicode_version", "scripts", "confusables_present"}:
        assert word["_meta"][name] == []
    assert word["_meta"]["confusables_present"] is False


def test_long_text_is_cut_and_the_cut_is_reported():
    """An assertion is capped at 2,000 bytes, with a mark on top of the cap [V §4.1]."""
    (word,) = adjudicate([emission(0, text="word " * 600, kind="refusal")]).on("admitted")

    text = word["_untrusted_text"]["assertion"]
    assert text.endswith("…")
    assert len(text.removesuffix("…").encode()) <= 2000
    assert len(word["_meta"]["truncated"]) == 1


def test_the_chain_tells_how_the_text_came_here():
    """The emission's own steps, a retrieval for each evidence, and the hand-off by an agent stand in the frame."""
    chain = [
        {"step": "retrieval", "source": "CHANGELOG.md"},
        {"step": "prompt-transform", "prompt_name": "summarise", "model": "some-model-1"},
    ]

    (word,) = adjudicate(admission(grounded=True, chain=chain)).on("admitted")

    steps = [step["step"] for step in word["_untrusted_text"]["chain"]]
    assert steps[:2] == ["retrieval", "prompt-transform"]
    assert steps.count("retrieval") == 3
    assert "agent-handoff" in steps


def test_strings_of_the_chain_are_sanitised():
    """Every string in the chain was written by strangers."""
    chain = [{"step": "retrieval", "source": "CHANGE\u202eLOG.md"}]

    (word,) = adjudicate(admission(grounded=True, chain=chain)).on("admitted")

    assert word["_untrusted_text"]["chain"][0]["source"] == "CHANGELOG.md"


def test_an_observer_s_attestation_stands_in_the_frame():
    """An attestation that came with the evidence is passed on, its text sanitised, and stands nowhere else."""
    attestation = {
        "claim_hash": "0x" + "ab" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": "scientific-default",
        "rationale": "The \u202eentry is there.",
    }
    lines = [emission(0), observation(1, GREP, attestation=attestation), observation(2, GIT)]

    (word,) = adjudicate(lines).on("admitted")

    (framed,) = word["_untrusted_text"]["attestations"]
    assert "The entry is there." in json.dumps(framed)
    assert "VERIFIED" in json.dumps(framed)
    assert "The entry is there." not in json.dumps({**word, "_untrusted_text": None})


# ---------------------------------------------------------------- either encoding


def test_every_sentence_of_in_line_text_has_its_verdict():
    """Groups are removed, spans refer to the text without them, and a sentence without a group is unannotated."""
    text = "It is there. [substrate.grep; observation-id=x1; ts=2026-11-21T08:59:40Z] It is new."
    line = emission(0) | {"value": {"emission_id": "em-1", "emitted_at": at(0), "text": text}}
    evidence = [observation(1, name, span={"chars": [0, 12]}) for name in (GREP, GIT)]

    outputs = adjudicate([line, *evidence], '[disposition]\nunannotated = "review"\n', until=600.001)

    assert outputs.words == [("admitted", "admitted", None), ("inadmissible", "unannotated", "no-corroboration")]
    (first,), (second,) = outputs.on("admitted"), outputs.on("inadmissible")
    assert (first["span"], first["_untrusted_text"]["assertion"]) == ({"chars": [0, 12]}, "It is there.")
    assert (second["span"], second["_untrusted_text"]["assertion"]) == ({"chars": [13, 23]}, "It is new.")


def test_the_memo_s_own_object_has_the_span_of_its_place():
    """Where its text occurs once it has that span, otherwise the field path of the place where it stood [S §6]."""
    claims = [{"assertion": "It is there.", "kind": "refusal"}, {"assertion": "Else.", "kind": "refusal"}]

    outputs = adjudicate([emission(0, text="Look: It is there.", claims=claims)])

    assert [line["key"] for line in outputs.lines_on("admitted")] == ["em-1#c:6-18", "em-1#p:/assertions/1"]
    assert [word["_untrusted_text"]["assertion"] for word in outputs.on("admitted")] == ["It is there.", "Else."]


# ---------------------------------------------------------------- privacy [S §12]


def test_observation_ids_can_be_omitted():
    """Under `omitted` no observation id of the evidence leaves the lane."""
    (word,) = adjudicate(admission(), '[privacy]\nobservation_ids = "omitted"\n').on("admitted")

    assert len(word["evidence"]) == 2
    assert "seen:substrate" not in json.dumps(word)


def test_identity_bound_observations_are_never_clear_by_default():
    """A pseudonymous observation id is clear by default, an identity-bound one is not."""
    lines = [
        emission(0),
        observation(1, GREP, observation_id="pseudonym-1"),
        observation(2, GIT, observation_id="person-1", tier="identity-bound"),
    ]

    (word,) = adjudicate(lines).on("admitted")

    assert "pseudonym-1" in json.dumps(word["evidence"])
    assert "person-1" not in json.dumps(word)


# ---------------------------------------------------------------- determinism


def test_the_same_input_gives_the_same_bytes(whole_story):
    """Nothing but the input decides: two runs write the same text, byte for byte."""
    first, second = (adjudicate.run(whole_story, until=3700.001).stdout for _ in range(2))

    assert first
    assert first == second


def test_the_whole_story_is_reported_in_order(whole_story):
    """One run with every kind of end says what happened, in the order in which it happened."""
    outputs = adjudicate(whole_story, until=3700.001)

    decided = [
        (line["value"]["emission_id"], *word[:2])
        for line, word in zip(outputs.lines_on("admitted", "inadmissible"), outputs.words, strict=True)
    ]
    assert [entry for entry in decided if entry[0] == "em-1"] == [
        ("em-1", "admitted", "admitted"),
        ("em-1", "admitted", "renewed"),
        ("em-1", "admitted", "decayed-to-uncertainty"),
    ]
    assert [entry for entry in decided if entry[0] == "em-2"] == [
        ("em-2", "inadmissible", "rejected"),
        ("em-2", "admitted", "admitted"),
    ]
    assert sorted(entry for entry in decided if entry[0] == "em-5") == [
        ("em-5", "admitted", "refused"),
        ("em-5", "inadmissible", "contradicted"),
    ]
    assert sorted(outputs.requests) == ["re-emission-requests", "review-requests"]
    assert outputs.dead == ["schema"]


def placeless(line):
    """An output line without its place in the ledger."""
    return line | {"value": {name: value for name, value in line["value"].items() if name != "ledger"}}


@settings(max_examples=examples(25), deadline=None)
@given(choices=st.lists(st.booleans(), max_size=12))
def test_unrelated_emissions_do_not_touch_each_other(choices):
    """However two stories are interleaved at one time, each reads as if it were told alone, its place apart."""
    one = [
        emission(0),
        observation(0, GREP),
        observation(0, GIT),
        observation(0, GREP, "contradicts", seen=-1),
        emission(0, fields={"attempt": 1}),
        review(0, "refuse"),
    ]
    other = [
        observation(0, MCP, emission_id="em-2"),
        emission(0, "em-2", provenance=None),
        observation(0, GREP, "absent", emission_id="em-2"),
        emission(0, "em-2", confidence=0.5),
        review(0, "admit", emission_id="em-2"),
        observation(0, GIT, "contradicts", emission_id="em-2"),
    ]
    mixed, left, right = [], list(one), list(other)
    for choice in choices:
        queue = left if choice else right
        if queue:
            mixed.append(queue.pop(0))
    mixed += left + right

    together = adjudicate(mixed, until=7200)

    for story, name in ((one, "em-1"), (other, "em-2")):
        alone = [placeless(line) for line in decisions(adjudicate(story, until=7200))]
        assert alone
        assert [placeless(line) for line in decisions(together) if line["value"]["emission_id"] == name] == alone


CHAIN = {"step": "retrieval", "source": "sha256:e3b0c442", "timestamp": "2026-11-21T08:59:40Z", "metadata": {}}


@pytest.mark.parametrize(
    ("step", "observed", "said"),
    [
        ({}, "sha256:e3b0c442", "matched"),
        ({"source": "CHANGELOG.md", "metadata": {"observation_id": "sha256:e3b0c442"}}, "sha256:e3b0c442", "matched"),
        ({}, "sha256:other", "claimed"),
        ({"source": "CHANGELOG.md"}, "sha256:e3b0c442", "claimed"),
        ({"source": "CHANGELOG.md", "metadata": {"observation_id": ["sha256:e3b0c442"]}}, "sha256:e3b0c442", "claimed"),
    ],
)
def test_grounding_is_matched_or_claimed(step, observed, said):
    """A chain is the emitter's word, until one of its retrievals names what an observer saw ([C §3], records.md)."""
    lines = [
        emission(0, grounded=True, chain=[{**CHAIN, **step}]),
        observation(1, "substrate.grep", observation_id=observed),
        observation(2, "substrate.git.log"),
    ]
    (record,) = adjudicate(lines).on("admitted")
    assert record["grounded"] is True
    assert record["grounding"] == said


def test_what_claims_no_grounding_says_nothing_of_it():
    """Nobody claims it."""
    lines = [emission(0), observation(1, "substrate.grep"), observation(2, "substrate.git.log")]
    (record,) = adjudicate(lines).on("admitted")
    assert record["grounded"] is False
    assert "grounding" not in record


def test_spans_are_bounded_together():
    """A thousand assertions over one long text would be a thousand copies of it in the state."""
    text = "word " * 60_000
    spans = [{"chars": [n, len(text) - n]} for n in range(20)]
    assert adjudicate([emission(0, text=text, claims=[claim(span=span) for span in spans])]).dead == ["schema"]
    assert adjudicate([emission(0, text=text, claims=[claim(span=span) for span in spans[:10]])]).dead == []


def test_what_is_strictly_cited_is_bounded_together():
    """Quotations that stand at the end of a long context took minutes to compare, and the lane stood still."""
    quotes = [f'"aab{n}"' for n in range(5_000)]
    text, context = " ".join(quotes), "a" * 750_000 + " ".join(quotes).replace('"', "")
    cites = {"context": "c", "strictly": True}

    def dead(*spans):
        claims = [claim(span={"chars": list(span)}, cites=cites) for span in spans]
        return adjudicate([emission(0, text=text, claims=claims, fields={"contexts": {"c": context}})]).dead

    assert dead((0, len(text))) == ["schema"]  # too much to compare
    assert dead(*[(n, len(text) - n) for n in range(20)]) == ["schema"]  # too much to read
    assert dead((0, len(" ".join(quotes[:100])))) == []
