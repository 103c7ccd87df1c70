"""Statements in a ledger: adoptions of topics, workers' claims, and which ledger it is."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from block_samples import HEADER
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from search import examples

from sluice.codecs.blocks import Block, Event, EventKind, Header, Source, seal, source_of, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import (
    FORMAT,
    Adoption,
    Claim,
    LedgerIdentity,
    adopted_in,
    claim_hash,
    domain_of,
    identity_event,
    identity_in,
    is_adoption,
    read_adoption,
    read_claim,
    write_adoption,
    write_claim,
)
from sluice.codecs.notes import Signer, signers_of
from sluice.codecs.signatures import holds

OLD, NEW, LAST = "A" * 22, "B" * 22, "C" * 22
OPERATOR = Signer("operator", bytes(32))


def adoption(**fields: Any) -> Adoption:
    """Of the topic `emissions`, but for the fields that are given."""
    said = {"v": FORMAT, "topic": "emissions", "was": OLD, "id": NEW, "adopted_at": "2026-11-24T09:00:00Z"}
    return Adoption(**(said | fields))


def event(one: Adoption) -> Event:
    """As it stands in a block."""
    key, value = write_adoption(one, "sluice", OPERATOR)
    return Event(EventKind.ADOPT, 2, 7, 1, [], key, value)


def test_a_record_says_both_ids_and_is_signed():
    """Over all that it says, for this deployment and this use."""
    key, value = write_adoption(adoption(), "sluice", OPERATOR)
    read = read_adoption(key, value)

    assert key == b"adopt:emissions"
    assert (read.topic, read.was, read.id) == ("emissions", OLD, NEW)
    public = OPERATOR.verifier.public_key.hex()
    assert holds(public, read.signature or "", value, domain_of("sluice"))
    assert not holds(public, read.signature or "", value, domain_of("another"))
    assert not holds(public, read.signature or "", value.replace(NEW.encode(), LAST.encode()), domain_of("sluice"))


@pytest.mark.parametrize(
    ("key", "change", "says"),
    [
        (b"adopt:emissions", {"id": OLD}, "one id twice"),
        (b"adopt:emissions", {"id": "short"}, "holds none"),
        (b"adopt:emissions", {"was": ""}, "holds none"),
        (b"adopt:emissions", {"v": 2}, "another format"),
        (b"adopt:emissions", {"more": 1}, "holds none"),
        (b"adopt:reviews", {}, "another topic than its key names"),
        (None, {}, "another topic than its key names"),
        (b"adopt:emissions", {"adopted_at": "x" * 5000}, "too long"),
    ],
)
def test_what_is_no_adoption_is_told(key: bytes | None, change: dict[str, Any], says: str):
    """One sentence each."""
    value = msgspec.json.encode(msgspec.to_builtins(adoption()) | change)

    with pytest.raises(DoesNotHoldError, match=says):
        read_adoption(key, value)


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b"\xff", b"[" * 4000])
def test_bytes_that_are_none_are_told(value: bytes | None):
    """Whoever may write to the topic may write anything."""
    with pytest.raises(DoesNotHoldError):
        read_adoption(b"adopt:emissions", value)


def test_a_key_tells_an_adoption():
    """Policies have their hash for a key."""
    assert is_adoption(b"adopt:emissions")
    assert not is_adoption(b"sha256:00")
    assert not is_adoption(None)


def test_a_block_adopts_what_it_names_the_old_id_of():
    """One that was made for another id, or another topic, means nothing there: so one that comes again never does."""
    sources = [source_of("emissions", 0, 9, OLD), Source("observations", 0, 0)]
    others = [adoption(was=LAST), adoption(topic="observations"), adoption(topic="reviews")]
    header = replace(HEADER, sources=sources)

    assert adopted_in(seal(header, [event(one) for one in others])[0]) == {}
    assert adopted_in(seal(header, [event(one) for one in [*others, adoption()]])[0]) == {"emissions": NEW}


def test_a_record_that_only_looks_like_one_adopts_nothing():
    """A policy, or an input, with the same bytes."""
    found = replace(event(adoption()), kind=EventKind.POLICY)
    header = replace(HEADER, sources=[source_of("emissions", 0, 9, OLD)])

    assert adopted_in(seal(header, [found])[0]) == {}


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


ID = "f3kqT0wfSN6m2YvXbPq8Zw"
OURS = LedgerIdentity(ledger_id=ID, app_id="sluice")


def block(*events: Event) -> Block:
    """A block of these events."""
    header = Header(
        lane=0, lanes=1, height=0, prev="", time=0, watermark=0, policy="", fold="5", sources=[], outputs=""
    )
    return Block(header, list(events), "")


def event_of_ledger(value: bytes | None) -> Event:
    """An event of the kind LEDGER with this value."""
    return Event(EventKind.LEDGER, 0, 0, 7, [], None, value)


def test_an_identity_is_canonical_json():
    """It comes back as it was written; what another application had is named beside it."""
    written = identity_event(OURS, "before", 7)

    assert written.value == b'{"app_id":"sluice","ledger_id":"%s","v":1,"was":"before"}' % ID.encode()
    assert identity_in(block(Event(0, 0, 0, 7, [], None, b"x"), written)) == LedgerIdentity(
        ledger_id=ID, app_id="sluice", was="before"
    )
    assert identity_in(block()) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"no json",
        b"[" * 100_000,
        b'{"app_id":"a","ledger_id":"a/b","v":1,"was":null}',
        b'{"app_id":"a","ledger_id":"","v":1,"was":null}',
        b'{"app_id":"a","v":1,"was":null}',
        b'{"app_id":"a","ledger_id":"i","more":1,"v":1,"was":null}',
        b'{"app_id": "a","ledger_id":"i","v":1,"was":null}',
        b'{"app_id":"a","ledger_id":"i","v":2,"was":null}',
        b'{"app_id":"\xff","ledger_id":"i","v":1,"was":null}',
    ],
)
def test_what_is_no_identity_is_refused(value: bytes | None):
    """Whatever a broker's administrator puts there ends in one sentence."""
    with pytest.raises(DoesNotHoldError):
        identity_in(block(event_of_ledger(value)))


def test_a_block_names_its_ledger_once():
    """Two events could name two applications."""
    with pytest.raises(DoesNotHoldError, match="twice"):
        identity_in(block(identity_event(OURS, None, 7), identity_event(OURS, None, 7)))
