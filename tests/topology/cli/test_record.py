"""`sluice record` from the outside."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from vetted_world import ANSWER, FALSE, TRUE, claude_session, make_repo

from sluice.record import MemorySink
from sluice.topology.brokers.embedded import PARTITIONS, EmbeddedBroker
from sluice.topology.cli import main
from sluice.topology.kafka.consume import read
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["record", *arguments], input=lines)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path)


@pytest.fixture
def session(tmp_path: Path, repo: Path) -> str:
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, TRUE, ANSWER))
    return str(path)


def test_a_transcript_becomes_emissions(repo: Path, session: str):
    """A line for each turn, with the annotations and checks that its calls give."""
    result = run(session, "--format", "claude-code", "--root", str(repo), "--emitter", "builder")
    emissions = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, "")
    assert [one["text"] for one in emissions] == [TRUE, ANSWER]
    assert [one["emitter"] for one in emissions] == [{"system": "builder"}] * 2
    (assertion,) = emissions[0]["assertions"]
    assert assertion["checks"] == ["equals(MAX_RETRIES, 5, path=limits.py)"]
    assert assertion["provenance"][0]["locator"]["path"] == "limits.py"


def test_what_is_recorded_can_be_looked_at(repo: Path, session: str):
    """The output is what `sluice look` reads."""
    emissions = run(session, "--root", str(repo)).stdout
    looked = CliRunner().invoke(main, ["look", "--root", str(repo)], input=emissions)
    outcomes = [one["outcome"] for line in looked.stdout.splitlines() for one in json.loads(line)["observations"]]
    assert outcomes == ["corroborates", "corroborates", "contradicts"]


def test_standard_input_is_a_transcript_too(repo: Path):
    """By default, and as `-`."""
    lines = claude_session(repo, TRUE)
    assert json.loads(run(lines=lines).stdout)["text"] == json.loads(run("-", lines=lines).stdout)["text"] == TRUE


def test_a_broken_line_is_reported_and_the_rest_recorded(repo: Path, session: str):
    """On standard error, with its number; exit status 1."""
    with open(session, "a") as file:
        file.write("{broken\n")
    result = run(session)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert f"{session}:9: " in result.stderr


def test_a_file_is_appended_to(tmp_path: Path, session: str):
    """Twice the emissions after two runs, and nothing on standard output."""
    out = tmp_path / "emissions.jsonl"
    assert run(session, "--out", str(out)).stdout == run(session, "--out", str(out)).stdout == ""
    assert len(out.read_text().splitlines()) == 4


def test_statements_may_be_parts(session: str):
    """Each in an emission of its own, of one group."""
    emissions = [json.loads(line) for line in run(session, "--streamed").stdout.splitlines()]
    parts = [one["part"] for one in emissions if one["group"] == emissions[-1]["group"]]
    assert parts == list(range(len(parts)))
    assert emissions[-1]["final"] is True


@pytest.mark.parametrize(("option", "name"), [("--broker", "KafkaSink"), ("--url", "HttpSink")])
def test_emissions_go_where_they_belong(option: str, name: str, session: str, monkeypatch: pytest.MonkeyPatch):
    """To the sink that the option names; a token comes from the environment."""
    made: list[tuple[object, ...]] = []
    sink = MemorySink()
    monkeypatch.setattr(f"sluice.record.{name}", lambda *arguments: made.append(arguments) or sink)
    monkeypatch.setenv("SLUICE_RECORD_TOKEN", "t-1")
    result = run(session, option, "kafka://127.0.0.1:9092")
    assert (result.exit_code, result.stdout, len(sink.records)) == (0, "", 2)
    assert made == [("kafka://127.0.0.1:9092", *(["t-1"] if option == "--url" else []))]


@pytest.mark.parametrize(("command", "texts"), [("record", [TRUE, ANSWER]), ("vet", [ANSWER])])
async def test_emissions_arrive_at_a_broker(command: str, texts: list[str], repo: Path, session: str):
    """By the address of `--broker`, from `record` and from `vet`."""
    with EmbeddedBroker() as broker:
        settings = Settings(broker=broker.address, partitions=PARTITIONS, replication=1, delivery="at-least-once")
        await create_topics(settings)
        arguments = [command, session, "--root", str(repo), "--broker", broker.address]
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
        assert (result.exit_code, result.stdout) == (0, "")
        async with aclosing(read(settings, "emissions")) as records:
            found = [json.loads(record.value or b"")["text"] async for record in records]
    assert sorted(found) == sorted(texts)


@pytest.mark.parametrize(
    "arguments",
    [["--out", "a", "--broker", "b"], ["--root", "nowhere"], ["--emitter", ""], ["--url", "ftp://x"], ["missing"]],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Exit status 2."""
    monkeypatch.chdir(tmp_path)
    result = run(*([session, *arguments] if arguments != ["missing"] else arguments))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_session_is_followed_until_it_is_stopped(repo: Path, tmp_path: Path):
    """A turn comes out as soon as the next one begins; the one that is open when the signal comes is recorded too."""
    path, out = tmp_path / "session.jsonl", tmp_path / "out.jsonl"
    whole = claude_session(repo, TRUE, FALSE)
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:4]))
    command = [sys.executable, "-c", "from sluice.topology.cli import main; main()", "record", str(path), "--follow"]
    with subprocess.Popen([*command, "--out", str(out)], env={**os.environ}) as process:
        try:
            _wait(lambda: out.exists())
            with path.open("a") as file:
                file.write("".join(lines[4:]))
            _wait(lambda: len(out.read_text().splitlines()) == 1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == [TRUE, FALSE]


def _wait(done) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")
