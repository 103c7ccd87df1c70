"""Markup in text: HTML, links and images of Markdown, and the role markers of chat formats [V §4]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

import msgspec
import nh3

from ...codecs.unicode_text import ASCII_OF, category_of, name_of


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

    There are hostile texts like `<a <a <a …`, in which every tag reaches to the end and none closes. Two things are
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


KIND: Final = "chat-marker"
ROLES: Final = ("system", "developer", "assistant", "user", "human", "ai", "tool")
"""Who speaks in a chat, in any case. `model` and `function` begin lines of honest prose."""
_SPECIAL: Final = r"<[ \t]*+\|[ \t]*+[^\s<>|]{1,64}+(?:[ \t]++[^\s<>|]{1,64}+){0,3}+[ \t]*+\|[ \t]*+>"
_BRACKETED: Final = (
    r"\[[ \t]*+/?+[ \t]*+(?:INST|SYS|SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS?|TOOL_CONTENT"
    r"|CALL_ID|THINK)[ \t]*+\]"
)
_OPENING: Final = " \t>#*_~+|\"'`({\\[<=/\\\\!?.,;%$&^)\\]}"
_CLOSING: Final = " \t*_~|\"'`)}\\]>"
_ROLE: Final = (
    rf"^(?:[{_OPENING}-]|\d{{1,9}}[.)]|[a-z][.)]|[ivx]{{2,4}}[.)])*+(?:"
    + "|".join(ROLES)
    + r")(?:[ \t]++(?:message|prompt|instructions?))?+"
    rf"[{_CLOSING}]*+(?:\([^()\n]{{0,64}}+\))?+[{_CLOSING}]*+(?::[{_CLOSING}]*+)++"
)
"""A role also stands behind numbers and letters of lists, in quotation marks and brackets, and with
a remark in parentheses: `1. system:`, `«system»:`, `system (root):`."""
_SPECIALS: Final = re.compile(_SPECIAL)
_BRACKETS: Final = re.compile(_BRACKETED, re.I)
_ROLES: Final = re.compile(_ROLE, re.I | re.M)
_LINE_ENDS: Final = {ord(character): "\n" for character in "\r\u2028\u2029\x85\v\f"}
_SIGNS: Final = dict(zip("ǀ\u2329〈⟨❬⟪《\u232a〉⟩❭⟫》❲⟦【〔❳⟧】〕", "|<<<<<<>>>>>>[[[[]]]]", strict=True))
"""What looks like a delimiter and has another look-alike in Unicode's table, or none."""
_MARKED: Final = re.compile(
    "[:<\\[" + "".join(map(re.escape, (*_SIGNS, *(alike for alike, to in ASCII_OF.items() if to in ":<[")))) + "]"
)
_LETTER: Final = re.compile(
    "(?:(?:[A-Z]+ )*LATIN (?:CAPITAL |SMALL )?LETTER(?: SMALL CAPITAL)?|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])"
    "(?: WITH .*)?"
)


class _Seen(dict[int, str]):
    """What a character outside ASCII is read as: one of ASCII, a line end, or itself; nothing for a mark, which stands
    on a letter. Made when they are asked for, and few are kept, since third parties choose them."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        seen = character if point < 0x80 else _seen(character)
        if len(self) < 8192:
            self[point] = seen
        return seen


def _seen(character: str) -> str:
    category = category_of(character)
    if character in _SIGNS:
        return _SIGNS[character]
    alike = ASCII_OF.get(character)
    if alike == "l" and category != "Ll":
        return "I" if category == "Lu" else "l" if category[0] in "LN" else "|"
    if alike is not None:
        return alike
    if category[0] == "M":
        return ""
    letter = _LETTER.fullmatch(name_of(character))
    if letter:
        return letter[1]
    return character if category[0] in "LN" else "*"


_SEEN: Final = _Seen(_LINE_ENDS)


def find_markers(text: str) -> list[Piece]:
    """The characters that make a text look like a chat's, left to right: delimiters, and colons behind roles."""
    if text.isascii():
        if ":" not in text and "[" not in text and ("<" not in text or "|" not in text):
            return []
        return _markers(text if text.isprintable() else text.translate(_LINE_ENDS))
    if not _MARKED.search(text):
        return []
    seen = text.translate(_SEEN)
    pieces = _markers(seen)
    if not pieces or len(seen) == len(text):
        return pieces
    places = [place for place, character in enumerate(text) if _SEEN[ord(character)]]
    return [Piece(places[one.start], places[one.end - 1] + 1, KIND) for one in pieces]


def find_delimiters(text: str) -> list[int]:
    """The places of every `<` and `]`, and of what is read as one: without these there is no delimiter."""
    return [place for place, character in enumerate(text) if _SEEN[ord(character)] in ("<", "]")]


def is_delimited(text: str) -> bool:
    """Whether a delimiter of a chat stands in the text, and not only roles."""
    return any(_SEEN[ord(text[one.start])] != ":" for one in find_markers(text))


def _markers(seen: str) -> list[Piece]:
    found: list[Piece] = []
    if "|" in seen and "<" in seen:
        for match in _SPECIALS.finditer(seen):
            start, end = match.span()
            inner = seen.index("|", start) + 1, seen.rindex("|", start, end)
            found += (Piece(start, inner[0], KIND), Piece(inner[1], end, KIND))
    if "[" in seen:
        for match in _BRACKETS.finditer(seen):
            start, end = match.span()
            found += (Piece(start, start + 1, KIND), Piece(end - 1, end, KIND))
    roles = list(_roles(seen))
    if found or len(roles) > 1:
        places = (place for start, end in roles for place in range(start, end) if seen[place] == ":")
        found += [Piece(place, place + 1, KIND) for place in places]
        found.sort(key=attrgetter("start"))
    return found


def _roles(text: str) -> Iterator[tuple[int, int]]:
    """From the first colon behind each role at the beginning of a line to the end of the match. By their colons, of
    which prose has few: to look at each place takes 30 us for 300 characters."""
    colon = text.find(":")
    while colon >= 0:
        match = _ROLES.match(text, text.rfind("\n", 0, colon) + 1)
        if match:
            yield text.index(":", match.start()), match.end()
        end = text.find("\n", colon)
        colon = text.find(":", end) if end >= 0 else -1
