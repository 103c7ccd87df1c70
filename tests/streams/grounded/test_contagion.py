"""The contagion law [C §9.1]: whatever is computed with grounded values is grounded, and nothing of theirs is lost.

Random expressions over grounded and plain operands are held against the same expression over the plain values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.records import Derived, PromptTransform, Retrieval, Severed
from sluice.streams.adjudication import grounding
from sluice.streams.grounded import Grounded, from_record, to_record
from sluice.streams.grounded.provenance_chain import ProvenanceChain, merge

AT = "2026-11-21T09:00:00Z"
CATEGORIES = ["financial", "grounded", "medical", "pii"]


class Worked(NamedTuple):
    """An expression's value, and what it should come to."""

    value: Any
    plain: Any
    sources: frozenset[str]
    data: frozenset[str]
    confidence: float
    severed: bool


def a_leaf(plain: Any, number: int, confidence: float | None, data: list[str], model: float | None) -> Worked:
    chain: list[Any] = [
        Retrieval(source=f"{number}.md", timestamp=AT, confidence=confidence, data=sorted(data) or None)
    ]
    if model is not None:
        chain.append(PromptTransform(prompt_name="p", confidence=model))
    least = min([one for one in (confidence, model) if one is not None], default=1.0)
    return Worked(Grounded(plain, chain), plain, frozenset({f"{number}.md"}), frozenset(data), least, False)


CONFIDENCE = st.none() | st.sampled_from([0.2, 0.5, 0.7, 1.0])
DATA = st.lists(st.sampled_from(CATEGORIES), unique=True)


def leaves(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Worked]:
    plain = values.map(lambda value: Worked(value, value, frozenset(), frozenset(), 1.0, False))
    return st.builds(a_leaf, values, st.integers(0, 9), CONFIDENCE, DATA, CONFIDENCE) | plain


def worked(function: Callable[..., Any], *of: Worked) -> Worked:
    """The function over all of them, and what must come of it."""
    return Worked(
        function(*(one.value for one in of)),
        function(*(one.plain for one in of)),
        frozenset().union(*(one.sources for one in of)),
        frozenset().union(*(one.data for one in of)),
        min(one.confidence for one in of),
        any(one.severed for one in of),
    )


def cut(one: Worked) -> Worked:
    """Severed, where there is anything to sever."""
    return one._replace(value=one.value.sever("r"), severed=True) if isinstance(one.value, Grounded) else one


NUMBERS = st.integers(-5, 5)
BINARY = [operator.add, operator.sub, operator.mul, operator.eq, operator.lt, operator.ge, operator.and_, operator.xor]
UNARY = [operator.neg, operator.pos, abs, operator.invert, round]
ARITHMETIC = st.recursive(
    leaves(NUMBERS),
    lambda inner: (
        st.builds(worked, st.sampled_from(BINARY), inner, inner)
        | st.builds(worked, st.sampled_from(UNARY), inner)
        | inner.map(cut)
    ),
    max_leaves=12,
)
TEXTS = st.recursive(
    leaves(st.text("ab «”", max_size=3)),
    lambda inner: (
        st.builds(worked, st.just(operator.add), inner, inner)
        | st.builds(lambda one, n: worked(lambda text: text * n, one), inner, st.integers(0, 2))
        | st.builds(lambda one, n: worked(lambda text: text[n:], one), inner, st.integers(0, 2))
        | st.builds(lambda some: worked(joined, *some), st.lists(inner, min_size=1, max_size=3))
        | inner.map(cut)
    ),
    max_leaves=12,
)


def joined(*texts: Any) -> Any:
    return Grounded.join("-", texts) if any(isinstance(one, Grounded) for one in texts) else "-".join(texts)


@settings(deadline=None)
@given(ARITHMETIC | TEXTS)
def test_an_expression_is_what_it_is_of_plain_values_and_loses_nothing(expression: Worked) -> None:
    """Value as computed plainly; sources and data the union, confidence the least, severed if any part was."""
    value = expression.value
    if not expression.sources:
        assert not isinstance(value, Grounded)  # of plain values only: a plain one
        return

    assert value.unwrap_discarding_sources() == expression.plain
    assert type(value.unwrap_discarding_sources()) is type(expression.plain)
    assert {step.source for step in value.retrievals()} == expression.sources
    assert value.data == expression.data
    assert value.confidence == expression.confidence
    assert value.grounded is not expression.severed


@settings(deadline=None)
@given(ARITHMETIC | TEXTS)
def test_the_outermost_step_tells_what_the_whole_chain_does(expression: Worked) -> None:
    """Least confidence and union of data stand on every derived step, for who reads no further."""
    for step in expression.value.chain.steps() if isinstance(expression.value, Grounded) else ():
        if isinstance(step, Derived):
            inside = ProvenanceChain([*step.left, *step.right])
            assert (step.confidence or 1.0) == inside.confidence
            assert frozenset(step.data or ()) == inside.data


@settings(deadline=None)
@given(ARITHMETIC | TEXTS)
def test_a_value_comes_back_from_the_wire_as_it_went(expression: Worked) -> None:
    """Record and value are each other's inverse, whatever the chain."""
    value = expression.value
    if isinstance(value, Grounded):
        again = from_record(to_record(value))

        assert again.chain == value.chain
        assert again.unwrap_discarding_sources() == value.unwrap_discarding_sources()
        assert to_record(again) == to_record(value)


@settings(deadline=None)
@given(st.lists(ARITHMETIC, max_size=4))
def test_merging_loses_no_step(some: list[Worked]) -> None:
    """Each stands once, where it first stood; merging again changes nothing."""
    chains = [one.value.chain for one in some if isinstance(one.value, Grounded)]
    once: list[Any] = []
    for step in (step for chain in chains for step in chain):
        if not any(step is one for one in once):
            once.append(step)

    whole = merge([*chains, *chains])

    assert whole == once
    assert merge([whole, *chains]) == whole


@settings(deadline=None)
@given(ARITHMETIC)
def test_the_lane_judges_a_chain_as_the_library_does(expression: Worked) -> None:
    """What may claim to be grounded here is not `ungrounded` there, and the other way round [C §2, §3]."""
    value = expression.value
    if isinstance(value, Grounded):
        kinds = {type(step) for step in grounding.steps(list(value.chain))}

        assert value.grounded == (Retrieval in kinds and Severed not in kinds)
        assert set(grounding.data_categories(False, list(value.chain))) == value.data
