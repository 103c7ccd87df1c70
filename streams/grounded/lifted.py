"""What the decorators make of a function, for type checkers: the same call, with a grounded result [C §9.1].

The first way to call is the function's own, so that an editor shows its parameters. The second takes anything, since a
grounded argument may stand wherever a plain one may, and no type says that of another function's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from .answers import Answer
from .value import Grounded

P = ParamSpec("P")
Q = ParamSpec("Q")
T = TypeVar("T")
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)

IsGrounded = (
    Literal["grounded"]
    | AbstractSet[Literal["grounded"]]
    | list[Literal["grounded"]]
    | tuple[Literal["grounded"], *tuple[str, ...]]
)
"""Data that a type checker knows to be grounded. Of a set of several strings it does not know which it holds: there the
function itself should say `-> Grounded[…]`, or the categories stand in a tuple that begins with "grounded"."""


class Lifted(Protocol, Generic[P, R_co]):
    """A function under `@tool`, `@prompt` or `@agent`: grounded and plain arguments in, the result as declared."""

    __name__: str
    __qualname__: str
    __doc__: str | None

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> Lifted[P, R_co]: ...
    @overload
    def __get__(
        self: Lifted[Concatenate[S, Q], R_co], instance: S, owner: type | None = None, /
    ) -> Lifted[Q, R_co]: ...


class GroundedResult(Protocol):
    """A decorator that makes every result grounded, also one that is declared plain."""

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # narrower first: meant so
        self, function: Callable[P, Coroutine[Any, Any, Grounded[T] | Answer[T]]], /
    ) -> Lifted[P, Coroutine[Any, Any, Grounded[T]]]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> Lifted[P, Coroutine[Any, Any, Grounded[T]]]: ...
    @overload
    def __call__(self, function: Callable[P, Grounded[T] | Answer[T]], /) -> Lifted[P, Grounded[T]]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> Lifted[P, Grounded[T]]: ...


class DeclaredResult(Protocol):
    """A decorator that leaves the result as it is declared; an answer is what it answers."""

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]
        self, function: Callable[P, Coroutine[Any, Any, Answer[T]]], /
    ) -> Lifted[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __call__(self, function: Callable[P, Answer[T]], /) -> Lifted[P, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> Lifted[P, T]: ...
