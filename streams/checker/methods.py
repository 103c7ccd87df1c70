"""Methods of grounded values, of containers, and of plain objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arguments import inside, stranger
from .mapped import drops_its_input, escapes
from .model import Arguments, Cell, Environment, Given, cells, holds_wrapped
from .sites import UNWRAP
from .standard_library import replaced
from .value_lattice import ANYTHING, BARE_NONE, NOTHING, PLAIN, SEVERED, SOME_PLAIN, UNKNOWN, Value, derive, join, of

if TYPE_CHECKING:
    from .machine import Machine

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
        result = NOTHING
        for one in found:
            result = join(result, _of_container(machine, env, one, name, given))
        return result
    return _of_object(machine, env, receiver, name, given)


def _of_grounded(machine: Machine, env: Environment, receiver: Value, name: str, given: Arguments) -> Value:
    if name == "sever":
        return Value(
            SEVERED, receiver.confidence, receiver.data, receiver.open, note="severed", weakest=receiver.weakest
        )
    if name == "map":
        # The function gets the plain value inside, and its result is wrapped anew; what else it does may launder.
        callback = given.value(0)
        machine.call(env, callback, Arguments(given.node, [Given(given.node, SOME_PLAIN)]))
        how = escapes(machine, env, callback) if env.origin else ""
        if how:
            machine.coerced(env, given.node, "argument", f"the function of map(): {how}")
        found = derive(receiver, SOME_PLAIN)
        if not drops_its_input(callback):
            return found
        return Value(SEVERED, found.confidence, found.data, found.open, note="severed", weakest=found.weakest)
    if name in ("format", "join"):
        found = receiver
        for one in given.each():
            found = derive(found, inside(one.value) if cells(one.value) else one.value)
        return found
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
        stranger(machine, env, given, f".{name}()")
        return ANYTHING
    site = "formatting" if name in ("format", "join", "format_map") else "argument"
    for one in given.each():
        if one.value.wrapped or holds_wrapped(one.value):
            machine.coerced(env, one.node, site, f".{name}()")
    return Value(PLAIN, note="a plain value", data=receiver.data, open=receiver.open)
