"""What programs read: the verdicts of an emission, and streams that go on where they broke off."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from sluice.topology.serve import hub as hub_module
from sluice.topology.serve import reading as reading_module


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(hub_module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(reading_module, "BEAT_SECONDS", 0.05)


class Stream:
    """The events of an answer that does not end."""

    def __init__(self, chunks):
        self._chunks, self._rest = chunks, b""
        self.status, self.headers, self.beats = 0, {}, []

    async def next(self):
        """The next event as a mapping of its fields; None at the end."""
        while True:
            while b"\n\n" not in self._rest:
                async with asyncio.timeout(5):
                    chunk = await self._chunks.get()
                if chunk is None:
                    return None
                self._rest += chunk
            block, _, self._rest = self._rest.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if not line.startswith(":"))
            if "data" in fields:
                return fields
            self.beats.append(fields.get("id"))


@asynccontextmanager
async def stream(client, path, **headers):
    """Asks for a stream, as a client that reads while it comes; leaves it at the end."""
    chunks, gone = asyncio.Queue(), asyncio.Event()
    found = Stream(chunks)
    path, _, query = path.partition("?")
    started = asyncio.Event()
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if message["type"] == "http.response.start":
            found.status = message["status"]
            found.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            started.set()
        else:
            chunks.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                chunks.put_nowait(None)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), *((k.replace("_", "-").encode(), v.encode()) for k, v in headers.items())],
        "client": ("127.0.0.1", 1),
        "root_path": "",
        "scheme": "http",
        "server": ("localhost", 80),
        "http_version": "1.1",
    }
    task = asyncio.create_task(client.gate(scope, receive, send))
    await asyncio.wait_for(started.wait(), 5)
    try:
        yield found
    finally:
        gone.set()
        await asyncio.wait_for(task, 5)


def statuses(fields):
    return [one["status"] for one in json.loads(fields["data"])["assertions"]]


# ---------------------------------------------------------------- one emission


async def test_an_emission_is_pending_until_something_is_said_of_it(service, view):
    """Each of its assertions by its span, before there is any record of verdicts."""
    view.emit()
    async with service() as client:
        pending = (await client.get("/v1/emissions/em-1")).json()
        view.judge("em-1", "admitted", "rejected", decided_at="2026-01-01T00:00:00Z")
        decided = (await client.get("/v1/emissions/em-1")).json()
        unknown = await client.get("/v1/emissions/em-2")

    assert [(one["span_key"], one["status"]) for one in pending["assertions"]] == [
        ("c:0-10", "pending"),
        ("c:11-21", "pending"),
    ]
    assert not pending["settled"]
    assert [one["status"] for one in decided["assertions"]] == ["admitted", "rejected"]
    assert unknown.status_code == 404


async def test_a_newer_attempt_is_pending_beside_what_was_decided(service, view):
    """The record is of the earlier one."""
    view.emit()
    view.judge("em-1", "rejected")
    view.emit(text="It is new.", attempt=1)
    async with service() as client:
        found = (await client.get("/v1/emissions/em-1")).json()

    assert (found["attempt"], found["settled"]) == (1, False)
    assert [(one["attempt"], one["status"]) for one in found["assertions"]] == [(0, "rejected"), (1, "pending")]


@pytest.mark.parametrize("emission_id", ["a/b", "urn:x:1", "100%", "a+b@c"])
async def test_any_identifier_can_be_asked_for(service, view, emission_id):
    """Slashes and all."""
    from urllib.parse import quote

    view.judge(emission_id, "admitted")
    async with service() as client:
        found = await client.get("/v1/emissions/" + quote(emission_id, safe="/"))

    assert found.json()["emission_id"] == emission_id


async def test_nothing_is_answered_from_a_view_that_is_behind(service, view, fake):
    """It would call unknown what it has not read yet."""
    fake.advance("2m")
    async with service() as client:
        answers = [await client.get(path) for path in ("/v1/emissions/em-1", "/v1/verdicts/events")]

    assert [one.status_code for one in answers] == [503, 503]
    assert answers[0].headers["retry-after"] == "2"


async def test_reading_needs_its_scope(service, tokens):
    """One that emits may not read what others emitted."""
    emit, _ = tokens("emit")
    async with service(tokens=tokens.file) as client:
        for path in ("/v1/emissions/em-1", "/v1/emissions/em-1/events", "/v1/verdicts/events"):
            answer = await client.get(path, headers={"authorization": f"Bearer {emit}"})
            assert (answer.status_code, answer.json()["error"]) == (403, "this token does not have the scope read")


# ---------------------------------------------------------------- streams


async def test_a_stream_of_an_emission_tells_what_is_and_what_comes(service, view):
    """First the newest record, then each further one; others are none of its business."""
    view.emit()
    view.judge("em-1", "pending", settled=False)
    async with service() as client, stream(client, "/v1/emissions/em-1/events") as events:
        first = await events.next()
        view.judge("em-2", "admitted")
        view.judge("em-1", "admitted")
        second = await events.next()

    assert events.headers["content-type"].startswith("text/event-stream")
    assert (statuses(first), statuses(second)) == (["pending"], ["admitted"])
    assert (first["id"], second["id"]) == ("0", "2")


async def test_a_stream_of_an_emission_goes_on_behind_the_last_event(service, view):
    """What the client has is not told again."""
    view.judge("em-1", "pending", settled=False)
    async with service() as client, stream(client, "/v1/emissions/em-1/events", last_event_id="0") as events:
        view.judge("em-1", "admitted")
        only = await events.next()

    assert statuses(only) == ["admitted"]


async def test_the_ai_sdk_gets_data_parts_until_it_is_settled(service, view):
    """A part for each assertion, the end of the message, and the mark of the end."""
    view.judge("em-1", "pending", settled=False)
    async with service() as client, stream(client, "/v1/emissions/em-1/events?format=ai-sdk") as events:
        parts = [await events.next() for _ in range(3)]
        view.judge("em-1", "admitted")
        parts += [await events.next() for _ in range(4)]
        end = await events.next()

    data = [one["data"] if one["data"] == "[DONE]" else json.loads(one["data"]) for one in parts]
    assert events.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert [one if isinstance(one, str) else one["type"] for one in data] == [
        *("start", "data-verdict", "data-pending", "data-verdict", "data-settled", "finish", "[DONE]"),
    ]
    assert data[1]["id"] == data[3]["id"] == "em-1#c:0-10"
    assert end is None


async def test_all_verdicts_go_on_where_they_broke_off(service, view):
    """By the id of the last event, whichever replica is asked: it says where each partition was."""
    async with service() as client:
        async with stream(client, "/v1/verdicts/events") as events:
            view.judge("em-1", "admitted")
            view.judge("em-2", "admitted", partition=1)
            first, second = await events.next(), await events.next()
        view.judge("em-3", "rejected")
        view.judge("em-4", "rejected", partition=1)
        async with stream(client, "/v1/verdicts/events", last_event_id=first["id"]) as events:
            missed = [json.loads((await events.next())["data"])["emission_id"] for _ in range(3)]
            view.judge("em-5", "admitted")
            last = await events.next()

    assert (first["id"], second["id"]) == ("1.0", "1.1")
    assert missed == ["em-2", "em-3", "em-4"]
    assert last["id"] == "3.2"


async def test_a_stream_without_a_known_position_begins_now(service, view):
    """An id of other topics is none."""
    view.judge("em-1", "admitted")
    async with service() as client, stream(client, "/v1/verdicts/events", last_event_id="1.2.3") as events:
        view.judge("em-2", "admitted")
        first = await events.next()

    assert json.loads(first["data"])["emission_id"] == "em-2"


async def test_filters_choose_and_the_position_moves_on(service, view):
    """A beat carries the id past what was filtered out, so that nothing is read twice."""
    async with service() as client:
        async with stream(client, "/v1/verdicts/events?emitter=bot&status=rejected") as events:
            view.judge("em-1", "rejected", emitter="bot")
            view.judge("em-2", "admitted", emitter="bot")
            view.judge("em-3", "rejected", emitter="other")
            one = await events.next()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(events.next(), 0.3)
        wrong = await client.get("/v1/verdicts/events?emiter=bot")

    assert json.loads(one["data"])["emission_id"] == "em-1"
    assert events.beats[-1] == "3.0"
    assert wrong.status_code == 422


async def test_who_does_not_keep_up_is_let_go(service, view, monkeypatch):
    """It comes back with its last id; nobody else waits for it."""
    monkeypatch.setattr(hub_module, "QUEUE", 2)
    async with service() as client, client.hub.listening(lambda _: True) as slow:
        for number in range(5):
            view.judge(f"em-{number}", "admitted")
        async with asyncio.timeout(5):
            while not slow.is_gone:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        heard = [await slow.heard(1) for _ in range(3)]

    assert [one and one.change.emission_id for one in heard] == ["em-0", "em-1", None]


async def test_a_text_in_a_verdict_reaches_nobody(service, view):
    """Whoever writes to the topic what no lane writes is counted."""
    view.judge("em-1", "admitted", emitter="<script>alert(1)</script>")
    async with service() as client:
        assert (await client.get("/v1/emissions/em-1")).status_code == 404
    assert view.view.refused["verdicts"] == 1


def test_old_records_leave_the_view_and_the_newest_stay(view, fake):
    """Replaced ones after a day, so that a stream can go on; the hub's ids go up all the same."""
    from sluice.topology.serve.view import last_change, verdicts_of

    view.judge("em-1", "pending", settled=False)
    view.judge("em-1", "admitted")
    fake.advance("25h")

    assert view.view.prune(fake.now) == 1
    db = view.view._db
    assert verdicts_of(db, "em-1")[1]["assertions"][0]["status"] == "admitted"
    view.put("verdicts", "em-1", None)
    assert verdicts_of(db, "em-1") is None
    assert last_change(db) == 2
