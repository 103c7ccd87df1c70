"""Outlines Python files by `ast`: `python python_oracle.py ROOT < paths`, one JSON object a file (README.md)."""

from __future__ import annotations

import ast
import builtins
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPUTED = {"setattr", "globals", "exec", "eval", "vars", "locals"}


def own(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a body without what lies in a nested scope."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if not isinstance(node, SCOPES):
            yield node
            todo.extend(ast.iter_child_nodes(node))


def bound(tree: ast.AST) -> Counter[str]:
    """How often each plain name is bound below a node, in whatever scope."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] += 1
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            names[node.name] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
        elif isinstance(node, ast.alias):
            names[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names[node.name] += 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
    return names


class Outline:
    """One file's."""

    def __init__(self, path: str, text: str) -> None:
        self.lines, self.tree = text.encode().split(b"\n"), ast.parse(text)
        self.names = bound(self.tree)
        self.stored = Counter(
            node.attr
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        )
        called = {
            node.func.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        self.plain = not called & COMPUTED
        self.top = {name: node for node in self.tree.body for name in self.binds(node) if self.names[name] == 1}
        self.made: dict[str, Any] = {"path": path, "imports": [], "definitions": [], "values": []}
        self.block(self.tree.body, None)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self.made["imports"] += [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.made["imports"].append(node.module)

    @staticmethod
    def binds(node: ast.stmt) -> list[str]:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return [node.name]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return [one.name for one in node.names if one.asname is None and "." not in one.name]
        return []

    def source(self, node: ast.AST | None) -> str | None:
        if node is None or node.lineno != node.end_lineno:  # type: ignore[attr-defined]
            return None
        line = self.lines[node.lineno - 1]  # type: ignore[attr-defined]
        return line[node.col_offset : node.end_col_offset].decode()  # type: ignore[attr-defined]

    def block(self, body: list[ast.stmt], owner: ast.ClassDef | None) -> None:
        prefix = f"{owner.name}." if owner else ""
        inside = Counter(
            name for node in body for name in bound(node) if not isinstance(node, FUNCTIONS) or name == node.name
        )
        for node in body:
            if isinstance(node, FUNCTIONS):
                self.function(node, owner)
            elif isinstance(node, ast.ClassDef):
                self.type(node, prefix)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if (
                    (isinstance(node, ast.Assign) and len(node.targets) > 1)
                    or not isinstance(target, ast.Name)
                    or not self.plain
                ):
                    continue
                once = inside[target.id] == 1 if owner else self.names[target.id] == 1
                if once and not self.stored[target.id] and node.value is not None:
                    self.value(prefix + target.id, node.value)

    def value(self, symbol: str, value: ast.expr) -> None:
        try:
            read = ast.literal_eval(value)
        except (ValueError, TypeError):
            return
        if isinstance(read, (bool, int, str)) and len(str(read)) < 60:
            self.made["values"].append({"symbol": symbol, "value": read})
        elif isinstance(read, (list, tuple, set, dict)) and read and not isinstance(value, ast.BinOp):
            items = list(read)
            if (
                all(isinstance(one, (str, int)) and not isinstance(one, bool) for one in items)
                and len(set(items)) == len(items) <= 12
            ):
                self.made["values"].append({"symbol": symbol, "members": items})

    def type(self, node: ast.ClassDef, prefix: str) -> None:
        bases = [one.id for one in node.bases if isinstance(one, ast.Name)]
        fields = [
            {"name": one.target.id, "type": self.source(one.annotation)}
            for one in node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        self.add(node, prefix + node.name, "type", bases=bases, whole=len(bases) == len(node.bases), fields=fields)
        if not prefix:
            self.block(node.body, node)

    def add(self, node: Any, symbol: str, kind: str, **more: Any) -> None:
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        self.made["definitions"].append({"symbol": symbol, "kind": kind, "lines": [first, node.end_lineno], **more})

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None) -> None:
        local, nodes = bound(node), list(own(node))
        given = [*node.args.posonlyargs, *node.args.args]
        decorators = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
        me = given[0].arg if owner and given and "staticmethod" not in decorators else None
        methods = (
            {one.name for one in owner.body if isinstance(one, FUNCTIONS) and not one.decorator_list}
            if owner
            else set()
        )
        calls: set[str] = set()
        for one in nodes:
            if not isinstance(one, ast.Call):
                continue
            called = one.func
            if (
                isinstance(called, ast.Name)
                and called.id in self.top
                and not local[called.id] - (called.id == node.name and not owner)
            ):
                calls.add(called.id)
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and owner:
                is_own = called.value.id == me and local[me] == 1
                calls |= (
                    {f"{owner.name}.{called.attr}"} if is_own and called.attr in methods - self.stored.keys() else set()
                )
        uses = {one.id for one in nodes if isinstance(one, ast.Name) and one.id in self.top and not local[one.id]}
        returned = [one for one in nodes if isinstance(one, ast.Return)]
        last = node.body[-1]
        only = (
            len(returned) == 1
            and returned[0] is last
            and not any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in nodes)
        )
        caught = {
            id(deep) for one in nodes if isinstance(one, (ast.Try, ast.With, ast.AsyncWith)) for deep in ast.walk(one)
        }
        raises = set()
        for one in nodes:
            error = one.exc if isinstance(one, ast.Raise) and id(one) not in caught else None
            error = error.func if isinstance(error, ast.Call) else error
            if (
                isinstance(error, ast.Name)
                and (error.id in self.top or hasattr(builtins, error.id))
                and not local[error.id]
            ):
                raises.add(error.id)
        self.add(
            node,
            f"{owner.name}.{node.name}" if owner else node.name,
            "method" if owner else "function",
            calls=sorted(calls),
            uses=sorted(uses),
            returns=self.source(last.value) if only and isinstance(last, ast.Return) else None,
            raises=sorted(raises),
            parameters=self.parameters(node, me),
            result=self.source(node.returns),
            branches=self.branches(node),
            steps=[
                text
                for one in node.body
                if isinstance(one, (ast.Expr, ast.Assign))
                and isinstance(one.value, ast.Call)
                and (text := self.source(one))
            ],
        )

    def parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef, me: str | None) -> list[dict[str, Any]]:
        given, made = node.args, []
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
        for one, default in [
            *zip(positional, defaults, strict=True),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ]:
            entry: dict[str, Any] = {"name": one.arg, "type": self.source(one.annotation)}
            if isinstance(default, ast.Constant) and isinstance(default.value, (bool, int, str)):
                entry["default"] = default.value
            made += [entry] if one.arg != me else []
        return made

    def branches(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[list[str]]:
        made = []
        for one in node.body:
            if isinstance(one, ast.If) and not one.orelse and len(one.body) == 1 and isinstance(one.body[0], ast.Expr):
                condition, effect = self.source(one.test), self.source(one.body[0])
                if condition and effect and not isinstance(one.test, (ast.UnaryOp, ast.BoolOp)):
                    made.append([condition, effect])
        return made


if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        print(json.dumps(Outline(line, Path(sys.argv[1], line).read_text("utf-8")).made))
