"""Every operator over grounded and plain operands gives a grounded value [C §9.1].

Reflected ones too: in `"a" + g` and `1 - g` the plain operand stands on the left, and so does its empty chain. What
Python takes a plain value from (`bool`, `in`, `str`, `int`, …) is in `value.py`: it discards.

The signatures follow the inner types: whatever `str + str` or `float / int` is, `Grounded[str] + str` and
`Grounded[float] / Grounded[int]` are that, grounded. Where a type checker cannot tell, it is `Grounded[Any]`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast, overload

from .carrier import Carrier, T_co, apply

if TYPE_CHECKING:
    from .value import Grounded

op: Final = cast(Any, operator)  # whose stubs take and give what is not annotated
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)


class _Add(Protocol[A_contra, R_co]):
    def __add__(self, other: A_contra, /) -> R_co: ...


class _RAdd(Protocol[A_contra, R_co]):
    def __radd__(self, other: A_contra, /) -> R_co: ...


class _Sub(Protocol[A_contra, R_co]):
    def __sub__(self, other: A_contra, /) -> R_co: ...


class _RSub(Protocol[A_contra, R_co]):
    def __rsub__(self, other: A_contra, /) -> R_co: ...


class _Mul(Protocol[A_contra, R_co]):
    def __mul__(self, other: A_contra, /) -> R_co: ...


class _RMul(Protocol[A_contra, R_co]):
    def __rmul__(self, other: A_contra, /) -> R_co: ...


class _Div(Protocol[A_contra, R_co]):
    def __truediv__(self, other: A_contra, /) -> R_co: ...


class _RDiv(Protocol[A_contra, R_co]):
    def __rtruediv__(self, other: A_contra, /) -> R_co: ...


class _Item(Protocol[A_contra, R_co]):
    def __getitem__(self, key: A_contra, /) -> R_co: ...


class Operators(Carrier[T_co]):
    """The operators of a grounded value. Each computes on the plain values and records a `derived` step."""

    __slots__ = ()
    __array_ufunc__ = None
    """NumPy's arrays then leave an operator to us, instead of taking a grounded value for one of their items."""

    # ------------------------------------------------------------ arithmetic and concatenation

    @overload
    def __add__(self: Operators[_Add[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __add__(self: Operators[S], other: _RAdd[S, R_co] | Operators[_RAdd[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __add__(self, other: Any) -> Grounded[Any]: ...
    def __add__(self, other: Any) -> Grounded[Any]:
        return self._apply("+", op.add, self, other)

    @overload
    def __radd__(self: Operators[S], other: _Add[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __radd__(self, other: Any) -> Grounded[Any]: ...
    def __radd__(self, other: Any) -> Grounded[Any]:
        return self._apply("+", op.add, other, self)

    @overload
    def __sub__(self: Operators[_Sub[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __sub__(self: Operators[S], other: _RSub[S, R_co] | Operators[_RSub[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __sub__(self, other: Any) -> Grounded[Any]: ...
    def __sub__(self, other: Any) -> Grounded[Any]:
        return self._apply("-", op.sub, self, other)

    @overload
    def __rsub__(self: Operators[S], other: _Sub[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __rsub__(self, other: Any) -> Grounded[Any]: ...
    def __rsub__(self, other: Any) -> Grounded[Any]:
        return self._apply("-", op.sub, other, self)

    @overload
    def __mul__(self: Operators[_Mul[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __mul__(self: Operators[S], other: _RMul[S, R_co] | Operators[_RMul[S, R_co]]) -> Grounded[R_co]: ...
    @overload
    def __mul__(self, other: Any) -> Grounded[Any]: ...
    def __mul__(self, other: Any) -> Grounded[Any]:
        return self._apply("*", op.mul, self, other)

    @overload
    def __rmul__(self: Operators[S], other: _Mul[S, R_co]) -> Grounded[R_co]: ...
    @overload
    def __rmul__(self, other: Any) -> Grounded[Any]: ...
    def __rmul__(self, other: Any) -> Grounded[Any]:
        return self._apply("*", op.mul, other, self)

    @overload
    def __truediv__(self: Operators[_Div[S, R_co]], other: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __truediv__(self: Operators[S], other: _RDiv[S, R_co] | Operators[_RDiv[S, R_co]]) -> Grounded[R_co]: ...
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
    def __getitem__(self: Operators[_Item[S, R_co]], key: S | Operators[S]) -> Grounded[R_co]: ...
    @overload
    def __getitem__(self, key: Any) -> Grounded[Any]: ...
    def __getitem__(self, key: Any) -> Grounded[Any]:
        return self._apply("[]", op.getitem, self, key)

    @staticmethod
    def _apply(name: str, function: Callable[..., Any], left: object, *right: object) -> Grounded[Any]:
        from .value import Grounded  # Grounded is made of these operators: neither can be there first

        return apply(Grounded, name, function, left, *right)
