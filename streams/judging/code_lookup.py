"""Which definitions a symbol in a check means: by name, by what they stand in, by `in` and by lines (docs/checks.md).

A symbol's last component is the name; those before it are what it stands in, the innermost last. `Type.method`,
`Type::method`, `Type#method` and `(*Type).method` are one symbol. A component in front may also name the file's own
module, as in `records.MAX` of `codecs/records.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from .checks import Check
from .code_model import DEFINING, Code, Definition, Grammar, Role, bare
from .results import Held, Source

_ARGUMENTS: Final = re.compile(r"\([^()]*\)$")
_RECEIVER: Final = re.compile(r"^\(?[*&]?([^()*&]+)\)?")
_GENERIC: Final = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_PARTS: Final = re.compile(r"::|->|[.#]")
_OWN: Final = frozenset(("self", "this", "crate", "cls"))
_MAX_PARTS: Final = 12
_FOLDERS: Final = frozenset(("__init__", "index", "mod", "lib"))
"""File names that stand for the folder that they are in."""


def parts_of_symbol(symbol: str, grammar: Grammar) -> tuple[str, ...]:
    """The components of a symbol; empty where it has none that a definition could have."""
    text = symbol.strip()
    text = _ARGUMENTS.sub("", text) if not text.startswith("(") or text.endswith("()") else text
    if not grammar.separators:
        return (bare(text, grammar),) if text else ()
    if text.startswith("/"):
        return tuple(bare(one, grammar) for one in text[1:].split("/"))[:_MAX_PARTS]
    if "operator" not in text:
        text = _GENERIC.sub("", text)
    receiver = _RECEIVER.match(text)
    if text.startswith(("(", "*", "&")) and receiver is not None:
        text = receiver[1] + text[receiver.end() :]
    parts = [bare(one, grammar) for one in _PARTS.split(text)]
    if len(parts) > 1 and parts[0] in _OWN:
        parts = parts[1:]
    return tuple(one for one in parts if one)[:_MAX_PARTS]


def found(code: Code, symbol: str, path: str) -> list[Definition]:
    """Every place where the name of a symbol is defined, declared or written, in the order of the file.

    Args:
        code: the file.
        symbol: as a check names it.
        path: where the file is; its end may stand in front of the symbol.
    """
    parts = parts_of_symbol(symbol, code.grammar)
    there = _with_path(code, parts)
    if there or len(parts) < 2:
        return there
    for cut in range(1, len(parts)):
        if _is_module(code, parts[:cut], path) and (there := _with_path(code, parts[cut:])):
            return [one for one in there if one.path == parts[cut:]] or there
    return []


def _with_path(code: Code, parts: tuple[str, ...]) -> list[Definition]:
    if not parts:
        return []
    places = code.by_name.get(parts[-1], ())
    definitions = (code.definitions[place] for place in places)
    return [one for one in definitions if one.path[-len(parts) :] == parts]


def modules_of(code: Code, path: str) -> list[tuple[str, ...]]:
    """The names that the file's own module may go by, outermost first."""
    folders = [one for one in path.split("/") if one]
    stem = folders.pop().split(".")[0] if folders else ""
    names = tuple(folders) if stem in _FOLDERS else (*folders, stem)
    return [one for one in (names, tuple(folders), code.package) if one]


def _is_module(code: Code, parts: tuple[str, ...], path: str) -> bool:
    return any(one[-len(parts) :] == parts for one in modules_of(code, path))


class Scope(NamedTuple):
    """The part of a file that a check speaks of.

    Attributes:
        lines: first and last line, from 1.
        inside: the definition that `in` names, and the components of that name.
    """

    lines: tuple[int, int] | None = None
    inside: Definition | None = None
    parts: tuple[str, ...] = ()

    def has(self, one: Definition) -> bool:
        """Whether a definition is in it: its name stands in these lines, and it stands in what `in` names.

        A method that is written outside of its type, as Go's are, stands in it as well.
        """
        return self.has_line(one.line) and self.holds(one)

    def has_line(self, line: int) -> bool:
        """Whether a line is among its lines."""
        return self.lines is None or self.lines[0] <= line <= self.lines[1]

    def holds(self, one: Definition) -> bool:
        """Whether a definition stands in what `in` names."""
        holder = self.inside
        if holder is None:
            return True
        if self.is_holder(one):
            return False
        if holder.node.start_byte <= one.node.start_byte and one.node.end_byte <= holder.node.end_byte:
            return True
        around, parts = one.path[:-1], self.parts
        return any(around[at : at + len(parts)] == parts for at in range(len(around) - len(parts) + 1))

    def is_holder(self, one: Definition) -> bool:
        """Whether a definition is what `in` names."""
        holder = self.inside
        return holder is not None and one.node.byte_range == holder.node.byte_range

    def touches(self, one: Definition) -> bool:
        """Whether a definition and its lines have one in common, and it is what `in` names, or stands in it."""
        inside = self.lines is None or (one.lines[0] <= self.lines[1] and one.lines[1] >= self.lines[0])
        return inside and (self.is_holder(one) or self.holds(one))


def scope_of(check: Check, code: Code, source: Source) -> Scope | Held:
    """The scope of a check, or why it has none."""
    name = check.text("in")
    if not name:
        return Scope(source.lines)
    parts = parts_of_symbol(name, code.grammar)
    holders = holders_of(found(code, name, source.path))
    if source.lines is not None and len(holders) > 1:
        holders = [one for one in holders if Scope(source.lines).touches(one)]
    if not holders:
        return Held(None, "not-found")
    if len(holders) > 1:
        return Held(None, "ambiguous", holders[0].lines)
    if code.touched(holders[0].node.start_byte, holders[0].node.end_byte):
        return Held(None, "syntax-error", holders[0].lines)
    return Scope(source.lines, holders[0], parts)


def holders_of(definitions: Collection[Definition]) -> list[Definition]:
    """Those of some definitions that something can stand in; values only where there is nothing else."""
    holders = [one for one in definitions if one.role in (Role.FUNCTION, Role.TYPE, Role.SPACE) and not one.dead]
    with_body = [one for one in holders if one.body is not None]
    return (
        with_body
        or holders
        or [one for one in definitions if (one.role in DEFINING or one.role is Role.KEY) and not one.dead]
    )
