"""The strict schema of an emission keeps every rule of strict structured outputs, and loses nothing of an emission."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.inline import parsed_form
from sluice.codecs.records import Emission
from sluice.codecs.strict_schema import (
    FORMATS,
    KEYWORDS,
    emission_of_strict,
    plain_of_strict,
    strict_emission_schema,
    strict_schema,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "emissions.jsonl"
PLAIN = msgspec.json.schema(Emission)
del PLAIN["$defs"]["Emission"]["properties"]["signature"]  # no model can write it
del PLAIN["$defs"]["Assertion"]["properties"]["proposal"], PLAIN["$defs"]["Proposal"]  # another party writes it
del PLAIN["$defs"]["Assertion"]["properties"]["session"], PLAIN["$defs"]["Session"]  # a recorder writes it
del PLAIN["$defs"]["SessionCounts"]
STRICT = strict_emission_schema()
WHOLE = {
    "emission_id": "em-1",
    "emitted_at": 1_795_251_600_000,
    "emitter": {"system": "bot"},
    "effect": "external",
    "text": "It is so. It was not so.",
    "contexts": {"ctx-1": "It is so.", "ctx-2": ""},
    "attempt": 2,
    "assertions": [
        {
            "span": {"chars": [0, 9]},
            "checks": ["equals(A, 1)"],
            "confidence": 0.5,
            "cites": {"context": "ctx-1", "strictly": True},
            "provenance": [
                {
                    "substrate_class": "substrate.mcp.brief",
                    "observation_id": "sha256:e3b0",
                    "ts": "2026-11-21T08:59:40Z",
                    "locator": {
                        "server": "tickets",
                        "arguments": {"id": 7, "open": True, "tags": ["a", None, {}], "of": {"members": []}},
                        "none": None,
                    },
                }
            ],
            "chain": [
                {"step": "retrieval", "source": "a.py", "metadata": {"lines": [1, 2.5]}},
                {"step": "derived", "operator": "+", "left": [{"step": "severed", "reason": "guess"}], "right": []},
                {"step": "discard", "rule": "unwrap", "where": "a.py:1"},
            ],
        },
        {"span": {"tokens": [3, 6], "tokenizer": "bpe"}, "assertion": "It was", "kind": "denial"},
        {"span": {"path": "/a"}, "assertion": "so", "provenance": {"substrate_class": "unverified-inference"}},
    ],
}


def examples() -> list[dict[str, Any]]:
    """The shipped emissions, but for those that are shipped because they are none."""
    found = [WHOLE]
    for line in EXAMPLES.read_bytes().splitlines():
        with suppress(ValueError):
            emission = {"emitted_at": "2026-11-21T09:00:00Z"} | json.loads(line)
            if isinstance(decode_emission(msgspec.json.encode(emission)), Emission):
                found.append(emission)
    assert len(found) > 20
    return found


def any_strict(value: Any) -> Any:
    """Any JSON as the strict schema writes it."""
    if isinstance(value, dict):
        return {"members": [{"name": name, "value": any_strict(one)} for name, one in value.items()]}
    return [any_strict(one) for one in value] if isinstance(value, list) else value


def answered(value: Any, schema: dict[str, Any]) -> Any:
    """A value as a model that keeps to the strict schema has to write it: the other direction, by other means."""
    if "$ref" in schema:
        return answered(value, PLAIN["$defs"][schema["$ref"].split("/")[-1]])
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            if Draft202012Validator(one | {"$defs": PLAIN["$defs"]}).is_valid(value):
                return answered(value, one)
        raise AssertionError(value)
    if schema.get("type") == "object" and "properties" not in schema:
        values = schema.get("additionalProperties")
        pairs = {name: answered(one, values) if values else any_strict(one) for name, one in value.items()}
        return [{"name": name, "value": one} for name, one in pairs.items()]
    if schema.get("type") == "object":
        members = schema["properties"].items()
        return {name: answered(value[name], one) if name in value else None for name, one in members}
    if "prefixItems" in schema or schema.get("type") != "array":
        return value
    return [answered(one, schema["items"]) for one in value]


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema; names of members and definitions are none."""
    yield value
    for part in (*value.get("properties", {}).values(), *value.get("$defs", {}).values(), *value.get("anyOf", ())):
        yield from schemas(part)
    if "items" in value:
        yield from schemas(value["items"])


# ---------------------------------------------------------------- the rules, one by one


def test_it_is_a_schema_and_its_root_is_an_object() -> None:
    """Not a reference to one, and no choice."""
    Draft202012Validator.check_schema(STRICT)
    assert STRICT["type"] == "object"
    assert STRICT.keys().isdisjoint({"$ref", "anyOf"})


def test_every_object_requires_all_of_its_members_and_takes_no_other() -> None:
    """Also those that stand for free names."""
    objects = [one for one in schemas(STRICT) if one.get("type") == "object" or "properties" in one]

    assert len(objects) > 10
    for one in objects:
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False


def test_a_member_that_may_be_left_out_may_be_null_instead() -> None:
    """And one that may not be left out may not."""
    definitions = {"Emission": STRICT} | STRICT["$defs"]
    for name, plain in PLAIN["$defs"].items():
        for member, one in definitions[name]["properties"].items():
            assert ({"type": "null"} in one.get("anyOf", ())) == (member not in plain["required"]), (name, member)


def test_no_other_keyword_is_used() -> None:
    """`default`, `propertyNames`, `prefixItems`, `maxLength`, `discriminator` and `title` are refused."""
    assert {keyword for one in schemas(STRICT) for keyword in one} <= KEYWORDS
    assert not KEYWORDS & {"default", "propertyNames", "prefixItems", "minLength", "maxLength", "oneOf", "allOf", "not"}
    assert {one["format"] for one in schemas(STRICT) if "format" in one} <= FORMATS


def test_every_schema_says_a_type_a_choice_or_a_reference_and_nothing_stands_beside_a_reference() -> None:
    """An empty schema allows anything, and is refused."""
    for one in schemas(STRICT):
        assert {"type", "anyOf", "$ref"} & one.keys(), one
        assert "$ref" not in one or one.keys() == {"$ref"}


def test_every_reference_has_its_definition_and_every_definition_is_used() -> None:
    """Recursion goes through them."""
    used = {one["$ref"] for one in schemas(STRICT) if "$ref" in one}

    assert used == {f"#/$defs/{name}" for name in STRICT["$defs"]}


def test_patterns_hold_no_look_around() -> None:
    """The end of a text is `$`, which means the same there."""
    patterns = {one["pattern"] for one in schemas(STRICT) if "pattern" in one}

    assert patterns == {"^[A-Za-z0-9._~:/+=@%-]{1,256}$"}


def test_a_bound_without_a_keyword_is_said_in_the_description() -> None:
    """A model can read it there."""
    checks = STRICT["$defs"]["Assertion"]["properties"]["checks"]["anyOf"][0]

    assert checks["items"]["description"] == "at most 2000 characters"
    assert checks["maxItems"] == 20


def test_the_steps_of_a_chain_are_told_apart_by_a_constant_that_comes_first() -> None:
    """Else a union of objects cannot be decoded."""
    steps = STRICT["$defs"]["Assertion"]["properties"]["chain"]["anyOf"][0]["items"]["anyOf"]
    found = [STRICT["$defs"][one["$ref"].split("/")[-1]]["properties"] for one in steps]

    assert [next(iter(one)) for one in found] == ["step"] * 6
    assert {one["step"]["const"] for one in found} >= {"retrieval", "derived", "severed"}


def test_it_stays_within_the_documented_limits() -> None:
    """5,000 members, 10 levels between references, 120,000 characters of names and choices."""

    def depth(schema: dict[str, Any]) -> int:
        parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *filter(None, [schema.get("items")])]
        return (schema.get("type") == "object") + max(map(depth, parts), default=0)

    names = [name for one in schemas(STRICT) for name in one.get("properties", ())]
    assert len(names) < 5000
    assert sum(map(len, names)) < 120_000
    assert max(map(depth, [STRICT, *STRICT["$defs"].values()])) <= 10


def test_a_look_around_that_no_other_pattern_replaces_and_an_unknown_format_go() -> None:
    """The pattern is said in words; a format that is not allowed is only an annotation."""
    text = {"type": "string", "pattern": "^(?=a)b", "format": "uri", "minLength": 1}
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": text}, "required": ["a"]}}}
    before = copy.deepcopy(schema)

    strict = strict_schema(schema)

    assert strict["properties"]["a"] == {"type": "string", "description": "at least 1 characters; matching ^(?=a)b"}
    assert strict["$defs"] == {}
    assert schema == before


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("emission", examples(), ids=lambda one: str(one["emission_id"]))
def test_an_emission_survives_the_way_there_and_back(emission: dict[str, Any]) -> None:
    """As a model would have to write it, it fits the strict schema, and comes back as the same emission."""
    answer = answered(emission, {"$ref": PLAIN["$ref"]})
    Draft202012Validator(STRICT).validate(answer)

    back = emission_of_strict(msgspec.json.encode(answer))

    assert not isinstance(back, Fault), back
    expected = decode_emission(msgspec.json.encode(emission))
    assert not isinstance(expected, Fault)
    assert parsed_form(back) == parsed_form(expected)


def test_what_is_null_is_left_out_but_a_value_of_free_names_may_be_null() -> None:
    """A locator's member that is null is there."""
    answer = answered(WHOLE, {"$ref": PLAIN["$ref"]})
    plain = plain_of_strict(answer, PLAIN)

    assert plain == WHOLE


def test_the_program_says_what_it_knows_better() -> None:
    """Its id and time replace the model's."""
    answer = msgspec.json.encode(answered(WHOLE, {"$ref": PLAIN["$ref"]}))

    back = emission_of_strict(answer, {"emission_id": "em-9", "emitted_at": "2026-11-21T09:00:00Z"})

    assert isinstance(back, Emission)
    assert (back.emission_id, back.emitted_at) == ("em-9", "2026-11-21T09:00:00Z")


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (b'{"emission_id": "em-1", "emitted', "not JSON"),
        (b"[]", "expected object, got array"),
        (b'{"emission_id": "em-1"}', "expected the field emitted_at"),
        (b'{"contexts": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}', "$.contexts: expected each name"),
        (b'{"emission_id": "a", "emitted_at": 0, "text": "", "contexts": [1]}', "$.contexts"),
        (b'{"emission_id": "a", "emitted_at": 0, "assertions": [{"chain": [{"step": "guess"}]}]}', "step"),
        (b'{"emission_id": "a", "emitted_at": 0, "assertions": [{"span": 5}]}', "span"),
    ],
)
def test_an_answer_that_is_none_gets_one_sentence(answer: bytes, part: str) -> None:
    """Cut, of another shape, or with two values of one name: nothing is guessed."""
    fault = emission_of_strict(answer)

    assert isinstance(fault, Fault)
    assert part in fault.detail


def test_two_members_of_one_name_deep_inside_are_refused_with_their_place() -> None:
    """Neither is dropped."""
    whole = answered(WHOLE, {"$ref": PLAIN["$ref"]})
    arguments = whole["assertions"][0]["provenance"][0]["locator"][1]["value"]["members"]
    arguments.append({"name": "id", "value": 8})

    fault = emission_of_strict(msgspec.json.encode(whole))

    assert isinstance(fault, Fault)
    assert fault.detail == "$.assertions[0].provenance[0].locator.arguments: expected each name once, got id"
