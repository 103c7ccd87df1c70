"""The citations of an assertion: what the adjudicating lane tells the bind lane (records.md, «sighting»).

Who sees a substrate without knowing of an emission cannot look for an assertion's terms; so the terms go to where the
sightings are. A citation says all of an assertion that the test of observing.md needs, and nothing else: terms, and
with a time or a count how the sentence stands to it. What says where to look is no term, as for the observers; where
they would not judge (a negated number, more terms than they look for, a pattern that is about something else), there
are no terms, and nothing bears such a citation out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from ..codecs.decode import assertion_text
from ..codecs.records import Annotation, Assertion, Emission
from ..codecs.sightings import MAX_TERMS
from ..codecs.spans import Span
from ..codecs.times import format_time
from ..codecs.unicode_text import nfkc
from ..codecs.vocabulary import recognise
from .counts import relation_before, without_relations
from .literals import literals
from .matching import FS_MTIME, RELATIONS, SSE_COUNT
from .moments import moments, negates
from .privacy import may_be_credentials
from .terms import Content, Term, Terms, shares_a_term, terms_of
from .writing import expression

GREP: Final = "substrate.grep"
MCP_BRIEF: Final = "substrate.mcp.brief"
MAX_TEXT: Final = 20_000
"""Characters of an assertion that is looked for, as for observers (docs/observing.md)."""
MAX_READ: Final = 200_000
"""Characters that are looked through for terms in one emission, once for each annotation: 2 us each. A stranger
chooses both, and the lane stands still meanwhile."""
MAX_OCTETS: Final = 1_000_000
"""Octets of one emission's citations together: what it may hold itself."""
MAX_PLACE: Final = 16_384
"""Characters of a locator's pattern or arguments that are looked at."""
MAX_DEPTH: Final = 32

_encode = msgspec.json.Encoder().encode


class Citing:
    """The citations of one emission, within its bounds.

    Args:
        emission: as it was read.
        classes: the bare classes that are cited.
        cited_at: the block's time, Unix ms.
    """

    def __init__(self, emission: Emission, classes: Collection[str], cited_at: int) -> None:
        self._emission, self._classes, self._at = emission, classes, format_time(cited_at)
        self._read = self._octets = 0
        self.left_out = 0  # annotations beyond the bounds

    def of(self, assertion: Assertion) -> Iterator[tuple[bytes, bytes]]:
        """Key and value of each citation of an assertion, in the order of its annotations, each once."""
        seen: set[bytes] = set()
        for annotation in assertion.annotations:
            name = _cited(annotation, self._emission.vocabulary, self._classes)
            if name is None or annotation.observation_id is None or may_be_credentials(annotation.observation_id):
                continue
            value = self._citation(assertion, annotation, name, annotation.observation_id)
            if value is None:
                self.left_out += 1
            elif value not in seen:
                seen.add(value)
                yield annotation.observation_id.encode(), value

    def _citation(self, assertion: Assertion, annotation: Annotation, name: str, cited: str) -> bytes | None:
        text = assertion_text(self._emission, assertion)
        self._read += len(text)
        if self._read > MAX_READ:
            return None
        value = _encode(
            {
                "observation_id": cited,
                "substrate_class": name,
                "emission_id": self._emission.emission_id,
                "attempt": self._emission.attempt,
                "span": assertion.span or Span(path=""),
                "kind": assertion.kind,
                "terms": [term.wire() for term in cited_terms(text, name, assertion.kind, annotation.locator or {})],
                "cited_at": self._at,
            }
        )
        if self._octets + len(value) > MAX_OCTETS:
            return None
        self._octets += len(value)
        return value


def _cited(annotation: Annotation, vocabulary: str, classes: Collection[str]) -> str | None:
    """The bare class of an annotation that is to be cited; None for any other, a terminal or an unknown one."""
    found = recognise(annotation.substrate_class, vocabulary)
    return found.name if found.name in classes and not (found.terminal or annotation.unknown) else None


def cited_terms(text: str, substrate_class: str, kind: str, locator: Mapping[str, Any]) -> tuple[Term, ...]:
    """The terms that a citation carries: those of observing.md, and with times and counts their relation.

    Args:
        text: the assertion's.
        substrate_class: bare.
        kind: of the assertion.
        locator: the annotation's, as the emitter wrote it.
    """
    text = nfkc(text)
    if len(text) > MAX_TEXT:
        return ()
    denies = kind == "denial"
    if substrate_class == SSE_COUNT:
        return _bounded(_of_count(text, denies, locator))
    found = terms_of(text, substrate_class, locator)
    if found.exists and not denies and negates(text):
        return ()  # that a place is not there is a denial's business: the place must not bear its opposite out
    terms = found.terms
    if substrate_class == FS_MTIME:
        terms = _with_relations(text, terms, denies)
    elif substrate_class == MCP_BRIEF:
        terms = _without_arguments(text, terms, locator)
    elif substrate_class == GREP and "pattern" in locator:
        terms = _with_pattern(text, found, denies, locator)
    return _bounded(terms)


def _bounded(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return terms if len(terms) <= MAX_TERMS else ()


def _of_count(text: str, denies: bool, locator: Mapping[str, Any]) -> tuple[Term, ...]:
    """The one number of the text with its relation; beside it what a count cannot show. Mere words say how."""
    url = locator.get("url")
    if isinstance(url, str) and url:
        text = text.replace(url, " ")
    numbers = [one for one in literals(text) if one.form == "number"]
    if len(numbers) != 1 or (not denies and negates(without_relations(text))):
        return ()
    (number,) = numbers
    relation = relation_before(text[: number.start])
    said = f"{RELATIONS[relation]} {number.text}" if relation else number.text
    others = (one for one in terms_of(text, SSE_COUNT, {}).terms if one.kind != "word" and one.text != number.text)
    return Term("number", said), *others


def _with_relations(text: str, terms: tuple[Term, ...], denies: bool) -> tuple[Term, ...]:
    """Times as the sentence names them: «before 2026-05-25» is another term than that day. A denial's «not» is the
    denial itself."""
    named = {one.text: one for one in reversed(moments(text))}

    def related(term: Term) -> Term:
        moment = named.get(term.text) if term.kind == "moment" else None
        if moment is None:
            return term
        words = ("not ",) if moment.negated and not denies else ()
        words += (f"{moment.relation} ",) if moment.relation != "at" else ()
        return Term("moment", "".join((*words, term.text)))

    return tuple(map(related, terms))


def _with_pattern(text: str, found: Terms, denies: bool, locator: Mapping[str, Any]) -> tuple[Term, ...]:
    """A pattern has to be about the assertion, and to be found as well. What only an expression finds, nobody can
    look for in a sighting; a denial does without."""
    pattern, regex = locator["pattern"], locator.get("regex") in (True, "true")
    if not isinstance(pattern, str) or len(pattern) > MAX_PLACE or not shares_a_term(pattern, text, found, regex):
        return ()
    if denies:
        return found.terms
    if regex:
        return ()
    return tuple(dict.fromkeys((*found.terms, Term("code", " ".join(nfkc(pattern).split())))))


def _without_arguments(text: str, terms: tuple[Term, ...], locator: Mapping[str, Any]) -> tuple[Term, ...]:
    """An echo proves nothing: what the locator says is a place. The words, where all literals are places."""
    place = "\n".join(_leaves([locator.get(name) for name in ("arguments", "server", "tool")]))
    if len(place) > MAX_PLACE:
        return ()
    asked = Content(place)
    kept = tuple(term for term in terms if not asked.holds(term))
    if kept or all(term.kind == "word" for term in terms):
        return kept
    for term in terms:
        text = expression(term.kind, term.text).sub(" ", text)
    return tuple(term for term in terms_of(text, "", {}).terms if not asked.holds(term))


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(item, depth + 1)
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(item, depth + 1)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield msgspec.json.encode(value).decode()
