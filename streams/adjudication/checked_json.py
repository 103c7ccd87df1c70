"""What a record says of checks: how much of the sentence they cover, which stand, and in the frame what they say.

Outside the frame stand enumerated values and numbers only; `rendered`, `checked` and the prose are strangers' words and
go through the sanitiser. What is admitted is `rendered` (docs/checks.md): the prose beside it shows `[unchecked]` in
place of what no check speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ...codecs.records import Basis, RequestEnd, Status
from ..judging.checks import Check, canonical, parse_check
from ..judging.rendering import render
from ..policy.policy import BY_FORM
from ..sanitise import Trace, Treatment, clean_tree
from . import standing
from .emission_state import COVERAGE, PART, WHOLE, AssertionState, Place
from .fold_layout import Pieces

CAP: Final = 64_000
"""Bytes that one sentence or check keeps: more than the longest check can need, so that none is ever cut."""
UNCHECKED: Final = "[unchecked]"
_UNCHECKED_BASES: Final[tuple[Basis, ...]] = ("review", "declaration", "emitter")
_SHOWN: Final[tuple[Status, ...]] = ("admitted", "renewed")
_encode = msgspec.json.Encoder().encode


class Shown(NamedTuple):
    """What a record says of the checks of one assertion.

    Attributes:
        outside: members that stand outside the frame, each with a comma behind it.
        checks: the one behind them, of that name.
        rendered, checked: as they stand in the frame, not yet sanitised.
        prose: the assertion's text as it is shown.
    """

    outside: str
    checks: str
    rendered: list[str]
    checked: list[dict[str, Any]]
    prose: str

    def framed(self, treatment: Treatment, trace: Trace) -> str:
        """The members inside the frame, sanitised, each with a comma behind it."""
        rendered = clean_tree(self.rendered, "rendered", CAP, treatment, trace)
        checked = clean_tree(self.checked, "checked", CAP, treatment, trace)
        return f'"rendered":{_encode(rendered).decode()},"checked":{_encode(checked).decode()},'


def shown(
    state: AssertionState, status: Status | RequestEnd, basis: Basis | None, *, commits: bool = True
) -> Shown | None:
    """What a record of this status says of the assertion's checks; None where no observation verified one by name.

    Args:
        state: the assertion.
        status: of the record.
        basis: of the record.
        commits: whether it may name the commits that were looked at: they are observation ids, so only where these
            leave in clear [S §12].
    """
    if state.checking is None or basis in _UNCHECKED_BASES:
        return None
    counts = standing.classes_by_check(state)
    if not any(counts):
        return None
    least, own = standing.covered(state), standing.checks(state)
    level, spans = least.level, least.unchecked
    names: list[dict[str, Any]] = []
    rendered: list[str] = []
    checked: list[dict[str, Any]] = []
    for number, classes in zip(standing.weighed(state), counts, strict=True):
        check = own[number] if number < len(own) else None
        if not isinstance(check, Check):
            names.append({"name": "unknown", "classes": 0})
            continue
        names.append({"name": check_name(check), "classes": classes})
        if classes:
            place = standing.place_of(state, number)
            if not commits:
                place = replace(place, commit="")
            rendered.append(_rendered(check, place))
            checked.append(_checked(check, place))
    by = f'"coverage_by":"{least.by or BY_FORM}",' if level == WHOLE else ""
    outside = f'"coverage":"{COVERAGE[level]}","unchecked":{_encode(spans).decode()},{by}'
    counted = f'"checks":{_encode(names).decode()},'
    hides = status in _SHOWN and level <= PART
    return Shown(outside, counted, rendered, checked, without(state.text, spans) if hides else state.text)


def check_name(check: Check) -> str:
    """Its name, with `not ` before it where it is negated."""
    return f"not {check.name}" if check.negated else check.name


def _rendered(check: Check, place: Place) -> str:
    lines = (place.first, place.last) if place.first else None
    return render(check, path=place.path or None, lines=lines, commit=place.commit or None)


def _checked(check: Check, place: Place) -> dict[str, Any]:
    return {"check": inert(canonical(check)), **place_members(place)}


def place_members(place: Place) -> dict[str, Any]:
    """The members of a record that say where a check was looked at: `path`, `lines` and `commit`, as far as known."""
    members: dict[str, Any] = {}
    if place.path:
        members["path"] = place.path
    if place.first:
        members["lines"] = [place.first, place.last]
    if place.commit:
        members["commit"] = place.commit
    return members


def inert(check: str) -> str:
    """A canonical check that the sanitiser leaves as it is: what it would change stands as JSON's escapes, which mean
    the same, since only strings hold such characters."""
    if check.isascii() and "<" not in check and "](" not in check:
        return check
    return _CHANGED.sub(_escaped, check).replace("](", "]\\u0028")


_CHANGED: Final = re.compile(r"[^\x20-\x7e]|<")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with `[unchecked]` in place of each span; of a text without a span that is known, nothing is shown."""
    if not spans:
        return UNCHECKED
    pieces: list[str] = []
    past = 0
    for start, end in spans:
        # Behind a bracket that closes, these would make a link of it, which the sanitiser takes away.
        apart = " " if text[end : end + 1] in ("(", "[", ":") else ""
        pieces += (text[past:start], UNCHECKED, apart)
        past = end
    return "".join((*pieces, text[past:]))


# ---------------------------------------------------------------- for the compiled core


def shown_at(checks: Iterable[tuple[str, Place]]) -> Shown:
    """What stands in the frame about checks that were verified, each with its place."""
    rendered: list[str] = []
    checked: list[dict[str, Any]] = []
    for text, place in checks:
        check = parse_check(text)
        if isinstance(check, Check):
            rendered.append(_rendered(check, place))
            checked.append(_checked(check, place))
    return Shown("", "", rendered, checked, "")


_LINE: Final = "line 1)."
_LONGEST_PLACE: Final = 100
"""Bytes that lines and a commit take, and more."""
_KEPT: Final = 500
"""Characters of a check and its path together up to which its pieces are remembered: strangers choose both."""
_UNCHANGED: Final = Trace().meta()


def pieces_of(text: str, path: str | None) -> Pieces | None:
    """What the words about a check are put together from (native/decision.c). A check is told of when it is admitted,
    renewed and ended: 0.3 us instead of 30 from the second time on.

    Args:
        text: the check.
        path: the file where it was seen to hold; None where none was told.

    Returns:
        The pieces; None where the check is malformed or not known.
    """
    return _pieces(text, path) if len(text) + len(path or "") <= _KEPT else _pieces.__wrapped__(text, path)


@lru_cache(maxsize=4096)
def _pieces(text: str, path: str | None) -> Pieces | None:
    check = parse_check(text)
    if not isinstance(check, Check):
        return None
    asked = check.text("hash" if check.name == "commit" else "commit").lower()
    sentence, checked = _rendered(check, Place(path or "", 1, 1)), _checked(check, Place(path or ""))
    trace = Trace()
    same = clean_tree([sentence, checked], "", CAP - _LONGEST_PLACE, "replace", trace) == [sentence, checked]
    plain = same and trace.meta() is _UNCHANGED and sentence.endswith((f" ({_LINE}", f", {_LINE}"))
    said = _encode(sentence)[1 : -len(_LINE) - 1] if plain else b""
    return Pieces(check_name(check).encode(), asked.encode(), _encode(checked)[:-1], said)
