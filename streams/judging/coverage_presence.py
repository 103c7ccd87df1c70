"""Whether any argument of a check stands in a sentence: where none does, the check is not bound to it (docs/checks.md).

Laxer than coverage, and only asked before it: the argument has to stand there, not to be said of anything. The path,
the symbol and the lines that a check on content looks at bind nothing, and neither do bare words that say nothing. The
sentence is taken apart once, for all of its checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from ...codecs.unicode_text import nfkc
from .checks import TABLE, Check, Kind, Value
from .coverage_arguments import RESERVED, components, is_commit, is_set_off, spoken
from .coverage_tokens import Token
from .coverage_values import number_in, says_value
from .named_times import Stretch, read_named_time

_SCOPE: Final = frozenset(("path", "in", "lines"))
_WORDS: Final = re.compile(r"[^\W_]+")


class Presence:
    """What stands in one sentence.

    Args:
        sentence: as it was emitted.
        tokens: the same, taken apart.
    """

    def __init__(self, sentence: str, tokens: Sequence[Token]) -> None:
        self._sentence, self._tokens = sentence, tokens
        self._texts: set[str] = set()
        self._numbers: set[Value] = set()
        for token in tokens:
            if token.kind == "mark" or (token.kind == "word" and token.key in RESERVED):
                continue
            text = token.text
            self._texts.update(
                (text, text.removesuffix("()"), text.removeprefix("./").rstrip("/"), text.partition(":")[0])
            )
            number = number_in(token)
            if number is not None:
                self._numbers.add(number)

    def of(self, check: Check) -> bool:
        """Whether an argument of the check stands there."""
        return any(self._holds(name, kind, value) for name, kind, value in _arguments(check))

    def _holds(self, parameter: str, kind: Kind, value: Value) -> bool:
        if not isinstance(value, str):
            return self._holds_value(value)
        if kind is Kind.TIME:
            time = read_named_time(value)
            return time is not None and time in self._times
        if parameter in ("commit", "hash"):
            return any(is_commit(token, value) for token in self._tokens)
        if value in self._texts:
            return True
        if kind is Kind.PATH:
            parts = value.removeprefix("./").rstrip("/").split("/")
            return any("/".join(parts[place:]) in self._texts for place in range(max(0, len(parts) - 64), len(parts)))
        if kind is Kind.NAME:
            return self._holds_name(value)
        if kind is Kind.VALUE and self._holds_value(value):
            return True
        if value.lower() in RESERVED:
            return False
        words = _plain(value)
        return words in self._plain if words.strip() else value in self._sentence

    def _holds_name(self, name: str) -> bool:
        parts = components(name)[-16:]
        if any(".".join(parts[place:]) in self._texts for place in range(len(parts))):
            return True
        words = spoken(name)[:1]
        return bool(words) and not RESERVED.issuperset(words[0]) and f" {' '.join(words[0])} " in self._plain

    def _holds_value(self, value: Value) -> bool:
        if isinstance(value, bool) or value is None:
            return not self._texts.isdisjoint(_SPELLED[value])
        if isinstance(value, tuple | str):
            return any(
                next(says_value(self._tokens, place, value), None) is not None
                for place, token in enumerate(self._tokens)
                if is_set_off(token) or token.kind == "moment" or token.text[:1].isdigit()
            )
        return value in self._numbers

    @cached_property
    def _times(self) -> frozenset[Stretch]:
        spans = (read_named_time(one.text) for one in self._tokens if one.kind == "moment" or is_set_off(one))
        return frozenset(span for span in spans if span is not None)

    @cached_property
    def _plain(self) -> str:
        return _plain(self._sentence)


def _plain(text: str) -> str:
    """The words of a text in lower case, with one space around each."""
    return f" {' '.join(_WORDS.findall(nfkc(text).casefold()))} "


_SPELLED: Final = {True: ("True", "true"), False: ("False", "false"), None: ("None", "null", "nil")}


def _arguments(check: Check) -> Iterator[tuple[str, Kind, Value]]:
    """What binds a check to a sentence: what it says, not where it looks."""
    signature = TABLE[check.name]
    given = [*zip(signature.parameters, check.arguments, strict=False)]
    named = {one.name: one for one in signature.named}
    given += [(named[name], value) for name, value in check.named if name not in _SCOPE]
    for parameter, value in given:
        if parameter.kind not in (Kind.OPERATOR, Kind.SYMBOL_KIND):
            yield parameter.name, parameter.kind, value
