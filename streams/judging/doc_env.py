"""Reads files of keys without sections into rows: `.env` and `.properties`. One pass, values as texts.

What a shell or a library would put into a value (`$NAME`, an escape in double quotes) makes it doubtful.
"""

from __future__ import annotations

import re
from typing import Final

from .doc_tree import Content, Doubtful, Shape, Tree, Unreadable
from .values import value_of_text

_BLANK: Final = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
_KEY: Final = re.compile(r"(?:export[ \t]++)?([A-Za-z_][\w.-]*+)[ \t]*+(=[ \t]*+)?")
_QUOTED: Final = re.compile(r"'([^']*+)'|\"((?:[^\"\\]|\\[\s\S])*+)\"|`([^`]*+)`")
_REST: Final = re.compile(r"[ \t]*+(?:#[^\n]*+)?(?=\n|\Z)")
_LINE: Final = re.compile(r"[^\n]*+")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#")


def parse_env(text: str) -> Tree:
    """Reads a `.env` file, as shells and the libraries of that name do.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: something is no assignment, or the file is too large.
    """
    tree = Tree()
    tree.variables = True
    root = tree.root(Shape.MAPPING, 1, text.count("\n") + 1)
    line, counted, at = 1, 0, 0
    while True:
        at = _end(_BLANK, text, at)
        if at >= len(text):
            return tree
        found = _KEY.match(text, at)
        if found is None:
            raise Unreadable("syntax-error")
        line, counted = line + text.count("\n", counted, at), at
        at = found.end()
        content: Content = Shape.HIDDEN  # a name alone takes its value from outside
        if found[2] is not None:
            content, at = _env_value(text, at)
        elif not _REST.match(text, at):
            raise Unreadable("syntax-error")
        last = line + text.count("\n", counted, at)
        tree.add(root, found[1], content, line, last)


def _end(expected: re.Pattern[str], text: str, at: int) -> int:
    found = expected.match(text, at)
    return at if found is None else found.end()


def _env_value(text: str, at: int) -> tuple[Content, int]:
    """The value that begins at a place, and where it ends."""
    end = _end(_LINE, text, at)
    if text[at : at + 1] not in ("'", '"', "`"):
        plain = text[at:end]
        comment = _COMMENT.search(plain)
        plain = (plain[: comment.start()] if comment else plain).strip()
        doubtful = any(mark in plain for mark in "$`\\'\"")
        return Doubtful(plain, "computed") if doubtful else value_of_text(plain), end
    quoted = _QUOTED.match(text, at)
    if quoted is None:
        raise Unreadable("syntax-error")
    if not _REST.match(text, quoted.end()):
        return Doubtful(text[at:end].strip(), "computed"), max(end, quoted.end())
    single, double, other = quoted.groups()
    if single is not None:
        return value_of_text(single), quoted.end()
    value = double if double is not None else other
    doubtful = "$" in value or "\\" in value or double is None
    return Doubtful(value, "computed") if doubtful else value_of_text(value), quoted.end()


# ---------------------------------------------------------------- properties

_PROPERTY: Final = re.compile(r"((?:[^\\=: \t\f]|\\.)*+)[ \t\f]*+[=:]?[ \t\f]*+(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Tree:
    """Reads a Java `.properties` file.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: the file is too large.
    """
    lines = text.split("\n")
    tree = Tree()
    root = tree.root(Shape.MAPPING, 1, len(lines))
    at = 0
    while at < len(lines):
        line, first = lines[at].lstrip(), at + 1
        at += 1
        if not line or line[0] in "#!":
            continue
        pieces: list[str] = []
        while _goes_on(line) and at < len(lines):
            pieces.append(line[:-1])
            line = lines[at].lstrip()
            at += 1
        found = _PROPERTY.fullmatch("".join((*pieces, line)))
        if found is None:  # a backslash at the end of the file
            raise Unreadable("syntax-error")
        tree.add(root, _unescaped(found[1]), value_of_text(_unescaped(found[2])), first, at)
    return tree


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]), text)
