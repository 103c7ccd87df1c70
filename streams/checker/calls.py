"""Calls and attributes: what a call of any value gives (a function that was given, a class, a method, or something
known by its name only), and what `x.name` is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, cast

import msgspec

from .call_signatures import (
    annotated,
    call_unknown,
    collect,
    inside,
    is_generator,
    is_stub,
    meet,
    parameters,
    promise_of,
)
from .findings import GROUNDED_FACE, UNWRAP
from .machine import MAX_CONTEXTS, MAX_DEPTH, assumed
from .methods import method
from .model import (
    ACCEPTS_ANY,
    ACCEPTS_BARE,
    ACCEPTS_GROUNDED,
    ACCEPTS_NONE,
    ANYTHING,
    BARE_NONE,
    MAYBE,
    NONE,
    NOTHING,
    OPEN,
    PLAIN,
    SEVERED,
    SOME_PLAIN,
    SOURCED,
    SOURCELESS,
    UNKNOWN,
    WRAPPED,
    Arguments,
    Bound,
    Cell,
    Environment,
    Function,
    Klass,
    Named,
    Role,
    Slot,
    Value,
    cells,
    field_slot,
    holds_wrapped,
    join,
    of,
    of_class,
    settled,
    union,
)
from .standard_library import Partial, builtin, decorate, library, standard

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
        call_unknown(machine, env, given, klass.name)
        return made
    names = list(fields)
    pairs = [(names[place], one) for place, one in enumerate(given.positional) if place < len(names)]
    pairs += list(given.named.items())
    if klass.kind == "typed":
        for one in given.positional:
            if not one.value.wrapped:
                machine.flow(env, one.node, one.value, Slot(ACCEPTS_BARE, klass=klass), "field")
    for name, one in pairs:
        if name in fields:
            machine.flow(env, one.node, one.value, fields[name], "field", f"{klass.name}.{name}")
        machine.put(klass.cell, name, one.value)
    for one in (*given.spread, *given.doubled):
        if holds_wrapped(one.value) and any(slot.plain for slot in fields.values()):
            machine.coerced(env, one.node, "field", klass.name)
    return made


def call_named(machine: Machine, env: Environment, one: Named, given: Arguments) -> Value:
    """Calls what a dotted name means."""
    if one.kind == "library":
        return library(machine, env, one.name, given)
    if one.kind == "builtin":
        return builtin(machine, env, one.name, given)
    return standard(machine, env, one.name, given)


def call(machine: Machine, env: Environment, node: ast.Call) -> Value:
    """`function(…)`."""
    function = machine.evaluate(env, node.func)
    given = collect(machine, env, node, bool(function.refs) and all(_keeps(one) for one in function.refs))
    if function.wrapped:
        machine.coerced(env, node.func, "call")
    for one in given.each():
        callbacks(machine, env, one.node, one.value)
    return call_value(machine, env, function, given)


def _keeps(one: Any) -> bool:
    """Whether it takes the items of a list out one by one and keeps their sources: `Grounded.join`, prompts, tools."""
    if type(one) is Bound:
        return one.receiver.wrapped if isinstance(one.target, str) else _keeps(one.target)
    if type(one) is Named:
        return one.kind == "library" and one.name in ("Grounded.join", "Grounded.format", "template")
    return type(one) is Function and one.role.kind != ""


def callbacks(machine: Machine, env: Environment, node: Any, value: Value) -> None:
    """A function that is passed as a value may be called by the function that gets it [C §9.4]."""
    if not env.origin or not value.refs:
        return
    refs = [*value.refs, *(ref for cell in cells(value) if cell.kind != "instance" for ref in cell.elements().refs)]
    for one in refs:
        target = one.target if type(one) is Bound else one
        if type(target) is Function:
            _purity(machine, env, node, target, "passed on as a value")
            if not target.role.kind:
                machine.later(target, env.origin)


def _purity(machine: Machine, env: Environment, node: Any, function: Function, how: str) -> None:
    if env.origin and function.role.kind == "agent" and not function.role.pure:
        machine.impure(env, node, "impure-call", f"the agent {function.name} is not @grounded_pure, and is {how}")


def call_value(machine: Machine, env: Environment, function: Value, given: Arguments) -> Value:
    """Calls whatever a value may be."""
    if not function.refs:
        return call_unknown(machine, env, given, "an unknown function")
    return union(_call_one(machine, env, one, given) for one in function.refs)


def _call_one(machine: Machine, env: Environment, one: Any, given: Arguments) -> Value:
    kind = cast("type[object]", type(one))
    if kind is Function:
        return call_function(machine, env, one, given)
    if kind is Klass:
        return construct(machine, env, one, given)
    if kind is Bound:
        if type(one.target) is Function:
            bound = Arguments(given.node, given.positional, one.receiver)
            bound.spread, bound.named, bound.doubled = given.spread, given.named, given.doubled
            return call_function(machine, env, one.target, bound)
        return method(machine, env, one.receiver, one.target, given)
    if kind is Named:
        return call_named(machine, env, one, given)
    if kind is Role:
        return decorate(one, given)
    if kind is Partial:
        whole = Arguments(given.node, [*one.given.positional, *given.positional], one.given.receiver)
        whole.spread, whole.doubled = [*one.given.spread, *given.spread], [*one.given.doubled, *given.doubled]
        whole.named = one.given.named | given.named
        return call_value(machine, env, one.function, whole)
    if kind is Cell and one.klass is not None:
        member = of_class(one.klass, "__call__", of(one), True)
        if member.refs:
            return call_value(machine, env, member, given)
    return call_unknown(machine, env, given, "an unknown function")


def call_function(machine: Machine, env: Environment, function: Function, given: Arguments) -> Value:
    """Calls a function whose source was given."""
    role = function.role
    _purity(machine, env, given.node, function, "called")
    values = meet(machine, env, function, given)
    env.categories |= role.data
    env.open = env.open or not role.data_known
    if role.external:
        found = _external(machine, env, function, role, given)
    else:
        found = _follow(machine, env, function, values)
        if role.kind == "agent":
            found = _handed(machine, function, role, found, given)
    if isinstance(function.node, ast.AsyncFunctionDef) and not is_generator(machine, function):
        return machine.holding((given.node, function.node, "await"), "coroutine", found)
    return found


def _external(machine: Machine, env: Environment, function: Function, role: Role, given: Arguments) -> Value:
    """A tool is a source or none; a prompt passes on the sources of its arguments [C §2]."""
    slot = _declared(machine, function)
    confidence, weakest = role.confidence, f"{function.name}()"
    data = set(role.data)
    kinds, open_data = 0, not role.data_known
    for one in given.each():
        value = join(one.value, inside(one.value)) if cells(one.value) else one.value
        kinds |= value.kinds
        data |= value.data
        open_data = open_data or value.open
        if value.confidence < confidence:
            confidence, weakest = value.confidence, value.weakest
    if not slot.accepts & (ACCEPTS_GROUNDED | ACCEPTS_BARE) and kinds & WRAPPED and not role.grounded:
        slot = Slot(ACCEPTS_GROUNDED)  # undeclared, and made of what has sources
    is_source = role.kind == "tool" and (role.grounded or not role.data_known)
    if role.grounded or slot.accepts & ACCEPTS_GROUNDED:
        if is_source:
            found = SOURCED if role.grounded else MAYBE
        elif kinds & SEVERED:
            found = SEVERED
        elif kinds & SOURCED:
            found = SOURCED
        else:
            found = MAYBE if kinds & (UNKNOWN | MAYBE) or not role.data_known else SOURCELESS
        note = (
            f"{function.name}() was given nothing retrieved"
            if role.kind == "prompt"
            else f"the data of {function.name}() has no grounded"
        )
        return Value(found, confidence, frozenset(data), open_data, note=note, weakest=weakest)
    found = assumed(machine, slot, function.node)
    if found.kinds & PLAIN and not holds_wrapped(found):
        for one in given.each():
            machine.flow_anywhere(env, one.node, one.value, "argument", f"the result of {function.name} is plain")
    note = f"the plain result of {function.name}()" if not found.kinds & UNKNOWN else ""
    return msgspec.structs.replace(
        found, confidence=confidence, data=frozenset(data), open=open_data, note=note, weakest=weakest
    )


def _declared(machine: Machine, function: Function) -> Slot:
    node = function.node
    return machine.slot(function.env, None if isinstance(node, ast.Lambda) else node.returns)


def _handed(machine: Machine, function: Function, role: Role, found: Value, given: Arguments) -> Value:
    """What another agent returns counts as grounded by its own declaration, which is checked where it is defined.

    Its chain has the sources of its arguments as well [C §2].
    """
    for one in given.each():
        if one.value.wrapped:
            weaker = one.value if one.value.confidence < found.confidence else found
            found = msgspec.structs.replace(
                found,
                confidence=weaker.confidence,
                weakest=weaker.weakest,
                data=found.data | one.value.data,
                open=found.open or one.value.open,
            )
    slot = _declared(machine, function)
    if role.grounded or slot.accepts & ACCEPTS_GROUNDED:
        kinds = SOURCED | (found.kinds & NONE if slot.accepts & ACCEPTS_NONE else 0)
        return Value(kinds, found.confidence, found.data | role.data, found.open, weakest=found.weakest)
    if slot.plain and found.wrapped:  # its author declared the coercion, and the run time carries it out
        note = f"the plain result of {function.name}()"
        found = msgspec.structs.replace(found, kinds=found.kinds & ~WRAPPED | PLAIN, note=note)
    return msgspec.structs.replace(found, data=found.data | role.data)


def _follow(machine: Machine, env: Environment, function: Function, values: dict[str, Value]) -> Value:
    origin = function.name if function.role.pure else env.origin
    key = (function.node, function.env, tuple(values.values()), origin)
    known_result = machine.memo.get(key)
    if known_result is None and _is_as_declared(machine, env, function, values):
        return assumed(machine, _declared(machine, function), function.node)
    if known_result is None:
        if key in machine.running or machine.depth >= MAX_DEPTH or len(machine.running) > 4 * MAX_DEPTH:
            env.open = True
            return NOTHING if key in machine.running else ANYTHING
        machine.contexts[function.node] = machine.contexts.get(function.node, 0) + 1
        if machine.contexts[function.node] > MAX_CONTEXTS:
            env.open = True
            return assumed(machine, _declared(machine, function), function.node)
        machine.running.add(key)
        machine.depth += 1
        try:
            inner = Environment(function.module, function.env, function)
            inner.names, inner.origin, inner.own, inner.asks = dict(values), origin, False, env.asks
            result = follow_body(machine, inner, function)
        finally:
            machine.depth -= 1
            machine.running.discard(key)
        never = isinstance(function.node, ast.FunctionDef) and not (inner.came_back or result.kinds)
        known_result = machine.memo[key] = (result, frozenset(inner.categories), inner.open, never)
    result, categories, open_data, never = known_result
    env.categories |= categories
    env.open = env.open or open_data
    slot = _declared(machine, function)
    if never or slot.accepts == 0:
        env.live = False  # it only ever raises, or says so: NoReturn
    return result


def _is_as_declared(machine: Machine, env: Environment, function: Function, values: dict[str, Value]) -> bool:
    """Whether a call need not be followed: nothing grounded goes in, and a plain type is declared to come out.

    What the body does besides is seen when the function is checked by itself. Only agents and pure functions ask
    further, and even for them nothing comes of a module that has no way to the library.
    """
    slot = _declared(machine, function)
    if (env.asks and function.module.relevant) or slot.accepts & (ACCEPTS_GROUNDED | ACCEPTS_ANY) or not slot.accepts:
        return False
    if is_generator(machine, function):
        return False
    return not any(_is_of_interest(one) for one in values.values())


def _is_of_interest(value: Value) -> bool:
    return holds_wrapped(value) or any(type(one) in (Function, Bound) for one in value.refs)


def follow_body(machine: Machine, env: Environment, function: Function) -> Value:
    """Runs a function's body with its parameters bound, and says what a call gives (before any awaiting)."""
    node = function.node
    env.klass = function.owner
    if isinstance(node, ast.Lambda):
        return machine.evaluate(env, node.body)
    slot = machine.slot(function.env, node.returns)
    if is_stub(node) or (function.opaque and not slot.accepts & ACCEPTS_GROUNDED):
        return assumed(machine, slot, node)
    env.promise = promise_of(machine, function)
    declare_names(machine, env, function)
    machine.run(env, node.body)
    if is_generator(machine, function):
        cell = env.yielded or machine.cell((node, "yield"), "generator")
        return of(cell)
    if env.live:
        env.returned, env.came_back = join(env.returned, BARE_NONE), True
    found = env.returned
    if slot.promises and not found.kinds & WRAPPED and found.kinds & UNKNOWN:
        return join(found, assumed(machine, slot, node))
    return found


def declare_names(machine: Machine, env: Environment, function: Function) -> None:
    """The slots of a function's parameters and annotated names."""
    for one in parameters(function):
        if one.annotation is not None:
            env.slots[one.arg] = machine.slot(function.env, one.annotation)
    for name, annotation in annotated(machine, function):
        env.slots[name] = machine.slot(env, annotation)


_FACTS = frozenset({"__class__", "__doc__", "chain", "confidence", "data", "grounded"})


def attribute(machine: Machine, env: Environment, node: ast.Attribute) -> Value:
    """`value.name`, read."""
    value = machine.evaluate(env, node.value)
    name = node.attr
    if name == UNWRAP:
        machine.impure(env, node, "explicit-unwrap", f".{UNWRAP}() discards the sources")
    if value.wrapped:
        return _of_grounded(machine, env, node, value)
    found = union(_of_one(machine, env, node, one, value) for one in value.refs)
    if found.kinds or found.refs:
        return found
    return Value(value.kinds & (PLAIN | UNKNOWN) or UNKNOWN, open=True, refs=(Bound(value, name),))


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
        target = one.target if type(one) is Bound else None
        if type(target) is Function and target.decorated & {"property", "cached_property"}:
            return call_function(machine, env, target, Arguments(node, receiver=of(cell)))
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
