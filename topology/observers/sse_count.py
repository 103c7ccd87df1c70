"""substrate.do.sse-count: how many subscribe to a channel of server-sent events, as the channel reports it [S §4].

The observation id is `sse:` and the count: what the channel reports, less our own subscription where the operator says
that the report counts it (`own_subscription`). So looking does not change what is seen. Of the checks
`count(subscribers, …)` is decided here. A number within the locator's `tolerance`, as far as the operator allows one,
is not refuted; it is not verified either, since a check says what it says.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import socket
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from ...codecs.json_text import decode_any, is_array, is_object
from ...codecs.records import Locator
from ...streams.judging.checks import Check, Held, Unknown
from ...streams.judging.facts import verify_subscribers
from ...streams.judging.terms import Content, presence
from .ask import Ask, Finding, ObservationUnavailable, answer, decided
from .background import Background, TooSlow
from .file_contents import APART
from .kept_looks import LONGEST_REST, Rest, rest_after
from .operator_list import SseChannel, is_public

MAX_EVENT: Final = 65_536
"""Characters of one line, and of the data of one event: a count and what stands around it are small."""


class TooLong(Exception):
    """A line or an event is longer than `MAX_EVENT`."""


class Event(NamedTuple):
    """One event as it is dispatched."""

    type: str
    data: str


class EventStream:
    """The state of one stream.

    Attributes:
        last_event_id: what a reconnection sends as `Last-Event-ID`; outlives the stream.
        retry: milliseconds before reconnecting, as the stream asked; None where it did not.

    Invariant: line and data kept are never longer than `MAX_EVENT`.
    """

    def __init__(self, last_event_id: str = "") -> None:
        self.last_event_id = last_event_id
        self.retry: int | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._first = True
        self._after_cr = False
        self._line: list[str] = []
        self._length = 0
        self._type, self._id = "", last_event_id
        self._data: list[str] = []
        self._data_length = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. An event that the end of a stream cuts short is never one.

        Raises:
            TooLong: a line or an event exceeds `MAX_EVENT`; the stream is of no more use.
        """
        text = self._decode(data)
        if not text:
            return []
        if self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
            self._after_cr = False
        if not text:
            return []
        self._after_cr = text.endswith("\r")
        found: list[Event] = []
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for place, piece in enumerate(lines):
            self._length += len(piece)
            if self._length > MAX_EVENT:
                raise TooLong
            self._line.append(piece)
            if place == len(lines) - 1:
                break
            line = "".join(self._line)
            self._line, self._length = [], 0
            event = self._take(line)
            if event is not None:
                found.append(event)
        return found

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data_length += len(value) + 1
            if self._data_length > MAX_EVENT:
                raise TooLong
            self._data.append(value)
        elif field == "event":
            self._type = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit() and len(value) < 10:
            self.retry = int(value)
        return None  # a comment has an empty field name; other names mean nothing

    def _dispatch(self) -> Event | None:
        self.last_event_id = self._id
        type_, data = self._type or "message", self._data
        self._type, self._data, self._data_length = "", [], 0
        return Event(type_, "\n".join(data)) if data else None


PRIVATE: Final = "the channel's name leads to an address that is not public"


class NotPublicError(OSError):
    """A name leads to an address that is not public."""

    def __init__(self) -> None:
        super().__init__(PRIVATE)


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses only; one that has any other is not resolved at all."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name, as aiohttp connects to them.

        Raises:
            NotPublicError: one of them is not public.
            OSError: there are none.
        """
        found = await self._inner.resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise NotPublicError
        return found

    async def close(self) -> None:
        """Nothing is kept."""
        await self._inner.close()


_CHUNK: Final = 65_536
_PLAIN: Final = re.compile(r"\s*(\d{1,15})\s*", re.ASCII)


class Report(NamedTuple):
    """How many subscribe, as the channel reported last, and when it was last heard, in Unix milliseconds."""

    subscribers: int
    at: int


class _Failed(Exception):
    """The subscription ended or never began; the message says why."""


class Channel:
    """The subscription to one channel; lives on the background loop, begins with `begin` or the first question.

    Invariant: there is a count only while the stream on which it was reported is open.

    Args:
        listed: the channel as the operator lists it.
        fresh: seconds for which silence is no reason to ask again.
        size: bytes that may come in `fresh` seconds.
        connect: seconds until the answer begins.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self, listed: SseChannel, *, fresh: float, size: int, connect: float, clock: Callable[[], int]
    ) -> None:
        self._listed, self._fresh, self._size, self._connect = listed, fresh, size, connect
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._count: int | None = None
        self._received_at = 0.0
        self._at = 0
        self._problem: str | None = None
        self._changed = asyncio.Event()
        self._last_event_id = ""
        self._resumed = False
        self._retry = listed.retry

    async def begin(self) -> None:
        """Subscribes, if it has not, and stays subscribed."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._stay())

    async def report(self) -> Report:
        """The present count; waits for it, for ever if need be.

        Raises:
            ObservationUnavailable: the channel cannot be heard, and is left alone for a while.
        """
        await self.begin()
        if self._count is not None and self._now() - self._received_at > self._fresh:
            self._anew()
        while self._count is None:
            if self._problem is not None:
                raise ObservationUnavailable(self._problem)
            self._changed.clear()
            try:
                await self._changed.wait()
            except asyncio.CancelledError:
                # A stream that was resumed may have nothing to tell until the count changes; a new one tells it.
                if self._resumed and self._count is None:
                    self._anew()
                raise
        return Report(self._count, self._at)

    def _anew(self) -> None:
        """Subscribes anew, from no event on: what is wanted is the present count, not what came in between."""
        self._count, self._last_event_id = None, ""
        if self._listening is not None:
            self._listening.cancel()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _stay(self) -> None:
        """Listens, and listens again: at once when a look asked for it, else after a rest that failures double."""
        failures = 0
        while True:
            self._listening = asyncio.create_task(self._listen())
            try:
                await asyncio.wait({self._listening})
            finally:
                self._listening.cancel()  # without effect on one that has ended
            received, self._count = self._count is not None, None
            if self._listening.cancelled():
                failures = 0
                continue
            error = self._listening.exception()
            failures = 1 if received else failures + 1
            reason = str(error) if isinstance(error, _Failed) else f"the channel fails: {type(error).__name__}"
            # The first end of a stream that has worked is in order: a look waits for the next one.
            self._problem = None if received else reason
            self._changed.set()
            rest = LONGEST_REST if isinstance(error, _Refused) else rest_after(failures, self._retry / 1000)
            await asyncio.sleep(rest)
            self._problem = None

    async def _listen(self) -> None:
        """One connection, from the request to its end."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", "Accept-Encoding": "identity"}
        self._resumed = bool(self._last_event_id)
        if self._resumed:
            headers["Last-Event-ID"] = self._last_event_id
        timeout = aiohttp.ClientTimeout(total=None)
        resolver = None if self._listed.private else PublicResolver()
        connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False)
        try:
            async with aiohttp.ClientSession(
                connector=connector, timeout=timeout, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
            ) as http:
                async with asyncio.timeout(self._connect):
                    answer = await http.get(
                        self._listed.url, headers={**self._listed.headers, **headers}, allow_redirects=False
                    )
                async with answer:
                    _check(answer)
                    await self._receive(answer)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error.__cause__, NotPublicError):
                raise _Failed(str(error.__cause__)) from None
            raise _Failed(f"the channel is not to be reached: {type(error).__name__}") from None
        raise _Failed("the channel ended the stream")

    async def _receive(self, answer: aiohttp.ClientResponse) -> None:
        stream = EventStream(self._last_event_id)
        since, received = self._now(), 0
        while chunk := await answer.content.read(_CHUNK):
            now = self._now()
            if now - since > self._fresh:
                since, received = now, 0
            received += len(chunk)
            if received > self._size:
                raise _Failed(f"the channel sent more than {self._size} bytes in {self._fresh:g} s")
            try:
                events = stream.feed(chunk)
            except TooLong:
                raise _Failed("the channel sent a line or an event without end") from None
            self._last_event_id = stream.last_event_id if _is_header(stream.last_event_id) else ""
            if stream.retry is not None:
                self._retry = min(max(stream.retry, 100), int(LONGEST_REST * 1000))
            self._received_at, self._at = now, self._clock()
            for event in events:
                self._take(event)

    def _take(self, event: Event) -> None:
        if event.type != self._listed.event:
            return
        count = count_of(event.data, self._listed)
        if count is None:
            raise _Failed("the channel reports no number of subscribers")
        self._count = count
        self._changed.set()


class _Refused(_Failed):
    """The server asks not to be asked again (204)."""


def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status == 204:
        raise _Refused("the channel asks not to be asked again (status 204)")
    if answer.status != 200:
        raise _Failed(f"the channel answers with status {answer.status}")
    if answer.content_type != "text/event-stream":
        raise _Failed("the channel is no stream of events")
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise _Failed("the channel is compressed although nobody asked for it")


def _is_header(text: str) -> bool:
    return len(text) <= 1024 and not any(one in text for one in "\r\n\0")


def count_of(data: str, listed: SseChannel) -> int | None:
    """The number of subscribers that an event's data reports, without our own subscription; None where it is none."""
    if listed.pointer:
        try:
            value = _at(decode_any(data.encode("utf-8", "replace")), listed.pointer)
        except (msgspec.DecodeError, RecursionError):
            return None
        if type(value) is not int:
            return None
        count = value
    else:
        plain = _PLAIN.fullmatch(data)
        if plain is None:
            return None
        count = int(plain[1])
    count -= listed.own_subscription
    return count if 0 <= count < 10**15 else None


def _at(value: Any, pointer: str) -> Any:
    """What a JSON Pointer (RFC 6901) leads to; None where it leads nowhere."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if is_object(value):
            value = value.get(token)
        elif is_array(value) and token.isascii() and token.isdigit() and len(token) < 6:
            value = value[int(token)] if int(token) < len(value) else None
        else:
            return None
    return value


CLASS: Final = "substrate.do.sse-count"


class SseCount:
    """The observer of all listed channels.

    Args:
        channels: as the operator lists them, by URL.
        fresh: seconds for which a report holds: a tenth of W.
        size: bytes that a channel may send in that time.
        connect: seconds to connect.
        background: where the subscriptions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        channels: Mapping[str, SseChannel],
        background: Background,
        *,
        fresh: float,
        size: int,
        connect: float,
        clock: Callable[[], int],
    ) -> None:
        self._listed, self._background, self._rest = channels, background, Rest()
        self._channels = {
            url: Channel(listed, fresh=fresh, size=size, connect=connect, clock=clock)
            for url, listed in channels.items()
        }

    def start(self) -> None:
        """Subscribes to every channel, so that a look finds the count there."""
        for channel in self._channels.values():
            self._background.start(channel.begin)

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        ObservationUnavailable: no URL is named, or one that is not on the operator's list.
        """
        url = locator.get("url")
        if not isinstance(url, str) or url not in self._listed:
            raise ObservationUnavailable(
                "the channel is not on the operator's list" if url else "the locator names no url"
            )
        tolerance = _tolerance(locator)
        return {"url": url} if tolerance is None else {"url": url, "tolerance": tolerance}

    def observe(self, ask: Ask) -> Finding:
        """Holds the count against the checks.

        Raises:
            ObservationUnavailable: the channel reports none in time.
        """
        url = str(ask.locator["url"])
        self._rest.check(url)
        try:
            report = self._background.run(self._channels[url].report, ask.budget)
        except TooSlow as slow:
            self._rest.failed(url, str(slow))  # of what fails at once the channel itself takes care
            raise
        self._rest.worked(url)
        return judge_count(ask, report, self._listed[url])

    def close(self) -> None:
        """The subscriptions end with the background."""


def judge_count(ask: Ask, report: Report, listed: SseChannel) -> Finding:
    """The finding on a count that was reported."""
    helds = [_held(check, report, _allowed(ask.locator, report, listed)) for check in ask.question.checks]
    words = None
    if ask.question.is_sentence:
        region = APART.join((listed.url, f"{report.subscribers} subscribers"))
        words = presence(ask.terms.terms, Content(region))
    return answer(ask, helds, f"sse:{report.subscribers}", words=words, scope="channel", at=report.at)


def _held(check: Check | Unknown, report: Report, allowed: float) -> Held:
    held = decided(CLASS, check, lambda check: verify_subscribers(check, report.subscribers))
    if held.holds is not False or not allowed or isinstance(check, Unknown):
        return held
    number = check.value("number")
    if isinstance(number, int | Decimal) and abs(number - report.subscribers) <= allowed:
        return Held(None, "not-found")
    return held


def _allowed(locator: Locator, report: Report, listed: SseChannel) -> float:
    """How far a number may be off without being refuted: what the locator asks for, within what the operator allows."""
    most = -(-report.subscribers // 10) if listed.max_tolerance is None else listed.max_tolerance
    return min(_tolerance(locator) or 0, most)


def _tolerance(locator: Locator) -> float | int | None:
    value = locator.get("tolerance")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 2**53 else None
