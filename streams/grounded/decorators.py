"""`@tool`, `@prompt`, `@agent` and `@grounded_pure`: what each does when its function is called, and the decorators
themselves [C §3 to §9].
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast, overload

from ...codecs.errors import UsageError
from ...codecs.records import AgentHandoff, AnyStep, Derived, PromptTransform, Retrieval
from ...codecs.times import format_time
from . import citations, retrieval_clock, scope
from . import citations as answers
from .boundaries import (
    BOUNDARY,
    PURE,
    Boundary,
    Call,
    DeclaredResult,
    GroundedResult,
    IsGrounded,
    Lifted,
    P,
    T,
    is_async,
    mark_pure,
    refuse_generators,
)
from .citations import Answer, Strictness, answer_of
from .provenance_chain import EMPTY, ProvenanceChain, merge
from .scope import (
    MinConfidenceViolation,
    MissingDataCategory,
    PurityViolation,
    Scope,
    UngroundedReturn,
    current,
    opened,
)
from .value import Cited, Grounded, Parts, carries, carry, check_claim, cited_by, parts


class Tool(Boundary):
    """An external source, or an external computation."""

    def __init__(
        self, function: Callable[..., Any], data: Iterable[str] | str, confidence: float | None, source: str | None
    ) -> None:
        super().__init__(function, data, confidence)
        self.source = source
        for _, field, _, _ in string.Formatter().parse(source or ""):
            self.check_parameters("source", [re.split(r"[.\[]", field)[0]] if field is not None else [])

    def chain(self, call: Call, answer: Answer[Any], inner: Parts) -> ProvenanceChain | None:
        inherited = [one.chain for one in call.taken if not (self.grounded and one.chain.severed)]
        if not self.becomes_grounded(*inherited, inner.chain):
            return None
        confidence, data = answers.least(self.confidence, answer.confidence), list(self.data) or None
        if self.grounded:
            named = self.source.format_map(call.plain) if self.source else self.name
            step = Retrieval(
                confidence=confidence,
                data=data,
                source=answer.source or named,
                timestamp=format_time(retrieval_clock.present()),
                metadata=answers.as_json(answer.metadata),
            )
            return merge([*inherited, inner.chain]).then(step)
        chain = merge([*inherited, inner.chain])
        if not chain and not self.data:
            raise UngroundedReturn(self.name, "a plain value came back", 'give the tool data="grounded"')
        step = Derived(confidence=confidence, data=data, operator=self.name, left=list(chain))
        return EMPTY.then(step)


class Prompt(Boundary):
    """A call of a language model: a transform, never a source."""

    def __init__(
        self,
        function: Callable[..., Any],
        data: Iterable[str] | str,
        confidence: float | None,
        model: str,
        cites: Sequence[str] | str,
        strictly: Strictness,
    ) -> None:
        super().__init__(function, data, confidence)
        self.model = model
        self.strictly: Strictness = strictly
        self.cites = (cites,) if isinstance(cites, str) else tuple(cites)
        self.check_parameters("cites", self.cites)
        citations.check_strictness(self.name, strictly, self.cites)

    def chain(self, call: Call, answer: Answer[Any], inner: Parts) -> ProvenanceChain | None:
        if self.cites:
            citations.verify(self.name, " and ".join(self.cites), inner.value, self._contexts(call), self.strictly)
        inherited = merge([*(one.chain for one in call.taken), inner.chain])
        if not self.becomes_grounded(inherited):
            return None
        if not inherited:
            raise UngroundedReturn(self.name, "no argument has a source", "a prompt is a transform: give it a source")
        if inherited.severed:
            check_claim(self.name, inherited)
        step = PromptTransform(
            confidence=answers.least(self.confidence, answer.confidence),
            data=list(self.data) or None,
            prompt_name=self.name,
            model=answer.model or self.model,
            tokens=answer.tokens,
            mixed=call.mixed,
        )
        return inherited.then(step)

    def cited(self, call: Call, inner: Parts) -> Cited:
        """What it cites, if it cites anything; else what its arguments may quote from."""
        if self.cites:
            return Cited(self._contexts(call), self.strictly is True)
        return cited_by([inner, *call.taken])

    def _contexts(self, call: Call) -> tuple[str, ...]:
        return tuple(text for name in self.cites for text in citations.texts_of(call.plain.get(name)))


class Agent(Boundary):
    """A function that calls tools, prompts and other agents: its arguments arrive as they are."""

    unwraps = False

    def __init__(self, function: Callable[..., Any], data: Iterable[str] | str, min_confidence: float | None) -> None:
        super().__init__(function, data)
        answers.check_confidence("min_confidence", min_confidence)
        self.min_confidence = min_confidence

    @property
    def pure(self) -> bool:
        """Whether it stands under `@grounded_pure`."""
        return bool(getattr(self.function, PURE, False))

    def open_scope(self) -> Scope:
        """What it lets go comes into the chain; under `@grounded_pure` it calls only its like [C §9.4]."""
        if scope.current().pure and not self.pure:
            detail = f"{self.name} is called, which is not @grounded_pure"
            raise PurityViolation("impure-call", detail, scope.caller())
        return Scope(self.pure)

    def end(self, call: Call, result: Any) -> Any:
        answer = answer_of(result)
        inner, wrapped = parts(answer.value), carries(answer.value)
        if self.nothing(inner):
            return self._plain(call, None)
        # [C §2]: the sources of its arguments as well, but for those that were severed.
        sources = merge([*(one.chain for one in call.taken if not one.chain.severed), inner.chain])
        claims = self.grounded or self.declared.returns == "grounded"
        if claims and not inner.chain:
            raise UngroundedReturn(self.name, "its chain is empty" if wrapped else "it returns a plain value")
        if claims:
            check_claim(self.name, inner.chain)
        chain = sources.then(*call.scope.discards, self._handoff(call, answer, sources))
        if (claims or wrapped) and self.min_confidence is not None and chain.confidence < self.min_confidence:
            raise MinConfidenceViolation(self.name, chain.confidence, self.min_confidence)
        if not claims and wrapped and self.declared.returns == "plain":
            with scope.opened(call.scope):
                scope.record("return")  # the coercion that its author declared [C §9.3]
            return self._plain(call, inner.value)
        if not (claims or wrapped):
            return self._plain(call, answer.value)
        scope.current().data.update(call.scope.data)
        return carry(Grounded, inner.value, chain, inner.cited)

    def _handoff(self, call: Call, answer: Answer[Any], sources: ProvenanceChain) -> AnyStep:
        """The last step; it has the declared categories that only a plain result had shown [C §6]."""
        in_chain = sources.data
        had = in_chain | call.scope.data
        missing = [category for category in self.data if category not in had]
        if missing:
            raise MissingDataCategory(self.name, tuple(missing), tuple(sorted(had)))
        data = [category for category in self.data if category not in in_chain]
        return AgentHandoff(confidence=answers.least(answer.confidence), data=data or None, agent_name=self.name)

    def _plain(self, call: Call, value: Any) -> Any:
        """A plain result; the caller's scope gets what was discarded."""
        outer = scope.current()
        outer.data |= call.scope.data
        outer.discards.extend(call.scope.discards)
        return value


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

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call(args, kwargs, {}, [], Scope(pure=True, around=current()))

    return cast(F, _around(function, begin, lambda call, result: result))


def _decorator(function: Callable[..., Any] | None, boundary_of: Callable[[Callable[..., Any]], Boundary]) -> Any:
    def decorate(inner: Callable[..., Any]) -> Any:
        if isinstance(inner, (staticmethod, classmethod)):
            return _of_class(cast(Any, inner), decorate)
        boundary = boundary_of(inner)
        wrapper = _around(inner, boundary.begin, boundary.end)
        setattr(wrapper, BOUNDARY, boundary)
        return wrapper

    if function is not None and not callable(function) and not hasattr(function, "__func__"):
        raise UsageError("a decorator takes its options by name", expected='data="grounded"', got=repr(function))
    return decorate if function is None else decorate(function)


def _of_class(method: Any, decorate: Callable[..., Any]) -> Any:
    """A decorator above `@staticmethod` or `@classmethod` is what it would be below."""
    return type(method)(decorate(method.__func__))


def _around(
    function: Callable[..., Any],
    begin: Callable[[tuple[Any, ...], dict[str, Any]], Call],
    end: Callable[[Call, Any], Any],
) -> Callable[..., Any]:
    """The function in a scope of its own, between what begins a call and what ends it."""

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        with opened(call.scope):
            result = await function(*call.args, **call.kwargs)
        return end(call, result)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        with opened(call.scope):
            result = function(*call.args, **call.kwargs)
        return end(call, result)

    return awaited if is_async(function) else called
