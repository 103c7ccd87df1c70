"""Blocks, headers, events and outputs to be drawn, and one header with two events as an example."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import UNSET

from sluice.codecs import blocks
from sluice.codecs.blocks import Event, EventKind, Header, Output, Source, source_of

NUMBERS = st.integers(0, 2**53 - 1)  # what JSON, and so the canonical header, holds exactly
TEXT = st.text(max_size=20)
EVENTS = st.builds(
    Event,
    kind=st.sampled_from(EventKind).map(int),
    source=st.integers(0, 3),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**63 - 1),
    headers=st.lists(st.tuples(TEXT, st.binary(max_size=20)), max_size=3),
    key=st.none() | st.binary(max_size=40),
    value=st.none() | st.binary(max_size=300),
)
HEADERS = st.builds(
    Header,
    lane=st.integers(0, 100),
    lanes=st.integers(1, 100),
    height=NUMBERS,
    prev=TEXT,
    time=NUMBERS,
    watermark=NUMBERS,
    policy=TEXT,
    fold=TEXT,
    sources=st.lists(st.builds(source_of, TEXT, NUMBERS, NUMBERS, TEXT), max_size=4),
    outputs=TEXT,
    snapshot=st.just(UNSET) | TEXT,
)
OUTPUTS = st.builds(
    Output,
    TEXT,
    st.none() | st.binary(max_size=20),
    st.binary(max_size=40),
    st.lists(st.tuples(TEXT, st.binary(max_size=10)), max_size=2),
)

HEADER = Header(
    lane=1,
    lanes=4,
    height=2,
    prev=blocks.GENESIS,
    time=1_795_251_600_000,
    watermark=1_795_251_599_000,
    policy="sha256:" + "1" * 64,
    fold="1",
    sources=[Source("emissions", 3, 5), Source("observations", 0, 0)],
    outputs="sha256:" + "2" * 64,
)
TWO_EVENTS = [
    Event(EventKind.RECORD, 0, 3, 1_795_251_600_000, [("traceparent", b"00-1")], b"em-1", b"{}"),
    Event(EventKind.OVERSIZE, 0, 4, 1_795_251_600_001, [], None, b"null"),
]
