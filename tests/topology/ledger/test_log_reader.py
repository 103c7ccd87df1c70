"""Exports: what was written is read again, and damage anywhere is found."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.errors import DoesNotHoldError, UsageError
from sluice.topology.engine import export_files
from sluice.topology.engine.export_files import (
    AUDITED,
    MANIFEST,
    Cut,
    FolderLogs,
    Range,
    Stored,
    Writing,
    file_name,
    read_batches,
)
from sluice.topology.engine.stored_topics import export, open_logs
from sluice.topology.settings.settings import Settings

BLOBS = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3)
RECORDS = st.lists(
    st.builds(Stored, st.integers(0, 2**63 - 1), st.integers(-1, 2**62), BLOBS, BLOBS, HEADERS), max_size=12
)


class Memory:
    """Logs that are lists."""

    where, lanes, app_id, ledger = "memory", 2, "sluice", "t.ledger"

    def __init__(self, records: list[Stored]) -> None:
        self.found = records

    async def range(self, topic: str, lane: int) -> Range:
        return Range(0, 1 << 62) if (topic, lane) == ("ledger", 1) else Range(0, 0)

    async def cut(self) -> Cut:
        ends = {topic: [0, 1 << 63 if topic == "ledger" else 0] for topic in AUDITED}
        return Cut({**ends, "ledger": [0, 7]}, ends)

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        if (topic, lane) == ("ledger", 1) and self.found:
            yield self.found

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        async for batch in self.batches(topic, lane):
            for record in batch:
                yield record


async def read(logs: FolderLogs, topic: str, lane: int, start: int | None = None) -> list[Stored]:
    """All records of a partition."""
    return [record async for record in logs.records(topic, lane, start)]


@given(RECORDS, st.integers(1, 60))
@settings(max_examples=examples(30), deadline=None)
def test_batches_are_the_same_records_wherever_reads_end(records: list[Stored], raw: int):
    """Also where a read ends within a record's length."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "file"
        with Writing(path) as file:
            file.write(records)
        patch.setattr(export_files, "BATCH_BYTES", raw)

        found = list(read_batches(path, file.digest))

    assert [record for batch in found for record in batch] == records
    assert all(found)


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_any_octet_that_changes_is_found(data: st.DataObject):
    """By the hash that the manifest has of the file; what could be read comes before."""
    records = [Stored(place, 5, b"k", bytes([place]) * 9, [("h", b"v")]) for place in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with Writing(path) as file:
            file.write(records)
        whole = path.read_bytes()
        at, mask = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])

        with pytest.raises(DoesNotHoldError):
            list(read_batches(path, file.digest))


@given(st.integers(1, 90))
@settings(max_examples=examples(30), deadline=None)
def test_a_file_that_is_cut_short_is_found(cut: int):
    """Without a hash as well, unless it is cut between two records."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with Writing(path) as file:
            file.write([Stored(place, 5, b"k", b"value" * 3, []) for place in range(5)])
        whole = path.read_bytes()
        one = len(whole) // 5
        path.write_bytes(whole[:-cut])

        found: list[Stored] = []
        with pytest.raises(DoesNotHoldError, match="cut short" if cut % one else "not the one"):
            found.extend(record for batch in read_batches(path, file.digest) for record in batch)
        assert len(found) == (len(whole) - cut) // one


def test_a_length_that_no_record_has_is_not_read_into_memory(tmp_path: Path):
    """It is damage."""
    (tmp_path / "file").write_bytes(b"\xff\xff\xff\xff" + b"x" * 100)

    with pytest.raises(DoesNotHoldError, match="no record is so long"):
        list(read_batches(tmp_path / "file"))


async def test_an_export_is_read_as_what_was_exported(tmp_path: Path):
    """The same records, ranges and names; of the other partitions, nothing."""
    records = [Stored(place, 7, None, b"v%d" % place, []) for place in range(3, 9)]
    reported: list[tuple[str, int, int]] = []

    counts = await export(Memory(records), tmp_path / "new" / "folder", "now", lambda *one: reported.append(one))

    logs = FolderLogs(tmp_path / "new" / "folder")
    assert (logs.app_id, logs.ledger, logs.lanes) == ("sluice", "t.ledger", 2)
    assert counts == {**dict.fromkeys(AUDITED, 0), "ledger": 6}
    assert reported == [("ledger", 1, 8)]
    assert await read(logs, "ledger", 1) == records
    assert await read(logs, "ledger", 1, 5) == records[2:]
    assert [batch async for batch in logs.batches("ledger", 1, 4, 6)] == [records[1:3]]
    assert await read(logs, "admitted", 1) == []
    assert (await logs.cut()).settled["ledger"] == [0, 7]
    assert (await logs.cut()).ends["ledger"][1] == 1 << 63
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == sorted(
        [MANIFEST, *(file_name(topic, lane) for topic in AUDITED for lane in range(2))]
    )


async def test_a_folder_that_holds_something_is_refused(tmp_path: Path):
    """And left as it is."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(UsageError, match="not empty"):
        await export(Memory([]), tmp_path, "now")
    assert os.listdir(tmp_path) == ["file"]


async def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    """In one sentence."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(UsageError, match="cannot export there"):
        await export(Memory([]), tmp_path / "file" / "below", "now")


@pytest.mark.parametrize("manifest", [None, b"", b"{}", b"\xff", b'{"v": 2}'])
async def test_a_folder_without_a_manifest_is_no_export(tmp_path: Path, manifest: bytes | None):
    """Nor with one that says nothing."""
    if manifest is not None:
        (tmp_path / MANIFEST).write_bytes(manifest)

    with pytest.raises(UsageError, match="no export"):
        async with open_logs(Settings(), tmp_path):
            pass


async def test_another_format_is_refused(tmp_path: Path):
    """It could mean something else."""
    await export(Memory([]), tmp_path, "now")
    text = (tmp_path / MANIFEST).read_text()
    (tmp_path / MANIFEST).write_text(text.replace('"v": 1', '"v": 2'))

    with pytest.raises(UsageError, match="another format"):
        FolderLogs(tmp_path)


GIANT = 10**9


@pytest.mark.parametrize(
    "change",
    [
        {"lanes": GIANT},
        {"lanes": 2**63},
        {"lanes": 0},
        {"lanes": -1},
        {"lanes": 1},
        {"lanes": GIANT, "ranges": {}},
        {"ranges": {"ledger": [[0, 1]] * 3}},
        {"ranges": {"ledger": [[0, 1]] * 2, "admitted": [[0, 0]]}},
        {"ranges": {"ledger": [[0, 2**64], [0, 0]]}},
        {"ranges": {"ledger": [[0, 10**30], [0, 0]]}},
        {"ranges": {"ledger": [[5, 1], [0, 0]]}},
        {"ranges": {"ledger": [[-1, 1], [0, 0]]}},
        {"settled": {"ledger": [1]}},
        {"settled": {"admitted": [0, -1]}},
    ],
)
async def test_the_numbers_of_a_manifest_size_nothing(tmp_path: Path, change: dict[str, Any]):
    """What is read is sized by the export that is there; any other number is one sentence."""
    await export(Memory([]), tmp_path, "now")
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | change))

    with pytest.raises(UsageError, match=r"the (folder is no export|export has another format)"):
        FolderLogs(tmp_path)


async def test_a_file_that_the_manifest_names_and_that_is_gone_is_found(tmp_path: Path):
    """It is not taken for an empty one."""
    await export(Memory([]), tmp_path, "now")
    (tmp_path / file_name("admitted", 0)).unlink()

    with pytest.raises(DoesNotHoldError, match="not there"):
        await read(FolderLogs(tmp_path), "admitted", 0)


async def test_an_export_is_made_beside_other_tasks(tmp_path: Path):
    """Files are written in threads: the loop goes on."""
    records = [Stored(place, 7, None, b"v" * 1000, []) for place in range(2000)]
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await export(Memory(records), tmp_path, "now")
    ticking.cancel()
    assert ticks > 0


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path: Path):
    """Where it comes after the export was opened, too."""
    os.mkfifo(tmp_path / "ledger-0.records")
    with pytest.raises(DoesNotHoldError, match="no regular file"):
        next(read_batches(tmp_path / "ledger-0.records"))
