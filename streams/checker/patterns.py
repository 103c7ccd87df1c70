"""`case` patterns: what they compare, and what they bind. A grounded subject compared with a value is laundered."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from .model import Environment, cells
from .targets import bind
from .value_lattice import ANYTHING, NOTHING, SOME_PLAIN, UNKNOWN, Value, join, of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Machine


def match_pattern(machine: Machine, env: Environment, pattern: Any, subject: Value) -> None:
    """Follows one pattern against a subject."""
    PATTERNS[type(pattern)](machine, env, pattern, subject)


def irrefutable(pattern: ast.pattern) -> bool:
    """Whether it takes everything: a name, `_`, or an alternative that does."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or irrefutable(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(irrefutable(one) for one in pattern.patterns)


def _value(machine: Machine, env: Environment, pattern: ast.MatchValue, subject: Value) -> None:
    other = machine.evaluate(env, pattern.value)
    if subject.wrapped or other.wrapped:
        machine.coerced(env, pattern, "pattern")


def _singleton(machine: Machine, env: Environment, pattern: ast.MatchSingleton, subject: Value) -> None:
    """`case None`: a test of identity, which looks at no value."""


def _part(subject: Value) -> Value:
    found = NOTHING
    for one in cells(subject):
        found = join(found, one.elements())
    return found if found.kinds else ANYTHING if subject.kinds & UNKNOWN or subject.refs else SOME_PLAIN


def _sequence(machine: Machine, env: Environment, pattern: ast.MatchSequence, subject: Value) -> None:
    for place, one in enumerate(pattern.patterns):
        part = NOTHING
        for cell in cells(subject):
            part = join(part, cell.item(place) if cell.kind == "tuple" else cell.elements())
        match_pattern(machine, env, one, part if part.kinds else _part(subject))


def _mapping(machine: Machine, env: Environment, pattern: ast.MatchMapping, subject: Value) -> None:
    for key, one in zip(pattern.keys, pattern.patterns, strict=True):
        name = machine.evaluate(env, key).const
        part = NOTHING
        for cell in cells(subject):
            part = join(part, cell.item(name))
        match_pattern(machine, env, one, part if part.kinds else _part(subject))
    if pattern.rest:
        bind(machine, env, pattern.rest, subject, pattern)


def _class(machine: Machine, env: Environment, pattern: ast.MatchClass, subject: Value) -> None:
    machine.evaluate(env, pattern.cls)
    if subject.wrapped and (pattern.patterns or pattern.kwd_patterns):
        # Only looking at the type takes nothing away; taking parts does.
        machine.coerced(env, pattern, "pattern")
    for one in pattern.patterns:
        match_pattern(machine, env, one, _part(subject))
    for name, one in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        part = NOTHING
        for cell in cells(subject):
            part = join(part, cell.item(name))
        match_pattern(machine, env, one, part if part.kinds else ANYTHING)


def _star(machine: Machine, env: Environment, pattern: ast.MatchStar, subject: Value) -> None:
    if pattern.name:
        cell = machine.cell(pattern, "list")
        machine.put(cell, None, subject)
        bind(machine, env, pattern.name, of(cell), pattern)


def _as(machine: Machine, env: Environment, pattern: ast.MatchAs, subject: Value) -> None:
    if pattern.pattern is not None:
        match_pattern(machine, env, pattern.pattern, subject)
    if pattern.name:
        bind(machine, env, pattern.name, subject, pattern)


def _or(machine: Machine, env: Environment, pattern: ast.MatchOr, subject: Value) -> None:
    for one in pattern.patterns:
        match_pattern(machine, env, one, subject)


PATTERNS: Final[dict[type, Callable[[Machine, Environment, Any, Value], None]]] = {
    ast.MatchAs: _as,
    ast.MatchClass: _class,
    ast.MatchMapping: _mapping,
    ast.MatchOr: _or,
    ast.MatchSequence: _sequence,
    ast.MatchSingleton: _singleton,
    ast.MatchStar: _star,
    ast.MatchValue: _value,
}
