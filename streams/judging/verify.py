"""Decides one check on the content of a file: which reader of that content is asked, and what `not` makes of it.

The content is given; nothing is read here. Files of a listed language go to the readers by syntax (`code.py`), files of
a listed format to those of documents (`documents.py`), text alone to `text_checks.py`. `Parser` is how a caller keeps
what was parsed; a caller without one (`BARE`) has checks on text alone, as the binding lane does.
"""

from __future__ import annotations

from typing import Final, Protocol

from .checks import TABLE, Check
from .code import CODE_CHECKS, code_extents, is_broken, parse_code, verify_code
from .documents import Document, document_extents, parse_document, verify_document
from .index import FileIndex
from .results import Held, Source, opposite
from .text_checks import verify_text

TEXT_CHECKS: Final = frozenset(("contains", "absent", "count", "line", "order"))
CODE_ONLY: Final = CODE_CHECKS - {"defines", "equals", "compare", "members"}


class Parser(Protocol):
    """Parses the text of files, and may keep what it parsed by the digest of their bytes."""

    def code(self, source: Source) -> FileIndex | None:
        """The source code of a listed language; None for any other file."""
        ...

    def document(self, source: Source) -> Document | None:
        """A document of a listed format; None for any other file."""
        ...


class Parsing:
    """A parser that keeps nothing."""

    def code(self, source: Source) -> FileIndex | None:
        """See `Parser`."""
        return parse_code(source)

    def document(self, source: Source) -> Document | None:
        """See `Parser`."""
        return parse_document(source)


class _Bare:
    def code(self, source: Source) -> FileIndex | None:
        return None

    def document(self, source: Source) -> Document | None:
        return None


BARE: Final[Parser] = _Bare()


def verify_content(check: Check, source: Source, parser: Parser) -> Held:
    """Whether a check on content holds in one file.

    Args:
        check: one of those with `content` in `TABLE`.
        source: the whole text of the file; its `lines` are those that the caller looks at, if not all.
        parser: what parses it.

    Returns:
        What it comes to, `not` included. Never raises.
    """
    assert TABLE[check.name].content, "only a check on content is held against a file"
    held = _positive(check, source, parser)
    return opposite(held) if check.negated else held


def _positive(check: Check, source: Source, parser: Parser) -> Held:
    region = _region(check, source, parser)
    if isinstance(region, Held):
        return region
    if check.name in TEXT_CHECKS:
        return verify_text(check, region)
    code = parser.code(region)
    if code is not None:
        return verify_code(check, code, region)
    if check.name in CODE_ONLY:
        return Held(None, "unlisted-language")
    document = parser.document(region)
    return Held(None, "unlisted-language") if document is None else verify_document(check, document, region)


def _region(check: Check, source: Source, parser: Parser) -> Source | Held:
    """The lines that a check speaks of: those that are given, its own `lines`, and for checks on text those of `in`."""
    lines = _both(source.lines, check.lines)
    if lines is _NOTHING:
        return Held(None, "not-found")
    inside = check.text("in")
    if inside and check.name in TEXT_CHECKS:
        extents = _extents(inside, source, parser)
        if isinstance(extents, Held):
            return extents
        lines = _both(lines, extents)
        if lines is _NOTHING:
            return Held(None, "not-found")
    return source if lines == source.lines else source._replace(lines=lines)


def _extents(name: str, source: Source, parser: Parser) -> tuple[int, int] | Held:
    code = parser.code(source)
    if code is not None:
        if code.problem is not None:
            return Held(None, code.problem)
        found = code_extents(code, name)
        if is_broken(code, name):
            return Held(None, "syntax-error")
    else:
        document = parser.document(source)
        if document is None:
            return Held(None, "unlisted-language")
        found = document_extents(document, name)
    if not found:
        return Held(None, "not-found")
    return found[0] if len(found) == 1 else Held(None, "ambiguous")


_NOTHING: Final = (0, 0)


def _both(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    """The lines that lie in both ranges; `_NOTHING` where none do."""
    if one is None or other is None:
        return one or other
    first, last = max(one[0], other[0]), min(one[1], other[1])
    return (first, last) if first <= last else _NOTHING
