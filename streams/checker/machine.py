"""The interpreter's middle: finds modules by their names, looks names up, reads annotations as slots, walks the tables
of expressions and statements, and keeps findings.

The meaning of each construct is in `expressions`, `statements` and the modules of calls. `analysis` hands it in: two
tables by node class, which the test of completeness counts, and what calls and what assigns. So those modules need
this one, and it needs none of them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import msgspec

from .findings import SITES, Finding, Rule
from .model import (
    ACCEPTS_ANY,
    ACCEPTS_BARE,
    ACCEPTS_GROUNDED,
    ACCEPTS_NONE,
    ANYTHING,
    BARE_NONE,
    DECLARED_PLAIN,
    FROM_OUTSIDE,
    GROUNDED_SLOT,
    NOTHING,
    OPEN,
    PLAIN,
    PLAIN_SLOT,
    UNKNOWN,
    Arguments,
    Cell,
    Environment,
    Function,
    Heap,
    Klass,
    Module,
    Named,
    Slot,
    State,
    TypeForm,
    Value,
    cells,
    holds_wrapped,
    join,
    of,
)

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


def slot_of(machine: Machine, env: Environment, node: ast.expr | None, depth: int = 12) -> Slot:
    """The slot that an annotation declares; anything goes where there is none."""
    if node is None or not depth:
        return OPEN
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Slot(ACCEPTS_NONE)
        return _quoted(machine, env, node.value, depth) if isinstance(node.value, str) else OPEN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([slot_of(machine, env, one, depth - 1) for one in (node.left, node.right)])
    if isinstance(node, ast.Subscript):
        return _subscripted(machine, env, node, depth)
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(machine, env, node, depth)
    return OPEN


def _quoted(machine: Machine, env: Environment, text: str, depth: int) -> Slot:
    try:
        return slot_of(machine, env, ast.parse(text.strip(), mode="eval").body, depth - 1)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return OPEN


def _union(slots: list[Slot]) -> Slot:
    best = next((one for one in slots if one.element or one.items or one.klass), Slot(0))
    return msgspec.structs.replace(best, accepts=reduce(lambda bits, one: bits | one.accepts, slots, 0))


def _simple(value: Value) -> tuple[str, str]:
    """The last part and the first one of a known dotted name."""
    for one in value.refs:
        if type(one) is Named and one.kind in ("builtin", "external", "library"):
            return one.name.rpartition(".")[2], "library" if one.kind == "library" else one.name.partition(".")[0]
    return "", ""


def _named(machine: Machine, env: Environment, node: ast.expr, depth: int) -> Slot:
    value = machine.evaluate(env, node)
    slots: list[Slot] = []
    for one in value.refs:
        if type(one) is TypeForm:
            slots.append(slot_of(machine, one.env, one.node, depth - 1))
        elif type(one) is Klass:
            slots.append(Slot(ACCEPTS_BARE, klass=one))
        elif type(one) is Named:
            slots.append(_known(one))
    return _union(slots) if slots else OPEN


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
        return Slot(ACCEPTS_BARE, OPEN if kind else None, kind=kind)
    return OPEN


def _subscripted(machine: Machine, env: Environment, node: ast.Subscript, depth: int) -> Slot:
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
        return _union([read(0), Slot(ACCEPTS_NONE)])
    if name == "Union":
        return _union([slot_of(machine, env, one, depth - 1) for one in inner])
    if name in _TRANSPARENT:
        return read(0)
    if name in ("tuple", "Tuple"):
        if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is ...:
            return Slot(ACCEPTS_BARE, read(0), kind="tuple")
        return Slot(ACCEPTS_BARE, items=tuple(slot_of(machine, env, one, depth - 1) for one in inner), kind="tuple")
    if name in _MAPPINGS:
        return Slot(ACCEPTS_BARE, read(-1), keys=read(0), kind="dict")
    if name in _AWAITABLES:
        return Slot(ACCEPTS_BARE, read(-1), kind="coroutine")
    if name in _SEQUENCES:
        return Slot(ACCEPTS_BARE, read(0), kind="list")
    return PLAIN_SLOT if origin in _PLAIN_MODULES else OPEN


def assumed(heap: Heap, slot: Slot, key: Any, depth: int = 4) -> Value:
    """What a place holds that is declared so; `key` names the place, for the cells of its containers."""
    value = NOTHING
    if slot.accepts & ACCEPTS_ANY or not depth:
        value = ANYTHING
    if slot.accepts & ACCEPTS_GROUNDED:
        value = join(value, FROM_OUTSIDE)
    if slot.accepts & ACCEPTS_NONE:
        value = join(value, BARE_NONE)
    if slot.accepts & ACCEPTS_BARE and depth:
        value = join(value, _bare(heap, slot, key, depth))
    return value


def _bare(heap: Heap, slot: Slot, key: Any, depth: int) -> Value:
    if slot.klass is not None:
        return of(slot.klass.cell, note=f"a {slot.klass.name}")
    if not slot.kind:
        return DECLARED_PLAIN
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


LIBRARY: Final = ("sluice.streams.grounded", "streams.grounded")
"""The module whose names are the contract; inside the repository itself the folder stands without its prefix."""
FACES: Final = ("sluice.streams", "sluice")
"""Packages that may hand the library's names on."""
LIBRARY_NAMES: Final = frozenset({"Answer", "Grounded", "agent", "grounded_pure", "prompt", "tool"})
EXPORTED: Final = LIBRARY_NAMES | frozenset(
    {
        "Asserted",
        "CitationViolation",
        "GroundedError",
        "MinConfidenceViolation",
        "MissingDataCategory",
        "ProvenanceChain",
        "PurityViolation",
        "UndeclaredDiscard",
        "UngroundedReturn",
        "dec_hook",
        "discarding",
        "discards",
        "emission",
        "enc_hook",
        "from_record",
        "steps",
        "template",
        "to_record",
        "using_clock",
    }
)
"""What `from sluice.streams.grounded import *` binds, and no more: `print` stays Python's."""


def merge(left: State, right: State) -> State:
    """Either of two states; a name that only one has is taken from it (the other path would fail on it)."""
    if left is right:
        return left
    merged = dict(left)
    for name, value in right.items():
        other = merged.get(name)
        if other is None:
            merged[name] = value
        elif other is not value:
            merged[name] = join(other, value)
    return merged


class Project:
    """The sources that are checked together, found by the names under which they import one another."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules
        self._by_name: dict[str, list[Module]] = {}
        self._packages = {one.folder for one in modules if one.is_package}
        self._found: dict[tuple[Module, str], Module | None] = {}
        for one in modules:
            if one.dotted:
                self._by_name.setdefault(one.dotted[-1], []).append(one)

    def absolute(self, importer: Module, module: str | None, level: int) -> tuple[str, ...]:
        """The path that a relative import names, without a suffix; empty for one that leaves the tree."""
        folder = importer.folder
        if level - 1 > len(folder):
            return ()
        return (*folder[: len(folder) - level + 1], *(module.split(".") if module else ()))

    def at(self, parts: tuple[str, ...]) -> Module | None:
        """The module at a path."""
        for one in self._by_name.get(parts[-1], ()) if parts else ():
            if one.dotted == parts:
                return one
        return None

    def find(self, importer: Module, name: str) -> Module | None:
        """The file that `import name` means for the importer, if it was given."""
        key = (importer, name)
        if key not in self._found:
            self._found[key] = self._search(importer, tuple(name.split(".")))
        return self._found[key]

    def _search(self, importer: Module, parts: tuple[str, ...]) -> Module | None:
        best: Module | None = None
        depth = -1
        for one in self._by_name.get(parts[-1], ()):
            if one.dotted[-len(parts) :] != parts or one is importer:
                continue
            root = one.dotted[: -len(parts)]
            near = importer.folder[: len(root)] == root
            if (near or root == self._root_of(one)) and len(root) + 1000 * near > depth:
                best, depth = one, len(root) + 1000 * near
        return best

    def _root_of(self, module: Module) -> tuple[str, ...]:
        folder = module.folder
        while folder in self._packages:
            folder = folder[:-1]
        return folder


def is_library(name: str) -> bool:
    """Whether a dotted name is the library's module, or one inside it."""
    return any(name == one or name.startswith(one + ".") for one in LIBRARY)


def imported(module: str, name: str, level: int = 0) -> Value:
    """A name to be resolved when it is used: modules may import one another in a circle."""
    return of(Named("import", name, "." * level + module))


Expression = Callable[["Machine", Environment, Any], Value]
Statement = Callable[["Machine", Environment, Any], None]
Caller = Callable[["Machine", Environment, Value, Arguments], Value]
Assigner = Callable[["Machine", Environment, ast.expr, Value, ast.AST], None]

MAX_DEPTH: Final = 12
"""Calls followed into one another; deeper ones are unknown. Real programs of agents are three or four deep."""

MAX_CONTEXTS: Final = 60
"""Combinations of arguments with which one function is followed; what comes after them is as it is declared. Without
a bound, functions that hand one another ever new values would take exponential time."""

_OF_THE_SOURCE: Final = ("function", "class", "generator", "annotated")
"""What is remembered of the source alone, and holds in every pass."""
_BUILTINS: Final[dict[str, Value]] = {name: of(Named("builtin", name)) for name in dir(builtins)}


class Machine(Heap):
    """One run over a project.

    Args:
        project: the sources.
        expressions, statements: what each kind of node means.
        caller: calls whatever a value may be.
        assigner: assigns to any target; its last argument is where a finding about the value points.
    """

    def __init__(
        self,
        project: Project,
        expressions: dict[type, Expression],
        statements: dict[type, Statement],
        caller: Caller,
        assigner: Assigner,
    ) -> None:
        super().__init__()
        self.project = project
        self._expressions, self._statements = expressions, statements
        self._caller, self._assigner = caller, assigner
        self.findings: dict[tuple[str, int, int, str], Finding] = {}
        self.memo: dict[Any, Any] = {}
        self.running: set[Any] = set()
        self.queue: list[tuple[Function, str]] = []
        self.queued: set[tuple[Any, str]] = set()
        self.handed_over: set[ast.expr] = set()
        self.contexts: dict[Any, int] = {}
        self.depth = 0

    def begin(self) -> None:
        """Starts a pass: what was found and remembered is forgotten, what stands on the heap is not."""
        self.findings.clear()
        self.memo = {key: value for key, value in self.memo.items() if key[0] in _OF_THE_SOURCE}
        self.queue.clear()
        self.queued.clear()
        self.contexts.clear()
        self.dirty = False
        self.calm()
        for module in self.project.modules:
            module.executed = 0
            module.env.live = True
            module.env.stars.clear()

    def calm(self) -> None:
        """After a nesting that was too deep: no call is under way any more."""
        self.running.clear()
        self.depth = 0

    # ------------------------------------------------------------ walking

    def evaluate(self, env: Environment, node: ast.expr) -> Value:
        """The abstract value of an expression, reporting what happens inside."""
        return self._expressions[type(node)](self, env, node)

    def run(self, env: Environment, body: list[Any]) -> None:
        """Follows statements for as long as a path arrives."""
        table = self._statements
        for node in body:
            if not env.live:
                return
            table[type(node)](self, env, node)

    def taken(self, env: Environment, node: ast.expr, site: str, detail: str = "") -> Value:
        """The value of an expression that loses its wrapper where it stands."""
        value = self.evaluate(env, node)
        if value.wrapped:
            self.coerced(env, node, site, detail)
        return value

    def call(self, env: Environment, function: Value, given: Arguments) -> Value:
        """Calls whatever a value may be, reporting what happens inside."""
        return self._caller(self, env, function, given)

    def assign(self, env: Environment, target: ast.expr, value: Value, source: ast.AST) -> None:
        """Assigns to a name, an attribute, an item, or a pattern of them."""
        self._assigner(self, env, target, value, source)

    # ------------------------------------------------------------ names

    def lookup(self, env: Environment, name: str) -> Value:
        """What a name means here."""
        found = env.names.get(name)
        if found is None or name in env.globals:
            found = self._outer(env, name)
        if found.refs and type(found.refs[0]) is Named and found.refs[0].kind == "import":
            return self.resolve(env.module, found)
        return found

    def _outer(self, env: Environment, name: str) -> Value:
        outer = env.parent
        while outer is not None:
            if not outer.is_class and name in outer.names:
                return outer.names[name]
            outer = outer.parent
        return self.member(env.module, name)

    def member(self, module: Module, name: str) -> Value:
        """A name of a module: bound there, taken with a star from another, or built in."""
        if name in module.env.names:
            return module.env.names[name]
        for star in module.env.stars:
            if is_library(star) and name not in EXPORTED:
                continue
            found = self.resolve(module, imported(star, name))
            if found.kinds != UNKNOWN:
                return found
        return _BUILTINS.get(name, ANYTHING)

    def resolve(self, importer: Module, value: Value) -> Value:
        """Follows imports to what they mean."""
        found = Value(value.kinds & UNKNOWN)
        for one in value.refs:
            is_import = type(one) is Named and one.kind == "import"
            found = join(found, self._imported(importer, one) if is_import else of(one, kinds=value.kinds))
        return found

    def _imported(self, importer: Module, one: Named) -> Value:
        dots = len(one.path) - len(one.path.lstrip("."))
        name = one.path[dots:]
        if dots:
            parts = self.project.absolute(importer, name, dots)
            target, name = self.project.at(parts), ".".join(parts)
        else:
            target = self.project.find(importer, name)
        return self.attribute_of_module(importer, name, target, one.name) if one.name else of(Named("module", name))

    def attribute_of_module(self, importer: Module, name: str, target: Module | None, attribute: str) -> Value:
        """`name.attribute`, where `name` is a module that may or may not have been given."""
        if is_library(name) or (name in FACES and attribute in LIBRARY_NAMES):
            return of(Named("library", attribute))
        if target is not None and target is not importer:
            key = ("member", target, attribute)
            if key in self.running:
                return ANYTHING
            self.running.add(key)
            try:
                self.execute(target)
                found = self.member(target, attribute)
                if found.refs and type(found.refs[0]) is Named and found.refs[0].kind == "import":
                    found = self.resolve(target, found)
            finally:
                self.running.discard(key)
            if found.kinds != UNKNOWN:
                return found
        below = f"{name}.{attribute}" if name else attribute
        if is_library(below) or below in FACES or self.project.at(tuple(below.split("."))) is not None:
            return of(Named("module", below))
        if self.project.find(importer, below) is not None or any(one.startswith(below + ".") for one in _PREFIXES):
            return of(Named("module", below))
        return of(Named("external", below), kinds=UNKNOWN)

    def execute(self, module: Module) -> None:
        """Runs a module's body once in each pass; names that it binds late are there from the start."""
        if module.executed:
            return
        module.executed = 1
        self.run(module.env, module.tree.body)
        module.executed = 2

    # ------------------------------------------------------------ types

    def slot(self, env: Environment, node: ast.expr | None) -> Slot:
        """The slot that an annotation declares."""
        if node is None:
            return OPEN
        key = ("slot", node, env.module.executed == 2)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = slot_of(self, env, node)
        return found

    # ------------------------------------------------------------ findings

    def report(self, env: Environment, node: Any, rule: Rule, message: str, site: str = "", note: bool = False) -> None:
        """Keeps a finding; the same one again (another path, another caller) changes nothing, but a note gives way."""
        line, column = node.lineno, node.col_offset + 1
        key = (env.module.path, line, column, rule)
        old = self.findings.get(key)
        if old is None or (old.note and not note):
            end, end_column = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None)
            self.findings[key] = Finding(
                env.module.path, line, column, rule, message, end, (end_column or column - 1) + 1, site, note
            )

    def coerced(self, env: Environment, node: Any, site: str, detail: str = "") -> None:
        """A grounded value loses its wrapper here: a finding under `@grounded_pure`, a note elsewhere."""
        why = f" ({detail})" if detail else ""
        behalf = _behalf(env)
        self.report(env, node, "coercion", f"{SITES[site]}{why}{behalf}", site, note=not env.origin)

    def impure(self, env: Environment, node: Any, rule: Rule, message: str) -> None:
        """Something else that `@grounded_pure` forbids."""
        self.report(env, node, rule, f"{message}{_behalf(env)}", note=not env.origin)

    def flow(
        self, env: Environment, node: Any, value: Value, slot: Slot, site: str, detail: str = "", depth: int = 4
    ) -> None:
        """A value flows into a slot: nothing grounded may go where the slot is plain, at any depth."""
        if value.wrapped:
            if slot.plain:
                self.coerced(env, node, "optional" if slot.accepts == ACCEPTS_NONE | ACCEPTS_BARE else site, detail)
            return
        if not value.refs or not depth or slot.accepts & ACCEPTS_ANY:
            return
        for one in cells(value):
            self._flow_inside(env, node, one, slot, depth - 1)

    def _flow_inside(self, env: Environment, node: Any, cell: Cell, slot: Slot, depth: int) -> None:
        if cell.kind == "instance":
            return
        if slot.klass is not None:
            for name, field in slot.klass.slots().items():
                if name in cell.items:
                    self.flow(env, node, cell.items[name], field, "field", f"field {name!r}", depth)
        for place, one in enumerate(slot.items):
            self.flow(env, node, cell.item(place), one, "element", depth=depth)
        if slot.element is not None:
            self.flow(env, node, cell.elements(), slot.element, "element", depth=depth)
        if slot.keys is not None:
            self.flow(env, node, cell.keys, slot.keys, "element", depth=depth)

    def mixed(self, env: Environment, node: Any, cell: Cell, value: Value) -> None:
        """A grounded value joins a list that was written out with plain ones: its element type is plain [C §9.3]."""
        if value.wrapped and cell.kind in ("list", "set") and any(one.kinds == PLAIN for one in cell.items.values()):
            self.coerced(env, node, "element", "the other elements are plain")

    def flow_anywhere(self, env: Environment, node: Any, value: Value, site: str, detail: str = "") -> None:
        """A value flows to where nothing is known: whatever in it is grounded is lost from sight."""
        if value.wrapped or holds_wrapped(value):
            self.coerced(env, node, site, detail)

    def later(self, function: Function, origin: str) -> None:
        """The function is to be followed by itself, with what its annotations say of its parameters."""
        key = (function.node, origin)
        if key not in self.queued:
            self.queued.add(key)
            self.queue.append((function, origin))


_PREFIXES: Final = ("sluice.streams.grounded",)


def _behalf(env: Environment) -> str:
    """Names the pure function on whose behalf another one's body is followed."""
    function = env.function
    while env.parent is not None and function is not None and function.name == "a lambda":
        env = env.parent
        function = env.function
    if not env.origin or (function is not None and function.name == env.origin):
        return ""
    return f", in the course of @grounded_pure {env.origin}"
