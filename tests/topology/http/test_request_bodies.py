"""What a body holds: one record or JSON Lines, all of them valid or none taken."""

import asyncio
import json
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import UnreachableError
from sluice.topology.http.request_bodies import (
    LINES_AT_ONCE,
    MAX_RECORDS,
    READ_AT_ONCE,
    BodyReader,
    RefusedLine,
    TakenRecord,
    read_body,
    refusal_body,
)

NOW = 1_800_000_000_000
GOOD = {"emission_id": "em-1", "emitted_at": NOW, "text": "It is out. [substrate.git.log]"}


def body(*records):
    return b"\n".join(record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)


@pytest.mark.parametrize("media_type", ["application/json", "application/x-ndjson", "", "text/plain"])
def test_one_record_is_one_record_whatever_it_is_called(media_type):
    """Its id is what the answer names, its key what the lanes expect."""
    (one,) = read_body(body(GOOD), media_type, "emissions", NOW)

    assert (one.id, one.prepared.key, one.prepared.topic) == ("em-1", b"em-1", "emissions")


def test_one_record_may_stand_on_several_lines():
    (one,) = read_body(json.dumps(GOOD, indent=2).encode(), "application/json", "emissions", NOW)

    assert isinstance(one, TakenRecord)


@pytest.mark.parametrize("media_type", ["application/json", "application/x-ndjson", "application/jsonl"])
def test_json_lines_are_read_line_by_line(media_type):
    text = body(GOOD, b"", {**GOOD, "emission_id": "em-2"}, b"  ")

    assert [one.id for one in read_body(text, media_type, "emissions", NOW)] == ["em-1", "em-2"]


def test_one_bad_line_takes_none():
    found = read_body(
        body(GOOD, {"emission_id": 7, "text": "x"}, b'{"broken'), "application/x-ndjson", "emissions", NOW
    )

    assert [(one.line, one.reason) for one in found if isinstance(one, RefusedLine)] == [(2, "schema"), (3, "not-json")]
    told = refusal_body(found)
    assert (told["line"], told["path"], told["refused"]) == (2, "$.emission_id", 2)
    assert told["expected"].startswith("str")
    assert told["got"] == "int"


def test_lines_that_break_off_are_json_lines_all_the_same():
    """Not one JSON value, and more than a line: each line is told about."""
    found = read_body(b'{"emission_id": "em-1", "te\n{"a": 1}', "application/json", "emissions", NOW)

    assert [one.line for one in found] == [1, 2]


@pytest.mark.parametrize("nothing", [b"", b"  \n \n"])
def test_nothing_is_no_record(nothing):
    """An empty body is a mistake, not an empty batch."""
    (one,) = read_body(nothing, "application/json", "emissions", NOW)

    assert isinstance(one, RefusedLine)


def test_a_refusal_names_the_member_that_is_wrong():
    """Serving, intake: path, expected and got; also where the sentence about it names no expectation."""
    wrong = {**GOOD, "assertions": [{"span": {"chars": [0, 99]}}]}

    told = refusal_body(read_body(body(wrong), "application/json", "emissions", NOW))

    assert told["path"] == "$.assertions[0].span"
    assert told["got"].startswith("c:0-99 does not lie in a text")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("emission_id", b"{", b'{"emission_id": "em-0", '),
        ("text", b'"text"', b'"\\u0074ext": "No.", "text"'),
        ("chars", b'"chars"', b'"chars": [0, 2], "chars"'),
    ],
)
def test_a_member_that_occurs_twice_is_refused(name: str, old: bytes, new: bytes):
    """In any object of a record, however it is spelt: which of the two counts depends on who reads it."""
    value = {"emission_id": "em-1", "text": "It is so.", "assertions": [{"span": {"chars": [0, 9]}}]}
    line = json.dumps(value).encode()
    assert isinstance(read_body(line, "application/json", "emissions", NOW)[0], TakenRecord)

    (refused,) = read_body(line.replace(old, new, 1), "application/json", "emissions", NOW)

    assert isinstance(refused, RefusedLine)
    assert refused.sentence == f"line 1: $: expected each member once in an object, got '{name}' twice"


def test_a_record_of_another_topic_is_refused():
    """An emission that is posted as an observation would only come back as a dead letter."""
    (one,) = read_body(body(GOOD), "application/json", "observations", NOW)

    assert isinstance(one, RefusedLine)


def test_too_many_records_are_refused_at_once():
    (one,) = read_body(body(*[GOOD] * (MAX_RECORDS + 1)), "application/x-ndjson", "emissions", NOW)

    assert isinstance(one, RefusedLine)
    assert one.reason == "oversize"


def test_an_emission_is_the_same_by_its_id_and_attempt():
    """Its digest looks at what was posted, not at white space, order, or the time that we put in."""
    short = {"emission_id": "em-1", "text": "It is out."}
    (one,) = read_body(body(short), "", "emissions", NOW)
    (again,) = read_body(json.dumps(dict(reversed(short.items())), indent=1).encode(), "", "emissions", NOW + 5)
    (other,) = read_body(body({**short, "attempt": 1}), "", "emissions", NOW)
    (changed,) = read_body(body({**short, "text": "It is not out."}), "", "emissions", NOW)

    assert (one.identity, one.digest) == (again.identity, again.digest)
    assert other.identity != one.identity == changed.identity
    assert changed.digest != one.digest


@given(st.binary(max_size=200), st.sampled_from(["application/json", "application/x-ndjson"]))
def test_any_bytes_are_taken_or_told_about(raw, media_type):
    """Nothing raises, and every refusal has a path and a line that is there."""
    for one in read_body(raw, media_type, "emissions", NOW):
        if isinstance(one, RefusedLine):
            assert one.path.startswith("$")
            assert 1 <= one.line <= raw.count(b"\n") + 1


SHORT = b'{"emission_id": "em-1", "text": "It is out."}'
LARGE = json.dumps({"emission_id": "em-1", "text": "It is out.", "contexts": {"c": "x" * READ_AT_ONCE}}).encode()
MANY = b"{}\n" * (LINES_AT_ONCE + 1)
READ_AT = 1_795_000_000_000


@pytest.fixture
def reader():
    reader = BodyReader()
    yield reader
    reader.close()


def read(reader, body):
    return reader.read(body, "", "emissions", READ_AT, (("traceparent", b"00"),))


def child_of(reader):
    (process,) = reader._pool._processes.values()
    return process


async def test_a_short_body_needs_no_process(reader):
    (record,) = await read(reader, SHORT)

    assert isinstance(record, TakenRecord)
    assert reader._pool is None


@pytest.mark.parametrize(("body", "kind", "count"), [(LARGE, TakenRecord, 1), (MANY, RefusedLine, LINES_AT_ONCE + 1)])
async def test_the_event_loop_goes_on_while_a_body_is_read(reader, body, kind, count):
    """A body of many bytes, or of many short lines: its process is stopped here, and the loop is not."""
    reader.start()
    child = child_of(reader)
    os.kill(child.pid, signal.SIGSTOP)
    reading = asyncio.create_task(read(reader, body))
    done, _ = await asyncio.wait({reading}, timeout=0.05)
    os.kill(child.pid, signal.SIGCONT)
    records = await reading

    assert not done
    assert len(records) == count
    assert all(isinstance(record, kind) for record in records)


async def test_a_killed_process_fails_its_body_alone(reader):
    """It is told in one sentence, and the next body is read in a new process."""
    reader.start()
    child = child_of(reader)
    os.kill(child.pid, signal.SIGSTOP)
    reading = asyncio.create_task(read(reader, LARGE))
    await asyncio.sleep(0)
    child.kill()
    with pytest.raises(UnreachableError, match="the process that reads bodies was killed"):
        await reading
    (record,) = await read(reader, LARGE)

    assert isinstance(record, TakenRecord)
    assert record.prepared.headers == (("traceparent", b"00"),)
