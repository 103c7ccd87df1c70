"""Checks as the oracle reads them, and quotes as it finds them: a parser of its own, not the product's."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from oracle_values import Word

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
INVERSE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Parsed(NamedTuple):
    """A check as it is written: arguments are words, strings, operators, or lists of them."""

    name: str
    arguments: list[Any]
    named: dict[str, Any]
    negated: bool

    def text(self, place: int) -> str:
        """A positional argument as text."""
        return str(self.arguments[place])


_HEAD = re.compile(r"(not )?([a-z_]+)\(")
_KEY = re.compile(r"([a-z_]+)=(?=[^=])")
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")|([!<>]=|[=<>])|([A-Za-z0-9_.\-+/:$]+)|(\[)|(\])|(,\s*)')


def parse(text: str) -> Parsed | None:
    """The check, or None where it is none."""
    head = _HEAD.match(text)
    if head is None or not text.endswith(")"):
        return None
    at, end = head.end(), len(text) - 1
    arguments: list[Any] = []
    keys: dict[str, Any] = {}
    stack: list[list[Any]] = [arguments]
    key = ""
    while at < end:
        found = _KEY.match(text, at) if len(stack) == 1 else None
        if found is not None:
            key, at = found[1], found.end()
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        value: Any
        if token[1]:
            try:
                value = json.loads(token[1])
            except ValueError:
                return None
        elif token[2] or token[3]:
            value = Word(token[2] or token[3])
        elif token[4]:
            stack.append([])
            continue
        elif token[5]:
            value = stack.pop()
        else:
            continue
        if len(stack) == 1 and key:
            keys[key], key = value, ""
        else:
            stack[-1].append(value)
    return Parsed(head[2], arguments, keys, bool(head[1])) if len(stack) == 1 else None


def spelled(check: Parsed) -> str:
    """The check as text again."""
    written = [_written(one) for one in check.arguments] + [
        f"{key}={_written(one)}" for key, one in check.named.items()
    ]
    return f"{'not ' if check.negated else ''}{check.name}({', '.join(written)})"


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return str(value) if isinstance(value, Word) else json.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------- text


def collapsed(text: str) -> str:
    """Every run of white space as one space."""
    return " ".join(text.split())


def stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, cutting neither a word nor a number at its ends."""
    quote, text = collapsed(quote), collapsed(text)
    return bool(quote) and bounded(quote).search(text) is not None


@cache
def bounded(quote: str) -> re.Pattern[str]:
    """The pattern of a quote whose ends cut nothing."""
    before = r"(?<![\w])" if re.match(r"\w", quote) else ""
    after = r"(?![\w])" if re.search(r"\w\Z", quote) else ""
    if quote[:1].isdigit():
        before = r"(?<![\w])(?<!\d\.)"
    if quote[-1:].isdigit():
        after = r"(?![\w])(?!\.\d)"
    return re.compile(before + re.escape(quote) + after)
