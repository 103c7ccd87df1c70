"""What `sluice prove` finds in a ledger, and that each proof holds, under the first checkpoint that covers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from checkpointed import SIGNER, STRICT, CheckpointedLane, T, emission_of_two_classes, history
from exported import lane_of

from sluice.codecs.blocks import unseal
from sluice.codecs.errors import DoesNotHoldError, UsageError
from sluice.codecs.notes import Checkpoint, Signer
from sluice.topology.audit.proofs import ConsistencyProof, ConsistencyShown, Proof, RecordShown, verify
from sluice.topology.audit.proving import prove, prove_consistency
from sluice.topology.engine.export_files import FolderLogs, Stored, file_name, framed


@pytest.fixture(scope="module")
def lane() -> CheckpointedLane:
    """A history that no test changes."""
    return history()


@pytest.fixture(scope="module")
def logs(lane: CheckpointedLane, tmp_path_factory: pytest.TempPathFactory) -> FolderLogs:
    return FolderLogs(lane.export(tmp_path_factory.mktemp("export")))


def shown(proof: Proof | ConsistencyProof) -> Any:
    """What a proof shows, by the lane's key."""
    found, signers = verify(proof, [SIGNER.verifier])
    assert list(signers) == [SIGNER.verifier]
    return found


def decision(proof: Proof) -> dict[str, Any]:
    return msgspec.json.decode(proof.record.readable.value or "")


async def test_an_emission_is_proved_by_its_input_record(logs: FolderLogs) -> None:
    """As it came, with where it stood, under the first checkpoint of more blocks than its height."""
    found = shown(await prove(logs, "em-2"))

    assert isinstance(found, RecordShown)
    assert (found.what, found.header.height, found.checkpoint.head.size) == ("input", 1, 4)
    readable = found.readable
    assert (readable.topic, readable.partition, readable.offset, readable.kind) == ("emissions", 0, 1, "record")
    assert msgspec.json.decode(readable.value or "") == emission_of_two_classes("em-2")


async def test_an_assertion_is_proved_by_its_last_verdict(logs: FolderLogs) -> None:
    """Its output does not stand in the ledger: the fold gives it, and the next block's header names its root."""
    proof = await prove(logs, "em-1#c:0-9")
    found = shown(proof)

    assert (found.what, found.readable.topic, decision(proof)["status"]) == ("output", "admitted", "admitted")
    # Its block is the last before the checkpoint's own, which names its root.
    assert (found.header.height, proof.log.index, found.checkpoint.head.size) == (2, 3, 4)


async def test_the_last_verdict_is_the_last_one(lane: CheckpointedLane, logs: FolderLogs) -> None:
    """Not the request that goes with it; its ledger place is where it stands."""
    proof = await prove(logs, "em-2#c:0-9")

    assert (proof.record.readable.topic, decision(proof)["reason"]) == ("inadmissible", "below-floor")
    assert decision(proof)["ledger"]["block"] == unseal(lane.blocks[6]).hash
    assert shown(proof).checkpoint.head.size == 8


@pytest.mark.parametrize("topic", ["admitted", "inadmissible", "review-requests"])
async def test_every_output_about_an_assertion_is_proved_by_its_id(
    lane: CheckpointedLane, logs: FolderLogs, topic: str
) -> None:
    """The record itself, byte for byte; a request has its verdict's id, so its topic goes before it as in `ce_id`."""
    output = next(output for output in lane.outputs if output.topic == topic)
    name = dict(output.headers)["ce_id"].decode()
    assert name.startswith(f"{topic}/")

    proof = await prove(logs, name)
    alone = await prove(logs, name.partition("/")[2])

    readable = shown(proof).readable
    assert (readable.topic, (readable.value or "").encode()) == (topic, output.value)
    assert alone.record.readable.topic == ("inadmissible" if topic == "review-requests" else topic)


async def test_an_emission_whose_id_looks_like_an_output_s_is_found(tmp_path: Path) -> None:
    """Many name their records by 32 hex digits."""
    name = "0123456789abcdef0123456789abcdef"
    logs = FolderLogs(history(names=(name, "em-2", "em-3")).export(tmp_path))

    assert shown(await prove(logs, name)).what == "input"


@pytest.mark.parametrize("name", ["em-1", "em-1#c:0-9"])
async def test_the_lane_is_the_key_s(tmp_path: Path, name: str) -> None:
    """By the partitioner that the ledger names; what is in another lane is found by naming that."""
    lanes = 3
    own = lane_of("em-1", lanes)
    other = (own + 1) % lanes
    logs = FolderLogs(history(own, lanes).export(tmp_path))
    history(other, lanes, ("other-1", "other-2", "other-3")).export(tmp_path)

    assert shown(await prove(logs, name)).header.lane == own
    assert shown(await prove(logs, "other-1", other)).header.lane == other
    with pytest.raises(DoesNotHoldError, match="nothing with the name"):
        await prove(logs, name, other)


async def test_an_output_is_looked_for_in_every_lane(tmp_path: Path) -> None:
    """Its id does not tell which one it is in."""
    lane = history(lane_of("em-1", 3), 3)
    logs = FolderLogs(lane.export(tmp_path))
    output = next(msgspec.json.decode(output.value) for output in lane.outputs if output.topic == "admitted")

    assert shown(await prove(logs, output["id"])).header.lane == lane.lane


async def test_the_ledger_says_which_partitioner_it_goes_by(tmp_path: Path) -> None:
    """Here librdkafka's, under which the key belongs to another lane."""
    lanes, name = 16, "em-2"
    own = lane_of(name, lanes, "crc32")
    assert own != lane_of(name, lanes)
    lane = CheckpointedLane(STRICT, T, lane=own, lanes=lanes, partitioner="crc32")
    lane.block(T + 1, [("emissions", emission_of_two_classes(name))])
    lane.checkpoint()

    assert shown(await prove(FolderLogs(lane.export(tmp_path)), name)).header.lane == own


async def test_an_input_too_large_to_keep_is_proved_by_its_hash(tmp_path: Path) -> None:
    """The block carries hash and length in its place."""
    lane = CheckpointedLane(STRICT, T)
    lane.block(T + 1, [("emissions", (b"em-9", b"x" * 1_000_001))])
    lane.checkpoint()

    readable = shown(await prove(FolderLogs(lane.export(tmp_path)), "em-9")).readable

    assert readable.kind == "oversize"
    assert msgspec.json.decode(readable.value or "")["length"] == 1_000_001


async def test_reading_is_reported(logs: FolderLogs) -> None:
    """Lane, height and offset of each block, no further than the checkpoint that covers the record."""
    reported: list[tuple[int, int, int]] = []

    await prove(logs, "em-1", progress=lambda *place: reported.append(place))

    assert reported == [(0, height, 2 * height) for height in range(4)]


# ---------------------------------------------------------------- what has no proof


async def test_what_no_checkpoint_covers_yet_is_reported(logs: FolderLogs) -> None:
    """With how many blocks it needs, and how many the newest has."""
    with pytest.raises(DoesNotHoldError) as caught:
        await prove(logs, "em-3")

    assert "no checkpoint covers the record yet (expected one of 9 blocks or more, got 8 blocks)" in str(caught.value)


async def test_an_output_in_the_checkpoint_s_last_block_is_not_covered(tmp_path: Path) -> None:
    """Its root stands in the block after, which has to be under the checkpoint as well."""
    lane = history()
    lane.checkpoints, lane.notes = [], []
    del lane.blocks[3:]  # the verdict on the first stands in block 2, the last one now
    logs = FolderLogs(lane.export(tmp_path))

    with pytest.raises(DoesNotHoldError, match=r"expected one of 4 blocks or more, got none at all"):
        await prove(logs, "em-1#c:0-9")


@pytest.mark.parametrize("name", ["em-4", "em-4#c:0-8", "f" * 32, "grounded/" + "f" * 32, "#", ""])
async def test_what_is_not_there_is_reported_in_one_sentence(logs: FolderLogs, name: str) -> None:
    """With what may be asked for."""
    with pytest.raises(DoesNotHoldError, match="nothing with the name") as caught:
        await prove(logs, name)

    assert "\n" not in str(caught.value)


async def test_a_span_that_is_none_is_reported_with_those_that_there_are(logs: FolderLogs) -> None:
    """Of verdicts about the same emission, as `explain` does it."""
    with pytest.raises(
        DoesNotHoldError, match=r"'em-1' has no verdict about the span 'c:0-8'.*expected one of c:0-9\)"
    ):
        await prove(logs, "em-1#c:0-8")


async def test_where_it_was_looked_is_reported(tmp_path: Path) -> None:
    """The lane of the key, that of --lane, or all of them."""
    lanes = 3
    own = lane_of("em-1", lanes)
    other = (own + 1) % lanes
    for lane in range(lanes):
        history(lane, lanes, ("a", "b", "c")).export(tmp_path)
    logs = FolderLogs(tmp_path)

    for name, lane, where in (
        ("em-1", None, f"of lane {own}"),
        ("em-1", other, f"of lane {other}"),
        ("f" * 32, other, f"of lane {other}"),
        ("f" * 32, None, "of any of the 3 lanes"),
    ):
        with pytest.raises(DoesNotHoldError, match=f"stands in the ledger {where} "):
            await prove(logs, name, lane)


async def test_a_lane_that_is_none_is_wrong_usage(logs: FolderLogs) -> None:
    """For both kinds of proof."""
    with pytest.raises(UsageError, match="no such lane"):
        await prove(logs, "em-1", 1)
    with pytest.raises(UsageError, match="no such lane"):
        await prove_consistency(logs, 7, 4)


async def test_a_dead_letter_is_no_verdict_whatever_its_key(tmp_path: Path) -> None:
    """Strangers choose the keys of what they send."""
    lane = CheckpointedLane(STRICT, T)
    lane.block(T + 1, [("emissions", (b"em-1#c:0-9", b"not JSON"))])
    lane.checkpoint()
    assert lane.outputs[-1].topic == "dead-letters"

    with pytest.raises(DoesNotHoldError, match="nothing with the name"):
        await prove(FolderLogs(lane.export(tmp_path)), "em-1#c:0-9")


async def test_an_empty_ledger_holds_nothing(tmp_path: Path) -> None:
    """Not even what would tell the partitioner."""
    with pytest.raises(DoesNotHoldError, match="nothing with the name"):
        await prove(rewritten(history(), tmp_path, []), "em-1")


# ---------------------------------------------------------------- ledgers that do not hold


def rewritten(lane: CheckpointedLane, folder: Path, blocks: list[bytes]) -> FolderLogs:
    """An export of the lane with other blocks in its ledger."""
    lane.export(folder)
    with open(folder / file_name("ledger", lane.lane), "wb") as file:
        file.writelines(framed([Stored(at, 0, None, data, []) for at, data in enumerate(blocks)]))
    return FolderLogs(folder)


async def test_a_ledger_that_is_not_its_checkpoint_s_proves_nothing(tmp_path: Path) -> None:
    """A capable operator's new history has links and roots in order, but an old checkpoint."""
    forged = CheckpointedLane(STRICT, T)
    forged.block(T + 1, [("emissions", emission_of_two_classes("em-1", text="It is no."))])
    forged.checkpoint()
    forged.block(T + 2)
    logs = rewritten(history(), tmp_path, forged.blocks)

    with pytest.raises(DoesNotHoldError, match="not the one that its checkpoint speaks of"):
        await prove(logs, "em-1")


async def test_a_ledger_shorter_than_its_checkpoint_proves_nothing(lane: CheckpointedLane, tmp_path: Path) -> None:
    """The record is there, the blocks behind it are not."""
    with pytest.raises(DoesNotHoldError, match=r"expected 4 blocks.*got 3 blocks"):
        await prove(rewritten(lane, tmp_path, lane.blocks[:3]), "em-1")


async def test_a_ledger_without_its_beginning_proves_nothing(lane: CheckpointedLane, tmp_path: Path) -> None:
    """The sentence says that all blocks are needed."""
    with pytest.raises(DoesNotHoldError, match="first blocks are not there"):
        await prove(rewritten(lane, tmp_path, lane.blocks[1:]), "em-1")


@pytest.mark.parametrize("gone", [1, 2])
async def test_a_broken_chain_proves_nothing(lane: CheckpointedLane, tmp_path: Path, gone: int) -> None:
    """Neither of inputs nor of outputs."""
    logs = rewritten(lane, tmp_path, lane.blocks[:gone] + lane.blocks[gone + 1 :])

    for name in ("em-3", "em-2#c:0-9"):
        with pytest.raises(DoesNotHoldError, match="chain of blocks is broken"):
            await prove(logs, name)


async def test_checkpoints_of_other_logs_and_other_records_are_passed_over(tmp_path: Path) -> None:
    """They may stand on the topic; the first that is this lane's counts."""
    lane = history()
    for junk in (SIGNER.sign(lane.checkpoints[0].text().replace("sluice/", "other/", 1)), "no note", ""):
        lane.notes.insert(0, junk)

    assert shown(await prove(FolderLogs(lane.export(tmp_path)), "em-1")).checkpoint.origin == "sluice/ledger/0"


# ---------------------------------------------------------------- consistency


@pytest.mark.parametrize(("old", "new", "sizes"), [(4, 8, (4, 8)), (4, None, (4, 8)), (6, 6, (6, 6)), (6, 8, (6, 8))])
async def test_two_checkpoints_are_of_one_history(
    logs: FolderLogs, old: int, new: int | None, sizes: tuple[int, int]
) -> None:
    """The newest where none is named; a checkpoint is consistent with itself."""
    found = shown(await prove_consistency(logs, None, old, new))

    assert isinstance(found, ConsistencyShown)
    assert (found.old.head.size, found.new.head.size) == sizes


async def test_a_size_that_no_checkpoint_has_is_reported_with_those_near(logs: FolderLogs) -> None:
    """So that the next call can be right."""
    with pytest.raises(
        DoesNotHoldError, match=r"no checkpoint of 5 blocks \(expected one of its sizes, such as 4, 6, 8\)"
    ):
        await prove_consistency(logs, 0, 5)
    with pytest.raises(UsageError, match="earlier checkpoint comes first"):
        await prove_consistency(logs, 0, 8, 4)


async def test_a_lane_without_checkpoints_has_nothing_to_compare(tmp_path: Path) -> None:
    """Which is said; of several lanes one has to be named."""
    logs = FolderLogs(CheckpointedLane(STRICT, T, lanes=2).export(tmp_path))

    with pytest.raises(DoesNotHoldError, match="it has none"):
        await prove_consistency(logs, 1, 4)
    with pytest.raises(UsageError, match=r"--lane 0 to 1\); add --lane"):
        await prove_consistency(logs, None, 4)


async def test_two_histories_of_one_lane_are_found(tmp_path: Path) -> None:
    """A checkpoint that was signed of another ledger does not fit this one, however well it is signed."""
    other = history()
    fork = CheckpointedLane(STRICT, T)
    for number in range(3):
        fork.block(T + number, [("emissions", emission_of_two_classes(f"em-{number}"))])
    other.notes[0] = SIGNER.sign(fork.checkpoint().text().replace("\n5\n", "\n4\n").replace("tip 0 5", "tip 0 4"))
    logs = FolderLogs(other.export(tmp_path))

    with pytest.raises(DoesNotHoldError, match="not the one that its checkpoint speaks of"):
        await prove_consistency(logs, 0, 4, 8)


async def test_who_else_signs_is_somebody_else(tmp_path: Path) -> None:
    """A proof under a checkpoint of an unknown key is made, and does not verify."""
    lane = CheckpointedLane(STRICT, T)
    lane.block(T + 1, [("emissions", emission_of_two_classes())])
    stranger = Signer("sluice/test", bytes(32))
    assert isinstance(lane.checkpoint(stranger), Checkpoint)
    proof = await prove(FolderLogs(lane.export(tmp_path)), "em-1")

    verify(proof, [SIGNER.verifier, stranger.verifier])
    with pytest.raises(DoesNotHoldError, match="signed by nobody whose key is known"):
        verify(proof, [SIGNER.verifier])
