"""What a search looked for, as the observers' grep reads it: a fixed string, or an expression of RE2."""

from __future__ import annotations

import re
from typing import Any, Final

MAX_PATTERN: Final = 1_000
"""Characters of a pattern, as for observers."""
_NO_PATTERN: Final = re.compile("[\n\0\ud800-\udfff]")
_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")
_SPECIAL_BASIC: Final = re.compile(r"[\\^$.*\[]")
_MARK: Final = re.compile(r"\\([^\w\s])")
"""A backslash before what is no letter: the character itself, but for those that mean more in a basic expression."""
_BASIC: Final = {"(": "(", ")": ")", "|": "|", "+": "+", "?": "?", "{": "{", "}": "}", "<": r"\b", ">": r"\b"}
"""What stands behind a backslash in a basic expression of GNU's, and what RE2 writes for it."""
_ESCAPED: Final = frozenset(".*[]\\$^/-\"'`bwWsSdD")
_NOT_RE2: Final = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9kGZKR]")


def pattern_locator(
    pattern: str, *, fixed: bool, basic: bool, word: bool = False, fold: bool = False
) -> dict[str, Any] | None:
    """The members of a locator; None where the pattern is none that RE2 reads alike.

    Args:
        pattern: as it was given.
        fixed: it stands for itself.
        basic: it is one of POSIX's basic expressions, as grep reads them without an option.
        word: whole words alone match.
        fold: letter case is ignored.
    """
    if not pattern or len(pattern) > MAX_PATTERN or _NO_PATTERN.search(pattern):
        return None
    plain = pattern if fixed else _plain(pattern, basic)
    if plain is not None:
        pattern = plain
        written = re.escape(pattern) if word or fold else pattern
        is_regex = word or fold
    else:
        found = _of_basic(pattern) if basic else pattern
        if found is None or _NOT_RE2.search(found):
            return None
        written, is_regex = found, True
    if word:
        written = rf"\b(?:{written})\b"
    if fold:
        written = f"(?i){written}"
    return {"pattern": written, "regex": True} if is_regex else {"pattern": written}


def _plain(pattern: str, basic: bool) -> str | None:
    """What an expression means that stands for one string; None where it does for more."""
    special = _SPECIAL_BASIC if basic else _SPECIAL
    if special.search(_MARK.sub("", pattern)) or (basic and any(one in _BASIC for one in _MARK.findall(pattern))):
        return None
    return _MARK.sub(r"\1", pattern)


def _of_basic(pattern: str) -> str | None:
    """A basic expression as an extended one."""
    pieces: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        one = pattern[at]
        if one == "\\":
            behind = pattern[at + 1 : at + 2]
            if behind in _BASIC and behind:
                pieces.append(_BASIC[behind])
            elif behind in _ESCAPED and behind:
                pieces.append(one + behind)
            else:
                return None
            at += 2
            continue
        if one == "[" and not inside:
            inside = True
        elif one == "]":
            inside = False
        pieces.append("\\" + one if one in "(){}|+?" and not inside else one)
        at += 1
    return "".join(pieces)
