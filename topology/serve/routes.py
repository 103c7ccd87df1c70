"""The routes of the programs' side: intake, probes, and the document of all of them, as Starlette handlers.

A handler asks for its scope, hands the request's parts to a plain function, and words the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from ...codecs.errors import UnreachableError
from ..settings.clock import now_ms
from .access import Principal, Scope
from .bodies import Refused, Taken, refusal_body
from .body_reader import BodyReader
from .gate import CHARGE, PRINCIPAL, ROUTE
from .metering import Fate, ServiceMetrics
from .openapi import document
from .record_intake import Away, Busy, Conflict, Denied, Intake, Stored

PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
TRACE_HEADERS: Final = ("traceparent", "tracestate")
"""Of a request, passed on with an emission: outputs carry them on."""
INTAKE: Final = ("emissions", "attestations", "observations")

Handler = Callable[[Request], Awaitable[Response]]
Ready = Callable[[], Awaitable[str]]
"""An empty text, or what the service waits for."""


class Parts(NamedTuple):
    """What the routes are made of.

    Attributes:
        intake: the way to Kafka.
        meter: counts.
        ready: whether the service can take and answer.
        now: the time in Unix ms.
        reader: of bodies.
    """

    intake: Intake
    meter: ServiceMetrics
    ready: Ready
    now: Callable[[], int] = now_ms
    reader: BodyReader = BodyReader()


def routes(parts: Parts, more: Sequence[BaseRoute] = ()) -> Starlette:
    """The application inside the gate."""
    openapi = document()

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
    scope: Scope | None = None,
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


def _lacking(request: Request, scope: Scope) -> Response | None:
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
        taken = [one for one in found if isinstance(one, Taken)]
        refused = [one for one in found if isinstance(one, Refused)]
        request.scope.get(CHARGE, _free)(sum(one.statements for one in taken) + len(refused))
        if refused:
            parts.meter.records(topic, "invalid", len(refused))
            return json_response(refusal_body(refused), 422)
        return await _take(parts, topic, taken)

    return post


def _free(_: int) -> None:
    """For routes without a gate."""


async def _take(parts: Parts, topic: str, taken: Sequence[Taken]) -> Response:
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
