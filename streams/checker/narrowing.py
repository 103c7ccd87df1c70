"""What a condition tells of the names in it: `is None`, truth, `isinstance(…, Grounded)`, and their negations.

Without it every `doc = None` before a loop would be held against the return after `if doc is None: raise`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .value_lattice import BARE, MAYBE, NONE, UNKNOWN, WRAPPED, Named, Value, only

if TYPE_CHECKING:
    from .machine import Machine
    from .model import Environment, State


def narrowed(machine: Machine, env: Environment, test: ast.expr, positive: bool) -> State:
    """The names as they are where the test is true, or where it is not."""
    changes: dict[str, Value] = {}
    _collect(machine, env, test, positive, changes)
    return env.names | changes if changes else env.names


def _collect(machine: Machine, env: Environment, test: ast.expr, positive: bool, changes: dict[str, Value]) -> None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _collect(machine, env, test.operand, not positive, changes)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == positive:
            for one in test.values:
                _collect(machine, env, one, positive, changes)
    elif isinstance(test, ast.NamedExpr):
        _collect(machine, env, test.target, positive, changes)
    elif isinstance(test, ast.Name):
        if positive:
            _keep(env, test.id, ~NONE, changes)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _compared(env, test, positive, changes)
    elif isinstance(test, ast.Call) and len(test.args) == 2 and getattr(test.func, "id", "") == "isinstance":
        _instance(machine, env, test, positive, changes)


def _compared(env: Environment, test: ast.Compare, positive: bool, changes: dict[str, Value]) -> None:
    left = test.left.target if isinstance(test.left, ast.NamedExpr) else test.left
    other = test.comparators[0]
    if not isinstance(left, ast.Name) or not isinstance(other, ast.Constant) or other.value is not None:
        return
    if isinstance(test.ops[0], ast.Is | ast.Eq):
        _keep(env, left.id, NONE | UNKNOWN if positive else ~NONE, changes)
    elif isinstance(test.ops[0], ast.IsNot | ast.NotEq):
        _keep(env, left.id, ~NONE if positive else NONE | UNKNOWN, changes)


def _instance(machine: Machine, env: Environment, test: ast.Call, positive: bool, changes: dict[str, Value]) -> None:
    subject = test.args[0]
    if not isinstance(subject, ast.Name):
        return
    kinds = machine.evaluate(env, test.args[1]).refs
    if any(type(one) is Named and one.kind == "library" and one.name == "Grounded" for one in kinds):
        old = changes.get(subject.id, env.names.get(subject.id))
        if positive and old is not None and old.kinds & UNKNOWN and not old.wrapped:
            changes[subject.id] = Value(MAYBE, old.confidence, old.data, True)
        else:
            _keep(env, subject.id, WRAPPED if positive else BARE | UNKNOWN, changes)
    elif kinds and all(type(one) is Named and one.kind == "builtin" for one in kinds):
        _keep(env, subject.id, BARE & ~NONE | UNKNOWN if positive else ~0, changes)


def _keep(env: Environment, name: str, kinds: int, changes: dict[str, Value]) -> None:
    old = changes.get(name, env.names.get(name))
    if old is not None:
        new = only(old, kinds)
        if new is not old:
            changes[name] = new
