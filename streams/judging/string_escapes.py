"""Decodes the string literals of the listed languages: quotes off, escapes decoded (docs/checks.md, `equals`).

None wherever a literal is not text alone, or its language would not say that it means these characters: interpolation,
bytes, halves of a character, escapes that the language does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_ESCAPE: Final = re.compile(
    r"\\(?:u\{(?P<braced>[0-9A-Fa-f_]{1,8})\}|x\{[^}]*\}|x(?P<x>[0-9A-Fa-f]{1,8})|u(?P<u>[0-9A-Fa-f]{4})"
    r"|U(?P<U>[0-9A-Fa-f]{8})|(?P<octal>[0-7]{1,3})|(?P<line>\r?\n[ \t]*)|(?P<one>.))",
    re.DOTALL,
)


class Escapes(NamedTuple):
    """How one language escapes characters in one sort of string.

    Attributes:
        simple: what a letter or mark behind the backslash means; None where that is not told here.
        numbers: those of `braced`, `x`, `u`, `U` and `octal` that it has.
        hex_digits: most digits behind `x`; fewer are as well where `short_hex`.
        short_hex: whether fewer digits will do.
        bytes: `x` and octal mean bytes, not characters, from 128 on.
        line: what a backslash at the end of a line does: nothing stays, or the white space of the next line goes too.
        unknown: what any other character behind a backslash means: itself, itself with the backslash, or nobody knows.
    """

    simple: Mapping[str, str | None]
    numbers: frozenset[str]
    hex_digits: int = 2
    short_hex: bool = False
    bytes: bool = False
    line: str = ""
    unknown: str = ""


_COMMON: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"'}
_C: Final = {**_COMMON, "a": "\a", "v": "\v"}

PYTHON: Final = Escapes({**_C, "N": None}, frozenset(("x", "u", "U", "octal")), line="join", unknown="keep")
GO: Final = Escapes(_C, frozenset(("x", "u", "U", "octal")), bytes=True)
SCRIPT: Final = Escapes({**_COMMON, "v": "\v", "0": "\0"}, frozenset(("x", "u", "braced")), line="join", unknown="drop")
JAVA: Final = Escapes({**_COMMON, "s": " "}, frozenset(("u", "octal")))
RUST: Final = Escapes(
    {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "'": "'", '"': '"'},
    frozenset(("x", "braced")),
    bytes=True,
    line="strip",
)
C: Final = Escapes(
    {**_C, "?": "?"}, frozenset(("x", "u", "U", "octal")), hex_digits=8, short_hex=True, bytes=True, line="join"
)
SHARP: Final = Escapes({**_C, "0": "\0"}, frozenset(("x", "u", "U")), hex_digits=4, short_hex=True)
RUBY: Final = Escapes(
    {**_C, "e": "\x1b", "s": " ", "#": "#"},
    frozenset(("x", "u", "octal", "braced")),
    short_hex=True,
    bytes=True,
    line="join",
    unknown="drop",
)
QUOTED_ONCE: Final = Escapes({"\\": "\\", "'": "'"}, frozenset(), unknown="keep")
"""Ruby's single quotes."""
SHELL: Final = Escapes({one: one for one in '"\\$`'}, frozenset(), line="join", unknown="keep")
"""The shell's double quotes."""


def decode(text: str, escapes: Escapes) -> str | None:
    """The characters that the inside of a string literal means.

    Args:
        text: what stands between the quotes.
        escapes: of its language.

    Returns:
        None where that cannot be told.
    """
    if "\\" not in text:
        return _whole(text)
    unclear = False

    def character(match: re.Match[str]) -> str:
        nonlocal unclear
        meant = _meant(match, escapes)
        unclear = unclear or meant is None
        return meant or ""

    decoded = _ESCAPE.sub(character, text)
    if unclear or (len(text) - len(text.rstrip("\\"))) % 2:
        return None
    return _whole(decoded)


def _whole(text: str) -> str | None:
    """The text with both halves of a character joined, if no half is left over."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


def _meant(match: re.Match[str], escapes: Escapes) -> str | None:
    sort = match.lastgroup
    if sort is None:
        return None
    written = match[sort]
    if sort == "line":
        return {"join": written.lstrip("\r\n"), "strip": ""}.get(escapes.line)
    if sort == "one":
        return _simple(written, escapes)
    if sort == "octal" and sort not in escapes.numbers:
        # `\0` alone is a character even where there are no octal ones.
        return escapes.simple.get(written)
    if sort not in escapes.numbers:
        return _simple(sort[0], escapes, "" if sort == "braced" else written)
    if sort == "x":
        return _hexadecimal(written, escapes)
    number = int(written.replace("_", ""), 8 if sort == "octal" else 16)
    if number > 0x10FFFF or (sort == "octal" and (number > 255 or (escapes.bytes and number > 127))):
        return None
    return chr(number)


def _simple(letter: str, escapes: Escapes, rest: str = "") -> str | None:
    if letter in escapes.simple:
        meant = escapes.simple[letter]
        return None if meant is None else meant + rest
    return {"keep": "\\" + letter + rest, "drop": letter + rest}.get(escapes.unknown)


def _hexadecimal(digits: str, escapes: Escapes) -> str | None:
    own, rest = digits[: escapes.hex_digits], digits[escapes.hex_digits :]
    if len(own) < escapes.hex_digits and not escapes.short_hex:
        return None
    number = int(own, 16)
    return None if number > (127 if escapes.bytes else 0x10FFFF) else chr(number) + rest
