"""JSON Schemas as strict structured outputs take them: a pure transformation of the schemas that msgspec exports.

The rules are those that OpenAI documents for structured outputs with `strict: true`: the root is an object, every
object lists all of its members in `required` and forbids others, a member that may be left out is null instead, and
only some keywords are allowed. Bounds that have no allowed keyword are said in `description`. An object with free
names becomes an array of `{"name": …, "value": …}`. What a model answers is turned back by `strict_answer.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from .records import Emission

Schema = dict[str, Any]

KEYWORDS: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"),
        *("$ref", "$defs", "description", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
    }
)
"""What a strict schema may hold."""
FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""The formats of strings that are allowed."""
ANY, MEMBER = "AnyValue", "AnyMember"
"""Definitions that are added where a schema allows any value: JSON itself, its objects as lists of members."""

_KEPT = KEYWORDS - {"properties", "required", "additionalProperties", "items", "anyOf", "enum", "$defs", "pattern"}
_END = r"(?![\s\S])"
"""The end of a text in every dialect; strict schemas take no look-around, and in ECMA-262 `$` is the same."""
_BOUNDS = {"minLength": "at least {} characters", "maxLength": "at most {} characters"}
_NULL: Schema = {"type": "null"}


def strict_emission_schema() -> Schema:
    """The schema of an emission that strict structured outputs take: without `signature`, which no model can write, and
    without `proposal` and `session`, which another party and a recorder write."""
    schema = msgspec.json.schema(Emission)
    definitions = schema["$defs"]
    del definitions["Emission"]["properties"]["signature"]
    for member, *names in (("proposal", "Proposal"), ("session", "Session", "SessionCounts")):
        del definitions["Assertion"]["properties"][member]
        for name in names:
            del definitions[name]
    return strict_schema(schema)


def strict_schema(schema: Mapping[str, Any]) -> Schema:
    """A schema as strict structured outputs take it.

    Args:
        schema: as `msgspec.json.schema` makes it of a struct: a reference to one of its `$defs`.

    Returns:
        A schema of its own; `schema` stays as it was.
    """
    definitions = cast("dict[str, Schema]", schema["$defs"])
    strict = {name: _strict(one) for name, one in definitions.items()}
    if any(_mentions_any(one) for one in strict.values()):
        strict |= _any_value()
    root = str(schema["$ref"]).rpartition("/")[2]
    # The root must be an object, not a reference to one; nothing else refers to it.
    return strict.pop(root) | {"$defs": strict}


def is_map(schema: Mapping[str, Any]) -> bool:
    """Whether it is an object with free names: as a strict one, an array of names and values."""
    return schema.get("type") == "object" and "properties" not in schema


def _strict(schema: Mapping[str, Any]) -> Schema:
    if not schema.keys() - {"description", "title", "default"}:
        return {"$ref": f"#/$defs/{ANY}"}
    if is_map(schema):
        return _pairs(schema)
    strict: Schema = {key: value for key, value in schema.items() if key in _KEPT}
    if strict.get("format", "date") not in FORMATS:
        del strict["format"]
    _say_bounds(schema, strict)
    if "properties" in schema:
        required = frozenset(schema.get("required", ()))
        strict["properties"] = {
            name: _strict(member) if name in required else _nullable(_strict(member))
            for name, member in schema["properties"].items()
        }
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    if "anyOf" in schema:
        strict["anyOf"] = [_strict(one) for one in schema["anyOf"]]
    if "enum" in schema:
        strict |= _choices(schema["enum"])
    if "prefixItems" in schema:
        strict["items"] = _strict(schema["prefixItems"][0])  # msgspec's tuples of ours: all of one type
    elif "items" in schema:
        strict["items"] = _strict(schema["items"])
    return strict


def _nullable(schema: Schema) -> Schema:
    """For a member that may be left out."""
    if "anyOf" not in schema:
        return {"anyOf": [schema, _NULL]}
    return schema if _NULL in schema["anyOf"] else schema | {"anyOf": [*schema["anyOf"], _NULL]}


def _choices(values: list[str]) -> Schema:
    """One value is a `const`: what tells the members of a union apart."""
    return {"type": "string", **({"const": values[0]} if len(values) == 1 else {"enum": values})}


def _say_bounds(schema: Mapping[str, Any], strict: Schema) -> None:
    """Puts what no keyword may say into the description."""
    said = [words.format(schema[key]) for key, words in _BOUNDS.items() if key in schema]
    pattern = str(schema.get("pattern", "")).replace(_END, "$")
    if "(?" in pattern:
        said.append(f"matching {schema['pattern']}")
    elif pattern:
        strict["pattern"] = pattern
    if said:
        strict["description"] = "; ".join([*([strict["description"]] if "description" in strict else []), *said])


def _pairs(schema: Mapping[str, Any]) -> Schema:
    name: Schema = {"type": "string"} | _strict(schema.get("propertyNames") or {"type": "string"})
    values = schema.get("additionalProperties")
    value = _strict(cast("Schema", values)) if isinstance(values, dict) else {"$ref": f"#/$defs/{ANY}"}
    return {"type": "array", "items": _object({"name": name, "value": value})}


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _any_value() -> dict[str, Schema]:
    """Any JSON: an object is `{"members": [{"name": …, "value": …}]}`, which no array can be mistaken for."""
    any_value = {"$ref": f"#/$defs/{ANY}"}
    scalars: list[Schema] = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, _NULL]
    members = _object({"members": {"type": "array", "items": {"$ref": f"#/$defs/{MEMBER}"}}})
    return {
        ANY: {"anyOf": [*scalars, {"type": "array", "items": any_value}, members]},
        MEMBER: _object({"name": {"type": "string"}, "value": any_value}),
    }


def _mentions_any(schema: Any) -> bool:
    if isinstance(schema, dict):
        parts = cast("dict[str, Any]", schema)
        return parts.get("$ref") == f"#/$defs/{ANY}" or any(map(_mentions_any, parts.values()))
    return isinstance(schema, list) and any(map(_mentions_any, cast("list[Any]", schema)))
