"""Methods of grounded values, of containers and of plain objects; what a callback of `Grounded.map` does.

A callback's result is wrapped anew, so it cannot launder. Everything else may: a callback that keeps its input in a
list, prints it or hands it to an unknown function takes it out of its wrapper, which `@grounded_pure` forbids
[C §9.4]. A callback that never reads its input makes its result up: the chain is severed, here and at run time
(`grounded/value.py`). Callbacks are judged on their syntax, and on that of the functions that they call.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from .call_signatures import call_unknown, inside
from .findings import UNWRAP
from .model import (
    ANYTHING,
    BARE_NONE,
    NOTHING,
    PLAIN,
    SEVERED,
    SOME_PLAIN,
    UNKNOWN,
    Arguments,
    Bound,
    Cell,
    Environment,
    Function,
    Given,
    Named,
    Value,
    cells,
    derive,
    holds_wrapped,
    join,
    of,
    union,
)
from .standard_library import replaced

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


def escapes(machine: Machine, callback: Value) -> str:
    """How a callback lets its input out, in words; empty where it does not, or its function is not known."""
    ways = (_escape_of(machine, one, _DEPTH) for one in callback.refs)
    return next(filter(None, ways), "")


def drops_its_input(callback: Value) -> bool:
    """Whether the callback is known, and never reads what it gets."""
    return bool(callback.refs) and all(type(one) is Function and _never_read(one) for one in callback.refs)


def _never_read(function: Function) -> bool:
    names = _given(function.node)
    read = (node.id for node in _inside(function.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return not function.role.kind and names.isdisjoint(read)


def _escape_of(machine: Machine, one: Any, depth: int) -> str:
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
        ways = (self._call(node) if isinstance(node, ast.Call) else self._target(node) for node in self._nodes)
        return next(filter(None, ways), "")

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
        return next(filter(None, (_escape_of(self._machine, one, self._depth - 1) for one in refs)), "")

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


_PUT = frozenset({"append", "add", "appendleft", "put", "put_nowait", "push", "insert", "setdefault"})
_POUR = frozenset({"extend", "update", "extendleft", "union", "difference_update", "intersection_update"})
_TAKE = frozenset({"get", "pop", "popleft", "popitem", "get_nowait", "__getitem__", "setdefault", "send", "__next__"})
_SAME = frozenset({"copy", "union", "intersection", "difference", "symmetric_difference", "__iter__"})
_COMPARE = frozenset({"sort", "index", "count", "remove", "discard", "__contains__"})
_ADVANCE = frozenset({"send", "__next__", "asend", "__anext__"})


def method(machine: Machine, env: Environment, receiver: Value, name: str, given: Arguments) -> Value:
    """`receiver.name(…)` where no source of the method was given."""
    if name == UNWRAP:
        return SOME_PLAIN
    if receiver.wrapped:
        return _of_grounded(machine, env, receiver, name, given)
    found = [one for one in cells(receiver) if one.kind != "instance"]
    if found:
        return union(_of_container(machine, env, one, name, given) for one in found)
    return _of_object(machine, env, receiver, name, given)


def _severed(value: Value) -> Value:
    return Value(SEVERED, value.confidence, value.data, value.open, note="severed", weakest=value.weakest)


def _of_grounded(machine: Machine, env: Environment, receiver: Value, name: str, given: Arguments) -> Value:
    if name == "sever":
        return _severed(receiver)
    if name == "map":
        # The function gets the plain value inside, and its result is wrapped anew; what else it does may launder.
        callback = given.value(0)
        machine.call(env, callback, Arguments(given.node, [Given(given.node, SOME_PLAIN)]))
        how = escapes(machine, callback) if env.origin else ""
        if how:
            machine.coerced(env, given.node, "argument", f"the function of map(): {how}")
        found = derive(receiver, SOME_PLAIN)
        return _severed(found) if drops_its_input(callback) else found
    if name in ("format", "join"):
        return reduce(derive, [inside(one) if cells(one) else one for _, one in given.each()], receiver)
    return SOME_PLAIN  # sources(), retrievals(): about the value, not the value


def _of_container(machine: Machine, env: Environment, cell: Cell, name: str, given: Arguments) -> Value:
    declared = cell.declared.element if cell.declared is not None else None
    if name in _PUT and given.positional:
        last = given.positional[-1]
        if declared is not None:
            machine.flow(env, last.node, last.value, declared, "element")
        machine.mixed(env, last.node, cell, last.value)
        machine.put(cell, None, last.value)
        if name != "setdefault":
            return BARE_NONE
    if name in _POUR:
        for one in given.each():
            if one.value.wrapped:
                machine.coerced(env, one.node, "iteration", name)
            for source in cells(one.value):
                element = source.elements()
                if declared is not None:
                    machine.flow(env, one.node, element, declared, "element")
                machine.put(cell, None, element)
        for word, one in given.named.items():
            machine.put(cell, word, one.value)
    if name == "sort" and "key" in given.named:
        key = given.named["key"]
        if machine.call(env, key.value, Arguments(key.node, [Given(key.node, cell.elements())])).wrapped:
            machine.coerced(env, given.node, "condition", "sort() compares the keys")
    elif name in _COMPARE and (cell.elements().wrapped or any(one.value.wrapped for one in given.each())):
        machine.coerced(env, given.node, "condition", f"{name}() compares its elements")
    return _taken(machine, cell, name, given)


def _taken(machine: Machine, cell: Cell, name: str, given: Arguments) -> Value:
    if name in _TAKE:
        key = given.value(0).const if cell.kind == "dict" else None
        found = cell.item(key) if key is not None and key in cell.items else cell.elements()
        if name in _ADVANCE:
            return found
        fallback = given.value(1) if len(given.positional) > 1 else BARE_NONE if name == "get" else NOTHING
        return join(found, fallback) if found.kinds else ANYTHING
    if name == "items":
        pair = machine.cell((given.node, "pair"), "tuple")
        machine.put(pair, 0, cell.keys)
        machine.put(pair, 1, cell.elements())
        return machine.holding((given.node, name), "list", of(pair))
    if name == "values":
        return machine.holding((given.node, name), "list", cell.elements())
    if name == "keys":
        return machine.holding((given.node, name), "list", cell.keys)
    if name in _SAME:
        return of(cell)
    if name in ("result", "__await__") or cell.kind == "coroutine":
        return cell.elements()
    return BARE_NONE if name in _POUR or name == "sort" else SOME_PLAIN


def _of_object(machine: Machine, env: Environment, receiver: Value, name: str, given: Arguments) -> Value:
    if name in ("_replace", "model_copy", "__replace__"):
        update = given.named.get("update")
        if update is not None:
            for cell in cells(update.value):
                given.named |= {key: Given(update.node, one) for key, one in cell.items.items() if isinstance(key, str)}
        return replaced(machine, env, receiver, given)
    if receiver.kinds & UNKNOWN or cells(receiver):
        if name == "create_task" and given.positional and cells(given.value(0)):
            return given.value(0)
        call_unknown(machine, env, given, f".{name}()")
        return ANYTHING
    site = "formatting" if name in ("format", "join", "format_map") else "argument"
    for one in given.each():
        if one.value.wrapped or holds_wrapped(one.value):
            machine.coerced(env, one.node, site, f".{name}()")
    return Value(PLAIN, note="a plain value", data=receiver.data, open=receiver.open)
