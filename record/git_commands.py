"""What `git log`, `show`, `blame` and `grep` looked at, told from their words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from ..streams.judging.lexicon import EXTENSIONS
from .call_paths import below, folder
from .command_options import given
from .looks import LOG, READ, Look
from .searches import grep_looks

_HASH: Final = re.compile(r"[0-9a-f]{7,40}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,200}")
_HEAD: Final = re.compile(r"(?:HEAD|@)(?:[~^]\d*)*")
_RANGE: Final = re.compile(r"(\d{1,7}),(\d{1,7})")
_ELSEWHERE: Final = frozenset(
    ("all", "branches", "remotes", "tags", "reflog", "walk-reflogs", "glob", "stdin", "cherry-pick")
)
_LOG_VALUES: Final = "nSGLO"
_LOG_LONG: Final = (
    "max-count",
    "skip",
    "since",
    "after",
    "until",
    "before",
    "author",
    "committer",
    "grep",
    "format",
    "pretty",
    "date",
) + ("diff-filter", "encoding", "color", "word-diff-regex")


def git_looks(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    """The looks of a git command.

    Args:
        words: behind `git`.
        cwd: where it runs.
        root: of the repository.
    """
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-C" and rest:
            cwd = folder(rest.pop(0), cwd)
            if cwd is None:
                return []
        elif option == "-c" and rest:
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--literal-pathspecs"):
            return []
    if not rest or (below(".", root, cwd) is None):
        return []
    command, *rest = rest
    match command:
        case "log" | "shortlog" | "whatchanged":
            return _log(rest, cwd, root)
        case "show":
            return _show(rest, cwd, root)
        case "blame" | "annotate":
            return _blame(rest, cwd, root)
        case "grep":
            return grep_looks("git grep", rest, cwd, root)
        case _:
            return []


def _log(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, _LOG_VALUES, _LOG_LONG)
    revisions = [
        word for word in arguments.operands[: len(arguments.operands) - len(arguments.behind)] if not _is_file(word)
    ]
    paths = [word for word in arguments.operands if word not in revisions]
    locator: dict[str, Any] = {}
    if len(revisions) > 1:
        return []
    if revisions and not _HEAD.fullmatch(revisions[0]):
        if ".." in revisions[0] or _HASH.fullmatch(revisions[0]) or not _NAME.fullmatch(revisions[0]):
            return []
        locator["ref"] = revisions[0]
    if len(paths) == 1:
        path = below(paths[0], root, cwd)
        if path is None:
            return []
        locator |= {} if path == "." else {"path": path}
    reachable = not locator.get("ref") and not arguments.has(*_ELSEWHERE, "g")
    return [Look(LOG, locator, "log", reachable=reachable)]


def _is_file(word: str) -> bool:
    """Whether a word that may be a revision or a path is a path: by its ending."""
    return ".." not in word and word.rpartition(".")[2].lower() in EXTENSIONS and "." in word.rpartition("/")[2]


def _show(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, "n", _LOG_LONG)
    before = arguments.operands[: len(arguments.operands) - len(arguments.behind)]
    if len(before) > 1 or len(arguments.behind) > 1:
        return []
    named = before[0] if before else "HEAD"
    revision, colon, inside = named.partition(":")
    where: dict[str, Any] = {}
    if _HASH.fullmatch(revision):
        where["commit"] = revision
    elif not _HEAD.fullmatch(revision):
        if not _NAME.fullmatch(revision):
            return []
        where["ref"] = revision
    elif revision not in ("HEAD", "@"):
        return []  # `HEAD~3` is another commit by the time that somebody looks
    if colon:
        # A path behind a revision is one of the root, unless it begins with `./`.
        path = below(inside, root, cwd if inside.startswith("./") else root)
        ref = {} if where else {"ref": "HEAD"}
        return [] if path in (None, ".") else [Look(READ, {"path": path, **where, **ref}, "text")]
    if arguments.behind:
        path = below(arguments.behind[0], root, cwd)
        if path is None:
            return []
        where |= {"path": path}
    return [Look(LOG, where, "log", reachable=not where.get("ref") and "commit" not in where)]


def _blame(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, "LCMS", ("since", "ignore-rev", "contents"))
    paths = arguments.behind or arguments.operands[-1:]
    if len(arguments.operands) != 1 or not arguments.only("LCMwlfnse", "date", "color-lines"):
        return []
    path = below(paths[0], root, cwd)
    if path in (None, "."):
        return []
    locator: dict[str, Any] = {"path": path}
    lines = arguments.value("L")
    found = None if lines is None else _RANGE.fullmatch(lines)
    if found is not None:
        locator["lines"] = [int(found[1]), int(found[2])]
    return [Look(LOG, {"path": path}, "blame"), Look(READ, locator, "blame")]
