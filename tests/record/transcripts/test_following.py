"""Transcripts that are still being written."""

from __future__ import annotations

import json
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from sluice.record.events import Message, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import TranscriptError, follow, follow_transcript, open_transcript, opening

DATA = Path(__file__).parent / "data"
Item = TypeVar("Item")
Watch = Callable[[Iterator[Item]], "queue.Queue[Item | None]"]


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    flag = threading.Event()
    yield flag
    flag.set()


def watch(items: Iterator[Item]) -> queue.Queue[Item | None]:
    """What an iterator gives, from a thread of its own; None once it ended."""
    given: queue.Queue[Item | None] = queue.Queue()

    def run() -> None:
        for item in items:
            given.put(item)
        given.put(None)

    threading.Thread(target=run, daemon=True).start()
    return given


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_lines_come_as_they_are_appended_each_once_it_is_whole(tmp_path: Path, stop: threading.Event) -> None:
    path = tmp_path / "s.jsonl"
    given = watch(follow(path, stop=stop, poll=0.01))  # the file is not there yet
    append(path, b"one\ntw")
    assert given.get(timeout=30) == b"one\n"
    append(path, b"o\nthree\nfo")
    assert [given.get(timeout=30), given.get(timeout=30)] == [b"two\n", b"three\n"]
    stop.set()
    assert [given.get(timeout=30), given.get(timeout=30)] == [b"fo", None]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_cut_or_replaced_is_read_again(tmp_path: Path, stop: threading.Event, replaced: bool) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntwo\npart")
    given = watch(follow(path, stop=stop, poll=0.01))
    assert [given.get(timeout=30), given.get(timeout=30)] == [b"one\n", b"two\n"]
    if replaced:
        (tmp_path / "new").write_bytes(b"new\n")
        (tmp_path / "new").replace(path)
    else:
        path.write_bytes(b"new\n")
    assert given.get(timeout=30) == b"new\n"


def test_a_file_that_is_gone_is_waited_for(tmp_path: Path, stop: threading.Event) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    given = watch(follow(path, stop=stop, poll=0.01))
    assert given.get(timeout=30) == b"one\n"
    path.unlink()
    (tmp_path / "new").write_bytes(b"two\n")
    (tmp_path / "new").replace(path)
    assert given.get(timeout=30) == b"two\n"


def test_stopped_before_it_began_it_gives_what_is_there(tmp_path: Path, stop: threading.Event) -> None:
    path = tmp_path / "s.jsonl"
    stop.set()
    assert list(follow(path, stop=stop)) == []
    path.write_bytes(b"one\ntwo")
    assert list(follow(path, stop=stop)) == [b"one\n", b"two"]


def test_a_long_line_is_cut(tmp_path: Path, stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_LINE", 10)
    monkeypatch.setattr(opening, "_PIECE", 4)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 100 + b"\nshort\n")
    stop.set()
    found = list(follow(path, stop=stop))
    assert found[0][:11] == b"x" * 11
    assert len(found[0]) <= 12
    assert found[1:] == [b"short\n"]


def test_the_last_answer_is_reported_before_the_file_ends(tmp_path: Path, stop: threading.Event) -> None:
    path = tmp_path / "s.jsonl"
    lines = (DATA / "claude-code.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])
    given = watch(follow_transcript(path, "claude-code", stop=stop, poll=0.01))
    append(path, b"".join(lines[1:14]))
    kinds = [type(given.get(timeout=30)) for _ in range(6)]
    assert kinds == [TurnBegan, Message, ToolCall, ToolCall, ToolCall, Message]
    stop.set()
    assert [type(given.get(timeout=30)) for _ in range(2)] == [TurnEnded, type(None)]


def test_the_directory_of_a_conversation(tmp_path: Path, stop: threading.Event) -> None:
    source = sorted((DATA / "openhands-sdk" / "events").iterdir())
    directory = tmp_path / "c" / "events"
    directory.mkdir(parents=True)
    for path in source[:3]:
        shutil.copy(path, directory)
    given = watch(follow_transcript(tmp_path / "c", stop=stop, poll=0.01))
    assert [type(given.get(timeout=30)) for _ in range(2)] == [TurnBegan, Message]
    half = directory / source[3].name
    half.write_bytes(source[3].read_bytes()[:50])  # is being written
    for path in source[4:]:
        shutil.copy(path, directory)
    with pytest.raises(queue.Empty):
        given.get(timeout=0.2)
    shutil.copy(source[3], half)
    expected = list(open_transcript(DATA / "openhands-sdk"))[2:-1]
    assert [given.get(timeout=30) for _ in expected] == expected
    stop.set()
    assert given.get(timeout=30) is not None
    assert given.get(timeout=30) is None


def test_what_is_written_at_once_cannot_be_followed() -> None:
    with pytest.raises(TranscriptError, match="cannot be followed"):
        follow_transcript(DATA / "swe-agent.traj")
    with pytest.raises(TranscriptError, match="cannot be followed"):
        follow_transcript(DATA / "openhands.json")


def test_an_event_file_that_stays_broken_is_a_problem_at_the_end(tmp_path: Path, stop: threading.Event) -> None:
    (tmp_path / "1.json").write_text("{")
    (tmp_path / "2.json").write_text(json.dumps({"id": 2, "source": "user", "action": "message", "args": {}}))
    stop.set()
    kinds = [type(event).__name__ for event in follow_transcript(tmp_path, stop=stop)]
    assert kinds == ["Problem", "TurnBegan", "TurnEnded"]
