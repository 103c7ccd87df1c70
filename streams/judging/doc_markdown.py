"""Reads the headings of a Markdown document and the lines of their sections; decides `defines` of a heading.

CommonMark, with tables, by markdown-it: what stands in code, HTML, comments, quotes and lists is no heading of the
document, and front matter is none of its text. A heading is the name asked for where its text is, without markup, or
where a component of it is: `[1.2.3] - 2026-05-25` is both. One that merely looks like it decides nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from ...codecs.unicode_text import nfkc
from .checks import Check
from .doc_tree import Shape, Unreadable
from .doc_yaml import parse_yaml
from .results import Held

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_TEXT: Final = 1_000_000
"""Characters."""
MAX_LINES: Final = 20_000
"""The parser takes up to 0.2 ms for a line."""
MAX_HEADINGS: Final = 10_000
MAX_HEADING: Final = 4_000
"""Characters of one heading."""
MAX_MARKUP: Final = 60_000
"""Characters of all headings that have markup in them: hostile markup takes 30 us for each."""
_NESTING: Final = 16
"""Quotes and lists inside one another; where there are more, the parser leaves text out."""
_WEIGHT: Final = 400


class Section(msgspec.Struct, frozen=True, gc=False):
    """A heading with its section.

    Attributes:
        text: of the heading, without markup.
        level: 1 to 6.
        first: the heading's first line, from 1.
        last: the last line before the next heading of the same or a higher level.
    """

    text: str
    level: int
    first: int
    last: int


class Outline(msgspec.Struct, frozen=True):
    """The headings of a document.

    Attributes:
        sections: in the document's order.
        others: texts that hold headings of another kind (HTML).
    """

    sections: tuple[Section, ...]
    others: tuple[str, ...]

    def weight(self, text: str) -> int:
        """About how many bytes it takes, beside its text."""
        return _WEIGHT * (len(self.sections) + 1) + sum(map(len, self.others)) + len(text)


def parse_markdown(text: str) -> Outline:
    """Reads a Markdown document.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: it is too large, or nests too deeply.
    """
    if len(text) > MAX_TEXT or text.count("\n") > MAX_LINES:
        raise Unreadable("too-large")
    environment: dict[str, object] = {}
    tokens = _parser().parse(_without_front_matter(text), environment)
    found: list[tuple[str, int, int]] = []
    others: list[str] = []
    for place, token in enumerate(tokens):
        if token.level >= _NESTING - 1 and token.nesting > 0:
            raise Unreadable("too-large")
        if token.level == 0 and token.type == "heading_open" and token.map is not None:
            found.append((tokens[place + 1].content, int(token.tag[1:]), token.map[0] + 1))
        elif token.type == "html_block" and _HTML_HEADING.search(token.content):
            others.append(token.content)
    contents = [content for content, _, _ in found]
    if len(found) > MAX_HEADINGS or max(map(len, contents), default=0) > MAX_HEADING:
        raise Unreadable("too-large")
    if sum(len(content) for content in contents if _MARKUP.search(content)) > MAX_MARKUP:
        raise Unreadable("too-large")
    headings = [(_plain(content, environment), level, line) for content, level, line in found]
    return Outline(_sections(headings, text.count("\n") + (not text.endswith("\n"))), tuple(others))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, since lanes and commands that judge no Markdown do without it

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    return parser.disable(["inline", "text_join"])  # headings alone are read further


_HTML_HEADING: Final = re.compile(r"<h[1-6][\s>]", re.IGNORECASE)
_MARKUP: Final = re.compile(r"[`*_\[\]<>&\\!\n]")


def _without_front_matter(text: str) -> str:
    """The text with blank lines for the data before it, whose last line would make a heading of them."""
    fence = text.partition("\n")[0].rstrip()
    if fence not in ("---", "+++"):
        return text
    lines = text.split("\n")
    ends = ("---", "...") if fence == "---" else ("+++",)
    end = next((place for place, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    if end == 0 or (fence == "---" and not _is_mapping("\n".join(lines[1:end]))):
        return text
    return "\n" * (end + 1) + "\n".join(lines[end + 1 :])


def _is_mapping(text: str) -> bool:
    try:
        tree = parse_yaml(text)
    except Unreadable:
        return False
    return len(tree.roots) == 1 and tree.contents[tree.roots[0]] is Shape.MAPPING


def _plain(content: str, environment: dict[str, object]) -> str:
    """A heading's text without markup."""
    if _MARKUP.search(content):
        parser = _parser()
        tokens: list[Token] = []
        parser.inline.parse(content, parser, environment, tokens)
        content = _text(tokens)
    return " ".join(nfkc(content).split())


def _text(tokens: list[Token]) -> str:
    pieces: list[str] = []
    for token in tokens:
        if token.type == "image":
            pieces.append(_text(token.children or []))
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type != "html_inline":
            pieces.append(token.content)
    return "".join(pieces)


def _sections(headings: list[tuple[str, int, int]], lines: int) -> tuple[Section, ...]:
    """The headings with the ends of their sections."""
    ends = [lines + 1] * 7  # by level: where the next heading of it, or of a higher one, stands
    sections: list[Section] = []
    for text, level, first in reversed(headings):
        sections.append(Section(text, level, first, ends[level] - 1))
        ends[level:] = [first] * (7 - level)
    return tuple(reversed(sections))


# ---------------------------------------------------------------- checks


def verify_markdown(check: Check, outline: Outline, lines: tuple[int, int] | None) -> Held:
    """Whether a check holds in a Markdown document.

    Args:
        check: `defines`; a document has no values. Its `not` is left to the caller.
        outline: the document.
        lines: first and last line of the region, from 1; headings outside do not count. None for all.
    """
    if check.name != "defines" or check.text("kind") not in ("", "section"):
        return Held(None, "unlisted-language")
    sections = outline.sections if lines is None else [s for s in outline.sections if lines[0] <= s.first <= lines[1]]
    inside = check.text("in")
    if inside:
        outer = [one for one in _called(outline, inside) if lines is None or one.first <= lines[1]]
        outer = [one for one in outer if lines is None or lines[0] <= one.last]
        if len(outer) != 1:
            return Held(None, "ambiguous" if outer else "not-found")
        sections = [one for one in sections if outer[0].first < one.first <= outer[0].last]
    name = _Name(check.text("symbol"))
    found = next((one for one in sections if name.is_component(one.text)), None)
    if found is not None:
        return Held(True, None, (found.first, found.first))
    if any(name.is_like(text) for text in (*(one.text for one in sections), *outline.others)):
        return Held(None, "not-found")
    return Held(False, "differs")


def markdown_extents(outline: Outline, name: str) -> list[tuple[int, int]]:
    """First and last line of each section whose heading is the name."""
    return [(one.first, one.last) for one in _called(outline, name)]


def _called(outline: Outline, text: str) -> list[Section]:
    """The sections of that heading; where there are none, those with a heading of which it is a component."""
    name = _Name(text)
    whole = [one for one in outline.sections if one.text == name.text]
    return whole or [one for one in outline.sections if name.is_component(one.text)]


_MARKS: Final = re.compile(r"^#{1,6} |[`]|\*\*")
_ATTRIBUTES: Final = re.compile(r" ?\{[:#.][^{}]*\}$")
_NUMBERING: Final = re.compile(r"^(?:[0-9]{1,3}[.)])++[0-9]{0,3} ")
_EDGES: Final = re.compile(r"^[^\w\x20-\x7e]+ ?| ?[^\w\x20-\x7e]+$")
_BETWEEN: Final = re.compile(r" [-\u2013\u2014|] |: | \(|\) |\)$")
_VERSION: Final = re.compile(r"[vV](?=[0-9])")
_LETTERS: Final = re.compile(r"[\W_]+")


class _Name:
    """The text that a check names a heading by."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(_MARKS.sub("", nfkc(text)).split())
        self._bare = _undecorated(self.text)
        self._letters = _LETTERS.sub("", self._bare.casefold())

    def is_component(self, heading: str) -> bool:
        """Whether a heading is the name, or what stands first or last in it is, apart from decoration."""
        if heading == self.text:
            return True
        heading = _ATTRIBUTES.sub("", heading)
        parts = [part for part in _BETWEEN.split(heading) if part.strip()]
        found = (heading, *parts[:1], *parts[-1:])
        return any(self._bare in (_undecorated(part), _undecorated(_NUMBERING.sub("", part))) for part in found)

    def is_like(self, heading: str) -> bool:
        """Whether a heading has the name in it, apart from letter case and punctuation."""
        return self._letters in _LETTERS.sub("", nfkc(heading).casefold())


def _undecorated(text: str) -> str:
    """A text without brackets and pictures around it, and without the `v` of a version."""
    text = _EDGES.sub("", text.strip()).strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    return text[1:] if _VERSION.match(text) else text
