"""Checks as data: what a machine can verify of an assertion, from a closed list (docs/decisions, «Checks»).

A check is a proposition such as `equals(MAX_ASSERTIONS, 1000, path=codecs/records.py)`. `parse_check` reads one,
`canonical` writes it in the one form that equal checks share. What a check means is decided elsewhere; this module
knows names, parameters and spelling only. The list of checks is `TABLE`.

    check    = [ "not " ] name "(" [ argument { ", " argument } ] ")" ;
    argument = value | operator | key "=" value ;
    value    = word | string | list ;                  list = "[" [ value { ", " value } ] "]" ;
    operator = "=" | "!=" | "<" | "<=" | ">" | ">=" ;
    word     = ( letter | digit | "_" | "." | "-" | "+" | "/" | ":" | "$" )+ ;
    string   = a JSON string ;
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from ...codecs.unicode_text import nfkc

MAX_DEPTH: Final = 4
"""Lists inside one another."""
MAX_DIGITS: Final = 400
"""Digits before and behind the point that a number may need when it is written out."""

MAX_CANONICAL: Final = 4_000
"""Characters of a canonical form: NFKC and numbers with an exponent can make a check much longer than it was given."""

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
OPERATORS: Final = get_args(Operator)
Value = None | bool | int | Decimal | str | tuple["Value", ...]
"""What a value of a check is. A whole number is always an `int`, any other one a `Decimal` without zeros at its end."""


class Kind(StrEnum):
    """What a parameter takes. A word and a string mean the same but for `VALUE`, where `30` is no `"30"`."""

    TEXT = "text"  # a quote: runs of white space are one space
    NAME = "name"  # a symbol, key, module, path or hash, as it is written
    IDENTIFIER = "identifier"  # 1 to 64 of A-Z a-z 0-9 _ . $ -
    PATH = "path"
    LINES = "lines"  # `a-b` or `a`, from 1
    VALUE = "value"
    OPERATOR = "operator"
    NUMBER = "number"
    TIME = "time"  # a date or time as `streams.moments` reads it; kept as written
    SYMBOL_KIND = "kind of symbol"


SYMBOL_KINDS: Final = ("function", "method", "type", "constant", "variable", "target", "section")


class Parameter(NamedTuple):
    """One parameter of a check."""

    name: str
    kind: Kind
    optional: bool = False


class Signature(NamedTuple):
    """One row of the list of checks.

    Attributes:
        parameters: the positional ones, in order.
        named: those given as `key=value`, in the order in which they must come.
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


_PATH, _IN, _LINES = Parameter("path", Kind.PATH), Parameter("in", Kind.NAME), Parameter("lines", Kind.LINES)
_SCOPE = (_PATH, _IN, _LINES)


def _content(name: str, *parameters: Parameter, negatable: bool = True) -> Signature:
    given = {parameter.name for parameter in parameters}
    return Signature(name, parameters, tuple(one for one in _SCOPE if one.name not in given), True, negatable)


_QUOTE, _SYMBOL, _OP = Parameter("quote", Kind.TEXT), Parameter("symbol", Kind.NAME), Parameter("op", Kind.OPERATOR)
_COMMIT, _TIME = Parameter("commit", Kind.NAME), Parameter("time", Kind.TIME)

TABLE: Final[Mapping[str, Signature]] = {
    one.name: one
    for one in (
        _content("contains", _QUOTE, negatable=False),
        _content("absent", Parameter("identifier", Kind.IDENTIFIER)),
        Signature("exists", (_PATH,), negatable=False),
        Signature("missing", (_PATH,), negatable=False),
        _content("defines", _SYMBOL, Parameter("kind", Kind.SYMBOL_KIND, optional=True)),
        _content("equals", Parameter("name", Kind.NAME), Parameter("value", Kind.VALUE)),
        _content("compare", Parameter("name", Kind.NAME), _OP, Parameter("value", Kind.VALUE)),
        _content("calls", Parameter("caller", Kind.NAME), Parameter("callee", Kind.NAME)),
        _content("uses", Parameter("user", Kind.NAME), Parameter("used", Kind.NAME)),
        _content("imports", Parameter("module", Kind.NAME)),
        _content("returns", _SYMBOL, _QUOTE),
        _content("count", Parameter("pattern", Kind.TEXT), _OP, Parameter("number", Kind.NUMBER)),
        _content("line", _PATH, Parameter("number", Kind.NUMBER), _QUOTE),
        _content("order", Parameter("a", Kind.TEXT), Parameter("b", Kind.TEXT)),
        Signature(
            "commit",
            (Parameter("hash", Kind.NAME),),
            (Parameter("author", Kind.TEXT), Parameter("date", Kind.TIME), Parameter("subject", Kind.TEXT)),
        ),
        Signature("changed", (_PATH, _COMMIT)),
        Signature("introduced", (_QUOTE, _COMMIT), (_PATH,)),
        Signature("removed", (_QUOTE, _COMMIT), (_PATH,)),
        Signature("last_changed", (_PATH, _OP, _TIME)),
        Signature("modified", (_PATH, _OP, _TIME)),
        Signature(
            "peer",
            (),
            (
                Parameter("uid", Kind.NUMBER),
                Parameter("gid", Kind.NUMBER),
                Parameter("pid", Kind.NUMBER),
                Parameter("user", Kind.NAME),
            ),
            least_named=1,
        ),
    )
}


_PLACES: Final[Mapping[str, Mapping[str, int]]] = {
    name: {one.name: place for place, one in enumerate(signature.parameters)} for name, signature in TABLE.items()
}
"""Where each check has its positional arguments."""
_LEAST: Final[Mapping[str, int]] = {
    name: sum(not one.optional for one in signature.parameters) for name, signature in TABLE.items()
}
"""How many positional arguments each check has at least."""
_NAMED: Final[Mapping[str, Mapping[str, tuple[int, Parameter]]]] = {
    name: {one.name: (place, one) for place, one in enumerate(signature.named)} for name, signature in TABLE.items()
}
"""What each check takes as `key=value`, with its place among these."""


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
    """The text is no check; the message says why."""


@lru_cache(maxsize=4096)  # the lane, its audit and each observer read the same ones over and over
def parse_check(text: str) -> Check | Unknown:
    """Reads one check.

    Returns:
        The check, or what is wrong with it. Never raises.
    """
    try:
        return _Reader(text).check()
    except _Malformed as why:
        return Unknown(text, str(why))


_NAME: Final = re.compile(r"(not )?([a-z_]+)\(")
_WORD: Final = re.compile(r"[A-Za-z0-9_.\-+/:$]+")
_KEY: Final = re.compile(r"([a-z_]+)=(?!=)")
_OPERATOR: Final = re.compile(r"[!<>]=|[=<>]")
_PLAIN: Final = re.compile(r"(?:([a-z_]+)=(?!=))?([A-Za-z0-9_.\-+/:$]+)(?:,\s*|(\)))")
"""An argument that is a word, and what follows it; its key, if any, the word, and the bracket where it is the last."""
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?(?:\d[\d_]*)?(?:\.(?:\d[\d_]*)?)?(?:[eE][+-]?\d{1,4})?", re.ASCII)
_RADIX: Final = re.compile(r"(-?)0(?:[xX]([0-9A-Fa-f_]+)|[oO]([0-7_]+)|[bB]([01_]+))", re.ASCII)
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
_LINE_RANGE: Final = re.compile(r"[1-9]\d{0,8}(?:-[1-9]\d{0,8})?", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_CONSTANTS: Final[Mapping[str, Value]] = {"true": True, "false": False, "null": None}
_decode_string = msgspec.json.Decoder(str).decode


class _Raw(NamedTuple):
    """A value as it was written: a word means a number or a constant in some places, and its text in others."""

    text: str = ""
    quoted: bool = False
    operator: bool = False
    items: tuple[_Raw, ...] | None = None


class _Reader:
    """Reads one check from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def check(self) -> Check:
        head = _NAME.match(self.text)
        if head is None:
            raise _Malformed("expected a name and an opening bracket")
        signature = TABLE.get(head[2])
        if signature is None:
            raise _Malformed("there is no check of that name")
        negated = head[1] is not None
        if negated and not signature.negatable:
            raise _Malformed(f"{signature.name} has no `not`")
        self.at = head.end()
        given, named = self._arguments()
        if self.at != len(self.text):
            raise _Malformed("there is more behind the closing bracket")
        check = Check(signature.name, _positional(signature, given), _named(signature, named), negated)
        if not _is_short(self.text) and len(canonical(check)) > MAX_CANONICAL:
            raise _Malformed(f"written out it has more than {MAX_CANONICAL} characters")
        return check

    def _arguments(self) -> tuple[list[_Raw], list[tuple[str, _Raw]]]:
        given: list[_Raw] = []
        named: list[tuple[str, _Raw]] = []
        if self._take(")"):
            return given, named
        while True:
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None and (plain[1] or not named):  # most are; whatever else is read piece by piece
                self.at = plain.end()
                if plain[1]:
                    named.append((plain[1], _Raw(plain[2])))
                else:
                    given.append(_Raw(plain[2]))
                if plain[3]:
                    return given, named
                continue
            key = _KEY.match(self.text, self.at)
            if key is not None:
                self.at = key.end()
                named.append((key[1], self._value(0)))
            elif named:
                raise _Malformed("named arguments come last")
            else:
                operator = _OPERATOR.match(self.text, self.at)
                if operator is not None:
                    self.at = operator.end()
                    given.append(_Raw(operator[0], operator=True))
                else:
                    given.append(self._value(0))
            if not self._more(")"):
                return given, named

    def _value(self, depth: int) -> _Raw:
        text, at = self.text, self.at
        if text.startswith('"', at):
            return _Raw(self._string(), quoted=True)
        if self._take("["):
            if depth >= MAX_DEPTH:
                raise _Malformed(f"more than {MAX_DEPTH} lists inside one another")
            items: list[_Raw] = []
            if not self._take("]"):
                items.append(self._value(depth + 1))
                while self._more("]"):
                    items.append(self._value(depth + 1))
            return _Raw(items=tuple(items))
        word = _WORD.match(text, at)
        if word is None:
            raise _Malformed(f"expected a value at character {at}")
        self.at = word.end()
        return _Raw(word[0])

    def _string(self) -> str:
        found = _JSON_STRING.match(self.text, self.at)
        if found is None:
            raise _Malformed("a string does not end")
        self.at = found.end()
        try:
            return _decode_string(found[0].encode())
        except (msgspec.MsgspecError, UnicodeError):
            raise _Malformed("a string is no JSON string") from None

    def _take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _more(self, end: str) -> bool:
        """Whether another argument or item follows; takes the comma and the white space behind it, or the end."""
        if self._take(","):
            space = _SPACE.match(self.text, self.at)
            self.at = space.end() if space is not None else self.at
            return True
        if self._take(end):
            return False
        raise _Malformed(f"expected a comma or {end} at character {self.at}")


def _is_short(text: str) -> bool:
    """Whether what is read from a text is surely written out within `MAX_CANONICAL`, which is then not tried.

    Of plain ASCII without an escape only numbers may become longer, up to `MAX_DIGITS` and a mark each, and what stands
    between arguments by a space. A check has few arguments, a list any number of items.
    """
    return len(text) <= _SHORT and "[" not in text and "\\" not in text and text.isascii()


_SHORT: Final = (MAX_CANONICAL - 8 * (MAX_DIGITS + 4)) // 2


def _positional(signature: Signature, given: list[_Raw]) -> tuple[Value, ...]:
    parameters = signature.parameters
    least = _LEAST[signature.name]
    if not least <= len(given) <= len(parameters):
        wanted = f"{least}" if least == len(parameters) else f"{least} or {len(parameters)}"
        raise _Malformed(f"{signature.name} takes {wanted} arguments, not {len(given)}")
    return tuple(_typed(one, raw) for one, raw in zip(parameters, given, strict=False))


def _named(signature: Signature, named: list[tuple[str, _Raw]]) -> tuple[tuple[str, Value], ...]:
    if not named and not signature.least_named:
        return ()
    known = _NAMED[signature.name]
    found: list[tuple[str, Value]] = []
    before = -1
    for name, raw in named:
        if name not in known:
            raise _Malformed(f"{signature.name} has no argument of that name")
        place, parameter = known[name]
        if place <= before:
            raise _Malformed("named arguments come once each, in the order of the list of checks")
        before = place
        found.append((name, _typed(parameter, raw)))
    if len(found) < signature.least_named:
        raise _Malformed(f"{signature.name} needs one of {', '.join(known)}")
    return tuple(found)


def _typed(parameter: Parameter, raw: _Raw) -> Value:
    """The argument as its parameter takes it."""
    kind, name = parameter.kind, parameter.name
    if kind is Kind.OPERATOR:
        if not raw.operator:
            raise _Malformed(f"{name} is one of {' '.join(OPERATORS)}, without quotes")
        return raw.text
    if raw.operator:
        raise _Malformed(f"{name} is no operator")
    if kind is Kind.VALUE:
        return _value_of(raw)
    if raw.items is not None:
        raise _Malformed(f"{name} is no list")
    if kind is Kind.NUMBER:
        number = None if raw.quoted else number_of(raw.text)
        if number is None:
            raise _Malformed(f"{name} is a number")
        return number
    text = _plain(raw.text)
    if not text:
        raise _Malformed(f"{name} is empty")
    if kind is Kind.TEXT:
        text = " ".join(text.split())
    if (problem := _PROBLEMS[kind](text)) is not None:
        raise _Malformed(f"{name} {problem}")
    return text


def _plain(text: str) -> str:
    """Text in NFKC; without control characters other than tab and line ends, and never half a character."""
    if _CONTROL.search(text):
        raise _Malformed("a string holds control characters")
    return text if text.isascii() else nfkc(text)


def _value_of(raw: _Raw) -> Value:
    if raw.items is not None:
        return tuple(_value_of(item) for item in raw.items)
    if raw.quoted:
        return _plain(raw.text)
    if raw.text in _CONSTANTS:
        return _CONSTANTS[raw.text]
    number = number_of(raw.text)
    return raw.text if number is None else number


def _identifier(text: str) -> str | None:
    return None if _IDENTIFIER.fullmatch(text) else "is one identifier of at most 64 characters"


def _lines(text: str) -> str | None:
    first, _, last = text.partition("-")
    fits = _LINE_RANGE.fullmatch(text) is not None and int(first) <= int(last or first)
    return None if fits else "are the first and the last line, from 1"


def _symbol_kind(text: str) -> str | None:
    return None if text in SYMBOL_KINDS else f"is one of {', '.join(SYMBOL_KINDS)}"


def _one_line(text: str) -> str | None:
    return "is one line" if "\n" in text or "\r" in text else None


def _fits(_: str) -> None:
    return None


_PROBLEMS: Final[Mapping[Kind, Callable[[str], str | None]]] = {
    Kind.TEXT: _fits,
    Kind.NAME: _one_line,
    Kind.TIME: _one_line,
    Kind.PATH: _one_line,  # whether a path may be looked at is for the observer that walks it
    Kind.IDENTIFIER: _identifier,
    Kind.LINES: _lines,
    Kind.SYMBOL_KIND: _symbol_kind,
}


def number_of(word: str) -> int | Decimal | None:
    """The number that a word is: as JSON writes it, or as the listed languages do (`1_000`, `0x3e8`, `.5`).

    None for anything else: a leading zero, a unit, a sign other than minus, more than `MAX_DIGITS` digits.
    """
    if not word or word[0] not in "-.0123456789" or len(word) > MAX_DIGITS:
        return None
    radix = _RADIX.fullmatch(word)
    if radix is not None:
        digits = next(group for group in radix.groups()[1:] if group is not None).replace("_", "")
        if not digits:
            return None
        number = int(digits, {2: 16, 3: 8, 4: 2}[next(n for n in (2, 3, 4) if radix[n] is not None)])
        return -number if radix[1] else number
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
    written = [_written(one.kind, value) for one, value in zip(signature.parameters, check.arguments, strict=False)]
    kinds = {one.name: one.kind for one in signature.named}
    written += [f"{name}={_written(kinds[name], value)}" for name, value in check.named]
    return f"{'not ' if check.negated else ''}{check.name}({', '.join(written)})"


def _written(kind: Kind, value: Value) -> str:
    if kind is Kind.OPERATOR:
        return str(value)
    if isinstance(value, str) and kind is not Kind.VALUE:
        return value if _WORD.fullmatch(value) else _quoted(value)
    return written_value(value)


def written_value(value: Value) -> str:
    """A value as a check writes it: as a word where that means the same, else as a JSON string."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, str):
        word = _WORD.fullmatch(value) is not None and value not in _CONSTANTS and number_of(value) is None
        return value if word else _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
