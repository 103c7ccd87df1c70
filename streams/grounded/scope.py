"""The errors of grounded values, and the scope of a call: which agent or pure function runs, and what was retrieved
in it [C §3, §9].
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Generator, MutableSequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal

from ...codecs.errors import DoesNotHoldError, cut
from ...codecs.records import Discard

PurityRule = Literal["coercion", "explicit-unwrap", "impure-call"]
"""The rules of `sluice check` under `@grounded_pure` [C §9.4]."""


class GroundedError(DoesNotHoldError):
    """Base of all errors about grounded values. Each holds its arguments as attributes of the same names."""

    def __reduce__(self) -> tuple[type[GroundedError], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in inspect.signature(type(self)).parameters)


class UngroundedReturn(GroundedError):
    """Something claims to be grounded, and its chain has no source or was severed [C §2, §3].

    Args:
        name: see below.
        because: why it is not grounded, as a part of the sentence.
        hint: what the person can do; where it is empty, a general one.

    Attributes:
        name: of the function, or what else claims it.
    """

    def __init__(self, name: str, because: str, hint: str = "") -> None:
        self.name, self.because = name, because
        hint = hint or 'return what a @tool(data="grounded") retrieved, or do not declare it Grounded'
        super().__init__(f"claims to be grounded, but {because}", path=name, hint=hint)


class CitationViolation(GroundedError):
    """A quote in an answer does not stand in the context that it cites [C §4].

    Attributes:
        prompt: the function whose answer it is.
        context: the parameter that it cites.
        span: start and end of the quote in the answer, in code points, half open, without its quotation marks.
        quote: its text.
    """

    def __init__(self, prompt: str, context: str, span: tuple[int, int], quote: str) -> None:
        self.prompt, self.context, self.span, self.quote = prompt, context, span, quote
        what = f"the quote {cut(quote)!r} at {span[0]}-{span[1]} does not stand in {context}"
        super().__init__(what, path=prompt, hint="ask again, or leave out what the context does not say")


class MinConfidenceViolation(GroundedError):
    """The weakest step of what an agent returns is below its `min_confidence` [C §7].

    Attributes:
        agent: the function.
        confidence: the least of the chain.
        least: what the agent declares.
    """

    def __init__(self, agent: str, confidence: float, least: float) -> None:
        self.agent, self.confidence, self.least = agent, confidence, least
        super().__init__(
            "the weakest step is less sure than @min_confidence",
            path=agent,
            expected=f"a confidence of {least} or more",
            got=str(confidence),
        )


class MissingDataCategory(GroundedError):
    """An agent declares a data category that nothing it did has [C §6].

    Attributes:
        agent: the function.
        missing: the categories, sorted.
        found: the categories that its steps had.
    """

    def __init__(self, agent: str, missing: tuple[str, ...], found: tuple[str, ...]) -> None:
        self.agent, self.missing, self.found = agent, missing, found
        super().__init__(
            f"declares data that no step has: {', '.join(missing)}",
            path=agent,
            hint=f"the steps have {', '.join(found) or 'none'}",
        )


class UndeclaredDiscard(GroundedError, TypeError):
    """Python would turn a grounded value into a plain one, and it is not declared that the sources may go [C §9.3].

    Attributes:
        operation: what was tried: `str`, `format`, `int`, …
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"{operation} of a grounded value would lose its sources",
            hint="use template(), .format(), Grounded.join() or .map(), or declare it: with discarding(reason)",
        )


class PurityViolation(GroundedError):
    """A function under `@grounded_pure` lets a grounded value go, or calls an agent that may [C §9.4].

    Attributes:
        rule: as `sluice check` names it.
        detail: what was done.
        where: module, function and line.
    """

    def __init__(self, rule: PurityRule, detail: str, where: str) -> None:
        self.rule: PurityRule = rule
        self.detail, self.where = detail, where
        super().__init__(f"{rule} under @grounded_pure: {detail}", path=where)


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
