"""Grounding and provenance [C], requirement by requirement: the library's part, and the lane's.

Each test is named after the section that asks for it. What the lane does is seen through `sluice fold`, which gets
what the library made of a program's answers.
"""

from __future__ import annotations

import operator
from typing import Any

import msgspec
import pytest
from fold_lines import adjudicate, at, nothing_discarded, observation
from fold_lines import emission as emission_line

from sluice.streams.grounded import (
    Answer,
    Asserted,
    CitationViolation,
    Grounded,
    MinConfidenceViolation,
    MissingDataCategory,
    PurityViolation,
    UngroundedReturn,
    agent,
    discards,
    emission,
    grounded_pure,
    prompt,
    tool,
    using_clock,
)

DOC = "CHANGELOG.md has an entry dated 2026-05-25."
GREP, CODE = "substrate.grep", "substrate.code.read"


@tool(data="grounded", source="{doc_id}")
def fetch_doc(doc_id: str) -> Grounded[str]:
    return DOC  # type: ignore[return-value]


@tool(data="financial")
def fetch_records(account: str) -> Grounded[str]:
    return "12 EUR"  # type: ignore[return-value]


@prompt(model="some-model-1")
def summarise(doc: str, *more: str) -> Grounded[str]:
    return Answer(doc, tokens=9)  # type: ignore[return-value]


@agent
@grounded_pure
def research(doc_id: str) -> Grounded[str]:
    return summarise(fetch_doc(doc_id))


def kinds(value: Grounded[Any]) -> list[str]:
    """The steps of a chain, by the names that the seed gives them."""
    return [step["step"] for step in value.chain.to_records()]


def plain(value: Grounded[Any]) -> Any:
    return value.unwrap_discarding_sources()


@pytest.fixture(autouse=True)
def clock():
    """Retrievals are made at the base time of `sluice fold`'s stories."""
    with using_clock(lambda: 1_795_251_600_000):
        yield


def admission(*answers, policy=""):
    """`admission(answers…)`: what `sluice fold` says of them in one emission, when two classes bear all of them out."""
    made = emission("em-1", "docs-bot", *answers, emitted_at=at(0))
    value = msgspec.json.decode(msgspec.json.encode(made))
    lines = [{"at": at(0), "topic": "emissions", "key": "em-1", "value": value}]
    for number, name in ((1, GREP), (2, CODE)):
        lines += [observation(number, name, span=one["span"]) for one in value["assertions"]]
    return adjudicate(lines, policy + nothing_discarded)


# ---------------------------------------------------------------- [C §1] the type


def test_section_1_a_grounded_value_carries_its_chain() -> None:
    """`fetch_doc` is a source, `summarise` propagates the wrapper, `research` ends in a value with that source."""
    value = research("a.md")

    assert isinstance(value, Grounded)
    assert [step.source for step in value.retrievals()] == ["a.md"]
    assert value.sources() == list(value.chain)


# ---------------------------------------------------------------- [C §2] the obligation


def test_section_2_a_tool_with_grounded_data_introduces_a_source() -> None:
    """The chain extends by this retrieval, and other data introduces none."""
    assert kinds(fetch_doc("a.md")) == ["retrieval"]
    assert fetch_records("1").retrievals() == []


def test_section_2_a_prompt_inherits_and_is_no_source() -> None:
    """The model call is a transform."""
    assert kinds(summarise(fetch_doc("a.md"))) == ["retrieval", "prompt-transform"]
    with pytest.raises(UngroundedReturn):
        summarise("plain")


def test_section_2_an_agent_propagates_the_sources_of_its_arguments() -> None:
    """From any grounded argument."""

    @agent
    def combine(one: Grounded[str], other: Grounded[str]) -> Grounded[str]:
        return one

    both = combine(fetch_doc("a.md"), other=fetch_doc("b.md"))

    assert [step.source for step in both.retrievals()] == ["a.md", "b.md"]


@pytest.mark.parametrize("returned", ["a literal", 1 + 1, None])
def test_section_2_literals_and_computations_have_no_source(returned: Any) -> None:
    """An agent that declares `Grounded` and returns one is refused, with a hint at the missing retrieval."""

    @agent
    def claims() -> Grounded[Any]:
        return returned

    with pytest.raises(UngroundedReturn, match="@tool") as raised:
        claims()
    assert raised.value.name == "claims"


# ---------------------------------------------------------------- [C §3] the chain at run time


def test_section_3_the_steps_have_the_fields_of_the_seed() -> None:
    """Retrieval, prompt transform, hand-off, severed."""
    first, second, third, last = research("a.md").sever("mixed").chain.to_records()

    assert {"source", "timestamp"} <= set(first)
    assert (second["prompt_name"], second["model"], second["tokens"]) == ("summarise", "some-model-1", 9)
    assert third == {"step": "agent-handoff", "agent_name": "research"}
    assert last == {"step": "severed", "reason": "mixed"}


def test_section_3_a_severed_value_that_claims_to_be_grounded_raises() -> None:
    """At run time, wherever it is claimed: returned, made by hand, emitted."""

    @agent
    def claims() -> Grounded[str]:
        return fetch_doc("a.md").sever("mixed")

    cut = fetch_doc("a.md").sever("mixed")
    for claim in (claims, lambda: Grounded("a", cut.chain), lambda: emission("em", "b", Asserted(cut, grounded=True))):
        with pytest.raises(UngroundedReturn, match="mixed"):
            claim()


# ---------------------------------------------------------------- [C §4] strict citation


@prompt(cites="doc", strictly=True)
def answer(doc: str, says: str) -> Grounded[str]:
    return says  # type: ignore[return-value]


@pytest.mark.parametrize("marks", ["“”", "«»", "„“", "「」", '""', "''", "``", "‘’"])
def test_section_4_every_quote_stands_verbatim_in_the_source(marks: str) -> None:
    """In whatever marks; the violation has the span that cannot be verified."""
    good, bad = (f"It says {marks[0]}{text}{marks[1]}." for text in ("dated 2026-05-25", "dated 2025-05-25"))

    assert plain(answer(fetch_doc("a.md"), good)) == good
    with pytest.raises(CitationViolation) as raised:
        answer(fetch_doc("a.md"), bad)
    assert bad[slice(*raised.value.span)] == "dated 2025-05-25"


@pytest.mark.parametrize("quote", ["an  entry", "An entry", "entry dated 2026‑05‑25", "entry, dated"])
def test_section_4_verbatim_is_verbatim(quote: str) -> None:
    """White space, case and look-alikes count."""
    with pytest.raises(CitationViolation):
        answer(fetch_doc("a.md"), f"“{quote}”")


def test_section_4_the_lane_verifies_it_again() -> None:
    """A quote that was added after the prompt is rejected, with its span; without it the answer is admitted."""
    good = answer(fetch_doc("a.md"), "It says “an entry”.")

    outputs = admission(good, good + " And “another”.")

    assert outputs.words == [("inadmissible", "rejected", "citation-violation"), ("admitted", "admitted", None)]


# ---------------------------------------------------------------- [C §6] data


def test_section_6_categories_compose_by_union() -> None:
    """A chain that retrieves financial records, then runs a grounded transformation, has both."""

    @tool(data="grounded")
    def enrich(records: str) -> str:
        return records

    assert enrich(fetch_records("1")).data == {"grounded", "financial"}
    assert (fetch_doc("a.md") + fetch_records("1")).data == {"grounded", "financial"}
    assert kinds(enrich(fetch_records("1"))) == ["derived", "retrieval"]


@pytest.mark.parametrize(("data", "missing"), [("grounded", ()), (("grounded", "financial"), ("financial",))])
def test_section_6_a_declared_category_is_required(data: Any, missing: tuple[str, ...]) -> None:
    """Each on its own."""

    @agent(data=data)
    def report() -> Grounded[str]:
        return fetch_doc("a.md")

    if not missing:
        assert report().data == {"grounded"}
        return
    with pytest.raises(MissingDataCategory) as raised:
        report()
    assert raised.value.missing == missing


# ---------------------------------------------------------------- [C §7] confidence


def test_section_7_a_chain_is_as_sure_as_its_weakest_step() -> None:
    """A retrieval at 0.99 feeding a summary at 0.70 is 0.70, grounded all the same, and fails at 0.80."""

    @tool(data="grounded")
    def retrieve() -> str:
        return Answer(DOC, confidence=0.99)  # type: ignore[return-value]

    @prompt(confidence=0.70)
    def unsure(doc: str) -> Grounded[str]:
        return doc  # type: ignore[return-value]

    @agent(min_confidence=0.80)
    def asked() -> Grounded[str]:
        return unsure(retrieve())

    assert unsure(retrieve()).confidence == 0.70
    assert unsure(retrieve()).grounded
    with pytest.raises(MinConfidenceViolation):
        asked()


def test_section_7_the_lane_holds_it_against_the_policy() -> None:
    """Below the policy's floor it is rejected."""

    @prompt(confidence=0.4)
    def unsure(doc: str) -> Grounded[str]:
        return doc  # type: ignore[return-value]

    policy = "[admissibility]\nmin_confidence = 0.5\n"

    assert admission(unsure(fetch_doc("a.md")), policy=policy).words == [("inadmissible", "rejected", "low-confidence")]
    assert admission(summarise(fetch_doc("a.md")), policy=policy).words == [("admitted", "admitted", None)]


# ---------------------------------------------------------------- [C §9.1] contagion


@pytest.mark.parametrize(
    ("function", "name"),
    [(operator.add, "+"), (operator.mod, "%"), (operator.eq, "=="), (operator.lt, "<"), (operator.getitem, "[]")],
)
def test_section_9_1_operators_are_contagious(function: Any, name: str) -> None:
    """The inner result, the least confidence, and a derived node that names the operator and keeps both chains."""
    right: Any = 3 if name == "[]" else DOC
    left = Grounded("%s", fetch_doc("l.md").chain) if name == "%" else fetch_doc("l.md")
    other = Grounded(right, [{"step": "retrieval", "source": "r.md", "confidence": 0.6}])

    value = function(left, other)

    (step,) = value.chain.to_records()
    assert plain(value) == function(plain(left), right)
    assert (step["operator"], step["confidence"], value.confidence) == (name, 0.6, 0.6)
    assert [step[side][0]["source"] for side in ("left", "right")] == ["l.md", "r.md"]


def test_section_9_1_grounded_data_makes_the_result_grounded() -> None:
    """Of a tool, a prompt and an agent that are declared to return a plain type."""

    @tool(data="grounded")
    def of_tool() -> str:
        return DOC

    @prompt(data="grounded")
    def of_prompt(doc: str) -> str:
        return doc

    @agent(data="grounded")
    def of_agent() -> str:
        return of_prompt(of_tool())

    assert all(isinstance(one, Grounded) for one in (of_tool(), of_prompt(of_tool()), of_agent()))


# ---------------------------------------------------------------- [C §9.2, §9.3] discards


def test_section_9_2_a_condition_takes_a_grounded_truth() -> None:
    """The implicit unwrap is recorded, and seen in the chain of the agent that did it."""

    @agent
    def branches() -> Grounded[str]:
        doc = fetch_doc("a.md")
        return doc if doc == DOC else fetch_doc("b.md")

    assert kinds(branches()) == ["retrieval", "discard", "agent-handoff"]
    assert branches().sources()[1].rule == "condition"  # type: ignore[union-attr]


def test_section_9_3_a_plain_return_type_lets_the_value_go_on_record() -> None:
    """The coercion of old, at the return of an agent."""

    @agent
    def title() -> str:
        return fetch_doc("a.md")  # type: ignore[return-value]

    assert type(title()) is str
    assert discards()[-1].rule == "return"


# ---------------------------------------------------------------- [C §9.4] grounded_pure


@agent
def impure() -> Grounded[str]:
    return fetch_doc("a.md")


@pytest.mark.parametrize(
    ("launder", "rule"),
    [
        (lambda value: value or fetch_doc("b.md"), "coercion"),
        (lambda value: value.unwrap_discarding_sources(), "explicit-unwrap"),
        (lambda value: impure(), "impure-call"),
    ],
)
def test_section_9_4_a_pure_agent_launders_nothing(launder: Any, rule: str) -> None:
    """Implicit coercion, explicit unwrap, and a call of an agent that is not pure: the three cases, at run time."""

    @agent
    @grounded_pure
    def launders() -> Any:
        return launder(fetch_doc("a.md"))

    with pytest.raises(PurityViolation) as raised:
        launders()
    assert raised.value.rule == rule


def test_section_9_4_tools_and_prompts_are_external_boundaries() -> None:
    """They cannot launder: a pure agent calls them, and its like."""

    @agent
    @grounded_pure
    def outer() -> Grounded[str]:
        return summarise(research("a.md"), fetch_doc("b.md"))

    assert outer().grounded


# ---------------------------------------------------------------- the whole way


def test_the_admitted_record_carries_the_whole_chain() -> None:
    """The emission's own steps, a retrieval step per evidence, the agent hand-off (docs/reference/records.md)."""
    (record,) = admission(research("a.md") + fetch_doc("b.md")).on("admitted")

    chain = record["_untrusted_text"]["chain"]
    assert [step["step"] for step in chain] == ["derived", "retrieval", "retrieval", "agent-handoff"]
    assert [step["step"] for step in chain[0]["left"]] == ["retrieval", "prompt-transform", "agent-handoff"]
    assert chain[0]["right"][0]["source"] == "b.md"
    assert [(step["source"], step["metadata"]["observer"]) for step in chain[1:3]] == [
        (CODE, "observer-1"),
        (GREP, "observer-1"),
    ]
    assert chain[3]["agent_name"] == "docs-bot"
    assert (record["grounded"], record["data"], record["confidence"]) == (True, ["grounded"], 1.0)


def test_what_the_library_refuses_the_lane_refuses_as_well() -> None:
    """Whoever writes the claim past the library: severed, without a retrieval, with no chain at all [C §2, §3]."""
    severed = fetch_doc("a.md").sever("mixed").chain.to_records()
    for chain in (severed, [], [{"step": "prompt-transform", "prompt_name": "summarise"}]):
        lines = [emission_line(0, chain=chain, grounded=True), observation(1, GREP), observation(2, CODE)]

        assert adjudicate(lines, nothing_discarded).words == [("inadmissible", "rejected", "ungrounded")]
