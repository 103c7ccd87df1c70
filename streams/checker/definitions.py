"""`def` and `class`: decorators are read for what they say of a function's part in grounding, bodies follow later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import known
from .calls import call_value
from .expressions import default_slots
from .model import Arguments, Environment, Function, Given, Klass
from .roles import NO_ROLE
from .value_lattice import UNKNOWN, Named, Value, of

if TYPE_CHECKING:
    from .machine import Machine

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
    machine.later(function, _origin(env))


def _origin(env: Environment) -> str:
    """What is written inside a pure function's body belongs to its body."""
    return env.origin


def _decorated(machine: Machine, env: Environment, function: Function, node: ast.expr, value: Value) -> Value:
    decorator = machine.evaluate(env, node)
    given = Arguments(node, [Given(node, value)])
    for one in decorator.refs:
        if type(one) is known.Decorator:
            known.decorate(machine, env, one, Arguments(node, [Given(node, of(function))]))
            return of(function) if value.refs != (function,) else value
        if type(one) is Named and one.kind == "library":
            return known.named(machine, env, one, given)
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
