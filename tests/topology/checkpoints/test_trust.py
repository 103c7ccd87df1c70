"""A checkpoint counts where a key signed it that the worker knows, in that key's time [S §11.1], docs/security.md."""

from __future__ import annotations

import base64

import pytest

from sluice.codecs.checkpoints import NO_CHECKPOINT, Checkpoint, Head
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import Signer, parse_note
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import CheckpointKeys, Policy
from sluice.topology.checkpoints.trust import Trust

OWN, OTHER, STRANGER = (Signer(name, name.encode().ljust(32, b".")) for name in ("own", "other", "stranger"))
TIME = 1_790_000_000_000
CHECKPOINT = Checkpoint("sluice/ledger/0", Head(3, b"r" * 32), "sha256:" + "0" * 64, TIME, NO_CHECKPOINT, (Head(),))


def listing(signer: Signer, **time: int) -> Policy:
    key = Key(public_key=base64.b64encode(signer.verifier.public_key).decode(), **time)
    return Policy(checkpoints=CheckpointKeys(keys={signer.name: [key]}))


def counts(trust: Trust, *signers: Signer) -> bool:
    text = CHECKPOINT.text()
    lines = "".join(signer.sign(text).rpartition("\n\n")[2] for signer in signers)
    note = parse_note(f"{text}\n{lines}")
    try:
        trust.demand(CHECKPOINT, note)
    except DoesNotHoldError:
        return False
    return True


def test_its_own_key_always_counts():
    assert counts(Trust(OWN.verifier), OWN)
    assert counts(Trust(OWN.verifier, listing(OWN, revoked=1)), OWN), "who runs with a key knows it"


def test_a_strangers_note_does_not_count():
    assert not counts(Trust(OWN.verifier, listing(OTHER)), STRANGER)


def test_a_listed_key_counts_beside_a_strangers():
    assert counts(Trust(OWN.verifier, listing(OTHER)), STRANGER, OTHER)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ({"since": TIME}, True),
        ({"since": TIME + 1}, False),
        ({"until": TIME + 1}, True),
        ({"until": TIME}, False),
        ({"revoked": TIME}, False),
        ({"revoked": TIME + 1}, True),
    ],
    ids=str,
)
def test_a_listed_key_counts_in_its_time(time: dict[str, int], expected: bool):
    """By the time that the checkpoint names."""
    assert counts(Trust(OWN.verifier, listing(OTHER, **time)), OTHER) is expected


def test_a_namesake_with_another_key_is_a_stranger():
    assert not counts(Trust(OWN.verifier, listing(OTHER)), Signer("other", b"x" * 32))


def test_the_newest_applied_policy_lists_them():
    """Documents that are none are passed over; before the first one, the policy that ledgers start with."""
    documents: list[bytes] = []
    trust = Trust(OWN.verifier, listing(STRANGER), lambda: documents)
    assert counts(trust, STRANGER)

    documents += [listing(OTHER).document, b"junk"]

    assert counts(trust, OTHER)
    assert not counts(trust, STRANGER)
