"""Where names live: modules, frames, and the files among which imports are resolved (docs/check.md).

Resolution goes by paths alone, since nothing is imported or read: an absolute import finds the file whose path ends in
the module's name and whose root is the importer's folder, one above it, or the root of the found file's own package;
a relative one goes up from the importer's folder. What is found nowhere is known by its name only.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from .values import NOTHING, Cell, Function, Klass, Named, Value, join, of

if TYPE_CHECKING:
    from .annotations import Slot

LIBRARY: Final = ("sluice.streams.grounded", "streams.grounded")
"""The module whose names are the contract; inside the repository itself the folder stands without its prefix."""
FACES: Final = ("sluice.streams", "sluice")
"""Packages that may hand the library's names on."""
LIBRARY_NAMES: Final = frozenset({"Answer", "Grounded", "agent", "grounded_pure", "prompt", "tool"})
EXPORTED: Final = LIBRARY_NAMES | frozenset(
    {
        "Asserted",
        "CitationViolation",
        "GroundedError",
        "MinConfidenceViolation",
        "MissingDataCategory",
        "ProvenanceChain",
        "PurityViolation",
        "UndeclaredDiscard",
        "UngroundedReturn",
        "dec_hook",
        "discarding",
        "discards",
        "emission",
        "enc_hook",
        "from_record",
        "steps",
        "template",
        "to_record",
        "using_clock",
    }
)
"""What `from sluice.streams.grounded import *` binds, and no more: `print` stays Python's."""

State = dict[str, Value]


class Module:
    """A source: its tree, its frame, and where its imports start from."""

    __slots__ = ("executed", "frame", "has_yield", "name", "parts", "path", "relevant", "tree")

    def __init__(self, path: str, tree: ast.Module, has_yield: bool = True, place: str = "") -> None:
        self.path, self.tree, self.has_yield = path, tree, has_yield
        clean = [one for one in (place or path).replace("\\", "/").split("/") if one not in ("", ".")]
        if clean:
            clean[-1] = clean[-1].rpartition(".")[0] or clean[-1]
        self.parts = tuple(clean)
        self.name = clean[-1] if clean else ""
        self.frame = Frame(self, None)
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


class Frame:
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

    def __init__(self, module: Module, parent: Frame | None, function: Function | None = None) -> None:
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


def merge(left: State, right: State) -> State:
    """Either of two states; a name that only one has is taken from it (the other path would fail on it)."""
    if left is right:
        return left
    merged = dict(left)
    for name, value in right.items():
        other = merged.get(name)
        if other is None:
            merged[name] = value
        elif other is not value:
            merged[name] = join(other, value)
    return merged


class Project:
    """The sources that are checked together, found by the names under which they import one another."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules
        self._by_name: dict[str, list[Module]] = {}
        self._packages = {one.folder for one in modules if one.is_package}
        self._found: dict[tuple[Module, str], Module | None] = {}
        for one in modules:
            if one.dotted:
                self._by_name.setdefault(one.dotted[-1], []).append(one)

    def absolute(self, importer: Module, module: str | None, level: int) -> tuple[str, ...]:
        """The path that a relative import names, without a suffix; empty for one that leaves the tree."""
        folder = importer.folder
        if level - 1 > len(folder):
            return ()
        return (*folder[: len(folder) - level + 1], *(module.split(".") if module else ()))

    def at(self, parts: tuple[str, ...]) -> Module | None:
        """The module at a path."""
        for one in self._by_name.get(parts[-1], ()) if parts else ():
            if one.dotted == parts:
                return one
        return None

    def find(self, importer: Module, name: str) -> Module | None:
        """The file that `import name` means for the importer, if it was given."""
        key = (importer, name)
        if key not in self._found:
            self._found[key] = self._search(importer, tuple(name.split(".")))
        return self._found[key]

    def _search(self, importer: Module, parts: tuple[str, ...]) -> Module | None:
        best: Module | None = None
        depth = -1
        for one in self._by_name.get(parts[-1], ()):
            if one.dotted[-len(parts) :] != parts or one is importer:
                continue
            root = one.dotted[: -len(parts)]
            near = importer.folder[: len(root)] == root
            if (near or root == self._root_of(one)) and len(root) + 1000 * near > depth:
                best, depth = one, len(root) + 1000 * near
        return best

    def _root_of(self, module: Module) -> tuple[str, ...]:
        folder = module.folder
        while folder in self._packages:
            folder = folder[:-1]
        return folder


def is_library(name: str) -> bool:
    """Whether a dotted name is the library's module, or one inside it."""
    return any(name == one or name.startswith(one + ".") for one in LIBRARY)


def imported(module: str, name: str, level: int = 0) -> Value:
    """A name to be resolved when it is used: modules may import one another in a circle."""
    return of(Named("import", name, "." * level + module))
