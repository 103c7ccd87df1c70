"""The name of a stored lane's log, as its checkpoints and claims are bound to it (`codecs.checkpoints.origin`)."""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

from ...codecs.blocks import unseal
from ...codecs.checkpoints import origin
from ...codecs.errors import DoesNotHoldError
from ...codecs.lane_claims import is_claim, read_claim
from ...codecs.ledger_identity import LedgerIdentity, identity_in
from .interfaces import Logs


class _Stored(Protocol):
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...


def identity_of(record: _Stored, log: str) -> LedgerIdentity | None:
    """What a record of a ledger, a claim or a block, names; None where it names nothing, or is of another log.

    Args:
        record: of the ledger.
        log: what the names of the lane's log end with: a slash, the topic's full name, a slash, the lane's number.
    """
    try:
        if not is_claim(record.key):
            return identity_in(unseal(record.value or b""))
        signed = read_claim(record.value)
    except DoesNotHoldError:
        return None  # its lane says so
    ledger_id = signed.origin.removesuffix(log)
    return None if ledger_id == signed.origin else LedgerIdentity(ledger_id=ledger_id, app_id=signed.claim.app_id or "")


async def log_name_of(logs: Logs, topic: str, name: str, lane: int) -> str:
    """The name of a lane's log: by the ledger's first claim or block, whichever names the ledger.

    Args:
        logs: the stored topics.
        topic: the ledger's logical name.
        name: its full name.
        lane: the lane's number.

    Returns:
        The name; of a ledger that names no id the one that the application's name gives.
    """
    is_first = True
    try:
        async with aclosing(logs.records(topic, lane)) as records:
            async for record in records:
                if is_claim(record.key) or is_first:  # no later block names more than the first
                    is_first = is_first and is_claim(record.key)
                    if (identity := identity_of(record, f"/{name}/{lane}")) is not None:
                        return origin(identity.ledger_id, name, lane)
    except DoesNotHoldError:
        pass  # who reads the ledger says so
    return origin(logs.app_id, name, lane)
