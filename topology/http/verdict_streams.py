"""The routes that read: the verdicts of an emission, and streams of verdicts as they come.

One task reads what came into the view, and hands it to each stream that wants it: the view is asked once for all,
however many listen. A listener that does not keep up is let go: it comes back with the id of the last event that it
has, and goes on there, at whichever replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from ...codecs.errors import SluiceError, UnreachableError
from .auth_middleware import STILL, Quota, ServiceMetrics
from .kept_view import Readers, demand_current
from .routes import json_response, principal_of, route
from .service_view import (
    SDK_DONE,
    SDK_END,
    Change,
    Filter,
    Verdicts,
    beat,
    changes_after,
    changes_from,
    event,
    last_change,
    parse_position,
    position_text,
    sdk_part,
    sdk_parts,
    sdk_start,
    standing_of,
    status_of,
    verdicts_of,
)

POLL_SECONDS: Final = 0.5
"""So often the view is looked at where nobody says that something came: another process may keep it."""
AT_ONCE: Final = 1000
QUEUE: Final = 2000
"""Events that one listener may be behind."""
QUEUE_BYTES: Final = 4_000_000
"""And bytes of their records: a record may have 1 MB."""
TOGETHER_BYTES: Final = 100_000
"""So much of what waits for a listener goes out at once."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
verdicts_of_record = msgspec.json.Decoder(Verdicts).decode
"""What a stored record says."""


@dataclass(frozen=True)
class Notice:
    """A record on its way to listeners, all of whom are given the same one.

    `position` is the id of the event among all verdicts, with this one heard.
    """

    change: Change
    verdicts: Verdicts
    position: str

    @cached_property
    def event(self) -> bytes:
        """As a stream of all verdicts sends it: made once, however many listen."""
        return event("verdicts", self.change.record, self.position)


class Listener:
    """One stream, which is told of the records that it wants. `next_notices` gives None once the stream was ended.

    Invariant: `byte_count` is that of the records that wait in the queue.
    """

    def __init__(self, wants: Callable[[Notice], bool]) -> None:
        self.wants = wants
        self.queue: asyncio.Queue[Notice | None] = asyncio.Queue(QUEUE + 1)
        self.byte_count = 0
        self.is_gone = False

    def notify(self, notice: Notice) -> None:
        """Something new; it is let go where it is too far behind."""
        if self.is_gone or not self.wants(notice):
            return
        size = len(notice.change.record)
        if self.queue.qsize() >= QUEUE or (self.byte_count and self.byte_count + size > QUEUE_BYTES):
            self.is_gone = True
            self.queue.put_nowait(None)
            return
        self.byte_count += size
        self.queue.put_nowait(notice)

    async def next_notices(self, seconds: float) -> list[Notice] | None:
        """The next records: those that wait, up to `TOGETHER_BYTES`, so that they go out together.

        Raises:
            TimeoutError: nothing came for so long.
        """
        async with asyncio.timeout(seconds):
            notice = await self.queue.get()
        notices: list[Notice] = []
        byte_count = 0
        while notice is not None:
            notices.append(notice)
            byte_count += len(notice.change.record)
            if self.queue.empty() or byte_count >= TOGETHER_BYTES:
                break
            notice = self.queue.get_nowait()
        self.byte_count -= byte_count
        if notice is None and notices:
            self.queue.put_nowait(None)  # the end comes behind them
        return notices or None


class VerdictBroadcaster:
    """Reads the view and tells its listeners. `run` is its only task.

    Invariant: every listener is told of each record of the view with an id above `at` of when it began to listen.

    Attributes:
        at: the id of the last record that was told.
        offsets: of each partition of `verdicts`, the offset behind what was told.
        count: of listeners.
    """

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._news = asyncio.Event()
        self._by_emission: dict[str, set[Listener]] = {}
        self._by_emitter: dict[str, set[Listener]] = {}
        self._of_all: set[Listener] = set()
        self.count = 0
        self.at = -1
        self.offsets: list[int] = []

    def wake(self) -> None:
        """Something came into the view."""
        self._news.set()

    @property
    def position(self) -> str:
        """The id of the last event."""
        return position_text(self.offsets)

    async def run(self) -> None:
        """Tells until cancelled."""
        while True:
            try:
                while await self._publish():
                    pass
            except SluiceError as error:
                log.info("the view cannot be read: trying again", error=str(error))
            try:
                async with asyncio.timeout(POLL_SECONDS):  # Python 3.11's wait_for can lose a cancellation
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()

    async def _publish(self) -> bool:
        """Tells what is new; whether there may be more."""
        at = self.at
        if at < 0:
            self.at, standing = await self._readers.ask(lambda db: (last_change(db), standing_of(db)))
            self.offsets = standing.offsets
            return False
        changes, standing, last = await self._readers.ask(
            lambda db: (changes_after(db, at, AT_ONCE), standing_of(db), last_change(db))
        )
        count = len(standing.offsets)
        if count != len(self.offsets):  # the topic was not known before, or has grown: nothing of that was told
            self.offsets = [*self.offsets, *[0] * count][:count]
        if last < at:  # the view was made anew: it is read again from the topics, and what was told is told again
            self.at = 0
            return True
        for change in changes:
            self.at = change.id
            if change.partition < len(self.offsets):
                self.offsets[change.partition] = change.offset + 1
            notice = Notice(change, verdicts_of_record(change.record), self.position)
            for listener in self._concerned(notice):
                listener.notify(notice)
        return len(changes) == AT_ONCE

    def _concerned(self, notice: Notice) -> list[Listener]:
        """Those that may want a record: the others are not asked, however many they are."""
        return [
            *self._of_all,
            *self._by_emission.get(notice.change.emission_id, ()),
            *self._by_emitter.get(notice.verdicts.emitter or "", ()),
        ]

    @asynccontextmanager
    async def listening(
        self, wants: Callable[[Notice], bool], *, emission_id: str = "", emitters: Collection[str] = ()
    ) -> AsyncGenerator[Listener, None]:
        """Listens from now on: to records that it wants, of one emission or of some emitters where they are given."""
        listener = Listener(wants)
        if emission_id:
            places, names = self._by_emission, [emission_id]
        else:
            places, names = self._by_emitter, list(emitters)
        chosen = [places.setdefault(name, set()) for name in names] or [self._of_all]
        for one in chosen:
            one.add(listener)
        self.count += 1
        try:
            yield listener
        finally:
            self.count -= 1
            for one in chosen:
                one.discard(listener)
            for name in names:
                if not places.get(name, True):
                    del places[name]


BEAT_SECONDS: Final = 15.0
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


class Sight(NamedTuple):
    """What the reading routes look at; `now` is in Unix ms, `streams` says how many may be open, None: any number."""

    readers: Readers
    broadcaster: VerdictBroadcaster
    meter: ServiceMetrics
    now: Callable[[], int]
    streams: Quota | None = None

    async def why_not(self) -> str:
        """Why the view cannot be answered from; an empty text where it can."""
        try:
            demand_current((await self.readers.ask(standing_of)).about, self.now())
        except UnreachableError as error:
            return error.what
        return ""


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
        asked = _StreamRequest(sight, request)
        if wanted == SDK:
            return asked.streaming(_sdk(asked, emission_id, after), {"x-vercel-ai-ui-message-stream": "v1"})
        return asked.streaming(_emission(asked, emission_id, after))

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
        if sight.broadcaster.at < 0:
            return json_response({"error": "the view has not been read yet; ask again in a moment"}, 503, _SOON)
        standing = await sight.readers.ask(standing_of)
        since = parse_position(request.headers.get("last-event-id"), len(standing.offsets))
        asked = _StreamRequest(sight, request)
        return asked.streaming(_all(asked, wants, since))

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


class _StreamRequest:
    """One request for a stream."""

    def __init__(self, sight: Sight, request: Request) -> None:
        self.sight = sight
        principal = principal_of(request)
        self._who = "" if principal is None else principal.id
        self._is_head = request.method == "HEAD"
        self._still: Callable[[], bool] = request.scope.get(STILL, lambda: True)
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
        given = {**_STREAM, **(headers or {})}
        if self._is_head:
            return Response(media_type=EVENT_STREAM, headers=given)
        streams = self.sight.streams or Quota(MAX_STREAMS, MAX_STREAMS)
        if not streams.take(self._who):
            what = "as many streams are open as there may be: close one, or come again"
            return json_response({"error": what}, 429, {"retry-after": "5"})
        return _Stream(_until_the_view_fails(body), lambda: streams.give(self._who), given)


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


async def _records(asked: _StreamRequest, emission_id: str, after: int) -> AsyncIterator[Change | None]:
    """The newest record of an emission, if it is behind `after`, and each further one; None as a beat."""
    sight = asked.sight
    async with sight.broadcaster.listening(lambda _: True, emission_id=emission_id) as listener:
        current = await sight.readers.ask(lambda db: verdicts_of(db, emission_id))
        if current is not None and current[0] > after:
            after = current[0]
            yield Change(0, 0, current[0], emission_id, msgspec.json.encode(current[1]))
        async for notices in _notices(asked, listener):
            if not notices:
                yield None
            for notice in notices:
                if notice.change.offset > after:
                    after = notice.change.offset
                    yield notice.change


async def _notices(asked: _StreamRequest, listener: Listener) -> AsyncIterator[list[Notice]]:
    """What a listener hears until it is let go, or may hear no more, in order; nothing as a beat."""
    beaten = monotonic()
    while asked.may_go_on():
        try:
            notices = await listener.next_notices(min(BEAT_SECONDS, LOOK_SECONDS))
        except TimeoutError:
            if monotonic() - beaten >= BEAT_SECONDS:
                beaten = monotonic()
                yield []
            continue
        if notices is None:
            return
        if not asked.may_go_on():
            return
        yield notices
        beaten = monotonic()


async def _emission(asked: _StreamRequest, emission_id: str, after: int) -> AsyncIterator[bytes]:
    yield beat("")
    async for change in _records(asked, emission_id, after):
        yield beat("") if change is None else event("verdicts", change.record, str(change.offset))


async def _sdk(asked: _StreamRequest, emission_id: str, after: int) -> AsyncIterator[bytes]:
    """Until the emission is settled: then a message of the AI SDK is at its end."""
    yield sdk_start(emission_id)
    async for change in _records(asked, emission_id, after):
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


async def _all(asked: _StreamRequest, wants: Filter, since: list[int] | None) -> AsyncIterator[bytes]:
    """From the position on, else from now on. A beat moves the id on past what was filtered out."""
    broadcaster = asked.sight.broadcaster

    def wanted(notice: Notice) -> bool:
        change = notice.change
        passed = since is not None and change.partition < len(since) and change.offset < since[change.partition]
        return not passed and wants.takes(notice.verdicts)

    async with broadcaster.listening(wanted, emitters=wants.emitters) as listener:
        until = broadcaster.at
        yield beat("" if since is not None else broadcaster.position)
        if since is not None:
            async for chunk in _missed(asked, wants, since, until):
                yield chunk
        async for notices in _notices(asked, listener):
            if notices:
                yield b"".join(notice.event for notice in notices)
            else:  # where nothing waits, all that was told has been heard
                yield beat(broadcaster.position if listener.queue.empty() else "")


async def _missed(asked: _StreamRequest, wants: Filter, since: list[int], until: int) -> AsyncIterator[bytes]:
    """What came behind a position, up to where the broadcaster was when the stream began.

    Raises:
        UnreachableError: the view cannot be read.
    """
    offsets = list(since)
    while asked.may_go_on():
        found = await asked.sight.readers.ask(lambda db: changes_from(db, offsets, until, CATCH_UP))
        if not found:
            return
        for change in found:
            offsets[change.partition] = change.offset + 1
            if wants.takes(verdicts_of_record(change.record)):
                yield event("verdicts", change.record, position_text(offsets))
