"""A file of source code as the judge looks at it: its index, its text, and what a symbol in a check means there
(docs/checks.md).

A symbol's last component is the name; those before it are what it stands in, the innermost last. A component in front
may also name the file's own module, as in `records.MAX` of `codecs/records.py`. No language is known here but by its
row in `languages.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Check, Held, Source
from .facts import MAX_FOUND, NOT_FOUND, flat
from .index import Branch, Definition, Extent, FileIndex, Role
from .languages import Language, language_of

_FOLDERS: Final = frozenset(("__init__", "index", "mod", "lib"))
"""File names that stand for the folder that they are in."""
_EDGE: Final = frozenset(byte for byte in range(256) if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_$")
"""Bytes that are part of a name."""
_MAX_CONDITION: Final = 300
_SPACED: Final = re.compile(r"\s*([^\w\s\"'`]+)\s*")


class Under(NamedTuple):
    """The texts of the conditions under which something stands, the outermost first; `narrowed`: one of them is of the
    compiler, or lets it be there in tests only."""

    texts: tuple[str, ...] = ()
    narrowed: bool = False


class _Text:
    """The text of a file, with what every check on it asks."""

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.data = self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(match.end() for match in re.finditer(b"\n", self.data))]

    @cached_property
    def folded(self) -> str:
        """All of it in NFKC, without letter case."""
        return nfkc(self.text).casefold()


_text = lru_cache(maxsize=16)(_Text)
"""Several checks on one file follow one another."""


class View:
    """One file, with the lines of it that are looked at."""

    def __init__(self, check: Check, index: FileIndex, source: Source) -> None:
        self.check, self.index, self.source = check, index, source
        self.language: Language = language_of(index.language)
        self.file = _text(source.text)
        self.data = self.file.data
        self.lines = source.lines
        self.inside: Definition | None = None

    # ------------------------------------------------------------ text

    def written(self, extent: Extent) -> str:
        """The text of an extent, in NFKC, with every run of white space as one space."""
        return flat(self.data[extent[0] : extent[1]].decode("utf-8", "replace"))

    def found_at(self, line: int) -> str:
        """The text of a line, as `Held.found` tells it."""
        starts = self.file.starts
        if not 0 < line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.data)
        return self.data[starts[line - 1] : end].decode("utf-8", "replace").strip()[:MAX_FOUND]

    def line(self, at: int) -> int:
        """The line of a byte, from 1."""
        return bisect_right(self.file.starts, at)

    def is_absent(self, name: str) -> bool:
        """Whether a name stands nowhere in the file, as a part of anything, whatever its letter case."""
        return bool(name) and name.casefold() not in self.file.folded

    def lacks(self, extent: Extent, name: str) -> bool:
        """The same of a part of the file."""
        return name.casefold() not in nfkc(self.data[extent[0] : extent[1]].decode("utf-8", "replace")).casefold()

    def occurrences(self, name: str, extent: Extent | None = None) -> Iterator[int]:
        """The first byte of each whole word that is a name; look-alikes in other characters are left out."""
        word, data = name.encode("utf-8", "replace"), self.data
        edge = _EDGE - {ord(mark) for mark in self.language.sigils}
        start, end = extent or (0, len(data))
        at = data.find(word, start, end) if word else -1
        while at >= 0:
            past = at + len(word)
            if not (at and data[at - 1] in edge) and not (past < len(data) and data[past] in _EDGE):
                yield at
            at = data.find(word, past, end)

    def is_other(self, at: int) -> bool:
        """Whether a mark in front of a name makes it a variable of the instance, or of the whole program."""
        mark = self.data[at - 1 : at]
        return mark in (b"@", b"$") and self.language.sigils.startswith("@$")

    def is_cut(self, at: int, name: str) -> bool:
        """Whether a name at a byte is only the beginning of a longer one, which ends in a mark (`ready?`)."""
        past = at + len(name.encode("utf-8", "replace"))
        mark = self.data[past : past + 1].decode("latin-1")
        return mark != "" and mark in self.language.tails and self.data[past + 1 : past + 2] != b"="

    def mentions(self, names: Iterable[str], extent: Extent | None = None) -> bool:
        """Whether one of some names stands in the code."""
        return any(not self.is_text(at) for name in names for at in self.occurrences(name, extent))

    def is_text(self, at: int) -> bool:
        """Whether a byte lies in a string or a comment."""
        return _within(self.index.comments, at) or _within(self.index.texts, at)

    def is_comment(self, at: int) -> bool:
        """Whether a byte lies in a comment or a string that documents."""
        return _within(self.index.comments, at)

    # ------------------------------------------------------------ scope

    def has_line(self, line: int) -> bool:
        """Whether a line is among those that are looked at."""
        return self.lines is None or self.lines[0] <= line <= self.lines[1]

    def holds(self, one: Definition) -> bool:
        """Whether a definition is in the scope: its name on these lines, and it in what `in` names."""
        return self.has_line(one.line) and (
            self.inside is None
            or (self.inside is not one and _contains(self.inside.extent, one.extent))
            or one.path[: len(self.inside.path)] == self.inside.path != one.path
        )

    @property
    def whole(self) -> Held | None:
        """Why something that is not there may not be said to be missing from the file; None where it may."""
        if not self.source.whole:
            return Held(None, "not-whole")
        return Held(None, "syntax-error") if self.index.errors else None

    # ------------------------------------------------------------ symbols

    def found(self, symbol: str) -> list[Definition]:
        """Every definition that a symbol may mean, in the order of the file; not those that are never reached."""
        parts = self.language.parts(symbol)
        if len(parts) > 1 and parts[0] in ("self", "this", "cls", "crate"):
            parts = parts[1:]
        there = self._with_path(parts)
        for cut in range(1, len(parts) if not there else 0):
            if self._is_module(parts[:cut]) and (there := self._with_path(parts[cut:])):
                exact = [one for one in there if one.path == parts[cut:]]
                return exact or (there if self.language.modules else [])
        return there

    def is_named_by(self, parts: tuple[str, ...], written: tuple[str, ...]) -> bool:
        """Whether a symbol means what is written: its end, where the file itself has nothing else of that name."""
        if not parts or written[-len(parts) :] != parts:
            return False
        return written == parts or not any(one.path == parts for one in self.index.by_name.get(parts[-1], ()))

    def _with_path(self, parts: tuple[str, ...]) -> list[Definition]:
        if not parts:
            return []
        name, count = parts[-1], len(parts)
        return [
            one for one in self.index.by_name.get(name, ()) if one.path[-count:] == parts and not self.is_dead(one.at)
        ]

    def _is_module(self, parts: tuple[str, ...]) -> bool:
        folders = [one for one in self.source.path.split("/") if one]
        stem = folders.pop().split(".")[0] if folders else ""
        names = tuple(folders) if stem in _FOLDERS or not self.language.modules else (*folders, stem)
        return any(one and one[-len(parts) :] == parts for one in (names, tuple(folders), self.index.package))

    def only(self, symbol: str, fits: Callable[[Definition], bool]) -> Definition | Held:
        """The one definition that a symbol means, among those that fit; else why there is none."""
        there = [one for one in self.found(symbol) if fits(one)]
        bodies = [one for one in there if one.sort != "declared"]
        if len(bodies) == 1 and all(_announces(one, bodies[0]) for one in there):
            there = bodies
        here = [one for one in there if self.touches(one)]
        if not here:
            return NOT_FOUND
        one = here[0]
        if len(here) > 1:
            return ambiguous(here)
        if len(again := [each for each in self.index.by_name[one.name] if _is_again(one, each)]) > 1:
            return ambiguous(again)
        if not self.source.whole:
            return Held(None, "not-whole", one.lines)
        return Held(None, "syntax-error", one.lines) if self.is_broken(one) else one

    def is_broken(self, one: Definition) -> bool:
        """Whether something does not parse in a definition, or in one around it, whose parts may then be others."""
        return bool(self.index.errors) and any(
            self.index.broken(each.extent)
            for each in self.index.definitions
            if _contains(each.extent, one.extent) and each.sort in ("function", "type", "space")
        )

    def touches(self, one: Definition) -> bool:
        """Whether a definition, or a part of it, is in the scope."""
        inside = self.inside
        if self.lines is not None and (one.lines[0] > self.lines[1] or one.lines[1] < self.lines[0]):
            return False
        return (
            inside is None
            or one is inside
            or _contains(inside.extent, one.extent)
            or (one.path[: len(inside.path)] == inside.path)
        )

    # ------------------------------------------------------------ where something stands

    def is_dead(self, at: int) -> bool:
        """Whether nothing ever comes to a byte."""
        return any(one.extent[0] <= at < one.extent[1] for one in self.index.by_sort.get("dead", ()))

    def around(self, at: int) -> Definition | None:
        """The innermost function or type that a byte lies in."""
        return self._innermost(at, ("function", "type", "declared"))

    def function_around(self, at: int) -> Definition | None:
        """The innermost function that a byte lies in, past any type."""
        return self._innermost(at, ("function", "declared"))

    def _innermost(self, at: int, sorts: Sequence[str]) -> Definition | None:
        scopes = self.index.scopes
        for place in range(bisect_right(scopes, at, key=lambda one: one.extent[0]) - 1, -1, -1):
            one = scopes[place]
            if at < one.extent[1] and one.sort in sorts:
                return one
            if len(one.path) == 1 and at >= one.extent[1]:
                return None  # nothing stands around it
        return None

    def is_direct(self, holder: Definition, at: int) -> bool:
        """Whether a byte lies in the body of a definition, in none that is nested in it, and can be reached."""
        body = holder.body
        if body is None or not body[0] <= at < body[1] or self.around(at) is not holder or self.is_dead(at):
            return False
        return not any(
            _contains(body, one.extent) and one.extent[0] <= at < one.extent[1]
            for one in self.index.by_sort.get("lambda", ())
        )

    def sorts_around(self, holder: Definition, at: int) -> dict[Extent, str]:
        """The regions of a definition's body that a byte lies in."""
        body = holder.body or holder.extent
        return {
            one.extent: one.sort
            for one in self.index.regions
            if _contains(body, one.extent) and one.extent[0] <= at < one.extent[1]
        }

    def under(self, at: int, holder: Definition | None = None, *, flow: bool = False) -> Under:
        """The conditions that a byte stands under inside of a definition, or in the whole file; those of the compiler
        and of tests always. With `flow` early exits before it count too."""
        start, end = (0, len(self.data)) if holder is None else holder.body or holder.extent
        texts: list[tuple[int, str]] = []
        narrowed = False
        for branch in self.index.branches:
            if start <= branch.extent[0] and branch.extent[1] <= end:
                texts.extend((branch.extent[0], text) for text in self.arm_texts(branch, at, flow=flow))
        for region in self.index.regions:
            if not region.extent[0] <= at < region.extent[1]:
                continue
            ambient = region.sort in ("compiled", "test")
            narrowed = narrowed or ambient
            if ambient or (region.sort in ("loop", "case", "handler") and start <= region.extent[0] < end):
                header = region.sort if region.header is None else self.written(region.header)
                texts.append((region.extent[0], header[:_MAX_CONDITION]))
        narrowed = narrowed or any(one.test and one.extent[0] <= at < one.extent[1] for one in self.index.definitions)
        return Under(tuple(text for _, text in sorted(texts)), narrowed)

    def seen(self, at: int, lines: tuple[int, int], holder: Definition | None = None, *, flow: bool = False) -> Held:
        """What comes of a witness at a byte: true, under what it stands under; with `flow` any condition narrows it."""
        under = self.under(at, holder, flow=flow)
        return Held(True, lines=lines, under=under.texts, narrowed=under.narrowed or (flow and bool(under.texts)))

    def refuted(self, one: Definition) -> Held:
        """False, by the line of a definition."""
        return Held(False, "differs", one.lines, found=self.found_at(one.line))

    def arm_texts(self, branch: Branch, at: int, *, flow: bool = False) -> list[str]:
        """What a branch says of a byte: the conditions not met before it, and the one that is."""
        for place, arm in enumerate((*branch.arms, *((branch.otherwise,) if branch.otherwise is not None else ()))):
            if arm[0] <= at < arm[1]:
                met = [self._condition(branch, place, True)] if place < len(branch.arms) else []
                return [*(self._condition(branch, each, False) for each in range(place)), *met]
        rest = branch.rest
        if flow and rest is not None and rest[0] <= at < rest[1]:
            return [self._condition(branch, place, False) for place, leaves in enumerate(branch.leaves) if leaves]
        return []

    def _condition(self, branch: Branch, place: int, met: bool) -> str:
        """The text of a condition, as it is met or is not."""
        written = self.written(branch.conditions[place])
        return (written if met is not branch.turned else f"not ({written})")[:_MAX_CONDITION]

    def roles(self, name: str) -> list[tuple[int, Role | None]]:
        """The occurrences of a name in code and as a word in strings, with what each provably is; not those in
        comments."""
        found: list[tuple[int, Role | None]] = []
        for at in self.occurrences(name):
            role = self.index.role(at)
            if role is not None or not self.is_comment(at):
                found.append((at, role))
        return found

    def is_steady(self, name: str, holder: Definition | None, *, texts: bool = False) -> bool:
        """Whether nothing in the file can make a name mean something else, as it is seen in a function, or at the level
        of the file. With `texts` a string that is the name counts too."""
        for at, role in self.roles(name):
            if self.is_other(at):
                continue
            if role is None:
                if texts or not self.is_text(at):
                    return False
            elif role is Role.WRITE or (role is Role.BIND and self._binds(at, holder)):
                return False
        return True

    def _binds(self, at: int, holder: Definition | None) -> bool:
        """Whether a binding at a byte is seen in a function: it is at the level of the file, or around it."""
        function = self.function_around(at)
        return function is None or (holder is not None and _contains(function.extent, holder.extent))


def scoped(check: Check, index: FileIndex, source: Source) -> View | Held:
    """The view of a check, with its `in`; or why it has none."""
    view = View(check, index, source)
    name = check.text("in")
    if not name:
        return view
    holders = holders_of(view.found(name))
    if source.lines is not None and len(holders) > 1:
        holders = [one for one in holders if view.touches(one)]
    if len(holders) != 1:
        return ambiguous(holders) if holders else NOT_FOUND
    if index.broken(holders[0].extent):
        return Held(None, "syntax-error", holders[0].lines)
    view.inside = holders[0]
    return view


def holders_of(definitions: Sequence[Definition]) -> list[Definition]:
    """Those of some definitions that something can stand in; values only where there is nothing else."""
    holders = [one for one in definitions if one.sort in ("function", "type", "space")]
    with_body = [one for one in holders if one.body is not None]
    return with_body or holders or [one for one in definitions if one.sort in ("value", "key")]


def ambiguous(definitions: Sequence[Definition]) -> Held:
    """Undecided, since a symbol means several definitions."""
    names = tuple(f"{'.'.join(one.path)} (line {one.line})" for one in definitions[:5])
    return Held(None, "ambiguous", definitions[0].lines, candidates=names)


def _announces(one: Definition, other: Definition) -> bool:
    """Whether a definition is the other, or declares what the other defines."""
    if one is other:
        return True
    types = [[each.type for each in some.parameters] for some in (one, other)]
    return one.sort == "declared" and one.path == other.path and types[0] == types[1] and one.result == other.result


def tight(text: str) -> str:
    """The same, without white space around operators and brackets, so that `a==b` and `a == b` are one."""
    return _SPACED.sub(r"\1", flat(text))


def _is_again(one: Definition, other: Definition) -> bool:
    """Whether a definition is another, or a function that another one of the same name replaces or is replaced by."""
    return one is other or (one.path == other.path and one.sort == other.sort == "function")


def _contains(outer: Extent, inner: Extent) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _within(extents: Sequence[Extent], at: int) -> bool:
    place = bisect_right(extents, (at, 1 << 60)) - 1
    return place >= 0 and extents[place][0] <= at < extents[place][1]
