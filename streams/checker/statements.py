"""What each kind of simple statement does to the state, and the table of all statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from .annotations import declare
from .arguments import inside
from .definitions import define_class, define_function
from .expressions import elements, truth
from .flow import FLOW
from .model import OPEN, Environment, TypeForm, cells
from .narrowing import narrowed
from .returning import returned
from .scopes import imported
from .targets import assign
from .value_lattice import BARE_NONE, SOME_PLAIN, Named, derive, of

if TYPE_CHECKING:
    from .machine import Machine, Statement


def _expr(machine: Machine, env: Environment, node: ast.Expr) -> None:
    machine.evaluate(env, node.value)


def _assign(machine: Machine, env: Environment, node: ast.Assign) -> None:
    pairs = _pairwise(node)
    if pairs is not None:
        values = [machine.evaluate(env, source) for _, source in pairs]
        for (target, source), value in zip(pairs, values, strict=True):
            assign(machine, env, target, value, source)
        return
    value = machine.evaluate(env, node.value)
    for target in node.targets:
        assign(machine, env, target, value, node.value)


def _pairwise(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]] | None:
    """`a, b = x, y`: no tuple is made, so each is assigned by itself, with its own place."""
    target, source = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Tuple) or not isinstance(source, ast.Tuple):
        return None
    if len(target.elts) != len(source.elts) or any(
        isinstance(one, ast.Starred) for one in (*target.elts, *source.elts)
    ):
        return None
    return list(zip(target.elts, source.elts, strict=True))


def _ann_assign(machine: Machine, env: Environment, node: ast.AnnAssign) -> None:
    slot = machine.slot(env, node.annotation)
    if isinstance(node.target, ast.Name):
        if env.is_class and env.klass is not None:
            env.klass.fields[node.target.id] = slot
        elif slot is not OPEN:
            env.slots[node.target.id] = slot
    elif isinstance(node.target, ast.Attribute):
        receiver = machine.evaluate(env, node.target.value)
        for one in receiver.refs:
            klass = getattr(one, "klass", None)
            if klass is not None and slot is not OPEN:
                klass.fields.setdefault(node.target.attr, slot)
    if node.value is None:
        return
    value = machine.evaluate(env, node.value)
    declare(value, slot)
    if env.is_class:
        machine.flow(env, node.value, value, slot, "field")
    elif not isinstance(node.target, ast.Name):
        machine.flow(env, node.value, value, slot, "binding")
    assign(machine, env, node.target, value, node.value)


def _aug_assign(machine: Machine, env: Environment, node: ast.AugAssign) -> None:
    target = node.target
    load = ast.copy_location(_as_load(target), target)
    left, right = machine.evaluate(env, load), machine.evaluate(env, node.value)
    if isinstance(node.op, ast.Mod) and isinstance(left.const, str):
        machine.flow_anywhere(env, node, right, "formatting", "`%`")
        right = SOME_PLAIN
    found = [one for one in cells(left) if one.kind != "instance"]
    if found and not right.wrapped:
        for one in found:
            element = inside(right) if one.kind == "dict" else elements(right)
            if one.declared is not None and one.declared.element is not None:
                machine.flow(env, node.value, element, one.declared.element, "element")
            machine.put(one, None, element)
        assign(machine, env, target, left, node.value)
    else:
        assign(machine, env, target, derive(left, right, "a computation"), node.value)


def _as_load(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load())


def _return(machine: Machine, env: Environment, node: ast.Return) -> None:
    value = machine.evaluate(env, node.value) if node.value is not None else BARE_NONE
    if env.live:
        returned(machine, env, node, value)
    env.live = False


def _raise(machine: Machine, env: Environment, node: ast.Raise) -> None:
    for one in (node.exc, node.cause):
        if one is not None and machine.evaluate(env, one).wrapped:
            machine.coerced(env, one, "raise")
    env.live = False


def _assert(machine: Machine, env: Environment, node: ast.Assert) -> None:
    truth(machine, env, node.test)
    if node.msg is not None and machine.evaluate(env, node.msg).wrapped:
        machine.coerced(env, node.msg, "raise", "the message of an assertion")
    env.names = narrowed(machine, env, node.test, True)
    if isinstance(node.test, ast.Constant) and not node.test.value:
        env.live = False


def _nothing(machine: Machine, env: Environment, node: ast.stmt) -> None:
    """`pass`."""


def _delete(machine: Machine, env: Environment, node: ast.Delete) -> None:
    for one in node.targets:
        if isinstance(one, ast.Name):
            env.names.pop(one.id, None)
        elif isinstance(one, ast.Subscript) and machine.evaluate(env, one.slice).wrapped:
            machine.coerced(env, one.slice, "index")


def _global(machine: Machine, env: Environment, node: ast.Global) -> None:
    env.globals.update(node.names)


def _nonlocal(machine: Machine, env: Environment, node: ast.Nonlocal) -> None:
    env.nonlocals.update(node.names)


def _import(machine: Machine, env: Environment, node: ast.Import) -> None:
    for one in node.names:
        name = one.name if one.asname else one.name.partition(".")[0]
        env.names[one.asname or name] = of(Named("module", name))


def _import_from(machine: Machine, env: Environment, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for one in node.names:
        if one.name == "*":
            env.module.env.stars.append(module)
        else:
            env.names[one.asname or one.name] = imported(module, one.name)


def _type_alias(machine: Machine, env: Environment, node: Any) -> None:
    env.names[node.name.id] = of(TypeForm(node.value, env))


STATEMENTS: Final[dict[type, Statement]] = FLOW | {
    ast.AnnAssign: _ann_assign,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFunctionDef: define_function,
    ast.AugAssign: _aug_assign,
    ast.ClassDef: define_class,
    ast.Delete: _delete,
    ast.Expr: _expr,
    ast.FunctionDef: define_function,
    ast.Global: _global,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Nonlocal: _nonlocal,
    ast.Pass: _nothing,
    ast.Raise: _raise,
    ast.Return: _return,
}
if alias := getattr(ast, "TypeAlias", None):
    STATEMENTS[alias] = _type_alias  # Python 3.12
