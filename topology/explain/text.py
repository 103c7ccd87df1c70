"""An emitter's words as an explanation shows them: sanitised as in the outputs, with what no check speaks of marked.

Offsets in `unchecked` are those of the text as it was emitted, so it is marked before it is sanitised: piece by piece.
Where the pieces together would not be clean text, the marked form is not shown, but `[unchecked]` as in the outputs: no
mark is ever set by what stands in the text, and none is lost to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...codecs.records import Effect
from ...streams.adjudication.checked_json import CAP as CHECK_CAP
from ...streams.adjudication.checked_json import without
from ...streams.adjudication.standing import merged
from ...streams.policy.policy import Policy
from ...streams.sanitise import Trace, Treatment, clean, treatment_of

OPEN: Final = "\u27e6"
CLOSE: Final = "\u27e7"
"""Around what no check speaks of. An emitter's own are shown as square brackets."""
_OWN_MARKS: Final = str.maketrans({OPEN: "[", CLOSE: "]"})
MOST_QUOTES: Final = 10
"""So many parts of a sentence are quoted for one observation."""
_NO_CAP: Final = 10_000_000

Spans = Sequence[tuple[int, int]]


def treatment(policy: Policy, effect: Effect) -> Treatment:
    """What becomes of look-alikes: what `reject` refuses is shown all the same, and replaced."""
    return treatment_of(policy.sanitation.confusables.of(effect), "word")


def shown_text(policy: Policy, text: str, effect: Effect) -> str:
    """An assertion's text as its outputs would have it."""
    return clean(text, "assertion", policy.sanitation.caps["assertion"], treatment(policy, effect), Trace())


def shown_check(policy: Policy, text: str, effect: Effect) -> str:
    """A check as its outputs would have it."""
    return clean(text, "checked", CHECK_CAP, treatment(policy, effect), Trace())


def marked(policy: Policy, text: str, effect: Effect, unchecked: Iterable[tuple[int, int]]) -> str:
    """The text with what no check speaks of in double brackets.

    Args:
        policy: whose rules of sanitation hold.
        text: as it was emitted.
        effect: of the assertion.
        unchecked: code points of `text`; none at all where nothing of it was checked.
    """
    kept = plain(text[: policy.sanitation.caps["assertion"]])
    spans = _within(unchecked, len(text)) or [(0, len(text))]
    given, past, pieces = treatment(policy, effect), 0, list[str]()
    for start, end in _within(spans, len(kept)):
        pieces += (_piece(kept[past:start], given), f"{OPEN}{_piece(kept[start:end], given)}{CLOSE}")
        past = end
    whole = "".join((*pieces, _piece(kept[past:], given)))
    if clean(whole, "assertion", _NO_CAP, given, Trace()) != whole:
        return shown_text(policy, plain(without(text, spans)), effect)
    return whole if len(kept) == len(text) else f"{whole}…"


def plain(text: str) -> str:
    """A text without double brackets of its emitter's own: they would say that the rest of it was checked."""
    return text.translate(_OWN_MARKS)


def quotes(policy: Policy, text: str, effect: Effect, unchecked: Iterable[tuple[int, int]]) -> list[str]:
    """The parts of a text that no check speaks of, at most `MOST_QUOTES` of them."""
    return [shown_text(policy, text[start:end], effect) for start, end in _within(unchecked, len(text))[:MOST_QUOTES]]


def _within(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Those that lie in a text, cut to it, in order; an observer may have sent any."""
    return merged([(start, min(end, length)) for start, end in spans if 0 <= start < min(end, length)])


def _piece(text: str, given: Treatment) -> str:
    return clean(text, "assertion", _NO_CAP, given, Trace())
