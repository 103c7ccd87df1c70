"""The tokens of a sentence, and which of them say which arguments of its checks: a name, a path, a number, a time or
a quoted text (docs/checks.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import CONSTANTS, TABLE, Check, Kind, Parameter, Value, number_of, parse_check, written_value
from .facts import flat
from .prose_literals import (
    NOUNS,
    NUMBER_WORDS,
    PLAIN,
    RELATIONS,
    SYMBOLIC,
    TIES,
    UNIT_OF,
    blanked,
    code_spans,
    literals,
    quotes,
)
from .values import read_named_time, same

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
    """Where a sentence ends, without what stands behind its period or before it and closes nothing. A character that
    may belong to a name (`foo_`, `save!`) goes only from behind the period. An ellipsis stays."""
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


_GROUPED: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_QUANTITY: Final = re.compile(r"(-?[\d_,.]*\d) ?([^\W\d]+|%)", re.ASCII)
_SEPARATOR: Final = re.compile(r"\.|::|#|->")
_CAPITALS: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_NAME: Final = re.compile(r"[A-Z][\w'-]*\.?", re.ASCII)
_WORD_VALUE: Final = re.compile(r"[A-Za-z0-9_.\-+/:$]+")
_SHAPES: Final = {
    "symbol": re.compile(r"[A-Za-z_$][\w$]*[?!]?(?:(?:\.|::)[A-Za-z_$][\w$]*[?!]?){0,15}", re.ASCII),
    "name": re.compile(r"[A-Za-z_$/][\w$./:-]{0,255}", re.ASCII),
    "module": re.compile(r"[A-Za-z_@.][\w$./:@-]{0,255}", re.ASCII),
    "identifier": re.compile(r"[A-Za-z0-9_.$-]{1,64}"),
    "hash": re.compile(r"[0-9a-fA-F]{7,64}"),
}
_CALL: Final = re.compile(r"[A-Za-z_$][\w$.:]{0,255}(!)?\((?!\)).{0,255}\)", re.ASCII)
"""A call with arguments, or a macro."""
_VERSION: Final = re.compile(r"v?\d{1,9}(?:\.\d{1,9}){1,3}[\w.+-]{0,40}")
_CHANGES: Final = re.compile(r"(?:.*/)?(?:CHANGELOG|CHANGES|HISTORY|NEWS|RELEASES)(?:\.\w{1,4})?")


def is_set_off(token: Token) -> bool:
    """Whether a token is a code span or a quotation."""
    return token.kind in ("code", "quote")


def is_named(token: Token) -> bool:
    """Whether a token can only be a name: set off, or of a shape that no word of prose has (`max_size`, `a.b`, `f()`,
    `parseTime`)."""
    if is_set_off(token):
        return True
    bare = token.text.removesuffix("()")
    if token.kind != "word" or not bare:
        return False
    return (
        bare != token.text
        or "_" in bare.strip("_")
        or "::" in bare
        or re.search(r"\w\.[A-Za-z_]|[a-z][A-Z]", bare) is not None
    )


@lru_cache(maxsize=1024)
def is_path(text: str) -> bool:
    """Whether a text is a path below a root beyond doubt: an ending that files have, or the form of a path."""
    found = literals(text) if len(text) <= 4096 and not text.startswith(("/", "~")) else []
    return len(found) == 1 and found[0].form == "path" and found[0].text == text


@lru_cache(maxsize=1024)
def components(name: str) -> tuple[str, ...]:
    """The components of a symbol or key: of `Type.method`, `a::b` or the JSON Pointer `/a/b`."""
    name = name.removesuffix("()")
    return tuple(name[1:].split("/")) if name.startswith("/") else tuple(_SEPARATOR.split(name))


def number_in(token: Token) -> int | Decimal | None:
    """The number that a token is: `1,000`, `1_000` and `0x3e8` are one, and «two» is 2."""
    if token.kind == "word":
        if _GROUPED.fullmatch(token.text):
            return number_of(token.text.replace(",", ""))
        if token.key in NUMBER_WORDS:
            return NUMBER_WORDS[token.key]
    return number_of(token.text) if token.kind in ("word", "code") else None


# ---------------------------------------------------------------- as a check writes it


def read(kind: str, token: Token) -> str | None:
    """The argument that a token is, as a check writes it; None where it is none of that kind beyond doubt.

    Kinds are `symbol`, `callee` (also a call with arguments), `macro`, `name`, `module`, `identifier`, `hash`, `path`,
    `changelog`, `quote`, `expression` (quote or constant), `value`, `literal`, `constant`, `number`, `version`, `time`.
    """
    text = token.text
    if token.kind in ("mark", "odd"):
        return None
    if kind in ("value", "literal"):
        is_word = not any(map(str.isdigit, text)) and text not in CONSTANTS and text[:1] not in ("[", '"', "'")
        return None if kind == "literal" and is_word else _value(token)
    if kind in ("callee", "macro"):
        call = _CALL.fullmatch(text) if token.kind == "code" else None
        if call is not None and (kind == "callee" or call[1]):
            return _quoted(text)
        return _name("symbol", token) if kind == "callee" else None
    if kind == "number":
        number = number_in(token)
        return None if number is None else written_value(number)
    if kind == "expression":
        return read("quote", token) or read("constant", token)
    if kind == "constant":
        return _quoted(text) if token.kind == "word" and (text in CONSTANTS or number_of(text) is not None) else None
    if kind == "quote":
        return _quoted(text) if is_set_off(token) or "_" in text.strip("_") else None
    if kind == "version":
        return _quoted(text) if _VERSION.fullmatch(text) else None
    if kind == "time":
        is_time = token.kind == "moment" or is_set_off(token)
        return _quoted(text) if is_time and read_named_time(text) else None
    if kind in ("path", "changelog"):
        path = text.removeprefix("./")
        return _quoted(path) if is_path(path) and (kind == "path" or _CHANGES.fullmatch(path)) else None
    return _name(kind, token)


def _name(kind: str, token: Token) -> str | None:
    name = token.text if kind in ("module", "hash") else token.text.removesuffix("()")
    if _SHAPES[kind].fullmatch(name) is None:
        return None
    if kind == "hash":
        return name.lower() if token.kind != "quote" else None
    if not is_named(token) or (kind == "identifier" and token.kind == "quote") or number_of(name) is not None:
        return None
    return _quoted(name) if kind == "module" or not is_path(name) else None


def _quoted(text: str) -> str:
    try:
        return written_value(text)
    except UnicodeEncodeError:  # half a character
        return '""'


def _value(token: Token) -> str | None:
    """A value by the way it is set off: `30` is a number, `"30"` and “30” are texts."""
    text = token.text
    if token.kind == "quote":
        return _quoted(text)
    number = number_in(token)
    if number is not None:
        return written_value(number)
    if text in CONSTANTS:
        return written_value(CONSTANTS[text])
    if token.kind != "code":
        return None
    if len(text) > 1 and text[0] == text[-1] == "'" and "'" not in text[1:-1] and "\\" not in text:
        return _quoted(text[1:-1])
    if text[:1] in ('"', "["):
        check = parse_check(f"equals(x, {text})")
        return written_value(check.value("value")) if isinstance(check, Check) else None
    return _quoted(text) if _WORD_VALUE.fullmatch(text) else None


def author_ends(tokens: Sequence[Token], at: int) -> Iterator[int]:
    """Where a person's name may end that begins at a place: a quotation, or one to four words with a capital."""
    if at < len(tokens) and is_set_off(tokens[at]):
        yield at + 1
        return
    for end in range(at + 1, min(at + 5, len(tokens) + 1)):
        if tokens[end - 1].kind != "word" or _NAME.fullmatch(tokens[end - 1].text) is None:
            return
        yield end


# ---------------------------------------------------------------- whether it says an argument


def says_name(token: Token, name: str) -> int:
    """How many of the last components of a name a token says; 0 where it says another one."""
    if not (is_named(token) or (token.kind == "word" and _CAPITALS.fullmatch(token.text) and len(token.text) > 1)):
        return 0
    said, whole = components(token.text), components(name)
    return len(said) if said == whole[len(whole) - len(said) :] else 0


def says_path(token: Token, path: str) -> bool:
    """Whether a token is a path, or the last parts of it."""
    text, whole = token.text.removeprefix("./"), path.removeprefix("./")
    return is_path(text) and (text == whole or whole.endswith(f"/{text}"))


def says_time(token: Token, time: str) -> bool:
    """Whether a token names the same stretch of time, at the same precision."""
    named = read_named_time(time)
    is_time = token.kind == "moment" or is_set_off(token)
    return is_time and named is not None and read_named_time(token.text) == named


def says_value(tokens: Sequence[Token], at: int, value: Value) -> int:
    """How many tokens from a place say a value: a number, a constant, a text, a quantity with its unit; 0 for none."""
    token = tokens[at]
    written = _value(token)
    if written is not None:
        check = parse_check(f"equals(x, {written})")
        if isinstance(check, Check) and _is_same(check.value("value"), value):
            return 1
    if isinstance(value, str):
        amount = _quantity(value)
        if amount is not None and token.kind in ("word", "code"):
            if _quantity(token.text) == amount:
                return 1
            if at + 1 < len(tokens) and _quantity(f"{token.text} {tokens[at + 1].text}") == amount:
                return 2
        if is_named(token) and token.text == value:
            return 1
    return 0


def _is_same(said: Value, value: Value) -> bool:
    """Whether both say the same either way round; where one is coarser than the other they do not."""
    if type(said) is not type(value) and not (_is_number(said) and _is_number(value)):
        return False
    return (isinstance(said, str) and said == value) or (same(said, value) is True and same(value, said) is True)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _quantity(text: str) -> tuple[int | Decimal, str] | None:
    """A number and its unit, by the unit's own name."""
    match = _QUANTITY.fullmatch(text) if len(text) <= 64 else None
    if match is None or match[2] not in UNIT_OF:
        return None
    number = number_of(match[1].replace(",", "") if _GROUPED.fullmatch(match[1]) else match[1])
    return None if number is None else (number, UNIT_OF[match[2]])


# ---------------------------------------------------------------- of a whole sentence

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_$][\w$.-]*) ?(?::=|=|:) ?(\S.{0,255})", re.ASCII)
Mention = tuple[int, str]
"""A check by its place, and one of its parameters."""
Confirmations = Mapping[str, frozenset[str]]
"""Of an identifier, the kinds that an index proves."""


@lru_cache(maxsize=256)  # a sentence is compared again where an index proves more of it
def mentions(tokens: tuple[Token, ...], checks: tuple[Check, ...], path: str | None) -> tuple[frozenset[Mention], ...]:
    """Of each token the arguments of the checks that it says. `path` is the file that checks without one were held
    against."""
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
