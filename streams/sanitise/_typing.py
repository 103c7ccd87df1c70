"""Input typing [V §3]: whether a validator's text is plain text only.

`problem_of` says why a text is not, in words that name the kind and never repeat the text. Strict typing refuses what
a parser downstream would unpack, render or decode; a lone `<`, `&`, `*`, `_`, a backtick, or text that talks about
attacks is legitimate. Lenient typing asks only whether it is text at all: the pipeline does the rest.

HTML and links are judged as they came: one that only normalisation brings to light (a full-width `＜script＞`) is the
pipeline's to remove. It has no step for the other structures, so these are looked for in what the text settles to as
well: no full-width brace and no zero-width space carries a JSON document through.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal

from ...codecs.unicode_text import settle
from ._markup import find_html, find_links, find_markers, may_be_html, may_be_link, still_html

Typing = Literal["strict", "lenient"]


def problem_of(text: object, typing: Typing, settled: dict[str, str] | None = None) -> str | None:
    """Why `text` is not of the type that the contract gives it [V §3]; None where it is.

    Checks are ordered by cost, each behind a cheap exit: 1 us for 300 characters of plain ASCII.

    Args:
        text: as it came.
        typing: strict or lenient.
        settled: as in `clean`: gets what a text outside ASCII settles to, where that had to be found.
    """
    if not isinstance(text, str):
        return "is not a string"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds a lone surrogate"
    if typing == "lenient":
        return None
    # Nearly every text is one printable line; a control or a line end makes it not printable.
    if not text.isprintable() and _CONTROL.search(text):
        return "holds a control character"
    return (
        (_html(text) if "<" in text else None)
        or (_link(text) if "]" in text else None)  # to look for two characters takes 0.3 us
        or (_structure(text) if text.isascii() else structure_of(text, settled))
    )


def structure_of(text: str, settled: dict[str, str] | None = None) -> str | None:
    """What there is in the text, or in what it settles to, that [V §3] rules out and no step of the pipeline removes.

    Also to be asked about what comes *out*, where something was taken out or cut: that can leave a structure behind
    which was none before. 3 us more for 300 characters of accented Latin, 12 for Russian, which is settled here.
    """
    found = _structure(text)
    if found or text.isascii():
        return found
    seen = settle(text)
    if settled is not None:
        settled[text] = seen
    return None if seen == text else _structure(seen)


def _structure(text: str) -> str | None:
    return (
        _markup(text)
        or ("holds a fenced code block" if ("`" in text or "~" in text) and _FENCE.search(_lines(text)) else None)
        or (_definition(text) if "]" in text else None)
        or ("is a JSON document" if ("]" in text or "}" in text) and _is_json_document(text) else None)
        or (_encoded(text) if len(text) >= _RUN else None)
    )


def _markup(text: str) -> str | None:
    """What is ruled out beyond links, code blocks and whole documents."""
    return (
        ("holds a chat marker" if find_markers(text) else None)
        or ("holds a JSON object" if "}" in text and not _is_json_document(text) and _MEMBER.search(text) else None)
        or ("holds a Markdown reference link" if "][" in text and _REFERENCE.search(text) else None)
        or (_block(text) if "#" in text or "\n" in text or "\r" in text else None)
    )


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Possessive throughout (`*+`): typing comes before the cap, and a hostile megabyte must not make us try again.
# Where a block of CommonMark may begin: on a line, also inside block quotes and list items.
_START = r"^(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t>]))*+"
# CommonMark 4.5. A backtick fence has no backtick behind it on its line, or it would be a code span, which is
# legitimate.
_FENCE = re.compile(_START + r"(?:`{3,}+[^`\n]*+$|~{3})", re.MULTILINE)
# CommonMark 4.7: a label, a colon, a destination, perhaps a title, and nothing else on the line.
_DEFINITION = re.compile(
    _START + r"\[(?!\])(?:\\[\[\]]|[^\[\]]){1,999}\]:[ \t]*+(?:\n[ \t>]*+)?+"
    r"(?:<(?:[^<>\\\n]|\\[^\n])*+>|[^\x00-\x20<][^\x00-\x20]*+)"
    r"""(?:[ \t]++(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+[ \t]*+$""",
    re.MULTILINE | re.DOTALL,
)


# CommonMark 6.3: a text and a label, one behind the other; not what is indexed twice in code, `m[i][j]`,
# nor two numbers of sources.
_REFERENCE = re.compile(r"(?<![\w\])])(?!\[\d++\]\[\d++\])\[[^\[\]]{1,999}+\]\[[^\[\]]{0,999}+\]")
# The beginning of an object with a member, whatever comes behind it: part of it may be all that a parser is given.
_MEMBER = re.compile(r'\{\s*+"(?:[^"\\]|\\.){0,200}+"\s*+:', re.DOTALL)
_HEADING = re.compile(_START + r"#{1,6}(?:[ \t]|$)", re.MULTILINE)
# GFM 4.10: below the head of a table, a line of dashes between bars.
_BARS = re.compile(
    r"[^\n]\n[ \t>]*+(?=[^\n|]*+\|)\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+(?::?+-++:?+[ \t]*+|$))*+$", re.MULTILINE
)


def _block(text: str) -> str | None:
    """Headings (CommonMark 4.2, 4.3) and tables."""
    lines = _lines(text)
    if "#" in lines and _HEADING.search(lines):
        return "holds a Markdown heading"
    if "\n" in lines and ("=" in lines or "-" in lines):
        if "|" in lines and _BARS.search(lines):
            return "holds a Markdown table"
        if any(_RULE.fullmatch(line) and before.strip(" \t>-=*_") for before, line in pairwise(lines.split("\n"))):
            return "holds a Markdown heading"
    return None


_RULE = re.compile(r"[ \t>]*+(?:=++|-++)[ \t]*+")


def _lines(text: str) -> str:
    """With one kind of line end, which is what `^` and `$` know of."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _html(text: str) -> str | None:
    if may_be_html(text):
        pieces = find_html(text)
        if pieces:
            what = {"tag": "an HTML element", "comment": "an HTML comment", "doctype": "a doctype"}
            return f"holds {what[pieces[0].kind]}"
        if still_html(text):
            return "holds HTML"
    return None


def _definition(text: str) -> str | None:
    if "]:" in text and _DEFINITION.search(_lines(text)):
        return "holds a Markdown reference definition"
    return None


def _link(text: str) -> str | None:
    if may_be_link(text):
        links = find_links(text)
        if links:
            return f"holds a Markdown {links[0].kind}"
    return None


_MANY_BRACKETS: Final = 200
# As lenient as parsers are: lone surrogates, numbers too large and NaN are nothing that a consumer's need mind.
_json = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)


def _is_json_document(text: str) -> bool:
    """Whether the text as a whole is a JSON object or array, which a consumer's parser would unpack."""
    text = text.strip()
    if text[:1] not in ("{", "[") or text[-1:] not in ("}", "]"):
        return False
    # Deeper than a parser goes: it need not be well-formed to do harm, and must not depend on how deep our stack is.
    if text.count("[") + text.count("{") > _MANY_BRACKETS:
        return True
    try:
        _json.decode(text)
    except json.JSONDecodeError:
        return False
    return True


# ---------------------------------------------------------------- encoded payloads

_RUN: Final = 128
_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]*")
# Whatever stands so long in one of these alphabets decodes, each group of 2, 8 or 4 characters does; what tells it
# from a ruler or a scream is how many different characters it has.
_ENCODINGS: Final = (
    ("hex", re.compile(r"[0-9A-Fa-f]+"), 8),
    ("base32", re.compile(r"[A-Z2-7]+|[a-z2-7]+"), 16),
    ("base64", re.compile(r"[A-Za-z0-9+/]+"), 16),
    ("base64", re.compile(r"[A-Za-z0-9_-]+"), 16),
)
# Characters written by their numbers, in the ways that readers decode: of URIs, of mail, of programs, of HTML.
_ESCAPED = re.compile(
    r"(?:(?:%[0-9A-Fa-f]{2}|=[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\[uU][0-9A-Fa-f]{4,8}|\\u\{[0-9A-Fa-f]{1,6}\}|\\[0-7]{3}"
    r"|&\#[0-9]{1,7};?|&\#[xX][0-9A-Fa-f]{1,6};?|&[A-Za-z]{2,8};)[A-Za-z0-9._~+-]?(?:=?\s)?){14,}+"
)
_ESCAPES: Final = {
    "%": "percent-encoded payload",
    "=": "payload in quoted-printable",
    "\\": "payload of escaped characters",
    "&": "payload of character references",
}
# A few bytes of text between what no text holds.
_SAID = re.compile(rb"[\t\n\r -~]{90,}")
_SAID_BY_BASE32 = re.compile(rb"[\t\n\r -~]{72,}")
_DIGITS: Final = b"0123456789"
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NOT_BASE64: Final = bytes(one for one in range(256) if not (chr(one).isalnum() and one < 128) and one not in b"+/-_")
_NOT_BASE32: Final = bytes(one for one in range(256) if not (chr(one).isalpha() and one < 128) and one not in b"234567")
_TO_BASE_32: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz234567", 2 * b"0123456789abcdefghijklmnop" + b"qrstuv"
)
"""From the digits of base32 to those that `int` reads, in either case."""
_BASE32_PAIR = re.compile(rb"[A-Za-z][2-7]")
"""In prose hardly any digit stands behind a letter."""
_HEX_GROUPS = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?(?:[0-9A-Fa-f]{2}){1,32}[\s,:;-]{1,2}){12,}+")
# Numbers one behind the other, whatever stands around each of them.
_NUMBERS = re.compile(r"(?<![0-9A-Za-z])(?:(?:0[xob]|[xuU]|cha?r)?+[(+#]?+[0-9A-Fa-f]{2,}+[hH]?+[^0-9A-Za-z]{0,3}+)++")
_DIGITS_OF: Final = re.compile(r"(?:0[xob]|[xuU])?+([0-9A-Fa-f]{2,}+)")
_SHORTEST: Final = 40
"""So many characters that numbers spell are a payload, 128 of the text or more."""
_ASCII85 = re.compile(r"[!-~]{128,}+")
# What mail and PEM do to base64: line after line of it, broken at 48 to 76 columns; the last one may be shorter.
_LINE = re.compile(r"[ \t]*+([A-Za-z0-9+/_-]{48,}+)={0,2}[ \t]*+")
_LAST_LINE = re.compile(r"[ \t]*+([A-Za-z0-9+/_-]++)")


def _broken(text: str) -> Iterator[str]:
    """Runs of an alphabet that line ends break. Each line is looked at once: a pattern over many lines began again at
    each of them, 0.8 s for 200 kB."""
    lines: list[str] = []
    for line in _lines(text).split("\n"):
        match = _LINE.fullmatch(line)
        if match:
            lines.append(match[1])
            continue
        if lines:
            last = _LAST_LINE.match(line)
            yield "".join((*lines, last[1] if last else ""))
            lines = []
    if lines:
        yield "".join(lines)


def _encoded(text: str) -> str | None:
    """A run of 128 characters or more that decodes as base64, base32, hex or percent-encoding."""
    length = len(text)
    # A run so long covers every 128th place, so only those are looked at: 0.2 us instead of 2 for 300 characters.
    place = _RUN - 1
    done = 0
    is_dense = False
    while place < length:
        # With a space on either side no run through this place is long enough: so it is in prose.
        prose = " " in text[place - 63 : place] and " " in text[place : place + 64]
        is_dense = is_dense or not prose
        if not prose and text[place] in _ALPHABET:
            before = _ENCODED.match(text[done : place + 1][::-1]).end()  # type: ignore[union-attr]
            done = _ENCODED.match(text, place).end()  # type: ignore[union-attr]
            found = _encoding(text[place + 1 - before : done])
            if found:
                return found
            place += (done - place) // _RUN * _RUN
        place += _RUN
    for sign, what in _ESCAPES.items():
        if sign in text and text.count(sign) >= 14:
            for match in _ESCAPED.finditer(text):
                if len(match[0]) >= _RUN and len(set(match[0])) >= 8 and match[0][0] == sign:
                    return f"holds a {what}"
    if found := _split(text, is_dense):
        return found
    if "\n" in text or "\r" in text:
        for run in _broken(text):
            found = _encoding(run)
            if found:
                return found
    return None


def _split(text: str, is_dense: bool) -> str | None:
    """An encoding that blanks break into groups, and base85: what decodes to a long stretch of text.

    Words decode to bytes of all kinds, so that no prose decodes to ninety printable characters in a row.
    """
    raw = text.encode("ascii", "ignore")
    # More than a third of base64 are capitals, a tenth of prose: 0.4 us for 300 characters.
    if len(raw) - len(raw.translate(None, _UPPER)) >= 32:
        digits = raw.translate(None, _NOT_BASE64).translate(_URL_SAFE)
        # Signs of the alphabet may also be what breaks it; a payload of text has hardly any.
        for part in {digits[phase:] for digits in (digits, digits.translate(None, b"+/")) for phase in range(4)}:
            if _SAID.search(binascii.a2b_base64(part[: len(part) // 4 * 4])):
                return "holds a base64-encoded payload"
    if len(raw) - len(raw.translate(None, _DIGITS)) >= 40:
        for match in _HEX_GROUPS.finditer(text):
            digits = re.sub(r"0x|[^0-9A-Fa-f]", "", match[0])
            if len(digits) >= _RUN and len(set(digits)) >= 8 and len(set(digits.lower()) & _HEX_LETTERS) > 1:
                return f"holds a {_HEX}"
        for match in _NUMBERS.finditer(text):
            if len(match[0]) >= _RUN:
                for what, read in _spelled(_DIGITS_OF.findall(match[0])):
                    if _reads(read):
                        return f"holds a {what}"
    if len(raw) - len(raw.translate(None, b"234567")) >= 20 and len(_BASE32_PAIR.findall(raw)) >= 8:
        bits = int(raw.translate(_TO_BASE_32, _NOT_BASE32), 32)
        size = bits.bit_length() // 8 + 1
        if any(_SAID_BY_BASE32.search((bits >> phase).to_bytes(size, "big")) for phase in range(8)):
            return "holds a base32-encoded payload"
    for match in _ASCII85.finditer(text) if is_dense else ():
        for decode in (base64.a85decode, base64.b85decode):
            try:
                decoded = decode(match[0][:_DECODED].removeprefix("<~").removesuffix("~>").encode())
            except ValueError:
                continue
            if _SAID.search(decoded):
                return "holds a base85-encoded payload"
    return None


def _spelled(numbers: list[str]) -> Iterator[tuple[str, bytes]]:
    """What numbers spell: each a character in base 2, 8, 10 or 16, or all together the bits or bytes of a text."""
    digits = "".join(numbers)
    used = set(digits)
    for base, alphabet in _BASES.items():
        if used <= alphabet:
            values = [int(number, base) if len(number) < 12 else 0 for number in numbers]
            read = bytes(value for value in values if 0 < value < 127)
            # A list of measurements is one of decimal numbers as well; hardly any has the number of the blank.
            if len(read) == len(values) and (base != 10 or read.count(32) * 16 >= len(read)):
                yield _HEX if base == 16 else _NUMBERED, read
    if used <= _BASES[2]:
        for size in (7, 8):
            yield _NUMBERED, bytes(int(digits[at : at + size], 2) for at in range(0, len(digits) - size + 1, size))
    else:
        yield _HEX, bytes.fromhex(digits[: len(digits) // 2 * 2])


def _reads(read: bytes) -> bool:
    """Whether it is text: nearly all of it letters and blanks, of some variety."""
    letters = read.translate(None, _NO_LETTERS)
    return len(read) >= _SHORTEST and len(letters) * 100 >= len(read) * 85 and len(set(letters)) >= 12


_HEX: Final = "hex-encoded payload"
_NUMBERED: Final = "payload of numbers of characters"
_BASES: Final = {
    2: frozenset("01"),
    8: frozenset("01234567"),
    10: frozenset("0123456789"),
    16: frozenset("0123456789abcdefABCDEF"),
}
_NO_LETTERS: Final = bytes(point for point in range(256) if not (chr(point).isalpha() and point < 128) and point != 32)
_HEX_LETTERS: Final = frozenset("abcdef")
"""Groups of decimal digits are numbers."""
_DECODED: Final = 2_500
"""So much of base85 is decoded, which is more than a field may hold; it takes a microsecond a character."""
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def _encoding(run: str) -> str | None:
    if len(run) >= _RUN:
        for name, pattern, variety in _ENCODINGS:
            for match in pattern.finditer(run):
                if len(match[0]) >= _RUN and len(set(match[0])) >= variety:
                    return f"holds a {name}-encoded payload"
    return None
