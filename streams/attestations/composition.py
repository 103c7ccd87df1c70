"""What the attestations of one claim come to together: the verdict summary of [V §5.1], per consensus domain.

Pure. The rules:

- A validator has one vote for each claim and domain: its latest attestation. Earlier ones, which it has replaced, do
  not count.
- Attestations with the same canonical hash are one attestation, also where another party sends a copy.
- An attestation whose look-alike characters were left in place is marked low-confidence [V §4.3]. It is shown, and does
  not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from ..policy.policy import Composition

Verdict = Literal["VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"]
CAUTIOUS: Final[tuple[Verdict, ...]] = ("FALSE", "DISPUTED", "UNVERIFIABLE", "SUPPORTED", "VERIFIED")
"""The verdicts from the most cautious to the least. Of verdicts with equally many votes, the first one here wins."""


class Vote(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One attestation of a claim within a consensus domain, as far as it matters here.

    Attributes:
        counts: whether it counts towards consensus; not so where look-alikes were only flagged [V §4.3].
    """

    validator_did: str
    verdict: Verdict
    canonical_hash: str
    counts: bool = True


class Composed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The verdict summary [V §5.1].

    Attributes:
        primary_verdict: the verdict that most validators give, of several such the most cautious; None where no
            attestation counts, or the domain's rule is not met.
        validator_count: how many validators count, each once.
        disagreement_present: whether they give different verdicts.
        verdicts: how many validators give each verdict, so that the disagreement can be seen.
    """

    primary_verdict: Verdict | None
    validator_count: int
    disagreement_present: bool
    verdicts: dict[Verdict, int]


def standing_votes(words: Iterable[Vote]) -> dict[str, Vote]:
    """Each validator's word on one claim in one domain: the latest of its own.

    Args:
        words: in the order in which they came, which no validator chooses (`issued_at` is its own claim). What comes
            a second time under one canonical hash changes nothing.
    """
    seen: set[str] = set()
    latest: dict[str, Vote] = {}
    for word in words:
        if word.canonical_hash not in seen:
            seen.add(word.canonical_hash)
            latest[word.validator_did] = word
    return latest


def compose(verdicts: Mapping[Verdict, int], composition: Composition = "most", quorum: int = 1) -> Composed:
    """The summary of so many validators a verdict.

    Args:
        verdicts: how many say what.
        composition, quorum: of the consensus domain, by the policy. Where they are not met there is no primary verdict;
            what was said is shown all the same.
    """
    given: dict[Verdict, int] = {}
    primary: Verdict | None = None
    for verdict in CAUTIOUS:
        count = verdicts.get(verdict, 0)
        if count > 0:
            if primary is None or count > given[primary]:
                primary = verdict
            given[verdict] = count
    count = sum(given.values())
    if primary is not None and not _is_met(given[primary], count, composition, quorum):
        primary = None
    return Composed(
        primary_verdict=primary,
        validator_count=count,
        disagreement_present=len(given) > 1,
        verdicts=given,
    )


_STRENGTH: Final[tuple[Composition, ...]] = ("most", "majority", "unanimous")


def stricter(
    composition: Composition, quorum: int, asked: Composition | None, asked_quorum: int | None
) -> tuple[Composition, int]:
    """The rule that a consumer chooses, never weaker than the domain's [V §1.1, §2]: the stricter of both.

    Args:
        composition, quorum: the domain's, by the policy.
        asked, asked_quorum: the consumer's; None for none.
    """
    chosen = _STRENGTH[max(_STRENGTH.index(composition), 0 if asked is None else _STRENGTH.index(asked))]
    return chosen, max(quorum, asked_quorum or 1)


def _is_met(votes: int, count: int, composition: Composition, quorum: int) -> bool:
    """Whether so many votes of `count` make a verdict."""
    if count < quorum:
        return False
    if composition == "unanimous":
        return votes == count
    return composition == "most" or 2 * votes > count


def summary(words: Iterable[Vote]) -> Composed:
    """The summary of all words on one claim in one domain, in the order in which they came."""
    counted = [word.verdict for word in standing_votes(words).values() if word.counts]
    return compose({verdict: counted.count(verdict) for verdict in CAUTIOUS})
