"""`sluice serve` on a real Kafka: what is acknowledged is there, also across a broker that goes away and returns."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from lanes_on_kafka import Workers, ended, load, read_all, records, send, until_read
from ports import free_port

from sluice.codecs.notes import Verifier
from sluice.topology.client import AsyncVerdictReader, EmissionVerdicts
from sluice.topology.engine.signing import load_signer
from sluice.topology.http import service_process
from sluice.topology.http.console_pages import FOLDS
from sluice.topology.http.http_server import ListenConfig
from sluice.topology.http.tokens import new_token
from sluice.topology.kafka.connect import open_admin, open_producer
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topic_reader import read
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings


@asynccontextmanager
async def serving(
    settings: Settings, folder: Path, tokens: Path | None = None, verifiers: Sequence[Verifier] = ()
) -> AsyncIterator[httpx2.AsyncClient]:
    """The service at a free port, and a client of it."""
    port = free_port()
    stop = asyncio.Event()
    door = ListenConfig(port=port, rate=10_000, burst=10_000, tokens=tokens)
    service = service_process.Service(door, folder / f"view-{port}.sqlite", folder / "session.key", verifiers=verifiers)
    task = asyncio.create_task(service_process.run(settings, service, stop))
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            async with asyncio.timeout(60):
                while not await is_ready(client):
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.1)
            yield client
    finally:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)


async def is_ready(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False


async def stored(settings: Settings) -> list[str]:
    """The ids on `emissions`, in their order."""
    async with aclosing(read(settings, "emissions")) as records:
        return [record.key.decode() async for record in records]


@pytest.mark.path
async def test_what_is_posted_is_on_the_topic_once(settings: Settings, tmp_path: Path):
    """Acknowledged when Kafka has it; the same body again adds nothing."""
    await create_topics(settings)
    lines = b"".join(b'{"emission_id":"em-%d","text":"It is out."}\n' % number for number in range(200))
    async with serving(settings, tmp_path) as client:
        first = await client.post("/v1/emissions", content=lines, headers={"content-type": "application/x-ndjson"})
        again = await client.post("/v1/emissions", content=lines, headers={"content-type": "application/x-ndjson"})

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json()["repeated"] == 200
    assert sorted(await stored(settings)) == sorted(first.json()["ids"])


async def test_a_broker_that_stops_answering_loses_nothing_that_was_acknowledged(
    prefix: str, tmp_path: Path, monkeypatch
):
    """While it is silent a request is told to come again; the record is then taken once."""
    monkeypatch.setattr(service_process, "ACK_SECONDS", 2.0)
    with RealBroker() as broker:
        settings = Settings(broker=broker.address, topic_prefix=prefix)
        await create_topics(settings)
        async with serving(settings, tmp_path) as client:
            await client.post("/v1/emissions", json={"emission_id": "em-0", "text": "It is out."})
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                late = await client.post("/v1/emissions", json={"emission_id": "em-1", "text": "It is out."})
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            async with asyncio.timeout(60):
                while True:
                    again = await client.post("/v1/emissions", json={"emission_id": "em-1", "text": "It is out."})
                    if again.status_code == 202:
                        break
                    await asyncio.sleep(0.2)
        ids = await stored(settings)

    assert (late.status_code, late.headers["retry-after"]) == (503, "5")
    assert sorted(ids) == ["em-0", "em-1"]


async def test_two_reviewers_at_two_replicas_see_one_holder(settings: Settings, tmp_path: Path):
    """Both claim at once: the first word on the topic wins at both, and only its holder decides."""
    await create_topics(settings)
    request = {
        "emission_id": "em-1",
        "effect": "internal",
        "span": {"chars": [0, 10]},
        "status": "below-floor",
        "reason": "too-few-classes",
        "revision": 1,
        "_untrusted_text": {"assertion": "It is out.<script>alert(1)</script>"},
    }
    async with open_producer(settings) as producer:
        name = topic_name(settings, "review-requests")
        await producer.send_and_wait(name, json.dumps(request).encode(), key=b"em-1#c:0-10")
    tokens = tmp_path / "tokens.json"
    one, two = (new_token(tokens, name, ["read", "review"], None)[0] for name in ("ada", "bob"))
    key = {"key": "em-1#c:0-10"}
    decision = {**key, "attempt": "0", "decision": "refuse", "reason": "not true"}
    async with serving(settings, tmp_path, tokens) as first, serving(settings, tmp_path, tokens) as second:
        people = [(first, one), (second, two)]
        for client, token in people:
            client.headers["origin"] = str(client.base_url)
            assert (await client.post("/sign-in", data={"token": token})).status_code == 303
            async with asyncio.timeout(60):
                while "1 open" not in (await client.get("/queue")).text:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        claims = await asyncio.gather(*(client.post("/queue/claim", data=key) for client, _ in people))
        items = [(await client.get("/queue/item", params=key)).text for client, _ in people]
        decided = [await client.post("/queue/decide", data=decision) for client, _ in people]

    assert sorted(claim.status_code for claim in claims) == [303, 409]
    winner = [claim.status_code for claim in claims].index(303)
    assert "You hold it until" in items[winner]
    assert f"token:{('ada', 'bob')[winner]} holds it until" in items[1 - winner]
    assert all("<script>alert" not in item for item in items)
    assert [one.status_code for one in decided] == ([303, 409] if winner == 0 else [409, 303])
    async with aclosing(read(settings, "reviews")) as records:
        reviewers = [json.loads(record.value)["reviewer"] async for record in records]
    assert reviewers == [f"token:{('ada', 'bob')[winner]}"]


async def test_a_record_that_is_too_large_for_its_topic_harms_no_other(settings: Settings, tmp_path: Path):
    """The broker refuses it; its partition's sequence has no hole, so that what comes behind it is stored."""
    await create_topics(settings)
    await _limit(settings, "emissions", 20_000)
    text = "".join(chr(97 + number * 7919 % 26) for number in range(50_000))
    async with serving(settings, tmp_path) as client:
        first = await client.post("/v1/emissions", json={"emission_id": "em-1", "text": "It is out."})
        large = await client.post("/v1/emissions", json={"emission_id": "em-1", "attempt": 1, "text": text})
        after = [
            await client.post("/v1/emissions", json={"emission_id": "em-1", "attempt": number, "text": "It is out."})
            for number in (2, 3)
        ]

    assert (first.status_code, large.status_code) == (202, 503)
    assert "the broker refuses it" in large.json()["error"]
    assert [one.status_code for one in after] == [202, 202]
    assert len(await stored(settings)) == 3


async def _limit(settings: Settings, topic: str, most: int) -> None:
    """The greatest batch that a topic takes, in bytes."""
    await _configure(settings, topic, {"max.message.bytes": str(most)})


async def _configure(settings: Settings, topic: str, config: dict[str, str]) -> None:
    """Gives a topic these settings; all others are the broker's own then."""
    async with open_admin(settings) as admin:
        name = topic_name(settings, topic)
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, config)])


# ---------------------------------------------------------------- beside a worker


@pytest.fixture
async def lanes(kafka: str, prefix: str) -> Settings:
    """Topics with three partitions, and so three lanes of each fold."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=3)
    await create_topics(settings)
    return settings


async def until(client: httpx2.AsyncClient, path: str, status: int = 200) -> httpx2.Response:
    """Asks again and again until this is the answer."""
    async with asyncio.timeout(150):
        while (answer := await client.get(path)).status_code != status:  # noqa: ASYNC110
            await asyncio.sleep(0.3)
    return answer


async def test_a_time_line_and_a_proof_are_read_from_the_ledger(lanes: Settings, tmp_path: Path):
    """As the commands would tell them, of every lane; the proof holds at the page that verifies proofs."""
    with Workers(lanes, tmp_path, SLUICE_CHECKPOINT_INTERVAL="0.5") as workers:
        await workers.until_taken_over(workers.start())
        await until_read(lanes, await load(lanes, 0, 30, 2))
        verifier = load_signer(tmp_path / "var" / "keys" / "signing.key").verifier
        admitted = {lane: found[0] for lane, found in (await read_all(lanes, "admitted")).items() if found}
        async with serving(lanes, tmp_path, verifiers=[verifier]) as client:
            for record in admitted.values():
                emission_id, _, span = record.key.decode().partition("#")
                about = f"id={emission_id}&span={span}"
                page = await until(client, f"/emissions/{emission_id}?span={span}")
                assert f"/story?{about}".replace("&", "&amp;").replace(":", "%3A") in page.text
                story = await until(client, f"/story?{about}")
                assert f"{emission_id}: lane {record.partition} of 3" in story.text
                assert "admitted" in story.text
                proof = await until(client, f"/proof?{about}")
                assert json.loads(proof.content)["what"] == "output"
                origin = {"origin": str(client.base_url).rstrip("/")}
                file = {"proof": ("proof.json", proof.content)}
                said = await client.post("/look-up", files=file, headers=origin)
                assert "It holds: " in said.text
            unknown = await client.get("/story?id=em-unknown")
            async with asyncio.timeout(150):  # a busy broker does not answer in time: the page says so, and asks again
                while "not known now" in (insight := (await until(client, "/insight")).text):  # noqa: ASYNC110
                    await asyncio.sleep(1)
            none = await client.get(f"/proof?id={emission_id}&span=c:0-1")

    assert sorted(admitted) == [0, 1, 2]
    assert (unknown.status_code, none.status_code) == (404, 404)
    rows = re.findall(r"<tr><td>(\w+)</td><td>(\d)</td><td>(\d+|none yet)</td><td>[^<]*</td><td>(\d*)</td>", insight)
    assert [row[:2] for row in rows] == [(f, str(lane)) for f in FOLDS.values() for lane in range(3)]
    assert all(height.isdecimal() for decides, _, height, _ in rows if decides == "emissions")
    assert {behind for decides, _, _, behind in rows if decides == "emissions"} == {"0"}


COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "segment.ms": "500",
    "max.message.bytes": "4194304",
}


async def last_words(settings: Settings) -> dict[str, EmissionVerdicts]:
    """Of each emission its last record on `verdicts`."""
    async with AsyncVerdictReader(settings, follow=False) as reader:
        return {told.emission_id: told async for told in reader}


async def until_compacted(settings: Settings) -> None:
    """Waits until each emission below 1000 has one record on `verdicts` alone.

    What stands in a partition's newest segment is never compacted, and a segment only ends when the next record
    comes: so others are sent until it is done.
    """
    await _configure(settings, "verdicts", COMPACTED)
    number = 1000
    async with asyncio.timeout(150):
        while True:
            await load(settings, number, 6)
            number += 6
            told = [one.key for some in (await read_all(settings, "verdicts")).values() for one in some]
            old = [key for key in told if int(key[3:]) < 1000]
            if len(old) == len(set(old)):
                return
            await asyncio.sleep(0.6)


@pytest.fixture
def tidy_lanes(prefix: str) -> Iterator[Settings]:
    """As `lanes`, on a Kafka of its own that looks for what can be compacted all the time: by default every 15 s."""
    with RealBroker(properties={"log.cleaner.backoff.ms": "200"}) as broker:
        yield Settings(broker=broker.address, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=3)


@pytest.mark.long
@pytest.mark.slow
async def test_verdicts_outlive_a_worker_and_the_compaction_of_their_topic(tidy_lanes: Settings, tmp_path: Path):
    """The next worker tells on where the last one was killed; what compaction leaves says the same of each emission,
    to a reader and to a service whose view is new."""
    await create_topics(tidy_lanes)
    (tmp_path / "policy.toml").write_text('verdicts = "all"\n')
    groups = [list(records(number)) for number in range(60)]
    emissions, evidence = [group[:1] for group in groups], [group[1:] for group in groups]
    with Workers(tidy_lanes, tmp_path) as workers:
        await workers.until_taken_over(first := workers.start("--policy", "policy.toml"))
        # A block tells once of an emission. Evidence is sent later, so that each has a record that compaction removes.
        sent = await send(tidy_lanes, emissions)
        await until_read(tidy_lanes, sent)
        sent += await send(tidy_lanes, evidence[:30])
        first.kill()
        await ended(first)
        sent += await send(tidy_lanes, evidence[30:])
        await workers.until_taken_over(workers.start("--policy", "policy.toml"))
        sent += await load(tidy_lanes, 60, 30)
        await until_read(tidy_lanes, sent)
        before = await last_words(tidy_lanes)
        told = Counter(one.key for some in (await read_all(tidy_lanes, "verdicts")).values() for one in some)
        await until_compacted(tidy_lanes)
        after = await last_words(tidy_lanes)
        async with serving(tidy_lanes, tmp_path) as client:
            answers = {name: (await client.get(f"/v1/emissions/{name}")).json() for name in before}

    assert all(told[b"em-%d" % number] > 1 for number in range(60) if number % 5)
    assert sorted(before) == sorted(f"em-{number}" for number in range(90))
    assert {one.partition for one in before.values()} == {0, 1, 2}
    assert all(one.assertions[0].status == "admitted" for name, one in before.items() if int(name[3:]) % 5)
    assert {name: after[name].record for name in before} == {name: one.record for name, one in before.items()}
    for name, answer in answers.items():
        told = [(one.span_key, one.status) for one in before[name].assertions]
        assert [(one["span_key"], one["status"]) for one in answer["assertions"]] == told
        assert answer["settled"] == before[name].settled
