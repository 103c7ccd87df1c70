"""Branches, loops and handlers: states are followed apart and joined where their paths meet.

A loop is taken to run at least once where it comes to *missing* grounding: what only an empty list would let through
is not held against a return. It counts where it comes to laundering.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from .containers import special, spread, truth
from .model import Environment, Loop, State, cells
from .narrowing import narrowed
from .patterns import irrefutable, match_pattern
from .scopes import merge
from .targets import assign, bind
from .value_lattice import ANYTHING, BARE, NOTHING, SEVERED, SOURCELESS, Value, join, of, only

if TYPE_CHECKING:
    from .machine import Machine, Statement

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
        names = ends[0]
        for one in ends[1:]:
            names = merge(names, one)
        env.names = names


def _rounds(
    machine: Machine, env: Environment, body: list[ast.stmt], begin: Any
) -> tuple[State, State | None, list[State]]:
    """Runs a loop's body until its state stands; gives the states before, after a round, and at its breaks."""
    before = env.names
    head = before
    loop = Loop()
    end: State | None = None
    for _ in range(MAX_ROUNDS):
        loop = Loop()
        env.loops.append(loop)
        env.names, env.live = dict(head), True
        begin()
        machine.run(env, body)
        env.loops.pop()
        ends = [*([env.names] if env.live else []), *loop.continues]
        if not ends:
            break
        end = ends[0]
        for one in ends[1:]:
            end = merge(end, one)
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
        found = breaks[0]
        for one in breaks[1:]:
            found = merge(found, one)
        ends = [_after(env.names, found)]
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
        is_live = env.live
        env.live = True
        if not is_live:
            env.names = dict(broken)
        machine.run(env, node.finalbody)
        env.live = env.live and is_live


def _with(machine: Machine, env: Environment, node: ast.With | ast.AsyncWith) -> None:
    suppresses = False
    before = env.names
    for item in node.items:
        value = machine.evaluate(env, item.context_expr)
        if value.wrapped:
            machine.coerced(env, item.context_expr, "with")
        suppresses = suppresses or "suppress" in ast.dump(item.context_expr)
        if item.optional_vars is not None:
            assign(
                machine,
                env,
                item.optional_vars,
                _entered(machine, env, item.context_expr, value),
                item.context_expr,
            )
    machine.run(env, node.body)
    if suppresses:
        env.names = merge(before, env.names)
        env.live = True


def _entered(machine: Machine, env: Environment, node: ast.expr, value: Value) -> Value:
    own = special(machine, env, node, value, "__enter__")
    if own is not None:
        return own
    found = NOTHING
    for one in cells(value):
        found = join(found, one.elements() if one.kind != "instance" else of(one))
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
