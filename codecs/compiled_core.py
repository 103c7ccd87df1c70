"""The compiled core: whether it is there and may be used, and the tuples that Python and it exchange, field by field
(native/README.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from types import ModuleType
from typing import Any, Final, NamedTuple


class ReadBounds(NamedTuple):
    """What is read of a batch, and how far.

    Attributes:
        source: of the events; None where records are read as they are stored.
        first: records below this offset are passed.
        most, room: the reading ends with so many records, or once they have so many bytes.
        max_bytes, max_headers: of one record that is kept whole.
    """

    source: int | None
    first: int
    most: int
    room: int
    max_bytes: int
    max_headers: int


class ReadAs(NamedTuple):
    """What records become.

    Attributes:
        type: `Event`, or what makes a stored record.
        event_for: makes the event of a record that may be too large to keep; None for stored records.
        in_place: whether they may lie in the batch's bytes.
        having: only records with a header of this name are wanted, and the last one of the batch; None: all are.
    """

    type: Callable[..., Any]
    event_for: Callable[..., Any] | None
    in_place: bool
    having: bytes | None = None


class ReadRecords(NamedTuple):
    """What was read.

    Attributes:
        records: events, or stored records.
        byte_count: bytes of the keys, values and headers that were kept whole.
        at, left, least: of the cursor behind them.
    """

    records: list[Any]
    byte_count: int
    at: int
    left: int
    least: int


Fields = Sequence[str]

OUTPUT: Final[Fields] = ("topic", "key", "value", "headers")
"""`blocks.Output`."""
HEADER: Final[Fields] = ("name", "value")
"""A record's header."""
EVENT: Final[Fields] = ("kind", "source", "offset", "timestamp", "headers", "key", "value")
"""Attributes of `blocks.Event`; the core asks for them by name."""
_CURSOR: Final = "data at end left base_offset first_timestamp append_time count next least"
TUPLES: Final[Mapping[str, Fields]] = {
    "cursor": tuple(_CURSOR.split()),  # `record_batches.Cursor`
    "read_bounds": ReadBounds._fields,
    "read_as": ReadAs._fields,
    "read_records": ReadRecords._fields,
    "output": OUTPUT,
    "header": HEADER,
    "event": EVENT,
    "stored": ("offset", "timestamp", "key", "value", "headers"),  # what `ReadAs.type` makes one of, and its attributes
    "event_for": ("source", "offset", "timestamp", "headers", "key", "value"),  # what `ReadAs.event_for` is called with
    "packed_block": ("header", "events"),  # in the ledger, MessagePack
    "opened_block": ("header_length", "events", "root"),
    "sealed_block": ("data", "root"),
    "portion": ("end", "byte_count"),
    "stretch": ("inputs", "first", "last"),  # `blocks.Stretch`
    "packed_records": ("records", "end"),
}
"""Every tuple that goes between Python and `codecs._native`, by its name in C."""


def fingerprint(*declared: Mapping[str, Fields]) -> str:
    """A name for a layout (tuples and codes by their names, each with its fields in order): 16 hexadecimal digits,
    others for any other tuple, field or order."""
    text = repr([(name, tuple(fields)) for one in declared for name, fields in one.items()])
    return sha256(text.encode()).hexdigest()[:16]


LAYOUT: Final = fingerprint(TUPLES)
"""The layout that `codecs._native` must have been built from."""


VERSION: Final = 37
"""Raised together with `native/version.h`, whenever what the compiled core does changes."""


def usable(found: ModuleType, layout: str) -> bool:
    """Whether a compiled module was built from this layout, and `SLUICE_PURE` does not forbid it."""
    same = (getattr(found, "VERSION", None), getattr(found, "LAYOUT", None)) == (VERSION, layout)
    return same and not getattr(found, "PURE", True)


try:
    from . import _native as _found
except ImportError:
    codecs = None
else:
    codecs = _found if usable(_found, LAYOUT) else None
"""The compiled codecs, or None."""
