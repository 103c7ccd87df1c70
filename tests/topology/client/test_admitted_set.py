"""The admitted set as a reader knows it, held against `showing.what_holds` and what its own changes add up to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import text_value
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.times import format_time
from sluice.topology.client import Admitted, AnyChange, Decayed, FakeSluice, Refused, Renewed
from sluice.topology.client.admitted_set import AdmittedRead, AdmittedSet
from sluice.topology.settings.showing import Shown, what_holds

START = 1_795_251_600_000


def template() -> dict[str, Any]:
    fake = FakeSluice()
    fake.emit(text_value())
    fake.corroborate("em-1", "substrate.git.log", "substrate.grep")
    (record,) = fake.records("admitted")
    return record


TEMPLATE = template()


def word(offset: int, key: str, status: str, until: int | None) -> AdmittedRead:
    record = {name: value for name, value in TEMPLATE.items() if name != "valid_until"} | {"status": status}
    if until is not None:
        record["valid_until"] = format_time(START + until)
    return AdmittedRead(0, offset, key.encode(), msgspec.json.encode(record))


STATUSES = st.sampled_from(["admitted", "renewed", "decayed-to-uncertainty", "contradicted", "rejected", "refused"])


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, AdmittedRead]]:
    """Words, each with the time at which it is read."""
    found, time = [], 0
    for offset in range(draw(st.integers(1, 25))):
        time += draw(st.integers(0, 40))
        until = draw(st.none() | st.integers(time - 50, time + 100)) if draw(st.booleans()) else time + 30
        found.append((time, word(offset, draw(st.sampled_from("abc")), draw(STATUSES), until)))
    return found


class Reading:
    """A set that is read word by word, with what its changes add up to."""

    def __init__(self) -> None:
        self.now = 0
        self.set = AdmittedSet(lambda: START + self.now, 0)
        self.shown: dict[str, Any] = {}

    def take(self, time: int, one: AdmittedRead) -> None:
        self.pass_to(time)
        self.apply(self.set.take(one, START + time))

    def pass_to(self, time: int) -> None:
        self.now = time
        while (change := self.set.expire(START + time)) is not None:
            self.apply(change)

    def apply(self, change: AnyChange | None) -> None:
        if isinstance(change, Admitted | Renewed):
            self.shown[change.key] = change.record
        elif change is not None:
            self.shown.pop(change.key, None)


@settings(deadline=None)
@given(histories(), st.integers(0, 100))
def test_the_set_is_what_the_topic_says_at_this_instant(history: list[tuple[int, AdmittedRead]], later: int):
    """The last word of each key, where it neither closes the assertion, refuses, nor is past."""
    reading = Reading()
    for time, one in history:
        reading.take(time, one)
        now = START + time
        shown = [Shown(w.key, "", msgspec.json.decode(w.value or b"")) for at, w in history if w.offset <= one.offset]
        expected = {(held.key or b"").decode() for held in what_holds(shown, now) if held.value["status"] != "refused"}
        assert set(reading.set) == expected
    reading.now += later
    assert all(reading.set[key] for key in reading.set)


@settings(deadline=None)
@given(histories(), st.integers(0, 200))
def test_the_changes_add_up_to_the_set(history: list[tuple[int, AdmittedRead]], later: int):
    """Who adds what is admitted and takes away what ends has the set, at any time."""
    reading = Reading()
    for time, one in history:
        reading.take(time, one)
        assert reading.shown == dict(reading.set)
    reading.pass_to(reading.now + later)
    assert reading.shown == dict(reading.set)


@settings(deadline=None)
@given(histories(), st.data())
def test_an_end_is_never_left_out_after_a_resumption(history: list[tuple[int, AdmittedRead]], data: st.DataObject):
    """A second reader that goes on where the first one stood brings what was made of the changes to the same end."""
    first = Reading()
    cut = data.draw(st.integers(0, len(history)))
    for time, one in history[:cut]:
        first.take(time, one)
    mark, second = first.set.told_until, Reading()
    second.set.told_until = mark
    for _, one in history[:cut]:
        second.set.take(one, mark)
    second.shown = dict(first.shown)
    for time, one in history[cut:]:
        second.take(time, one)
    second.pass_to(first.now + 10_000)
    assert second.shown == dict(second.set)


@settings(deadline=None)
@given(histories(), st.data())
def test_compaction_changes_nothing_in_the_end(history: list[tuple[int, AdmittedRead]], data: st.DataObject):
    """The last words alone give the same set as all words."""
    whole, compacted = Reading(), Reading()
    last = {one.key: one.offset for _, one in history}
    end = history[-1][0] + data.draw(st.integers(0, 100))
    for _, one in history:
        whole.take(end, one)
        if last[one.key] == one.offset:
            compacted.take(end, one)
    assert dict(whole.set) == dict(compacted.set)


def test_a_decay_that_is_told_by_the_clock_is_not_reported_again_by_the_lane():
    """The lane's word comes later, and says nothing new; a contradiction still does."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    reading.now = 11
    change = reading.set.expire(START + 11)
    assert isinstance(change, Decayed)
    assert (change.told_by, change.offset) == ("reader", None)
    assert reading.set.take(word(1, "a", "decayed-to-uncertainty", 10), START + 12) is None
    assert reading.set.take(word(2, "a", "contradicted", None), START + 13) is not None


def test_what_was_past_before_it_came_is_never_reported_as_admitted():
    """Not even when the reader is late: its decay is not told either, since nobody took it for admitted."""
    reading = Reading()
    assert reading.set.take(word(0, "a", "admitted", 10), START + 11) is None
    assert reading.set.take(word(1, "a", "decayed-to-uncertainty", 10), START + 11) is None


def test_a_renewal_that_is_past_already_ends_what_was_held():
    """The reader knows at once, with the word that says it."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    change = reading.set.take(word(1, "a", "renewed", 20), START + 21)
    assert isinstance(change, Decayed)
    assert (change.told_by, change.offset) == ("reader", 1)


def test_the_last_instant_of_validity_is_included():
    """And the set needs no change to know the instant after it."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    reading.now = 10
    assert list(reading.set) == ["a"]
    assert reading.set.expire(START + 10) is None
    reading.now = 11
    assert list(reading.set) == []
    with pytest.raises(KeyError):
        reading.set["a"]


def test_a_decay_waits_for_the_lane_for_as_long_as_the_grace():
    """The set does not wait."""
    held = AdmittedSet(lambda: START + 11, 2000)
    held.take(word(0, "a", "admitted", 10), START)
    assert list(held) == []
    assert held.expire(START + 2010) is None
    assert held.next_expiry() == START + 2011
    assert isinstance(held.expire(START + 2011), Decayed)


def test_of_ends_at_one_instant_none_is_taken_for_reported_before_it_was():
    """The mark moves behind the instant with the last of them."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    reading.take(0, word(1, "b", "admitted", 10))
    reading.set.expire(START + 11)
    assert reading.set.told_until == START + 10
    reading.set.expire(START + 11)
    assert reading.set.told_until == START + 11


@pytest.mark.parametrize("value", [None, b"", b"{}", b"nonsense", b"[" * 100_000, b'{"status": "pondered"}'])
def test_a_word_that_is_none_is_counted_and_changes_nothing(value: bytes | None):
    """A foreign record or a later version's must not stop a reader."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    assert reading.set.take(AdmittedRead(0, 1, b"a", value), START) is None
    assert list(reading.set) == ["a"]
    assert reading.set.unreadable == 1


def test_a_refusal_replaces_what_was_admitted_under_its_key():
    """A newer attempt that refuses ends the earlier life without another word."""
    reading = Reading()
    reading.take(0, word(0, "a", "admitted", 10))
    assert isinstance(reading.set.take(word(1, "a", "refused", None), START), Refused)
    assert list(reading.set) == []
