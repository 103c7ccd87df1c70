"""What an observer is asked, what it answers, and the bounds of one look (observing.md).

Each class has one function `(Ask, …) -> Finding`. Whatever keeps it from looking is raised as `CannotLook` and becomes
`unavailable` with that reason; a named file that is not there is `Missing`, for the class to judge.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from ...codecs.records import Kind, Locator, Outcome
from ...streams.terms import Content, Presence, Term, Terms

if TYPE_CHECKING:
    from .confine import Files


class CannotLook(Exception):
    """The substrate could not be read, or a bound was reached; the message is the reason, for a person."""


class Missing(Exception):
    """Nothing stands at the path that was named."""


class Budget:
    """What one look may still spend: seconds and octets.

    Reaching either ends the look as `unavailable`: half a look is no verdict. One budget serves one look.
    """

    def __init__(self, seconds: float, octets: int, commits: int = 20_000, matches: int = 1_000) -> None:
        self.octets, self.commits, self.matches = octets, commits, matches
        self._seconds, self._left = seconds, octets
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left.

        Raises:
            CannotLook: none are.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise CannotLook(f"the look took longer than {self._seconds:g} s")
        return left

    def spend(self, octets: int) -> None:
        """Counts octets that were read, and looks at the clock. A bound once reached stays reached.

        Raises:
            CannotLook: either bound is reached.
        """
        self._left -= octets
        if self._left < 0:
            raise CannotLook(f"more than {self.octets} octets would have to be read")
        self.remaining()


class Ask(msgspec.Struct, frozen=True):
    """One annotation of one assertion, as an observer needs it.

    Attributes:
        text: what the assertion says.
        declared: the observation id that the annotation declares.
        ts: when the annotation says that the substrate was consulted, in Unix milliseconds.
        budget: what the look may spend.
        emitted: when the emission says that it was made, in Unix milliseconds.
    """

    substrate_class: str
    kind: Kind
    text: str
    terms: Terms
    locator: Locator
    declared: str | None
    ts: int | None
    budget: Budget
    emitted: int | None = None

    @property
    def denies(self) -> bool:
        return self.kind == "denial"

    def member(self, name: str) -> str | None:
        """A member of the locator that must be text; None where it is not given.

        Raises:
            CannotLook: it is something else, or holds a NUL: no such place can be.
        """
        value = self.locator.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise CannotLook(f"the locator's {name} is no text")
        if "\0" in value:
            raise CannotLook(f"the locator's {name} holds a NUL")
        return value


class Finding(msgspec.Struct, frozen=True):
    """What came of one look.

    Attributes:
        seen: the observation id of what was seen; None where nothing could be seen.
        reason: why, where the outcome does not explain itself.
        at: when it was seen, in Unix milliseconds, where that was before the look began: what is kept for a while, or
            heard on a stream, must not pass for fresher than it is.
    """

    outcome: Outcome
    seen: str | None = None
    presence: Presence = Presence((), ())
    reason: str | None = None
    at: int | None = None


def judge(ask: Ask, presence: Presence, seen: str | None, uncut: str | None = None) -> Finding:
    """The verdict on a region that was looked at: a denial turns it round.

    Args:
        ask: the question.
        presence: which terms stand there.
        seen: the observation id of the region.
        uncut: why the region was not looked at whole, where it was not; a denial then stays open.
    """
    if not presence.found and not presence.missing:
        return Finding("unavailable", None, presence, "the assertion says nothing that could be looked for")
    if presence.whole:
        return Finding("contradicts" if ask.denies else "corroborates", seen, presence)
    if not ask.denies:
        return Finding("absent", seen, presence)
    if presence.found and all(term.kind == "word" for term in ask.terms.terms):
        # Any word too many would bear a denial out: of mere words none may be there.
        return Finding("absent", seen, presence, "some of the words stand there")
    if uncut is not None:
        return Finding("unavailable", None, presence, uncut)
    return Finding("corroborates", seen, presence)


def judge_missing(ask: Ask, path: str) -> Finding:
    """The named file is not there: a contradiction; it bears a denial out only if the denial itself names that file.

    Else any denial could be had by looking into a file that never was.
    """
    presence = Presence((), tuple(term.text for term in ask.terms.terms))
    reason = f"there is no file {path}"
    if not ask.denies:
        return Finding("contradicts", None, presence, reason)
    said = Content(ask.text)
    named = path.removeprefix("./")
    while named:
        if said.holds(Term("path", named)):
            return Finding("corroborates", None, presence, reason)
        named = named.partition("/")[2]
    return Finding("absent", None, presence, reason)


def place_of(ask: Ask, files: Files) -> str:
    """The path to look at: the locator's, or else the one that the text names, whether it names the folders or not.

    Raises:
        CannotLook: neither names one file.
    """
    path = ask.member("path")
    if path is not None:
        return path
    if not ask.terms.places:
        raise CannotLook("neither the locator nor the assertion names one path")
    place = ask.terms.places[0]
    if files.has(place, ask.budget):
        return place
    found = [path for path in files.paths(ask.budget) if path.endswith("/" + place)]
    if len(found) > 1:
        raise CannotLook(f"{len(found)} files are called {place}")
    return found[0] if found else place


def judge_hash(ask: Ask, digests: tuple[str, ...], changed: int | None, presence: Presence) -> Finding | None:
    """The verdict on a declared content hash that is not what stands there; None where it is, or none was declared.

    Args:
        ask: the question.
        digests: the hex digests that what stands there may be declared by, its own first.
        changed: when it last changed, in Unix milliseconds; None where nobody can tell.
        presence: which terms stand there, to be told beside.
    """
    declared = declared_digest(ask)
    if declared is None or any(matches(declared, digest) for digest in digests):
        return None
    if ask.ts is not None and changed is not None and changed <= ask.ts:
        reason = "another content stands there, and nothing has changed since the annotation's ts"
        return Finding("unknown-observation", ask.declared, presence, reason)
    return Finding("absent", f"sha256:{digests[0]}", presence, "another content stands there than the one declared")


def declared_digest(ask: Ask) -> str | None:
    """What the annotation declares after `sha256:`, in lower case; None where it declares no content hash."""
    algorithm, colon, digest = (ask.declared or "").partition(":")
    return digest.lower().removesuffix("...") if colon and algorithm == "sha256" else None


def matches(declared: str, digest: str) -> bool:
    """A shortened hash of at least 7 digits stands for the whole one, as for commits."""
    return digest == declared or (len(declared) >= 7 and digest.startswith(declared))


def lines_of(locator: dict[str, Any]) -> tuple[int, int] | None:
    """First and last line of a locator, counted from 1; None where it names none.

    Raises:
        CannotLook: it names lines that no file has.
    """
    value = locator.get("lines")
    if value is None:
        return None
    if isinstance(value, str):
        value = [int(one) if one.isascii() and one.isdigit() and len(one) < 10 else 0 for one in value.split("-")]
    numbers: list[Any] = value if isinstance(value, list) else [value]
    if len(numbers) not in (1, 2) or not all(type(one) is int for one in numbers) or not 1 <= numbers[0] <= numbers[-1]:
        raise CannotLook("the locator's lines are not first and last, from 1")
    return numbers[0], numbers[-1]
