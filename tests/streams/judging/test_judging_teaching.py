"""What models are told names every check, no other, and nothing that sluice would not take."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import msgspec
import pytest

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.records import Emission
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.judging.check_texts import (
    EXAMPLES,
    PROPOSER_SCHEMA,
    SENTENCE,
    UNTAUGHT,
    Format,
    instructions,
    proposer_instructions,
)
from sluice.streams.judging.checks import TABLE, Check, parse_check
from sluice.streams.judging.coverage import cover

FORMS = get_args(Format)
TEXTS = {**{form: instructions(form) for form in FORMS}, "proposer": proposer_instructions()}
LISTED = re.compile(r"^- (([a-z_]+)\(.*\)): .+$", re.MULTILINE)


def answer(form: Format) -> Emission:
    """The answer that the text shows, as a program would send it."""
    shown = instructions(form).rpartition("Form")[2].partition("\n")[2]
    members: dict[str, Any] = json.loads(shown) if form == "json" else {"text": shown}
    emission = decode_emission(msgspec.json.encode({"emission_id": "em-1", "emitted_at": 0, **members}))
    assert isinstance(emission, Emission), emission
    return emission


@pytest.mark.parametrize("name", TEXTS)
def test_it_lists_every_check_once_and_no_other(name: str) -> None:
    """In the order of the table, but for those that need a runner."""
    taught = [name for name in TABLE if name not in UNTAUGHT]
    assert [found[1] for found in LISTED.findall(TEXTS[name])] == taught == list(EXAMPLES)


def test_each_example_is_that_check_with_all_that_it_takes() -> None:
    """What narrows a check further (`in`, `lines`) is left out."""
    for example, name in LISTED.findall(instructions("inline")):
        check = parse_check(example)
        assert isinstance(check, Check), check
        assert check.name == name
        signature = TABLE[name]
        assert len(check.arguments) == len(signature.parameters)
        wanted = [one.name for one in signature.named if one.name not in ("in", "lines")]
        assert [given for given, _ in check.named] == wanted


def test_it_says_before_which_checks_no_not_stands() -> None:
    """That of the table."""
    (said,) = re.findall(r"except for (.+?);", instructions("json"))

    taught = [one for name, one in TABLE.items() if name not in UNTAUGHT]
    assert said.split(", ") == [one.name for one in taught if not one.negatable]


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_that_it_shows_is_an_emission_whose_check_covers_its_sentence(form: Format) -> None:
    """All forms say the same; with brackets or as JSON two kinds of places."""
    emission = answer(form)

    assertion = (emission.assertions or [])[0]
    assert assertion_text(emission, assertion) == SENTENCE
    checks = [parse_check(one) for one in assertion.checks or []]
    assert cover(SENTENCE, checks, path="src/limits.py").level == "whole"
    wanted = [] if form == "block" else ["substrate.code.read", "substrate.grep"]
    assert [one.substrate_class for one in assertion.annotations] == wanted


@pytest.mark.parametrize("form", ["inline", "json"])
def test_it_names_every_kind_of_place_and_no_other(form: Format) -> None:
    """Those of the vocabulary."""
    assert {one.rstrip(".") for one in re.findall(r"substrate\.[a-z.-]+", instructions(form))} == CLASSES_1_0


@pytest.mark.parametrize("name", ["block", "proposer"])
def test_who_writes_a_block_or_a_proposal_names_no_places(name: str) -> None:
    """Calls, or whoever looks, tell them."""
    assert "substrate" not in TEXTS[name]


def test_the_block_leaves_a_sentence_without_a_check_alone() -> None:
    """The answer is prose first; what has no check stays in it."""
    assertions = answer("block").assertions or []
    assert [bool(one.checks) for one in assertions] == [True, False]


def test_a_proposer_is_told_the_schema_of_its_answer() -> None:
    """One that strict structured outputs take: every member is required, and there are no others."""
    shown = json.loads(proposer_instructions().splitlines()[-1])
    assert shown == PROPOSER_SCHEMA
    item = shown["properties"]["proposals"]["items"]
    for each in (shown, item):
        assert (each["required"], each["additionalProperties"]) == (list(each["properties"]), False)
    assert list(item["properties"]) == ["number", "checks", "whole", "left"]


def test_it_is_plain_text_without_an_end() -> None:
    """It goes into a prompt as it is."""
    for text in TEXTS.values():
        assert text == text.strip()
        assert all(one.isprintable() or one == "\n" for one in text)
    assert len(set(TEXTS.values())) == len(TEXTS)
