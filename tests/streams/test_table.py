"""The table holds what lives, and nothing longer: attempts while they may be named, lives, waiting evidence."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sluice.codecs.records import Observation, Subject
from sluice.codecs.spans import Span
from sluice.streams import table as module
from sluice.streams.table import Attempt, Declared, Life, Phase, Seen, Table, Waiting


def life(table: Table, name: str, number: int, span_key: str) -> Life:
    return Life(
        emission_id=name,
        attempt=number,
        span_key=span_key,
        kind="assertion",
        effect="internal",
        k=2,
        text="",
        declared=(),
        annotated=False,
        grounded=False,
        confidence=None,
        chain=None,
        emitter=None,
        traceparent=None,
        emitted_at=0,
        arrival=0,
        windows={},
        longest=0,
        horizon=0,
        order=table.next_order(),
    )


def attempt(table: Table, name: str = "em-1", number: int = 0, until: int = 10) -> Attempt:
    made = Attempt(
        emission_id=name, number=number, emitted_at=0, digest=b"", lives=[], closed=[], order=table.next_order()
    )
    table.remember(made, until)
    return made


def waiting(table: Table, name: str = "em-1", until: int = 10) -> Waiting:
    seen = Observation("o1", "substrate.grep", 0, "observer-1", Subject(name, Span(chars=(0, 1))), "corroborates")
    made = Waiting(observation=seen, span_key="c:0-1", observed_at=0, order=table.next_order())
    table.put_aside(made, until)
    return made


class Lives(RuleBasedStateMachine):
    """What a fold does with a table, beside plain sets of what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(0, 1)
        self.known: dict[tuple[str, int], Attempt] = {}
        self.living: dict[tuple[str, int, str], Life] = {}
        self.expired: set[tuple[str, int]] = set()
        self.aside: list[Waiting] = []

    @rule(name=st.sampled_from("ab"), number=st.integers(0, 2))
    def remember(self, name: str, number: int) -> None:
        if (name, number) not in self.known:
            self.known[name, number] = attempt(self.table, name, number)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), span_key=st.sampled_from(["c:0-1", "c:1-2"]))
    def add(self, data: st.DataObject, span_key: str) -> None:
        name, number = data.draw(st.sampled_from(sorted(set(self.known) - self.expired) or [("-", 0)]))
        place = (name, number, span_key)
        if name != "-" and place not in self.living and span_key not in self.known[name, number].closed:
            self.living[place] = life(self.table, *place)
            self.table.add(self.known[name, number], self.living[place])

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.living)))
        self.table.close(self.living.pop(place))
        self.forget_if_over(place[:2])

    @precondition(lambda self: set(self.known) - self.expired)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        """The memory's timer fires: what still lives keeps it for a while."""
        place = data.draw(st.sampled_from(sorted(set(self.known) - self.expired)))
        self.known[place].due = self.known[place].filed = None
        self.expired.add(place)
        if not self.known[place].lives:
            self.table.forget(self.known[place])
        self.forget_if_over(place)

    def forget_if_over(self, place: tuple[str, int]) -> None:
        if place in self.expired and not any(key[:2] == place for key in self.living):
            self.expired.discard(place)
            del self.known[place]

    @rule(name=st.sampled_from("ab"))
    def put_aside(self, name: str) -> None:
        self.aside.append(waiting(self.table, name))

    @precondition(lambda self: self.aside)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        self.table.drop(self.aside.pop(data.draw(st.integers(0, len(self.aside) - 1))))

    @invariant()
    def it_holds_what_lives_and_nothing_else(self) -> None:
        table = self.table
        attempts = {(one.emission_id, one.number): one for of_one in table.attempts.values() for one in of_one}
        assert attempts == self.known
        assert table.lives == len(self.living) == sum(len(one.lives) for one in attempts.values())
        for name, number, span_key in self.living:
            assert attempts[name, number].life(span_key) is self.living[name, number, span_key]
        for name in "ab":
            numbers = [number for one, number in self.known if one == name]
            assert table.newest(name) == max(numbers, default=-1)
            assert all((table.attempt(name, number) is not None) == (number in numbers) for number in range(3))
            assert table.waiting.get(name, []) == [one for one in self.aside if _name(one) == name]

    @invariant()
    def nothing_empty_is_kept(self) -> None:
        assert all(self.table.attempts.values())
        assert all(self.table.waiting.values())


def _name(one: Waiting) -> str:
    return one.observation.subject.emission_id


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


def test_closing_ends_a_life_s_timer_and_remembers_its_span_key() -> None:
    """Late evidence can then be told from evidence that never matched."""
    table = Table(0, 1)
    known = attempt(table)
    one = life(table, "em-1", 0, "c:0-1")
    table.add(known, one)
    table.pending.wait(one, 5)

    table.close(one)

    assert (one.phase, one.due) == (Phase.CLOSED, None)
    assert table.pending.next_due() is None
    assert (known.life("c:0-1"), known.closed) == (None, ["c:0-1"])


def test_a_memory_s_end_waits_for_its_last_life() -> None:
    """An attempt whose time is over is kept while anything of it lives, and goes with it."""
    table = Table(0, 1)
    known = attempt(table, until=5)
    one = life(table, "em-1", 0, "c:0-1")
    table.add(known, one)
    assert table.expiring.head(6) is not None
    assert table.expiring.pop() is known

    assert table.attempt("em-1", 0) is known
    table.close(one)

    assert table.attempts == {}


def test_a_life_without_its_attempt_is_a_broken_invariant() -> None:
    """It stops the lane loudly instead of leaking."""
    table = Table(0, 1)

    with pytest.raises(AssertionError, match="em-1 lives without its attempt 0"):
        table.close(life(table, "em-1", 0, "c:0-1"))


def test_orders_are_unique_and_grow() -> None:
    """They order what is due at one instant, however the table was built."""
    table = Table(0, 1)

    assert [table.next_order() for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("struct", [Declared, Seen, Life, Attempt, Waiting])
def test_no_item_is_tracked_by_the_cyclic_collector(struct: Any) -> None:
    """Hundreds of thousands of them would halve the throughput (style.md, «Measured habits»)."""
    assert not struct.__struct_config__.gc
    assert struct in vars(module).values()


def test_lives_of_one_table_share_nothing_that_changes() -> None:
    """Defaults that are lists are each life's own."""
    table = Table(0, 1)
    one, other = life(table, "a", 0, "c:0-1"), life(table, "b", 0, "c:0-1")

    one.seen.append(Seen("substrate.grep"))

    assert other.seen == []
    assert not gc.is_tracked(one)
