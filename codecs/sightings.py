"""Bytes to sightings and citations, the two sides that the bind lane joins (docs/reference/records.md).

As in `decode.py`: a record or a `Fault`, never an exception, with the rules that a JSON Schema cannot say.
"""

from __future__ import annotations

from typing import Final

from . import times
from .decode import decode_json
from .errors import Fault, schema_fault
from .identifier_characters import check_names
from .json_decoding import decoder_of
from .records import Citation, Sighting
from .spans import span_key

MAX_CONTENT_BYTES: Final = 64_000
"""The text of a sighting (docs/reference/records.md: «at most 64 kB»)."""
MAX_TEXT: Final = 20_000
"""Characters of a sentence that a citation has, as observers read it (docs/observing.md)."""

_sightings = decoder_of(Sighting)
_citations = decoder_of(Citation)


def decode_sighting(data: bytes | None) -> Sighting | Fault:
    """A sighting whose time is one, and whose content is not too long.

    Args:
        data: the record's value.
    """
    sighting = decode_json(data, _sightings)
    if isinstance(sighting, Fault):
        return sighting
    names = (("$.observation_id", sighting.observation_id), ("$.observer", sighting.observer))
    fault = check_names(names)
    if fault is not None:
        return fault
    if times.parse_time(sighting.observed_at) is None:
        return schema_fault("$.observed_at", times.EXPECTED, sighting.observed_at)
    length = len(sighting.content.encode()) if isinstance(sighting.content, str) else 0
    if length > MAX_CONTENT_BYTES:
        return schema_fault("$.content", f"at most {MAX_CONTENT_BYTES} octets", f"{length}")
    return sighting


def decode_citation(data: bytes | None) -> Citation | Fault:
    """A citation whose time is one, whose span is well formed, and whose sentence is not too long."""
    citation = decode_json(data, _citations)
    if isinstance(citation, Fault):
        return citation
    if times.parse_time(citation.cited_at) is None:
        return schema_fault("$.cited_at", times.EXPECTED, citation.cited_at)
    problem = citation.span.problem() or citation.span.hidden()
    if problem is not None:
        return schema_fault("$.span", *problem)
    names = (
        ("$.span.tokenizer", citation.span.tokenizer),
        ("$.emission_id", citation.emission_id),
        ("$.observation_id", citation.observation_id),
        ("$.proposer", citation.proposer),
    )
    fault = check_names(names)
    if fault is not None:
        return fault
    if not citation.span.in_range(None):
        return Fault("span-out-of-range", f"$.span: {span_key(citation.span)} is empty or runs backwards")
    if len(citation.text or "") > MAX_TEXT:
        return schema_fault("$.text", f"at most {MAX_TEXT} characters", f"{len(citation.text or '')}")
    return citation
