"""Checks as text: their opposites, and the same with another argument or file."""

from __future__ import annotations

import re
from typing import Any

from oracle_checks import Parsed, spelled
from oracle_values import Word

CONTENT = frozenset(
    ("absent", "calls", "compare", "contains", "count", "defines", "equals", "imports", "order", "returns", "uses")
)
"""Checks on content that name their file by `path`."""


def opposite(check: str) -> str | None:
    """The check that holds where this one is false; None where there is none."""
    if check.startswith("not "):
        return check.removeprefix("not ")
    for one, other in (("exists(", "missing("), ("missing(", "exists("), ("absent(", "contains(")):
        if check.startswith(one):
            return other + check.removeprefix(one)
    return None if check.startswith("contains(") else f"not {check}"


def with_path(check: str, path: str, other: str) -> str | None:
    """The check about another file; None for one that does not name the file."""
    if path not in check:
        return None
    return check.replace(f"path={path}", f"path={other}").replace(f"line({path},", f"line({other},")


def replaced(check: Parsed, slot: int | str, new: str) -> str:
    """The check with one argument replaced: by its place, or by its key."""
    old = check.named[slot] if isinstance(slot, str) else check.arguments[slot]
    word = isinstance(old, Word) and re.fullmatch(r"[A-Za-z0-9_.\-+/:$]+|[!<>]?=|[<>]", new) is not None
    value: Any = Word(new) if word else new
    if isinstance(slot, str):
        return spelled(check._replace(named={**check.named, slot: value}))
    return spelled(check._replace(arguments=[*check.arguments[:slot], value, *check.arguments[slot + 1 :]]))


def argument(value: str) -> str:
    """An argument as a check writes it."""
    if not re.fullmatch(r"[A-Za-z0-9_.\-+/:$]+", value):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value
