"""Exports: the topics that an audit needs, in files that anybody can keep.

An export is a folder: `manifest.json`, and for each partition a file `TOPIC-PARTITION.records` of (length, record)*,
the length in 4 bytes, big-endian, the record a MessagePack array `[offset, timestamp, key, value, headers]`. Topics go
by their logical names. The manifest tells what the broker held, and each file's SHA-256: that finds a disk's mistakes.
It proves nothing about who made it: what the records prove, they prove by their chain, roots and checkpoints.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import struct
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from ...codecs.errors import DoesNotHoldError, UsageError, cut
from ...codecs.times import parse_time
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ..settings.process import now_ms

OUTPUTS: Final[Sequence[str]] = ("admitted", "inadmissible", "review-requests", "re-emission-requests", "dead-letters")
LATER: Final[Sequence[str]] = ("verdicts", "observations")
"""Topics that older exports, and of outputs older deployments, do not have: nothing is said of one that holds nothing.
Of `observations` only what a binding lane has marked is audited and exported."""
CHECKPOINTS: Final[Sequence[str]] = ("checkpoints", "bind-checkpoints", "frame-checkpoints")
AUDITED: Final[Sequence[str]] = (
    "ledger",
    "checkpoints",
    *OUTPUTS,
    "bind-ledger",
    "bind-checkpoints",
    "frame-ledger",
    "frame-checkpoints",
    "grounded",
    "citations",
)
"""What an audit reads beside those, by logical name: each has a partition for every lane."""
FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
BATCH_BYTES: Final = 1 << 20
_LENGTH = struct.Struct(">I")
_LARGEST: Final = 1 << 26
"""So much of a manifest is read: that of 100,000 lanes is smaller."""
_LAST: Final = 1 << 63
_LONGEST: Final = 1 << 26
"""No topic takes a record of more than 4 MiB; a longer one is damage, and is not read into memory."""


class Stored(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One record of a partition. `timestamp` is the broker's, Unix ms; a header's value may be null, as in Kafka."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class Range(NamedTuple):
    """The first offset that is kept of a partition, and the one behind its last."""

    first: int
    end: int


class Cut(msgspec.Struct, frozen=True):
    """Where each topic is read to, so that what is read fits together although a worker writes on.

    Whatever stands below `settled` has all that belongs to it below `ends`: the outputs of a block, the block of an
    output or a checkpoint, the checkpoint that another one names. What stands between the two may be newer than that.

    Attributes:
        settled, ends: offsets, by logical topic and lane.
    """

    settled: Mapping[str, list[int]]
    ends: Mapping[str, list[int]]


class Manifest(msgspec.Struct, kw_only=True):
    """What an export says of itself.

    Attributes:
        files: SHA-256 of each file, 64 hex digits, by its name; of a file that is not named nothing is known.
    """

    v: int = FORMAT
    broker: str
    app_id: str
    ledger: str
    lanes: int
    exported_at: str
    ended_at: str = ""  # when all of it had been read; empty: about when it began, `exported_at`
    ranges: dict[str, list[tuple[int, int]]]  # what is kept, by logical topic, a pair for each lane
    settled: dict[str, list[int]] = {}  # as in `Cut`; a topic that is not named is settled to its end
    files: dict[str, str] = {}


def _no_export(folder: Path, why: str) -> UsageError:
    return UsageError(f"the folder is no export: {why}", path=str(folder), hint="`sluice audit --export` makes one")


def _unfit(manifest: Manifest) -> str:
    """Why the numbers of a manifest name no export, or empty: they size what is read, and anybody may write one."""
    lanes = manifest.lanes
    if len(manifest.ranges.get("ledger", ())) != lanes:
        return f"names {lanes} lanes, and ranges of the ledger for {len(manifest.ranges.get('ledger', ()))}"
    for topic, offsets in (*manifest.ranges.items(), *manifest.settled.items()):
        if len(offsets) != lanes:
            return f"names {lanes} lanes, and offsets of {cut(topic)} for {len(offsets)}"
    for topic, ranges in manifest.ranges.items():
        if not all(0 <= first <= end <= _LAST for first, end in ranges):
            return f"names offsets of {cut(topic)} that no topic has"
    for topic, offsets in manifest.settled.items():
        if not all(0 <= offset <= _LAST for offset in offsets):
            return f"names offsets of {cut(topic)} that no topic has"
    return ""


class NotRegularError(Exception):
    """A pipe, a folder, a device or a socket stands where a file has to."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is no regular file")


def _open(path: Path) -> FileIO:
    """Opens a regular file for reading, or raises NotRegularError; to open a pipe would wait for who writes to it."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise NotRegularError(path.name) from None
        raise
    file = FileIO(number, closefd=True) if stat.S_ISREG(os.fstat(number).st_mode) else None
    if file is None:
        os.close(number)
        raise NotRegularError(path.name)
    return file


class FolderLogs:
    """The topics of an export (`interfaces.Logs`)."""

    def __init__(self, folder: Path, secrets: Secrets = NO_SECRETS) -> None:
        """
        Raises:
            UsageError: the folder is no export that this version reads.
        """
        self._folder, self.secrets = folder, secrets
        try:
            with _open(folder / MANIFEST) as file:
                self.manifest = msgspec.json.decode(file.read(_LARGEST), type=Manifest)
        except NotRegularError as error:
            raise _no_export(folder, str(error)) from None
        except OSError as error:
            raise _no_export(folder, f"its {MANIFEST} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise _no_export(folder, f"its {MANIFEST} is not one") from None
        if self.manifest.v != FORMAT or self.manifest.lanes < 1:
            raise UsageError("the export has another format", path=str(folder), expected=f"version {FORMAT}")
        if why := _unfit(self.manifest):
            raise _no_export(folder, f"its {MANIFEST} {why}")
        self.where, self.lanes = str(folder), self.manifest.lanes
        self.app_id, self.ledger = self.manifest.app_id, self.manifest.ledger
        self._demand_files()

    def _demand_files(self) -> None:
        """Refuses at once a file that is no regular one; what is not there is told when it is read."""
        lanes = range(self.lanes)
        for name in (file_name(topic, lane) for lane in lanes for topic in (*AUDITED, *LATER)):
            try:
                found = os.stat(self._folder / name)
            except (OSError, ValueError):
                continue
            if not stat.S_ISREG(found.st_mode):
                raise _no_export(self._folder, str(NotRegularError(name)))

    def expect(self, topic: str, lane: int) -> None:
        pass  # files do not keep anybody waiting

    async def range(self, topic: str, lane: int) -> Range:
        found = self.manifest.ranges.get(topic, [])
        return Range(*found[lane]) if lane < len(found) else Range(0, 0)

    def as_of(self) -> int:
        # The manifest states it, and may state any time; nothing was read later than now.
        return min(now_ms(), parse_time(self.manifest.ended_at or self.manifest.exported_at) or now_ms())

    async def cut(self) -> Cut:
        ends = {topic: [end for _, end in ranges] for topic, ranges in self.manifest.ranges.items()}
        ends |= {topic: [0] * self.lanes for topic in LATER if topic not in ends}
        return Cut({**ends, **self.manifest.settled}, ends)

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        name = file_name(topic, lane)
        found = read_batches(self._folder / name, self.manifest.files.get(name))
        while (batch := await asyncio.to_thread(next, found, None)) is not None:
            if start is not None or end is not None:
                batch = [one for one in batch if (start or 0) <= one.offset and (end is None or one.offset < end)]
            if batch:
                yield batch

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        async with aclosing(self.batches(topic, lane, start)) as batches:
            async for batch in batches:
                for record in batch:
                    yield record


def file_name(topic: str, lane: int) -> str:
    """The file of a partition in an export."""
    return f"{topic}-{lane}.records"


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stored).decode


def read_batches(path: Path, digest: str | None = None) -> Iterator[list[Stored]]:
    """The records of an export's file, some `BATCH_BYTES` at a time; none where there is no file.

    Raises:
        DoesNotHoldError: after all that could be read, where the file is damaged, or has another hash than `digest`.
    """
    hashed = sha256()
    try:
        with _open(path) as file:
            yield from _batches(file, str(path), hashed.update)
    except NotRegularError as error:
        raise DoesNotHoldError(f"a file of the export cannot be read: {error}", path=str(path)) from None
    except FileNotFoundError:
        if digest is None:
            return
        raise DoesNotHoldError("a file of the export is not there", path=str(path)) from None
    except OSError as error:
        raise DoesNotHoldError(f"a file of the export cannot be read: {error.strerror}", path=str(path)) from None
    if digest is not None and hashed.hexdigest() != digest:
        raise DoesNotHoldError(
            "a file of the export is not the one that was written",
            path=str(path),
            expected=f"SHA-256 {digest}",
            got=hashed.hexdigest(),
        )


def _batches(file: BinaryIO | FileIO, name: str, seen: Callable[[bytes], None]) -> Iterator[list[Stored]]:
    rest, at = b"", 0
    while chunk := file.read(BATCH_BYTES):
        seen(chunk)
        data = rest + chunk
        batch, used, why = _parse(data)
        if batch:
            yield batch
        at += used
        if why:
            raise DoesNotHoldError(f"a file of the export is damaged at byte {at}: {why}", path=name)
        rest = data[used:]
    if rest:
        raise DoesNotHoldError(f"a file of the export is damaged at byte {at}: it is cut short", path=name)


def _parse(data: bytes) -> tuple[list[Stored], int, str]:
    """The whole records at the beginning of these bytes, how many bytes they take, and what is wrong behind them."""
    # A plain loop: with the decoding of what is in it, this is 1.5 us a record.
    batch: list[Stored] = []
    view, at, size = memoryview(data), 0, len(data)
    unpack, take = _LENGTH.unpack_from, batch.append
    while at + 4 <= size:
        (length,) = unpack(data, at)
        if length > _LONGEST:
            return batch, at, "no record is so long"
        if at + 4 + length > size:
            break
        try:
            take(_decode(view[at + 4 : at + 4 + length]))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return batch, at, str(error)
        at += 4 + length
    return batch, at, ""


class Writing:
    """A file of an export that is being written; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._file, self._hash = open(path, "xb", buffering=BATCH_BYTES), sha256()  # noqa: SIM115

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def digest(self) -> str:
        """SHA-256 of what was written, 64 hex digits."""
        return self._hash.hexdigest()

    def write(self, records: list[Stored]) -> None:
        """Appends records."""
        for part in framed(records):
            self._hash.update(part)
            self._file.write(part)


def framed(records: list[Stored]) -> Iterator[bytes]:
    """The bytes of records in an export's file, some at a time."""
    for first in range(0, len(records), 256):
        packed = [_encode(record) for record in islice(records, first, first + 256)]
        yield b"".join([part for one in packed for part in (_LENGTH.pack(len(one)), one)])
