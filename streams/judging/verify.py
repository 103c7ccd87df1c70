"""Decides checks on the content of files and of sightings, and gives the outcome of a look (docs/checks.md): which
reader of the content is asked, what `not` makes of its answer, and the table of outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from ...codecs.decode import MAX_CONTENT_BYTES
from ...codecs.json_text import decode_any
from ...codecs.records import Kind, Outcome
from ...codecs.times import parse_time
from .checks import TABLE, Check, Held, Source, Unknown, opposite, parse_check
from .claim_forms import Derived
from .code_bodies import (
    has_body,
    is_function,
    verify_before,
    verify_calls,
    verify_raises,
    verify_reaches,
    verify_returns,
    verify_uses,
    verify_when,
)
from .code_values import (
    Verifier,
    is_made,
    verify_defines,
    verify_equals,
    verify_extends,
    verify_field,
    verify_imports,
    verify_members,
    verify_parameter,
    verify_result,
)
from .code_view import NOT_FOUND, View, holders_of, scoped
from .coverage import NEGATIVE, Coverage
from .documents import Document, document_extents, parse_document, verify_document, verify_json_value
from .facts import verify_modified, verify_subscribers, verify_text
from .index import Definition, FileIndex
from .index_building import MAX_BYTES, build_index
from .languages import languages_of
from .prose_literals import SYMBOLIC

_ON_BODIES: Final[Mapping[str, Callable[[View, Definition], Held]]] = {
    "calls": verify_calls,
    "uses": verify_uses,
    "reaches": verify_reaches,
    "returns": verify_returns,
    "raises": verify_raises,
    "when": verify_when,
    "unless": verify_when,
    "before": verify_before,
}
"""Checks on what stands in the body of the one definition that their first argument names."""
_VERIFIERS: Final[Mapping[str, Verifier]] = {
    "defines": verify_defines,
    "equals": verify_equals,
    "compare": verify_equals,
    "members": verify_members,
    "imports": verify_imports,
    "extends": verify_extends,
    "parameter": verify_parameter,
    "field": verify_field,
    "result": verify_result,
}
CODE_CHECKS: Final = _VERIFIERS.keys() | _ON_BODIES.keys()


def parse_code(source: Source) -> FileIndex | None:
    """The index of a file of a listed language, by its name; None for any other. Its `problem` says why checks cannot
    be decided on it, its `weight` how many bytes of memory it takes."""
    best: FileIndex | None = None
    for language in languages_of(source.path):
        index = build_index(language.name, source.text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
        if best is None or _faults(index) < _faults(best):
            best = index
        if not _faults(best):
            break
    return best


def _faults(index: FileIndex) -> int:
    """How badly a file fits a language: nothing for one without errors, most for one that cannot be read."""
    return MAX_BYTES if index.problem else sum(end - start + 1 for start, end in index.errors)


_NEVER: Final = frozenset(("reaches", "when", "unless"))
"""Checks that are never false."""


def verify_code(check: Check, index: FileIndex, source: Source) -> Held:
    """Whether a `check`, one of `CODE_CHECKS`, holds in the `index` of a `source`, with the lines that decide it; its
    `not` is left aside. Never raises."""
    if index.problem is not None:
        return Held(None, index.problem)
    view = scoped(check, index, source)
    if isinstance(view, Held):
        return view
    if check.name in _ON_BODIES:
        one = view.only(str(check.arguments[0]), has_body if check.name == "uses" else is_function)
        held = one if isinstance(one, Held) else _ON_BODIES[check.name](view, one)
    else:
        held = _VERIFIERS[check.name](view)
    if held == NOT_FOUND and _is_elsewhere(view):
        held = Held(False, "differs")
    return held._replace(holds=None, reason="not-found") if held.holds is False and not view.language.refutes else held


def _is_elsewhere(view: View) -> bool:
    """Whether the file that a check names does not even have the name of the check's subject."""
    check = view.check
    if check.negated or check.path is None or check.name not in SYMBOLIC - _NEVER or view.whole is not None:
        return False
    parts = view.language.parts(str(check.arguments[0]))
    return bool(parts) and view.is_absent(parts[-1]) and not is_made(view, parts)


def code_extents(index: FileIndex, name: str) -> list[tuple[int, int]]:
    """First and last line of each definition that a symbol means, in the order of the file."""
    if index.problem is not None:
        return []
    return [one.lines for one in holders_of(_named(index, name))]


def is_broken(index: FileIndex, name: str) -> bool:
    """Whether something in a definition that a symbol means does not parse."""
    return any(index.broken(one.extent) for one in holders_of(_named(index, name)))


def symbol_kinds(index: FileIndex, name: str) -> frozenset[str]:
    """What a name may be called (function, method, type, constant, variable, …), of all its definitions in the file."""
    there = [] if index.problem is not None else _named(index, name)
    return frozenset(kind for one in there for kind in one.kinds)


def _named(index: FileIndex, name: str) -> list[Definition]:
    return View(Check("defines", (name,)), index, Source("", "")).found(name)


TEXT_CHECKS: Final = frozenset(("contains", "absent", "count", "line", "order"))
CODE_ONLY: Final = CODE_CHECKS - {"defines", "equals", "compare", "members"}


class Parser(Protocol):
    """Parses the text of files, and may keep what it parsed by the digest of their bytes."""

    def code(self, source: Source) -> FileIndex | None:
        """The source code of a listed language; None for any other file."""
        ...

    def document(self, source: Source) -> Document | None:
        """A document of a listed format; None for any other file."""
        ...


class Parsing:
    """A parser that keeps nothing; one for checks on text alone takes no file (`BARE`)."""

    def __init__(self, *, text_only: bool = False) -> None:
        self._text_only = text_only

    def code(self, source: Source) -> FileIndex | None:
        """See `Parser`."""
        return None if self._text_only else parse_code(source)

    def document(self, source: Source) -> Document | None:
        """See `Parser`."""
        return None if self._text_only else parse_document(source)


BARE: Final = Parsing(text_only=True)


def verify_content(check: Check, source: Source, parser: Parser) -> Held:
    """Whether a check on content holds in one file, in the lines that are looked at; `not` included. Never raises.
    `parser` is what parses `source`."""
    assert TABLE[check.name].content, "only a check on content is held against a file"
    held = _positive(check, source, parser)
    return opposite(held) if check.negated else held


def _positive(check: Check, source: Source, parser: Parser) -> Held:
    region = _region(check, source, parser)
    if isinstance(region, Held):
        return region
    if check.name in TEXT_CHECKS:
        return verify_text(check, region)
    code = parser.code(region)
    if code is not None:
        return verify_code(check, code, region)
    if check.name in CODE_ONLY:
        return Held(None, "unlisted-language")
    document = parser.document(region)
    return Held(None, "unlisted-language") if document is None else verify_document(check, document, region)


def _region(check: Check, source: Source, parser: Parser) -> Source | Held:
    """The lines that a check speaks of: those that are given, its own `lines`, and for checks on text those of `in`."""
    lines = _both(source.lines, check.lines)
    if lines is _NOTHING:
        return Held(None, "not-found")
    inside = check.text("in")
    if inside and check.name in TEXT_CHECKS:
        extents = _extents(inside, source, parser)
        if isinstance(extents, Held):
            return extents
        lines = _both(lines, extents)
        if lines is _NOTHING:
            return Held(None, "not-found")
    return source if lines == source.lines else source._replace(lines=lines)


def _extents(name: str, source: Source, parser: Parser) -> tuple[int, int] | Held:
    code = parser.code(source)
    if code is not None:
        if code.problem is not None:
            return Held(None, code.problem)
        found = code_extents(code, name)
        if is_broken(code, name):
            return Held(None, "syntax-error")
    else:
        document = parser.document(source)
        if document is None:
            return Held(None, "unlisted-language")
        found = document_extents(document, name)
    if not found:
        return Held(None, "not-found")
    return found[0] if len(found) == 1 else Held(None, "ambiguous")


_NOTHING: Final = (0, 0)


def _both(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    """The lines that lie in both ranges; `_NOTHING` where none do."""
    if one is None or other is None:
        return one or other
    first, last = max(one[0], other[0]), min(one[1], other[1])
    return (first, last) if first <= last else _NOTHING


AbsentReason = Literal[
    "terms-missing",  # no check, and its words are not there
    "check-fails",  # not found, and nothing exact against it
    "check-undecided",
    "check-not-bound",  # a check holds, but nothing in the sentence is an argument of it
    "changed-since",  # false now, but the file has changed since the time that the annotation speaks of
    "path-missing",  # the file is not in the tree that was looked at
    "outside-locator",  # what decides a check stands where the annotation does not say that it looked
]


class AssertionChecks(NamedTuple):
    """What an assertion asks of a substrate: states or denies (a refusal asks nothing), its checks as text with where
    they come from, and the same, read."""

    kind: Kind
    derived: Derived
    checks: tuple[Check | Unknown, ...]

    @property
    def is_sentence(self) -> bool:
        """It has no check: it is held to its words, which never count."""
        return not self.checks


def checks_of_assertion(kind: Kind, derived: Derived) -> AssertionChecks:
    """The question that an assertion with these checks asks."""
    return AssertionChecks(kind, derived, tuple(map(parse_check, derived.checks)))


class Judged(NamedTuple):
    """What came of a look, as an observation tells it.

    Attributes:
        outcome: of the look.
        reason: for `absent` alone.
        verified, refuted: indices into the assertion's checks.
        coverage: how much of the sentence its checks speak of.
        helds: what each check came to, in their order.
    """

    outcome: Outcome
    reason: AbsentReason | None
    verified: tuple[int, ...]
    refuted: tuple[int, ...]
    coverage: Coverage
    helds: tuple[Held, ...]


def judged(
    asked: AssertionChecks,
    helds: Sequence[Held],
    coverage: Coverage,
    words_present: bool,
    excused: Collection[int] = (),
) -> Judged:
    """The outcome of a look. `helds` is what each check came to, in the order of those `asked`.

    By its `coverage` a check that says the opposite of the sentence neither bears it out nor contradicts it; nor do the
    places in `excused`. `words_present`: every term of the sentence stands in the region that was looked at.
    """
    fitted = tuple(_for_kind(asked, check, held) for check, held in zip(asked.checks, helds, strict=True))
    verified = tuple(place for place, held in enumerate(fitted) if held.holds is True)
    refuted = tuple(place for place, held in enumerate(fitted) if held.holds is False)
    against = [place for place in refuted if place not in coverage.opposed and place not in excused]
    outcome, reason = _outcome(asked, fitted, bool(verified), refuted, against, coverage, words_present)
    return Judged(outcome, reason, verified, refuted, coverage, fitted)


def _for_kind(asked: AssertionChecks, check: Check | Unknown, held: Held) -> Held:
    """What a check bears out: on a denial only `absent`, `missing` and what stands behind a `not`."""
    if isinstance(check, Unknown):
        return Held(None, "unknown-check")
    if asked.kind != "denial" or check.negated or check.name in NEGATIVE:
        return held
    # A form of words read from a denial says which words, not whether they are denied: it decides neither way.
    if held.holds is True or (held.holds is False and not asked.derived.declared):
        return held._replace(holds=None, reason="denial")
    return held


def _outcome(
    asked: AssertionChecks,
    helds: Sequence[Held],
    verified: bool,
    refuted: Sequence[int],
    against: Sequence[int],
    coverage: Coverage,
    words_present: bool,
) -> tuple[Outcome, AbsentReason | None]:
    if any(helds[place].reason != "changed-since" for place in against):
        return "contradicts", None
    if against:
        return "absent", "changed-since"
    if refuted:
        return "absent", "check-not-bound"
    if verified:
        return ("corroborates", None) if coverage.level != "none" else ("absent", "check-not-bound")
    for reason in ("outside-locator", "path-missing"):
        if any(held.reason == reason for held in helds):
            return "absent", reason
    if asked.is_sentence:
        return ("terms-present", None) if words_present else ("absent", "terms-missing")
    fails = any(held.reason in ("not-found", "differs") for held in helds)
    return "absent", "check-fails" if fails else "check-undecided"


FS_MTIME: Final = "substrate.fs.mtime"
SSE_COUNT: Final = "substrate.do.sse-count"
MCP_BRIEF: Final = "substrate.mcp.brief"
_ON_TEXT: Final = frozenset(("substrate.git.log", "substrate.grep", "substrate.code.read", MCP_BRIEF))
"""The classes whose content is text; of the checks on it a piece of text can only show that `contains` holds."""
_ON_JSON: Final = frozenset(("equals", "compare", "defines"))

MOST_UNCUT: Final = MAX_CONTENT_BYTES - 4
"""A content that is longer may have been cut to fit a sighting, within a character: a number at its end may go on."""
_NUMBER: Final = re.compile(r"\d{1,15}")
_NS: Final = re.compile(r"(?P<second>.{19})(?:\.(?P<fraction>\d{1,9}))?Z", re.ASCII)
_MILLISECOND: Final = 1_000_000
_OTHER: Final = Held(None, "other-substrate")


def match(
    substrate_class: str,
    asked: AssertionChecks,
    coverage: Coverage,
    content: str | float,
    path: str = "",
    cited_path: str | None = None,
) -> Judged:
    """Holds the checks that are `asked` against the `content` (text, number or time) of a sighting of a class; without
    a check nothing is decided.

    `path` is the file that the sighting's locator names, empty for none, `cited_path` that of the annotation.
    `coverage` is of the sentence, `substrate_class` the bare class of both.
    """
    if not asked.checks:
        return Judged("absent", "check-undecided", (), (), coverage, ())
    helds: list[Held] = []
    for check in asked.checks:
        if isinstance(check, Unknown):
            helds.append(Held(None, "unknown-check"))
        else:
            held = _held(check, substrate_class, content, path, cited_path)
            helds.append(opposite(held) if check.negated else held)
    return judged(asked, helds, coverage, words_present=False)


def _held(check: Check, substrate_class: str, content: str | float, path: str, cited_path: str | None) -> Held:
    """What a check comes to, its `not` left aside."""
    if substrate_class == FS_MTIME:
        time = time_of(content) if check.name == "modified" and check.path == path else None
        return _OTHER if time is None else verify_modified(check, time)
    if substrate_class == SSE_COUNT:
        number = _number_of(content)
        return _OTHER if number is None else verify_subscribers(check, number)
    if not isinstance(content, str) or not TABLE[check.name].content or check.value("in") is not None:
        return _OTHER
    if substrate_class == MCP_BRIEF and check.name in _ON_JSON:
        try:
            value: Any = decode_any(content.encode())
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return Held(None, "not-found")
        return verify_json_value(check, value)
    # A sighting may be of another file than the one that the check speaks of.
    is_other = (check.path or cited_path or path) != path
    if check.name != "contains" or substrate_class not in _ON_TEXT or check.lines is not None or is_other:
        return _OTHER
    return verify_content(check, Source(path, content, whole=len(content.encode()) <= MOST_UNCUT), BARE)


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


def _number_of(content: str | float) -> int | None:
    """The count that a content is: a whole number."""
    if isinstance(content, str):
        return int(content.strip()) if _NUMBER.fullmatch(content.strip()) else None
    return int(content) if content == int(content) and abs(content) <= 2**53 else None
