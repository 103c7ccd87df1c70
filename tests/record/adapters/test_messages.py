"""Messages of providers: calls and their results, whatever else stands in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_mutations import mutated

from sluice.record import ToolCall
from sluice.record.adapters.messages import answers_of, calls_of, mcp_name, result_of, size_of, text_of
from sluice.record.call_results import MAX_RESULT

CHAT: list[Any] = [
    {"role": "user", "content": "?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path": "a.py"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "x = 1"},
]
ITEMS: list[Any] = [
    {"role": "user", "content": "?"},
    {"type": "function_call", "call_id": "1", "name": "Read", "arguments": '{"file_path": "a.py"}'},
    {"type": "function_call_output", "call_id": "1", "output": "x = 1"},
]
BLOCKS: list[Any] = [
    {"role": "user", "content": "?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "a.py"}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x = 1"}]}],
    },
]
LEGACY: list[Any] = [
    {"role": "assistant", "content": None, "function_call": {"name": "Read", "arguments": '{"file_path": "a.py"}'}},
    {"role": "function", "name": "Read", "content": "x = 1"},
]


@pytest.mark.parametrize("messages", [CHAT, ITEMS, BLOCKS, LEGACY])
def test_every_shape_gives_the_call_and_its_result(messages: list[Any]) -> None:
    (call,) = calls_of(messages)
    assert (call.name, call.arguments, call.result, call.ok) == ("Read", {"file_path": "a.py"}, "x = 1", True)
    assert call.at is None


def test_a_call_without_a_result_and_a_result_without_a_call_are_none() -> None:
    assert calls_of(CHAT[:2]) == []
    assert calls_of(CHAT[2:]) == []


def test_a_result_that_is_an_error_is_no_look() -> None:
    block = {**BLOCKS[2]["content"][0], "is_error": True}
    (call,) = calls_of([*BLOCKS[:2], {"role": "user", "content": [block]}])
    assert not call.ok


def test_an_id_that_is_given_twice_names_the_call_before_its_result() -> None:
    second = {"type": "function_call", "call_id": "1", "name": "Read", "arguments": '{"file_path": "b.py"}'}
    answered = {"type": "function_call_output", "call_id": "1", "output": "y = 2"}
    found = calls_of([*ITEMS, second, answered])
    assert [(one.arguments["file_path"], one.result) for one in found] == [("a.py", "x = 1"), ("b.py", "y = 2")]


def test_calls_of_mcp_servers_are_named_by_their_servers() -> None:
    hosted = {"type": "mcp_call", "id": "m", "server_label": "docs", "name": "find", "arguments": "{}", "output": "x"}
    used = {"type": "mcp_tool_use", "id": "1", "name": "find", "server_name": "docs", "input": {}}
    result = {"type": "mcp_tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}]}
    for messages in ([hosted], [{"role": "assistant", "content": [used, result]}]):
        (call,) = calls_of(messages)
        assert (call.name, call.result) == ("mcp__docs__find", "x")
    assert mcp_name(None, "find") == "find"


def test_a_local_shell_is_a_shell() -> None:
    action = {"type": "exec", "command": ["cat", "a.py"], "working_directory": "/w"}
    call = {"type": "local_shell_call", "id": "i", "call_id": "1", "action": action, "status": "completed"}
    (found,) = calls_of([call, {"type": "local_shell_call_output", "call_id": "1", "output": "x = 1"}])
    assert found.name == "local_shell"
    assert found.arguments == {"command": ["cat", "a.py"], "workdir": "/w"}


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        ({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}, ["a", "b"]),
        ({"choices": [{"message": {"content": None, "tool_calls": []}}]}, []),
        ({"choices": [{"text": "a"}]}, ["a"]),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]}, ["a"]),
        ({"output": [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "a"}]}]}, []),
        ({"content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}]}, ["a"]),
        ({}, []),
        (None, []),
    ],
)
def test_the_texts_of_a_response_are_its_answers(response: Any, texts: list[str]) -> None:
    assert answers_of(response) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        ({"type": "text", "text": "x"}, "x"),
        ([{"type": "text", "text": "x"}], "x"),
        ({"a": 1}, '{"a": 1}'),
        (b"x", None),
        (None, None),
        ("\0" * 100, None),
        (object(), None),
        ("\ud800", "\ufffd"),
    ],
)
def test_results_become_text(value: Any, text: str | None) -> None:
    assert result_of(value) == text


def test_a_long_result_is_cut_where_nobody_reads_on() -> None:
    assert len(result_of("x" * 10_000_000) or "") == MAX_RESULT
    assert len(result_of(["x" * 10_000_000]) or "") == MAX_RESULT


@given(st.data())
def test_no_mutation_makes_it_fail(data: st.DataObject) -> None:
    messages: Any = data.draw(mutated(data.draw(st.sampled_from([CHAT, ITEMS, BLOCKS, LEGACY]))))
    several = messages if isinstance(messages, list) else [messages]
    for call in calls_of(several):
        assert isinstance(call, ToolCall)
        call.name.encode()
        assert call.result is None or call.result.encode() is not None
    for said in answers_of(messages):
        said.encode()
    text_of(messages).encode()
    assert size_of(several) >= 0
