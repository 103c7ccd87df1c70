"""The console's pages: what they show, and that nothing that strangers wrote does anything there."""

import re
import time

import pytest

EVIL = "<script>alert(1)</script>\u202e<img src=x onerror=alert(2)>"
ORIGIN = {"origin": "http://localhost"}


@pytest.mark.parametrize(
    "path", ["/", "/queue", "/insight", "/look-up", "/look-up?q=em", "/emissions/em-1", "/sign-in"]
)
async def test_every_page_is_whole_with_and_without_anything(service, view, path):
    """A language, a title, one heading of the first rank, labels; no script but our own file, no style in line."""
    async with service() as client:
        empty = await client.get(path)
        view.emit(emitter={"system": "bot"})
        view.ask()
        view.judge("em-1", "admitted", "rejected", emitter="bot")
        full = await client.get(path)

    assert (empty.status_code, full.status_code) == (404 if "emissions" in path else 200, 200)
    for page in (empty.text, full.text):
        assert '<html lang="en">' in page
        assert page.count("<h1") == 1
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/console.js" defer>']
        assert not re.search(r"<style|style=|\son[a-z]+=|https?://", page)


async def test_text_of_strangers_is_inert_everywhere(service, view):
    """In an assertion, a request, an observer's answer, a review."""
    view.emit(text=f"It is out.{EVIL}", assertions=[{"span": {"chars": [0, 10]}, "provenance": []}])
    key = view.ask(text=EVIL)
    view.put(
        "observations",
        "em-1",
        {
            "observation_id": "sha256:00",
            "substrate_class": "substrate.grep",
            "observed_at": 0,
            "observer": "observer-1",
            "subject": {"emission_id": "em-1", "span": {"chars": [0, 10]}},
            "outcome": "absent",
            "detail": {"found": [], "missing": [EVIL]},
        },
    )
    view.put(
        "reviews",
        "em-1",
        {"emission_id": "em-1", "span": {"chars": [0, 10]}, "decision": "refuse", "reviewer": "r", "reason": EVIL},
    )
    view.judge("em-1", "below-floor")
    paths = ["/", "/queue", f"/queue/item?key={key.replace('#', '%23')}", "/emissions/em-1?span=c:0-10"]
    async with service() as client:
        pages = [(await client.get(path)).text for path in paths]
        asked = (await client.get("/look-up", params={"q": EVIL})).text

    for page in (*pages, asked):
        assert "<script>alert" not in page
        assert "<img" not in page
    assert all("U+202E" in page for page in pages[2:])
    assert pages[3].count("&lt;script&gt;") >= 3


async def test_an_emission_shows_its_text_by_status_and_what_was_seen(service, view):
    """Each sentence leads to what was claimed against what was seen."""
    view.emit(text="It is out. [substrate.grep; observation-id=sha256:00] It is old.", emitter={"system": "bot"})
    view.judge("em-1", "admitted", "rejected")
    async with service() as client:
        page = (await client.get("/emissions/em-1?span=c:0-10")).text
        href = (await client.get("/look-up?q=em-1%23c:0-10")).text

    assert re.search(r'class="mark s-admitted" href="/emissions/em-1\?span=c%3A0-10#chosen" aria-current="true"', page)
    assert re.search(r'class="mark s-rejected"', page)
    assert "sha256:00" in page
    assert 'href="/emissions/em-1?span=c%3A0-10"' in href


async def test_live_is_filtered(service, view):
    """By emitter and status; the stream of events is asked for the same."""
    view.judge("em-1", "admitted", emitter="bot")
    view.judge("em-2", "rejected", emitter="bot")
    async with service() as client:
        page = (await client.get("/?emitter=bot&status=rejected")).text

    assert "em-2" in page
    assert ">em-1<" not in page
    assert 'data-events="/v1/verdicts/events?emitter=bot&amp;status=rejected"' in page


async def test_insight_counts(service, view, fake):
    """Shares with a plot and a table each."""
    view.emit()
    fake.advance("3s")
    view.judge("em-1", "admitted", "rejected", emitter="bot")
    async with service() as client:
        page = (await client.get("/insight")).text

    assert "<svg" in page
    assert "50%" in page
    assert ">3.0<" in page


async def test_a_proof_that_is_none_does_not_hold(service, view):
    """Whatever the file is; without a key that is known nothing holds."""
    async with service() as client:
        answer = await client.post("/look-up", files={"proof": ("p.json", b"{}")}, headers=ORIGIN)

    assert answer.status_code == 200
    assert "--verifier" in answer.text


async def test_a_sign_in_with_a_wrong_token_is_none(service, tokens):
    """And a token without the scope sees a page that says so."""
    emit, _ = tokens("emit")
    async with service(tokens=tokens.file) as client:
        wrong = await client.post("/sign-in", data={"token": "slm_x"}, headers=ORIGIN)
        forged = await client.post("/sign-in", data={"token": emit}, headers={"origin": "https://evil.example"})
        await client.post("/sign-in", data={"token": emit}, headers=ORIGIN)
        page = await client.get("/")
        out = await client.post("/sign-out", headers=ORIGIN)
        gone = await client.get("/")

    assert (wrong.status_code, forged.status_code, page.status_code) == (403, 403, 403)
    assert "This needs the scope read." in page.text
    assert out.status_code == gone.status_code == 303


async def test_the_cookie_is_for_the_browser_alone(service, tokens):
    """No script reads it, no foreign page sends it."""
    read, _ = tokens("read")
    async with service(tokens=tokens.file) as client:
        answer = await client.post("/sign-in", data={"token": read}, headers=ORIGIN)

    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


async def test_ten_thousand_open_requests_are_listed_by_an_index(service, view):
    """The first page asks for as many as it shows; how many there are is counted."""
    import msgspec

    from sluice.topology.mcp.kept_view import Arrived, Batch

    records = []
    for number in range(10_000):
        value = {
            "emission_id": f"em-{number}",
            "span": {"chars": [0, 10]},
            "status": "below-floor",
            "reason": "too-few-classes",
            "revision": 1,
            "_untrusted_text": {"assertion": f"It is {number}."},
        }
        key = f"em-{number}#c:0-10".encode()
        records.append(Arrived(number, key, msgspec.json.encode(value), view._now()))
    view.view.take({("review-requests", 0): Batch(records, 10_000)})
    async with service() as client:
        began = time.perf_counter()
        page = (await client.get("/queue")).text
        print(f"first page of 10,000 open requests: {time.perf_counter() - began:.3f} s")

    assert "10000 open, the first 50 shown" in page
    assert page.count('class="card"') == 50


async def test_a_request_that_lacks_members_is_shown_all_the_same(service, view):
    """Whoever may write to the topic breaks no page."""
    value = {"emission_id": "em-1", "span": {"chars": [0, 10]}, "status": "below-floor", "_untrusted_text": 7}
    view.put("review-requests", "em-1#c:0-10", value)
    view.put("inadmissible", "em-1#c:0-10", value)
    view.emit()
    async with service() as client:
        pages = [
            await client.get(path)
            for path in ("/queue", "/queue/item?key=em-1%23c:0-10", "/emissions/em-1?span=c:0-10")
        ]

    assert [page.status_code for page in pages] == [200, 200, 200]


def reviewing(**frame):
    """What a request carries for reviewers, in its frame."""
    return {"_untrusted_text": {"@type": "veritas:UntrustedValidatorText", **frame}}


async def test_the_page_of_a_request_shows_what_the_request_carries(service, view):
    """Checks with who verified and who refuted them, what did not count and why, the text around; all of it inert."""
    view.ask(
        checks=[{"name": "equals", "classes": 1, "number": 0, "k": 2, "verified": ["substrate.grep"], "refuted": []}],
        not_counted=[
            {
                "substrate_class": "substrate.git.log",
                "outcome": "corroborates",
                "observed_at": "2026-11-21T09:00:00Z",
                "observer": "observer-9",
                "why": "writable-by-emitter",
            }
        ],
        reviewing=reviewing(before="Before " + EVIL, after="behind", asked=[{"number": 0, "check": "equals(A, 1)"}]),
    )
    async with service() as client:
        page = (await client.get("/queue/item?key=em-1%23c:0-10")).text

    for said in ("equals(A, 1)", "substrate.grep", "observer-9", "writable-by-emitter", "Before ", "behind"):
        assert said in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("wrong", [7, "x", [7, None], [{"number": []}], {"_untrusted_text": [1]}])
async def test_what_a_request_carries_in_another_form_breaks_no_page(service, view, wrong):
    """Whoever may write to the topic may write anything there."""
    view.ask(checks=wrong, not_counted=wrong, reviewing=wrong)
    async with service() as client:
        page = await client.get("/queue/item?key=em-1%23c:0-10")

    assert page.status_code == 200


async def test_the_deadline_of_a_request_counts(service, view):
    """What it says itself goes before the window of the policy in force, since that may have changed."""
    view.ask(deadline="2020-01-01T00:00:00Z")
    async with service() as client:
        queue = (await client.get("/queue")).text
        page = (await client.get("/queue/item?key=em-1%23c:0-10")).text

    assert "em-1" not in queue
    assert "2020-01-01T00:00:00Z" in page
    assert "not open any more" in page


async def test_without_verdicts_the_output_topics_tell(service, view, fake):
    """Where nobody writes `verdicts`, pages and programs see what `admitted` and `inadmissible` say."""
    view.emit(emitter={"system": "bot"})
    fake.advance("3s")
    word = {"emission_id": "em-1", "span": {"chars": [0, 10]}, "status": "admitted", "revision": 1, "attempt": 0}
    view.put("admitted", "em-1#c:0-10", word)
    async with service() as client:
        status = (await client.get("/v1/emissions/em-1")).json()
        live = (await client.get("/?emitter=bot")).text
        insight = (await client.get("/insight")).text

    assert [(one["span_key"], one["status"]) for one in status["assertions"]] == [
        ("c:0-10", "admitted"),
        ("c:11-21", "pending"),
    ]
    assert not status["settled"]
    assert "em-1" in live
    assert "100%" in insight
