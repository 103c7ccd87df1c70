"""What was made of an object is made once, and never taken for what another object gave."""

from __future__ import annotations

from sluice.record.call_annotations import IdentityCache


def test_it_is_made_once_of_each_object_also_of_equal_ones():
    """Objects are told apart by being themselves: nothing is compared."""
    made: list[list[int]] = []

    def make(one: list[int]) -> int:
        made.append(one)
        return len(made)

    once = IdentityCache(make, 2)
    first, second = [1], [1]
    assert [once.of(first), once.of(second), once.of(first)] == [1, 2, 1]
    assert made[0] is first
    assert made[1] is second


def test_no_more_is_kept_than_was_said_and_an_object_that_is_gone_lends_its_id_to_no_other():
    """Made for thousands of objects that live for a moment, it gives each its own."""
    once = IdentityCache(lambda one: one[0], 3)
    assert [once.of([number]) for number in range(1000)] == list(range(1000))


def test_what_is_kept_has_a_bound_of_its_size():
    """Large files one after the other are not all held; what is larger than the bound is held not at all."""
    made: list[bytes] = []

    def make(one: bytes) -> bytes:
        made.append(one)
        return one + b"!"

    once = IdentityCache(make, 64, len, 100)
    small, large, huge = bytes(40), bytes(61), bytes(101)
    assert [once.of(one) for one in (small, small, large, small, huge, huge)] == [
        one + b"!" for one in (small, small, large, small, huge, huge)
    ]
    assert list(map(len, made)) == [40, 61, 40, 101, 101]
