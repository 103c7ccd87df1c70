"""`Grounded[T]`: a plain value in a wrapper that Python's operators keep, with its provenance chain [C §2, §9].

A subclass of a plain type carries the chain where code asks for that type. Where Python hands the plain value out
without a trace (a condition, a format, an index), the wrapper is lost, and `@grounded_pure` raises.
"""

from __future__ import annotations

import copy
import dis
import inspect
import math
import operator
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar, cast, overload

from ...codecs.records import AnyStep, Retrieval, Severed
from .provenance_chain import EMPTY, ProvenanceChain, derive, merge
from .scope import UngroundedReturn, record, record_declared, refuse_if_pure

T_co = TypeVar("T_co", covariant=True)


class Cited(NamedTuple):
    """What a value may quote from [C §4].

    Attributes:
        contexts: the texts.
        strictly: every quote must stand in one of them, character for character.
    """

    contexts: tuple[str, ...] = ()
    strictly: bool = False

    def with_(self, other: Cited) -> Cited:
        """What a value that was made of two may quote from: either's texts, under the stricter rule."""
        if not other.contexts or other == self:
            return self
        new = tuple(text for text in other.contexts if text not in self.contexts)
        return Cited(self.contexts + new, self.strictly or other.strictly)


UNCITED = Cited()


class Carrier(Generic[T_co]):
    """A value with its chain. Invariant: never changes; the value is not to be reached by a public name."""

    __slots__ = ("_chain", "_cited", "_value")

    _value: T_co
    _chain: ProvenanceChain
    _cited: Cited

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a grounded value does not change: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a grounded value does not change: {name} cannot be deleted")


class Parts(NamedTuple):
    """A grounded value taken apart; of a plain one the chain is empty."""

    value: Any
    chain: ProvenanceChain
    cited: Cited


def carry(kind: type[Any], value: object, chain: ProvenanceChain, cited: Cited = UNCITED) -> Any:
    """A grounded value of these parts. Whether it may claim to be grounded is not asked here.

    Args:
        kind: `Grounded`, which this module must not know: it is made of what stands here.
    """
    made: Any = object.__new__(kind)
    for name, part in (("_value", value), ("_chain", chain), ("_cited", cited)):
        object.__setattr__(made, name, part)
    return made


def carries(value: object) -> bool:
    """Whether a value is a grounded one itself, not only what is inside it."""
    return isinstance(value, Carrier)


def parts(operand: object) -> Parts:
    """Value, chain and citation of an operand or an argument.

    What lies in a list, tuple, dictionary or slice is taken out as well, so that `summarise([one, other])` keeps the
    sources of both.
    """
    if isinstance(operand, Carrier):
        whole = cast("Carrier[Any]", operand)
        return Parts(whole._value, whole._chain, whole._cited)  # pyright: ignore[reportPrivateUsage]
    inner: list[Parts] = []
    value = _taken_out(operand, inner)
    if not inner:
        return Parts(operand, EMPTY, UNCITED)
    return Parts(value, merge(one.chain for one in inner), cited_by(inner))


def are_mixed(operands: Iterable[object]) -> bool:
    """Whether some of the operands, or of what lies in their containers, have sources and some have none. None is no
    operand."""
    kinds: set[bool] = set()
    todo = list(operands)
    while todo and len(kinds) < 2:
        operand = todo.pop()
        if isinstance(operand, Carrier):
            kinds.add(bool(parts(cast("Carrier[Any]", operand)).chain))
        elif isinstance(operand, (list, tuple)):
            todo += cast("Iterable[object]", operand)
        elif isinstance(operand, dict):
            todo += cast("dict[Any, object]", operand).values()
        elif operand is not None:
            kinds.add(False)
    return len(kinds) == 2


def cited_by(some: Iterable[Parts]) -> Cited:
    """What several values together may quote from."""
    return reduce(Cited.with_, (one.cited for one in some), UNCITED)


def _taken_out(operand: object, found: list[Parts]) -> Any:
    if isinstance(operand, Carrier):
        whole = parts(cast("Carrier[Any]", operand))
        found.append(whole)
        return whole.value
    if type(operand) is list:
        return [_taken_out(one, found) for one in cast("list[Any]", operand)]
    if isinstance(operand, tuple):
        items = [_taken_out(one, found) for one in cast("tuple[Any, ...]", operand)]
        named = getattr(type(cast("tuple[Any, ...]", operand)), "_make", None)
        return named(items) if named is not None else tuple(items)
    if type(operand) is dict:
        return {name: _taken_out(one, found) for name, one in cast("dict[Any, Any]", operand).items()}
    if type(operand) is slice:
        return slice(*(_taken_out(one, found) for one in (operand.start, operand.stop, operand.step)))
    return operand


def apply(kind: type[Any], operator: str, function: Callable[..., Any], left: object, *right: object) -> Any:
    """The value of `function(left, *right)`, with one `derived` step over the chains of left and right."""
    one, others = parts(left), [parts(operand) for operand in right]
    value = function(one.value, *(other.value for other in others))
    chain = derive(operator, one.chain, merge(other.chain for other in others))
    return carry(kind, value, chain, cited_by([one, *others]))


S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)


class Add(Protocol[A_contra, R_co]):
    def __add__(self, other: A_contra, /) -> R_co: ...


class RAdd(Protocol[A_contra, R_co]):
    def __radd__(self, other: A_contra, /) -> R_co: ...


class Sub(Protocol[A_contra, R_co]):
    def __sub__(self, other: A_contra, /) -> R_co: ...


class RSub(Protocol[A_contra, R_co]):
    def __rsub__(self, other: A_contra, /) -> R_co: ...


class Mul(Protocol[A_contra, R_co]):
    def __mul__(self, other: A_contra, /) -> R_co: ...


class RMul(Protocol[A_contra, R_co]):
    def __rmul__(self, other: A_contra, /) -> R_co: ...


class Div(Protocol[A_contra, R_co]):
    def __truediv__(self, other: A_contra, /) -> R_co: ...


class RDiv(Protocol[A_contra, R_co]):
    def __rtruediv__(self, other: A_contra, /) -> R_co: ...


class Item(Protocol[A_contra, R_co]):
    def __getitem__(self, key: A_contra, /) -> R_co: ...


def drops_its_input(function: object) -> bool:
    """Whether a Python function never reads the one value that it is called with: its first parameter, or `*args`.

    What else it reads, such as the default of another parameter, was not made of that value.
    """
    return type(function) is FunctionType and _reads_nothing(function.__code__)


@lru_cache(maxsize=1024)
def _reads_nothing(code: CodeType) -> bool:
    if code.co_argcount:
        given = code.co_varnames[0]
    elif code.co_flags & inspect.CO_VARARGS:
        given = code.co_varnames[code.co_kwonlyargcount]  # behind those that have to be named
    else:
        return True
    parameters = frozenset((given,))
    # What a function inside reads is a cell of this one.
    if not parameters.isdisjoint(code.co_cellvars):
        return False
    for step in dis.get_instructions(code):
        if "FAST" in step.opname and (step.opname.startswith("LOAD") or "_LOAD_" in step.opname):
            argument: Any = step.argval
            names: tuple[str, ...] = cast("tuple[str, ...]", argument) if isinstance(argument, tuple) else (argument,)
            if not parameters.isdisjoint(names):
                return False
    return True


op: Final = cast(Any, operator)  # whose stubs take and give what is not annotated
U = TypeVar("U")


class Operators(Carrier[T_co]):
    """The operators of a grounded value. Each computes on the plain values and records a `derived` step."""

    __slots__ = ()
    __array_ufunc__ = None
    """NumPy's arrays then leave an operator to us, instead of taking a grounded value for one of their items."""

    # ------------------------------------------------------------ arithmetic and concatenation

    @overload
    def __add__(self: Operators[Add[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __add__(self: Operators[S], other: RAdd[S, R_co] | Operators[RAdd[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __add__(self, other: Any) -> Grounded[Any]: ...
    def __add__(self, other: Any) -> Grounded[Any]:
        return self._apply("+", op.add, self, other)

    @overload
    def __radd__(self: Operators[S], other: Add[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __radd__(self, other: Any) -> Grounded[Any]: ...
    def __radd__(self, other: Any) -> Grounded[Any]:
        return self._apply("+", op.add, other, self)

    @overload
    def __sub__(self: Operators[Sub[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __sub__(self: Operators[S], other: RSub[S, R_co] | Operators[RSub[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __sub__(self, other: Any) -> Grounded[Any]: ...
    def __sub__(self, other: Any) -> Grounded[Any]:
        return self._apply("-", op.sub, self, other)

    @overload
    def __rsub__(self: Operators[S], other: Sub[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __rsub__(self, other: Any) -> Grounded[Any]: ...
    def __rsub__(self, other: Any) -> Grounded[Any]:
        return self._apply("-", op.sub, other, self)

    @overload
    def __mul__(self: Operators[Mul[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __mul__(self: Operators[S], other: RMul[S, R_co] | Operators[RMul[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __mul__(self, other: Any) -> Grounded[Any]: ...
    def __mul__(self, other: Any) -> Grounded[Any]:
        return self._apply("*", op.mul, self, other)

    @overload
    def __rmul__(self: Operators[S], other: Mul[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __rmul__(self, other: Any) -> Grounded[Any]: ...
    def __rmul__(self, other: Any) -> Grounded[Any]:
        return self._apply("*", op.mul, other, self)

    @overload
    def __truediv__(self: Operators[Div[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __truediv__(self: Operators[S], other: RDiv[S, R_co] | Operators[RDiv[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __truediv__(self, other: Any) -> Grounded[Any]: ...
    def __truediv__(self, other: Any) -> Grounded[Any]:
        return self._apply("/", op.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Grounded[Any]:
        return self._apply("/", op.truediv, other, self)

    def __floordiv__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply("//", op.floordiv, self, other)

    def __rfloordiv__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply("//", op.floordiv, other, self)

    def __mod__(self: Operators[S], other: Any) -> Grounded[S]:
        return self._apply("%", op.mod, self, other)

    def __rmod__(self, other: Any) -> Grounded[Any]:
        return self._apply("%", op.mod, other, self)

    def __divmod__(self, other: Any) -> Grounded[Any]:
        return self._apply("divmod", divmod, self, other)

    def __rdivmod__(self, other: Any) -> Grounded[Any]:
        return self._apply("divmod", divmod, other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Grounded[Any]:
        return self._apply("**", pow, self, other, modulus)

    def __rpow__(self, other: Any) -> Grounded[Any]:
        return self._apply("**", pow, other, self)

    def __matmul__(self, other: Any) -> Grounded[Any]:
        return self._apply("@", op.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Grounded[Any]:
        return self._apply("@", op.matmul, other, self)

    # ------------------------------------------------------------ bits and sets

    def __and__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply("&", op.and_, self, other)

    def __rand__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply("&", op.and_, other, self)

    def __or__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply("|", op.or_, self, other)

    def __ror__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply("|", op.or_, other, self)

    def __xor__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply("^", op.xor, self, other)

    def __rxor__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply("^", op.xor, other, self)

    def __lshift__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply("<<", op.lshift, self, other)

    def __rlshift__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply("<<", op.lshift, other, self)

    def __rshift__(self: Operators[S], other: S | Operators[S]) -> Grounded[S]:
        return self._apply(">>", op.rshift, self, other)

    def __rrshift__(self: Operators[S], other: S) -> Grounded[S]:
        return self._apply(">>", op.rshift, other, self)

    # ------------------------------------------------------------ comparison

    def __eq__(self, other: object) -> Grounded[bool]:  # type: ignore[override]
        return self._apply("==", op.eq, self, other)

    def __ne__(self, other: object) -> Grounded[bool]:  # type: ignore[override]
        return self._apply("!=", op.ne, self, other)

    # Sets and dictionaries compare by ==, which is grounded here: they would discard without a word.
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Grounded[bool]:
        return self._apply("<", op.lt, self, other)

    def __le__(self, other: Any) -> Grounded[bool]:
        return self._apply("<=", op.le, self, other)

    def __gt__(self, other: Any) -> Grounded[bool]:
        return self._apply(">", op.gt, self, other)

    def __ge__(self, other: Any) -> Grounded[bool]:
        return self._apply(">=", op.ge, self, other)

    # ------------------------------------------------------------ one operand

    def __neg__(self) -> Grounded[T_co]:
        return self._apply("-", op.neg, self)

    def __pos__(self) -> Grounded[T_co]:
        return self._apply("+", op.pos, self)

    def __invert__(self) -> Grounded[T_co]:
        return self._apply("~", op.invert, self)

    def __abs__(self) -> Grounded[T_co]:
        return self._apply("abs", abs, self)

    def __round__(self, digits: int | Operators[int] | None = None) -> Grounded[Any]:
        return self._apply("round", round, self, digits)

    def __trunc__(self) -> Grounded[Any]:
        return self._apply("trunc", math.trunc, self)

    def __floor__(self) -> Grounded[Any]:
        return self._apply("floor", math.floor, self)

    def __ceil__(self) -> Grounded[Any]:
        return self._apply("ceil", math.ceil, self)

    @overload
    def __getitem__(self: Operators[Item[S, R_co]], key: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __getitem__(self, key: Any) -> Grounded[Any]: ...
    def __getitem__(self, key: Any) -> Grounded[Any]:
        return self._apply("[]", op.getitem, self, key)

    @staticmethod
    def _apply(name: str, function: Callable[..., Any], left: object, *right: object) -> Grounded[Any]:
        return apply(Grounded, name, function, left, *right)


class Grounded(Operators[T_co]):
    """A value and its provenance chain. Invariant: never changes.

    Tools make grounded values (`@tool(data="grounded")`); a program that makes one claims that its chain bears it.
    Not hashable: sets and dictionaries would compare by `==`, and discard its answer's sources without a word.

    Args:
        value: the plain value.
        chain: where it came from.

    Raises:
        UngroundedReturn: the chain has no retrieval, or was severed [C §2, §3].
    """

    __slots__ = ()

    def __init__(self, value: T_co, chain: ProvenanceChain | Iterable[AnyStep | dict[str, Any]]) -> None:
        whole = chain if isinstance(chain, ProvenanceChain) else ProvenanceChain(chain)
        check_claim("Grounded", whole)
        made = carry(Grounded, value, whole)
        for name in ("_value", "_chain", "_cited"):
            object.__setattr__(self, name, getattr(made, name))

    # ------------------------------------------------------------ where it came from

    def sources(self) -> list[AnyStep]:
        """All steps of the chain, in order [C §3]."""
        return list(self._chain)

    @property
    def chain(self) -> ProvenanceChain:
        """The chain itself."""
        return self._chain

    def retrievals(self) -> list[Retrieval]:
        """The sources: retrieval steps only, those inside `derived` included, each once."""
        return self._chain.retrievals()

    @property
    def confidence(self) -> float:
        """How sure the weakest step is [C §7], 0 to 1."""
        return self._chain.confidence

    @property
    def data(self) -> frozenset[str]:
        """The data categories of all steps [C §6]."""
        return self._chain.data

    @property
    def grounded(self) -> bool:
        """Whether it may claim to be grounded: there is a source, and nothing was severed [C §2, §3]."""
        return self._chain.grounded

    # ------------------------------------------------------------ going on

    def map(self, function: Callable[[T_co], U]) -> Grounded[U]:
        """The function's result for the plain value, with a `derived` step that bears the function's name.

        Args:
            function: should return a plain value; what a grounded one carries is kept as well. One that never reads
                what it gets makes its result up, so that the chain is severed.
        """
        name = getattr(function, "__name__", type(function).__name__)
        result = parts(function(self._value))
        mapped = carry(Grounded, result.value, derive(name, self._chain, result.chain), self._cited.with_(result.cited))
        return mapped.sever(f"{name} drops its input") if drops_its_input(function) else mapped

    def sever(self, reason: str) -> Grounded[T_co]:
        """The same value, that cannot claim to be grounded any more [C §3].

        For a synthesis that mixes grounded and ungrounded inputs in a way that no operator sees.
        """
        return carry(Grounded, self._value, self._chain.then(Severed(reason=reason)), self._cited)

    def unwrap_discarding_sources(self) -> T_co:
        """The plain value; recorded as a discard.

        Raises:
            PurityViolation: under `@grounded_pure` [C §9.4].
        """
        record("explicit-unwrap", "explicit-unwrap")
        return self._value

    # ------------------------------------------------------------ texts

    def format(self: Grounded[str], *args: object, **kwargs: object) -> Grounded[str]:
        """`str.format` with this as the template; arguments may be grounded or plain."""
        return template(self, *args, **kwargs)

    def join(
        self: Grounded[str] | str, texts: Iterable[Grounded[str] | str] | Grounded[Sequence[str]]
    ) -> Grounded[str]:
        """`str.join`: as `separator.join(texts)` of a grounded separator, or `Grounded.join(", ", texts)`."""
        some: object = texts if isinstance(texts, Carrier) else list(texts)
        return apply(Grounded, "join", str.join, self, some)

    def __str__(self) -> str:
        record_declared("str")
        return str(self._value)

    def __format__(self, spec: str) -> str:
        record_declared("format")
        return format(self._value, spec)

    def __bytes__(self) -> bytes:
        record_declared("bytes")
        return bytes(cast(Any, self._value))

    def __repr__(self) -> str:
        """Type and chain, never the value: it would lose its sources on its way into a log."""
        return f"<Grounded {type(self._value).__name__}, {self._chain!r}, confidence {self.confidence}>"

    # ------------------------------------------------------------ where Python wants a plain value

    def __bool__(self) -> bool:
        record("condition")
        return bool(self._value)

    def __contains__(self, item: object) -> bool:
        record("in")
        return parts(item).value in cast(Any, self._value)

    def __iter__(self) -> Iterator[Grounded[Any]]:
        """Item by item, each grounded: loops and unpacking discard only how many there are.

        Raises:
            PurityViolation: under `@grounded_pure` that is too much [C §9.3].
        """
        refuse_if_pure("iteration")
        return self._items(iter(cast("Iterable[Any]", self._value)))

    def __reversed__(self) -> Iterator[Grounded[Any]]:
        """From the last to the first, as `__iter__`."""
        refuse_if_pure("iteration")
        return self._items(reversed(cast("Sequence[Any]", self._value)))

    def _items(self, items: Iterator[Any]) -> Iterator[Grounded[Any]]:
        for item in items:
            yield carry(Grounded, item, derive("iter", self._chain), self._cited)

    def __int__(self) -> int:
        record_declared("int")
        return int(cast(Any, self._value))

    def __float__(self) -> float:
        record_declared("float")
        return float(cast(Any, self._value))

    def __complex__(self) -> complex:
        record_declared("complex")
        return complex(cast(Any, self._value))

    def __index__(self) -> int:
        record_declared("index")
        return cast(Any, self._value).__index__()

    # ------------------------------------------------------------ copies

    def __copy__(self) -> Grounded[T_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Grounded[T_co]:
        return carry(Grounded, copy.deepcopy(self._value, memo), self._chain, self._cited)

    def __reduce__(self) -> tuple[Callable[..., Grounded[Any]], tuple[Any, ...]]:
        return carry, (Grounded, self._value, self._chain, self._cited)

    if not TYPE_CHECKING:  # for a type checker neither is there

        def __len__(self) -> int:
            # `list(value)` asks as well, for a hint, and takes the refusal, a TypeError, for "unknown".
            record_declared("len")
            return len(self._value)

        def __getattr__(self, name: str) -> Any:
            hint = "what the plain value has is reached by .map(function)"
            if name == "value":
                hint = "use .map(function), or .unwrap_discarding_sources()"
            raise AttributeError(f"Grounded has no {name}: {hint}", name=name, obj=self)


def check_claim(name: str, chain: ProvenanceChain) -> None:
    """A claim to be grounded.

    Raises:
        UngroundedReturn: the chain does not bear it [C §2, §3].
    """
    if chain.grounded:
        return
    if chain.severed:
        reasons = "; ".join(step.reason for step in chain.steps() if isinstance(step, Severed))
        raise UngroundedReturn(name, f"its chain was severed ({reasons})")
    raise UngroundedReturn(name, "its chain has no retrieval" if chain else "its chain is empty")


class _Template(string.Formatter):
    """`str.format` that takes its arguments as they are, and says which it used."""

    def __init__(self) -> None:
        self.used: list[Any] = []

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Any) -> Any:
        found = parts(super().get_value(key, args, kwargs))
        self.used.append(found)
        return found.value


def template(pattern: str | Grounded[str], *args: object, **kwargs: object) -> Grounded[str]:
    """An f-string that keeps sources: `template("{who} says {what}", who=name, what=answer)`.

    Args:
        pattern: as for `str.format`; plain or grounded.
        args, kwargs: what it names, plain or grounded. What it does not name contributes nothing.
    """
    plain, formatter = parts(pattern), _Template()
    text = formatter.vformat(plain.value, args, kwargs)
    chain = derive("format", plain.chain, merge(one.chain for one in formatter.used))
    return carry(Grounded, text, chain, cited_by([plain, *formatter.used]))
