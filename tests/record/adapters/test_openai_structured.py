"""Answers by the strict schema, as records for a sink."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from json_mutations import mutated

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.errors import Fault, UsageError
from sluice.codecs.records import Emission
from sluice.codecs.strict_schema import strict_emission_schema
from sluice.record import MemorySink, Recorded
from sluice.record.adapters.openai_structured import emission_of_answer, recorded_of_answer

SPAN = {"chars": [0, 21], "tokens": None, "tokenizer": None, "path": None}
NOTED = {
    "substrate_class": "substrate.code.read",
    "observation_id": None,
    "ts": None,
    "locator": [{"name": "path", "value": "src/limits.py"}],
    "terminal": False,
    "unknown": False,
    "computed": False,
}
ANSWER: dict[str, Any] = {
    "emission_id": "the-models-own",
    "emitted_at": 0,
    "emitter": None,
    "effect": "external",
    "vocabulary": "1.0",
    "text": "src/limits.py exists.",
    "assertions": [
        {
            "span": SPAN,
            "span_key": None,
            "assertion": None,
            "kind": "assertion",
            "provenance": NOTED,
            "effect": None,
            "grounded": None,
            "confidence": 0.5,
            "chain": None,
            "cites": {"context": "question", "strictly": False},
            "checks": ["exists(src/limits.py)"],
        }
    ],
    "contexts": [{"name": "question", "value": "Where are the limits?"}],
    "attempt": 7,
    "group": "the-models-group",
    "part": 3,
    "final": True,
}
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_sample_is_one_that_the_schema_takes() -> None:
    jsonschema.validate(ANSWER, strict_emission_schema())


@pytest.mark.parametrize("form", [json.dumps, lambda value: json.dumps(value).encode(), dict])
def test_an_answer_becomes_a_record(form: Any) -> None:
    record = recorded_of_answer(
        form(ANSWER),
        emission_id="em-1",
        emitter="docs-bot",
        emitted_at=1_795_000_000_000,
        attempt=1,
        traceparent=TRACEPARENT,
    )
    assert isinstance(record, Recorded)
    sink = MemorySink()
    sink.put(record)
    assert record.key == "em-1"
    assert record.headers == (("traceparent", TRACEPARENT.encode()),)
    emission = decode_emission(record.value)
    assert isinstance(emission, Emission)
    (assertion,) = emission.assertions or ()
    assert assertion_text(emission, assertion) == "src/limits.py exists."
    assert assertion.annotations[0].locator == {"path": "src/limits.py"}
    assert assertion.checks == ["exists(src/limits.py)"]


def test_what_the_program_knows_replaces_what_the_model_wrote() -> None:
    emission = emission_of_answer(ANSWER, emission_id="em-1", emitter="docs-bot", emitted_at=1_795_000_000_000)
    assert isinstance(emission, Emission)
    assert emission.emission_id == "em-1"
    assert emission.emitted_at == "2026-11-18T11:06:40Z"
    assert emission.emitter is not None
    assert emission.emitter.system == "docs-bot"
    assert (emission.effect, emission.attempt) == ("internal", 0)
    assert (emission.group, emission.part, emission.final) == (None, None, None)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "expected the model's answer, got none, as where it refused"),
        ("", "the value is empty"),
        (json.dumps(ANSWER)[:-30], "not JSON"),
        ("[]", "expected"),
        ({**ANSWER, "text": "x" * 1_000_000}, "at most 1000000 are taken"),
        ({**ANSWER, "contexts": ANSWER["contexts"] * 2}, "each name once"),
        ({"text": object()}, "cannot be written as JSON"),
    ],
)
def test_a_wrong_answer_is_reported_in_one_sentence(answer: object, said: str) -> None:
    fault = recorded_of_answer(answer, emission_id="em-1", emitter="docs-bot")
    assert isinstance(fault, Fault)
    assert said in fault.detail


def test_a_wrong_traceparent_is_the_callers_fault() -> None:
    with pytest.raises(UsageError, match="traceparent"):
        recorded_of_answer(ANSWER, emission_id="em-1", emitter="docs-bot", traceparent="00-0-0-0")


@given(mutated(ANSWER))
def test_values_of_any_type_anywhere(value: Any) -> None:
    record = recorded_of_answer(value, emission_id="em-1", emitter="docs-bot")
    if isinstance(record, Recorded):
        assert isinstance(decode_emission(record.value), Emission)
    else:
        assert record.detail
