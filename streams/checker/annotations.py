"""What a type annotation lets in: slots. A `Grounded` that flows into a slot which is not for it is laundered [C §9.3].

Annotations are read, never evaluated. A name that leads out of the given files lets anything in, unless it comes from
a module of the standard library that is known to hold plain types.
"""

from __future__ import annotations

import ast
from typing import Any, Protocol

import msgspec

from .heap import Heap
from .model import ANY, BARE, GROUNDED, GROUNDED_SLOT, NULL, OPEN, PLAIN_SLOT, Environment, Klass, Slot, TypeForm, cells
from .value_lattice import ANYTHING, BARE_NONE, FROM_OUTSIDE, NOTHING, PLAIN, Named, Value, join, of


class Evaluator(Protocol):
    """What the reader of an annotation asks of the interpreter: the meaning of the names in it."""

    def evaluate(self, env: Environment, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        ...


_SEQUENCES = frozenset(
    {"list", "set", "frozenset", "deque", "List", "Set", "FrozenSet", "AbstractSet", "Deque", "Sequence"}
    | {"MutableSequence", "MutableSet", "Collection", "Container", "Iterable", "Iterator", "Reversible", "Generator"}
    | {"AsyncIterable", "AsyncIterator", "AsyncGenerator", "ContextManager", "AsyncContextManager"}
    | {"AbstractContextManager", "AbstractAsyncContextManager", "KeysView", "ValuesView"}
)
_MAPPINGS = frozenset(
    {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict", "ChainMap"}
)
_AWAITABLES = frozenset({"Awaitable", "Coroutine", "Task", "Future"})
_TRANSPARENT = frozenset({"Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar"})
_PLAIN_MODULES = frozenset(
    {"builtins", "typing", "typing_extensions", "collections", "datetime", "decimal", "pathlib", "uuid", "enum", "re"}
    | {"fractions", "json", "dataclasses", "types", "numbers", "ipaddress", "io", "os", "array", "contextlib"}
    | {"asyncio", "concurrent", "logging"}
)
_OPEN_NAMES = frozenset(
    {"Any", "TypeVar", "ParamSpec", "Generic", "Protocol", "Self", "AnyStr", "Unpack", "Concatenate"}
)
_NEVER = frozenset({"NoReturn", "Never"})


def slot_of(machine: Evaluator, env: Environment, node: ast.expr | None, depth: int = 12) -> Slot:
    """The slot that an annotation declares; anything goes where there is none."""
    if node is None or not depth:
        return OPEN
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Slot(NULL)
        return _quoted(machine, env, node.value, depth) if isinstance(node.value, str) else OPEN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([slot_of(machine, env, one, depth - 1) for one in (node.left, node.right)])
    if isinstance(node, ast.Subscript):
        return _subscripted(machine, env, node, depth)
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(machine, env, node, depth)
    return OPEN


def _quoted(machine: Evaluator, env: Environment, text: str, depth: int) -> Slot:
    try:
        return slot_of(machine, env, ast.parse(text.strip(), mode="eval").body, depth - 1)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return OPEN


def _union(slots: list[Slot]) -> Slot:
    accepts = 0
    best: Slot | None = None
    for one in slots:
        accepts |= one.accepts
        if best is None and (one.element or one.items or one.klass):
            best = one
    if best is None:
        return Slot(accepts)
    return msgspec.structs.replace(best, accepts=accepts)


def _simple(value: Value) -> tuple[str, str]:
    """The last part and the first one of a known dotted name."""
    for one in value.refs:
        if type(one) is Named and one.kind in ("builtin", "external", "library"):
            return one.name.rpartition(".")[2], "library" if one.kind == "library" else one.name.partition(".")[0]
    return "", ""


def _named(machine: Evaluator, env: Environment, node: ast.expr, depth: int) -> Slot:
    value = machine.evaluate(env, node)
    found: list[Slot] = []
    for one in value.refs:
        if type(one) is TypeForm:
            found.append(slot_of(machine, one.env, one.node, depth - 1))
        elif type(one) is Klass:
            found.append(Slot(BARE, klass=one))
        elif type(one) is Named:
            found.append(_known(one))
    return _union(found) if found else OPEN


def _known(one: Named) -> Slot:
    name = one.name.rpartition(".")[2]
    if one.kind == "library":
        return GROUNDED_SLOT if name == "Grounded" else PLAIN_SLOT
    if one.kind == "builtin" or (one.kind == "external" and one.name.partition(".")[0] in _PLAIN_MODULES):
        if name in _NEVER:
            return Slot(0)
        if name in _OPEN_NAMES:
            return OPEN
        kind = "dict" if name in _MAPPINGS else "list" if name in _SEQUENCES or name in ("tuple", "Tuple") else ""
        return Slot(BARE, OPEN if kind else None, kind=kind)
    return OPEN


def _subscripted(machine: Evaluator, env: Environment, node: ast.Subscript, depth: int) -> Slot:
    base = machine.evaluate(env, node.value)
    name, origin = _simple(base)
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]

    def read(place: int) -> Slot:
        return slot_of(machine, env, inner[place], depth - 1) if inner else OPEN

    if origin == "library":
        return GROUNDED_SLOT if name == "Grounded" else PLAIN_SLOT
    if not origin:
        return _named(machine, env, node.value, depth - 1)
    if name == "Optional":
        return _union([read(0), Slot(NULL)])
    if name == "Union":
        return _union([slot_of(machine, env, one, depth - 1) for one in inner])
    if name in _TRANSPARENT:
        return read(0)
    if name in ("tuple", "Tuple"):
        if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is ...:
            return Slot(BARE, read(0), kind="tuple")
        return Slot(BARE, items=tuple(slot_of(machine, env, one, depth - 1) for one in inner), kind="tuple")
    if name in _MAPPINGS:
        return Slot(BARE, read(-1), keys=read(0), kind="dict")
    if name in _AWAITABLES:
        return Slot(BARE, read(-1), kind="coroutine")
    if name in _SEQUENCES:
        return Slot(BARE, read(0), kind="list")
    return PLAIN_SLOT if origin in _PLAIN_MODULES else OPEN


def assumed(heap: Heap, slot: Slot, key: Any, depth: int = 4) -> Value:
    """What a place holds that is declared so; `key` names the place, for the cells of its containers."""
    value = NOTHING
    if slot.accepts & ANY or not depth:
        value = ANYTHING
    if slot.accepts & GROUNDED:
        value = join(value, FROM_OUTSIDE)
    if slot.accepts & NULL:
        value = join(value, BARE_NONE)
    if slot.accepts & BARE and depth:
        value = join(value, _bare(heap, slot, key, depth))
    return value


def _bare(heap: Heap, slot: Slot, key: Any, depth: int) -> Value:
    if slot.klass is not None:
        return of(slot.klass.cell, note=f"a {slot.klass.name}")
    if not slot.kind:
        return Value(PLAIN, note="a value that is declared plain")
    cell = heap.cell((key, depth), slot.kind)
    for place, one in enumerate(slot.items):
        cell.items[place] = assumed(heap, one, (key, place), depth - 1)
    if slot.element is not None:
        cell.rest = join(cell.rest, assumed(heap, slot.element, (key, "rest"), depth - 1))
    if slot.keys is not None:
        cell.keys = join(cell.keys, assumed(heap, slot.keys, (key, "keys"), depth - 1))
    cell.declared = slot
    return of(cell)


def declare(value: Value, slot: Slot) -> None:
    """Remembers on a fresh container what it is declared to hold, for what is put in later."""
    if slot.element is None and slot.keys is None and slot.klass is None:
        return
    for one in cells(value):
        if one.declared is None and one.kind != "instance":
            one.declared = slot
