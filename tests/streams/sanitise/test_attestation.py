"""A whole attestation, typed, cleaned and framed [V §3–5, §7]."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.canonical import canonical_hash
from sluice.codecs.errors import Fault
from sluice.streams.sanitise import WARNING, AttestationRules, Trace, frame_attestation
from sluice.streams.sanitise._attestation import CAPS
from sluice.streams.sanitise._trace import MAX_ENTRIES
from sluice.streams.sanitise._typing import problem_of

ATTESTATION = {
    "claim_hash": "0x" + "ab" * 32,
    "validator_did": "did:web:university.example",
    "verdict": "VERIFIED",
    "consensus_domain": "scientific-default",
    "rationale": "The log bears it out.",
    "qualifications": "",
    "evidence": [{"quote": "An entry of that day.", "uri": "https://example.org/log"}],
    "cited_works": [{"uri": "urn:doi:10.1000/182", "title": "A \u200btitle"}],
    "issued_at": 1_779_700_000_000,
}
RULES = AttestationRules()
LENIENT = AttestationRules(typing="lenient")


def framed(rules=RULES, **changes):
    return frame_attestation({**ATTESTATION, **changes}, rules)


def untrusted(envelope):
    return envelope["attestations"][0]["_untrusted_text"]


def test_the_envelope_has_the_shape_of_the_contract():
    """[V §5.1], with the hash of [V §7] and the place of the original."""
    envelope = frame_attestation(ATTESTATION, RULES, query="is it so?", source="attestations/2/7")
    meta = envelope.pop("_meta")
    assert envelope == {
        "@type": "veritas:GroundedAttestationResponse",
        "@version": "0.1",
        "query": "is it so?",
        "consensus_domain": "scientific-default",
        "verdict_summary": {"primary_verdict": "VERIFIED", "validator_count": 1, "disagreement_present": False},
        "attestations": [
            {
                "claim_hash": ATTESTATION["claim_hash"],
                "validator_did": "did:web:university.example",
                "verdict": "VERIFIED",
                "consensus_domain": "scientific-default",
                "issued_at": "2026-05-25T09:06:40Z",
                "_untrusted_text": {
                    "@type": "veritas:UntrustedValidatorText",
                    "warning": WARNING,
                    "validator_did": "did:web:university.example",
                    "rationale": "The log bears it out.",
                    "qualifications": "",
                    "evidence": [
                        {
                            "_untrusted_quote": {
                                "@type": "veritas:UntrustedValidatorText",
                                "warning": WARNING,
                                "quote": "An entry of that day.",
                                "source_uri": "[example.org] → https://example.org/log",
                            }
                        }
                    ],
                    "cited_works": [{"source_uri": "[urn] → urn:doi:10.1000/182", "title": "A title"}],
                },
            }
        ],
        "canonical_hash": canonical_hash(ATTESTATION)[0],
        "canonicalisation_version": "0.3",
        "source": "attestations/2/7",
    }
    assert [entry["field"] for entry in meta["stripped_positions"]] == ["cited_works[0].title"]


def test_the_text_and_the_object_give_the_same():
    """Bytes are read as the JSON text that they are."""
    assert frame_attestation(json.dumps(ATTESTATION).encode(), RULES) == frame_attestation(ATTESTATION, RULES)


def test_the_frame_is_there_without_any_text():
    """Absent texts are empty ones, and the wrapper is never left out [V §5.2]."""
    envelope = frame_attestation({name: ATTESTATION[name] for name in list(ATTESTATION)[:4]}, RULES)
    assert untrusted(envelope) == {
        "@type": "veritas:UntrustedValidatorText",
        "warning": WARNING,
        "validator_did": "did:web:university.example",
        "rationale": "",
        "qualifications": "",
        "evidence": [],
        "cited_works": [],
    }
    assert "source" not in envelope
    assert "issued_at" not in envelope["attestations"][0]


@pytest.mark.parametrize("field", ["rationale", "qualifications"])
def test_strict_typing_refuses_the_whole_attestation(field):
    """The fault names the field and why [V §3]."""
    assert framed(**{field: "a <b>c</b>"}) == Fault(
        "mistyped", f"$.{field}: expected plain text; it holds an HTML element"
    )


def test_every_quote_is_typed():
    """Those past the fifth as well, with their number."""
    fault = framed(evidence=[{"quote": "fine"}] * 6 + [{"quote": "{}"}])
    assert fault == Fault("mistyped", "$.evidence[6].quote: expected plain text; it is a JSON document")


def test_lenient_typing_leaves_markup_to_the_pipeline():
    """Then it is removed and recorded."""
    envelope = framed(LENIENT, rationale="a <b>c</b>")
    assert untrusted(envelope)["rationale"] == "a c"
    assert len(envelope["_meta"]["markup_stripped"]) == 2


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"rationale": 5}, "$.rationale: expected str, got int"),
        ({"rationale": None}, "$.rationale: expected str, got null"),
        ({"rationale": "\ud800"}, "$.rationale: expected plain text; it holds a lone surrogate"),
        ({"evidence": [{"quote": ["x"]}]}, "$.evidence[0].quote: expected str, got array"),
        ({"evidence": "x"}, "$.evidence: expected array, got str"),
        ({"cited_works": [{"title": "x"}]}, "$.cited_works[0]: expected the field uri, got nothing"),
        ({"cited_works": [{"uri": "urn:doi:1", "title": 1}]}, "$.cited_works[0].title: expected str, got int"),
        (
            {"cited_works": [{"uri": "urn:doi:1", "title": "\ud800"}]},
            "$.cited_works[0].title: expected plain text; it holds a lone surrogate",
        ),
        ({"claim_hash": "0x12"}, "$.claim_hash: expected 0x and 64 hexadecimal digits"),
        ({"validator_did": "https://x.org"}, "$.validator_did: expected a DID URI"),
        ({"validator_did": "did:web:a\nb"}, "$.validator_did: expected a DID URI"),
        ({"verdict": "MAYBE"}, "$.verdict: expected VERIFIED, SUPPORTED, DISPUTED, FALSE or UNVERIFIABLE"),
        ({"consensus_domain": "elsewhere"}, "$.consensus_domain: expected one of scientific-default, got elsewhere"),
        ({"consensus_domain": "a b"}, "$.consensus_domain: expected the name of a consensus domain"),
        ({"issued_at": "soon"}, "$.issued_at: expected an RFC 3339 time"),
        ({"canonicalisation_version": "0.4"}, '$.canonicalisation_version: expected "0.2" or "0.3"'),
        ({"extra": 2**53}, "$: the value has no canonical form"),
        ({"extra": float("nan")}, "$: the value has no canonical form"),
    ],
)
def test_a_field_of_another_type_is_named(changes, path):
    """Strict and lenient alike: what stands outside the frame is always typed."""
    for rules in (RULES, LENIENT):
        fault = framed(rules, **changes)
        assert isinstance(fault, Fault)
        assert fault.reason == "mistyped"
        assert fault.detail.startswith(path)


@pytest.mark.parametrize("missing", ["claim_hash", "validator_did", "verdict", "consensus_domain"])
def test_the_first_four_fields_are_required(missing):
    """The fault names the one that is missing."""
    fault = frame_attestation({name: value for name, value in ATTESTATION.items() if name != missing}, RULES)
    assert fault == Fault("mistyped", f"$: expected the field {missing}, got nothing")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not-json"),
        (b"{", "not-json"),
        (b"\xff", "not-json"),
        (b'{"a": NaN}', "not-json"),
        (b"[]", "mistyped"),
        (b"5", "mistyped"),
        (b'{"a": 1, "a": 2}', "mistyped"),
        (b"[" * 100_000, "mistyped"),
        (b'{"rationale": {"a": ' + b"[" * 120 + b"]" * 120 + b"}}", "mistyped"),
    ],
)
def test_bytes_that_are_no_attestation_are_a_fault(text, reason):
    """Nothing is raised, whatever the bytes are."""
    fault = frame_attestation(text, RULES)
    assert isinstance(fault, Fault)
    assert fault.reason == reason


@pytest.mark.parametrize("value", [{"a": object()}, {"a": float("nan")}, {1: 2}, 5, None])
def test_an_object_that_no_json_says_is_a_fault(value):
    """Whatever a caller hands over."""
    fault = frame_attestation(value, RULES)
    assert isinstance(fault, Fault)
    assert fault.reason == "mistyped"


@given(st.binary(max_size=40))
def test_any_bytes_have_an_answer(text):
    """A fault, never an exception."""
    assert isinstance(frame_attestation(text, RULES), Fault)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@given(st.sampled_from([*ATTESTATION, "canonicalisation_version", "more"]), JSON)
def test_any_value_in_any_field_has_an_answer(field, value):
    """A framed attestation or a fault, never an exception; and what comes out is JSON."""
    for rules in (RULES, LENIENT):
        result = framed(rules, **{field: value})
        if not isinstance(result, Fault):
            json.dumps(result, allow_nan=False).encode()


def test_reject_refuses_letters_of_another_script_in_any_text():
    """Under the domain's own policy [V §4.3]; typography passes and is replaced."""
    rules = AttestationRules(confusables={"scientific-default": "reject"})
    for name, changes in {
        "rationale": {"rationale": "pаypal"},
        "qualifications": {"qualifications": "pаypal"},
        "evidence[0].quote": {"evidence": [{"quote": "pаypal"}]},
        "cited_works[0].title": {"cited_works": [{"uri": "urn:doi:1", "title": "pаypal"}]},
    }.items():
        fault = framed(rules, **changes)
        assert isinstance(fault, Fault)
        assert fault.reason == "confusable-text"
        assert fault.detail.startswith(f"$.{name}:")
    assert untrusted(framed(rules, rationale="It’s fine"))["rationale"] == "It's fine"


def test_the_policy_for_confusables_is_the_domains():
    """By consensus domain, with a default for the others."""
    rules = AttestationRules(
        confusables={"finance": "reject"}, confusables_default="flag", consensus_domains=["finance", "other"]
    )
    assert isinstance(framed(rules, consensus_domain="finance", rationale="pаypal"), Fault)
    envelope = framed(rules, consensus_domain="other", rationale="pаypal")
    assert untrusted(envelope)["rationale"] == "pаypal"
    assert envelope["_meta"]["confusables_present"] is True


def test_texts_are_cut_at_the_contracts_caps():
    """2,000, 2,000 and 1,000 bytes, five quotes, recorded one by one [V §4.1]."""
    envelope = framed(
        rationale="x" * 50_000,
        qualifications="y" * 2001,
        evidence=[{"quote": "z" * 1001, "uri": "https://x.org"}] + [{"quote": "abc"}] * 6,
    )
    frame = untrusted(envelope)
    assert frame["rationale"] == "x" * 2000 + "…"
    assert frame["qualifications"] == "y" * 2000 + "…"
    assert len(frame["evidence"]) == 5
    assert frame["evidence"][0]["_untrusted_quote"]["quote"] == "z" * 1000 + "…"
    assert envelope["_meta"]["truncated"] == [
        {"field": "rationale", "octets_before": 50_000, "octets_after": 2000},
        {"field": "qualifications", "octets_before": 2001, "octets_after": 2000},
        {"field": "evidence[0].quote", "octets_before": 1001, "octets_after": 1000},
        {"field": "evidence[5].quote", "octets_before": 3, "octets_after": 0},
        {"field": "evidence[6].quote", "octets_before": 3, "octets_after": 0},
    ]


def test_a_policy_may_lower_the_caps():
    """They are rules, not constants."""
    caps = {"rationale": 5, "qualifications": 5, "quote": 5, "quotes": 0, "title": 5}
    frame = untrusted(framed(AttestationRules(caps=caps)))
    assert frame["rationale"] == "The l…"
    assert frame["evidence"] == []


def test_a_refused_uri_becomes_null_and_the_attestation_stays():
    """With an entry in `_meta.uris_rejected` that says why ([V §4]); an absent one is null without one."""
    envelope = framed(
        evidence=[{"quote": "a", "uri": "http://x.org"}, {"quote": "b"}],
        cited_works=[{"uri": "javascript:alert(1)"}, {"uri": "https://x.org/%E2%80%8B"}],
    )
    frame = untrusted(envelope)
    assert [one["_untrusted_quote"]["source_uri"] for one in frame["evidence"]] == [None, None]
    assert [one["source_uri"] for one in frame["cited_works"]] == [None, None]
    assert envelope["_meta"]["uris_rejected"] == [
        {"field": "evidence[0].uri", "reason": "scheme"},
        {"field": "cited_works[0].uri", "reason": "scheme"},
        {"field": "cited_works[1].uri", "reason": "encoded-invisible"},
    ]


def test_the_hash_is_of_the_original():
    """What was cut, replaced or unknown is in it; its version is the attestation's."""
    for changes in ({}, {"rationale": "x" * 3000}, {"extra": [1.0, "é"]}, {"canonicalisation_version": "0.2"}):
        envelope = framed(**changes)
        expected = canonical_hash({**ATTESTATION, **changes})
        assert (envelope["canonical_hash"], envelope["canonicalisation_version"]) == expected
    assert framed(canonicalisation_version="0.2")["canonicalisation_version"] == "0.2"


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=3, max_size=3), st.booleans())
def test_cleaning_first_changes_no_hash(texts, capped):
    """What the pipeline tells the hash of the texts is what the hash would find, cut or not, under each policy."""
    texts = [f"p\u0430y {text} e\u200d\u0301" for text in texts]
    body = {**ATTESTATION, "rationale": texts[0], "qualifications": texts[1], "evidence": [{"quote": texts[2]}]}
    caps = {**CAPS, "rationale": 9} if capped else CAPS
    for confusables in ("replace", "flag"):
        rules = AttestationRules(typing="lenient", confusables_default=confusables, caps=caps)
        assert frame_attestation(body, rules)["canonical_hash"] == canonical_hash(body)[0]


def test_a_refused_attestation_leaves_no_trace():
    """In the trace of the record that it was to be part of; where it has no hash, that is said first."""
    trace = Trace()
    reject = AttestationRules(confusables_default="reject")
    one = {**ATTESTATION, "rationale": "p\u0430y\u200d"}
    assert frame_attestation(one, reject, trace=trace).reason == "confusable-text"
    for rules in (RULES, reject):
        fault = frame_attestation({**one, "extra": 2**60}, rules, trace=trace)
        assert fault.reason == "mistyped"
        assert "no canonical form" in fault.detail
    assert trace.meta() == Trace().meta()


def test_an_attestation_inside_another_record_is_recorded_there():
    """The record's own trace gets the changes, under names that say where."""
    trace = Trace()
    frame_attestation({**ATTESTATION, "rationale": "a\u200db"}, RULES, trace=trace, within="attestations[0].")
    assert trace.meta().stripped_positions == [
        {"field": "attestations[0].rationale", "position": 1, "count": 1},
        {"field": "attestations[0].cited_works[0].title", "position": 2, "count": 1},
    ]


def test_the_record_of_an_envelope_is_its_own():
    """What is recorded in the trace later does not come into an envelope made before."""
    trace = Trace()
    envelope = frame_attestation(ATTESTATION, RULES, trace=trace)
    trace.cut("chain[0].source", 3000, 2000)
    assert envelope["_meta"]["truncated"] == []


STRUCTURES = ['{"role": "system"}', "[a]: https://evil.example/", "~~~", "0123456789abcdef" * 8]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("field", ["rationale", "qualifications", "quote"])
@pytest.mark.parametrize("markup", ["\uff1cb\uff1e", "<\u200db>", "\uff3b\uff3d\uff08\uff09", "<\u200d!-- -->"])
def test_no_structure_comes_to_light_behind_markup(structure, field, markup):
    """Typing leaves markup that is hidden to the pipeline, and judges what is left of the text when it is gone."""
    middle = len(structure) // 2
    for text in (markup + structure, structure[:middle] + markup + structure[middle:]):
        changes = {"evidence": [{"quote": ""}, {"quote": text}]} if field == "quote" else {field: text}
        fault = framed(**changes)
        assert isinstance(fault, Fault), text
        assert fault.reason == "mistyped"
        assert fault.detail.startswith("$.evidence[1].quote:" if field == "quote" else f"$.{field}:")
        assert not isinstance(framed(LENIENT, **changes), Fault)


@pytest.mark.parametrize("text", ["[a]: https://evil.example/" + "x" * 3000 + " and more", "```" + "x" * 3000 + "`"])
def test_no_structure_comes_from_a_cut(text):
    """What is none as a whole, since more stands on its line, may be one without its end."""
    fault = framed(rationale=text)
    assert isinstance(fault, Fault)
    assert fault.detail.endswith("once it is cleaned")


TEXTS_OF_ALL_KINDS = st.lists(
    st.sampled_from(
        [*'{}[]"`~:<>()=!-a1 \n', '{"a":1}', "[a]:", "/b", "```", "<b>", "](", "a" * 60, "\u200b", "\u2060", "\uff1c"]
        + ["\uff1e", "\uff3b", "\uff3d", "\uff08", "\uff09", "\uff5b", "\uff5d", "\uff1a", "\u0301", "\u0430", "\u2774"]
    ),
    max_size=12,
).map("".join)


@given(TEXTS_OF_ALL_KINDS, st.sampled_from([9, 40, 2000]))
def test_what_strict_typing_lets_out_is_what_it_would_let_in(text, cap):
    """Whatever was hidden, cut off or taken out: no parser unpacks, renders or decodes what stands in the frame."""
    rules = AttestationRules(caps={**CAPS, "rationale": cap})
    result = framed(rules, rationale=text)
    if not isinstance(result, Fault):
        assert problem_of(untrusted(result)["rationale"], "strict") is None


def encoded(**changes):
    return json.dumps({**ATTESTATION, **changes}).encode()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'"\\ud800"', "$: expected object"),
        (encoded(verdict="\ud800"), "$.verdict: expected VERIFIED"),
        (encoded(canonicalisation_version="\ud800"), "$.canonicalisation_version: expected"),
        (encoded(consensus_domain="\ud800"), "$.consensus_domain: expected"),
        (encoded(claim_hash="\ud800"), "$.claim_hash: expected"),
        (encoded(issued_at="\ud800"), "$.issued_at: expected"),
        (encoded(**{"\ud800": 1}), "$: expected names and words of Unicode, got a lone surrogate"),
        (encoded(**{"\ud800": 1, "verdict": 5}), "$.verdict: expected"),
        (encoded(evidence=[{"\ud800": 1}]), "$: expected names and words of Unicode, got a lone surrogate"),
        (encoded(extra={"\ud800": 1}), "$: the value has no canonical form"),
        (encoded(evidence=[{"uri": "\ud800"}]), "$: the value has no canonical form"),
        (encoded(cited_works=[{"uri": "\ud800"}] * 101), "$: the value has no canonical form"),
    ],
)
def test_a_lone_surrogate_is_mistyped_wherever_it_stands(text, path):
    """A JSON escape says it, and UTF-8 does not: in a name, a word, or the whole document."""
    fault = frame_attestation(text, RULES)
    assert isinstance(fault, Fault)
    assert fault.reason == "mistyped"
    assert fault.detail.startswith(path)
    assert fault.detail.encode().isascii()


LITERALS = st.sampled_from(
    [
        "1e400",
        "-1e400",
        "1e-400",
        "1" + "0" * 400,
        "-" + "9" * 5000,
        "9007199254740993",
        "0.1e1",
        "-0",
        "NaN",
        "1E5",
        "01",
    ]
    + ['"\\ud800"', '"\\udfff\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\x"', '"\n"', "null", "true", "[", "{}", ""]
    + ["[" * 127 + "]" * 127, "[" * 400 + "]" * 400, "[" * 3000, '{"a":' * 200 + "1" + "}" * 200, '"\ufeff"', "\ufeff"]
)
MEMBERS = st.sampled_from([*ATTESTATION, "canonicalisation_version", "more", "\\ud800", "a\\udc00", ""])
WRITTEN = st.recursive(
    st.one_of(LITERALS, st.text(max_size=4).map(json.dumps)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.dictionaries(st.sampled_from(["quote", "uri", "title", "\\ud800", "a"]), inner, max_size=3).map(
            lambda members: "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(MEMBERS, WRITTEN, max_size=4), st.booleans())
def test_any_json_text_has_an_answer(written, lenient):
    """Lone surrogates, numbers that nothing holds, any depth: JSON or a fault comes out, never an exception."""
    members = {**{name: json.dumps(value) for name, value in ATTESTATION.items()}, **written}
    text = "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
    for encoded in (text.encode(errors="replace"), *(value.encode(errors="replace") for value in written.values())):
        for confusables in ("replace", "reject"):
            rules = AttestationRules(typing="lenient" if lenient else "strict", confusables_default=confusables)
            result = frame_attestation(encoded, rules)
            if isinstance(result, Fault):
                assert result.detail.encode().decode().isprintable()
            else:
                json.dumps(result, allow_nan=False).encode()


@pytest.mark.parametrize("depth", [129, 500, 900, 1100, 50_000])
@pytest.mark.parametrize("closed", [True, False])
def test_the_fault_of_what_is_nested_depends_on_its_bytes_alone(depth, closed):
    """Not on how deep the caller stands: a dead letter written again is the same."""
    text = b"[" * depth + b"]" * depth * closed

    def deep(levels):
        return deep(levels - 1) if levels else frame_attestation(text, RULES)

    assert deep(0) == deep(700) == Fault("mistyped", "$: the value is nested more than 128 levels deep")


def test_reject_asks_about_the_text_that_comes_out():
    """A cap that falls between a letter and its accent leaves a look-alike that the whole text does not have."""
    reject = AttestationRules(confusables_default="reject")
    for name, cap, changes in (
        ("rationale", 2000, lambda text: {"rationale": text}),
        ("qualifications", 2000, lambda text: {"qualifications": text}),
        ("evidence[0].quote", 1000, lambda text: {"evidence": [{"quote": text}]}),
        ("cited_works[0].title", 300, lambda text: {"cited_works": [{"uri": "urn:doi:1", "title": text}]}),
    ):
        fault = framed(reject, **changes("a" * (cap - 2) + "\u03bf\u0301"))
        assert fault == Fault("confusable-text", f"$.{name}: letters of another script stand for ASCII ones")
        assert not isinstance(framed(reject, **changes("a" * (cap - 4) + "\u03bf\u0301")), Fault)


def test_at_most_a_hundred_cited_works_stand_in_the_frame():
    """The contract names no number; what is left out is one entry, with its bytes and how many works there were."""
    works = [{"uri": "urn:doi:1", "title": "\u00e9"}] * 100
    assert framed(cited_works=works)["_meta"]["truncated"] == []
    envelope = framed(cited_works=[*works, {"uri": "arxiv:1"}, {"uri": "javascript:\u00e9", "title": "a\u200db"}])
    assert len(untrusted(envelope)["cited_works"]) == 100
    assert envelope["_meta"]["truncated"] == [
        {"field": "cited_works", "octets_before": 100 * 11 + 7 + 13 + 5, "octets_after": 100 * 11, "omitted": 2}
    ]
    assert envelope["_meta"]["uris_rejected"] == envelope["_meta"]["stripped_positions"] == []


@pytest.mark.parametrize("uri", [7, ["https://example.org/"], {"a": 1}, True, 1.5])
def test_a_uri_of_another_type_is_null_in_either_list(uri):
    """Told as `type`; the attestation stays."""
    envelope = framed(evidence=[{"quote": "q", "uri": uri}], cited_works=[{"title": "t", "uri": uri}])
    assert untrusted(envelope)["evidence"][0]["_untrusted_quote"]["source_uri"] is None
    assert untrusted(envelope)["cited_works"][0]["source_uri"] is None
    rejected = [(entry["field"], entry["reason"]) for entry in envelope["_meta"]["uris_rejected"]]
    assert rejected == [("evidence[0].uri", "type"), ("cited_works[0].uri", "type")]


def test_what_goes_from_a_did_and_with_a_sixth_quote_is_told():
    """Path, query and fragment, and the URI of a quote that does not come out [V §6]."""
    did = "did:web:university.example/path?a=b#c"
    envelope = framed(validator_did=did, evidence=[{"quote": "q", "uri": "https://example.org/log"}] * 6)
    assert envelope["_meta"]["truncated"] == [
        {"field": "evidence[5].quote", "octets_before": 1, "octets_after": 0},
        {"field": "evidence[5].uri", "octets_before": 23, "octets_after": 0},
        {"field": "validator_did", "octets_before": len(did), "octets_after": len(did) - 11},
    ]


def test_the_did_stands_in_the_frame_as_well():
    """A reader that gives a model nothing but frames says whose word it is."""
    envelope = framed(validator_did="did:web:University.example#key")
    assert untrusted(envelope)["validator_did"] == envelope["attestations"][0]["validator_did"]
    assert untrusted(envelope)["validator_did"] == "did:web:university.example"


def test_a_flood_of_quotes_and_works_is_counted_whole():
    """Every quote is an entry, or in a count; the works have their entry, however many quotes there are."""
    trace = Trace()
    body = {**ATTESTATION, "evidence": [{}] * (MAX_ENTRIES + 100), "cited_works": [{"uri": "arxiv:1"}] * 300}
    frame_attestation(body, RULES, trace=trace, within="attestations[0].")
    truncated = trace.meta().truncated
    assert truncated[0] == {
        "field": "attestations[0].cited_works",
        "octets_before": 2100,
        "octets_after": 700,
        "omitted": 200,
    }
    assert len(truncated) == MAX_ENTRIES + 1
    assert truncated[-1] == {"field": "attestations", "omitted": 96}


def test_members_that_nobody_knows_are_named():
    """They do not come out, and nothing goes without a trace [V §6]; a name is no way in for a sentence."""
    evidence = [{"quote": "q", "uri": "https://example.org/", "source": "x"}]
    envelope = framed(note="x", evidence=evidence, **{"obey <b>me</b>\u202e": "x"})
    assert envelope["_meta"]["unknown_members"] == ["note", "obey__b_me__b__", "source"]
    del envelope["_meta"]
    assert "note" not in json.dumps(envelope)
    assert "obey" not in json.dumps(envelope)
    assert "unknown_members" not in framed()["_meta"]


def test_at_most_twenty_of_them_are_named():
    """In order, whatever a set makes of it, and no name is long."""
    envelope = framed(**{f"member-{number:03}-{'x' * 100}": 1 for number in range(50)})
    names = envelope["_meta"]["unknown_members"]
    assert len(names) == 20
    assert [name[:10] for name in names] == [f"member-{number:03}" for number in range(20)]
    assert max(map(len, names)) == 64


@pytest.mark.parametrize("uri", [5, [], {}, True, ["https://example.org/"]])
def test_a_uri_of_a_wrong_type_becomes_null(uri):
    """Of a cited work: it is told as rejected, the attestation stays, and the hash is that of what came."""
    works = [{"uri": uri}]
    envelope = framed(cited_works=works)
    assert envelope["_meta"]["uris_rejected"] == [{"field": "cited_works[0].uri", "reason": "type"}]
    assert untrusted(envelope)["cited_works"] == [{"source_uri": None, "title": ""}]
    assert envelope["canonical_hash"] == canonical_hash({**ATTESTATION, "cited_works": works})[0]


def test_a_title_is_typed_like_the_other_texts():
    """A model reads it like them."""
    fault = framed(cited_works=[{"uri": "urn:doi:1", "title": "A <i>title</i>"}])
    assert fault == Fault("mistyped", "$.cited_works[0].title: expected plain text; it holds an HTML element")
