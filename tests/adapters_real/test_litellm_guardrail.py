"""The guardrail in the real LiteLLM: in a program, and in its proxy."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import litellm
import pytest
from litellm.exceptions import GuardrailRaisedException
from model_provider import ANSWER, SOURCE, WRONG, Provider
from starlette.testclient import TestClient

from sluice.codecs.errors import SluiceError, UsageError
from sluice.topology.vet.answering import Vetted
from sluice.topology.vet.litellm_guardrail import SluiceGuardrail

IDLE = "The retry waits 30 seconds with `jitter`, as `limits.py` says."
WITHHELD = "[sluice withheld this answer: observers contradict statement 1, the only one in this answer.]"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    litellm.logging_callback_manager._reset_all_callbacks()
    litellm.callbacks = []


@pytest.fixture
def guardrail(checkout: Path) -> SluiceGuardrail:
    return SluiceGuardrail(root=str(checkout), budget=60, default_on=True)


def question() -> list[Any]:
    return [{"role": "user", "content": "?"}]


def content(response: Any) -> str:
    return response.choices[0].message.content


# ------------------------------------------------------------ in a program


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD), (IDLE, IDLE)])
def test_a_synchronous_answer_is_withheld_where_observers_contradict_it(
    guardrail: SluiceGuardrail, said: str, shown: str
) -> None:
    response = litellm.completion(model="gpt-4o", messages=question(), mock_response=said)
    assert content(guardrail.vetted(response, question())) == shown


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
async def test_an_asynchronous_answer_is_vetted_before_it_comes_back(
    guardrail: SluiceGuardrail, said: str, shown: str
) -> None:
    litellm.callbacks = [guardrail]
    response = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=said)
    assert content(response) == shown


async def test_a_request_can_ask_for_the_guardrail_by_its_name(checkout: Path) -> None:
    litellm.callbacks = [SluiceGuardrail(root=str(checkout), budget=60, event_hook="post_call")]
    without = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=WRONG)
    with_it = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=WRONG, guardrails=["sluice"])
    assert [content(without), content(with_it)] == [WRONG, WITHHELD]


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
async def test_of_a_stream_nothing_comes_before_it_was_vetted(
    guardrail: SluiceGuardrail, said: str, shown: str
) -> None:
    stream = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=said, stream=True)
    pieces = [chunk async for chunk in guardrail.avetted_stream(stream, question())]
    assert "".join(one.choices[0].delta.content or "" for one in pieces) == shown
    assert pieces[-1].choices[0].finish_reason == "stop"
    assert shown == said or not any(WRONG[:10] in str(one) for one in pieces)


def test_a_mark_stands_behind_the_answer(checkout: Path) -> None:
    marking = SluiceGuardrail(root=str(checkout), budget=60, contradicted="mark", unsupported="mark")
    response = litellm.completion(model="gpt-4o", messages=question(), mock_response=f"{WRONG}\n\n{IDLE}\n\n{ANSWER}")
    shown = content(marking.vetted(response, question()))
    assert shown == (
        f"{WRONG}\n\n{IDLE}\n\n{ANSWER}\n\n[sluice: observers contradict statement 1, and nothing that was looked at "
        "bears out statement 2, of 3 in this answer.]"
    )


def test_unsupported_answers_can_be_withheld_as_well(checkout: Path) -> None:
    strict = SluiceGuardrail(root=str(checkout), budget=60, unsupported="withhold")
    response = litellm.completion(model="gpt-4o", messages=question(), mock_response=IDLE)
    assert content(strict.vetted(response)).startswith("[sluice withheld this answer: nothing that was looked at")


def test_the_results_in_the_messages_say_where_to_look(checkout: Path, tmp_path: Path) -> None:
    """Without a path in it the sentence names nothing that could be looked at."""
    tools = tmp_path / "tools.toml"
    tools.write_text('[[tool]]\nname = "read_source"\nclass = "substrate.code.read"\npath = "path"\n')
    strict = SluiceGuardrail(root=str(checkout), budget=60, unsupported="withhold", tools=str(tools))
    function = {"name": "read_source", "arguments": '{"path": "limits.py"}'}
    messages = [
        *question(),
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": SOURCE},
    ]
    said = "`MAX_RETRIES` is 5."
    response = litellm.completion(model="gpt-4o", messages=messages, mock_response=said)
    assert content(strict.vetted(response, messages)) == said


@pytest.mark.parametrize(("late", "shown"), [("pass", WRONG), ("withhold", "[sluice withheld this answer: it could")])
async def test_what_is_not_vetted_in_time_follows_the_setting(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, late: str, shown: str
) -> None:
    slow = SluiceGuardrail(root=str(checkout), budget=0.05, late=late, default_on=True)
    go = threading.Event()
    monkeypatch.setattr(slow._vetter, "_vetted", lambda *given: go.wait(30))
    litellm.callbacks = [slow]
    try:
        response = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=WRONG)
    finally:
        go.set()
    assert content(response).startswith(shown)


async def test_a_defect_of_ours_never_breaks_a_request(
    guardrail: SluiceGuardrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> Vetted:
        raise ZeroDivisionError

    monkeypatch.setattr(guardrail._vetter, "_vetted", broken)
    litellm.callbacks = [guardrail]
    response = await litellm.acompletion(model="gpt-4o", messages=question(), mock_response=WRONG)
    assert content(response) == WRONG


async def test_answers_at_once_do_not_mix(guardrail: SluiceGuardrail) -> None:
    litellm.callbacks = [guardrail]
    said = [ANSWER, WRONG] * 5
    found = await asyncio.gather(
        *(litellm.acompletion(model="gpt-4o", messages=question(), mock_response=one) for one in said)
    )
    assert [content(one) for one in found] == [ANSWER, WITHHELD] * 5


async def test_a_stream_that_cannot_be_written_again_is_refused(guardrail: SluiceGuardrail) -> None:
    """A stream of the Responses API."""
    block = {"type": "output_text", "text": WRONG}

    output = SimpleNamespace(output=[{"type": "message", "content": [block]}])
    completed = SimpleNamespace(type="response.completed", response=output)

    async def stream() -> Any:
        yield completed

    with pytest.raises(GuardrailRaisedException) as caught:
        [one async for one in guardrail.avetted_stream(stream())]
    assert "[sluice withheld this answer: " in str(caught.value)
    assert WRONG not in str(caught.value)


def test_a_wrong_setting_is_reported_at_the_start(checkout: Path, tmp_path: Path) -> None:
    for wrong in ({"contradicted": "block"}, {"budget": 0}, {"policy": "nowhere.toml"}, {"tools": "nowhere.toml"}):
        with pytest.raises(UsageError):
            SluiceGuardrail(root=str(checkout), **wrong)  # type: ignore[arg-type]
    with pytest.raises(SluiceError):
        SluiceGuardrail(root=str(tmp_path / "nowhere"))


# ------------------------------------------------------------ in the proxy


def chat(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "reasoning_content": f"I think: {text}"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def pieces_of(text: str) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    parts = [text[at : at + 7] for at in range(0, len(text), 7)]
    return [chunk({"role": "assistant", "content": ""}, None), *(chunk({"content": one}, None) for one in parts)] + [
        chunk({}, "stop")
    ]


@pytest.fixture
def proxy(checkout: Path, provider: Provider, tmp_path: Path) -> Callable[..., TestClient]:
    """LiteLLM's proxy with a configuration as operators write it."""
    from litellm.proxy.proxy_server import app, initialize

    def start(**settings: Any) -> TestClient:
        config = tmp_path / "config.yaml"
        guardrail = {
            "guardrail": "sluice.topology.vet.litellm_guardrail.SluiceGuardrail",
            "mode": "post_call",
            "default_on": True,
            "root": str(checkout),
            "budget": 60,
            **settings,
        }
        model = {"model": "openai/m", "api_base": provider.url, "api_key": "none"}
        claude = {"model": "anthropic/claude-x", "api_base": provider.url.removesuffix("/v1"), "api_key": "none"}
        # JSON is YAML.
        config.write_text(
            json.dumps(
                {
                    "model_list": [
                        {"model_name": "m", "litellm_params": model},
                        {"model_name": "claude", "litellm_params": claude},
                    ],
                    "guardrails": [{"guardrail_name": "sluice", "litellm_params": guardrail}],
                }
            )
        )
        asyncio.run(initialize(config=str(config)))
        return TestClient(app)

    return start


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_the_proxys_client_sees_one_sentence(proxy: Any, provider: Provider, said: str, shown: str) -> None:
    provider.script(chat(said))
    answer = proxy().post("/v1/chat/completions", json={"model": "m", "messages": question()})
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == shown
    assert (said in answer.text) == (said == shown)


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_the_client_of_a_stream_sees_it_too(proxy: Any, provider: Provider, said: str, shown: str) -> None:
    provider.script(pieces_of(said))
    body = {"model": "m", "messages": question(), "stream": True}
    answer = proxy().post("/v1/chat/completions", json=body)
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    streamed = "".join(json.loads(one)["choices"][0]["delta"].get("content") or "" for one in lines)
    assert streamed == shown
    assert answer.text.rstrip().endswith("data: [DONE]")


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_the_messages_api_of_the_proxy_is_vetted_too(proxy: Any, provider: Provider, said: str, shown: str) -> None:
    provider.script(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "thinking", "thinking": said, "signature": "x"}, {"type": "text", "text": said}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    answer = proxy().post("/v1/messages", json={"model": "claude", "max_tokens": 100, "messages": question()})
    assert answer.status_code == 200, answer.text
    assert [one["text"] for one in answer.json()["content"] if one["type"] == "text"] == [shown]
    assert (said in answer.text) == (said == shown)


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_a_stream_of_the_messages_api_is_vetted_too(proxy: Any, provider: Provider, said: str, shown: str) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    provider.script(
        [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said[at : at + 9]}}
                for at in range(0, len(said), 9)
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
    )
    body = {"model": "claude", "max_tokens": 100, "messages": question(), "stream": True}
    answer = proxy().post("/v1/messages", json=body)
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert "".join(one.get("delta", {}).get("text", "") for one in events) == shown
    assert events[-1]["type"] == "message_stop"


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_the_responses_api_of_the_proxy_is_vetted_too(proxy: Any, provider: Provider, said: str, shown: str) -> None:
    block = {"type": "output_text", "text": said, "annotations": []}
    output = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [block]}
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
    answer = proxy().post("/v1/responses", json={"model": "m", "input": "?"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["output"][0]["content"][0]["text"] == shown
    assert (said in answer.text) == (said == shown)
