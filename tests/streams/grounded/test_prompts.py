"""What a call of a prompt contributes to a chain, and what it insists on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest

from sluice.codecs.records import PromptTransform
from sluice.streams.grounded import Answer, CitationViolation, Grounded, UngroundedReturn, prompt, tool

if TYPE_CHECKING:
    from nowhere import Elsewhere  # type: ignore[import-not-found]
from grounded_calls import clock, fetch, plain, retrieval, summarise

__all__ = ["clock"]


def test_a_prompt_inherits_the_sources_of_its_arguments() -> None:
    """It is a transform, not a source [C §2]; arguments arrive plain, by position, by name, by default."""
    value = summarise(fetch("a"), question=fetch("b"))

    assert plain(value) == "text of a, in short"
    assert value.sources() == [retrieval(), retrieval(), PromptTransform(prompt_name="summarise", model="some-model-1")]


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
    assert value.sources()[-1] == PromptTransform(prompt_name="over", model="another", tokens=7, mixed=True)


def test_the_step_of_a_prompt_tells_that_sources_and_none_were_mixed() -> None:
    """By what the caller gives, in containers as well; a default, a method's object and None are no argument."""
    get = tool(data="grounded")(lambda name: name)

    class Model:
        @prompt
        def over(self, *args: Any, style: str = "brief", **kwargs: Any) -> Grounded[str]:
            return "a"  # type: ignore[return-value]

    def mixed(*args: Any, **kwargs: Any) -> bool:
        step = Model().over(*args, **kwargs).sources()[-1]
        assert isinstance(step, PromptTransform)
        return step.mixed

    assert not mixed(get("a"))
    assert not mixed([get("a"), (get("b"),)], more={"c": get("c"), "d": None})
    assert mixed(get("a"), "what is it?")
    assert mixed(get("a"), style="long")
    assert mixed([get("a"), {"b": "plain"}])
    assert mixed(get("a"), more=0)


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
