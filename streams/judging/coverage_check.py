"""What of a clause says the arguments of one check (docs/checks.md).

`CheckArguments` is the half of a binder that knows the check's parameters. A sentence may say less than the check;
where the check denies, or speaks of the whole of its scope, it has to say the same, since less would then claim more.
Nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final, Literal

from ...codecs.unicode_text import nfkc
from .checks import TABLE, Check, Kind, Value
from .coverage_arguments import (
    RESERVED,
    Bare,
    components,
    is_camel,
    is_commit,
    is_hash_of,
    is_identifier_like,
    is_name,
    is_path,
    is_path_like,
    is_set_off,
    is_word,
    module_of,
    says_symbol,
    spoken_ends,
)
from .coverage_forms import LOOKED_UP
from .coverage_lexicon import NEGATED_OPERATOR, NOUNS, OF_NAMES, OPERATOR_WORDS, TEXT_NOUNS
from .coverage_patterns import Note, Step, Words, phrases
from .coverage_tokens import Token
from .coverage_values import CONSTANTS, is_number, number_in, says_time, says_value

Scope = Literal["file", "repository", "channel"]
"""What was looked at where no path is named: some text, every tracked file, or what a channel reports of itself."""
IN: Final[tuple[Note, ...]] = (("in", ""),)
SPOKEN: Final[tuple[Note, ...]] = (("spoken", ""),)
"""A name is said in plain words: they may be meant as the words that they are."""


class CheckArguments:
    """One check as what a clause is held against.

    Args:
        check: well formed.
        path: the file that was looked at, where the check names none.
        commit: the hash of the commit that was looked at, where one was.
        scope: what was looked at where no path is named.

    Attributes:
        denies: it holds where something is not so.
        exact: the clause has to say no less than the check.
        operator: of `equals`, `compare`, `count` and the like, with the `not` in it; empty for the others.
    """

    def __init__(self, check: Check, path: str | None = None, commit: str | None = None, scope: Scope = "file") -> None:
        self.check, self.commit, self.scope = check, commit or "", scope
        self.path = check.path or nfkc(path or "")
        operator = check.text("op") or ("=" if check.name == "equals" else "")
        self.operator = NEGATED_OPERATOR[operator] if operator and check.negated else operator
        self.denies = check.negated != (check.name in ("absent", "missing")) or self.operator == "!="
        self.exact = self.denies or check.name in ("count", "order")

    def before(self, parameter: str) -> Words:
        """See `Binder`."""
        return phrases(*self._nouns(parameter))

    def after(self, parameter: str) -> Words:
        """See `Binder`."""
        nouns = [noun for noun in self._nouns(parameter) if " " not in noun]
        return phrases(*nouns, *(OF_NAMES if parameter == "name" else ()))

    def _nouns(self, parameter: str) -> tuple[str, ...]:
        name = self.check.name
        if (name == "defines" and parameter == "symbol") or (name == "peer"):
            return ()
        if parameter == "quote" and name == "returns":
            return ("value", "expression")
        if parameter == "value":
            value = self.check.value("value")
            typed = "string" if isinstance(value, str) else "number" if is_number(value) else "value"
            return ("value", typed)
        if parameter == "name":
            return (*NOUNS["name"], *_parent_nouns(self.check.text("name")))
        if parameter == "path" and self.path.endswith(".py"):
            return (*NOUNS["path"], "module", "modules")
        return NOUNS.get(parameter, ())

    # ------------------------------------------------------------ arguments

    def argument(self, parameter: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """See `Binder`."""
        value = self.check.value(parameter)
        if at >= len(tokens) or tokens[at].kind in ("mark", "odd") or (value is None and parameter != "value"):
            return
        for end, notes in self._argument(parameter, value, tokens, at):
            yield end, (*notes, (parameter, ""))

    def _argument(self, parameter: str, value: Value, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        token, check = tokens[at], self.check
        match self._kinds.get(parameter):
            case Kind.VALUE:
                word: tuple[Note, ...] = (("word", ""),) if isinstance(value, str) and is_word(token) else ()
                yield from ((end, word) for end in says_value(tokens, at, value))
            case Kind.NUMBER:
                if number_in(token) == value:
                    yield at + 1, ()
            case Kind.TIME:
                if says_time(token, check.text(parameter)):
                    yield at + 1, ()
            case Kind.PATH:
                if self._is_argument_path(token):
                    yield at + 1, ()
            case Kind.TEXT if parameter == "author":
                yield from ((end, ()) for end in self._author(tokens, at))
            case Kind.TEXT | Kind.IDENTIFIER:
                if self._says_text(parameter, check.text(parameter), tokens, at):
                    yield at + 1, ()
            case _:
                yield from self._name(parameter, check.text(parameter), tokens, at)

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        signature = TABLE[self.check.name]
        return {one.name: one.kind for one in (*signature.parameters, *signature.named)}

    def _is_argument_path(self, token: Token) -> bool:
        path = self.check.text("path")
        if self.denies and self.check.name == "missing":  # anything at all is missing: only what looks like a path
            return token.text.removeprefix("./") == path and is_path_like(path)
        return is_path(token, path, self.exact)

    def _author(self, tokens: Sequence[Token], at: int) -> Iterator[int]:
        author = self.check.text("author")
        if is_set_off(tokens[at]) and not self.denies and tokens[at].text == author:
            yield at + 1
            return
        words = author.split(" ")
        said = tokens[at : at + len(words)]
        if [one.text for one in said] != words or any(one.kind != "word" or one.key in OPERATOR_WORDS for one in said):
            return
        if all(word[:1].isupper() or "@" in word for word in words):
            yield at + len(words)

    def _says_text(self, parameter: str, text: str, tokens: Sequence[Token], at: int) -> bool:
        token = tokens[at]
        if token.text != text:
            return False
        has_noun = at > 0 and tokens[at - 1].key in TEXT_NOUNS
        if self.check.name in ("introduced", "removed") and is_path_like(text) and not has_noun:
            return False  # «adds `a.py`» says that of the file
        if token.kind == "word":
            literal = self.check.name == "returns" and (number_in(token) is not None or text in CONSTANTS)
            return literal or ("_" in text.strip("_") and token.key not in OPERATOR_WORDS)
        if not self.denies:
            return is_set_off(token)
        # Nothing has to be there for a denial to hold: prose in code or quotation marks would be said with it.
        return has_noun or is_snippet(text) or (token.kind == "code" and " " not in text)

    def _name(self, parameter: str, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        token, check = tokens[at], self.check
        if parameter in ("commit", "hash"):
            if is_commit(token, name) or (is_commit(token, self.commit) and is_hash_of(name, self.commit)):
                yield at + 1, ()
        elif parameter == "user" and check.name == "peer":
            if token.text == name and (is_set_off(token) or (token.kind == "word" and token.key not in OPERATOR_WORDS)):
                yield at + 1, ()
        elif parameter == "module":
            if self._says_module(token, name):
                yield at + 1, ()
        elif parameter == "symbol" and check.text("kind") == "section":
            yield from self._section(name, tokens, at)
        else:
            yield from self._symbol(parameter, name, tokens, at)

    def _says_module(self, token: Token, name: str) -> bool:
        if token.kind == "quote" and self._is_prose(token.text):
            return False
        whole = components(name)
        as_written = is_set_off(token) and token.text == name and is_name(name)
        return as_written or says_symbol(token, whole, len(whole), "any")

    def _is_prose(self, text: str) -> bool:
        """Whether a quotation may be a word of prose in scare quotes."""
        return not (is_identifier_like(text) or is_camel(text))

    def _section(self, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        token = tokens[at]
        if is_set_off(token) and token.text == name:
            yield at + 1, ()
            return
        if self.denies:
            return
        if token.kind == "moment" and says_time(token, name):
            yield at + 1, ()
        words = name.split(" ")
        said = tokens[at : at + len(words)]
        bare = all(one.kind == "word" and one.key not in OPERATOR_WORDS for one in said)
        if bare and [one.text for one in said] == words:
            yield at + len(words), ()

    def _symbol(self, parameter: str, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        token, own = tokens[at], components(name)
        looked_up = LOOKED_UP.get(self.check.name) == parameter
        if token.kind == "quote" and (self.denies or not looked_up) and self._is_prose(token.text):
            return
        bare: Bare = "like" if parameter == "used" else "any" if parameter == "name" and len(own[-1]) > 2 else "camel"
        if says_symbol(token, own, len(own) if self.exact else 1, bare):
            is_plain = not is_set_off(token) and self._is_prose(token.text)
            yield at + 1, SPOKEN if is_plain else ()
        elif looked_up and (found := self._looked_up(token, own, bare)) is not None:
            yield at + 1, found
        elif token.kind == "code" and parameter == "name" and token.text == name:
            yield at + 1, ()
        elif parameter == "name":
            yield from ((end, SPOKEN) for end in spoken_ends(name, len(own) if self.exact else 1, tokens, at))

    def _looked_up(self, token: Token, own: tuple[str, ...], bare: Bare) -> tuple[Note, ...] | None:
        """What is named with the symbol that is looked up, where its own name is not all that the token says."""
        inside = components(self.check.text("in")) if self.check.text("in") else ()
        whole = inside + own
        if inside and says_symbol(token, whole, len(whole) if self.exact else 1, bare):
            return IN
        if says_symbol(token, (*module_of(self.path), *whole), len(whole) + 1, bare):
            return IN if inside else ()
        return None


@lru_cache(maxsize=1024)
def _parent_nouns(name: str) -> tuple[str, ...]:
    """What a key may be called for what it stands in: «the `test` script» for `scripts.test`."""
    parent = components(name)[-2:-1]
    if not parent or _PARENT.fullmatch(parent[0]) is None or parent[0] in RESERVED:
        return ()
    one = parent[0]
    return (one, f"{one[:-3]}y" if one.endswith("ies") else one.removesuffix("s"))


_PARENT: Final = re.compile(r"[a-z]{2,32}")
_ENTRY: Final = re.compile(r"[\w.$-]+: ?\S+")


def is_snippet(text: str) -> bool:
    """Whether a text is more than a name and cannot be a phrase of prose: `x = 3`, `f(1)`, `timeout: 30s`."""
    return any(mark in text for mark in "=()[]{};<>") or _ENTRY.fullmatch(text) is not None
