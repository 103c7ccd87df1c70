"""What a decision's record says was checked, for people: the sentences that observers verified, else on what it rests.

What is admitted is `rendered` (docs/checks.md): a reader is shown that first, and the emitter's prose behind it, marked
as such. Where nothing was checked a mark in our own words says whose word it is. One table for `consume`, the demo and
`explain`; nothing is decided here, and nothing is escaped (`showing.escaped` does that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

HELD: Final = ("admitted", "renewed")
"""Statuses that say of an assertion that it is admitted."""
WORDS: Final = "in the emitter's words"
"""Before the prose, where something else stands for what is admitted."""
WORDS_ALONE: Final = "its words are there; what it says of them was not checked"
"""Of `terms-present`, and of the reason `not-checked`, wherever a person reads it."""

NOTHING: Final = "nothing verified"
ENDED: Final = "no longer admitted"
_BY_BASIS: Final[Mapping[str, str]] = {
    "review": "a reviewer admitted",
    "declaration": "declared by the emitter",
    "corroboration": "borne out, not checked",
}
"""What an admission rests on that has no sentence of an observer's."""
_BY_REASON: Final[Mapping[str, str]] = {"review": "a reviewer refused", "not-checked": WORDS_ALONE}
_REFUSED: Final[Mapping[str, str]] = {"emitter": "declined", "policy": "withheld by the policy"}


class ShownBasis(NamedTuple):
    """What of a record is shown first, and the prose.

    Attributes:
        sentences: what observers verified, one for each check; empty where nothing was.
        mark: where there are none, in our words, what the prose rests on; it stands before a colon.
        prose: the emitter's words as the record shows them; empty where it has none.
    """

    sentences: Sequence[str] = ()
    mark: str = NOTHING
    prose: str = ""

    @property
    def before_prose(self) -> str:
        """What says whose words the prose is."""
        return WORDS if self.sentences else self.mark


def basis_of(value: Mapping[str, Any]) -> ShownBasis:
    """What a record on `admitted`, `inadmissible` or one of the requests tells; whatever its members are.

    Args:
        value: the record, parsed; a stranger may have written it.
    """
    frame = value.get("_untrusted_text")
    members = cast("Mapping[str, Any]", frame) if isinstance(frame, dict) else {}
    prose = members.get("assertion")
    rendered = _texts(members.get("rendered"))
    status, basis, reason = (_word(value, name) for name in ("status", "basis", "reason"))
    closed = "disposition" not in value
    sentences, mark = basis_from(status, basis, reason, rendered, _counts(value), closed=closed, seen=_classes(value))
    return ShownBasis(sentences, mark, prose if isinstance(prose, str) else "")


def basis_from(
    status: str,
    basis: str,
    reason: str,
    rendered: Sequence[str],
    counts: Sequence[int],
    *,
    closed: bool,
    seen: int,
) -> tuple[Sequence[str], str]:
    """The sentences and the mark of a decision.

    Args:
        status, basis, reason: of the record; empty where it has none.
        rendered: in the frame.
        counts: of the checks that were verified, by how many classes each, in the order of `rendered`.
        closed: it stands on `admitted`, so that a status that does not admit ends an admission.
        seen: how many classes bear it out.
    """
    if status in HELD:
        if rendered and basis == "corroboration":
            return rendered, ""
        return (), _BY_BASIS.get(basis, NOTHING)
    if status == "refused":
        return (), _REFUSED.get(basis, "declined")
    if reason in _BY_REASON:
        return (), _BY_REASON[reason]
    if closed:
        return (), ENDED
    if rendered:
        return [f"{_by(counts, place)}, not admitted: {one}" for place, one in enumerate(rendered)], ""
    return (), f"borne out by {classes(seen)}, not checked" if seen else NOTHING


def _by(counts: Sequence[int], place: int) -> str:
    return f"verified by {classes(counts[place])}" if place < len(counts) else "verified"


def classes(number: int) -> str:
    """A number of classes, in words."""
    return f"{number} class" + ("" if number == 1 else "es")


def _word(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _texts(value: Any) -> list[str]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [one for one in found if isinstance(one, str)]


def _classes(value: Mapping[str, Any]) -> int:
    found = value.get("classes")
    return len(cast("list[Any]", found)) if isinstance(found, list) else 0


def _counts(value: Mapping[str, Any]) -> list[int]:
    """By how many classes each check was verified, of those that were."""
    found = value.get("checks")
    counts = [
        cast("dict[str, Any]", one).get("classes") if isinstance(one, dict) else None
        for one in (cast("list[Any]", found) if isinstance(found, list) else [])
    ]
    return [one for one in counts if isinstance(one, int) and one > 0]
