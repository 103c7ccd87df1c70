"""Assignments, patterns and control flow: what a target or a `case` binds, and how `if`, loops, `try`, `with` and
`match` join the states of their paths.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from .containers import elements, narrowed, special, spread, truth
from .machine import merge
from .model import (
    ANYTHING,
    BARE,
    NOTHING,
    SEVERED,
    SOME_PLAIN,
    SOURCELESS,
    UNKNOWN,
    Environment,
    Klass,
    Loop,
    Named,
    State,
    Value,
    cells,
    field_slot,
    join,
    of,
    only,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Machine, Statement


def assign(machine: Machine, env: Environment, target: ast.expr, value: Value, source: ast.AST) -> None:
    """Assigns to any target; `source` is where a finding about the value points."""
    if isinstance(target, ast.Name):
        bind(machine, env, target.id, value, source)
    elif isinstance(target, ast.Attribute):
        _to_attribute(machine, env, target, value, source)
    elif isinstance(target, ast.Subscript):
        _to_item(machine, env, target, value, source)
    elif isinstance(target, ast.Tuple | ast.List):
        _apart(machine, env, target, value, source)
    elif isinstance(target, ast.Starred):
        assign(machine, env, target.value, value, source)


def bind(machine: Machine, env: Environment, name: str, value: Value, source: ast.AST) -> None:
    """Binds a name, in the environment that it belongs to."""
    home = _home(env, name)
    slot = home.slots.get(name)
    if home is not env:
        machine.flow_anywhere(env, source, value, "global", name)
        old = home.names.get(name, NOTHING)
        new = join(old, value)
        if new != old:
            home.names = home.names | {name: new}
            machine.dirty = True
        return
    if slot is not None:
        machine.flow(env, source, value, slot, "binding", name)
    env.names[name] = value


def _home(env: Environment, name: str) -> Environment:
    if name in env.globals:
        return env.module.env
    if name in env.nonlocals:
        outer = env.parent
        while outer is not None:
            if name in outer.names and not outer.is_class:
                return outer
            outer = outer.parent
    return env


def _to_attribute(machine: Machine, env: Environment, target: ast.Attribute, value: Value, source: ast.AST) -> None:
    receiver = machine.evaluate(env, target.value)
    if receiver.wrapped:
        machine.coerced(env, target, "attribute", target.attr)
    _out_of_sight(machine, env, receiver, value, source, target.attr)
    for one in receiver.refs:
        klass = one if type(one) is Klass else getattr(one, "klass", None)
        if isinstance(klass, Klass):
            machine.flow(env, source, value, field_slot(klass, target.attr), "binding", f"{klass.name}.{target.attr}")
            machine.put(klass.cell, target.attr, value)


def _to_item(machine: Machine, env: Environment, target: ast.Subscript, value: Value, source: ast.AST) -> None:
    receiver = machine.evaluate(env, target.value)
    key = machine.taken(env, target.slice, "index")
    _out_of_sight(machine, env, receiver, value, source, "an item")
    for one in cells(receiver):
        if one.declared is not None and one.declared.element is not None:
            machine.flow(env, source, value, one.declared.element, "element")
        machine.mixed(env, source, one, value)
        if one.declared is not None and one.declared.klass is not None and isinstance(key.const, str):
            machine.flow(env, source, value, field_slot(one.declared.klass, key.const), "field")
        one.keys = join(one.keys, key) if one.kind == "dict" else one.keys
        machine.put(one, key.const if one.kind == "dict" else None, value)


def _out_of_sight(
    machine: Machine, env: Environment, receiver: Value, value: Value, source: ast.AST, name: str
) -> None:
    """What is put into another module is a global assignment."""
    if any(type(one) is Named and one.kind in ("external", "module") for one in receiver.refs):
        machine.flow_anywhere(env, source, value, "global", name)


def _apart(machine: Machine, env: Environment, target: ast.Tuple | ast.List, value: Value, source: ast.AST) -> None:
    if value.wrapped:
        machine.coerced(env, source, "unpacking")
    found = [one for one in cells(value) if one.kind != "instance"]
    starred = False
    for place, one in enumerate(target.elts):
        part = union(cell.elements() if starred or cell.kind != "tuple" else cell.item(place) for cell in found)
        if not part.kinds:
            part = elements(value) if value.wrapped or not value.refs else ANYTHING
        if isinstance(one, ast.Starred):
            starred = True
            rest = machine.cell(one, "list")
            machine.put(rest, None, part)
            part = of(rest)
        assign(machine, env, one, part, source)


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
    found = union(one.elements() for one in cells(subject))
    return found if found.kinds else ANYTHING if subject.kinds & UNKNOWN or subject.refs else SOME_PLAIN


def _sequence(machine: Machine, env: Environment, pattern: ast.MatchSequence, subject: Value) -> None:
    for place, one in enumerate(pattern.patterns):
        part = union(cell.item(place) if cell.kind == "tuple" else cell.elements() for cell in cells(subject))
        match_pattern(machine, env, one, part if part.kinds else _part(subject))


def _mapping(machine: Machine, env: Environment, pattern: ast.MatchMapping, subject: Value) -> None:
    for key, one in zip(pattern.keys, pattern.patterns, strict=True):
        name = machine.evaluate(env, key).const
        part = union(cell.item(name) for cell in cells(subject))
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
        part = union(cell.item(name) for cell in cells(subject))
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


MAX_ROUNDS: Final = 4
"""Rounds of a loop's body until its state stands: kinds only grow, and chains of names are short."""


def _if(machine: Machine, env: Environment, node: ast.If) -> None:
    # A long chain of elif is one deep right arm: walked in a loop, it costs no depth.
    ends: list[State] = []
    current: ast.If | None = node
    while current is not None:
        truth(machine, env, current.test)
        before = env.names
        env.names = dict(narrowed(machine, env, current.test, True))
        machine.run(env, current.body)
        if env.live:
            ends.append(env.names)
        env.live = True
        env.names = before
        env.names = dict(narrowed(machine, env, current.test, False))
        orelse = current.orelse
        current = orelse[0] if len(orelse) == 1 and isinstance(orelse[0], ast.If) else None
        if current is None:
            machine.run(env, orelse)
            if env.live:
                ends.append(env.names)
    _meet(env, ends)


def _meet(env: Environment, ends: list[State]) -> None:
    """Goes on with the union of the states that arrive, or not at all."""
    env.live = bool(ends)
    if ends:
        env.names = reduce(merge, ends)


def _rounds(
    machine: Machine, env: Environment, body: list[ast.stmt], begin: Any
) -> tuple[State, State | None, list[State]]:
    """Runs a loop's body until its state stands; gives the states before, after a round, and at its breaks."""
    before = head = env.names
    loop = Loop([], [])
    end: State | None = None
    for _ in range(MAX_ROUNDS):
        loop = Loop([], [])
        env.loops.append(loop)
        env.names, env.live = dict(head), True
        begin()
        machine.run(env, body)
        env.loops.pop()
        ends = [*([env.names] if env.live else []), *loop.continues]
        if not ends:
            break
        end = reduce(merge, ends)
        grown = merge(head, end)
        if grown == head:
            break
        head = grown
    return before, end, loop.breaks


def _after(before: State, end: State | None) -> State:
    """The state after a loop that may not have run: no missing grounding is inferred from that."""
    if end is None:
        return before
    names = merge(before, end)
    for name, value in end.items():
        if not value.kinds & (BARE | SOURCELESS | SEVERED) and name in before:
            names[name] = only(names[name], ~(BARE | SOURCELESS | SEVERED))
    return names


def _for(machine: Machine, env: Environment, node: ast.For | ast.AsyncFor) -> None:
    value = machine.evaluate(env, node.iter)

    def begin() -> None:
        assign(machine, env, node.target, spread(machine, env, node.iter, value), node.iter)

    before, end, breaks = _rounds(machine, env, node.body, begin)
    env.names, env.live = (_after(before, end) if end or not breaks else before), True
    machine.run(env, node.orelse)
    ends = [*([env.names] if env.live else []), *breaks]
    if breaks and not node.orelse:
        # Left by a break or run to its end: a search that finds nothing is no missing grounding either.
        ends = [_after(env.names, reduce(merge, breaks))]
    _meet(env, ends)


def _while(machine: Machine, env: Environment, node: ast.While) -> None:
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def begin() -> None:
        truth(machine, env, node.test)
        env.names = dict(narrowed(machine, env, node.test, True))

    before, end, breaks = _rounds(machine, env, node.body, begin)
    ends = list(breaks)
    if not endless:
        env.names, env.live = _after(before, end), True
        env.names = dict(narrowed(machine, env, node.test, False))
        machine.run(env, node.orelse)
        if env.live:
            ends.append(env.names)
    _meet(env, ends)


def _break(machine: Machine, env: Environment, node: ast.Break) -> None:
    if env.loops:
        env.loops[-1].breaks.append(env.names)
    env.live = False


def _continue(machine: Machine, env: Environment, node: ast.Continue) -> None:
    if env.loops:
        env.loops[-1].continues.append(env.names)
    env.live = False


def _try(machine: Machine, env: Environment, node: Any) -> None:
    broken: State = dict(env.names)
    for one in node.body:
        if not env.live:
            break
        machine.run(env, [one])
        broken = merge(broken, env.names)
    if env.live:
        machine.run(env, node.orelse)
    ends = [env.names] if env.live else []
    for handler in node.handlers:
        env.names, env.live = dict(broken), True
        if handler.type is not None:
            machine.evaluate(env, handler.type)
        if handler.name:
            bind(machine, env, handler.name, ANYTHING, handler)
        machine.run(env, handler.body)
        if env.live:
            ends.append(env.names)
    _meet(env, ends)
    if node.finalbody:
        is_live, env.live = env.live, True
        if not is_live:
            env.names = dict(broken)
        machine.run(env, node.finalbody)
        env.live = env.live and is_live


def _with(machine: Machine, env: Environment, node: ast.With | ast.AsyncWith) -> None:
    suppresses = False
    before = env.names
    for item in node.items:
        source = item.context_expr
        value = machine.taken(env, source, "with")
        suppresses = suppresses or "suppress" in ast.dump(source)
        if item.optional_vars is not None:
            assign(machine, env, item.optional_vars, _entered(machine, env, source, value), source)
    machine.run(env, node.body)
    if suppresses:
        env.names = merge(before, env.names)
        env.live = True


def _entered(machine: Machine, env: Environment, node: ast.expr, value: Value) -> Value:
    own = special(machine, env, node, value, "__enter__")
    if own is not None:
        return own
    found = union(one.elements() if one.kind != "instance" else of(one) for one in cells(value))
    return found if found.kinds else ANYTHING


def _match(machine: Machine, env: Environment, node: ast.Match) -> None:
    subject = machine.evaluate(env, node.subject)
    ends: list[State] = []
    whole = False
    before = env.names
    for case in node.cases:
        env.names, env.live = dict(before), True
        match_pattern(machine, env, case.pattern, subject)
        if case.guard is not None:
            truth(machine, env, case.guard)
            env.names = dict(narrowed(machine, env, case.guard, True))
        machine.run(env, case.body)
        if env.live:
            ends.append(env.names)
        whole = whole or (irrefutable(case.pattern) and case.guard is None)
    if not whole and ends:
        ends.append(before)
    _meet(env, ends)


FLOW: Final[dict[type, Statement]] = {
    ast.AsyncFor: _for,
    ast.AsyncWith: _with,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.For: _for,
    ast.If: _if,
    ast.Match: _match,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.While: _while,
    ast.With: _with,
}
