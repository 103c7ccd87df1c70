"""Messages of the real Anthropic SDK, against a service on this machine, become emissions."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from model_provider import Provider

from sluice.codecs.records import Emission
from sluice.record import MemorySink
from sluice.record.adapters.anthropic_citations import emission_of_message, recorded_of_message
from sluice.record.sinks import Recorded

PLACE = {
    "type": "char_location",
    "cited_text": "The cap is 1000.",
    "document_index": 0,
    "document_title": "Limits",
    "file_id": None,
    "start_char_index": 4,
    "end_char_index": 20,
}
KINDS: list[dict[str, Any]] = [
    PLACE,
    {
        "type": "page_location",
        "cited_text": "x",
        "document_index": 1,
        "document_title": None,
        "file_id": None,
        "start_page_number": 1,
        "end_page_number": 2,
    },
    {
        "type": "content_block_location",
        "cited_text": "x",
        "document_index": 2,
        "document_title": None,
        "file_id": None,
        "start_block_index": 0,
        "end_block_index": 1,
    },
    {
        "type": "search_result_location",
        "cited_text": "x",
        "search_result_index": 0,
        "source": "s",
        "title": None,
        "start_block_index": 0,
        "end_block_index": 1,
    },
    {
        "type": "web_search_result_location",
        "cited_text": "x",
        "url": "https://example.org/",
        "title": None,
        "encrypted_index": "e",
    },
]


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


CITED = message(
    {"type": "text", "text": "I read the page. ", "citations": None},
    {"type": "text", "text": "At most 1000 are taken.", "citations": [PLACE]},
)
ASKED: dict[str, Any] = {"model": "claude-x", "max_tokens": 100, "messages": [{"role": "user", "content": "?"}]}


def client(provider: Provider) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=provider.url.removesuffix("/v1"), max_retries=0)


def emission_of(found: Any) -> Emission:
    emission = emission_of_message(found, emitter="docs-bot", emitted_at=1_795_000_000_000)
    assert isinstance(emission, Emission)
    return emission


def test_the_sdks_message_is_read_like_its_json(provider: Provider) -> None:
    provider.script(CITED)
    found = client(provider).messages.create(**ASKED)
    emission = emission_of(found)
    assert emission == emission_of(CITED)
    assert emission.contexts == {"document-0:chars-4-20": "The cap is 1000."}
    (assertion,) = emission.assertions or []
    assert assertion.span is not None
    assert assertion.span.chars == (17, 40)
    record = recorded_of_message(found, emitter="docs-bot")
    assert isinstance(record, Recorded)
    MemorySink().put(record)


async def test_the_asynchronous_client_gives_the_same(provider: Provider) -> None:
    provider.script(CITED)
    made = anthropic.AsyncAnthropic(base_url=provider.url.removesuffix("/v1"), max_retries=0)
    assert emission_of(await made.messages.create(**ASKED)) == emission_of(CITED)


@pytest.mark.parametrize("citation", KINDS, ids=lambda one: one["type"])
def test_every_kind_of_citation_of_the_sdk_is_read(provider: Provider, citation: dict[str, Any]) -> None:
    provider.script(message({"type": "text", "text": "It is so.", "citations": [citation]}))
    found = client(provider).messages.create(**ASKED)
    assert type(found.content[0].citations[0]).__name__ != "dict"  # type: ignore[union-attr, index]
    emission = emission_of(found)
    assert list(emission.contexts.values()) == [citation["cited_text"]]


def test_the_final_message_of_a_stream_has_its_citations(provider: Provider) -> None:
    started = {**CITED, "content": [], "stop_reason": None}
    provider.script(
        [
            {"type": "message_start", "message": started},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": []}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": PLACE}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "At most 1000 "}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "are taken."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
    )
    with client(provider).messages.stream(**ASKED) as stream:
        found = stream.get_final_message()
    emission = emission_of(found)
    assert emission.text == "At most 1000 are taken."
    assert emission.contexts == {"document-0:chars-4-20": "The cap is 1000."}
