"""`imports`: whether a file imports a module, by syntax (docs/checks.md).

`import a.b` imports `a` and `a.b`; a module that merely resembles one that is imported is neither imported nor said
not to be.
"""

from __future__ import annotations

from typing import Final

from .checks import Check
from .code_building import words_of
from .code_lookup import Scope, modules_of
from .code_model import Code, Import
from .results import Held, Source

NOT_FOUND: Final = Held(None, "not-found")


def verify_imports(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether an import of the module stands in the scope."""
    asked = _normal(check.text("module"), code)
    outside = False
    for one in code.imports:
        if asked in one.names or asked in _resolved(one, code, source.path):
            if not one.dead and _in_scope(one, scope) and not code.touched(*one.extent):
                return Held(True, lines=one.lines)
            outside = True
    if outside:
        return NOT_FOUND
    if not source.whole:
        return Held(None, "not-whole")
    if code.errors:
        return Held(None, "syntax-error")
    if code.opaque_imports or not asked or _resembles(asked, code, source.path):
        return NOT_FOUND
    return Held(False, "differs")


def _normal(module: str, code: Code) -> str:
    """A module as imports are kept: dotted, or as a path; without quotes and angle brackets."""
    module = module.strip().strip("\"'<>`").removesuffix(";")
    if code.grammar.import_form == "path":
        return module
    return module.replace("::", ".").replace("/", ".") if "::" in module else module


def _in_scope(one: Import, scope: Scope) -> bool:
    if scope.inside is not None:
        first, last = scope.inside.lines
        if not (first <= one.lines[0] and one.lines[1] <= last):
            return False
    return scope.lines is None or (scope.lines[0] <= one.lines[0] and one.lines[1] <= scope.lines[1])


def _resolved(one: Import, code: Code, path: str) -> list[str]:
    """What a relative import of a dotted language comes to, counted from the root that the path is below."""
    if not one.relative or code.grammar.import_form == "path":
        return []
    folders = tuple(path.split("/")[:-1])
    names: list[str] = []
    for name in one.names:
        bare = name.lstrip(".")
        up = len(name) - len(bare) - 1
        if up < len(folders):  # what the root itself is called as a package is not known
            around = folders[: len(folders) - up]
            names.append(".".join((*around, bare) if bare else around))
    return names


def _resembles(asked: str, code: Code, path: str) -> bool:
    """Whether the last component of a module is a word of some import, or of what it comes to."""
    path_like = code.grammar.import_form == "path"
    words = words_of(asked.rstrip("/").rsplit("/", 1)[-1].split(".")[0] if path_like else asked) or words_of(asked)
    if not words:
        return True
    last = words[-1]
    for one in code.imports:
        if last in one.words:
            return True
        if one.relative and any(last in module for module in modules_of(code, path)):
            return True
    return False
