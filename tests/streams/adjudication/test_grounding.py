"""A provenance chain is only the emitter's word: it can make a verdict stricter, never admit [C §2, §3, §4, §6, §7]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.records import (
    AgentHandoff,
    AnyStep,
    Assertion,
    Cites,
    Derived,
    Discard,
    Emission,
    PromptTransform,
    Retrieval,
    Severed,
)
from sluice.streams.adjudication import grounding

CONFIDENCE = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])
DATA = st.none() | st.lists(st.sampled_from(["grounded", "pii", "public"]), max_size=2)
LEAVES = st.one_of(
    *(
        st.builds(step, confidence=CONFIDENCE, data=DATA)
        for step in (Retrieval, PromptTransform, AgentHandoff, Severed, Discard)
    )
)
STEPS: st.SearchStrategy[AnyStep] = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        Derived, confidence=CONFIDENCE, data=DATA, left=st.lists(inner, max_size=3), right=st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


def flat(chain: list[AnyStep]) -> list[AnyStep]:
    """Every step, written the plain way."""
    found: list[AnyStep] = []
    for step in chain:
        found.append(step)
        if isinstance(step, Derived):
            found += flat(step.left) + flat(step.right)
    return found


@given(st.lists(STEPS, max_size=4))
def test_all_steps_are_seen_those_inside_derived_included(chain: list[AnyStep]) -> None:
    """In order, left before right."""
    assert list(grounding.steps(chain)) == flat(chain)


def test_no_chain_has_no_steps() -> None:
    """An assertion without a chain is as one with an empty one."""
    assert list(grounding.steps(None)) == []


@given(st.booleans() | st.none(), st.lists(STEPS, max_size=4) | st.none())
def test_a_claim_to_be_grounded_needs_a_retrieval_and_no_cut(
    grounded: bool | None, chain: list[AnyStep] | None
) -> None:
    """Anywhere in the chain [C §2, §3]; without the claim nothing is asked."""
    kinds = [type(step) for step in flat(chain or [])]

    assert grounding.is_ungrounded(Assertion(grounded=grounded, chain=chain)) == (
        bool(grounded) and (Retrieval not in kinds or Severed in kinds)
    )


@given(CONFIDENCE, st.lists(STEPS, max_size=4) | st.none())
def test_the_confidence_is_the_least_that_is_declared(own: float | None, chain: list[AnyStep] | None) -> None:
    """The assertion's own or that of any step [C §7]; none where none is declared."""
    declared = [step.confidence for step in flat(chain or [])] + [own]
    known = [confidence for confidence in declared if confidence is not None]

    assert grounding.least_confidence(Assertion(confidence=own, chain=chain)) == (min(known) if known else None)


@given(st.booleans(), st.lists(STEPS, max_size=4))
def test_data_categories_are_the_sorted_union(grounded: bool, chain: list[AnyStep]) -> None:
    """Each once, `grounded` where the assertion claims it [C §6]."""
    found = {category for step in flat(chain) for category in step.data or ()} | ({"grounded"} if grounded else set())

    assert grounding.data_categories(grounded, chain) == sorted(found)


EMISSION = Emission("em-1", 0, contexts={"ctx": "The café said “yes” — twice. A second line."})


def violation(text: str, context: str = "ctx", strictly: bool = True) -> str | None:
    """The quote that is not in its context."""
    found = grounding.citation_violation(EMISSION, Assertion(cites=Cites(context, strictly)), text)
    return None if found is None else text[slice(*found)]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("It says “A second line.” there.", None),
        ("It says “a second line.” there.", "a second line."),
        ("It says “A second  line.” there.", "A second  line."),
        ("It says “cafe\u0301”.", "cafe\u0301"),
        ("It says “café” and “no”.", "no"),
        ("It says “no” and “nay”.", "no"),
        ("It quotes nothing.", None),
    ],
)
def test_a_strictly_cited_quote_stands_in_its_context_character_for_character(text: str, quote: str | None) -> None:
    """Case, white space and Unicode form count; the first that does not stand there is told [C §4]."""
    assert violation(text) == quote


def test_a_context_that_is_not_there_holds_no_quote() -> None:
    """What the emission does not carry cannot bear a quote out; a text without quotes violates nothing."""
    assert violation("It says “yes”.", context="other") == "yes"
    assert violation("It says yes.", context="other") is None


def test_only_strict_citations_are_held_to_it() -> None:
    """A citation that is not strict, or none at all, is not looked at."""
    assert violation("It says “no”.", strictly=False) is None
    assert grounding.citation_violation(EMISSION, Assertion(), "It says “no”.") is None
