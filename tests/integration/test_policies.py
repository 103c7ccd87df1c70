"""A policy that is applied comes into force in every lane, once, and an audit finds it in the ledger itself."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from builders import attestation_value
from click.testing import CliRunner
from commands import run
from lanes_on_kafka import Workers, assert_exactly_once, ended, ledger, load, read, until_read

from sluice.codecs.blocks import EventKind
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import main
from sluice.topology.engine import policies
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

STRICTER = '[admissibility]\nk = { internal = 3, external = 4 }\nhorizon = "2s"\n'
DOMAIN = '[attestations]\nconsensus_domains = ["astronomy"]\n'


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


def sluice(settings: Settings, *arguments: str, status: int = 0) -> str:
    """What a command prints."""
    done = run(settings, *arguments)
    assert done.status == status, done.stderr
    return done.stdout


async def taken(settings: Settings) -> dict[int, list[bytes]]:
    """The documents that each lane's ledger has taken in, in order."""
    return {
        lane: [event.value or b"" for block in chain for event in block.events if event.kind == EventKind.POLICY]
        for lane, chain in (await ledger(settings)).items()
    }


async def test_a_policy_comes_into_force_in_every_lane_once(settings: Settings, tmp_path: Path):
    """Under load, over a SIGKILL, and for the worker that takes over: outputs say by which policy, and refold alike."""
    file = tmp_path / "stricter.toml"
    file.write_text(STRICTER)
    stricter = load_policy(STRICTER)
    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        sent = await load(settings, 0, 40)
        await until_read(settings, sent)
        assert sluice(settings, "policy", "show").splitlines()[0].startswith(f"# {DEFAULT_POLICY.hash}")

        assert sluice(settings, "policy", "apply", str(file), "--wait", "150").strip() == stricter.hash
        shown = sluice(settings, "policy", "show")
        first.send_signal(signal.SIGKILL)
        second = workers.start()
        await workers.until_taken_over(second)
        sent += await load(settings, 40, 40)
        await until_read(settings, sent)
        second.terminate()
        assert await ended(second) == 0

    assert load_policy(shown) == stricter
    assert set(await taken(settings)) == {0, 1}
    for documents in (await taken(settings)).values():
        assert documents == [DEFAULT_POLICY.document, stricter.document]
    admitted = [json.loads(one.value) for lane in (await read(settings, "admitted")).values() for one in lane]
    before = {one["policy"] for one in admitted if int(one["emission_id"][3:]) < 40 and one["status"] == "admitted"}
    assert before == {DEFAULT_POLICY.hash}
    assert not [one for one in admitted if int(one["emission_id"][3:]) >= 40]  # two classes are too few now
    await assert_exactly_once(settings, sent)
    audited = json.loads(sluice(settings, "audit", "--json"))
    assert audited["verdict"]["integrity"] == "holds"


async def test_attestations_go_by_the_newest_policy_from_the_first_record_on(settings: Settings, tmp_path: Path):
    """The attestation lane has no ledger: before its first record it has read all policies."""
    file = tmp_path / "domain.toml"
    file.write_text(DOMAIN)
    sluice(settings, "policy", "apply", str(file))
    claim = b"0x" + b"ab" * 32
    attestation = attestation_value(claim_hash=claim.decode(), verdict="FALSE", consensus_domain="astronomy")
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()
    await producer.send_and_wait(
        settings.topic_prefix + "attestations", key=claim, value=msgspec.json.encode(attestation)
    )
    await producer.stop()
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        found: list[Any] = []
        while not found:
            topics = [await read(settings, topic) for topic in ("grounded", "dead-letters")]
            found = [one for topic in topics for lane in topic.values() for one in lane]

    assert [one.topic for one in found] == [settings.topic_prefix + "grounded"]


async def test_what_is_no_policy_stops_nothing(settings: Settings, tmp_path: Path):
    """Each lane tells of it in a dead letter, and goes on by the policy that it has."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()
    await producer.send_and_wait(settings.topic_prefix + "policies", key=b"x", value=b'{"no":"policy"}', partition=0)
    await producer.stop()
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        sent = await load(settings, 0, 20)
        await until_read(settings, sent)
        dead: list[Any] = []
        while len(dead) < 2:
            dead = [one for lane in (await read(settings, "dead-letters")).values() for one in lane]

    assert {dict(one.headers)["sluice-reason"] for one in dead} == {b"schema"}
    assert {one.value for one in dead} == {b'{"no":"policy"}'}
    assert sluice(settings, "policy", "show").splitlines()[0].startswith(f"# {DEFAULT_POLICY.hash}")
    await assert_exactly_once(settings, sent)


def test_a_file_with_errors_is_not_applied(settings: Settings, tmp_path: Path):
    """All of its errors at once, by line, and nothing is written."""
    file = tmp_path / "wrong.toml"
    file.write_text('[admissibility]\nhorizont = "10m"\nk = { internal = 0 }\n')
    done = run(settings, "policy", "apply", str(file))

    assert done.status == 2
    assert f"{file}:2: admissibility.horizont: unknown key; did you mean horizon?" in done.stderr
    assert f"{file}:3: admissibility.k.internal" in done.stderr


def test_without_a_ledger_there_is_nothing_in_force(settings: Settings):
    """`policy show` says so, exit 1."""
    assert sluice(settings, "policy", "show", status=1) == ""


async def test_only_a_listed_key_changes_the_policy(settings: Settings, tmp_path: Path):
    """The command refuses what no listed key signed, or what is older; lanes refuse it whoever writes to the topic."""
    assert run_key("profile", str(tmp_path / "keys"), "--operator", "ops", "--policy", "development") == 0
    first, after, stranger = tmp_path / "keys" / "policy.toml", tmp_path / "after.toml", tmp_path / "stranger.key"
    text = first.read_text().replace("sequence = 0", "sequence = 1")
    first.write_text(f'origin = "{settings.app_id}"\n' + text.replace('origin = "sluice"\n', ""))
    later = first.read_text().replace("sequence = 1", "sequence = 2").replace("max_attempts = 3", "max_attempts = 4")
    after.write_text(later)
    assert run_key("new", "stranger", "--out", str(stranger)) == 0
    key, wanted = str(tmp_path / "keys" / "operator-ops.key"), load_policy(after.read_text())
    loose = load_policy("")
    with Workers(settings, tmp_path, SLUICE_POLICY=str(first)) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        await until_read(settings, await load(settings, 0, 4))
        for flags in ([], ["--key", str(stranger)]):
            refused = run(settings, "policy", "apply", str(after), *flags)
            assert (refused.status, "does not let this one follow" in refused.stderr) == (2, True)
        old = run(settings, "policy", "apply", str(first), "--key", key)
        assert (old.status, "sequence" in old.stderr) == (2, True)
        await policies.apply(settings, loose)  # as whoever may write to the topic does
        assert sluice(settings, "policy", "apply", str(after), "--key", key, "--wait", "150").strip() == wanted.hash
        await policies.apply(settings, loose, b"x")
        async with asyncio.timeout(60):
            while True:
                if sum(map(len, (await read(settings, "dead-letters")).values())) == 4:
                    break
                await asyncio.sleep(0.5)
        shown = run(settings, "policy", "show")
        worker.terminate()
        assert await ended(worker) == 0

    assert shown.stdout.startswith(f"# {wanted.hash}, in force in lane 0, 1, signed by ops\n")
    assert "policies/0/2 is not in force: unauthorised-policy" in shown.stderr
    letters = [one for some in (await read(settings, "dead-letters")).values() for one in some]
    reasons = [dict(one.headers)["sluice-reason"] for one in letters]
    assert reasons.count(b"unauthorised-policy") == 4  # two records in each of two lanes
    assert "4 times a lane refused a policy" in sluice(settings, "audit")


def run_key(*arguments: str) -> int:
    """The exit status of `sluice key`."""
    return CliRunner().invoke(main, ["key", *arguments]).exit_code
