"""Looks: what a tool's call saw of a workspace (files, lines, searches, runs), and the paths in calls."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from importlib import resources
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

Data = TypeVar("Data")

NOWHERE: Final = "//nowhere"
"""The folder of a shell behind a `cd` that nobody can follow: no relative path is known there."""
MAX_PATH: Final = 4_096
"""Characters of a path."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")


def below(path: str, root: str | None, cwd: str | None) -> str | None:
    """A path relative to the root; `.` for the root itself, None where it is outside or unclear.

    Root and `cwd`, where the call was made, are absolute; one that is None is taken to be the other.
    """
    if not path or len(path) > MAX_PATH or path.startswith("~") or _CONTROL.search(path):
        return None
    base, folder = root or cwd, cwd or root
    if not path.startswith("/"):
        if cwd == NOWHERE:
            return None
        if folder is None:
            return _inside(posixpath.normpath(path))
        path = posixpath.join(folder, path)
    if base is None:
        return None
    path, base = posixpath.normpath(path), posixpath.normpath(base)
    if path == base:
        return "."
    return _inside(path[len(base.rstrip("/")) + 1 :]) if path.startswith(base.rstrip("/") + "/") else None


def _inside(path: str) -> str | None:
    parts = path.split("/")
    return None if path.startswith("/") or ".." in parts or ".git" in parts else path


def folder(path: str, cwd: str | None) -> str | None:
    """Where a shell is after `cd path`; None where nobody can tell."""
    if not path or path.startswith(("~", "-")) or len(path) > MAX_PATH or _CONTROL.search(path):
        return None
    if path.startswith("/"):
        return posixpath.normpath(path)
    return None if cwd is None else posixpath.normpath(posixpath.join(cwd, path))


def packaged_data(name: str, form: type[Data]) -> Data:
    """A TOML file of `record/data`, as a struct."""
    return msgspec.convert(
        tomllib.loads(resources.files("sluice.record").joinpath("data", name).read_text("utf-8")), form
    )


READ: Final = "substrate.code.read"
GREP: Final = "substrate.grep"
LOG: Final = "substrate.git.log"
MTIME: Final = "substrate.fs.mtime"
BRIEF: Final = "substrate.mcp.brief"

Form = Literal[
    "text",  # the lines as they are
    "numbered",  # each behind its number: `cat -n`, editors
    "file",  # each behind its number, or as they are: whoever runs the tool decides
    "unnumbered",  # behind numbers that are none of the file's: `nl` passes empty lines over
    "matches",  # of a search: `path:number:text`, `path:text`, `number:text`
    "files",  # paths alone
    "paths",  # paths alone, of files that nobody read
    "window",  # SWE-agent's: the file's name, then its lines behind their numbers
    "found",  # SWE-agent's `search_file`: the file's name, then `Line 3:text`
    "counted",  # SWE-agent's `search_dir`: `path (3 matches)`
    "log",  # commits
    "blame",  # commit, author, day, number and text of each line
    "stat",  # times of a file
    "other",  # whatever a server answers
]


class Between(NamedTuple):
    """Where in a result a look's own part stands, of which nothing else wrote a line.

    Attributes:
        marks: the lines that the call printed besides, in their order: those of `echo "---"`.
        place: how many of them stand before that part.
    """

    marks: tuple[str, ...]
    place: int


class Look(NamedTuple):
    """One place that a call looked at.

    Attributes:
        substrate_class: of the vocabulary, without its version.
        locator: as the observers of that class read it (observing.md); paths are relative to the root.
        form: how the result is laid out: `log`, `matches`, `window`, `text`, … (call_results.py).
        first: number of the first line that comes back of a file, where that is known.
        within: of a search, the paths that it was given; empty for all files below its folder.
        root, cwd: the repository's folder and the call's, absolute, by which paths in the result are told.
        alone: nothing else wrote into the same result.
        reachable: of history, that it is what HEAD reaches: only then may a commit of it be declared.
        between: which part of the result is this look's alone, where that can be told.
    """

    substrate_class: str
    locator: Mapping[str, Any]
    form: Form = "text"
    first: int | None = 1
    within: tuple[str, ...] = ()
    root: str | None = None
    cwd: str | None = None
    alone: bool = True
    reachable: bool = True
    between: Between | None = None

    @property
    def path(self) -> str | None:
        """The file that the locator names, if it names one."""
        path = self.locator.get("path")
        return path if isinstance(path, str) else None


class Line(NamedTuple):
    """One line that came back.

    Attributes:
        path: of the file, relative to the root; empty where the line is of no file.
        number: from 1; None where the result does not tell.
        text: the file's own line, without what the tool wrote before it.
    """

    path: str
    number: int | None
    text: str


class Commit(NamedTuple):
    """A commit that came back. `author` is empty and `date` None where the result does not tell them."""

    name: str
    author: str = ""
    date: datetime | None = None


class LookResult(NamedTuple):
    """A look and its result.

    Attributes:
        look: where.
        lines: what came back of files, in order.
        commits: what came back of history, newest first.
        extra: other text of the result: what a server answered, what a log says.
        at: when the result was there, in Unix milliseconds; None where that is not known.
    """

    look: Look
    lines: tuple[Line, ...] = ()
    commits: tuple[Commit, ...] = ()
    extra: str = ""
    at: int | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that lines came back of, each once, in order."""
        found = dict.fromkeys(line.path for line in self.lines if line.path)
        return tuple(found) or ((self.look.path,) if self.look.path else ())
