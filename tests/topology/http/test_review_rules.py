"""Leases: the first by offset wins, each ends by its own time, and every reader comes to the same."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.http.review_rules import MAX_LEASE_SECONDS, Lease, LeaseWord, lease_after, read_word

WORDS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-5, 2000), st.integers(0, 100_000)), min_size=1, max_size=30
)


def word(holder, seconds=300):
    return LeaseWord(emission_id="em-1", span_key="c:0-1", holder=holder, seconds=seconds)


def test_the_first_one_has_it_until_it_ends():
    """Whoever comes while it is held is not heard; whoever comes at its end has it."""
    lease = lease_after(None, word("a"), 1000)

    assert lease == Lease("a", 301_000)
    assert lease_after(lease, word("b"), 300_999) == lease
    assert lease_after(lease, word("b"), 301_000) == Lease("b", 601_000)


def test_only_its_holder_lengthens_it_or_gives_it_back():
    lease = lease_after(None, word("a"), 0)

    assert lease_after(lease, word("b", 0), 1) == lease
    assert lease_after(lease, word("a"), 1000) == Lease("a", 301_000)
    assert lease_after(lease, word("a", 0), 1000) is None


def test_nobody_holds_one_for_ever():
    assert lease_after(None, word("a", 10**9), 0) == Lease("a", MAX_LEASE_SECONDS * 1000)


@given(WORDS)
def test_a_live_lease_is_never_taken_from_its_holder(words):
    """Whatever is written, in whatever order of times: and two readers of the same words agree."""
    held = again = None
    at = 0
    for holder, seconds, step in words:
        at += step
        new = lease_after(held, word(holder, seconds), at)
        if held is not None and held.is_live(at) and holder != held.holder:
            assert new == held
        held, again = new, lease_after(again, word(holder, seconds), at)
        assert held == again


def test_a_word_under_another_key_is_none():
    good = b'{"emission_id":"em-1","span_key":"c:0-1","holder":"a"}'

    assert read_word(b"em-1#c:0-1", good).holder == "a"
    assert read_word(b"em-2#c:0-1", good) is None
    assert read_word(b"em-1#c:0-1", b"{") is None
    assert read_word(b"em-1#c:0-1", None) is None
