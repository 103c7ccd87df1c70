"""What stands in a block for a batch that could not be read."""

from __future__ import annotations

from hashlib import sha256

import msgspec
import pytest

from sluice.codecs.blocks import (
    FIRST_BYTES,
    Event,
    EventKind,
    Quarantined,
    event_of,
    leaf_data,
    quarantine,
    read_quarantine,
    refused,
)

RAW = bytes(range(256)) * 5


def test_an_event_tells_all_that_is_ever_told_of_a_batch():
    """Where it was, what it looked like, and why: nobody needs the batch again."""
    event = quarantine(1, 7, 10, 1_790_000_000_000, "too-large", RAW)

    assert (event.kind, event.source, event.offset, event.timestamp) == (EventKind.QUARANTINE, 1, 7, 1_790_000_000_000)
    assert (event.key, event.headers) == (None, [])
    digest = sha256(RAW).hexdigest()
    assert read_quarantine(event) == Quarantined(10, "too-large", 1280, digest, RAW[:FIRST_BYTES].hex())


def test_its_bytes_come_back_from_a_block_as_they_were():
    """Like any event's."""
    event = quarantine(0, 7, 8, 5, "checksum", b"")

    assert event_of(leaf_data(event)) == event
    assert event.value == (
        b'{"next":8,"reason":"checksum","length":0,"sha256":"'
        b'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","first":""}'
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("checksum", "its checksum does not hold"),
        ("damaged", "its bytes are not what its header says"),
        ("too-large", "it unpacks to more than a lane takes"),
    ],
)
def test_a_dead_letter_names_the_offsets_and_the_reason(reason: str, words: str):
    """In words that do not depend on a library's."""
    offsets, fault = refused(quarantine(0, 7, 10, 5, reason, RAW))  # type: ignore[arg-type]

    assert offsets == 3
    assert (fault.reason, fault.detail) == (
        "unreadable-batch",
        f"the batch from offset 7 to 9 cannot be read: {words}",
    )


@pytest.mark.parametrize("value", [None, b"", b"7", b'{"next":8}', b'{"next":8,"reason":"mood"}'])
def test_what_tells_something_else_is_refused(value: bytes | None):
    """A ledger that somebody has written by hand."""
    with pytest.raises(msgspec.MsgspecError):
        read_quarantine(Event(EventKind.QUARANTINE, 0, 7, 5, [], None, value))
