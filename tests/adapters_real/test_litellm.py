"""Calls through the real LiteLLM become emissions."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import litellm
import pytest
from model_provider import ANSWER, CHECK, SOURCE, Provider, Recorded

from sluice.record import MemorySink, Recorder
from sluice.record.adapters.litellm import logger


@pytest.fixture
def log(recorded: Recorded) -> Iterator[Any]:
    made = logger(recorded.recorder)
    litellm.callbacks = [made]
    yield made
    forget()


def forget() -> None:
    """LiteLLM copies what stands in `callbacks` to lists of its own."""
    litellm.logging_callback_manager._reset_all_callbacks()


def asked(result: Any = SOURCE, path: str = "limits.py", call_id: str = "1") -> list[dict[str, Any]]:
    """A question, a call, and its result."""
    function = {"name": "read_source", "arguments": json.dumps({"path": path})}
    return [
        {"role": "user", "content": "?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


def settle(log: Any) -> None:
    """LiteLLM logs synchronous calls in threads of its own."""
    from litellm.litellm_core_utils.thread_pool_executor import executor

    executor.submit(lambda: None).result(10)
    for _ in range(200):
        if log.flush() and (log._calls._seen or log.failed_calls or log.failures):
            break
        time.sleep(0.02)
    assert log.flush()


async def settle_async(log: Any, count: int = 1) -> None:
    """LiteLLM logs asynchronous calls in tasks of its own."""
    for _ in range(500):
        await asyncio.sleep(0.02)
        if log.flush() and len(log._calls._seen) + log.failed_calls >= count:
            return
    raise AssertionError("LiteLLM called nobody")


def test_an_answer_is_annotated_by_the_results_in_its_messages(log: Any, recorded: Recorded) -> None:
    litellm.completion(model="gpt-4o", messages=asked(), mock_response=ANSWER, metadata={"session_id": "c-1"})
    settle(log)
    (emission,) = recorded.emissions
    assert emission.emission_id.startswith("c-1:")
    assert emission.text == ANSWER
    assert recorded.checks() == [[CHECK]]


def test_a_streamed_answer_is_one_emission(log: Any, recorded: Recorded) -> None:
    for _ in litellm.completion(model="gpt-4o", messages=asked(), mock_response=ANSWER, stream=True):
        pass
    settle(log)
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_asynchronous_calls_are_recorded_once(log: Any, recorded: Recorded) -> None:
    await litellm.acompletion(model="gpt-4o", messages=asked(), mock_response=ANSWER)
    await settle_async(log)
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_an_asynchronous_stream_is_one_emission(log: Any, recorded: Recorded) -> None:
    stream = await litellm.acompletion(model="gpt-4o", messages=asked(), mock_response=ANSWER, stream=True)
    async for _ in stream:
        pass
    await settle_async(log)
    assert [one.text for one in recorded.emissions] == [ANSWER]


async def test_a_failed_call_has_no_answer_and_is_counted(log: Any, recorded: Recorded) -> None:
    with pytest.raises(litellm.InternalServerError):
        await litellm.acompletion(model="gpt-4o", messages=asked(), mock_response=Exception("no"), max_retries=0)
    await settle_async(log)
    assert recorded.emissions == []
    assert log.failed_calls == 1
    assert log.failures == 0


async def test_a_conversation_keeps_its_calls(log: Any, recorded: Recorded) -> None:
    """The second request repeats the first one's call: it is told once, and counts for both answers."""
    session = {"session_id": "c-1"}
    await litellm.acompletion(model="gpt-4o", messages=asked(), mock_response=ANSWER, metadata=session)
    await settle_async(log)
    more = [*asked(), {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "Sure?"}]
    await litellm.acompletion(model="gpt-4o", messages=more, mock_response=ANSWER, metadata=session)
    await settle_async(log, 2)
    assert recorded.checks() == [[CHECK], [CHECK]]
    assert len(log._calls._known._known["c-1"]) == 1
    first, second = recorded.emissions
    assert first.emission_id != second.emission_id


async def test_a_provider_over_http_is_read_like_a_mock(log: Any, recorded: Recorded, provider: Provider) -> None:
    message = {"role": "assistant", "content": ANSWER}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    provider.script({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
    await litellm.acompletion(model="openai/m", api_base=provider.url, messages=asked())
    await settle_async(log)
    assert recorded.checks() == [[CHECK]]


async def test_the_messages_api_is_read_too(log: Any, recorded: Recorded, provider: Provider) -> None:
    provider.script(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": ANSWER}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    used = {"type": "tool_use", "id": "t", "name": "read_source", "input": {"path": "limits.py"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": SOURCE}]}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]},
    ]
    await litellm.anthropic_messages(
        model="anthropic/claude-x", max_tokens=100, messages=messages, api_base=provider.url.removesuffix("/v1")
    )
    await settle_async(log)
    assert recorded.checks() == [[CHECK]]


async def test_the_responses_api_is_read_too(log: Any, recorded: Recorded, provider: Provider) -> None:
    content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
    output = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}
    provider.script(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "m",
            "output": [output],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )
    call = {"type": "function_call", "call_id": "1", "name": "read_source", "arguments": '{"path": "limits.py"}'}
    given = [{"role": "user", "content": "?"}, call, {"type": "function_call_output", "call_id": "1", "output": SOURCE}]
    await litellm.aresponses(model="openai/m", input=given, api_base=provider.url)
    await settle_async(log)
    assert recorded.checks() == [[CHECK]]


async def test_many_calls_at_once_do_not_mix(log: Any, recorded: Recorded) -> None:
    names = "abcdefgh"

    async def one(name: str) -> None:
        result = f"{name.upper()}_LIMIT = {ord(name)}\n"
        said = f"`{name.upper()}_LIMIT` is {ord(name)}."
        await litellm.acompletion(
            model="gpt-4o",
            messages=asked(result, f"{name}.py"),
            mock_response=said,
            metadata={"session_id": name},
        )

    await asyncio.gather(*map(one, names))
    await settle_async(log, len(names))
    assert len(recorded.emissions) == len(names)
    for record in recorded.sink.records:
        value = json.loads(record.value)
        (assertion,) = value["assertions"]
        assert [each["locator"]["path"] for each in assertion["provenance"]] == [f"{value['emission_id'][0]}.py"]


async def test_several_choices_are_answers_of_their_own(log: Any, recorded: Recorded) -> None:
    await litellm.acompletion(model="gpt-4o", messages=asked(), mock_response=ANSWER, n=2)
    await settle_async(log)
    first, second = recorded.emissions
    assert first.text == second.text == ANSWER
    assert second.emission_id == first.emission_id + "~1"


@pytest.mark.parametrize(
    "result", ["\0" * 10_000_000, "x" * 10_000_000, [{"type": "image_url", "image_url": {}}], None]
)
def test_large_and_binary_results_change_nothing(log: Any, recorded: Recorded, result: Any) -> None:
    litellm.completion(model="gpt-4o", messages=asked() + asked(result, "other", "2")[1:], mock_response=ANSWER)
    settle(log)
    assert recorded.checks() == [[CHECK]]
    assert len(recorded.text) < 5_000
    assert log.failures == 0


def test_a_secret_in_a_result_stays_there(log: Any, recorded: Recorded) -> None:
    secret = "ghp_" + "a1B2" * 10
    litellm.completion(model="gpt-4o", messages=asked(f"MAX_RETRIES = 5  # token = {secret}\n"), mock_response=ANSWER)
    settle(log)
    assert recorded.checks() == [[CHECK]]
    assert secret not in recorded.text


def test_what_is_redacted_is_not_recorded(log: Any, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "turn_off_message_logging", True)
    litellm.completion(model="gpt-4o", messages=asked(), mock_response=ANSWER)
    settle(log)
    assert recorded.emissions == []


def test_a_broken_sink_is_one_logged_sentence(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemorySink):
        def put(self, record: Any) -> None:
            raise ValueError("the disk is on fire")

    made = logger(Recorder("agent", Broken()))
    litellm.callbacks = [made]
    try:
        with caplog.at_level(logging.WARNING):
            answer = litellm.completion(model="gpt-4o", messages=asked(), mock_response=ANSWER)
            settle(made)
    finally:
        forget()
    assert answer.choices[0].message.content == ANSWER
    assert made.failures == 1
    (logged,) = [one for one in caplog.records if one.name == "sluice.record"]
    assert logged.getMessage().startswith("sluice: a part of a run is not recorded")


@pytest.mark.parametrize("kwargs", [None, 7, {}, {"messages": 7}, {"messages": [None, 7, {"role": []}]}])
def test_whatever_it_is_called_with_it_does_not_fail(log: Any, kwargs: Any) -> None:
    log.log_success_event(kwargs, object(), None, None)
    assert log.flush()
