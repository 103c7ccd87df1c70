"""Calls of Python's builtin functions: which look only at the object, which keep what they are given, which launder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .arguments import inside
from .containers import elements
from .model import Arguments, Environment, Given, cells, holds_wrapped
from .sites import UNWRAP
from .value_lattice import ANYTHING, BARE_NONE, NOTHING, SOME_PLAIN, UNKNOWN, Named, Value, derive, join, of

if TYPE_CHECKING:
    from .machine import Machine

NEUTRAL = frozenset({"isinstance", "issubclass", "type", "id", "callable", "hasattr", "super"})
"""They look at an object, not at what it wraps."""
CONSTRUCTORS = frozenset(
    {"str", "int", "float", "bool", "bytes", "bytearray", "complex", "repr", "ascii", "format", "list", "tuple"}
    | {"set", "frozenset", "dict", "memoryview"}
)
GATHERING = frozenset({"list", "tuple", "set", "frozenset", "reversed", "iter", "enumerate", "zip", "filter"})
COMPARING = frozenset({"sorted", "min", "max", "any", "all"})


LIFTED = frozenset({"abs", "round", "divmod", "pow"})
"""They are operators: `abs(g)` is grounded [C §9.1]."""
REFLECTED = frozenset({"divmod", "pow"})


def builtin(machine: Machine, env: Environment, name: str, given: Arguments) -> Value:
    if name == "super":
        klass = env.klass
        return Value(UNKNOWN, refs=tuple(one.cell for one in klass.bases)) if klass else ANYTHING
    if name in NEUTRAL:
        return SOME_PLAIN
    if name == "getattr":
        return _getattr(machine, env, given)
    if name in ("staticmethod", "classmethod", "property"):
        return given.value(0)
    if name in LIFTED and (given.value(0).wrapped or (name in REFLECTED and given.value(1).wrapped)):
        return lifted(given)
    gathers = name in GATHERING or name in ("next", "len", "sum", "map", "dict")
    for one in given.each():
        if one.value.wrapped:
            machine.coerced(env, one.node, "constructor" if name in CONSTRUCTORS else "argument", f"{name}()")
        elif name in COMPARING:
            # With a key it is the keys' values that are compared, and the elements only handed on.
            if "key" not in given.named and elements(one.value).wrapped:
                machine.coerced(env, one.node, "condition", f"{name}()")
        elif not gathers and holds_wrapped(one.value):
            machine.coerced(env, one.node, "argument", f"{name}()")
    return _built(machine, env, name, given)


def lifted(given: Arguments) -> Value:
    """What an operator that is called by name makes of its operands."""
    found = SOME_PLAIN
    for one in given.each():
        found = derive(found, one.value)
    return found


def _built(machine: Machine, env: Environment, name: str, given: Arguments) -> Value:
    place = (given.node, name)
    if name == "map":
        parts = [Given(one.node, elements(one.value)) for one in given.positional[1:]]
        mapped = machine.call(env, given.value(0), Arguments(_first_node(given), parts))
        return machine.holding(place, "generator", mapped)
    key = given.named.get("key")
    if key is not None or name == "filter":
        function = key.value if key else given.value(0)
        items = given.positional[-1:] if name == "filter" else given.positional
        if not (name == "filter" and function.kinds == 1):
            parts = [Given(one.node, elements(one.value)) for one in items]
            called = Arguments(key.node if key else _first_node(given), parts)
            result = machine.call(env, function, called) if function.refs else NOTHING
        else:
            result = elements(items[0].value) if items else NOTHING
        if result.wrapped:
            machine.coerced(env, given.node, "condition", f"{name}()")
    if name in ("zip", "enumerate"):
        pair = machine.cell((place, "pair"), "tuple")
        parts = [elements(one.value) for one in given.positional]
        for number, one in enumerate(parts if name == "zip" else [SOME_PLAIN, *parts[:1]]):
            machine.put(pair, number, one)
        return machine.holding(place, "generator", of(pair))
    if name in ("list", "tuple", "set", "frozenset", "reversed", "iter", "sorted", "filter"):
        source = given.positional[-1].value if given.positional else NOTHING
        copied = machine.cell(place, name)
        known_places = name in ("list", "tuple", "set", "frozenset") and len(cells(source)) == 1
        if known_places and cells(source)[0].kind != "dict":
            for key, one in cells(source)[0].items.items():
                machine.put(copied, key, one)
            machine.put(copied, None, cells(source)[0].rest)
        elif given.positional:
            machine.put(copied, None, elements(source))
        return of(copied)
    if name == "dict":
        cell = machine.cell(place, "dict")
        for word, one in given.named.items():
            cell.keys = join(cell.keys, SOME_PLAIN)
            machine.put(cell, word, one.value)
        for one in given.positional:
            for source in cells(one.value):
                pairs = source.elements() if source.kind != "dict" else NOTHING
                machine.put(cell, None, source.elements() if source.kind == "dict" else inside(pairs))
        return of(cell)
    if name in ("next", "min", "max"):
        found = elements(given.value(0)) if len(given.positional) == 1 or name == "next" else NOTHING
        for one in given.positional[1 if name == "next" or len(given.positional) == 1 else 0 :]:
            found = join(found, one.value)
        return join(found, given.named["default"].value) if "default" in given.named else found
    if name == "sum":
        return derive(elements(given.value(0)), SOME_PLAIN)
    if name in ("globals", "locals", "vars"):
        return of(Named("external", f"{name}()"), kinds=UNKNOWN)
    if name in ("exec", "eval", "__import__"):
        return ANYTHING
    return BARE_NONE if name == "print" else SOME_PLAIN


def _first_node(given: Arguments) -> Any:
    return given.positional[0].node if given.positional else given.node


def _getattr(machine: Machine, env: Environment, given: Arguments) -> Value:
    if given.value(1).const == UNWRAP:
        machine.impure(env, given.node, "explicit-unwrap", f'getattr(…, "{UNWRAP}") discards the sources')
    elif given.value(0).wrapped:
        machine.coerced(env, given.node, "attribute", "getattr()")
    return ANYTHING
