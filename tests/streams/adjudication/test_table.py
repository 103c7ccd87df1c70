"""The table holds what lives, and nothing longer: attempts while they may be named, lives, waiting evidence."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from search import examples

from sluice.streams.adjudication import emission_state as module
from sluice.streams.adjudication import state as table_module
from sluice.streams.adjudication.emission_state import (
    AssertionState,
    Attempt,
    ClassEvidence,
    Declared,
    EmissionState,
    PendingEvidence,
    Phase,
    Terms,
)
from sluice.streams.adjudication.state import Table

LONG = 1_000_000


def new_table(max_validity: int = LONG) -> Table:
    """A table under a policy whose emissions are remembered for so long."""
    table = Table(0, 1)
    table.terms.append(Terms({}, 0, 0, 0))
    table.max_validities.append((0, max_validity))
    return table


def assertion_state(table: Table, name: str, number: int, span_key: str) -> AssertionState:
    return AssertionState(
        emission_id=name,
        attempt=number,
        span_key=span_key,
        kind="assertion",
        effect="internal",
        k=2,
        text="",
        annotated=False,
        grounded=False,
        confidence=None,
        chain=None,
        emitter=None,
        traceparent=None,
        emitted_at=0,
        arrival=0,
        terms=table.terms[0],
        terms_number=0,
        order=table.next_order(),
    )


def attempt(table: Table, name: str = "em-1", number: int = 0) -> Attempt:
    made = Attempt(number=number, emitted_at=0, digest=b"", order=table.next_order())
    table.remember(name, made)
    return made


def waiting(table: Table, name: str = "em-1", until: int = 10) -> PendingEvidence:
    made = PendingEvidence(record=b"{}", attempt=0, span_key="c:0-1", negative=False, order=table.next_order())
    table.put_aside(name, made, until)
    return made


class States(RuleBasedStateMachine):
    """What a fold does with a table, beside plain sets of what must be in it.

    Whatever is asked of the table is asked by name and number: it may pack what it has at any moment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = new_table()
        self.known: dict[tuple[str, int], list[str]] = {}  # closed spans, of each attempt
        self.living: set[tuple[str, int, str]] = set()
        self.aside: list[tuple[str, int]] = []  # name and order

    def of(self, name: str, number: int) -> Attempt:
        found = self.table.attempt(name, number)
        assert found is not None
        return found

    @rule(name=st.sampled_from("ab"), number=st.integers(0, 2))
    def remember(self, name: str, number: int) -> None:
        if (name, number) not in self.known:
            attempt(self.table, name, number)
            self.known[name, number] = []

    @precondition(lambda self: self.known)
    @rule(data=st.data(), span_key=st.sampled_from(["c:0-1", "c:1-2"]))
    def add(self, data: st.DataObject, span_key: str) -> None:
        name, number = data.draw(st.sampled_from(sorted(self.known)))
        place = (name, number, span_key)
        resting = self.known[name, number] and not any(key[:2] == place[:2] for key in self.living)
        if not resting and place not in self.living and span_key not in self.known[name, number]:
            self.table.add(self.of(name, number), assertion_state(self.table, *place))
            self.living.add(place)

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        name, number, span_key = data.draw(st.sampled_from(sorted(self.living)))
        one = self.of(name, number).assertion(span_key)
        assert one is not None
        self.table.close(one)
        self.living.discard((name, number, span_key))
        self.known[name, number].append(span_key)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        """The memory of an attempt of which nothing lives is over."""
        name, number = data.draw(st.sampled_from(sorted(self.known)))
        if not any(key[:2] == (name, number) for key in self.living):
            self.table.forget(name, self.of(name, number))
            del self.known[name, number]

    @rule(name=st.sampled_from("ab"))
    def put_aside(self, name: str) -> None:
        self.aside.append((name, waiting(self.table, name).order))

    @precondition(lambda self: self.aside)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        name, order = self.aside.pop(data.draw(st.integers(0, len(self.aside) - 1)))
        found = self.table.item(name, order)
        assert isinstance(found, PendingEvidence)
        self.table.drop(name, found)

    @rule()
    def pack(self) -> None:
        """At the end of a block, everything that lies open may be packed."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table_module, "OPEN", 0)
            self.table.settle()

    @rule()
    def restore(self) -> None:
        """Another table takes over what this one has at rest."""
        other = new_table()
        other.order = self.table.order
        other.put_back(dict(self.table.at_rest()))
        self.table = other

    @invariant()
    def it_holds_what_lives_and_nothing_else(self) -> None:
        table = self.table
        assert (table.live, table.asides) == (len(self.living), len(self.aside))
        for name in "ab":
            numbers = [number for one, number in self.known if one == name]
            asides = [order for one, order in self.aside if one == name]
            known = table.known(name)
            assert (known is not None) == (name in table) == bool(numbers or asides)
            assert table.newest(name) == max(numbers, default=-1)
            found = EmissionState() if known is None else known
            assert sorted(one.number for one in found.attempts) == sorted(numbers)
            assert [one.order for one in table.waiting_for(name, 0)] == asides
            for one in found.attempts:
                assert one.closed == self.known[name, one.number]
                spans = {key for at, number, key in self.living if (at, number) == (name, one.number)}
                assert {living.span_key for living in one.assertions} == spans
                assert all((at.emission_id, at.attempt) == (name, one.number) for at in one.assertions)


TestStates = States.TestCase
TestStates.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)


def test_closing_ends_a_life_s_timer_and_remembers_its_span_key() -> None:
    """Late evidence can then be told from evidence that never matched."""
    table = new_table()
    known = attempt(table)
    one = assertion_state(table, "em-1", 0, "c:0-1")
    table.add(known, one)
    table.pending.wait("em-1", one, 5)

    table.close(one)

    assert (one.phase, one.due) == (Phase.CLOSED, None)
    assert table.pending.next_due() is None
    assert (known.assertion("c:0-1"), known.closed) == (None, ["c:0-1"])


def test_a_memory_s_end_waits_for_its_last_life() -> None:
    """An attempt whose time is over is kept while anything of it lives, and goes with it."""
    table = new_table(max_validity=5)
    known = attempt(table)
    one = assertion_state(table, "em-1", 0, "c:0-1")
    table.add(known, one)
    table.time = 6
    assert table.expiring.next_due() is None

    table.close(one)

    assert "em-1" not in table


def test_a_memory_lasts_until_a_repetition_would_be_too_old() -> None:
    """Once nothing of it lives, it has a timer of its own."""
    table = new_table(max_validity=5)
    known = attempt(table)
    one = assertion_state(table, "em-1", 0, "c:0-1")
    table.add(known, one)
    table.close(one)

    assert (table.expiring.head(5), table.expiring.head(6)) == (None, (5, known.order))


def test_a_life_without_its_attempt_is_a_broken_invariant() -> None:
    """It stops the lane loudly instead of leaking."""
    table = new_table()

    with pytest.raises(AssertionError, match="em-1 lives without its attempt 0"):
        table.close(assertion_state(table, "em-1", 0, "c:0-1"))


def test_orders_are_unique_and_grow() -> None:
    """They order what is due at one instant, however the table was built."""
    table = new_table()

    assert [table.next_order() for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "struct", [Declared, ClassEvidence, AssertionState, Attempt, PendingEvidence, EmissionState, Terms]
)
def test_no_item_is_tracked_by_the_cyclic_collector(struct: Any) -> None:
    """Hundreds of thousands of them would halve the throughput (docs/internals.md)."""
    assert not struct.__struct_config__.gc
    assert struct in vars(module).values()


def test_lives_of_one_table_share_nothing_that_changes() -> None:
    """Defaults that are lists are each life's own."""
    table = new_table()
    one, other = assertion_state(table, "a", 0, "c:0-1"), assertion_state(table, "b", 0, "c:0-1")

    one.seen.append(ClassEvidence(0))

    assert other.seen == []
    assert not gc.is_tracked(one)
