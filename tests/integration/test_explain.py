"""`sluice explain` and `sluice what-if` on a real Kafka: what a worker decided, told by who was not there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from commands import Done, run
from lanes_on_kafka import Workers, load, read, until_read

from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

SPAN_KEY = "c:0-43"


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


@pytest.fixture
async def decided(settings: Settings, tmp_path: Path) -> dict[str, list[Any]]:
    """Forty emissions with their evidence, decided by a worker; every record on `admitted`, by emission."""
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        await until_read(settings, await load(settings, 0, 40))
        async with asyncio.timeout(150):  # the marks of a transaction come to its topics one after another
            while len(found := await _admitted(settings)) < 32:  # noqa: ASYNC110 -- it asks Kafka
                await asyncio.sleep(0.2)
    return found


async def _admitted(settings: Settings) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for records in (await read(settings, "admitted")).values():
        for record in records:
            value = json.loads(record.value)
            found.setdefault(value["emission_id"], []).append(value)
    return found


async def sluice(settings: Settings, folder: Path, *arguments: str) -> Done:
    """The command as anybody would run it."""
    return await asyncio.to_thread(run, settings, *arguments, folder=folder)


async def test_a_story_is_reported_from_the_broker(settings: Settings, decided: dict[str, list[Any]], tmp_path: Path):
    """The verdicts are those on the topic; what had too little evidence waits; an unknown emission is named."""
    explanation = json.loads((await sluice(settings, tmp_path, "explain", "em-1", SPAN_KEY, "--json")).stdout)
    waits = json.loads((await sluice(settings, tmp_path, "explain", "em-5", "--json")).stdout)
    unknown = await sluice(settings, tmp_path, "explain", "nobody")

    (one,) = explanation["assertions"]
    assert [verdict["id"] for verdict in one["verdicts"]] == [record["id"] for record in decided["em-1"]]
    assert [verdict["ledger"] for verdict in one["verdicts"]] == [record["ledger"] for record in decided["em-1"]]
    assert sorted(entry["fate"] for entry in explanation["inputs"]) == ["counted", "counted", "taken-in"]
    assert (waits["assertions"][0]["now"]["status"], waits["assertions"][0]["missing_floor"]) == ("pending", 1)
    assert (unknown.status, unknown.stderr.count("\n")) == (1, 1)


async def test_another_policy_is_tried_on_the_broker(settings: Settings, decided: dict[str, list[Any]], tmp_path: Path):
    """With k raised, every admission would still be waiting; with the ledger's own policy nothing changes."""
    (tmp_path / "same.toml").write_text("")
    (tmp_path / "stricter.toml").write_text("[admissibility]\nk = { internal = 3, external = 3 }\n")

    same = json.loads((await sluice(settings, tmp_path, "what-if", "--policy", "same.toml", "--json")).stdout)
    other = json.loads((await sluice(settings, tmp_path, "what-if", "--policy", "stricter.toml", "--json")).stdout)

    assert (same["assertions"], same["changed"]) == (40, 0)
    assert {change["emission_id"] for change in other["changes"]} == decided.keys()
    assert {(change["old"]["status"], change["new"]["status"]) for change in other["changes"]} == {
        ("admitted", "pending")
    }
