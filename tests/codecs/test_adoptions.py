"""Adoptions: what a record says, for whom it is signed, and what it means after a block."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from block_samples import HEADER
from msgspec.structs import replace

from sluice.codecs.blocks import Event, EventKind, Source, seal, source_of
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import (
    FORMAT,
    Adoption,
    adopted_in,
    domain_of,
    is_adoption,
    read_adoption,
    write_adoption,
)
from sluice.codecs.notes import Signer
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
