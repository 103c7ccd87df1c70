"""What each kind of simple statement does to the state, `def` and `class` among them, and the table of all
statements. Decorators are read for what they say of a function's part in grounding; bodies follow later.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from .call_signatures import inside, returned
from .calls import call_named, call_value
from .containers import narrowed
from .expressions import default_slots, elements, truth
from .flow import FLOW, assign
from .machine import declare, imported
from .model import (
    BARE_NONE,
    NO_ROLE,
    OPEN,
    SOME_PLAIN,
    UNKNOWN,
    Arguments,
    Environment,
    Function,
    Given,
    Klass,
    Named,
    Role,
    TypeForm,
    Value,
    cells,
    derive,
    of,
)
from .standard_library import decorate

if TYPE_CHECKING:
    from .machine import Machine, Statement

_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "abstractmethod", "override", "overload", "final"}
    | {"cache", "lru_cache", "wraps", "contextmanager", "asynccontextmanager", "no_type_check", "singledispatch"}
    | {"deprecated", "runtime_checkable", "setter", "getter", "deleter"}
)


def define_function(machine: Machine, env: Environment, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Binds a function to its name, decorated from the innermost decorator outwards."""
    defaults = default_slots(machine, env, node.args)
    key = ("function", node, env)
    function = machine.memo.get(key)
    if function is None:
        function = machine.memo[key] = Function(node, env.module, env, NO_ROLE, env.klass if env.is_class else None)
    function.defaults = defaults
    value = of(function)
    for decorator in reversed(node.decorator_list):
        value = _decorated(machine, env, function, decorator, value)
    env.names[node.name] = value
    machine.later(function, env.origin)  # what is written inside a pure function's body belongs to its body


def _decorated(machine: Machine, env: Environment, function: Function, node: ast.expr, value: Value) -> Value:
    decorator = machine.evaluate(env, node)
    given = Arguments(node, [Given(node, value)])
    for one in decorator.refs:
        if type(one) is Role:
            decorate(one, Arguments(node, [Given(node, of(function))]))
            return of(function) if value.refs != (function,) else value
        if type(one) is Named and one.kind == "library":
            return call_named(machine, env, one, given)
        if type(one) is Named and (name := one.name.rpartition(".")[2]) in _TRANSPARENT:
            function.decorated |= {name}
            return value
        if type(one) is Function:
            result = call_value(machine, env, of(one), given)
            return result if result.refs else value
    if isinstance(node, ast.Attribute) and node.attr in _TRANSPARENT:
        function.decorated |= {node.attr}
    elif not (isinstance(node, ast.Call) and _ends_well(node.func)):
        function.opaque = function.role is NO_ROLE
    return value


def _ends_well(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in _TRANSPARENT


def define_class(machine: Machine, env: Environment, node: ast.ClassDef) -> None:
    """Binds a class: its fields, its methods, its known bases."""
    klass = machine.memo.get(("class", node))
    if klass is None:
        klass = machine.memo[("class", node)] = Klass(node, env.module)
    klass.bases = []
    for base in node.bases:
        found = machine.evaluate(env, base)
        for one in found.refs:
            if type(one) is Klass and one is not klass:
                klass.bases.append(one)
            elif type(one) is Named and one.name.rpartition(".")[2] in (
                "TypedDict",
                "NamedTuple",
                "BaseModel",
                "Struct",
            ):
                klass.kind = "typed"
        if not found.refs and found.kinds & UNKNOWN:
            klass.kind = klass.kind or "foreign"
    for keyword in node.keywords:
        machine.evaluate(env, keyword.value)
    for decorator in node.decorator_list:
        machine.evaluate(env, decorator)
    env.names[node.name] = of(klass)
    inner = Environment(env.module, env)
    inner.is_class, inner.klass, inner.origin = True, klass, env.origin
    machine.run(inner, node.body)
    klass.members = {name: value for name, value in inner.names.items() if name not in klass.fields or value.refs}


def hoist(machine: Machine, env: Environment, body: list[Any]) -> None:
    """Binds the functions and imports at the top of a module before it runs: modules may import in a circle."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
            key = ("function", node, env)
            function = machine.memo[key] = Function(node, env.module, env, NO_ROLE)
            env.names.setdefault(node.name, of(function))


def _expr(machine: Machine, env: Environment, node: ast.Expr) -> None:
    machine.evaluate(env, node.value)


def _assign(machine: Machine, env: Environment, node: ast.Assign) -> None:
    pairs = _pairwise(node)
    if pairs is not None:
        values = [machine.evaluate(env, source) for _, source in pairs]
        for (target, source), value in zip(pairs, values, strict=True):
            assign(machine, env, target, value, source)
        return
    value = machine.evaluate(env, node.value)
    for target in node.targets:
        assign(machine, env, target, value, node.value)


def _pairwise(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]] | None:
    """`a, b = x, y`: no tuple is made, so each is assigned by itself, with its own place."""
    target, source = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Tuple) or not isinstance(source, ast.Tuple):
        return None
    if len(target.elts) != len(source.elts) or any(
        isinstance(one, ast.Starred) for one in (*target.elts, *source.elts)
    ):
        return None
    return list(zip(target.elts, source.elts, strict=True))


def _ann_assign(machine: Machine, env: Environment, node: ast.AnnAssign) -> None:
    slot = machine.slot(env, node.annotation)
    if isinstance(node.target, ast.Name):
        if env.is_class and env.klass is not None:
            env.klass.fields[node.target.id] = slot
        elif slot is not OPEN:
            env.slots[node.target.id] = slot
    elif isinstance(node.target, ast.Attribute):
        receiver = machine.evaluate(env, node.target.value)
        for one in receiver.refs:
            klass = getattr(one, "klass", None)
            if klass is not None and slot is not OPEN:
                klass.fields.setdefault(node.target.attr, slot)
    if node.value is None:
        return
    value = machine.evaluate(env, node.value)
    declare(value, slot)
    if env.is_class:
        machine.flow(env, node.value, value, slot, "field")
    elif not isinstance(node.target, ast.Name):
        machine.flow(env, node.value, value, slot, "binding")
    assign(machine, env, node.target, value, node.value)


def _aug_assign(machine: Machine, env: Environment, node: ast.AugAssign) -> None:
    target = node.target
    load = ast.copy_location(_as_load(target), target)
    left, right = machine.evaluate(env, load), machine.evaluate(env, node.value)
    if isinstance(node.op, ast.Mod) and isinstance(left.const, str):
        machine.flow_anywhere(env, node, right, "formatting", "`%`")
        right = SOME_PLAIN
    found = [one for one in cells(left) if one.kind != "instance"]
    if found and not right.wrapped:
        for one in found:
            element = inside(right) if one.kind == "dict" else elements(right)
            if one.declared is not None and one.declared.element is not None:
                machine.flow(env, node.value, element, one.declared.element, "element")
            machine.put(one, None, element)
        assign(machine, env, target, left, node.value)
    else:
        assign(machine, env, target, derive(left, right, "a computation"), node.value)


def _as_load(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load())


def _return(machine: Machine, env: Environment, node: ast.Return) -> None:
    value = machine.evaluate(env, node.value) if node.value is not None else BARE_NONE
    if env.live:
        returned(machine, env, node, value)
    env.live = False


def _raise(machine: Machine, env: Environment, node: ast.Raise) -> None:
    for one in (node.exc, node.cause):
        if one is not None:
            machine.taken(env, one, "raise")
    env.live = False


def _assert(machine: Machine, env: Environment, node: ast.Assert) -> None:
    truth(machine, env, node.test)
    if node.msg is not None:
        machine.taken(env, node.msg, "raise", "the message of an assertion")
    env.names = narrowed(machine, env, node.test, True)
    if isinstance(node.test, ast.Constant) and not node.test.value:
        env.live = False


def _nothing(machine: Machine, env: Environment, node: ast.stmt) -> None:
    """`pass`."""


def _delete(machine: Machine, env: Environment, node: ast.Delete) -> None:
    for one in node.targets:
        if isinstance(one, ast.Name):
            env.names.pop(one.id, None)
        elif isinstance(one, ast.Subscript):
            machine.taken(env, one.slice, "index")


def _global(machine: Machine, env: Environment, node: ast.Global) -> None:
    env.globals.update(node.names)


def _nonlocal(machine: Machine, env: Environment, node: ast.Nonlocal) -> None:
    env.nonlocals.update(node.names)


def _import(machine: Machine, env: Environment, node: ast.Import) -> None:
    for one in node.names:
        name = one.name if one.asname else one.name.partition(".")[0]
        env.names[one.asname or name] = of(Named("module", name))


def _import_from(machine: Machine, env: Environment, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for one in node.names:
        if one.name == "*":
            env.module.env.stars.append(module)
        else:
            env.names[one.asname or one.name] = imported(module, one.name)


def _type_alias(machine: Machine, env: Environment, node: Any) -> None:
    env.names[node.name.id] = of(TypeForm(node.value, env))


STATEMENTS: Final[dict[type, Statement]] = FLOW | {
    ast.AnnAssign: _ann_assign,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFunctionDef: define_function,
    ast.AugAssign: _aug_assign,
    ast.ClassDef: define_class,
    ast.Delete: _delete,
    ast.Expr: _expr,
    ast.FunctionDef: define_function,
    ast.Global: _global,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Nonlocal: _nonlocal,
    ast.Pass: _nothing,
    ast.Raise: _raise,
    ast.Return: _return,
}
if alias := getattr(ast, "TypeAlias", None):
    STATEMENTS[alias] = _type_alias  # Python 3.12
