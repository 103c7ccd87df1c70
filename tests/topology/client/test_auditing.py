"""The auditor: a ledger replayed, from a fake and from an export, and what it says of one that was tampered with."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from builders import text_value
from msgspec.structs import replace

from sluice.codecs.blocks import quarantine, seal, unseal
from sluice.codecs.records import Emission, Observation
from sluice.topology.audit.report import notes
from sluice.topology.client import AsyncAuditor, ClosedError, DoesNotHoldError, FakeSluice, UsageError
from sluice.topology.client.fake import FakeLane
from sluice.topology.engine.export_files import Stored
from sluice.topology.engine.stored_topics import export

TWO = ("substrate.git.log", "substrate.grep")
START = 1_795_251_600_000


def story() -> FakeSluice:
    """An admission, a bad record, a verdict at the end of the horizon, a decay."""
    fake = FakeSluice(start=START)
    fake.emit(text_value())
    fake.corroborate("em-1", *TWO)
    fake.emit(text_value("em-2", "It was out. [substrate.grep]", at=START - 100_000_000))
    fake.emit(text_value("em-3", "It will be out. [substrate.grep]"))
    fake.corroborate("em-3", "substrate.grep")
    fake.advance("2h")
    return fake


def lane_of(fake: FakeSluice) -> FakeLane:
    return fake._world.lane


async def test_a_replay_tells_what_came_in_and_what_was_decided():
    """In order, decoded, each block at its time."""
    async with story().async_auditor() as auditor:
        blocks = [block async for block in auditor]
    assert [block.height for block in blocks] == list(range(len(blocks)))
    events = [event for block in blocks for event in block.events]
    assert [event.kind for event in events] == ["policy", *["record"] * 6]
    assert [type(event.record) for event in events[1:4]] == [Emission, Observation, Observation]
    outputs = [
        (output.topic, getattr(output.record, "status", output.reason))
        for b in blocks
        for output in b.outputs
        if output.topic != "verdicts"
    ]
    assert outputs == [
        ("admitted", "admitted"),
        ("dead-letters", "too-old"),
        ("inadmissible", "below-floor"),
        ("review-requests", "below-floor"),
        ("admitted", "decayed-to-uncertainty"),
    ]
    assert [block.confirmed for block in blocks] == [True] * (len(blocks) - 1) + [False]


async def test_what_a_replay_gives_is_what_the_topics_hold():
    """Byte for byte, headers and all."""
    fake = story()
    async with fake.async_auditor() as auditor:
        outputs = [output async for block in auditor for output in block.outputs]
    for topic in ("admitted", "inadmissible", "review-requests", "verdicts", "dead-letters"):
        stored = [(one.key, one.value, one.headers) for one in lane_of(fake).topics[topic]]
        assert stored == [(one.key, one.value, one.headers) for one in outputs if one.topic == topic]


async def test_a_batch_that_could_not_be_read_is_replayed_from_the_ledger_alone(tmp_path: Path):
    """Byte for byte, offline too; the audit finds its dead letter, and counts its offsets."""
    fake = story()
    event = quarantine(0, 9, 12, START, "too-large", b"bomb")
    lane_of(fake)._chains[0]._close(0, 0, [event])
    await export(lane_of(fake), tmp_path / "export", "2026-11-21T09:00:00Z")

    async with AsyncAuditor(folder=tmp_path / "export") as auditor:
        blocks = [block async for block in auditor]
        report = await auditor.report()

    (found,) = (one for block in blocks for one in block.events if one.kind == "quarantine")
    assert (found.topic, found.offset, found.record, found.raw) == ("emissions", 9, None, event.value)
    assert [one.reason for one in blocks[-1].outputs] == ["unreadable-batch"]
    assert report.holds
    assert report.lanes[0].counters["quarantined"] == 3
    assert "3 offsets of inputs are of batches that could not be read; dead letters name each batch" in notes(report)


async def test_times_say_what_is_handed_out():
    """Both ends included; the fold begins at the beginning all the same."""
    fake = story()
    async with fake.async_auditor() as auditor:
        everything = [block async for block in auditor]
        ends = everything[-2].time
        assert [block async for block in auditor.blocks(since=ends)] == everything[-2:]
        assert [block async for block in auditor.blocks(until="2026-11-21T09:00:00Z")] == everything[:-2]
        with pytest.raises(UsageError, match="not a time"):
            await anext(auditor.blocks(since="then"))
        with pytest.raises(UsageError, match="no such lane"):
            await anext(auditor.blocks(lanes=[1]))


async def test_an_export_replays_as_its_broker_does(tmp_path: Path):
    """And the whole audit of it is to be had."""
    fake = story()
    await export(lane_of(fake), tmp_path / "export", "2026-11-21T09:00:00Z")
    async with fake.async_auditor() as auditor:
        expected = [block async for block in auditor]
        with pytest.raises(UsageError):
            await auditor.report()
    async with AsyncAuditor(folder=tmp_path / "export") as auditor:
        assert [block async for block in auditor] == expected
        report = await auditor.report()
    assert report.holds
    assert report.lanes[0].blocks == len(expected)


@pytest.mark.parametrize("height", [0, 1, 3])
async def test_a_block_that_is_gone_ends_the_replay(height: int):
    """With the sentence that an audit says; what stands before it was handed out."""
    fake = story()
    del lane_of(fake).topics["ledger"][height]
    async with fake.async_auditor() as auditor:
        blocks = auditor.blocks()
        for before in range(height - 1):
            assert (await anext(blocks)).height == before
        with pytest.raises(DoesNotHoldError, match=f"missing-block.*block {height}"):
            await anext(blocks)


@pytest.mark.parametrize("height", range(7))
async def test_no_changed_block_goes_unnoticed(height: int):
    """One byte of an event is enough; the last block alone has nobody who would know."""
    fake = story()
    ledger = lane_of(fake).topics["ledger"]
    value = ledger[height].value or b""
    at = value.rindex(b"o") if b"o" in value else len(value) - 1
    changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
    ledger[height] = Stored(height, 0, None, changed, [])
    async with fake.async_auditor() as auditor:
        with pytest.raises(DoesNotHoldError):
            async for _ in auditor:
                pass


async def test_a_decision_that_the_fold_does_not_give_ends_the_replay():
    """A chain that was sealed anew holds together; the roots of what was decided do not."""
    fake = story()
    ledger = lane_of(fake).topics["ledger"]
    prev = ""
    for height, stored in enumerate(ledger):
        block = unseal(stored.value or b"")
        header = replace(block.header, prev=prev) if prev else block.header
        if height == 4:
            header = replace(header, outputs="sha256:" + "0" * 64)
        sealed, data = seal(header, block.events)
        ledger[height], prev = Stored(height, 0, None, data, []), sealed.hash
    async with fake.async_auditor() as auditor:
        blocks = auditor.blocks()
        assert [(await anext(blocks)).height for _ in range(3)] == [0, 1, 2]
        with pytest.raises(DoesNotHoldError, match=r"outputs-root.*block 4"):
            await anext(blocks)


async def test_a_report_leaves_the_collector_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is its caller's: whether it runs, and what of it is frozen."""
    await export(lane_of(story()), tmp_path / "export", "2026-11-21T09:00:00Z")
    touched: list[str] = []
    for name in ("enable", "disable", "freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: touched.append(name))

    async with AsyncAuditor(folder=tmp_path / "export") as auditor:
        assert (await auditor.report()).holds

    assert touched == []


async def test_outside_of_its_block_it_reads_nothing():
    """Closing twice is closing once."""
    auditor = FakeSluice().async_auditor()
    async with auditor:
        pass
    await auditor.close()
    with pytest.raises(ClosedError):
        await anext(auditor.blocks())


async def test_a_folder_that_is_no_export_is_reported(tmp_path: Path):
    """On entering."""
    with pytest.raises(UsageError, match="no export"):
        async with AsyncAuditor(folder=tmp_path):
            pass
