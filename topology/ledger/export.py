"""Writes an export: the topics that an audit needs, from a broker into files (`files` has their format)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...codecs.errors import UsageError
from ...codecs.times import format_time
from ...streams.sightings.binding import BOUND, OBSERVATIONS
from ..settings.clock import now_ms
from .export_files import AUDITED, LATER, MANIFEST, Manifest, Stored, Writing, file_name
from .retention import taken

if TYPE_CHECKING:
    from .interfaces import Logs


async def export(
    logs: Logs,
    folder: Path,
    exported_at: str,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    gone: Callable[[str, int, int, int], None] = lambda *_: None,
) -> Mapping[str, int]:
    """Writes what an audit needs into files; the folder must be new or empty.

    Args:
        logs: what to read.
        folder: where to write.
        exported_at: the time that the manifest names.
        progress: told, after each batch, the topic, the lane, and the last record's offset.
        gone: told the topic, the lane, and the first and the last offset of what retention took before it was read.

    Returns:
        How many records there are of each topic.

    Raises:
        UsageError: the folder holds something, or cannot be written to.
    """
    await asyncio.to_thread(_make_empty, folder)
    cut = await logs.cut()
    counts: dict[str, int] = dict.fromkeys(AUDITED, 0)
    ranges: dict[str, list[tuple[int, int]]] = {}
    files: dict[str, str] = {}
    for topic in (*AUDITED, *(one for one in LATER if any(cut.ends.get(one, ())))):
        counts[topic], ranges[topic] = 0, []
        for lane in range(logs.lanes):
            end = cut.ends[topic][lane]
            first = min((await logs.range(topic, lane)).first, end)
            ranges[topic].append((first, end))
            name = file_name(topic, lane)
            try:
                files[name] = await _export_one(logs, topic, lane, (first, end), folder / name, counts, progress, gone)
            except OSError as error:
                raise UsageError(f"cannot export there: {error.strerror}", path=str(folder)) from None
    manifest = Manifest(
        broker=logs.where,
        app_id=logs.app_id,
        ledger=logs.ledger,
        lanes=logs.lanes,
        exported_at=exported_at,
        ended_at=format_time(now_ms()),
        ranges=ranges,
        settled={topic: list(ends) for topic, ends in cut.settled.items() if topic in ranges},
        files=files,
    )
    # Last: a folder without it is no export.
    raw = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    await asyncio.to_thread((folder / MANIFEST).write_bytes, raw)
    return counts


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError("the folder is not empty", path=str(folder), hint="name a new one")
    except OSError as error:
        raise UsageError(f"cannot export there: {error.strerror}", path=str(folder)) from None


async def _export_one(
    logs: Logs,
    topic: str,
    lane: int,
    span: tuple[int, int],
    path: Path,
    counts: dict[str, int],
    progress: Callable[[str, int, int], None],
    gone: Callable[[str, int, int, int], None],
) -> str:
    """Writes one partition; the hash of its file."""
    due, end = span

    async def tell_gone(found: int) -> None:
        if count := await taken(logs, topic, lane, due, found):
            gone(topic, lane, due, due + count - 1)

    with await asyncio.to_thread(Writing, path) as file:
        async with aclosing(logs.batches(topic, lane, end=end)) as batches:
            async for batch in batches:
                await tell_gone(batch[0].offset)
                due = batch[-1].offset + 1
                kept = [one for one in batch if _is_bound(one)] if topic == OBSERVATIONS else batch
                await asyncio.to_thread(file.write, kept)
                counts[topic] += len(kept)
                progress(topic, lane, batch[-1].offset)
    await tell_gone(end)
    return file.digest


def _is_bound(record: Stored) -> bool:
    """Whether it has the mark of a binding lane: what observers wrote stands in the ledger, and is not compared."""
    return any(name == BOUND for name, _ in record.headers)
