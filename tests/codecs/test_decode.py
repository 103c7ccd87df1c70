"""Bytes become input records, or a fault that says where, what was expected and what is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from builders import observation_value, sighting_value, text_value
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.decode import (
    MAX_CONTENT_BYTES,
    MAX_TEXT,
    assertion_text,
    decode_citation,
    decode_emission,
    decode_observation,
    decode_review,
    decode_sighting,
    normalise_emission,
    read_emission,
    read_observation,
)
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import LAST_OFFSET, Span
from sluice.codecs.json_text import MAX_NESTING
from sluice.codecs.records import Citation, Emission, Sighting

EMISSION: dict[str, Any] = text_value(text="It is. It was.", at="2026-11-21T09:00:00Z")
OBSERVATION = observation_value(span={"chars": [0, 6]}, at="2026-11-21T09:00:02Z", observation_id="sha256:1")
REVIEW: dict[str, Any] = {"emission_id": "em-1", "span": {"path": "/a"}, "decision": "admit"}


def decoded(**fields: Any) -> Emission:
    found = decode_emission(json.dumps(EMISSION | fields).encode())
    assert isinstance(found, Emission), found
    return found


def fault(**fields: Any) -> tuple[str, str]:
    """Reason and detail of a refused emission; a field given as `...` is left out."""
    record = {name: value for name, value in (EMISSION | fields).items() if value is not ...}
    found = decode_emission(json.dumps(record).encode())
    assert isinstance(found, Fault), found
    return found.reason, found.detail


def one(**assertion: Any) -> list[dict[str, Any]]:
    return [{"span": {"chars": [0, 6]}} | assertion]


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("decode", [decode_emission, decode_observation, decode_review])
@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b'{"a":"\\ud800"}', b"nul"])
def test_what_is_not_json_says_so(decode: Callable[[bytes | None], Any], data: bytes | None) -> None:
    """A tombstone, malformed JSON and bytes that are not UTF-8 alike."""
    found = decode(data)

    assert isinstance(found, Fault)
    assert found.reason == "not-json"


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_no_bytes_raise(data: bytes) -> None:
    """A bad record is a value on its way to the dead letters."""
    for decode in (decode_emission, decode_observation, decode_review):
        assert isinstance(decode(data), Fault)


@pytest.mark.parametrize(
    "data",
    [
        b'{"effect":"zzz"',
        b'{"emission_id":"a b", x',
        b"{} x",
        b'{"effect":5,"x":"\xff"}',
        b'{"emission_id":5,"text":tru}',
    ],
)
def test_what_is_not_json_is_never_called_a_schema_fault(data: bytes) -> None:
    """Also where a field is of another shape before the place at which it stops being JSON."""
    found = decode_emission(data)

    assert isinstance(found, Fault)
    assert found.reason == "not-json"


@pytest.mark.parametrize("number", ["1e999", "9" * 5000])
def test_numbers_that_nothing_can_hold_are_json(number: str) -> None:
    """What is wrong with such a record is another field's shape, and that is told."""
    found = decode_emission(f'{{"effect":"zzz","x":{number}}}'.encode())

    assert isinstance(found, Fault)
    assert found.reason == "schema"
    assert found.detail.startswith("$.effect: ")


def test_strings_are_utf_8() -> None:
    """In every field that is read."""
    found = decode_emission(b'{"emission_id":"\xff"}')

    assert isinstance(found, Fault)
    assert found.reason == "not-json"


def at_depth(frames: int, call: Callable[[], Any]) -> Any:
    return call() if frames == 0 else at_depth(frames - 1, call)


@pytest.mark.parametrize("levels", [MAX_NESTING - 1, MAX_NESTING, 400, 900, 100_000])
@pytest.mark.parametrize("field", ["ignored", "metadata", "text"])
def test_nesting_is_judged_by_the_bytes_alone(levels: int, field: str) -> None:
    """The same record decodes alike however deep the stack is when it does: the audit folds what the worker folded."""
    nested = "[" * levels + "]" * levels
    fields = {
        "ignored": f'"text":"a","x":{nested}',
        "metadata": f'"assertions":[{{"assertion":"a","chain":[{{"step":"retrieval","metadata":{{"c":{nested}}}}}]}}]',
        "text": f'"text":"{nested}","assertions":[{{"span":{{"path":"/0"}}}}]',
    }[field]
    data = f'{{"emission_id":"e","emitted_at":1,{fields}}}'.encode()

    shallow = decode_emission(data)
    deep = at_depth(sys.getrecursionlimit() - 400, lambda: decode_emission(data))

    assert deep == shallow
    if levels > MAX_NESTING:
        assert isinstance(shallow, Fault)


# ---------------------------------------------------------------- the schema


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"emission_id": ...}, "$: expected the field emission_id, got nothing"),
        ({"emission_id": "a b"}, "$.emission_id: "),
        ({"emission_id": "a\n"}, "$.emission_id: "),
        ({"emission_id": 5}, "$.emission_id: expected str, got int"),
        ({"emitted_at": "yesterday"}, "$.emitted_at: expected an RFC 3339 time"),
        ({"emitted_at": True}, "$.emitted_at: "),
        ({"effect": "none"}, "$.effect: "),
        ({"attempt": -1}, "$.attempt: "),
        ({"group": "a b"}, "$.group: "),
        ({"group": ""}, "$.group: "),
        ({"part": -1}, "$.part: "),
        ({"part": 1.5}, "$.part: expected int"),
        ({"final": 1}, "$.final: expected bool"),
        ({"text": ...}, "$: expected `assertions`, or an annotated `text`, got neither"),
        ({"contexts": {"a b": "c"}}, "$.contexts: "),
        ({"contexts": {"a": 1}}, "$.contexts[...]: expected str, got int"),
        ({"assertions": [{}]}, "$.assertions[0]: expected `span` or `assertion`, got neither"),
        ({"assertions": one(), "text": ...}, "$.assertions[0]: expected `text` in the emission, or `assertion` here"),
        ({"assertions": one(span={})}, "$.assertions[0].span: expected exactly one of"),
        ({"assertions": one(span={"chars": [0, 1.5]})}, "$.assertions[0].span.chars[1]: expected int, got float"),
        ({"assertions": one(span={"path": "a"})}, "$.assertions[0].span: expected an RFC 6901 pointer"),
        ({"assertions": one() + one()}, "$.assertions[1].span: expected a span that no other assertion has, got c:0-6"),
        (
            {"assertions": one(assertion="It was")},
            "$.assertions[0].assertion: expected the text of its span, got It was",
        ),
        ({"assertions": one(kind="guess")}, "$.assertions[0].kind: "),
        ({"assertions": one(confidence=1.5)}, "$.assertions[0].confidence: "),
        ({"assertions": one(provenance={"substrate_class": ""})}, "$.assertions[0].provenance.substrate_class: "),
        ({"assertions": one(provenance={"substrate_class": "a", "ts": "b"})}, "$.assertions[0].provenance.ts: "),
        ({"assertions": one(provenance=[{"substrate_class": "a", "ts": -1}])}, "$.assertions[0].provenance[0].ts: "),
        ({"assertions": one(chain=[{"step": "guess"}])}, "$.assertions[0].chain[0].step: "),
        ({"assertions": one(chain=[{"step": "retrieval", "timestamp": "a"}])}, "$.assertions[0].chain[0].timestamp: "),
        (
            {"assertions": one(chain=[{"step": "derived", "right": [{"step": "retrieval", "timestamp": "a"}]}])},
            "$.assertions[0].chain[0].right[0].timestamp: ",
        ),
    ],
)
def test_a_schema_fault_says_where(fields: dict[str, Any], path: str) -> None:
    """The path leads to the field, and what was expected stands behind it."""
    reason, detail = fault(**fields)

    assert reason == "schema"
    assert detail.startswith(path)


GREP = {"substrate_class": "substrate.grep"}


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"assertions": [{"assertion": "It is."}] * 1001}, "$.assertions: expected at most 1000 assertions, got 1001"),
        ({"assertions": one(provenance=[GREP] * 1001)}, "$.assertions: expected at most 1000 annotations, got 1001"),
        (
            {
                "text": "ab" * 1001,
                "assertions": [{"span": {"chars": [n, n + 2]}, "provenance": [GREP] * 3} for n in range(334)],
            },
            "$.assertions: expected at most 1000 annotations, got 1002",
        ),
        ({"text": "B! " * 1001}, "$.text: expected at most 1000 assertions, got more"),
        ({"text": "B." + " [substrate.grep]" * 1001}, "$.text: expected at most 1000 annotations, got more"),
        ({"text": "B." + "[substrate.grep;path=abc]" * 36_000}, "$.text: expected at most 1000 annotations, got more"),
        ({"text": "B." + "[unverified-inference]" * 40_000}, "$.text: expected at most 1000 annotations, got more"),
        ({"text": "A. [hearsay; ts=1] " * 1001}, "$.text: expected at most 1000 annotations, got more"),
    ],
)
def test_an_emission_with_too_many_annotations_or_statements_says_so(fields: dict[str, Any], detail: str) -> None:
    """One bound for both, in either encoding, and in either reader."""
    data = json.dumps(EMISSION | fields).encode()

    assert fault(**fields) == ("too-many-annotations", detail)
    assert read_emission(data) == decode_emission(data)


@pytest.mark.parametrize(
    "fields",
    [
        {"assertions": one(provenance=[GREP] * 1000)},
        {"text": "B! " * 1000},
        {"text": "B." + " [substrate.grep]" * 1000},
        {"text": "B. [substrate.grep] " * 1000},
        {"text": "B." + " [not a group]" * 30_000},
    ],
)
def test_as_many_as_an_emission_may_have_are_taken(fields: dict[str, Any]) -> None:
    """A thousand of either."""
    assert decoded(**fields).assertions


@pytest.mark.parametrize(
    "fields",
    [
        {"effect": "x" * 100_000},
        {"emission_id": "x" * 100_000},
        {"emitted_at": "x" * 100_000},
        {"assertions": one(chain=[{"step": "x" * 100_000}])},
        {"assertions": one(assertion="x" * 100_000)},
        {"assertions": one(span={"tokens": [0, 1], "tokenizer": "x" * 256, "path": "/" + "é" * 2000})},
        {"assertions": one(span={"path": "/" + "é" * 2000})},
    ],
)
def test_details_stay_short(fields: dict[str, Any]) -> None:
    """They travel in a header: what a stranger wrote is cut."""
    _, detail = fault(**fields)

    assert len(detail) < 400


@pytest.mark.parametrize(
    "span",
    [
        {"chars": [0, 15]},
        {"chars": [3, 3]},
        {"chars": [5, 3]},
        {"chars": [-1, 3]},
        {"tokens": [2, 1], "tokenizer": "x"},
        {"path": "/a"},
    ],
)
def test_a_span_outside_the_text_says_so(span: dict[str, Any]) -> None:
    """It is a reason of its own: the record is well formed, but speaks of nothing."""
    reason, detail = fault(assertions=[{"span": span}])

    assert reason == "span-out-of-range"
    assert detail.startswith("$.assertions[0].span: ")


def test_offsets_have_a_bound_without_a_text_too() -> None:
    """So every key that is written can be read."""
    spans = [{"assertion": "x", "span": {"chars": [0, LAST_OFFSET + 1]}}]

    assert fault(text=..., assertions=spans)[0] == "span-out-of-range"


def test_unknown_fields_are_ignored() -> None:
    """A reader of today reads the records of tomorrow."""
    assert decoded(colour="red", assertions=one(mood="good")) == decoded(assertions=one())


# ---------------------------------------------------------------- one form


def test_the_inline_encoding_becomes_the_json_form() -> None:
    """Who comes after sees one form only."""
    inline = decoded(text="It is. [substrate.grep; ts=1] It was.")

    assert inline.text == EMISSION["text"]
    assert (
        inline.assertions
        == decoded(
            assertions=[
                {"span": {"chars": [0, 6]}, "provenance": [{"substrate_class": "substrate.grep", "ts": 1}]},
                {"span": {"chars": [7, 14]}},
            ]
        ).assertions
    )


def test_an_empty_list_of_assertions_is_not_inline() -> None:
    """Only where there is no `assertions` does the text speak for itself."""
    found = decoded(text="It is. [substrate.grep]", assertions=[])

    assert found.assertions == []
    assert found.text == "It is. [substrate.grep]"


def test_the_memos_object_gets_a_span() -> None:
    """Its offsets where its text occurs exactly once, overlaps counted; else the path of the place where it stood."""
    memo = [{"assertion": "It was."}, {"assertion": "It"}, {"assertion": "never said"}, {"assertion": ""}]
    keys = [each.span_key for each in decoded(assertions=memo).assertions or ()]

    assert keys == ["c:7-14", "p:/assertions/1", "p:/assertions/2", "p:/assertions/3"]
    assert [each.span_key for each in decoded(text="aaa", assertions=[{"assertion": "aa"}]).assertions or ()] == [
        "p:/assertions/0"
    ]
    assert [each.span_key for each in decoded(text=None, assertions=memo[:1]).assertions or ()] == ["p:/assertions/0"]


def test_what_a_span_says() -> None:
    """Characters, a member of structured output (null included), or the text given; tokens alone say nothing here."""
    structured = json.dumps({"a": ["é", 1.5, None, {"b": True}]})
    spans = [{"path": f"/a/{place}"} for place in range(4)] + [{"chars": [0, 3]}]
    found = decoded(text=structured, assertions=[{"span": span} for span in spans])

    assert [assertion_text(found, each) for each in found.assertions or ()] == [
        "é",
        "1.5",
        "null",
        '{"b":true}',
        structured[:3],
    ]
    tokens = {"span": {"tokens": [0, 1], "tokenizer": "x"}}
    other = decoded(assertions=[tokens, {"assertion": "said", "span": {"path": "/x"}}])
    assert [assertion_text(other, each) for each in other.assertions or ()] == ["", "said"]


def test_a_document_that_is_null_is_one() -> None:
    """The empty pointer names the whole of it."""
    found = decoded(text="null", assertions=[{"span": {"path": ""}}])

    assert assertion_text(found, (found.assertions or [])[0]) == "null"


def test_normalising_twice_changes_nothing() -> None:
    """What came out goes in again as it is."""
    found = decoded(assertions=[*one(), {"assertion": "It was."}, {"assertion": "It"}])

    assert normalise_emission(found) == found


# ---------------------------------------------------------------- observations and reviews


@pytest.mark.parametrize(
    ("fields", "reason", "path"),
    [
        ({"observed_at": "now"}, "schema", "$.observed_at: "),
        ({"observer": ""}, "schema", "$.observer: "),
        ({"outcome": "perhaps"}, "schema", "$.outcome: "),
        ({"subject": {"emission_id": "e", "span": {}}}, "schema", "$.subject.span: "),
        ({"subject": {"emission_id": "e", "span": {"chars": [3, 3]}}}, "span-out-of-range", "$.subject.span: "),
        ({"subject": {"emission_id": "e", "span": {"path": ""}, "attempt": -1}}, "schema", "$.subject.attempt: "),
        ({"confidence": 2}, "schema", "$.confidence: "),
    ],
)
def test_an_observation_is_checked(fields: dict[str, Any], reason: str, path: str) -> None:
    """Its time and its span as well."""
    found = decode_observation(json.dumps(OBSERVATION | fields).encode())

    assert isinstance(found, Fault)
    assert (found.reason, found.detail[: len(path)]) == (reason, path)


@pytest.mark.parametrize(
    ("fields", "reason", "path"),
    [
        ({"decided_at": "now"}, "schema", "$.decided_at: "),
        ({"decision": "maybe"}, "schema", "$.decision: "),
        ({"span": {"path": "a"}}, "schema", "$.span: "),
        ({"span": {"tokens": [1, 0], "tokenizer": "x"}}, "span-out-of-range", "$.span: "),
    ],
)
def test_a_review_is_checked(fields: dict[str, Any], reason: str, path: str) -> None:
    """Its time and its span as well."""
    found = decode_review(json.dumps(REVIEW | fields).encode())

    assert isinstance(found, Fault)
    assert (found.reason, found.detail[: len(path)]) == (reason, path)


def test_good_observations_and_reviews_pass() -> None:
    """With their defaults filled in."""
    observation = decode_observation(msgspec.json.encode(OBSERVATION))
    review = decode_review(msgspec.json.encode(REVIEW))

    assert not isinstance(observation, Fault)
    assert (observation.tier, observation.confidence, observation.subject.attempt) == ("pseudonymous", 1.0, 0)
    assert not isinstance(review, Fault)
    assert review.span == Span(path="/a")


NAMES = st.sampled_from(["em-1", "a" * 256, "a" * 257, "", "b d", "ü", "a\n", 'a"b', "a\x00", None, 5])
TIMES = st.sampled_from(["2026-11-21T09:00:00Z", 1_790_000_000_000, "now", -1, True, None])
SPAN = st.sampled_from(
    [
        {"chars": [0, 6]},
        {"chars": [0, 99]},
        {"chars": [3, 3]},
        {"tokens": [0, 2], "tokenizer": "x"},
        {"tokens": [0, 2], "tokenizer": "b d"},
        {"path": "/a"},
        {},
        None,
    ]
)


def either(good: Any, *bad: Any) -> st.SearchStrategy[Any]:
    """Mostly the good value, so that most records have at most one fault; now and then none at all."""
    return st.one_of(*[st.just(good)] * 12, st.just(...), *bad)


def spoilt(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Records with these fields, those drawn as `...` left out."""
    return st.fixed_dictionaries(fields).map(lambda one: {name: item for name, item in one.items() if item is not ...})


ANNOTATION = spoilt(
    substrate_class=either("substrate.grep", NAMES),
    observation_id=either("sha256:1", NAMES),
    ts=either(1_790_000_000_000, TIMES),
    locator=either({"path": "x"}, st.just([])),
)
EMISSIONS = spoilt(
    emission_id=either("em-1", NAMES),
    emitted_at=either("2026-11-21T09:00:00Z", TIMES),
    emitter=spoilt(system=either("bot", NAMES), model=either("m", NAMES), prompt=either("p", NAMES)),
    text=st.sampled_from(["It is. It was.", None]),
    attempt=either(0, st.sampled_from([-1, 1_000_001, "0"])),
    group=either("an-answer", NAMES),
    part=either(3, st.sampled_from([-1, 1_000_001, "0", 1.5, None])),
    final=either(True, st.sampled_from([0, "true", None])),
    assertions=st.lists(
        spoilt(
            span=either({"chars": [0, 6]}, SPAN),
            provenance=either([], ANNOTATION, st.lists(ANNOTATION, max_size=3)),
            cites=either(None, NAMES.map(lambda name: {"context": name})),
            chain=either(None, NAMES.map(lambda name: [{"step": "retrieval", "data": [name]}])),
        ),
        max_size=3,
    )
    | st.none(),
)
OBSERVATIONS = spoilt(
    observation_id=either("sha256:1", NAMES),
    substrate_class=either("substrate.grep", NAMES),
    observed_at=either("2026-11-21T09:00:02Z", TIMES),
    observer=either("observer-1", NAMES),
    subject=spoilt(emission_id=either("em-1", NAMES), span=either({"chars": [0, 6]}, SPAN), attempt=either(0, NAMES)),
    outcome=either("corroborates", NAMES),
    detail=either({"found": []}, st.just(1)),
)


@settings(max_examples=examples(400))
@given(st.one_of(EMISSIONS.map(lambda one: ("emission", one)), OBSERVATIONS.map(lambda one: ("observation", one))))
def test_the_fold_reads_what_everybody_decodes(record: tuple[str, dict[str, Any]]) -> None:
    """The same fields, or the same fault word for word."""
    kind, value = record
    decode, read = {
        "emission": (decode_emission, read_emission),
        "observation": (decode_observation, read_observation),
    }[kind]
    data = json.dumps(value).encode()

    decoded, found = decode(data), read(data)

    assert isinstance(found, Fault) == isinstance(decoded, Fault)
    assert msgspec.to_builtins(found) == msgspec.to_builtins(decoded)


@pytest.mark.parametrize("read", [read_emission, read_observation])
@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff", b'{"emission_id":"\\ud800"}', b"[" * 500, b'{"a":' * 200])
def test_the_fold_reads_no_broken_bytes(read: Callable[[bytes | None], Any], data: bytes | None) -> None:
    """They are the fault that everybody finds."""
    decode = decode_emission if read is read_emission else decode_observation

    assert isinstance(read(data), Fault)
    assert read(data) == decode(data)


SIGHTING = sighting_value(at="2026-11-21T09:00:00Z")
CITATION = {
    "observation_id": "sha256:e3b0",
    "substrate_class": "substrate.code.read",
    "emission_id": "em-1",
    "attempt": 1,
    "span": {"chars": [0, 43]},
    "kind": "assertion",
    "text": "CHANGELOG.md has an entry dated 2026-05-25.",
    "cited_at": "2026-11-21T09:00:00Z",
}


def encoded(record: dict[str, Any], **fields: Any) -> bytes:
    return msgspec.json.encode(record | fields)


@pytest.mark.parametrize("content", ["text", "", 7, -3, 2.5, "ü" * (MAX_CONTENT_BYTES // 2)])
def test_a_sighting_has_text_or_a_number(content: object):
    """Up to 64 kB of it; the time that was seen is a text or milliseconds."""
    sighting = decode_sighting(encoded(SIGHTING, content=content, unknown="ignored"))

    assert isinstance(sighting, Sighting)
    assert sighting.content == content


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"content": None}, "$.content"),
        ({"content": True}, "$.content"),
        ({"content": "x" * (MAX_CONTENT_BYTES + 1)}, "$.content"),
        ({"content": "ü" * (MAX_CONTENT_BYTES // 2) + "x"}, "$.content"),
        ({"observed_at": "2026-11-21"}, "$.observed_at"),
        ({"observation_id": "a b"}, "$.observation_id"),
        ({"confidence": 2}, "$.confidence"),
    ],
)
def test_what_is_no_sighting_is_reported_by_its_path(fields: dict[str, Any], path: str):
    """In the wording of all schema faults."""
    fault = decode_sighting(encoded(SIGHTING, **fields))

    assert isinstance(fault, Fault)
    assert fault.reason == "schema"
    assert fault.detail.startswith(path + ": ")


def test_a_citation_is_read_as_it_was_written():
    """Every member of it."""
    citation = decode_citation(encoded(CITATION))

    assert isinstance(citation, Citation)
    assert msgspec.to_builtins(citation) == CITATION | {"span": {"chars": (0, 43)}}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cited_at": "today"}, "schema"),
        ({"span": {}}, "schema"),
        ({"span": {"chars": [3, 3]}}, "span-out-of-range"),
        ({"text": "a" * (MAX_TEXT + 1)}, "schema"),
        ({"proposer": "a%41"}, "schema"),
        ({"kind": "guess"}, "schema"),
    ],
)
def test_what_is_no_citation_is_a_fault(fields: dict[str, Any], reason: str):
    """Beyond what a JSON Schema says, too."""
    fault = decode_citation(encoded(CITATION, **fields))

    assert isinstance(fault, Fault)
    assert fault.reason == reason


@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff"])
def test_what_is_no_json_is_said_to_be_none(data: bytes | None):
    """Of either kind."""
    for decode in (decode_sighting, decode_citation):
        fault = decode(data)
        assert isinstance(fault, Fault)
        assert fault.reason == "not-json"
