"""What an operand must have for an operator to give a grounded value of a known type: protocols for type checkers."""

from __future__ import annotations

from typing import Protocol, TypeVar

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
