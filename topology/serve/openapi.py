"""The OpenAPI 3.1 document of the service: made from one table of its routes and from the records' structs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from ...codecs import records
from ..kafka.topics import TOPICS
from ..settings.extras import version
from .access import Scope
from .review_decisions import Asked


class Operation(NamedTuple):
    """One route as the document tells it.

    Attributes:
        path, method: of HTTP; `{id}` is a parameter.
        summary: in one line.
        scope: of the token; None: open.
        record: the struct that is posted.
        answers: by status, in one line each.
        query: parameters of the query, each with what it means.
        media_type: of the answer 200 or 202.
    """

    path: str
    method: str
    summary: str
    scope: Scope | None = None
    record: type[msgspec.Struct] | None = None
    answers: Mapping[int, str] = MappingProxyType({})
    query: Mapping[str, str] = MappingProxyType({})
    media_type: str = "application/json"


_TURNED: Final = {
    401: "no valid token",
    403: "the token's scopes, or the Origin, do not allow it",
    429: "too many requests, or no room: come again after Retry-After",
}
_VIEWED: Final = {503: "the view is not up to date: come again after Retry-After", **_TURNED}
_POSTED: Final = {
    202: "Kafka has every record; their ids",
    409: "an emission of this id and attempt was taken with another content",
    413: "the body is too large",
    415: "the body has a Content-Encoding",
    422: "not valid: path, expected and got of each line; nothing was sent",
    503: "Kafka did not acknowledge in time: post the same again",
    **_TURNED,
}

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation("/v1/emissions", "post", "Emissions in", "emit", records.Emission, _POSTED),
    Operation("/v1/attestations", "post", "Attestations in", "emit", records.Attestation, _POSTED),
    Operation(
        "/v1/reviews",
        "post",
        "A decision about an assertion that is up for review, as whoever is signed in",
        "review",
        Asked,
        {202: "Kafka has it", 404: "not up for review", 409: "not to be decided now", 422: "not valid", **_VIEWED},
    ),
    Operation("/v1/observations", "post", "Observations in", "emit", records.Observation, _POSTED),
    Operation(
        "/v1/emissions/{id}",
        "get",
        "What became of an emission's assertions",
        "read",
        answers={200: "the record of the topic verdicts, or each as pending", 404: "nothing is known of it", **_VIEWED},
    ),
    Operation(
        "/v1/emissions/{id}/events",
        "get",
        "The same as it comes, as server-sent events; Last-Event-ID resumes",
        "read",
        answers={200: "events", 404: "nothing is known of it", 422: "there is no such format", **_VIEWED},
        query={"format": "ai-sdk: as data parts of the Vercel AI SDK, until it is settled"},
        media_type="text/event-stream",
    ),
    Operation(
        "/v1/verdicts/events",
        "get",
        "All verdicts as they come; Last-Event-ID resumes at any replica",
        "read",
        answers={200: "events", 422: "there is no such filter, or no verdict passes it", **_VIEWED},
        query={
            "emitter": "of this system; may be repeated",
            "status": "with an assertion of this status; may be repeated",
            "effect": "with an assertion of this effect; may be repeated",
        },
        media_type="text/event-stream",
    ),
    Operation("/healthz", "get", "Whether the process lives", answers={200: "it does"}, media_type="text/plain"),
    Operation(
        "/readyz",
        "get",
        "Whether it can take and answer",
        answers={200: "it can", 503: "what it waits for"},
        media_type="text/plain",
    ),
    Operation("/metrics", "get", "Counters for Prometheus", answers={200: "all"}, media_type="text/plain"),
    Operation("/openapi.json", "get", "This document", answers={200: "it"}),
)


def document() -> dict[str, Any]:
    """The whole document."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        if one.media_type == "text/event-stream" and "verdicts" not in TOPICS:
            continue  # nobody writes what they would tell
        paths.setdefault(one.path, {})[one.method] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sluice serve", "version": version(), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "summary": one.summary,
        "operationId": f"{one.method} {one.path}",
        "responses": {
            str(status): {"description": text} | ({"content": {one.media_type: {}}} if status in (200, 202) else {})
            for status, text in sorted(one.answers.items())
        },
        "security": [{"token": [one.scope]}] if one.scope else [],
    }
    named = [name.strip("{}") for name in one.path.split("/") if name.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in named]
    parameters += [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in one.query.items()
    ]
    if parameters:
        made["parameters"] = parameters
    if one.record is not None:
        (found,), components = msgspec.json.schema_components([one.record], ref_template="#/components/schemas/{name}")
        schemas.update(components)
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": found}, "application/x-ndjson": {"schema": {"type": "string"}}},
        }
    return made
