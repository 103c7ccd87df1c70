"""Nothing is let go under `@grounded_pure`; and what holds for every decorator, on every kind of function."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sluice.codecs.errors import SluiceError
from sluice.codecs.records import Discard
from sluice.streams.grounded import (
    CitationViolation,
    Grounded,
    GroundedError,
    MinConfidenceViolation,
    MissingDataCategory,
    PurityViolation,
    UndeclaredDiscard,
    UngroundedReturn,
    agent,
    discarding,
    enc_hook,
    grounded_pure,
    prompt,
    to_record,
    tool,
)


@tool(data="grounded")
def fetch(doc_id: str) -> Grounded[str]:
    """Fetches a document."""
    return f"text of {doc_id}"  # type: ignore[return-value]


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "What?") -> Grounded[str]:
    assert type(doc) is str
    return f"{doc}, in short"  # type: ignore[return-value]


def plain(value: Grounded[Any]) -> Any:
    return value.unwrap_discarding_sources()


# ---------------------------------------------------------------- grounded_pure


@tool(data={"pii"})
def lookup(key: str) -> str:
    return key


@prompt
def is_polite(docs: list[str]) -> bool:
    return bool(docs)


@tool
def echo(doc: Grounded[str]) -> str | None:
    return doc.unwrap_discarding_sources()


@tool
def store(doc: str) -> None:
    assert type(doc) is str


@tool
def passages(doc: str) -> list[Grounded[str]]:
    return [fetch(doc)]


@tool
def same(doc: str) -> Any:
    return doc


def take_apart(one: Any) -> Any:
    first, *rest = one
    return first, rest


@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (lambda one: one.unwrap_discarding_sources(), "explicit-unwrap"),
        (lambda one: discarding("why").__enter__(), "explicit-unwrap"),
        (bool, "coercion"),
        (lambda one: "a" in one, "coercion"),
        (str, "coercion"),
        (lambda one: f"{one}", "coercion"),
        (int, "coercion"),
        (len, "coercion"),
        (list, "coercion"),
        (reversed, "coercion"),
        (iter, "coercion"),
        (to_record, "coercion"),
        (lambda one: msgspec.json.encode([one], enc_hook=enc_hook), "coercion"),
        (take_apart, "coercion"),
        (lookup, "coercion"),
        (lambda one: lookup(key=one), "coercion"),
        (lambda one: is_polite([one, "a"]), "coercion"),
        (echo, "coercion"),
        (lambda one: impure_agent(), "impure-call"),
        (lambda one: deep(one), "explicit-unwrap"),
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_nothing_is_let_go_under_grounded_pure(act: Callable[[Any], Any], rule: str, above: bool) -> None:
    """Explicitly, by coercion, in another function, or by an agent that may [C §9.4]; in either order of decorators."""

    def body(doc_id: str) -> Grounded[str]:
        doc = fetch(doc_id)
        act(doc)
        return doc

    launders = grounded_pure(agent(body)) if above else agent(grounded_pure(body))

    with pytest.raises(PurityViolation) as raised:
        launders("a")
    assert raised.value.rule == rule
    assert "/" not in raised.value.where


@agent
def impure_agent() -> Grounded[str]:
    return fetch("b")


def deep(one: Grounded[Any]) -> Any:
    return one.unwrap_discarding_sources()


def test_a_plain_return_is_a_coercion_under_grounded_pure() -> None:
    """As anywhere a grounded value goes into a plain slot."""

    @agent
    @grounded_pure
    def launders(doc_id: str) -> str:
        return fetch(doc_id)  # type: ignore[return-value]

    with pytest.raises(PurityViolation, match="return"):
        launders("a")


def test_what_a_tool_with_a_plain_result_is_given_is_on_record() -> None:
    """Outside `@grounded_pure`, in the chain of what is returned; a result that keeps the sources loses none."""

    @agent
    def asks(doc_id: str) -> Grounded[str]:
        doc = fetch(doc_id)
        store(doc)
        passages(doc)
        assert isinstance(same(doc), Grounded)
        assert lookup("plain") == "plain"
        assert (type(lookup(doc)), is_polite([doc])) == (str, True)
        return doc

    assert [one.rule for one in asks("a").chain if isinstance(one, Discard)] == ["argument", "argument"]


@pytest.mark.parametrize("act", [store, passages, same, lambda _: lookup("plain")])
def test_a_boundary_that_loses_nothing_is_pure(act: Callable[[Any], Any]) -> None:
    """A tool without a result, with a result that keeps the sources, or that was given nothing grounded."""

    @agent
    @grounded_pure
    def asks(doc_id: str) -> Grounded[str]:
        doc = fetch(doc_id)
        act(doc)
        return doc

    assert asks("a").grounded


def test_pure_agents_call_tools_prompts_and_their_like() -> None:
    """Tools and prompts are external boundaries: what their bodies do is their own."""

    @tool(data="grounded")
    def inside(doc: Grounded[str]) -> str:
        return doc.unwrap_discarding_sources()

    @grounded_pure
    @agent
    def inner() -> Grounded[str]:
        return summarise(inside(fetch("a")))

    @agent
    @grounded_pure
    def outer() -> Grounded[str]:
        return inner() + "!"

    assert outer().grounded
    assert not [step for step in outer().chain.steps() if isinstance(step, Discard)]


def test_a_declared_discard_does_not_reach_into_a_call() -> None:
    """Whoever lets values go says so themselves."""

    @tool
    def shows(doc: Grounded[str]) -> str:
        return str(doc)

    with discarding("mine"), pytest.raises(UndeclaredDiscard):
        shows(fetch("a"))


def test_grounded_pure_ends_with_the_call() -> None:
    """Also with one that fails."""

    @grounded_pure
    def fails() -> None:
        raise ValueError("fails")

    with pytest.raises(ValueError, match="fails"):
        fails()
    assert fetch("a")


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    "decorate", [tool(data="grounded"), prompt(model="m"), agent(min_confidence=0.1), grounded_pure]
)
def test_signature_name_and_docstring_stay(decorate: Callable[[Any], Any]) -> None:
    """For who reads them, and whoever reads the annotations."""

    def research(doc_id: str, *, deep: bool = False) -> Grounded[str]:
        """Looks into it."""
        raise NotImplementedError

    made = decorate(research)

    assert (made.__name__, made.__doc__, made.__module__) == ("research", "Looks into it.", __name__)
    assert inspect.signature(made) == inspect.signature(research)
    assert inspect.unwrap(made) is research


async def test_async_functions_stay_async() -> None:
    """Side by side, each with scopes of its own."""

    @tool(data="grounded", source="{name}")
    async def get(name: str) -> str:
        await asyncio.sleep(0)
        return name

    @prompt
    async def short(doc: str) -> Grounded[str]:
        await asyncio.sleep(0)
        return doc[:1]  # type: ignore[return-value]

    @agent(data="grounded")
    async def research(name: str) -> Grounded[str]:
        doc = await get(name)
        await asyncio.sleep(0)
        if doc and name == "b1":
            await asyncio.sleep(0)
        return await short(doc)

    @agent
    @grounded_pure
    async def pure(name: str) -> Grounded[str]:
        doc = await get(name)
        await asyncio.sleep(0)
        return doc.unwrap_discarding_sources()  # type: ignore[return-value]

    assert all(inspect.iscoroutinefunction(one) for one in (get, short, research, pure))
    one, other, refused = await asyncio.gather(research("a1"), research("b1"), pure("c1"), return_exceptions=True)

    assert isinstance(one, Grounded)
    assert isinstance(other, Grounded)
    assert isinstance(refused, PurityViolation)
    assert [[step.source for step in value.retrievals()] for value in (one, other)] == [["a1"], ["b1"]]
    assert [len([step for step in value.sources() if isinstance(step, Discard)]) for value in (one, other)] == [1, 1]


class Library:
    """Methods of every kind."""

    shelf = "s"

    @tool(data="grounded")
    def get(self, key: str) -> str:
        return self.shelf + key

    @classmethod
    @tool(data="grounded")
    def of_class(cls, key: str) -> str:
        return cls.shelf + key

    @staticmethod
    @tool(data="grounded")
    def static(key: str) -> str:
        return key

    @agent
    @grounded_pure
    def ask(self, key: str) -> Grounded[str]:
        return summarise(self.get(key))


def test_methods_are_functions_too() -> None:
    """Of instances, of classes, static ones."""
    library = Library()

    assert [plain(one) for one in (library.get("a"), library.of_class("a"), Library.static("a"))] == ["sa", "sa", "a"]
    assert plain(library.ask("a")) == "sa, in short"


def test_a_decorator_may_stand_above_staticmethod_and_classmethod() -> None:
    """It is what it would be below."""

    class Shelf:
        @tool(data="grounded")
        @staticmethod
        def get(key: str) -> str:
            return key

        @agent
        @grounded_pure
        @classmethod
        def ask(cls, key: str) -> Grounded[str]:
            return summarise(cls.get(key))

    assert [plain(one) for one in (Shelf.get("a"), Shelf().get("a"))] == ["a", "a"]
    assert plain(Shelf().ask("a")) == plain(Shelf.ask("a")) == "a, in short"


async def test_what_can_be_called_is_a_function_too() -> None:
    """A partial, and an object with `__call__`, asynchronous or not."""

    class Reader:
        def __init__(self, shelf: str) -> None:
            self.shelf = shelf

        async def __call__(self, doc: Grounded[str], key: str) -> Grounded[str]:
            assert isinstance(doc, Grounded)
            return self.shelf + key  # type: ignore[return-value]

    value = await tool(data="grounded")(Reader("s"))(fetch("a"), fetch("b"))
    short = prompt(functools.partial(lambda question, doc: f"{question} {doc}", "What?"))

    assert plain(value) == "stext of b"
    assert value.retrievals()[-1].source == "Reader"
    assert plain(short(fetch("a"))) == "What? text of a"


def test_wrong_arguments_are_the_functions_own_error() -> None:
    """As without the decorator."""
    with pytest.raises(TypeError, match="doc_id"):
        fetch()
    with pytest.raises(TypeError, match="other"):
        fetch("a", other=1)


def test_errors_of_the_body_come_through() -> None:
    """Untouched."""

    @tool(data="grounded")
    def fails() -> str:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        fails()


@pytest.mark.parametrize(
    "error",
    [
        UngroundedReturn("f", "because", "do this"),
        CitationViolation("f", "doc", (1, 2), "q"),
        MinConfidenceViolation("f", 0.5, 0.8),
        MissingDataCategory("f", ("a",), ("b",)),
        UndeclaredDiscard("str"),
        PurityViolation("coercion", "str", "m.f:1"),
    ],
)
def test_errors_travel_between_processes(error: GroundedError) -> None:
    """Whole; each is ours, one sentence, and does not hold (exit status 1)."""
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert isinstance(error, SluiceError)
    assert error.exit_status == 1
