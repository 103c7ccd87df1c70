"""The routes that read: the verdicts of an emission, and streams of verdicts as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from ...codecs.errors import UnreachableError
from ..mcp.readers import Readers
from .gate import STILL
from .hub import Hub, Listener, Notice, verdicts_of_record
from .metering import ServiceMetrics
from .routes import json_response, principal_of, route
from .shares import Shares
from .verdict_records import (
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
LOOK_SECONDS: Final = 2.0
"""So often a stream looks whether whoever reads it still may."""
MAX_STREAMS: Final = 2000
STREAMS_OF_ONE: Final = 200
"""Of one token or person at a time, unless told otherwise."""
CATCH_UP: Final = 500
"""Records that a stream which goes on reads at once."""
SDK: Final = "ai-sdk"
EVENTS: Final = "/events"
"""How the path of an emission's stream ends."""
MAX_WANTED: Final = 100
"""Values of a filter."""
_SOON: Final = {"retry-after": "2"}
EVENT_STREAM: Final = "text/event-stream"
_STREAM: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Sight(NamedTuple):
    """What the reading routes look at.

    Attributes:
        readers: of the view.
        hub: tells of what comes.
        meter: counts.
        now: the time in Unix ms.
        streams: how many may be open; None: as many as anybody likes.
    """

    readers: Readers
    hub: Hub
    meter: ServiceMetrics
    now: Callable[[], int]
    streams: Shares | None = None

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
        if not is_written(request, EVENTS):  # the id ends so: its slash is encoded
            request.path_params["id"] = emission_id + EVENTS
            return await one_emission(request)
        if (refusal := await not_ready(sight)) is not None:
            return refusal
        if await sight.readers.ask(lambda db: status_of(db, emission_id)) is None:
            return _unknown()
        wanted = request.query_params.get("format", "")
        if wanted not in ("", SDK):
            return json_response({"error": f"there is no such format (expected {SDK}, or none)"}, 422)
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdecimal() and len(last) < 19 else -1
        turn = _Turn(sight, request)
        if wanted == SDK:
            return turn.streaming(_sdk(turn, emission_id, after), {"x-vercel-ai-ui-message-stream": "v1"})
        return turn.streaming(_emission(turn, emission_id, after))

    async def all_streams(request: Request) -> Response:
        if (refusal := await not_ready(sight)) is not None:
            return refusal
        query = request.query_params
        unknown = sorted(set(query) - {"emitter", "status", "effect"})
        if unknown:
            expected = "expected emitter, status or effect, each once or more"
            return json_response({"error": f"there is no such filter ({expected})", "got": unknown[0][:80]}, 422)
        wants = Filter(*(frozenset(query.getlist(name)) for name in ("emitter", "status", "effect")))
        if sum(map(len, wants)) > MAX_WANTED:
            return json_response({"error": f"a filter has at most {MAX_WANTED} values"}, 422)
        if (never := wants.unknown()) is not None:
            name, value = never
            return json_response({"error": f"no verdict has this {name}", "got": value[:80]}, 422)
        if sight.hub.at < 0:
            return json_response({"error": "the view has not been read yet; ask again in a moment"}, 503, _SOON)
        standing = await sight.readers.ask(standing_of)
        since = parse_position(request.headers.get("last-event-id"), len(standing.offsets))
        turn = _Turn(sight, request)
        return turn.streaming(_all(turn, wants, since))

    one = route("/v1/emissions/{id:path}", one_emission, scope="read", meter=sight.meter)
    if not streams:
        return [one]
    return [
        route("/v1/verdicts/events", all_streams, scope="read", meter=sight.meter),
        route("/v1/emissions/{id:path}" + EVENTS, one_stream, scope="read", meter=sight.meter),
        one,
    ]


def is_written(request: Request, end: str) -> bool:
    """Whether a path ends so as it was sent: an emitter chooses its ids, and slashes in them come percent-encoded."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.endswith(end.encode())


async def not_ready(sight: Sight) -> Response | None:
    """The refusal where the view cannot be answered from."""
    why = await sight.why_not()
    return json_response({"error": f"{why}; ask again in a moment"}, 503, _SOON) if why else None


def _unknown() -> Response:
    return json_response(
        {"error": "nothing is known of this emission: it never came, or is older than what is kept"}, 404
    )


# ---------------------------------------------------------------- streams


class _Turn:
    """One request for a stream.

    Args:
        sight: what it looks at.
        request: who asks.
    """

    def __init__(self, sight: Sight, request: Request) -> None:
        self.sight = sight
        principal = principal_of(request)
        self._who = "" if principal is None else principal.id
        self._is_head = request.method == "HEAD"
        self._still: Callable[[], bool] = request.scope.get(STILL, _always)
        self._next = monotonic() + LOOK_SECONDS

    def may_go_on(self) -> bool:
        """Whether whoever reads still may: a token can end, be revoked, or lose a scope. Looks now and then."""
        now = monotonic()
        if now < self._next:
            return True
        self._next = now + LOOK_SECONDS
        return self._still()

    def streaming(self, body: AsyncIterator[bytes], headers: dict[str, str] | None = None) -> Response:
        """The answer, or a refusal where too many streams are open; to HEAD its headers alone."""
        if self._is_head:
            return Response(media_type=EVENT_STREAM, headers={**_STREAM, **(headers or {})})
        streams = self.sight.streams
        if streams is not None and not streams.take(self._who):
            what = "as many streams are open as there may be: close one, or come again"
            return json_response({"error": what}, 429, {"retry-after": "5"})
        done = (lambda: None) if streams is None else (lambda: streams.give(self._who))
        return _Stream(_until_the_view_fails(body), done, {**_STREAM, **(headers or {})})


def _always() -> bool:
    return True


class _Stream(StreamingResponse):
    """A stream of events, which gives its share back whatever ends it."""

    def __init__(self, body: AsyncIterator[bytes], done: Callable[[], None], headers: dict[str, str]) -> None:
        super().__init__(body, media_type=EVENT_STREAM, headers=headers)
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._done()


async def _until_the_view_fails(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Ends the stream where the view cannot be read: the client comes back with its last id, and misses nothing."""
    try:
        async for chunk in body:
            yield chunk
    except UnreachableError as error:
        log.info("a stream ends: the view cannot be read", error=str(error))


async def _records(turn: _Turn, emission_id: str, after: int) -> AsyncIterator[Change | None]:
    """The newest record of an emission, if it is behind `after`, and each further one; None as a beat."""
    sight = turn.sight
    async with sight.hub.listening(lambda _: True, emission_id=emission_id) as listener:
        current = await sight.readers.ask(lambda db: verdicts_of(db, emission_id))
        if current is not None and current[0] > after:
            after = current[0]
            yield Change(0, 0, current[0], emission_id, msgspec.json.encode(current[1]))
        async for notices in _notices(turn, listener):
            if not notices:
                yield None
            for notice in notices:
                if notice.change.offset > after:
                    after = notice.change.offset
                    yield notice.change


async def _notices(turn: _Turn, listener: Listener) -> AsyncIterator[list[Notice]]:
    """What a listener hears until it is let go, or may hear no more, in order; nothing as a beat."""
    beaten = monotonic()
    while turn.may_go_on():
        try:
            notices = await listener.next_notices(min(BEAT_SECONDS, LOOK_SECONDS))
        except TimeoutError:
            if monotonic() - beaten >= BEAT_SECONDS:
                beaten = monotonic()
                yield []
            continue
        if notices is None:
            return
        if not turn.may_go_on():
            return
        yield notices
        beaten = monotonic()


async def _emission(turn: _Turn, emission_id: str, after: int) -> AsyncIterator[bytes]:
    yield beat("")
    async for change in _records(turn, emission_id, after):
        yield beat("") if change is None else event("verdicts", change.record, str(change.offset))


async def _sdk(turn: _Turn, emission_id: str, after: int) -> AsyncIterator[bytes]:
    """Until the emission is settled: then a message of the AI SDK is at its end."""
    yield sdk_start(emission_id)
    async for change in _records(turn, emission_id, after):
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


async def _all(turn: _Turn, wants: Filter, since: list[int] | None) -> AsyncIterator[bytes]:
    """From the position on, else from now on. A beat moves the id on past what was filtered out."""
    hub = turn.sight.hub

    def wanted(notice: Notice) -> bool:
        change = notice.change
        passed = since is not None and change.partition < len(since) and change.offset < since[change.partition]
        return not passed and wants.takes(notice.verdicts)

    async with hub.listening(wanted, emitters=wants.emitters) as listener:
        until = hub.at
        yield beat("" if since is not None else hub.position)
        if since is not None:
            async for chunk in _missed(turn, wants, since, until):
                yield chunk
        async for notices in _notices(turn, listener):
            if notices:
                yield b"".join(notice.event for notice in notices)
            else:  # where nothing waits, all that was told has been heard
                yield beat(hub.position if listener.queue.empty() else "")


async def _missed(turn: _Turn, wants: Filter, since: list[int], until: int) -> AsyncIterator[bytes]:
    """What came behind a position, up to where the hub was when the stream began.

    Raises:
        UnreachableError: the view cannot be read.
    """
    offsets = list(since)
    while turn.may_go_on():
        found = await turn.sight.readers.ask(lambda db: changes_from(db, offsets, until, CATCH_UP))
        if not found:
            return
        for change in found:
            offsets[change.partition] = change.offset + 1
            if wants.takes(verdicts_of_record(change.record)):
                yield event("verdicts", change.record, position_text(offsets))
