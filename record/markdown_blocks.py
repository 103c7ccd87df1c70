"""The running text of a Markdown answer: paragraphs, list items and table cells, with where they stand in its source.

Block structure is read by a CommonMark parser (markdown-it-py, with tables); what stands inside a block is not parsed,
only masked: code spans, links, quotations and marks of emphasis must end no sentence. Code blocks, headings and HTML
give nothing, nor do quotations, which repeat what others said, and what a model thought. Linear in the text: nesting
beyond `MAX_NESTING` is not entered, and reference definitions, which the parser would read over and over, are taken for
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..codecs.prose import LINE
from ..streams.judging.prose_literals import code_spans, quotes

MAX_TEXT: Final = 1_000_000
"""Characters of an answer that are read; an emission has room for no more."""
MAX_LINES: Final = 20_000
"""Lines of an answer that are read: the parser makes several objects of each."""
MAX_NESTING: Final = 10
"""Lists and quotations inside one another; every line is looked at once for each that is open."""
_DESTINATION: Final = re.compile(
    r"\]\([^()\s]{0,2000}(?:\s{1,9}\"[^\"\n]{0,500}\")?\)|\]\[[^\[\]\n]{0,200}\]|<https?://[^\s<>]{1,2000}>"
)
_MARKER: Final = re.compile(r"\[\^[^\[\]\s]{1,64}\]:?|\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]")
"""Numbers of footnotes, and the heads of GitHub's alerts: CommonMark takes them for text, and they state nothing."""
_ALERT: Final = re.compile(r"\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]")
_REASONING: Final = re.compile(r"^[ \t]*<(think|thinking|reasoning)>", re.MULTILINE)
"""A tag around what a model thought before it answered, as models write it into their text."""
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,500})\](?=\(|\[)")
_TERMINATOR: Final = re.compile(r"[.!?…。！？]")
_VISIBLE: Final = re.compile(r"[^\r\n]")
_EMPHASIS: Final = re.compile(r"\*+|~~|(?<!\w)_+|_+(?!\w)|(?<!\w)!?\[")


class Run(NamedTuple):
    """A stretch of running text.

    Attributes:
        start: its first code point in the answer.
        mask: as long as the stretch in the answer, with letters where code stands and quotation marks where emphasis
            begins or ends; sentences are told in it.
        row: which table row it is a cell of; None elsewhere.
        head: of a cell the words above its column.
    """

    start: int
    mask: str
    row: int | None = None
    head: str = ""

    @property
    def end(self) -> int:
        """Behind its last code point."""
        return self.start + len(self.mask)


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable(["reference"])
    made.core.ruler.disable(["inline"])
    return made


_PARSER: Final = _parser()


def runs(text: str) -> Iterator[Run]:
    """The running text of an answer in Markdown, in order; what is beyond `MAX_TEXT` or `MAX_LINES` is left out."""
    text = without_reasoning(text[:MAX_TEXT])
    found_lines = list(islice(LINE.finditer(text), MAX_LINES))
    text = text[: found_lines[-1].end()]
    lines = [(match.start(), match[0].rstrip("\r\n").replace("\0", "\ufffd")) for match in found_lines]
    heading = head = cell = False
    row = past = quoted = column = 0
    heads: list[str] = []
    alert = False
    for token in _PARSER.parse(text):
        kind = token.type
        if kind in ("heading_open", "heading_close"):
            heading = kind == "heading_open"
        elif kind in ("thead_open", "thead_close"):
            head = kind == "thead_open"
            heads = [] if head else heads
        elif kind in ("td_open", "td_close"):
            cell = kind == "td_open"
            column += cell
        elif kind == "tr_open":
            row, past, column = row + 1, 0, 0
        elif kind in ("blockquote_open", "blockquote_close"):
            quoted += token.nesting
            alert = alert and quoted > 0
        elif kind == "inline" and head:
            heads.append(token.content.strip())
        elif kind == "inline" and token.map is not None and not heading:
            alert = alert or (quoted > 0 and _ALERT.match(token.content) is not None)
            if quoted and not alert:
                continue  # another one's words
            if cell:
                found, past = _cell(token, lines, past, row)
                found = None if found is None else found._replace(head=heads[column - 1])
            else:
                found = _block(token, lines)
            if found is not None:
                yield found


def without_reasoning(text: str) -> str:
    """The text with blanks in place of the model's reasoning (`<think>…</think>`); places stay what they are."""
    pieces: list[str] = []
    past = 0
    unclosed = set[str]()
    for tag in _REASONING.finditer(text) if "</" in text else ():
        name, start = tag[1], tag.start()
        if start < past or name in unclosed:
            continue
        end = text.find(f"</{name}>", tag.end())
        if end < 0:
            unclosed.add(name)
            continue
        end += len(name) + 3
        pieces += (text[past:start], _VISIBLE.sub(" ", text[start:end]))
        past = end
    return "".join((*pieces, text[past:]))


def _block(token: Token, lines: Sequence[tuple[int, str]]) -> Run | None:
    """A paragraph, of which every line is the end of a line of the source."""
    assert token.map is not None
    first, last = token.map
    pieces: list[str] = []
    start = end = -1
    for content, (at, source) in zip(token.content.split("\n"), lines[first:last], strict=False):
        inner = content.strip()
        begin = source.rfind(inner) if inner else -1
        if begin < 0:
            continue
        if start < 0:
            start = end = at + begin
        # A line end and what a quotation or a list puts before the next line are white space.
        pieces += (" " * (at + begin - end), inner)
        end = at + begin + len(inner)
    return None if start < 0 else Run(start, masked("".join(pieces)))


def _cell(token: Token, lines: Sequence[tuple[int, str]], past: int, row: int) -> tuple[Run | None, int]:
    """A cell, looked for behind the one before it; a vertical bar in it stands behind a backslash in the source."""
    assert token.map is not None
    at, source = lines[token.map[0]]
    inner = token.content.strip()
    for written in (inner, inner.replace("|", "\\|")):
        begin = source.find(written, past) if written else -1
        if begin >= 0:
            return Run(at + begin, masked(written), row), begin + len(written)
    return None, past


def masked(text: str) -> str:
    """The text with what only looks like the end of a sentence taken out, as long as before: in code, links and
    quotations none ends."""
    text = _replaced(text, code_spans(text), lambda code: "X" * len(code))
    spans = sorted([*quotes(text), *(match.span(1) for match in _LINK.finditer(text))])
    return _plain(_replaced(text, spans, _unended))


def _replaced(text: str, spans: Sequence[tuple[int, int]], made: Callable[[str], str]) -> str:
    """The text with another one in each of these spans; of those that overlap the first counts."""
    pieces: list[str] = []
    past = 0
    for start, end in spans:
        if start >= past:
            pieces += (text[past:start], made(text[start:end]))
            past = end
    return "".join((*pieces, text[past:]))


def _unended(text: str) -> str:
    """A text in which no sentence ends, but for its last sign."""
    return _TERMINATOR.sub("x", text[:-1]) + text[-1:]


def _plain(text: str) -> str:
    text = _DESTINATION.sub(lambda match: " " * len(match[0]), text)
    text = _MARKER.sub(lambda match: " " * len(match[0]), text)
    return _EMPHASIS.sub(lambda match: '"' * len(match[0]), text)
