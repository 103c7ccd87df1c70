"""Markup [V §4.6]: what an HTML5 parser would take for a tag, comment or doctype goes, Markdown links collapse.

The HTML side is the tokenizer of the HTML Standard in the one state that matters here (13.2.5, «Data state» and what
it leads to), because whole parsers do not say *where* a tag stood, move text about, and decode character references.
The tests compare its verdict with html5lib's and html5ever's, and html5ever (`nh3`) has the last word at run time
(`still_html`). Text between tags stays, that of `<script>` included: it is words once nothing around it can be run.
A comparison sign stays, and so does a tag that never closes, unless it has an attribute that could run or load
something. What a parser takes for markup and a writer does not mean so stays as well (`spared`).

Nothing here records anything; positions go to the caller.
"""

from __future__ import annotations

import re

import msgspec
import nh3


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A stretch of text that is markup, `[start, end)`, and what stands there."""

    start: int
    end: int
    kind: str


class Link(msgspec.Struct, frozen=True, gc=False):
    """A Markdown link or image: the stretch, its text, and its destination."""

    start: int
    end: int
    kind: str
    text: str
    url: str


def may_be_html(text: str) -> bool:
    """The cheap look: False where no tokenizer leaves the data state."""
    return "<" in text and _OPENER.search(text) is not None


def still_html(text: str) -> bool:
    """Whether html5ever's tokenizer sees a tag, comment or doctype in a text in which `find_html` finds none.

    It never has; the contract asks for a robust parser's judgement [V §4.6], and this is it. Only called where `<` is.
    """
    return nh3.is_html(spared(text).replace("\0", "\ufffd"))  # a NUL would count as a token of its own


def may_be_link(text: str) -> bool:
    """The cheap look: False where no inline link can stand."""
    return "]" in text and "](" in text  # the first look takes 0.05 us, the second 0.3


# An address, and two comparisons with a word between them. They hide nothing: what a parser makes of them has no
# attribute with a value, and no element that changes how the rest is read.
_NO_ELEMENT = re.compile(
    r"<[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){0,8}[A-Za-z0-9-]{1,63}>"
    r"|(?<=[\w)\]])<(?!(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|plaintext|template)\b)"
    r"[A-Za-z_][\w.]{0,30}(?:\[\w{0,20}\])? ?(?: (?:and|or)|&&|\|\|) ?[\w.\[\]()]{1,40}>(?= ?[\w(-])",
    re.ASCII | re.IGNORECASE,
)
# A call of what was indexed: the destination that it would be is a name, or several with blanks, and no address.
_INDEXED = re.compile(r"(?<=\w)\[[\w \t+*.,'\"-]{1,40}\]\([\w ,+*-]{0,40}\)", re.ASCII)


def spared(text: str) -> str:
    """The text with a blank where something stays that a parser takes for markup: `<jane@example.org>`, `a<b and c>d`,
    and `a[i](x)`."""
    text = _NO_ELEMENT.sub(lambda match: f" {match[0][1:]}", text)
    return _INDEXED.sub(lambda match: match[0].replace("](", "] "), text)


# Whole where it is as plain as `<b>` and `</b>`, which nearly every tag is: 0.5 us instead of 1.2.
_OPENER = re.compile(r"<(?:/?+[A-Za-z][A-Za-z0-9]*+>|[A-Za-z/!?])")
_TAG_NAME_END = re.compile(r"[\t\n\f\r />]")
_BETWEEN = re.compile(r"[\t\n\f\r /]*")
# An attribute's name may begin with `=`; it ends before white space, `/`, `>` or `=`.
_ATTRIBUTE_NAME = re.compile(r"=?[^\t\n\f\r />=]*")
_EQUALS = re.compile(r"[\t\n\f\r ]*=[\t\n\f\r ]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")


def find_html(text: str) -> list[Piece]:
    """Every tag, comment and doctype, left to right, as the HTML5 tokenizer delimits them in the data state.

    Where it would drop the rest of the text because a tag never closes, the `<` counts as text and the search goes
    on behind it: what stands inside may still be markup for a reader who concatenates.
    """
    pieces: list[Piece] = []
    tags: _Tags | None = None
    position = 0
    while match := _OPENER.search(text, position):
        start, position = match.span()
        if _NO_ELEMENT.match(text, start):
            position = start + 1
            continue
        if text[position - 1] == ">":
            pieces.append(Piece(start, position, "tag"))
            continue
        tags = tags or _Tags(text)
        piece = _piece(text, start, tags)
        if piece is None:
            position = start + 1
            if tags.is_active(start):
                pieces.append(Piece(start, position, "tag"))
        else:
            pieces.append(piece)
            position = piece.end
    return pieces


def _piece(text: str, start: int, tags: _Tags) -> Piece | None:
    """The piece that begins at a `<`, if one does."""
    opener = text[start + 1]
    if opener == "!":
        if text.startswith("--", start + 2):
            return Piece(start, _comment_end(text, start + 4), "comment")
        doctype = text[start + 2 : start + 9].lower() == "doctype"
        return Piece(start, _after(text, ">", start + 2), "doctype" if doctype else "comment")
    if opener == "?":
        return Piece(start, _after(text, ">", start + 1), "comment")
    name = start + 1
    if opener == "/":
        name += 1
        first = text[name : name + 1]
        if not (first.isascii() and first.isalpha()):
            # `</>` is dropped by a parser, anything else opens a bogus comment. At the end of the text `</` is still
            # text, but whatever is put behind it makes it a comment, our own mark of truncation for one.
            return Piece(start, _after(text, ">", name), "tag" if first == ">" else "comment")
    end = tags.end(name)
    return None if end < 0 else Piece(start, end, "tag")


def _after(text: str, what: str, position: int) -> int:
    """Behind the next occurrence, or the end of the text: a comment needs no end to be one."""
    found = text.find(what, position)
    return len(text) if found < 0 else found + len(what)


def _comment_end(text: str, body: int) -> int:
    """Behind a comment whose `<!--` ends at `body`. `<!-->` and `<!--->` are whole comments; `--!>` ends one, too."""
    end = text.find("-->", body - 2)
    bang = text.find("--!>", body, len(text) if end < 0 else end)
    if bang >= 0:
        return bang + 4
    return len(text) if end < 0 else end + 3


_ATTRIBUTE = re.compile(
    r"<[A-Za-z][^\s/<>]{0,40}[\s/]{1,8}(?:[^\s=<>\"'/]{1,40}[\s/]{1,8}){0,4}[^\s=<>\"'/]{1,40}\s{0,8}="
)
_ACTIVE = re.compile(
    r"[\s/\"'](?:on[a-z]{3,20}|src|srcdoc|srcset|href|action|formaction|style|data|background|poster)\s{0,8}=",
    re.IGNORECASE,
)


class _Tags:
    """Finds where tags end, in time linear in the text over all calls with growing positions.

    Strangers write texts like `<a <a <a …`, in which every tag reaches to the end and none closes. Two things are
    remembered, because they hold for every later tag as well: the places where an attribute was looked for and the end
    was not found, and where the next end of a name is.
    """

    __slots__ = ("_last_active", "_name_end", "_text", "_unclosed")

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: set[int] = set()
        self._name_end = -1
        self._last_active = -1

    def is_active(self, start: int) -> bool:
        """Whether a tag that begins at `start` and never closes has an attribute with a value, and one that could run
        or load something stands behind it: `<img src=x onerror=…`, which only needs a `>` from what comes next."""
        if not _ATTRIBUTE.match(self._text, start):
            return False
        if self._last_active < 0:
            self._last_active = max((found.start() for found in _ACTIVE.finditer(self._text)), default=0)
        return self._last_active > start

    def end(self, position: int) -> int:
        """Behind the `>` that closes the tag whose name begins at `position`; -1 where the text ends first."""
        text = self._text
        if self._name_end < position:
            match = _TAG_NAME_END.search(text, position)
            self._name_end = match.start() if match else len(text)
        position = self._name_end
        passed: list[int] = []
        while True:
            position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
            if position >= len(text) or position in self._unclosed:
                break
            if text[position] == ">":
                return position + 1
            passed.append(position)
            position = _ATTRIBUTE_NAME.match(text, position).end()  # type: ignore[union-attr]
            equals = _EQUALS.match(text, position)
            if equals is None:
                continue
            position = equals.end()
            quote = text[position : position + 1]
            if quote in ('"', "'"):
                position = text.find(quote, position + 1) + 1
                if position == 0:
                    break
            else:
                position = _UNQUOTED.match(text, position).end()  # type: ignore[union-attr]
        self._unclosed.update(passed)
        return -1


# ---------------------------------------------------------------- Markdown

_BRACKET = re.compile(r"[\[\]]")
_SPACES = re.compile(r"[ \t\n\v\f\r]*+")
# Most destinations are as plain as this, read alike by all that follows: 0.4 us instead of 1.5.
_PLAIN_DESTINATION = re.compile(r"[^\x00-\x20\x7f()\\<]*+\)")
_ANGLED = (re.compile(r"<(?:[^<>\\\r\n]|\\(?:\r\n|[\s\S]))*+>"), re.compile(r"<[^<>\r\n]*+>"))
# A backslash protects whatever comes after it but a space: so markdown-it reads it, and CommonMark no more than that.
# A NUL ends no destination: CommonMark 2.3 has readers take it for U+FFFD before they look for links.
_RUNS = (re.compile(r"(?:[^\x01-\x20\x7f()\\]|\\(?:\r\n|[^ ])|\\)*+"), re.compile(r"[^\x01-\x20\x7f()]*+"))
_TITLE = re.compile(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))""",
    re.DOTALL,
)
_MAX_PARENTHESES = 32
"""So deep may parentheses in a destination be nested, as in CommonMark's own implementations."""


def find_links(text: str) -> list[Link]:
    """The innermost inline links and images (CommonMark 6.3, 6.4), left to right.

    More than CommonMark: a backslash protects no bracket, and links stand in code spans too, because not every reader
    knows of either. Where such a bracket takes the `[` away from a later `](`, the nearest `[` before it counts.
    """
    links: list[Link] = []
    opened: list[int] = []
    nearest = -1
    last = 0
    first = text.find("[")
    if first < 0:
        return links
    # From the first `[` to the last `](` before a `)`: outside, no bracket belongs to a link.
    for match in _BRACKET.finditer(text, first, text.rfind("](", 0, text.rfind(")") + 1) + 1):
        position = match.start()
        if position < last:
            continue
        if match[0] == "[":
            opened.append(position)
            nearest = position
            continue
        start = opened.pop() if opened else -1
        if start < last:
            start = nearest
        if start < last or not text.startswith("(", position + 1) or _INDEXED.match(text, start):
            continue
        found = _destination(text, position + 2)
        if found is None:
            continue
        url, last = found
        image = start > 0 and text[start - 1] == "!"
        kind = "image" if image else "link"
        links.append(Link(start - image, last, kind, text[start + 1 : position], url))
    return links


def _destination(text: str, position: int) -> tuple[str, int] | None:
    """The destination of a link whose `(` ends at `position`, and the place behind its `)`.

    In angle brackets or bare, first as CommonMark reads it, a backslash protecting what comes after it, then as
    readers do who do not know of that.
    """
    plain = _PLAIN_DESTINATION.match(text, position)
    if plain:
        return text[position : plain.end() - 1], plain.end()
    position = _skip(text, position)
    if text.startswith("<", position):
        for pattern in _ANGLED:
            match = pattern.match(text, position)
            end = _link_end(text, match.end()) if match else -1
            if match and end >= 0:
                return match[0][1:-1], end
    for pattern in _RUNS if "\\" in text else _RUNS[:1]:  # without a backslash they read alike
        end = _bare_end(text, position, pattern)
        behind = _link_end(text, end) if end >= 0 else -1
        if behind >= 0:
            return text[position:end], behind
    return None


def _bare_end(text: str, position: int, run: re.Pattern[str]) -> int:
    """Behind a destination without angle brackets, whose parentheses are balanced; -1 where they are not."""
    depth = 0
    while True:
        position = run.match(text, position).end()  # type: ignore[union-attr]
        bracket = text[position : position + 1]
        if bracket == "(" and depth < _MAX_PARENTHESES:
            depth += 1
        elif bracket == ")" and depth:
            depth -= 1
        else:
            return -1 if depth else position
        position += 1


def _link_end(text: str, position: int) -> int:
    """Behind the `)` of a link whose destination ends at `position`, with a title or without; -1 where none is."""
    behind = _skip(text, position)
    if behind > position:
        title = _TITLE.match(text, behind)
        if title:
            behind = _skip(text, title.end())
    return behind + 1 if text.startswith(")", behind) else -1


def _skip(text: str, position: int) -> int:
    return _SPACES.match(text, position).end()  # type: ignore[union-attr]
