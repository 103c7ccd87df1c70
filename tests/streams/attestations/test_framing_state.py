"""A validator's newest word on a claim is the one that was issued last: by example, by law, and by attack
(docs/security.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import attestation_value
from foreign_signing import key_of, public, sign
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.signatures import did_of
from sluice.codecs.times import format_time
from sluice.streams.attestations import framing
from sluice.streams.attestations.framing import WORD_BYTES
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import DEFAULT_POLICY, Attestations, Policy

from .test_framing import CLAIM, Lane, T, announcement, detail, grounded, reason

ANN, BEN = key_of(1), key_of(2)
DIDS = {"did:web:university.example": ANN, "did:web:museum.example": BEN}
SIGNED = Policy(
    attestations=Attestations(
        validators={did: [Key(public_key=public(key))] for did, key in DIDS.items()}, require_signatures=True
    )
)


def word(at: int, did: str = "did:web:university.example", **fields: Any) -> dict[str, Any]:
    """A validator's signed word, issued so many ms after T."""
    plain = attestation_value(validator_did=did, issued_at=format_time(T + at), **fields)
    return sign(DIDS[did], "attestations", plain)


def fates(lane: Lane, *words: dict[str, Any]) -> list[str]:
    """`grounded`, or why not, of words that come one after the other."""
    return [reason(lane.one(one)) or "grounded" for one in words]


def test_a_newer_word_replaces_an_older_one():
    """A validator may change its mind as often as it likes."""
    assert fates(Lane(SIGNED), word(-3), word(-2, verdict="FALSE"), word(-1)) == ["grounded"] * 3


def test_an_old_word_does_not_come_back():
    """Not as it was, nor with another verdict; the sentence says what is the newest."""
    lane = Lane(SIGNED)
    old, new = word(-5000), word(-1000, verdict="FALSE")
    assert fates(lane, old, new) == ["grounded", "grounded"]

    output = lane.one(old)

    assert reason(output) == "stale-word"
    assert format_time(T - 1000) in detail(output)
    assert format_time(T - 5000) in detail(output)


def test_an_old_word_with_one_member_added_does_not_come_back():
    """Where nobody signs too: a member that nobody knows made the same word another record, and the newest vote."""
    for policy in (SIGNED, DEFAULT_POLICY):
        lane = Lane(policy)
        old, new = word(-5000), word(-1000, verdict="FALSE")
        assert fates(lane, old, new) == ["grounded", "grounded"]

        assert fates(lane, old | {"x": 1}) in (["stale-word"], ["unauthorised-validator"])
    assert fates(lane, old | {"x": 1}) == ["stale-word"]


def test_two_words_of_one_time_are_one():
    """Which of them were the newest, nobody could say: the first one stands."""
    lane = Lane(SIGNED)

    assert fates(lane, word(-9), word(-9, verdict="FALSE"), word(-9)) == ["grounded", "stale-word", "stale-word"]


def test_a_word_from_the_future_is_refused_and_blocks_nobody():
    """It would never be overtaken; and what is refused is no newest word. Signed or not."""
    for policy in (SIGNED, DEFAULT_POLICY):
        assert fates(Lane(policy), word(3_600_000), word(0)) == ["clock-skew", "grounded"]


def test_what_is_refused_for_anything_is_no_newest_word():
    """A stranger in a validator's name, a wrong key, a claim of another lane, markup: none of them moves the mark."""
    lane = Lane(SIGNED)
    stranger = word(0) | {"verdict": "FALSE"}
    assert fates(lane, stranger, word(0, rationale="a <b>bold</b> claim")) == ["unauthorised-validator", "mistyped"]
    assert reason(lane.one(word(0), key=b"another")) == "misrouted"
    assert fates(lane, word(-1)) == ["grounded"]


@pytest.mark.parametrize("spelling", ["did:web:University.example", "did:web:university.example#1"])
def test_a_spelling_of_the_did_is_the_same_validator(spelling: str):
    """One validator, one newest word."""
    lane = Lane()
    own = attestation_value(issued_at=format_time(T - 1))

    found = fates(lane, own, own | {"validator_did": spelling, "issued_at": format_time(T - 2)})

    assert found == ["grounded", "stale-word"]


def test_validators_and_claims_have_marks_of_their_own():
    """Another's newer word, or one on another claim, makes nobody's stale."""
    lane = Lane(SIGNED)
    other = "0x" + "cd" * 32
    assert fates(lane, word(0), word(-5, did="did:web:museum.example")) == ["grounded", "grounded"]

    assert reason(lane.one(word(-9, claim_hash=other), key=other.encode())) is None
    assert grounded(lane.one(word(5))).attestations[0].claim_hash == CLAIM


def test_a_word_that_does_not_say_when_it_was_issued_keeps_the_order_in_which_it_came():
    """Only unsigned ones may."""
    assert (
        fates(Lane(), attestation_value(), attestation_value(verdict="FALSE"), attestation_value()) == ["grounded"] * 3
    )
    assert fates(Lane(SIGNED), sign(ANN, "attestations", attestation_value())) == ["mistyped"]


@pytest.mark.parametrize("policy", [SIGNED, DEFAULT_POLICY])
def test_a_claim_is_the_same_in_either_case(policy: Policy):
    """An old word does not come back with the digits of its claim written in capitals."""
    lane, capitals = Lane(policy), CLAIM.upper().replace("0X", "0x")
    assert fates(lane, word(-5), word(-1)) == ["grounded", "grounded"]

    for key in (CLAIM, capitals):
        assert reason(lane.one(word(-3, claim_hash=capitals), key=key.encode())) == "stale-word"
    assert reason(lane.one(word(0, claim_hash=capitals), key=CLAIM.encode())) is None
    assert fates(lane, word(0)) == ["stale-word"]


def test_a_claim_has_one_lane_in_either_case():
    """The one of the lower-case digits: another lane would not know the newest word."""
    lanes, claim = 16, "0x" + "ABCDEF01" * 8
    own = PARTITIONERS["murmur2"](claim.lower().encode(), lanes)
    other = PARTITIONERS["murmur2"](claim.encode(), lanes)
    assert own != other

    states = {number: Lane(SIGNED) for number in (own, other)}
    for number, lane in states.items():
        lane.state.lane, lane.state.lanes = number, lanes

    assert reason(states[other].one(word(0, claim_hash=claim), key=claim.encode())) == "misrouted"
    assert reason(states[own].one(word(0, claim_hash=claim), key=claim.lower().encode())) is None


# ---------------------------------------------------------------- how much is remembered


def sparing(words: int, **attestations: Any) -> Policy:
    """A policy whose lanes remember so many words of validators that it does not list."""
    rules = msgspec.structs.replace(DEFAULT_POLICY.admissibility, max_waiting_bytes=words * WORD_BYTES)
    return Policy(admissibility=rules, attestations=Attestations(**attestations))


def test_names_that_cost_nothing_take_no_more_than_their_share():
    """Those that spoke last are remembered; a stranger's flood makes the lane's memory no larger."""
    lane = Lane(sparing(3))
    flood = [
        attestation_value(validator_did=f"did:web:v{number}.example", issued_at=format_time(T)) for number in range(9)
    ]

    assert fates(lane, *flood) == ["grounded"] * 9

    assert len(lane.state.words) == 3
    assert fates(lane, *flood[-3:]) == ["stale-word"] * 3
    assert fates(lane, flood[0]) == ["grounded"]  # forgotten: who does not sign has no order to rely on


def test_a_listed_validator_s_words_are_never_forgotten():
    """Whatever strangers send, and however many claims it speaks of."""
    lane = Lane(sparing(1, validators=SIGNED.attestations.validators))
    claims = ["0x" + digit * 64 for digit in "abcdef"]
    own = [word(-1, claim_hash=claim) for claim in claims]
    strangers = [attestation_value(validator_did=f"did:web:v{n}.example", issued_at=format_time(T)) for n in range(5)]
    for one in (*own, *strangers):
        assert reason(lane.one(one, key=one["claim_hash"].encode())) is None
    lane.state = framing.load(framing.dump(lane.state))

    assert len(lane.state.words) == len(claims) + 1
    assert [reason(lane.one(one, key=one["claim_hash"].encode())) for one in own] == ["stale-word"] * len(claims)


def test_keys_that_anybody_makes_are_no_listed_validators():
    """A `did:key` signs with its own key, where nobody is listed: they cost nothing, so they share the bound."""
    lane = Lane(sparing(2, require_signatures=True))
    for number in range(4):
        key = key_of(20 + number)
        did = did_of(key.public_key().public_bytes_raw())
        plain = attestation_value(validator_did=did, issued_at=format_time(T))
        assert fates(lane, sign(key, "attestations", plain)) == ["grounded"]

    assert len(lane.state.words) == 2


# ---------------------------------------------------------------- laws

COMINGS = st.lists(
    st.tuples(st.sampled_from(sorted(DIDS)), st.sampled_from("abc"), st.integers(-6, 3)), min_size=1, max_size=14
)


def unsigned(did: str, claim: str, at: int) -> dict[str, Any]:
    return attestation_value(validator_did=did, claim_hash="0x" + claim * 64, issued_at=format_time(T + 60_000 * at))


@given(COMINGS)
def test_what_is_grounded_of_a_validator_on_a_claim_is_in_the_order_of_its_issue(comings: list[tuple[str, str, int]]):
    """Whatever comes in whatever order: each word is newer than all before it, and no newer one is refused."""
    lane, newest = Lane(), dict[tuple[str, str], int]()
    for did, claim, at in comings:
        value = unsigned(did, claim, at)
        came = reason(lane.one(value, key=value["claim_hash"].encode()))
        wanted = "clock-skew" if at > 0 else None if at > newest.get((did, claim), -99) else "stale-word"
        assert came == wanted
        if came is None:
            newest[did, claim] = at
    assert len(lane.state.words) == len(newest)


@given(COMINGS, st.integers(0, 14))
def test_a_restored_lane_goes_on_as_if_it_had_never_stopped(comings: list[tuple[str, str, int]], cut: int):
    """A snapshot between any two blocks changes nothing."""
    plain, stopped = Lane(), Lane()
    for place, (did, claim, at) in enumerate(comings):
        if place == cut:
            stopped.state = framing.load(framing.dump(stopped.state))
        value = unsigned(did, claim, at)
        key = value["claim_hash"].encode()
        assert stopped.one(value, key=key) == plain.one(value, key=key)
    assert b"".join(framing.dump(stopped.state)) == b"".join(framing.dump(plain.state))


# ---------------------------------------------------------------- snapshots


def test_a_snapshot_is_of_the_moment_at_which_it_was_begun():
    """Its chunks are made while the lane goes on."""
    lane = Lane()
    lane.one(attestation_value(issued_at=format_time(T - 2)))
    chunks = framing.dump(lane.state)
    lane.one(attestation_value(issued_at=format_time(T - 1)))

    restored = framing.load(chunks)

    assert restored.words.newest(CLAIM, "did:web:university.example") == T - 2
    assert restored.counters == {"grounded": 1}


def test_a_policy_that_was_just_announced_is_in_force_after_a_restore():
    """It is in force from the next block on, whoever folds that."""
    lane = Lane()
    lane.block([announcement(SIGNED)])
    lane.state = framing.load(framing.dump(lane.state))

    assert lane.state.policy_hash == SIGNED.hash
    assert fates(lane, attestation_value(issued_at=format_time(T))) == ["unauthorised-validator"]


def test_many_words_take_several_chunks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(framing, "CHUNK", 2)
    lane = Lane()
    for number in range(5):
        lane.one(attestation_value(validator_did=f"did:web:v{number}.example", issued_at=format_time(T)))

    chunks = list(framing.dump(lane.state))

    assert len(chunks) == 4
    assert len(framing.load(chunks).words) == 5


@pytest.mark.parametrize("chunks", [[], [b"\xc1"], [b"\x80"]])
def test_what_is_no_snapshot_is_refused(chunks: list[bytes]):
    with pytest.raises(DoesNotHoldError):
        framing.load(chunks)


def test_a_snapshot_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch):
    chunks = list(framing.dump(Lane().state))
    monkeypatch.setattr(framing, "FORMAT", framing.FORMAT + 1)

    with pytest.raises(DoesNotHoldError, match="another format"):
        framing.load(chunks)


def test_a_snapshot_whose_policy_is_none_is_refused():
    lane = Lane()
    lane.state._document = b"{}x"

    with pytest.raises(DoesNotHoldError, match="policy"):
        framing.load(framing.dump(lane.state))
