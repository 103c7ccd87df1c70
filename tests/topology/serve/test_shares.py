"""Shares: nobody takes more than their own, all together not more than all, and what is given back can be taken."""

from sluice.topology.http.auth_middleware import Quota


def test_nobody_takes_more_than_their_own():
    """A refusal takes nothing."""
    shares = Quota(10, 4)

    assert shares.take("a", 4)
    assert not shares.take("a")
    assert shares.take("b", 4)
    assert not shares.take("c", 3)
    assert shares.take("c", 2)
    assert shares.taken == 10


def test_what_is_given_back_can_be_taken():
    """And nobody is remembered who holds nothing."""
    shares = Quota(10, 4)
    shares.take("a", 4)
    shares.give("a", 4)
    shares.take("b", 0)

    assert shares.taken == 0
    assert shares._held == {}
    assert shares.take("a", 4)
