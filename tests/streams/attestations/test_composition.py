"""Verdict composition [V §5.1]: each validator once per claim, disagreement shown."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.attestations.framing import CAUTIOUS, Vote, compose, standing_votes, stricter, summary


def word(by: str = "did:x:a", verdict: str = "VERIFIED", hashed: str = "", counts: bool = True) -> Vote:
    return Vote(
        validator_did=by,
        verdict=verdict,  # type: ignore[arg-type]
        canonical_hash=hashed or f"{by}{verdict}{counts}",
        counts=counts,
    )


words = st.lists(
    st.builds(
        word,
        by=st.sampled_from(["did:x:a", "did:x:b", "did:x:c"]),
        verdict=st.sampled_from(CAUTIOUS),
        hashed=st.sampled_from([*"12345678"]),
        counts=st.booleans(),
    ),
    max_size=12,
)


def naive(given: list[Vote]) -> Counter[str]:
    """The same by hand: the first of each hash, then the last of each validator, then who counts."""
    firsts = [
        one for place, one in enumerate(given) if one.canonical_hash not in [x.canonical_hash for x in given[:place]]
    ]
    lasts = [
        one
        for place, one in enumerate(firsts)
        if one.validator_did not in [x.validator_did for x in firsts[place + 1 :]]
    ]
    return Counter(one.verdict for one in lasts if one.counts)


@given(words)
def test_each_validator_counts_once(given):
    """However often it speaks, and whoever sends its words again: as a count by hand has it."""
    composed = summary(given)

    assert composed.verdicts == naive(given)
    assert composed.validator_count == sum(naive(given).values()) <= 3
    assert composed.disagreement_present == (len(naive(given)) > 1)


@given(words)
def test_the_primary_verdict_is_one_that_most_give(given):
    """Nobody gives a verdict that more others give; where nobody counts there is none."""
    composed = summary(given)

    if composed.verdicts:
        assert composed.verdicts[composed.primary_verdict] == max(composed.verdicts.values())
    else:
        assert composed.primary_verdict is None


def test_the_last_word_of_a_validator_stands():
    """Who takes a verdict back is counted with the new one only."""
    composed = summary([word(verdict="VERIFIED"), word(verdict="FALSE")])

    assert (composed.primary_verdict, composed.verdicts) == ("FALSE", {"FALSE": 1})


def test_an_attestation_that_is_sent_again_changes_nothing():
    """An old word of a validator, repeated by whomever, is not its latest one."""
    old, new = word(verdict="VERIFIED"), word(verdict="DISPUTED")

    assert standing_votes([old, new, old]) == {"did:x:a": new}


def test_an_attestation_with_look_alikes_left_in_place_does_not_count():
    """It is low-confidence [V §4.3], also where it is a validator's second word."""
    composed = summary([word(), word(verdict="FALSE", counts=False), word(by="did:x:b")])

    assert (composed.validator_count, composed.verdicts) == (1, {"VERIFIED": 1})


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
