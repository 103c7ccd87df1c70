"""substrate.fs.mtime: when a file was last modified, as the file system tells [S §4].

The observation id is `mtime:` and the time, RFC 3339 in UTC, to the nanosecond, without zeros at the end.
"""

from __future__ import annotations

import re

from ...streams.moments import Moment, format_ns, moments
from ...streams.terms import Content, Presence, presence
from .ask import Ask, CannotLook, Finding, Missing, judge, place_of
from .confine import Files, Root
from .git import Git

_DECLARED = re.compile(r"mtime:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


def fs_mtime(ask: Ask, root: Root, git: Git | None, files: Files) -> Finding:
    """Compares the modification time with the times that the assertion names.

    Raises:
        CannotLook: no file is named, there is none to be seen, or it must not be looked at.
    """
    path = place_of(ask, files)
    root.components(path)
    if git is not None and git.bare:
        raise CannotLook("a bare repository has no modification times")
    try:
        time = root.stat(path).st_mtime_ns
        written = format_ns(time)
    except Missing:
        missing = Presence((), tuple(term.text for term in ask.terms.terms))
        return Finding("absent", None, missing, f"there is no file {path}")
    except OverflowError:
        raise CannotLook("the modification time is one that no calendar has") from None
    seen = f"mtime:{written}"
    other = _declares_another(ask, written)
    if other and ask.ts is not None and -(-time // 1_000_000) <= ask.ts:
        return Finding(
            "unknown-observation", ask.declared, reason="nothing has written the file since the annotation's ts"
        )
    named = {one.text: one for one in reversed(moments(ask.text))}
    finding = _judge(ask, path, named, time, seen)
    if other and finding.outcome == "corroborates":
        return Finding("absent", seen, finding.presence, "the file was written since the declared observation")
    return finding


def _declares_another(ask: Ask, written: str) -> bool:
    """Whether another time is declared, at the precision at which it is declared."""
    match = _DECLARED.fullmatch(ask.declared or "")
    if match is None:
        return (ask.declared or "").startswith("mtime:")
    second, _, fraction = written.removesuffix("Z").partition(".")
    digits = (match[2] or "").rstrip("0")
    return match[1] != second or not fraction.ljust(9, "0").startswith(digits)


def _judge(ask: Ask, path: str, named: dict[str, Moment], time: int, seen: str) -> Finding:
    written = format_ns(time)
    # Beside the times themselves, nothing can be seen of a file here.
    times = f"{written} {written.replace('T', ' ').removesuffix('Z')} UTC"
    region = Content(path if ask.terms.exists else times)
    found: list[str] = []
    missing: list[str] = []
    another = other = 0
    for term in ask.terms.terms:
        moment = named.get(term.text) if term.kind == "moment" else None
        if moment is None:
            there = presence([term], region).whole
            other += not there and term.kind not in ("moment", "clock")
        else:
            there = moment.holds(time, ignore_negation=ask.denies)
            another += not there
        (found if there else missing).append(term.text)
    held = Presence(tuple(found), tuple(missing))
    if another and not ask.denies and not any(text in named for text in found):
        return Finding("contradicts", seen, held)
    if ask.denies and other and not another:
        # What a time cannot show is not shown to be untrue by it either.
        return Finding("absent", seen, held)
    return judge(ask, held, seen)
