"""Event logs of OpenHands, of both generations."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import open_transcript, openhands

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-02:00")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def events(*records: dict[str, Any]) -> list[Event]:
    return list(openhands.read([json.dumps(records).encode()]))


def calls(found: list[Event]) -> list[ToolCall]:
    return [each for each in found if isinstance(each, ToolCall)]


def action(number: int, kind: str, source: str = "agent", /, **given: object) -> dict[str, Any]:
    return {"id": number, "source": source, "action": kind, "args": given}


def answered(cause: int, kind: str = "run", content: object = "x", **more: object) -> dict[str, Any]:
    return {"id": 90, "source": "agent", "observation": kind, "content": content, "cause": cause, **more}


PROMPT = action(1, "message", "user", content="Why?")


def test_the_sample_of_the_first_generation_gives_these_events() -> None:
    def at(second: int) -> datetime:
        return datetime(2025, 11, 3, 7, 0, second, tzinfo=UTC)

    found = list(open_transcript(DATA / "openhands.json"))
    assert [each for each in found if not isinstance(each, ToolCall)] == [
        TurnBegan(turn_id="1", at=at(1)),
        Message(text="I look at the cart.", at=at(3)),
        Message(text="A cart holds at most 40 items (`MAX_ITEMS`).", at=at(7)),
        TurnEnded(at=at(7)),
    ]
    run, read = calls(found)
    assert (run.call_id, run.name, run.arguments["command"]) == ("4", "run", "rg -n MAX_ITEMS")
    assert (run.result, run.ok, run.at, run.cwd) == ("cart.py:3:MAX_ITEMS = 40", True, at(4), "/workspace/shop")
    assert (read.name, read.arguments["path"]) == ("read", "/workspace/shop/missing.py")
    assert (read.result, read.ok, read.at, read.cwd) == ("No such file", False, at(6), "/workspace/shop")


@pytest.mark.parametrize("directory", [DATA / "openhands-sdk", DATA / "openhands-sdk" / "events"])
def test_the_sample_of_the_sdk_gives_these_events(directory: Path) -> None:
    def at(second: int) -> datetime:
        return datetime(2026, 8, 3, 7, 0, second, 500_000, tzinfo=UTC)

    def tool_call(
        call_id: str, name: str, given: dict[str, Any], shown: str, ok: bool, second: int, cwd: str | None
    ) -> ToolCall:
        return ToolCall(call_id=call_id, name=name, arguments=given, result=shown, ok=ok, at=at(second), cwd=cwd)

    view = {"command": "view", "path": "/workspace/shop/missing.py"}
    search = {"command": "rg -n MAX_ITEMS", "is_input": False, "timeout": None, "reset": False}
    root = "/workspace/shop"
    assert list(open_transcript(directory)) == [
        TurnBegan(turn_id="00000001-aaaa-4bbb-8ccc-000000000000", at=at(1)),
        Message(text="I look at the cart.", at=at(2)),
        tool_call("toolu_2", "file_editor", view, "The path does not exist.", False, 4, None),
        tool_call("toolu_1", "terminal", search, "cart.py:3:MAX_ITEMS = 40", True, 5, root),
        tool_call("toolu_3", "terminal", {"command": "rm -r ."}, "Not that", False, 7, root),
        Message(text="A cart holds at most 40 items (`MAX_ITEMS`).", at=at(8)),
        TurnEnded(at=at(8)),
    ]


@pytest.mark.parametrize("name", ["trajectory", "history", "events"])
def test_a_trajectory_may_be_a_member_of_an_object(name: str) -> None:
    document = {"metadata": {"trajectory": [1]}, "instance_id": "x", name: [PROMPT], "after": {"a": [{}]}}
    found = list(openhands.read([json.dumps(document).encode()]))
    assert found == [TurnBegan(turn_id="1", at=None), TurnEnded(at=None)]


def test_events_may_stand_one_after_another() -> None:
    found = list(openhands.read(json.dumps(each).encode() + b"\n" for each in (PROMPT, action(2, "run"))))
    assert [type(each) for each in found] == [TurnBegan, ToolCall, TurnEnded]


@pytest.mark.parametrize(
    ("more", "ok"),
    [
        ({}, True),
        ({"success": False}, False),
        ({"extras": {"metadata": {"exit_code": 2}}}, False),
        ({"extras": {"exit_code": 2}}, False),
        ({"extras": {"metadata": {"exit_code": 0}}, "success": True}, True),
    ],
)
def test_a_command_that_failed_is_not_ok(more: dict[str, Any], ok: bool) -> None:
    (tool_call,) = calls(events(PROMPT, action(2, "run", command="x"), answered(2, **more)))
    assert tool_call.ok is ok


def test_observations_of_what_is_no_call_are_passed_over() -> None:
    found = events(PROMPT, action(2, "think", thought="Hm."), answered(2, "think"), answered(77, "null"))
    assert [type(each) for each in found] == [TurnBegan, TurnEnded]


def test_commands_of_the_user_are_no_calls() -> None:
    assert not calls(events(PROMPT, action(2, "run", "user", command="ls"), answered(2)))


def test_what_was_delegated_is_one_call() -> None:
    found = events(
        PROMPT,
        action(2, "delegate", agent="BrowsingAgent"),
        action(3, "message", content="I am the other one."),
        action(4, "browse", url="u"),
        answered(4, "browse"),
        answered(2, "delegate", "its answer"),
        action(5, "message", content="So."),
    )
    assert [each.text for each in found if isinstance(each, Message)] == ["So."]
    assert [(each.name, each.result) for each in calls(found)] == [("delegate", "its answer")]


def test_a_second_message_of_the_user_is_a_second_turn() -> None:
    found = events(PROMPT, PROMPT, action(2, "run"), action(3, "message", "user", content="And?"))
    assert [each.turn_id for each in found if isinstance(each, TurnBegan)] == ["1", "3"]
    assert isinstance(found[1], ToolCall)
    assert not found[1].ok


def sdk(kind: str, source: str = "agent", /, **more: object) -> dict[str, Any]:
    return {"id": "e", "kind": kind, "source": source, **more}


def test_the_sdk_in_its_other_shapes() -> None:
    call = {"name": "grep", "arguments": '{"pattern": "x"}'}
    found = events(
        sdk("MessageEvent", "user", llm_message={"content": []}),
        sdk("ActionEvent", action=None, tool_call_id="1", tool_call=call, thought=[]),
        sdk("AgentErrorEvent", tool_name="grep", tool_call_id="1", error="no such tool"),
        sdk("ActionEvent", tool_name="terminal", action={"kind": "A"}, tool_call_id="2"),
        sdk("ObservationEvent", tool_name="terminal", tool_call_id="2", observation={"output": "old", "exit_code": -1}),
        sdk("ActionEvent", tool_name="think", action={"thought": "Hm."}, tool_call_id="3"),
        sdk("ObservationEvent", tool_name="think", tool_call_id="3", observation={"content": []}),
        sdk("ACPToolCallEvent", tool_call_id="4", title="Read a.py", status="pending", raw_input={"path": "a.py"}),
        sdk("ACPToolCallEvent", tool_call_id="4", title="Read a.py", status="completed", raw_output="text"),
        sdk("EventOfTomorrow", tool_call_id="5"),
        sdk("MessageEvent", llm_message={"content": [{"type": "text", "text": "So."}]}),
        sdk("ObservationEvent", tool_name="terminal"),
    )
    assert [(each.name, each.arguments, each.result, each.ok) for each in calls(found)] == [
        ("grep", {"pattern": "x"}, "no such tool", False),
        ("terminal", {}, "old", False),
        ("Read a.py", {"path": "a.py"}, "text", True),
    ]
    assert [each.text for each in found if isinstance(each, Message)] == ["So."]
    assert [each.sentence for each in found if isinstance(each, Problem)] == [
        "This event is of a kind that is not known, 'EventOfTomorrow'; it is passed over.",
        "A tool result here names no call; it is passed over.",
    ]


def test_a_cut_file_of_a_directory_loses_only_its_event(tmp_path: Path) -> None:
    run = json.dumps(action(3, "run", command="ls"))
    for number, written in ((10, run), (9, run[:20]), (2, json.dumps(PROMPT))):
        (tmp_path / f"{number}.json").write_text(written)
    (tmp_path / "notes.json").write_text("not an event")
    found = list(open_transcript(tmp_path))
    assert [type(each) for each in found] == [TurnBegan, Problem, ToolCall, TurnEnded]
    assert found[1] == Problem(line=2, sentence="This event is not JSON, or is cut off; it is passed over.")


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (action(2, "shout", content="So."), "action is of a kind that is not known, 'shout'"),
        (action(2, "whisper", "user", content="So."), "action is of a kind that is not known, 'whisper'"),
        (answered(77, "heard"), "observation is of a kind that is not known, 'heard'"),
        ({"id": 2, "kind": "SpeechEvent", "text": "So."}, "event is of a kind that is not known, 'SpeechEvent'"),
        ({"id": 2, "text": "So."}, "event is of a kind that is not known, None"),
    ],
)
def test_what_a_later_version_may_write_is_told(record: dict[str, Any], what: str) -> None:
    """It counts as not understood, whoever it is of."""
    found = events(PROMPT, record, action(3, "message", content="So."))
    assert [each.sentence for each in found if isinstance(each, Problem)] == [f"This {what}; it is passed over."]


@pytest.mark.parametrize(
    "record",
    [
        *(action(2, kind) for kind in ("recall", "system", "change_agent_state", "think", "condensation")),
        *(answered(77, kind) for kind in ("agent_state_changed", "recall", "null", "error", "run", "loop_detection")),
        *({"id": 2, "kind": kind} for kind in ("ConversationStateUpdateEvent", "Condensation", "TokenEvent")),
    ],
)
def test_what_holds_neither_words_nor_calls_is_no_problem(record: dict[str, Any]) -> None:
    found = events(PROMPT, record, action(3, "message", content="So."))
    assert [type(each) for each in found] == [TurnBegan, Message, TurnEnded]
