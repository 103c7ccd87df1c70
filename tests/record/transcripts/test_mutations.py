"""Whatever stands in a transcript, reading it raises nothing and gives events whose members have their types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_mutations import copied, places

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import claude_code, codex, openhands, opening, swe_agent
from sluice.record.transcripts.opening import TranscriptError, detect

DATA = Path(__file__).parent / "data"


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _as_lines(records: list[Any]) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


def _as_list(records: list[Any]) -> list[bytes]:
    return [json.dumps(records).encode()]


def _as_steps(records: list[Any]) -> list[bytes]:
    return [json.dumps({"trajectory": records}, indent=1).encode()]


SAMPLES: dict[str, tuple[list[Any], Callable[[list[Any]], list[bytes]], Callable[[Any], Iterator[Event]]]] = {
    "claude-code": (_lines(DATA / "claude-code.jsonl"), _as_lines, claude_code.read),
    "codex": (_lines(DATA / "codex.jsonl"), _as_lines, codex.read),
    "openhands": (json.loads((DATA / "openhands.json").read_bytes()), _as_list, openhands.read),
    "openhands-sdk": (
        [json.loads(path.read_bytes()) for path in opening.event_files(DATA / "openhands-sdk")],
        _as_list,
        openhands.read,
    ),
    "swe-agent": (json.loads((DATA / "swe-agent.traj").read_bytes())["trajectory"], _as_steps, swe_agent.read),
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 10**30, 10**4000, 1.5, float("nan"), float("inf")])
    | st.sampled_from(
        ["", "\0", "\ud800", "u1", "call_1", "toolu_1", "assistant", "user", "message", "text", "x" * 300]
    )
    | st.sampled_from(
        ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-03-02", "tool_use", "tool_result"]
    )
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "content", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def mutated(draw: st.DrawFn, name: str) -> list[Any]:
    records = copied(SAMPLES[name][0])
    for _ in range(draw(st.integers(1, 6))):
        change = draw(st.sampled_from(["value", "value", "value", "remove", "swap", "again"]))
        found = places(records, [])
        if not found:
            break
        if change == "swap":
            one, other = draw(st.integers(0, len(records) - 1)), draw(st.integers(0, len(records) - 1))
            records[one], records[other] = records[other], records[one]
            continue
        if change == "again":
            records.append(copied(records[draw(st.integers(0, len(records) - 1))]))
            continue
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        if change == "remove":
            del holder[key]
        elif draw(st.booleans()):
            other_holder, other_key = found[draw(st.integers(0, len(found) - 1))]
            holder[key] = copied(other_holder[other_key])
        else:
            holder[key] = draw(VALUES)
    return records


def check(event: object) -> None:
    assert type(event) in get_args(Event)
    if isinstance(event, ToolCall):
        assert isinstance(event.call_id, str)
        assert isinstance(event.name, str)
        assert isinstance(event.arguments, dict)
        json.dumps(event.arguments, allow_nan=False).encode()
        assert event.result is None or isinstance(event.result, str)
        assert isinstance(event.ok, bool)
        assert event.cwd is None or isinstance(event.cwd, str)
    if isinstance(event, Message):
        assert event.text.strip()
        event.text.encode()
    if isinstance(event, TurnBegan):
        assert isinstance(event.turn_id, str)
    if isinstance(event, Problem):
        assert isinstance(event.line, int)
        assert event.sentence.endswith(".")
    else:
        assert event.at is None or (isinstance(event.at, datetime) and event.at.utcoffset() is not None)  # type: ignore[attr-defined]


def check_order(events: list[Event]) -> None:
    running = False
    for event in events:
        check(event)
        if isinstance(event, TurnBegan):
            assert not running
            running = True
        elif isinstance(event, TurnEnded):
            assert running
            running = False
        elif not isinstance(event, Problem):
            assert running
    assert not running


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
def test_values_of_any_type_anywhere(name: str, data: st.DataObject) -> None:
    records = data.draw(mutated(name))
    _, write, read = SAMPLES[name]
    check_order(list(read(write(records))))


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
def test_bytes_changed_anywhere(name: str, data: st.DataObject) -> None:
    records, write, read = SAMPLES[name]
    written = bytearray(b"".join(write(records)))
    for _ in range(data.draw(st.integers(1, 8))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(written)))
    check_order(list(read(bytes(written[:end]).splitlines(keepends=True))))


@given(head=st.binary(max_size=80) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_a_format_is_named_or_an_error(head: bytes) -> None:
    try:
        found = detect(head)
    except TranscriptError:
        return
    assert found in opening.FORMATS
