"""Looking up claims and texts, and what the insight page says of lanes, checkpoints and audits."""

import asyncio
import json
import os

import pytest
from adapter_view import attested, claim

from sluice.codecs.canonical import assertion_hash
from sluice.codecs.errors import UnreachableError
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer
from sluice.topology.http import ledger_jobs
from sluice.topology.http.console_pages import audit_says, lane_rows
from sluice.topology.http.ledger_jobs import LaneTip, LaneTips
from sluice.topology.http.queries import LaneStanding
from sluice.topology.settings.settings import Settings

EVIL = "<script>alert(1)</script>"
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
    raw["attestations"][0]["_untrusted_text"]["rationale"] = EVIL + "\u202e"
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
    tips = Told({("ledger", 0): LaneTip(12, 1_767_258_000_000, 3), ("bind-ledger", 0): LaneTip(4, 0, None)})
    async with service(tips=tips) as client:
        page = (await client.get("/insight")).text
        away = Told(None)
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


class Told:
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
    """By the file that `sluice audit --json` wrote."""
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
    """And what a hostile report says is inert."""
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(report(ledger=EVIL)))
    async with service(audit=file) as client:
        page = (await client.get("/insight")).text

    assert "integrity holds" in page
    assert EVIL not in page
