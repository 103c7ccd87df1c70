"""Runs of the real LangChain and LangGraph become emissions."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from model_provider import ANSWER, CHECK, SOURCE, Recorded

from sluice.record import MemorySink, Recorder
from sluice.record.adapters.langchain import callback_handler, middleware


class Model(GenericFakeChatModel):
    """LangChain's fake model, which may be given tools."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        """Pieces of the text, then the calls, which LangChain's own fake leaves out."""
        message = self._generate(messages, stop, run_manager, **more).generations[0].message
        text = str(message.content)
        pieces: list[Any] = [AIMessageChunk(text[at : at + 5]) for at in range(0, len(text), 5)]
        pieces += [
            AIMessageChunk(
                "",
                tool_call_chunks=[
                    {"name": one["name"], "args": json.dumps(one["args"]), "id": one["id"], "index": place}
                    for place, one in enumerate(message.tool_calls)
                ],
                chunk_position="last",
            )
        ]
        for one in pieces:
            chunk = ChatGenerationChunk(message=one)
            if run_manager is not None:
                run_manager.on_llm_new_token(one.content, chunk=chunk)
            yield chunk


def model(*answers: AIMessage | str) -> Model:
    return Model(messages=iter(answers))


def called(name: str, call_id: str = "call_1", /, **given: Any) -> dict[str, Any]:
    return {"name": name, "args": given, "id": call_id, "type": "tool_call"}


def calling(*calls: dict[str, Any], text: str = "") -> AIMessage:
    return AIMessage(content=text, tool_calls=list(calls))


READING = calling(called("read_source", path="limits.py"))


@tool
def read_source(path: str) -> str:
    """Reads a file."""
    return SOURCE


@pytest.fixture(params=["callback", "middleware"])
def way(request: pytest.FixtureRequest, recorded: Recorded) -> Any:
    """The two ways to record an agent."""
    return Way(request.param, recorded)


class Way:
    def __init__(self, kind: str, recorded: Recorded) -> None:
        self.kind = kind
        self.adapter = (callback_handler if kind == "callback" else middleware)(recorded.recorder)

    def agent(self, model: Any, tools: Any = (read_source,), **more: Any) -> Any:
        made = [*more.pop("middleware", []), *([self.adapter] if self.kind == "middleware" else [])]
        return create_agent(model, list(tools), middleware=made, **more)

    def config(self, thread: str | None = None) -> dict[str, Any]:
        config: dict[str, Any] = {"callbacks": [self.adapter]} if self.kind == "callback" else {}
        return config if thread is None else {**config, "configurable": {"thread_id": thread}}


QUESTION: dict[str, Any] = {"messages": [HumanMessage("?")]}


def test_a_run_of_an_agent_is_a_turn_with_what_its_tools_read(way: Way, recorded: Recorded) -> None:
    way.agent(model(READING, ANSWER)).invoke(QUESTION, way.config())
    assert way.adapter.flush()
    (emission,) = recorded.emissions
    assert emission.text == ANSWER
    assert recorded.checks() == [[CHECK]]
    assert json.loads(recorded.sink.records[0].value)["assertions"][0]["provenance"][0]["ts"]


async def test_an_asynchronous_run_is_recorded_too(way: Way, recorded: Recorded) -> None:
    await way.agent(model(READING, ANSWER)).ainvoke(QUESTION, way.config())
    assert way.adapter.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


async def test_a_streamed_run_is_recorded_when_it_ends(way: Way, recorded: Recorded) -> None:
    async for _ in way.agent(model(READING, ANSWER)).astream(QUESTION, way.config(), stream_mode="messages"):
        pass
    assert way.adapter.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


def test_a_thread_is_a_conversation_whose_calls_count_later(way: Way, recorded: Recorded) -> None:
    agent = way.agent(model(READING, ANSWER, ANSWER), checkpointer=InMemorySaver())
    agent.invoke(QUESTION, way.config("c-1"))
    agent.invoke({"messages": [HumanMessage("Sure?")]}, way.config("c-1"))
    assert way.adapter.flush()
    first, second = recorded.emissions
    assert first.emission_id.startswith("c-1:")
    assert second.emission_id.startswith("c-1:")
    assert first.emission_id != second.emission_id
    assert [first.text, second.text] == [ANSWER, ANSWER]
    assert recorded.checks() == [[CHECK], [CHECK]]


def test_what_is_said_beside_a_call_is_said(way: Way, recorded: Recorded) -> None:
    first = calling(called("read_source", path="limits.py"), text="I read `limits.py`.")
    way.agent(model(first, ANSWER)).invoke(QUESTION, way.config())
    assert way.adapter.flush()
    assert [one.text for one in recorded.emissions] == [f"I read `limits.py`.\n\n{ANSWER}"]


def test_a_failed_tool_gives_no_annotation(way: Way, recorded: Recorded) -> None:
    class Handled(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except OSError as error:
                return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")

    @tool("read_source")
    def broken(path: str) -> str:
        """Reads a file."""
        raise OSError("MAX_RETRIES = 5")

    way.agent(model(READING, ANSWER), [broken], middleware=[Handled()]).invoke(QUESTION, way.config())
    assert way.adapter.flush()
    (assertion,) = json.loads(recorded.sink.records[0].value)["assertions"]
    assert "provenance" not in assertion


async def test_many_runs_at_once_do_not_mix(way: Way, recorded: Recorded) -> None:
    @tool("read_source")
    async def slow(path: str) -> str:
        """Reads a file."""
        await asyncio.sleep(0.01)
        return f"{path[0].upper()}_LIMIT = {ord(path[0])}\n"

    async def one(name: str) -> None:
        answers = (
            calling(called("read_source", f"call_{name}", path=f"{name}.py")),
            f"`{name.upper()}_LIMIT` is {ord(name)}.",
        )
        agent = way.agent(model(*answers), [slow], checkpointer=InMemorySaver())
        await agent.ainvoke(QUESTION, way.config(name))

    names = "abcdefgh"
    await asyncio.gather(*map(one, names))
    assert way.adapter.flush()
    assert len(recorded.emissions) == len(names)
    for record in recorded.sink.records:
        value = json.loads(record.value)
        (assertion,) = value["assertions"]
        assert [each["locator"]["path"] for each in assertion["provenance"]] == [f"{value['emission_id'][0]}.py"]


@pytest.mark.parametrize("result", [b"\0\xff" * 5_000_000, "\0" * 10_000_000, "x" * 10_000_000])
def test_large_and_binary_results_change_nothing(way: Way, recorded: Recorded, result: Any) -> None:
    @tool
    def fetch() -> Any:
        """Fetches."""
        return result

    both = calling(called("fetch", "call_2"), called("read_source", path="limits.py"))
    way.agent(model(both, ANSWER), [fetch, read_source]).invoke(QUESTION, way.config())
    assert way.adapter.flush()
    assert recorded.checks() == [[CHECK]]
    assert len(recorded.text) < 5_000
    assert way.adapter.failures == 0


def test_a_secret_in_a_result_stays_there(way: Way, recorded: Recorded) -> None:
    secret = "ghp_" + "a1B2" * 10

    @tool("read_source")
    def leaky(path: str) -> str:
        """Reads a file."""
        return f"MAX_RETRIES = 5  # token = {secret}\n"

    way.agent(model(READING, ANSWER), [leaky]).invoke(QUESTION, way.config())
    assert way.adapter.flush()
    assert recorded.checks() == [[CHECK]]
    assert secret not in recorded.text


@pytest.mark.parametrize("make", [callback_handler, middleware])
def test_a_broken_sink_is_one_logged_sentence(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemorySink):
        def put(self, record: Any) -> None:
            raise ValueError("the disk is on fire")

    way = Way.__new__(Way)
    way.kind, way.adapter = make.__name__.removesuffix("_handler"), make(Recorder("agent", Broken()))
    with caplog.at_level(logging.WARNING):
        found = way.agent(model(ANSWER), []).invoke(QUESTION, way.config())
        way.adapter.flush()
    assert found["messages"][-1].content == ANSWER
    assert way.adapter.failures == 1
    (logged,) = [one for one in caplog.records if one.name == "sluice.record"]
    assert logged.getMessage().startswith("sluice: a part of a run is not recorded")


# ------------------------------------------------------------ the callback handler alone


@pytest.fixture
def handler(recorded: Recorded) -> Any:
    return callback_handler(recorded.recorder)


def test_a_loop_of_ones_own_is_read_from_its_messages(handler: Any, recorded: Recorded) -> None:
    """Without an agent: a program calls the model, the tool, and the model again."""
    fake = model(READING, ANSWER)
    config: Any = {"callbacks": [handler], "metadata": {"session_id": "c-1"}}
    messages: list[Any] = [HumanMessage("?")]
    messages.append(fake.invoke(messages, config))
    messages.append(ToolMessage(SOURCE, tool_call_id="call_1"))
    fake.invoke(messages, config)
    assert handler.flush()
    (emission,) = recorded.emissions
    assert emission.emission_id.startswith("c-1:")
    assert recorded.checks() == [[CHECK]]


def test_a_graph_of_ones_own_is_a_turn(handler: Any, recorded: Recorded) -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    fake = model(READING, ANSWER)
    graph = StateGraph(State)
    graph.add_node("think", lambda state: {"messages": [fake.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([read_source]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "think")
    graph.compile().invoke(QUESTION, {"callbacks": [handler]})  # type: ignore[arg-type]
    assert handler.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


def test_a_model_that_a_tool_asks_speaks_to_the_tool(handler: Any, recorded: Recorded) -> None:
    inner = model("`inner.py` defines `whisper`.")

    @tool
    def ask() -> str:
        """Asks."""
        return str(inner.invoke("?").content)

    agent = create_agent(model(calling(called("ask")), ANSWER), [ask])
    agent.invoke(QUESTION, {"callbacks": [handler]})  # type: ignore[arg-type]
    assert handler.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]


def test_what_middleware_asks_a_model_is_no_answer(handler: Any, recorded: Recorded) -> None:
    class Summary(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> None:
            model("`summary.py` defines `whisper`.").invoke("?")

    agent = create_agent(model(ANSWER), [], middleware=[Summary()])
    agent.invoke(QUESTION, {"callbacks": [handler]})  # type: ignore[arg-type]
    assert handler.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]


def test_a_run_that_fails_is_recorded_as_far_as_it_came(handler: Any, recorded: Recorded) -> None:
    @tool
    def broken() -> str:
        """Fails."""
        raise OSError("no")

    agent = create_agent(model(calling(called("broken"), text=ANSWER)), [broken])
    with pytest.raises(OSError, match="no"):
        agent.invoke(QUESTION, {"callbacks": [handler]})  # type: ignore[arg-type]
    assert handler.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]


def test_a_handler_that_is_only_attached_below_is_its_own_turn(handler: Any, recorded: Recorded) -> None:
    """A model of an agent has the handler; the agent's own runs are not told of."""
    fake = model(READING, ANSWER)
    fake.callbacks = [handler]
    create_agent(fake, [read_source]).invoke(QUESTION)  # type: ignore[arg-type]
    assert handler.flush()
    assert [one.text for one in recorded.emissions] == [ANSWER]
    assert recorded.checks() == [[CHECK]]


@pytest.mark.parametrize("given", [None, 7, [], [None], [[]], {"messages": 7}])
def test_whatever_it_is_called_with_it_does_not_fail(handler: Any, recorded: Recorded, given: Any) -> None:
    handler.on_chain_start({}, given, run_id=1, metadata=given)
    handler.on_tool_start(None, "", run_id=2, parent_run_id=1, inputs=given)
    handler.on_tool_end(given, run_id=2)
    handler.on_llm_start({}, given, run_id=3, parent_run_id=1)
    handler.on_llm_error(OSError(), run_id=3, response=given)
    handler.on_chain_end(given, run_id=1)
    handler.on_chain_end(given, run_id=1)
    assert handler.flush()
    assert recorded.emissions == []
    assert handler.failures == 0


@pytest.mark.parametrize("make", [callback_handler, middleware])
async def test_a_sink_that_hangs_holds_up_no_event_loop(make: Any) -> None:
    go = threading.Event()

    class Slow(MemorySink):
        def flush(self) -> None:
            go.wait(60)

    way = Way.__new__(Way)
    way.kind, way.adapter = make.__name__.removesuffix("_handler"), make(Recorder("agent", sink := Slow()))
    try:
        for _ in range(2):
            await asyncio.wait_for(way.agent(model(ANSWER), []).ainvoke(QUESTION, way.config()), 30)
        assert not go.is_set()
    finally:
        go.set()
    assert way.adapter.flush()
    assert len(sink.records) == 2
