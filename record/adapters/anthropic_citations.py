"""An answer of the Anthropic Messages API with citations, as an emission.

The text blocks joined are the emission's text. Each block with citations is one assertion, whose `cites` names a
context that holds what the citations quote (`cited_text`). Shapes as Anthropic documents them: `char_location`,
`page_location`, `content_block_location`, `search_result_location`, `web_search_result_location`. A citation is what
the service says the model quoted: a context to hold quotes against, never evidence.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ...codecs.errors import Fault, schema_fault
from ...codecs.identifiers import LAST_OFFSET, Span
from ...codecs.records import MAX_ASSERTIONS, Assertion, Cites, Effect, Emission, Emitter
from ...codecs.times import format_time
from ..events import Reading
from ..naming import name_of
from ..recorder import now_ms
from ..sinks import Recorded
from ..transcripts.foreign_json import items, text, whole
from .messages import clean, plain, recorded, shortened


class _Kind(NamedTuple):
    """Where a citation of one kind says that its text stands: the names of its members, and of the place."""

    source: str
    number: str
    unit: str
    start: str
    end: str


_KINDS: Final = {
    "char_location": _Kind("document", "document_index", "chars", "start_char_index", "end_char_index"),
    "page_location": _Kind("document", "document_index", "pages", "start_page_number", "end_page_number"),
    "content_block_location": _Kind("document", "document_index", "blocks", "start_block_index", "end_block_index"),
    "search_result_location": _Kind(
        "search-result", "search_result_index", "blocks", "start_block_index", "end_block_index"
    ),
}
_log = logging.getLogger("sluice.record")
_WEB: Final = "web_search_result_location"


def emission_of_message(
    message: object,
    *,
    emitter: str | Emitter,
    emission_id: str | None = None,
    emitted_at: int | None = None,
    effect: Effect = "internal",
    attempt: int = 0,
    strictly: bool = False,
) -> Emission | Fault:
    """The emission of a message.

    Args:
        message: what the API answered: a dictionary, or an object with `model_dump()`.
        emitter: the name of the emitting system, or all that is known of it.
        emission_id: the emission's name; the message's `id` where it is left out.
        emitted_at: when the model wrote it, in Unix milliseconds; the present where it is left out.
        effect: where it takes effect.
        attempt: 0, and higher for another try under the same id.
        strictly: whether what a block puts in quotation marks must stand in what it cites [C §4].

    Returns:
        The emission, or why there is none: the message has no text or no name, or more cited blocks than an emission
        has assertions. A citation of another kind or with wrong members gives no cite; their number is logged.

    Raises:
        UsageError: the emitter's or the emission's name is empty.
    """
    members = plain(message)
    name = text(members.get("id")) if emission_id is None else emission_id
    if name is None:
        return schema_fault("$.id", "the message's id, or `emission_id`", "neither")
    pieces: list[str] = []
    assertions: list[Assertion] = []
    contexts: dict[str, str] = {}
    start = unread = 0
    for block in map(plain, items(members.get("content"))):
        piece = text(block.get("text")) if block.get("type") == "text" else None
        if piece is None:
            continue
        piece = clean(piece)
        pieces.append(piece)
        citations = items(block.get("citations"))
        unread += sum(_quoted(one) is None for one in citations)
        cited = _context(citations, contexts)
        inner = piece.strip()
        if cited is not None and inner:
            first = start + len(piece) - len(piece.lstrip())
            assertions.append(
                Assertion(span=Span(chars=(first, first + len(inner))), cites=Cites(context=cited, strictly=strictly))
            )
        start += len(piece)
    if not pieces:
        return schema_fault("$.content", "a list with text blocks", "no text")
    if len(assertions) > MAX_ASSERTIONS:
        return schema_fault("$.content", f"at most {MAX_ASSERTIONS} blocks with citations", str(len(assertions)))
    reading = Reading(messages=1, statements=len(assertions), not_understood=unread)
    _log.log(logging.WARNING if unread else logging.INFO, "sluice: %s", reading)
    return Emission(
        emission_id=name_of(name, "emission"),
        emitted_at=format_time(now_ms() if emitted_at is None else emitted_at),
        emitter=Emitter(system=name_of(emitter, "emitter")) if isinstance(emitter, str) else emitter,
        effect=effect,
        text="".join(pieces),
        assertions=assertions,
        contexts=contexts,
        attempt=attempt,
    )


def recorded_of_message(
    message: object,
    *,
    emitter: str | Emitter,
    emission_id: str | None = None,
    emitted_at: int | None = None,
    effect: Effect = "internal",
    attempt: int = 0,
    strictly: bool = False,
) -> Recorded | Fault:
    """As `emission_of_message`, ready for a sink; `oversize` where the record is larger than a topic takes."""
    emission = emission_of_message(
        message,
        emitter=emitter,
        emission_id=emission_id,
        emitted_at=emitted_at,
        effect=effect,
        attempt=attempt,
        strictly=strictly,
    )
    return emission if isinstance(emission, Fault) else recorded(emission)


def _context(citations: list[object], contexts: dict[str, str]) -> str | None:
    """The name of the context with what a block's citations quote, which is added; None where none can be read."""
    found: dict[str, str] = {}
    for one in map(_quoted, citations):
        if one is not None:
            quoted, place = one
            found[place if found.get(place, quoted) == quoted else _other(place, quoted)] = quoted
    if not found:
        return None
    name, whole_text = shortened("+".join(found)), "\n".join(found.values())
    if contexts.get(name, whole_text) != whole_text:
        name = _other(name, whole_text)
    contexts[name] = whole_text
    return name


def _quoted(citation: object) -> tuple[str, str] | None:
    """The text that a citation quotes, and the name of its place; None where it is not of a known kind and shape."""
    members = plain(citation)
    quoted, place = text(members.get("cited_text")), _place(members)
    return None if quoted is None or place is None else (clean(quoted), place)


def _place(citation: dict[str, Any]) -> str | None:
    """Where the cited text stands, as a name; None where the citation is not of a known kind and shape."""
    kind = citation.get("type")
    if kind == _WEB:
        url = text(citation.get("url"))
        return None if url is None else shortened("web:" + name_of(url, "context"))
    shape = _KINDS.get(kind) if isinstance(kind, str) else None
    if shape is None:
        return None
    index, start, end = (whole(citation.get(one)) for one in (shape.number, shape.start, shape.end))
    if index is None or start is None or end is None or not (0 <= index <= LAST_OFFSET and 0 <= start < end):
        return None
    return f"{shape.source}-{index}:{shape.unit}-{start}-{end}" if end <= LAST_OFFSET else None


def _other(name: str, quoted: str) -> str:
    """Another name, of another text at the same place."""
    return shortened(f"{name[:240]}~{sha256(quoted.encode()).hexdigest()[:12]}")
