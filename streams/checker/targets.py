"""Assignment: to names, to attributes and items, and to patterns of them, which take a value apart [C §9.3]."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .containers import elements
from .members import field_slot
from .model import OPEN, Environment, Klass, Slot, cells
from .value_lattice import ANYTHING, NOTHING, Named, Value, join, of

if TYPE_CHECKING:
    from .machine import Machine


def assign(machine: Machine, env: Environment, target: ast.expr, value: Value, source: ast.AST) -> None:
    """Assigns to any target; `source` is where a finding about the value points."""
    if isinstance(target, ast.Name):
        bind(machine, env, target.id, value, source)
    elif isinstance(target, ast.Attribute):
        _to_attribute(machine, env, target, value, source)
    elif isinstance(target, ast.Subscript):
        _to_item(machine, env, target, value, source)
    elif isinstance(target, ast.Tuple | ast.List):
        _apart(machine, env, target, value, source)
    elif isinstance(target, ast.Starred):
        assign(machine, env, target.value, value, source)


def bind(machine: Machine, env: Environment, name: str, value: Value, source: ast.AST) -> None:
    """Binds a name, in the environment that it belongs to."""
    home = _home(env, name)
    slot = home.slots.get(name)
    if home is not env:
        machine.flow_anywhere(env, source, value, "global", name)
        old = home.names.get(name, NOTHING)
        new = join(old, value)
        if new != old:
            home.names = home.names | {name: new}
            machine.dirty = True
        return
    if slot is not None:
        machine.flow(env, source, value, slot, "binding", name)
    env.names[name] = value


def _home(env: Environment, name: str) -> Environment:
    if name in env.globals:
        return env.module.env
    if name in env.nonlocals:
        outer = env.parent
        while outer is not None:
            if name in outer.names and not outer.is_class:
                return outer
            outer = outer.parent
    return env


def _to_attribute(machine: Machine, env: Environment, target: ast.Attribute, value: Value, source: ast.AST) -> None:
    receiver = machine.evaluate(env, target.value)
    if receiver.wrapped:
        machine.coerced(env, target, "attribute", target.attr)
    _out_of_sight(machine, env, receiver, value, source, target.attr)
    for one in receiver.refs:
        klass = one if type(one) is Klass else getattr(one, "klass", None)
        if isinstance(klass, Klass):
            machine.flow(env, source, value, field_slot(klass, target.attr), "binding", f"{klass.name}.{target.attr}")
            machine.put(klass.cell, target.attr, value)


def _to_item(machine: Machine, env: Environment, target: ast.Subscript, value: Value, source: ast.AST) -> None:
    receiver = machine.evaluate(env, target.value)
    key = machine.evaluate(env, target.slice)
    if key.wrapped:
        machine.coerced(env, target.slice, "index")
    _out_of_sight(machine, env, receiver, value, source, "an item")
    for one in cells(receiver):
        if one.declared is not None and one.declared.element is not None:
            machine.flow(env, source, value, one.declared.element, "element")
        machine.mixed(env, source, one, value)
        field = _typed_key(one.declared, key)
        machine.flow(env, source, value, field, "field")
        one.keys = join(one.keys, key) if one.kind == "dict" else one.keys
        machine.put(one, key.const if one.kind == "dict" else None, value)


def _out_of_sight(
    machine: Machine, env: Environment, receiver: Value, value: Value, source: ast.AST, name: str
) -> None:
    """What is put into another module is a global assignment."""
    if any(type(one) is Named and one.kind in ("external", "module") for one in receiver.refs):
        machine.flow_anywhere(env, source, value, "global", name)


def _typed_key(slot: Slot | None, key: Value) -> Slot:
    if slot is None or slot.klass is None or not isinstance(key.const, str):
        return OPEN
    return field_slot(slot.klass, key.const)


def _apart(machine: Machine, env: Environment, target: ast.Tuple | ast.List, value: Value, source: ast.AST) -> None:
    if value.wrapped:
        machine.coerced(env, source, "unpacking")
    found = [one for one in cells(value) if one.kind != "instance"]
    starred = False
    for place, one in enumerate(target.elts):
        part = NOTHING
        for cell in found:
            part = join(part, cell.elements() if starred or cell.kind != "tuple" else cell.item(place))
        if not part.kinds:
            part = elements(value) if value.wrapped or not value.refs else ANYTHING
        if isinstance(one, ast.Starred):
            starred = True
            rest = machine.cell(one, "list")
            machine.put(rest, None, part)
            part = of(rest)
        assign(machine, env, one, part, source)
