"""What the tools take: arguments as structs, whose JSON Schemas the tools publish.

What is asked is untrusted: an error names the argument and what is expected, and never repeats what came.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta

from ...codecs.records import Kind
from ...codecs.spans import IDENTIFIER_PATTERN
from ...streams.policy.policy import MAX_QUORUM, Composition
from .answer_pages import Badly
from .tool_answers import MAX_LIMIT, MAX_QUERY

A = TypeVar("A", bound=msgspec.Struct)

Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT, description=f"A whole number from 1 to {MAX_LIMIT}: entries of a page")]
Cursor = Annotated[
    Annotated[str, Meta(max_length=200)] | None,
    Meta(description="next_cursor of the page before, with the same question; none for the first page"),
]


class AskGround(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `ground`."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_QUERY,
            description="Words to be found in attestations, in any inflection, or a claim hash (0x and 64 digits)",
        ),
    ]
    consensus_domain: Annotated[
        Annotated[str, Meta(pattern=IDENTIFIER_PATTERN)] | None,
        Meta(description="The name of a consensus domain; may be left out where the policy has only one"),
    ] = None
    composition: Annotated[
        Composition | None,
        Meta(
            description="What makes a primary verdict: most (more validators than any other verdict), majority (more "
            "than half) or unanimous; where the domain's own rule is stricter, that one holds"
        ),
    ] = None
    quorum: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_QUORUM)] | None,
        Meta(description="So many validators at least, or there is no primary verdict; never fewer than the domain's"),
    ] = None
    limit: Limit = 10
    cursor: Cursor = None


class AskAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `check_assertion`."""

    text: Annotated[
        str, Meta(min_length=1, max_length=10_000, description="The assertion's whole text, as it was made")
    ]
    kind: Annotated[Kind, Meta(description="assertion, denial or refusal")] = "assertion"
    limit: Limit = 10
    cursor: Cursor = None


class AskExplain(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `explain`."""

    emission_id: Annotated[str, Meta(pattern=IDENTIFIER_PATTERN, description="The emission's id")]
    span: Annotated[
        Annotated[str, Meta(min_length=3, max_length=1000)] | None,
        Meta(description="The span key of one assertion, such as c:0-43; none for all of them"),
    ] = None
    limit: Limit = 10
    cursor: Cursor = None


_PATH = re.compile(r" - at `\$\.([a-z_]{1,40})`")
_MISSING = re.compile(r"Object missing required field `([a-z_]{1,40})`")


def asked(kind: type[A], arguments: dict[str, Any] | None) -> A:
    """The arguments of a call.

    Raises:
        Badly: they are not what the tool takes; the sentence names the first that is not.
    """
    try:
        found = msgspec.convert(arguments or {}, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        known = {field.name: field for field in msgspec.structs.fields(kind)}
        said = str(error)
        if (missing := _MISSING.match(said)) and missing[1] in known:
            raise Badly(f"the argument {missing[1]} is missing") from None
        place = _PATH.search(said)
        if place and place[1] in known:
            raise Badly(f"the argument {place[1]} is wrong", expected=_expected(kind, place[1])) from None
        raise Badly("the arguments are not what the tool takes", hint="its input schema names them") from None
    for name in kind.__struct_fields__:
        value = getattr(found, name)
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Badly(
                    f"the argument {name} is wrong", expected="text of Unicode, without lone surrogates"
                ) from None
    return found


def _expected(kind: type[msgspec.Struct], name: str) -> str:
    about = schema(kind)["properties"][name]
    length = f", of at most {about['maxLength']} characters" if "maxLength" in about else ""
    return str(about.get("description", "")) + length


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct with the object itself at the root, as MCP wants it."""
    whole = msgspec.json.schema(kind)
    parts: dict[str, Any] = whole.pop("$defs", {})
    reference = str(whole.pop("$ref", "")).removeprefix("#/$defs/")
    root: dict[str, Any] = parts.pop(reference)
    return _plain({**root, **({"$defs": parts} if parts else {})})


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Descriptions as plain text: nothing that we say is Markdown [V §6]."""
    todo: list[Any] = [schema]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo += cast("list[Any]", one)
        elif isinstance(one, dict):
            members = cast("dict[str, Any]", one)
            if isinstance(members.get("description"), str):
                members["description"] = members["description"].replace("`", "")
            todo += members.values()
    return schema
