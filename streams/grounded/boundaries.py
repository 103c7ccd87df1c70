"""A function under a decorator: its arguments taken apart, its body run, its result put together.

What a tool, a prompt and an agent each contribute is in `constructs.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from ...codecs.errors import UsageError
from . import answers, scope
from .answers import GROUNDED, Answer, answer_of
from .carrier import Cited, Parts, are_mixed, carries, carry, parts
from .declared import Declared, declared
from .provenance_chain import ProvenanceChain
from .scope import Scope
from .value import Grounded

PURE = "__grounded_pure__"
"""The mark of a function under `@grounded_pure`."""
BOUNDARY = "__grounded_boundary__"
"""Where a decorated function holds its `Boundary`."""


class Call(NamedTuple):
    """One call under way.

    Attributes:
        args, kwargs: as the function gets them.
        plain: every argument by its parameter's name, taken out of its wrapper.
        taken: what the grounded arguments carry, in order.
        scope: what its body does.
        mixed: whether the caller gave something that has sources, and something that has none [C §3].
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    plain: dict[str, Any]
    taken: list[Parts]
    scope: Scope
    mixed: bool = False


class Boundary:
    """A function under a decorator: what comes in, what goes out. Invariant: never changes after it is made."""

    unwraps = True

    def __init__(
        self, function: Callable[..., Any], data: Iterable[str] | str, confidence: float | None = None
    ) -> None:
        refuse_generators(function)
        answers.check_confidence("confidence", confidence)
        self.function, self.name = function, getattr(function, "__name__", type(function).__name__)
        self.data, self.confidence = answers.categories(data), confidence
        self.grounded = GROUNDED in self.data
        self.signature = inspect.signature(function)

    @cached_property
    def declared(self) -> Declared:
        """What the annotations say; they may name what is not there before the first call."""
        return declared(self.function)

    def check_parameters(self, option: str, names: Iterable[str]) -> None:
        """Parameters that an option of the decorator names.

        Raises:
            UsageError: the function has no such parameter.
        """
        known = ", ".join(self.signature.parameters) or "none"
        for name in names:
            if name not in self.signature.parameters:
                what = f"{option} names a parameter that is not there"
                raise UsageError(what, path=self.name, expected=f"one of {known}", got=repr(name))

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Takes the arguments apart.

        Raises:
            PurityViolation: under `@grounded_pure`, of a tool or prompt that is given something grounded and whose
                result is plain.
        """
        bound = self.signature.bind(*args, **kwargs)
        given = [argument for name, argument in bound.arguments.items() if name not in ("self", "cls")]
        bound.apply_defaults()
        plain: dict[str, Any] = {}
        taken: list[Parts] = []
        for name, argument in bound.arguments.items():
            found = parts(argument)
            plain[name] = found.value
            if found.value is not argument:
                taken.append(found)
                if self.unwraps and name not in self.declared.takes:
                    bound.arguments[name] = found.value
        if taken and self.unwraps and self.declared.loses and not self.grounded:
            scope.record("argument")  # its result keeps nothing of the sources [C §9.3, §9.4]
        return Call(bound.args, bound.kwargs, plain, taken, self.open_scope(), are_mixed(given))

    def open_scope(self) -> Scope:
        """A boundary's own body may do as it likes."""
        return Scope()

    def end(self, call: Call, result: Any) -> Any:
        """The result with its chain.

        Raises:
            GroundedError: it is not what the function declares.
        """
        answer = answer_of(result)
        inner = parts(answer.value)
        chain = None if self.nothing(inner) else self.chain(call, answer, inner)
        scope.current().data.update(call.scope.data, self.data)
        if chain is None:
            # Declared plain: so it is. What it contains (`list[Grounded[str]]`) stays as it is.
            return inner.value if self.declared.returns == "plain" and carries(answer.value) else answer.value
        return carry(Grounded, inner.value, chain, self.cited(call, inner))

    def chain(self, call: Call, answer: Answer[Any], inner: Parts) -> ProvenanceChain | None:
        """The chain of the result; None where it stays as it is."""
        raise NotImplementedError

    def cited(self, call: Call, inner: Parts) -> Cited:
        """What the result may quote from: what its parts may."""
        return inner.cited

    def nothing(self, inner: Parts) -> bool:
        """Whether the result is the None of `-> Grounded[…] | None`, which claims nothing."""
        return inner.value is None and self.declared.optional and self.declared.returns == "grounded"

    def becomes_grounded(self, *chains: ProvenanceChain) -> bool:
        """Whether the result gets the wrapper: so declared, or of grounded data, or undeclared and made of such."""
        returns = self.declared.returns
        return self.grounded or returns == "grounded" or (returns == "unknown" and any(chains))


def mark_pure(function: Callable[..., Any]) -> None:
    """Marks a function, and what it wraps: `@grounded_pure` may stand above `@agent` or below it."""
    one: Any = function
    while one is not None:
        setattr(one, PURE, True)
        boundary: Boundary | None = getattr(one, BOUNDARY, None)
        one = None if boundary is None or boundary.function is one else boundary.function


def refuse_generators(function: Callable[..., Any]) -> None:
    """Decorated functions return once.

    Raises:
        UsageError: it is a generator: what it yields would go out before anything could be checked.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise UsageError("a generator has no one result to be grounded", path=name, hint="return a list")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; of an object that can be called, whether its `__call__` does."""
    called = inspect.getattr_static(function, "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
