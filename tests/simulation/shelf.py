"""Snapshots without files: what stands where the worker's snapshot folder stands, and may fail and decay as one.

A snapshot is written piece by piece while its lane goes on, as a thread would do it, and is there only when it is
whole. A folder may be shared by all workers, or be each one's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import sluice.topology.engine.snapshots
from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.snapshots import Facts

KEPT = 2
FAILS, DECAYS = 0.03, 0.03
"""Chances that a snapshot cannot be written, or not be read."""


class Shelf:
    """The snapshots of one lane in one folder (`snapshots.SnapshotStore`)."""

    def __init__(self, random: Random, lane: int, lanes: int, fold: str) -> None:
        self._random = random
        self._lane, self._lanes, self._fold = lane, lanes, fold
        self._kept: list[tuple[Path, Facts]] = []
        self.chunks: dict[Path, list[bytes]] = {}

    async def write(self, tip: ChainHead, offset: int, chunks: Iterable[bytes]) -> str:
        """Keeps a state; in the product this is a thread's, so here it takes turns with the lane."""
        kept: list[bytes] = []
        await asyncio.sleep(self._random.choice((0.0, 0.001, 0.3)))
        for chunk in chunks:
            kept.append(chunk)
            await asyncio.sleep(self._random.choice((0.0, 0.002)))
        if self._random.random() < FAILS:
            raise OSError("the disk is full")
        state = "sha256:" + sha256(b"".join(kept)).hexdigest()
        facts = Facts(lane=self._lane, lanes=self._lanes, fold=self._fold, tip=tip, offset=offset, state=state)
        path = Path(f"{tip.height:015d}-{state[7:23]}.snapshot")
        self.chunks[path] = [] if self._random.random() < DECAYS else kept
        others = [one for one in self._kept if one[0] != path]
        self._kept = sorted([*others, (path, facts)], key=lambda one: one[0].name, reverse=True)[:KEPT]
        return state

    def found(self) -> Iterator[tuple[Path, Facts]]:
        """What is there, newest first."""
        yield from list(self._kept)


class Shelves:
    """All snapshots of a run, by folder."""

    def __init__(self, random: Random, lanes: int, fold: str, *, shared: bool) -> None:
        self._random, self._lanes, self._fold, self._shared = random, lanes, fold, shared
        self._shelves: dict[tuple[str, str, int], Shelf] = {}

    def of(self, worker: str, fold: str, lane: int) -> Any:
        """The snapshots of a fold's lane as a worker sees them."""
        place = ("" if self._shared else worker, fold, lane)
        if place not in self._shelves:
            self._shelves[place] = Shelf(self._random, lane, self._lanes, self._fold)
        return self._shelves[place]

    def read(self, path: Path, facts: Facts) -> Iterator[bytes]:
        """A snapshot's chunks (`snapshots.read_chunks`)."""
        holders = (one for (*_, lane), one in self._shelves.items() if lane == facts.lane and path in one.chunks)
        chunks = next((one.chunks[path] for one in holders), [])
        yield from chunks
        if not chunks:
            raise DoesNotHoldError("the snapshot is damaged", path=str(path))

    async def to_thread(self, do: Callable[..., Any], *args: Any) -> Any:
        """Stands for `asyncio.to_thread`."""
        await asyncio.sleep(self._random.choice((0.0, 0.001, 0.2)))
        found = do(*args)
        return await found if isinstance(found, Awaitable) else found

    def substitutes(self) -> list[tuple[Any, str, Any]]:
        """What stands for files and threads while a run lasts: (module, name, substitute)."""
        own = SimpleNamespace(**{**vars(asyncio), "to_thread": self.to_thread})
        return [
            (sluice.topology.engine.snapshots, "asyncio", own),
            (sluice.topology.engine.snapshots, "read_chunks", self.read),
        ]
