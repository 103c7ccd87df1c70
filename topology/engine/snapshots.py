"""Snapshots: a lane's state in files, so that a restart need not fold the whole ledger; and when they are taken.

A snapshot is written in a thread of its own while the lane goes on: what a state has at rest never changes. A worker's
lanes write one at a time, because eight threads that wrote delayed every lane by a second. A failure is logged and
tried again when the next is due. The header of a later block names the snapshot, once.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Final

import msgspec
import structlog

from ...codecs.errors import DoesNotHoldError
from ..settings.process import now_ms
from .chain import ChainHead
from .interfaces import Fold
from .replay import Restored
from .restore import Start

MAGIC: Final = b"sluice snapshot 2\n"
KEPT: Final = 2
STALE_SECONDS: Final = 3600.0
"""What a crash left half written goes after so long: another worker may still be writing it."""
_LENGTH = struct.Struct(">I")
_DIGEST: Final = 32
_LONGEST = 1 << 28
"""No chunk is longer: a damaged length must not make us ask for gigabytes."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot says of itself. `state` is the hash of its chunks, `offset` the ledger's of the tip's block."""

    lane: int
    lanes: int
    fold: str
    tip: ChainHead
    offset: int
    state: str


_facts = msgspec.json.Decoder(Facts)


class SnapshotStore:
    """The snapshots of one lane, in a folder that workers may share.

    Args:
        folder: of all lanes of one ledger; it need not be there yet.
        lane, lanes: which of how many.
        fold: the form in which the lane's fold has its state (`interfaces.Fold.form`); a snapshot of any other is not
            this lane's. Which version of the fold has made it is not asked: that stands in the block after which it was
            taken, and the lane checks it there (restore.py). So another package's is used wherever it can be read.
        ledger_id: of the ledger; a snapshot that names another one is not this lane's. Empty: any is.
    """

    def __init__(self, folder: Path, lane: int, lanes: int, fold: str, ledger_id: str = "") -> None:
        self._folder = folder / f"lane-{lane}-of-{lanes}"
        self._lane, self._lanes, self._fold, self._ledger_id = lane, lanes, fold, ledger_id

    def write(self, tip: ChainHead, offset: int, chunks: Iterable[bytes]) -> str:
        """Keeps a state; only files of this store are touched. It may take seconds: do not call it in an event loop.

        Args:
            tip: the chain up to the state's block.
            offset: of that block's record in the ledger.
            chunks: the state's bytes.

        Returns:
            The hash of the state's bytes.

        Raises:
            OSError: the folder cannot be written to, or is full; what was there is untouched.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._folder / f"{secrets.token_hex(8)}.new"
        try:
            with open(new, "xb") as file:
                facts = self._write(file, tip, offset, chunks)
            os.replace(new, self._folder / f"{tip.height:015d}-{facts.state[7:23]}.snapshot")
        finally:
            with suppress(FileNotFoundError):
                new.unlink()
        self._prune()
        return facts.state

    def _write(self, file: BinaryIO, tip: ChainHead, offset: int, chunks: Iterable[bytes]) -> Facts:
        digest = sha256()
        file.write(MAGIC)
        for chunk in chunks:
            digest.update(chunk)
            file.write(_LENGTH.pack(len(chunk)) + chunk)
        state = "sha256:" + digest.hexdigest()
        facts = Facts(lane=self._lane, lanes=self._lanes, fold=self._fold, tip=tip, offset=offset, state=state)
        raw = msgspec.json.encode(facts)
        file.write(_LENGTH.pack(0) + raw + sha256(raw).digest() + _LENGTH.pack(len(raw)))
        file.flush()
        os.fsync(file.fileno())
        return facts

    def _prune(self) -> None:
        """Removes all but the newest, and what crashes left half written."""
        for path in self._newest_first()[KEPT:]:
            path.unlink(missing_ok=True)
        for path in self._folder.glob("*.new"):
            with suppress(OSError):
                if path.stat().st_mtime < self._folder.stat().st_mtime - STALE_SECONDS:
                    path.unlink()

    def _newest_first(self) -> list[Path]:
        """By when they were written, not by height: a ledger that was made anew begins at the bottom again."""
        found: list[tuple[int, str, Path]] = []
        for path in self._folder.glob("*.snapshot"):
            with suppress(FileNotFoundError):  # another worker has removed it
                found.append((path.stat().st_mtime_ns, path.name, path))
        return [path for *_, path in sorted(found, reverse=True)]

    def found(self) -> Iterator[tuple[Path, Facts]]:
        """The snapshots that are this lane's by what they say of themselves, newest first; others are told and passed
        over."""
        for path in self._newest_first():
            try:
                facts = _read_facts(path)
            except (OSError, DoesNotHoldError) as error:
                log.warning("a snapshot is not used", path=str(path), reason=str(error))
                continue
            if (facts.lane, facts.lanes) != (self._lane, self._lanes):
                log.warning("a snapshot is not used", path=str(path), reason="it is another lane's")
            elif facts.fold != self._fold:
                log.info("a snapshot is not used", path=str(path), reason=f"its form is {facts.fold!r}")
            elif self._ledger_id and facts.tip.ledger_id not in ("", self._ledger_id):
                log.warning("a snapshot is not used", path=str(path), reason="it is of an earlier ledger")
            elif facts.tip.tree.size != facts.tip.height + 1:
                log.warning("a snapshot is not used", path=str(path), reason="its tree is not that of its blocks")
            else:
                yield path, facts


def read_chunks(path: Path, facts: Facts) -> Iterator[bytes]:
    """A snapshot's chunks; whether they are whole is known at the end only, so nothing may be believed before.

    Raises:
        DoesNotHoldError: the file is cut short, or its bytes are not those that were written.
        OSError: it cannot be read.
    """
    digest = sha256()
    with open(path, "rb") as file:
        file.seek(len(MAGIC))
        while length := _LENGTH.unpack(_exactly(file, _LENGTH.size))[0]:
            chunk = _exactly(file, length)
            digest.update(chunk)
            yield chunk
    if "sha256:" + digest.hexdigest() != facts.state:
        raise DoesNotHoldError("the snapshot is damaged: its bytes have another hash than it names", path=str(path))


def _read_facts(path: Path) -> Facts:
    with open(path, "rb") as file:
        if _exactly(file, len(MAGIC)) != MAGIC:
            raise DoesNotHoldError("the file is no snapshot of this format", path=str(path))
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _LENGTH.size))
        (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
        file.seek(max(0, end - _LENGTH.size - _DIGEST - length))
        raw, digest = _exactly(file, length), _exactly(file, _DIGEST)
    if digest != sha256(raw).digest():
        raise DoesNotHoldError("the snapshot is damaged: it does not end as one", path=str(path))
    return _facts.decode(raw)


def _exactly(file: BinaryIO, length: int) -> bytes:
    raw = file.read(length) if length <= _LONGEST else b""
    if len(raw) != length:
        raise DoesNotHoldError("the snapshot is damaged: it is cut short", path=file.name)
    return raw


HUNG_SECONDS = 60.0
"""A snapshot that takes longer holds up no other lane's: its disk may hang."""


class SnapshotTurn:
    """Which of a worker's lanes writes a snapshot now: one, and those that hang. Calls come from one event loop.

    `now` is any clock that only goes forward, in seconds.
    """

    def __init__(self) -> None:
        self._writing = dict[object, float]()  # since when
        self._waiting = dict[object, Callable[[], object]]()  # in the order in which they asked

    def ask(self, who: object, wake: Callable[[], object], now: float) -> bool:
        """Whether somebody may write now. Who may not is woken once another one has written, and then asks again.

        Args:
            who: wants to write.
            wake: is called once it may be its turn.
            now: when.
        """
        if all(now - since >= HUNG_SECONDS for since in self._writing.values()):
            self._waiting.pop(who, None)
            self._writing[who] = now
            return True
        self._waiting.setdefault(who, wake)
        return False

    def end(self, who: object) -> None:
        """Its snapshot is written, or failed."""
        self._writing.pop(who, None)
        waiting, self._waiting = self._waiting, {}
        for wake in waiting.values():  # all: the first may have left, and would keep its place for ever
            wake()


class SnapshotScheduler:
    """The snapshots of one lane, while it is here. `starts` on each take-over; `after_block` after each block.

    Args:
        standby: the lane's state as a standby has it, taken from it, or None; the best start there is.
        lasting: whether the broker keeps its logs when it ends. Where it does not, a snapshot may be of an earlier one.
    """

    def __init__(
        self,
        store: SnapshotStore,  # where they are
        fold: Fold,  # makes bytes of a state, and a state of bytes
        every: float | None,  # seconds between two; None for no new ones
        standby: Callable[[], Restored | None] = lambda: None,
        *,
        turn: SnapshotTurn | None = None,  # that the worker's lanes share; None where there is no other lane
        lasting: bool = True,
    ) -> None:
        self._store, self._fold, self._every, self._standby = store, fold, every, standby
        self._turn, self._lasting = turn or SnapshotTurn(), lasting
        self._taken_at = -math.inf
        self._writing: asyncio.Task[None] | None = None
        self._news: str | None = None
        self.written_at: int | None = None
        """When the newest snapshot here was written, Unix ms; None where there is none."""
        self.fails = False
        """Whether the last attempt to write one failed."""
        self.waits = False
        """Whether a snapshot was due after the last block, and another lane was writing one."""

    def starts(self, moved: Callable[[], None] = lambda: None) -> Iterator[Start]:
        """What the lane may go on from, best first; `moved` is called while one is loaded, in another thread."""
        warm = self._standby()
        if warm is not None and warm.offset is not None:
            yield Start("standby", lambda: self._ready(warm), warm.tip.height, self._lasting)
        for path, facts in self._store.found():
            load = partial(self._load, path, facts, moved)
            yield Start(f"snapshot {path.name}", load, facts.tip.height, self._lasting)

    async def _ready(self, restored: Restored) -> Restored:
        """A lane that moves has its first snapshot later: several at once would hold up all of them just then."""
        self._taken_at = monotonic()
        return restored

    async def _load(self, path: Path, facts: Facts, moved: Callable[[], None]) -> Restored:
        began = monotonic()

        def chunks() -> Iterator[bytes]:
            for chunk in read_chunks(path, facts):
                moved()
                yield chunk

        def load() -> tuple[Any, int | None]:
            written_at: int | None = None
            with suppress(OSError):  # a file without a time is a snapshot all the same
                written_at = int(path.stat().st_mtime * 1000)
            deque(chunks(), maxlen=0)  # to the end, where it shows whether they are whole: only then are they decoded
            return self._fold.load(chunks()), written_at

        state, self.written_at = await asyncio.to_thread(load)
        self._taken_at = monotonic()
        log.info("snapshot loaded", path=str(path), height=facts.tip.height, seconds=round(monotonic() - began, 3))
        return Restored(state, facts.tip, facts.offset)

    def after_block(self, restored: Restored, wake: Callable[[], object]) -> None:
        """A block is committed: begins a snapshot of its state where one is due and no other lane writes one.

        `restored` is at rest: no block is being folded. `wake` is called once the other lane has written its own; then
        the lane asks again, though it has no new block.
        """
        if self._every is None or self._writing is not None or restored.offset is None:
            return
        now = monotonic()
        if now - self._taken_at < self._every:
            return
        self.waits = not self._turn.ask(self, wake, now)
        if self.waits:
            return
        try:
            chunks = self._fold.dump(restored.state)
        except BaseException:
            self._turn.end(self)
            raise
        self._taken_at = now
        self._writing = asyncio.create_task(self._write(restored, restored.offset, chunks))

    async def _write(self, restored: Restored, offset: int, chunks: Iterator[bytes]) -> None:
        began, tip = monotonic(), restored.tip
        try:
            state = await asyncio.to_thread(self._store.write, tip, offset, chunks)
        except OSError as error:
            self.fails = True
            log.error("no snapshot could be written: a restart will take longer", error=str(error))
        else:
            self.fails, self.written_at = False, now_ms()
            self._news = f"{state}@{tip.height}"
            log.info("snapshot written", height=tip.height, seconds=round(monotonic() - began, 3))
        finally:
            self._writing = None
            self._turn.end(self)

    def news(self) -> str | None:
        """The hash and height of a snapshot that no header has named yet, for the next one."""
        news, self._news = self._news, None
        return news
