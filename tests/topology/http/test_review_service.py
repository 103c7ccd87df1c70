"""Reviews: as whoever is signed in, of what is up for review, once, and taken back within the seconds."""

import asyncio
import re

import pytest

from sluice.codecs.notes import Signer
from sluice.codecs.signatures import Signing, domain_of, signed
from sluice.topology.http import review_service as desk_module
from sluice.topology.http.record_intake import Away
from sluice.topology.http.review_service import Claims


@pytest.fixture
def reviewer(tokens):
    """The header of a reviewer's token."""

    def header(name="desk-1", *scopes):
        text, _ = tokens(*(scopes or ("review", "read")), name=name)
        return {"authorization": f"Bearer {text}"}

    return header


def admit(**more):
    return {"emission_id": "em-1", "span_key": "c:0-10", "decision": "admit", "reason": "seen in the source", **more}


async def test_a_review_is_of_whoever_is_signed_in(service, view, fake, tokens, reviewer):
    """The name, the time and the reason stand in the record; what a body says of the reviewer is refused."""
    view.emit()
    view.ask()
    async with service(tokens=tokens.file) as client:
        forged = await client.post("/v1/reviews", json=admit(reviewer="somebody"), headers=reviewer())
        taken = await client.post("/v1/reviews", json=admit(comment="line 3"), headers=reviewer())
        twice = await client.post("/v1/reviews", json=admit(reason="once more"), headers=reviewer())

    (record,) = fake.records("reviews")
    assert forged.status_code == 422
    assert (taken.status_code, taken.json()["reviewer"]) == (202, "token:desk-1")
    assert twice.json()["repeated"] == 1
    assert record == {
        "emission_id": "em-1",
        "span": {"chars": [0, 10]},
        "decision": "admit",
        "attempt": 0,
        "reviewer": "token:desk-1",
        "reason": "seen in the source: line 3",
        "decided_at": fake.time,
    }


async def test_a_decision_that_is_made_again_is_one_of_its_own(service, view, fake, tokens, reviewer):
    """Behind another one, or after a time; what came twice because nobody waited for the answer is one."""
    view.emit()
    view.ask()
    async with service(tokens=tokens.file) as client:
        header = reviewer()
        answers = []
        for decision, wait in (("refuse", "0s"), ("refuse", "2s"), ("admit", "1s"), ("refuse", "1s"), ("refuse", "1m")):
            fake.advance(wait)
            view.tell()
            answers.append(await client.post("/v1/reviews", json=admit(decision=decision), headers=header))

    assert [one.status_code for one in answers] == [202] * 5
    assert [one.json()["repeated"] for one in answers] == [0, 1, 0, 0, 0]
    records = fake.records("reviews")
    assert [one["decision"] for one in records] == ["refuse", "admit", "refuse", "refuse"]
    assert len({one["decided_at"] for one in records}) == 4


async def test_a_newer_request_is_decided_anew(service, view, fake, tokens, reviewer):
    """The lanes ask again: the same words a moment later are the answer to another question."""
    view.emit()
    view.ask()
    async with service(tokens=tokens.file) as client:
        header = reviewer()
        await client.post("/v1/reviews", json=admit(), headers=header)
        fake.advance("1s")
        view.ask(revision=2)
        view.tell()
        again = await client.post("/v1/reviews", json=admit(), headers=header)

    assert again.json()["repeated"] == 0
    assert len(fake.records("reviews")) == 2


async def test_no_room_for_a_review_is_429(service, view, tokens, reviewer, fake):
    """With a time, as at the intake: what is not sent is never acknowledged."""
    from sluice.topology.client import AsyncEmitter

    class Slow:
        async def open(self):
            pass

        async def send(self, record):
            return asyncio.get_running_loop().create_future()

        async def close(self):
            pass

    view.emit()
    view.ask()
    opened = lambda: AsyncEmitter(outlet=Slow(), clock=lambda: fake.now)  # noqa: E731
    async with service(opened, tokens=tokens.file, room=1, seconds=0.01) as client:
        header = reviewer()
        await client.post("/v1/reviews", json=admit(decision="refuse"), headers=header)
        full = await client.post("/v1/reviews", json=admit(), headers=header)

    assert (full.status_code, full.headers["retry-after"]) == (429, "1")


async def test_a_review_names_the_text_that_was_up_for_review(service, view, fake, tokens, reviewer):
    """As its request has it: sent again later, it decides about no other words."""
    view.emit()
    view.ask(canonical_hash="sha256:" + "5e" * 32)
    async with service(tokens=tokens.file) as client:
        await client.post("/v1/reviews", json=admit(), headers=reviewer())

    (record,) = fake.records("reviews")
    assert record["canonical_hash"] == "sha256:" + "5e" * 32


async def test_the_services_key_signs_for_the_reviewer(service, view, fake, tokens, reviewer):
    """Under its role; the reviewer stands in the part that is signed."""
    signer = Signer("sluice/test", bytes(range(32)))
    signing = Signing(signer, "origin")
    view.emit()
    view.ask()
    async with service(tokens=tokens.file, signing=signing) as client:
        await client.post("/v1/reviews", json=admit(), headers=reviewer())

    (record,) = fake.records("reviews")
    assert record["role"] == "sluice-serve"
    bare = {name: value for name, value in record.items() if name != "signature"}
    assert signed(bare, signer, domain_of("reviews", "origin"))["signature"] == record["signature"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (admit(reason="  "), 422, "$.reason"),
        (admit(reason="\u200b\u2800\u3164 \n"), 422, "$.reason"),  # nobody sees it
        (admit(decision="maybe"), 422, "$.decision"),
        (admit(span={"chars": [0, 10]}), 422, "$.span"),
        (admit(span_key="nonsense"), 422, "$.span_key"),
        (admit(emission_id="em-2"), 404, "not up for review"),
        (admit(attempt=1), 409, "attempt 0 is up for review"),
    ],
)
async def test_what_cannot_be_decided_is_told(service, view, fake, tokens, reviewer, body, status, said):
    view.emit()
    view.ask()
    async with service(tokens=tokens.file) as client:
        answer = await client.post("/v1/reviews", json=body, headers=reviewer())

    assert answer.status_code == status
    assert said in answer.json()["error"]
    assert fake.records("reviews") == []


@pytest.mark.parametrize("end", ["decided", "superseded", "reviewed", "expired", "time"])
async def test_a_request_that_has_ended_admits_nothing(service, view, fake, tokens, reviewer, end):
    """Decided by another, ended by a record, or by its time; a refusal may come."""
    view.emit()
    key = view.ask()
    word = {"emission_id": "em-1", "span": {"chars": [0, 10]}, "status": "rejected", "revision": 2, "attempt": 0}
    if end == "decided":
        view.put("admitted", key, word)
    elif end != "time":
        view.put("review-requests", key, {**word, "status": end, "revision": 1})
    else:
        fake.advance("24h")
        view.tell()
    async with service(tokens=tokens.file) as client:
        admitted = await client.post("/v1/reviews", json=admit(), headers=reviewer())
        refused = await client.post("/v1/reviews", json=admit(decision="refuse"), headers=reviewer())

    assert (admitted.status_code, refused.status_code) == (409, 202)


async def test_a_newer_attempt_that_no_lane_has_taken_ends_no_request(service, view, fake, tokens, reviewer):
    """Anybody may write to `emissions`: only the lane's own record takes a request from the queue."""
    view.emit()
    view.ask()
    view.emit(text="It is forged.", attempt=1)
    async with service(tokens=tokens.file) as client:
        admitted = await client.post("/v1/reviews", json=admit(), headers=reviewer())

    assert admitted.status_code == 202


async def test_two_reviewers_are_two(service, view, fake, tokens, reviewer):
    """One may not admit twice; tokens of one name are one reviewer."""
    view.emit()
    key = view.ask()
    earlier = {"emission_id": "em-1", "span": {"chars": [0, 10]}, "decision": "admit", "reviewer": "token:desk-1"}
    view.put("reviews", "em-1", earlier)
    async with service(tokens=tokens.file) as client:
        again = await client.post("/v1/reviews", json=admit(), headers=reviewer("desk-1"))
        other = await client.post("/v1/reviews", json=admit(), headers=reviewer("desk-2"))

    assert key == "em-1#c:0-10"
    assert (again.status_code, other.status_code) == (409, 202)
    assert "another reviewer" in again.json()["error"]


async def test_what_somebody_else_holds_is_left_to_them(service, view, fake, tokens, reviewer):
    view.emit()
    view.lease(view.ask(), "token:desk-2")
    async with service(tokens=tokens.file) as client:
        held = await client.post("/v1/reviews", json=admit(), headers=reviewer())
        fake.advance("6m")
        view.tell()
        free = await client.post("/v1/reviews", json=admit(), headers=reviewer())

    assert (held.status_code, free.status_code) == (409, 202)


async def test_a_review_needs_its_scope(service, view, tokens, reviewer):
    async with service(tokens=tokens.file) as client:
        answer = await client.post("/v1/reviews", json=admit(), headers=reviewer("x", "read", "emit"))

    assert answer.status_code == 403


# ---------------------------------------------------------------- at the console


async def _sign_in(client, tokens, name="desk-1", *scopes):
    text, made = tokens(*(scopes or ("read", "review")), name=name)
    answer = await client.post("/sign-in", data={"token": text}, headers={"origin": "http://localhost"})
    assert answer.status_code == 303
    return made


ORIGIN = {"origin": "http://localhost"}


async def test_nobody_holds_the_whole_queue(service, view, tokens, monkeypatch):
    """A further claim is refused, and goes to no topic. What has ended by its time, or was decided, does not count, and
    what somebody holds can be lengthened; the others claim as before."""
    monkeypatch.setattr(desk_module, "READ_SECONDS", 0.05)
    keys = [view.ask(f"em-{number}") for number in range(23)]
    for key in keys[:20]:
        view.lease(key, "token:desk-1")
    async with service(tokens=tokens.file) as client:
        await _sign_in(client, tokens)

        async def claim(key):
            before = len(client.intake._known)
            answer = await client.post("/queue/claim", data={"key": key}, headers=ORIGIN)
            return answer, len(client.intake._known) - before

        refused, none = await claim(keys[20])
        _, again = await claim(keys[0])
        view.lease(keys[1], "token:desk-1", 0)
        _, free = await claim(keys[20])
        view.lease(keys[21], "token:desk-1")
        _, full = await claim(keys[20])
        view.put("review-requests", keys[2], None)
        _, decided = await claim(keys[20])

    assert refused.status_code == 409
    assert "You hold 20 requests already" in refused.text or "you hold 20 requests already" in refused.text
    assert (none, again, free, full, decided) == (0, 1, 1, 0, 1)


async def test_nobody_holds_the_whole_queue_by_claiming_all_of_it_at_once(service, view, tokens, monkeypatch):
    """Claims that are posted side by side count each other, also those that the view does not hold yet."""
    keys = [view.ask(f"em-{number}") for number in range(31)]
    async with service(tokens=tokens.file) as client:
        await _sign_in(client, tokens)
        take, taken = client.intake.take, []

        async def to_the_topic(records):
            taken.append(records[0].prepared.key.decode())
            asyncio.get_running_loop().call_later(0.01, view.lease, taken[-1], "token:desk-1")
            return await take(records)

        monkeypatch.setattr(client.intake, "take", to_the_topic)
        answers = await asyncio.gather(
            *(client.post("/queue/claim", data={"key": key}, headers=ORIGIN) for key in keys[:30])
        )

    assert sorted(answer.status_code for answer in answers) == [303] * 20 + [409] * 10
    assert len(set(taken)) == 20


def test_what_is_remembered_of_claims_does_not_grow():
    """Whoever claims for ever and never hears of it: what has ended is forgotten, and so is what is given back."""
    claims = Claims()
    for now in range(1000):
        claims.begin(f"holder-{now}", f"key-{now}", now + 10, now)
    assert len(claims) == 10

    claims.begin("holder-999", "key-0", 2000, 999)
    claims.given_back("holder-999", "key-0")
    _, others = claims.begin("holder-999", "key-1", 2000, 999)
    assert others == {"key-999"}


async def test_claims_that_the_view_does_not_hold_yet_count(service, view, fake, tokens, monkeypatch):
    """A view that lags lets nobody hold more: they count for as long as they may hold, unless somebody else has the
    request by now or it was decided. What did not reach Kafka does not count, and neither do another reviewer's."""
    monkeypatch.setattr(desk_module, "READ_SECONDS", 0.01)
    keys = [view.ask(f"em-{number}") for number in range(25)]
    async with service(tokens=tokens.file) as client:
        await _sign_in(client, tokens)
        take, reached = client.intake.take, []

        async def fails(records):
            return Away("no broker")

        async def reaches(key):
            before = len(reached)
            await client.post("/queue/claim", data={"key": key}, headers=ORIGIN)
            return len(reached) - before

        async def is_taken(records):
            reached.append(records)
            return await take(records)

        monkeypatch.setattr(client.intake, "take", fails)
        none = await reaches(keys[24])
        monkeypatch.setattr(client.intake, "take", is_taken)
        first = [await reaches(key) for key in keys[:21]]
        again = await reaches(keys[3])
        view.lease(keys[0], "token:desk-2")
        view.put("review-requests", keys[1], None)
        then = [await reaches(key) for key in keys[20:23]]
        await _sign_in(client, tokens, "desk-3")
        other = await reaches(keys[22])
        await _sign_in(client, tokens)
        fake.advance("6m")
        view.tell()
        later = await reaches(keys[23])

    assert (none, first, again) == (0, [1] * 20 + [0], 1)
    assert (then, other, later) == ([1, 1, 0], 1, 1)


async def test_a_person_signs_in_claims_decides_and_takes_back(service, view, fake, tokens, monkeypatch):
    """From the queue to the record, by forms alone; the undo leaves nothing behind, not even once the service ends."""
    monkeypatch.setattr(desk_module, "READ_SECONDS", 0.05)
    view.emit()
    key = view.ask()
    form = {"key": key, "attempt": "0", "decision": "admit", "reason": "seen", "comment": ""}
    async with service(tokens=tokens.file, undo=60) as client:
        stranger = await client.get("/queue")
        await _sign_in(client, tokens)
        listed = (await client.get("/queue")).text
        unclaimed = await client.post("/queue/decide", data=form, headers=ORIGIN)
        await client.post("/queue/claim", data={"key": key}, headers=ORIGIN)
        (asked,) = client.intake._known  # the claim is on its way to the topic
        view.lease(key, "token:desk-1")
        item = (await client.get("/queue/item", params={"key": key})).text
        await client.post("/queue/decide", data=form, headers=ORIGIN)
        (waiting,) = client.outbox.of("token:desk-1")
        after = (await client.get("/queue")).text
        foreign = client.outbox.undo(waiting.id, "token:desk-2")
        undone = await client.post("/queue/undo", data={"id": waiting.id}, headers=ORIGIN)
        monkeypatch.setattr(client.outbox, "_seconds", 0.01)
        await client.post("/queue/decide", data=form, headers=ORIGIN)
        async with asyncio.timeout(60):
            while not fake.records("reviews"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        late = await client.post("/queue/undo", data={"id": client.outbox.of("token:desk-1")[0].id}, headers=ORIGIN)
        await client.outbox.close()

    assert (stranger.status_code, stranger.headers["location"]) == (303, "/sign-in")
    assert "It is out." in listed
    assert unclaimed.status_code == 409
    assert asked.startswith(b"lease ")
    assert "You hold it until" in item
    assert "Undo" in after
    assert "Nothing waits for you." in after
    assert not foreign
    assert "Taken back." in undone.text
    assert [record["reviewer"] for record in fake.records("reviews")] == ["token:desk-1"]
    assert "gone already" in late.text


async def test_an_expired_lease_decides_nothing(service, view, fake, tokens):
    view.emit()
    key = view.ask()
    view.lease(key, "token:desk-1")
    fake.advance("5m")
    view.tell()
    form = {"key": key, "attempt": "0", "decision": "admit", "reason": "seen"}
    async with service(tokens=tokens.file) as client:
        await _sign_in(client, tokens)
        answer = await client.post("/queue/decide", data=form, headers=ORIGIN)

    assert answer.status_code == 409
    assert "claim it again" in answer.text
    assert fake.records("reviews") == []


async def test_what_waits_is_sent_when_the_service_is_told_to_stop(service, view, fake, tokens):
    view.emit()
    key = view.ask()
    view.lease(key, "token:desk-1")
    form = {"key": key, "attempt": "0", "decision": "refuse", "reason": "not true"}
    async with service(tokens=tokens.file, undo=60) as client:
        await _sign_in(client, tokens)
        await client.post("/queue/decide", data=form, headers=ORIGIN)
        await client.outbox.close()

    assert [record["decision"] for record in fake.records("reviews")] == ["refuse"]


async def test_many_are_decided_together_after_a_count(service, view, fake, tokens):
    """A count that is no longer true decides nothing; what somebody else holds is left out."""
    for number in range(3):
        view.emit(f"em-{number}", emitter={"system": "bot"})
        view.ask(f"em-{number}")
    view.lease("em-2#c:0-10", "token:desk-2")
    form = {"emitter": "bot", "for": "too-few-classes", "decision": "refuse", "reason": "out of date"}
    async with service(tokens=tokens.file, undo=0.01) as client:
        await _sign_in(client, tokens)
        before = (await client.get("/queue/bulk?emitter=bot&reason=too-few-classes")).text
        wrong = await client.post("/queue/bulk", data={**form, "count": "3"}, headers=ORIGIN)
        of = re.search(r'name="of" value="([0-9a-f]{64})"', before)[1]
        unnamed = await client.post("/queue/bulk", data={**form, "count": "2"}, headers=ORIGIN)
        done = await client.post("/queue/bulk", data={**form, "count": "2", "of": of}, headers=ORIGIN)
        await asyncio.sleep(0.1)

    assert "<strong>2</strong>" in before
    assert (wrong.status_code, unnamed.status_code, done.status_code) == (409, 409, 303)
    assert sorted(record["emission_id"] for record in fake.records("reviews")) == ["em-0", "em-1"]


async def test_requests_that_were_exchanged_are_not_decided_together(service, view, fake, tokens):
    """As many as before, and others: whoever decides has not seen them."""
    view.emit("em-0", emitter={"system": "bot"})
    key = view.ask("em-0")
    form = {"emitter": "bot", "for": "too-few-classes", "decision": "admit", "reason": "seen", "count": "1"}
    async with service(tokens=tokens.file, undo=0.01) as client:
        await _sign_in(client, tokens)
        before = (await client.get("/queue/bulk?emitter=bot&reason=too-few-classes")).text
        of = re.search(r'name="of" value="([0-9a-f]{64})"', before)[1]
        ended = {"emission_id": "em-0", "span": {"chars": [0, 10]}, "status": "reviewed", "attempt": 0, "revision": 2}
        view.put("review-requests", key, ended)
        view.emit("em-1", emitter={"system": "bot"})
        view.ask("em-1", text="Pay the bill.")
        swapped = await client.post("/queue/bulk", data={**form, "of": of}, headers=ORIGIN)
        await asyncio.sleep(0.1)

    assert swapped.status_code == 409
    assert "not the same requests" in swapped.text
    assert fake.records("reviews") == []


async def test_the_next_request_comes_at_once(service, view, fake, tokens):
    """With the undo of the last decision on its page; held ones are passed over; then the queue."""
    for number in range(3):
        view.emit(f"em-{number}")
        view.ask(f"em-{number}")
        fake.advance("1s")
    view.tell()
    view.lease("em-0#c:0-10", "token:desk-1")
    view.lease("em-1#c:0-10", "token:desk-2")
    form = {"attempt": "0", "decision": "admit", "reason": "seen"}
    async with service(tokens=tokens.file) as client:
        await _sign_in(client, tokens)
        first = await client.post("/queue/decide", data={**form, "key": "em-0#c:0-10"}, headers=ORIGIN)
        page = (await client.get(first.headers["location"])).text
        view.lease("em-2#c:0-10", "token:desk-1")
        last = await client.post("/queue/decide", data={**form, "key": "em-2#c:0-10"}, headers=ORIGIN)

    assert first.headers["location"] == "/queue/item?key=em-2%23c%3A0-10"
    assert "Undo" in page
    assert last.headers["location"] == "/queue"
