"""Attributes: of modules, classes, instances, and of grounded values, whose face is small on purpose (grounded.md)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .annotations import assumed
from .calls import call_function
from .members import field_slot, of_class
from .model import OPEN, Arguments, Cell, Environment, Function, Klass
from .sites import GROUNDED_FACE, UNWRAP
from .value_lattice import ANYTHING, NOTHING, PLAIN, SOME_PLAIN, UNKNOWN, Bound, Named, Value, join, of, settled

if TYPE_CHECKING:
    from .machine import Machine

_FACTS = frozenset({"__class__", "__doc__", "chain", "confidence", "data", "grounded"})


def attribute(machine: Machine, env: Environment, node: ast.Attribute) -> Value:
    """`value.name`, read."""
    value = machine.evaluate(env, node.value)
    name = node.attr
    if name == UNWRAP:
        machine.impure(env, node, "explicit-unwrap", f".{UNWRAP}() discards the sources")
    if value.wrapped:
        return _of_grounded(machine, env, node, value)
    found = NOTHING
    for one in value.refs:
        found = join(found, _of_one(machine, env, node, one, value))
    return (
        found
        if found.kinds or found.refs
        else Value(value.kinds & (PLAIN | UNKNOWN) or UNKNOWN, open=True, refs=(Bound(value, name),))
    )


def _of_grounded(machine: Machine, env: Environment, node: ast.Attribute, value: Value) -> Value:
    if node.attr in _FACTS:
        return SOME_PLAIN
    if node.attr not in GROUNDED_FACE:
        machine.coerced(env, node, "attribute", node.attr)
        return ANYTHING
    return of(Bound(value, node.attr))


def _of_one(machine: Machine, env: Environment, node: ast.Attribute, one: Any, value: Value) -> Value:
    name = node.attr
    if type(one) is Named:
        return _of_named(machine, env, one, name)
    if type(one) is Klass:
        return of_class(one, name, value, False)
    if type(one) is Cell and one.klass is not None:
        return _of_instance(machine, env, node, one, value)
    if type(one) is Function and name in ("__wrapped__", "__call__", "func"):
        return of(one)
    return Value(PLAIN if type(one) is Cell else UNKNOWN, open=True, refs=(Bound(of(one), name),))


def _of_named(machine: Machine, env: Environment, one: Named, name: str) -> Value:
    if one.kind == "module":
        target = machine.project.find(env.module, one.name) or machine.project.at(tuple(one.name.split(".")))
        return machine.attribute_of_module(env.module, one.name, target, name)
    if one.kind == "library":
        return of(Named("library", f"{one.name}.{name}"))
    return of(Named(one.kind, f"{one.name}.{name}"), kinds=UNKNOWN)


def _of_instance(machine: Machine, env: Environment, node: ast.Attribute, cell: Cell, value: Value) -> Value:
    klass = cell.klass
    assert klass is not None
    member = of_class(klass, node.attr, of(cell), True)
    for one in member.refs:
        if (
            type(one) is Bound
            and type(one.target) is Function
            and one.target.decorated & {"property", "cached_property"}
        ):
            return call_function(machine, env, one.target, Arguments(node, receiver=of(cell)))
    if member.refs and all(type(one) in (Bound, Function) for one in member.refs):
        return member
    slot = field_slot(klass, node.attr)
    stored = cell.items.get(node.attr, NOTHING)
    cell.read = True
    if slot is not OPEN:
        stored = join(stored, assumed(machine, slot, (klass.node, node.attr)))
    found = settled(join(stored, member))
    if found.kinds:
        return found
    return Value(UNKNOWN, open=True, refs=(Bound(of(cell), node.attr),))
