"""Session transcripts of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import claude_code, open_transcript

DATA = Path(__file__).parent / "data"


def events(*records: dict[str, Any]) -> list[Event]:
    return list(claude_code.read(json.dumps(record).encode() + b"\n" for record in records))


def prompt(content: object, uuid: str = "p1", **more: object) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "sessionId": "s", "message": {"role": "user", "content": content}, **more}


def answer(*blocks: dict[str, Any], message: str = "m1", **more: object) -> dict[str, Any]:
    return {"type": "assistant", "uuid": "a", "message": {"id": message, "content": list(blocks)}, **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call_id: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": given}


def result(call_id: str, content: object = "ok", **more: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def said(found: list[Event]) -> list[str]:
    return [event.text for event in found if isinstance(event, Message)]


def calls(found: list[Event]) -> list[ToolCall]:
    return [event for event in found if isinstance(event, ToolCall)]


def test_the_sample_gives_these_events() -> None:
    def at(second: int) -> datetime:
        return datetime(2026, 3, 2, 9, 0, second, tzinfo=UTC)

    def call(call_id: str, name: str, given: dict[str, Any], answer: str | None, ok: bool, second: int) -> ToolCall:
        return ToolCall(
            call_id=call_id, name=name, arguments=given, result=answer, ok=ok, at=at(second), cwd="/home/dev/shop"
        )

    search = {"command": "rg -n MAX_ITEMS", "description": "Find the limit"}
    shown = "     1\timport shop\n     3\tMAX_ITEMS = 40"
    missing = "Exit code 1\ncat: missing.py: No such file or directory"
    assert list(open_transcript(DATA / "claude-code.jsonl")) == [
        TurnBegan(turn_id="u1", at=at(0)),
        Message(text="I look at the cart.", at=at(3)),
        call("toolu_2", "Bash", search, "cart.py:3:MAX_ITEMS = 40", True, 6),
        call("toolu_1", "Read", {"file_path": "/home/dev/shop/cart.py"}, shown, True, 7),
        call("toolu_3", "Bash", {"command": "cat missing.py"}, missing, False, 10),
        Message(text="A cart holds at most 40 items (`MAX_ITEMS`).", at=at(12)),
        TurnEnded(at=at(12)),
        TurnBegan(turn_id="u14", at=at(20)),
        call("toolu_4", "Grep", {"pattern": "MAX_ITEMS", "path": "tests"}, None, False, 22),
        TurnEnded(at=at(22)),
    ]


def test_a_message_that_is_written_again_with_more_is_said_once() -> None:
    found = events(
        prompt("Why?"),
        answer(text("The cap")),
        answer(text("The cap is 40.")),
        answer(text("The cap is 40."), use("c1")),
        answer(text("The cap is 40."), use("c1"), text("See `a.py`.")),
        prompt([result("c1")], uuid="r"),
        answer(text("The cap is 40.")),
    )
    assert said(found) == ["The cap is 40.", "See `a.py`."]
    assert len(calls(found)) == 1


def test_a_text_that_grows_after_a_result_was_reported_gives_its_rest() -> None:
    found = events(
        prompt("Why?"),
        answer(text("The cap"), use("c1")),
        prompt([result("c1")], uuid="r"),
        answer(text("The cap is 40.")),
    )
    assert said(found) == ["The cap", " is 40."]


def test_the_same_words_in_another_message_or_turn_are_said_again() -> None:
    found = events(
        prompt("Why?"),
        answer(text("Done."), message="m1"),
        answer(text("Done."), message="m2"),
        prompt("Again", uuid="p2"),
        answer(text("Done."), message="m1"),
    )
    assert said(found) == ["Done."] * 3


def test_arguments_that_are_still_written_are_replaced_by_the_whole_ones() -> None:
    found = events(prompt("Why?"), answer(use("c1")), answer(use("c1", path="a.py")), prompt([result("c1")]))
    assert [call.arguments for call in calls(found)] == [{"path": "a.py"}]


def test_results_in_any_order_reach_their_calls() -> None:
    found = events(
        prompt("Why?"),
        prompt([result("c2", "before its call")], uuid="r0"),
        answer(use("c1"), use("c2"), use("c3")),
        prompt([result("c3", "three"), result("c1", "one"), result("c3", "again")], uuid="r1"),
    )
    assert [(call.call_id, call.result) for call in calls(found)] == [
        ("c2", "before its call"),
        ("c3", "three"),
        ("c1", "one"),
    ]
    assert not [event for event in found if isinstance(event, Problem)]


def test_an_identifier_that_is_used_again_is_another_call() -> None:
    found = events(
        prompt("Why?"),
        answer(use("c1", path="a")),
        prompt([result("c1", "one")], uuid="r1"),
        answer(use("c1", path="a"), message="m1"),  # the same again: none
        answer(use("c1", path="b"), message="m2"),
        prompt([result("c1", "two")], uuid="r2"),
    )
    assert [(call.arguments["path"], call.result) for call in calls(found)] == [("a", "one"), ("b", "two")]


def test_a_result_of_no_call_is_a_problem_of_its_line() -> None:
    found = events(prompt("Why?"), prompt([result("unknown")], uuid="r"), prompt([result(7)], uuid="r"))  # type: ignore[arg-type]
    assert [(event.line, event.sentence) for event in found if isinstance(event, Problem)] == [
        (3, "A tool result here names no call; it is passed over."),
        (2, "There is no call 'unknown' that this is the result of."),
    ]


def test_a_result_that_comes_a_turn_late_is_a_problem() -> None:
    found = events(prompt("Why?"), answer(use("c1")), prompt("Now?", uuid="p2"), prompt([result("c1")], uuid="r"))
    assert [(call.call_id, call.result, call.ok) for call in calls(found)] == [("c1", None, False)]
    assert [event.line for event in found if isinstance(event, Problem)] == [4]
    assert found.index(calls(found)[0]) < found.index(TurnEnded(at=None))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text", "text"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([text("a"), text("b")], "a\nb"),
        ([text("a"), {"type": "image", "source": {"data": "AA=="}}], "a"),
        ([{"type": "image", "source": {"data": "AA=="}}], None),
        ({"type": "document"}, None),
        (7, None),
        ("\x7fELF\0\0", None),
        ("data:image/png;base64,AAAA", None),
        ("\ufffdPNG\ufffd\ufffd", None),
    ],
)
def test_results_are_text_or_none(content: object, expected: str | None) -> None:
    (call,) = calls(events(prompt("Why?"), answer(use("c1")), prompt([result("c1", content)], uuid="r")))
    assert call.result == expected
    assert call.ok


def test_an_interrupted_command_failed() -> None:
    found = events(
        prompt("Why?"), answer(use("c1")), prompt([result("c1")], uuid="r", toolUseResult={"interrupted": True})
    )
    assert not calls(found)[0].ok


@pytest.mark.parametrize(
    "record",
    [
        prompt("hidden", uuid="p2", isMeta=True),
        prompt("This session is being continued", uuid="p2", isCompactSummary=True),
        prompt("[Request interrupted by user]", uuid="p2"),
        prompt("<local-command-stdout>x</local-command-stdout>", uuid="p2"),
        prompt("<task-notification>x</task-notification>", uuid="p2"),
        prompt([], uuid="p2"),
        prompt(None, uuid="p2"),
        prompt("the first prompt again", uuid="p1"),
        {"type": "user", "uuid": "p2", "isSidechain": True, "message": {"content": "of a subagent"}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "Hurry"}},
        {"type": "a-type-of-tomorrow", "content": "?"},
    ],
)
def test_what_claude_code_writes_itself_begins_no_turn(record: dict[str, Any]) -> None:
    found = events(prompt("Why?"), record, answer(text("So.")))
    assert [event.turn_id for event in found if isinstance(event, TurnBegan)] == ["p1"]
    assert not [event for event in found if isinstance(event, Problem)]


def test_an_image_is_a_prompt() -> None:
    found = events(prompt([{"type": "image"}]), answer(text("A cat.")))
    assert found[0] == TurnBegan(turn_id="p1", at=None)


def test_a_command_begins_a_turn_only_if_the_model_answers() -> None:
    silent = prompt("<command-name>/model</command-name>", uuid="c1")
    asked = prompt("<command-message>review</command-message>\n<command-name>/review</command-name>", uuid="c2")
    found = events(silent, asked, prompt("expanded", uuid="x", isMeta=True), answer(text("Fine.")))
    assert found == [TurnBegan(turn_id="c2", at=None), Message(text="Fine.", at=None), TurnEnded(at=None)]


def test_an_answer_without_its_prompt_begins_a_turn() -> None:
    assert events(answer(text("So."))) == [
        TurnBegan(turn_id="a", at=None),
        Message(text="So.", at=None),
        TurnEnded(at=None),
    ]


def test_errors_of_the_service_are_no_words_of_the_model() -> None:
    error = answer(text("API Error: 529"), isApiErrorMessage=True)
    synthetic = answer(text("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"
    assert said(events(prompt("Why?"), error, synthetic)) == []


def test_a_transcript_of_a_subagent_says_so() -> None:
    found = events(answer(text("I searched."), isSidechain=True))
    assert found == [Problem(line=1, sentence="All messages here are of a subagent; read the session that called it.")]


def test_tools_that_run_at_the_service_are_calls() -> None:
    found = events(
        prompt("Why?"),
        answer(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
        ),
    )
    assert [(call.name, call.result, call.ok) for call in calls(found)] == [("web_search", None, True)]


@pytest.mark.parametrize("by_the_message", [True, False])
def test_the_answer_is_reported_once_the_model_stopped_or_its_time_was_taken(by_the_message: bool) -> None:
    stopped = answer(text("So."))
    if by_the_message:
        stopped["message"]["stop_reason"] = "end_turn"
    records = [prompt("Why?"), stopped] + [{"type": "system", "subtype": "turn_duration"}] * (not by_the_message)

    def lines() -> Iterator[bytes]:
        yield from (json.dumps(record).encode() for record in records)
        raise AssertionError("no further line is needed")

    found = claude_code.read(lines())
    next(found)
    assert next(found) == Message(text="So.", at=None)


def test_a_turn_ends_at_its_latest_time() -> None:
    times = ("2026-03-02T09:00:01Z", "2026-03-02T09:00:09Z", "2026-03-02T09:00:05Z")
    found = events(*(answer(text(at), message=at, timestamp=at) for at in times))
    assert found[-1] == TurnEnded(at=datetime(2026, 3, 2, 9, 0, 9, tzinfo=UTC))


def test_a_call_of_an_earlier_turn_may_be_made_again() -> None:
    again = [answer(use("c1", path="a")), prompt([result("c1")], uuid="r")]
    assert len(calls(events(prompt("Why?"), *again, prompt("And?", uuid="p2"), *again))) == 2


def test_the_first_of_two_results_that_wait_for_a_call_counts() -> None:
    found = events(answer(text("So.")), prompt([result("c1", "first"), result("c1", "second")]), answer(use("c1")))
    assert [call.result for call in calls(found)] == ["first"]


@pytest.mark.parametrize("form", ["lines", "array", "indented array"])
def test_the_output_of_a_run_without_a_terminal(form: str) -> None:
    """`claude -p --output-format stream-json`, and an execution file: the directory stands in the first record only."""
    records = [
        {"type": "system", "subtype": "init", "cwd": "/w/shop", "session_id": "s"},
        answer(use("c1", file_path="/w/shop/a.py"), session_id="s"),
        {"type": "user", "message": {"role": "user", "content": [result("c1", "X = 1")]}, "session_id": "s"},
        answer(text("`X` is 1."), message="m2", session_id="s"),
        {"type": "result", "subtype": "success", "result": "`X` is 1.", "session_id": "s"},
    ]
    if form == "lines":
        found = events(*records)
    else:
        document = json.dumps(records, indent=2 if form == "indented array" else None).encode()
        found = list(claude_code.read(document.splitlines(keepends=True)))
    assert [(call.name, call.cwd, call.result) for call in calls(found)] == [("Read", "/w/shop", "X = 1")]
    assert said(found) == ["`X` is 1."]
    assert not [event for event in found if isinstance(event, Problem)]
