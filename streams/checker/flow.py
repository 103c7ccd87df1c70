"""Branches, loops and handlers: states are followed apart and joined where their paths meet.

A loop is taken to run at least once where it comes to *missing* grounding: what only an empty list would let through
is not held against a return. It counts where it comes to laundering.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from .containers import special, spread, truth
from .model import Frame, Loop, State, cells
from .narrowing import narrowed
from .patterns import irrefutable, match_pattern
from .scopes import merge
from .targets import assign, bind
from .values import ANYTHING, BARE, NOTHING, SEVERED, SOURCELESS, Value, join, of, only

if TYPE_CHECKING:
    from .machine import Machine, Statement

MAX_ROUNDS: Final = 4
"""Rounds of a loop's body until its state stands: kinds only grow, and chains of names are short."""


def _if(machine: Machine, frame: Frame, node: ast.If) -> None:
    # A long chain of elif is one deep right arm: walked in a loop, it costs no depth.
    ends: list[State] = []
    current: ast.If | None = node
    while current is not None:
        truth(machine, frame, current.test)
        before = frame.names
        frame.names = dict(narrowed(machine, frame, current.test, True))
        machine.run(frame, current.body)
        if frame.live:
            ends.append(frame.names)
        frame.live = True
        frame.names = before
        frame.names = dict(narrowed(machine, frame, current.test, False))
        orelse = current.orelse
        current = orelse[0] if len(orelse) == 1 and isinstance(orelse[0], ast.If) else None
        if current is None:
            machine.run(frame, orelse)
            if frame.live:
                ends.append(frame.names)
    _meet(frame, ends)


def _meet(frame: Frame, ends: list[State]) -> None:
    """Goes on with the union of the states that arrive, or not at all."""
    frame.live = bool(ends)
    if ends:
        names = ends[0]
        for one in ends[1:]:
            names = merge(names, one)
        frame.names = names


def _rounds(
    machine: Machine, frame: Frame, body: list[ast.stmt], begin: Any
) -> tuple[State, State | None, list[State]]:
    """Runs a loop's body until its state stands; gives the states before, after a round, and at its breaks."""
    before = frame.names
    head = before
    loop = Loop()
    end: State | None = None
    for _ in range(MAX_ROUNDS):
        loop = Loop()
        frame.loops.append(loop)
        frame.names, frame.live = dict(head), True
        begin()
        machine.run(frame, body)
        frame.loops.pop()
        ends = [*([frame.names] if frame.live else []), *loop.continues]
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


def _for(machine: Machine, frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    value = machine.evaluate(frame, node.iter)

    def begin() -> None:
        assign(machine, frame, node.target, spread(machine, frame, node.iter, value), node.iter)

    before, end, breaks = _rounds(machine, frame, node.body, begin)
    frame.names, frame.live = (_after(before, end) if end or not breaks else before), True
    machine.run(frame, node.orelse)
    ends = [*([frame.names] if frame.live else []), *breaks]
    if breaks and not node.orelse:
        # Left by a break or run to its end: a search that finds nothing is no missing grounding either.
        found = breaks[0]
        for one in breaks[1:]:
            found = merge(found, one)
        ends = [_after(frame.names, found)]
    _meet(frame, ends)


def _while(machine: Machine, frame: Frame, node: ast.While) -> None:
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def begin() -> None:
        truth(machine, frame, node.test)
        frame.names = dict(narrowed(machine, frame, node.test, True))

    before, end, breaks = _rounds(machine, frame, node.body, begin)
    ends = list(breaks)
    if not endless:
        frame.names, frame.live = _after(before, end), True
        frame.names = dict(narrowed(machine, frame, node.test, False))
        machine.run(frame, node.orelse)
        if frame.live:
            ends.append(frame.names)
    _meet(frame, ends)


def _break(machine: Machine, frame: Frame, node: ast.Break) -> None:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.names)
    frame.live = False


def _continue(machine: Machine, frame: Frame, node: ast.Continue) -> None:
    if frame.loops:
        frame.loops[-1].continues.append(frame.names)
    frame.live = False


def _try(machine: Machine, frame: Frame, node: Any) -> None:
    broken: State = dict(frame.names)
    for one in node.body:
        if not frame.live:
            break
        machine.run(frame, [one])
        broken = merge(broken, frame.names)
    if frame.live:
        machine.run(frame, node.orelse)
    ends = [frame.names] if frame.live else []
    for handler in node.handlers:
        frame.names, frame.live = dict(broken), True
        if handler.type is not None:
            machine.evaluate(frame, handler.type)
        if handler.name:
            bind(machine, frame, handler.name, ANYTHING, handler)
        machine.run(frame, handler.body)
        if frame.live:
            ends.append(frame.names)
    _meet(frame, ends)
    if node.finalbody:
        is_live = frame.live
        frame.live = True
        if not is_live:
            frame.names = dict(broken)
        machine.run(frame, node.finalbody)
        frame.live = frame.live and is_live


def _with(machine: Machine, frame: Frame, node: ast.With | ast.AsyncWith) -> None:
    suppresses = False
    before = frame.names
    for item in node.items:
        value = machine.evaluate(frame, item.context_expr)
        if value.wrapped:
            machine.coerced(frame, item.context_expr, "with")
        suppresses = suppresses or "suppress" in ast.dump(item.context_expr)
        if item.optional_vars is not None:
            assign(
                machine,
                frame,
                item.optional_vars,
                _entered(machine, frame, item.context_expr, value),
                item.context_expr,
            )
    machine.run(frame, node.body)
    if suppresses:
        frame.names = merge(before, frame.names)
        frame.live = True


def _entered(machine: Machine, frame: Frame, node: ast.expr, value: Value) -> Value:
    own = special(machine, frame, node, value, "__enter__")
    if own is not None:
        return own
    found = NOTHING
    for one in cells(value):
        found = join(found, one.elements() if one.kind != "instance" else of(one))
    return found if found.kinds else ANYTHING


def _match(machine: Machine, frame: Frame, node: ast.Match) -> None:
    subject = machine.evaluate(frame, node.subject)
    ends: list[State] = []
    whole = False
    before = frame.names
    for case in node.cases:
        frame.names, frame.live = dict(before), True
        match_pattern(machine, frame, case.pattern, subject)
        if case.guard is not None:
            truth(machine, frame, case.guard)
            frame.names = dict(narrowed(machine, frame, case.guard, True))
        machine.run(frame, case.body)
        if frame.live:
            ends.append(frame.names)
        whole = whole or (irrefutable(case.pattern) and case.guard is None)
    if not whole and ends:
        ends.append(before)
    _meet(frame, ends)


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
