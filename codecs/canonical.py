"""Canonical JSON (RFC 8785) and the canonical hash of [V §7].

Two ways to the same bytes: `canonical_json` goes through `rfc8785`, for JSON from anywhere; `fast_canonical` takes
msgspec's sorted encoding where that gives the same, ten times faster, and `rfc8785` where it does not (a float that the
two write differently, member names whose order differs between UTF-16 and UTF-8).

What has no canonical form is refused, never rounded: integers beyond 2^53, other numbers beyond it whose digits a
double does not keep, numbers that are not finite, lone surrogates, a member name that occurs twice. The refusal is a
`CanonicalError`, one sentence.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from operator import attrgetter
from typing import Any, Literal, NoReturn, cast

import msgspec
import rfc8785
from msgspec import UNSET
from msgspec import inspect as info

from . import unicode_text
from .errors import DoesNotHoldError
from .json_text import MAX_NESTING, why_not_json

CanonicalisationVersion = Literal["0.2", "0.3"]
MAX_DEPTH = MAX_NESTING
"""Nesting beyond this is refused, so that no stranger's brackets reach the interpreter's own limit."""
_SAFE_INTEGER = 2**53 - 1


class CanonicalError(DoesNotHoldError):
    """The value has no canonical form; the sentence says where and why."""


class NotJsonError(CanonicalError):
    """The text is not JSON at all (RFC 8259)."""


# ---------------------------------------------------------------- bytes


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value: None, bool, int, float, str, list or tuple, dict. Raises `CanonicalError` where
    it holds something that RFC 8785 cannot say."""
    _check_depth(value)
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise CanonicalError(f"the value has no canonical form: {error}") from None
    except UnicodeEncodeError:
        raise CanonicalError("the value has no canonical form: a member name holds a lone surrogate") from None


_sorted = msgspec.json.Encoder(order="sorted").encode


def fast_canonical(value: Any) -> bytes:
    """As `canonical_json`, for structs and plain values of our own: 1 to 7 us where it takes 8 to 75. Raises
    `CanonicalError`."""
    try:
        return _sorted(value) if _sorts_alike((value,), 0) else canonical_json(msgspec.to_builtins(value))
    except UnicodeEncodeError:
        raise CanonicalError("the value has no canonical form: a text holds a lone surrogate") from None
    except TypeError as error:
        raise CanonicalError(f"the value has no canonical form: {error}") from None


def _sorts_alike(values: Iterable[Any], depth: int) -> bool:
    """Whether msgspec's sorted encoding of all the values is RFC 8785's. Errs towards False.

    Hot path: one loop with the scalars inline; 6 us for an admitted record of 25 fields, 12 us with a call a field.
    """
    for value in values:
        kind: Any = value.__class__
        if kind is str:
            continue
        if kind is float:
            # Between these both write the shortest digits without an exponent; an integral one differs by its `.0`.
            if not 1e-4 < (value if value > 0 else -value) < 1e15 or value == int(value):
                return False
        elif value is None or kind is bool or value is UNSET:
            continue
        elif kind is int:
            if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
                return False
        elif depth >= MAX_DEPTH:
            return False
        elif kind is list or kind is tuple:
            if value and not _sorts_alike(value, depth + 1):
                return False
        elif kind is dict:
            # UTF-16 and UTF-8 order names alike up to U+D7FF.
            for name in value:
                if type(name) is not str or (not name.isascii() and max(name) > "\ud7ff"):
                    return False
            if value and not _sorts_alike(value.values(), depth + 1):
                return False
        else:
            fields = _risky_fields(kind)
            if fields is None or not _sorts_alike(fields(value), depth + 1):
                return False
    return True


_fields_of: dict[type, Callable[[Any], Iterable[Any]] | None] = {}


def _risky_fields(kind: type) -> Callable[[Any], Iterable[Any]] | None:
    """What gives the values of a struct that have to be looked at: those not declared as text. None for other types."""
    try:
        return _fields_of[kind]
    except KeyError:
        getter = None
        if issubclass(kind, msgspec.Struct):
            description = cast(info.StructType, info.type_info(kind))
            names = [one.name for one in description.fields if not _only_text(one.type)]
            # Two names at least, or attrgetter gives the bare value instead of a tuple.
            getter = attrgetter(*names, *names) if len(names) == 1 else attrgetter(*names) if names else _nothing
        _fields_of[kind] = getter
        return getter


def _nothing(_: Any) -> tuple[()]:
    return ()


def _only_text(declared: info.Type) -> bool:
    """Whether a field so declared can hold nothing that the two encodings write differently."""
    if isinstance(declared, info.LiteralType):
        return all(isinstance(value, str) for value in declared.values)
    if isinstance(declared, info.ListType):
        return _only_text(declared.item_type)
    if isinstance(declared, info.UnionType):
        return all(_only_text(one) for one in declared.types)
    return isinstance(declared, (info.StrType, info.BoolType, info.NoneType))


def _check_depth(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list, tuple))
            for child in (cast(Any, node).values() if isinstance(node, dict) else cast(Any, node))
            if isinstance(child, (dict, list, tuple))
        ]
        if not level:
            return
    raise CanonicalError(f"the value has no canonical form: it is nested more than {MAX_DEPTH} levels deep")


# ---------------------------------------------------------------- hash

_NONE_SETTLED: Mapping[str, str] = {}


def canonical_hash(
    value: Any, version: CanonicalisationVersion | None = None, settled: Mapping[str, str] = _NONE_SETTLED
) -> tuple[str, CanonicalisationVersion]:
    """The canonical hash of a parsed JSON value [V §7], and the version of the rules it was computed under.

    Integer literals of `value` beyond 2^53 must still be integers (`parse_json`). The `version` is by default `"0.2"`
    for an object whose `canonicalisation_version` says so, else `"0.3"`, which settles every text and member name first
    (NFKC, look-alikes, invisible characters). `settled` are texts with what `unicode_text.settle` makes of them, where
    that is known already.

    Raises `CanonicalError` where the value has no canonical form, two member names become the same, or the object
    states another version.
    """
    if version is None:
        stated = (
            cast("dict[str, Any]", value).get("canonicalisation_version", "0.3") if isinstance(value, dict) else "0.3"
        )
        if stated not in ("0.2", "0.3"):
            raise CanonicalError('canonicalisation_version is neither "0.2" nor "0.3"')
        version = stated
    raw = _sorted_alike(value)
    if raw is None:
        _check_depth(value)
    if raw is None or (version == "0.3" and not raw.isascii()):
        raw = fast_canonical(_settle(value, settled) if version == "0.3" else value)
    return "sha256:" + sha256(raw).hexdigest(), version


def assertion_hash(text: str, kind: str) -> str:
    """The canonical hash of an assertion under version 0.3, that of `{"assertion": text, "kind": kind}`. Raises
    `CanonicalError` for a text with a lone surrogate."""
    claim = {"assertion": text, "kind": kind}
    if text.isascii():  # nothing to settle, and both encodings write it alike: 0.6 us instead of 1.2
        return "sha256:" + sha256(_sorted(claim)).hexdigest()
    return canonical_hash(claim)[0]


def _sorted_alike(value: Any) -> bytes | None:
    """The canonical bytes of a value that msgspec writes as RFC 8785 does; if ASCII, there is nothing to settle."""
    try:
        return _sorted(value) if _sorts_alike((value,), 0) else None
    except UnicodeEncodeError:
        return None


def parse_json(text: bytes | str) -> Any:
    """A JSON text (RFC 8259, UTF-8) as plain values, without what would lose something on the way.

    Raises `NotJsonError` for what is not JSON, and `CanonicalError` for a member name that occurs twice, an integer
    literal beyond 2^53, a number too large to be finite, and nesting deeper than `MAX_DEPTH`.
    """
    data = text if isinstance(text, bytes) else b""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise NotJsonError(f"the text is not JSON: {why_not_json(data, error)}") from None
    except json.JSONDecodeError as error:
        marked = why_not_json(data, error) if data.startswith(BOM_UTF8) else f"{error.msg} at character {error.pos}"
        raise NotJsonError(f"the text is not JSON: {marked}") from None
    except RecursionError:
        raise CanonicalError(f"the text is nested more than {MAX_DEPTH} levels deep") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:  # two passes of memchr instead of 1.5 us for nearly every record
        _check_depth(value)
    return value


def _settle(value: Any, known: Mapping[str, str]) -> Any:
    """Every text and member name settled (unicode_text.py), ASCII as it stands: 2.5 us for a plain attestation."""
    if isinstance(value, str):
        return value if value.isascii() else known[value] if value in known else unicode_text.settle(value)
    if isinstance(value, (list, tuple)):
        return [_settle(item, known) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    settled: dict[str, Any] = {}
    for name, member in cast("dict[Any, Any]", value).items():
        if isinstance(name, str) and not name.isascii():
            name = unicode_text.settle(name)
        if name in settled:
            raise CanonicalError(f"two member names look alike: both become {_shown(str(name))}")
        settled[name] = member if isinstance(member, str) and member.isascii() else _settle(member, known)
    return settled


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:39] + "…")


def _integer(literal: str) -> int:
    # Length first: int() of a long literal is quadratic, and Python refuses it with another error.
    if len(literal) > 17 or not -_SAFE_INTEGER <= (number := int(literal)) <= _SAFE_INTEGER:
        why = "is beyond 2^53 - 1, where doubles cannot tell integers apart (RFC 8785)"
        raise CanonicalError(f"the integer {_shown(literal)[1:-1]} {why}")
    return number


def _float(literal: str) -> float:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise CanonicalError(f"the number {_shown(literal)[1:-1]} is too large to be finite")
    if abs(number) > _SAFE_INTEGER and _digits(literal) != _digits(repr(number)):
        raise CanonicalError(f"the number {_shown(literal)[1:-1]} is beyond 2^53 and would be rounded to {number!r}")
    return number


def _digits(literal: str) -> str:
    """Those that count; two literals that are rounded to one double, and have the same, are one number."""
    return literal.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")


def _not_finite(literal: str) -> NoReturn:
    raise NotJsonError(f"the text is not JSON: {literal} is no number there")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise CanonicalError(f"the member name {_shown(twice)} occurs twice in one object")
    return members


_decoder = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_float, parse_constant=_not_finite
)
