"""What an agent's return contributes to a chain, and what it insists on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Union

import pytest

from sluice.codecs.records import AgentHandoff, Discard, PromptTransform, Retrieval
from sluice.streams import grounded as library
from sluice.streams.grounded import (
    Answer,
    Grounded,
    MinConfidenceViolation,
    MissingDataCategory,
    UngroundedReturn,
    agent,
    discarding,
    discards,
    grounded_pure,
    tool,
)

if TYPE_CHECKING:
    from nowhere import Elsewhere  # type: ignore[import-not-found]
from grounded_calls import clock, fetch, ledger, person, summarise

__all__ = ["clock"]


def test_an_agent_hands_off() -> None:
    """The whole example of the README: retrieval, transform, hand-off, in this order."""

    @agent(min_confidence=0.8, data={"grounded"})
    @grounded_pure
    def research(doc_id: str) -> Grounded[str]:
        return summarise(fetch(doc_id), "What changed?")

    assert [type(step) for step in research("a").sources()] == [Retrieval, PromptTransform, AgentHandoff]
    assert research("a").sources()[-1] == AgentHandoff(agent_name="research")


def test_an_agent_gets_its_arguments_as_they_are() -> None:
    """And their sources come along, even where its result took nothing from them [C §2]."""

    @agent
    def other(doc: Grounded[str], note: Any) -> Grounded[str]:
        assert isinstance(doc, Grounded)
        assert isinstance(note, Grounded)
        return fetch("b") + "!"

    @tool(data="grounded", source="{name}")
    def get(name: str) -> str:
        return name

    assert [one.source for one in other(get("doc"), note=get("note")).retrievals()] == ["doc", "note", "fetch"]


def test_a_source_that_only_an_argument_has_bears_no_claim() -> None:
    """What comes back has to have one of its own [C §2]."""

    @agent
    def claims(doc: Grounded[str]) -> Grounded[Any]:
        return ledger(1)

    with pytest.raises(UngroundedReturn):
        claims(fetch("a"))


def test_a_severed_argument_severs_only_what_is_made_of_it() -> None:
    """A question that was guessed does not cut off a document that was fetched."""

    @agent
    def research(question: Grounded[str], uses_it: bool) -> Grounded[str]:
        return fetch("a") + question if uses_it else fetch(question)

    guessed = fetch("q").sever("guessed")

    assert research(guessed, False).grounded
    with pytest.raises(UngroundedReturn, match="guessed"):
        research(guessed, True)


@pytest.mark.parametrize(
    "returned",
    [lambda: "plain", lambda: fetch("a").sever("why"), lambda: ledger(1), lambda: ["plain"], lambda: None],
)
def test_an_agent_returns_what_it_claims(returned: Callable[[], Any]) -> None:
    """A plain value, a severed one, and one without a source are refused: declared `Grounded`, or of grounded data."""

    @agent
    def declared() -> Grounded[Any]:
        return returned()

    @agent(data="grounded")
    def of_grounded_data() -> Any:
        return returned()

    for one in (declared, of_grounded_data):
        with pytest.raises(UngroundedReturn):
            one()


@pytest.mark.parametrize(
    "annotation",
    [
        "Grounded[str]",
        "library.Grounded[str]",
        Grounded,
        Grounded[str],
        Annotated[Grounded[str], "x"],
        "Elsewhere | Grounded[str]",
        "Annotated[Grounded[Elsewhere], 1]",
        "'Grounded[str]'",
        Union["Grounded[str]", "Elsewhere"],
    ],
)
def test_a_claim_is_understood_however_it_is_written(annotation: Any) -> None:
    """As a type or a text, qualified, annotated, in a union, with names that only type checkers know."""

    def returns():  # type: ignore[no-untyped-def]
        return "plain"

    returns.__annotations__["return"] = annotation

    with pytest.raises(UngroundedReturn):
        agent(returns)()
    assert library.Grounded is Grounded


@pytest.mark.parametrize("annotation", [Grounded[str] | None, "Grounded[str] | None", "Optional[Grounded[Elsewhere]]"])
def test_a_claim_may_leave_room_for_none(annotation: Any) -> None:
    """Then None is no answer, and claims nothing; anything else is held to the claim."""

    def returns(what):  # type: ignore[no-untyped-def]
        return what

    returns.__annotations__["return"] = annotation

    assert agent(returns)(None) is None
    assert agent(returns)(fetch("a")).grounded
    with pytest.raises(UngroundedReturn):
        agent(returns)("plain")
    assert tool(data="grounded")(returns)(None) is None


def test_an_agent_that_is_declared_plain_returns_a_plain_value() -> None:
    """The old coercion, on record [C §9.3]: whoever calls it sees the discard in their own chain."""

    @agent
    def title(doc_id: str) -> str:
        return fetch(doc_id)  # type: ignore[return-value]

    @agent
    def outer(doc_id: str) -> Grounded[str]:
        return fetch(doc_id) + title(doc_id)

    assert title("a") == "text of a"
    assert discards()[-1].rule == "return"
    assert [one.rule for one in outer("a").chain.steps() if isinstance(one, Discard)] == ["return"]


def test_an_agent_that_is_not_declared_returns_what_it_returns() -> None:
    """Grounded or plain, and containers of grounded values as they are."""

    @agent
    def passes(what):  # type: ignore[no-untyped-def]
        return what

    @agent
    def several() -> list[Grounded[str]]:
        return [fetch("a"), fetch("b")]

    assert passes("plain") == "plain"
    assert isinstance(passes(fetch("a")), Grounded)
    assert all(isinstance(one, Grounded) for one in several())


def test_what_an_agent_lets_go_is_in_its_chain() -> None:
    """Conditions, unwraps and declared discards, in order, before the hand-off [C §9.2]; not those of others."""

    @agent
    def careful(doc_id: str) -> Grounded[str]:
        doc = fetch(doc_id)
        if doc:
            doc.unwrap_discarding_sources()
        with discarding("logged"):
            str(doc)
        return doc

    bool(fetch("outside"))
    steps = careful("a").sources()

    assert [one.rule for one in steps if isinstance(one, Discard)] == ["condition", "explicit-unwrap", "str"]
    assert isinstance(steps[-1], AgentHandoff)
    assert len(careful("a").sources()) == len(steps)


def test_an_agent_below_its_least_confidence_fails() -> None:
    """Grounded as it may be [C §7]; at the bound it does not."""

    @agent(min_confidence=0.8)
    def research(sure: float) -> Grounded[str]:
        return summarise(look(sure))

    @tool(data="grounded")
    def look(sure: float) -> str:
        return Answer("a", sure)  # type: ignore[return-value]

    @agent(min_confidence=0.8)
    def several(sure: float) -> Grounded[list[str]]:
        return [look(1.0), look(sure)]  # type: ignore[return-value]

    assert research(0.8).confidence == several(0.8).confidence == 0.8
    with pytest.raises(MinConfidenceViolation):
        several(0.7)
    with pytest.raises(MinConfidenceViolation) as raised:
        research(0.7)
    assert (raised.value.confidence, raised.value.least) == (0.7, 0.8)


def test_an_agent_without_a_declared_category_fails() -> None:
    """Categories compose by union: of the chain, and of what it called [C §6]."""

    @agent(data={"grounded", "financial", "pii"})
    def report(whole: bool) -> Grounded[str]:
        doc = fetch("a")
        if whole:
            person("ann")
            return doc + ledger(1).map(str)
        return doc

    assert report(True).data == {"grounded", "financial", "pii"}
    with pytest.raises(MissingDataCategory) as raised:
        report(False)
    assert (raised.value.missing, raised.value.found) == (("financial", "pii"), ("grounded",))


def test_categories_come_through_inner_agents() -> None:
    """Plain results of theirs included."""

    @agent
    def inner() -> str:
        return person("ann")

    @agent(data="pii")
    def outer() -> str:
        return inner()

    assert outer() == "ann"
