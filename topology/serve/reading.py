"""The routes that read: the verdicts of an emission, and streams of verdicts as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from ...codecs.errors import UnreachableError
from ..mcp.readers import Readers
from .hub import Heard, Hub, Listener, verdicts_of_record
from .metering import ServiceMetrics
from .routes import json_response, route
from .verdicts import (
    SDK_DONE,
    SDK_END,
    Filter,
    beat,
    event,
    parse_position,
    position_text,
    sdk_part,
    sdk_parts,
    sdk_start,
)
from .view import Change, changes_from, standing_of, status_of, verdicts_of

BEAT_SECONDS: Final = 15.0
STALE_SECONDS: Final = 60.0
"""As the adapter: so old may the last moment be at which the view was known to be complete."""
MAX_STREAMS: Final = 2000
CATCH_UP: Final = 500
"""Records that a stream which goes on reads at once."""
SDK: Final = "ai-sdk"
_STREAM: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Sight(NamedTuple):
    """What the reading routes look at.

    Attributes:
        readers: of the view.
        hub: tells of what comes.
        meter: counts.
        now: the time in Unix ms.
    """

    readers: Readers
    hub: Hub
    meter: ServiceMetrics
    now: Callable[[], int]

    async def why_not(self) -> str:
        """Why the view cannot be answered from; an empty text where it can."""
        try:
            standing = await self.readers.ask(standing_of)
        except UnreachableError as error:
            return error.what
        if standing.caught_up_at is None:
            return f"the view is still being read from the broker ({standing.progress:.0%})"
        silent = (self.now() - standing.caught_up_at) / 1000
        return f"the view has not kept up with the broker for {silent:.0f} s" if silent > STALE_SECONDS else ""


def reading(sight: Sight, *, streams: bool = True) -> list[BaseRoute]:
    """The routes; those of streams only where lanes write `verdicts`."""

    async def one_emission(request: Request) -> Response:
        emission_id: str = request.path_params["id"]
        if (refusal := await not_ready(sight)) is not None:
            return refusal
        found = await sight.readers.ask(lambda db: status_of(db, emission_id))
        return json_response(found) if found is not None else _unknown()

    async def one_stream(request: Request) -> Response:
        emission_id: str = request.path_params["id"]
        if (refusal := await not_ready(sight) or _full(sight)) is not None:
            return refusal
        if await sight.readers.ask(lambda db: status_of(db, emission_id)) is None:
            return _unknown()
        wanted = request.query_params.get("format", "")
        if wanted not in ("", SDK):
            return json_response({"error": f"there is no such format (expected {SDK}, or none)"}, 422)
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 19 else -1
        if wanted == SDK:
            return _streaming(_sdk(sight, emission_id, after), {"x-vercel-ai-ui-message-stream": "v1"})
        return _streaming(_emission(sight, emission_id, after))

    async def all_streams(request: Request) -> Response:
        if (refusal := await not_ready(sight) or _full(sight)) is not None:
            return refusal
        query = request.query_params
        unknown = sorted(set(query) - {"emitter", "status", "effect"})
        if unknown:
            expected = "expected emitter, status or effect, each once or more"
            return json_response({"error": f"there is no such filter ({expected})", "got": unknown[0][:80]}, 422)
        wants = Filter(*(frozenset(query.getlist(name)) for name in ("emitter", "status", "effect")))
        standing = await sight.readers.ask(standing_of)
        since = parse_position(request.headers.get("last-event-id"), len(standing.offsets))
        return _streaming(_all(sight, wants, since))

    one = route("/v1/emissions/{id:path}", one_emission, scope="read", meter=sight.meter)
    if not streams:
        return [one]
    return [
        route("/v1/verdicts/events", all_streams, scope="read", meter=sight.meter),
        route("/v1/emissions/{id:path}/events", one_stream, scope="read", meter=sight.meter),
        one,
    ]


async def not_ready(sight: Sight) -> Response | None:
    """The refusal where the view cannot be answered from."""
    why = await sight.why_not()
    return json_response({"error": f"{why}; ask again in a moment"}, 503, {"retry-after": "2"}) if why else None


def _full(sight: Sight) -> Response | None:
    if sight.hub.count < MAX_STREAMS:
        return None
    return json_response({"error": "as many streams are open as there may be"}, 503, {"retry-after": "5"})


def _unknown() -> Response:
    return json_response(
        {"error": "nothing is known of this emission: it never came, or is older than what is kept"}, 404
    )


def _streaming(body: AsyncIterator[bytes], headers: dict[str, str] | None = None) -> Response:
    return StreamingResponse(body, media_type="text/event-stream", headers={**_STREAM, **(headers or {})})


# ---------------------------------------------------------------- streams


async def _records(sight: Sight, emission_id: str, after: int) -> AsyncIterator[Change | None]:
    """The newest record of an emission, if it is behind `after`, and each further one; None as a beat."""
    async with sight.hub.listening(lambda heard: heard.change.emission_id == emission_id) as listener:
        told = await sight.readers.ask(lambda db: verdicts_of(db, emission_id))
        if told is not None and told[0] > after:
            after = told[0]
            yield Change(0, 0, told[0], emission_id, msgspec.json.encode(told[1]))
        async for heard in _heard(listener):
            if heard is None:
                yield None
            elif heard.change.offset > after:
                after = heard.change.offset
                yield heard.change


async def _heard(listener: Listener) -> AsyncIterator[Heard | None]:
    """What a listener hears until it is let go; None as a beat."""
    while True:
        try:
            heard = await listener.heard(BEAT_SECONDS)
        except TimeoutError:
            yield None
            continue
        if heard is None:
            return
        yield heard


async def _emission(sight: Sight, emission_id: str, after: int) -> AsyncIterator[bytes]:
    yield beat("")
    async for change in _records(sight, emission_id, after):
        yield beat("") if change is None else event("verdicts", change.record, str(change.offset))


async def _sdk(sight: Sight, emission_id: str, after: int) -> AsyncIterator[bytes]:
    """Until the emission is settled: then a message of the AI SDK is at its end."""
    yield sdk_start(emission_id)
    async for change in _records(sight, emission_id, after):
        if change is None:
            yield beat("")
            continue
        record: dict[str, Any] = msgspec.json.decode(change.record)
        for part in sdk_parts(record):
            yield sdk_part(part, str(change.offset))
        if record["settled"]:
            break
    for part in SDK_END:
        yield sdk_part(part)
    yield SDK_DONE


async def _all(sight: Sight, wants: Filter, since: list[int] | None) -> AsyncIterator[bytes]:
    """From the position on, else from now on. A beat moves the id on past what was filtered out."""
    hub = sight.hub
    async with hub.listening(lambda _: True) as listener:
        until = hub.at
        yield beat("" if since is not None else hub.position)
        if since is not None:
            async for chunk in _missed(sight, wants, since, until):
                yield chunk
        position = ""
        async for heard in _heard(listener):
            if heard is None:
                yield beat(position)
                continue
            position = heard.position
            change = heard.change
            passed = since is not None and change.partition < len(since) and change.offset < since[change.partition]
            if not passed and wants.takes(heard.verdicts):
                yield event("verdicts", change.record, position)


async def _missed(sight: Sight, wants: Filter, since: list[int], until: int) -> AsyncIterator[bytes]:
    """What came behind a position, up to where the hub was when the stream began."""
    at, offsets = 0, list(since)
    with suppress(UnreachableError):
        while True:
            begin = at
            found = await sight.readers.ask(lambda db, begin=begin: changes_from(db, since, begin, until, CATCH_UP))
            for change in found:
                at = change.id
                offsets[change.partition] = max(offsets[change.partition], change.offset + 1)
                if wants.takes(verdicts_of_record(change.record)):
                    yield event("verdicts", change.record, position_text(offsets))
            if len(found) < CATCH_UP:
                return
