"""What a model answered by a strict schema, turned back into an emission (strict_schema.py has the schema).

Null members are left out, and names and values become objects again. Nothing else is changed: whether the result is an
emission is for `decode.py` to say, so a cut or wrong answer gets the same sentences as any other record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from .decode import decode_emission, decode_json
from .errors import Fault, schema_fault
from .records import Emission
from .strict_schema import is_map

Schema = Mapping[str, Any]

_objects = msgspec.json.Decoder(dict[str, Any])


class _Repeated(Exception):
    """Two values have one name: neither may be dropped in silence."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(name)
        self.path, self.name = path, name


def emission_of_strict(answer: bytes, known: Mapping[str, Any] | None = None) -> Emission | Fault:
    """The emission that a strict answer holds, checked like any other.

    Args:
        answer: the model's answer, a JSON object in UTF-8.
        known: members that the program knows better than the model, such as `emission_id`, `emitted_at` and `emitter`,
            in the form of the record; they replace the model's.

    Returns:
        The emission in the JSON form, or why the answer is none. Never raises.
    """
    value = decode_json(answer, cast("msgspec.json.Decoder[Any]", _objects))
    if isinstance(value, Fault):
        return value
    plain = plain_of_strict(value, msgspec.json.schema(Emission))
    if isinstance(plain, Fault):
        return plain
    return decode_emission(msgspec.json.encode({**plain, **(known or {})}))


def plain_of_strict(value: Any, schema: Schema) -> Any | Fault:
    """A value that fits the strict form of a schema, as one that fits the schema itself.

    Args:
        value: JSON, decoded.
        schema: as `msgspec.json.schema` makes it, before `strict_schema`.

    Returns:
        The value, or a `schema` fault where two values have one name. What does not fit stays as it is.
    """
    try:
        return _plain(value, schema, cast("dict[str, Schema]", schema["$defs"]), "$")
    except _Repeated as repeated:
        return schema_fault(repeated.path, "each name once", repeated.name)


def _plain(value: Any, schema: Schema, definitions: Mapping[str, Schema], path: str) -> Any:
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


_NOTHING_KNOWN: Schema = {"type": "string"}
"""Of a member that no schema names: it stays as it is."""


def _fitting(value: Any, choices: Sequence[Schema], definitions: Mapping[str, Schema]) -> Schema | None:
    """Which of several schemas a value was written by: by its kind, and an object by its members of one value only."""
    for choice in choices:
        one = definitions[str(choice["$ref"]).rpartition("/")[2]] if "$ref" in choice else choice
        if isinstance(value, list) and (one.get("type") == "array" or is_map(one)):
            return one
        if isinstance(value, dict) and "properties" in one and _has_constants_of(cast("dict[str, Any]", value), one):
            return one
    return None


def _has_constants_of(value: Mapping[str, Any], schema: Schema) -> bool:
    single = {name: one["enum"] for name, one in schema["properties"].items() if len(one.get("enum", ())) == 1}
    return all(value.get(name) in allowed for name, allowed in single.items())


def _map(value: Any, schema: Schema, definitions: Mapping[str, Schema], path: str) -> Any:
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
