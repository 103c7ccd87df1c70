"""A batch of an input that cannot be read: fetched once more, then put aside, or its lane stops."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from sluice.codecs.blocks import EventKind, UnreadableReason, read_quarantine
from sluice.topology.kafka.packed_batches import FetchAgainError, Refusals, UnreadableError

PLACE, OTHER = TopicPartition("emissions", 0), TopicPartition("emissions", 1)


def unreadable(offset: int = 7, *, reason: UnreadableReason = "checksum", behind: int | None = 9) -> UnreadableError:
    return UnreadableError("emissions/0: the batch at offset 7 is damaged", offset, behind, reason, b"raw")


def refusals(*, goes_on: bool = True) -> Refusals:
    return Refusals(goes_on=goes_on, clock=lambda: 1_000)


def test_what_was_damaged_once_is_fetched_once_more():
    """It may have been damaged on the way; the second time an event stands for it."""
    one = refusals()
    with pytest.raises(FetchAgainError):
        one.refuse(PLACE, 1, unreadable())

    event = one.refuse(PLACE, 1, unreadable())

    assert (event.kind, event.source, event.offset, event.timestamp) == (EventKind.QUARANTINE, 1, 7, 1_000)
    assert (read_quarantine(event).next, read_quarantine(event).reason) == (9, "checksum")
    assert one.stopped == {}


def test_what_is_too_large_is_so_however_often_it_is_fetched():
    """It is put aside at once."""
    assert refusals().refuse(PLACE, 0, unreadable(reason="too-large")).kind == EventKind.QUARANTINE


def test_each_batch_has_a_second_chance_of_its_own():
    """Of each partition, and anew where a lane seeks."""
    one = refusals()
    for partition, offset in ((PLACE, 7), (OTHER, 7), (PLACE, 9)):
        with pytest.raises(FetchAgainError):
            one.refuse(partition, 0, unreadable(offset))
    one.forget(PLACE)
    with pytest.raises(FetchAgainError):
        one.refuse(PLACE, 0, unreadable(9))

    assert one.stopped == {}


def test_where_the_settings_say_so_the_lane_stops():
    """With a sentence that says where, why, and what to do; nothing stands for the batch."""
    one = refusals(goes_on=False)
    with pytest.raises(FetchAgainError):
        one.refuse(PLACE, 0, unreadable(reason="too-large"))

    assert one.stopped[PLACE].offset == 7
    assert str(one.stopped[PLACE].error) == (
        "emissions/0/7: a batch of an input cannot be read: emissions/0: the batch at offset 7 is damaged; "
        'set on_poison = "go-on" to have it recorded and passed, or delete the records up to behind it; '
        "the ledger then names a gap"
    )


def test_where_nobody_can_tell_its_end_the_lane_stops():
    """To guess would lose what stands behind it."""
    one = refusals()
    for _ in range(2):
        with pytest.raises(FetchAgainError):
            one.refuse(PLACE, 0, unreadable(behind=None))

    assert "nobody can tell where it ends" in str(one.stopped[PLACE].error)


def test_a_lane_that_seeks_reads_anew():
    """What was wrong may be mended."""
    one = refusals(goes_on=False)
    with pytest.raises(FetchAgainError):
        one.refuse(PLACE, 0, unreadable(reason="too-large"))

    one.forget(PLACE)

    assert one.stopped == {}
