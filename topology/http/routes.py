"""The routes of the programs' side: intake, probes, and the OpenAPI 3.1 document of all of them.

A handler asks for its scope, hands the request's parts to a plain function, and words the answer. The document is made
from one table of the routes and from the records' structs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from ...codecs import records
from ...codecs.errors import UnreachableError
from ..kafka.topics import TOPICS
from ..settings.process import now_ms, version
from .auth_middleware import CHARGE, PRINCIPAL, ROUTE, Fate, Principal, ServiceMetrics, TokenScope
from .record_intake import Away, Busy, Conflict, Denied, Intake, Stored
from .request_bodies import BodyReader, RefusedLine, TakenRecord, refusal_body
from .review_rules import ReviewRequest


class Operation(NamedTuple):
    """One route as the document tells it.

    Attributes:
        scope: of the token; None: open.
        record: the struct that is posted.
        answers: by status, in one line each.
        query: parameters of the query, each with what it means.
        media_type: of the answer 200 or 202.
    """

    path: str
    method: str
    summary: str
    scope: TokenScope | None = None
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
        ReviewRequest,
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


def openapi_document() -> dict[str, Any]:
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


PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
TRACE_HEADERS: Final = ("traceparent", "tracestate")
"""Of a request, passed on with an emission: outputs carry them on."""
INTAKE: Final = ("emissions", "attestations", "observations")

Handler = Callable[[Request], Awaitable[Response]]
Ready = Callable[[], Awaitable[str]]
"""An empty text, or what the service waits for."""


class Parts(NamedTuple):
    """What the routes are made of; `ready` gives an empty text or what the service waits for, `now` Unix ms."""

    intake: Intake
    meter: ServiceMetrics
    ready: Ready
    now: Callable[[], int] = now_ms
    reader: BodyReader = BodyReader()


def routes(parts: Parts, more: Sequence[BaseRoute] = ()) -> Starlette:
    """The application behind the middleware."""
    openapi = openapi_document()

    async def healthy(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        why = await parts.ready()
        return PlainTextResponse((why or "ok") + "\n", 503 if why else 200)

    async def metrics(_: Request) -> Response:
        return Response(parts.meter.text(), media_type=PROMETHEUS)

    async def openapi_json(_: Request) -> Response:
        return JSONResponse(openapi)

    application = Starlette(
        routes=[
            *(
                route(f"/v1/{topic}", posting(parts, topic), scope="emit", methods=["POST"], meter=parts.meter)
                for topic in INTAKE
            ),
            route("/healthz", healthy),
            route("/readyz", ready),
            route("/metrics", metrics),
            route("/openapi.json", openapi_json),
            *more,
        ],
        exception_handlers={HTTPException: _http_error, UnreachableError: _away, Exception: _failed},
    )
    # A redirect to the path without its last slash would name our own scheme: behind a proxy that ends TLS a client
    # would send its token again in clear.
    application.router.redirect_slashes = False
    return application


def route(
    path: str,
    handler: Handler,
    *,
    scope: TokenScope | None = None,
    methods: Sequence[str] = ("GET",),
    meter: ServiceMetrics | None = None,
) -> Route:
    """A route that asks for a scope before its handler runs, and names itself for the metrics."""

    async def guarded(request: Request) -> Response:
        request.scope[ROUTE] = path
        if scope is not None and (why := _lacking(request, scope)) is not None:
            if meter is not None:
                meter.turned_away("scope")
            return why
        return await handler(request)

    return Route(path, guarded, methods=list(methods))


def principal_of(request: Request) -> Principal | None:
    """Who asks."""
    return request.scope.get(PRINCIPAL)


def _lacking(request: Request, scope: TokenScope) -> Response | None:
    principal = principal_of(request)
    if principal is None:
        return JSONResponse({"error": "a valid bearer token is needed"}, 401, {"www-authenticate": "Bearer"})
    if not principal.may(scope):
        return JSONResponse({"error": f"this token does not have the scope {scope}"}, 403)
    return None


def posting(parts: Parts, topic: str) -> Handler:
    """The intake of one topic."""

    async def post(request: Request) -> Response:
        coding = request.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            return json_response({"error": "a body is taken as it is: post it without a Content-Encoding"}, 415)
        headers = tuple(
            (name, value.encode("latin-1")) for name in TRACE_HEADERS if (value := request.headers.get(name))
        )
        media_type = request.headers.get("content-type", "")
        found = await parts.reader.read(await request.body(), media_type, topic, parts.now(), headers)
        taken = [one for one in found if isinstance(one, TakenRecord)]
        refused = [one for one in found if isinstance(one, RefusedLine)]
        request.scope.get(CHARGE, _free)(sum(one.statements for one in taken) + len(refused))
        if refused:
            parts.meter.records(topic, "invalid", len(refused))
            return json_response(refusal_body(refused), 422)
        return await _take(parts, topic, taken)

    return post


def _free(_: int) -> None:
    """For routes without the middleware."""


async def _take(parts: Parts, topic: str, taken: Sequence[TakenRecord]) -> Response:
    outcome = await parts.intake.take(taken)
    if isinstance(outcome, Conflict):
        parts.meter.records(topic, "conflict")
        what = f"the emission {outcome.id} was taken before with another content: a further try needs a higher attempt"
        return json_response({"error": what, "id": outcome.id, "reason": "conflicting-emission"}, 409)
    if not isinstance(outcome, Stored):
        parts.meter.records(topic, FATES[type(outcome)], len(taken))
        return not_taken(outcome)
    parts.meter.records(topic, "stored", len(taken) - outcome.repeated)
    if outcome.repeated:
        parts.meter.records(topic, "repeated", outcome.repeated)
    return json_response({"ids": outcome.ids, "repeated": outcome.repeated}, 202)


FATES: Final[dict[type, Fate]] = {Busy: "busy", Away: "away", Denied: "denied"}


def not_taken(outcome: Busy | Away | Denied) -> Response:
    """The answer where records were not stored: whoever posted them is to post the same again, and when."""
    later = {"retry-after": str(outcome.seconds)}
    if isinstance(outcome, Busy):
        what = "no room: the broker takes records more slowly than they come; post the same again"
        return json_response({"error": what}, 429, later)
    what = f"{outcome.why}; post the same again: what was stored is taken once"
    if isinstance(outcome, Denied):
        what = (
            f"{outcome.why}; it needs whoever runs the broker, then post the same again: what was stored is taken once"
        )
    return json_response({"error": what}, 503, later)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON as our other answers have it."""
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = {404: "there is nothing here", 405: "this method is not for this path"}.get(error.status_code, error.detail)
    return JSONResponse({"error": what}, error.status_code, dict(error.headers or {}))


async def _away(_: Request, error: Exception) -> Response:
    assert isinstance(error, UnreachableError)
    return JSONResponse({"error": f"{error.what}; ask again in a moment"}, 503, {"retry-after": "2"})


async def _failed(_: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "the service failed at this request"}, 500)
