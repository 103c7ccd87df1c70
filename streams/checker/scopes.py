"""States of names where paths meet, and the files among which imports are resolved (docs/check.md).

Resolution goes by paths alone, since nothing is imported or read: an absolute import finds the file whose path ends in
the module's name and whose root is the importer's folder, one above it, or the root of the found file's own package;
a relative one goes up from the importer's folder. What is found nowhere is known by its name only.
"""

from __future__ import annotations

from typing import Final

from .model import Module, State
from .value_lattice import Named, Value, join, of

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
