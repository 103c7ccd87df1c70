"""Which arguments an MCP tool may be asked with: the operator's list has a JSON Schema for each (docs/observing.md).

An emission chooses the arguments, so what is not listed is not asked for. Schemas are JSON Schema, draft 2020-12.
Patterns in them run in linear time (RE2), since strangers write the values, and no schema is fetched from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import re2

UNLISTED: Final = "an argument is not on the operator's list"
NOT_ALLOWED: Final = "an argument is not one that the operator's list allows"
EXPECTED: Final = 'a table of arguments, each with its JSON Schema, as { issue = { type = "integer" } }'


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...


class Arguments:
    """The arguments that one tool may be asked with.

    Args:
        schemas: a JSON Schema for each argument, by its name.

    Raises:
        ValueError: one of them is none that can be used; the message says what is expected.
    """

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._validators: dict[str, _Validator] = {name: _validator(schema) for name, schema in schemas.items()}

    def why_not(self, given: Mapping[str, Any]) -> str | None:
        """Why a tool is not asked with these arguments; None where it may be. No word of a stranger stands in it."""
        for name, value in given.items():
            known = self._validators.get(name)
            if known is None:
                return UNLISTED
            try:
                if not known.is_valid(value):
                    return NOT_ALLOWED
            except Exception:  # noqa: BLE001 - nested too deeply, or a reference that leads nowhere: it was not allowed
                return NOT_ALLOWED
        return None


NOTHING: Final = Arguments({})


def _validator(schema: Any) -> _Validator:
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    if not isinstance(schema, dict | bool):
        raise ValueError(EXPECTED)
    kind = _kind()
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"a JSON Schema: {'.'.join(map(str, error.path)) or 'it'} is none") from None
    for key, value in _members(schema):
        if key == "patternProperties":
            raise ValueError("a JSON Schema without patternProperties, which would have to search names")
        if key == "pattern" and isinstance(value, str):
            _pattern(value)
        if key in ("$ref", "$dynamicRef") and not (isinstance(value, str) and value.startswith("#")):
            raise ValueError("a JSON Schema that refers to nothing outside itself")
    return kind(schema, registry=Registry())


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from _members(item)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item)


@lru_cache(256)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error:
        raise ValueError("a JSON Schema with patterns that RE2 takes") from None


@lru_cache(1)
def _kind() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not _pattern(wanted).search(value):
            yield ValidationError(NOT_ALLOWED)

    return extend(Draft202012Validator, {"pattern": pattern})
