"""Blocks: the ledger's records, and the only thing that a fold reads; the entry of a batch that could not be read,
and the status and reason of decisions, found without reading them as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType, structs

from . import compiled_core, merkle
from .errors import DoesNotHoldError, Fault, LaterVersionError

FORMAT = 1
MAX_EVENTS = 4000
MAX_BYTES = 900_000
"""A block closes at so many events or so many bytes of them, whichever is first; one larger event stands alone."""
MAX_INPUT_BYTES = 1_000_000
"""An input record above this is `oversize`: the block carries its hash, length and source, not its bytes."""
MAX_HEADERS = 10_000
"""So is one with more headers: each may be empty, and takes memory all the same."""
GENESIS = "sha256:" + "0" * 64
"""What `prev` names in the first block of a ledger."""


class EventKind(IntEnum):
    """What an event of a block is."""

    RECORD = 0  # an input record, raw
    OVERSIZE = 1  # an input record too large to keep: `value` is the JSON of its hash and length
    POLICY = 2  # a policy document, in force from the block after
    GAP = 3  # input offsets that retention has deleted: `offset` is the first, `value` the JSON of the next one there
    QUARANTINE = 4  # a batch that could not be read: `offset` is its first, `value` says the rest (`Quarantined`)
    ADOPT = 5  # an input topic was made anew and is to be read from now on: `value` says which one (`Adoption`)
    LEDGER = 6  # which ledger it is, and which application writes it from now on (`LedgerIdentity`)


INPUT_KINDS: Final = frozenset(map(int, (EventKind.RECORD, EventKind.OVERSIZE)))
"""Of events that were records of an input."""


class Event(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One event. `source` is an index into the header's `sources`; `timestamp` is Kafka's, in ms; headers in order."""

    kind: int
    source: int
    offset: int
    timestamp: int
    headers: list[tuple[str, bytes]]
    key: bytes | None
    value: bytes | None


class Source(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How far one input has been read: the first offset of this block and the next one to read."""

    topic: str
    first: int
    next: int

    @property
    def id(self) -> str:
        """The topic's id, in the 22 characters that Kafka's tools show; empty where the broker tells none."""
        return ""


class IdentifiedSource(Source, frozen=True, gc=False, array_like=True):
    """A source whose topic's id is known: a fourth member of its array."""

    id: str  # type: ignore[assignment]  # instead of the property


def source_of(topic: str, first: int, next: int, id: str = "") -> Source:
    """A source in the form in which it is written: of a `topic` by its logical name and its `id` (empty where it is not
    known), the `first` offset of the block and the `next` one to read."""
    return IdentifiedSource(topic, first, next, id) if id else Source(topic, first, next)


class Header(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A block's header. `time` and `watermark` are Unix milliseconds and never decrease within a lane.

    `claim` is the hash of the claim under which the block was written (`Claim`); without transactions at the
    broker there is none.
    """

    v: int = FORMAT
    lane: int
    lanes: int
    height: int
    prev: str
    time: int
    watermark: int
    policy: str
    fold: str
    sources: list[Source]
    outputs: str
    snapshot: str | UnsetType = UNSET
    claim: str | UnsetType = UNSET


class _AnySource(Source, frozen=True, gc=False, array_like=True):
    """A source as it is read, with or without an id."""

    id: str = ""  # type: ignore[assignment]  # instead of the property


class _AnyHeader(Header, frozen=True, gc=False, kw_only=True):
    """A header as it is read."""

    sources: list[_AnySource]  # type: ignore[assignment]  # each is a Source


def _read_header(found: _AnyHeader) -> Header:
    fields: dict[str, Any] = structs.asdict(found)
    fields["sources"] = [source_of(one.topic, one.first, one.next, one.id) for one in found.sources]
    return Header(**fields)


class Block(NamedTuple):
    """A block with its hash: `sha256:` and 64 hex digits."""

    header: Header
    events: Sequence[Event]
    hash: str


class Output(NamedTuple):
    """A record on its way out. Topics are the logical names; the partition is the lane's, or its key's on a topic that
    other lanes read."""

    topic: str
    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]


def _parts(one: Any) -> tuple[Any, ...]:
    """What an event or an output consists of that lies in bytes which it shares with others (native/in_place.c,
    native/outputs.c): it is no `Event` or `Output`, and like one."""
    if hasattr(one, "topic"):
        return one.topic, one.key, one.value, one.headers
    return one.kind, one.source, one.offset, one.timestamp, one.headers, one.key, one.value


_pack = msgspec.msgpack.Encoder(enc_hook=_parts)
_canonical = msgspec.json.Encoder(order="sorted")
_unpack_block = msgspec.msgpack.Decoder(tuple[_AnyHeader, list[msgspec.Raw]])
_unpack_header = msgspec.msgpack.Decoder(_AnyHeader)
_unpack_event = msgspec.msgpack.Decoder(Event)
_unpack_output = msgspec.msgpack.Decoder(Output)
_read_statement = msgspec.json.Decoder(tuple[_AnyHeader, str])


def seal(header: Header, events: Sequence[Event]) -> tuple[Block, bytes]:
    """A closed block and its bytes for the ledger."""
    if compiled_core.codecs is not None and isinstance(events, list):
        found = compiled_core.codecs.seal_block(_pack.encode(header), events)
        if found is not None:
            return Block(header, events, _hash_over(header, found[1])), found[0]
    encode = _pack.encode
    packed = [encode(event) for event in events]
    return Block(header, events, _hash(header, packed)), _framed(header, packed)


def unseal(data: bytes, *, in_place: bool = False) -> Block:
    """A block from the ledger's bytes (`data`), with its hash computed anew; `in_place`: the events may lie in the
    bytes, for who only folds them.

    Raises `LaterVersionError` for a block of a later format, `DoesNotHoldError` for what is no block.
    """
    if compiled_core.codecs is not None:
        block = _unseal_plain(compiled_core.codecs.open_block(data, None if in_place else Event), data)
        if block is not None:
            return block
    try:
        found, packed = _unpack_block.decode(data)
        events = [_unpack_event.decode(event) for event in packed]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DoesNotHoldError(f"a ledger record is not a block: {error}") from error
    header = _read_header(found)
    if header.v != FORMAT:
        raise LaterVersionError(
            "a ledger block has another format", expected=f"version {FORMAT}", got=str(header.v), hint="upgrade sluice"
        )
    raw = [bytes(event) for event in packed]
    # The hash is over what a header means; its bytes must be the ones that `seal` writes, or two would mean the same.
    if data != _framed(header, raw):
        raise DoesNotHoldError(
            "a ledger record is not a block: its bytes are not in the form that blocks are written in"
        )
    return Block(header, events, _hash(header, raw))


def _unseal_plain(found: tuple[int, list[Event], bytes] | None, data: bytes) -> Block | None:
    """A block whose events the compiled core has read; None where Python is to say what it is."""
    if found is None:
        return None
    end, events, root = found
    try:
        header = _read_header(_unpack_header.decode(data[1:end]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if header.v != FORMAT or _pack.encode(header) != data[1:end]:
        return None
    return Block(header, events, _hash_over(header, root))


def _framed(header: Header, packed_events: Sequence[bytes]) -> bytes:
    events = b"\xdd" + len(packed_events).to_bytes(4, "big") + b"".join(packed_events)
    return _pack.encode((header, msgspec.Raw(events)))


def _hash(header: Header, packed_events: Iterable[bytes]) -> str:
    return statement_hash(_statement(header, packed_events))


def _hash_over(header: Header, root: bytes) -> str:
    return statement_hash(_canonical.encode([header, root.hex()]))


def _statement(header: Header, packed_events: Iterable[bytes]) -> bytes:
    root = merkle.root([merkle.leaf_hash(event) for event in packed_events])
    return _canonical.encode([header, root.hex()])


# ---------------------------------------------------------------- statements: a block without its events


def statement(block: Block) -> bytes:
    """What a block's hash is the hash of: the canonical JSON of its header and its events' root, in hexadecimal.

    Raises `DoesNotHoldError` where the events were not written in the form that `seal` writes.
    """
    found = _statement(block.header, map(_pack.encode, block.events))
    if statement_hash(found) != block.hash:
        raise DoesNotHoldError("a block's events are not in the form that events are written in", got=block.hash)
    return found


def statement_hash(data: bytes) -> str:
    """The hash of the block that a statement speaks of."""
    return "sha256:" + sha256(data).hexdigest()


def read_statement(data: bytes) -> tuple[Header, bytes]:
    """The header and the events' root (32 bytes) that a statement names. Raises `DoesNotHoldError` for another form."""
    try:
        found, root = _read_statement.decode(data)
        header = _read_header(found)
        raw = bytes.fromhex(root)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotHoldError(f"a block's statement is none: {error}") from None
    if len(raw) != merkle.HASH_BYTES or _canonical.encode([header, raw.hex()]) != data:
        raise DoesNotHoldError("a block's statement is not in the form that statements are written in")
    if header.v != FORMAT:
        raise DoesNotHoldError("a block's statement has another format", expected=f"version {FORMAT}")
    return header, raw


def _compiled(function: str, records: Iterable[Event | Output], *arguments: object) -> Any:
    """What the compiled core makes of a list; None where it is not there, or leaves it to Python."""
    core = compiled_core.codecs
    return getattr(core, function)(records, *arguments) if core is not None and isinstance(records, list) else None


class Stretch(NamedTuple):
    """The inputs of one source in a block: how many, and the first and the last offset; 0 where there are none."""

    inputs: int
    first: int
    last: int


def stretches(events: Sequence[Event], sources: int) -> list[Stretch] | None:
    """The inputs of each of so many sources among the events of a block, by source; None where an input's source is
    none of these, or the offsets of one do not increase."""
    found = _compiled("stretches", events, sources)
    if found is not None:
        return [Stretch(*stretch) for stretch in found]
    result = [Stretch(0, 0, 0)] * sources
    for event in events:
        if event.kind not in INPUT_KINDS:
            continue
        if not 0 <= event.source < sources:
            return None
        count, first, last = result[event.source]
        if count and event.offset <= last:
            return None
        result[event.source] = Stretch(count + 1, first if count else event.offset, event.offset)
    return result


def events_of_kind(events: Sequence[Event], kind: EventKind) -> Sequence[Event]:
    """The events of one kind, in their order; of most kinds a block has none."""
    found = _compiled("of_kind", events, kind)
    return [event for event in events if event.kind == kind] if found is None else found


def events_of_source(events: Sequence[Event], source: int) -> Sequence[Event]:
    """The events of one source, in their order."""
    found = _compiled("of_source", events, source)
    return [event for event in events if event.source == source] if found is None else found


def by_topic(outputs: Sequence[Output]) -> dict[str, list[Output]]:
    """Outputs by their topics, each topic's in their order, and the topics in the order of their first."""
    found = _compiled("by_topic", outputs)
    if found is not None:
        return found
    result: dict[str, list[Output]] = {}
    for output in outputs:
        result.setdefault(output.topic, []).append(output)
    return result


def count_headers(outputs: Sequence[Output], name: str) -> dict[bytes, int]:
    """How many outputs have which value in their first header of this name; those without one are not counted."""
    found = _compiled("count_headers", outputs, name)
    if found is not None:
        return found
    values = (next((value for own, value in output.headers if own == name), None) for output in outputs)
    return dict(Counter(value for value in values if value is not None))


def outputs_root(outputs: Iterable[Output]) -> str:
    """The Merkle root of a block's outputs, as the next block's header names it."""
    found = _compiled("outputs_root", outputs)
    if found is not None:
        return "sha256:" + found.hex()
    encode, leaf = _pack.encode, merkle.leaf_hash
    return "sha256:" + merkle.root([leaf(encode(output)) for output in outputs]).hex()


# ---------------------------------------------------------------- leaves: what the roots are over


def leaf_data(record: Event | Output) -> bytes:
    """The MessagePack of an event or an output; its `merkle.leaf_hash` stands in the block's tree."""
    return _pack.encode(record)


def event_of(leaf: bytes) -> Event:
    """The event of its leaf's bytes. Raises `DoesNotHoldError` where they are none."""
    try:
        return _unpack_event.decode(leaf)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DoesNotHoldError(f"the bytes are no event of a block: {error}") from None


def output_of(leaf: bytes) -> Output:
    """The output of its leaf's bytes. Raises `DoesNotHoldError` where they are none."""
    try:
        return _unpack_output.decode(leaf)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DoesNotHoldError(f"the bytes are no output: {error}") from None


FIRST_BYTES: Final = 64
"""So many bytes of the batch as it came are kept: its header, for whoever looks for who wrote it."""

UnreadableReason = Literal["checksum", "damaged", "too-large"]
MEANING: Final[dict[UnreadableReason, str]] = {
    "checksum": "its checksum does not hold",
    "damaged": "its bytes are not what its header says",
    "too-large": "it unpacks to more than a lane takes",
}


class Quarantined(msgspec.Struct, frozen=True, gc=False):
    """A batch that could not be read.

    Attributes:
        next: the offset behind it.
        reason: why.
        length: how many bytes it had as it came.
        sha256: of these, in hexadecimal.
        first: the first of them, in hexadecimal.
    """

    next: int
    reason: UnreadableReason
    length: int
    sha256: str
    first: str


_read = msgspec.json.Decoder(Quarantined)
_encode = msgspec.json.Encoder().encode


def quarantine(source: int, offset: int, next: int, timestamp: int, reason: UnreadableReason, raw: bytes) -> Event:
    """The event that stands for a batch (`raw`, as it came) of a `source`, for a `reason`, from the first `offset` that
    could not be read to the `next` one behind it; `timestamp` is when it was given up, Unix ms."""
    record = Quarantined(next, reason, len(raw), sha256(raw).hexdigest(), raw[:FIRST_BYTES].hex())
    return Event(EventKind.QUARANTINE, source, offset, timestamp, [], None, _encode(record))


def read_quarantine(event: Event) -> Quarantined:
    """What an event that `quarantine` has made tells. Raises `msgspec.MsgspecError` for any other."""
    return _read.decode(event.value or b"")


def refused(event: Event) -> tuple[int, Fault]:
    """How many offsets an event of this kind passes over, and the fault of its dead letter."""
    record = read_quarantine(event)
    detail = f"the batch from offset {event.offset} to {record.next - 1} cannot be read: {MEANING[record.reason]}"
    return record.next - event.offset, Fault("unreadable-batch", detail)


LOOKED_AT: Final = 4096
"""So many bytes of a record are looked at."""
_STATUS = re.compile(rb'"status":"([a-z-]+)"(?:,"basis":"[a-z-]+")?(?:,"reason":"([a-z-]+)")?')


class Told(NamedTuple):
    """What a record tells of its own decision; empty where it tells none."""

    status: bytes = b""
    reason: bytes = b""


def told_in(record: bytes) -> Told:
    """The status and the reason of a decision's record."""
    found = _STATUS.search(record, 0, LOOKED_AT)
    return Told() if found is None else Told(found[1], found[2] or b"")


def count_told(outputs: Sequence[Output]) -> dict[Told, int]:
    """How many outputs tell which status and reason, in the order of the first of each."""
    found = _compiled("count_told", outputs, LOOKED_AT)
    if found is not None:
        return {Told(*told.split(b'"')): count for told, count in found.items()}
    return dict(Counter(told_in(output.value) for output in outputs))
