"""Which tokens of a sentence say which arguments of its checks (docs/checks.md).

A name has to be said with its owner, a list whole, a number with its unit. A path may be said by its end where a check
speaks of a symbol; what else has to be so then is for the guard. Nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from .checks import TABLE, Check, Kind, Parameter, Value
from .coverage_tokens import Token
from .lexicon import NOUNS, RELATIONS, SYMBOLIC, TIES
from .slots import (
    components,
    is_named,
    is_set_off,
    number_in,
    read,
    says_name,
    says_path,
    says_time,
    says_value,
)

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_$][\w$.-]*) ?(?::=|=|:) ?(\S.{0,255})", re.ASCII)
Mention = tuple[int, str]
"""A check by its place, and one of its parameters."""
Confirmations = Mapping[str, frozenset[str]]
"""Of an identifier, the kinds that an index proves."""


@lru_cache(maxsize=256)  # a sentence is compared again where an index proves more of it
def mentions(tokens: tuple[Token, ...], checks: tuple[Check, ...], path: str | None) -> tuple[frozenset[Mention], ...]:
    """Of each token the arguments that it says.

    Args:
        tokens: of the sentence.
        checks: of the assertion.
        path: the file that checks without a path were held against.
    """
    said: list[set[Mention]] = [set() for _ in tokens]
    for number, check in enumerate(checks):
        for parameter, value in arguments(check, path):
            if parameter.kind is Kind.SYMBOL_KIND:
                continue
            items = value if isinstance(value, tuple) and parameter.name != "value" else (value,)
            where = [
                [at for start in range(len(tokens)) for at in _says(tokens, start, check, parameter, item)]
                for item in items
            ]
            for at in (at for places in where if all(where) for at in places):  # a list is said whole
                said[at].add((number, parameter.name))
    return tuple(map(frozenset, said))


def arguments(check: Check, path: str | None) -> Iterator[tuple[Parameter, Value]]:
    """The arguments of a check that a sentence may say; the file that it was held against where it names none."""
    signature = TABLE[check.name]
    named = {parameter.name: parameter for parameter in signature.named}
    given = [
        *zip(signature.parameters, check.arguments, strict=False),
        *((named[name], one) for name, one in check.named),
    ]
    yield from (one for one in given if one[0].kind is not Kind.OPERATOR)
    if signature.content and check.path is None and path is not None:
        yield Parameter("path", Kind.PATH), path


def ties(tokens: Sequence[Token]) -> frozenset[int]:
    """The tokens of phrases that only tie a sentence to its neighbours, with the commas that set them off."""
    keys = tuple(token.key for token in tokens)
    last = len(keys) - (keys[-1:] == (".",))
    there = set(keys)
    taken: set[int] = set()
    for words, _ in TIES:
        if words[0] not in there:  # most sentences have none
            continue
        for at in range(last - len(words) + 1):
            end = at + len(words)
            if keys[at:end] != words:
                continue
            before, behind = keys[at - 1 : at] == (",",), keys[end : end + 1] == (",",)
            if not at or (before and behind):
                taken.update(range(at - before, end + behind))
            elif end == last:
                taken.update(range(at - before, end))
    return frozenset(taken)


def _says(tokens: Sequence[Token], at: int, check: Check, parameter: Parameter, value: Value) -> Iterable[int]:
    """The tokens from a place on that say an argument."""
    token, kind, name = tokens[at], parameter.kind, parameter.name
    if token.kind in ("mark", "odd"):
        return ()
    if check.name == "equals" and name in ("name", "value") and _assigns(token, name, value):
        return (at,)
    items = check.value("items") if name == "items" else None
    if isinstance(items, tuple) and token.kind == "word" and number_in(token) == len(items):
        # «has two variants: …»
        return (at,) if tokens[at + 1 : at + 2] and tokens[at + 1].key in RELATIONS["members"].beside else ()
    if kind is Kind.VALUE or not isinstance(value, str):
        return range(at, at + says_value(tokens, at, value))
    if name == "author":
        words = value.split()
        return range(at, at + len(words)) if [one.text for one in tokens[at : at + len(words)]] == words else ()
    if kind is Kind.PATH:
        is_all = token.text.removeprefix("./") == value or (check.name in SYMBOLIC and not check.negated)
        is_said = is_all and says_path(token, value)
    elif kind is Kind.TEXT:
        is_set = is_set_off(token) or is_named(token) or (name == "quote" and read("constant", token) is not None)
        is_said = is_set and token.text == value
    elif kind is Kind.TIME:
        is_said = says_time(token, value)
    elif kind is Kind.LINES:
        is_said = str(number_in(token)) == value
    elif name in ("hash", "commit"):
        is_said = len(token.text) >= 7 and value.lower().startswith(token.text.lower())
    else:
        return _says_symbol(tokens, at, value)
    return (at,) if is_said else ()


def _assigns(token: Token, name: str, value: Value) -> bool:
    """Whether a code span is an assignment, `NAME = VALUE` or `NAME: VALUE`, with that name or that value."""
    match = _ASSIGNMENT.fullmatch(token.text) if token.kind == "code" else None
    if match is None:
        return False
    said = token._replace(text=match[1 if name == "name" else 2])
    return components(said.text) == components(str(value)) if name == "name" else says_value((said,), 0, value) > 0


def _says_symbol(tokens: Sequence[Token], at: int, value: str) -> Iterable[int]:
    """A name; one that stands with its owner («`send` of `Session`», «`Session`'s `send`») takes both tokens."""
    said, whole = says_name(tokens[at], value), components(value)
    if said in (0, len(whole)):
        return (at,) if said else ()
    for between, owner in (("of", at + 2), ("'s", at - 2)):
        if 0 <= owner < len(tokens) and tokens[(at + owner) // 2].key == between:
            other = tokens[owner]
            if is_named(other) and components(other.text) == whole[: len(whole) - said]:
                return (at, owner)
    return ()


def proves(noun: str, name: str, kinds: Confirmations) -> bool:
    """Whether an index proves that a name is what a noun says."""
    bare = name.strip('"').removesuffix("()")
    known = kinds.get(bare) or kinds.get(components(bare)[-1]) or frozenset[str]()
    return not NOUNS.get(noun, frozenset()).isdisjoint(known)


def nouns_of(check: Check) -> frozenset[str]:
    """The nouns that a definition of a kind proves; in some files every type is a class."""
    kind = check.text("kind") if check.name == "defines" else ""
    is_class = kind == "type" and check.text("path").endswith((".py", ".rb"))
    return frozenset((kind, "class" if is_class else kind)) if kind else frozenset()
