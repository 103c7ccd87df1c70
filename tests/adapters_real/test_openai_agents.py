"""Runs of the real OpenAI Agents SDK, against a provider on this machine, become emissions."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agents
import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner
from agents.mcp import MCPServerStdio
from model_provider import ANSWER, CHECK, SOURCE, Provider, Recorded, response, said
from openai import AsyncOpenAI

from sluice.record import MemorySink, Recorder
from sluice.record.adapters.openai_agents import tracing_processor


@pytest.fixture
def processor(recorded: Recorded) -> Iterator[Any]:
    made = tracing_processor(recorded.recorder)
    agents.set_trace_processors([made])
    yield made
    agents.set_trace_processors([])


def called(name: str, call_id: str = "call_1", /, **given: Any) -> dict[str, Any]:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(given),
        "status": "completed",
    }


def model(provider: Provider) -> OpenAIResponsesModel:
    return OpenAIResponsesModel("m", AsyncOpenAI(base_url=provider.url, max_retries=0))


@agents.function_tool
def read_source(path: str) -> str:
    """Reads a file."""
    return SOURCE


def reader(provider: Provider, **more: Any) -> Agent[Any]:
    return Agent(name="reader", model=model(provider), tools=[read_source], **more)


async def test_a_run_is_a_turn_with_what_its_function_read(
    processor: Any, recorded: Recorded, provider: Provider
) -> None:
    provider.script(response(called("read_source", path="limits.py")), response(said(ANSWER)))
    result = await Runner.run(reader(provider), "?", run_config=RunConfig(group_id="c-1"))
    processor.force_flush()
    assert result.final_output == ANSWER
    (emission,) = recorded.emissions
    assert emission.emission_id.startswith("c-1:trace_")
    assert emission.text == ANSWER
    assert recorded.checks() == [[CHECK]]
    assert json.loads(recorded.sink.records[0].value)["assertions"][0]["provenance"][0]["ts"]


def test_a_synchronous_run_is_recorded_too(processor: Any, recorded: Recorded, provider: Provider) -> None:
    provider.script(response(called("read_source", path="limits.py")), response(said(ANSWER)))
    Runner.run_sync(reader(provider), "?")
    processor.force_flush()
    assert recorded.checks() == [[CHECK]]


async def test_a_streamed_run_is_recorded_when_it_ends(processor: Any, recorded: Recorded, provider: Provider) -> None:
    whole = response(said(ANSWER))
    events = [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**whole, "status": "in_progress", "output": []},
        },
        {"type": "response.completed", "sequence_number": 1, "response": whole},
    ]
    provider.script(events)
    streamed = Runner.run_streamed(reader(provider), "?")
    async for _ in streamed.stream_events():
        pass
    processor.force_flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]


async def test_chat_completions_are_read_like_responses(processor: Any, recorded: Recorded, provider: Provider) -> None:
    def chat(message: dict[str, Any], reason: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    function = {"name": "read_source", "arguments": '{"path": "limits.py"}'}
    provider.script(
        chat({"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}, "tool_calls"),
        chat({"content": ANSWER}, "stop"),
    )
    client = AsyncOpenAI(base_url=provider.url, max_retries=0)
    agent = Agent(name="a", model=OpenAIChatCompletionsModel("m", client), tools=[read_source])
    await Runner.run(agent, "?")
    processor.force_flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_a_handoff_goes_on_with_the_same_turn(processor: Any, recorded: Recorded, provider: Provider) -> None:
    second = Agent(name="second", model=model(provider))
    first = reader(provider, handoffs=[second])
    provider.script(
        response(called("read_source", path="limits.py")),
        response(called("transfer_to_second", "call_2")),
        response(said(ANSWER)),
    )
    result = await Runner.run(first, "?")
    processor.force_flush()
    assert result.last_agent.name == "second"
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_an_agent_that_is_a_tool_speaks_to_its_caller(
    processor: Any, recorded: Recorded, provider: Provider
) -> None:
    inner = reader(provider)
    outer = Agent(name="outer", model=model(provider), tools=[inner.as_tool("ask", "Asks.")])
    provider.script(
        response(called("ask", input="?")),
        response(called("read_source", "call_2", path="limits.py")),
        response(said("`inner.py` defines `whisper`.")),
        response(said(ANSWER)),
    )
    await Runner.run(outer, "?")
    processor.force_flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_a_tool_of_an_mcp_server_is_one_of_that_server(
    processor: Any, recorded: Recorded, provider: Provider, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('limits')\n"
        "@server.tool()\n"
        "def limit(name: str) -> str:\n"
        "    return name + ' is 5'\n"
        "server.run()\n"
    )
    async with MCPServerStdio({"command": sys.executable, "args": [str(script)]}, name="limits") as server:
        agent = Agent(name="a", model=model(provider), mcp_servers=[server])
        provider.script(response(called("limit", name="MAX_RETRIES")), response(said("`MAX_RETRIES` is 5.")))
        await Runner.run(agent, "?")
    processor.force_flush()
    (annotation,) = json.loads(recorded.sink.records[0].value)["assertions"][0]["provenance"]
    assert annotation["substrate_class"] == "substrate.mcp.brief"
    assert annotation["locator"]["server"] == "limits"
    assert annotation["locator"]["tool"] == "limit"


async def test_a_hosted_mcp_call_stands_in_the_response(processor: Any, recorded: Recorded, provider: Provider) -> None:
    hosted = {
        "id": "mcp_1",
        "type": "mcp_call",
        "server_label": "limits",
        "name": "limit",
        "arguments": '{"name": "MAX_RETRIES"}',
        "output": "MAX_RETRIES is 5",
        "error": None,
        "status": "completed",
    }
    provider.script(response(hosted, said("`MAX_RETRIES` is 5.")))
    await Runner.run(Agent(name="a", model=model(provider)), "?")
    processor.force_flush()
    (annotation,) = json.loads(recorded.sink.records[0].value)["assertions"][0]["provenance"]
    assert annotation["locator"]["server"] == "limits"


async def test_a_tool_that_fails_gives_no_annotation(processor: Any, recorded: Recorded, provider: Provider) -> None:
    @agents.function_tool(name_override="read_source")
    def broken(path: str) -> str:
        """Reads a file."""
        raise OSError("`MAX_RETRIES` is 5")

    agent = Agent(name="a", model=model(provider), tools=[broken])
    provider.script(response(called("read_source", path="limits.py")), response(said(ANSWER)))
    await Runner.run(agent, "?")
    processor.force_flush()
    (assertion,) = json.loads(recorded.sink.records[0].value)["assertions"]
    assert "provenance" not in assertion


async def test_a_run_that_fails_is_recorded_as_far_as_it_came(
    processor: Any, recorded: Recorded, provider: Provider
) -> None:
    provider.script(response(said(ANSWER), called("read_source", path="limits.py")), 400)
    with pytest.raises(Exception, match="400"):
        await Runner.run(reader(provider), "?")
    processor.force_flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]


async def test_two_runs_at_once_do_not_mix(processor: Any, recorded: Recorded, provider: Provider) -> None:
    """Each agent reads its own file, and says what stands in it."""

    @agents.function_tool(name_override="read_source")
    async def slow(path: str) -> str:
        """Reads a file."""
        await asyncio.sleep(0.01)
        return f"{path[0].upper()}_LIMIT = {ord(path[0])}\n"

    def answer(body: Any) -> Any:
        name = body["input"][0]["content"]
        if len(body["input"]) == 1:
            return response(called("read_source", path=f"{name}.py"))
        return response(said(f"`{name.upper()}_LIMIT` is {ord(name)}."))

    provider.choose(answer)
    agent = Agent(name="a", model=model(provider), tools=[slow])
    names = "abcdefgh"
    await asyncio.gather(*(Runner.run(agent, one, run_config=RunConfig(group_id=one)) for one in names))
    processor.force_flush()
    assert len(recorded.emissions) == len(names)
    for record in recorded.sink.records:
        value = json.loads(record.value)
        name = value["emission_id"][0]
        (assertion,) = value["assertions"]
        assert value["text"].startswith(f"`{name.upper()}_LIMIT`")
        assert [one["locator"]["path"] for one in assertion["provenance"]] == [f"{name}.py"]


async def test_what_is_not_traced_is_not_recorded(processor: Any, recorded: Recorded, provider: Provider) -> None:
    provider.script(response(called("read_source", path="limits.py")), response(said(ANSWER)))
    await Runner.run(reader(provider), "?", run_config=RunConfig(trace_include_sensitive_data=False))
    processor.force_flush()
    assert recorded.emissions == []


@pytest.mark.parametrize("result", [b"\0\xff" * 5_000_000, "\0" * 10_000_000, "x" * 10_000_000])
async def test_large_and_binary_results_change_nothing(
    processor: Any, recorded: Recorded, provider: Provider, result: Any
) -> None:
    @agents.function_tool
    def fetch() -> Any:
        """Fetches."""
        return result

    agent = Agent(name="a", model=model(provider), tools=[fetch, read_source])
    provider.script(
        response(called("fetch"), called("read_source", "call_2", path="limits.py")), response(said(ANSWER))
    )
    await Runner.run(agent, "?")
    processor.force_flush()
    assert recorded.checks() == [[CHECK]]
    assert len(recorded.text) < 5_000
    assert processor.failures == 0


async def test_a_secret_in_a_result_stays_there(processor: Any, recorded: Recorded, provider: Provider) -> None:
    secret = "ghp_" + "a1B2" * 10

    @agents.function_tool(name_override="read_source")
    def leaky(path: str) -> str:
        """Reads a file."""
        return f"MAX_RETRIES = 5  # token = {secret}\n"

    agent = Agent(name="a", model=model(provider), tools=[leaky])
    provider.script(response(called("read_source", path="limits.py")), response(said(ANSWER)))
    await Runner.run(agent, "?")
    processor.force_flush()
    assert recorded.checks() == [[CHECK]]
    assert secret not in recorded.text


async def test_a_broken_sink_is_one_logged_sentence(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemorySink):
        def put(self, record: Any) -> None:
            raise ValueError("the disk is on fire")

    made = tracing_processor(Recorder("agent", Broken()))
    agents.set_trace_processors([made])
    try:
        provider.script(response(said(ANSWER)))
        with caplog.at_level(logging.WARNING):
            result = await Runner.run(Agent(name="a", model=model(provider)), "?")
            made.force_flush()
    finally:
        agents.set_trace_processors([])
    assert result.final_output == ANSWER
    assert made.failures == 1
    (logged,) = [one for one in caplog.records if one.name == "sluice.record"]
    assert logged.getMessage().startswith("sluice: a part of a run is not recorded")
    assert logged.exc_info is None


async def test_a_sink_that_hangs_holds_up_no_event_loop(provider: Provider) -> None:
    go = threading.Event()

    class Slow(MemorySink):
        def flush(self) -> None:
            go.wait(60)

    made = tracing_processor(Recorder("agent", sink := Slow()))
    agents.set_trace_processors([made])
    try:
        for _ in range(2):
            provider.script(response(said(ANSWER)))
            await asyncio.wait_for(Runner.run(Agent(name="a", model=model(provider)), "?"), 30)
        assert not go.is_set()
        go.set()
        made.force_flush()
    finally:
        go.set()
        agents.set_trace_processors([])
    assert len(sink.records) == 2
