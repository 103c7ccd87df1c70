"""What `grep`, `rg` and `git grep` looked for, and in which files, told from their words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .call_paths import below
from .command_options import Given, given
from .looks import GREP, Look
from .search_patterns import pattern_locator

_VALUED: Final = {"grep": "ABCDdefm", "git grep": "ABCefmO", "rg": "ABCEefgjmMrtT"}
_LONG: Final = (
    "regexp",
    "file",
    "max-count",
    "context",
    "after-context",
    "before-context",
    "include",
    "exclude",
    "exclude-dir",
) + ("glob", "iglob", "type", "type-not", "max-depth", "max-columns", "threads", "sort", "encoding", "replace", "label")
_OTHER: Final = (
    # not the matching lines, or not those of the pattern
    ("v", "invert-match", "L", "files-without-match", "f", "file", "o", "only-matching", "r!", "replace", "files")
    + (
        "json",
        "vimgrep",
        "U",
        "multiline",
        "P",
        "perl-regexp",
        "passthru",
        "z",
        "null-data",
        "and",
        "or",
        "not",
        "stats",
    )
)
_UNORDERED: Final = ("q", "quiet", "silent", "c", "count", "count-matches")


def grep_looks(program: str, words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    """The look of a search, one for all files that it was given.

    Args:
        program: `grep`, `egrep`, `fgrep`, `rg` or `git grep`.
        words: behind its name.
        cwd: where it runs.
        root: of the repository.
    """
    kind = "grep" if program in ("grep", "egrep", "fgrep") else program
    arguments = given(words, _VALUED[kind], _LONG)
    patterns = [value for name, value in arguments.options if name in ("e", "regexp")]
    operands = list(arguments.operands)
    if not patterns and operands:
        patterns = [operands.pop(0)]
    if len(patterns) != 1 or _is_other(kind, arguments) or arguments.has(*_UNORDERED):
        return []
    locator = _pattern(program, kind, arguments, patterns[0])
    paths = [below(path, root, cwd) for path in operands]
    if not operands:
        if kind == "grep" and not arguments.has("r", "R", "recursive"):
            return []  # what comes through a pipe
        paths = [below(".", root, cwd)]
    if locator is None or None in paths:
        return []
    form = "files" if arguments.has("l", "files-with-matches") else "matches"
    within = tuple(path for path in paths if path is not None)
    return [Look(GREP, locator, form, None, () if within == (".",) else within, root, cwd)]


def _is_other(kind: str, arguments: Given) -> bool:
    others = [name for name in _OTHER if not (name == "r!" or (kind != "rg" and name == "replace"))]
    return arguments.has(*others) or (kind == "rg" and arguments.has("r"))


def _pattern(program: str, kind: str, arguments: Given, pattern: str) -> dict[str, Any] | None:
    fixed = program == "fgrep" or arguments.has("F", "fixed-strings")
    basic = kind != "rg" and program != "egrep" and not arguments.has("E", "extended-regexp")
    fold = arguments.has("i", "ignore-case") or (arguments.has("S", "smart-case") and pattern == pattern.lower())
    return (
        pattern_locator(pattern, fixed=fixed, basic=basic, word=arguments.has("w", "word-regexp"), fold=fold)
        if not arguments.has("x", "line-regexp")
        else None
    )
