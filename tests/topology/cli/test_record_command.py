"""`sluice record` from the outside."""

from __future__ import annotations

import asyncio
import base64
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
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from vetted_session import ANSWER, FALSE, TRUE, claude_session

from sluice.record import MemorySink
from sluice.topology.cli import main
from sluice.topology.kafka.local_broker import PARTITIONS, EmbeddedBroker
from sluice.topology.kafka.topic_reader import read
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["record", *arguments], input=lines)


def test_a_transcript_becomes_emissions(repo: Path, session: str):
    """A line for each turn, with the annotations that its calls give; the checks are the observers'."""
    result = run(session, "--format", "claude-code", "--root", str(repo), "--emitter", "builder")
    emissions = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, f"sluice: {session}: 2 messages, 4 statements, 0 not understood\n")
    assert [one["text"] for one in emissions] == [TRUE, ANSWER]
    assert [one["emitter"] for one in emissions] == [{"system": "builder"}] * 2
    (assertion,) = emissions[0]["assertions"]
    assert "checks" not in assertion
    locator = {"path": "limits.py", "lines": [1, 5], "quote": "MAX_RETRIES = 5"}
    assert [one["locator"] for one in assertion["provenance"]] == [locator]


def test_checks_that_the_answer_has_are_recorded(repo: Path):
    """With the annotations of its calls; what is not read is told, and is no failure."""
    answer = f"{TRUE}[^1]\n\n[^1]: equals(MAX_RETRIES, 5)\n[^2]: f(x)"
    result = run("--root", str(repo), lines=claude_session(repo, answer))
    (emission,) = [json.loads(line) for line in result.stdout.splitlines()]
    (assertion,) = emission["assertions"]
    assert (emission["text"], assertion["checks"]) == (TRUE, ["equals(MAX_RETRIES, 5)"])
    assert assertion["provenance"]
    assert result.exit_code == 0
    assert "standard input: No sentence refers to the footnote 2, which is a check" in result.stderr


def test_what_is_recorded_can_be_looked_at(repo: Path, session: str):
    """The output is what `sluice look` reads."""
    emissions = run(session, "--root", str(repo)).stdout
    looked = CliRunner().invoke(main, ["look", "--root", str(repo)], input=emissions)
    seen = [one for line in looked.stdout.splitlines() for one in json.loads(line)["observations"]]
    checked = [(one["outcome"], one["detail"]["checks"][0]["check"]) for one in seen]
    assert checked == [
        ("corroborates", "equals(MAX_RETRIES, 5, path=limits.py)"),
        ("corroborates", "equals(MAX_RETRIES, 5, path=limits.py)"),
        ("contradicts", "equals(MAX_RETRIES, 7, path=limits.py)"),
    ]


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


@pytest.mark.parametrize(("command", "texts"), [("record", [TRUE, ANSWER]), ("vet", [TRUE, ANSWER])])
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


def spans_of(*answers: str) -> list[bytes]:
    """A trace for each answer, of an agent that read `limits.py`: as the collector's file exporter writes it.

    OpenTelemetry's own SDK makes the spans and its own encoder the messages; OTLP's JSON writes ids in hex.
    """
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    start = provider.get_tracer("agent").start_as_current_span
    call = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Read",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.tool.call.arguments": json.dumps({"file_path": "limits.py"}),
        "gen_ai.tool.call.result": "     1\tMAX_RETRIES = 5\n",
    }
    lines: list[bytes] = []
    for number, answer in enumerate(answers):
        said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
        agent = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": f"c-{number}",
            "gen_ai.output.messages": json.dumps(said),
        }
        with start("invoke_agent", attributes=agent), start("execute_tool Read", attributes=call):
            pass
        document = MessageToDict(encode_spans(exporter.get_finished_spans()))
        exporter.clear()
        for scope in document["resourceSpans"][0]["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
        lines.append(json.dumps(document).encode())
    return lines


@pytest.mark.parametrize("form", [["--format", "otlp"], []])
def test_a_file_of_spans_becomes_emissions(form: list[str], repo: Path, tmp_path: Path):
    """JSON Lines, as the collector's file exporter writes them; found by its content, too."""
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b"\n".join(spans_of(TRUE, ANSWER)) + b"\n")
    result = run(str(path), *form, "--root", str(repo), "--emitter", "builder")
    emissions = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, f"sluice: {path}: 2 messages, 4 statements, 0 not understood\n")
    assert [one["text"] for one in emissions] == [TRUE, ANSWER]
    assert [one["emission_id"].partition(":")[0] for one in emissions] == ["c-0", "c-1"]
    assert [one["locator"]["path"] for one in emissions[0]["assertions"][0]["provenance"]] == ["limits.py"]


def test_one_object_of_spans_may_be_written_over_many_lines(repo: Path, tmp_path: Path):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(json.loads(spans_of(TRUE)[0]), indent=2))
    result = run(str(path), "--root", str(repo))
    assert result.exit_code == 0
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == [TRUE]


def test_spans_come_over_standard_input_and_broken_lines_are_told(repo: Path):
    lines = spans_of(TRUE, ANSWER)
    given = b"\n".join([lines[0], b'{"resourceSpans": [', b"7", b'{"resourceLogs": []}', lines[1]]).decode()
    result = run("-", "--format", "otlp", "--root", str(repo), lines=given)
    assert result.exit_code == 1
    assert [json.loads(line)["text"] for line in result.stdout.splitlines()] == [TRUE, ANSWER]
    assert result.stderr.splitlines() == [
        "sluice: standard input:2: The line is not JSON, or is cut off.",
        "sluice: standard input:3: This is no OTLP object.",
        "sluice: standard input: 2 messages, 4 statements, 2 not understood",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "0 messages, 0 statements, 0 not understood: nothing of an agent was read"),
        ('{"kind": "another agent"}\n', "0 messages, 0 statements, 1 not understood: nothing of an agent was read"),
        ("{broken\n" * 30, "0 messages, 0 statements, 30 not understood: nothing of an agent was read"),
        (
            '{"type": "user", "uuid": "u", "message": {"role": "user", "content": "q"}}\n',
            "nothing of an agent was read",
        ),
    ],
)
@pytest.mark.parametrize("command", ["record", "vet"])
def test_where_nothing_of_an_agent_is_read_the_status_says_so(
    command: str, text: str, told: str, repo: Path, tmp_path: Path
):
    """Exit status 2, never 0: a check in CI that read nothing has checked nothing."""
    path = tmp_path / "session.jsonl"
    path.write_text(text)
    result = CliRunner().invoke(main, [command, str(path), "--format", "claude-code", "--root", str(repo)])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"sluice: {path}: ")
    assert result.stderr.splitlines()[-1].endswith(told)


def test_spans_are_appended_to_a_file(tmp_path: Path):
    path, out = tmp_path / "traces.jsonl", tmp_path / "emissions.jsonl"
    path.write_bytes(spans_of(TRUE)[0])
    for _ in range(2):
        assert run(str(path), "--format", "otlp", "--out", str(out)).exit_code == 0
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == [TRUE, TRUE]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["traces.jsonl", "--follow"], "sluice: a file of spans cannot be followed; use the span processor"),
        (["nowhere", "--format", "otlp"], "sluice: nowhere: the file cannot be read: No such file or directory"),
        ([".", "--format", "otlp"], "sluice: .: the file cannot be read: Is a directory"),
    ],
)
def test_spans_are_not_followed_and_not_taken_from_nowhere(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("traces.jsonl").write_bytes(spans_of(TRUE)[0])
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)


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
