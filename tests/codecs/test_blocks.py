"""Blocks survive their bytes, and no change to them passes unseen."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec
import pytest
import rfc8785
from block_samples import EVENTS, HEADER, HEADERS, OUTPUTS, TWO_EVENTS
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from search import examples

from sluice.codecs import blocks, compiled_core, merkle
from sluice.codecs.blocks import (
    FIRST_BYTES,
    LOOKED_AT,
    Block,
    Event,
    EventKind,
    Header,
    Output,
    Quarantined,
    Told,
    by_topic,
    count_headers,
    count_told,
    event_of,
    events_of_kind,
    events_of_source,
    leaf_data,
    quarantine,
    read_quarantine,
    refused,
    stretches,
    told_in,
)
from sluice.codecs.errors import DoesNotHoldError


@given(HEADERS, st.lists(EVENTS, max_size=6))
def test_unsealing_what_was_sealed_gives_the_same_block(header: Header, events: list[Event]) -> None:
    """Header, events and hash come back, whatever bytes the events hold."""
    sealed, data = blocks.seal(header, events)

    assert blocks.unseal(data) == sealed == Block(header, events, sealed.hash)


@given(HEADERS, st.lists(EVENTS, max_size=6))
def test_a_block_s_hash_can_be_computed_by_anybody(header: Header, events: list[Event]) -> None:
    """SHA-256 over the RFC 8785 form of the header, with the RFC 6962 root of the events' bytes beside it."""
    root = merkle.root([merkle.leaf_hash(msgspec.msgpack.encode(event)) for event in events])
    canonical = rfc8785.dumps([msgspec.to_builtins(header), root.hex()])

    assert blocks.seal(header, events)[0].hash == "sha256:" + sha256(canonical).hexdigest()


def test_the_header_on_the_wire_has_the_names_of_the_design() -> None:
    """`snapshot` stands there only where a snapshot is named."""
    _, data = blocks.seal(HEADER, [])
    _, with_snapshot = blocks.seal(replace(HEADER, snapshot="sha256:3 at 1"), [])
    names = ["v", "lane", "lanes", "height", "prev", "time", "watermark", "policy", "fold", "sources", "outputs"]

    assert list(msgspec.msgpack.decode(data)[0]) == names
    assert list(msgspec.msgpack.decode(with_snapshot)[0]) == [*names, "snapshot"]


def test_events_on_the_wire_are_arrays_in_the_order_of_the_design() -> None:
    """An event is `[kind, source, offset, timestamp, headers, key, value]` with raw bytes."""
    _, data = blocks.seal(HEADER, TWO_EVENTS)

    assert msgspec.msgpack.decode(data)[1] == [
        [0, 0, 3, 1_795_251_600_000, [["traceparent", b"00-1"]], b"em-1", b"{}"],
        [1, 0, 4, 1_795_251_600_001, [], None, b"null"],
    ]


@given(HEADERS, st.lists(EVENTS, min_size=1, max_size=5), st.data())
def test_a_hash_commits_to_header_events_and_their_order(
    header: Header, events: list[Event], data: st.DataObject
) -> None:
    """Another header, one event more or less, or another order is another hash."""
    original = blocks.seal(header, events)[0].hash
    other = data.draw(HEADERS.filter(lambda drawn: drawn != header))
    order = data.draw(st.permutations(events))

    assert blocks.seal(other, events)[0].hash != original
    assert blocks.seal(header, events[1:])[0].hash != original
    assert blocks.seal(header, [*events, events[0]])[0].hash != original
    assert (blocks.seal(header, order)[0].hash == original) == (list(order) == events)


def _read(data: bytes) -> Block | None:
    """The block of some bytes, None where they are none; which error says so is another test's business."""
    try:
        return blocks.unseal(data)
    except (DoesNotHoldError, ValueError):
        return None


def _same_hash_after_one_byte() -> list[tuple[str, Block]]:
    """Every change of one byte, to each other value, after which a block still has its hash."""
    sealed, data = blocks.seal(HEADER, TWO_EVENTS)
    found: list[tuple[str, Block]] = []
    for place in range(len(data)):
        for value in range(256):
            block = _read(data[:place] + bytes([value]) + data[place + 1 :]) if value != data[place] else None
            if block is not None and block.hash == sealed.hash:
                found.append((f"byte {place}: {data[place]:#x} to {value:#x}", block))
    return found


def test_any_changed_byte_changes_the_hash_or_is_no_block() -> None:
    """Each byte of a ledger record is covered, those that only say how a number is written included."""
    assert [change for change, _ in _same_hash_after_one_byte()] == []


def test_no_changed_byte_gives_another_content_the_same_hash() -> None:
    """What still has the hash still says the same: a fold of it decides the same."""
    sealed, _ = blocks.seal(HEADER, TWO_EVENTS)

    assert all(block == sealed for _, block in _same_hash_after_one_byte())


@settings(max_examples=examples(300))
@given(HEADERS, st.lists(EVENTS, max_size=4), st.data())
def test_a_damaged_block_is_refused_or_has_another_hash_or_content(
    header: Header, events: list[Event], data: st.DataObject
) -> None:
    """Cutting bytes off, adding some or overwriting a stretch never passes for the block that was sealed."""
    sealed, raw = blocks.seal(header, events)
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, len(raw)))
    damaged = _read(raw[:start] + data.draw(st.binary(max_size=8)) + raw[end:])

    assert damaged is None or damaged.hash != sealed.hash or damaged == sealed


@given(st.binary(max_size=60))
def test_bytes_that_are_no_block_are_refused_in_one_sentence(data: bytes) -> None:
    """Whatever stands on the ledger topic, the answer is our error, never another one."""
    with pytest.raises(DoesNotHoldError, match=r"is not a block|has another format") as caught:
        blocks.unseal(data)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("core", [True, False])
def test_what_is_nested_too_deep_is_no_block(core: bool) -> None:
    """A member that nobody knows may hold anything: it must not end who reads the ledger."""
    header = msgspec.msgpack.encode(msgspec.to_builtins(HEADER) | {"more": 0})
    data = b"\x92" + header[:-1] + b"\x91" * 5000 + b"\xc0" + b"\xdd\0\0\0\0"

    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        with pytest.raises(DoesNotHoldError, match="is not a block"):
            blocks.unseal(data)


def test_text_that_is_no_utf_8_is_refused_as_no_block() -> None:
    """A damaged string in the header is damage like any other."""
    _, data = blocks.seal(HEADER, [])
    assert data.count(b"emissions") == 1

    with pytest.raises(DoesNotHoldError, match="is not a block"):
        blocks.unseal(data.replace(b"emissions", b"\xff\xfeissions"))


@pytest.mark.parametrize("version", [0, 2, 77])
def test_another_format_version_is_refused_in_one_sentence(version: int) -> None:
    """It says which version is there, which one is understood, and what to do."""
    _, data = blocks.seal(replace(HEADER, v=version), TWO_EVENTS)

    with pytest.raises(DoesNotHoldError) as caught:
        blocks.unseal(data)

    assert str(caught.value) == (
        f"a ledger block has another format (expected version {blocks.FORMAT}, got {version}); upgrade sluice"
    )


@given(st.lists(OUTPUTS, max_size=6))
def test_the_root_of_outputs_is_a_leaf_over_topic_key_value_and_headers(outputs: list[Output]) -> None:
    """RFC 6962 over each output's MessagePack, in order: what the next block's header names."""
    leaves = [merkle.leaf_hash(msgspec.msgpack.encode(list(output))) for output in outputs]

    assert blocks.outputs_root(outputs) == "sha256:" + merkle.root(leaves).hex()


@pytest.mark.parametrize("count", range(1, 8))
@given(st.lists(st.integers(0, 330), min_size=7, max_size=7))
def test_leaves_of_any_length_are_hashed_side_by_side(count: int, lengths: list[int]) -> None:
    """The compiled core takes two at a time; one may be longer, or need a block more for its padding."""
    outputs = [Output("t", None, b"v" * length, []) for length in lengths[:count]]
    leaves = [sha256(b"\0" + msgspec.msgpack.encode(list(output))).digest() for output in outputs]
    while len(leaves) > 1:
        pairs = [sha256(b"\1" + one + other).digest() for one, other in zip(leaves[::2], leaves[1::2], strict=False)]
        leaves = pairs + leaves[len(leaves) & ~1 :]

    assert blocks.outputs_root(outputs) == "sha256:" + leaves[0].hex()


def test_many_outputs_are_hashed_in_portions() -> None:
    """Each fills more than what is hashed at once, or they do together."""
    for length, count in ((70_000, 3), (9_000, 40), (10, 20_000)):
        outputs = [Output("t", b"%d" % number, b"v" * length, []) for number in range(count)]
        leaves = [merkle.leaf_hash(msgspec.msgpack.encode(list(output))) for output in outputs]
        assert blocks.outputs_root(outputs) == "sha256:" + merkle.root(leaves).hex()


@given(st.lists(OUTPUTS, min_size=1, max_size=5), OUTPUTS)
def test_the_root_of_outputs_tells_any_two_lists_apart(outputs: list[Output], other: Output) -> None:
    """One output exchanged, left out or written twice is another root."""
    root = blocks.outputs_root(outputs)

    assert (blocks.outputs_root([other, *outputs[1:]]) == root) == (other == outputs[0])
    assert blocks.outputs_root(outputs[1:]) != root
    assert blocks.outputs_root([*outputs, outputs[-1]]) != root


def test_the_bounds_of_a_block_are_those_of_the_design() -> None:
    """4,000 records, 900 kB, inputs of up to 1 MB; the first block's `prev` is a hash of zeros."""
    assert (blocks.MAX_EVENTS, blocks.MAX_BYTES, blocks.MAX_INPUT_BYTES) == (4000, 900_000, 1_000_000)
    assert blocks.GENESIS == "sha256:" + 64 * "0"


@given(HEADERS, st.lists(EVENTS, max_size=4))
def test_a_statement_is_what_the_hash_is_of(header: Header, events: list[Event]) -> None:
    """The RFC 8785 form of the header with the root of the events, and it is read back as that."""
    block, _ = blocks.seal(header, events)
    root = merkle.root([merkle.leaf_hash(blocks.leaf_data(event)) for event in events])

    data = blocks.statement(block)

    assert blocks.statement_hash(data) == block.hash
    assert data == rfc8785.dumps([msgspec.to_builtins(header), root.hex()])
    assert blocks.read_statement(data) == (header, root)


def test_no_octet_of_a_statement_can_change_and_say_the_same() -> None:
    """It is refused, or it speaks of another block."""
    block, _ = blocks.seal(HEADER, TWO_EVENTS)
    data = blocks.statement(block)

    for place in range(len(data)):
        for value in {data[place] ^ 1, data[place] ^ 0x20, 0x20, 0x39} - {data[place]}:
            changed = data[:place] + bytes([value]) + data[place + 1 :]
            try:
                assert blocks.read_statement(changed) != blocks.read_statement(data)
            except DoesNotHoldError:
                continue


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + b" ",
        lambda data: data[:-1],
        lambda data: data.replace(b'{"fold"', b'{"extra":1,"fold"'),
        lambda data: data.replace(b'"lane":1,', b'"lane":1,"lane":1,'),
        lambda data: data.replace(b'"lane":1,', b'"lane":1.0,'),
        lambda data: data.replace(b'"v":1', b'"v":2'),
        lambda data: data[:-3] + b'"]',
        lambda data: data[:-66] + data[-66:].upper(),
        lambda _: b"",
        lambda _: b"[" * 100_000,
        lambda _: b"\xff",
    ],
)
def test_a_statement_in_another_form_is_refused(change: Callable[[bytes], bytes]) -> None:
    """One header, one text: in one sentence."""
    changed = change(blocks.statement(blocks.seal(HEADER, TWO_EVENTS)[0]))

    with pytest.raises(DoesNotHoldError, match="a block's statement") as caught:
        blocks.read_statement(changed)

    assert "\n" not in str(caught.value)


def test_a_block_whose_events_were_packed_otherwise_has_no_statement() -> None:
    """Its hash is over other bytes than ours would be; that is said, not papered over."""
    packed = msgspec.msgpack.encode(TWO_EVENTS[0])
    wide = b"\xdc\x00\x07" + packed[1:]  # the same array of seven, its length in two bytes
    _, data = blocks.seal(HEADER, TWO_EVENTS[:1])
    block = blocks.unseal(data.replace(packed, wide))
    assert list(block.events) == TWO_EVENTS[:1]

    with pytest.raises(DoesNotHoldError, match="not in the form"):
        blocks.statement(block)


@given(EVENTS, OUTPUTS)
def test_leaves_are_read_back(event: Event, output: Output) -> None:
    """An event and an output survive the bytes that stand in the trees."""
    assert blocks.event_of(blocks.leaf_data(event)) == event
    assert blocks.output_of(blocks.leaf_data(output)) == output


@given(st.binary(max_size=40))
def test_bytes_that_are_no_leaf_are_refused(data: bytes) -> None:
    """With our error and no other."""
    for read in (blocks.event_of, blocks.output_of):
        with pytest.raises(DoesNotHoldError):
            read(data)


INPUT = st.builds(
    Event,
    kind=st.sampled_from(EventKind),
    source=st.integers(-1, 3),
    offset=st.integers(0, 6),
    timestamp=st.just(0),
    headers=st.just([]),
    key=st.none(),
    value=st.none(),
)


@pytest.mark.parametrize("core", [True, False])
@given(events=st.lists(INPUT, max_size=8), sources=st.integers(0, 3))
def test_the_inputs_of_each_source_are_reported_where_they_are_in_order(
    core: bool, events: list[Event], sources: int
) -> None:
    inputs = [event for event in events if event.kind in (EventKind.RECORD, EventKind.OVERSIZE)]
    offsets = [[event.offset for event in inputs if event.source == source] for source in range(sources)]
    right = all(0 <= event.source < sources for event in inputs)
    right = right and all(some == sorted(set(some)) for some in offsets)
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        found = stretches(events, sources)
    if not right:
        assert found is None
    else:
        assert found == [(len(some), some[0], some[-1]) if some else (0, 0, 0) for some in offsets]


@pytest.mark.parametrize("core", [True, False])
@given(events=st.lists(INPUT, max_size=8))
def test_the_events_of_one_kind_or_source_keep_their_order(core: bool, events: list[Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        found = {kind: list(events_of_kind(events, kind)) for kind in EventKind}
        by_source = [list(events_of_source(events, source)) for source in range(3)]
    assert found == {kind: [event for event in events if event.kind == kind] for kind in EventKind}
    assert by_source == [[event for event in events if event.source == source] for source in range(3)]


def test_a_kind_beyond_64_bits_is_of_no_kind() -> None:
    """The core leaves it to Python, and an audit goes on."""
    forged = Event(2**64 - 1, 0, 0, 0, [], None, None)
    policy = Event(EventKind.POLICY, 0, 0, 0, [], None, b"")
    assert events_of_kind([forged, policy], EventKind.POLICY) == [policy]


TOLD = st.builds(
    Output,
    st.sampled_from(["admitted", "verdicts", "dead-letters"]),
    st.none(),
    st.just(b""),
    st.lists(
        st.tuples(st.sampled_from(["kind", "kinds", "other"]), st.sampled_from([None, b"", b"a", b"b"])), max_size=3
    ),
)


@pytest.mark.parametrize("core", [True, False])
@given(outputs=st.lists(TOLD, max_size=8))
def test_outputs_are_sorted_by_topic_and_counted_by_a_header(core: bool, outputs: list[Output]) -> None:
    """In the order in which topics and values come first, since reports list them so."""
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        sorted_outputs, counts = by_topic(outputs), count_headers(outputs, "kind")
    topics = list(dict.fromkeys(output.topic for output in outputs))
    assert list(sorted_outputs.items()) == [(topic, [one for one in outputs if one.topic == topic]) for topic in topics]
    kinds = [dict(reversed(output.headers)).get("kind") for output in outputs]
    assert list(counts.items()) == [(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds) if kind is not None]


@pytest.mark.parametrize(("offset", "sources"), [(2**64 - 1, 1), (7, 40)])
def test_what_the_core_does_not_count_is_counted_all_the_same(offset: int, sources: int) -> None:
    """A forged block may have offsets and sources that no lane writes; its audit has to go on."""
    event = Event(EventKind.RECORD, sources - 1, offset, 0, [], None, None)
    assert (stretches([event], sources) or [])[-1] == (1, offset, offset)


RAW = bytes(range(256)) * 5


def test_an_event_tells_all_that_is_ever_told_of_a_batch():
    """Where it was, what it looked like, and why: nobody needs the batch again."""
    event = quarantine(1, 7, 10, 1_790_000_000_000, "too-large", RAW)

    assert (event.kind, event.source, event.offset, event.timestamp) == (EventKind.QUARANTINE, 1, 7, 1_790_000_000_000)
    assert (event.key, event.headers) == (None, [])
    digest = sha256(RAW).hexdigest()
    assert read_quarantine(event) == Quarantined(10, "too-large", 1280, digest, RAW[:FIRST_BYTES].hex())


def test_its_bytes_come_back_from_a_block_as_they_were():
    """Like any event's."""
    event = quarantine(0, 7, 8, 5, "checksum", b"")

    assert event_of(leaf_data(event)) == event
    assert event.value == (
        b'{"next":8,"reason":"checksum","length":0,"sha256":"'
        b'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","first":""}'
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("checksum", "its checksum does not hold"),
        ("damaged", "its bytes are not what its header says"),
        ("too-large", "it unpacks to more than a lane takes"),
    ],
)
def test_a_dead_letter_names_the_offsets_and_the_reason(reason: str, words: str):
    """In words that do not depend on a library's."""
    offsets, fault = refused(quarantine(0, 7, 10, 5, reason, RAW))  # type: ignore[arg-type]

    assert offsets == 3
    assert (fault.reason, fault.detail) == ("unreadable-batch", f"the batch from offset 7 to 9 cannot be read: {words}")


@pytest.mark.parametrize("value", [None, b"", b"7", b'{"next":8}', b'{"next":8,"reason":"mood"}'])
def test_what_tells_something_else_is_refused(value: bytes | None):
    """A ledger that somebody has written by hand."""
    with pytest.raises(msgspec.MsgspecError):
        read_quarantine(Event(EventKind.QUARANTINE, 0, 7, 5, [], None, value))


PIECES = st.sampled_from(
    [
        b'"status":"admitted"',
        b'"status":"below-floor","reason":"partly-checked"',
        b'"status":"admitted","basis":"review","reason":"review"',
        b'"status":"',
        b'"status":""',
        b'"status":"Admitted"',
        b'"status":"a',
        b',"basis":"x"',
        b',"reason":"y"',
        b',"reason":"',
        b'"',
        b"",
        b"\x00\xff",
    ]
)
RECORDS = st.builds(b"".join, st.lists(PIECES, max_size=5))


def counted(values: list[bytes], *, core: bool) -> list[tuple[Told, int]]:
    """What is counted of records, in its order."""
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        return list(count_told([Output("admitted", None, value, []) for value in values]).items())


@given(st.lists(RECORDS, max_size=8))
def test_the_core_counts_what_python_counts(values: list[bytes]) -> None:
    assert counted(values, core=True) == counted(values, core=False)


def test_the_first_status_is_the_records_own() -> None:
    """A stranger's text comes behind it; the reason stands right behind the status, or behind the basis."""
    assert told_in(b'{"status":"admitted","x":{"status":"refused","reason":"z"}}') == (b"admitted", b"")
    assert told_in(b'{"status":"below-floor","reason":"below-floor"}') == (b"below-floor", b"below-floor")
    assert told_in(b'{"status":"admitted","basis":"review","reason":"review"}') == (b"admitted", b"review")
    assert told_in(b"{}") == (b"", b"")


@pytest.mark.parametrize("core", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_no_more_is_looked_at_than_the_beginning_of_a_record(core: bool, inside: bool) -> None:
    word = b'"status":"admitted"'
    value = b"x" * (LOOKED_AT - len(word) + (0 if inside else 1)) + word
    assert counted([value], core=core) == [(Told(b"admitted") if inside else Told(), 1)]


@pytest.mark.parametrize("core", [True, False])
def test_as_many_kinds_are_counted_as_there_are(core: bool) -> None:
    """The core keeps a few of them, and leaves more to Python."""
    values = [b'"status":"' + b"a" * length + b'"' for length in range(1, 41)]
    assert counted(values, core=core) == [(Told(b"a" * length), 1) for length in range(1, 41)]
