"""The console's pages: what they show, and that nothing that strangers wrote does anything there."""

import asyncio
import json
import os
import re
import time

import msgspec
import pytest
from adapter_view import attested, claim

from sluice.codecs.canonical import assertion_hash
from sluice.codecs.errors import UnreachableError
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer
from sluice.topology.audit.explanation import Explanation
from sluice.topology.http import ledger_jobs
from sluice.topology.http.console_pages import audit_says, lane_rows
from sluice.topology.http.ledger_jobs import LaneTip, LaneTips
from sluice.topology.http.queries import LaneStanding
from sluice.topology.settings.settings import Settings

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
    assert pages[3].count("&lt;script&gt;") >= 2


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
    view.emit()
    fake.advance("3s")
    view.judge("em-1", "admitted", "rejected", emitter="bot")
    async with service() as client:
        page = (await client.get("/insight")).text

    assert "<svg" in page
    assert "50%" in page
    assert "half of them within 3.0 s" in page
    assert "<td>10 s</td><td>1</td><td>100%</td>" in page


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


async def test_ten_thousand_open_requests_are_listed_by_an_index(service, view):
    """The first page asks for as many as it shows; how many there are is counted."""
    from sluice.topology.http.kept_view import Arrived, Batch

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


# ---------------------------------------------------------------- beside a statement


def saw(view, outcome="contradicts", ago=0, emission_id="em-1", attempt=0, **more):
    """An observer's answer about the first assertion comes."""
    value = {
        "observation_id": "sha256:00",
        "substrate_class": "substrate.code.read",
        "observed_at": view._now() - ago,
        "observer": "observer-1",
        "subject": {"emission_id": emission_id, "span": {"chars": [0, 10]}, "attempt": attempt},
        "outcome": outcome,
        **more,
    }
    view.put("observations", emission_id, value)


async def test_beside_a_statement_stands_what_was_seen(service, view):
    """Class, observer, age, terms found and missing, and the lines at the commit, all from the observation."""
    view.emit(assertions=[{"span": {"chars": [0, 10]}, "checks": ["equals(A, 1)"]}])
    check = {
        "check": "equals(A, 1)",
        "holds": False,
        "reason": "differs",
        "path": "a.py",
        "lines": [3, 5],
        "commit": "c" * 40,
    }
    saw(
        view,
        ago=125_000,
        detail={"checks": [check], "found": ["out"], "missing": ["is"]},
        refuted=[0],
        looked_at={"root": "app", "path": "b.py", "commit": "d" * 40},
    )
    view.judge("em-1", "contradicted", "rejected")
    async with service() as client:
        page = (await client.get("/emissions/em-1?span=c:0-10")).text

    seen = re.search(r"(?s)Seen: what observers answered</h3>(.*?)</ul>", page)[1]
    for said in (
        *("substrate.code.read: contradicts", "observer-1", "2 min old", "b.py in app, commit dddddddddddd"),
        *("<dd>out</dd>", "<dd>is</dd>", "equals(A, 1)", "does not hold: differs"),
        "a.py, lines 3 to 5, commit cccccccccccc",
    ):
        assert said in seen, said


async def test_an_observer_does_not_say_what_was_asked(service, view):
    """It claims checks and terms that the statement does not have, and that a check holds which it has not verified:
    the page shows the statement's own checks, as the lanes read the answer, and no word of the observer's choice."""
    view.emit(assertions=[{"span": {"chars": [0, 10]}, "checks": ["contains(out)", "defines(A)"]}])
    key = view.ask()
    forged = [
        {"check": "defines(everything)", "holds": True, "path": "a.py", "lines": [1, 1]},
        {"check": "obey(me)", "holds": True},
        {"check": "and(this)", "holds": True},
    ]
    detail = {"checks": forged, "found": ["OUT", "approve this now", "so do"], "missing": [], "matched": ["approve"]}
    saw(view, "terms-present", detail=detail, refuted=[1], verified=[])
    saw(view, "corroborates", attempt=0, detail={"checks": forged}, verified=[0, 1], refuted=[1])
    saw(view, "corroborates", detail={"checks": 7}, verified=[1])
    async with service() as client:
        paths = ("/emissions/em-1?span=c:0-10", f"/queue/item?key={key.replace('#', '%23')}")
        seen = [(await client.get(path)).text.partition("what observers answered")[2] for path in paths]

    for page in seen:
        assert re.findall(r"<code>([^<]*)</code> ([a-z ]*?)(?: <| *</dd>)", page) == [
            *(("contains(out)", "not decided"), ("defines(A)", "does not hold")),
            *(("contains(out)", "holds"), ("defines(A)", "not decided")),
            *(("contains(out)", "not decided"), ("defines(A)", "holds")),
        ]
        assert "<dd>OUT, 2 that the statement does not have</dd>" in page
        for word in ("everything", "obey", "and(this)", "approve", "so do"):
            assert word not in page


async def test_a_statement_is_chosen_by_its_number_too(service, view):
    """From 1 on, in the order of the list; a number that is none chooses nothing."""
    view.emit()
    view.judge("em-1", "admitted", "rejected")
    async with service() as client:
        second = (await client.get("/emissions/em-1?statement=2")).text
        others = [
            (await client.get(f"/emissions/em-1?statement={one}")).text for one in ("0", "3", "-1", "²", "9" * 500)
        ]

    assert 'id="chosen-title">Statement c:11-21<' in second
    assert not any('id="chosen"' in page for page in others)


async def test_an_answer_about_another_attempt_is_not_shown(service, view):
    """What was seen of an earlier text says nothing of this one."""
    view.emit()
    view.emit(text="It is new. It is old.", attempt=1)
    saw(view, "corroborates")
    async with service() as client:
        page = (await client.get("/emissions/em-1?span=c:0-10")).text

    assert "No observer has answered about it yet." in page


@pytest.mark.parametrize(
    "detail",
    [
        {"checks": 7, "found": {"a": [None]}, "missing": EVIL, "reason": [EVIL]},
        {"checks": [EVIL, {"check": [EVIL], "holds": EVIL, "path": 7, "lines": EVIL, "commit": {EVIL: EVIL}}]},
        {"checks": [{"lines": [], "commit": None, "holds": None}], "found": None},
    ],
)
async def test_an_answer_of_any_form_breaks_no_page(service, view, detail):
    view.emit()
    key = view.ask()
    saw(view, detail=detail, locator={"path": EVIL, "lines": {"a": 1}, "commit": [EVIL], EVIL: EVIL})
    async with service() as client:
        pages = [
            await client.get(path)
            for path in ("/emissions/em-1?span=c:0-10", f"/queue/item?key={key.replace('#', '%23')}")
        ]

    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text


# ---------------------------------------------------------------- time line and proof


class Told:
    """Walks that tell what they are given."""

    def __init__(self, outcome=None):
        self.outcome, self.asked = outcome, []

    async def story(self, emission_id, span_key):
        self.asked.append((emission_id, span_key))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def proof(self, name):
        self.asked.append((name, None))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return b'{"proof": 1}\n'


async def test_the_time_line_is_read_when_it_is_asked_for(service, view):
    """The page of the emission leads to it and reads no ledger; the story is the ledger's, and inert."""
    from sluice.codecs.errors import DoesNotHoldError

    view.emit()
    walks = Told(DoesNotHoldError(f"nothing about {EVIL} stands there"))
    async with service(walks=walks) as client:
        page = (await client.get("/emissions/em-1?span=c:0-10")).text
        assert walks.asked == []
        href = re.search(r'href="(/story\?[^"]*)"', page)[1].replace("&amp;", "&")
        story = await client.get(href)

    assert walks.asked == [("em-1", "c:0-10")]
    assert story.status_code == 404
    assert "<script>alert" not in story.text


async def test_a_ledger_that_cannot_be_read_now_is_told_with_the_command(service, view):
    """Another one is being read, or it takes too long, or no broker answers."""
    from sluice.codecs.errors import UnreachableError

    async with service(walks=Told(UnreachableError("the ledger is being read for somebody else"))) as client:
        story = await client.get("/story?id=em-1&span=c:0-10")
        proof = await client.get("/proof?id=em-1&span=c:0-10")

    assert (story.status_code, proof.status_code) == (503, 503)
    assert "sluice explain em-1 c:0-10" in story.text


async def test_a_proof_is_a_file_whose_name_is_ours(service, view):
    """Whatever the emission is called: no id comes into a header."""
    walks = Told()
    async with service(walks=walks) as client:
        answer = await client.get("/proof", params={"id": 'em-1"\r\nx: y', "span": "c:0-10"})

    assert answer.content == b'{"proof": 1}\n'
    assert answer.headers["content-disposition"] == 'attachment; filename="proof.json"'
    assert answer.headers["cache-control"] == "no-store"
    assert "x" not in answer.headers


async def test_no_foreign_page_has_a_ledger_read(service, view, tokens):
    """A picture or a frame of another site would have one read for each look at it; and it needs the scope."""
    emit, _ = tokens("emit")
    walks, paths, picture = Told(), ("/story?id=a", "/proof?id=a"), {"sec-fetch-dest": "image"}
    async with service(walks=walks) as client:
        pictures = [await client.get(path, headers=picture) for path in paths]
    async with service(walks=walks, tokens=tokens.file) as client:
        others = [await client.get(paths[1], headers=headers) for headers in ({"authorization": f"Bearer {emit}"}, {})]

    assert [one.status_code for one in (*pictures, *others)] == [403, 403, 403, 303]
    assert walks.asked == []


async def test_the_time_line_is_the_ledgers(service, view):
    """Each moment with its block; what strangers wrote in it is inert."""
    told = {
        "emission_id": "em-1",
        "lane": 0,
        "lanes": 2,
        "ledger": {"where": "kafka://10.0.0.1:9092", "height": 3, "block": "sha256:00", "time": "2026-01-01T00:00:00Z"},
        "attempts": [],
        "assertions": [
            {
                "span": {"chars": [0, 10]},
                "span_key": "c:0-10",
                "attempt": 0,
                "text": EVIL,
                "kind": "assertion",
                "effect": "internal",
                "k": 2,
                "claims": [{"substrate_class": EVIL, "unknown": True}],
                "events": [
                    {
                        "at": "2026-01-01T00:00:07Z",
                        "height": 3,
                        "what": "reviewed",
                        "fate": "counted",
                        "review": {"decision": "refuse", "reviewer": "ada", "reason": EVIL},
                    }
                ],
                "verdicts": [],
                "classes": [],
                "missing_floor": 2,
                "now": {"status": "pending", "as_of": "2026-01-01T00:00:09Z", "holds": False},
            }
        ],
        "inputs": [],
    }
    async with service(walks=Told(msgspec.convert(told, Explanation))) as client:
        page = await client.get("/story?id=em-1&span=c:0-10")

    assert page.status_code == 200
    for said in ("2026-01-01T00:00:07Z", "#3", "ada: refuse", r"\u202e"):
        assert said in page.text, said
    assert "<script>alert" not in page.text
    assert "10.0.0.1" not in page.text


SCRIPT = "<script>alert(1)</script>"
SIGNER = Signer("sluice/test", bytes(range(32)))


def decided(view, emission_id, text, status="below-floor", kind="assertion", topic="inadmissible"):
    """The last word on an assertion comes."""
    word = {
        "emission_id": emission_id,
        "span": {"chars": [0, 10]},
        "status": status,
        "revision": 1,
        "canonical_hash": assertion_hash(text, kind),
        "_untrusted_text": {"assertion": text},
    }
    view.put(topic, f"{emission_id}#c:0-10", word)


def checkpoint(lane=0, size=7, signer=SIGNER, ledger="ledger"):
    """A checkpoint as a lane writes it."""
    head = Head(size, bytes(32))
    tips = [head if one == lane else Head() for one in range(2)]
    made = Checkpoint(f"sluice/{ledger}/{lane}", head, "sha256:" + "0" * 64, 1_767_258_000_000, NO_CHECKPOINT, tips)
    return signer.sign(made.text()).encode()


# ---------------------------------------------------------------- look up


@pytest.mark.parametrize(
    ("asked", "found"), [("It is out.", True), ("It\u200b is \u043eut.", True), ("It is", False), ("it is out.", False)]
)
async def test_an_assertion_is_found_by_its_text(service, view, asked, found):
    """Exactly, and by a text that looks the same; a denial of it is another assertion with the same words."""
    decided(view, "em-1", "It is out.")
    decided(view, "em-2", "It is out.", "admitted", "denial", "admitted")
    decided(view, "em-3", "It is in.")
    async with service() as client:
        page = (await client.get("/look-up", params={"q": asked})).text

    hrefs = [f'href="/emissions/em-{number}?span=c%3A0-10"' in page for number in (1, 2, 3)]
    assert hrefs == [found, found, False]


async def test_an_assertion_and_a_claim_are_found_by_their_hashes(service, view):
    """In either case of letters for a claim's; with the page that each leads to."""
    decided(view, "em-1", "It is out.")
    view.put("grounded", claim("a"), attested("The dose was halved.", about="a"))
    async with service() as client:
        texts = (await client.get("/look-up", params={"q": assertion_hash("It is out.", "assertion")})).text
        claims = (await client.get("/look-up", params={"q": claim("a").upper().replace("0X", "0x")})).text
        words = (await client.get("/look-up", params={"q": "halved doses"})).text
        nothing = (await client.get("/look-up", params={"q": claim("b")})).text

    assert 'href="/emissions/em-1?span=c%3A0-10"' in texts
    for page in (claims, words):
        assert f'href="/claims?hash={claim("a")}"' in page
    assert "Nothing of this name or text is known." in nothing


@pytest.mark.parametrize(
    "asked", ['"', "a OR b", "NEAR(a, b)", "words:*", "*", "'; DROP TABLE attestations; --", "\x00"]
)
async def test_no_query_is_more_than_its_words(service, view, asked):
    """No operator of the index is taken from it."""
    view.put("grounded", claim("a"), attested("Plain.", about="a"))
    async with service() as client:
        page = await client.get("/look-up", params={"q": asked})
        still = (await client.get("/look-up", params={"q": "plain"})).text

    assert page.status_code == 200
    assert claim("a") in still


async def test_a_claim_shows_what_each_validator_says_once(service, view):
    """A later word of one validator takes the place of its earlier one, and one that is sent again counts once."""
    view.put("grounded", "c", attested("Sure.", about="a", by="one"))
    view.put("grounded", "c", attested("Sure.", about="a", by="one"))
    view.put("grounded", "c", attested("Not any more.", about="a", by="one", verdict="FALSE"))
    view.put("grounded", "c", attested("I agree.", about="a", by="two", verdict="SUPPORTED"))
    async with service() as client:
        page = (await client.get("/claims", params={"hash": claim("a")})).text
        unknown = await client.get("/claims?hash=%3Cscript%3E")

    assert "2 validators count: 1 FALSE, 1 SUPPORTED" in page
    assert "They disagree." in page
    assert "Not any more." in page
    assert "Sure." not in page
    assert unknown.status_code == 404


async def test_what_validators_write_is_inert(service, view):
    """And their URIs are text, which nobody follows by mistake; what is not sanitised is refused by the view."""
    quoted = [{"quote": "A quote.", "uri": "https://evil.example/x"}]
    view.put("grounded", "c", attested("A *word* \u202e.", about="a", evidence=quoted))
    raw = json.loads(attested("Fine.", about="b", by="two"))
    raw["attestations"][0]["_untrusted_text"]["rationale"] = SCRIPT + "\u202e"
    view.put("grounded", "c", raw)
    async with service() as client:
        page = (await client.get("/claims", params={"hash": claim("a")})).text
        refused = await client.get("/claims", params={"hash": claim("b")})

    assert "evil.example" in page
    assert 'href="https://' not in page
    assert refused.status_code == 404
    assert view.view.refused["grounded"] == 1


# ---------------------------------------------------------------- lanes, checkpoints


async def test_lanes_stand_with_their_newest_checkpoint(service, view):
    """Of each the newest block that was told of, and how many blocks a signed checkpoint covers."""
    view.judge("em-1", "admitted", ledger={"partition": 1, "height": 4711}, partition=1)
    view.put("checkpoints", "", checkpoint(1, 6), partition=1)
    view.put("checkpoints", "", checkpoint(1, 7), partition=1)
    async with service() as client:
        page = (await client.get("/insight")).text

    assert "<td>emissions</td><td>1</td><td>4711</td>" in page
    assert "<td>7</td><td>2026-01-01T09:00:00Z</td><td>not checked: --verifier names a key</td>" in page
    assert "<td>emissions</td><td>0</td><td>not known now</td><td></td><td>not known now</td><td>none</td>" in page


async def test_lanes_of_every_ledger_stand_with_what_their_ledgers_say(service, view):
    """The newest block of each, how many records are in none yet, and the checkpoints of its own ledger alone."""
    view.put("bind-checkpoints", "", checkpoint(0, 5, ledger="x.bind-ledger"))
    view.put("frame-checkpoints", "", checkpoint(1, 6, ledger="x.frame-ledger"), partition=1)
    view.put("frame-checkpoints", "", checkpoint(0, 9, ledger="x.bind-ledger"))
    view.put("checkpoints", "", checkpoint(0, 9, ledger="x.bind-ledger"))
    tips = ToldTips({("ledger", 0): LaneTip(12, 1_767_258_000_000, 3), ("bind-ledger", 0): LaneTip(4, 0, None)})
    async with service(tips=tips) as client:
        page = (await client.get("/insight")).text
        away = ToldTips(None)
    async with service(tips=away) as client:
        without = (await client.get("/insight")).text

    assert view.view.refused["frame-checkpoints"] == view.view.refused["checkpoints"] == 1
    for row in (
        "emissions</td><td>0</td><td>12</td><td>2026-01-01T09:00:00Z</td><td>3</td><td>none",
        "emissions</td><td>1</td><td>none yet</td><td></td><td></td><td>none",
        "sightings</td><td>0</td><td>4</td><td>1970-01-01T00:00:00Z</td><td>not known</td><td>5",
        "attestations</td><td>1</td><td>none yet</td><td></td><td></td><td>6",
    ):
        assert f"<td>{row}</td>" in page
    assert "<td>sightings</td><td>0</td><td>not known now</td><td></td><td>not known now</td><td>5</td>" in without


class ToldTips:
    """How far lanes are, as a test says."""

    def __init__(self, tips):
        self.tips = tips

    async def now(self):
        return self.tips


async def test_tips_are_read_once_for_all_who_ask(monkeypatch):
    """A page that is loaded again and again reads nothing more; where they cannot be read, they are not known."""
    read, faults = [], [UnreachableError("no broker")]

    async def read_tips(_settings):
        read.append(1)
        await asyncio.sleep(0)
        if faults:
            raise faults.pop()
        return {}

    monkeypatch.setattr(ledger_jobs, "read_tips", read_tips)
    tips = LaneTips(Settings())
    assert await asyncio.gather(*(tips.now() for _ in range(5))) == [None] * 5
    monkeypatch.setattr(ledger_jobs, "KEPT_SECONDS", 0.0)
    assert await tips.now() == {}
    assert len(read) == 2


async def test_a_checkpoint_of_another_lane_or_of_none_is_not_shown(service, view):
    """Whoever may write to the topic may write anything there."""
    view.put("checkpoints", "", checkpoint(1, 7), partition=0)
    view.put("checkpoints", "", b"\xff", partition=0)
    view.put("checkpoints", "", None, partition=0)
    async with service() as client:
        page = (await client.get("/insight")).text

    assert view.view.refused["checkpoints"] == 3
    assert page.count("<td>not known now</td><td></td><td>not known now</td><td>none</td>") == 6


def test_only_a_key_that_is_named_signs():
    """Another key of the same name is none, and a note that was changed is none."""
    note = checkpoint()
    other = Signer("sluice/test", bytes(32))
    lanes = [LaneStanding("ledger", 0, 1, 0, one) for one in (note, note.replace(b"time 2026", b"time 2027"))]

    assert [row[-1] for row in lane_rows(lanes, [SIGNER.verifier])] == ["sluice/test", "none of the keys of --verifier"]
    assert [row[-1] for row in lane_rows(lanes[:1], [other.verifier])] == ["none of the keys of --verifier"]


# ---------------------------------------------------------------- audits


def report(**more):
    verdict = {"integrity": "holds", "completeness": "shown", "shown_until": None, "why": "by signed checkpoints"}
    return {"at": "2026-01-01T00:00:00Z", "ledger": "ledger", "verdict": verdict, "divergences": [], **more}


@pytest.mark.parametrize(
    ("written", "said", "bad"),
    [
        (report(), "integrity holds, completeness shown (by signed checkpoints); no divergence.", False),
        (report(divergences=[{"count": 3, "kind": "root"}]), "3 divergences", True),
        (report(verdict={"integrity": "broken", "completeness": "not-shown"}), "integrity broken", True),
        ({"at": 7}, "is no report", True),
        ([], "is no report", True),
    ],
)
def test_the_last_audit_is_told(tmp_path, written, said, bad):
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(written))

    found = audit_says(file)
    assert said in found[0]
    assert found[1] == bad


def test_an_audit_that_is_not_there_is_told(tmp_path):
    """Also a half-written file, and a pipe, which nobody waits for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "half").write_text('{"at": "2026')

    assert audit_says(None)[0].startswith("No report of an audit is named")
    assert "cannot be read" in audit_says(tmp_path / "none")[0]
    assert audit_says(tmp_path / "pipe")[1]
    assert "is no report" in audit_says(tmp_path / "half")[0]


async def test_the_insight_page_tells_the_audit(service, view, tmp_path):
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(report(ledger=SCRIPT)))
    async with service(audit=file) as client:
        page = (await client.get("/insight")).text

    assert "integrity holds" in page
    assert SCRIPT not in page
