"""The index of a file of source code: what is defined, called, imported, returned and raised where (docs/checks.md).

Plain data, without anything of the parser: it can be made in one process, sent to another, and kept by the hash of the
bytes. Positions are bytes of the file in UTF-8 without a byte order mark; lines count from 1. It holds no text that a
check could compare but names: the rest is read from the file by its extent. `build_index` (index_building.py) makes it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import msgspec

from .checks import HeldReason, Value
from .values import Text

_Item = TypeVar("_Item")
Extent = tuple[int, int]
"""First byte, and the byte behind the last."""

INDEX_VERSION: Final = 2
"""Changes with what an index holds or means, so that one kept on disk by an older version is not read."""


class Role(IntEnum):
    """What an identifier provably is where it stands: the last of these, where it is several; without one, anything."""

    READ = 1  # its value is taken, and may be handed on
    LOOK = 2  # its value is taken and not handed on, so that no list in it can be changed there
    KEYWORD = 3  # the name of an argument, or of a key
    CALL = 4  # the last component of what a call names
    IMPORT = 5  # without an alias
    ALIAS = 6  # the name that an import gives to something else
    DEFINITION = 7
    BIND = 8  # a parameter, a local variable, an alias: another thing of that name
    WRITE = 9  # changes what the name, or an attribute of that name, is worth


READS: Final = frozenset((Role.READ, Role.LOOK, Role.CALL))


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter of a function.

    Attributes:
        type: the text of its declared type; empty where none is.
        default: the extent of its default; None without one.
        literal: that default's value, see `literal_of`; empty where it is computed.
        variadic: it takes any number of arguments.
    """

    name: str
    line: int
    type: str = ""
    default: Extent | None = None
    literal: str = ""
    variadic: bool = False


class Definition(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One definition.

    Attributes:
        path: the names it stands in, and its own last.
        sort: `function`, `type`, `space`, `value`, `key`, `attribute` (of an instance), or `declared` (elsewhere).
        kinds: what it may be called, of `checks.SYMBOL_KINDS` and further ones of its language (`member`, `field`).
        at: the first byte of its name.
        line: of its name.
        lines: first and last line of all of it, decorators included.
        extent: all of it in bytes.
        body: what it does when it is called, or what stands in a type.
        receiver: the name of the method's own instance; empty where the language has a word for that.
        parameters: of a function, in order.
        bases: of a type: their texts, without white space and arguments of types.
        open: of a type: it may have bases or members that are not written there. Of a function: its parameters or its
            result are not all written there.
        decorators: the texts of decorators and attributes.
        result: the text of its declared result type.
        type: the text of a value's declared type.
        value: the extent of its value.
        literal: that value, see `literal_of`; empty where it is computed.
        members: the items or keys of a value that is a whole literal list, set or mapping, see `literal_of`.
        mutable: the literal is a container that can be changed where it stands.
        test: it is test-only.
        fixed: what it is worth cannot be changed after its definition.
    """

    path: tuple[str, ...]
    sort: str
    kinds: frozenset[str]
    at: int
    line: int
    lines: tuple[int, int]
    extent: Extent
    body: Extent | None = None
    receiver: str = ""
    parameters: tuple[Parameter, ...] = ()
    bases: tuple[str, ...] = ()
    open: bool = False
    decorators: tuple[str, ...] = ()
    result: str = ""
    type: str = ""
    value: Extent | None = None
    literal: str = ""
    members: str = ""
    mutable: bool = False
    test: bool = False
    fixed: bool = False

    @property
    def name(self) -> str:
        """The name without what it stands in."""
        return self.path[-1]


class Call(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A call.

    Attributes:
        name: the last component of what is called.
        receiver: the text before it, without white space; empty for a plain name.
        at: the first byte of `name`.
        lines: first and last line.
        extent: all of it.
        arguments: the extents of the arguments, in order.
    """

    name: str
    receiver: str
    at: int
    lines: tuple[int, int]
    extent: Extent
    arguments: tuple[Extent, ...] = ()


class Branch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A condition and what it governs, with the `else if` that belong to it.

    Attributes:
        extent: all of it.
        conditions: the extents of the conditions, in order.
        arms: of each, what is run where it is met.
        leaves: of each arm, whether every path of it leaves by return, raise or throw.
        otherwise: what is run where no condition is met; None where nothing is.
        rest: from its end to the end of its block; None where it is part of an expression.
        turned: its conditions are met where they are false (`unless`).
    """

    extent: Extent
    conditions: tuple[Extent, ...]
    arms: tuple[Extent, ...]
    leaves: tuple[bool, ...]
    otherwise: Extent | None = None
    rest: Extent | None = None
    turned: bool = False


class Region(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A part of the file in which other rules hold.

    Attributes:
        sort: `loop`, `case`, `handler`, `try` (what handlers watch), `with` (what a context manager
            may watch), `yield`, `defer`, `lambda` (a function without a name),
            `compiled` (there under a condition of the compiler), `test` (only in tests), `dead` (never reached).
        extent: what is governed.
        header: the text that says under which condition; empty for none.
    """

    sort: str
    extent: Extent
    header: Extent | None = None


class Return(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A return: all of it, its lines, and what is returned, if anything. A `tail` is a body that is an expression, or
    its last one, without a statement that says so."""

    extent: Extent
    lines: tuple[int, int]
    value: Extent | None = None
    tail: bool = False


class Raise(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A raise or throw; in Go, Rust and C also a return of an error. `error` is the text of what names it, without
    white space and arguments; empty where it is not written."""

    error: str
    extent: Extent
    lines: tuple[int, int]


class Import(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An import.

    Attributes:
        names: what it imports, each as a check may name it.
        binds: the names that it introduces in the file.
        relative: its names start from where the file is.
        lines: first and last line.
        extent: all of it.
        everything: it introduces names that are not written there.
    """

    names: tuple[str, ...]
    binds: tuple[str, ...]
    relative: bool
    lines: tuple[int, int]
    extent: Extent
    everything: bool = False


class FileIndex(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """What a file of source code holds.

    Attributes:
        language: its name in `languages.language_of`.
        problem: why it cannot be read; then it has nothing else.
        definitions: in the order of the file, as all that follow.
        package: the names of the package that the file says it belongs to.
        texts: extents of strings; those that are documentation are in `comments`.
        comments: extents of comments.
        errors: extents of what does not parse.
        roles: the first byte of each identifier that has a `Role`, times 16, plus that role; sorted, 8 bytes each.
        macros: names whose text is replaced before anything is compiled, as far as the file tells.
        generated: macros may define names that are not written there.
        weight: bytes of memory it takes, roughly.
    """

    language: str
    problem: HeldReason | None = None
    definitions: tuple[Definition, ...] = ()
    calls: tuple[Call, ...] = ()
    branches: tuple[Branch, ...] = ()
    regions: tuple[Region, ...] = ()
    returns: tuple[Return, ...] = ()
    raises: tuple[Raise, ...] = ()
    imports: tuple[Import, ...] = ()
    package: tuple[str, ...] = ()
    texts: tuple[Extent, ...] = ()
    comments: tuple[Extent, ...] = ()
    errors: tuple[Extent, ...] = ()
    roles: bytes = b""
    macros: tuple[str, ...] = ()
    generated: bool = False
    weight: int = 500

    @cached_property
    def _roles(self) -> memoryview:
        return memoryview(self.roles).cast("Q")

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Definition]]:
        """The definitions of each name, in the order of the file."""
        return _grouped(self.definitions, lambda one: one.path[-1])

    @cached_property
    def scopes(self) -> Sequence[Definition]:
        """The functions and types, in the order of the file."""
        return tuple(one for one in self.definitions if one.sort in ("function", "type", "declared"))

    @cached_property
    def by_sort(self) -> Mapping[str, Sequence[Region]]:
        """The regions of each sort, in the order of the file."""
        return _grouped(self.regions, lambda one: one.sort)

    @cached_property
    def calls_of(self) -> Mapping[str, Sequence[Call]]:
        """The calls of each name, in the order of the file."""
        return _grouped(self.calls, lambda one: one.name)

    def role(self, at: int) -> Role | None:
        """What the identifier that begins at a byte provably is; None where that is not known."""
        known = self._roles
        place = bisect_left(known, at * 16)
        return Role(known[place] % 16) if place < len(known) and known[place] // 16 == at else None

    def broken(self, extent: Extent | None = None) -> bool:
        """Whether something that does not parse lies in a part of the file, or next to it."""
        return any(extent is None or (start <= extent[1] + 1 and end >= extent[0] - 1) for start, end in self.errors)


def _grouped(items: Iterable[_Item], key: Callable[[_Item], str]) -> Mapping[str, Sequence[_Item]]:
    found: dict[str, list[_Item]] = {}
    for one in items:
        found.setdefault(key(one), []).append(one)
    return found


def packed_roles(roles: dict[int, Role]) -> bytes:
    """`FileIndex.roles` of these roles, by the first byte of each identifier."""
    return array("Q", sorted(at * 16 + role for at, role in roles.items())).tobytes()


# ---------------------------------------------------------------- values


def literal_of(value: Value) -> str:
    """A value as an index keeps it, exactly: JSON, with the digits of a number, and a `Text`, in an object."""
    return msgspec.json.encode(_plain(value)).decode()


def value_of(literal: str) -> Value:
    """The value that `literal_of` wrote."""
    return _meant(msgspec.json.decode(literal))


def _plain(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Text):
        return {"t": str(value)}
    return {"n": str(value)} if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else value


def _meant(written: Any) -> Value:
    if isinstance(written, list):
        return tuple(map(_meant, cast("list[Any]", written)))
    if isinstance(written, dict):
        kept = cast("dict[str, str]", written)
        if "t" in kept:
            return Text(kept["t"])
        digits = kept["n"]
        return int(digits) if digits.lstrip("-").isdigit() else Decimal(digits)
    return written
