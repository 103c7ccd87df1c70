"""Conditions, and containers: displays, comprehensions, items, and what iterating over them gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .members import of_class
from .model import Arguments, Cell, Environment, Given, Klass, TypeForm, cells
from .narrowing import narrowed
from .scopes import merge
from .value_lattice import ANYTHING, NOTHING, PLAIN, SOME_PLAIN, UNKNOWN, Named, Value, derive, join, of

if TYPE_CHECKING:
    from .machine import Machine


def truth(machine: Machine, env: Environment, node: ast.expr) -> Value:
    """Evaluates a condition: the truth of a grounded value is taken [C §9.2], which is a site."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        truth(machine, env, node.operand)
        return SOME_PLAIN
    value = machine.evaluate(env, node)
    if value.wrapped:
        machine.coerced(env, node, "condition")
    return value


def is_type(value: Value) -> bool:
    return any(
        type(one) in (Klass, TypeForm) or (type(one) is Named and one.kind in ("library", "builtin", "external"))
        for one in value.refs
    )


def spread(machine: Machine, env: Environment, node: ast.expr, value: Value, site: str = "iteration") -> Value:
    """What iterating over a value gives."""
    if value.wrapped:
        machine.coerced(env, node, site)
        return elements(value)
    own = special(machine, env, node, value, "__iter__")
    return elements(value) if own is None else elements(own)


def special(
    machine: Machine, env: Environment, node: ast.expr, value: Value, name: str, argument: Value | None = None
) -> Value | None:
    """Calls a special method that a class of the given files defines; None where there is none."""
    found: Value | None = None
    for one in value.refs:
        if type(one) is Cell and one.klass is not None:
            member = of_class(one.klass, name, of(one), True)
            if member.refs:
                given = Arguments(node, [] if argument is None else [Given(node, argument)])
                result = machine.call(env, member, given)
                found = result if found is None else join(found, result)
    return found


def elements(value: Value) -> Value:
    """What iterating over a container gives: the keys of a mapping, the elements of all others; grounded items of a
    grounded one, as the library has it."""
    if value.kinds & UNKNOWN and not value.refs and not value.wrapped:
        return ANYTHING
    found = derive(value, SOME_PLAIN) if value.wrapped else NOTHING
    for one in cells(value):
        found = join(found, one.keys if one.kind == "dict" else _any_of(one))
    if found.kinds:
        return found
    return ANYTHING if value.kinds & UNKNOWN or cells(value) else SOME_PLAIN


def sequence(machine: Machine, env: Environment, node: ast.List | ast.Tuple | ast.Set) -> Value:
    cell = machine.cell(node, type(node).__name__.lower())
    exact = True
    found: list[tuple[ast.expr, Value]] = []
    for place, one in enumerate(node.elts):
        if isinstance(one, ast.Starred):
            exact = False
            value = spread(machine, env, one, machine.evaluate(env, one.value), "unpacking")
        else:
            value = machine.evaluate(env, one)
        machine.put(cell, place if exact else None, value)
        found.append((one, value))
    if (
        not isinstance(node, ast.Tuple)
        and node not in machine.handed_over
        and any(one.kinds & PLAIN and not one.wrapped for _, one in found)
    ):
        # Lists and sets are of one type: where some elements are plain, so is the element type [C §9.3].
        for one, value in found:
            if value.wrapped:
                machine.coerced(env, one, "element", "the other elements are plain")
    return of(cell)


def mapping(machine: Machine, env: Environment, node: ast.Dict) -> Value:
    cell = machine.cell(node, "dict")
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = machine.evaluate(env, value_node)
        if key is None:
            if value.wrapped:
                machine.coerced(env, value_node, "unpacking")
            for one in cells(value):
                machine.put(cell, None, one.elements())
                cell.keys = join(cell.keys, one.keys)
            continue
        name = machine.evaluate(env, key)
        cell.keys = join(cell.keys, name)
        machine.put(cell, name.const, value)
    return of(cell)


def subscript(machine: Machine, env: Environment, node: ast.Subscript) -> Value:
    value = machine.evaluate(env, node.value)
    if value.refs and not cells(value) and is_type(value):
        return of(TypeForm(node, env))
    if value.wrapped:
        return derive(value, _grounded_key(machine, env, node.slice))  # an operator [C §9.1], whatever the key
    key = machine.evaluate(env, node.slice)
    if key.wrapped:
        machine.coerced(env, node.slice, "index")
    own = special(machine, env, node, value, "__getitem__", key)
    if own is not None:
        return own
    found = NOTHING
    for one in cells(value):
        found = join(found, of(one) if isinstance(node.slice, ast.Slice) else _item(one, key))
    if found.kinds:
        return found
    return ANYTHING if value.kinds & UNKNOWN or value.refs else SOME_PLAIN


def _grounded_key(machine: Machine, env: Environment, node: ast.expr) -> Value:
    if not isinstance(node, ast.Slice):
        return machine.evaluate(env, node)
    found = SOME_PLAIN
    for one in (node.lower, node.upper, node.step):
        if one is not None:
            found = derive(found, machine.evaluate(env, one))
    return found


def _item(cell: Any, key: Value) -> Value:
    if cell.kind == "instance":
        return ANYTHING
    if isinstance(key.const, str | int) and key.const in cell.items:
        return cell.item(key.const)
    return _any_of(cell)


def _any_of(cell: Cell) -> Value:
    """One of its elements; of a container that nothing was put into where we look, what it is declared to hold."""
    found = cell.elements()
    if found.kinds or found.refs or cell.declared is None or cell.declared.element is None:
        return found
    element = cell.declared.element
    return (
        Value(PLAIN, note="a value that is declared plain")
        if element.plain and not (element.kind or element.klass)
        else found
    )


def comprehension(
    machine: Machine, env: Environment, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Value:
    before = dict(env.names)
    own = {one.id for part in node.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
    for part in node.generators:
        value = machine.evaluate(env, part.iter)
        machine.assign(env, part.target, spread(machine, env, part.iter, value), part.iter)
        for test in part.ifs:
            truth(machine, env, test)
            env.names = narrowed(machine, env, test, True)
    kind = "dict" if isinstance(node, ast.DictComp) else type(node).__name__.lower()
    cell = machine.cell(node, kind)
    if isinstance(node, ast.DictComp):
        cell.keys = join(cell.keys, machine.evaluate(env, node.key))
        machine.put(cell, None, machine.evaluate(env, node.value))
    else:
        machine.put(cell, None, machine.evaluate(env, node.elt))
    after = {name: value for name, value in env.names.items() if name not in own}
    after.update((name, before[name]) for name in own if name in before)
    env.names = merge(before, after)
    return of(cell)


def awaited(value: Value) -> Value:
    """What awaiting gives: the result of a coroutine, or what nobody knows."""
    found = NOTHING
    for one in cells(value):
        found = join(found, one.elements() if one.kind == "coroutine" else ANYTHING)
    return found if found.kinds else ANYTHING
