"""`record` and `vet` send a session's emissions to a real Kafka, where a reader finds them as they were made."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from commands import run
from vetted_session import ANSWER, TRUE, claude_session, make_repo

from sluice.topology.kafka.topic_reader import read
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


@pytest.fixture
def settings(kafka: str, prefix: str) -> Settings:
    made = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    asyncio.run(create_topics(made))
    return made


async def emissions(settings: Settings) -> list[tuple[str, dict[str, Any]]]:
    """The keys and values that stand on the topic, by their keys."""
    async with aclosing(read(settings, "emissions")) as records:
        found = [((record.key or b"").decode(), json.loads(record.value or b"")) async for record in records]
    return sorted(found, key=lambda one: one[0])


def kinds(emission: dict[str, Any]) -> list[str]:
    """The kinds of evidence that an emission's first assertion names."""
    return [one["substrate_class"] for one in emission["assertions"][0]["provenance"]]


@pytest.mark.parametrize("command", ["record", "vet"])
def test_a_transcript_arrives_on_kafka(command: str, settings: Settings, tmp_path: Path):
    """An emission for each turn, under its id; `vet` adds the kinds of evidence that its policy wants."""
    repo, session = make_repo(tmp_path), tmp_path / "session.jsonl"
    session.write_text(claude_session(repo, TRUE, ANSWER) + "{broken\n")
    done = run(settings, command, str(session), "--root", str(repo), "--broker", settings.broker)
    assert (done.status, done.stdout) == (1 if command == "record" else 0, ""), done.stderr
    assert f"{session}:9: " in done.stderr
    found = asyncio.run(emissions(settings))
    assert [(key, value["emission_id"], value["text"]) for key, value in found] == [
        ("session:u0", "session:u0", TRUE),
        ("session:u1", "session:u1", ANSWER),
    ]
    # What the agent read of the file, then the whole file and the other kinds.
    wanted = {
        "record": ["substrate.code.read"],
        "vet": ["substrate.code.read", "substrate.code.read", "substrate.grep"],
    }
    assert [kinds(value) for _, value in found] == [wanted[command]] * 2
