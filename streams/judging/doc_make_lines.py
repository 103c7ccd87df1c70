"""One line of a Makefile, by the rules of GNU make: comments, references, words, and whether it sets a variable.

Nothing is expanded; a reference (`$(NAME)`) is passed over as a whole. Every function takes time by the line's length.
"""

from __future__ import annotations

import re
from typing import Final

BLANK: Final = " \t\r\f\v"
_OPERATOR: Final = re.compile(r":{1,3}=|[+?!]?=")
_NAME: Final = re.compile(r"[^$ \t:=+?!]++")
_SPACE: Final = re.compile(r"[ \t]++")
_DULL: Final = re.compile(r"[^\\$:;#]++")
_BRACKETS: Final = {"(": re.compile(r"[()]"), "{": re.compile(r"[{}]")}


def goes_on(line: str) -> bool:
    """Whether the next line belongs to a line."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def past_reference(text: str, at: int) -> int:
    """The place behind a reference that begins with the `$` at a place."""
    opening = text[at + 1 : at + 2]
    if opening not in _BRACKETS:
        return at + 2
    depth = 0
    for found in _BRACKETS[opening].finditer(text, at + 1):
        depth += 1 if found[0] == opening else -1
        if depth == 0:
            return found.end()
    return len(text)


def place_outside(text: str, mark: str) -> int:
    """The place of a mark (`:`, `;` or `#`) that stands in no reference and behind no backslash; -1 for none."""
    at = 0
    while at < len(text):
        dull = _DULL.match(text, at)
        if dull is not None:
            at = dull.end()
        elif text[at] == "\\":
            at += 2
        elif text[at] == "$":
            at = past_reference(text, at)
        elif text[at] == mark:
            return at
        else:
            at += 1
    return -1


def uncommented(line: str) -> str:
    """A line without the comment at its end; `\\#` is a `#`."""
    if "#" not in line:
        return line
    comment = place_outside(line, "#")
    return (line if comment < 0 else line[:comment]).replace("\\#", "#")


def setting_of(line: str) -> tuple[str, str, str] | None:
    """Name, operator and value of a line that sets a variable, by the rule of GNU make; None for any other."""
    at = 0
    while at < len(line):
        name = _NAME.match(line, at)
        if name is not None:
            at = name.end()
            continue
        if line[at] == "$":
            at = past_reference(line, at)
            continue
        space = _SPACE.match(line, at)
        operator = _OPERATOR.match(line, at if space is None else space.end())
        if operator is not None:
            return (line[:at], operator[0], line[operator.end() :].strip(BLANK)) if at else None
        if space is not None or line[at] == ":":
            return None
        at += 1
    return None


def words(text: str) -> list[str]:
    """The words of a line, each reference as a part of one."""
    found: list[str] = []
    start = at = 0
    while at < len(text):
        if text[at] == "$":
            at = past_reference(text, at)
        elif text[at] in BLANK:
            found.append(text[start:at])
            at += 1
            start = at
        else:
            at += 2 if text[at] == "\\" else 1
    found.append(text[start:])
    return [word for word in found if word]
