"""The hub's task: it ends when it is told to, whatever comes at that moment."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from sluice.topology.http import verdict_streams as hub_module
from sluice.topology.http import verdict_streams as reading_module
from sluice.topology.http.kept_view import Readers
from sluice.topology.http.verdict_streams import Listener, VerdictBroadcaster


async def test_news_that_come_with_the_order_to_end_do_not_keep_it(view):
    """What follows the topics may wake it in the very turn of the loop in which the service is told to stop."""
    readers = Readers(view.view.path)
    hub = VerdictBroadcaster(readers)
    task = asyncio.create_task(hub.run())
    async with asyncio.timeout(60):
        while hub.at < 0:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    for _ in range(3):
        await asyncio.sleep(0)
    hub.wake()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=60)
    readers.close()

    assert done == {task}


async def test_a_listener_that_ends_as_something_comes_ends():
    listener = Listener(lambda _: True)
    task = asyncio.create_task(listener.next_notices(60))
    await asyncio.sleep(0)
    listener.queue.put_nowait(None)
    task.cancel()
    await asyncio.wait({task}, timeout=60)

    assert task.cancelled()


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(hub_module, "POLL_SECONDS", 0.01)
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
                async with asyncio.timeout(60):
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
    await asyncio.wait_for(started.wait(), 60)
    try:
        yield found
    finally:
        gone.set()
        await asyncio.wait_for(task, 60)


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
    view.emit()
    view.judge("em-1", "rejected")
    view.emit(text="It is new.", attempt=1)
    async with service() as client:
        found = (await client.get("/v1/emissions/em-1")).json()

    assert (found["attempt"], found["settled"]) == (1, False)
    assert [(one["attempt"], one["status"]) for one in found["assertions"]] == [(0, "rejected"), (1, "pending")]


@pytest.mark.parametrize("emission_id", ["a/b", "urn:x:1", "100%", "a+b@c"])
async def test_any_identifier_can_be_asked_for(service, view, emission_id):
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


@pytest.mark.parametrize("query", ["status=admited", "effect=cosmic", "status=admitted&status=<script>"])
async def test_a_filter_that_no_verdict_passes_is_told(service, view, query):
    """Serving: a stream that stays silent would say that nothing has happened."""
    async with service() as client:
        wrong = await asyncio.wait_for(client.get(f"/v1/verdicts/events?{query}"), 60)

    assert wrong.status_code == 422
    assert wrong.json()["got"] in query


async def test_who_does_not_keep_up_is_let_go(service, view, monkeypatch):
    """It comes back with its last id; nobody else waits for it."""
    monkeypatch.setattr(hub_module, "QUEUE", 2)
    async with service() as client, client.hub.listening(lambda _: True) as slow:
        for number in range(5):
            view.judge(f"em-{number}", "admitted")
        async with asyncio.timeout(60):
            while not slow.is_gone:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        heard, end = [await slow.next_notices(1) for _ in range(2)]

    assert [one.change.emission_id for one in heard] == ["em-0", "em-1"]
    assert end is None


async def test_a_text_in_a_verdict_reaches_nobody(service, view):
    """Whoever writes to the topic what no lane writes is counted."""
    view.judge("em-1", "admitted", emitter="<script>alert(1)</script>")
    async with service() as client:
        assert (await client.get("/v1/emissions/em-1")).status_code == 404
    assert view.view.refused["verdicts"] == 1


def test_old_records_leave_the_view_and_the_newest_stay(view, fake):
    """Replaced ones after a day, so that a stream can go on; the hub's ids go up all the same."""
    from sluice.topology.http.service_view import last_change, verdicts_of

    view.judge("em-1", "pending", settled=False)
    view.judge("em-1", "admitted")
    fake.advance("25h")

    assert view.view.prune(fake.now) == 1
    db = view.view._db
    assert verdicts_of(db, "em-1")[1]["assertions"][0]["status"] == "admitted"
    view.put("verdicts", "em-1", None)
    assert verdicts_of(db, "em-1") is None
    assert last_change(db) == 2


# ---------------------------------------------------------------- nothing is missed, nothing outlives its right


async def test_a_stream_that_cannot_read_what_was_missed_ends(service, view):
    """It does not go on behind the gap: the client comes back with the id that it has, and is told all of it."""
    from sluice.codecs.errors import UnreachableError

    async with service() as client:
        async with stream(client, "/v1/verdicts/events") as events:
            view.judge("em-1", "admitted")
            first = await events.next()
        view.judge("em-2", "admitted")
        await _heard_by(client, "2.0")
        ask = client.readers.ask

        async def failing(question):
            if "_missed" in question.__qualname__:
                raise UnreachableError("the question took too long")
            return await ask(question)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client.readers, "ask", failing)
            async with stream(client, "/v1/verdicts/events", last_event_id=first["id"]) as events:
                end = await events.next()
        async with stream(client, "/v1/verdicts/events", last_event_id=first["id"]) as events:
            again = await events.next()

    assert end is None
    assert json.loads(again["data"])["emission_id"] == "em-2"


async def _heard_by(client, position):
    async with asyncio.timeout(60):
        while client.hub.position != position:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_what_was_missed_is_found_without_reading_the_rest(view):
    """By the index: a view with a hundred times the records takes no more steps of SQLite's machine."""
    from sluice.topology.http.service_view import changes_from

    def steps(records):
        with view.view._transaction():
            view.view._db.executemany(
                "INSERT INTO verdicts VALUES (NULL, 0, ?, 0, ?, NULL, 1, 1, '')",
                [(number, f"em-{number}") for number in records],
            )
        counted = []
        view.view._db.set_progress_handler(lambda: counted.append(1), 10)
        found = changes_from(view.view._db, [records[-1] - 4, 0], 10**9, 500)
        view.view._db.set_progress_handler(None, 0)
        assert [one.offset for one in found] == list(records[-5:])
        return len(counted)

    few = steps(range(100))
    assert steps(range(100, 10_100)) <= few + 2


def test_a_page_of_what_was_missed_is_bounded_by_bytes(view, monkeypatch):
    """By at least one record: a great one does not stop the stream."""
    from sluice.topology.http import service_view as view_module

    monkeypatch.setattr(view_module, "PAGE_BYTES", 1)
    for number in range(3):
        view.judge(f"em-{number}", "admitted")

    assert [one.offset for one in view_module.changes_from(view.view._db, [1, 0], 10**9, 500)] == [1]


async def test_a_stream_goes_on_over_many_pages_of_each_partition(service, view, monkeypatch):
    """None twice, none left out, wherever it breaks off once more."""
    monkeypatch.setattr(reading_module, "CATCH_UP", 3)
    async with service() as client:
        for number in range(10):
            view.judge(f"em-{number}", "admitted", partition=number % 2)
        await _heard_by(client, "5.5")
        last, got = "0.0", []
        while len(got) < 10:
            async with stream(client, "/v1/verdicts/events", last_event_id=last) as events:
                for _ in range(min(4, 10 - len(got))):
                    found = await events.next()
                    got.append(json.loads(found["data"])["emission_id"])
                    last = found["id"]

    assert sorted(got) == sorted(f"em-{number}" for number in range(10))
    assert last == "5.5"


async def test_a_beat_says_no_more_than_what_was_sent(service, view):
    """Where a record waits, the id of a beat does not stand behind it."""
    async with service() as client, client.hub.listening(lambda _: True) as listener:
        view.judge("em-1", "admitted")
        await _heard_by(client, "1.0")
        assert not listener.queue.empty()


async def test_partitions_that_the_hub_did_not_know_begin_at_their_beginning(service, view):
    """Or a position would stand behind records that nobody was told."""
    async with service() as client:
        client.hub.offsets = []
        view.judge("em-1", "admitted", partition=1)
        await _heard_by(client, "0.1")


@pytest.mark.parametrize("path", ["/v1/verdicts/events", "/v1/emissions/em-1/events"])
async def test_a_stream_ends_with_its_token(service, view, tokens, monkeypatch, path):
    """Revoked, it hears nothing more; whoever comes back is refused."""
    from sluice.topology.http.tokens import revoke

    monkeypatch.setattr(reading_module, "LOOK_SECONDS", 0.02)
    view.judge("em-1", "pending", settled=False)
    text, made = tokens("read")
    bearer = {"authorization": f"Bearer {text}"}
    async with service(tokens=tokens.file) as client:
        async with stream(client, path, **bearer) as events:
            view.judge("em-1", "admitted")
            while "admitted" not in statuses(await events.next()):
                pass
            revoke(tokens.file, made.id)
            end = await events.next()
        refused = await client.get(path, headers=bearer)

    assert end is None
    assert refused.status_code == 401


async def test_a_stream_ends_as_its_token_does(service, view, tokens, monkeypatch):
    import time

    monkeypatch.setattr(reading_module, "LOOK_SECONDS", 0.02)
    text, _ = tokens("read", expires_at=int(time.time() * 1000) + 1500)
    async with (
        service(tokens=tokens.file) as client,
        stream(client, "/v1/verdicts/events", authorization=f"Bearer {text}") as events,
    ):
        number = 0
        async with asyncio.timeout(60):
            while True:
                view.judge(f"em-{number}", "admitted")
                number += 1
                if await events.next() is None:
                    break

    assert number >= 1


async def test_one_principal_has_so_many_streams(service, view, tokens):
    """Another one has its own; one that was closed makes room."""
    from sluice.topology.http.auth_middleware import Quota

    one, other = ({"authorization": f"Bearer {tokens('read')[0]}"} for _ in range(2))
    shares = Quota(10, 1)
    async with service(tokens=tokens.file, streams=shares) as client:
        async with stream(client, "/v1/verdicts/events", **one):
            full = await client.get("/v1/verdicts/events", headers=one)
            async with stream(client, "/v1/verdicts/events", **other) as others:
                pass
        async with stream(client, "/v1/verdicts/events", **one) as again:
            pass

    assert (full.status_code, full.headers["retry-after"]) == (429, "5")
    assert (others.status, again.status, shares.taken) == (200, 200, 0)


async def test_a_listener_is_bounded_by_bytes(service, view, monkeypatch):
    """A few large records are as much as many small ones."""
    monkeypatch.setattr(hub_module, "QUEUE_BYTES", 1000)
    async with service() as client, client.hub.listening(lambda _: True) as slow:
        for number in range(5):
            view.judge(f"em-{number}", *["admitted"] * 5)
        async with asyncio.timeout(60):
            while not slow.is_gone:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        heard = []
        while (some := await slow.next_notices(1)) is not None:
            heard += some

    assert 1 <= len(heard) < 5
    assert slow.byte_count == 0


async def test_what_waits_goes_out_together_and_is_encoded_once(service, view, monkeypatch):
    """A stream that was busy sends all of it in one piece, in order, up to a bound; every stream sends the same
    bytes."""
    monkeypatch.setattr(hub_module, "TOGETHER_BYTES", 400)
    async with (
        service() as client,
        client.hub.listening(lambda _: True) as one,
        client.hub.listening(lambda _: True) as other,
    ):
        for number in range(9):
            view.judge(f"em-{number}", "admitted")
        await _heard_by(client, "9.0")
        pieces = [await one.next_notices(1)]
        while not one.queue.empty():
            pieces.append(await one.next_notices(1))
        same = await other.next_notices(1)

    assert [notice.change.emission_id for piece in pieces for notice in piece] == [f"em-{n}" for n in range(9)]
    assert 1 < len(pieces) < 9
    assert pieces[0][0].event is same[0].event
    assert pieces[0][0].event.startswith(b"id: 1.0\nevent: verdicts\ndata: {")
    assert (one.byte_count, one.queue.qsize()) == (0, 0)


async def test_a_listener_of_one_emission_or_emitter_is_asked_for_no_other(service, view):
    """However many listen, a record is offered to those that it may concern; nothing of them stays behind."""
    asked = []

    def wants(notice):
        asked.append(notice.change.emission_id)
        return True

    async with service() as client:
        async with (
            client.hub.listening(wants, emission_id="em-1"),
            client.hub.listening(wants, emitters=["bot", "other"]),
        ):
            view.judge("em-1", "admitted")
            view.judge("em-2", "admitted", emitter="bot")
            view.judge("em-3", "admitted", emitter="third")
            await _heard_by(client, "3.0")
        left = [client.hub._by_emission, client.hub._by_emitter, client.hub._of_all, client.hub.count]

    assert asked == ["em-1", "em-2"]
    assert left == [{}, {}, set(), 0]


async def test_a_view_that_cannot_be_read_is_told(service, view, monkeypatch):
    """503 and when to come again, no failure of the service."""
    from sluice.codecs.errors import UnreachableError
    from sluice.topology.http.service_view import standing_of

    view.judge("em-1", "admitted")
    async with service() as client:
        ask = client.readers.ask

        async def failing(question):
            if question is standing_of:
                return await ask(question)
            raise UnreachableError("the question took too long")

        monkeypatch.setattr(client.readers, "ask", failing)
        answer = await client.get("/v1/emissions/em-1")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"] == "the question took too long; ask again in a moment"
