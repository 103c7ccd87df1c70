"""Which function is running, the record of its discards, and whether it may discard [C §9.2 to §9.4].

Every agent runs in a scope of its own; its discards go into the chain of the value that it returns. A tool or a prompt
is an external boundary: its body may discard, whichever agent called it. Outside all of them the last thousand discards
are kept, and `discards` returns them.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Generator, MutableSequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ...codecs.records import Discard
from .errors import PurityRule, PurityViolation, UndeclaredDiscard

KEPT: Final = 1000
"""Discards that are remembered of one scope: a loop that runs for days must not fill the memory."""
_PACKAGE: Final = __name__.rpartition(".")[0]


class Scope:
    """What one function under a decorator did so far.

    Attributes:
        pure: nothing may be discarded.
        discards: in order, the last `KEPT`.
        data: the categories of the tools and prompts that were called.
    """

    __slots__ = ("data", "discards", "pure")

    def __init__(self, pure: bool = False, around: Scope | None = None) -> None:
        self.pure = pure
        self.discards: MutableSequence[Discard] = deque(maxlen=KEPT) if around is None else around.discards
        self.data: set[str] = set() if around is None else around.data


_scope: ContextVar[Scope] = ContextVar("sluice.grounded.scope", default=Scope())  # noqa: B039  # bounded, and shared
_declared: ContextVar[str | None] = ContextVar("sluice.grounded.discarding", default=None)


def current() -> Scope:
    """The scope that runs."""
    return _scope.get()


@contextmanager
def opened(scope: Scope) -> Generator[Scope]:
    """Runs what is inside in this scope."""
    token, declared = _scope.set(scope), _declared.set(None)
    try:
        yield scope
    finally:
        _declared.reset(declared)
        _scope.reset(token)


@contextmanager
def discarding(reason: str) -> Generator[None]:
    """Declares that grounded values may become plain ones inside the `with`: `print(f"{answer}")` works there.

    Each time is recorded, with the reason.

    Args:
        reason: why the values may become plain; the record of each (`discards`) has it.

    Raises:
        PurityViolation: the code runs under `@grounded_pure`, which allows no discard.

    Example:
        with discarding("shown to a person, beside its sources"):
            print(f"{answer}")
    """
    if current().pure:
        raise PurityViolation("explicit-unwrap", "a discard is declared", caller())
    token = _declared.set(reason)
    try:
        yield
    finally:
        _declared.reset(token)


def discards() -> list[Discard]:
    """What was discarded so far in the scope that runs, the last thousand."""
    return list(current().discards)


def record(rule: str, kind: PurityRule = "coercion") -> None:
    """Records that a grounded value becomes a plain one.

    Raises:
        PurityViolation: it may not, under `@grounded_pure`.
    """
    scope, where, reason = current(), caller(), _declared.get()
    if scope.pure:
        raise PurityViolation(kind, rule, where)
    scope.discards.append(Discard(rule=rule, where=f"{where}: {reason}" if reason else where))


def record_declared(operation: str) -> None:
    """Records what needs a declaration.

    Raises:
        UndeclaredDiscard: there is none.
        PurityViolation: as in `record`.
    """
    if current().pure:
        raise PurityViolation("coercion", operation, caller())
    if _declared.get() is None:
        raise UndeclaredDiscard(operation)
    record(operation)


def refuse_if_pure(site: str) -> None:
    """What discards nothing that could be recorded, but is a site under `@grounded_pure` all the same [C §9.3].

    Raises:
        PurityViolation: there.
    """
    if current().pure:
        raise PurityViolation("coercion", site, caller())


def caller() -> str:
    """Module, function and line of the nearest code that is not ours; no path of the machine."""
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module != _PACKAGE and not module.startswith(f"{_PACKAGE}.") and module != "contextlib":
            return f"{module}.{frame.f_code.co_qualname}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
