"""What identifies things in records: the characters that an identifier may have, the digest of a record, and spans
(which part of a model's output an assertion is [S §6]) with their canonical keys (docs/reference/records.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated, Any, Final, cast
from urllib.parse import quote, unquote

import msgspec

from .errors import Fault, schema_fault

EXPECTED_IDENTIFIER: Final = "an identifier that percent-encodes nothing but printable ASCII which needs it"
_RESERVED: Final = "2[1-46-9A-CFa-cf]|25(?![0-9A-Fa-f]{2})|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Db-d]"
_HIDDEN: Final = re.compile(rf"%(?!{_RESERVED})[0-9A-Fa-f]{{2}}")
_NEEDS_IT: Final = "2[1-46-9ACac]|25(?![0-9A-Fa-f]{2})|3[BCEFbcef]|5[B-Eb-e]|60|7[B-Db-d]"
_NEEDLESS: Final = re.compile(rf"%(?!{_NEEDS_IT})[0-9A-Fa-f]{{2}}")
DID_PATTERN: Final = (
    r"^did:[a-z0-9]+:(?:[A-Za-z0-9._:/?#=&;+~@!$'()*,-]"
    r"|%(?:2[1-46-9A-Fa-f]|25(?![0-9A-Fa-f]{2})|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])){1,512}(?![\s\S])"
)
"""A DID URL that encodes nothing but printable ASCII, once; what comes out of it is the DID in its one spelling
(`signatures.normalised`), which has no path, query or fragment."""


def hides(name: str) -> bool:
    """Whether something in a name is encoded that must not be; `name` has the characters that docs/reference/records.md
    lists."""
    return "%" in name and _NEEDLESS.search(name) is not None


def pointer_hides(pointer: str) -> bool:
    """The same of a pointer."""
    return "%" in pointer and _HIDDEN.search(pointer) is not None


def check_names(names: Iterable[tuple[str, str | None]]) -> Fault | None:
    """A `schema` fault for the first name that hides something; each with its path, None where there is none."""
    for path, name in names:
        if name is not None and hides(name):
            return schema_fault(path, EXPECTED_IDENTIFIER, name)
    return None


PREFIX: Final = "sha256:"
PATTERN: Final = r"^sha256:[0-9a-f]{64}(?![\s\S])"
"""What a digest looks like."""
LENGTH: Final = len(PREFIX) + 64
"""Its characters."""
_DIGITS: Final = frozenset("0123456789abcdef")


def digest_of(record: bytes) -> str:
    """The digest of a Kafka record's value: `sha256:` and 64 lower-case hex digits."""
    return PREFIX + sha256(record).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text has the form of a digest."""
    return len(text) == LENGTH and text.startswith(PREFIX) and _DIGITS.issuperset(text[len(PREFIX) :])


def names(digest: str, first_bytes: bytes) -> bool:
    """Whether a digest is of the record whose SHA-256 begins with these bytes, at most 32."""
    return digest.startswith(first_bytes.hex(), len(PREFIX))


IDENTIFIER_PATTERN = r"^[A-Za-z0-9._~:/+=@%-]{1,256}(?![\s\S])"
Identifier = Annotated[
    str, msgspec.Meta(pattern=IDENTIFIER_PATTERN, description="1 to 256 characters of A-Z a-z 0-9 . _ ~ : / + = @ % -")
]

IDENTIFIER_CHARACTERS = bytes(byte for byte in range(128) if re.fullmatch(IDENTIFIER_PATTERN, chr(byte)))
"""Every character that an identifier may have."""
LONGEST_POINTER = 256
"""Bytes of a pointer as it stands in the span's key."""

LAST_OFFSET = 999_999_999
"""No offset is greater, whether the text is known or not: every key that is written can be read."""

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
EXPECTED_SPAN = 'exactly one of {"chars": [s, e]}, {"tokens": [s, e], "tokenizer": name}, {"path": pointer}'


class Span(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One of the three forms of a span; `problem()` says whether it is exactly one."""

    chars: tuple[int, int] | None = None
    tokens: tuple[int, int] | None = None
    tokenizer: Identifier | None = None
    path: Annotated[str, msgspec.Meta(max_length=2048, description="an RFC 6901 JSON pointer")] | None = None

    def problem(self) -> tuple[str, str] | None:
        """None for a well-formed span, else what was expected and what is there."""
        forms = (self.chars is not None) + (self.tokens is not None) + (self.path is not None)
        if forms != 1 or (self.tokens is None) != (self.tokenizer is None):
            return EXPECTED_SPAN, msgspec.json.encode(self).decode()
        if self.path is not None and not _POINTER.fullmatch(self.path):
            return "an RFC 6901 pointer (empty, or starting with /)", self.path
        return None

    def hidden(self) -> tuple[str, str] | None:
        """None where a pointer may stand outside the frame, percent-encoded, though strangers choose it; else what was
        expected and what is there."""
        if self.path is not None and not _is_identifier(self.path):
            return f"a pointer of at most {LONGEST_POINTER} bytes of ASCII without white space", self.path
        return None

    def in_range(self, length: int | None) -> bool:
        """Whether the offsets are ordered, not empty, and, where `length` (in code points) is known, inside it."""
        offsets = self.chars if self.chars is not None else self.tokens
        if offsets is None:
            return True
        start, end = offsets
        return 0 <= start < end <= LAST_OFFSET and (self.chars is None or length is None or end <= length)


_PRINTABLE = re.compile(r"[!-~]*")


def _is_identifier(pointer: str) -> bool:
    """Whether a pointer may stand outside the frame, percent-encoded: strangers choose it."""
    return (
        _PRINTABLE.fullmatch(pointer) is not None
        and len(_encoded(pointer)) <= LONGEST_POINTER
        and not pointer_hides(pointer)
    )


def _encoded(pointer: str) -> str:
    return quote(pointer, safe="/-._~")


def span_key(span: Span) -> str:
    """The canonical key: `c:0-43`, `t:name:3-9`, `p:/a/b`."""
    if span.chars is not None:
        return f"c:{span.chars[0]}-{span.chars[1]}"
    if span.tokens is not None:
        return f"t:{span.tokenizer}:{span.tokens[0]}-{span.tokens[1]}"
    return "p:" + _encoded(span.path or "")


def chars_key(span: Span, length: int) -> str | None:
    """The canonical key of character offsets inside a text of so many code points; None for anything else. Faster than
    `problem`, `in_range` and `span_key`, which say what is wrong."""
    offsets = span.chars
    if offsets is None or span.tokens is not None or span.tokenizer is not None or span.path is not None:
        return None
    start, end = offsets
    return f"c:{start}-{end}" if 0 <= start < end <= length and end <= LAST_OFFSET else None


_CHARS = re.compile(r"c:(\d{1,9})-(\d{1,9})", re.ASCII)
_TOKENS = re.compile(r"t:([A-Za-z0-9._~:/+=@%-]{1,256}):(\d{1,9})-(\d{1,9})", re.ASCII)


def parse_span_key(key: str) -> Span | None:
    """The span of a canonical key, or None where it is none: each span has one key, and no key has two spellings."""
    if match := _CHARS.fullmatch(key):
        span = Span(chars=(int(match[1]), int(match[2])))
    elif match := _TOKENS.fullmatch(key):
        span = Span(tokens=(int(match[2]), int(match[3])), tokenizer=match[1])
    elif key.startswith("p:"):
        span = Span(path=unquote(key[2:]))
    else:
        return None
    return span if span_key(span) == key and span.problem() is None and span.in_range(None) else None


def resolve_pointer(document: Any, pointer: str) -> Any:
    """What an RFC 6901 pointer names in a parsed JSON document. Raises `LookupError` where nothing stands there."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = cast("dict[str, Any]", document)[name]
        elif isinstance(document, list) and re.fullmatch(r"0|[1-9]\d{0,8}", name, re.ASCII):
            document = cast("list[Any]", document)[int(name)]
        else:
            raise LookupError(name)
    return document
