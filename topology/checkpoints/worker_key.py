"""The key that a worker signs with, held against those that signed its ledger before (docs/howto/keys.md).

A worker that lost its key and made another one would break what auditors hold: they know the old key alone. So a key
is made only for a ledger without checkpoints. A key that has signed none of them counts where the policy lists it,
which a successor is by the key before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from aiokafka import TopicPartition

from ...codecs.checkpoints import parse_checkpoint
from ...codecs.errors import DoesNotHoldError, UsageError, cut
from ...codecs.notes import Note, Signer, parse_note, signers_of
from ...streams.policy.policy import Policy
from ..kafka.connect import open_consumer, partitions_of
from ..kafka.partition_reader import last_record
from ..kafka.requests import log_spans
from ..kafka.topics import topic_name
from ..ledger.policies import document_of, in_force
from ..settings.settings import Settings
from .checkpointing import TOPIC, key_path, load_key
from .trust import listed

ENDS_SECONDS: Final = 10.0


async def worker_key(settings: Settings, policy: Policy, ledger_id: str) -> Signer | None:
    """The worker's key, made where there is none and the ledger has no checkpoint; None where none can be made.

    Args:
        settings: the key's file, and the broker.
        policy: of the worker's file; what the ledger has in force counts as well.
        ledger_id: of the adjudicating ledger.

    Raises:
        UsageError: the key cannot be read; or another one has signed the ledger's checkpoints, and no policy lists this
            one.
        UnreachableError: no broker answers.
        DoesNotHoldError: a transaction hangs over the checkpoints.
    """
    path = key_path(settings)
    is_there = settings.key_file is not None or await asyncio.to_thread(path.exists)
    signer = await asyncio.to_thread(load_key, settings) if is_there else None
    if signer is not None and _lists(policy, signer):
        return signer
    places = await _places(settings)
    newest = await _newest_note(settings, places, ledger_id)
    if newest is None:
        return signer if is_there else await asyncio.to_thread(load_key, settings)
    if signer is not None and (
        _has_signed(signer, newest)
        or await _is_in_force(settings, signer)
        or await _has_signed_any(settings, places, signer, ledger_id)
    ):
        return signer
    raise UsageError(
        "another key signed the checkpoints of this ledger",
        path=str(path),
        expected=cut(", ".join(f"{one.name}+{one.key_id.hex()}" for one in newest.signatures)),
        got="no key file" if signer is None else str(signer.verifier),
        hint="put that key back (key_file), or `sluice key succeed` and list the new one under [checkpoints.keys]",
    )


async def _newest_note(settings: Settings, places: Sequence[TopicPartition], ledger_id: str) -> Note | None:
    """The newest checkpoint of the first lane that has any; None where none has."""
    for place in places:
        newest = await _newest(settings, place, lambda value: _checkpoint(value, ledger_id) is not None)
        if (note := _checkpoint(newest, ledger_id)) is not None:
            return note
    return None


async def _has_signed_any(settings: Settings, places: Sequence[TopicPartition], signer: Signer, ledger_id: str) -> bool:
    """Whether a key has signed any checkpoint of a ledger, whatever stands behind it."""

    def is_ours(value: bytes | None) -> bool:
        note = _checkpoint(value, ledger_id)
        return note is not None and _has_signed(signer, note)

    for place in places:
        if await _newest(settings, place, is_ours) is not None:
            return True
    return False


async def _places(settings: Settings) -> list[TopicPartition]:
    """The lanes that have checkpoints, or of which no leader says whether they have."""
    name = topic_name(settings, TOPIC)
    async with open_consumer(settings) as consumer:
        places = [TopicPartition(name, lane) for lane in await partitions_of(consumer, settings, name)]
        spans = await log_spans(consumer, places, ENDS_SECONDS, committed=settings.delivery == "exactly-once")
    return [place for place in places if place not in spans or spans[place][0] < spans[place][1]]


async def _newest(settings: Settings, place: TopicPartition, wanted: Callable[[bytes | None], bool]) -> bytes | None:
    """The newest value of a partition that is wanted; None where there is none."""
    newest = await last_record(settings, place, lambda one: wanted(one.value), goes_on=True)
    return None if newest is None else newest.value


def _checkpoint(value: bytes | None, ledger_id: str) -> Note | None:
    """The note of a checkpoint of this ledger; None for anything else."""
    try:
        note = parse_note(value or b"")
        return note if parse_checkpoint(note.text).origin.startswith(f"{ledger_id}/") else None
    except DoesNotHoldError:
        return None


def _has_signed(signer: Signer, note: Note) -> bool:
    try:
        return bool(signers_of(note, [signer.verifier]))
    except DoesNotHoldError:
        return False


async def _is_in_force(settings: Settings, signer: Signer) -> bool:
    """Whether a policy that a lane has in force lists a key for checkpoints."""
    hashes = {one.hash for one in await in_force(settings) if one.hash}
    policies = [await document_of(settings, one) for one in sorted(hashes)]
    return any(_lists(one, signer) for one in policies if one is not None)


def _lists(policy: Policy, signer: Signer) -> bool:
    return str(signer.verifier) in {str(key.verifier) for key in listed(policy)}
