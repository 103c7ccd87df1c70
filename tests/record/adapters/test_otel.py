"""GenAI spans, live from OpenTelemetry's SDK and from files of OTLP JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_mutations import mutated
from opentelemetry import trace as api
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, Tracer

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.errors import UnreachableError, UsageError
from sluice.codecs.records import Emission
from sluice.record import MemorySink, Message, Recorded, Recorder, ToolCall
from sluice.record.adapters import otel, otel_processor
from sluice.record.adapters.otel import GenAiSpan, Trace, events_of, read_otlp, record_otlp, span_processor

SOURCE = "     1\tMAX_RETRIES = 5\n"
ANSWER = "The number of `MAX_RETRIES` is 5."


def said(text: str, role: str = "assistant") -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}]


def tool(**more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Read",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.tool.call.arguments": json.dumps({"file_path": "limits.py"}),
        "gen_ai.tool.call.result": SOURCE,
        **more,
    }


def chat(text: str = ANSWER, **more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(said(text)), **more}


AGENT: dict[str, Any] = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.conversation.id": "c-1",
    "gen_ai.output.messages": json.dumps(said(ANSWER)),
}


class Live:
    def __init__(self, sink: Any = None) -> None:
        self.sink = MemorySink() if sink is None else sink
        self.recorder = Recorder(emitter="coding-agent", sink=self.sink)
        self.processor = span_processor(self.recorder)
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)
        self.tracer: Tracer = self.provider.get_tracer("test")

    def run(self, *spans: dict[str, Any], root: dict[str, Any] | None = None, **more: Any) -> str:
        """One span after the other below a root; the trace's id."""
        with self.tracer.start_as_current_span("root", attributes=AGENT if root is None else root, **more) as top:
            for attributes in spans:
                with self.tracer.start_as_current_span("span", attributes=attributes):
                    pass
        return f"{top.get_span_context().trace_id:032x}"

    @property
    def emissions(self) -> list[Emission]:
        found = [decode_emission(record.value) for record in self.sink.records]
        assert all(isinstance(one, Emission) for one in found), found
        return found  # type: ignore[return-value]


@pytest.fixture
def live() -> Iterator[Live]:
    world = Live()
    yield world
    world.provider.shutdown()


def calls(trace: Trace) -> list[ToolCall]:
    return [one for one in events_of(trace) if isinstance(one, ToolCall)]


def texts(trace: Trace) -> list[str]:
    return [one.text for one in events_of(trace) if isinstance(one, Message)]


def trace_of(*spans: dict[str, Any], parents: dict[int, int] | None = None) -> Trace:
    trace = Trace("a" * 32)
    for place, attributes in enumerate(spans):
        one = GenAiSpan(
            span_id=f"{place:016x}",
            name="s",
            flags=1,
            start=place + 1,
            end=place + 2,
            attributes=attributes,
            failed=False,
        )
        above = (parents or {}).get(place)
        trace.add(one, one.span_id, "" if above is None else f"{above:016x}")
    return trace


# ------------------------------------------------------------ live


def test_a_trace_becomes_a_turn_with_annotations(live: Live) -> None:
    trace_id = live.run(tool(), chat())
    (emission,) = live.emissions
    assert emission.emission_id == f"c-1:{trace_id}"
    assert emission.text == ANSWER
    (assertion,) = emission.assertions or ()
    assert assertion_text(emission, assertion) == ANSWER
    (annotation,) = assertion.annotations
    assert annotation.substrate_class == "substrate.code.read"
    assert annotation.locator is not None
    assert annotation.locator["path"] == "limits.py"
    assert annotation.ts is not None
    assert assertion.checks is None


def test_the_traceparent_is_the_agents_span(live: Live) -> None:
    with (
        live.tracer.start_as_current_span("GET /"),
        live.tracer.start_as_current_span("agent", attributes=AGENT) as top,
    ):
        pass
    context = top.get_span_context()
    expected = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
    (record,) = live.sink.records
    assert record.headers == (("traceparent", expected.encode()),)


def test_without_a_conversation_the_trace_is_one(live: Live) -> None:
    trace_id = live.run(root=chat())
    assert [one.emission_id for one in live.emissions] == [f"{trace_id}:{trace_id}"]


def test_traces_of_one_conversation_are_turns_of_it(live: Live) -> None:
    live.run(tool(), root={**AGENT, "gen_ai.output.messages": "[]"})
    live.run(chat())
    (emission,) = live.emissions
    assert (emission.assertions or ())[0].annotations


def test_spans_of_others_are_passed_over(live: Live) -> None:
    live.run({"http.request.method": "GET"}, root={"http.route": "/"})
    assert live.sink.records == []


@pytest.mark.parametrize("how", ["status", "error.type"])
def test_a_failed_call_gives_no_annotation(live: Live, how: str) -> None:
    start = live.tracer.start_as_current_span
    with start("agent", attributes=AGENT), start("execute_tool Read", attributes=tool()) as span:
        if how == "status":
            span.set_status(Status(StatusCode.ERROR))
        else:
            span.set_attribute("error.type", "timeout")
    (emission,) = live.emissions
    assert (emission.assertions or ())[0].annotations == []


def test_messages_on_an_event_of_the_span_are_read(live: Live) -> None:
    with live.tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as span:
        span.add_event(
            "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": json.dumps(said(ANSWER))}
        )
    assert [one.text for one in live.emissions] == [ANSWER]


def test_a_remote_parent_ends_at_the_local_root_and_each_is_a_turn_of_its_own(live: Live) -> None:
    far = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1))
    context = api.set_span_in_context(NonRecordingSpan(far))
    live.run(root=AGENT, context=context)
    live.run(root={**AGENT, "gen_ai.output.messages": json.dumps(said("`a` is 1."))}, context=context)
    assert len({one.emission_id for one in live.emissions}) == 2
    assert [one.attempt for one in live.emissions] == [0, 0]


def test_what_is_open_at_the_end_is_recorded(live: Live) -> None:
    root = live.tracer.start_span("root")
    with api.use_span(root, end_on_exit=False), live.tracer.start_as_current_span("chat", attributes=chat()):
        pass
    assert live.sink.records == []
    live.provider.shutdown()
    assert [one.text for one in live.emissions] == [ANSWER]


def test_too_many_open_traces_are_recorded_early(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_processor, "MAX_TRACES", 2)
    for _ in range(3):
        root = live.tracer.start_span("root")
        with api.use_span(root, end_on_exit=False), live.tracer.start_as_current_span("chat", attributes=chat()):
            pass
    assert len(live.sink.records) == 1


def test_a_sink_that_fails_does_not_fail_the_program() -> None:
    class Away(MemorySink):
        def flush(self) -> None:
            raise UnreachableError("the endpoint is away")

    world = Live(Away())
    world.run(chat())
    assert world.processor.failures == 1
    assert len(world.sink.records) == 1
    assert world.provider.force_flush() is False


def test_without_the_sdk_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "sluice.record.adapters.otel_processor")
    with pytest.raises(UsageError, match=r"SDK is not installed .*pip install '.*\[otel\]'"):
        span_processor(Recorder(emitter="coding-agent", sink=MemorySink()))


# ------------------------------------------------------------ what becomes of which span


def test_an_agents_span_does_not_repeat_its_model() -> None:
    assert texts(trace_of(chat("One."), chat("Two."), {**AGENT, "gen_ai.output.messages": said("Two.")})) == [
        "One.",
        "Two.",
    ]


def test_a_model_below_a_tool_speaks_to_the_tool() -> None:
    trace = trace_of(AGENT, tool(), chat("Inner."), {"gen_ai.operation.name": "chat"}, parents={1: 0, 2: 3, 3: 1})
    assert texts(trace) == [ANSWER]


def test_parents_in_a_circle_end() -> None:
    assert texts(trace_of(chat("One."), chat("Two."), parents={0: 1, 1: 0})) == ["One.", "Two."]


def test_only_text_of_the_assistant_is_said() -> None:
    parts = [
        {"type": "reasoning", "content": "Hm."},
        {"type": "text", "content": "So."},
        {"type": "tool_call", "id": "x", "name": "Read", "arguments": {}},
    ]
    messages = [{"role": "assistant", "parts": parts}, *said("No.", role="user")]
    assert texts(trace_of(chat(**{"gen_ai.output.messages": messages}))) == ["So."]


def history(result: str = "response") -> list[dict[str, Any]]:
    call = {"type": "tool_call", "id": "call-1", "name": "Read", "arguments": {"file_path": "a.py"}}
    old = {**call, "id": "call-0"}
    return [
        {"role": "assistant", "parts": [old]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call-0", "response": "old"}]},
        *said("And now?", role="user"),
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call-1", result: "x = 1"}]},
    ]


@pytest.mark.parametrize("result", ["response", "result"])
def test_calls_of_this_turn_are_read_from_messages_where_no_span_tells_of_them(result: str) -> None:
    (call,) = calls(trace_of(chat(**{"gen_ai.input.messages": json.dumps(history(result))})))
    assert (call.call_id, call.name, call.arguments, call.result) == ("call-1", "Read", {"file_path": "a.py"}, "x = 1")
    assert call.at is None


def test_a_call_that_the_service_made_is_read_from_the_output() -> None:
    parts = [
        {"type": "tool_call", "id": "srv-1", "name": "search", "arguments": {"query": "x"}},
        {"type": "tool_call_response", "id": "srv-1", "response": "found"},
        {"type": "text", "content": "So."},
    ]
    trace = trace_of(chat(**{"gen_ai.output.messages": [{"role": "assistant", "parts": parts}]}))
    assert [(one.name, one.result) for one in calls(trace)] == [("search", "found")]
    assert texts(trace) == ["So."]


def test_a_tools_span_without_contents_gets_them_from_messages() -> None:
    bare = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Read", "gen_ai.tool.call.id": "call-1"}
    (call,) = calls(trace_of(bare, chat(**{"gen_ai.input.messages": history()})))
    assert (call.arguments, call.result) == ({"file_path": "a.py"}, "x = 1")
    assert call.at is not None


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("plain", "plain"),
        ('"quoted"', "quoted"),
        ('{"a": 1}', '{"a": 1}'),
        ({"a": "ä"}, '{"a": "ä"}'),
        ('{"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}', "one\ntwo"),
        ([{"type": "text", "content": "one"}], "one"),
        ([{"type": "image", "data": "xx"}], None),
        ([{"type": "blob", "modality": "image", "content": "eHg="}], None),
        (b"\xff", None),
        (None, None),
    ],
)
def test_a_result_is_its_text(value: Any, result: str | None) -> None:
    (call,) = calls(trace_of(tool(**{"gen_ai.tool.call.result": value})))
    assert call.result == result


def test_more_spans_than_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.record.adapters.otel_spans.MAX_SPANS", 1)
    trace = trace_of(chat("One."), chat("Two."))
    assert (texts(trace), trace.left_out) == (["One."], 1)


# ------------------------------------------------------------ files


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def attributes(given_: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in given_.items()]


def otlp(*spans: dict[str, Any], trace_id: str = "0AF7651916CD43DD8448EB211C80319C") -> dict[str, Any]:
    """The first span is the root of the others."""
    written = [
        {
            "traceId": trace_id,
            "spanId": f"{place + 1:016x}",
            "parentSpanId": "" if place == 0 else f"{1:016x}",
            "flags": 257,
            "name": "span",
            "startTimeUnixNano": str(1_795_000_000_000_000_000 + place),
            "endTimeUnixNano": str(1_795_000_000_000_000_000 + (place or 100)),
            "attributes": attributes(one),
            "status": {},
        }
        for place, one in enumerate(spans)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": written}]}]}


SAMPLE = otlp(
    {**AGENT, "gen_ai.output.messages": said(ANSWER)},
    tool(**{"gen_ai.tool.call.arguments": {"file_path": "limits.py"}}),
    {"http.request.method": "GET"},
    chat(**{"gen_ai.input.messages": history()}),
)


def recorded(path: Path) -> tuple[list[Recorded], list[str]]:
    sink = MemorySink()
    problems = record_otlp(Recorder(emitter="coding-agent", sink=sink), path)
    return sink.records, [one.sentence for one in problems]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_is_recorded_as_live_spans_are(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(SAMPLE, indent=indent))
    records, problems = recorded(path)
    assert problems == []
    (record,) = records
    emission = decode_emission(record.value)
    assert isinstance(emission, Emission)
    assert emission.emission_id == "c-1:0af7651916cd43dd8448eb211c80319c"
    assert emission.emitted_at == "2026-11-18T11:06:40Z"
    assert (emission.assertions or ())[0].checks is None
    assert record.headers == (("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01"),)


SILENT = {"gen_ai.operation.name": "invoke_agent"}
OLDER_TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "Read",
    "gen_ai.tool.parameters": '{"file_path": "limits.py"}',
    "gen_ai.tool.result": "MAX_RETRIES = 5",
}
LOG = {"traceId": "0AF7651916CD43DD8448EB211C80319C", "attributes": attributes({"gen_ai.output.messages": said("x")})}


@pytest.mark.parametrize(
    ("telemetry", "sentence"),
    [
        (otlp(SILENT, {"gen_ai.completion.0.content": ANSWER}), "2 GenAI spans, no content that is read."),
        (otlp({"openinference.span.kind": "AGENT", "output.value": ANSWER}), "0 GenAI spans and 1 other span"),
        ({"resourceLogs": [{"scopeLogs": [{"logRecords": [LOG, LOG]}]}]}, "0 GenAI spans and 2 other spans or log"),
        ({"resourceSpans": []}, "0 GenAI spans, no content that is read."),
        (otlp(SILENT, OLDER_TOOL), "2 GenAI spans, no content that is read."),
    ],
)
def test_telemetry_without_a_text_that_is_read_is_a_problem(
    tmp_path: Path, telemetry: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(telemetry))
    sink = MemorySink()
    (problem,) = record_otlp(Recorder(emitter="coding-agent", sink=sink), path)
    assert problem.nothing_read
    assert problem.sentence.startswith(sentence)


def test_a_live_trace_without_a_text_that_is_read_is_logged(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    live.tracer.start_span("chat", attributes={"gen_ai.completion.0.content": ANSWER}).end()
    assert live.processor.unread == 1
    assert "1 GenAI span, no content that is read." in caplog.text


def test_names_of_earlier_conventions_are_read() -> None:
    (call,) = calls(trace_of(AGENT, OLDER_TOOL))
    assert (call.name, call.arguments, call.result) == ("Read", {"file_path": "limits.py"}, "MAX_RETRIES = 5")


def test_a_trace_may_lie_in_several_lines_and_a_bad_line_loses_only_itself(tmp_path: Path) -> None:
    (spans,) = (one["spans"] for one in SAMPLE["resourceSpans"][0]["scopeSpans"])
    lines = [
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) for one in (*spans[1:], spans[0], spans[1])
    ]
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join([lines[0], '{"resourceSpans": [', "7", "", '{"resourceMetrics": []}', *lines[1:]]) + "\n")
    traces, problems = read_otlp(path)
    assert [(one.line, one.sentence) for one in problems] == [
        (2, "The line is not JSON, or is cut off."),
        (3, "This is no OTLP object."),
    ]
    (trace,) = traces
    assert [one.name for one in calls(trace)] == ["Read"]
    assert texts(trace) == [ANSWER]


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text("{\n" * 50)
    sentences = recorded(path)[1]
    assert len(sentences) == otel.MAX_PROBLEMS + 1
    assert sentences[-1] == "30 more lines cannot be read."


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_otlp(tmp_path / "none.json")


def usable(path: Path) -> None:
    records, sentences = recorded(path)
    assert all(isinstance(decode_emission(record.value), Emission) for record in records)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("otlp") / "traces.json"


@given(value=mutated(SAMPLE))
def test_values_of_any_type_anywhere_in_a_file(written: Path, value: Any) -> None:
    written.write_text(json.dumps(value, default=str))
    usable(written)


@given(data=st.data())
def test_bytes_changed_anywhere_in_a_file(written: Path, data: st.DataObject) -> None:
    changed = bytearray(json.dumps(SAMPLE).encode())
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    written.write_bytes(changed[: data.draw(st.integers(0, len(changed)))])
    usable(written)


@given(
    value=mutated([AGENT, tool(), chat(**{"gen_ai.input.messages": history(), "gen_ai.output.messages": said("A.")})])
)
def test_values_of_any_type_anywhere_in_spans(value: Any) -> None:
    spans = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    sink = MemorySink()
    otel.record_trace(Recorder(emitter="coding-agent", sink=sink), trace_of(*spans))
    assert all(isinstance(decode_emission(record.value), Emission) for record in sink.records)


def test_a_trace_without_content_beside_others_is_told(tmp_path: Path) -> None:
    """One trace says something, one has its messages where they are not read: neither hides the other."""
    path = tmp_path / "traces.jsonl"
    good = otlp({"gen_ai.operation.name": "chat", "gen_ai.output.messages": said(ANSWER)})
    silent = {"resourceLogs": [{"scopeLogs": [{"logRecords": [LOG | {"traceId": "1" * 32}]}]}]}
    path.write_text("".join(json.dumps(one) + "\n" for one in (good, silent)))
    recorder = Recorder(emitter="coding-agent", sink=MemorySink())
    (problem,) = record_otlp(recorder, path)
    assert not problem.nothing_read
    assert problem.sentence == "0 GenAI spans and 1 other span or log records, no content that is read."
    assert str(recorder.reading) == "1 messages, 1 statements, 1 not understood"
