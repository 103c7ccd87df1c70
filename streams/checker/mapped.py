"""Callbacks of `Grounded.map`: what they do with the plain value that they get, beside giving a result back.

The result is wrapped anew, so it cannot launder. Everything else may: a callback that keeps its input in a list, prints
it or hands it to a function that nobody can look into takes it out of its wrapper, which `@grounded_pure` forbids
[C §9.4]. A callback that never reads its input makes its result up: the chain is severed, here and at run time
(`grounded/value.py`). Judged on the syntax of the callback, and of the functions that it calls.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from .model import Function
from .value_lattice import Bound, Named, Value

if TYPE_CHECKING:
    from .machine import Machine
    from .model import Environment

_DEPTH: Final = 4
_LETS_OUT: Final = frozenset(
    {"print", "open", "exec", "eval", "compile", "input", "setattr", "delattr", "globals", "locals", "vars"}
    | {"breakpoint", "__import__", "getattr", "super"}
)
_PURE_MODULES: Final = frozenset(
    {"re", "json", "math", "cmath", "operator", "string", "textwrap", "html", "unicodedata", "datetime", "decimal"}
    | {"fractions", "itertools", "functools", "statistics", "hashlib", "base64", "binascii", "zlib", "ast", "difflib"}
    | {"urllib", "urllib.parse", "dataclasses", "enum", "uuid", "struct", "numbers", "typing", "collections", "copy"}
)
"""Modules of the standard library whose functions keep nothing of what they get, and write it nowhere."""
_KEEPS: Final = frozenset(
    {"append", "appendleft", "add", "insert", "extend", "extendleft", "update", "put", "put_nowait", "send", "push"}
    | {"setdefault", "write", "writelines", "__setitem__", "set", "emit", "log", "debug", "info", "warning", "error"}
)
"""Methods that put what they get somewhere; of what is made inside the callback they may."""


def escapes(machine: Machine, env: Environment, callback: Value) -> str:
    """How a callback lets its input out, in words; empty where it does not, or nobody can call it one."""
    for one in callback.refs:
        found = _escape_of(machine, env, one, _DEPTH)
        if found:
            return found
    return ""


def drops_its_input(callback: Value) -> bool:
    """Whether the callback is known, and never reads what it gets."""
    return bool(callback.refs) and all(type(one) is Function and _never_read(one) for one in callback.refs)


def _never_read(function: Function) -> bool:
    names = _given(function.node)
    read = (node.id for node in _inside(function.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return not function.role.kind and names.isdisjoint(read)


def _escape_of(machine: Machine, env: Environment, one: Any, depth: int) -> str:
    if type(one) is Function:
        if one.role.kind:  # a tool, a prompt, an agent: external boundaries [C §9.4]
            return ""
        return _Body(machine, one, depth).escape() if depth else f"{one.name} calls on and on"
    if type(one) is Bound:
        return f"{one.target}() keeps it" if isinstance(one.target, str) and one.target in _KEEPS else ""
    if type(one) is Named:
        if one.kind == "builtin":
            return f"{one.name}() lets it out" if one.name in _LETS_OUT else ""
        module = one.name.rpartition(".")[0]
        known = one.kind == "library" or module.partition(".")[0] in _PURE_MODULES
        known = known or hasattr(builtins, module.partition(".")[0])  # `str.upper`
        return "" if known else f"nobody can look into {one.name}"
    return ""


def _given(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The parameter that gets the one value that a callback is called with: the first one, or `*args`."""
    given = node.args
    first = next((one for one in (*given.posonlyargs, *given.args, given.vararg) if one is not None), None)
    return frozenset() if first is None else frozenset((first.arg,))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
    return frozenset(names)


def _inside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    for one in node.body if isinstance(node.body, list) else [node.body]:
        yield from ast.walk(one)


class _Body:
    """One callback's body: which of its names hold the input or something made of it."""

    def __init__(self, machine: Machine, function: Function, depth: int) -> None:
        self._machine, self._function, self._depth = machine, function, depth
        self._tainted = set(_parameters(function.node))
        self._nodes = list(_inside(function.node))
        self._own = {
            node.id for node in self._nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        outer = [name for node in self._nodes if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names]
        self._own -= set(outer)
        self._spread()

    def escape(self) -> str:
        for node in self._nodes:
            found = self._call(node) if isinstance(node, ast.Call) else self._target(node)
            if found:
                return found
        return ""

    def _spread(self) -> None:
        """Names that are bound to something with the input in it hold it as well, until nothing changes."""
        bound = [(target, value) for node in self._nodes for target, value in _bindings(node)]
        before = -1
        while before != len(self._tainted):
            before = len(self._tainted)
            for target, value in bound:
                if self._holds(value):
                    self._tainted |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}

    def _holds(self, node: ast.AST | None) -> bool:
        return node is not None and any(isinstance(one, ast.Name) and one.id in self._tainted for one in ast.walk(node))

    def _target(self, node: ast.AST) -> str:
        """An assignment to what is not the callback's own."""
        for target, value in _bindings(node):
            if not self._holds(value):
                continue
            for one in ast.walk(target):
                if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load) and one.id not in self._own:
                    return f"{one.id} outside of it gets it"
                if isinstance(one, (ast.Attribute, ast.Subscript)) and not self._is_own(one):
                    return "something outside of it gets it"
        return ""

    def _is_own(self, node: ast.AST) -> bool:
        """Whether an expression is about something that was made inside the callback."""
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return not isinstance(node, ast.Name) or node.id in self._own

    def _call(self, node: ast.Call) -> str:
        if not any(self._holds(one) for one in (*node.args, *(word.value for word in node.keywords))):
            return ""
        function = node.func
        if isinstance(function, ast.Attribute):
            if self._holds(function.value) or isinstance(function.value, (ast.Constant, ast.JoinedStr)):
                return ""  # a method of the input's own, or of a literal
            if function.attr in _KEEPS:
                return "" if self._is_own(function) else f"{function.attr}() keeps it"
        name = ast.unparse(function)
        if isinstance(function, ast.Name) and function.id in self._own:
            return ""  # a local function: its body is gone through with this one's
        refs = self._refs(function)
        if not refs:
            return f"nobody can look into {name}"
        found = (_escape_of(self._machine, self._function.env, one, self._depth - 1) for one in refs)
        return next((one for one in found if one), "")

    def _refs(self, function: ast.expr) -> tuple[Any, ...]:
        if isinstance(function, ast.Name):
            return self._machine.lookup(self._function.env, function.id).refs
        dotted = ast.unparse(function)
        root = dotted.partition(".")[0]
        looked = self._machine.lookup(self._function.env, root).refs
        if looked and all(type(one) is Named for one in looked):
            return tuple(Named(one.kind, one.name + dotted[len(root) :]) for one in looked)
        return ()


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Every target with the value that it gets."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
