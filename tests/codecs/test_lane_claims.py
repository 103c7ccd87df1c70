"""Claims: what a worker writes into a ledger when it takes the lane over."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.blocks import Header, seal, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import Claim, claim_hash, read_claim, write_claim
from sluice.codecs.notes import Signer, signers_of

SIGNER = Signer("sluice/test", b"s" * 32)
ORIGIN = "sluice/ledger/2"
CLAIM = Claim(
    lane=2, worker="w-0", member="m-1", generation=7, package="1.0.0", claimed_at="2026-11-21T09:00:00Z"
)  # fmt: skip


@given(st.text(), st.text(), st.integers(0, 2**31 - 1), st.booleans())
@settings(max_examples=examples(100))
def test_what_was_written_is_read(worker: str, member: str, generation: int, is_signed: bool):
    """Whatever the worker and the member are called; the signature holds."""
    claim = Claim(
        lane=2, worker=worker, member=member, generation=generation, package="1", claimed_at="2026-11-21T09:00:00Z"
    )
    value = write_claim(claim, ORIGIN, SIGNER if is_signed else None)
    found = read_claim(value)

    assert (found.claim, found.origin, found.hash) == (claim, ORIGIN, claim_hash(value))
    assert (found.note is not None) == is_signed
    if found.note is not None:
        assert signers_of(found.note, [SIGNER.verifier])[0] is SIGNER.verifier


def test_a_claim_is_canonical_json_in_a_signed_note():
    """The first line has the members of the contract; the second the log that it is for; the hash is over it all."""
    value = write_claim(CLAIM, ORIGIN, SIGNER)
    first, second, empty, signature, end = value.decode().split("\n")

    assert json.loads(first) == {
        "v": 1,
        "lane": 2,
        "worker": "w-0",
        "member": "m-1",
        "generation": 7,
        "package": "1.0.0",
        "claimed_at": "2026-11-21T09:00:00Z",
    }
    assert first == json.dumps(json.loads(first), sort_keys=True, separators=(",", ":"))
    assert (second, empty, end) == (ORIGIN, "", "")
    assert signature.startswith("— sluice/test ")
    assert claim_hash(value) == "sha256:" + sha256(value).hexdigest()


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"no claim",
        b"\xff\xfe",
        b"x" * 1_000_001,
        write_claim(CLAIM, ORIGIN, None) + b"more\n",
        write_claim(CLAIM, ORIGIN, None).replace(b'"v":1', b'"v":2'),
        write_claim(CLAIM, ORIGIN, None).replace(b'"lane":2', b'"lane":-2'),
        write_claim(CLAIM, ORIGIN, None).replace(b'"lane":2', b'"lane": 2'),
        write_claim(CLAIM, ORIGIN, None).replace(b'"worker"', b'"other":1,"worker"'),
        write_claim(CLAIM, ORIGIN, None).replace(b"2026-11-21T", b"some day"),
        write_claim(CLAIM, ORIGIN, SIGNER)[:-10],
        b"[" * 100_000,
    ],
)
def test_what_is_none_is_refused_in_one_sentence(value: bytes | None):
    """Anybody who may write to the topic can write anything under that key."""
    with pytest.raises(DoesNotHoldError) as refused:
        read_claim(value)

    assert "claim" in str(refused.value) or "note" in str(refused.value)


def test_a_signature_covers_the_log_that_the_claim_is_for():
    """A claim that is copied into another ledger, with that one's name, is signed by nobody."""
    value = write_claim(CLAIM, ORIGIN, SIGNER).replace(b"sluice/ledger/2", b"sluice/ledger/1")
    note = read_claim(value).note

    assert note is not None
    with pytest.raises(DoesNotHoldError, match="a signature does not hold"):
        signers_of(note, [SIGNER.verifier])


def test_a_header_without_a_claim_has_the_bytes_of_before():
    """Old blocks keep their hashes; one that names a claim has another."""
    fields = {"lane": 0, "lanes": 1, "height": 0, "prev": "", "time": 1, "watermark": 0, "policy": "", "fold": "1"}
    without, _ = seal(Header(**fields, sources=[], outputs=""), [])
    block, data = seal(Header(**fields, sources=[], outputs="", claim="sha256:" + "1" * 64), [])

    assert without.hash == "sha256:e2cf27eecf713de87a1783ee9609ba8b01f888938678dc14f6e01f9cb6b43356"
    assert unseal(data) == block
    assert block.hash != without.hash
