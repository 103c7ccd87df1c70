"""Calls of the standard library: those that keep a grounded value as it is; all others are strangers [C §9.3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .annotations import slot_of
from .arguments import stranger
from .builtin import lifted
from .containers import awaited, elements
from .model import Arguments, Cell, Environment, Function, Given, cells
from .value_lattice import ANYTHING, NOTHING, PLAIN, Value, join, of

if TYPE_CHECKING:
    from .machine import Machine

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
        for one in rest.each():
            if one.value.wrapped:  # the parameter that takes it is seen when it is called, if ever
                _probe(machine, env, first, rest)
                break
        return of(Partial(first, rest))
    if name in ("typing.cast", "typing_extensions.cast") and len(given.positional) == 2:
        slot = slot_of(machine, env, given.positional[0].node)
        machine.flow(env, given.node, given.value(1), slot, "binding", "cast()")
        return given.value(1)
    if name in _OPERATORS and any(one.value.wrapped for one in given.positional[: _OPERANDS.get(last, 2)]):
        return lifted(given)
    if name in ("copy.copy", "copy.deepcopy", "typing.assert_type"):
        return first
    if name in ("asyncio.create_task", "asyncio.ensure_future", "asyncio.shield", "asyncio.wait_for"):
        return first
    if name == "asyncio.as_completed":
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
        if last in ("from_iterable",):
            found = elements(found)
        kind = "list" if last == "deque" or head == "itertools" else "dict"
        return machine.holding((given.node, name), kind, found)
    stranger(machine, env, given, name, head in _INERT)
    if name in ("sys.exit", "os._exit", "os.abort", "pytest.fail", "pytest.skip", "typing.assert_never"):
        env.live = False
    return Value(PLAIN, note=f"what {name}() gives") if head in _PLAIN_RESULTS else ANYTHING


def _probe(machine: Machine, env: Environment, function: Value, given: Arguments) -> None:
    """Which parameter a partial argument meets, told at the `partial`."""
    for one in function.refs:
        if type(one) is Function and one.role.kind:
            return
    machine.call(env, function, given)


def replaced(machine: Machine, env: Environment, subject: Value, given: Arguments) -> Value:
    """`replace(obj, field=value)`: fields are sites as in the constructor."""
    found = [one for one in cells(subject) if type(one) is Cell and one.klass is not None]
    if not found:
        for one in given.named.values():
            machine.flow_anywhere(env, one.node, one.value, "field", "replace()")
    for cell in found:
        assert cell.klass is not None
        fields = cell.klass.slots()
        for name, one in given.named.items():
            if name in fields:
                machine.flow(env, one.node, one.value, fields[name], "field", f"{cell.klass.name}.{name}")
            machine.put(cell, name, one.value)
    return subject
