"""What a grounded value holds, how it is taken apart for a computation, and how the result is put together again.

This is the contagion law in one place [C §9.1]: compute on the inner values, keep both chains, the least confidence and
the union of the data; a plain operand contributes an empty chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, cast

from .provenance_chain import EMPTY, ProvenanceChain, derive, merge

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
    found: list[Parts] = []
    value = _taken_out(operand, found)
    if not found:
        return Parts(operand, EMPTY, UNCITED)
    return Parts(value, merge(one.chain for one in found), cited_by(found))


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
    cited = UNCITED
    for one in some:
        cited = cited.with_(one.cited)
    return cited


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
