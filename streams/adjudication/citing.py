"""The citations of an assertion: what the adjudicating lane tells the bind lane (docs/reference/records.md).

Who sees a substrate without knowing of an emission cannot judge an assertion; so what judges it goes to where the
sightings are: the assertion's checks, how much of its sentence they cover, and, where it has none, its words. What says
where to look is no term, as for the observers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from ...codecs.decode import assertion_text
from ...codecs.records import MAX_UNCHECKED, Annotation, Assertion, Emission
from ...codecs.sightings import MAX_TERMS
from ...codecs.spans import Span
from ...codecs.times import format_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import recognise
from ..judging.checks import parse_check
from ..judging.coverage import cover
from ..judging.derivation import checks_of
from ..judging.terms import Term, terms_of
from ..policy.privacy import may_be_credentials

GREP: Final = "substrate.grep"
SSE_COUNT: Final = "substrate.do.sse-count"
MAX_TEXT: Final = 20_000
"""Characters of an assertion that is looked for, as for observers (docs/observing.md)."""
MAX_READ: Final = 200_000
"""Characters that are looked through for terms in one emission, once for each annotation: 2 us each. A stranger
chooses both, and the lane stands still meanwhile."""
MAX_BYTES: Final = 1_000_000
"""Bytes of one emission's citations together: what it may hold itself."""
MAX_PATH: Final = 4096
"""Characters of a path that a citation repeats."""

_encode = msgspec.json.Encoder().encode


class Citing:
    """The citations of one emission, within its bounds.

    Args:
        emission: as it was read.
        classes: the bare classes that are cited.
        cited_at: the block's time, Unix ms.
        digest: of the emission's record.
    """

    def __init__(self, emission: Emission, classes: Collection[str], cited_at: int, digest: str) -> None:
        self._emission, self._classes, self._at = emission, classes, format_time(cited_at)
        self._digest = digest
        self._read = self._byte_count = 0
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
                "cited_at": self._at,
                "digest": self._digest,
                **_judged_by(text, name, assertion, annotation.locator or {}),
            }
        )
        if self._byte_count + len(value) > MAX_BYTES:
            return None
        self._byte_count += len(value)
        return value


def _cited(annotation: Annotation, vocabulary: str, classes: Collection[str]) -> str | None:
    """The bare class of an annotation that is to be cited; None for any other, a terminal or an unknown one."""
    found = recognise(annotation.substrate_class, vocabulary)
    return found.name if found.name in classes and not (found.terminal or annotation.unknown) else None


def _judged_by(text: str, name: str, assertion: Assertion, locator: Mapping[str, Any]) -> dict[str, Any]:
    """What a sighting is judged by: the checks with what they cover, and the words where there are none."""
    derived = checks_of(text, assertion.kind, assertion.checks)
    by_words = derived.form in ("none", "sentence")
    members: dict[str, Any] = {
        "terms": [term.wire() for term in cited_terms(text, name, locator)] if by_words else [],
    }
    if not derived.checks:
        return members
    path = locator.get("path")
    given = path if isinstance(path, str) and 0 < len(path) <= MAX_PATH else None
    sentence = derived.form == "sentence"
    scope = "channel" if name == SSE_COUNT else "repository" if name == GREP and given is None else "file"
    checks = [parse_check(one) for one in derived.checks]
    covered = cover(text, checks, path=given, scope=scope, derived_sentence=sentence)
    spans = list(covered.unchecked)
    members |= {"checks": list(derived.checks), "coverage": covered.level, "form": derived.form}
    members["unchecked"] = spans if len(spans) <= MAX_UNCHECKED else [(0, len(text))]
    return members if given is None else {**members, "path": given}


def cited_terms(text: str, substrate_class: str, locator: Mapping[str, Any]) -> tuple[Term, ...]:
    """The words of an assertion that has no check: what a sighting is looked through for. They never count.

    Args:
        text: the assertion's.
        substrate_class: bare.
        locator: the annotation's, as the emitter wrote it; what it says is a place.
    """
    if len(text) > MAX_TEXT:
        return ()
    found = terms_of(nfkc(text), substrate_class, locator).terms
    return found if len(found) <= MAX_TERMS else ()
