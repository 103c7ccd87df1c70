"""The pages on settings and records, for make_reference.py: JSON Schemas of the structs, in words."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sluice.codecs import identifiers, records
from sluice.topology.settings.settings import PREFIX, Settings

MADE = "<!-- Made by tools/make_reference.py; `make reference` makes it anew. -->\n\n"
REF = "#/components/schemas/"
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def settings() -> str:
    """Every setting, as `sluice config show` knows them."""
    schema = msgspec.json.schema(Settings)["$defs"]["Settings"]["properties"]
    rows = [
        f"| `{name}` | {cell(_takes(one))} | {_default(one)} | {cell(_description(one))} |"
        for name, one in schema.items()
    ]
    return (
        f"# Settings\n\n{MADE}A setting comes from a flag, else from its variable (`{PREFIX}` and its name in capital "
        "letters), else from `sluice.toml` (or the file of `--config`), else it has its default. `sluice config show` "
        "prints each with where it came from; secrets are not shown.\n\n"
        "| setting | takes | default | what it is for |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def record_types() -> dict[str, type[msgspec.Struct]]:
    """The records that `sluice schema` knows, by name."""
    return {**records.INPUTS, **records.OUTPUTS}


def record_pages() -> str:
    """Every record, then the structs that they are made of."""
    types = record_types()
    _, parts = msgspec.json.schema_components(list(types.values()), ref_template=REF + "{name}")
    own = {struct.__name__ for struct in types.values()}
    text = [
        f"# Records\n\n{MADE}Values are JSON in UTF-8, on the topics that [topics](topics.md) lists. Members that are "
        "not known are ignored. The JSON Schemas are what `sluice schema RECORD` prints: "
        + ", ".join(f"[{name}](schemas/{name}.json)" for name in types)
        + "; with `--strict`, the [emission](schemas/emission-strict.json) for models that are held to a schema.\n"
    ]
    for name in dict.fromkeys(struct.__name__ for struct in types.values()):
        text.append(f"## {name}\n\n{_prose(parts[name])}{_fields(parts[name], attributes(name))}")
    text.append("# What they are made of\n")
    text += [
        f"## {name}\n\n{_prose(part)}{_fields(part, attributes(name))}"
        for name, part in sorted(parts.items())
        if name not in own
    ]
    return "\n".join(text)


def attributes(name: str) -> dict[str, str]:
    """What the docstrings of a struct and of its bases say of its members («Attributes:»), by their names in JSON."""
    struct = getattr(records, name, None) or getattr(identifiers, name)
    descriptions: dict[str, str] = {}
    for part in reversed(struct.__mro__):
        _, _, listed = (inspect.cleandoc(part.__doc__ or "") + "\n").partition("\nAttributes:\n")
        descriptions |= {
            member: " ".join(text.split()).removesuffix(".") for member, text in _ATTRIBUTE.findall(listed)
        }
    names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
    return {names[member]: text for member, text in descriptions.items()}


def _prose(part: Mapping[str, Any]) -> str:
    paragraphs = str(part.get("description", "")).split("\n\n")
    return paragraphs[0].replace("\n", " ") + "\n\n" if paragraphs[0] else ""


def _fields(part: Mapping[str, Any], descriptions: Mapping[str, str]) -> str:
    if "properties" not in part:
        return cell(_takes(part)) + "\n"
    required = set(part.get("required", ()))
    rows = [
        f"| `{name}` | {cell(_takes(one))} | {'required' if name in required else _default(one)} "
        f"| {cell('; '.join(filter(None, (descriptions.get(name), _description(one)))))} |"
        for name, one in part["properties"].items()
    ]
    return "| member | takes | default | what it is |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def _takes(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in words, with links to the structs that it names."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REF)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_takes(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"`{schema['const']}`"
    match schema.get("type"):
        case "array":
            inner = schema.get("items") or {}
            return f"list of {_takes(inner)}" if inner else "list"
        case "object":
            more = schema.get("additionalProperties")
            return f"object of {_takes(more)}" if isinstance(more, dict) and more else "object"
        case "string":
            return "text" + _bounds(schema, "minLength", "maxLength", " characters")
        case "integer":
            return "whole number" + _bounds(schema, "minimum", "maximum")
        case "number":
            above = f" above {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else ""
            return "number" + above + _bounds(schema, "minimum", "maximum")
        case "boolean":
            return "`true` or `false`"
        case _:
            return "any JSON"


def _bounds(schema: Mapping[str, Any], least: str, most: str, unit: str = "") -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f", {_number(low)} to {_number(high)}{unit}"
    one = "at least" if low is not None else "at most"
    return "" if low is None and high is None else f", {one} {_number(high if low is None else low)}{unit}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "" if default is None or default == "" else f"`{cell(json.dumps(default).strip(chr(34)))}`"


def _description(schema: Mapping[str, Any]) -> str:
    own = schema.get("description", "")
    return own or "; or ".join(one["description"] for one in schema.get("anyOf", ()) if "description" in one)


def cell(text: str) -> str:
    """A text as a table's cell."""
    return text.replace("|", "\\|").replace("\n", " ")
