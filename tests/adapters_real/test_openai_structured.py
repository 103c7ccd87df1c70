"""The schema of `sluice schema emission --strict`, in the hands of the real OpenAI packages.

They are held to a provider on this machine, which cannot say whether OpenAI's service takes a schema; what they
themselves check, change and refuse is real.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent, AgentOutputSchemaBase, OpenAIResponsesModel, RunConfig, Runner
from agents.exceptions import ModelBehaviorError
from agents.strict_schema import ensure_strict_json_schema
from click.testing import CliRunner
from model_provider import CHECK, Provider, response, said
from openai import AsyncOpenAI, LengthFinishReasonError, OpenAI
from openai.lib._pydantic import to_strict_json_schema
from openai.types.shared_params import ResponseFormatJSONSchema
from pydantic import TypeAdapter

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import Emission
from sluice.record.adapters.openai_structured import emission_of_answer, recorded_of_answer
from sluice.topology.cli import main

MAX_PROPERTIES, MAX_DEPTH, MAX_ENUM = 5_000, 10, 1_000
"""What OpenAI's page on structured outputs allows of a schema: members in all, levels, values of enumerations."""
TEXT = "The number of `MAX_RETRIES` is 5."


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """What the command prints."""
    done = CliRunner().invoke(main, ["schema", "emission", "--strict"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def nodes(one: Any) -> Iterator[dict[str, Any]]:
    if isinstance(one, dict):
        yield one
        for inner in one.values():
            yield from nodes(inner)
    elif isinstance(one, list):
        for inner in one:
            yield from nodes(inner)


def example(schema: dict[str, Any]) -> dict[str, Any]:
    """An answer with every member that the schema demands, null where that may be."""

    def empty(one: dict[str, Any]) -> Any:
        if "$ref" in one:
            return empty(schema["$defs"][one["$ref"].rpartition("/")[2]])
        if "anyOf" in one:
            return None if {"type": "null"} in one["anyOf"] else empty(one["anyOf"][0])
        kind = one.get("type")
        if isinstance(kind, list):
            return None if "null" in kind else empty({**one, "type": kind[0]})
        values = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "null": None}
        return {name: empty(one["properties"][name]) for name in one["required"]} if kind == "object" else values[kind]

    answer = empty(schema)
    assertion = empty(schema["$defs"]["Assertion"])
    annotation = empty(schema["$defs"]["Annotation"])
    annotation |= {"substrate_class": "substrate.code.read", "locator": [{"name": "path", "value": "limits.py"}]}
    assertion |= {"assertion": TEXT, "checks": [CHECK], "provenance": [annotation]}
    return answer | {"text": TEXT, "assertions": [assertion]}


def completion(content: str | None, *, refusal: str | None = None, end: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": end, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


# ---------------------------------------------------------------- the schema


def test_the_agents_sdk_finds_nothing_to_make_strict(schema: dict[str, Any]) -> None:
    """`ensure_strict_json_schema` changes what is not strict, and refuses what cannot be: here neither."""
    assert ensure_strict_json_schema(copy.deepcopy(schema)) == schema


def test_a_schema_that_is_not_strict_would_be_changed_or_refused(schema: dict[str, Any]) -> None:
    """So the test above can fail."""
    loose = copy.deepcopy(schema)
    loose["$defs"]["Assertion"]["required"].remove("checks")
    assert ensure_strict_json_schema(copy.deepcopy(loose)) != loose
    loose["$defs"]["Assertion"]["additionalProperties"] = True
    with pytest.raises(Exception, match="additionalProperties"):
        ensure_strict_json_schema(loose)


def test_it_keeps_the_same_rules_as_the_schemas_that_the_client_makes(schema: dict[str, Any]) -> None:
    """The client makes strict schemas of Pydantic's models; ours uses no keyword and no form that it would not."""
    from pydantic import BaseModel

    class Inner(BaseModel):
        value: str | None = None

    class Outer(BaseModel):
        inner: Inner
        others: list[Inner]

    made = to_strict_json_schema(Outer)
    for one in (made, schema):
        objects = [node for node in nodes(one) if node.get("type") == "object"]
        assert objects
        assert all(node["additionalProperties"] is False for node in objects)
        assert all(list(node["properties"]) == node["required"] for node in objects)
    assert not any({"default", "oneOf", "allOf", "not", "patternProperties"} & node.keys() for node in nodes(schema))


def test_it_is_within_the_documented_limits(schema: dict[str, Any]) -> None:
    """Members, levels and enumerations."""

    def depth(one: Any, seen: tuple[str, ...] = ()) -> int:
        if isinstance(one, list):
            return max((depth(inner, seen) for inner in one), default=0)
        if not isinstance(one, dict):
            return 0
        name = one.get("$ref", "").rpartition("/")[2]
        if name:
            return 0 if name in seen else depth(schema["$defs"][name], (*seen, name))
        below = [depth(value, seen) for key, value in one.items() if key != "$defs"]
        return max(below, default=0) + (one.get("type") == "object")

    assert sum(len(node.get("properties", ())) for node in nodes(schema)) <= MAX_PROPERTIES
    assert depth(schema) <= MAX_DEPTH
    assert sum(len(node.get("enum", ())) for node in nodes(schema)) <= MAX_ENUM


# ---------------------------------------------------------------- the client


def response_format(schema: dict[str, Any]) -> ResponseFormatJSONSchema:
    form: ResponseFormatJSONSchema = {
        "type": "json_schema",
        "json_schema": {"name": "emission", "strict": True, "schema": schema},
    }
    TypeAdapter(ResponseFormatJSONSchema).validate_python(form)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", form["json_schema"]["name"])
    return form


def emission_of(answer: object) -> Emission:
    made = emission_of_answer(answer, emission_id="em-1", emitter="agent", emitted_at=1_795_000_000_000)
    assert isinstance(made, Emission), made
    return made


def test_what_the_client_brings_is_an_emission(provider: Provider, schema: dict[str, Any]) -> None:
    """Chat Completions: the schema goes out as it is, and the answer comes back as text."""
    provider.script(completion(json.dumps(example(schema))))
    client = OpenAI(base_url=provider.url, max_retries=0)
    answer = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "How many?"}], response_format=response_format(schema)
    )
    ((_, request),) = provider.requests
    assert request["response_format"]["json_schema"] == {"name": "emission", "strict": True, "schema": schema}
    made = emission_of(answer.choices[0].message.content)
    assert made.text == TEXT
    assert made.assertions is not None
    assert [str(check) for check in made.assertions[0].checks or ()] == [CHECK]


def test_so_is_what_the_responses_api_brings(provider: Provider, schema: dict[str, Any]) -> None:
    """The same schema, in its own place."""
    provider.script(response(said(json.dumps(example(schema)))))
    client = OpenAI(base_url=provider.url, max_retries=0)
    form: Any = {"format": {"type": "json_schema", "name": "emission", "strict": True, "schema": schema}}
    answer = client.responses.create(model="m", input="How many?", text=form)
    assert provider.requests[0][1]["text"] == form
    assert emission_of(answer.output_text).text == TEXT


def test_a_refusal_and_an_answer_that_was_cut_are_no_emissions(provider: Provider, schema: dict[str, Any]) -> None:
    """They are told as faults, and nothing is raised."""
    whole = json.dumps(example(schema))
    provider.script(completion(None, refusal="I cannot."), completion(whole[: len(whole) // 2], end="length"))
    client = OpenAI(base_url=provider.url, max_retries=0)
    for _ in range(2):
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "How many?"}], response_format=response_format(schema)
        )
        made = recorded_of_answer(answer.choices[0].message.content, emission_id="em-1", emitter="agent")
        assert isinstance(made, Fault)
    assert issubclass(LengthFinishReasonError, Exception)  # what the client's own `parse` raises instead


# ---------------------------------------------------------------- the Agents SDK


class EmissionSchema(AgentOutputSchemaBase):
    """An agent's output type by our schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "emission"

    def json_schema(self) -> dict[str, Any]:
        return self._schema

    def is_strict_json_schema(self) -> bool:
        return True

    def validate_json(self, json_str: str) -> Emission:
        made = emission_of_answer(json_str, emission_id="em-1", emitter="agent", emitted_at=1_795_000_000_000)
        if isinstance(made, Fault):
            raise ModelBehaviorError(made.detail)
        return made


def run_agent(provider: Provider, schema: dict[str, Any]) -> Emission:
    model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=provider.url, max_retries=0))
    agent = Agent(name="writer", model=model, output_type=EmissionSchema(schema))
    done = asyncio.run(Runner.run(agent, "How many?", run_config=RunConfig(tracing_disabled=True)))
    return done.final_output


def test_an_agent_answers_with_an_emission(provider: Provider, schema: dict[str, Any]) -> None:
    """By the SDK's own way to say what an output is."""
    provider.script(response(said(json.dumps(example(schema)))))
    made = run_agent(provider, schema)
    assert made.text == TEXT
    sent = provider.requests[0][1]["text"]["format"]
    assert (sent["strict"], sent["schema"]) == (True, schema)


def test_an_answer_of_another_form_is_the_agents_error(provider: Provider, schema: dict[str, Any]) -> None:
    """A provider that does not hold to the schema leaves no half emission."""
    provider.script(response(said('{"text": 7}')))
    with pytest.raises(ModelBehaviorError):
        run_agent(provider, schema)


def test_the_record_is_one_that_the_stream_takes(schema: dict[str, Any]) -> None:
    """What a sink would send."""
    made = recorded_of_answer(json.dumps(example(schema)), emission_id="em-1", emitter="agent")
    assert not isinstance(made, Fault)
    assert isinstance(decode_emission(made.value), Emission)
