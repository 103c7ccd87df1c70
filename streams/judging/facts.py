"""Decides the checks on text (`contains`, `absent`, `count`, `line`, `order`) and on facts that observers collect:
trees, times of files, peers, subscribers, commits, and what changed in a file (docs/checks.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple

from ...codecs.unicode_text import STRIPPED, nfkc, settle, unicodedata2
from .checks import OPEN, Check, Held, Operator, Source, Value
from .prose_literals import SECOND
from .values import Stretch, compare, compare_times, read_named_time

_NAME: Final = re.compile(r"(?<![\w\\])(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)(?!\w)", re.ASCII)
"""What no text parts, hyphenates or escapes: a quote with such a name is nowhere where the name is nowhere."""
NOT_FOUND: Final = Held(None, "not-found")
NOT_WHOLE: Final = Held(None, "not-whole")
AMBIGUOUS: Final = Held(None, "ambiguous")
TOO_LARGE: Final = Held(None, "too-large")


def verify_text(check: Check, source: Source) -> Held:
    """Whether a check on text holds in the lines of a file that are looked at; its `not`, `path`, `in` and `lines` are
    left aside. `source.lines` is the whole scope."""
    return _VERIFIERS[check.name](check, source, _region(source))


class _Region(NamedTuple):
    """The text that is looked at, in NFKC, which joins nothing across a line feed; the number of its first line;
    whether nothing of it is missing; and whether more may stand behind its last character."""

    text: str
    first: int
    whole: bool
    open_end: bool


def _region(source: Source) -> _Region:
    if source.lines is None:
        return _Region(nfkc(source.text), 1, source.whole, not source.whole)
    lines = source.text.split("\n")
    first, last = max(source.lines[0], 1), source.lines[1]
    there = source.whole and last <= len(lines)
    return _Region(nfkc("\n".join(lines[first - 1 : last])), first, there, not source.whole and last >= len(lines))


def _contains(check: Check, source: Source, region: _Region) -> Held:
    quote, text = quote_of(check), flat(region.text)
    places = find_quote(quote, text, open_end=region.open_end)
    if places:
        return Held(True, lines=_span(region, text, places[0], quote))
    if region.whole and check.path is not None and check.text("in") == "" and source.lines is None:
        folded = text.casefold()
        if any(name.casefold() not in folded for name in _NAME.findall(quote)):
            return Held(False, "differs")
    return TOO_LARGE if places is None else NOT_FOUND


def _absent(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE
    identifier, text = check.text("identifier"), region.text
    places = find_quote(identifier, text)
    if places is None:
        return TOO_LARGE
    if places:
        number = region.first + text.count("\n", 0, places[0])
        return Held(False, "differs", (number, number), found=_shown(text.split("\n")[number - region.first]))
    return AMBIGUOUS if looks_like(identifier, text) else Held(True, lines=source.lines)


def looks_like(identifier: str, text: str) -> bool:
    """Whether it stands inside of another word or in other letter case, in look-alikes, with invisible characters, or
    in escapes."""
    identifier = identifier.casefold()
    if identifier in text.casefold() or (not text.isascii() and identifier in settle(text).casefold()):
        return True
    return "\\" in text and identifier in _ESCAPED.sub(_unescaped, text).casefold()


def _shown(line: str) -> str:
    """A line as `Held.found` tells it."""
    return line.strip()[:MAX_FOUND]


MAX_FOUND: Final = 200
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8}))")


def _unescaped(match: re.Match[str]) -> str:
    point = int(next(group for group in match.groups() if group), 16)
    return chr(point) if point <= 0x10FFFF else match[0]


def _count(check: Check, source: Source, region: _Region) -> Held:
    """Occurrences that do not overlap, also inside of longer words; white space counts as it stands there."""
    if not region.whole:
        return NOT_WHOLE
    pattern = quote_of(check, "pattern")
    if OPEN in pattern:
        return AMBIGUOUS  # it counts inside of words anyway, so the sign may be one of the text
    number = region.text.count(pattern)
    if " " in pattern and flat(region.text).count(pattern) != number:
        return AMBIGUOUS  # some are written with other white space, and a check cannot say which it means
    return decided(compare(operator_of(check), check.value("number"), number), source.lines)


def _line(check: Check, source: Source, region: _Region) -> Held:
    number, quote = check.value("number"), quote_of(check)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        return Held(None, "incomparable")
    if source.lines is not None and not source.lines[0] <= number <= source.lines[1]:
        return NOT_FOUND
    lines = source.text.split("\n")
    if not lines[-1]:
        lines.pop()
    line = flat(lines[number - 1]) if number <= len(lines) else ""
    places = find_quote(quote, line, open_end=not source.whole and number == len(lines))
    if places is None:
        return TOO_LARGE
    if places:
        return Held(True, lines=(number, number))
    if not source.whole:
        return NOT_WHOLE
    shown = _shown(lines[number - 1]) if number <= len(lines) else None
    elsewhere = _elsewhere(quote, source, number)
    if elsewhere is not None:
        return elsewhere._replace(found=shown)
    return Held(False, "differs", None if shown is None else (number, number), found=shown)


def _elsewhere(quote: str, source: Source, number: int) -> Held | None:
    """What comes of a quote that its line does not have: undecided where the file has it, in any white space or letter
    case; None where it stands nowhere."""
    whole = _Region(nfkc(source.text), 1, True, False)
    text = flat(whole.text)
    places = find_quote(quote, text, most=_MOST_PLACES)
    if places is None:
        return TOO_LARGE
    if places:
        spans = [_span(whole, text, at, quote) for at in places]
        return Held(None, "moved", min(spans, key=lambda lines: abs(lines[0] - number)))
    squeezed = inner(quote).replace(" ", "").casefold()
    return AMBIGUOUS if squeezed in settle(text).replace(" ", "").casefold() else None


_MOST_PLACES: Final = 8
"""Places of a quote of which the nearest is told."""


def _order(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE  # another one may stand in what is missing
    text, spans = flat(region.text), list[tuple[int, int]]()
    for quote in (quote_of(check, "a"), quote_of(check, "b")):
        places = find_quote(quote, text, most=2)
        if places is None:
            return TOO_LARGE
        if len(places) != 1:
            return AMBIGUOUS if places else NOT_FOUND
        spans.append((places[0], places[0] + len(inner(quote))))
    (start, end), (other, past) = spans
    if end <= other:
        return Held(True, lines=_lines_of(region, text, start, past))
    return Held(False, "differs", _lines_of(region, text, other, end)) if past <= start else NOT_FOUND


_VERIFIERS: Final[Mapping[str, Callable[[Check, Source, _Region], Held]]] = {
    "contains": _contains,
    "absent": _absent,
    "count": _count,
    "line": _line,
    "order": _order,
}


def decided(answer: bool | None, lines: tuple[int, int] | None = None) -> Held:
    """What an exact answer comes to; None where two values have no order."""
    if answer is None:
        return Held(None, "incomparable")
    return Held(True, lines=lines) if answer else Held(False, "differs", lines)


def operator_of(check: Check) -> Operator:
    """The operator that stands between the two things that a check compares."""
    return check.text("op")  # type: ignore[return-value]  # the parser takes no other text


# ---------------------------------------------------------------- quotes in text


def flat(text: str) -> str:
    """The text in NFKC with every run of white space as one space, and none around it."""
    return " ".join(nfkc(text).split())


def quote_of(check: Check, parameter: str = "quote") -> str:
    """A quote of a check as `flat` returns a text, with the `…` at its ends."""
    quote = check.text(parameter)
    if OPEN not in (quote[:1], quote[-1:]):
        return flat(quote)
    return OPEN * (quote[0] == OPEN) + flat(inner(quote)) + OPEN * (quote[-1] == OPEN)


def inner(quote: str) -> str:
    """A quote without the `…` at its ends: what stands in the text."""
    return quote.strip(OPEN)


def find_quote(quote: str, text: str, *, most: int = 1, open_end: bool = False) -> list[int] | None:
    """The first places of a quote in a text, `most` at most, that cut no identifier or number, but for an end that has
    `…`.

    Both are without runs of white space (`quote_of`, `flat`). With `open_end` a quote that ends where the text ends is
    passed over. None where too many places would have to be passed over.
    """
    found: list[int] = []
    steps = 0
    open_start, open_end_too = quote[:1] == OPEN, quote[-1:] == OPEN
    quote = inner(quote)
    at = text.find(quote) if quote else -1
    while at >= 0:
        end = at + len(quote)
        skip = at + 1
        if not open_start and cuts(text, at):
            run = _run().match(text, at)
            skip = run.end() if run else skip  # nothing else begins inside this word
        elif open_end_too or (not cuts(text, end) and not (open_end and end == len(text))):
            found.append(at)
            if len(found) == most:
                break
        steps += len(quote) + _STEP
        if steps > MAX_STEPS:
            return None
        at = text.find(quote, skip)
    return found


MAX_STEPS: Final = 16_000_000
"""Characters that may be compared in places where a quote stands and is passed over: 0.1 to 0.3 s."""
_STEP: Final = 64

# Scripts that put no space between words: there, an end of a word is nothing that could be told.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
IN_WORD: Final = rf"[^\W{_UNSPACED}]"
# Made when they are asked for: it takes as long as many a short command has.


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"{IN_WORD}+")


_INSIDE: Final = "|".join(
    (
        rf"(?<={IN_WORD})(?=-?{IN_WORD})|(?<={IN_WORD}-)(?={IN_WORD})",  # `foobar`, `max-retries`, `2026-05-25`
        r"(?<=\d)(?=[.,:/'⁄]\d)|(?<=\d[.,:/'⁄])(?=\d)",  # `1.2`, `1,000`, `10:30`, `1/2`, `1'000`
        r"(?<![\w)\]][-−])(?<=[-−])(?=\.?\d)",  # a sign, where it is no minus between two things
        r"(?<![\w)\].]\.)(?<=\.)(?=\d)",  # `.5`
        r"(?<=[\d.][eE])(?=[-+]\d)|(?<=[\d.][eE][-+])(?=\d)",  # `1e-5`
        r"(?<=[$€£¥])(?=\d)|(?<=\d)(?=[€£¥]| ?%)",
        r"(?<=\d)(?=[.+~](?:alpha|beta|rc|dev|post|pre)(?![^\W\d]))",  # `1.2.dev3`, `1.2~rc1`
    )
)
"""Two neighbouring characters of one identifier or number; matched at the place between them."""


@cache
def _inside() -> re.Pattern[str]:
    return re.compile(_INSIDE)


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in STRIPPED) + "]")


def cuts(text: str, place: int) -> bool:
    """Whether the place between two characters lies inside of an identifier or a number, or of one character.

    Word characters are letters, digits and `_` of every script that puts spaces between words; a hyphen between two of
    them binds them, and so does an invisible character.
    """
    if not 0 < place < len(text):
        return False
    if _inside().match(text, place):
        return True
    after = text[place]
    if after.isascii() and text[place - 1].isascii():
        return False
    if _invisible().match(text, place) or _invisible().match(text, place - 1):
        return True
    return unicodedata2.category(after)[0] == "M"


def _span(region: _Region, text: str, at: int, quote: str) -> tuple[int, int]:
    return _lines_of(region, text, at, at + len(inner(quote)))


def _lines_of(region: _Region, text: str, start: int, end: int) -> tuple[int, int]:
    """The lines from which a piece of the flat text comes: the words before it are the words before it there."""
    words = text.count(" ", 0, start) + 1
    past = words + text.count(" ", start, end)
    first, seen = 0, 0
    number = region.first
    for number, line in enumerate(region.text.split("\n"), region.first):
        seen += len(line.split())
        first = first or (number if seen >= words else 0)
        if seen >= past:
            break
    return first, number


_ELSEWHERE: Final = Held(None, "other-substrate")


# ---------------------------------------------------------------- trees


def verify_tree(check: Check, tracked: bool | None) -> Held:
    """Whether `exists` or `missing` holds. `tracked` is None for a path that is there untracked, or may not be looked
    at."""
    if tracked is None:
        return _ELSEWHERE
    return Held(True) if tracked is (check.name == "exists") else Held(False, "differs")


# ---------------------------------------------------------------- times of files


def verify_last_changed(check: Check, changed_at_ns: int | None, commit: str | None, offset_seconds: int = 0) -> Held:
    """Whether a `check` `last_changed(path, op, time)` holds of the newest reachable `commit` that touched the path.

    `changed_at_ns` is its date in nanoseconds since 1970, None where there is none; `offset_seconds` how many seconds
    it was made from UTC: a day named without a zone may be the day there.
    """
    if changed_at_ns is None:
        return NOT_FOUND
    return _time(check, _second(changed_at_ns, offset_seconds))._replace(commit=commit)


def _second(time: int, offset: int) -> Stretch:
    """The stretch that git's dates tell: a second, wherever it was."""
    return Stretch(time, time + SECOND, offset * SECOND)


def verify_modified(check: Check, mtime_ns: int | None) -> Held:
    """Whether `modified(path, op, time)` holds. `mtime_ns` is in nanoseconds since 1970; None where it is not known."""
    return NOT_FOUND if mtime_ns is None else _time(check, Stretch(mtime_ns, mtime_ns + 1))


def _time(check: Check, time: Stretch) -> Held:
    named = read_named_time(check.text("time"))
    if named is None:
        return Held(None, "incomparable")
    return decided(compare_times(operator_of(check), named, time.readings(named)))


# ---------------------------------------------------------------- peers and subscribers


class PeerFacts(NamedTuple):
    """What the kernel says of a peer (SO_PEERCRED), as the observer's own namespaces show it."""

    pid: int
    uid: int
    gid: int


def verify_peer(check: Check, facts: PeerFacts | None, uid_of_name: Callable[[str], int | None]) -> Held:
    """Whether a `check` `peer(uid=, gid=, pid=, user=)` holds: all that it names, with nothing told of what the peer
    is.

    `facts` are None where nothing was connected to; `uid_of_name` gives the uid of a user of this host. An id that a
    namespace hides is undecided, as is a user whom this host does not know.
    """
    if facts is None:
        return NOT_FOUND
    answers: list[Held] = []
    for field in ("uid", "gid", "pid"):
        named = check.value(field)
        if named is not None:
            answers.append(_id(field, named, getattr(facts, field)))
    if name := check.text("user"):
        uid = uid_of_name(name)
        answers.append(NOT_FOUND if uid is None else _id("uid", uid, facts.uid))
    return all_of(answers)


def _id(field: str, named: Value, actual: int) -> Held:
    actual %= 2**32  # what comes as a signed number is an unsigned one
    hidden = actual == 0 if field == "pid" else actual in _OVERFLOW
    return NOT_WHOLE if hidden else decided(compare("=", named, actual))


_OVERFLOW: Final = frozenset((65534, 2**32 - 1))
"""What Linux shows for a user or group that the observer's namespace does not have; one such stands for all of them."""


def verify_subscribers(check: Check, count: int | None) -> Held:
    """Whether `count(subscribers, op, number)` holds of a channel that reports this count, or none; any other check is
    undecided."""
    if check.name != "count" or check.text("pattern") != "subscribers" or check.named:
        return _ELSEWHERE
    if count is None:
        return NOT_FOUND
    return decided(compare(operator_of(check), check.value("number"), count))


# ---------------------------------------------------------------- scopes

INCOMPARABLE: Final = Held(None, "incomparable")
DIFFERS: Final = Held(False, "differs")
_PATH_MISSING: Final = Held(None, "path-missing")
_MOST: Final = 10_000
"""Occurrences in one file that are told apart; a file with more is not told."""


def all_of(answers: Iterable[Held]) -> Held:
    """Of several that all have to hold: one that is false makes the check false, and one undecided undecided."""
    undecided: Held | None = None
    for held in answers:
        if held.holds is False:
            return held
        if held.holds is None:
            undecided = undecided or held
    return undecided or Held(True)


# ---------------------------------------------------------------- paths


def plain_path(path: str) -> str | None:
    """The path as git writes it; None for one that goes up."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts or not parts or path.startswith("/") else "/".join(parts)


def may_mean(path: str, recorded: str) -> bool:
    """Whether a path that git records may be meant by another: its file in another form of Unicode, a file below it, or
    a file of that name in a folder that is not named."""
    plain = nfkc(recorded)
    return plain == path or plain.startswith(path + "/") or plain.endswith("/" + path)


def _under(path: str, recorded: str) -> bool:
    return recorded == path or recorded.startswith(path + "/")


def verify_only_in(check: Check, files: Iterable[tuple[str, bool | None]], *, whole: bool) -> Held:
    """Whether a `check` `only_in(identifier, [paths])` holds: each of the paths has a file with it, and no other file
    has it.

    `files` has of each file its path and whether it has the identifier (the opposite of what `absent(identifier)` comes
    to there). `whole`: any other tracked file surely has it not, and none was too large, denied, binary, a pointer or a
    submodule.
    """
    named = _paths(check)
    if named is None:
        return INCOMPARABLE
    having = set[str]()
    unknown = False
    for recorded, has in files:
        inside = [path for path in named if _under(path, recorded)]
        if has and not inside:
            return AMBIGUOUS if any(may_mean(path, recorded) for path in named) else DIFFERS._replace(path=recorded)
        unknown = unknown or has is None
        having.update(inside if has else ())
    if unknown or not whole:
        return NOT_WHOLE
    return Held(True) if having.issuperset(named) else NOT_FOUND


def _paths(check: Check) -> list[str] | None:
    """The paths that a check lists; None where one of them goes up."""
    written = check.value("paths")
    paths = [plain_path(str(path)) for path in written] if isinstance(written, tuple) else []
    named = [path for path in paths if path is not None]
    return named if len(named) == len(paths) else None


# ---------------------------------------------------------------- where something stands


class Standing(NamedTuple):
    """Where a text, name or file stands in the files of a scope at one time.

    Attributes:
        counts: for each file in which it stands, how often.
        whole: the whole scope was searched: every tracked text file of it, and none of them was too large, denied,
            binary, a pointer, a submodule or in an unknown encoding, or may hold it in another form. Only then a file
            that `counts` does not have is one in which it does not stand.
        defined: of each definition of that name `path:Owner.name`, as often as it is defined, or the path where it is
            that of a file; None where not every file of the scope that has the word was read by its syntax.
    """

    counts: Mapping[str, int] = {}
    whole: bool = False
    defined: tuple[str, ...] | None = None


def standing_of(quote: str, sources: Iterable[Source], *, whole: bool) -> Standing:
    """Where a quote stands in the files of a scope: the counts by path, without definitions.

    `sources` may leave files out that surely hold no part of it; `whole`: no other file of the scope may hold it. The
    answer is not whole where a file is not, or may hold the text in another form.
    """
    counts: dict[str, int] = {}
    for source in sources:
        text = flat(source.text)
        places = find_quote(quote, text, most=_MOST)
        if places:
            counts[source.path] = len(places)
        elif places is None or looks_like(inner(quote), text):
            whole = False
        whole = whole and source.whole and len(places or ()) < _MOST
    return Standing(counts, whole)


def came(before: Standing | None, after: Standing | None) -> Held:
    """Whether a text came into a scope: it stands nowhere in it before, and in a file of it after; for one that went,
    the other way round.

    False where it stands in the scope no more often than before: at most it moved. Undecided where it stood there
    already and stands there more often, and where it never stands there.
    """
    if before is None or after is None:
        return NOT_WHOLE
    if after.counts and before.whole and not before.counts:
        return Held(True, path=next(iter(after.counts)) if len(after.counts) == 1 else None)
    if not (before.whole and after.whole):
        return NOT_WHOLE
    if not before.counts and not after.counts:
        return NOT_FOUND
    return AMBIGUOUS if sum(after.counts.values()) > sum(before.counts.values()) else DIFFERS


# ---------------------------------------------------------------- since a commit


class SinceFacts(NamedTuple):
    """What changed between a commit or tree and what is looked at.

    Attributes:
        is_ancestor: what is looked at came from there: the commit is an ancestor of it, or the tree was recorded in
            this work tree. None where it cannot be told.
        before: for each text that the check names, where it stands at `since`, in the scope of the check: its `path`,
            or every file. What was not looked at is left out.
        after: the same in what is looked at.
        changed: the paths that differ, both names of a renamed file; None where they were not all read.
        untracked: the files that are neither tracked nor ignored; empty where a commit is looked at, None where they
            were not looked for.
        there: the path of `unchanged` is in what is looked at; None where that was not looked at.
    """

    is_ancestor: bool | None = None
    before: Mapping[str, Standing] = {}
    after: Mapping[str, Standing] = {}
    changed: frozenset[str] | None = None
    untracked: frozenset[str] | None = None
    there: bool | None = None


def verify_since(check: Check, facts: SinceFacts | None) -> Held:
    """Whether `added`, `deleted`, `renamed`, `touched` or `unchanged` holds, its `not` left aside.

    A definition, text or file was added where it is there now and was nowhere in the scope at `since`. That it is gone,
    and that no other file was touched, needs that no untracked file is left that may have it. Undecided without `facts`
    (`since` names no commit or tree, or several), and where `since` is no ancestor.
    """
    if facts is None:
        return NOT_FOUND
    if not facts.is_ancestor:
        return INCOMPARABLE
    if check.name in ("touched", "unchanged"):
        return (_touched if check.name == "touched" else _unchanged)(check, facts)
    if check.name == "renamed":
        return all_of((_went(check.text("old"), facts, scoped=False), _came(check.text("new"), facts)))
    what = check.text("what")
    return _came(what, facts) if check.name == "added" else _went(what, facts, scoped=check.path is not None)


def _came(what: str, facts: SinceFacts) -> Held:
    return _appeared(facts.before.get(what), facts.after.get(what))


def _went(what: str, facts: SinceFacts, *, scoped: bool) -> Held:
    held = _appeared(facts.after.get(what), facts.before.get(what))
    return NOT_WHOLE if held.holds and not scoped and facts.untracked != frozenset() else held


def _appeared(before: Standing | None, after: Standing | None) -> Held:
    """Whether a definition, text or file came. A name may stay in a comment while what it names goes: where the
    definitions are known they decide, and a text alone never refutes while it stands on both sides."""
    if before is None or after is None:
        return NOT_WHOLE
    if before.defined is not None and after.defined is not None and (before.defined or after.defined):
        if after.defined and not before.defined:
            path, _, name = after.defined[0].rpartition(":")
            return Held(True, path=(path or name) if len(after.defined) == 1 else None)
        return AMBIGUOUS if Counter(after.defined) - Counter(before.defined) else DIFFERS
    held = came(before, after)
    return AMBIGUOUS if held.holds is False and after.counts else held


def _touched(check: Check, facts: SinceFacts) -> Held:
    named = _paths(check)
    if named is None:
        return INCOMPARABLE
    if facts.changed is None:
        return NOT_WHOLE
    outside = sorted(one for one in facts.changed if not any(_under(path, one) for path in named))
    if outside:
        unclear = any(may_mean(path, recorded) for path in named for recorded in outside)
        return AMBIGUOUS if unclear else DIFFERS._replace(path=outside[0])
    if facts.untracked != frozenset():
        return NOT_WHOLE
    still = next((path for path in named if not any(_under(path, one) for one in facts.changed)), None)
    return Held(True) if still is None else DIFFERS._replace(path=still)


def _unchanged(check: Check, facts: SinceFacts) -> Held:
    path = plain_path(check.text("path"))
    if path is None:
        return INCOMPARABLE
    if facts.changed is None or facts.untracked is None or facts.there is None:
        return NOT_WHOLE
    changed = next((recorded for recorded in sorted(facts.changed) if _under(path, recorded)), None)
    if changed is not None:
        return DIFFERS._replace(path=changed)
    if not facts.there:
        return _PATH_MISSING
    return NOT_WHOLE if any(_under(path, one) for one in facts.untracked) else Held(True, path=path)


# ---------------------------------------------------------------- one commit


class CommitFacts(NamedTuple):
    """What git records of one commit.

    Attributes:
        hash: its whole name.
        author: the author's name.
        email: the author's e-mail address, without brackets.
        authored: the author's date in nanoseconds since 1970, and the offset from UTC there in seconds.
        committed: the same of the committer.
        message: the whole message; its first line is the subject.
        changed: the paths that it changed, both names of a file that it renamed; None where they were not all read.
        before: where the quote of `introduced` or `removed` stands in the tree of its first parent, in the scope of the
            check: its `path`, or every file. None where that was not looked at.
        after: the same of its own tree.
    """

    hash: str
    author: str = ""
    email: str = ""
    authored: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None
    message: str = ""
    changed: tuple[str, ...] | None = None
    before: Standing | None = None
    after: Standing | None = None


def verify_commit(check: Check, facts: CommitFacts | None) -> Held:
    """Whether `commit`, `changed`, `introduced` or `removed` holds of the commit that the check's hash names.

    A quote is introduced where it stands in no file of the scope before and in one after, and removed the other way
    round: a line that only moved is neither. Undecided without `facts`, and where the hash is none of this commit in 7
    digits or more.
    """
    named = check.text("hash" if check.name == "commit" else "commit").lower()
    if facts is None or _HASH.fullmatch(named) is None or not facts.hash.lower().startswith(named):
        return NOT_FOUND
    if check.name in ("commit", "changed"):
        held = (_commit if check.name == "commit" else _changed)(check, facts)
    else:
        sides = (facts.before, facts.after)
        held = came(*(sides if check.name == "introduced" else sides[::-1]))
        if held.holds is False and OPEN in check.text("quote"):
            held = AMBIGUOUS  # it may mean this sign
    return held._replace(commit=facts.hash)


_HASH: Final = re.compile(r"[0-9a-f]{7,64}")


def _commit(check: Check, facts: CommitFacts) -> Held:
    answers: list[Held] = []
    if author := check.text("author"):
        answers.append(_author(flat(author), facts))
    if date := check.text("date"):
        answers.append(_date(date, facts))
    if subject := check.text("subject"):
        answers.append(_subject(flat(subject), facts))
    return all_of(answers)


def _author(named: str, facts: CommitFacts) -> Held:
    """Name, e-mail address or `Name <address>`, whole, in any letter case; a part of them is ambiguous."""
    name, email = flat(facts.author), flat(facts.email)
    if not name and not email:
        return NOT_WHOLE
    folded = named.casefold()
    whole = f"{name} <{email}>".casefold()
    if folded in (name.casefold(), email.casefold(), f"<{email}>".casefold(), whole):
        return Held(True)
    words, recorded = set(_WORDS.findall(folded)), set(_WORDS.findall(whole))
    given = set(_WORDS.findall(name.casefold()))
    if folded in whole or words <= recorded or (given and given <= words):
        return AMBIGUOUS
    # Who is named in a trailer (`Co-authored-by`) has had a part in it.
    return AMBIGUOUS if folded in flat(facts.message).casefold() else DIFFERS


_WORDS: Final = re.compile(r"[^\W_]+")


def _date(named: str, facts: CommitFacts) -> Held:
    """The author's date, in UTC or where the author was; the committer's alone makes it ambiguous."""
    stretch = read_named_time(named)
    if stretch is None:
        return INCOMPARABLE
    if facts.authored is None:
        return NOT_WHOLE
    answer = compare_times("=", stretch, _second(*facts.authored).readings(stretch))
    if answer is not False or facts.committed is None:
        return decided(answer)
    committed = compare_times("=", stretch, _second(*facts.committed).readings(stretch))
    return DIFFERS if committed is False else AMBIGUOUS


def _subject(named: str, facts: CommitFacts) -> Held:
    """The first line, or the first paragraph as git joins it, whole; a part of it is ambiguous."""
    paragraph = facts.message.lstrip("\n").partition("\n\n")[0]
    line, joined = flat(paragraph.partition("\n")[0]), flat(paragraph)
    if named in (line, joined):
        return Held(True)
    said, recorded = named.casefold(), joined.casefold()
    return DIFFERS if find_quote(said, recorded) == find_quote(line.casefold(), said) == [] else AMBIGUOUS


def _changed(check: Check, facts: CommitFacts) -> Held:
    path = plain_path(check.text("path"))
    if facts.changed is None:
        return NOT_WHOLE
    if path is None:
        return INCOMPARABLE
    if path in facts.changed:
        return Held(True, path=path)
    return AMBIGUOUS if any(may_mean(path, recorded) for recorded in facts.changed) else DIFFERS
