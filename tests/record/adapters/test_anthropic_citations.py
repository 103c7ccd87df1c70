"""Anthropic's citations: spans, contexts and cites; a wrong citation gives none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_mutations import mutated

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import MAX_ASSERTIONS, Emission
from sluice.record import MemorySink, Recorded
from sluice.record.adapters.anthropic_citations import emission_of_message, recorded_of_message
from sluice.streams.adjudication.grounding import citation_violation

CHARS = {
    "type": "char_location",
    "cited_text": "The cap is 1000.",
    "document_index": 0,
    "document_title": "Limits",
    "file_id": None,
    "start_char_index": 4,
    "end_char_index": 20,
}
PAGES = {
    "type": "page_location",
    "cited_text": "Water is wet.",
    "document_index": 1,
    "document_title": None,
    "start_page_number": 5,
    "end_page_number": 6,
}
BLOCKS = {
    "type": "content_block_location",
    "cited_text": "Grass is green.",
    "document_index": 2,
    "document_title": None,
    "start_block_index": 0,
    "end_block_index": 1,
}
FOUND = {
    "type": "search_result_location",
    "cited_text": "Snow is white.",
    "search_result_index": 3,
    "source": "https://example.org/snow",
    "title": "Snow",
    "start_block_index": 0,
    "end_block_index": 2,
}
WEB = {
    "type": "web_search_result_location",
    "cited_text": "Ice floats.",
    "encrypted_index": "Eo8B",
    "title": "Ice",
    "url": "https://example.org/ice?x=1",
}


def message(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"id": "msg_01", "type": "message", "role": "assistant", "content": list(blocks)}


def block(text: str, *citations: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": list(citations) or None}


SAMPLE = message(
    block("I read it. "),
    block("The cap is 1000", CHARS),
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ice"}},
    block(" and ", PAGES, BLOCKS),
    block("ice floats", FOUND, WEB),
)


def emission_of(value: object) -> Emission:
    record = recorded_of_message(value, emitter="docs-bot", emitted_at=1_795_000_000_000)
    assert isinstance(record, Recorded), record
    emission = decode_emission(record.value)
    assert isinstance(emission, Emission), emission
    assert record.key == emission.emission_id
    return emission


def test_each_cited_block_is_an_assertion_with_its_span() -> None:
    emission = emission_of(SAMPLE)
    assert emission.emission_id == "msg_01"
    assert emission.emitted_at == "2026-11-18T11:06:40Z"
    assert emission.text == "I read it. The cap is 1000 and ice floats"
    assert [assertion_text(emission, one) for one in emission.assertions or ()] == [
        "The cap is 1000",
        "and",
        "ice floats",
    ]


@pytest.mark.parametrize(
    ("citation", "name"),
    [
        (CHARS, "document-0:chars-4-20"),
        (PAGES, "document-1:pages-5-6"),
        (BLOCKS, "document-2:blocks-0-1"),
        (FOUND, "search-result-3:blocks-0-2"),
        (WEB, "web:https://example.org/ice%3Fx="),
    ],
)
def test_every_documented_kind_becomes_a_context(citation: dict[str, Any], name: str) -> None:
    emission = emission_of(message(block("It is so.", citation)))
    (assertion,) = emission.assertions or ()
    assert assertion.cites is not None
    assert assertion.cites.context.startswith(name)
    assert emission.contexts == {assertion.cites.context: citation["cited_text"]}


def test_the_texts_of_several_citations_are_one_context() -> None:
    emission = emission_of(message(block("Both.", CHARS, PAGES)))
    assert emission.contexts == {"document-0:chars-4-20+document-1:pages-5-6": "The cap is 1000.\nWater is wet."}


def test_other_texts_at_the_same_place_are_all_kept() -> None:
    emission = emission_of(message(block("One.", CHARS), block("Two.", {**CHARS, "cited_text": "Another."})))
    assert sorted(emission.contexts.values()) == ["Another.", "The cap is 1000."]
    assert len({one.cites.context for one in emission.assertions or () if one.cites}) == 2


@pytest.mark.parametrize("strictly", [False, True])
def test_strictly_holds_quotes_against_the_cited_text(strictly: bool) -> None:
    emission = emission_of_message(
        message(block('It says "The cap is 2000."', CHARS)), emitter="docs-bot", strictly=strictly
    )
    assert isinstance(emission, Emission)
    (assertion,) = emission.assertions or ()
    found = citation_violation(emission, assertion, assertion_text(emission, assertion))
    assert (found is not None) is strictly


@pytest.mark.parametrize(
    "citation",
    [
        None,
        "char_location",
        {},
        {**CHARS, "type": "moon_location"},
        {**CHARS, "type": ["char_location"]},
        {**CHARS, "cited_text": ""},
        {**CHARS, "cited_text": 7},
        {**CHARS, "start_char_index": True},
        {**CHARS, "start_char_index": 20},
        {**CHARS, "end_char_index": 10**400},
        {**CHARS, "document_index": -1},
        {**WEB, "url": None},
    ],
)
def test_a_citation_that_cannot_be_read_gives_none(citation: Any) -> None:
    emission = emission_of(message(block("It is so.", citation), block(" And so.", CHARS)))
    assert emission.text == "It is so. And so."
    assert [assertion_text(emission, one) for one in emission.assertions or ()] == ["And so."]


def test_an_object_is_read_as_its_dump() -> None:
    class Dumped:
        def __init__(self, value: dict[str, Any]) -> None:
            self.value = value

        def model_dump(self) -> dict[str, Any]:
            return self.value

    sink = MemorySink()
    nested = {**SAMPLE, "content": [Dumped(one) for one in SAMPLE["content"]]}
    for given_ in (Dumped(SAMPLE), nested):
        record = recorded_of_message(given_, emitter="docs-bot", emitted_at=1_795_000_000_000)
        assert isinstance(record, Recorded)
        sink.put(record)
    assert sink.records[0] == sink.records[1]
    assert msgspec.json.decode(sink.records[0].value)["text"] == "I read it. The cap is 1000 and ice floats"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "$.id: expected the message's id, or `emission_id`, got neither"),
        (message(), "$.content: expected a list with text blocks, got no text"),
        (message(*[block("So. ", CHARS)] * (MAX_ASSERTIONS + 1)), "at most 1000 blocks with citations, got 1001"),
        (message(block("x" * 1_000_000)), "at most 1000000 are taken"),
    ],
)
def test_what_is_no_emission_is_reported_in_one_sentence(value: object, said: str) -> None:
    fault = recorded_of_message(value, emitter="docs-bot")
    assert isinstance(fault, Fault)
    assert said in fault.detail


@given(mutated(SAMPLE), st.booleans())
def test_values_of_any_type_anywhere(value: Any, named: bool) -> None:
    record = recorded_of_message(value, emitter="docs-bot", emission_id="em-1" if named else None)
    if isinstance(record, Recorded):
        emission = decode_emission(record.value)
        assert isinstance(emission, Emission)
        for assertion in emission.assertions or ():
            assert assertion.cites is not None
            assert emission.contexts[assertion.cites.context]
            assert assertion_text(emission, assertion).strip()
    else:
        assert record.detail


def test_citations_that_are_not_understood_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of a kind that the service may add: the emission has no cite of them, and a warning says how many they were."""
    later = {"type": "table_location", "cited_text": "x"}
    content = [{"type": "text", "text": "The cap is 1000.", "citations": [CHARS, later]}]
    with caplog.at_level("INFO", "sluice.record"):
        assert isinstance(emission_of_message({"id": "m", "content": content}, emitter="docs-bot"), Emission)
    (said,) = caplog.records
    assert (said.levelname, said.getMessage()) == ("WARNING", "sluice: 1 messages, 1 statements, 1 not understood")
