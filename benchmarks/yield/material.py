"""What a mutation may put in the place of what is true: all of it also occurs in the file, or in the package."""

from __future__ import annotations

import re

from oracle import Package


class Material:
    """The words of one package, as far as they go with a file."""

    def __init__(self, package: Package, path: str) -> None:
        self._package, self._path = package, path

    def numbers(self, path: str) -> list[str]:
        """Numbers of a file."""
        text = self._package.text(path) or ""
        return sorted(set(re.findall(r"(?<![\w.])(?:0|[1-9]\d{0,5})(?![\w.])", text)))[:60] or ["7", "12", "99"]

    def names(self, path: str) -> list[str]:
        """Names that are called in a file; of a text, its words."""
        module = self._package.module(path)
        if module is None:
            return sorted(set(re.findall(r"\b[A-Za-z_][A-Za-z_-]{4,30}\b", self._package.text(path) or "")))[:80]
        found = {name for one in module.definitions for name in one.calls}
        return sorted(name for name in found if 4 < len(name) < 40 and re.fullmatch(r"[A-Za-z_][\w.]*", name))

    def values(self, path: str) -> list[str]:
        """Texts that names or keys of a file are worth."""
        document, module = self._package.document(path), self._package.module(path)
        held = (
            [value for _, value in document.keys]
            if document
            else [value for _, value in module.values]
            if module
            else []
        )
        return sorted(
            {
                str(one)
                for one in held
                if isinstance(one, str) and 1 < len(one) <= 40 and one.isprintable() and "`" not in one
            }
        )

    def modules(self, path: str) -> list[str]:
        """Modules that other files of the package import, and this one does not name."""
        ending = path.rpartition(".")[2]
        found = {
            name
            for other in self._package.tracked
            if other.rpartition(".")[2] == ending and (module := self._package.module(other)) is not None
            for name in module.imports
        }
        own = self._package.text(path) or ""
        return sorted(
            name
            for name in found
            if name.rpartition(".")[2].strip("./") not in own and not name.startswith((".", "__"))
        )

    def own_modules(self, path: str) -> list[str]:
        """Modules that a file imports."""
        module, text = self._package.module(path), self._package.text(path) or ""
        found = module.imports if module else frozenset[str]()
        return sorted(name for name in found if f"import {name}\n" in text or f"from {name} import" in text)

    def is_imported_by(self, module: str, path: str) -> bool:
        """Whether a module of the package imports the file."""
        stem = path.rpartition("/")[2].rpartition(".")[0]
        for other in self._package.tracked:
            if other.rpartition("/")[2].rpartition(".")[0] == module.strip("./").rpartition("/")[2].rpartition(".")[2]:
                found = self._package.module(other)
                if found is not None and any(stem in each for each in found.imports):
                    return True
        return False

    def calls_elsewhere(self, caller: str, callee: str) -> bool:
        """Whether anything of that name calls it, in whatever file."""
        last, wanted = caller.rpartition(".")[2], callee.rpartition(".")[2]
        for path in sorted(self._package.tracked):
            if path.rpartition(".")[2] == self._path.rpartition(".")[2]:
                for one in self._package.definitions(path, last):
                    if any(each.rpartition(".")[2] == wanted for each in one.calls):
                        return True
        return False
