"""Python as the oracle reads it: by `ast`."""

from __future__ import annotations

import ast
from typing import Any

from oracle_code import Definition, Module

Function = ast.FunctionDef | ast.AsyncFunctionDef


def read(text: str) -> Module | None:
    """What a module defines; None where it is no Python of this version."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    reader = _Reader(text)
    reader.body(tree.body, "", inside=None)
    return Module(reader.definitions, reader.values, frozenset(reader.imports(tree)))


class _Reader:
    """Collects what it comes by."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.definitions: list[Definition] = []
        self.values: list[tuple[str, Any]] = []

    def body(self, statements: list[ast.stmt], prefix: str, inside: str | None) -> None:
        """Everything that statements define, `if` and `try` looked into."""
        for one in statements:
            if isinstance(one, Function):
                self._function(one, prefix, inside)
            elif isinstance(one, ast.ClassDef):
                names, calls = _used(one.body)
                self.definitions.append(
                    Definition(prefix + one.name, "type", _first(one), one.end_lineno or 0, calls, names)
                )
                self.body(one.body, f"{prefix}{one.name}.", "type")
            elif isinstance(one, ast.Assign | ast.AnnAssign) and inside != "function":
                self._assigned(one, prefix)
            else:
                for field in ("body", "orelse", "finalbody"):
                    self.body(getattr(one, field, []), prefix, inside)
                for handler in getattr(one, "handlers", []):
                    self.body(handler.body, prefix, inside)

    def _function(self, one: Function, prefix: str, inside: str | None) -> None:
        name = prefix + one.name
        names, calls = _used(one.body)
        returned = tuple(
            (each.value and ast.get_source_segment(self.text, each.value)) or ""
            for each in _own(one.body)
            if isinstance(each, ast.Return)
        )
        kind = "method" if inside == "type" else "function"
        self.definitions.append(Definition(name, kind, _first(one), one.end_lineno or 0, calls, names, returned))
        arguments = one.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
        pairs += [(a, b) for a, b in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if b is not None]
        self.values += [(f"{name}.{each.arg}", _literal(default)) for each, default in pairs]
        self.body(one.body, f"{name}.", "function")

    def _assigned(self, one: ast.Assign | ast.AnnAssign, prefix: str) -> None:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        for target in targets:
            if isinstance(target, ast.Name):
                kind = "constant" if target.id.isupper() else "variable"
                self.definitions.append(Definition(prefix + target.id, kind, one.lineno, one.end_lineno or 0))
                if one.value is not None:
                    self.values.append((prefix + target.id, _literal(one.value)))

    @staticmethod
    def imports(tree: ast.Module) -> set[str]:
        """Modules as they are written: `a.b`, `.c`, and for `from a import b` also `a.b`."""
        found: set[str] = set()
        for one in ast.walk(tree):
            if isinstance(one, ast.Import):
                found |= {each.name for each in one.names}
            elif isinstance(one, ast.ImportFrom):
                module = "." * one.level + (one.module or "")
                found |= {module} | {f"{module}{'' if module.endswith('.') else '.'}{each.name}" for each in one.names}
        return found


def _first(one: Function | ast.ClassDef) -> int:
    return min([one.lineno, *(each.lineno for each in one.decorator_list)])


def _own(statements: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of a body but those of nested definitions."""
    found: list[ast.AST] = []
    left: list[ast.AST] = [one for one in statements if not isinstance(one, Function | ast.ClassDef)]
    while left:
        one = left.pop()
        found.append(one)
        left += [each for each in ast.iter_child_nodes(one) if not isinstance(each, Function | ast.ClassDef)]
    return found


def _used(statements: list[ast.stmt]) -> tuple[frozenset[str], frozenset[str]]:
    names: set[str] = set()
    calls: set[str] = set()
    for one in _own(statements):
        if isinstance(one, ast.Name):
            names.add(one.id)
        elif isinstance(one, ast.Attribute):
            names.add(one.attr)
        elif isinstance(one, ast.keyword) and one.arg:
            names.add(one.arg)
        if isinstance(one, ast.Call):
            calls.add(_dotted(one.func))
    return frozenset(names), frozenset(calls - {""})


def _dotted(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        inner = _dotted(function.value)
        return f"{inner}.{function.attr}" if inner else function.attr
    return ""


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return ...
    return value if isinstance(value, int | float | str | list | tuple) or value is None else ...
