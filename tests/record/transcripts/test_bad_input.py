"""Transcripts that are cut, hostile, or too large: one sentence for what is lost, the rest is read."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import (
    TranscriptError,
    claude_code,
    codex,
    foreign_json,
    open_end,
    open_transcript,
    transcript_lines,
)
from sluice.record.transcripts.foreign_json import MAX_LINE, Unreadable, arguments, decode, moment
from sluice.record.transcripts.transcript_lines import MAX_PROBLEMS, lines_of

DATA = Path(__file__).parent / "data"
GOOD = b'{"type": "assistant", "uuid": "a", "message": {"id": "m", "content": "So."}}\n'


def events_of(line: bytes) -> list[Event]:
    return list(claude_code.read([line, GOOD]))


def test_a_file_that_is_cut_in_a_line_loses_that_line(tmp_path: Path) -> None:
    lines = (DATA / "claude-code.jsonl").read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:12]) + lines[12][:-40])
    found = list(open_transcript(cut))
    whole = list(claude_code.read(lines[:12]))
    assert found == [
        *whole[:-1],
        Problem(line=13, sentence="This line is not JSON, or is cut off; it is passed over."),
        whole[-1],
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"\n", None),
        (b" \r\n", None),
        (b"no JSON\n", "is not JSON, or is cut off"),
        (b'{"a": "\xff"}\n', "is not UTF-8"),
        (b"\0\0\0\0\n", "has only NUL bytes"),
        (b'{"a": "\0"}\n', "is not JSON, or is cut off"),
        (b"[" * 200_000 + b"\n", "is nested deeper than 128 levels"),
        (b'{"a":' * 129 + b"1" + b"}" * 129, "is nested deeper than 128 levels"),
        (b'{"a": 1' + b"0" * 10_000 + b"}", None),
        (b'{"a": 1e999999, "b": NaN, "c": -Infinity}', None),
        (b'{"a": "\\ud83d", "b": "\\udc00\\ud800"}', None),
        (b"\xef\xbb\xbf{}\n", None),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_one_problem(line: bytes, sentence: str | None) -> None:
    found = events_of(line)
    if sentence is not None:
        assert found.pop(0) == Problem(line=1, sentence=f"This line {sentence}; it is passed over.")
    assert [type(event) for event in found] == [TurnBegan, Message, TurnEnded]


@pytest.mark.parametrize("line", [b"[1, 2]", b'"text"', b"7", b"null"])
def test_a_line_that_is_no_object_is_one_problem(line: bytes) -> None:
    assert events_of(line)[0] == Problem(line=1, sentence="This line is no JSON object; it is passed over.")


def test_records_of_which_none_is_known_are_told() -> None:
    """A later version may write others; nobody is to believe that nothing was said."""
    found = list(claude_code.read([b'{"type": "answer.v9", "words": "So."}\n'] * 3))
    assert [type(event) for event in found] == [Problem]
    assert "None of the 3 lines here has a known form" in found[0].sentence  # type: ignore[union-attr]
    assert list(claude_code.read([])) == []
    mixed = list(claude_code.read([b'{"type": "answer.v9", "words": "So."}\n', GOOD]))
    assert not [event for event in mixed if isinstance(event, Problem)]


def test_the_end_of_a_long_transcript_is_read_alone(tmp_path: Path) -> None:
    """Of what lies before it not a byte is read, and a line that is cut by the beginning is passed over."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.truncate(1_000_000_000)  # a hole: to read it takes time and memory that nobody has here
        file.seek(0, 2)
        file.write(b"\n" + GOOD)
    found = list(open_end(path, "claude-code", len(GOOD) + 10))
    assert [type(event) for event in found] == [TurnBegan, Message, TurnEnded]
    assert list(open_end(path, "claude-code", len(GOOD) - 10)) == []
    path.write_bytes(GOOD)
    assert [type(event) for event in open_end(path, "claude-code", 10_000)] == [TurnBegan, Message, TurnEnded]
    with pytest.raises(TranscriptError):
        open_end(tmp_path / "missing.jsonl", "claude-code", 10_000)


def test_a_crash_may_leave_nul_bytes_before_a_record() -> None:
    assert [type(event) for event in claude_code.read([b"\0" * 64 + GOOD])] == [TurnBegan, Message, TurnEnded]


def test_twenty_problems_are_reported_and_the_others_counted() -> None:
    found = list(claude_code.read([b"x\n"] * 50 + [GOOD]))
    problems = [event for event in found if isinstance(event, Problem)]
    assert [problem.line for problem in problems] == [*range(1, MAX_PROBLEMS + 1), 50]
    assert problems[-1].sentence == "There were 30 more problems; the last one was in this line."
    assert Message(text="So.", at=None) in found
    assert len(list(claude_code.read([b"x\n"] * 20))) == MAX_PROBLEMS


def test_numbers_and_halves_of_pairs_become_what_others_can_write() -> None:
    found = decode(b'{"a": [1e999, NaN, -Infinity, 12, 1.5, "\\ud83d\\ude00", "\\ud83d", "\\\\ud83d", "\\ude00\\n"]}')
    assert found == {"a": ["1e999", "NaN", "-Infinity", 12, 1.5, "😀", "\ufffd", "\\ud83d", "\ufffd\n"]}
    json.dumps(found, allow_nan=False).encode()
    digits = "9" * 401
    assert decode(digits.encode()) == digits


def test_a_long_line_is_passed_over_and_never_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_LINE == 64 * 1024 * 1024
    for module in (transcript_lines, foreign_json):
        monkeypatch.setattr(module, "MAX_LINE", 100)
    monkeypatch.setattr(transcript_lines, "_PIECE", 16)
    fits = b'{"type": "' + b"x" * 86 + b'"}\n'
    assert len(fits) == 99
    lines = list(lines_of(io.BytesIO(b"y" * 1_000 + b"\n" + fits + GOOD + b"z" * 500)))
    assert [len(line) for line in lines] == [101, 99, len(GOOD), 101]
    found = list(claude_code.read(lines))
    assert [event for event in found if isinstance(event, Problem)] == [
        Problem(line=line, sentence="This line is longer than 0 MB; it is passed over.") for line in (1, 4)
    ]


def test_a_long_session_is_read_in_the_memory_of_one_turn() -> None:
    def lines() -> Iterator[bytes]:
        for turn in range(300):
            for part in range(4):
                use = {"type": "tool_use", "id": f"c{part}", "name": "Read", "input": {"n": turn}}
                yield json.dumps({"type": "assistant", "message": {"id": f"{turn}-{part}", "content": [use]}}).encode()
                got = {"type": "tool_result", "tool_use_id": f"c{part}", "content": "x" * 50_000}
                yield json.dumps({"type": "user", "message": {"content": [got]}}).encode()
            yield json.dumps({"type": "user", "uuid": f"p{turn}", "message": {"content": "Next"}}).encode()

    list(claude_code.read([GOOD]))
    tracemalloc.start()
    try:
        results = sum(len(event.result or "") for event in claude_code.read(lines()) if isinstance(event, ToolCall))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert results == 300 * 4 * 50_000
    assert peak < 2_000_000


def test_results_that_wait_for_their_calls_are_held_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_lines, "MAX_LINE", 100)
    blocks = [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "x" * 40} for number in range(4)]
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"content": [block]}} for block in blocks]
    calls = [{"type": "tool_use", "id": f"c{number}", "name": "Read"} for number in range(4)]
    lines.append({"type": "assistant", "message": {"id": "m", "content": calls}})
    found = list(claude_code.read(json.dumps(line).encode() for line in [json.loads(GOOD), *lines]))
    assert [event.line for event in found if isinstance(event, Problem)] == [2, 3]
    assert [event.ok for event in found if isinstance(event, ToolCall)] == [True, True, False, False]


def test_results_that_found_their_calls_no_longer_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_lines, "MAX_LINE", 100)
    lines: list[dict[str, Any]] = [json.loads(GOOD)]
    for call_ids, size in ((["c1"], 90), (["c2"], 90), (["c3", "c4"], 45)):
        for call_id in call_ids:
            got = {"type": "tool_result", "tool_use_id": call_id, "content": "x" * size}
            lines.append({"type": "user", "message": {"content": [got]}})
        uses = [{"type": "tool_use", "id": call_id, "name": "Read"} for call_id in call_ids]
        lines.append({"type": "assistant", "message": {"id": call_ids[0], "content": uses}})
    found = list(claude_code.read(json.dumps(line).encode() for line in lines))
    assert [event.ok for event in found if isinstance(event, ToolCall)] == [True] * 4


def test_only_the_last_calls_without_a_result_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_lines, "_MAX_LATE", 1)
    blocks = [{"type": "tool_use", "id": call_id, "name": "Read"} for call_id in ("c1", "c2")]
    lines: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"id": "m", "content": blocks}},
        {"type": "user", "uuid": "p", "message": {"content": "Next"}},
        *({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": c}]}} for c in ("c1", "c2")),
    ]
    found = list(claude_code.read(json.dumps(line).encode() for line in lines))
    assert [event.sentence for event in found if isinstance(event, Problem)] == [
        "The result of the call 'c2' came after its turn had ended.",
        "There is no call 'c1' that this is the result of.",
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-03-02T09:00:00Z", datetime(2026, 3, 2, 9, tzinfo=UTC)),
        ("2026-03-02T09:00:00.123456+02:00", datetime(2026, 3, 2, 7, 0, 0, 123456, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("yesterday", None),
        ("2026-03-02T09:00:00Z" * 10, None),
        (1772442000, None),
        (None, None),
    ],
)
def test_moments_are_utc_or_none(written: object, expected: datetime | None) -> None:
    assert moment(written) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"input": "[1]"}),
        ("{", {"input": "{"}),
        ("\ud800", {"input": "\ud800"}),
        ([1], {"input": [1]}),
        (None, {}),
        ("", {}),
    ],
)
def test_arguments_are_an_object(given: object, expected: dict[str, Any]) -> None:
    assert arguments(given) == expected


def test_nothing_depends_on_how_deep_the_caller_stands() -> None:
    deep = b'{"a":' * 128 + b"1" + b"}" * 128

    def stand(levels: int) -> object:
        return stand(levels - 1) if levels else decode(deep)

    assert stand(sys.getrecursionlimit() // 2) == decode(deep)
    with pytest.raises(Unreadable):
        decode(b"[" + deep + b"]")


@pytest.mark.parametrize(
    ("module", "line", "sentence"),
    [
        (
            claude_code,
            b'{"type": "assistant_turn", "uuid": "b", "message": {"content": "So."}}\n',
            "This record is of a kind that is not known, 'assistant_turn'; it is passed over.",
        ),
        (
            claude_code,
            b'{"type": "assistant", "uuid": "b", "message": {"id": "n", "content": [{"type": "words", "of": "x"}]}}\n',
            "This block is of a kind that is not known, 'words'; it is passed over.",
        ),
        (
            codex,
            b'{"type": "response_item", "payload": {"type": "agent_words", "content": "So."}}\n',
            "This item is of a kind that is not known, 'agent_words'; it is passed over.",
        ),
        (
            codex,
            b'{"type": "event_msg", "payload": {"type": "a_new_event"}}\n',
            "This event is of a kind that is not known, 'a_new_event'; it is passed over.",
        ),
    ],
)
def test_what_a_later_version_may_write_is_told(module: Any, line: bytes, sentence: str) -> None:
    """What holds words or calls and is of no known kind is not passed over in silence."""
    assert Problem(line=1, sentence=sentence) in list(module.read([line, GOOD]))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (claude_code, b'{"type": "a-new-notice", "uuid": "b", "content": "x"}\n'),
        (
            claude_code,
            b'{"type": "assistant", "uuid": "b", "message": {"id": "n", "content": [{"type": "thinking"}]}}\n',
        ),
        (codex, b'{"type": "response_item", "payload": {"type": "reasoning"}}\n'),
        (codex, b'{"type": "event_msg", "payload": {"type": "token_count"}}\n'),
    ],
)
def test_what_holds_neither_words_nor_calls_is_no_problem(module: Any, line: bytes) -> None:
    assert not [one for one in module.read([line, GOOD]) if isinstance(one, Problem) and not one.nothing_read]
