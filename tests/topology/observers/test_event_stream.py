"""Server-sent events, as the WHATWG standard has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.observers.sse_channel import MAX_EVENT, Event, EventStream, TooLong


def events(*pieces: bytes) -> list[tuple[str, str]]:
    stream = EventStream()
    return [tuple(one) for piece in pieces for one in stream.feed(piece)]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10")]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
         [("message", "first event"), ("message", "second event"), ("message", " third event")]),
        (b"data\n\ndata\ndata\n\ndata:", [("message", ""), ("message", "\n")]),
        (b"data:test\n\ndata: test\n\n", [("message", "test")] * 2),
        (b"event: add\rdata: 1\r\revent: x\n\ndata: 2\r\n\r\n", [("add", "1"), ("message", "2")]),
        (b"\xef\xbb\xbfdata: bom\n\n", [("message", "bom")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        (b" data: no field\nDATA: no field\nother: x\n\n", []),
        (b"data: cut short\n", []),
    ],
)  # fmt: skip
def test_the_examples_of_the_standard(raw: bytes, found: list[tuple[str, str]]):
    """Fields, comments, line ends, an event that is cut short, bytes that are no UTF-8."""
    assert events(raw) == found


@given(st.binary(max_size=300).map(lambda one: one.replace(b"\x00", b"\n").replace(b"\x01", b"data:")), st.data())
def test_pieces_make_no_difference(raw: bytes, data: st.DataObject):
    """However the network cuts the stream, the same events come out of it."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert events(*pieces) == events(raw)


def test_ids_and_retries_are_kept():
    """An id holds until another comes, also one of an event without data; with a NUL it is none; retry is digits."""
    stream = EventStream("before")
    assert stream.last_event_id == "before"
    stream.feed(b"id: 7\n")
    assert stream.last_event_id == "before"
    stream.feed(b"\nid: 8\0\nretry: 250\ndata: x\n\nretry: 1s\n\n")
    assert (stream.last_event_id, stream.retry) == ("7", 250)
    stream.feed(b"id\n\n")
    assert stream.last_event_id == ""


def test_a_line_or_an_event_without_end_is_refused():
    """Neither is kept beyond the bound."""
    for piece in (b"x" * 1000, b"data: " + b"x" * 1000 + b"\n"):
        stream = EventStream()
        for _ in range(MAX_EVENT // len(piece)):
            stream.feed(piece)
        with pytest.raises(TooLong):
            stream.feed(piece * 2)


def test_an_event_is_a_type_and_its_data():
    """The default type is `message`."""
    assert EventStream().feed(b"data: 1\n\n") == [Event("message", "1")]
