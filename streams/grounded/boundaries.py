"""The boundary of a decorated function: values on their way in and out, by its annotations [C §9.4]."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Coroutine, Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import (
    Annotated,
    Any,
    Concatenate,
    ForwardRef,
    Generic,
    Literal,
    NamedTuple,
    Never,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from ...codecs.errors import UsageError
from . import citations, scope
from .citations import GROUNDED, Answer, answer_of
from .provenance_chain import ProvenanceChain
from .scope import Scope
from .value import Cited, Grounded, Parts, are_mixed, carries, carry, parts

Returns = Literal["grounded", "plain", "unknown"]
_NAMED = re.compile(r"\bGrounded\b")
_WRAPPED = re.compile(
    r"\s*[\"']?\s*(?:[\w.]+\.)?(?:Grounded\b|(?:Optional|Union|Annotated)\[\s*(?:[\w.]+\.)?Grounded\b)"
)
_NO_SAYING = (Any, object, inspect.Parameter.empty)
_NO_VALUE = (None, types.NoneType, "None", NoReturn, "NoReturn", Never, "Never")


class Declared(NamedTuple):
    """What the annotations say.

    Attributes:
        returns: `Grounded[…]`, a plain type, or nothing that would tell.
        optional: it may be None instead.
        takes: the parameters whose annotation names `Grounded`.
        loses: what it returns is a value, and nothing in it is grounded.
    """

    returns: Returns
    optional: bool
    takes: frozenset[str]
    loses: bool


def declared(function: Callable[..., Any]) -> Declared:
    """What a function's annotations say."""
    if not hasattr(function, "__annotations__"):  # a partial, or an object that can be called
        function = getattr(function, "func", cast(Any, function).__call__)
    raw: dict[str, Any] = dict(getattr(function, "__annotations__", {}))
    try:
        found = get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        found = raw  # some name is not there at run time: the texts have to do
    returned = found.get("return", inspect.Parameter.empty)
    takes = frozenset(name for name, annotation in found.items() if name != "return" and _names(annotation))
    returns = _returns(returned)
    loses = returns == "plain" and returned not in _NO_VALUE and not _names(returned)
    return Declared(returns, _optional(returned), takes, loses)


def _returns(annotation: Any) -> Returns:
    if isinstance(annotation, str):
        alternatives = annotation.split("|")
        return "grounded" if any(_WRAPPED.match(one) for one in alternatives) else "plain"
    if annotation in _NO_SAYING or isinstance(annotation, TypeVar):
        return "unknown"
    return "grounded" if any(_is_grounded(one) for one in _alternatives(annotation)) else "plain"


def _optional(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return re.search(r"\bNone\b|\bOptional\b", annotation) is not None
    return types.NoneType in _alternatives(annotation)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type; what `Annotated` adds is taken off."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(inner for one in get_args(annotation) for inner in _alternatives(one))
    return (annotation,)


def _is_grounded(annotation: Any) -> bool:
    if isinstance(annotation, ForwardRef):  # a text inside a type: `Optional["Grounded[str]"]`
        return _WRAPPED.match(annotation.__forward_arg__) is not None
    origin = get_origin(annotation) or annotation
    return isinstance(origin, type) and issubclass(origin, Grounded)


def _names(annotation: Any) -> bool:
    """Whether an annotation names `Grounded` anywhere: `list[Grounded[str]]` takes the wrappers as they are."""
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    if isinstance(text, str):
        return _NAMED.search(text) is not None
    return _is_grounded(annotation) or any(_names(one) for one in get_args(annotation))


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
        citations.check_confidence("confidence", confidence)
        self.function, self.name = function, getattr(function, "__name__", type(function).__name__)
        self.data, self.confidence = citations.categories(data), confidence
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
