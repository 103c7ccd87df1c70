"""A chain keeps every operation that contributed, in order, within bounds."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import AgentHandoff, Derived, Discard, Emission, PromptTransform, Retrieval, Severed
from sluice.streams.adjudication import grounding
from sluice.streams.grounded import Grounded, ProvenanceChain, emission, steps
from sluice.streams.grounded.provenance_chain import EMPTY, MAX_DEPTH, MAX_STEPS, derive, merge

AT = "2026-11-21T09:00:00Z"
ONE = Retrieval(source="one.md", timestamp=AT, data=["grounded"], confidence=0.9, metadata={"page": [1]})
TWO = Retrieval(source="two.md", timestamp=AT, data=["grounded", "pii"])
MADE = PromptTransform(prompt_name="summarise", model="m", tokens=3, confidence=0.8)
BY = AgentHandoff(agent_name="research")


def chain(*inside: object) -> ProvenanceChain:
    return ProvenanceChain(inside)  # type: ignore[arg-type]


def test_it_is_a_sequence_of_steps() -> None:
    """Length, items, slices, membership, equality with a list of the same."""
    whole = chain(ONE, MADE, BY)

    assert (len(whole), whole[0], whole[-1], whole[1:]) == (3, ONE, BY, [MADE, BY])
    assert MADE in whole
    assert whole == [ONE, MADE, BY] == list(whole)
    assert whole != chain(ONE)
    assert whole != "chain"
    assert repr(whole) == "ProvenanceChain[retrieval, prompt-transform, agent-handoff]"


def test_it_never_changes() -> None:
    """Nor do the steps when who gave them changes what is inside."""
    metadata = {"page": [1]}
    whole = chain(Retrieval(source="a", metadata=metadata))
    metadata["page"].append(2)

    with pytest.raises(AttributeError):
        whole._steps = ()
    with pytest.raises(TypeError):
        hash(whole)
    assert whole.retrievals()[0].metadata == {"page": [1]}


def test_steps_may_come_as_they_are_on_the_wire() -> None:
    """And go out so: what comes in goes out."""
    records = chain(ONE, Derived(operator="+", left=[TWO], right=[Severed(reason="r")]), Discard(rule="x")).to_records()

    assert chain(*records).to_records() == records
    assert records[0] == {
        "step": "retrieval", "confidence": 0.9, "data": ["grounded"], "source": "one.md", "timestamp": AT,
        "metadata": {"page": [1]},
    }  # fmt: skip
    with pytest.raises(msgspec.ValidationError):
        chain({"step": "magic"})


def test_it_is_pickled_whole() -> None:
    """With all that it tells."""
    whole = derive("+", chain(ONE, MADE), chain(TWO))

    again = pickle.loads(pickle.dumps(whole))

    assert again == whole
    assert (again.confidence, again.data) == (whole.confidence, whole.data)


def test_a_pickled_chain_still_knows_which_steps_are_one() -> None:
    """The same source twice is one source, before and after."""
    one = chain(ONE)
    whole = derive("+", one, one)

    assert pickle.loads(pickle.dumps(whole)).retrievals() == whole.retrievals() == [ONE]


def test_steps_that_read_alike_are_two_all_the_same() -> None:
    """Two retrievals of one millisecond by one tool: neither source is lost."""
    one, other = chain(ONE), chain(ONE)

    assert merge([one, other]) == [ONE, ONE]
    assert derive("+", one, other).retrievals() == [ONE, ONE]


def test_what_it_tells_looks_inside_derived_steps() -> None:
    """Sources each once, the least confidence, all data, and whether it was severed anywhere."""
    one = chain(ONE)
    whole = derive("+", one.then(MADE), derive("+", chain(TWO), one))
    cut = derive("+", whole, chain(Severed(reason="r")))

    assert whole.retrievals() == [ONE, TWO]
    assert (whole.confidence, whole.data) == (0.8, {"grounded", "pii"})
    assert (whole.grounded, whole.severed, cut.grounded, cut.severed) == (True, False, False, True)
    assert list(whole.steps()) == list(steps(whole)) == list(grounding.steps(list(whole)))


def test_the_empty_chain_is_as_sure_as_can_be_and_grounds_nothing() -> None:
    """A plain operand's."""
    assert (EMPTY.confidence, EMPTY.data, EMPTY.grounded, len(EMPTY)) == (1.0, frozenset(), False, 0)


def test_merging_puts_chains_one_behind_the_other() -> None:
    """What they have in common stands once, where it comes first; what else there is stays."""
    one = chain(ONE)

    assert merge([one.then(MADE), merge([chain(TWO), one]).then(BY)]) == [ONE, MADE, TWO, BY]
    assert merge([EMPTY, chain(ONE)]) == [ONE]
    assert merge([]) == []


def test_a_chain_that_doubles_stays_within_bounds() -> None:
    """`x = x + x`, sixty times: every source is there, and the confidence and the data."""
    whole = derive("+", chain(ONE, MADE), chain(TWO))
    for _ in range(60):
        whole = derive("+", whole, whole)

    assert sum(1 for _ in whole.steps()) <= MAX_STEPS
    assert whole.retrievals() == [ONE, TWO]
    assert MADE in list(whole.steps())
    assert (whole.confidence, whole.data) == (0.8, {"grounded", "pii"})


def test_a_chain_that_deepens_stays_within_bounds() -> None:
    """A thousand operators in a row still make an emission that a lane takes."""
    value = Grounded("a", [ONE])
    for _ in range(1000):
        value = value + "b"

    assert isinstance(decode_emission(msgspec.json.encode(emission("em-1", "bot", value, emitted_at=AT))), Emission)
    assert depth(list(value.chain)) <= MAX_DEPTH
    assert value.retrievals() == [ONE]


def depth(inside: list[object]) -> int:
    return max((1 + max(depth(one.left), depth(one.right)) for one in inside if isinstance(one, Derived)), default=0)  # type: ignore[arg-type]


def test_of_many_sources_none_is_lost() -> None:
    """More than the bound: they stay, flat."""
    some = [Grounded("x", [Retrieval(source=f"{n}.md", timestamp=AT)]) for n in range(MAX_STEPS + 100)]
    whole = some[0]
    for one in some[1:]:
        whole = whole + one

    assert [one.source for one in whole.retrievals()] == [f"{n}.md" for n in range(MAX_STEPS + 100)]


def test_a_deep_chain_from_outside_is_flattened_when_it_is_derived_from() -> None:
    """Whoever wrote it."""
    step: Derived | Retrieval = ONE
    for _ in range(60):
        step = Derived(operator="+", left=[step])

    whole = derive("-", chain(step))

    assert depth(list(whole)) <= 2
    assert whole.retrievals() == [ONE]
