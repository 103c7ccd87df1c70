"""Finds a record in a lane's ledger, and its path within its block: an input where it stands, an output by folding.

An input stands in its block as it came. An output does not stand in the ledger: the lane is folded again up to it, and
what the fold gives is what the next block's header names the root of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from ...codecs import merkle
from ...codecs.blocks import INPUT_KINDS, Block, Event, Header, Output, leaf_data, statement
from ...codecs.partition import Partitioner
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ..ledger.folds import Adjudicate
from ..ledger.replay import beginning, fold_next
from ..terminal.showing import DECIDED
from .proof_files import Step, What, make_path

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
    """Looks for the first input with a key.

    Args:
        key: of the record.
        topics: by their logical names, those that it may be of.
    """

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
    """Folds a lane again, and looks for an output.

    It is handed blocks (proving.py), so it takes the steps of `ledger.replay` itself: behind a hit nothing is folded.
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
    """Whether an output is a verdict about the assertion with this key.

    Attributes:
        others: the keys of verdicts about other assertions of the same emission, for whoever asked for none of them.
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
