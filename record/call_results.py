"""A call's arguments as an object, its result as text, and the lines that the result shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from ..codecs.errors import UsageError
from .looks import LOG, MTIME, READ, Between, Commit, Form, Line, Look, LookResult, below


def arguments_of(given: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments as an object; empty where they are none, or are JSON that a model wrote wrongly."""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
    return dict(given) if isinstance(given, Mapping) else {}


def result_text(result: object) -> str | None:
    """The result as a text: UTF-8 decoded, other values as their JSON; None stays None.

    Raises:
        UsageError: it is no text, and has no JSON.
    """
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, bytes | bytearray):
        return bytes(result).decode("utf-8", "replace")
    try:
        return msgspec.json.encode(result).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        got = type(result).__name__
        raise UsageError("the result of a call is no text", expected="text, bytes or JSON values", got=got) from None


MAX_RESULT: Final = 2_000_000
"""Characters of a result that are read."""
MAX_LINES: Final = 50_000
MAX_EXTRA: Final = 200_000
"""Characters that are kept of a result that is no lines of files."""
MAX_COMMITS: Final = 2_000

ReadFile = Callable[[str], str | None]

_NUMBERED: Final = re.compile(r" {0,12}(\d{1,8})(?:→|\t|:|\|)(.*)")
_UNNUMBERED: Final = re.compile(r" {0,12}\d{0,8}\t(.*)")
_CUT: Final = re.compile(r"\s*(?:\.{3}|…|\[|<|\().{0,80}\b(?:truncated|omitted|clipped|elided)\b.{0,80}", re.IGNORECASE)
_FAILED: Final = re.compile(
    r"(?:/[\w./-]{1,200}/)?(?:cat|less|more|nl|head|tail|sed|[ef]?grep|rg|git|stat|ls|bash|sh|zsh|dash|env|timeout): |"
    r"(?:fatal|error|warning): "
)
"""A row of a command that could not do all that it was told."""
_REMINDER: Final = "<system-reminder>"
_WITH_NUMBER: Final = re.compile(r"(.{1,4096}?):(\d{1,8}):(.*)")
_CONTEXT: Final = re.compile(r"(.{1,4096}?)-(\d{1,8})-(.*)")
_NUMBER_FIRST: Final = re.compile(r"(\d{1,8})[:-](.*)")
_BLAME: Final = re.compile(
    r"\^?([0-9a-f]{7,40}) +(?:\S{1,512} +)?\((.{0,100}?) +(\d{4}-\d\d-\d\d)"
    r"(?: (\d\d:\d\d:\d\d) ([+-]\d{4}))? +(\d{1,8})\) ?(.*)"
)
_COMMIT: Final = re.compile(r"commit ([0-9a-f]{7,64})(?: \(.{0,400}\))?")
_AUTHOR: Final = re.compile(r"Author: +(.{1,200}?)(?: <.{0,320}>)?")
_DATE: Final = re.compile(r"(?:Author|Commit)?Date: +(.{1,60})")
_ONELINE: Final = re.compile(r"(?:[*|\\/] ?)*([0-9a-f]{7,40})\b(.*)")
_WINDOW: Final = re.compile(r"\[File: (.{1,4096}) \(\d{1,9} lines total\)\]")
_FOUND: Final = re.compile(r'Found \d{1,9} matches for ".{0,1000}" in (.{1,4096}):')
_FOUND_LINE: Final = re.compile(r"Line (\d{1,8}):(.*)")
_COUNTED: Final = re.compile(r"(.{1,4096}) \(\d{1,9} matches\)")
_ISO: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d) ?(Z|[+-]\d\d:?\d\d)?)?")


def seen(look: Look, result: str, at: int | None = None, read_file: ReadFile | None = None) -> LookResult:
    """A look with what came back of it. `at` is in Unix milliseconds; `read_file` gives files below the root."""
    text = _without_reminders(result[:MAX_RESULT]).replace("\r\n", "\n")
    if look.between is not None:
        own = None if len(result) > MAX_RESULT else _own_part(text, look.between)
        look, text = look._replace(alone=own is not None, between=None), text if own is None else own
    if look.substrate_class in (LOG, MTIME) and look.form != "blame":
        text = text if look.alone else ""
        return LookResult(look, (), _commits(text) if look.form == "log" else (), text[:MAX_EXTRA], at)
    if look.form == "other":
        return LookResult(look, (), (), text[:MAX_EXTRA], at)
    if not look.alone:
        return _among_others(look, text, at, read_file)
    lines = _READERS[look.form](look, text.split("\n")[:MAX_LINES])
    if look.form == "window":  # the result says of which file it is; without that nothing was looked at
        look = look._replace(locator={"path": lines[0].path} if lines else {})
    commits = _blamed(text) if look.substrate_class == LOG else ()
    return LookResult(_with_lines(look, lines), tuple(lines), commits, "", at)


def _without_reminders(text: str) -> str:
    """The result without what a framework appended for its model."""
    place = text.rfind(_REMINDER)
    while place >= 0 and text.rstrip().endswith("</system-reminder>"):
        text = text[:place].rstrip("\n")
        place = text.rfind(_REMINDER)
    return text


def _own_part(text: str, between: Between) -> str | None:
    """The part of a result that stands between these marks; None where it is not certain which that is.

    Each mark is printed once for each time that it stands among them. So where it stands in the result as often, no
    line of a file is one. What was cut, or failed, may have another number of lines than it seems.
    """
    rows = text.split("\n")
    marks = set(between.marks)
    places = [place for place, row in enumerate(rows) if row in marks]
    if tuple(rows[place] for place in places) != between.marks or any(_CUT.fullmatch(row) for row in rows):
        return None
    ends = [-1, *places, len(rows)]
    own = rows[ends[between.place] + 1 : ends[between.place + 1]]
    if any(_FAILED.match(row) for row in own):
        return None
    last = between.place == len(places)
    return "\n".join(own) if last or not own else "\n".join(own) + "\n"


def _among_others(look: Look, text: str, at: int | None, read_file: ReadFile | None) -> LookResult:
    """A look whose lines stand somewhere in the result of several."""
    path = look.path
    if look.form == "matches":
        matches = [one for one in _matches(look, text.split("\n")[:MAX_LINES]) if one.number is not None and one.path]
        return LookResult(look, tuple(_standing(matches, read_file)), (), "", at)
    content = None if path is None or read_file is None or look.substrate_class != READ else read_file(path)
    if content is None or path is None:
        return LookResult(look, (), (), "", at)
    every = content.split("\n")
    first, last = look.locator.get("lines") or (look.first or 1, len(every))
    wanted = every[first - 1 : last]
    if look.form != "text" or not (inner := "\n".join(wanted).strip("\n")) or inner not in text:
        return LookResult(look, (), (), "", at)
    lines = [Line(path, number, line) for number, line in enumerate(wanted[:MAX_LINES], first)]
    return LookResult(_with_lines(look, lines), tuple(lines), (), "", at)


def _standing(lines: Sequence[Line], read_file: ReadFile | None) -> list[Line]:
    """Those lines that stand in their files, as far as these are at hand: any other may be of whatever else ran."""
    if read_file is None:
        return []
    known: dict[str, frozenset[str]] = {}
    for path in {line.path for line in lines}:
        content = read_file(path)
        known[path] = frozenset() if content is None else frozenset(content.replace("\r\n", "\n").split("\n"))
    return [line for line in lines if line.text in known.get(line.path, ())]


def _with_lines(look: Look, lines: Sequence[Line]) -> Look:
    """The look at the lines that came back, where they follow one another and are known."""
    if look.substrate_class != READ or not lines or any(line.number is None for line in lines):
        return look
    first, last = lines[0].number or 1, lines[-1].number or 1
    if last - first + 1 != len(lines):
        return look
    return look._replace(locator={**look.locator, "lines": [first, last]}, first=first)


def _text(look: Look, rows: list[str]) -> list[Line]:
    rows = rows[:-1] if rows and not rows[-1] else rows
    found: list[Line] = []
    number = look.first
    for row in rows:
        if _CUT.fullmatch(row):
            number = None  # nobody knows how many lines are left out
            continue
        found.append(Line(look.path or "", number, row))
        number = None if number is None else number + 1
    return found


def _numbered(look: Look, rows: list[str]) -> list[Line]:
    """Rows whose numbers follow one another; what stands before and behind them is the tool's."""
    path = look.path or ""
    found: list[Line] = []
    wanted = 0
    for row in rows:
        match = _NUMBERED.fullmatch(row)
        number = 0 if match is None else int(match[1])
        if match is None or (found and number != wanted):
            if found:
                break
            continue
        found.append(Line(path, number, match[2]))
        wanted = number + 1
    return found


def _file(look: Look, rows: list[str]) -> list[Line]:
    """Numbered rows where the first one is the file's first, or they are most of the result; else the rows as they are.

    A file that came without numbers may hold such rows itself.
    """
    found = _numbered(look, rows)
    begins = bool(found) and found[0].number == look.first and _NUMBERED.fullmatch(rows[0]) is not None
    return found if begins or 2 * len(found) > sum(not row.isspace() for row in rows if row) else _text(look, rows)


def _unnumbered(look: Look, rows: list[str]) -> list[Line]:
    matches = (_UNNUMBERED.fullmatch(row) for row in rows)
    return [Line(look.path or "", None, match[1]) for match in matches if match is not None]


def _matches(look: Look, rows: list[str]) -> list[Line]:
    """Rows of a search. A path is taken for one where it lies within what was searched."""
    single = look.within[0] if len(look.within) == 1 else look.path
    found: list[Line] = []
    for row in rows:
        match = _WITH_NUMBER.fullmatch(row) or _CONTEXT.fullmatch(row)
        path = None if match is None else _searched(match[1], look)
        if match is not None and path is not None:
            found.append(Line(path, int(match[2]), match[3]))
            continue
        before, colon, behind = row.partition(":")
        path = _searched(before, look) if colon else None
        if path is not None and ("/" in before or "." in before):
            found.append(Line(path, None, behind))
        elif single is not None and (match := _NUMBER_FIRST.fullmatch(row)) is not None:
            found.append(Line(single, int(match[1]), match[2]))
        elif single is not None and "." in single.rpartition("/")[2] and row not in ("--", ""):
            found.append(Line(single, None, row))
    return found


def _searched(path: str, look: Look) -> str | None:
    """A path that a row begins with, relative to the root, where the search could have found it."""
    found = below(path, look.root, look.cwd)
    if found is None or found == "." or " " in found:
        return None
    if not look.within:
        return found
    inside = [one for one in look.within if found == one or found.startswith(one.rstrip("/") + "/")]
    return found if inside else None


def _files(look: Look, rows: list[str]) -> list[Line]:
    found = (_searched(row.strip(), look) for row in rows if row.strip())
    return [Line(path, None, "") for path in found if path is not None]


def _window(look: Look, rows: list[str]) -> list[Line]:
    """The lines below the first row that names their file."""
    for place, row in enumerate(rows):
        match = _WINDOW.fullmatch(row)
        if match is not None:
            path = below(match[1], look.root, look.cwd)
            inner = look._replace(locator={"path": path})
            return [] if path in (None, ".") else _numbered(inner, rows[place + 1 :])
    return []


def _found(look: Look, rows: list[str]) -> list[Line]:
    """The lines below the first row that names their file."""
    for place, row in enumerate(rows):
        match = _FOUND.fullmatch(row)
        if match is not None:
            path = _searched(match[1], look)
            matches = (_FOUND_LINE.fullmatch(one) for one in rows[place + 1 :])
            return [] if path is None else [Line(path, int(one[1]), one[2]) for one in matches if one is not None]
    return []


def _counted(look: Look, rows: list[str]) -> list[Line]:
    matches = (_COUNTED.fullmatch(row) for row in rows)
    found = (_searched(match[1], look) for match in matches if match is not None)
    return [Line(path, None, "") for path in found if path is not None]


def _of_blame(look: Look, rows: list[str]) -> list[Line]:
    matches = (_BLAME.fullmatch(row) for row in rows)
    return [Line(look.path or "", int(match[6]), match[7]) for match in matches if match is not None]


_READERS: Final[Mapping[Form, Callable[[Look, list[str]], list[Line]]]] = {
    "text": _text,
    "numbered": _numbered,
    "file": _file,
    "unnumbered": _unnumbered,
    "matches": _matches,
    "files": _files,
    "paths": _files,
    "window": _window,
    "found": _found,
    "counted": _counted,
    "blame": _of_blame,
}


def _commits(text: str) -> tuple[Commit, ...]:
    """The commits of `git log` or `git show`: in full, or one a line with whatever its format shows."""
    rows = text.split("\n")[:MAX_LINES]
    found: list[Commit] = []
    if any(_COMMIT.fullmatch(row) for row in rows[:1]):
        for row in rows:
            if (match := _COMMIT.fullmatch(row)) is not None:
                found.append(Commit(match[1]))
            elif found and not found[-1].author and (match := _AUTHOR.fullmatch(row)) is not None:
                found[-1] = found[-1]._replace(author=match[1])
            elif found and found[-1].date is None and (match := _DATE.fullmatch(row)) is not None:
                found[-1] = found[-1]._replace(date=time_of(match[1]))
            if len(found) > MAX_COMMITS:
                break
        return tuple(found[:MAX_COMMITS])
    for row in rows[:MAX_COMMITS]:
        if (match := _ONELINE.fullmatch(row)) is not None:
            found.append(Commit(match[1], "", time_of(match[2])))
    return tuple(found)


def _blamed(text: str) -> tuple[Commit, ...]:
    found: dict[str, Commit] = {}
    for row in text.split("\n")[:MAX_LINES]:
        match = _BLAME.fullmatch(row)
        if match is not None and len(found) < MAX_COMMITS:
            found.setdefault(match[1], Commit(match[1], match[2], time_of(f"{match[3]} {match[4]} {match[5]}")))
    return tuple(found.values())


def time_of(text: str) -> datetime | None:
    """A time as git or stat writes it, or ISO 8601, in UTC; of a day alone its beginning. None where there is none."""
    match = _ISO.search(text)
    try:
        if match is None:
            return datetime.strptime(text.strip(), "%a %b %d %H:%M:%S %Y %z").astimezone(UTC)
        zone = match[3] or "Z"
        whole = f"{match[1]}T{match[2] or '00:00:00'}"
        found = datetime.fromisoformat(whole).replace(tzinfo=UTC)
        if zone != "Z":
            sign = -1 if zone[0] == "+" else 1
            found += sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        return found
    except (ValueError, OverflowError):
        return None
