"""Which ledger a block says it is of."""

from __future__ import annotations

import pytest

from sluice.codecs.blocks import Block, Event, EventKind, Header
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import LedgerIdentity, identity_event, identity_in

ID = "f3kqT0wfSN6m2YvXbPq8Zw"
OURS = LedgerIdentity(ledger_id=ID, app_id="sluice")


def block(*events: Event) -> Block:
    """A block of these events."""
    header = Header(
        lane=0, lanes=1, height=0, prev="", time=0, watermark=0, policy="", fold="5", sources=[], outputs=""
    )
    return Block(header, list(events), "")


def event(value: bytes | None) -> Event:
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
        identity_in(block(event(value)))


def test_a_block_names_its_ledger_once():
    """Two events could name two applications."""
    with pytest.raises(DoesNotHoldError, match="twice"):
        identity_in(block(identity_event(OURS, None, 7), identity_event(OURS, None, 7)))
