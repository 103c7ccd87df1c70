"""Whose adoption of a topic counts, and that no fold takes in a block with one that does not."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.codecs.blocks import GENESIS, Block, Event, EventKind, Header, Output, seal, source_of
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import FORMAT, Adoption, write_adoption
from sluice.codecs.notes import Signer
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import DEFAULT_POLICY, CheckpointKeys, Policy, PolicyKeys, adoption_refusal
from sluice.topology.engine.folds import Adjudicate, Bind, FrameAttestations

T = 1_800_000_000_000
OLD, NEW = "A" * 22, "B" * 22
OPERATOR, STRANGER = Signer("operator", bytes(32)), Signer("operator", b"x" * 32)


def with_key(**times: int) -> Policy:
    """A policy that lists the operator's key, in this time."""
    public = base64.b64encode(OPERATOR.verifier.public_key).decode()
    listed = CheckpointKeys(keys={"operator": [Key(public_key=public, **times)]})
    return replace(DEFAULT_POLICY, checkpoints=listed)


def adoption(signer: Signer | None, topic: str = "emissions", origin: str = "sluice", **changes: Any) -> Event:
    """The event of an adoption."""
    said = Adoption(v=FORMAT, topic=topic, was=OLD, id=NEW, adopted_at="2026-11-24T09:00:00Z")
    key, value = write_adoption(replace(said, **changes), origin, signer)
    return Event(EventKind.ADOPT, 0, 0, T, [], key, value)


def test_where_the_policy_lists_no_key_whoever_writes_policies_adopts():
    """As whoever may write there may write a policy."""
    assert adoption_refusal(adoption(None), DEFAULT_POLICY, T) == ""
    assert adoption_refusal(adoption(STRANGER), DEFAULT_POLICY, T) == ""


@pytest.mark.parametrize(
    ("event", "policy", "got"),
    [
        (adoption(None), with_key(), "got none"),
        (adoption(STRANGER), with_key(), "got one that does not hold"),
        (adoption(OPERATOR, origin="another"), with_key(), "got one that does not hold"),
        (adoption(OPERATOR), with_key(until=T), "got one that does not hold"),
        (adoption(OPERATOR), with_key(since=T + 1), "got one that does not hold"),
        (adoption(OPERATOR), with_key(revoked=T), "got one that does not hold"),
    ],
    ids=["unsigned", "another key of that name", "another deployment", "too late", "too early", "revoked"],
)
def test_where_it_lists_keys_one_of_them_signs(event: Event, policy: Policy, got: str):
    """In its time, for this deployment."""
    assert adoption_refusal(adoption(OPERATOR), with_key(), T) == ""
    assert got in adoption_refusal(event, policy, T)


def test_whoever_signs_policies_adopts():
    """Where the policy lists keys for that, those of workers' checkpoints do not count."""
    public = base64.b64encode(STRANGER.verifier.public_key).decode()
    policy = replace(with_key(), policies=PolicyKeys(keys={"policy-maker": [Key(public_key=public)]}))

    assert adoption_refusal(adoption(STRANGER), policy, T) == ""
    assert "a key of [policies.keys], got one that does not hold" in adoption_refusal(adoption(OPERATOR), policy, T)
    assert "a key of [policies.keys], got none" in adoption_refusal(adoption(None), policy, T)


def test_a_signed_adoption_cannot_be_turned_to_a_later_topic():
    """The ids are in what is signed."""
    event = adoption(OPERATOR)
    turned = replace(event, value=(event.value or b"").replace(NEW.encode(), b"C" * 22))

    assert "does not hold" in adoption_refusal(turned, with_key(), T)


FOLDS = [Adjudicate(), Bind(), FrameAttestations()]


def folded(fold: Any, state: Any, height: int, events: list[Event]) -> list[Output]:
    """A block of these events, folded."""
    header = Header(
        lane=0,
        lanes=1,
        height=height,
        prev=GENESIS,
        time=T + height,
        watermark=T,
        policy="",
        fold=fold.version,
        sources=[source_of(topic, 0, 0, OLD) for topic in fold.inputs],
        outputs="",
    )
    block: Block = seal(header, events)[0]
    return fold.fold(state, block)


def begun(fold: Any, policy: Policy) -> Any:
    """A state under a policy that is in force."""
    state = fold.new(0, 1)
    folded(fold, state, 0, [Event(EventKind.POLICY, 0, 0, T, [], None, policy.document)])
    return state


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.name)
class TestFolds:
    """Every lane takes every adoption in."""

    def test_one_that_counts_leaves_no_trace(self, fold: Any):
        """No output and no counter: it says where the next block reads."""
        state = begun(fold, with_key())
        event = adoption(OPERATOR, fold.inputs[0])
        assert fold.refuses(state, event, T + 1) == ""
        before = fold.counters(state)

        assert folded(fold, state, 1, [event]) == []
        assert fold.counters(state) == before

    def test_a_block_with_one_that_does_not_count_does_not_hold(self, fold: Any):
        """A worker that was turned writes such a block; nobody folds it."""
        state = begun(fold, with_key())
        event = adoption(STRANGER, fold.inputs[0])
        assert "does not hold" in fold.refuses(state, event, T + 1)

        with pytest.raises(DoesNotHoldError, match="adopts a topic, and must not"):
            folded(fold, state, 1, [event])

    def test_one_that_is_refused_stands_as_a_record_that_is_no_policy(self, fold: Any):
        """It changes nothing; the adjudicating lane tells of it."""
        state = begun(fold, with_key())
        event = replace(adoption(None), kind=EventKind.POLICY)

        outputs = folded(fold, state, 1, [event])

        assert fold.policy_hash(state) == with_key().hash
        if fold.name == "adjudicate":
            (output,) = outputs
            assert dict(output.headers)["sluice-reason"] == b"schema"
            assert b"an adoption that counts" in dict(output.headers)["sluice-detail"]


def test_before_the_first_policy_nothing_is_adopted():
    """A ledger begins with a policy."""
    fold = Adjudicate()

    assert "no policy" in fold.refuses(fold.new(0, 1), adoption(OPERATOR), T)
