"""What must hold after every run, whatever happened in it, read off the logs alone.

An independent reader: it shares the format of blocks and the pure folds with the product, and nothing of the lanes,
their positions, chains or clients. Each check raises `ViolationError` with the name of what does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any
from unittest.mock import patch

import msgspec

from sluice.codecs import compiled_core as codecs_native
from sluice.codecs import merkle
from sluice.codecs.blocks import GENESIS, Block, Event, EventKind, Output, Source, outputs_root, read_quarantine, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import claim_hash, is_claim, read_claim
from sluice.codecs.notes import NO_CHECKPOINT, Head, Verifier, parse_checkpoint, parse_note, signers_of
from sluice.codecs.partition import PARTITIONERS
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import fold_layout
from sluice.streams.attestations import framing
from sluice.streams.sightings import binding
from sluice.topology.engine.folds import folds
from sluice.topology.engine.interfaces import Fold

from .broker import Broker
from .group import SESSION_SECONDS
from .partition import Partition, Record, Unreadable

OUTPUTS = ("admitted", "inadmissible", "review-requests", "re-emission-requests", "dead-letters", "grounded")
Written = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]


class ViolationError(AssertionError):
    """An invariant does not hold. The first word of the sentence names it."""


def demand(holds: Any, invariant: str, detail: str) -> None:
    """That it holds."""
    if not holds:
        raise ViolationError(f"{invariant}: {detail}")


def check(
    broker: Broker,
    *,
    origins: Mapping[str, Sequence[str]],
    verifiers: Sequence[Verifier],
    true_clocks: bool,
    max_ahead: int | None = None,
) -> None:
    """All invariants of a run that has come to rest.

    Args:
        broker: as the run left it.
        origins: the names of the lanes' logs, by ledger.
        verifiers: whose signatures checkpoints may have.
        true_clocks: whether no worker's clock was ever wrong, so that watermarks can be judged.
        max_ahead: how far a block's time may lie after the time at which it came, ms; None where nobody looks.

    Raises:
        ViolationError: one of them does not hold.
    """
    spread = dict[tuple[str, int], Counter[Written]]()
    chains = dict[str, list[list[Block]]]()
    for lane in range(broker.lanes):
        inputs = {topic: broker.partition(topic, lane) for topic in (*core.INPUTS, *binding.INPUTS, *framing.INPUTS)}
        outputs = {topic: broker.partition(topic, lane) for topic in OUTPUTS}
        for topic, partition in outputs.items():
            demand(partition.stable == partition.end, "settled", f"a transaction is open on {topic}/{lane}")
        wanted = dict[str, list[Written]]()
        for topic, fold, new, names in (
            ("ledger", core.fold, core.new_state, core.INPUTS),
            ("bind-ledger", binding.fold, binding.new_bind_state, binding.INPUTS),
            ("frame-ledger", framing.fold, _new_framing, framing.INPUTS),
        ):
            partition = broker.partition(topic, lane)
            demand(partition.stable == partition.end, "settled", f"a transaction is open on {topic}/{lane}")
            chain = check_claims(partition, f"{topic} of lane {lane}")
            chains.setdefault(topic, []).append(chain)
            demand(chain, "progress", f"{topic} of lane {lane} is empty")
            check_chain(chain, lane, broker.lanes)
            if max_ahead is not None:
                check_times(partition, max_ahead, f"{topic} of lane {lane}")
            lost = {name: check_topics(chain, place, name, broker) for place, name in enumerate(names)}
            if true_clocks and not broker.remade.intersection(names):
                check_watermarks(chain, inputs, lost)
            for output in fold_again(chain, lane, fold, new(lane, broker.lanes)):
                written = _written(output)
                if output.topic in OUTPUTS:
                    wanted.setdefault(output.topic, []).append(written)
                else:
                    number = PARTITIONERS["murmur2"](output.key or b"", broker.lanes)
                    spread.setdefault((output.topic, number), Counter())[written] += 1
        check_outputs(outputs, wanted, lane)
        check_requests(record for record, _ in outputs["review-requests"].visible())
    check_spread(broker, spread)
    check_openings(broker.openings)
    check_unique(broker)
    for fold in folds():
        check_checkpoints(broker, fold, chains[fold.ledger], origins[fold.ledger], verifiers)


def _new_framing(lane: int, lanes: int) -> framing.State:
    return framing.State(lane, lanes, "murmur2")


def blocks_of(partition: Partition) -> list[Block]:
    """A ledger's blocks, without the claims between them."""
    return [unseal(record.value or b"") for record, _ in partition.visible() if not is_claim(record.key)]


def check_claims(partition: Partition, where: str) -> list[Block]:
    """Each block names the newest claim before it: nobody writes once somebody else has claimed the lane.

    And whom the group has replaced cannot claim: generations never go back, and in one of them a lane has one owner, so
    that no two members fence one another in turn.

    Returns:
        The blocks.
    """
    blocks: list[Block] = []
    newest, generation, owner = None, 0, ""
    for record, _ in partition.visible():
        if is_claim(record.key):
            claim = read_claim(record.value).claim
            demand(claim.generation >= generation, "claims", f"{where}: claimed in an earlier generation again")
            if claim.generation == generation:
                demand(claim.member == owner, "claims", f"{where}: claimed by two members of one generation")
            newest, generation, owner = claim_hash(record.value or b""), claim.generation, claim.member
        else:
            blocks.append(unseal(record.value or b""))
            header = blocks[-1].header
            demand(header.claim == newest, "claims", f"{where}, block {header.height}: it is of another claim")
    return blocks


def check_chain(chain: Sequence[Block], lane: int, lanes: int) -> None:
    """Heights without gap, each block's hash in the next, one policy, and clocks that never go back."""
    prev, time, watermark = GENESIS, 0, 0
    policy = "sha256:" + sha256(chain[0].events[0].value or b"").hexdigest()
    for height, block in enumerate(chain):
        header = block.header
        where = f"lane {lane}, block {height}"
        demand((header.lane, header.lanes) == (lane, lanes), "heights", f"{where} is of another lane")
        demand(header.height == height, "heights", f"{where} has height {header.height}")
        demand(header.prev == prev, "heights", f"{where} does not name the hash of the one before")
        demand(header.policy == policy, "policy", f"{where} names {header.policy}, the ledger began with {policy}")
        demand(header.time >= time and header.watermark >= watermark, "time", f"{where} goes back in time")
        demand(header.watermark <= header.time, "time", f"{where} has a watermark from its future")
        prev, time, watermark = block.hash, header.time, header.watermark


def check_times(partition: Partition, max_ahead: int, where: str) -> None:
    """No block's time lies further ahead of the broker's than a worker's clock may be off."""
    for record, came in partition.visible():
        if not is_claim(record.key):
            header = unseal(record.value or b"").header
            ahead = header.time - came
            demand(ahead <= max_ahead, "clock", f"{where}: block {header.height} is {ahead} ms ahead of its broker")


def check_topics(chain: Sequence[Block], place: int, topic: str, broker: Broker) -> set[int]:
    """Each topic of that name is read for itself, in the order in which they were there, the last one to its end.

    Returns:
        As `check_input`, of the last one.
    """
    number = chain[0].header.lane
    ever = [*broker.retired.get((topic, number), ()), (broker.id_of(topic), broker.partition(topic, number))]
    parts = [(id, list(blocks)) for id, blocks in groupby(chain, lambda block: block.header.sources[place].id)]
    known, order = dict(ever), [id for id, _ in ever]
    read = [id for id, _ in parts]
    demand(read == [id for id in order if id in read], "topics", f"{topic}/{number}: of {order} it read {read}")
    lost = set[int]()
    for at, (id, blocks) in enumerate(parts):
        begins = blocks[0].header.sources[place].first
        demand(not at or begins == 0, "topics", f"{topic}/{number}: {id} is read from {begins} on")
        lost = check_input(blocks, place, topic, known[id], whole=id == order[-1])
    unread = {record.offset for record, _ in known[order[-1]].visible()} if parts[-1][0] != order[-1] else set[int]()
    demand(not unread, "topics", f"{topic}/{number}: the newest topic is not read")
    return lost


def check_input(
    chain: Sequence[Block], place: int, topic: str, partition: Partition, *, whole: bool = True
) -> set[int]:
    """Every input stands in exactly one block, in the order of its offsets, as it was sent.

    Of a topic that was deleted (not `whole`), those that were read.

    Returns:
        The offsets that retention took before they were read; the ledger says so.
    """
    there = {record.offset: record for record, _ in partition.visible()}
    last = max(there, default=-1)
    position, taken, newest = chain[0].header.sources[place].first, set[int](), -1
    lost = {offset for offset in there if offset < position}
    for block in chain:
        source: Source = block.header.sources[place]
        where = f"{topic}/{block.header.lane}, block {block.header.height}"
        demand(source.topic == topic and source.first == position, "sources", f"{where} begins at {source.first}")
        demand(source.next >= position, "sources", f"{where} goes back to {source.next}")
        no_inputs = (EventKind.POLICY, EventKind.LEDGER)
        for event in (one for one in block.events if one.source == place and one.kind not in no_inputs):
            if event.kind == EventKind.GAP and msgspec.json.decode(event.value or b"") == event.offset == position:
                continue  # of an adoption: nobody can count what the old topic still had
            demand(position <= event.offset < source.next, "sources", f"{where} has {event.offset} out of its range")
            if event.kind == EventKind.GAP:
                end = msgspec.json.decode(event.value or b"")
                demand(end <= partition.first, "exactly-once", f"{where} has a gap up to {end} that was not one")
                lost |= {offset for offset in there if event.offset <= offset < end}
                continue
            record = there.get(event.offset)
            demand(record is not None, "exactly-once", f"{where} has {event.offset}, which is no record")
            demand(_is(event, record), "exactly-once", f"{where} has {event.offset} otherwise than it was sent")
            demand(event.offset not in taken, "exactly-once", f"{where} has {event.offset} again")
            demand(event.offset > newest, "order", f"{where} has {event.offset} late")
            newest = event.offset
            taken.add(newest)
        position = source.next
    if not whole:
        return lost
    missing = there.keys() - taken - lost
    demand(not missing, "exactly-once", f"{topic}/{chain[0].header.lane}: {sorted(missing)} in no block")
    demand(not taken & lost, "exactly-once", f"{topic}: {sorted(taken & lost)} in a block and in a gap")
    demand(last < position <= partition.end, "sources", f"{topic} ends at {partition.end}, its blocks at {position}")
    demand(not lost or partition.first > max(lost), "exactly-once", f"{topic}: {sorted(lost)} passed over")
    return lost


def _is(event: Event, record: Record | None) -> bool:
    if event.kind == EventKind.QUARANTINE or isinstance(record, Unreadable):
        return (
            event.kind == EventKind.QUARANTINE
            and isinstance(record, Unreadable)
            and (found := read_quarantine(event)).next == record.next
            and (found.reason, found.sha256) == (record.reason, sha256(record.value or b"").hexdigest())
        )
    return record is not None and (event.key, event.value, event.timestamp, list(event.headers)) == (
        record.key,
        record.value,
        record.timestamp,
        list(record.headers),
    )


def check_watermarks(chain: Sequence[Block], inputs: dict[str, Partition], lost: dict[str, set[int]]) -> None:
    """What an input held before the watermark of a block stands in earlier blocks, unless retention has taken it."""
    held = {
        topic: [(record.offset, at) for record, at in inputs[topic].visible() if record.offset not in gone]
        for topic, gone in lost.items()
    }
    for block in chain:  # positions and watermarks only rise (`check_chain`, `check_input`)
        mark = block.header.watermark
        for source in block.header.sources:
            unread = held.get(source.topic)
            if not unread:
                continue
            if unread[0][0] < source.first:
                unread = held[source.topic] = [one for one in unread if one[0] >= source.first]
            for offset, at in unread:
                demand(
                    at >= mark,
                    "watermark",
                    f"block {block.header.height} of lane {block.header.lane}: {source.topic} held {offset} since {at},"
                    f" it was read to {source.first}, and the watermark is {mark}",
                )


def fold_again(chain: Sequence[Block], lane: int, fold: Any, state: Any) -> list[Output]:
    """What a ledger folds to, in order, checked against the roots in its headers.

    Python alone says so: where lanes fold with the compiled core, this holds it to the rules (native/README.md).
    """
    root, found = outputs_root(()), list[Output]()
    with patch.object(fold_layout, "core", None), patch.object(codecs_native, "codecs", None):
        for block in chain:
            where = f"lane {lane}, block {block.header.height}"
            demand(block.header.outputs == root, "fold", f"{where} names other outputs of the block before")
            outputs = fold(state, block)
            root = outputs_root(outputs)
            found += outputs
    return found


def _written(one: Output | Record) -> Written:
    return one.key, one.value, tuple((name, value) for name, value in one.headers)


def check_outputs(outputs: dict[str, Partition], wanted: dict[str, list[Written]], lane: int) -> None:
    """What stands on the output topics is, byte for byte and in order, the fold of what was read.

    Three lanes write dead letters to one partition, each in its own order.
    """
    for topic, partition in outputs.items():
        found = [_written(record) for record, _ in partition.visible()]
        for fold in folds():
            own = [[one for one in some if _writer(one) == fold.name] for some in (found, wanted.get(topic, []))]
            _demand_same(own[0], own[1], f"{topic}/{lane}, of {fold.name}")


def check_requests(records: Iterable[Record]) -> None:
    """Under every key a request for a review opens, may be written again, and ends once before another one opens."""
    open_: dict[bytes | None, tuple[int, int]] = {}
    for record in records:
        value = msgspec.json.decode(record.value or b"")
        named = value["attempt"], value["revision"]
        before = open_.pop(record.key, None)
        if "ended_at" in value:
            demand(before == named, "requests", f"{record.key!r} ends {named}, and {before} was open")
            continue
        demand(before is None or before[0] == named[0], "requests", f"{record.key!r} opens {named} beside {before}")
        open_[record.key] = named


def check_spread(broker: Broker, wanted: Mapping[tuple[str, int], Counter[Written]]) -> None:
    """What lanes write for other lanes is what their ledgers fold to, each pair once, where its key belongs."""
    for topic in ("citations", "observations"):
        for lane in range(broker.lanes):
            found = Counter(
                written
                for record, _ in broker.partition(topic, lane).visible()
                if (_CONTENT_TYPE in (written := _written(record))[2])
            )
            expected = wanted.get((topic, lane), Counter())
            demand(
                found == expected, "outputs", f"{topic}/{lane}: {found - expected} too many, {expected - found} missing"
            )
            twice = [one for one, count in found.items() if count > 1]
            demand(not twice, "twice", f"{topic}/{lane}: {twice[:1]}")


_CONTENT_TYPE = ("content-type", b"application/json")
"""What lanes write has this header; what the simulated producers send has not."""


def _writer(one: Written) -> str:
    """The fold that wrote an output; a dead letter's source tells."""
    if any(name == "sluice-source" for name, _ in one[2]):
        source = next(value for name, value in one[2] if name == "sluice-source")
        return {b"attestations": "frame", b"sightings": "bind", b"citations": "bind"}.get(
            (source or b"").split(b"/")[0], "adjudicate"
        )
    return "adjudicate" if any(name == "ce_id" for name, _ in one[2]) else "frame"


def _demand_same(found: list[Written], wanted: list[Written], where: str) -> None:
    if found == wanted:
        return
    place = next((n for n, (one, two) in enumerate(zip(found, wanted, strict=False)) if one != two), None)
    if place is None:
        place = min(len(found), len(wanted))
    raise ViolationError(
        f"outputs: {where} has {len(found)} records, the fold {len(wanted)}; they part at {place}: "
        f"{found[place : place + 1]} is not {wanted[place : place + 1]}"
    )


def check_openings(openings: Iterable[tuple[float, str, float]]) -> None:
    """No worker takes a lane over, and so fences somebody, once it has heard nothing of its group for a session."""
    for at, name, heard_at in openings:
        silent = at - heard_at
        demand(silent <= SESSION_SECONDS, "fencing", f"{name} has heard nothing of its group for {silent:.1f} s")


def check_unique(broker: Broker) -> None:
    """No output comes twice: neither a decision by its id, nor an input's dead letter or framed record."""
    seen: set[bytes] = set()
    for topic in OUTPUTS:
        for lane in range(broker.lanes):
            for record, _ in broker.partition(topic, lane).visible():
                name = _name_of(topic, record)
                if name.startswith(b"source:") and name[7:].split(b"/")[0].decode() in broker.remade:
                    continue  # places of the old topic and of the new one look alike
                demand(name not in seen, "twice", f"{name!r}")
                seen.add(name)


def _name_of(topic: str, record: Record) -> bytes:
    if topic == "grounded":
        return b"source:" + msgspec.json.decode(record.value or b"")["source"].encode()
    wanted = "sluice-source" if topic == "dead-letters" else "ce_id"
    names: Iterable[bytes] = (value for name, value in record.headers if name == wanted)
    return next(iter(names)) if wanted == "ce_id" else b"source:" + next(iter(names))


def check_checkpoints(
    broker: Broker,
    fold: Fold,
    chains: Sequence[Sequence[Block]],
    origins: Sequence[str],
    verifiers: Sequence[Verifier],
) -> None:
    """Each checkpoint is signed, continues the one before, and says what the ledgers were when it was written."""
    trees = [_Trees(chain) for chain in chains]
    for lane, chain in enumerate(chains):
        partition = broker.partition(fold.checkpoints, lane)
        demand(partition.stable == partition.end, "settled", f"a transaction is open on {fold.checkpoints}/{lane}")
        previous, size = NO_CHECKPOINT, 0
        for record, _ in partition.visible():
            note = parse_note(record.value or b"")
            try:
                signers_of(note, verifiers)
                found = parse_checkpoint(note.text)
            except DoesNotHoldError as error:
                raise ViolationError(f"checkpoints: lane {lane}: {error}") from None
            where = f"of lane {lane} at {found.head.size}"
            demand(
                (record.key or b"").decode() == found.origin == origins[lane], "checkpoints", f"another log's {where}"
            )
            demand(found.previous == previous, "checkpoints", f"one {where} does not name the one before")
            demand(size < found.head.size <= len(chain), "checkpoints", f"one {where} behind {size} of {len(chain)}")
            last = chain[found.head.size - 1]
            demand((found.block, found.time) == (last.hash, last.header.time), "checkpoints", f"another block {where}")
            demand(not last.events, "checkpoints", f"the block {where} is not empty")
            demand(found.tips[lane] == found.head and len(found.tips) == broker.lanes, "checkpoints", f"tips {where}")
            for other, tip in enumerate(found.tips):
                demand(tip == trees[other].of(tip.size), "checkpoints", f"tip {other} {where}")
            if found.head.size < len(chain):
                covered = chain[found.head.size].header.outputs == outputs_root(())
                demand(covered, "checkpoints", f"the block {where} has outputs that no header names")
            previous, size = found.digest, found.head.size


class _Trees:
    """The trees of a ledger's first so many blocks."""

    def __init__(self, chain: Sequence[Block]) -> None:
        self._leaves = [merkle.leaf_hash(bytes.fromhex(block.hash[7:])) for block in chain]
        self._heads: dict[int, Head] = {}

    def of(self, size: int) -> Head | None:
        """The tree of so many blocks; None where there are fewer."""
        if size not in self._heads and size <= len(self._leaves):
            self._heads[size] = Head(size, merkle.root(self._leaves[:size]))
        return self._heads.get(size)
