"""The interpreter's middle: looks names up, walks the tables of expressions and statements, keeps findings.

The meaning of each construct is in `expressions`, `statements` and the modules of calls. `analysis` hands it in: two
tables by node class, which the test of completeness counts, and what calls and what assigns. So those modules need
this one, and it needs none of them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any, Final

from .annotations import slot_of
from .findings import Finding, Rule
from .heap import Heap
from .model import ANY, BARE, NULL, OPEN, Arguments, Cell, Environment, Function, Module, Slot, cells, holds_wrapped
from .scopes import EXPORTED, FACES, LIBRARY_NAMES, Project, imported, is_library
from .sites import SITES
from .value_lattice import ANYTHING, PLAIN, UNKNOWN, Named, Value, join, of

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
                self.coerced(env, node, "optional" if slot.accepts == NULL | BARE else site, detail)
            return
        if not value.refs or not depth or slot.accepts & ANY:
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
