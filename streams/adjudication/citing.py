"""The citations of an assertion: what the adjudicating lane tells the bind lane (docs/reference/records.md).

Who sees a substrate without knowing of an emission cannot judge an assertion; so what judges it goes to where the
sightings are: the assertion's sentence, its checks, and who proposed them. Nothing is read of the sentence here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission
from ...codecs.sightings import MAX_TEXT
from ...codecs.spans import Span
from ...codecs.times import format_time
from ...codecs.vocabulary import recognise
from ..policy.privacy import may_be_credentials

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
        self._byte_count = 0
        self.left_out = 0  # annotations beyond the bounds

    def of(self, assertion: Assertion) -> Iterator[tuple[bytes, bytes]]:
        """Key and value of each citation of an assertion, in the order of its annotations, each once."""
        seen: set[bytes] = set()
        for annotation in assertion.annotations:
            name = _cited(annotation, self._emission.vocabulary, self._classes)
            cited = annotation.declared_id
            if name is None or cited is None or may_be_credentials(cited):
                continue
            value = self._citation(assertion, annotation, name, cited)
            if value is None:
                self.left_out += 1
            elif value not in seen:
                seen.add(value)
                yield cited.encode(), value

    def _citation(self, assertion: Assertion, annotation: Annotation, name: str, cited: str) -> bytes | None:
        text = assertion_text(self._emission, assertion)
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
                **_judged_by(text, assertion, annotation.locator or {}),
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


def _judged_by(text: str, assertion: Assertion, locator: Mapping[str, Any]) -> dict[str, Any]:
    """What a sighting is judged by."""
    proposal, path = assertion.proposal, locator.get("path")
    members: dict[str, Any] = {}
    if len(text) <= MAX_TEXT:
        members["text"] = text
    checks = assertion.checks or (None if proposal is None else proposal.checks)
    if checks:
        members["checks"] = checks
    if proposal is not None:
        members |= {"proposer": proposal.by, "whole": proposal.whole}
    if isinstance(path, str) and 0 < len(path) <= MAX_PATH:
        members["path"] = path
    return members
