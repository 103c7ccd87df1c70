"""Verdict composition [V §5.1]: each validator once per claim, disagreement shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.attestations.framing import CAUTIOUS, compose, stricter


@given(st.dictionaries(st.sampled_from(CAUTIOUS), st.integers(0, 5)))
def test_the_primary_verdict_is_one_that_most_give(verdicts):
    """Nobody gives a verdict that more others give; where nobody counts there is none."""
    composed, counted = compose(verdicts), {verdict: count for verdict, count in verdicts.items() if count}

    assert composed.verdicts == counted
    assert composed.validator_count == sum(counted.values())
    assert composed.disagreement_present == (len(counted) > 1)
    assert counted.get(composed.primary_verdict) == max(counted.values(), default=None)


@pytest.mark.parametrize("place", range(len(CAUTIOUS) - 1))
def test_a_draw_goes_to_the_more_cautious_verdict(place):
    """Equally many on both sides: the one that lets less through."""
    composed = compose({CAUTIOUS[place + 1]: 2, CAUTIOUS[place]: 2})

    assert composed.primary_verdict == CAUTIOUS[place]
    assert composed.disagreement_present


RULES = st.tuples(st.sampled_from(["most", "majority", "unanimous"]), st.integers(1, 6))


@given(st.dictionaries(st.sampled_from(CAUTIOUS), st.integers(0, 5)), RULES)
def test_a_domains_rule_only_ever_takes_a_verdict_away(verdicts, rules):
    """What was said and by how many is shown whatever the rule; the verdict is the one of `most`, or there is none."""
    composition, quorum = rules
    plain, ruled = compose(verdicts), compose(verdicts, composition, quorum)
    votes, count = verdicts.get(plain.primary_verdict, 0), sum(verdicts.values())

    assert (ruled.verdicts, ruled.validator_count) == (plain.verdicts, plain.validator_count)
    holds = {"most": True, "majority": votes > count - votes, "unanimous": votes == count}[composition]
    assert ruled.primary_verdict == (plain.primary_verdict if holds and count >= quorum else None)


@pytest.mark.parametrize(
    ("own", "asked", "expected"),
    [
        (("most", 1), (None, None), ("most", 1)),
        (("most", 1), ("unanimous", 3), ("unanimous", 3)),
        (("majority", 2), ("most", 1), ("majority", 2)),
        (("unanimous", 5), ("majority", 7), ("unanimous", 7)),
    ],
)
def test_a_consumer_chooses_no_weaker_rule(own, asked, expected):
    """The stricter of both holds, of the composition and of the quorum each."""
    assert stricter(*own, *asked) == expected
