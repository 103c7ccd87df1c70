"""Which format a transcript has, and opening it."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from sluice.record.events import Problem
from sluice.record.transcripts import (
    FORMATS,
    Format,
    TranscriptError,
    detect,
    open_transcript,
    opening,
    read,
    transcript_lines,
)

DATA = Path(__file__).parent / "data"
SAMPLES: list[tuple[str, Format]] = [
    ("claude-code.jsonl", "claude-code"),
    ("codex.jsonl", "codex"),
    ("openhands.json", "openhands"),
    ("swe-agent.traj", "swe-agent"),
]


@pytest.mark.parametrize(("name", "format"), SAMPLES)
def test_each_sample_is_known_by_its_path_and_by_its_bytes(name: str, format: Format, tmp_path: Path) -> None:
    data = (DATA / name).read_bytes()
    assert detect(DATA / name) == format
    assert detect(str(DATA / name)) == format
    assert detect(data) == format
    (tmp_path / "renamed").write_bytes(data)
    assert detect(tmp_path / "renamed") == format
    assert list(open_transcript(DATA / name)) == list(open_transcript(DATA / name, format))
    assert list(read(format, data.splitlines(keepends=True))) == list(open_transcript(DATA / name))


def test_the_name_tells_a_trajectory_whose_steps_come_late(tmp_path: Path) -> None:
    (tmp_path / "a.traj").write_bytes(b'{"info": {}, "replay_config": "')
    assert detect(tmp_path / "a.traj") == "swe-agent"


def test_directories() -> None:
    assert detect(DATA / "openhands-sdk") == "openhands"
    with pytest.raises(TranscriptError, match="no event log of OpenHands in this directory"):
        detect(DATA)
    with pytest.raises(TranscriptError, match="is a directory"):
        open_transcript(DATA / "openhands-sdk", "codex")


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b'{"type":"queue-operation","operation":"dequeue","sessionId":"s"}\n', "claude-code"),
        (b'{"type":"a-type-of-tomorrow","sessionId":"s"}\n', "claude-code"),
        (b'\0\0{"type":"summary","summary":"x","leafUuid":"u"}\n', "claude-code"),
        (b'broken\n{"type":"user","uuid":"u","message":{}}\n', "claude-code"),
        (b'{"timestamp":"t","type":"session_meta","payload":{}}', "codex"),
        (b'{"id":"x","timestamp":"t","instructions":null}\n', "codex"),
        (b'{"record_type":"state"}\n', "codex"),
        (b'{"type":"system","subtype":"init","session_id":"s","cwd":"/a"}\n', "claude-code"),
        (b'[\n  {\n    "type": "system",\n    "subtype": "init",\n    "session_id": "s"', "claude-code"),
        (b'{"id":1,"source":"user","action":"message","args":{}}\n', "openhands"),
        (b'[{"id":"e","source":"agent","kind":"SystemPromptEvent"', "openhands"),
        (b'{"trajectory": [{"source": "user", "action": "message", "args": {"thought": ""', "openhands"),
        (b'{"trajectory": [{"kind": "ActionEvent", "source": "agent", "thought": []', "openhands"),
        (b'{"environment": "main", "trajectory": [{"action": "ls", "response": "', "swe-agent"),
        (b'{"attempts": [{"trajectory": [{"action": "\\"source\\": \\"user\\"", "thought": "', "swe-agent"),
    ],
)
def test_first_bytes(head: bytes, format: Format) -> None:
    assert detect(head) == format


GEMINI = b"""{"sessionId": "3b", "projectHash": "5e", "startTime": "2026-09-30T08:00:00Z", "kind": "main"}
{"id": "1", "timestamp": "2026-09-30T08:00:00Z", "type": "user", "content": [{"text": "How many?"}]}
{"id": "2", "timestamp": "2026-09-30T08:00:05Z", "type": "gemini", "content": [{"text": "`A` is 5."}]}
"""
ATIF = b"""{"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "claude-code"}, "steps": [
  {"step_id": 2, "source": "agent", "message": "`A` is 5.", "observation": {"results": []}}]}"""


@pytest.mark.parametrize(
    "head", [b"", b"\n\n", b"# An answer\n\nIt is so.\n", b"{}", b"[]", b"[1, 2]", b'{"type": 7}', GEMINI, ATIF]
)
def test_what_is_none_says_so(head: bytes) -> None:
    with pytest.raises(TranscriptError, match="is no transcript of claude-code, codex, openhands, swe-agent"):
        detect(head)


@pytest.mark.parametrize("head", [b"\x28\xb5\x2f\xfd....", b"\x1f\x8b...."])
def test_compressed_files_say_what_to_do(head: bytes) -> None:
    with pytest.raises(TranscriptError, match=r"is compressed; unpack it first"):
        detect(head)


def test_a_first_line_that_is_longer_than_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_HEAD", 10)
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"type": "session_meta", "payload": {"base_instructions": "x" * 1000}}) + "\n")
    assert detect(path) == "codex"


def test_errors_are_raised_at_once(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match=r"away\.jsonl: cannot be read: No such file or directory"):
        open_transcript(tmp_path / "away.jsonl")
    with pytest.raises(TranscriptError, match="cannot be read"):
        open_transcript(tmp_path / "away.jsonl", "codex")
    with pytest.raises(TranscriptError, match="no such format"):
        open_transcript(DATA / "codex.jsonl", "cursor")  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "format"), SAMPLES)
@pytest.mark.parametrize("given", [True, False])
def test_standard_input(name: str, format: Format, given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO((DATA / name).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert list(open_transcript("-", format if given else None)) == list(open_transcript(DATA / name))


@pytest.mark.parametrize(("name", "format"), SAMPLES)
@pytest.mark.parametrize("given", [True, False])
def test_a_pipe_is_read_once(name: str, format: Format, given: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((DATA / name).read_bytes()))
    writer.start()
    assert list(open_transcript(pipe, format if given else None)) == list(open_transcript(DATA / name))
    writer.join(timeout=30)


@pytest.mark.parametrize(("name", "format"), SAMPLES)
def test_a_stream_whose_first_line_is_longer_than_the_head(
    name: str, format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (DATA / name).read_bytes()
    if format in ("openhands", "swe-agent"):
        data = json.dumps(json.loads(data)).encode()  # the whole document in one line
        monkeypatch.setattr(transcript_lines, "MAX_LINE", 1_400)
    monkeypatch.setattr(opening, "_HEAD", 300)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert list(open_transcript("-")) == list(open_transcript(DATA / name))


def test_standard_input_is_given_up_once_enough_of_it_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_HEAD", 100)
    monkeypatch.setattr(opening, "_MAX_FIRST_LINE", 1_000)
    for written in (b"prose\n" * 10_000, b"prose" * 10_000):
        stream = io.BytesIO(written)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream, 16)))  # type: ignore[arg-type]
        with pytest.raises(TranscriptError, match="standard input: is no transcript"):
            open_transcript("-")
        assert stream.tell() < 2_000


def test_a_format_that_is_named_wins_over_what_a_file_looks_like() -> None:
    found = list(open_transcript(DATA / "codex.jsonl", "claude-code"))
    assert found == [
        Problem(
            line=1,
            sentence="None of the 30 lines here has a known form: it may be another format, or of a later version.",
            nothing_read=True,
            lines=30,
        )
    ]


def test_the_page_names_each_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "transcripts.md").read_text()
    assert [name for name in FORMATS if f"`{name}`" not in page] == []
