"""`check`: sources in, findings out. Nothing is imported, read or run; the same sources give the same findings.

A pass runs each relevant module's body, then every function by itself, with what its annotations say of its
parameters. What is put on the heap late may have been read early; then another pass is due, up to a few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final, NamedTuple

from .call_signatures import BODIES, declared_values, is_generator, is_stub, parameters, promise_of, returned
from .calls import call_value, declare_names
from .expressions import EXPRESSIONS
from .findings import Finding, Report, ignores, in_characters, is_ignored
from .flow import assign
from .machine import FACES, LIBRARY_NAMES, Machine, Project, is_library
from .model import ACCEPTS_GROUNDED, BARE_NONE, Environment, Function, Module
from .statements import STATEMENTS, hoist

MAX_PASSES: Final = 3
_HANDED_ON: Final = frozenset(f"{face}.{name}" for face in FACES for name in (*LIBRARY_NAMES, "*"))


class Source(NamedTuple):
    """A file.

    Attributes:
        path: under which it is reported.
        text: its text.
        place: its absolute path, where that is not `path`: what it is imported by may lie above the folder that
            `path` begins in (`sluice check agents.py` inside a package).
    """

    path: str
    text: str
    place: str = ""


def check(sources: Iterable[Source]) -> Report:
    """Checks sources together: they may import one another by the paths that they are given under."""
    errors: list[Finding] = []
    modules: list[Module] = []
    silenced: dict[str, dict[int, frozenset[str]]] = {}
    order: dict[str, int] = {}
    given = list(sources)
    for source in given:
        if source.path in order:
            continue
        order[source.path] = len(order)
        tree = _parse(source, errors)
        if tree is not None:
            modules.append(Module(source.path, tree, "yield" in source.text, source.place))
            silenced[source.path] = ignores(source.text)
    project = Project(modules)
    _mark_relevant(project)
    found = _passes(project, errors) if any(one.relevant for one in modules) else []
    texts = {one.path: one.text for one in given if not one.text.isascii()}
    kept = [in_characters(one, texts) for one in found if not is_ignored(one, silenced.get(one.path, {}))]
    kept.sort(key=lambda one: (order[one.path], one.line, one.column, one.rule))
    errors.sort(key=lambda one: (order[one.path], one.line, one.column))
    return Report([one for one in kept if not one.note], [one for one in kept if one.note], errors)


def _parse(source: Source, errors: list[Finding]) -> ast.Module | None:
    try:
        return ast.parse(source.text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        errors.append(Finding(source.path, line, column, "error", f"this is not Python: {error.msg}"))
    except (RecursionError, MemoryError):
        errors.append(Finding(source.path, 1, 1, "error", "nested too deeply to be parsed"))
    except ValueError as error:
        errors.append(Finding(source.path, 1, 1, "error", f"this is not Python: {error}"))
    return None


def _mark_relevant(project: Project) -> None:
    """A module that imports the library, or one that does, may have something grounded in it; no other can."""
    importers: dict[Module, list[Module]] = {}
    waiting: list[Module] = []
    for module in project.modules:
        for name, level in _imports(module.tree):
            if not level and (is_library(name) or name in _HANDED_ON):
                module.relevant = True
            parts = project.absolute(module, name, level) if level else ()
            if level and is_library(".".join(parts)):
                module.relevant = True
            # `from a import b` may mean the module a.b, `import a.b` runs a as well
            for target in {project.at(parts) if level else project.find(module, name)}:
                if target is not None:
                    importers.setdefault(target, []).append(module)
        if module.relevant:
            waiting.append(module)
    while waiting:
        for one in importers.get(waiting.pop(), ()):
            if not one.relevant:
                one.relevant = True
                waiting.append(one)


def _imports(tree: ast.Module) -> Iterable[tuple[str, int]]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.name, 0
                if one.name in FACES:
                    yield f"{one.name}.*", 0
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            if base == "sluice" and any(one.name == "streams" for one in node.names):
                yield "sluice.streams.*", 0
            for one in node.names:
                yield (f"{base}.{one.name}" if base else one.name), node.level
        else:
            for name in BODIES:
                waiting += getattr(node, name, ())


def _passes(project: Project, errors: list[Finding]) -> list[Finding]:
    machine = Machine(project, EXPRESSIONS, STATEMENTS, call_value, assign)
    troubles: list[Finding] = []
    for _ in range(MAX_PASSES):
        machine.begin()
        troubles.clear()
        for module in project.modules:
            if module.relevant:
                _run_module(machine, module, troubles)
        done = 0
        while done < len(machine.queue):
            function, origin = machine.queue[done]
            done += 1
            _run_function(machine, function, origin, troubles)
        if not machine.dirty:
            break
    errors.extend(troubles)
    return list(machine.findings.values())


def _run_module(machine: Machine, module: Module, troubles: list[Finding]) -> None:
    hoist(machine, module.env, module.tree.body)
    try:
        machine.execute(module)
    except RecursionError:
        troubles.append(Finding(module.path, 1, 1, "error", "nested too deeply to be checked"))
        machine.calm()


def _run_function(machine: Machine, function: Function, origin: str, troubles: list[Finding]) -> None:
    try:
        follow(machine, function, origin)
    except RecursionError:
        node = function.node
        what = f"{function.name} is nested too deeply to be checked"
        troubles.append(Finding(function.module.path, node.lineno, node.col_offset + 1, "error", what))
        machine.calm()


def follow(machine: Machine, function: Function, origin: str) -> None:
    """Checks one function by itself against its declaration."""
    env = Environment(function.module, function.env, function)
    role, node = function.role, function.node
    env.origin = function.name if role.pure else "" if role.kind else origin
    env.asks = role.kind == "agent" or bool(env.origin)
    env.klass = function.owner
    env.names = declared_values(machine, function)
    if isinstance(node, ast.Lambda):
        machine.evaluate(env, node.body)
        return
    declare_names(machine, env, function)
    env.open = any(machine.slot(env, one.annotation).accepts & ACCEPTS_GROUNDED for one in parameters(function))
    env.promise = promise_of(machine, function)
    machine.run(env, node.body)
    if is_stub(node) or role.external:
        return
    if env.live and env.yielded is None and env.promise.promises and not is_generator(machine, function):
        returned(machine, env, _head(node), BARE_NONE)
    if role.kind == "agent" and role.data_known:
        _categories(machine, env, function)


def _categories(machine: Machine, env: Environment, function: Function) -> None:
    """The categories that an agent demands have to be composed by what its body calls [C §6]."""
    if env.open or env.returned.open:
        return
    composed = env.categories | env.returned.data
    for name in sorted(function.role.data - composed):
        has = ", ".join(sorted(composed)) or "none"
        machine.report(
            env,
            _head(function.node),
            "missing-data-category",
            f"{function.name} demands the data category {name!r}, but what it calls composes {has}",
        )


def _head(node: ast.AST) -> ast.AST:
    """The first line of a definition, decorators included, as a place of its own."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = decorators[0] if decorators else node
    for one in decorators:
        if isinstance(one, ast.Call) and any(keyword.arg in ("data", "min_confidence") for keyword in one.keywords):
            first = one
            break
    place = ast.Pass()
    place.lineno, place.col_offset = getattr(first, "lineno", 1), getattr(first, "col_offset", 0)
    place.end_lineno, place.end_col_offset = getattr(node, "lineno", 1), getattr(first, "end_col_offset", None)
    return place
