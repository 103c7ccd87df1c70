"""The provenance chain: every operation that contributed to a value, in order [C §2, §3].

Its steps are those of the emission's `chain` (docs/reference/records.md), so a chain goes on the wire as it stands. Two
chains meet in two ways: an operator keeps both inside a `derived` step (`derive`), a call puts its arguments' chains
one behind the other (`merge`). Either way no source is lost: a chain that would grow beyond bounds (`x = x + x` in a
loop doubles it) keeps every step but for inner `derived` ones, which are only how they were put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, overload

import msgspec

from ...codecs.records import AnyStep, Derived, Retrieval, Severed
from ..adjudication import grounding

MAX_STEPS: Final = 500
"""A chain with more steps is flattened when it is derived from."""
MAX_DEPTH: Final = 24
"""Likewise for `derived` steps in one another: each takes two levels of the 128 that a record may have."""
FLATTENED: Final = "…"
"""The operator of the step that stands for all inner derivations of a flattened chain."""

_STEPS: Final = list[AnyStep]
_encode = msgspec.json.Encoder().encode


class Sum(NamedTuple):
    """What the steps of a chain come to, those inside `derived` included: read with every operator, so it is kept.

    Attributes:
        size: how many steps.
        depth: how deep `derived` ones lie in one another.
        said: the least confidence that any declares; None where none does.
        data: the union of their categories.
        retrieval, severed: whether there is such a step.
    """

    size: int = 0
    depth: int = 0
    said: float | None = None
    data: frozenset[str] = frozenset()
    retrieval: bool = False
    severed: bool = False

    def plus(self, other: Sum) -> Sum:
        """What two chains come to, side by side."""
        said = [one for one in (self.said, other.said) if one is not None]
        return Sum(
            self.size + other.size,
            max(self.depth, other.depth),
            min(said, default=None),
            self.data | other.data,
            self.retrieval or other.retrieval,
            self.severed or other.severed,
        )


class ProvenanceChain(Sequence[AnyStep]):
    """The steps of one value, first to last. Invariant: never changes, and holds nothing that JSON cannot.

    Args:
        steps: steps, or what they look like on the wire.

    Raises:
        msgspec.ValidationError: a step is not one.
    """

    __slots__ = ("_steps", "_sum")

    _steps: tuple[AnyStep, ...]
    _sum: Sum

    def __init__(self, steps: Iterable[AnyStep | dict[str, Any]] = ()) -> None:
        # Once through the wire's types: the steps are then copies, and known to be JSON.
        own = msgspec.convert(msgspec.to_builtins(list(steps)), _STEPS)
        _set(self, tuple(own), _measure(own))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a chain does not change: {name} cannot be set")

    @overload
    def __getitem__(self, index: int) -> AnyStep: ...
    @overload
    def __getitem__(self, index: slice) -> list[AnyStep]: ...
    def __getitem__(self, index: int | slice) -> AnyStep | list[AnyStep]:
        return list(self._steps[index]) if isinstance(index, slice) else self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ProvenanceChain):
            return self._steps == other._steps
        return list(self._steps) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # steps hold JSON objects

    def __repr__(self) -> str:
        kinds = ", ".join(str(type(step).__struct_config__.tag) for step in self._steps)
        return f"ProvenanceChain[{kinds}]"

    def __reduce__(self) -> tuple[Callable[..., ProvenanceChain], tuple[tuple[AnyStep, ...]]]:
        return _again, (self._steps,)

    def steps(self) -> Iterator[AnyStep]:
        """Every step, those inside `derived` included, each before what is inside it."""
        return grounding.steps(self._steps)

    def retrievals(self) -> list[Retrieval]:
        """The sources, those inside `derived` included, each once."""
        return [step for step in _unique(self.steps()) if isinstance(step, Retrieval)]

    @property
    def confidence(self) -> float:
        """The least of the steps' [C §7]; 1.0 where none says how sure it is."""
        return 1.0 if self._sum.said is None else self._sum.said

    @property
    def data(self) -> frozenset[str]:
        """The union of the steps' data categories [C §6]."""
        return self._sum.data

    @property
    def severed(self) -> bool:
        """Whether the chain was cut anywhere on purpose [C §3]."""
        return self._sum.severed

    @property
    def grounded(self) -> bool:
        """Whether the chain bears a claim to be grounded: it has a source and was not severed [C §2, §3]."""
        return self._sum.retrieval and not self._sum.severed

    def to_records(self) -> list[dict[str, Any]]:
        """The emission's `chain` (docs/reference/records.md), as plain JSON values."""
        return msgspec.to_builtins(list(self._steps))

    def then(self, *steps: AnyStep) -> ProvenanceChain:
        """The chain with more steps behind."""
        return _made((*self._steps, *steps), self._sum.plus(_measure(steps)))


def _set(chain: ProvenanceChain, steps: tuple[AnyStep, ...], come_to: Sum) -> None:
    object.__setattr__(chain, "_steps", steps)
    object.__setattr__(chain, "_sum", come_to)


def _made(steps: tuple[AnyStep, ...], come_to: Sum) -> ProvenanceChain:
    """A chain of steps that other chains hold already, or that were made here."""
    chain = ProvenanceChain.__new__(ProvenanceChain)
    _set(chain, steps, come_to)
    return chain


def _again(steps: tuple[AnyStep, ...]) -> ProvenanceChain:
    """An unpickled chain: steps that were one are one again, which they would not be by way of the wire."""
    return _made(steps, _measure(steps))


def _measure(steps: Sequence[AnyStep]) -> Sum:
    """What steps come to. With a list of its own instead of recursion: a chain from outside may be of any depth."""
    size = deepest = 0
    said: list[float] = []
    data: set[str] = set()
    kinds: set[type[AnyStep]] = set()
    todo = [(step, 0) for step in steps]
    while todo:
        step, depth = todo.pop()
        size += 1
        kinds.add(type(step))
        data.update(step.data or ())
        if step.confidence is not None:
            said.append(step.confidence)
        if isinstance(step, Derived):
            deepest = max(deepest, depth + 1)
            todo += [(inner, depth + 1) for side in (step.left, step.right) for inner in side]
    return Sum(size, deepest, min(said, default=None), frozenset(data), Retrieval in kinds, Severed in kinds)


EMPTY: Final = ProvenanceChain()


def merge(chains: Iterable[ProvenanceChain]) -> ProvenanceChain:
    """All steps, one chain behind the other; what several have in common once, where it comes first."""
    some = [chain for chain in chains if chain]
    if len(some) < 2:
        return some[0] if some else EMPTY
    steps = tuple(_unique(step for chain in some for step in chain))
    return _made(steps, _measure(steps))


def derive(operator: str, left: ProvenanceChain, right: ProvenanceChain = EMPTY) -> ProvenanceChain:
    """One `derived` step that names the operator and keeps both chains [C §9.1].

    It carries the least confidence of the two and the union of their data, so the outermost steps alone
    say enough.
    """
    both = _sum(left).plus(_sum(right))
    if both.size >= MAX_STEPS or both.depth >= MAX_DEPTH:
        left, right = _flat(left), _flat(right)
        both = _sum(left).plus(_sum(right))
    step = Derived(
        confidence=both.said,
        data=sorted(both.data) or None,
        operator=operator,
        left=list(left),
        right=list(right),
    )
    return _made((step,), both._replace(size=both.size + 1, depth=both.depth + 1))


def _flat(chain: ProvenanceChain) -> ProvenanceChain:
    """The chain without inner derivations: every other step once, and one that says what those came to."""
    come_to = _sum(chain)
    if not come_to.depth:
        return chain
    found = list(_unique(step for step in chain.steps() if not isinstance(step, Derived)))
    found.append(Derived(confidence=come_to.said, data=sorted(come_to.data) or None, operator=FLATTENED))
    return _made(tuple(found), _measure(found))


def _sum(chain: ProvenanceChain) -> Sum:
    return chain._sum  # pyright: ignore[reportPrivateUsage]


def _unique(steps: Iterable[AnyStep]) -> Iterator[AnyStep]:
    """Each step once. One step is one event, not what it says: two retrievals by one tool within a millisecond read
    alike, and are two sources."""
    seen: dict[object, list[AnyStep]] = {}
    for step in steps:
        # Who reads alike is only looked for among few: by name and time, which costs less than the whole record.
        key = (step.source, step.timestamp) if isinstance(step, Retrieval) else _encode(step)
        alike = seen.setdefault(key, [])
        if not any(one is step for one in alike):
            alike.append(step)
            yield step
