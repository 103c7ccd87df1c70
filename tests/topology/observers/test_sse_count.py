"""substrate.do.sse-count: the stream, event by event, and the observer against a server that counts."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from looking import parsed_emission, sole

from sluice.codecs.records import Annotation, Observation
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.sse_count import MAX_EVENT, Event, EventStream, TooLong
from sluice.topology.settings.settings import Settings


def read_events(*pieces: bytes) -> list[tuple[str, str]]:
    stream = EventStream()
    return [tuple(one) for piece in pieces for one in stream.feed(piece)]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10")]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
         [("message", "first event"), ("message", "second event"), ("message", " third event")]),
        (b"data\n\ndata\ndata\n\ndata:", [("message", ""), ("message", "\n")]),
        (b"data:test\n\ndata: test\n\n", [("message", "test")] * 2),
        (b"event: add\rdata: 1\r\revent: x\n\ndata: 2\r\n\r\n", [("add", "1"), ("message", "2")]),
        (b"\xef\xbb\xbfdata: bom\n\n", [("message", "bom")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        (b" data: no field\nDATA: no field\nother: x\n\n", []),
        (b"data: cut short\n", []),
    ],
)  # fmt: skip
def test_the_examples_of_the_standard(raw: bytes, found: list[tuple[str, str]]):
    """Fields, comments, line ends, an event that is cut short, bytes that are no UTF-8."""
    assert read_events(raw) == found


@given(st.binary(max_size=300).map(lambda one: one.replace(b"\x00", b"\n").replace(b"\x01", b"data:")), st.data())
def test_pieces_make_no_difference(raw: bytes, data: st.DataObject):
    """However the network cuts the stream, the same events come out of it."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read_events(*pieces) == read_events(raw)


def test_ids_and_retries_are_kept():
    """An id holds until another comes, also one of an event without data; with a NUL it is none; retry is digits."""
    stream = EventStream("before")
    assert stream.last_event_id == "before"
    stream.feed(b"id: 7\n")
    assert stream.last_event_id == "before"
    stream.feed(b"\nid: 8\0\nretry: 250\ndata: x\n\nretry: 1s\n\n")
    assert (stream.last_event_id, stream.retry) == ("7", 250)
    stream.feed(b"id\n\n")
    assert stream.last_event_id == ""


def test_a_line_or_an_event_without_end_is_refused():
    """Neither is kept beyond the bound."""
    for piece in (b"x" * 1000, b"data: " + b"x" * 1000 + b"\n"):
        stream = EventStream()
        for _ in range(MAX_EVENT // len(piece)):
            stream.feed(piece)
        with pytest.raises(TooLong):
            stream.feed(piece * 2)


def test_an_event_is_a_type_and_its_data():
    """The default type is `message`."""
    assert EventStream().feed(b"data: 1\n\n") == [Event("message", "1")]


CLASS = "substrate.do.sse-count"


class Events:
    """A server of events in a thread: `/presence` reports on every change how many subscribe; other paths misbehave.

    Attributes:
        others: subscribers beside those over the network.
        seen: path and headers of each request.
        lives: seconds until `/presence` ends a stream.
    """

    def __init__(self) -> None:
        self.others, self.lifetime, self.beat = 13, 600.0, 0.05
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.open = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    def _serve(self) -> None:
        async def start() -> None:
            app = web.Application()
            app.router.add_get("/{path}", self._answer)
            self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
            self._ready.set()

        self._loop.create_task(start())
        self._loop.run_forever()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        self.seen.append((path, dict(request.headers)))
        if path == "away":
            return web.Response(status=503)
        if path == "enough":
            return web.Response(status=204)
        if path == "elsewhere":
            raise web.HTTPFound("/presence")
        if path == "page":
            return web.Response(text="<p>14</p>")
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        self.open += 1
        try:
            await getattr(self, f"_{path}")(answer)
        except ConnectionError:
            pass
        finally:
            self.open -= 1
        return answer

    async def _presence(self, answer: web.StreamResponse) -> None:
        end, before = time.monotonic() + self.lifetime, None
        await answer.write(b"retry: 100\n\n")
        while time.monotonic() < end:
            now = self.others + self.open
            if now != before:
                before = now
                data = json.dumps({"room": {"subscribers": now}})
                await answer.write(f"event: presence\nid: {now}\ndata: {data}\n\ndata: other\n\n".encode())
            await answer.write(b": beat\n\n")
            await asyncio.sleep(self.beat)

    async def _plain(self, answer: web.StreamResponse) -> None:
        await answer.write(b"data: 14\n\n")
        await asyncio.sleep(60)

    async def _quiet(self, answer: web.StreamResponse) -> None:
        await asyncio.sleep(60)

    async def _words(self, answer: web.StreamResponse) -> None:
        await answer.write(b"data: fourteen\n\n")
        await asyncio.sleep(60)

    async def _endless(self, answer: web.StreamResponse) -> None:
        while True:
            await answer.write(b"x" * 65_536)

    async def _flood(self, answer: web.StreamResponse) -> None:
        while True:
            await answer.write(b"event: other\ndata: 1\n\n" * 1000)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Events]:
    """One server for the module."""
    server = Events()
    yield server
    server.close()


@pytest.fixture
def events(running: Events) -> Events:
    """The server, as it was made."""
    running.others, running.lifetime, running.beat = 13, 600.0, 0.05
    until = time.monotonic() + 60
    while running.open:
        assert time.monotonic() < until
        time.sleep(0.01)
    running.seen.clear()
    return running


@pytest.fixture
def asking(events: Events, tmp_path: Path) -> Iterator[Callable[..., Callable[..., Observation]]]:
    """Opens instruments for the server's channels; everything is closed at the end."""
    opened: list[ObserverRegistry] = []

    def open_(more: str = "", **bounds: Any) -> Callable[..., Observation]:
        paths = ("plain", "quiet", "words", "endless", "flood", "away", "enough", "elsewhere", "page")
        urls = json.dumps([f"{events.url}/{path}" for path in paths])
        named = f'url = "{events.url}/presence"\nevent = "presence"\npointer = "/room/subscribers"\n{more}'
        (tmp_path / "list.toml").write_text(f"[sse]\nurls = {urls}\n[sse.presence]\n{named}\n")
        settings = Settings(**bounds)
        mine = ObserverRegistry(settings, str(tmp_path / "list.toml"))
        opened.append(mine)

        def ask(
            text: str, path: str = "presence", kind: str = "assertion", checks: list[str] | None = None, **locator: Any
        ) -> Observation:
            """Of a number alone: the check that the channel has so many subscribers."""
            if re.fullmatch(r"[<>=!]+ \d+", text):
                operator, number = text.split(" ")
                checks, text = [f"count(subscribers, {operator}, {number})"], f"The channel has {number} subscribers."
            annotation = Annotation(CLASS, None, None, {"url": f"{events.url}/{path}", **locator})
            asked = parsed_emission(text, annotation, kind=kind, checks=checks)
            return sole(look(asked, settings, tmp_path, instruments=mine))

        return ask

    yield open_
    for one in opened:
        one.close()


def test_the_count_that_the_channel_reports_is_compared(asking: Any, events: Events):
    """Ours included, unless the operator says so; the id is the count; one subscription serves all looks."""
    ask = asking()
    found = ask("= 14")
    assert (found.outcome, found.observation_id, found.coverage) == ("corroborates", "sse:14", "whole")
    assert found.detail == {"checks": [{"check": "count(subscribers, =, 14)", "holds": True}]}
    assert (found.verified, found.looked_at) == ([0], None)
    assert found.locator == {"url": f"{events.url}/presence"}
    other = ask("= 15")
    assert (other.outcome, other.observation_id) == ("contradicts", "sse:14")
    assert len(events.seen) == 1


def test_our_own_subscription_is_taken_off_where_it_is_counted(asking: Any):
    """So that looking changes nothing."""
    assert asking("own_subscription = true")("The channel has 13 subscribers.").observation_id == "sse:13"


def test_a_change_is_heard(asking: Any, events: Events):
    """The next look has the new count, on the same stream."""
    ask = asking()
    assert ask("= 14").outcome == "corroborates"
    events.others = 20
    until = time.monotonic() + 60
    while ask("= 21").outcome != "corroborates":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert len(events.seen) == 1


@pytest.mark.parametrize(
    ("check", "kind", "outcome"),
    [
        ("count(subscribers, >=, 10)", "assertion", "corroborates"),
        ("count(subscribers, >, 14)", "assertion", "contradicts"),
        ("count(subscribers, <=, 14)", "assertion", "corroborates"),
        ("count(subscribers, =, 1400)", "assertion", "contradicts"),
        ("not count(subscribers, =, 15)", "assertion", "corroborates"),
        ("not count(subscribers, =, 14)", "assertion", "contradicts"),
        ("not count(subscribers, =, 15)", "denial", "corroborates"),
        ("count(subscribers, =, 14)", "denial", "absent"),
        ("count(subscribers, =, 14, path=a.txt)", "assertion", "absent"),
        ("count(people, =, 14)", "assertion", "absent"),
        ("contains(14)", "assertion", "absent"),
        ("equals(subscribers, 14)", "assertion", "absent"),
    ],
)
def test_checks_decide(asking: Any, check: str, kind: str, outcome: str):
    """Only the count of subscribers is the channel's to decide."""
    number = "1400" if "1400" in check else "14"
    text = f"The channel has {number} subscribers, or at least 10 or at most 14 people."
    if check.startswith("not"):
        text = "The channel does not have 14 or 15 subscribers."
    assert asking()(text, kind=kind, checks=[check]).outcome == outcome


@pytest.mark.parametrize(
    ("text", "kind", "outcome"),
    [
        ("It seems that there are 14 subscribers now.", "assertion", "terms-present"),
        ("It seems that there are 15 subscribers now.", "assertion", "absent"),
        ("There are not 15 subscribers.", "denial", "absent"),
    ],
)
def test_words_count_for_nothing(asking: Any, text: str, kind: str, outcome: str):
    """A number that is named in passing is there, or it is not; neither says that it is so."""
    assert asking()(text, kind=kind).outcome == outcome


def test_a_tolerance_spares_a_number_within_what_the_operator_allows(asking: Any):
    """It is not refuted, and not verified either: a check says what it says."""
    ask = asking()
    near = ask("= 15", tolerance=1)
    assert (near.outcome, near.verified, near.refuted) == ("absent", [], [])
    assert ask("= 20", tolerance=1_000_000).outcome == "contradicts"
    assert ask("= 15", tolerance=-1).outcome == "contradicts"


@pytest.mark.parametrize(("most", "outcome"), [(0, "contradicts"), (6, "absent")])
def test_the_operator_says_how_much_tolerance_there_is(asking: Any, most: int, outcome: str):
    """A tenth of the count, unless the list says otherwise."""
    assert asking(f"max_tolerance = {most}")("= 20", tolerance=6).outcome == outcome


def test_a_plain_number_needs_no_pointer(asking: Any):
    """The data of a `message` is the count."""
    assert asking()("= 14", "plain").outcome == "corroborates"


def test_a_stream_that_ends_is_taken_up_again(asking: Any, events: Events):
    """After the server's `retry`, from the last event on."""
    events.lifetime = 0.2
    ask = asking()
    assert ask("= 14").outcome == "corroborates"
    until = time.monotonic() + 60
    while len(events.seen) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert events.seen[1][1].get("Last-Event-ID") == "14"
    events.lifetime = 600.0
    while ask("= 14").outcome != "corroborates":
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_channel_that_falls_silent_is_asked_anew(asking: Any, events: Events, tmp_path: Path):
    """What was heard longer ago than a tenth of W is no present count; the new stream begins with the present."""
    (tmp_path / "policy.toml").write_text('[admissibility.window]\n"substrate.do.sse-count" = "1s"\n')
    events.beat = 60
    ask = asking(policy=str(tmp_path / "policy.toml"))
    assert ask("= 14").outcome == "corroborates"
    events.others = 20
    time.sleep(0.2)
    found = ask("> 20")
    assert (found.outcome, len(events.seen)) == ("corroborates", 2)
    assert "Last-Event-ID" not in events.seen[1][1]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("away", "the channel answers with status 503"),
        ("enough", "the channel asks not to be asked again (status 204)"),
        ("elsewhere", "the channel answers with status 302"),
        ("page", "the channel is no stream of events"),
        ("quiet", "the substrate did not answer in time"),
        ("words", "the channel reports no number of subscribers"),
        ("endless", "the channel sent a line or an event without end"),
        ("flood", "the channel sent more than 400000 bytes in 6 s"),
    ],
)
def test_a_hostile_channel_is_bounded(asking: Any, events: Events, path: str, reason: str):
    """Each is `unavailable` within the look's time, and then left alone."""
    ask = asking(look_timeout=1.0, look_bytes=400_000)
    found = ask("There are 14 subscribers.", path)
    assert (found.outcome, (found.detail or {})["reason"]) == ("unavailable", reason)
    asked = len(events.seen)
    assert ask("There are 14 subscribers.", path).outcome == "unavailable"
    assert len(events.seen) == asked
    assert {name for name, _ in events.seen} == {path}


def test_what_is_not_listed_is_not_asked(asking: Any, events: Events):
    """To the letter, before any other test; such a URL is not repeated: it may hold a password."""
    ask = asking()
    for path in ("other", "presence/", "presence?token=secret", "presence#x"):
        found = ask("It is what it is.", path)
        assert (found.detail or {})["reason"] == "the channel is not on the operator's list"
        assert (found.outcome, found.locator) == ("unavailable", None)
    assert events.seen == []
