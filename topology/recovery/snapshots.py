"""Snapshots: a lane's state in files, so that a restart need not fold the whole ledger.

A snapshot only ever saves time. Each file names the block after which its state was taken and the hash of its own
bytes; a lane checks both, the block against the ledger, and otherwise folds from an older snapshot or from the
beginning. A file is written under a name of its own and renamed when it is whole, and two workers that share the folder
write the same bytes under the same name, so nothing has to be locked. Of each lane the two newest are kept.

    file = magic, (length, chunk)*, 0, facts, SHA-256 of the facts, length of the facts

Lengths are 4 bytes, big-endian; the facts, in JSON, name the hash of the chunks.
"""

from __future__ import annotations

import os
import secrets
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import structlog

from ...codecs.errors import DoesNotHoldError
from ..ledger.chain import ChainHead

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
