"""Claim forms: sentences from which a check can be read beyond doubt (docs/checks.md).

A form is a row of data: the pattern of a sentence, the check that it gives, its polarity. The whole sentence has to be
consumed; arguments are set off by back-ticks or quotation marks, or are names, paths and literals that no word of prose
looks like. Where two rows read two checks, or the check would not cover the sentence wholly, none is derived. Whether a
check bears a denial out is decided elsewhere. Pure, and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from ...codecs.records import Kind
from .checks import (
    OPERATORS,
    TABLE,
    Check,
    Unknown,
    canonical,
    number_of,
    parse_check,
    written_value,
)
from .coverage import cover
from .coverage_arguments import is_camel, is_identifier_like, is_path_like, is_set_off, is_word
from .coverage_forms import LOOKED_UP
from .coverage_lexicon import COMPARES, KINDS, NOUNS, NUMBERS, PLAIN, WHEN
from .coverage_patterns import (
    Note,
    Pattern,
    Places,
    Step,
    Words,
    compiled,
    phrases,
    places_of,
    readings,
    with_places,
    word_ends,
)
from .coverage_tokens import Token, tokens_of
from .coverage_values import CONSTANTS, number_in
from .named_times import read_named_time


class ClaimForm(NamedTuple):
    """One row: what a sentence of this pattern says."""

    pattern: str
    check: str
    negated: bool = False


FORMS: Final = (
    ClaimForm("{path} contains|mentions {quote}", "contains"),
    ClaimForm("{path} ~does contain|mention {identifier}", "absent"),
    ClaimForm("{path} contains|mentions|has no {identifier}", "absent"),
    ClaimForm("there is no {identifier}", "absent"),
    ClaimForm("{path} exists", "exists"),
    ClaimForm("{path} ~does exist", "missing"),
    ClaimForm("{path} defines <definition>", "defines"),
    ClaimForm("{path} ~does define <definition>", "defines", True),
    ClaimForm("<definition> is_defined", "defines"),
    ClaimForm("<definition> ~is defined", "defines", True),
    # `compare` where the operator is another. After a bare «is» no word: «`X` is `deprecated`» may mean something else.
    ClaimForm("{name} <compares> {value}", "equals"),
    ClaimForm("{name} <is> {literal}", "equals"),
    ClaimForm("{path} sets {name} to {value}", "equals"),
    ClaimForm("{caller} calls {callee}", "calls"),
    ClaimForm("{caller} ~does call {callee}", "calls", True),
    ClaimForm("{user} uses {used}", "uses"),
    ClaimForm("{user} ~does use {used}", "uses", True),
    ClaimForm("{path} imports {module}", "imports"),
    ClaimForm("{path} ~does import {module}", "imports", True),
    ClaimForm("{symbol} returns {quote}", "returns"),
    ClaimForm("{path} has|contains <number> occurrences|occurrence of {pattern}", "count"),
    ClaimForm("{hash} is_dated {date}", "commit"),
    ClaimForm("{path} was_last_changed <when> {time}", "last_changed"),
)
"""Every row. A form whose sentence could be false while its check is true does not stand here."""
MAX_TOKENS: Final = 40
"""Tokens of a sentence that is read by these forms."""


@lru_cache(maxsize=4096)  # the lane, its audit and each observer read the same sentence
def claim(text: str, kind: Kind) -> str | None:
    """The check that a sentence gives by a claim form, `not` included where the sentence denies.

    Args:
        text: the assertion's.
        kind: of the assertion; a refusal claims nothing. On a denial the sentence is read as it stands.

    Returns:
        The canonical check; None where no form takes the whole sentence, or several read different checks.
    """
    if kind == "refusal" or len(text) > MAX_TOKENS * 64 or _SURROGATE.search(text):
        return None
    tokens = tokens_of(text)
    if tokens and tokens[-1].key == ".":
        tokens = tokens[:-1]
    if not 2 <= len(tokens) <= MAX_TOKENS:
        return None
    keys = {token.key for token in tokens}
    forms = [form for form, needs in _needed() if not any(need.isdisjoint(keys) for need in needs)]
    found = {written for form in forms for written in _claims(form, tokens)}
    if len(found) != 1:
        return None
    written = found.pop()
    check = parse_check(written)
    if isinstance(check, Unknown) or cover(text, [check], path=check.path).level != "whole":
        return None
    return written


def _claims(form: ClaimForm, tokens: Sequence[Token]) -> Iterator[str]:
    """The checks that a form reads in a sentence."""
    reader = _Reader(form.check)
    for at, before in with_places(_FIRST, reader, tokens, 0, most=1):
        for one in readings(compiled(form.pattern), reader, tokens, at):
            for end, behind in with_places(_BEHIND, reader, tokens, one.end, most=1):
                written = _written(form, (*before, *one.notes, *behind)) if end == len(tokens) else None
                if written is not None:
                    yield written


def _written(form: ClaimForm, notes: Sequence[Note]) -> str | None:
    """The check of what was read; None where that is not one check."""
    said = dict(notes)
    if len(said) != len(notes):
        return None  # two paths
    operator = said.get("op", "=")
    name, negated = form.check, form.negated
    if name == "equals" and operator == "!=":
        negated = True
    elif name == "equals" and operator != "=":
        name = "compare"
    said["op"] = operator
    signature = TABLE[name]
    arguments = [said[one.name] for one in signature.parameters if one.name in said]
    arguments += [f"{one.name}={said[one.name]}" for one in signature.named if one.name in said]
    check = parse_check(f"{'not ' if negated else ''}{name}({', '.join(arguments)})")
    return canonical(check) if isinstance(check, Check) else None


# ---------------------------------------------------------------- reading arguments

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_KEY: Final = re.compile(r"[A-Za-z_$/][\w$./:-]{0,255}", re.ASCII)
_SYMBOL: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*){0,15}", re.ASCII)
_MODULE: Final = re.compile(r"[A-Za-z_@.][\w$./:@-]{0,255}", re.ASCII)
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
_HASH: Final = re.compile(r"[0-9a-f]{7,64}")
_WORD_VALUE: Final = re.compile(r"[A-Za-z0-9_.\-+/:$]+")
_FIRST: Final = places_of("in <path> ,?")
_BEHIND: Final = places_of("in <path>", "( <path> )", "( in <path> )")
_NOWHERE: Final[Places] = {}


class _Reader:
    """Takes whatever has the shape of an argument, and says how a check writes it."""

    def __init__(self, check: str) -> None:
        self._check = check

    def before(self, parameter: str) -> Words:
        """See `Binder`."""
        return phrases(*self._nouns(parameter))

    def after(self, parameter: str) -> Words:
        """See `Binder`."""
        return phrases(*(noun for noun in self._nouns(parameter) if " " not in noun))

    def _nouns(self, parameter: str) -> tuple[str, ...]:
        if self._check == ("returns" if parameter == "quote" else "defines" if parameter == "symbol" else ""):
            return ()
        return NOUNS.get(parameter, ())

    def places(self, parameter: str) -> Places:
        """See `Binder`."""
        return _BEHIND if LOOKED_UP.get(self._check) == parameter else _NOWHERE

    def argument(self, parameter: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """See `Binder`."""
        if at >= len(tokens) or tokens[at].kind in ("mark", "odd"):
            return
        written = self._read(parameter, tokens[at])
        if written is not None:
            yield at + 1, (("value" if parameter == "literal" else parameter, written),)

    def _read(self, parameter: str, token: Token) -> str | None:
        match parameter:
            case "path":
                path = token.text.removeprefix("./")
                return _quoted(path) if is_path_like(path) and not path.startswith("/") else None
            case "literal":
                is_literal = token.text in CONSTANTS or token.text[:1] == "[" or not is_word(token)
                return _value(token) if is_literal else None
            case "value":
                return _value(token)
            case "number":
                number = number_in(token)
                return None if number is None else written_value(number)
            case "date" | "time":
                is_time = token.kind == "moment" or is_set_off(token)
                return _quoted(token.text) if is_time and read_named_time(token.text) else None
            case "hash":
                return token.text.lower() if _HASH.fullmatch(token.text.lower()) else None
            case "quote" | "pattern":
                return _quoted(token.text) if is_set_off(token) or self._is_literal(token) else None
            case "identifier":
                fits = _IDENTIFIER.fullmatch(token.text) is not None
                return _quoted(token.text) if fits and _is_name(token) and token.kind != "quote" else None
            case _:
                return self._symbol(parameter, token)

    def _is_literal(self, token: Token) -> bool:
        if self._check != "returns":
            return "_" in token.text.strip("_")
        return token.text in CONSTANTS or number_of(token.text) is not None

    def _symbol(self, parameter: str, token: Token) -> str | None:
        name = token.text.removesuffix("()")
        shape = {"name": _KEY, "module": _MODULE}.get(parameter, _SYMBOL)
        if shape.fullmatch(name) is None or not _is_name(token) or number_of(name) is not None:
            return None
        return _quoted(name) if parameter == "module" or not is_path_like(name) else None

    def special(self, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """See `Binder`."""
        if name == "path":
            for start in (*word_ends(_FILE, tokens, at), at):
                yield from self.argument("path", tokens, start)
        elif name == "definition":
            yield from self._definition(tokens, at)
        elif name == "compares":
            yield from _operators(_OTHER_THAN_IS, tokens, at)
        elif name == "is":
            yield from _operators(_IS, tokens, at)
        elif name == "when":
            yield from _operators(WHEN, tokens, at)
        elif name == "number":
            for start, notes in _operators(NUMBERS, tokens, at):
                yield from ((end, notes + taken) for end, taken in self.argument("number", tokens, start))

    def _definition(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """«`f`», «the function `f`», «a class `F`»."""
        for start in (*word_ends(_ARTICLES, tokens, at), at):
            yield from self.argument("symbol", tokens, start)
            for noun, kind in _KIND_OF.items():
                if start < len(tokens) and tokens[start].key == noun:
                    for end, notes in self.argument("symbol", tokens, start + 1):
                        yield end, (*notes, ("kind", kind))


_IS: Final = {operator: tuple(text for text in texts if text in PLAIN) for operator, texts in COMPARES.items()}
_OTHER_THAN_IS: Final = {
    operator: tuple(text for text in texts if text not in PLAIN) for operator, texts in COMPARES.items()
}
_FILE: Final = phrases("the file", "file", "the")
_ARTICLES: Final = phrases("a", "an", "the")
_KIND_OF: Final = {
    **{noun: kind for kind, nouns in KINDS.items() if kind not in ("section", "target") for noun in nouns},
    "class": "type",  # said only of files in which every type is a class, or coverage refuses it
}


_FIRST_WORDS: Final = {"is": _IS, "compares": _OTHER_THAN_IS, "when": WHEN, "number": NUMBERS}
"""Special parts of forms that begin with one of the words of a table."""


@cache
def _needed() -> Sequence[tuple[ClaimForm, Sequence[frozenset[str]]]]:
    """The forms, each with the sets of words of which a sentence has to have one: asked first, and cheap."""
    return tuple((form, _needs_of(compiled(form.pattern))) for form in FORMS)


def _needs_of(pattern: Pattern) -> Sequence[frozenset[str]]:
    tables = [_FIRST_WORDS[part.special] for part in pattern.parts if part.special in _FIRST_WORDS]
    firsts = [frozenset(word for texts in table.values() for word in phrases(*texts)) for table in tables]
    return (*pattern.needs, *(words for words in firsts if "" not in words))


def _operators(table: Mapping[str, tuple[str, ...]], tokens: Sequence[Token], at: int) -> Iterator[Step]:
    for operator in OPERATORS:
        yield from ((end, (("op", operator),)) for end in word_ends(phrases(*table.get(operator, ())), tokens, at))


def _is_name(token: Token) -> bool:
    """Whether a token can be meant as a name: set off, or of a shape that no word of prose has."""
    return is_set_off(token) or is_identifier_like(token.text) or is_camel(token.text)


def _quoted(text: str) -> str:
    return written_value(text)


def _value(token: Token) -> str | None:
    """A value as a check writes it, by the way it is set off: `30` is a number, `"30"` and “30” are texts."""
    text = token.text
    if token.kind == "quote":
        return written_value(text)
    number = number_in(token)
    if number is not None:
        return written_value(number)
    if text in CONSTANTS:
        return written_value(CONSTANTS[text])
    if token.kind != "code":
        return None
    if text[:1] in ('"', "["):
        check = parse_check(f"equals(x, {text})")
        return written_value(check.value("value")) if isinstance(check, Check) else None
    return written_value(text) if _WORD_VALUE.fullmatch(text) else None
