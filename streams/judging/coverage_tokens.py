"""Splits a sentence into the tokens that coverage and claim forms read (docs/checks.md).

Code spans and quotations are one token each, dates as well, everything else is split at white space and freed from the
sentence's punctuation. Offsets are code points of the sentence as it was given; texts are NFKC. A word that is not
plain ASCII, or that clings to another token, is `odd`: it stands for nothing, so look-alikes and invisible characters
cannot pass for a word that is known. Nothing is judged here. Linear in the sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ...codecs.unicode_text import nfkc
from .literals import literals
from .quotes import PLAIN, blanked, code_spans, quotes
from .text_checks import flat

TokenKind = Literal["code", "quote", "word", "moment", "mark", "odd"]


class Token(NamedTuple):
    """One token of a sentence.

    Attributes:
        kind: a code span, a quotation, a bare word or number, a date, punctuation, or what stands for nothing.
        text: without its marks, in NFKC, every run of white space as one space.
        start, end: in the sentence, marks included; half open.
        key: what it is compared with where words of a form are looked for: lower case, empty for spans and `odd` ones.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    key: str = ""


_CHUNK: Final = re.compile(r"[^ \t\r\n\u00a0]+")
"""Not `\\s`: control characters that count as white space there are not shown."""
_OPENING: Final = "([{*"
_CLOSING: Final = ".,;:!?)]}*"
_PARTNER: Final = {")": "(", "]": "[", "}": "{"}
_BEHIND: Final = frozenset(" \t\r\n\u00a0`\\*_~|>,;:!" + "".join(PLAIN))
"""Marks that say nothing behind the period of a sentence, beside closing ones."""
_APART: Final = " \t\r\n\u00a0([{"
"""What a quotation may follow."""
_ESCAPE: Final = re.compile(r"\\[nrt]")
_SINGLE: Final = re.compile(r"'[^']+'")
_YEAR: Final = re.compile(r"[12]\d{3}", re.ASCII)
_STRAIGHT: Final = {ord("’"): "'"}


@lru_cache(maxsize=64)  # claim forms and coverage read one sentence, the latter with several checks
def tokens_of(sentence: str) -> tuple[Token, ...]:
    """The tokens of a sentence, in order, without the marks behind its end that close nothing."""
    spans = _spans(sentence)
    end = _end(sentence, spans)
    if end < len(sentence):
        sentence, spans = sentence[:end], [span for span in spans if span.end <= end]
    found: list[Token] = []
    past = 0
    for span in [*spans, None]:
        for chunk in _CHUNK.finditer(sentence, past, span.start if span else len(sentence)):
            found += _chunk(chunk[0], chunk.start())
        if span:
            found.append(span)
            past = span.end
    if len(found) > 1 and found[0].text in ("-", "*") and found[0].end < found[1].start:
        del found[0]  # a list's bullet
    return tuple(_emphasised(_unglued(found)))


def _end(sentence: str, spans: list[Token]) -> int:
    """Where a sentence ends, without what stands behind its period and closes nothing, and without closing marks before
    the period that close nothing either: `.»`, `.`)`, `.\\"`, `».`.

    A character that may belong to a name (`foo_`, `save!`) goes only from behind the period. An ellipsis stays.
    """
    if (sentence[-1:].isalnum() or sentence[-1:] == ".") and sentence[-2:-1].isalnum():
        return len(sentence)
    says = [any(map(str.isalnum, _ESCAPE.sub("", one.text))) for one in spans]
    clings = [sentence[max(one.start - 1, 0) : one.start].strip(_APART) != "" for one in spans]
    # Marks between marks that cling to what stands before are no quotation: all of them are closing ones.
    extents = [(one.start, one.end) for one in spans]
    apart = [each for each, said, behind in zip(extents, says, clings, strict=True) if said or not behind]
    outside = blanked(sentence, apart)
    spoken = blanked(sentence, (each for each, said in zip(extents, says, strict=True) if said))
    surplus = {closing: outside.count(closing) - outside.count(opening) for closing, opening in _PARTNER.items()}
    end = len(sentence)
    while True:
        run = _run(spoken, end)
        surplus.setdefault("*", outside.count("*", run) - outside.count("*", 0, run) % 2)
        is_behind = run > 0 and outside[run - 1] == "." and outside[run - 2 : run - 1] != "."
        while end > run:
            mark = outside[end - 1]
            if surplus.get(mark, 1) <= 0 or not (is_behind or _closes(mark)):
                return end
            surplus[mark] = surplus.get(mark, end) - 1
            end -= 1
        before = outside[run - 2 : run - 1]
        if not is_behind or not before or surplus.get(before, 1) <= 0 or not _closes(before):
            return end
        end -= 1  # the period


def _run(spoken: str, end: int) -> int:
    """Where the marks begin that a text ends with."""
    while end:
        if spoken[end - 1] in _BEHIND or _closes(spoken[end - 1]):
            end -= 1
        elif spoken[end - 1] in "nrt" and spoken[end - 2 : end - 1] == "\\":
            end -= 2
        else:
            break
    return end


def _closes(mark: str) -> bool:
    return mark in '"`' or unicodedata.category(mark) in ("Pe", "Pf")


def _spans(sentence: str) -> list[Token]:
    """Code spans, quotations and dates, in order; a quotation around other code is one token, and none of it."""
    codes = [_outer(sentence, *span) for span in code_spans(sentence)]
    blank = blanked(sentence, ((one.start, one.end) for one in codes))
    taken: list[Token] = []
    place = 0
    for start, end in quotes(blank):
        if blank[start - 1] in "'’" and blank[start - 2 : start - 1] == "\0":
            continue  # the apostrophe of «`C`'s»
        while place < len(codes) and codes[place].start < start:
            taken.append(codes[place])
            place += 1
        inside: list[Token] = []
        while place < len(codes) and codes[place].start < end:
            inside.append(codes[place])
            place += 1
        if len(inside) == 1 and not blank[start:end].strip("\0 "):  # a quotation of nothing but code is that code
            taken.append(inside[0]._replace(start=start - 1, end=end + 1))
        else:
            taken.append(Token("quote", flat(sentence[start:end]), start - 1, end + 1))
    taken += codes[place:]
    if _YEAR.search(sentence):
        rest = "".join(
            one if one.isascii() else "\0" for one in blanked(sentence, ((one.start, one.end) for one in taken))
        )
        for one in literals(rest):
            if one.form == "moment":
                taken.append(Token("moment", " ".join(one.text.split()), one.start, one.end))
        taken.sort(key=lambda one: one.start)
    return taken


def _outer(sentence: str, start: int, end: int) -> Token:
    """The token of a code span, its fences included."""
    text = flat(sentence[start:end])
    if sentence[start - 1] != "`":
        start, end = start - 1, end + 1
    while start and sentence[start - 1] == "`":
        start -= 1
    while end < len(sentence) and sentence[end] == "`":
        end += 1
    return Token("code", text, start, end)


def _chunk(chunk: str, at: int) -> Iterator[Token]:
    """The tokens of what stands between white space or spans: leading marks, the word, its `'s`, trailing marks."""
    first, last = 0, len(chunk)
    while first < last and chunk[first] in _OPENING:
        yield _mark(chunk[first], at + first)
        first += 1
    trailing: list[Token] = []
    surplus = {
        closing: chunk.count(closing, first) - chunk.count(opening, first) for closing, opening in _PARTNER.items()
    }
    while last > first and (mark := chunk[last - 1]) in _CLOSING:
        if mark in surplus:
            if surplus[mark] <= 0:
                break  # `f()` and `f(x)` keep theirs
            surplus[mark] -= 1
        last -= 1
        trailing.append(_mark(mark, at + last))
    if first < last:
        yield from _word(chunk[first:last].translate(_STRAIGHT), at + first)
    yield from reversed(trailing)


def _word(core: str, at: int) -> Iterator[Token]:
    end = at + len(core)
    if not core.isascii():
        yield Token("odd", nfkc(core), at, end)
    elif _SINGLE.fullmatch(core):
        yield Token("quote", core[1:-1], at, end)
    elif core.endswith("'s") and len(core) > 2:
        yield Token("word", core[:-2], at, end - 2, core[:-2].lower())
        yield _mark("'s", end - 2)
    elif core == "'s":
        yield _mark(core, at)
    else:
        yield Token("word", core, at, end, core.lower())


def _mark(mark: str, at: int) -> Token:
    return Token("mark", mark, at, at + len(mark), mark)


def _unglued(tokens: list[Token]) -> list[Token]:
    """Tokens that cling to one another (`un`f``, `g`-based) stand for nothing; marks cling to anything."""
    found = list(tokens)
    for place in range(1, len(tokens)):
        before, one = tokens[place - 1], tokens[place]
        if before.end == one.start and before.kind != "mark" and one.kind != "mark":
            found[place - 1] = found[place - 1]._replace(kind="odd", key="")
            found[place] = one._replace(kind="odd", key="")
    return found


def _emphasised(tokens: list[Token]) -> list[Token]:
    """The tokens without the asterisks of emphasis, in pairs next to what they stress; others stand for nothing."""
    stars = [place for place, one in enumerate(tokens) if one.text == "*" and one.kind == "mark"]
    if not stars:
        return tokens
    clinging = all(
        (place + 1 < len(tokens) and tokens[place + 1].start == tokens[place].end)
        or (place > 0 and tokens[place - 1].end == tokens[place].start)
        for place in stars
    )
    if clinging and len(stars) % 2 == 0:
        return [one for one in tokens if not (one.text == "*" and one.kind == "mark")]
    return [one._replace(kind="odd", key="") if one.text == "*" and one.kind == "mark" else one for one in tokens]
