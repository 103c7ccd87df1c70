"""Rollouts of Codex."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import codex, open_transcript

DATA = Path(__file__).parent / "data"


def events(*records: dict[str, Any]) -> list[Event]:
    return list(codex.read(json.dumps(record).encode() + b"\n" for record in records))


def item(kind: str, /, **payload: object) -> dict[str, Any]:
    return {"timestamp": None, "type": "response_item", "payload": {"type": kind, **payload}}


def event_msg(kind: str, /, **payload: object) -> dict[str, Any]:
    return {"timestamp": None, "type": "event_msg", "payload": {"type": kind, **payload}}


def message(role: str, said: str) -> dict[str, Any]:
    return item("message", role=role, content=[{"type": "input_text", "text": said}])


def call(call_id: str, given: str = "{}") -> dict[str, Any]:
    return item("function_call", name="shell", arguments=given, call_id=call_id)


def output(call_id: str, shown: object) -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=shown)


def calls(found: list[Event]) -> list[ToolCall]:
    return [each for each in found if isinstance(each, ToolCall)]


def said(found: list[Event]) -> list[str]:
    return [each.text for each in found if isinstance(each, Message)]


def turns(found: list[Event]) -> list[str]:
    return [each.turn_id for each in found if isinstance(each, TurnBegan)]


PROMPT = event_msg("user_message", message="Why?")


def test_the_sample_gives_these_events() -> None:
    def at(second: int) -> datetime:
        return datetime(2026, 3, 2, 9, 0, second, tzinfo=UTC)

    def tool_call(
        call_id: str, name: str, given: dict[str, Any], shown: str | None, ok: bool, second: int, cwd: str
    ) -> ToolCall:
        return ToolCall(call_id=call_id, name=name, arguments=given, result=shown, ok=ok, at=at(second), cwd=cwd)

    root, tests = "/home/dev/shop", "/home/dev/shop/tests"
    found = {"cmd": "rg -n MAX_ITEMS", "workdir": "src"}
    cat = {"command": ["bash", "-lc", "cat missing.py"]}
    patch = {"input": "*** Begin Patch\n*** End Patch"}
    assert list(open_transcript(DATA / "codex.jsonl")) == [
        TurnBegan(turn_id="turn-a", at=at(1)),
        Message(text="I look at the cart.", at=at(3)),
        tool_call("call_2", "shell", cat, "cat: missing.py: No such file or directory\n", False, 5, root),
        tool_call("call_1", "exec_command", found, "cart.py:3:MAX_ITEMS = 40\n", True, 6, root + "/src"),
        tool_call("call_3", "apply_patch", patch, "Done!", True, 8, root),
        Message(text="A cart holds at most 40 items (`MAX_ITEMS`).", at=at(10)),
        TurnEnded(at=at(10)),
        TurnBegan(turn_id="turn-b", at=at(21)),
        tool_call("call_4", "view_image", {"path": "a.png"}, None, True, 23, tests),
        tool_call("call_5", "mcp__docs__find", {"q": "cart"}, "cart.md", True, 24, tests),
        tool_call("call_6", "exec_command", {"cmd": "sleep 100"}, None, False, 25, tests),
        TurnEnded(at=at(25)),
    ]


def test_prompts_and_texts_of_both_logs_are_reported_once() -> None:
    found = events(
        message("user", "Why?"),
        PROMPT,
        message("assistant", "So."),
        event_msg("agent_message", message="So."),
        event_msg("agent_message", message="So."),
        message("user", "And?"),
        event_msg("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "And?"}]}),
        event_msg("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "So."}]}),
    )
    assert len(turns(found)) == 2
    assert said(found) == ["So.", "So.", "So."]  # twice in one log of the first turn, once in the second turn


def test_a_text_of_another_turn_is_reported_whichever_log_has_it() -> None:
    found = events(PROMPT, message("assistant", "So."), PROMPT, event_msg("agent_message", message="So."))
    assert said(found) == ["So.", "So."]


@pytest.mark.parametrize("written", ["<environment_context>x", "<turn_aborted>", "# AGENTS.md instructions for /a", ""])
def test_what_codex_writes_itself_is_no_prompt(written: str) -> None:
    assert turns(events(PROMPT, message("assistant", "So."), message("user", written))) == ["line-1"]


def test_a_prompt_that_looks_like_a_tag_is_one_where_the_event_says_so() -> None:
    found = events(
        PROMPT, message("assistant", "So."), message("user", "<div> is?"), event_msg("user_message", message="…")
    )
    assert turns(found) == ["line-1", "line-4"]


def test_two_prompts_of_one_task_are_two_turns_with_two_names() -> None:
    found = events(
        event_msg("task_started", turn_id="t1"),
        PROMPT,
        message("assistant", "So."),
        PROMPT,
        message("assistant", "So."),
    )
    assert turns(found) == ["t1", "line-4"]


@pytest.mark.parametrize(
    ("shown", "result", "ok"),
    [
        ("plain", "plain", True),
        ("Exit code: 2\nWall time: 1 seconds\nTotal output lines: 900\nOutput:\na\nb", "a\nb", False),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\n", "", True),
        ("Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nso far", "so far", True),
        ("Exit code: 0 is what it printed", "Exit code: 0 is what it printed", True),
        ('{"output":"x","metadata":{"exit_code":0}}', "x", True),
        ('{"output":"x","metadata":{"exit_code":127}}', "x", False),
        ('{"output":"x"', '{"output":"x"', True),
        ({"content": "err", "success": False}, "err", False),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:"}], "a", True),
        (7, None, True),
    ],
)
def test_the_frame_around_an_output_is_taken_off(shown: object, result: str | None, ok: bool) -> None:
    (tool_call,) = calls(events(PROMPT, call("c1"), output("c1", shown)))
    assert (tool_call.result, tool_call.ok) == (result, ok)


def test_the_end_of_a_command_tells_its_exit_code_and_stands_in_for_its_output() -> None:
    found = events(
        PROMPT,
        call("c1"),
        call("c2"),
        event_msg("exec_command_end", call_id="c1", exit_code=3, aggregated_output="whole"),
        event_msg("exec_command_end", call_id="c2", exit_code=0, aggregated_output="whole"),
        output("c1", "as the model saw it"),
    )
    assert [(tool_call.call_id, tool_call.result, tool_call.ok) for tool_call in calls(found)] == [
        ("c1", "as the model saw it", False),
        ("c2", "whole", True),
    ]


def test_commands_that_only_the_event_log_has_are_reported_but_not_those_of_the_user() -> None:
    command = {"command": ["rg", "x"], "exit_code": 1, "aggregated_output": "", "cwd": "/a"}
    found = events(
        PROMPT,
        event_msg("exec_command_end", call_id="n1", source="agent", **command),
        event_msg("exec_command_end", call_id="n2", source="user_shell", **command),
        event_msg("item_completed", item={"type": "CommandExecution", "id": "n1", **command}),
        event_msg("mcp_tool_call_end", call_id="n3", invocation={"server": "s", "tool": "t"}, result={"Err": "no"}),
    )
    assert [(tool_call.call_id, tool_call.name, tool_call.ok) for tool_call in calls(found)] == [
        ("n1", "exec_command", False),
        ("n3", "mcp__s__t", False),
    ]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/w/shop", "/w/shop"),
        ("file:///w/shop", "/w/shop"),
        ("file://localhost/w/a%20b", "/w/a b"),
        ("sub", "/w/sub"),
        ("file://[", "/w"),
    ],
)
def test_a_directory_may_be_written_as_a_uri(written: str, path: str) -> None:
    """Codex 0.146 and later write the directory of a command as a `file:` URI."""
    command = {"command": ["ls"], "exit_code": 0, "aggregated_output": "", "cwd": written}
    meta = {"timestamp": None, "type": "session_meta", "payload": {"cwd": "file:///w"}}
    (found,) = calls(
        events(meta, PROMPT, event_msg("item_completed", item={"type": "CommandExecution", "id": "n1", **command}))
    )
    assert found.cwd == path


def test_calls_of_every_kind() -> None:
    found = events(
        {"type": "session_meta", "payload": {"cwd": "/a"}},
        PROMPT,
        item("local_shell_call", call_id="1", action={"type": "exec", "command": ["ls"], "working_directory": "/b"}),
        output("1", ""),
        item("web_search_call", id="2", status="completed", action={"type": "search", "query": "q"}),
        item("tool_search_call", call_id="3", arguments={"query": "q"}),
        item("tool_search_output", call_id="3", tools=[{}]),
        item("custom_tool_call", call_id="4", name="exec", input="await x()"),
        item("custom_tool_call_output", call_id="4", output="fine"),
        item("function_call", call_id="5", name="find", namespace="mcp__docs__", arguments="no JSON"),
    )
    assert [
        (tool_call.name, tool_call.arguments, tool_call.result, tool_call.ok, tool_call.cwd)
        for tool_call in calls(found)
    ] == [
        ("local_shell", {"type": "exec", "command": ["ls"], "working_directory": "/b"}, "", True, "/b"),
        ("web_search", {"type": "search", "query": "q"}, None, True, "/a"),
        ("tool_search", {"query": "q"}, None, True, "/a"),
        ("exec", {"input": "await x()"}, "fine", True, "/a"),
        ("mcp__docs__find", {"input": "no JSON"}, None, False, "/a"),
    ]


def test_the_flat_lines_of_early_versions() -> None:
    found = events(
        {"id": "x", "timestamp": "2025-07-01T00:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"a","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
    )
    assert [type(each) for each in found] == [TurnBegan, ToolCall, Message, TurnEnded]
    assert calls(found)[0].result == "a"


def test_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    """An item or event of an unknown kind, which may be words or a call, is told."""
    found = events(
        PROMPT,
        {"timestamp": None, "ordinal": 7, "type": "world_state", "payload": {"type": "function_call"}},
        item("telepathy_call", call_id="t"),
        event_msg("mood", text="good"),
        event_msg("item_completed", item={"type": "Mood", "text": "good"}),
        message("assistant", "So."),
    )
    assert [type(each) for each in found] == [TurnBegan, Problem, Problem, Problem, Message, TurnEnded]


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "token_count",
            "task_started",
            "turn_complete",
            "agent_reasoning",
            "agent_message_content_delta",
            "turn_diff",
        ),
        *(
            "exec_command_begin",
            "exec_command_output_delta",
            "patch_apply_end",
            "collab_agent_spawn_end",
            "plan_update",
        ),
        *("thread_goal_updated", "thread_settings_applied", "hook_completed", "mcp_startup_complete", "item_started"),
    ],
)
def test_an_event_that_holds_neither_words_nor_calls_is_no_problem(kind: str) -> None:
    assert [type(each) for each in events(PROMPT, event_msg(kind, message="x"), message("assistant", "So."))] == [
        TurnBegan, Message, TurnEnded,
    ]  # fmt: skip


def test_an_output_without_an_identifier_is_a_problem() -> None:
    found = events(PROMPT, item("function_call_output", output="x"))
    assert [each.line for each in found if isinstance(each, Problem)] == [2]
