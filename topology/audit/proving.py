"""Makes proofs (proofs.py) from a ledger and its checkpoints, as `sluice prove` asks for them.

The record is found in the lane's ledger with its path within its block: an input where it stands, an output by folding.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import UNSET

from ...codecs import merkle
from ...codecs.blocks import INPUT_KINDS, Block, Event, Header, Output, leaf_data, statement
from ...codecs.errors import DoesNotHoldError, UsageError
from ...codecs.notes import Checkpoint, leaf_of, parse_checkpoint, parse_note
from ...codecs.partition import PARTITIONERS, Partitioner
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ..engine.chain import AUDIT
from ..engine.export_files import Cut, Range, Stored
from ..engine.folds import Adjudicate, folds, partitioner_of
from ..engine.interfaces import Logs, no_progress
from ..engine.replay import beginning, fold_next, linked_blocks
from ..engine.stored_topics import log_name_of
from ..settings.showing import DECIDED
from .proofs import VERSION, BlockPlace, ConsistencyProof, Proof, Step, What, make_leaf, make_path, recompute

VERDICTS: Final = DECIDED[:2]
"""Where an assertion's verdicts stand; requests repeat them."""
EMISSIONS: Final = "emissions"


class Hit(NamedTuple):
    """What was asked for: its leaf's bytes, its path within the block, and that block."""

    what: What
    data: bytes
    path: list[Step]
    header: Header
    statement: bytes


class Seeker(Protocol):
    """Looks for one record in the blocks of a lane."""

    takes_last: bool
    """Whether a later hit is the better one."""

    def look(self, block: Block) -> Hit | None:
        """Called with every block in order, until there is a hit that no later one could better."""
        ...


# ---------------------------------------------------------------- the two ways to look


class Inputs:
    """Looks for the first input with a key on one of these topics: a `Seeker`."""

    takes_last = False

    def __init__(self, key: bytes, topics: Sequence[str] = (EMISSIONS,)) -> None:
        self._key, self._topics = key, topics

    def look(self, block: Block) -> Hit | None:
        found = next((place for place, event in enumerate(block.events) if self._is_it(block.header, event)), None)
        return None if found is None else _hit("input", block, block.events, found)

    def _is_it(self, header: Header, event: Event) -> bool:
        if event.key != self._key or event.kind not in INPUT_KINDS:
            return False
        return event.source < len(header.sources) and header.sources[event.source].topic in self._topics


class Outputs:
    """Folds a lane again, and looks for an output: a `Seeker`.

    It is handed blocks, so it takes the steps of `replay.replay` itself: behind a hit nothing is folded. `lane`,
    `lanes`, `partitioner` and `secrets` are those of the lane's fold; `is_it` and `takes_last` say which output is
    meant.
    """

    def __init__(
        self,
        lane: int,
        lanes: int,
        partitioner: Partitioner,
        is_it: Callable[[Output], bool],
        *,
        takes_last: bool,
        secrets: Secrets = NO_SECRETS,
    ) -> None:
        self.takes_last = takes_last
        self._fold, self._is_it = Adjudicate(partitioner, secrets), is_it
        self._lane, self._lanes, self._at = lane, lanes, beginning(self._fold, lane, lanes)

    def look(self, block: Block) -> Hit | None:
        folded = fold_next(self._at, block.header.height, block, self._fold, self._lane, self._lanes)
        self._at, outputs = folded.restored, folded.outputs
        found = [place for place, output in enumerate(outputs) if self._is_it(output)]
        return _hit("output", block, outputs, found[-1 if self.takes_last else 0]) if found else None


def _hit(what: What, block: Block, records: Sequence[Event | Output], place: int) -> Hit:
    leaves = [leaf_data(record) for record in records]
    path = merkle.inclusion_proof([merkle.leaf_hash(leaf) for leaf in leaves], place)
    return Hit(what, leaves[place], make_path(path, merkle.sides(place, len(leaves))), block.header, statement(block))


class _Named(msgspec.Struct):
    id: str


def by_id(wanted: str, topic: str | None) -> Callable[[Output], bool]:
    """Whether an output is the decision of this id, on this topic where one is named."""
    raw = f'"id":"{wanted}"'.encode()

    def is_it(output: Output) -> bool:
        if raw not in output.value or output.topic not in DECIDED or topic not in (None, output.topic):
            return False
        return msgspec.json.decode(output.value, type=_Named).id == wanted

    return is_it


class ByKey:
    """Whether an output is a verdict about the assertion with this key; `others` are the keys of its emission's other
    assertions.
    """

    def __init__(self, key: bytes) -> None:
        self._key, self._emission = key, key.partition(b"#")[0] + b"#"
        self.others: set[bytes] = set()

    def __call__(self, output: Output) -> bool:
        if output.topic not in VERDICTS or output.key is None or not output.key.startswith(self._emission):
            return False
        if output.key != self._key:
            self.others.add(output.key)
        return output.key == self._key


_OUTPUT_ID = re.compile(r"(?:([a-z-]+)/)?([0-9a-f]{32})")

OTHER_LANE: Final = "without --lane, it is looked for in the lane of its key"

Progress = Callable[[int, int, int], None]
"""Told, after each block: the lane, its height, and the offset in the ledger."""


# ---------------------------------------------------------------- a record


async def prove(logs: Logs, name: str, lane: int | None = None, progress: Progress = no_progress) -> Proof:
    """The proof of a record.

    Args:
        logs: the stored topics.
        name: an emission's id: its first input record; that, `#` and a span key: the last verdict about that
            assertion; or an output's `id`, alone or behind its topic and a slash as in `ce_id`.
        lane: where to look; None: where the emission's key belongs, for an `id` in every lane.
        progress: how far it has come.

    Raises:
        DoesNotHoldError: there is no such record, no checkpoint covers it yet, or the ledger does not hold.
        UsageError: there is no such lane.
        UnreachableError: no broker answers.
    """
    partitioner = await partitioner_of(logs)
    emission, is_assertion, _ = name.partition("#")
    own = _lane(logs, PARTITIONERS[partitioner](emission.encode(), logs.lanes) if lane is None else lane)

    def outputs(number: int, is_it: Callable[[Output], bool]) -> Outputs:
        return Outputs(number, logs.lanes, partitioner, is_it, takes_last=bool(is_assertion), secrets=logs.secrets)

    is_everywhere = False
    if is_assertion:
        wanted = ByKey(name.encode())
        found = await _seek(logs, own, outputs(own, wanted), progress)
        if found is None and wanted.others:
            raise _no_such_span(logs, own, name, wanted.others)
    else:
        # Ids of 32 hex digits are also what many name their emissions by; to look for one costs no fold.
        found = await _seek(logs, own, Inputs(name.encode()), progress)
        if found is None and (match := _OUTPUT_ID.fullmatch(name)):
            is_it, is_everywhere = by_id(match[2], match[1]), lane is None
            for number in range(logs.lanes) if lane is None else (own,):
                found = found or await _seek(logs, number, outputs(number, is_it), progress)
    if found is None:
        raise DoesNotHoldError(
            f"nothing with the name {name!r} stands in the ledger of "
            + (f"any of the {logs.lanes} lanes" if is_everywhere else f"lane {own}"),
            path=logs.where,
            expected="the id of an emission, one with # and a span key, or the id of an output",
            hint="a record under another key is in that key's lane: --lane" if lane is None else OTHER_LANE,
        )
    return found


async def prove_input(
    logs: Logs, key: str, topics: Sequence[str], lane: int | None = None, progress: Progress = no_progress
) -> Proof:
    """Returns the proof of the first input with a key; with `LedgerLogs`, of other ledgers than the adjudicating lanes'
    as well.

    `key`: of an attestation its claim's hash, of a sighting or citation the observation's id; `topics`: that it may be
    of. `logs`, `lane` and `progress` are as for `prove`, and so are the errors, such as DoesNotHoldError.
    """
    partitioner = await partitioner_of(logs)
    own = _lane(logs, PARTITIONERS[partitioner](key.encode(), logs.lanes) if lane is None else lane)
    found = await _seek(logs, own, Inputs(key.encode(), topics), progress)
    if found is None:
        raise DoesNotHoldError(
            f"no input with the key {key!r} stands in lane {own} of {logs.ledger}",
            path=logs.where,
            expected=f"the key of a record of {' or '.join(topics)}",
        )
    return found


def _no_such_span(logs: Logs, lane: int, name: str, keys: Iterable[bytes]) -> DoesNotHoldError:
    emission, _, span = name.partition("#")
    spans = sorted(key.decode().removeprefix(f"{emission}#") for key in keys)
    return DoesNotHoldError(
        f"the emission {emission!r} has no verdict about the span {span!r} in the ledger of lane {lane}",
        path=logs.where,
        expected="one of " + ", ".join(spans[:10]),
    )


async def _seek(logs: Logs, lane: int, seeker: Seeker, progress: Progress) -> Proof | None:
    """The proof of what a seeker finds in a lane."""
    checkpoints = await checkpoints_of(logs, lane)
    hit: Hit | None = None
    after: bytes | None = None
    covering: tuple[Checkpoint, str] | None = None
    leaves: list[bytes] = []
    async with aclosing(_blocks(logs, lane, progress)) as blocks:
        async for block in blocks:
            leaves.append(leaf_of(block.hash))
            if hit is not None and block.header.height == hit.header.height + 1:
                after = statement(block)
            if (hit is None or seeker.takes_last) and (better := seeker.look(block)):
                hit, after = better, None
                covering = _covering(checkpoints, hit)
            if hit and not seeker.takes_last and (covering is None or covering[0].head.size == len(leaves)):
                break
    if hit is None:
        return None
    if covering is None:
        newest = max((checkpoint.head.size for checkpoint, _ in checkpoints), default=0)
        raise DoesNotHoldError(
            "no checkpoint covers the record yet",
            path=f"lane {lane}, block {hit.header.height}",
            expected=f"one of {_needed(hit)} blocks or more",
            got=f"{newest} blocks" if newest else "none at all",
            hint="the lane writes one every checkpoint_interval, while there is news",
        )
    checkpoint, note = covering
    demand_ledger(leaves, checkpoint)
    index = _needed(hit) - 1
    path = merkle.inclusion_proof(leaves[: checkpoint.head.size], index)
    proof = Proof(
        type="sluice:Proof",
        version=VERSION,
        what=hit.what,
        record=make_leaf(hit.what, hit.data, hit.header),
        path=hit.path,
        block=hit.statement.decode(),
        next=UNSET if hit.what == "input" or after is None else after.decode(),
        log=BlockPlace(index, checkpoint.head.size, [one.hex() for one in path]),
        checkpoint=note,
    )
    recompute(proof)
    return proof


def _needed(hit: Hit) -> int:
    """How many blocks a checkpoint must have to cover a hit: an output's root stands in the next block."""
    return hit.header.height + (2 if hit.what == "output" else 1)


def _covering(checkpoints: Sequence[tuple[Checkpoint, str]], hit: Hit) -> tuple[Checkpoint, str] | None:
    return next((one for one in checkpoints if one[0].head.size >= _needed(hit)), None)


# ---------------------------------------------------------------- two checkpoints


async def prove_consistency(
    logs: Logs, lane: int | None, old: int, new: int | None = None, progress: Progress = no_progress
) -> ConsistencyProof:
    """Returns the proof that a lane's history at one checkpoint is the beginning of that at another.

    `old` and `new` are their sizes in blocks (`new` None: the newest); `lane` None: the only one. `logs` and `progress`
    are as for `prove`.

    Raises:
        DoesNotHoldError: there is no such checkpoint, or the ledger is not theirs.
        UsageError: there is no such lane, or none is named of several.
        UnreachableError: no broker answers.
    """
    if lane is None and logs.lanes > 1:
        raise UsageError("checkpoints are those of a lane", expected=f"--lane 0 to {logs.lanes - 1}", hint="add --lane")
    lane = _lane(logs, lane or 0)
    checkpoints = await checkpoints_of(logs, lane)
    new = max((checkpoint.head.size for checkpoint, _ in checkpoints), default=0) if new is None else new
    first, first_note = _of_size(checkpoints, old, lane)
    second, second_note = _of_size(checkpoints, new, lane)
    if new < old:
        raise UsageError("the earlier checkpoint comes first", expected=f"{new} {old}", got=f"{old} {new}")
    leaves: list[bytes] = []
    async with aclosing(_blocks(logs, lane, progress)) as blocks:
        async for block in blocks:
            leaves.append(leaf_of(block.hash))
            if len(leaves) == new:
                break
    demand_ledger(leaves, first)
    demand_ledger(leaves, second)
    path = [one.hex() for one in merkle.consistency_proof(leaves, old)]
    proof = ConsistencyProof(
        type="sluice:ConsistencyProof", version=VERSION, old=first_note, new=second_note, path=path
    )
    recompute(proof)
    return proof


def _of_size(checkpoints: Sequence[tuple[Checkpoint, str]], size: int, lane: int) -> tuple[Checkpoint, str]:
    for one in checkpoints:
        if one[0].head.size == size:
            return one
    sizes = sorted({checkpoint.head.size for checkpoint, _ in checkpoints})
    near = sorted(sorted(sizes, key=lambda one: abs(one - size))[:5])
    raise DoesNotHoldError(
        f"lane {lane} has no checkpoint of {size} blocks",
        expected="one of its sizes, such as " + ", ".join(map(str, near)) if near else "a checkpoint: it has none",
    )


# ---------------------------------------------------------------- what both read


async def checkpoints_of(logs: Logs, lane: int) -> Sequence[tuple[Checkpoint, str]]:
    """The checkpoints of a lane with their notes, as they stand on the topic; what is none of ours is passed over.

    Whether a signature holds is for whoever has a key.
    """
    found: list[tuple[Checkpoint, str]] = []
    ours = await log_name_of(logs, "ledger", logs.ledger, lane)
    async with aclosing(logs.records("checkpoints", lane)) as records:
        async for record in records:
            try:
                checkpoint = parse_checkpoint(parse_note(record.value or b"").text)
            except DoesNotHoldError:
                continue
            if checkpoint.origin == ours:
                found.append((checkpoint, (record.value or b"").decode()))
    return found


def demand_ledger(leaves: Sequence[bytes], checkpoint: Checkpoint) -> None:
    """That a lane's blocks are those that a checkpoint was written of.

    Raises:
        DoesNotHoldError: they are not, or there are fewer.
    """
    size, root = checkpoint.head
    if len(leaves) < size or merkle.root(leaves[:size]) != root:
        raise DoesNotHoldError(
            "the ledger is not the one that its checkpoint speaks of",
            path=checkpoint.origin,
            expected=f"{size} blocks with the root {root.hex()}",
            got=f"{len(leaves)} blocks" if len(leaves) < size else "another root",
            hint=AUDIT,
        )


async def _blocks(logs: Logs, lane: int, progress: Progress) -> AsyncGenerator[Block, None]:
    """A lane's blocks from the first, not folded. What has to be folded, its seeker folds."""
    async with aclosing(linked_blocks(logs, lane)) as blocks:
        async for offset, block in blocks:
            progress(lane, block.header.height, offset)
            yield block


def _lane(logs: Logs, lane: int) -> int:
    if not 0 <= lane < logs.lanes:
        raise UsageError("there is no such lane", path=f"--lane {lane}", expected=f"0 to {logs.lanes - 1}")
    return lane


FOLDS: Final = {fold.ledger: fold for fold in folds()}
"""By the ledger that each writes."""
DEFAULT: Final = Adjudicate.ledger


class LedgerLogs:
    """Logs whose `ledger` and `checkpoints` are those of one fold, by its ledger's logical name; else as
    `interfaces.Logs`.
    """

    def __init__(self, logs: Logs, ledger: str) -> None:
        self._logs, self._names = logs, {DEFAULT: ledger, "checkpoints": FOLDS[ledger].checkpoints}
        self.where, self.secrets, self.lanes, self.app_id = logs.where, logs.secrets, logs.lanes, logs.app_id
        self.ledger = logs.ledger.removesuffix(DEFAULT) + ledger

    def expect(self, topic: str, lane: int) -> None:
        self._logs.expect(self._of(topic), lane)

    async def range(self, topic: str, lane: int) -> Range:
        return await self._logs.range(self._of(topic), lane)

    def as_of(self) -> int:
        return self._logs.as_of()

    async def cut(self) -> Cut:
        return await self._logs.cut()

    def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        return self._logs.batches(self._of(topic), lane, start, end, having=having)

    def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        return self._logs.records(self._of(topic), lane, start)

    def _of(self, topic: str) -> str:
        return self._names.get(topic, topic)
