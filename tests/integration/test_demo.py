"""The demo on a real Kafka: exactly-once, on topics of its own, with the verdicts of the examples' own table."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from sluice.codecs.identifiers import Span, span_key
from sluice.topology.kafka.topic_reader import read
from sluice.topology.settings.settings import Settings

EXAMPLES = runpy.run_path(str(Path(__file__).parents[1] / "topology" / "test_examples.py"))
SLUICE = str(Path(sys.executable).with_name("sluice"))


def test_the_demo_runs_exactly_once_on_a_real_kafka(kafka: str, tmp_path: Path) -> None:
    """It makes topics under a fresh prefix, decides as the table says, and what it printed stands there committed."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "tmp").mkdir()
    checkout = EXAMPLES["make_checkout"](tmp_path / "repo")
    done = subprocess.run(
        [SLUICE, "demo", "--repo", str(checkout), "--broker", kafka, "--json"],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "exactly-once" in done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert {_name(value): EXAMPLES["verdict_of"](value) for value in printed} == EXAMPLES["EXPECTED"]
    assert list((tmp_path / "tmp").iterdir()) == []
    prefix = _prefix(kafka)
    letters, stored = asyncio.run(_stored(Settings(broker=kafka, topic_prefix=prefix)))
    assert sorted(letters) == sorted(EXAMPLES["EXPECTED_LETTERS"])
    assert {value["id"] for value in printed} <= stored


def _name(value: dict[str, Any]) -> str:
    key = f"{value['emission_id']}#{span_key(msgspec.convert(value['span'], Span))}"
    return EXAMPLES["name_of"](value, key)


def _prefix(kafka: str) -> str:
    """The prefix under which a demo has made topics: the only one, since each makes its own."""
    from confluent_kafka import Producer

    broker = Producer({"bootstrap.servers": kafka.removeprefix("kafka://"), "log_level": 0})
    found = {match[0] for name in broker.list_topics(timeout=10).topics if (match := re.match(r"demo-\w{6}-", name))}
    assert len(found) == 1
    return found.pop()


async def _stored(settings: Settings) -> tuple[list[str], set[str]]:
    """The dead letters' reasons, and the ids of all committed words."""
    letters = [dict(record.headers)["sluice-reason"].decode() async for record in read(settings, "dead-letters")]
    words = [
        json.loads(record.value or b"")["id"]
        for topic in ("admitted", "inadmissible")
        async for record in read(settings, topic)
    ]
    assert len(words) == len(set(words))  # each word once
    return letters, set(words)
