"""The annotations of a statement: those of an agent that was told nothing, and those that a recorder would make.

What a bare agent attaches is a guess at habit: most often the lines that it read and a search, sometimes the history,
now and then only the file. A recorder attaches the calls that were made, with the lines that they returned. Which of
these a statement has is chosen by its identifier and stands in the corpus, so that nobody has to guess again.
"""

from __future__ import annotations

import re
from typing import Any

from choosing import number, pick
from oracle import Package
from oracle_checks import parse, stands

READ, GREP, LOG, MTIME = "substrate.code.read", "substrate.grep", "substrate.git.log", "substrate.fs.mtime"
AROUND = 12
"""Lines that an agent reads before and behind what it speaks of, at most."""
_BARE = ("read grep", "read grep", "read grep", "read grep log", "read grep log", "file log", "grep log", "read")
_RECORDED = (
    "read grep",
    "read grep",
    "read grep",
    "read grep log",
    "read grep log",
    "read grep log",
    "read log",
    "read",
)
WHOLE = ("absent(", "count(", "exists(", "missing(", "not imports(")
"""Checks on a whole file: who says so has read it, or searched it."""
MOST_LINES = 250
"""Who speaks of places further apart than this has read the file."""
_SPANS = re.compile(r"`([^`\n]+)`")


def annotated(record: dict[str, Any], package: Package) -> dict[str, Any]:
    """The record with `annotations` and `recorded`."""
    return {
        **record,
        "annotations": _annotations(record, package, pick(_BARE, "bare", record["id"]), 0),
        "recorded": _annotations(record, package, pick(_RECORDED, "recorded", record["id"]), AROUND),
    }


def _annotations(record: dict[str, Any], package: Package, which: str, around: int) -> list[dict[str, Any]]:
    if record["kind"] == "history":
        which = {"read": "log", "read grep": "log", "grep log": "log"}.get(which, "read log")
        if "modified(" in "".join(record["checks"]):
            which = "mtime log"
    elif record["look"] is None or any(name in "".join(record["checks"]) for name in WHOLE):
        which = which.replace("read", "file")
    path = record["path"]
    look = spoken_of(record, package) if record["look"] else None
    made: list[dict[str, Any]] = []
    for name in which.split():
        if name == "read" and look is not None:
            made.append(_one(READ, path=path, lines=_lines(look, record, package, around)))
        elif name in ("read", "file"):
            made.append(_one(READ, path=path))
        elif name == "grep":
            made.append(_one(GREP, pattern=pattern_of(record, package), path=path))
        elif name == "log":
            made.append(_one(LOG, path=path))
        else:
            made.append(_one(MTIME, path=path))
    return made


def _one(substrate_class: str, **locator: Any) -> dict[str, Any]:
    return {"substrate_class": substrate_class, "locator": locator}


def spoken_of(record: dict[str, Any], package: Package) -> list[int] | None:
    """The lines that a statement and its checks are about; None for the whole file."""
    path, (first, last) = record["path"], record["look"]
    all_lines = (package.text(path) or "").splitlines()
    for check in filter(None, map(parse, record["checks"])):
        if str(check.named.get("path", path)) != path or not check.arguments:
            continue
        name = str(check.arguments[0])
        extents = [(one.first, one.last) for one in package.definitions(path, name)]
        if check.name in ("contains", "order", "imports", "equals", "compare"):
            wanted = name.rpartition(".")[2] if check.name in ("equals", "compare") else name
            extents += [(place, place) for place, line in enumerate(all_lines, 1) if stands(wanted, line)][:1]
        for start, end in extents[:1]:
            first, last = min(first, start), max(last, min(end, start + MOST_LINES))
    return [first, last] if last - first <= MOST_LINES else None


def _lines(look: list[int], record: dict[str, Any], package: Package, around: int) -> list[int]:
    first, last = look
    total = len((package.text(record["path"]) or "").splitlines()) or 1
    if around:
        first -= number("before", record["id"]) % around
        last += number("behind", record["id"]) % around
    return [max(1, first), min(total, last)]


def pattern_of(record: dict[str, Any], package: Package) -> str:
    """What an agent searches the file for: a word of the statement that stands there."""
    text = package.text(record["path"]) or ""
    names = [name for span in _SPANS.findall(record["text"]) for name in re.findall(r"[A-Za-z_][\w-]{2,}", span)]
    there = [name for name in names if name in text and name not in record["path"]]
    return max(there, key=len, default="") or next(
        (name for name in names if name in text), text[:20].split("\n")[0] or "a"
    )
