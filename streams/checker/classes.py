"""New instances: the fields of a class are sites [C §9.3]; an `__init__` that is written out is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arguments import stranger
from .members import of_class
from .model import BARE, Arguments, Environment, Klass, Slot, holds_wrapped
from .value_lattice import Value, of

if TYPE_CHECKING:
    from .machine import Machine


def construct(machine: Machine, env: Environment, klass: Klass, given: Arguments) -> Value:
    """A new instance: fields are sites [C §9.3]; an `__init__` that is written out is followed."""
    made = of(klass.cell, note=f"a {klass.name}")
    init = of_class(klass, "__init__", made, True)
    if init.refs:
        machine.call(env, init, given)
        return made
    fields = klass.slots()
    if not fields and klass.kind != "typed":
        stranger(machine, env, given, klass.name)
        return made
    names = list(fields)
    pairs = [(names[place], one) for place, one in enumerate(given.positional) if place < len(names)]
    pairs += list(given.named.items())
    if klass.kind == "typed":
        for one in given.positional:
            if not one.value.wrapped:
                machine.flow(env, one.node, one.value, Slot(BARE, klass=klass), "field")
    for name, one in pairs:
        if name in fields:
            machine.flow(env, one.node, one.value, fields[name], "field", f"{klass.name}.{name}")
        machine.put(klass.cell, name, one.value)
    for one in (*given.spread, *given.doubled):
        if holds_wrapped(one.value) and any(slot.plain for slot in fields.values()):
            machine.coerced(env, one.node, "field", klass.name)
    return made
