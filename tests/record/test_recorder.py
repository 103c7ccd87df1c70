"""Turns in, emissions out: identifiers, attempts, pieces, headers; every emission is one that the lanes take."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.errors import UsageError
from sluice.codecs.records import Emission
from sluice.record import (
    Event,
    MemorySink,
    Message,
    Problem,
    Recorder,
    ToolCall,
    Turn,
    TurnBegan,
    TurnEnded,
    answer_statements,
)
from sluice.record import (
    recorder as recorder_module,
)
from sluice.record.answer_statements import Statement, statements
from sluice.record.recorder import Emitted

NOW = 1_795_000_000_000
TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
READ = "     1\tLIMIT = 42\n     2\tOTHER = 7\n"


def recorder(**options: Any) -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    return Recorder("coding-agent", sink, clock=lambda: NOW, **options), sink


def emissions(sink: MemorySink) -> list[Emission]:
    found = [decode_emission(record.value) for record in sink.records]
    assert all(isinstance(one, Emission) for one in found), found
    return [one for one in found if isinstance(one, Emission)]


def said(one: Emission) -> list[str]:
    return [assertion_text(one, assertion) for assertion in one.assertions or ()]


def test_a_turn_is_one_emission() -> None:
    """Its text whole, its statements with their spans, annotations of the calls, and the trace in the headers."""
    made, sink = recorder()
    with made.turn(conversation="c-1", traceparent=TRACE) as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ, ok=True, at=NOW - 5)
        turn.text("The cap is 4")
        turn.text("2, see `LIMIT`. Shall ")
        turn.text("I go on?")

    (one,) = emissions(sink)
    assert (one.emission_id, one.attempt, one.group, one.part, one.final) == ("c-1:0", 0, None, None, None)
    assert one.text == "The cap is 42, see `LIMIT`. Shall I go on?"
    assert one.emitter is not None
    assert one.emitter.system == "coding-agent"
    assert said(one) == ["The cap is 42, see `LIMIT`."]
    (assertion,) = one.assertions or ()
    (annotation,) = assertion.annotations
    assert annotation.substrate_class == "substrate.code.read"
    assert annotation.locator == {"path": "a.py", "lines": [1, 2]}
    assert annotation.ts == "2026-11-18T11:06:39.995Z"
    assert assertion.checks is None
    assert sink.records[0].key == "c-1:0"
    assert sink.records[0].headers == (("traceparent", TRACE.encode()),)


def test_a_tools_plain_text_is_read_like_its_numbered_one() -> None:
    """recording.md «Recorder»: programs that run the tool themselves hand over the file as it is."""
    recording, sink = recorder()
    with recording.turn(conversation="c-1") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result="LIMIT = 42\n7: kept\n", ok=True)
        turn.text("`LIMIT` in `a.py` is 42.")

    ((assertion,),) = [one.assertions or [] for one in emissions(sink)]
    assert [one.locator for one in assertion.annotations] == [{"path": "a.py", "lines": [1, 2]}]
    assert assertion.checks is None


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-11-18T11:06:40Z", "2026-11-18T11:06:40Z"),
        ("2026-11-18T12:06:40.5+01:00", "2026-11-18T11:06:40.500Z"),
        ("2026-11-18T11:06:40", "2026-11-18T11:06:40Z"),
        (datetime(2026, 11, 18, 11, 6, 40), "2026-11-18T11:06:40Z"),
        (NOW, "2026-11-18T11:06:40Z"),
    ],
)
def test_a_calls_time_is_told_in_any_way_that_records_know(at: Any, shown: str) -> None:
    """recording.md «Recorder», `at=`: RFC 3339, a `datetime`, or Unix milliseconds."""
    recording, sink = recorder()
    with recording.turn(conversation="c-1") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ, at=at)
        turn.text("`LIMIT` in `a.py` is 42.")

    ((assertion,),) = [one.assertions or [] for one in emissions(sink)]
    assert [one.ts for one in assertion.annotations] == [shown]


@pytest.mark.parametrize("at", ["yesterday", "", 1.5, True, [2026]])
def test_a_call_at_no_time_is_refused_in_one_sentence(at: Any) -> None:
    """What was said before stays."""
    recording, sink = recorder()
    with recording.turn(conversation="c-1") as turn:
        turn.text("`LIMIT` in `a.py` is 42.")
        with pytest.raises(UsageError, match="the time of a call is none"):
            turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ, at=at)

    assert len(sink.records) == 1


@pytest.mark.parametrize(
    ("arguments", "result", "annotated"),
    [
        ('{"file_path": "a.py"}', READ, True),
        ({"file_path": "a.py"}, READ.encode(), True),
        ({"file_path": "a.py"}, b"\xff\x00 LIMIT = 42\n", True),
        ('{"file_path": ', READ, False),
        ("[1]", READ, False),
        (None, READ, False),
        ({"file_path": "a.py"}, {"lines": [1]}, False),
        ({"file_path": "a.py"}, 7, False),
        ({"file_path": "a.py"}, None, False),
    ],
)
def test_calls_are_taken_as_programs_have_them(arguments: Any, result: Any, annotated: bool) -> None:
    """Arguments as JSON, results as bytes or values; what says nothing gives no annotation and no failure."""
    recording, sink = recorder()
    with recording.turn(conversation="c-1") as turn:
        turn.tool(name="Read", arguments=arguments, result=result)
        turn.text("`LIMIT` in `a.py` is 42.")

    ((assertion,),) = [one.assertions or [] for one in emissions(sink)]
    assert bool(assertion.annotations) is annotated


def test_a_result_that_is_no_value_is_refused_in_one_sentence() -> None:
    """An object of a framework's own is nothing that could be read by its layout."""
    recording, _ = recorder()
    with (
        recording.turn("c-1") as turn,
        pytest.raises(UsageError, match=r"the result of a call is no text .*got object"),
    ):
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=object())


class SlowSink(MemorySink):
    """Says how many flushes ran at once at the most, and in which threads."""

    def __init__(self) -> None:
        super().__init__()
        self.running = self.most = 0
        self.threads: set[int] = set()

    def flush(self) -> None:
        self.threads.add(threading.get_ident())
        self.running += 1
        self.most = max(self.most, self.running)
        time.sleep(0.01)
        self.running -= 1


async def test_turns_of_an_event_loop_keep_apart_and_do_not_hold_it_up() -> None:
    """`async with`: turns that are open at once each have their own words, and the sink is flushed in another thread,
    by one of them at a time."""
    sink = SlowSink()
    recording = Recorder("coding-agent", sink, clock=lambda: NOW)

    async def speak(number: int) -> None:
        async with recording.turn(conversation=f"c-{number}") as turn:
            turn.tool(name="Read", arguments={"file_path": f"a{number}.py"}, result=READ)
            await asyncio.sleep(0)
            turn.text(f"`LIMIT` in `a{number}.py` is 42.")

    await asyncio.gather(*map(speak, range(4)))

    assert sorted((one.emission_id, said(one)) for one in emissions(sink)) == [
        (f"c-{number}:0", [f"`LIMIT` in `a{number}.py` is 42."]) for number in range(4)
    ]
    assert threading.get_ident() not in sink.threads
    assert sink.most == 1


def test_turns_count_and_the_same_one_again_is_another_attempt() -> None:
    """Each conversation for itself."""
    made, sink = recorder()
    for conversation, number in (("a", None), ("a", None), ("b", None), ("a", 1), ("a", 1), ("a", "x y")):
        with made.turn(conversation, number) as turn:
            turn.text("`X` is 3.")
    assert [(one.emission_id, one.attempt) for one in emissions(sink)] == [
        ("a:0", 0),
        ("a:1", 0),
        ("b:0", 0),
        ("a:1", 1),
        ("a:1", 2),
        ("a:x_y~887fcea6a80333c6c02ae7e7", 0),  # no identifier encodes white space
    ]


def test_what_an_earlier_turn_read_bears_on_a_later_one() -> None:
    """In the same conversation, and in no other."""
    made, sink = recorder()
    with made.turn("a") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ)
    for conversation in ("a", "b"):
        with made.turn(conversation) as turn:
            turn.text("`LIMIT` is 42.")
    first, second = emissions(sink)
    assert (first.assertions or ())[0].annotations
    assert not (second.assertions or ())[0].annotations


def test_a_turn_without_words_is_no_emission() -> None:
    """Calls alone state nothing."""
    made, sink = recorder()
    with made.turn("a") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ)
    assert sink.records == []


def test_what_was_said_before_a_failure_is_emitted() -> None:
    """And the failure goes on."""
    made, sink = recorder()

    def fails() -> None:
        with made.turn("a") as turn:
            turn.text("`X` is 3.")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert [said(one) for one in emissions(sink)] == [["`X` is 3."]]


def test_an_ended_turn_takes_nothing_more() -> None:
    """It says so; ending it twice is no harm."""
    made, sink = recorder()
    turn = made.turn("a")
    turn.text("`X` is 3.")
    turn.end()
    turn.end()
    with pytest.raises(UsageError):
        turn.text("more")
    with pytest.raises(UsageError):
        turn.tool(name="Read", arguments={}, result="")
    assert len(sink.records) == 1


@pytest.mark.parametrize("conversation", ["", "a" * 500, "ä b/c:d%", "a\n\0", "\ud800", "x" * 198 + "üüü"])
def test_names_of_any_kind_become_identifiers(conversation: str) -> None:
    """Percent-encoded, and ended by a hash where they are long; an empty one is refused."""
    made, sink = recorder(streamed=True)
    if not conversation:
        with pytest.raises(UsageError, match="conversation"):
            made.turn(conversation)
        return
    with made.turn(conversation, "t" * 300) as turn:
        turn.text("`X` is 3.")
    (one,) = emissions(sink)
    assert len(one.emission_id) <= 256
    with made.turn(conversation + "x", "t" * 300) as turn:
        turn.text("`X` is 3.")
    assert len({each.emission_id for each in emissions(sink)}) == 2


def test_names_that_look_like_parts_are_told_apart() -> None:
    """The second part of a turn is no turn of another conversation."""
    made, sink = recorder()
    for conversation, number in (("a", "1:2"), ("a:1", "2"), ("a%3A1", "2")):
        with made.turn(conversation, number) as turn:
            turn.text("`X` is 3.")
    assert len({one.emission_id for one in emissions(sink)}) == 3


@pytest.mark.parametrize("traceparent", ["", "00-1-2-3", TRACE + "\r\nx: y", TRACE.upper()])
def test_a_traceparent_that_is_none_is_refused(traceparent: str) -> None:
    """Nothing else gets into the headers."""
    made, _ = recorder()
    with pytest.raises(UsageError, match="traceparent"):
        made.turn("a", traceparent=traceparent)


def test_a_streamed_answer_is_emitted_statement_by_statement() -> None:
    """As soon as a word follows; the parts' texts joined are the answer, and the last one says that it is."""
    made, sink = recorder(streamed=True)
    with made.turn("c") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ)
        turn.text("Well. `LIMIT` is 42. `OTHER`")
        assert [said(one) for one in emissions(sink)] == [["`LIMIT` is 42."]]
        turn.text(" is 7.\n\n- `LIMIT` is no")
        assert len(sink.records) == 2
        turn.text("t 43.\n")
    found = emissions(sink)
    assert "".join(one.text or "" for one in found) == "Well. `LIMIT` is 42. `OTHER` is 7.\n\n- `LIMIT` is not 43.\n"
    assert [(one.emission_id, one.group, one.part, one.final) for one in found] == [
        ("c:0:0", "c:0", 0, False),
        ("c:0:1", "c:0", 1, False),
        ("c:0:2", "c:0", 2, True),
    ]
    assert [said(one) for one in found] == [["`LIMIT` is 42."], ["`OTHER` is 7."], ["`LIMIT` is not 43."]]
    assert all((one.assertions or ())[0].annotations for one in found)


ANSWERS = st.lists(
    st.sampled_from(
        [
            "`a` is 1. ",
            "It is `b.c`: 3. ",
            "\n",
            "\n\n",
            "- `x` is 2\n",
            "```\ncode `y` is 3.\n```\n",
            "> `q` is 4. ",
            "Hm? ",
        ]
        + ["| a | b |\n|---|---|\n| `r` | 5 |\n", "e.g. `Dr.` is 6. ", "🎉 ", "    `z` is 7.\n", "## `H` is 8\n"]
    ),
    max_size=25,
).map("".join)


@settings(max_examples=examples(150), deadline=None)
@given(ANSWERS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_however_an_answer_is_cut_nothing_of_it_is_lost(answer: str, sizes: list[int]) -> None:
    """Streamed or not, the texts joined are the answer, and unstreamed cuts make no difference at all."""
    made, whole = recorder()
    streamed, parts = recorder(streamed=True)
    with made.turn("c") as one, streamed.turn("c") as other:
        at, place = 0, 0
        while at < len(answer):
            size = sizes[place % len(sizes)]
            one.text(answer[at : at + size])
            other.text(answer[at : at + size])
            at, place = at + size, place + 1
    assert "".join(each.text or "" for each in emissions(whole)) == answer
    found = emissions(parts)
    assert "".join(each.text or "" for each in found) == answer
    assert [each.part for each in found] == list(range(len(found)))
    assert [each.final for each in found] == [False] * (len(found) - 1) + [True] * bool(found)


@pytest.mark.parametrize(
    "sentence", ["`a` is 1. ", ". a", "I will see to `a`. ", "a\n", "word " * 50, "`a` is 1.\n\n", ".", " "]
)
def test_streaming_is_work_in_proportion_to_the_answer(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is cut, and whether its sentences state anything or not."""
    read = 0

    def counting(text: str) -> list[Statement]:
        nonlocal read
        read += len(text)
        return statements(text)

    monkeypatch.setattr(answer_statements, "statements", counting)
    monkeypatch.setattr(answer_statements, "LONG_BLOCK", 200)
    stream, answer = answer_statements.Streaming(), (sentence * 6_000)[:6_000]
    for at in range(0, len(answer), 3):
        stream.add(answer[at : at + 3])
    stream.rest()
    assert read <= 120 * len(answer)


ANNOTATED = """\
`LIMIT` is 42. [substrate.grep; path=a.py; pattern=LIMIT; check=equals(LIMIT,%2042)] It is the cap.[^1]

| name | value |
| --- | --- |
| `OTHER` | 7 |

Nothing else. [unverified-inference]

[^1]: equals(CAP, 42)

```checks
[{"say": "name: OTHER; value: 7", "checks": ["equals(OTHER, 7)"]}, {"say": "No one", "checks": []}]
```
"""


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_what_an_answer_annotates_itself_is_emitted_with_it(streamed: bool, size: int) -> None:
    """However it is cut, streamed or not: beside what the calls give, and without a trace in the text. A terminal
    stands alone."""
    made, sink = recorder(streamed=streamed)
    with made.turn("c") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ)
        for at in range(0, len(ANNOTATED), size):
            turn.text(ANNOTATED[at : at + size])
    found = emissions(sink)
    assertions = [(assertion_text(one, each), each) for one in found for each in one.assertions or ()]
    assert [(text, each.checks, [one.substrate_class for one in each.annotations]) for text, each in assertions] == [
        ("`LIMIT` is 42.", ["equals(LIMIT, 42)"], ["substrate.grep", "substrate.code.read"]),
        ("It is the cap.", ["equals(CAP, 42)"], []),
        ("name: `OTHER`; value: 7", ["equals(OTHER, 7)"], ["substrate.code.read"]),
        ("Nothing else.", None, ["unverified-inference"]),
    ]
    text = "".join(one.text or "" for one in found)
    assert not any(mark in text for mark in ("substrate", "[^1]", "checks", "unverified"))
    assert turn.left_out == ["1 entry of a block of checks match no statement of the answer; the first says «No one»."]


def test_a_streamed_answer_waits_only_where_an_annotation_may_begin() -> None:
    """A link, a list of Python and a code block do not hold it up; a footnote does, since its text comes later."""
    made, sink = recorder(streamed=True)
    with made.turn("c") as turn:
        turn.text("In [this](a.py) `A` is 1. The list `[1, 2]` is [so] in `b`. ")
        assert len(sink.records) == 1
        turn.text("`C` is 3.[^1] `D` is 4. More")
        assert len(sink.records) == 2
        turn.text(" of it. [a" + "b" * 500)
        assert len(sink.records) == 2
    assert len(sink.records) == 3


def test_footnotes_are_of_one_message() -> None:
    """Each text of a turn has its own numbers."""
    made, sink = recorder()
    note = "It is.[^1]\n\n[^1]: f({})"
    made.record("s", [Message(text=note.format(name), at=None) for name in "ab"])
    (emission,) = emissions(sink)
    assert [one.checks for one in emission.assertions or ()] == [["f(a)"], ["f(b)"]]


def test_an_answer_of_many_annotations_is_spread_over_emissions() -> None:
    """No emission has more than it may."""
    made, sink = recorder()
    with made.turn("c") as turn:
        turn.text(f"It is. {'[substrate.grep; path=a] ' * 5}" * 400)
    found = emissions(sink)
    assert len(found) > 1
    assert sum(len(one.annotations) for each in found for one in each.assertions or ()) == 2_000


def test_a_long_answer_becomes_parts_of_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each within the bounds of an emission, and nothing is lost between them."""
    monkeypatch.setattr(answer_statements, "MOST_ASSERTIONS", 10)
    monkeypatch.setattr(answer_statements, "MOST_CHARACTERS", 300)
    made, sink = recorder()
    answer = "`a` is 3. " * 25 + "x" * 1000 + ". `b` is 4. " + "y " * 500
    with made.turn("c") as turn:
        turn.text(answer)
    found = emissions(sink)
    assert "".join(one.text or "" for one in found) == answer
    assert [one.part for one in found] == list(range(len(found)))
    assert {one.group for one in found} == {"c:0"}
    assert found[-1].final
    assert sum(len(said(one)) for one in found) == 26


def test_annotations_that_would_fill_a_record_are_spread_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emission is never larger than an input may be."""
    monkeypatch.setattr(recorder_module, "MAX_INPUT_BYTES", 9_000)
    made, sink = recorder()
    with made.turn("c") as turn:
        turn.tool(name="mcp__s__t", arguments={"x": "`LIMIT`" + "a" * 1500}, result="LIMIT is 42")
        turn.tool(name="mcp__s__u", arguments={"x": "`OTHER`" + "a" * 6000}, result="OTHER is 7")
        turn.text("`LIMIT` is 42. " * 5 + "`OTHER` is 7.")
    found = emissions(sink)
    assert len(found) > 1
    assert all(len(record.value) < 9_000 for record in sink.records)
    assert sum(len(said(one)) for one in found) == 6
    assert [bool(assertion.annotations) for one in found for assertion in one.assertions or ()] == [True] * 5 + [False]


def test_a_sessions_events_are_recorded_turn_by_turn() -> None:
    """Texts of one turn are parted; times are the session's; what could not be read is given back."""
    at = datetime(2026, 5, 25, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    problem = Problem(line=3, sentence="line 3 is no JSON")
    call = ToolCall(call_id="1", name="Read", arguments={"file_path": "/r/a.py"}, result=READ, ok=True, at=at, cwd=None)
    made, sink = recorder()
    events = [
        TurnBegan(turn_id="t-1", at=at),
        call,
        Message(text="`LIMIT` is 42.", at=at),
        problem,
        Message(text="`OTHER` is 7.", at=at),
        TurnEnded(at=at),
        Message(text="`X` is 1.", at=None),
        TurnBegan(turn_id="t-2", at=None),
        Message(text="`Y` is 2.", at=None),
    ]
    assert made.record("s", events, cwd="/r") == [problem]
    found = emissions(sink)
    assert [one.emission_id for one in found] == ["s:t-1", "s:0", "s:t-2"]
    assert found[0].text == "`LIMIT` is 42.\n\n`OTHER` is 7."
    assert found[0].emitted_at == "2026-05-25T10:00:00Z"
    (annotation, *_) = (found[0].assertions or ())[0].annotations
    assert (annotation.ts, (annotation.locator or {})["path"]) == ("2026-05-25T10:00:00Z", "a.py")


def test_a_call_without_a_time_is_annotated_without_one() -> None:
    """Nobody makes one up. A time without a zone is taken for UTC."""
    made, sink = recorder()
    call = ToolCall(call_id="", name="Read", arguments={"file_path": "a.py"}, result=READ, ok=True, at=None, cwd=None)
    made.record("s", [call, Message(text="`LIMIT` is 42.", at=None)])
    with made.turn("t") as turn:
        turn.tool(name="Read", arguments={"file_path": "a.py"}, result=READ, at=datetime(2026, 5, 25))
        turn.text("`LIMIT` is 42.")
    times = [(one.assertions or ())[0].annotations[0].ts for one in emissions(sink)]
    assert times == [None, "2026-05-25T00:00:00Z"]


def test_it_needs_neither_kafka_nor_faust() -> None:
    """Who records to a file imports no broker's client."""
    code = (
        "import sys, sluice.record as r\n"
        "s = r.MemorySink()\n"
        "with r.Recorder('e', s).turn('c') as t: t.text('`X` is 3.')\n"
        "assert s.records\n"
        "print([n for n in ('aiokafka', 'faust', 'confluent_kafka', 'sluice.topology') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_files_of_the_checkout_complete_what_came_back(tmp_path: Path) -> None:
    """With the root, the id of what was read is known. The recorder attaches no checks."""
    (tmp_path / "a.py").write_text("A = 1\nLIMIT = 42\nB = 2\n")
    made, sink = recorder(root=tmp_path)
    with made.turn("c") as turn:
        turn.tool(name="Bash", arguments={"command": "sed -n 2p a.py"}, result="LIMIT = 42\n", at=NOW)
        turn.tool(
            name="Read", arguments={"file_path": str(tmp_path / "a.py"), "offset": 2}, result="     2\tLIMIT = 41\n"
        )
        turn.text("The value of `LIMIT`, I found, is 42.")
    (one,) = emissions(sink)
    value = json.loads(sink.records[0].value)
    ids = [each.get("observation_id") for each in value["assertions"][0]["provenance"]]
    assert ids == [f"sha256:{sha256(b'LIMIT = 42' + chr(10).encode()).hexdigest()}"]
    assert (one.assertions or ())[0].checks is None


def spoken(number: int) -> list[Event]:
    """A turn that calls and says something."""
    return [
        TurnBegan(turn_id=f"u{number}", at=None),
        ToolCall(
            call_id=f"c{number}",
            name="Read",
            arguments={"file_path": f"/r/a{number}.py"},
            result=f"     1\tLIMIT_{number} = {number}\n" + "x" * 1_000,
            ok=True,
            at=None,
            cwd="/r",
        ),
        Message(text=f"`LIMIT_{number}` is {number}. `LIMIT_1` is 1.", at=None),
        TurnEnded(at=None),
    ]


def test_a_session_is_recorded_while_it_comes() -> None:
    """Each turn is with the sink before the next one is asked for."""
    sink, asked = MemorySink(), list[int]()

    def events() -> Iterator[Event]:
        for number in range(1, 4):
            asked.append(len(sink.records))
            yield from spoken(number)

    assert [one.number for one in Recorder("r", sink).recording("c", events())] == [1, 2, 3]  # type: ignore[union-attr]
    assert asked == [0, 1, 2]


def test_chosen_turns_are_emitted_and_the_calls_of_all_count() -> None:
    """A turn that says nothing has no number."""
    sink = MemorySink()
    silent = [TurnBegan(turn_id="s", at=None), TurnEnded(at=None)]
    events = [*silent, *spoken(1), *silent, *spoken(2), *spoken(3)]
    found = list(Recorder("r", sink).recording("c", events, chosen=lambda number: number == 3))
    assert found == [Emitted(3)]
    (emission,) = [json.loads(one.value) for one in sink.records]
    assert emission["emission_id"] == "c:u3"
    paths = [one["provenance"][0]["locator"]["path"] for one in emission["assertions"]]
    assert paths == ["a3.py", "a1.py"]


@pytest.mark.slow
def test_of_a_session_whose_last_turn_is_wanted_no_other_is_held() -> None:
    """What earlier turns said is let go of as the next one ends; calls made after the last words do not count."""
    sink, alive = MemorySink(), list[int]()
    recorder = Recorder("r", sink)

    def events() -> Iterator[Event]:
        for number in range(1, 9):
            yield from spoken(number)
            gc.collect()
            alive.append(sum(isinstance(one, Turn) for one in gc.get_objects()))
        yield from spoken(99)[:2]

    assert list(recorder.recording("c", events(), last=True)) == [Emitted(8)]
    assert max(alive) <= 3
    assert [json.loads(one.value)["emission_id"] for one in sink.records] == ["c:u8"]


def test_a_call_in_the_folder_of_its_turn_keeps_its_exit_status() -> None:
    """The folder that the turn lends a call changes nothing else of it."""
    sink = MemorySink()
    run = {"command": "pytest"}
    call = ToolCall(call_id="", name="Bash", arguments=run, result="", ok=False, at=None, cwd=None, exit=3)
    with Recorder("agent", sink).turn("c", cwd="/r") as turn:
        turn.call(call)
        turn.text("All tests pass.")
    (emission,) = (decode_emission(one.value) for one in sink.records)
    assert isinstance(emission, Emission)
    session = (emission.assertions or [])[0].session
    assert session is not None
    assert session.exit == 3
