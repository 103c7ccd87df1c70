"""A checkpoint counts where a key signed it that the worker knows, in that key's time [S §11.1], docs/security.md."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, parse_note
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import (
    DEFAULT_POLICY,
    Attestations,
    CheckpointKeys,
    Emitters,
    Observer,
    Policy,
    Reviewers,
)
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import main
from sluice.topology.engine.signing import load_signer, save_signer
from sluice.topology.engine.trust import Trust, revoked_keys

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
    trust = Trust(OWN.verifier, listing(STRANGER), lambda: reversed(documents))
    assert counts(trust, STRANGER)

    documents += [listing(OTHER).document, b"junk"]

    assert counts(trust, OTHER)
    assert not counts(trust, STRANGER)


@pytest.mark.parametrize("junk", ["", "junk", "AAAA", base64.b64encode(bytes(32)).decode()])
def test_what_is_no_key_in_an_applied_policy_is_passed_over(junk: str):
    """Whoever can write to the topic can write what no file could say; the others still count, and no lane ends."""
    keys = {"bad": [Key(public_key=junk)], **listing(OTHER).checkpoints.keys}
    document = Policy(checkpoints=CheckpointKeys(keys=keys)).document
    trust = Trust(OWN.verifier, None, lambda: [document])

    assert counts(trust, OTHER)
    assert [one.verifier.name for one in trust.known()] == ["own", "other"]


def test_a_successor_counts_where_the_old_key_signed_it(tmp_path: Path):
    """Made by `sluice key succeed`; a stranger who lists a key as such is not believed, and the file stays."""
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    save_signer(OTHER, old)
    result = CliRunner().invoke(
        main, ["key", "succeed", str(old), "--out", str(new), "--since", "2020-01-01T00:00:00Z"]
    )
    assert result.exit_code == 0, result.output
    entry, listed = result.stdout.strip(), listing(OTHER).checkpoints.keys["other"][0].public_key
    text = f'[checkpoints.keys]\n"other" = [{{ public_key = "{listed}" }}, {entry}]\n'
    policy, successor = load_policy(text), load_signer(new)

    assert policy.problems() == []
    assert counts(Trust(OWN.verifier, policy), successor)
    forged = load_policy(text.replace('signature = "', 'signature = "A'))
    assert not counts(Trust(OWN.verifier, forged), successor)
    assert counts(Trust(OWN.verifier, forged), OTHER)
    again = CliRunner().invoke(main, ["key", "succeed", str(old), "--out", str(new)])
    assert "never overwritten" in again.output


def test_revoked_keys_of_every_party_are_told() -> None:
    """streams/policy/keys.py: what such a key signed before may not be its owner's word."""
    key = Key(public_key=base64.b64encode(bytes(32)).decode(), revoked=1_790_000_000_000)
    whole = Key(public_key=key.public_key)
    policy = replace(
        DEFAULT_POLICY,
        observers={"o": Observer(keys=[key]), "p": Observer(public_key=key.public_key)},
        reviewers=Reviewers(keys={"r": [whole, key]}, roles={"console": [key]}),
        emitters=Emitters(keys={"e": [key]}),
        attestations=Attestations(validators={"did:web:a.example": [key]}),
        checkpoints=CheckpointKeys({"w": [key]}),
    )
    told = revoked_keys(policy)
    assert [one.split(",")[0] for one in told] == [
        "observer o",
        "reviewer r",
        "role console",
        "emitter e",
        "validator did:web:a.example",
        "checkpoint key w",
    ]
    assert all("revoked at 2026-09-21T" in one for one in told)
