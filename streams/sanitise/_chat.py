"""Chat markers: what a chat template puts around a turn, and what makes a text look like another speaker's.

`<|im_start|>`, `[INST]` and a role at the beginning of a line (`system:`) tell a model, or the template in front of it,
that somebody else speaks from here on. `<s>`, `<start_of_turn>` and `<<SYS>>` are tags for an HTML parser, and go with
the other markup (`_markup.py`). What makes the others work goes: the delimiters, and the colon behind the role; the
words between them stay. Strict typing refuses such a text [V §3].

A role counts only beside a second one or a delimiter: «User: the person who reported it said no.» is a sentence.

Every expression is linear: it is anchored at a delimiter or at the beginning of a line, and bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from ._markup import Piece

KIND: Final = "chat-marker"
ROLES: Final = ("system", "developer", "assistant", "user", "human", "ai", "tool")
"""Who speaks in a chat, in any case. `model` and `function` begin lines of honest prose."""
_SPECIAL: Final = r"<[ \t]*+\|[ \t]*+[^\s<>|]{1,64}+(?:[ \t]++[^\s<>|]{1,64}+){0,3}+[ \t]*+\|[ \t]*+>"
_BRACKETED: Final = (
    r"\[[ \t]*+/?+[ \t]*+(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS?|TOOL_CONTENT)[ \t]*+\]"
)
_OPENING: Final = " \t>#*_~+|\"'`({\\[<\u2010-\u2015\u2022\u00b7\u00ab\u2039\u2018-\u201f\u300a-\u3011"
_CLOSING: Final = " \t*_~|\"'`)}\\]>\u00bb\u203a\u2018-\u201f\u300a-\u3011"
_ROLE: Final = (
    rf"^(?:[{_OPENING}-]|\d{{1,9}}[.)]|[a-z][.)])*+(?:"
    + "|".join(ROLES)
    + r")(?:[ \t]++(?:message|prompt|instructions?))?+"
    rf"[{_CLOSING}]*+(?:\([^()\n]{{0,64}}+\))?+[{_CLOSING}]*+(?::[{_CLOSING}]*+)++"
)
"""A role also stands behind numbers and letters of lists, in quotation marks and brackets, and with
a remark in parentheses: `1. system:`, `«system»:`, `system (root):`."""
_SPECIALS: Final = re.compile(_SPECIAL)
_BRACKETS: Final = re.compile(_BRACKETED, re.I)
_ROLES: Final = re.compile(_ROLE, re.I | re.M)
_LINE_ENDS: Final = str.maketrans("\r\u2028\u2029\x85\v\f", "\n\n\n\n\n\n")


def may_be_marked(text: str) -> bool:
    """The cheap look: False where no marker can stand."""
    return ":" in text or "[" in text or ("<" in text and "|" in text)


def find_markers(text: str) -> list[Piece]:
    """The characters that make a text look like a chat's, left to right: delimiters, and colons behind roles."""
    if not may_be_marked(text):
        return []
    seen = text if text.isprintable() else text.translate(_LINE_ENDS)
    found: list[Piece] = []
    if "|" in seen and "<" in seen:
        for match in _SPECIALS.finditer(seen):
            start, end = match.span()
            inner = text.index("|", start) + 1, text.rindex("|", start, end)
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
