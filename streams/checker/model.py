"""The static checker's model: the lattice of values, and what it follows with them (docs/check.md).

A `Value` says which kinds an expression may have on the paths that reach it, one bit each, and for its grounded part
the least confidence and the data categories of the chain [C §2, §6, §7]. Joining two paths unites the bits, so a rule
can ask «may it be plain here?» and «may it be grounded here?» apart. No bit at all means that nothing is known to
arrive, which raises no alarm; neither does `UNKNOWN`.

Slots, functions, classes, cells, modules, environments and arguments refer to one another, so they stand here too,
with what they have as members and the heap of cells. Never looks at a clock, a file or a hash's order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any, Final, NamedTuple

import msgspec


class Role(msgspec.Struct, frozen=True):
    """How a function takes part in grounding.

    Attributes:
        kind: `tool`, `prompt`, `agent`, or empty.
        pure: it carries `@grounded_pure`.
        data: its data categories.
        data_known: they could be read from the source; if not, it may have any.
        confidence: what it declares of itself at best, 0 to 1.
        min_confidence: what an agent demands of what it returns, or None.
    """

    kind: str = ""
    pure: bool = False
    data: frozenset[str] = frozenset()
    data_known: bool = True
    confidence: float = 1.0
    min_confidence: float | None = None

    @property
    def external(self) -> bool:
        """A boundary: its body is outside the language, arguments arrive there unwrapped [C §9.4]."""
        return self.kind in ("tool", "prompt")

    @property
    def grounded(self) -> bool:
        """Its result is a `Grounded` even if it is declared plain [C §9.1]."""
        return bool(self.kind) and "grounded" in self.data


NO_ROLE = Role()


NONE: Final = 1
PLAIN: Final = 2
SOURCELESS: Final = 4
"""Wrapped, and certainly without a retrieval in its chain: a prompt that was given nothing retrieved."""
SEVERED: Final = 8
SOURCED: Final = 16
MAYBE: Final = 32
"""Wrapped; whether anything was retrieved is not known."""
UNKNOWN: Final = 64

WRAPPED: Final = SOURCELESS | SEVERED | SOURCED | MAYBE
BARE: Final = NONE | PLAIN
UNGROUNDED: Final = BARE | SOURCELESS | SEVERED
MAX_REFS: Final = 12
"""A value that may be more things than these is no longer followed: bounds the work on dispatch tables."""


class Value(msgspec.Struct, frozen=True):
    """An abstract value.

    Attributes:
        kinds: the bits above; 0 is «nothing arrives».
        confidence: the least declared confidence of the steps of its chain, 0 to 1 [C §7].
        data: the categories of its chain [C §6].
        open: there may be categories beside these.
        refs: what it may be: functions, classes, modules, cells.
        const: its literal value, where it has one (for decorator arguments and keys).
        note: how it came to have no source, for the hint.
        weakest: the step that has the least confidence, for the message.
    """

    kinds: int
    confidence: float = 1.0
    data: frozenset[str] = frozenset()
    open: bool = False
    refs: tuple[Any, ...] = ()
    const: str | float | bool | None = None
    note: str = ""
    weakest: str = ""

    @property
    def wrapped(self) -> bool:
        """It is, on some path, certainly a `Grounded`."""
        return self.kinds & WRAPPED != 0


NOTHING: Final = Value(0)
ANYTHING: Final = Value(UNKNOWN, open=True)
BARE_NONE: Final = Value(NONE, note="None")
SOME_PLAIN: Final = Value(PLAIN)
DECLARED_PLAIN: Final = Value(PLAIN, note="a value that is declared plain")
FROM_OUTSIDE: Final = Value(SOURCED, open=True)
"""A parameter that is annotated `Grounded[…]`: who calls has to have retrieved it."""


class Named(msgspec.Struct, frozen=True):
    """Something known by its dotted name only: a module, a builtin, the library's own, or what another file gives."""

    kind: str
    name: str
    path: str = ""


class Bound(msgspec.Struct, frozen=True):
    """A method with the value that it was taken from; `target` is its Function, or its name."""

    receiver: Value
    target: Any


@cache
def _derived_kinds(left: int, right: int) -> int:
    found = 0
    for one in _bits(left):
        for other in _bits(right):
            low, high = min(one, other), max(one, other)
            if SEVERED in (low, high):
                found |= SEVERED
            elif high <= PLAIN:
                found |= PLAIN if low else 0
            elif high == UNKNOWN and low in (SOURCELESS, SEVERED, MAYBE):
                found |= MAYBE
            elif (high == UNKNOWN and low == SOURCED) or (high == MAYBE and low == SOURCED):
                found |= SOURCED
            else:
                found |= high
    return found


def _bits(kinds: int) -> list[int]:
    return [1 << place for place in range(7) if kinds >> place & 1] or [0]


def settled(value: Value) -> Value:
    """A value read from the heap: where grounded and bare ones were put, no bare one is held against the reader."""
    if value.kinds & WRAPPED and value.kinds & BARE:
        return msgspec.structs.replace(value, kinds=value.kinds & ~BARE | UNKNOWN)
    return value


def join(left: Value, right: Value) -> Value:
    """Either of two: the kinds united, the lesser confidence, the categories of both."""
    if left is right or (not right.kinds and not right.refs):
        return left
    if (not left.kinds and not left.refs) or left == right:
        return right
    refs = left.refs
    if right.refs and right.refs != refs:
        refs = (*refs, *(one for one in right.refs if one not in refs))[:MAX_REFS]
    weaker = left if left.confidence <= right.confidence else right
    return Value(
        left.kinds | right.kinds,
        weaker.confidence,
        left.data | right.data,
        left.open or right.open,
        refs,
        left.const if left.const == right.const else None,
        (left if left.kinds & UNGROUNDED else right).note,
        weaker.weakest or left.weakest or right.weakest,
    )


def union(values: Iterable[Value]) -> Value:
    """Any of several."""
    return reduce(join, values, NOTHING)


def derive(left: Value, right: Value, note: str = "") -> Value:
    """What an operator makes of two operands [C §9.1]: wrapped if one is.

    A retrieval in either grounds both; a chain that was severed can claim nothing any more [C §3].
    """
    if left.kinds == right.kinds == PLAIN and not left.data and not right.data:
        return SOME_PLAIN
    weaker = left if left.confidence <= right.confidence else right
    return Value(
        _derived_kinds(left.kinds, right.kinds) or UNKNOWN,
        weaker.confidence,
        left.data | right.data,
        left.open or right.open,
        note=note or left.note or right.note,
        weakest=weaker.weakest,
    )


def only(value: Value, kinds: int) -> Value:
    """The value on the paths where it has one of these kinds."""
    if value.kinds & ~kinds == 0:
        return value
    return msgspec.structs.replace(value, kinds=value.kinds & kinds)


def of(*refs: Any, kinds: int = PLAIN, note: str = "") -> Value:
    """A plain value that refers to something."""
    return Value(kinds, refs=refs, note=note)


ACCEPTS_GROUNDED: Final = 1
ACCEPTS_BARE: Final = 2
ACCEPTS_NONE: Final = 4
ACCEPTS_ANY: Final = 8
"""What a slot accepts, one bit each."""

State = dict[str, Value]
"""The names that are bound on a path, and what is known of each."""


class Slot(msgspec.Struct, frozen=True):
    """What a place is declared to hold.

    Attributes:
        accepts: the bits above; 0 is a place that nothing reaches (`NoReturn`).
        element: of a container, what it holds.
        items: of a tuple, what it holds place by place.
        keys: of a mapping, its keys.
        klass: the class, where its source was given.
        kind: the kind of container, or empty.
    """

    accepts: int
    element: Slot | None = None
    items: tuple[Slot, ...] = ()
    keys: Slot | None = None
    klass: Klass | None = None
    kind: str = ""

    @property
    def plain(self) -> bool:
        """A `Grounded` loses its wrapper here."""
        return not self.accepts & (ACCEPTS_GROUNDED | ACCEPTS_ANY)

    @property
    def promises(self) -> bool:
        """Only a `Grounded` (or None, where it says so) may come here."""
        return self.accepts & ACCEPTS_GROUNDED != 0 and not self.accepts & (ACCEPTS_BARE | ACCEPTS_ANY)


OPEN: Final = Slot(ACCEPTS_ANY)
PLAIN_SLOT: Final = Slot(ACCEPTS_BARE)
GROUNDED_SLOT: Final = Slot(ACCEPTS_GROUNDED)


class TypeForm(msgspec.Struct, frozen=True):
    """An alias: the expression of a type, and the environment in which its names mean something."""

    node: Any
    env: Any


@dataclass(slots=True, eq=False)
class Function:
    """A `def` or a `lambda` in the environment that it was made in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    env: Environment
    role: Role = NO_ROLE
    owner: Klass | None = None
    opaque: bool = False
    defaults: dict[str, Value] = field(default_factory=dict[str, Value])
    decorated: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "a lambda")


class Klass:
    """A class whose source was given; `cell` stands for all of its instances."""

    def __init__(self, node: ast.ClassDef, module: Module) -> None:
        self.node, self.module, self.name = node, module, node.name
        self.bases: list[Klass] = []
        self.fields: dict[str, Slot] = {}
        self.members: dict[str, Value] = {}
        self.kind = ""
        self.cell = Cell("instance", self)

    def lineage(self) -> list[Klass]:
        """The class and its known bases, nearest first, each once."""
        classes: list[Klass] = [self]
        for klass in classes:  # grows while it is gone through
            classes += [base for base in klass.bases if base not in classes]
        return classes

    def slots(self) -> dict[str, Slot]:
        """Its annotated fields in order, those of its bases first."""
        merged: dict[str, Slot] = {}
        for one in reversed(self.lineage()):
            merged |= one.fields
        return merged


class Cell:
    """A container, an instance, or what an awaitable will give.

    `items` holds what stands under known keys, `rest` what stands anywhere, `keys` a mapping's keys.
    """

    def __init__(self, kind: str, klass: Klass | None = None) -> None:
        self.kind, self.klass = kind, klass
        self.items: dict[Any, Value] = {}
        self.rest, self.keys = NOTHING, NOTHING
        self.declared: Slot | None = None
        self.read = False

    def elements(self) -> Value:
        """Any one of its values. Mixed ones count as grounded only, since it is not known which one it is."""
        self.read = True
        return settled(union([self.rest, *self.items.values()]))

    def item(self, key: Any) -> Value:
        """What stands under a key, or anywhere."""
        self.read = True
        return settled(join(self.items.get(key, NOTHING), self.rest))


class Module:
    """A source: its tree, its environment, and where its imports start from."""

    def __init__(self, path: str, tree: ast.Module, has_yield: bool = True, place: str = "") -> None:
        self.path, self.tree, self.has_yield = path, tree, has_yield
        clean = [one for one in (place or path).replace("\\", "/").split("/") if one not in ("", ".")]
        if clean:
            clean[-1] = clean[-1].rpartition(".")[0] or clean[-1]
        self.parts = tuple(clean)
        self.name = clean[-1] if clean else ""
        self.env = Environment(self, None)
        self.executed = 0
        self.relevant = False

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__` of a folder."""
        return self.name == "__init__"

    @property
    def dotted(self) -> tuple[str, ...]:
        """Its path as a module's name: a package goes by its folder's."""
        return self.parts[:-1] if self.is_package else self.parts

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its relative imports start."""
        return self.parts[:-1]


class Loop(NamedTuple):
    """The states with which a loop's body was left or begun anew."""

    breaks: list[State]
    continues: list[State]


class Environment:
    """The names of one module, class or function while it is followed.

    Attributes:
        names: the state on the path that is being followed.
        live: whether any path arrives here.
        origin: the `@grounded_pure` function on whose behalf it runs, or empty: then sites fail nothing.
        categories, open: the data categories of what it calls, and whether there may be others.
        asks: an agent or a pure function is being checked: what the functions that it calls do matters.
        came_back: a `return` was reached.
        own: it is the function's own check, not a call from elsewhere: rules about its declaration apply.
    """

    def __init__(self, module: Module, parent: Environment | None, function: Function | None = None) -> None:
        self.module, self.parent, self.function = module, parent, function
        self.names: State = {}
        self.live = self.own = True
        self.origin = ""
        self.slots: dict[str, Slot] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.stars: list[str] = []
        self.loops: list[Loop] = []
        self.returned: Value = NOTHING
        self.yielded: Cell | None = None
        self.promise: Slot | None = None
        self.categories: set[str] = set()
        self.open = self.came_back = self.asks = self.is_class = False
        self.klass: Klass | None = None


class Given(NamedTuple):
    """One argument and where it stands."""

    node: Any
    value: Value


class Arguments:
    """What a call passes. `spread` and `doubled` are the elements behind `*` and `**`."""

    def __init__(self, node: Any, positional: list[Given] | None = None, receiver: Value | None = None) -> None:
        self.node, self.receiver = node, receiver
        self.positional: list[Given] = positional or []
        self.spread: list[Given] = []
        self.named: dict[str, Given] = {}
        self.doubled: list[Given] = []

    def each(self) -> list[Given]:
        """All of them, in the order of the source as far as Python keeps it."""
        return [*self.positional, *self.spread, *self.named.values(), *self.doubled]

    def value(self, place: int, name: str = "") -> Value:
        """One argument by place or name; nothing if it is not there."""
        if place < len(self.positional):
            return self.positional[place].value
        return self.named[name].value if name in self.named else NOTHING


def cells(value: Value) -> list[Cell]:
    """The cells that a value may be."""
    return [one for one in value.refs if type(one) is Cell]


def holds_wrapped(value: Value, depth: int = 3) -> bool:
    """Whether it is a `Grounded`, or a container of some within a few levels."""
    if value.kinds & WRAPPED:
        return True
    if not depth or not value.refs:
        return False
    return any(
        holds_wrapped(one.elements(), depth - 1) or holds_wrapped(one.keys, depth - 1)
        for one in cells(value)
        if one.kind != "instance"
    )


def of_class(klass: Klass, name: str, receiver: Value, bound: bool) -> Value:
    """A member of a class, found along its bases; functions bind their receiver, properties are called."""
    member = next((one.members[name] for one in klass.lineage() if name in one.members), NOTHING)

    def bind(ref: Any) -> Any:
        is_bound = type(ref) is Function and "staticmethod" not in ref.decorated
        return Bound(receiver, ref) if is_bound and (bound or "classmethod" in ref.decorated) else ref

    if not any(type(ref) is Function for ref in member.refs):
        return member
    return Value(member.kinds, refs=tuple(map(bind, member.refs)))


def field_slot(klass: Klass, name: str) -> Slot:
    """What an attribute is declared to hold."""
    return next((one.fields[name] for one in klass.lineage() if name in one.fields), OPEN)


class Heap:
    """The cells of one run. Invariant: they only grow.

    Attributes:
        dirty: something was put into a cell that had been read before in this pass, so another pass is due.
    """

    def __init__(self) -> None:
        self._cells: dict[Any, Cell] = {}
        self.dirty = False

    def cell(self, key: Any, kind: str) -> Cell:
        """The cell for a place in the source."""
        if key not in self._cells:
            self._cells[key] = Cell(kind)
        return self._cells[key]

    def put(self, cell: Cell, key: Any, value: Value) -> None:
        """Puts something into a cell: under a key, or anywhere if it is None."""
        old = cell.rest if key is None else cell.items.get(key, NOTHING)
        new = join(old, value)
        if new != old and len(new.refs) <= MAX_REFS:
            self.dirty = self.dirty or cell.read
            if key is None:
                cell.rest = new
            else:
                cell.items[key] = new

    def holding(self, key: Any, kind: str, element: Value) -> Value:
        """A container made here that holds `element`."""
        cell = self.cell(key, kind)
        self.put(cell, None, element)
        return of(cell)
