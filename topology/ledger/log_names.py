"""The name of a stored lane's log, as its checkpoints and claims are bound to it (`codecs.checkpoints.origin`)."""

from __future__ import annotations

from contextlib import aclosing

from ...codecs.blocks import unseal
from ...codecs.checkpoints import origin
from ...codecs.errors import DoesNotHoldError
from ...codecs.lane_claims import is_claim, read_claim
from ...codecs.ledger_identity import identity_in
from .interfaces import Logs


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
    plain, is_first = origin(logs.app_id, name, lane), True
    try:
        async with aclosing(logs.records(topic, lane)) as records:
            async for record in records:
                if is_claim(record.key):
                    claimed = read_claim(record.value).origin
                    if claimed.endswith(f"/{name}/{lane}"):
                        return claimed
                elif is_first:
                    is_first, block = False, unseal(record.value or b"")
                    identity = identity_in(block)
                    if identity is not None or not block.header.height:
                        return plain if identity is None else origin(identity.ledger_id, name, lane)
    except DoesNotHoldError:
        pass  # who reads the ledger says so
    return plain
