"""The service as programs meet it: what is taken, what is refused, and that only what Kafka has is acknowledged."""

import asyncio
import json
import time
import tracemalloc
from typing import ClassVar

import pytest

from sluice.codecs.errors import UnreachableError
from sluice.topology.client import AsyncEmitter, RefusedError
from sluice.topology.client.ports import StoredAt
from sluice.topology.http import auth_middleware, request_bodies
from sluice.topology.http import record_intake as intake_module
from sluice.topology.http.auth_middleware import Quota
from sluice.topology.http.tokens import revoke

GOOD = {"emission_id": "em-1", "text": "It is out. [substrate.git.log]"}
ATTESTATION = {
    "claim_hash": "0x" + "0" * 64,
    "validator_did": "did:example:lab",
    "verdict": "SUPPORTED",
    "consensus_domain": "scientific-default",
    "rationale": "Seen.",
}
LINES = {"content-type": "application/x-ndjson"}


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


class Outlet:
    """A broker by hand: it stores when it is told to."""

    def __init__(self):
        self.sent, self.waiting, self.is_away, self.opened = [], [], False, 0

    async def open(self):
        self.opened += 1
        if self.is_away:
            raise UnreachableError("no broker answers")

    async def send(self, record):
        self.sent.append(record)
        self.waiting.append(asyncio.get_running_loop().create_future())
        return self.waiting[-1]

    def store(self):
        for future in self.waiting:
            if not future.done():
                future.set_result(StoredAt(0, 0, 0))

    def lose(self):
        for future in self.waiting:
            if not future.done():
                future.set_exception(OSError("gone"))

    async def close(self):
        pass


@pytest.fixture
def outlet():
    return Outlet()


@pytest.fixture
def by_hand(outlet, fake):
    """Opens emitters to the broker by hand."""
    return lambda: AsyncEmitter(outlet=outlet, clock=lambda: fake.now, buffer=100_000)


# ---------------------------------------------------------------- what comes in


async def test_an_emission_is_taken_and_acknowledged_with_its_id(service, fake):
    """202, when it is on the topic; the time that was missing is put in."""
    async with service() as client:
        answer = await client.post("/v1/emissions", json=GOOD)

    assert (answer.status_code, answer.json()["ids"]) == (202, ["em-1"])
    (stored,) = fake.records("emissions")
    assert stored["emission_id"] == "em-1"
    assert "emitted_at" in stored


async def test_json_lines_of_each_kind_are_taken(service, fake):
    """In their order; the ids are those of the records."""
    observation = {
        "observation_id": "sha256:00",
        "substrate_class": "substrate.git.log",
        "observed_at": fake.time,
        "observer": "observer-1",
        "subject": {"emission_id": "em-1", "span": {"chars": [0, 10]}},
        "outcome": "corroborates",
    }
    async with service() as client:
        emissions = await client.post(
            "/v1/emissions", content=lines(GOOD, GOOD | {"emission_id": "em-2"}), headers=LINES
        )
        observations = await client.post("/v1/observations", content=lines(observation), headers=LINES)
        attestations = await client.post("/v1/attestations", content=lines(ATTESTATION), headers=LINES)

    assert emissions.json()["ids"] == ["em-1", "em-2"]
    assert observations.json()["ids"] == ["sha256:00"]
    assert attestations.json()["ids"] == [ATTESTATION["claim_hash"]]
    assert [len(fake.records(topic)) for topic in ("emissions", "observations", "attestations")] == [2, 1, 1]


async def test_what_is_not_valid_is_told_and_nothing_is_sent(service, fake):
    """422 with path, expected and got; the good line beside it is not sent either."""
    async with service() as client:
        answer = await client.post("/v1/emissions", content=lines(GOOD, {"emission_id": 7, "text": "x"}), headers=LINES)
        broken = await client.post("/v1/emissions", content=b'{"emission_id": "em-1"\n{"text', headers=LINES)

    told = answer.json()
    assert (answer.status_code, told["path"], told["got"], told["line"]) == (422, "$.emission_id", "int", 2)
    assert broken.status_code == 422
    assert broken.json()["refused"] == 2
    assert fake.records("emissions") == []


async def test_markup_in_an_emission_goes_through_as_it_came(service, fake):
    """The intake changes no text: what is shown is made inert where it is shown."""
    text = "<script>alert(1)</script> is out. [substrate.git.log]"
    async with service() as client:
        await client.post("/v1/emissions", json=GOOD | {"text": text})

    assert fake.records("emissions")[0]["text"] == text


async def test_the_trace_of_a_request_goes_on(service, outlet, by_hand):
    async with service(by_hand) as client:
        asking = asyncio.create_task(client.post("/v1/emissions", json=GOOD, headers={"traceparent": "00-a-b-01"}))
        await _until(lambda: outlet.sent)
        outlet.store()
        await asking

    assert outlet.sent[0].headers == (("traceparent", b"00-a-b-01"),)


# ---------------------------------------------------------------- once


async def test_a_replayed_id_is_taken_once(service, fake):
    """The same bytes, an hour later or twice in one body: one record on the topic."""
    async with service() as client:
        first = await client.post("/v1/emissions", json=GOOD)
        fake.advance("1h")
        again = await client.post("/v1/emissions", json=GOOD)
        twice = await client.post("/v1/emissions", content=lines(GOOD, GOOD), headers=LINES)

    assert (first.status_code, again.status_code, twice.status_code) == (202, 202, 202)
    assert again.json() == {"ids": ["em-1"], "repeated": 1}
    assert len(fake.records("emissions")) == 1


async def test_an_id_with_another_content_is_a_conflict(service, fake):
    """It would come back as a dead letter; a further attempt is another record."""
    async with service() as client:
        await client.post("/v1/emissions", json=GOOD)
        other = await client.post("/v1/emissions", json=GOOD | {"text": "It is not out."})
        attempt = await client.post("/v1/emissions", json=GOOD | {"text": "It is not out.", "attempt": 1})

    assert (other.status_code, other.json()["id"]) == (409, "em-1")
    assert attempt.status_code == 202
    assert len(fake.records("emissions")) == 2


async def test_two_observers_may_see_one_thing(service, fake):
    """Observations of one id are no repetition, unless they are the same in all."""
    one = {
        "observation_id": "sha256:00",
        "substrate_class": "substrate.git.log",
        "observed_at": 0,
        "observer": "observer-1",
        "subject": {"emission_id": "em-1", "span": {"chars": [0, 10]}},
        "outcome": "corroborates",
    }
    async with service() as client:
        for record in (one, one | {"observer": "observer-2"}, one):
            assert (await client.post("/v1/observations", json=record)).status_code == 202

    assert [record["observer"] for record in fake.records("observations")] == ["observer-1", "observer-2"]


# ---------------------------------------------------------------- only what Kafka has


async def test_nothing_is_acknowledged_before_kafka_has_it(service, outlet, by_hand):
    """A request waits; one that waits too long is told to come again, and then it is the same record."""
    async with service(by_hand, seconds=0.05) as client:
        late = await client.post("/v1/emissions", json=GOOD)
        outlet.store()
        again = await client.post("/v1/emissions", json=GOOD)

    assert (late.status_code, late.headers["retry-after"]) == (503, "5")
    assert again.status_code == 202
    assert len(outlet.sent) == 1


async def test_back_pressure_is_429_with_a_time(service, outlet, by_hand):
    """As many as there is room for wait for Kafka; the next one is to come again."""
    async with service(by_hand, room=2, seconds=0.05) as client:
        await client.post("/v1/emissions", content=lines(GOOD, GOOD | {"emission_id": "em-2"}), headers=LINES)
        full = await client.post("/v1/emissions", json=GOOD | {"emission_id": "em-3"})
        outlet.store()
        await asyncio.sleep(0)
        asking = asyncio.create_task(client.post("/v1/emissions", json=GOOD | {"emission_id": "em-3"}))
        await _until(lambda: len(outlet.sent) == 3)
        outlet.store()
        taken = await asking

    assert (full.status_code, full.headers["retry-after"]) == (429, "1")
    assert taken.status_code == 202
    assert client.intake.held == client.intake.held_bytes == 0


async def test_a_broker_that_goes_away_and_returns(service, outlet, by_hand, monkeypatch):
    """What was not stored is never acknowledged; the service says so until the broker is back, and takes it then."""
    monkeypatch.setattr(intake_module, "RETRY_SECONDS", 0.01)
    async with service(by_hand) as client:
        asking = asyncio.create_task(client.post("/v1/emissions", json=GOOD))
        await _until(lambda: outlet.sent)
        outlet.is_away = True
        outlet.lose()
        lost = await asking
        await _until(lambda: not client.intake.is_open)
        meanwhile = await client.post("/v1/emissions", json=GOOD)
        not_ready = await client.get("/readyz")
        outlet.is_away = False
        await _until(lambda: client.intake.is_open)
        asking = asyncio.create_task(client.post("/v1/emissions", json=GOOD))
        await _until(lambda: len(outlet.sent) == 2)
        outlet.store()
        back = await asking

    assert (lost.status_code, meanwhile.status_code, not_ready.status_code) == (503, 503, 503)
    assert "post the same again" in lost.json()["error"]
    assert (back.status_code, back.json()["repeated"]) == (202, 0)
    assert client.intake.held == 0


async def test_what_the_broker_refuses_fails_alone(service, outlet, by_hand):
    """A right that is missing, a record that is too large: the others go on, and the emitter with them."""
    async with service(by_hand) as client:
        first = asyncio.create_task(client.post("/v1/emissions", json=GOOD))
        other = asyncio.create_task(client.post("/v1/attestations", json=ATTESTATION))
        await _until(lambda: len(outlet.waiting) == 2)
        number = next(at for at, one in enumerate(outlet.sent) if one.topic == "emissions")
        outlet.waiting[number].set_exception(RefusedError("the broker refuses it: not authorized"))
        refused = await first
        outlet.store()
        stored = await other
        again = asyncio.create_task(client.post("/v1/emissions", json=GOOD))
        await _until(lambda: len(outlet.waiting) == 3)
        outlet.store()
        taken = await again

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
    assert "not authorized; it needs whoever runs the broker" in refused.json()["error"]
    assert (stored.status_code, taken.status_code, taken.json()["repeated"]) == (202, 202, 0)
    assert (outlet.opened, client.intake.held) == (1, 0)


async def test_a_client_that_leaves_takes_no_room_with_it(service, outlet, by_hand):
    """Its records are on their way; what is held is let go when they are stored."""
    async with service(by_hand) as client:
        asking = asyncio.create_task(client.post("/v1/emissions", json=GOOD))
        await _until(lambda: outlet.sent)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        outlet.store()
        await asyncio.sleep(0.01)

        assert client.intake.held == 0


# ---------------------------------------------------------------- the gate


async def test_tokens_open_what_their_scopes_say(service, tokens):
    """An unknown, expired or revoked one opens nothing, and the answer does not say which it was."""
    emit, _ = tokens("emit")
    read, _ = tokens("read")
    old, _ = tokens("emit", expires_at=int(time.time() * 1000) - 1)
    gone, made = tokens("emit")
    revoke(tokens.file, made.id)
    async with service(tokens=tokens.file) as client:
        answers = [
            await client.post("/v1/emissions", json=GOOD, headers={"authorization": f"Bearer {one}"} if one else {})
            for one in (emit, read, old, gone, "slm_000000000000_" + "a" * 43, "")
        ]

    assert [one.status_code for one in answers] == [202, 403, 401, 401, 401, 401]
    assert len({one.text for one in answers[2:]}) == 1


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/v1/emissions", "/openapi.json"])
async def test_every_answer_carries_the_strict_headers(service, path):
    """Refusals too: nothing runs, nothing is framed, nothing is kept."""
    async with service() as client:
        headers = (await client.get(path)).headers

    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert (
        headers["referrer-policy"] == "same-origin"
    )  # with `no-referrer` browsers send our own forms with Origin: null
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


async def test_a_body_of_10_mb_is_refused_in_one_sentence(service, fake):
    """Whatever it says of its length; nothing of it is kept."""

    async def pieces():
        for _ in range(10):
            yield b"x" * 1_000_000

    async with service() as client:
        named = await client.post("/v1/emissions", content=b"x" * 10_000_000)
        unnamed = await client.post("/v1/emissions", content=pieces())
        endless = await client.post("/v1/emissions", content=b"", headers={"content-length": "9" * 12})

    for answer in (named, unnamed, endless):
        assert answer.status_code == 413
        assert answer.json()["error"] == f"a request has at most {auth_middleware.MAX_BODY:,} bytes: post it in parts"
    assert fake.records("emissions") == []


@pytest.mark.parametrize("path", ["/", "/queue/bulk", "/sign-in", "/nothing"])
async def test_whoever_is_not_known_gets_little_room(service, tokens, path):
    """A body is refused before it is read, or as soon as it is more than a form with a token."""

    async def pieces():
        for _ in range(4):
            yield b"x" * 4000

    async with service(tokens=tokens.file) as client:
        named = await client.post(path, content=b"x" * 5_000_000)
        unnamed = await client.post(path, content=pieces())

    assert (named.status_code, unnamed.status_code) == (413, 413)
    assert client.gate._strangers.taken == 0


async def test_bodies_share_a_budget(service, fake, tokens):
    """One principal takes a part of it at the most; a refusal gives all back, and others are served."""
    emit, other = ({"authorization": f"Bearer {tokens('emit')[0]}"} for _ in range(2))
    go_on = asyncio.Event()

    async def slowly():
        yield b" " * 3000
        await go_on.wait()
        yield json.dumps(GOOD).encode()

    async with service(tokens=tokens.file) as client:
        client.gate._bodies = budget = Quota(8000, 4000)
        slow = asyncio.create_task(client.post("/v1/emissions", content=slowly(), headers=emit))
        await _until(lambda: budget.taken == 3000)
        full = await client.post("/v1/emissions", content=b" " * 3000, headers=emit)
        others = await client.post("/v1/emissions", json=GOOD | {"emission_id": "em-2"}, headers=other)
        go_on.set()
        first = await slow

    assert (full.status_code, full.headers["retry-after"]) == (503, "1")
    assert (first.status_code, others.status_code, budget.taken) == (202, 202, 0)


async def test_probes_are_answered_where_nothing_else_is(service):
    async with service(most=0) as client:
        full = await client.get("/openapi.json")
        probes = [(await client.get(path)).status_code for path in ("/healthz", "/readyz", "/metrics")]

    assert (full.status_code, full.headers["retry-after"]) == (503, "1")
    assert probes == [200, 200, 200]


async def test_a_busy_address_does_not_make_a_replica_look_dead(service, tokens):
    async with service(tokens=tokens.file, rate=0.001, burst=1) as client:
        strangers = [(await client.get("/openapi.json")).status_code for _ in range(2)]
        probes = [(await client.get(path)).status_code for path in ("/healthz", "/readyz", "/healthz", "/healthz")]

    assert strangers == [200, 429]
    assert probes == [200] * 4


async def test_one_principal_asks_as_often_as_its_rate(service, tokens):
    """429 with a time; another one's rate is its own, and strangers share their address's."""
    one, other = (tokens("emit")[0] for _ in range(2))
    async with service(tokens=tokens.file, rate=0.001, burst=2) as client:
        answers = [
            (await client.post("/v1/emissions", json=GOOD, headers={"authorization": f"Bearer {token}"}))
            for token in (one, one, one, other)
        ]
        strangers = [await client.post("/v1/emissions", json=GOOD) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [202, 202, 429, 202]
    assert answers[2].headers["retry-after"] == "1"
    assert [answer.status_code for answer in strangers] == [401, 401, 429]


async def test_probes_and_scrapes_come_under_any_host(service, tokens):
    """A pod is asked by its address; everything else is for our own names, and forms of other pages are for nobody."""
    foreign = {"host": "10.1.2.3:8720"}
    async with service(tokens=tokens.file) as client:
        found = [
            (await client.get(path, headers=foreign)).status_code
            for path in ("/healthz", "/readyz", "/metrics", "/", "/openapi.json")
        ]
        forged = await client.get("/metrics", headers={"origin": "https://evil.example"})

    assert found == [200, 200, 200, 421, 421]
    assert forged.status_code == 403


async def test_probes_metrics_and_the_document_need_no_token(service, tokens):
    """They say nothing of what is on the topics."""
    async with service(tokens=tokens.file) as client:
        found = [await client.get(path) for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")]

    assert [one.status_code for one in found] == [200, 200, 200, 200]
    document = found[3].json()
    assert document["openapi"].startswith("3.1")
    assert document["paths"]["/v1/emissions"]["post"]["security"] == [{"token": ["emit"]}]
    assert "sluice_serve_records" in found[2].text


async def test_an_open_service_listens_to_this_machine_only(tmp_path):
    """Without a file of tokens, whoever reaches the address could ask."""
    from click.testing import CliRunner

    from sluice.topology.cli import main

    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])

    assert result.exit_code == 2
    assert "whoever reaches this address could ask" in result.stderr


def test_a_wrong_verifier_is_told_by_its_own_flag(tmp_path, monkeypatch):
    """The sentence said `--key`, which this command does not have."""
    from click.testing import CliRunner

    from sluice.topology.cli import main

    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(main, ["serve", "--verifier", "nonsense"])

    assert result.exit_code == 2
    assert "--verifier: not a verifier" in result.stderr


async def _until(wanted):
    async with asyncio.timeout(60):
        while not wanted():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_client_that_posts_much_has_to_wait(service):
    """Nine requests of a megabyte are more than a hundred of the usual size, at once."""
    body = json.dumps(GOOD | {"contexts": {"c": "x" * 900_000}}).encode()
    async with service(rate=1.0, burst=100) as client:
        statuses = [(await client.post("/v1/emissions", content=body)).status_code for _ in range(9)]
    assert statuses[0] == 202
    assert statuses[-1] == 429


async def test_lines_that_are_refused_are_paid_for(service):
    """Else 16 kB of `{}` lines would cost a quarter of a request, and as much work as 5,000 records."""
    async with service(rate=1.0, burst=10) as client:
        statuses = [(await client.post("/v1/emissions", content=b"{}\n" * 1000)).status_code for _ in range(2)]
    assert statuses == [422, 429]


@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("br, gzip", 415), ("identity", 202), ("IDENTITY", 202)])
async def test_a_body_with_a_coding_is_told_so(service, coding, status):
    async with service() as client:
        answer = await client.post("/v1/emissions", json=GOOD, headers={"content-encoding": coding})
    assert answer.status_code == status


async def test_a_refusal_early_in_a_large_request_is_told(service, outlet, by_hand):
    """Other requests run while its records are handed on; what fails meanwhile is not acknowledged."""

    async def refusing(record):
        sent = asyncio.get_running_loop().create_future()
        if b'"em-0"' in record.value:
            sent.set_exception(RefusedError("the record is too large"))
        else:
            sent.set_result(StoredAt(0, 0, 0))
        return sent

    outlet.send = refusing
    records = [GOOD | {"emission_id": f"em-{number}"} for number in range(2000)]
    async with service(by_hand) as client:
        answer = await client.post("/v1/emissions", content=lines(*records), headers=LINES)

    assert answer.status_code == 503
    assert "the record is too large" in answer.json()["error"]


async def test_a_large_request_lets_others_run():
    """Its records are handed to Kafka some at a time."""
    turns = 0

    async def turning():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Keeping:
        handed: ClassVar = []

        async def open(self):
            pass

        async def send(self, record):
            self.handed.append(turns)
            sent = asyncio.get_running_loop().create_future()
            sent.set_result(StoredAt(0, 0, 0))
            return sent

        async def close(self):
            pass

    others = asyncio.create_task(turning())
    async with AsyncEmitter(outlet=Keeping(), buffer=100_000) as emitter:
        intake = intake_module.Intake(lambda: emitter)
        intake._emitter = emitter
        records = [{"emission_id": f"em-{number}", "text": "It is out."} for number in range(1000)]
        await intake.take(request_bodies.read_body(lines(*records), "", "emissions", 1_795_000_000_000))
    others.cancel()

    assert len(set(Keeping.handed)) >= 1000 // intake_module.AT_ONCE


async def test_what_is_stored_is_remembered_without_its_text(service, outlet, by_hand):
    """A record is known again by its digest: its bytes are let go of."""
    size, count = 500_000, 20

    async def storing(record):
        sent = asyncio.get_running_loop().create_future()
        sent.set_result(StoredAt(0, 0, 0))
        return sent

    outlet.send = storing
    async with service(by_hand, rate=10_000.0, burst=20_000) as client:
        await client.post("/v1/emissions", json=GOOD)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(count):
            text = {"emission_id": f"large-{number}", "contexts": {"c": "x" * size}}
            assert (await client.post("/v1/emissions", json=GOOD | text)).status_code == 202
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        again = await client.post("/v1/emissions", json=GOOD | text)

    assert after - before < count * size / 2
    assert (again.status_code, again.json()["repeated"]) == (202, 1)
