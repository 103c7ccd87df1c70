"""Writes adoptions: that lanes go on with an input topic that was deleted and made again (codecs/adoptions.py)."""

from __future__ import annotations

from collections.abc import Sequence

from ...codecs.adoptions import FORMAT, Adoption, adopted_in, write_adoption
from ...codecs.blocks import Event, EventKind
from ...codecs.errors import UsageError
from ...codecs.notes import Signer
from ...codecs.times import format_time
from ...streams.policy.adoption_rule import refusal
from ..kafka.connect import open_consumer
from ..kafka.requests import topic_ids
from ..kafka.topics import topic_name
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .chain import ids_of
from .folds import folds
from .policies import document_of, in_force, newest_blocks, write


async def adopt(settings: Settings, topic: str, signer: Signer | None) -> Sequence[Adoption]:
    """Writes to the topic `policies` that lanes are to read the topic of this name that is there now.

    Args:
        settings: the broker and prefix; `origin` is what the signature is bound to.
        topic: by its logical name.
        signer: of whoever adopts; None where the policy asks for no signature.

    Returns:
        What was written: one adoption for each other id that a ledger names.

    Raises:
        UnreachableError: no broker answers.
        UsageError: it is no input of a lane, it was not made anew, the broker tells no ids, or the policy in force
            wants another signature.
    """
    present, named = await _present_id(settings, topic), await named_ids(settings, topic)
    adoptions = [
        Adoption(v=FORMAT, topic=topic, was=was, id=present, adopted_at=format_time(now_ms()))
        for was in sorted(set(named) - {"", present})
    ]
    if not adoptions:
        raise UsageError(
            f"{topic} was not made anew: the ledgers go on with the topic that is there",
            expected=f"a ledger that names another id than {present}",
            got=f"{len(named)} lanes that name it, or no topic yet",
        )
    records = [write_adoption(one, settings.origin, signer) for one in adoptions]
    await _demand_counting(settings, records[0])
    await write(settings, records)
    return adoptions


async def named_ids(settings: Settings, topic: str) -> Sequence[str]:
    """The id that each lane's ledger goes on with for an input; empty where it names none yet, by lane.

    Args:
        settings: the broker and prefix.
        topic: by its logical name.

    Raises:
        UnreachableError: no broker answers.
        UsageError: it is no input of a lane.
    """
    inputs = {one: fold.ledger for fold in folds() for one in fold.inputs}
    if topic not in inputs:
        raise UsageError(f"{topic!r} is no input of a lane", expected=", ".join(sorted(inputs)))
    return [
        "" if block is None else adopted_in(block).get(topic) or ids_of(block.header).get(topic, "")
        async for _, block in newest_blocks(settings, inputs[topic])
    ]


async def _present_id(settings: Settings, topic: str) -> str:
    name = topic_name(settings, topic)
    async with open_consumer(settings) as consumer:
        found = (await topic_ids(consumer, [name])).get(name)
    if found is None:
        raise UsageError(f"the broker tells no id of {name}", expected="a topic that is there, on Kafka 3.1 or later")
    return found


async def _demand_counting(settings: Settings, record: tuple[bytes, bytes]) -> None:
    """That the policy in force takes an adoption; where lanes do not decide alike, the first lane's."""
    hashes = [one.hash for one in await in_force(settings) if one.hash]
    policy = await document_of(settings, hashes[0]) if hashes else None
    if policy is None:
        return
    event = Event(EventKind.ADOPT, 0, 0, 0, [], *record)
    if why := refusal(event, policy, now_ms()):
        raise UsageError(
            f"no lane would take this adoption: {why}", hint="sign it with such a key: `--key FILE` (`sluice key new`)"
        )
