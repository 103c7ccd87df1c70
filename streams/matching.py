"""What a sighting's content says of an annotation that cites it: the test of observing.md without an observer.

Terms and content are all there is: whoever saw the content knew of no emission, and whoever cites it is not asked
again. So the same citation and sighting always come to the same, whichever came first. Text is searched for the terms
(terms.py); of `substrate.fs.mtime` a time is held against the times that the assertion names, of
`substrate.do.sse-count` a number against its one number. What cannot be shown that way is `absent`, never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..codecs.records import Kind, Outcome
from ..codecs.times import parse_time
from .moments import Moment, format_ns, moments
from .terms import Content, Presence, Term, from_wire, presence

FS_MTIME: Final = "substrate.fs.mtime"
SSE_COUNT: Final = "substrate.do.sse-count"

RELATIONS: Final[Mapping[str, str]] = {"least": "at least", "most": "at most", "more": "more than", "less": "less than"}
"""How a citation's number says that it is not the count itself."""
_CLAIM: Final = re.compile(
    rf"(?:(?P<words>{'|'.join(RELATIONS.values())}) )?[+]?(?P<digits>\d[\d,_]*(?:\.\d+)?)(?![\d.])"
)
_NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_NS: Final = re.compile(r"(?P<second>.{19})(?:\.(?P<fraction>\d{1,9}))?Z", re.ASCII)
_MILLISECOND: Final = 1_000_000


class Match(NamedTuple):
    """What came of it, and which terms are there."""

    outcome: Outcome
    presence: Presence


def match(substrate_class: str, kind: Kind, wire: Sequence[str], content: str | float, path: str = "") -> Match:
    """Holds a citation's terms against what was seen.

    Args:
        substrate_class: the bare class of both.
        kind: of the assertion; a denial turns the test round, and a refusal states nothing.
        wire: the terms, as a citation carries them (citing.py).
        content: the text, number or time that was seen.
        path: the file that the sighting's locator names; it bears out that the file exists.
    """
    terms = [from_wire(one) for one in wire]
    denies = kind == "denial"
    if kind == "refusal" or not terms:
        return Match("absent", presence(terms, ""))
    if substrate_class == FS_MTIME and (time := time_of(content)) is not None:
        return _match_time(terms, denies, time, path)
    if substrate_class == SSE_COUNT and (number := _number_of(content)) is not None:
        return _match_number(terms, denies, number)
    held = presence(terms, content if isinstance(content, str) else _written(content))
    return Match(_turned(terms, denies, held), held)


def _turned(terms: Sequence[Term], denies: bool, held: Presence) -> Outcome:
    """The verdict on a region: a denial turns it round."""
    if held.whole:
        return "contradicts" if denies else "corroborates"
    if not denies or (held.found and all(term.kind == "word" for term in terms)):
        return "absent"  # any word too many would bear a denial out: of mere words none may be there
    return "corroborates"


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


# ---------------------------------------------------------------- times


def time_of(content: str | float) -> int | None:
    """The time that a content is, in Unix nanoseconds: RFC 3339 in UTC with a `Z`, or whole Unix milliseconds."""
    if isinstance(content, float):
        return None
    milliseconds = parse_time(content)
    if milliseconds is None or isinstance(content, int):
        return None if milliseconds is None else milliseconds * _MILLISECOND
    match = _NS.fullmatch(content)
    second = parse_time(f"{match['second']}Z") if match else None
    if match is None or second is None:
        return None
    return second * _MILLISECOND + int((match["fraction"] or "").ljust(9, "0"))


def _match_time(terms: Sequence[Term], denies: bool, time: int, path: str) -> Match:
    """As the observer of modification times judges them (docs/observing.md)."""
    region = Content(path if all(term.kind == "path" for term in terms) else _times(time))
    found: list[str] = []
    missing: list[str] = []
    named = another = other = 0
    for term in terms:
        moment = _moment(term)
        if moment is None:
            there = presence([term], region).whole
            other += not there and term.kind not in ("moment", "clock")
        else:
            there = moment.holds(time, ignore_negation=denies)
            another += not there
            named += there
        (found if there else missing).append(term.text)
    held = Presence(tuple(found), tuple(missing))
    if another and not denies and not named:
        return Match("contradicts", held)
    if denies and other and not another:
        return Match("absent", held)  # what a time cannot show is not shown to be untrue by it either
    return Match(_turned(terms, denies, held), held)


def _times(time: int) -> str:
    written = format_ns(time)
    return f"{written} {written.replace('T', ' ').removesuffix('Z')} UTC"


def _moment(term: Term) -> Moment | None:
    """The one time that a term names, with its relation."""
    found = moments(term.text) if term.kind == "moment" else []
    return found[0] if len(found) == 1 else None


# ---------------------------------------------------------------- numbers


def _number_of(content: str | float) -> float | None:
    if isinstance(content, str):
        return float(content) if _NUMBER.fullmatch(content.strip()) else None
    return float(content) if abs(content) <= 2**53 else None


def _match_number(terms: Sequence[Term], denies: bool, number: float) -> Match:
    """As the observer of subscriber counts judges them, without a tolerance: that is an emitter's to choose."""
    claims = [(term, claim) for term in terms if (claim := _claim(term)) is not None]
    if len(claims) != 1:
        return Match("absent", Presence((), tuple(term.text for term in terms)))
    term, claim = claims[0]
    others = tuple(one.text for one in terms if one is not term)
    right = _stands(claim, number)
    held = Presence((term.text,) if right else (), others if right else (term.text, *others))
    if denies:
        return Match("absent" if others else "contradicts" if right else "corroborates", held)
    if not right:
        return Match("contradicts", held)
    return Match("absent" if others else "corroborates", held)


def _claim(term: Term) -> tuple[str, float] | None:
    found = _CLAIM.match(term.text) if term.kind == "number" else None
    if found is None:
        return None
    return found["words"] or "", float(found["digits"].replace(",", "").replace("_", ""))


def _stands(claim: tuple[str, float], number: float) -> bool:
    words, claimed = claim
    if words == RELATIONS["least"]:
        return number >= claimed
    if words == RELATIONS["most"]:
        return number <= claimed
    if words == RELATIONS["more"]:
        return number > claimed
    if words == RELATIONS["less"]:
        return number < claimed
    return number == claimed
