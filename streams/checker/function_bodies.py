"""What a function's body says about itself before it is followed: is it a stub, a generator, what does it annotate."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .machine import Machine
    from .model import Function

BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements stand in one another."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_stub(node: ast.AST) -> bool:
    """A body that says nothing: of a protocol, an overload, an abstract method."""
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Raise) and "NotImplemented" in ast.dump(one))
        for one in getattr(node, "body", [])
    )


def is_generator(machine: Machine, function: Function) -> bool:
    """Whether calling it gives an iterator."""
    if not function.module.has_yield:
        return False
    key = ("generator", function.node)
    if key not in machine.memo:
        node = function.node
        machine.memo[key] = not isinstance(node, ast.Lambda) and _yields(node.body)
    return machine.memo[key]


def _yields(body: list[Any]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, (*_SCOPES, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(one))
    return False


def annotated(machine: Machine, function: Function) -> list[tuple[str, ast.expr]]:
    """The annotated names of a body: an annotation holds for the whole of it, wherever it stands."""
    key = ("annotated", function.node)
    if key not in machine.memo:
        waiting: list[Any] = [function.node]
        found: list[tuple[str, ast.expr]] = []
        while waiting:
            one = waiting.pop()
            for name in BODIES:
                inner: Any = getattr(one, name, None)
                if isinstance(inner, list):
                    waiting += filter(_is_inside, inner)  # pyright: ignore[reportUnknownArgumentType]
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                found.append((one.target.id, one.annotation))
        machine.memo[key] = found
    return machine.memo[key]


def _is_inside(node: ast.AST) -> bool:
    return not isinstance(node, _SCOPES)
