"""Events and stored records that lie where they were read (native/in_place.c), like those that were made."""

from __future__ import annotations

from typing import Any

import pytest
from batch_samples import NOUGHT, NULL, RECORDS, T, cursor_of, packed, raw_cursor, record, text, zigzag
from block_samples import EVENTS, HEADER, HEADERS
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import compiled_core
from sluice.codecs.blocks import (
    MAX_HEADERS,
    MAX_INPUT_BYTES,
    Event,
    Header,
    leaf_data,
    seal,
    statement,
    stretches,
    unseal,
)
from sluice.codecs.record_batches import read_events, read_stored
from sluice.streams.adjudication.fold import event_for
from sluice.topology.engine.export_files import Stored

# ---------------------------------------------------------------- events that lie in their block


@given(HEADERS, st.lists(EVENTS, max_size=5))
def test_events_in_place_are_like_those_that_are_made(header: Header, events: list[Event]) -> None:
    """Equal both ways and part by part, shown alike, and packed to the same bytes, by the core and by Python."""
    block, data = seal(header, events)
    found = unseal(data, in_place=True)

    assert found == block
    assert events == list(found.events)
    assert [repr(one) for one in found.events] == [repr(one) for one in events]
    assert [leaf_data(one) for one in found.events] == [leaf_data(one) for one in events]
    assert stretches(found.events, 4) == stretches(events, 4)
    assert seal(header, found.events)[1] == data
    assert statement(found) == statement(block)
    if compiled_core.codecs is not None:
        assert all(type(one) is compiled_core.codecs.EventInPlace for one in found.events), (
            "all of them, or it was not plain"
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled_core, "codecs", None)
            assert seal(header, found.events)[1] == data
            assert stretches(found.events, 4) == stretches(events, 4)


@given(EVENTS, EVENTS)
def test_an_event_in_place_is_no_other(one: Event, other: Event) -> None:
    """Nor anything that has not all of its parts; and it is as little a key of a dict as an event that was made."""
    found = unseal(seal(HEADER, [one])[1], in_place=True).events[0]

    assert [found == other, found != other] == [one == other, one != other]
    assert found != 7
    with pytest.raises(TypeError):
        _ = found < other  # type: ignore[operator]
    with pytest.raises(TypeError):
        hash(found)


def test_an_event_in_place_holds_its_block_s_bytes() -> None:
    """Whoever else lets go of them; and another's list of headers is another list."""
    events = [Event(0, 0, number, 0, [], None, bytes([number]) * 3000) for number in range(200)]
    found = list(unseal(seal(HEADER, events)[1], in_place=True).events)

    for number in reversed(range(200)):
        assert found.pop().value == events[number].value
    one, other = unseal(seal(HEADER, events[:2])[1], in_place=True).events
    one.headers.append(("x", b"y"))
    assert other.headers == []


# ---------------------------------------------------------------- records that lie in their batch


def made(*records: tuple[bytes | None, bytes | None, Any], **changes: Any) -> list[bool]:
    """Whether each event of a batch of these records was made, and lies nowhere."""
    cursor = cursor_of(packed([(T, *one) for one in records]))
    for name, value in changes.items():
        setattr(cursor, name, value)
    return [type(one) is Event for one in read_events(cursor, 0, 0, 99, 10**9, event_for)[0]]


def test_what_came_is_held_only_for_what_is_kept() -> None:
    """A record that lies in its batch holds all of it, and counts as its own bytes: a small one behind others that are
    too large to keep is made, as is one whose batch goes on with what is no record, or is larger than may be held."""
    small, large = (b"k", b"v" * 100, []), (b"k", bytes(MAX_INPUT_BYTES), [])
    crowded = (b"k", b"", [("", b"")] * (MAX_HEADERS + 1))

    assert made(small, small) == [compiled_core.codecs is None] * 2
    if compiled_core.codecs is None:
        return  # Python makes each record
    assert made(small, large) == [True, True]
    assert made(small, crowded) == [True, True]
    assert made(small, (b"k", b"v" * 400_000, []), large) == [False, False, True]
    assert made(small, data=cursor_of(packed([(T, *small)])).data + bytes(2**24)) == [True]
    batch = cursor_of(packed([(T, *small)]))
    assert made(small, data=batch.data[: batch.end] + bytes(1000), end=batch.end + 1000) == [True]


@given(RECORDS)
def test_stored_records_in_place_are_like_those_that_are_made(records: list[Any]) -> None:
    """Part by part, shown and compared."""
    data, more = packed(records), (0, 99, 10**9, Stored)
    (found, byte_count), (expected, same) = (
        read_stored(cursor_of(data), *more, in_place=in_place) for in_place in (True, False)
    )

    assert byte_count == same
    assert found == expected
    assert expected == found
    assert [repr(one) for one in found] == [repr(one) for one in expected]
    assert [(one.offset, one.timestamp) for one in found] == [(one.offset, one.timestamp) for one in expected]


@pytest.mark.parametrize("headers", [[text(b"a\xff"), NULL], [NULL, NOUGHT], [text(b"a"), zigzag(99)], [text(b"a")]])
def test_what_is_no_stored_record_is_none_in_place(headers: list[bytes]) -> None:
    """Whoever never asks for its headers must hear of it as well, in the same words."""
    data = record(NOUGHT, NOUGHT, text(b"k"), text(b"v" * 99), zigzag(1), *headers)

    said = list[str]()
    for in_place in (True, False):
        with pytest.raises(ValueError) as refused:
            read_stored(raw_cursor(data), 0, 99, 10**9, Stored, in_place=in_place)
        said.append(str(refused.value))
    assert said[0] == said[1]
