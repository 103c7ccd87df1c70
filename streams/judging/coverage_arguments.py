"""Whether tokens of a sentence say a name, a path or a commit of a check (docs/checks.md).

A sentence may say less than the check (`get` for `Client.get`, `records.py` for `codecs/records.py`), never more: a
component that the argument has not is not said by it. Where the check denies, or speaks of the whole of its scope,
saying less would claim more, and only the same will do. Nothing is looked up, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from .coverage_lexicon import OPERATOR_WORDS
from .coverage_tokens import Token
from .lexicon import STOP_WORDS
from .literals import literals

RESERVED: Final = frozenset(OPERATOR_WORDS | STOP_WORDS)
"""Words that bare stand for no argument, whatever it is."""
_PLAIN: Final = re.compile(r"[A-Za-z][a-z]*")
_SYMBOL: Final = re.compile(r"[\w$#:.\[\]/<>~@!?=+*-]+")
"""What a name may look like to be covered: nothing that reads as prose."""
_SEPARATOR: Final = re.compile(r"\.|::|#")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")
_HEX: Final = re.compile(r"[0-9a-f]{7,64}")


def components(name: str) -> tuple[str, ...]:
    """The components of a symbol or key: of `Type.method`, `a::b` or the JSON Pointer `/a/b`."""
    name = name.removesuffix("()")
    if name.startswith("/"):
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in name[1:].split("/"))
    return tuple(_SEPARATOR.split(name))


def ends_with(whole: Sequence[str], end: Sequence[str]) -> bool:
    """Whether the last components are these."""
    return 0 < len(end) <= len(whole) and tuple(whole[len(whole) - len(end) :]) == tuple(end)


# ---------------------------------------------------------------- names


def is_identifier_like(text: str) -> bool:
    """Whether a bare word can only be a name: `max_size`, `a.b`, `f()`; no word of prose looks like it."""
    bare = text.removesuffix("()")
    if bare != text:
        return bool(bare)
    return "_" in bare.strip("_") or "::" in bare or re.search(r"\w\.[A-Za-z_]", bare) is not None


def is_camel(text: str) -> bool:
    """Whether a bare word has a hump in it: `parseTime`, and `JavaScript` as well."""
    return re.search(r"[a-z][A-Z]", text) is not None


def is_path_like(text: str) -> bool:
    """Whether a text is a path beyond doubt: an ending that files have, or the form of a path."""
    found = literals(text) if len(text) <= 4096 else []
    return len(found) == 1 and found[0].form == "path" and found[0].text == text


def is_name(text: str) -> bool:
    """Whether a text may be a name, as it is written: nothing in it reads as prose."""
    return _SYMBOL.fullmatch(text) is not None


Bare = Literal["like", "camel", "any"]
"""Which bare words may say a name: those that look like one, also those with a hump, or any."""


def says_symbol(token: Token, whole: Sequence[str], least: int, bare: Bare = "camel") -> bool:
    """Whether a token says a symbol.

    Args:
        token: a span, or a bare word that looks like a name.
        whole: all that is known of the symbol: the components of its file, of what it stands in, its own.
        least: how many of the last components the token has to say.
        bare: which bare words may say it.
    """
    if not is_set_off(token):
        shaped = is_identifier_like(token.text) or (bare in ("camel", "any") and is_camel(token.text))
        if token.kind != "word" or not (shaped or bare == "any") or token.key in RESERVED:
            return False
    if not is_name(token.text.removesuffix("()")):
        return False
    said = components(token.text)
    return len(said) >= least and ends_with(whole, said)


def is_set_off(token: Token) -> bool:
    """Whether a token is a code span or a quotation."""
    return token.kind in ("code", "quote")


@lru_cache(maxsize=1024)
def spoken(name: str) -> tuple[tuple[str, ...], ...]:
    """The words of a name's last components, the last one first, up to what is no word: `port`, `server`."""
    found: list[tuple[str, ...]] = []
    for part in reversed(components(name)[-_SPOKEN:]):
        words = tuple(word.lower() for word in _HUMP.split(part.replace(" ", "_")) if word)
        plain = all(word.isascii() and word.isalpha() and word not in OPERATOR_WORDS for word in words)
        if not words or not plain:
            break
        found.append(words)
    return tuple(found)


_SPOKEN: Final = 3
"""Components of a name that are said in words."""


def spoken_ends(name: str, least: int, tokens: Sequence[Token], at: int) -> Iterator[int]:
    """Where a name ends that stands at a place in plain words: «the retry limit», «server port», «the server's port».

    Args:
        name: a symbol or key.
        least: how many of its last components have to be said.
        tokens: of a clause.
        at: the place.
    """
    parts = spoken(name)
    for count in range(max(least, 1), len(parts) + 1):
        if count == 1 and len(parts[0]) == 1 and parts[0][0] in RESERVED:
            continue
        end = at
        for part in reversed(parts[:count]):
            if at < end < len(tokens) and tokens[end].key == "'s":
                end += 1
            end = _words_end(part, tokens, end)
            if end < 0:
                break
        if end > 0:
            yield end


def _words_end(words: Sequence[str], tokens: Sequence[Token], at: int) -> int:
    """Where these plain words end that stand at a place; -1 for nowhere."""
    said = tokens[at : at + len(words)]
    plain = all(one.kind == "word" and _PLAIN.fullmatch(one.text) for one in said)
    return at + len(words) if plain and tuple(one.key for one in said) == tuple(words) else -1


def is_word(token: Token) -> bool:
    """Whether a text may be a word of prose though it is set off: no digit, and no quotes inside of back-ticks."""
    return not (token.kind == "code" and token.text[:1] in ('"', "'")) and not any(map(str.isdigit, token.text))


# ---------------------------------------------------------------- paths and commits


def is_path(token: Token, path: str, exact: bool = False) -> bool:
    """Whether a token names a file: its path, the end of it, of a Python file also as a module (`a.b` for `a/b.py`).

    Args:
        token: any.
        path: the file.
        exact: the end of the path will not do.
    """
    text = token.text.removeprefix("./").rstrip("/")
    path = path.removeprefix("./").rstrip("/")
    if token.kind == "moment" or token.kind == "mark" or token.kind == "odd" or not text:
        return False
    if text == path:
        return is_set_off(token) or "." in text or "/" in text or not _PLAIN.fullmatch(text) or text[0].isupper()
    if exact or text.startswith("/"):
        return False
    if path.endswith("/" + text):
        return is_set_off(token) or "." in text or "/" in text or text[0].isupper()
    stem = path.rsplit("/", 1)[-1].partition(".")[0]
    if text == stem:
        return len(stem) > 2 and stem.isupper()  # the README, the CHANGELOG
    return path.endswith(".py") and "." in text and ends_with(module_of(path), tuple(text.split(".")))


def module_of(path: str) -> tuple[str, ...]:
    """The components of the module or package that a file is; empty where its language does not name it by its path."""
    parts = path.split("/")
    if path.endswith(".py"):
        return tuple(parts[:-1] if parts[-1] == "__init__.py" else [*parts[:-1], parts[-1].removesuffix(".py")])
    return tuple(parts[:-1]) if path.endswith(".go") else ()


def is_commit(token: Token, commit: str) -> bool:
    """Whether a token is a commit's hash or the beginning of it."""
    return _HEX.fullmatch(token.text.lower()) is not None and commit.lower().startswith(token.text.lower())


def is_hash_of(name: str, commit: str) -> bool:
    """Whether the hash that a check names begins the hash of the commit that was looked at."""
    return bool(name) and commit.lower().startswith(name.lower())
