"""What a record of `admitted` says of checks, as the view serves it: in which order, beside which words of ours.

Outside a frame stand names of a closed list and numbers. In it a note of ours comes first, then what was verified, then
the emitter's words: what is admitted is `rendered` (docs/checks.md). Nothing here is sanitised; entries.py demands
that.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from ...codecs.records import MAX_CHECKS, Admitted
from ...streams.adjudication.checked_json import UNCHECKED
from ...streams.judging.checks import TABLE
from ...streams.sanitise import WARNING

HOLDING: Final = frozenset({"admitted", "renewed"})
CHECK_NAMES: Final = frozenset(
    {"unknown", *TABLE, *(f"not {name}" for name, signature in TABLE.items() if signature.negatable)}
)
"""What stands in `checks`, outside the frame: a closed list, of which some have a space."""
CHECKED_NOTE: Final = (
    f"rendered says what observers verified, and is all that is admitted. assertion is in the emitter's words, which "
    f"nobody vouches for beyond that; {UNCHECKED} stands where no check speaks of them."
)
NOTES: Final = {
    "review": "A reviewer admitted this; no observer verified a check of it. assertion is in the emitter's words.",
    "declaration": "Its emitter declares evidence for this; nobody verified it. assertion is in the emitter's words.",
    "corroboration": "Observers bore this out as a whole; no check was verified. assertion is in the emitter's words.",
}
NO_NOTE: Final = "Nothing of this is admitted. assertion is in the emitter's words."


def problem_of(record: Admitted) -> str | None:
    """What is wrong with the members about checks; their texts apart.

    Names of checks stand outside the frame; there, and in it, are at most so many as an assertion may have.
    """
    if record.checks is not UNSET and not CHECK_NAMES.issuperset(one.name for one in record.checks):
        return "text outside the frame, in checks"
    inside = record.untrusted_text
    for members in (record.checks, inside.rendered, inside.checked):
        if members is not UNSET and len(members) > MAX_CHECKS:
            return "more checks than an assertion may have"
    return None


def in_order(record: Admitted, shown: dict[str, Any]) -> dict[str, Any]:
    """The record with its frame as readers are to take it in: a note of ours, what was verified, the emitter's prose.

    What was checked is what is admitted where evidence admitted it, so it stands nowhere else.

    Args:
        record: of `admitted`.
        shown: the same as plain values.
    """
    untrusted: dict[str, Any] = shown["_untrusted_text"]
    if record.status not in HOLDING or record.basis != "corroboration" or not untrusted.get("rendered"):
        shown = {name: one for name, one in shown.items() if name not in ("coverage", "unchecked", "checks")}
        untrusted = {name: one for name, one in untrusted.items() if name not in ("rendered", "checked")}
    given = {**untrusted, "note": _note(record, checked="rendered" in untrusted)}
    first = ("@type", "warning", "note", "rendered", "assertion")
    names = (*first, *(name for name in given if name not in first))
    return {**shown, "_untrusted_text": {name: given[name] for name in names if name in given}}


def _note(record: Admitted, *, checked: bool) -> str:
    if checked:
        return CHECKED_NOTE
    return NOTES.get(str(record.basis), NO_NOTE) if record.status in HOLDING else NO_NOTE


def with_names_inside(record: dict[str, Any]) -> dict[str, Any]:
    """A record as models are to read it: every identifier that strangers chose stands in the frame as well.

    The characters of an identifier still spell `ignore-previous-instructions`. What remains outside are names of closed
    lists, numbers, times and hashes.
    """
    inside = {name: record[name] for name in _NAMES if name in record and (name != "span" or is_named(record[name]))}
    outside = {name: one for name, one in record.items() if name not in inside}
    if not inside:
        return outside
    frame = outside.get("_untrusted_text") or {"@type": "veritas:UntrustedValidatorText", "warning": WARNING}
    return {**outside, "_untrusted_text": {**frame, **inside}}


_NAMES: Final = ("emission_id", "span", "evidence")


def is_named(span: dict[str, Any]) -> bool:
    """Whether a span has a name in it that its emitter chose: a pointer or a tokenizer; offsets are numbers."""
    return not span.keys() <= {"chars"}
