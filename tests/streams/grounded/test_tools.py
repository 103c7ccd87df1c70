"""What a call of a tool contributes to a chain, and what it insists on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from sluice.codecs.errors import UsageError
from sluice.codecs.records import Derived, Retrieval
from sluice.streams.grounded import Answer, Grounded, UngroundedReturn, agent, grounded_pure, prompt, tool

if TYPE_CHECKING:
    from nowhere import Elsewhere  # type: ignore[import-not-found]
from grounded_calls import AT, clock, fetch, ledger, person, plain, retrieval

__all__ = ["clock"]


def test_a_grounded_tool_is_a_source() -> None:
    """Its body returns the plain value; the step says what, when, and of which categories [C §2, §3]."""
    value = fetch("a")

    assert plain(value) == "text of a"
    assert value.sources() == [retrieval()]


def test_a_tool_tells_more_in_an_answer() -> None:
    """How sure it is, what it retrieved, and anything else that JSON can hold."""

    @tool(data=["grounded", "pii"], confidence=0.9, source="people/{name}")
    def look_up(name: str, sure: float, source: str | None = None) -> str:
        return Answer(name, sure, {"page": (1, 2)}, source=source)  # type: ignore[return-value]

    one, other = look_up("ann", 0.95), look_up("ann", 0.5, source="elsewhere")

    assert one.sources() == [
        Retrieval(
            confidence=0.9, data=["grounded", "pii"], source="people/ann", timestamp=AT, metadata={"page": [1, 2]}
        )
    ]
    assert (other.confidence, other.retrievals()[0].source) == (0.5, "elsewhere")


def test_a_grounded_tool_is_grounded_however_it_is_declared() -> None:
    """Plain, not at all, or as what only type checkers know [C §9.1]."""

    @tool(data={"grounded"})
    def declared_plain() -> str:
        return "a"

    @tool(data=("grounded",))
    def undeclared():  # type: ignore[no-untyped-def]
        return "a"

    @tool(data=frozenset({"grounded"}))
    def unresolved() -> Elsewhere:
        return "a"

    for made in (declared_plain, undeclared, unresolved):
        assert isinstance(made(), Grounded)
        assert made().grounded


def test_a_tool_of_other_data_is_no_source() -> None:
    """Its result has the wrapper and the categories where it is declared so, and no retrieval [C §6]."""
    value = ledger(21)

    assert plain(value) == 42
    assert value.sources() == [Derived(operator="ledger", data=["financial"])]
    assert (value.data, value.grounded, value.retrievals()) == ({"financial"}, False, [])
    assert person("ann") == "ann"


def test_a_tool_without_data_that_claims_to_be_grounded_is_refused() -> None:
    """There is nothing that it could be grounded in; but a computation over a source is."""

    @tool
    def compute(text: str) -> Grounded[int]:
        return len(text)  # type: ignore[return-value]

    with pytest.raises(UngroundedReturn, match=r'data="grounded"'):
        compute("a")
    assert compute(fetch("a")).sources() == [Derived(operator="compute", left=[retrieval()])]


def test_a_tool_extends_the_chains_of_its_arguments() -> None:
    """Arguments arrive plain; what asked stands before what was found [C §2]."""

    @tool(data="grounded")
    def search(question: str) -> str:
        assert type(question) is str
        return "found"

    assert search(fetch("a")).sources() == [retrieval(), retrieval("search")]


def test_what_a_severed_argument_asks_does_not_sever_what_is_found() -> None:
    """A question says nothing about where the answer comes from."""
    assert fetch(fetch("a").sever("guessed")).sources() == [retrieval()]


def test_a_tool_may_pass_on_what_another_found() -> None:
    """Its own step stands behind."""

    @tool(data="grounded")
    def cached(doc_id: str) -> Grounded[str]:
        return fetch(doc_id)

    assert cached("a").sources() == [retrieval(), retrieval("cached")]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Answer(1, confidence=1.5),
        lambda: Answer(1, confidence=float("nan")),
        lambda: Answer(1, tokens=-1),
        lambda: tool(data="not an identifier"),
        lambda: tool("grounded"),  # type: ignore[arg-type]
        lambda: tool(confidence=2.0),
        lambda: agent(min_confidence=-0.1),
        lambda: prompt(cites="other"),
        lambda: tool(data="grounded", source="{other}"),
        lambda: tool(data="grounded", source="{}"),
        lambda: tool(data="grounded")(lambda: Answer(1, metadata={"o": object()}))(),  # type: ignore[arg-type]
    ],
)
def test_what_a_chain_could_not_hold_is_refused_at_once(bad: Callable[[], Any]) -> None:
    """With a sentence that says what was expected."""
    with pytest.raises(UsageError):
        bad()(lambda doc: doc)


def test_generators_are_refused() -> None:
    """What they yield would be out before anything could be checked."""

    def yields() -> Iterator[str]:
        yield "a"

    async def yields_later() -> Any:
        yield "a"

    for decorator in (tool, prompt, agent, grounded_pure):
        for function in (yields, yields_later):
            with pytest.raises(UsageError, match="generator"):
                decorator(function)  # type: ignore[operator]
