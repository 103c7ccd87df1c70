"""Chat markers: what a chat template puts around a turn, and what makes a text look like another speaker's.

`<|im_start|>`, `[INST]` and a role at the beginning of a line (`system:`) tell a model, or the template in front of it,
that somebody else speaks from here on. `<s>`, `<start_of_turn>` and `<<SYS>>` are tags for an HTML parser, and go with
the other markup (`_markup.py`). What makes the others work goes: the delimiters, and the colon behind the role; the
words between them stay. Strict typing refuses such a text [V §3].

A role counts only beside a second one or a delimiter: «User: the person who reported it said no.» is a sentence.

A text is read as it looks: a model takes `‹∣im_start∣›`, `аі:` in Cyrillic letters and `system∶` with the sign of a
ratio for what they look like, also where the look-alikes themselves stay (UTS 39 by word, `flag`).

Every expression is linear: it is anchored at a delimiter or at the beginning of a line, and bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from ...codecs.unicode_text import ASCII_OF, category_of, name_of
from ._markup import Piece

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
    on a letter. Made when they are asked for, and few are kept: strangers choose them."""

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
