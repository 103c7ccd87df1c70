"""Reads the headings of a Markdown document and the lines of their sections, and says which headings a name means.

CommonMark, with tables, by markdown-it: what stands in code, HTML, comments, quotes and lists is no heading of the
document, and front matter is none of its text. A heading is the name asked for where its text is, without markup, or
where a component of it is: `[1.2.3] - 2026-05-25` is both.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ...codecs.unicode_text import nfkc
from .doc_entries import Rows, Unreadable
from .doc_nested import parse_yaml

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


def parse_markdown(source: str, rows: Rows) -> None:
    """Reads a Markdown document.

    Raises:
        Unreadable: it is too large, or nests too deeply.
    """
    if len(source) > MAX_TEXT or source.count("\n") > MAX_LINES:
        raise Unreadable("too-large")
    environment: dict[str, object] = {}
    tokens = _parser().parse(_without_front_matter(source), environment)
    headings: list[tuple[str, int, int]] = []
    for at, token in enumerate(tokens):
        if token.level >= _NESTING - 1 and token.nesting > 0:
            raise Unreadable("too-large")
        if token.level == 0 and token.type == "heading_open" and token.map is not None:
            headings.append((tokens[at + 1].content, int(token.tag[1:]), token.map[0] + 1))
    contents = [content for content, _, _ in headings]
    marked = sum(len(content) for content in contents if _MARKUP.search(content))
    if len(headings) > MAX_HEADINGS or max(map(len, contents), default=0) > MAX_HEADING or marked > MAX_MARKUP:
        raise Unreadable("too-large")
    end = source.count("\n") + (not source.endswith("\n"))
    open_ = [(0, rows.add(-1, "", "mapping", 1, end))]
    for content, level, line in headings:
        while open_[-1][0] >= level:
            rows.entries[open_.pop()[1]].last = line - 1
        open_.append((level, rows.add(open_[-1][1], _plain(content, environment), "section", line, end)))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, since lanes and commands that judge no Markdown do without it

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    return parser.disable(["inline", "text_join"])  # headings alone are read further


_MARKUP: Final = re.compile(r"[`*_\[\]<>&\\!\n]")


def _without_front_matter(source: str) -> str:
    """The text with blank lines for the data before it, whose last line would make a heading of them."""
    fence = source.partition("\n")[0].rstrip()
    if fence not in ("---", "+++"):
        return source
    lines = source.split("\n")
    ends = ("---", "...") if fence == "---" else ("+++",)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    if end == 0 or (fence == "---" and not _is_mapping("\n".join(lines[1:end]))):
        return source
    return "\n" * (end + 1) + "\n".join(lines[end + 1 :])


def _is_mapping(source: str) -> bool:
    rows = Rows()
    try:
        parse_yaml(source, rows)
    except Unreadable:
        return False
    return [entry.kind for entry in rows.entries if entry.parent < 0] == ["mapping"]


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


# ---------------------------------------------------------------- names

_MARKS: Final = re.compile(r"^#{1,6} |[`]|\*\*")
_ATTRIBUTES: Final = re.compile(r" ?\{[:#.][^{}]*\}$")
_NUMBERING: Final = re.compile(r"^(?:[0-9]{1,3}[.)])++[0-9]{0,3} ")
_EDGES: Final = re.compile(r"^[^\w\x20-\x7e]+ ?| ?[^\w\x20-\x7e]+$")
_BETWEEN: Final = re.compile(r" [-\u2013\u2014|] |: | \(|\) |\)$")
_VERSION: Final = re.compile(r"[vV](?=[0-9])")


def headings_named(name: str, headings: list[str]) -> list[int]:
    """The places of the headings that a name means: those with that text, or else those with it as a component."""
    name = " ".join(_MARKS.sub("", nfkc(name)).split())
    bare = _undecorated(name)
    exact = [at for at, heading in enumerate(headings) if heading == name]
    return exact or [at for at, heading in enumerate(headings) if _is_component(bare, heading)]


def _is_component(bare: str, heading: str) -> bool:
    """Whether a name stands first or last in a heading, or is all of it, apart from decoration."""
    heading = _ATTRIBUTES.sub("", heading)
    parts = [part for part in _BETWEEN.split(heading) if part.strip()]
    candidates = (heading, *parts[:1], *parts[-1:])
    return any(bare in (_undecorated(part), _undecorated(_NUMBERING.sub("", part))) for part in candidates)


def _undecorated(content: str) -> str:
    """A text without brackets and pictures around it, and without the `v` of a version."""
    content = _EDGES.sub("", content.strip()).strip()
    if content.startswith("[") and content.endswith("]"):
        content = content[1:-1].strip()
    return content[1:] if _VERSION.match(content) else content
