"""Functions whose source is not followed: builtins, those of the standard library that move values about, and the
library's own decorators and classes.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import msgspec

from .call_signatures import call_unknown, inside
from .containers import awaited, elements
from .findings import GROUNDED_FACE, UNWRAP
from .machine import slot_of
from .model import (
    ANYTHING,
    BARE_NONE,
    MAYBE,
    NOTHING,
    PLAIN,
    SOME_PLAIN,
    UNKNOWN,
    Arguments,
    Bound,
    Environment,
    Function,
    Given,
    Named,
    Role,
    Value,
    cells,
    derive,
    holds_wrapped,
    join,
    of,
    union,
)

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
    return reduce(derive, (one.value for one in given.each()), SOME_PLAIN)


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
        is_one = name == "next" or len(given.positional) == 1
        of_first = elements(given.value(0)) if is_one else NOTHING
        found = union([of_first, *(one.value for one in given.positional[is_one:])])
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


_ITERTOOLS = frozenset(
    {"chain", "islice", "cycle", "repeat", "tee", "takewhile", "dropwhile", "zip_longest", "batched"}
)
_CONTAINERS = frozenset({"deque", "defaultdict", "OrderedDict", "Counter", "ChainMap"})
_INERT = frozenset(
    {
        "asyncio",
        "base64",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "functools",
    }
    | {"hashlib", "inspect", "io", "itertools", "json", "logging", "math", "operator", "os", "pathlib", "random", "re"}
    | {"string", "sys", "textwrap", "threading", "time", "typing", "urllib", "uuid", "warnings", "statistics"}
)
"""Modules of the standard library: whatever is called there, no data category comes of it."""


_OPERATORS = frozenset({f"math.{name}" for name in ("floor", "ceil", "trunc")}) | {
    f"operator.{name}"
    for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_")
    + ("xor", "neg", "pos", "inv", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge", "concat", "getitem")
}
"""Operators under a name: they keep the wrapper [C §9.1]."""
_OPERANDS = {"concat": 1, "getitem": 1}
"""Of these, which only ask their first operand."""
_FIRST_ARGUMENT = frozenset(
    {"copy.copy", "copy.deepcopy", "typing.assert_type", "asyncio.create_task", "asyncio.ensure_future"}
    | {"asyncio.shield", "asyncio.wait_for", "asyncio.as_completed"}
)
"""They give their first argument."""
_PLAIN_RESULTS = frozenset({"math", "time", "datetime", "random", "hashlib", "base64", "uuid", "textwrap"})


class Partial(msgspec.Struct, frozen=True, eq=False):
    """A function with some of its arguments."""

    function: Value
    given: Arguments


def standard(machine: Machine, env: Environment, name: str, given: Arguments) -> Value:
    head, last = name.partition(".")[0], name.rpartition(".")[2]
    first = given.value(0)
    if name in ("functools.partial", "functools.partialmethod") and given.positional:
        rest = Arguments(given.node, given.positional[1:])
        rest.spread, rest.named, rest.doubled = given.spread, given.named, given.doubled
        if any(one.value.wrapped for one in rest.each()):  # what takes it is seen when it is called, if ever
            _probe(machine, env, first, rest)
        return of(Partial(first, rest))
    if name in ("typing.cast", "typing_extensions.cast") and len(given.positional) == 2:
        slot = slot_of(machine, env, given.positional[0].node)
        machine.flow(env, given.node, given.value(1), slot, "binding", "cast()")
        return given.value(1)
    if name in _OPERATORS and any(one.value.wrapped for one in given.positional[: _OPERANDS.get(last, 2)]):
        return lifted(given)
    if name in _FIRST_ARGUMENT:
        return first
    if name == "asyncio.wait" and not any(one.value.wrapped for one in given.each()):
        return ANYTHING  # tasks go in and come out
    if name == "asyncio.run":
        return awaited(first)
    if name == "asyncio.gather":
        cell = machine.cell((given.node, "results"), "tuple")
        for place, one in enumerate(given.positional):
            machine.put(cell, place, awaited(one.value))
        for one in given.spread:
            machine.put(cell, None, awaited(one.value))
        return machine.holding((given.node, "gather"), "coroutine", of(cell))
    if name == "asyncio.to_thread" and given.positional:
        rest = Arguments(given.node, given.positional[1:])
        rest.named = given.named
        return machine.holding(given.node, "coroutine", machine.call(env, first, rest))
    if name == "functools.reduce" and len(given.positional) >= 2:
        element = elements(given.value(1))
        seed = given.value(2) if len(given.positional) > 2 else element
        pair = [Given(given.node, join(seed, element)), Given(given.node, element)]
        return join(machine.call(env, first, Arguments(given.node, pair)), seed)
    if name in ("dataclasses.replace", "copy.replace", "msgspec.structs.replace"):
        return replaced(machine, env, first, given)
    if (head == "itertools" and (last in _ITERTOOLS or "chain" in name)) or (
        head == "collections" and last in _CONTAINERS
    ):
        found = NOTHING
        for one in given.positional:
            if one.value.wrapped:
                machine.coerced(env, one.node, "iteration", name)
            found = join(found, elements(one.value) if cells(one.value) else NOTHING)
        if last == "from_iterable":
            found = elements(found)
        kind = "list" if last == "deque" or head == "itertools" else "dict"
        return machine.holding((given.node, name), kind, found)
    call_unknown(machine, env, given, name, head in _INERT)
    if name in ("sys.exit", "os._exit", "os.abort", "pytest.fail", "pytest.skip", "typing.assert_never"):
        env.live = False
    return Value(PLAIN, note=f"what {name}() gives") if head in _PLAIN_RESULTS else ANYTHING


def _probe(machine: Machine, env: Environment, function: Value, given: Arguments) -> None:
    """Reports at the `partial` which parameter a partial argument meets."""
    if not any(type(one) is Function and one.role.kind for one in function.refs):
        machine.call(env, function, given)


def replaced(machine: Machine, env: Environment, subject: Value, given: Arguments) -> Value:
    """`replace(obj, field=value)`: fields are sites as in the constructor."""
    found = [(one, one.klass) for one in cells(subject) if one.klass is not None]
    if not found:
        for one in given.named.values():
            machine.flow_anywhere(env, one.node, one.value, "field", "replace()")
    for cell, klass in found:
        fields = klass.slots()
        for name, one in given.named.items():
            if name in fields:
                machine.flow(env, one.node, one.value, fields[name], "field", f"{klass.name}.{name}")
            machine.put(cell, name, one.value)
    return subject


def decorate(role: Role, given: Arguments) -> Value:
    """Applies a decorator of the library, `@tool(…)` and its kind, to a function."""
    for one in given.value(0).refs:
        target = one.target if type(one) is Bound else one
        if type(target) is Function:
            old = target.role
            target.role = msgspec.structs.replace(role if role.kind else old, pure=old.pure or role.pure)
    return given.value(0)


def library(machine: Machine, env: Environment, name: str, given: Arguments) -> Value:
    if name in ("tool", "prompt", "agent", "grounded_pure"):
        role = role_from(name, given)
        if given.positional and any(type(one) is Function for one in given.value(0).refs):
            return decorate(role, given)
        return of(role)
    if name == "discarding":
        machine.impure(env, given.node, "explicit-unwrap", "discarding() declares that sources may go")
        return ANYTHING
    if name in ("to_record", "enc_hook"):
        for one in given.each():
            machine.flow_anywhere(env, one.node, one.value, "argument", f"{name}()")  # the plain value lies in it
        return ANYTHING
    if name == "Answer":
        return _answer(given)
    head, _, last = name.partition(".")
    if head in ("Grounded", "template"):
        if last == UNWRAP:
            return SOME_PLAIN
        if last and last not in GROUNDED_FACE:
            for one in given.each():
                if one.value.wrapped:
                    machine.coerced(env, one.node, "attribute", name)
            return ANYTHING
        found = NOTHING
        for _, one in given.each():
            value = inside(one) if cells(one) else one
            found = derive(found, value) if found.kinds else value
        if (last or head == "template") and found.kinds:
            return derive(found, SOME_PLAIN)
        return Value(MAYBE, open=True)
    return ANYTHING


def _answer(given: Arguments) -> Value:
    """`Answer(value, confidence=…)` is its value, and no surer than it says."""
    found, said = given.value(0, "value"), _number(given, "confidence")
    if not found.kinds or given.spread or given.doubled:
        return ANYTHING
    if said is not None and said < found.confidence:
        found = msgspec.structs.replace(found, confidence=said, weakest="an Answer")
    return found


def role_from(name: str, given: Arguments) -> Role:
    """Reads the arguments of a decorator; what is no literal leaves everything possible."""
    if name == "grounded_pure":
        return Role(pure=True)
    data, is_known = frozenset[str](), True
    if "data" in given.named:
        data, is_known = categories(given.named["data"].value)
    if given.doubled:
        is_known = False
    confidence = _number(given, "confidence")
    return Role(
        name, False, data, is_known, 1.0 if confidence is None else confidence, _number(given, "min_confidence")
    )


def _number(given: Arguments, name: str) -> float | None:
    const = given.named[name].value.const if name in given.named else None
    return float(const) if isinstance(const, int | float) else None


def categories(value: Value) -> tuple[frozenset[str], bool]:
    """The data categories that a value spells out, and whether it spells them all out."""
    if isinstance(value.const, str):
        return frozenset((value.const,)), True
    found: set[str] = set()
    whole = bool(cells(value)) or value.kinds == 1
    for cell in cells(value):
        for one in (*cell.items.values(), *((cell.rest,) if cell.rest.kinds else ())):
            if isinstance(one.const, str):
                found.add(one.const)
            else:
                whole = False
    return frozenset(found), whole
