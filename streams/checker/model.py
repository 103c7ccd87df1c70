"""What the interpreter follows: slots, functions, classes, cells, modules, environments and arguments.

They refer to one another, so they stand in one file. They hold data and answer questions about it; what a construct
of Python does with them is in the modules above.
"""

from __future__ import annotations

import ast
from typing import Any, Final, NamedTuple

import msgspec

from .roles import Role
from .value_lattice import NOTHING, WRAPPED, Value, join, settled

GROUNDED: Final = 1
BARE: Final = 2
NULL: Final = 4
ANY: Final = 8
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
        return not self.accepts & (GROUNDED | ANY)

    @property
    def promises(self) -> bool:
        """Only a `Grounded` (or None, where it says so) may come here."""
        return self.accepts & GROUNDED != 0 and not self.accepts & (BARE | ANY)


OPEN: Final = Slot(ANY)
PLAIN_SLOT: Final = Slot(BARE)
GROUNDED_SLOT: Final = Slot(GROUNDED)


class TypeForm(msgspec.Struct, frozen=True):
    """An alias: the expression of a type, and the environment in which its names mean something."""

    node: Any
    env: Any


class Function:
    """A `def` or a `lambda` in the environment that it was made in."""

    __slots__ = ("decorated", "defaults", "env", "module", "name", "node", "opaque", "owner", "role")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: Module,
        env: Environment,
        role: Role,
        owner: Klass | None = None,
    ) -> None:
        self.node, self.module, self.env, self.role, self.owner = node, module, env, role, owner
        self.name: str = getattr(node, "name", "a lambda")
        self.opaque = False
        self.defaults: dict[str, Value] = {}
        self.decorated: frozenset[str] = frozenset()


class Klass:
    """A class whose source was given; `cell` stands for all of its instances."""

    __slots__ = ("bases", "cell", "fields", "kind", "members", "module", "name", "node")

    def __init__(self, node: ast.ClassDef, module: Module) -> None:
        self.node, self.module, self.name = node, module, node.name
        self.bases: list[Klass] = []
        self.fields: dict[str, Slot] = {}
        self.members: dict[str, Value] = {}
        self.kind = ""
        self.cell = Cell("instance", self)

    def lineage(self) -> list[Klass]:
        """The class and its known bases, nearest first, each once."""
        found: list[Klass] = []
        waiting = [self]
        while waiting:
            one = waiting.pop(0)
            if one not in found:
                found.append(one)
                waiting += one.bases
        return found

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

    __slots__ = ("declared", "items", "keys", "kind", "klass", "read", "rest")

    def __init__(self, kind: str, klass: Klass | None = None) -> None:
        self.kind, self.klass = kind, klass
        self.items: dict[Any, Value] = {}
        self.rest, self.keys = NOTHING, NOTHING
        self.declared: Slot | None = None
        self.read = False

    def elements(self) -> Value:
        """Any one of its values. Mixed ones count as grounded only: which one it is, nobody can say."""
        self.read = True
        found = self.rest
        for one in self.items.values():
            found = join(found, one)
        return settled(found)

    def item(self, key: Any) -> Value:
        """What stands under a key, or anywhere."""
        self.read = True
        return settled(join(self.items.get(key, NOTHING), self.rest))


class Module:
    """A source: its tree, its environment, and where its imports start from."""

    __slots__ = ("env", "executed", "has_yield", "name", "parts", "path", "relevant", "tree")

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


class Loop:
    """The states with which a loop's body was left or begun anew."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


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

    __slots__ = (
        *(
            "asks",
            "came_back",
            "categories",
            "function",
            "globals",
            "handlers",
            "is_class",
            "klass",
            "live",
            "loops",
            "module",
            "names",
            "nonlocals",
        ),
        *("open", "origin", "own", "parent", "promise", "returned", "slots", "stars", "yielded"),
    )

    def __init__(self, module: Module, parent: Environment | None, function: Function | None = None) -> None:
        self.module, self.parent, self.function = module, parent, function
        self.names: State = {}
        self.live = True
        self.origin = ""
        self.own = True
        self.slots: dict[str, Slot] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.stars: list[str] = []
        self.loops: list[Loop] = []
        self.handlers: list[State] = []
        self.returned: Value = NOTHING
        self.yielded: Cell | None = None
        self.promise: Slot | None = None
        self.categories: set[str] = set()
        self.open = False
        self.came_back = False
        self.asks = False
        self.klass: Klass | None = None
        self.is_class = False


class Given(NamedTuple):
    """One argument and where it stands."""

    node: Any
    value: Value


class Arguments:
    """What a call passes. `spread` and `doubled` are the elements behind `*` and `**`."""

    __slots__ = ("doubled", "named", "node", "positional", "receiver", "spread")

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
