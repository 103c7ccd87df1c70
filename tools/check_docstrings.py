"""Checks the docstrings of the doors: what a room lists in `__all__` says what it does, and in which units it counts.

`make lint` runs it. A room is a package of `codecs`, `streams`, `record` or `topology` whose `__init__.py` has an
`__all__`. What stands there is a module of the room, or a name that the `__init__.py` imports; of a module every
public function and class counts. The rules:

- Every public function and class, and every public method of a class, has a docstring. A property may be an entry of
  its class's docstring instead. A method may leave its docstring to a protocol that the class's docstring names in
  back-ticks (`interfaces.Fold`), where the protocol's method has one.
- A parameter or a field that is measured has its unit in the docstring: of the function, or of the class. `UNITS` has
  the names that are measured, and the words that state their units.
- Where a public function takes three parameters or more, its docstring names each of them, or names the function whose
  parameters they are («As `drain`», «Arguments are those of `Emitter`»).
- An error of ours that a public function raises itself is named in its docstring, or a class that it derives from is.

Files are read, not imported: it takes two seconds.

Exit status: 0 when nothing was found, 1 otherwise.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("codecs", "streams", "record", "topology")

UNITS = (
    (re.compile(r"_ms$"), re.compile(r"\b(ms|milliseconds?)\b", re.I)),
    (re.compile(r"_s$|(^|_)seconds$|^timeout$"), re.compile(r"\b(s|seconds?)\b", re.I)),
    (re.compile(r"(^|_)bytes$|^byte_count$"), re.compile(r"\bbytes?\b", re.I)),
)
"""What a name ends with, and what its docstring has to say."""
EXPLAINED_FROM = 3
"""So many parameters want to be explained one by one."""
_DEFERS = re.compile(r"\bAs (?:in )?`|[Aa]rguments (?:and errors )?are those of `")
_NAMED = re.compile(r"`(?:[\w.]+\.)?([A-Z]\w+)`")

_BUILTIN = {name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)}

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Fault(NamedTuple):
    """A rule that does not hold, with its place."""

    file: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.sentence}"


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"), str(file))


def rooms(root: Path = ROOT) -> Iterator[Path]:
    """The `__init__.py` of every package that has an `__all__`."""
    for package in PACKAGES:
        for file in sorted((root / package).rglob("__init__.py")):
            if _listed(_parsed(file)):
                yield file


def _listed(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            return list(ast.literal_eval(node.value))
    return []


def door(init: Path) -> Iterator[tuple[Path, Definition]]:
    """The public functions and classes behind the door of a room, with the file that defines each."""
    tree = _parsed(init)
    imported = {
        alias.asname or alias.name: (node.level, node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    for name in [*_listed(tree), "interfaces"]:  # what a room asks of others is public, listed or not
        if name in imported:
            level, module, original = imported[name]
            yield from _named(init.parents[level - 1], module, original)
            continue
        module = _file(init.parent, name)
        if module is not None:
            yield from ((module, one) for one in _public(_parsed(module)))


def _file(folder: Path, dotted: str) -> Path | None:
    place = folder.joinpath(*dotted.split(".")) if dotted else folder
    found = [one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()]
    return found[0] if found else None


def _named(folder: Path, module: str, name: str) -> Iterator[tuple[Path, Definition]]:
    file = _file(folder, module)
    if file is None:
        return
    for one in _public(_parsed(file)):
        if one.name == name:
            yield file, one


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    for node in tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef) or not _has(node, "overload"):
            yield node


def faults(
    file: Path, definition: Definition, protocols: Mapping[str, Set[str]], errors: Mapping[str, Set[str]]
) -> Iterator[Fault]:
    """What is missing in the docstrings of a function, or of a class and its public methods.

    Args:
        file: where it is defined.
        definition: the function or class.
        protocols: by the name of each protocol, its methods that have a docstring.
        errors: by the name of each error of ours, its own name and those of the classes that it derives from.
    """
    text = ast.get_docstring(definition) or ""
    if not text:
        yield Fault(file, definition.lineno, f"{definition.name} has no docstring")
    if isinstance(definition, Function):
        yield from _unstated(file, definition, definition.name, _parameters(definition), text)
        yield from _unexplained(file, definition, definition.name, _parameters(definition), text)
        yield from _unnamed(file, definition, definition.name, errors, text)
        return
    inherited = {name for protocol in _NAMED.findall(text) for name in protocols.get(protocol, ())}
    yield from _unstated(file, definition, definition.name, _fields(definition), f"{text} {_notes(definition)}")
    for method in definition.body:
        if not isinstance(method, Function) or _has(method, "setter"):
            continue
        name, own = f"{definition.name}.{method.name}", ast.get_docstring(method) or ""
        is_entry = _has(method, "property") and re.search(rf"^ *[\w, ]*\b{method.name}\b[\w, ]*:", text, re.M)
        if not (own or is_entry or method.name in inherited or method.name.startswith("_")):
            yield Fault(file, method.lineno, f"{name} has no docstring")
        if method.name == "__init__" or not (method.name.startswith("_") or method.name in inherited):
            yield from _unstated(file, method, name, _parameters(method), f"{own} {text}")
            yield from _unexplained(file, method, name, _parameters(method)[1:], f"{own} {text}")
            yield from _unnamed(file, method, name, errors, f"{own} {text}")


def _parameters(function: Function) -> list[str]:
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _fields(definition: ast.ClassDef) -> list[str]:
    named = (one.target for one in definition.body if isinstance(one, ast.AnnAssign))
    return [one.id for one in named if isinstance(one, ast.Name)]


def _notes(definition: ast.ClassDef) -> str:
    """What stands beside the fields: docstrings of their own, and descriptions in their annotations."""
    return " ".join(ast.unparse(one) for one in definition.body if isinstance(one, (ast.AnnAssign, ast.Expr)))


def _unstated(file: Path, node: Definition, name: str, measured: list[str], text: str) -> Iterator[Fault]:
    words = re.sub(r"\b\w+_\w+\b", "", text)  # a name is no statement of its unit
    for one in measured:
        for suffix, unit in UNITS:
            if not one.startswith("_") and suffix.search(one) and not unit.search(words):
                yield Fault(file, node.lineno, f"the docstring of {name} does not say the unit of {one}")


def _unexplained(file: Path, node: Function, name: str, parameters: list[str], text: str) -> Iterator[Fault]:
    if not text.strip() or len(parameters) < EXPLAINED_FROM or _DEFERS.search(text):
        return  # without a docstring there is a fault already
    for one in parameters:
        if not one.startswith("_") and not re.search(rf"\b{one}\b", text):
            yield Fault(file, node.lineno, f"the docstring of {name} does not say what {one} is")


def _unnamed(file: Path, node: Function, name: str, errors: Mapping[str, Set[str]], text: str) -> Iterator[Fault]:
    for one in sorted(_raised(node) & errors.keys()):
        if not _DEFERS.search(text) and not any(re.search(rf"\b{own}\b", text) for own in errors[one]):
            yield Fault(file, node.lineno, f"the docstring of {name} does not name {one}, which it raises")


def _raised(function: Function) -> set[str]:
    """The classes of what a function raises itself; what functions in it raise is theirs."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found.add(ast.unparse(raised).rpartition(".")[2])
        waiting += ast.iter_child_nodes(node)
    return found


def _errors(root: Path) -> dict[str, set[str]]:
    """By the name of each exception class of a repository, its own name and those of its bases that are no builtins."""
    bases: dict[str, set[str]] = {}
    for file in (file for package in PACKAGES for file in (root / package).rglob("*.py")):
        for node in _parsed(file).body:
            if isinstance(node, ast.ClassDef):
                own = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                bases.setdefault(node.name, set()).update(own - {node.name})

    def line(name: str) -> set[str]:
        found, waiting = set[str](), [name]
        while waiting:
            one = waiting.pop()
            waiting += bases.get(one, set()) - found
            found.add(one)
        return found

    lines = {name: line(name) for name in bases}
    return {name: line & bases.keys() for name, line in lines.items() if line & _BUILTIN}


def _has(function: Function, name: str) -> bool:
    return any(ast.unparse(one).rpartition(".")[2] == name for one in function.decorator_list)


def _protocols(root: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file in (file for package in PACKAGES for file in (root / package).rglob("*.py")):
        if "Protocol" not in file.read_text("utf-8"):
            continue
        for node in _parsed(file).body:
            if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
                methods = (one for one in node.body if isinstance(one, Function) and ast.get_docstring(one))
                found.setdefault(node.name, set()).update(one.name for one in methods)
    return found


def check(root: Path = ROOT) -> list[Fault]:
    """Everything that is missing behind the doors of a repository, each place once, in the order of files and lines."""
    protocols, errors = _protocols(root), _errors(root)
    behind = ((file, one) for init in rooms(root) for file, one in door(init))
    found = {fault for file, one in behind for fault in faults(file.relative_to(root), one, protocols, errors)}
    return sorted(found)


def main() -> int:
    """Prints what is missing."""
    found = check()
    for fault in found:
        print(fault)
    if found:
        print(f"check_docstrings: {len(found)} to write", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
