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
from ..judging.checks import SYMBOL_KINDS, TABLE, Check, canonical, parse_check
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
    """What the words about a check are put together from (native/decision.c).

    Checks that differ only in plain words and quotes have one shape, whose pieces are filled with them: an eighth
    of the time that reading and rendering a check takes.

    Args:
        text: the check.
        path: the file where it was seen to hold; None where none was told.

    Returns:
        The pieces; None where the check is malformed or not known.
    """
    if len(text) + len(path or "") > _KEPT:
        return _pieces.__wrapped__(text, path)
    parts, words, longest = _PLAIN.split(text), list[str](), 0
    for number in range(1, len(parts), 2):
        word = parts[number]
        if word[0] == '"':
            word = word[1:-1]
            mark = "\4" if " " in word else "\3" if word.isidentifier() else "\5" if not _WORD(word) else word
        else:
            mark = "\6" if word[0].isdigit() else "\2" if "/" in word else "\1"
        if mark in "\1\3" and len(word) > longest:
            longest = len(word)
        parts[number] = mark
        words.append(word)
    if path is None:
        told = ""
    elif path in words:
        told = str(words.index(path))
    else:
        told = "\2" if "/" in path else "\1"
        words.append(path)
    if longest > _LONGEST_WORD or (path is not None and (words.count(path) > 1 or not _NAMES.fullmatch(path))):
        return _pieces(text, path)
    shape = _shape("".join(parts), told, len(words))
    return _pieces(text, path) if shape is None else shape.filled(words)


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


_LONGEST_WORD: Final = 64
"""Characters of a word that is filled in: as many as an identifier may have."""
_WORD: Final = re.compile(r"[A-Za-z0-9_.+/:$-]+").fullmatch
"""A quote that need not be one."""
_MEANT: Final = "0|1|true|True|false|False|null|None|nil|subscribers|" + "|".join(SYMBOL_KINDS)
"""Words that mean more than themselves somewhere: part of a shape."""
_NAME: Final = r"[A-Za-z_][\w-]*(?:\.[\w-]+)*"
_NAMES: Final = re.compile(rf"{_NAME}(?:/{_NAME})*", re.ASCII)
_SIGNS: Final = (
    r"""(?:[\w.,:;()=!>+*/'&|@#$%^~?{}-]|\\["\\]|\](?!\()|<(?==| [\w(])"""
    r"""|\[(?![\t /]*(?i:INST|SYS|AVAILABLE|TOOL)))"""
)
_QUOTE: Final = rf"(?![0-9.,:;)=>+/'|$%^}}\]<-]){_SIGNS}+(?: {_SIGNS}+)*"
_PLAIN: Final = re.compile(
    rf"""(?<=[(= ])(?!"?(?:{_MEANT})"?[,)])({_NAME}(?:/{_NAME})*|[1-9][0-9]{{0,8}}|"{_QUOTE}")(?=[,)])""", re.ASCII
)
"""An argument that reads the same, whatever word of its kind it is."""
_PROBES: Final = {
    "\1": ("Qz{}w", "x{}", "user{}", "A_b.c-d.D9{}"),
    "\2": ("Qz{}p/q", "a/b{}", "src-1/user.x/M_9.py{}", "system/A_1{}"),
    "\3": ("Qz{}q", "x{}", "user{}", "A_9{}"),
    "\4": ("Qz{}s t", "a b{}", 'System: (x) = it\'s "{}"', '{{}}.a() ;=!>+*/-&|@#$%^~? [y] <= "\\\\" z < a.{}'),
    "\5": ("Qz{}(s)", 'tool:["{}"]', "(a::b{})->c<=d", "a.b{}()"),
    "\6": ("7{}30517", "1{}", "2{}00", "90{}"),
}
"""What stands for a word, path, quoted word, quote, quote of one word and number while a shape is learned: first what
is known again in the pieces, then what must give the pieces that are filled with it."""
_KEYS: Final = {parameter.name for row in TABLE.values() for parameter in (*row.parameters, *row.named)}
_ARGUMENT: Final = rf"(?:(?:{'|'.join(sorted(_KEYS))})=)?(?:[\1-\6]|{_MEANT}|[<>!]?=|[<>])"
_SHAPE: Final = re.compile(rf"(?:not )?(?:{'|'.join(TABLE)})\({_ARGUMENT}(?:, {_ARGUMENT})*\)")


class _Shape(NamedTuple):
    """The pieces of all checks that differ only in plain words; the number in braces is a word's."""

    name: bytes
    commit: bytes
    checked: str
    sentence: str

    def filled(self, words: list[str]) -> Pieces:
        """The pieces of the check with these words, as JSON writes them."""
        sentence = self.sentence.format(*words).encode()
        if any("\\" in word or "<" in word for word in words):
            words = [_twice(word) for word in words]
        return Pieces(self.name, self.commit, self.checked.format(*words).encode(), sentence)


def _twice(word: str) -> str:
    """The inside of a JSON string as it stands in a check that is itself one (`inert`)."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("<", "\\\\u003c")


@lru_cache(maxsize=4096)
def _shape(frame: str, told: str, count: int) -> _Shape | None:
    """The shape of a check whose words are marked, or None where pieces depend on more than the shape.

    Args:
        frame: the check with a mark for each word.
        told: the mark of the path where it was seen to hold, or the number of the word that it is; empty without one.
        count: words and path together.
    """
    marks = [one for one in frame if one in _PROBES] + [one for one in told if one in _PROBES]
    if len(marks) != count or _SHAPE.fullmatch(frame) is None:
        return None
    found: _Shape | None = None
    for trial in range(4):
        words = [_PROBES[mark][trial].format(number) for number, mark in enumerate(marks)]
        words = [_encode(word).decode()[1:-1] for word in words]
        left, written = iter(words), ""
        for one in frame:
            word = next(left) if one in _PROBES else one
            written += f'"{word}"' if one in "\3\4\5" else word
        pieces = _pieces.__wrapped__(written, None if not told else words[-1 if told in _PROBES else int(told)])
        if pieces is None or not pieces.sentence:
            return None
        if found is None:
            texts = [part.decode().replace("{", "{{").replace("}", "}}") for part in (pieces.checked, pieces.sentence)]
            for number, word in enumerate(words):
                texts = [text.replace(word, f"{{{number}}}") for text in texts]
            found = _Shape(pieces.name, pieces.commit, *texts)
        elif found.filled(words) != pieces:
            return None
    return found
