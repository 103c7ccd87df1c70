"""What a hostile client, page, emitter or writer of a topic would try at the service's edges."""

import asyncio
import re
from contextlib import asynccontextmanager
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
import uvicorn

from sluice.topology.http.console import Console, console
from sluice.topology.http.http_server import connections_of
from sluice.topology.http.kept_view import Arrived, Batch
from sluice.topology.http.service_view import event

ORIGIN = {"origin": "http://localhost"}
POSTS = (
    "/queue/claim",
    "/queue/release",
    "/queue/decide",
    "/queue/undo",
    "/queue/bulk",
    "/look-up",
    "/sign-in",
    "/sign-out",
    "/v1/emissions",
    "/v1/attestations",
    "/v1/observations",
    "/v1/reviews",
)
PRIVATE = (
    "/",
    "/queue",
    "/queue/item?key=em-1%23c:0-10",
    "/queue/bulk",
    "/insight",
    "/look-up?q=em-1",
    "/emissions/em-1",
)
FIELD = b"--b\r\ncontent-disposition: form-data; name="
SPLIT = "em-1\r\nset-cookie: taken=1\r\n\r\n<script>"


# ---------------------------------------------------------------- headers


async def test_no_id_writes_a_header(service, view):
    """Line ends in an id of a form or a path stay in the one header that they go to, or in the page."""
    async with service() as client:
        view.ask()
        answers = [
            await client.post("/queue/claim", data={"key": SPLIT}, headers=ORIGIN),
            await client.post("/queue/release", data={"key": SPLIT}, headers=ORIGIN),
            await client.get("/emissions/em-1%0d%0aset-cookie:%20taken=1"),
            await client.get("/v1/emissions/em-1%0d%0aset-cookie:%20taken=1"),
            await client.get("/look-up", params={"q": SPLIT}),
            await client.get("/queue/item", params={"key": SPLIT}),
        ]

    for answer in answers:
        assert "set-cookie" not in answer.headers
        assert all("\r" not in value and "\n" not in value for value in answer.headers.values())
        assert "<script>" not in answer.text


@pytest.mark.parametrize("white", ["\n", "\r\n", "\r", "\n\n"])
async def test_white_space_in_a_record_ends_no_event(service, view, white):
    """A record on `verdicts` may be spread over lines; an event has one, or its client would read half of it."""
    record = '{"emission_id": "em-1",' + white + '"settled": true,' + white + '"assertions": []}'
    view.emit()
    view.put("verdicts", "em-1", record.encode())
    async with service() as client:
        stored = await client.readers.ask(lambda db: db.execute("SELECT record FROM verdicts").fetchone()[0])

    assert re.fullmatch(rb"id: 1\nevent: verdicts\ndata: [^\r\n]*\n\n", event("verdicts", stored, "1"))


DECISION = {"emission_id": "em-1", "span": {"chars": [0, 10]}, "status": "admitted"}
LEASE = b'{"emission_id":"em-1","span_key":"c:0-10","holder":"a"}'
NESTED = b'{"emission_id":"em-1","span_key":"c:0-10","holder":"a","x":' + b"[" * 100_000


@pytest.mark.parametrize("topic", ["admitted", "inadmissible", "review-requests"])
@pytest.mark.parametrize("member", ["attempt", "revision"])
def test_a_number_that_no_column_takes_ends_no_view(view, topic, member):
    """The record would come again at every start, and nothing behind it could be shown any more."""
    view.put(topic, "em-1#c:0-10", DECISION | {member: 2**63})
    view.put(topic, "em-1#c:0-10", DECISION)

    assert view.view.refused == {topic: 1}
    assert view.view.positions()[topic, 0] == 2


def test_a_word_on_a_lease_ends_no_view(view):
    """Neither what is nested without end, nor a lease of a time that no clock has."""
    view.put("review-leases", "em-1#c:0-10", NESTED)
    view.view.take({("review-leases", 1): Batch([Arrived(0, b"em-1#c:0-10", LEASE, 2**63 - 1)], 1)})
    view.lease("em-1#c:0-10", "holder-1")

    assert view.view.refused == {"review-leases": 2}
    assert view.view._db.execute("SELECT holder FROM leases").fetchall() == [("holder-1",)]


# ---------------------------------------------------------------- paths


async def test_no_path_is_sent_on_to_another(service):
    """A redirect to the path with or without a slash would name the scheme that we are reached by: behind a proxy that
    ends TLS a client would send its token again in clear."""
    async with service() as client:
        answers = [
            await client.post("/v1/emissions/", json={}),
            await client.get("/queue/"),
            await client.get("/insight/"),
            await client.get("/v1/verdicts/events/"),
        ]

    assert {answer.status_code for answer in answers} == {404, 405}
    assert not any("location" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    "path",
    [
        "//v1/emissions/em-1",
        "/v1//emissions/em-1",
        "/V1/emissions/em-1",
        "/%76%31/../v1/emissions/em-1",
        "/static/..%2fv1/emissions/em-1",
        "/static/%2e%2e/sign-in.html",
        "/static/..%5cconsole.css",
        "/static/layout.html",
        "/static/console.css.",
        "/static//console.css",
        "/sign-in/../queue",
        "/healthz/../v1/emissions/em-1",
        "/queue%2f",
    ],
)
async def test_a_path_that_is_written_otherwise_opens_nothing(service, view, tokens, path):
    """Whoever is not known sees nothing by it: a refusal, or the sign-in."""
    view.emit("em-1", "A secret.")
    tokens("read")
    async with service(tokens=tokens.file) as client:
        answer = await asked_as(client.gate, path)

    assert answer.status in (303, 401, 404)
    assert b"secret" not in answer.body


@pytest.mark.parametrize("emission_id", ["em/1", "em/1/events", "events", "em-1/events", "..", ".", "a/../b"])
async def test_an_id_with_slashes_is_that_emission(service, view, emission_id):
    """An emitter chooses the id: `em-1/events`, percent-encoded, is not the stream of `em-1`, and `..` is no folder."""
    view.emit(emission_id, emitter={"system": "bot"})
    view.emit("em-1", "Another.")
    async with service() as client:
        found = await asked_as(client.gate, "/v1/emissions/" + encoded(emission_id))
        page = await asked_as(client.gate, "/emissions/" + encoded(emission_id))
        live = (await client.get("/look-up", params={"q": emission_id})).text

    assert f'"emission_id":"{emission_id}"'.encode() in found.body
    assert page.status == 200
    (href,) = set(re.findall(r'href="(/emissions/[^"]*)"', live)) - {"/emissions/em-1"}
    assert not re.search(r"/\.\.?(?:/|\?|$)", href)  # a browser would take it for the folder above


# ---------------------------------------------------------------- caches, methods


async def test_nothing_behind_the_sign_in_is_kept_by_a_cache(service, view, tokens):
    """Neither a page, nor what a stranger or a wrong scope is told in its place."""
    view.emit()
    view.ask()
    view.judge("em-1", "admitted")
    review, _ = tokens("read", "review")
    emit, _ = tokens("emit")
    async with service(tokens=tokens.file) as client:
        answers = [
            await client.get(path, headers=headers)
            for path in (*PRIVATE, "/v1/emissions/em-1", "/sign-in", "/nothing")
            for headers in ({}, *({"authorization": f"Bearer {token}"} for token in (review, emit)))
        ]

    assert {answer.status_code for answer in answers} == {200, 303, 401, 403, 404}
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}


async def test_other_methods_do_nothing(service, view):
    """And open nothing to other origins; TRACE echoes nothing."""
    async with service() as client:
        answers = [
            await asked_as(client.gate, path, method=method, headers={"x-secret": "told", **ORIGIN})
            for method in ("OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "CONNECT", "TRACK", "get")
            for path in ("/", "/queue/decide", "/v1/emissions", "/v1/emissions/em-1", "/v1/verdicts/events")
        ]

    for answer in answers:
        assert answer.status == 405
        assert b"told" not in answer.body
        assert not any(name.startswith("access-control-") for name in answer.headers)


@pytest.mark.parametrize(
    "path", ["/v1/verdicts/events", "/v1/emissions/em-1/events", "/v1/emissions/em-1/events?format=ai-sdk"]
)
async def test_a_head_of_a_stream_ends(service, view, path):
    """It has no body, so it must not hold a place among the streams for ever."""
    view.emit()
    async with service() as client:
        answer = await asked_as(client.gate, path, method="HEAD")
        listening = client.hub.count

    assert (answer.status, answer.body, listening) == (200, b"", 0)
    assert answer.headers["content-type"].startswith("text/event-stream")


# ---------------------------------------------------------------- forged requests, cookies


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_no_foreign_page_posts_anything(service, view, fake, headers):
    """Also where nobody has to sign in: every page in a browser on this machine reaches loopback."""
    key = view.ask()
    async with service() as client:
        answers = {path: await client.post(path, data={"key": key, "id": "x"}, headers=headers) for path in POSTS}
        waiting = client.outbox.of("local")

    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(POSTS, 403)
    assert not waiting
    assert not fake.records("reviews")


def test_every_form_is_among_those_that_are_tried():
    """A route that changes something is in `POSTS`, or these tests would pass it by."""
    desk = SimpleNamespace(sight=SimpleNamespace(meter=None))
    named = {route.path for route in console(Console(desk, None, None)) if "POST" in route.methods}

    assert named == {path for path in POSTS if not path.startswith("/v1/")}


@pytest.mark.parametrize("doubled", ["authorization", "origin"])
@pytest.mark.parametrize("good_first", [True, False])
async def test_a_header_that_comes_twice_opens_nothing(service, tokens, doubled, good_first):
    """A proxy in front may have looked at the other one."""
    token, _ = tokens("read")
    headers = {"authorization": f"Bearer {token}", "origin": "http://localhost"}
    other = {"authorization": b"Bearer other", "origin": b"https://evil.example"}[doubled]
    pair = [(doubled.encode(), headers.pop(doubled).encode()), (doubled.encode(), other)]
    pairs = [
        *((name.encode(), value.encode()) for name, value in headers.items()),
        *(pair if good_first else pair[::-1]),
    ]
    async with service(tokens=tokens.file) as client, over_sockets(client.gate) as port:
        head = b"".join(name + b": " + value + b"\r\n" for name, value in pairs)
        answer = await sent(port, b"GET /v1/emissions/em-1 HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n")

    assert answer.split()[1] == {"authorization": b"401", "origin": b"403"}[doubled]


async def test_a_cookie_alone_posts_nothing(service, view, tokens):
    """A request with a session's cookie that does not say which page sent it is of no page of ours."""
    review, _ = tokens("read", "review")
    async with service(tokens=tokens.file) as client:
        await client.post("/sign-in", data={"token": review}, headers=ORIGIN)
        answers = [await client.post(path, data={"key": "em-1#c:0-10"}) for path in POSTS]
        still = await client.get("/queue")

    assert {answer.status_code for answer in answers} == {403}
    assert still.status_code == 200


@pytest.mark.parametrize("origins", [(), ("https://sluice.example",)])
async def test_cookies_are_as_tight_as_the_way_allows(service, tokens, origins):
    """For this host alone, sent by our pages alone, read by no script; over TLS alone where there is TLS."""
    read, _ = tokens("read")
    async with service(tokens=tokens.file, allowed_origins=origins) as client:
        answers = [
            await client.post("/sign-in", data={"token": read}, headers=ORIGIN),
            await client.post("/sign-out", headers=ORIGIN),
        ]

    for answer in answers:
        cookie = answer.headers["set-cookie"]
        flags = {one.strip().lower().partition("=")[0] for one in cookie.split(";")[1:]}
        assert {"httponly", "samesite", "path"} <= flags
        assert "samesite=strict" in cookie.lower()
        assert "domain" not in flags
        assert ("secure" in flags) == bool(origins) == cookie.startswith("__Host-")


@pytest.mark.parametrize("place", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
async def test_the_sign_in_leads_nowhere_else(service, tokens, place):
    """Whatever a link to it names as the place to go on at."""
    read, _ = tokens("read")
    query = dict.fromkeys(("next", "return_to", "redirect", "url"), place)
    async with service(tokens=tokens.file) as client:
        page = await client.get("/sign-in", params=query)
        answer = await client.post("/sign-in", params=query, data={"token": read, **query}, headers=ORIGIN)
        sent = await client.get("/queue", params=query, headers={"cookie": ""})

    assert "evil" not in page.text
    assert "alert" not in page.text
    assert answer.headers["location"] == "/"
    assert sent.headers["location"] == "/sign-in"


# ---------------------------------------------------------------- size and time, over real sockets


@pytest.mark.parametrize(
    "head",
    [
        b"GET /look-up?q=" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"x: a\r\n" * 50_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncookie: " + b"sluice-session=a; " * 10_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\n\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost:80\r\n\r\n",
        b"GET \xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, identity\r\n\r\nabc",
        b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n",
        b"POST /sign-in HTTP/1.1\r\nhost : localhost\r\n\r\n",
        b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
        b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\x00c\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_a_head_that_is_too_large_or_malformed_is_refused(service, head):
    """Before any route, or by closing on whoever still writes; the next one is answered as before."""
    async with service() as client, over_sockets(client.gate) as port:
        assert (await sent(port, head)).split()[1:2] in ([b"400"], [b"431"], [])
        assert (await sent(port, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")).split()[1:2] == [b"200"]


async def test_a_long_query_is_cut_and_a_long_filter_is_refused(service, view):
    """What a page takes from its address is bounded; a filter of a thousand values is told so."""
    long = "a" * 3_000
    query = dict.fromkeys(("q", "key", "emitter", "status", "effect", "reason", "span"), long)
    async with service() as client:
        pages = [
            await client.get(path, params=query) for path in ("/", "/queue", "/queue/bulk", "/look-up", "/queue/item")
        ]
        events = await client.get("/v1/verdicts/events", params=[("emitter", str(number)) for number in range(1000)])

    assert all(page.status_code in (200, 404) and long not in page.text for page in pages)
    assert events.status_code == 422


async def test_a_body_that_comes_slowly_is_told_and_let_go(service, monkeypatch):
    """After its seconds, whatever its length says; its room is free again."""
    monkeypatch.setattr("sluice.topology.http.auth_middleware.BODY_SECONDS", 0.2)
    head = b"POST /v1/emissions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n{"
    async with service() as client, over_sockets(client.gate) as port:
        assert (await sent(port, head)).split()[1:2] == [b"408"]
        assert client.gate._bodies.taken == 0


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=" + "b" * 300, b"--b"),
        ("multipart/form-data; boundary=b", FIELD + b'"key"\r\n\r\n' + b"a" * 2_000_000),
        ("multipart/form-data; boundary=b; charset=nothing", FIELD + b'"key"\r\n\r\na\r\n--b--'),
        ("multipart/form-data; boundary=b", (FIELD + b'"p"; filename="../../x"\r\n\r\na\r\n') * 30 + b"--b--"),
        ("application/x-www-form-urlencoded", b"&".join(b"key=%ff%00" for _ in range(5000))),
        ("text/plain", b"key=em-1"),
    ],
)
async def test_a_form_that_is_none_fails_nothing(service, view, kind, body):
    """It is told with a status of its own; never by a failure of the service."""
    view.ask()
    async with service() as client:
        answers = [
            await client.post(path, content=body, headers={"content-type": kind, **ORIGIN})
            for path in ("/queue/claim", "/queue/decide", "/queue/bulk", "/look-up", "/sign-in")
        ]

    assert all(200 <= answer.status_code < 500 for answer in answers)


# ---------------------------------------------------------------- asking as no client would


class Answered:
    """An answer, as ASGI has it."""

    def __init__(self):
        self.status, self.headers, self.body = 0, {}, b""


def encoded(text):
    """A path segment with everything encoded that can be."""
    return "".join(one if one.isalnum() or one == "-" else f"%{ord(one):02x}" for one in text)


async def asked_as(gate, path, method="GET", headers=None):
    """Sends a request whose path no client normalises."""
    found, asked = Answered(), [{"type": "http.request", "body": b"", "more_body": False}]
    path, _, query = path.partition("?")

    async def receive():
        if not asked:
            await asyncio.Event().wait()
        return asked.pop()

    async def send(message):
        if message["type"] == "http.response.start":
            found.status = message["status"]
            found.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            found.body += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 5),
        "headers": [(b"host", b"localhost"), *((a.encode(), b.encode()) for a, b in (headers or {}).items())],
    }
    async with asyncio.timeout(60):
        await gate(scope, receive, send)
    return found


@asynccontextmanager
async def over_sockets(gate):
    """The gate behind the server that the service runs in; gives its port."""
    config = uvicorn.Config(
        gate,
        port=0,
        http=connections_of(100, 100),
        ws="none",
        lifespan="off",
        log_config=None,
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        for connection in list(server.server_state.connections):
            connection.drop()
        for task in list(server.server_state.tasks):
            task.cancel()
        for one in server.servers:
            one.close()


async def sent(port, data):
    """The first line of the answer to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        async with asyncio.timeout(60):
            return await reader.readline()
    except ConnectionError:
        return b""
    finally:
        writer.close()
