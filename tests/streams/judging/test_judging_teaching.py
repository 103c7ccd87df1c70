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
from sluice.streams.judging.checks import TABLE, Check, parse_check
from sluice.streams.judging.coverage import cover
from sluice.streams.judging.teaching import EXAMPLES, SENTENCE, UNTAUGHT, Format, instructions

FORMS = get_args(Format)
LISTED = re.compile(r"^- (([a-z_]+)\(.*\)): .+$", re.MULTILINE)


def answer(form: Format) -> Emission:
    """The answer that the text shows, as a program would send it."""
    shown = instructions(form).splitlines()[-1]
    members: dict[str, Any] = json.loads(shown) if form == "json" else {"text": shown}
    emission = decode_emission(msgspec.json.encode({"emission_id": "em-1", "emitted_at": 0, **members}))
    assert isinstance(emission, Emission), emission
    return emission


@pytest.mark.parametrize("form", FORMS)
def test_it_lists_every_check_once_and_no_other(form: Format) -> None:
    """In the order of the table, but for those that need a runner."""
    taught = [name for name in TABLE if name not in UNTAUGHT]
    assert [found[1] for found in LISTED.findall(instructions(form))] == taught == list(EXAMPLES)


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
    """Both forms say the same, with two kinds of places."""
    emission = answer(form)

    (assertion,) = emission.assertions or []
    assert assertion_text(emission, assertion) == SENTENCE
    checks = [parse_check(one) for one in assertion.checks or []]
    assert cover(SENTENCE, checks, path="src/limits.py").level == "whole"
    assert [one.substrate_class for one in assertion.annotations] == ["substrate.code.read", "substrate.grep"]


@pytest.mark.parametrize("form", FORMS)
def test_it_names_every_kind_of_place_and_no_other(form: Format) -> None:
    """Those of the vocabulary."""
    assert {one.rstrip(".") for one in re.findall(r"substrate\.[a-z.-]+", instructions(form))} == CLASSES_1_0


def test_it_is_plain_text_without_an_end() -> None:
    """It goes into a prompt as it is."""
    for form in FORMS:
        assert instructions(form) == instructions(form).strip()
        assert all(one.isprintable() or one == "\n" for one in instructions(form))
    assert instructions("json") != instructions("inline")
