"""Answers become an emission that the lanes take, and the admitted record carries their whole chain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.errors import UsageError
from sluice.codecs.records import Annotation, Assertion, Cites, Emission, Emitter, Retrieval
from sluice.streams.adjudication import grounding
from sluice.streams.grounded import (
    Answer,
    Asserted,
    Grounded,
    UngroundedReturn,
    agent,
    emission,
    prompt,
    tool,
    using_clock,
)

NOW = 1_795_248_000_000
AT = "2026-11-21T08:00:00Z"
TEXT = "## 2026-05-25\nWritten by the release job."
GREP = {"substrate_class": "substrate.grep", "locator": {"path": "CHANGELOG.md", "pattern": "release job"}}
READ = {"substrate_class": "substrate.code.read", "locator": {"path": "CHANGELOG.md"}, "ts": "2026-11-21T07:00:00Z"}


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Retrievals and emissions are dated as the tests know."""
    with using_clock(lambda: NOW):
        yield


@tool(data={"grounded", "public"}, source="{name}")
def fetch(name: str) -> Grounded[str]:
    return Answer(TEXT, 0.93, {"provenance": [GREP, READ]})  # type: ignore[return-value]


@prompt(cites="doc", strictly=True, model="some-model-1")
def summarise(doc: str, says: str) -> Grounded[str]:
    return Answer(says, 0.9, tokens=5)  # type: ignore[return-value]


@agent(data="grounded")
def research(name: str, says: str = "It was “Written by the release job”.") -> Grounded[str]:
    return summarise(fetch(name), says)


def decoded(made: Emission) -> Emission:
    """As a lane reads it."""
    read = decode_emission(msgspec.json.encode(made))
    assert isinstance(read, Emission)
    return read


def assertions(made: Emission) -> list[Assertion]:
    return decoded(made).assertions or []


def test_an_answer_becomes_an_assertion() -> None:
    """Its text, chain, confidence, claim, citation and annotations; the emission's own fields besides."""
    made = emission("em-1", "bot", research("CHANGELOG.md"))

    (one,) = assertions(made)
    assert (made.emission_id, made.emitted_at, made.emitter, made.effect, made.attempt) == (
        "em-1", AT, Emitter(system="bot"), "internal", 0,
    )  # fmt: skip
    assert assertion_text(decoded(made), one) == made.text == "It was “Written by the release job”."
    assert (one.grounded, one.confidence) == (True, 0.9)
    assert one.chain == research("CHANGELOG.md").sources()
    assert (one.cites, made.contexts) == (Cites("ctx-1", True), {"ctx-1": TEXT})
    assert grounding.citation_violation(made, one, made.text or "") is None
    assert grounding.data_categories(True, one.chain) == ["grounded", "public"]


def test_what_a_retrieval_names_as_its_substrates_are_the_annotations() -> None:
    """Dated by the retrieval where they bear no date; each once, behind those that are given besides."""
    more = {"substrate_class": "substrate.git.log"}
    value = research("CHANGELOG.md") + research("CHANGELOG.md")

    made = emission("em-1", "bot", Asserted(value, provenance=[more, Annotation(substrate_class="substrate.grep")]))

    assert [(one.substrate_class, one.ts) for one in assertions(made)[0].annotations] == [
        ("substrate.git.log", None),
        ("substrate.grep", None),
        ("substrate.grep", AT),
        ("substrate.code.read", "2026-11-21T07:00:00Z"),
    ]


def test_one_annotation_needs_no_list() -> None:
    """As in an emission."""

    @tool(data="grounded")
    def once() -> str:
        return Answer("It is.", metadata={"provenance": GREP})  # type: ignore[return-value]

    assert [one.substrate_class for one in assertions(emission("em-1", "bot", once()))[0].annotations] == [
        "substrate.grep"
    ]


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=5), st.text(max_size=3))
def test_every_assertion_has_the_span_of_its_text(texts: list[str], separator: str) -> None:
    """Whatever the texts, and what stands between them; plain ones have no chain."""
    values = [text if n % 2 else Grounded(text, [Retrieval(source="a")]) for n, text in enumerate(texts)]
    made = emission("em-1", "bot", *values, separator=separator, emitted_at=AT)

    found = assertions(made)

    assert [assertion_text(decoded(made), one) for one in found] == texts
    assert [one.chain is None for one in found] == [bool(n % 2) for n in range(len(texts))]


def test_answers_share_a_context() -> None:
    """Named once; a value made of two may quote from either."""

    @tool(data="grounded")
    def other() -> str:
        return "other text"

    both = research("a") + " " + summarise(other(), "And “other text”.")
    made = emission("em-1", "bot", research("a"), research("b", "“2026-05-25”"), both)

    assert [one.cites for one in assertions(made)] == [Cites("ctx-1", True), Cites("ctx-1", True), Cites("ctx-2", True)]
    assert made.contexts == {"ctx-1": TEXT, "ctx-2": f"{TEXT}\n\nother text"}
    assert all(
        grounding.citation_violation(made, one, assertion_text(decoded(made), one)) is None for one in assertions(made)
    )


def test_a_quote_that_came_after_the_prompt_is_seen_by_the_lane() -> None:
    """The citation goes along with the value, whatever is added to it [C §4]."""
    made = emission("em-1", "bot", research("a") + " And “more”.")

    assert grounding.citation_violation(made, assertions(made)[0], made.text or "") is not None


def test_a_citation_goes_through_a_prompt_that_cites_nothing() -> None:
    """And one prompt's own citation takes the place of its arguments'."""

    @prompt
    def shorten(text: str) -> Grounded[str]:
        return text[:-1]  # type: ignore[return-value]

    made = emission("em-1", "bot", shorten(research("a")), summarise(research("a"), "It was “release job”."))

    assert [one.cites for one in assertions(made)] == [Cites("ctx-1", True), Cites("ctx-2", True)]
    assert made.contexts["ctx-2"] == "It was “Written by the release job”."


def test_the_looser_citation_is_not_called_strict() -> None:
    """The lane knows only verbatim."""

    @prompt(cites="doc", strictly="normalised")
    def loosely(doc: str) -> Grounded[str]:
        return "“Written  by the release job”"  # type: ignore[return-value]

    assert assertions(emission("em-1", "bot", loosely(fetch("a"))))[0].cites == Cites("ctx-1", False)


def test_a_severed_answer_does_not_claim_to_be_grounded() -> None:
    """It goes out with its chain, and says so; whoever claims it all the same is told [C §3]."""
    cut = research("a").sever("mixed with a guess")

    (one,) = assertions(emission("em-1", "bot", cut))

    assert one.grounded is False
    assert not grounding.is_ungrounded(one)
    with pytest.raises(UngroundedReturn, match="guess"):
        emission("em-1", "bot", Asserted(cut, grounded=True))
    with pytest.raises(UngroundedReturn):
        emission("em-1", "bot", Asserted("plain", grounded=True))


def test_the_rest_of_the_record_can_be_said() -> None:
    """Emitter, effect, attempt, kind."""
    made = emission(
        "em-1", Emitter(system="bot", model="m"), Asserted(research("a"), kind="denial", effect="external"),
        effect="external", attempt=2, emitted_at=NOW, vocabulary="1.0",
    )  # fmt: skip

    assert (made.emitter, made.effect, made.attempt, made.emitted_at) == (Emitter("bot", "m"), "external", 2, NOW)
    assert (assertions(made)[0].kind, assertions(made)[0].effect) == ("denial", "external")


@pytest.mark.parametrize(
    "bad",
    [
        lambda: emission("not an id", "bot", "a"),
        lambda: emission("em-1", "not an id", "a"),
        lambda: emission("em-1", "bot", ""),
        lambda: emission("em-1", "bot", "a", emitted_at="yesterday"),
        lambda: emission("em-1", "bot", "a" * 1_000_001),
        lambda: emission("em-1", "bot", research("a").map(len)),  # type: ignore[arg-type]
        lambda: emission("em-1", "bot", Asserted("a", provenance=[{"class": "substrate.grep"}])),
        lambda: emission("em-1", "bot", *["a"] * 1001),
    ],
)
def test_what_would_be_a_dead_letter_is_refused(bad: Any) -> None:
    """At once, with the sentence that the dead letter would bear."""
    with pytest.raises(UsageError):
        bad()


def test_an_answer_with_checks() -> None:
    """They become the assertion's own; a malformed list is said at once, as the lane would say it (docs/checks.md)."""
    made = emission("em-1", "bot", Asserted("The cap is 1000.", checks=["equals(MAX, 1000)"]), "Another one.")

    assert [one.checks for one in assertions(made)] == [["equals(MAX, 1000)"], None]
    with pytest.raises(UsageError, match="length <= 20"):
        emission("em-1", "bot", Asserted("The cap is 1000.", checks=["equals(MAX, 1000)"] * 21))
