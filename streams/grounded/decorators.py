"""`@tool`, `@prompt`, `@agent` and `@grounded_pure` [C §1, §2, §9]: the names that programs and `sluice check` know.

Each takes plain and `async` functions and methods, keeps signature, name and docstring, and may stand without
parentheses. What a call contributes to a chain is in `constructs.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast, overload

from ...codecs.errors import UsageError
from .boundaries import BOUNDARY, Boundary, is_async, mark_pure, refuse_generators
from .citations import Strictness
from .constructs import Agent, Prompt, Tool
from .lifted import DeclaredResult, GroundedResult, IsGrounded, Lifted, P, T
from .scope import Scope, current, opened

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: Callable[P, T], /) -> Lifted[P, T]: ...
@overload
def tool(  # pyright: ignore[reportOverlappingOverload]  # a narrower type, another result: meant so
    *, data: IsGrounded, confidence: float | None = None, source: str | None = None
) -> GroundedResult: ...
@overload
def tool(
    *, data: str | Iterable[str] = (), confidence: float | None = None, source: str | None = None
) -> DeclaredResult: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    data: str | Iterable[str] = (),
    confidence: float | None = None,
    source: str | None = None,
) -> Any:
    """An external source or computation. Its body gets plain arguments, and returns a plain value or an `Answer`.

    Args:
        function: the body, where the decorator stands without parentheses.
        data: its categories [C §6]; with `grounded` among them it is a source, and every result is `Grounded`.
        confidence: how sure it is at the best, 0 to 1.
        source: what a retrieval step calls the source, with the parameters' names in braces: `"docs/{name}"`. Without
            it the tool's name; `Answer(source=…)` goes before both.

    Raises (from the call):
        UngroundedReturn: it is declared `Grounded`, and neither data nor an argument says where from.
    """
    return _decorator(function, lambda inner: Tool(inner, data, confidence, source))


@overload
def prompt(function: Callable[P, T], /) -> Lifted[P, T]: ...
@overload
def prompt(  # pyright: ignore[reportOverlappingOverload]
    *,
    data: IsGrounded,
    cites: Sequence[str] | str = (),
    strictly: Strictness = False,
    model: str = "",
    confidence: float | None = None,
) -> GroundedResult: ...
@overload
def prompt(
    *,
    cites: Sequence[str] | str = (),
    strictly: Strictness = False,
    model: str = "",
    confidence: float | None = None,
    data: str | Iterable[str] = (),
) -> DeclaredResult: ...
def prompt(
    function: Callable[..., Any] | None = None,
    /,
    *,
    cites: Sequence[str] | str = (),
    strictly: Strictness = False,
    model: str = "",
    confidence: float | None = None,
    data: str | Iterable[str] = (),
) -> Any:
    """A call of a language model. Its body gets plain arguments; the result inherits their sources [C §2].

    Args:
        function: the body, where the decorator stands without parentheses.
        cites: the parameter, or parameters, that the answer quotes from.
        strictly: True: every quote in the answer stands there character for character [C §4]; "normalised": white
            space, quotation marks, ellipsis and Unicode form may differ.
        model: which model is asked.
        confidence: how sure it is at the best, 0 to 1.
        data: its categories; with `grounded` among them every result is `Grounded`.

    Raises (from the call):
        CitationViolation: it quotes what is not there.
        UngroundedReturn: it is declared `Grounded`, and no argument has a source, or one is severed.
    """
    return _decorator(function, lambda inner: Prompt(inner, data, confidence, model, cites, strictly))


@overload
def agent(function: Callable[P, T], /) -> Lifted[P, T]: ...
@overload
def agent(  # pyright: ignore[reportOverlappingOverload]
    *, data: IsGrounded, min_confidence: float | None = None
) -> GroundedResult: ...
@overload
def agent(*, min_confidence: float | None = None, data: str | Iterable[str] = ()) -> DeclaredResult: ...
def agent(
    function: Callable[..., Any] | None = None,
    /,
    *,
    min_confidence: float | None = None,
    data: str | Iterable[str] = (),
) -> Any:
    """A function that composes tools, prompts and agents. Its arguments arrive as they are, grounded or plain.

    Args:
        min_confidence: the least that the weakest step of its result may have [C §7].
        data: the categories that its result must come to [C §6]; with `grounded` among them every result is
            `Grounded`.

    Raises (from the call):
        UngroundedReturn: it is declared `Grounded`, and what it returns has no source or was severed [C §2, §3].
        MinConfidenceViolation: the weakest step is below `min_confidence`.
        MissingDataCategory: a declared category is not there.
        PurityViolation: it is not `@grounded_pure`, and called by one that is [C §9.4].
    """
    return _decorator(function, lambda inner: Agent(inner, data, min_confidence))


def grounded_pure(function: F) -> F:
    """Within the function no grounded value becomes a plain one: each discard raises `PurityViolation` [C §9.4].

    `sluice check` proves before anything runs what this only meets with at run time.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return _of_class(function, grounded_pure)
    refuse_generators(function)
    mark_pure(function)

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with opened(Scope(pure=True, around=current())):
            return await function(*args, **kwargs)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with opened(Scope(pure=True, around=current())):
            return function(*args, **kwargs)

    return cast(F, awaited if is_async(function) else called)


def _decorator(function: Callable[..., Any] | None, boundary: Callable[[Callable[..., Any]], Boundary]) -> Any:
    def decorate(inner: Callable[..., Any]) -> Any:
        if isinstance(inner, (staticmethod, classmethod)):
            return _of_class(cast(Any, inner), decorate)
        return _around(boundary(inner))

    if function is not None and not callable(function) and not hasattr(function, "__func__"):
        raise UsageError("a decorator takes its options by name", expected='data="grounded"', got=repr(function))
    return decorate if function is None else decorate(function)


def _of_class(method: Any, decorate: Callable[..., Any]) -> Any:
    """A decorator above `@staticmethod` or `@classmethod` is what it would be below."""
    return type(method)(decorate(method.__func__))


def _around(boundary: Boundary) -> Callable[..., Any]:
    function = boundary.function

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        call = boundary.begin(args, kwargs)
        with opened(call.scope):
            result = await function(*call.args, **call.kwargs)
        return boundary.end(call, result)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        call = boundary.begin(args, kwargs)
        with opened(call.scope):
            result = function(*call.args, **call.kwargs)
        return boundary.end(call, result)

    wrapper = awaited if is_async(function) else called
    setattr(wrapper, BOUNDARY, boundary)
    return wrapper
