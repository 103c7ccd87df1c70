"""What a call of a tool, a prompt and an agent contributes to a chain, and what each of them insists on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Union

import pytest

from sluice.codecs.errors import UsageError
from sluice.codecs.records import AgentHandoff, Derived, Discard, PromptTransform, Retrieval
from sluice.streams import grounded as library
from sluice.streams.grounded import (
    Answer,
    CitationViolation,
    Grounded,
    MinConfidenceViolation,
    MissingDataCategory,
    UngroundedReturn,
    agent,
    discarding,
    discards,
    grounded_pure,
    prompt,
    tool,
    using_clock,
)

if TYPE_CHECKING:
    from nowhere import Elsewhere  # type: ignore[import-not-found]

NOW = 1_795_248_000_000
AT = "2026-11-21T08:00:00Z"


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Retrievals are dated as the tests know."""
    with using_clock(lambda: NOW):
        yield


@tool(data="grounded")
def fetch(doc_id: str) -> Grounded[str]:
    """Fetches a document."""
    return f"text of {doc_id}"  # type: ignore[return-value]


@tool(data="financial")
def ledger(account: int) -> Grounded[int]:
    return account * 2  # type: ignore[return-value]


@tool(data="pii")
def person(name: str) -> str:
    return name


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "What?") -> Grounded[str]:
    assert type(doc) is str
    return f"{doc}, in short"  # type: ignore[return-value]


def plain(value: Grounded[Any]) -> Any:
    return value.unwrap_discarding_sources()


def retrieval(name: str = "fetch", **fields: Any) -> Retrieval:
    return Retrieval(source=name, timestamp=AT, data=["grounded"], **fields)


# ---------------------------------------------------------------- tools


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


# ---------------------------------------------------------------- prompts


def test_a_prompt_inherits_the_sources_of_its_arguments() -> None:
    """It is a transform, not a source [C §2]; arguments arrive plain, by position, by name, by default."""
    value = summarise(fetch("a"), question=fetch("b"))

    assert plain(value) == "text of a, in short"
    made = PromptTransform(prompt_name="summarise", model="some-model-1")
    assert value.sources() == [retrieval(), retrieval(), made]


def test_a_prompt_takes_sources_out_of_containers() -> None:
    """Lists, dictionaries, `*` and `**`: no source is lost in one."""

    @tool(data="grounded", source="{name}")
    def get(name: str) -> str:
        return name

    @prompt
    def over(some: list[str], *more: str, **named: dict[str, str]) -> Grounded[str]:
        assert (some, more, named) == (["a", "x"], ("b",), {"k": {"d": "c"}})
        return Answer("answer", tokens=7, model="another")  # type: ignore[return-value]

    value = over([get("a"), "x"], get("b"), k={"d": get("c")})

    assert [one.source for one in value.retrievals()] == ["a", "b", "c"]
    assert value.sources()[-1] == PromptTransform(prompt_name="over", model="another", tokens=7)


def test_a_parameter_that_takes_the_wrapper_gets_it() -> None:
    """Where its annotation says so, the sources are inherited all the same."""

    @prompt
    def over(doc: Grounded[str], some: list[Grounded[str]], other: str) -> Grounded[str]:
        assert isinstance(doc, Grounded)
        assert isinstance(some[0], Grounded)
        assert type(other) is str
        return "answer"  # type: ignore[return-value]

    assert len(over(fetch("a"), [fetch("b")], fetch("c")).sources()) == 4


def test_what_takes_the_wrapper_is_understood_with_names_that_are_not_there() -> None:
    """By the name in the text, or inside a type."""

    def over(one: Grounded[Elsewhere], some: list[Grounded[str]], other: Elsewhere):  # type: ignore[no-untyped-def]
        return [isinstance(one, Grounded), isinstance(some[0], Grounded), isinstance(other, Grounded)]

    def under(one, some):  # type: ignore[no-untyped-def]
        return [isinstance(one, Grounded), isinstance(some[0], Grounded)]

    under.__annotations__ = {"one": Annotated["Grounded[Elsewhere]", 1], "some": list["Grounded[Elsewhere]"]}

    assert plain(prompt(over)(fetch("a"), [fetch("b")], fetch("c"))) == [True, True, False]
    assert plain(prompt(under)(fetch("a"), [fetch("b")])) == [True, True]


def test_a_prompt_without_a_source_cannot_claim_to_be_grounded() -> None:
    """Neither with plain arguments nor with severed ones."""
    with pytest.raises(UngroundedReturn, match="no argument has a source"):
        summarise("a plain text")
    with pytest.raises(UngroundedReturn, match="mixed"):
        summarise(fetch("a").sever("mixed"))


def test_a_prompt_that_is_declared_plain_returns_a_plain_value() -> None:
    """An external boundary [C §9.4]; an undeclared one is grounded if its arguments are."""

    @prompt
    def classify(doc: str) -> str:
        return "news"

    @prompt
    def undeclared(doc):  # type: ignore[no-untyped-def]
        return Answer("news", 0.5)

    assert classify(fetch("a")) == "news"
    assert undeclared("a") == "news"
    assert undeclared(fetch("a")).confidence == 0.5


def test_the_least_of_what_is_declared_and_answered_counts() -> None:
    """A declared confidence is the best that a prompt can do: `sluice check` reckons with it [C §7]."""

    @prompt(confidence=0.7)
    def unsure(doc: str, sure: float) -> Grounded[str]:
        return Answer(doc, sure)  # type: ignore[return-value]

    assert unsure(fetch("a"), 0.95).confidence == 0.7
    assert unsure(fetch("a"), 0.5).confidence == 0.5


def test_a_strict_prompt_quotes_its_context_or_fails() -> None:
    """What it cites, plain or grounded, one parameter or several; nothing else is context [C §4]."""

    @prompt(cites=("doc", "notes"), strictly=True)
    def answer(doc: str, notes: list[str], says: str) -> Grounded[str]:
        return says  # type: ignore[return-value]

    assert answer(fetch("a"), ["a note"], "“text of a” and `a note`").grounded
    with pytest.raises(CitationViolation) as raised:
        answer(fetch("a"), ["a note"], "“text of a” and “text of b”")
    assert (raised.value.prompt, raised.value.context, raised.value.quote) == ("answer", "doc and notes", "text of b")


# ---------------------------------------------------------------- agents


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
