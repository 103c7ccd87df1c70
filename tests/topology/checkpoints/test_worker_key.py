"""With which key a worker may start on a ledger that has checkpoints."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from sluice.codecs.errors import UsageError
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import CheckpointKeys, Policy
from sluice.topology.engine.checkpointing import key_path, worker_key
from sluice.topology.engine.signing import load_signer, new_signer, save_signer
from sluice.topology.kafka.connect import open_producer
from sluice.topology.settings.settings import Settings

OLD, NEW = new_signer("sluice/old"), new_signer("sluice/new")


@pytest.fixture
def settings(broker: str, request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Topics and folders of the test's own."""
    prefix = re.sub(r"\W", "-", request.node.name) + "."
    state = str(tmp_path / "state")
    return Settings(broker=broker, delivery="at-least-once", topic_prefix=prefix, state_dir=state, partitions=4)


def note(signer: Signer, ledger_id: str = "ID") -> bytes:
    """A checkpoint of lane 1 of a ledger."""
    head = Head(3, b"r" * 32)
    tips = (Head(), head)
    return signer.sign(
        Checkpoint(f"{ledger_id}/ledger/1", head, "sha256:" + "0" * 64, 7000, NO_CHECKPOINT, tips).text()
    ).encode()


async def send(settings: Settings, *notes: bytes) -> None:
    async with open_producer(settings) as producer:
        for one in notes:
            await producer.send_and_wait(f"{settings.topic_prefix}checkpoints", one, b"k", partition=1)


def listing(signer: Signer) -> Policy:
    key = Key(public_key=base64.b64encode(signer.verifier.public_key).decode())
    return Policy(checkpoints=CheckpointKeys(keys={signer.name: [key]}))


@pytest.mark.parametrize("notes", [[], [b"no note"], [note(OLD, "another")], [note(OLD, "IDX")]])
async def test_a_key_is_made_for_a_ledger_without_checkpoints(settings: Settings, notes: list[bytes]):
    """Once; what is no checkpoint of this ledger is nobody's word."""
    await send(settings, *notes)

    made = await worker_key(settings, Policy(), "ID")

    assert made is not None
    assert str(load_signer(key_path(settings)).verifier) == str(made.verifier)
    assert not await asyncio.to_thread(Path(settings.state_dir).exists)


async def test_a_lost_key_is_not_replaced(settings: Settings):
    """The sentence names the key that signed; nothing is made."""
    await send(settings, note(OLD))

    with pytest.raises(UsageError, match="another key signed the checkpoints of this ledger") as caught:
        await worker_key(settings, Policy(), "ID")
    assert "sluice/old" in str(caught.value)
    assert not key_path(settings).exists()


async def test_another_key_counts_only_where_it_is_listed(settings: Settings, tmp_path: Path):
    """Or where it has signed the ledger before, whoever has written there since."""
    await send(settings, note(OLD), note(Signer("sluice/new", b"another seed".ljust(32, b"."))))
    save_signer(NEW, tmp_path / "new.key")
    own = replace(settings, key_file=str(tmp_path / "new.key"))

    with pytest.raises(UsageError, match="another key signed"):
        await worker_key(own, Policy(), "ID")
    listed = await worker_key(own, listing(NEW), "ID")
    await send(settings, note(NEW), note(OLD))
    known = await worker_key(own, Policy(), "ID")

    assert listed is not None
    assert known is not None
    assert str(listed.verifier) == str(known.verifier) == str(NEW.verifier)
