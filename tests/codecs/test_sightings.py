"""Sightings and citations: what is one, and why something is none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import sighting_value

from sluice.codecs.decode import MAX_CONTENT_BYTES, MAX_TEXT, decode_citation, decode_sighting
from sluice.codecs.errors import Fault
from sluice.codecs.records import Citation, Sighting

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
