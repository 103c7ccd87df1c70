"""Checks as data, and what one check comes to (docs/checks.md): a closed list of what a machine can verify of an
assertion, how a check is read and written, and the result of a check over one scope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from ...codecs.check_notes import STRINGS
from ...codecs.unicode_text import nfkc
from .prose_literals import tables

HeldReason = Literal[
    "not-found",  # nothing there makes it hold, and nothing is exactly against it
    "differs",  # exactly false: what was found is something else
    "ambiguous",  # several definitions of one name, or several occurrences where one is wanted
    "computed",  # the name is there, but what it is worth is not written down as a literal
    "incomparable",  # two values that have no order, or of two kinds
    "syntax-error",  # the file has one where the check would be decided
    "unlisted-language",  # the file's language is not one that checks by syntax speak of
    "no-grammar",  # the parser for it is not installed
    "too-large",  # the scope is beyond a bound
    "not-whole",  # the scope was not read whole, or its encoding had to be guessed
    "other-substrate",  # not decided by the class that looked
    "unknown-check",  # malformed, or of a list of checks that this version does not know
    "path-missing",  # the file is not in the tree that was looked at
    "changed-since",  # false here, but the file has changed since the time that the annotation speaks of
    "denial",  # it holds, but a denial is not borne out by it
    "moved",  # the quote stands elsewhere in the file than the check says
    "assigned-elsewhere",  # an occurrence of the name that is not provably a read may change the value
    "outside-locator",  # it is decided by what the annotation does not say was looked at
    "not-committed",  # history says nothing of it: what stands is not what was committed, if anything was
]


class Held(NamedTuple):
    """What came of one check.

    Attributes:
        holds: True where it holds, False where it is exactly false in a scope that was read whole, else None.
        reason: why it does not hold; None where it does.
        lines: where it holds or is refuted: first and last line of the file, from 1.
        path: the file, where a verifier looked at several.
        commit: the commit that decided it, where one did.
        found: for a check that does not hold, the text of the line that stands there instead; at most 200 characters.
        under: the texts of the enclosing conditions, attributes or preprocessor lines, the outermost first.
        narrowed: what `under` says makes the check say less than a sentence without a condition (coverage is lowered).
        candidates: for `ambiguous`, what the name could mean: qualified names or paths, at most 5.
        chain: for `reaches`, every call on the way, with its line.
    """

    holds: bool | None
    reason: HeldReason | None = None
    lines: tuple[int, int] | None = None
    path: str | None = None
    commit: str | None = None
    found: str | None = None
    under: tuple[str, ...] = ()
    narrowed: bool = False
    candidates: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()


class Source(NamedTuple):
    """The text of one file, with the region of it that is looked at.

    Attributes:
        path: below the root, with slashes; its ending tells the language. Empty for text that is no file.
        text: the whole file's text; line ends as they stand there.
        lines: first and last line of the region, from 1; None for the whole file.
        whole: the file was read uncut and its encoding is known, so that not finding something is exact.
        digest: of the file's bytes (`sha256:…`), by which what was parsed can be kept; empty where nobody knows it.
    """

    path: str
    text: str
    lines: tuple[int, int] | None = None
    whole: bool = True
    digest: str = ""


def opposite(held: Held) -> Held:
    """What `not` makes of it: it holds where the check is exactly false; what is undecided stays so."""
    if held.holds is None:
        return held
    return held._replace(holds=not held.holds, reason="differs" if held.holds else None)


MAX_DEPTH: Final = 4
"""Lists inside one another."""
MAX_DIGITS: Final = 400
"""Digits before and behind the point that a number may need when it is written out."""

MAX_CANONICAL: Final = 4_000
"""Characters of a canonical form: NFKC and numbers with an exponent can make a check much longer than it was given."""
OPEN: Final = "\u2026"
"""At an end of a quote: there the quote may end inside a word."""

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: Final = get_args(Operator)
Value = None | bool | int | Decimal | str | tuple["Value", ...]
"""What a value of a check is. A whole number is always an `int`, any other one a `Decimal` without zeros at its end."""


class Kind(StrEnum):
    """What a parameter takes. A word and a string mean the same but for `VALUE`, where `30` is no `"30"`."""

    TEXT = "text"  # a quote: runs of white space are one space; `OPEN` may stand at its ends
    NAME = "name"  # a symbol, key, module, error or hash
    IDENTIFIER = "identifier"  # 1 to 64 of A-Z a-z 0-9 _ . $ -
    PATH = "path"
    PATHS = "list of paths"  # sorted, each once
    LINES = "lines"  # `a-b` or `a`, from 1
    VALUE = "value"
    ITEMS = "list of values"
    OPERATOR = "operator"
    NUMBER = "number"
    TIME = "time"  # a date or time as `named_times` reads it; kept as written
    SYMBOL_KIND = "kind of symbol"


SYMBOL_KINDS: Final = ("function", "method", "type", "constant", "variable", "target", "section")


class Parameter(NamedTuple):
    """One parameter of a check; `symbol` marks the name of something in code, in which `::`, `->` and `#` are `.`."""

    name: str
    kind: Kind
    optional: bool = False
    symbol: bool = False


class Signature(NamedTuple):
    """One row of the list of checks.

    Attributes:
        parameters: the positional ones, in order.
        named: those given as `key=value`, in the order in which the canonical form has them.
        content: it speaks of the content of a file, so `path`, `in` and `lines` say of which part.
        negatable: `not` may stand before it.
        least_named: how many of `named` must be given.
    """

    name: str
    parameters: tuple[Parameter, ...]
    named: tuple[Parameter, ...] = ()
    content: bool = False
    negatable: bool = True
    least_named: int = 0


ROWS: Final[dict[str, dict[str, Any]]] = tables("checks")
"""The table of checks as it is written."""
_KINDS: Final = {name: Kind(kind) for kind, names in ROWS["kinds"].items() for name in names.split()}


def _parameters(names: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            name.rstrip("*?"), Kind.NAME if name[-1] == "*" else _KINDS[name.rstrip("?")], "?" in name, "*" in name
        )
        for name in names.split()
    )


def _signature(name: str, takes: str, keys: str = "", content: bool = False, **told: Any) -> Signature:
    scope = [one for one in ("path", "in", "lines") if content and one not in takes.split()]
    options = {option: told[option] for option in ("negatable", "least_named") if option in told}
    return Signature(name, _parameters(takes), _parameters(" ".join((keys, *scope))), content, **options)


TABLE: Final[Mapping[str, Signature]] = {name: _signature(name, **row) for name, row in ROWS["checks"].items()}

_PLACES: Final[Mapping[str, Mapping[str, int]]] = {
    name: {parameter.name: place for place, parameter in enumerate(signature.parameters)}
    for name, signature in TABLE.items()
}
"""Where each check has its positional arguments."""
_KEYS: Final[Mapping[str, Mapping[str, Parameter]]] = {
    name: {parameter.name: parameter for parameter in (*signature.parameters, *signature.named)}
    for name, signature in TABLE.items()
}
"""What each check takes as `key=value`."""


class Check(msgspec.Struct, frozen=True, gc=False):
    """One check, well formed.

    Attributes:
        name: a key of `TABLE`.
        arguments: the positional ones; texts in NFKC.
        named: the others, in the order of the table.
        negated: it holds where the check behind `not` is exactly false.
    """

    name: str
    arguments: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...] = ()
    negated: bool = False

    def value(self, parameter: str) -> Value:
        """The argument of a parameter, positional or named; None where it was not given."""
        place = _PLACES[self.name].get(parameter)
        if place is not None and place < len(self.arguments):
            return self.arguments[place]
        for name, argument in self.named:
            if name == parameter:
                return argument
        return None

    def has(self, parameter: str) -> bool:
        """Whether a named argument was given: `default=null` is one, although its value is None."""
        return any(name == parameter for name, _ in self.named)

    def text(self, parameter: str) -> str:
        """The argument of a parameter that is always text; empty where it was not given."""
        argument = self.value(parameter)
        return argument if isinstance(argument, str) else ""

    @property
    def path(self) -> str | None:
        """The path that the check itself names."""
        return self.text("path") or None

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line of its scope, from 1."""
        first, _, last = self.text("lines").partition("-")
        return (int(first), int(last or first)) if first else None


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """A check that is malformed, or that this version does not know: it stays undecided, reason `unknown-check`.

    Attributes:
        text: as it was given.
        why: what is wrong with it, for a person; none of its text.
    """

    text: str
    why: str


class _Malformed(Exception):
    """The text is no check, or may be read as several; the message says why."""


@lru_cache(maxsize=4096)  # the lane, its audit and each observer read the same ones over and over
def parse_check(text: str) -> Check | Unknown:
    """Reads one check. Returns it, or what is wrong with it; never raises."""
    try:
        return _CheckReader(text).check()
    except _Malformed as why:
        return Unknown(text, str(why))


_HEAD: Final = re.compile(r"\s*(not\s+)?([a-z_]+)\s*\(\s*")
_WORD: Final = re.compile(r"[A-Za-z0-9_.\-+/:$]+")
_KEY: Final = re.compile(r"([a-z_]+)\s*==?(?!=)\s*")
_PLAIN: Final = re.compile(r"(?:([a-z_]+)=(?!=))?([A-Za-z0-9_.\-+/:$]+)\s*(?:,\s*|(\)))")
"""An argument that is a word, and what follows it; its key, if any, the word, and the bracket where it is the last."""
_IN_SINGLE: Final = re.compile(r'\\.|"', re.DOTALL)
_SINGLE: Final[Mapping[str, str]] = {"\\'": "'", '"': '\\"'}
"""What stands for these between JSON's quotation marks."""
_STOP: Final = re.compile(r"[,()\[\]{}]")
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?(?:\d[\d_]*)?(?:\.(?:\d[\d_]*)?)?(?:[eE][+-]?\d{1,4})?", re.ASCII)
_RADIX: Final = re.compile(r"(-?)0([xXoObB])([0-9A-Fa-f_]+)")
_LINE_RANGE: Final = re.compile(r"[1-9]\d{0,8}(?:-[1-9]\d{0,8})?", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
CONSTANTS: Final[Mapping[str, Value]] = {
    **dict.fromkeys(("true", "True"), True),
    **dict.fromkeys(("false", "False"), False),
    **dict.fromkeys(("null", "None", "nil"), None),
}
"""Words without marks that mean a constant; in marks they are texts."""
_MARKED: Final = re.compile(r"[\"'`=]")
"""What no name or path without marks holds."""
_BRACKET: Final = re.compile(r"[(){}]")
_QUALIFIED: Final = re.compile(r"[\w$~]+(?:(?:\.|::|->|#)[\w$~]+)+")
_SEPARATOR: Final = re.compile(r"::|->|#")
_decode_string = msgspec.json.Decoder(str).decode


class _Raw(NamedTuple):
    """A value as it was written: a word means a number or a constant in some places, and its text in others."""

    text: str = ""
    mark: str = ""
    items: tuple[_Raw, ...] | None = None


class _CheckReader:
    """Reads one check from left to right; never twice over the same text."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def check(self) -> Check:
        head = _HEAD.match(self.text)
        if head is None:
            raise _Malformed("expected a name and an opening bracket")
        signature = TABLE.get(head[2])
        if signature is None:
            raise _Malformed("there is no check of that name")
        negated = head[1] is not None
        if negated and not signature.negatable:
            raise _Malformed(f"{signature.name} has no `not`")
        self.at = head.end()
        given, keyed = self._arguments(_KEYS[signature.name])
        self._skip()
        if self.at != len(self.text):
            raise _Malformed("there is more behind the closing bracket")
        check = Check(signature.name, _positional(signature, given, keyed), _named(signature, keyed), negated)
        if not _is_short(self.text) and len(canonical(check)) > MAX_CANONICAL:
            raise _Malformed(f"written out it has more than {MAX_CANONICAL} characters")
        return check

    def _arguments(self, keys: Mapping[str, Parameter]) -> tuple[list[_Raw], dict[str, _Raw]]:
        given: list[_Raw] = []
        keyed: dict[str, _Raw] = {}
        if self._take(")"):
            return given, keyed
        while True:
            key, raw, ends = self._argument(keys)
            if key is None:
                given.append(raw)
            elif key in keyed:
                raise _Malformed(f"{key} is given twice")
            else:
                keyed[key] = raw
            if ends:
                return given, keyed

    def _argument(self, keys: Mapping[str, Parameter]) -> tuple[str | None, _Raw, bool]:
        """One argument with its key, and whether it is the last."""
        plain = _PLAIN.match(self.text, self.at)
        if plain is not None and (not plain[1] or plain[1] in keys):  # most are; any other is read piece by piece
            self.at = plain.end()
            key, raw, ends = plain[1], _Raw(plain[2]), plain[3] is not None
        else:
            match = _KEY.match(self.text, self.at)
            key = match[1] if match is not None and match[1] in keys else None
            if match is not None and key is not None:
                self.at = match.end()
            raw = self._value(")", 0)
            ends = not self._more(")")
        if key in _QUOTED_KEYS and keys[key].kind is Kind.TEXT and not raw.mark:
            raise _Malformed(f"{key}=… may be an argument or a quote: write it as a string")
        return key, raw, ends

    def _value(self, end: str, depth: int) -> _Raw:
        mark = self.text[self.at : self.at + 1]
        if mark in STRINGS:
            return _Raw(self._string(mark), mark)
        if mark != "[":
            return _Raw(self._run(end))
        if depth >= MAX_DEPTH:
            raise _Malformed(f"more than {MAX_DEPTH} lists inside one another")
        self._take(mark)
        items: list[_Raw] = []
        if not self._take("]"):
            items.append(self._value("]", depth + 1))
            while self._more("]"):
                items.append(self._value("]", depth + 1))
        return _Raw(items=tuple(items))

    def _string(self, mark: str) -> str:
        match = STRINGS[mark].match(self.text, self.at)
        if match is None:
            raise _Malformed("a string does not end")
        self.at = match.end()
        if mark == "`":
            return match[0][1:-1]
        written = match[0]
        if mark == "'":
            written = f'"{_IN_SINGLE.sub(lambda one: _SINGLE.get(one[0], one[0]), written[1:-1])}"'
        try:
            return _decode_string(written.encode())
        except (msgspec.MsgspecError, UnicodeError):
            raise _Malformed("a string is no JSON string") from None

    def _run(self, end: str) -> str:
        """Text without marks, up to a comma or the bracket that closes what it stands in."""
        start, waiting = self.at, list[str]()
        for stop in _STOP.finditer(self.text, start):
            if not waiting and stop[0] in (",", end):
                self.at = stop.start()
                break
            if stop[0] in _CLOSERS:
                waiting.append(_CLOSERS[stop[0]])
            elif stop[0] != "," and (not waiting or waiting.pop() != stop[0]):
                raise _Malformed(f"a bracket closes nothing at character {stop.start()}")
        else:
            raise _Malformed("a bracket is not closed")
        run = self.text[start : self.at].rstrip()
        if not run:
            raise _Malformed(f"expected a value at character {start}")
        if any(run.count(mark) % 2 for mark in STRINGS):
            raise _Malformed("where a quote ends is not clear: write it as a string")
        return run

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space is not None else self.at

    def _take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        self._skip()
        return True

    def _more(self, end: str) -> bool:
        """Whether another argument or item follows; takes the comma, or the end."""
        self._skip()
        if self._take(","):
            return True
        if self._take(end):
            return False
        raise _Malformed(f"expected a comma or {end} at character {self.at}")


def _is_short(text: str) -> bool:
    """Whether what is read from a text is surely written out within `MAX_CANONICAL`, which is then not tried.

    Of plain ASCII without an escape only numbers may become longer, up to `MAX_DIGITS` and a mark each, quotation marks
    by an escape, and what stands between arguments by a space. A check has few arguments, a list any number of items.
    """
    return len(text) <= _SHORT and "[" not in text and "\\" not in text and text.isascii()


_SHORT: Final = (MAX_CANONICAL - 8 * (MAX_DIGITS + 4)) // 2


def _positional(signature: Signature, given: list[_Raw], keyed: Mapping[str, _Raw]) -> tuple[Value, ...]:
    """The arguments that stand without a key fill the parameters that no key names, in order."""
    parameters = signature.parameters
    if signature.name == "defines" and any(raw.text in ("section", "target") for raw in (*given[1:], *keyed.values())):
        parameters = (_HEADING, *parameters[1:])
    pairs = list[tuple[Parameter, _Raw]]()
    used = 0
    for parameter in parameters:
        if parameter.name in keyed:
            pairs.append((parameter, keyed[parameter.name]))
        elif used < len(given):
            pairs.append((parameter, given[used]))
            used += 1
        elif not parameter.optional:
            raise _Malformed(f"{signature.name} needs {parameter.name}")
    if used < len(given):
        keys = ", ".join(parameter.name for parameter in signature.named) or "none"
        raise _Malformed(f"{signature.name} takes {len(parameters)} arguments; its keys are: {keys}")
    return tuple([_typed(parameter, raw) for parameter, raw in pairs])


def _named(signature: Signature, keyed: Mapping[str, _Raw]) -> tuple[tuple[str, Value], ...]:
    if not keyed and not signature.least_named:
        return ()
    named = tuple(
        [
            (parameter.name, _typed(parameter, keyed[parameter.name]))
            for parameter in signature.named
            if parameter.name in keyed
        ]
    )
    if len(named) < signature.least_named:
        raise _Malformed(f"{signature.name} needs one of {', '.join(parameter.name for parameter in signature.named)}")
    return named


def _typed(parameter: Parameter, raw: _Raw) -> Value:
    """The argument as its parameter takes it."""
    kind, name = parameter.kind, parameter.name
    if raw.text in _OPERATORS and (kind is Kind.OPERATOR or not raw.mark):
        if kind is not Kind.OPERATOR:
            raise _Malformed(f"{name} is no operator")
        return _OPERATORS[raw.text]
    if kind in _OTHERS:
        return _OTHERS[kind](name, raw)
    if raw.items is not None:
        raise _Malformed(f"{name} is no list: write a text with brackets as a string")
    text = _quote(raw.text) if kind is Kind.TEXT else _plain(raw.text)
    if not text:
        raise _Malformed(f"{name} is empty")
    if kind in _NAMES and ("::" in text or not _WORD.fullmatch(text)):
        text = _name(text, parameter, marked=bool(raw.mark))
    if kind in _FITTING and not _FITTING[kind][0](text):
        raise _Malformed(f"{name} {_FITTING[kind][1]}")
    return text


def _operator(name: str, raw: _Raw) -> Value:
    raise _Malformed(f"{name} is one of {' '.join(OPERATORS)}")


def _paths(name: str, raw: _Raw) -> Value:
    items = (raw,) if raw.items is None else raw.items
    if not items:
        raise _Malformed(f"{name} is empty")
    return tuple(sorted({str(_typed(Parameter(name, Kind.PATH), item)) for item in items}))


def _items(name: str, raw: _Raw) -> Value:
    if raw.items is None:
        raise _Malformed(f"{name} is a list")
    return _value_of(name, raw)


def _number(name: str, raw: _Raw) -> Value:
    number = None if raw.mark else number_of(raw.text)
    if number is None:
        raise _Malformed(f"{name} is a number")
    return number


_HEADING: Final = Parameter("symbol", Kind.NAME)
"""The symbol of `defines` where it is a section or a target: no name in code."""
_OPERATORS: Final[Mapping[str, str]] = {**dict(zip(OPERATORS, OPERATORS, strict=True)), "==": "="}
_QUOTED_KEYS: Final = frozenset(["quote", "condition", "effect", "a", "b", "pattern", "what", "old", "new"])
"""Keys of quotes that may stand without one: `order(a = 1, b = 2)` has two readings."""


def _plain(text: str) -> str:
    """Text in NFKC; without control characters other than tab and line ends, and never half a character."""
    if _CONTROL.search(text):
        raise _Malformed("a string holds control characters")
    return text if text.isascii() else nfkc(text)


def _quote(text: str) -> str:
    """A quote, its runs of white space as one space. `OPEN` stays at its ends where no white space is beside it."""
    text = text.strip()
    if OPEN not in (text[:1], text[-1:]):
        return " ".join(_plain(text).split())
    inner = text.strip(OPEN)
    words = " ".join(_plain(inner).split())
    before = OPEN if words and text[0] == OPEN and not inner[0].isspace() else ""
    return before + words + (OPEN if words and text[-1] == OPEN and not inner[-1].isspace() else "")


def _name(text: str, parameter: Parameter, *, marked: bool) -> str:
    """A name as the canonical form has it: `f` for `f()`, and of a symbol the parts with points between them."""
    if parameter.kind is not Kind.PATH and not (marked and (not parameter.symbol or " " in text)):
        text = text.removesuffix("()") or text
    if not marked and (_MARKED.search(text) or (parameter.kind is Kind.NAME and _BRACKET.search(text))):
        raise _Malformed(f"{parameter.name} without marks holds a sign that no name has: write it as a string")
    if (parameter.symbol or (parameter.kind is Kind.NAME and not marked and "::" not in text)) and (
        _QUALIFIED.fullmatch(text)
    ):
        text = _SEPARATOR.sub(".", text)
    return text


def _value_of(name: str, raw: _Raw) -> Value:
    if raw.items is not None:
        return tuple([_value_of(name, item) for item in raw.items])
    if raw.mark == "`" and (raw.text in CONSTANTS or number_of(raw.text) is not None or _MARKED.search(raw.text)):
        raise _Malformed(f"{name} in back-ticks may be a text or what it means: write it without, or as a string")
    if raw.mark:
        return _plain(raw.text)
    if _WORD.fullmatch(raw.text) is None:
        raise _Malformed(f"{name} is a number, a constant, a list or a text: write a text as a string")
    if raw.text in CONSTANTS:
        return CONSTANTS[raw.text]
    number = number_of(raw.text)
    return raw.text if number is None else number


_NAMES: Final = frozenset((Kind.NAME, Kind.IDENTIFIER, Kind.PATH))
_OTHERS: Final[Mapping[Kind, Callable[[str, _Raw], Value]]] = {
    Kind.OPERATOR: _operator,
    Kind.PATHS: _paths,
    Kind.ITEMS: _items,
    Kind.VALUE: _value_of,
    Kind.NUMBER: _number,
}
"""Kinds whose arguments are no text."""


def _is_range(text: str) -> bool:
    first, _, last = text.partition("-")
    return _LINE_RANGE.fullmatch(text) is not None and int(first) <= int(last or first)


_FITTING: Final[Mapping[Kind, tuple[Callable[[str], object], str]]] = {
    # whether a path may be looked at is for the observer that walks it
    **dict.fromkeys((Kind.NAME, Kind.TIME, Kind.PATH), (re.compile(r"[^\n\r]*").fullmatch, "is one line")),
    Kind.IDENTIFIER: (re.compile(r"[A-Za-z0-9_.$-]{1,64}").fullmatch, "is one identifier of at most 64 characters"),
    Kind.LINES: (_is_range, "are the first and the last line, from 1"),
    Kind.SYMBOL_KIND: (SYMBOL_KINDS.__contains__, f"is one of {', '.join(SYMBOL_KINDS)}"),
}
"""Which texts some kinds take, and what is said of any other."""


def number_of(word: str) -> int | Decimal | None:
    """The number that a word is: as JSON writes it, or as the listed languages do (`1_000`, `0x3e8`, `.5`).

    None for anything else: a leading zero, a unit, a sign other than minus, more than `MAX_DIGITS` digits.
    """
    if not word or word[0] not in "-.0123456789" or len(word) > MAX_DIGITS:
        return None
    radix = _RADIX.fullmatch(word)
    if radix is not None:
        base = {"x": 16, "o": 8, "b": 2}[radix[2].lower()]
        try:
            return int(radix[1] + radix[3].replace("_", ""), base)
        except ValueError:  # no digits, or others
            return None
    if _NUMBER.fullmatch(word) is None or not any(one.isdigit() for one in word) or "__" in word:
        return None
    plain = word.replace("_", "")
    unsigned = plain.removeprefix("-")
    if (unsigned[:1] == "0" and unsigned[1:2].isdigit()) or unsigned[:1] in ("e", "E"):
        return None
    try:
        return whole_or_decimal(Decimal(plain))
    except InvalidOperation:
        return None


def whole_or_decimal(number: Decimal) -> int | Decimal | None:
    """The one form of a number; None where it would take more than `MAX_DIGITS` digits to write it out."""
    if not number.is_finite():
        return None
    sign, digits, exponent = number.as_tuple()
    if number == 0:
        return 0
    if not isinstance(exponent, int) or len(digits) > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        return None
    while len(digits) > 1 and digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    if exponent >= 0:
        whole = int("".join(map(str, digits))) * 10**exponent
        return -whole if sign else whole
    return Decimal((sign, digits, exponent))


# ---------------------------------------------------------------- writing


def canonical(check: Check) -> str:
    """The one way to write a check: what `parse_check` reads back as the same check."""
    signature = TABLE[check.name]
    written = list(map(_written, signature.parameters, check.arguments))
    keys = _KEYS[check.name]
    written += [f"{name}={_written(keys[name], value)}" for name, value in check.named]
    return f"{'not ' if check.negated else ''}{check.name}({', '.join(written)})"


def _written(parameter: Parameter, value: Value) -> str:
    kind = parameter.kind
    if kind is Kind.OPERATOR:
        return str(value)
    if isinstance(value, str) and kind is not Kind.VALUE:
        return _text(value)
    if isinstance(value, tuple) and kind is Kind.PATHS:
        return f"[{', '.join(_text(str(path)) for path in value)}]"
    return written_value(value)


def _text(text: str) -> str:
    return text if _WORD.fullmatch(text) else _quoted(text)


def written_value(value: Value) -> str:
    """A value as a check writes it: as a word where that means the same, else as a JSON string."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, str):
        word = _WORD.fullmatch(value) is not None and value not in CONSTANTS and number_of(value) is None
        return value if word else _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
