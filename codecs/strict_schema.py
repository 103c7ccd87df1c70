"""JSON Schemas as strict structured outputs take them, made from the schemas that msgspec exports, and a model's
answer by such a schema turned back into an emission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from .decode import decode_emission, decode_json
from .errors import Fault, schema_fault
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
    """A schema that `msgspec.json.schema` makes of a struct, as strict structured outputs take it."""
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
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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


ReadSchema = Mapping[str, Any]

_objects = msgspec.json.Decoder(dict[str, Any])


class _Repeated(Exception):
    """Two values have one name: neither may be dropped in silence."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(name)
        self.path, self.name = path, name


def emission_of_strict(answer: bytes, known: Mapping[str, Any] | None = None) -> Emission | Fault:
    """The emission that a strict answer holds (a JSON object in UTF-8), checked like any other; or why it holds none.
    Never raises.

    Members that the program knows better (`known`), such as `emission_id`, `emitted_at` and `emitter`, replace the
    model's.
    """
    value = decode_json(answer, cast("msgspec.json.Decoder[Any]", _objects))
    if isinstance(value, Fault):
        return value
    plain = plain_of_strict(value, msgspec.json.schema(Emission))
    if isinstance(plain, Fault):
        return plain
    return decode_emission(msgspec.json.encode({**plain, **(known or {})}))


def plain_of_strict(value: Any, schema: ReadSchema) -> Any | Fault:
    """A decoded value that fits the strict form of a schema, as one that fits the schema itself; a `schema` fault where
    two values have one name. What does not fit stays as it is."""
    try:
        return _plain(value, schema, cast("dict[str, Schema]", schema["$defs"]), "$")
    except _Repeated as repeated:
        return schema_fault(repeated.path, "each name once", repeated.name)


def _plain(value: Any, schema: ReadSchema, definitions: Mapping[str, ReadSchema], path: str) -> Any:
    if "$ref" in schema:
        schema = definitions[str(schema["$ref"]).rpartition("/")[2]]
    if "anyOf" in schema:
        fitting = _fitting(value, schema["anyOf"], definitions)
        return value if fitting is None else _plain(value, fitting, definitions, path)
    if is_map(schema):
        return _map(value, schema, definitions, path)
    if isinstance(value, dict) and "properties" in schema:
        members = cast("dict[str, Any]", value)
        known = cast("dict[str, Schema]", schema["properties"])
        found: dict[str, Any] = {
            name: _plain(one, known.get(name, _NOTHING_KNOWN), definitions, f"{path}.{name}")
            for name, one in members.items()
            if one is not None
        }
        return found
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = cast("list[Any]", value)
        return [_plain(one, schema["items"], definitions, f"{path}[{place}]") for place, one in enumerate(items)]
    return cast("Any", value)


_NOTHING_KNOWN: ReadSchema = {"type": "string"}
"""Of a member that no schema names: it stays as it is."""


def _fitting(value: Any, choices: Sequence[ReadSchema], definitions: Mapping[str, ReadSchema]) -> ReadSchema | None:
    """Which of several schemas a value was written by: by its kind, and an object by its members of one value only."""
    for choice in choices:
        one = definitions[str(choice["$ref"]).rpartition("/")[2]] if "$ref" in choice else choice
        if isinstance(value, list) and (one.get("type") == "array" or is_map(one)):
            return one
        if isinstance(value, dict) and "properties" in one and _has_constants_of(cast("dict[str, Any]", value), one):
            return one
    return None


def _has_constants_of(value: Mapping[str, Any], schema: ReadSchema) -> bool:
    single = {name: one["enum"] for name, one in schema["properties"].items() if len(one.get("enum", ())) == 1}
    return all(value.get(name) in allowed for name, allowed in single.items())


def _map(value: Any, schema: ReadSchema, definitions: Mapping[str, ReadSchema], path: str) -> Any:
    values = schema.get("additionalProperties")
    found: dict[str, Any] = {}
    if not isinstance(value, list):
        return value
    pairs = cast("list[Any]", value)
    if not all(_is_pair(one) for one in pairs):
        return pairs
    for pair in pairs:
        name = pair["name"]
        if name in found:
            raise _Repeated(path, name)
        one = pair["value"]
        typed = isinstance(values, dict)
        found[name] = _plain(one, cast("Schema", values), definitions, path) if typed else _any(one, f"{path}.{name}")
    return found


def _is_pair(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    pair = cast("dict[str, Any]", value)
    return pair.keys() == {"name", "value"} and isinstance(pair["name"], str)


def _any(value: Any, path: str) -> Any:
    """Any JSON: `{"members": […]}` is an object."""
    if isinstance(value, list):
        return [_any(one, path) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        if given.keys() == {"members"}:
            return _map(given["members"], {"type": "object"}, {}, path)
    return cast("Any", value)
