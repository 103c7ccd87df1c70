"""The three ledgers that an audit recomputes: what each lane group reads, writes, and shares its topics with.

An audit is the same for all of them (lane_audit.py). What differs stands here as data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ...codecs.partition import Partitioner
from ...streams.adjudication.outputs import VERDICTS
from ...streams.policy.privacy import Secrets
from ..ledger.export_files import Cut
from ..ledger.folds import Adjudicate, Bind, FrameAttestations
from ..ledger.interfaces import Fold


class Group(NamedTuple):
    """One lane group.

    Attributes:
        name: that of its fold.
        ledger, checkpoints: its topics, by logical name.
        inputs: in the order of a header's `sources`.
        outputs: the topics that stand in the lane's own partition, and are compared record by record.
        sources: how the sources of its dead letters begin; empty: whatever is of no other group is its own.
        make: its fold.
    """

    name: str
    ledger: str
    checkpoints: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    sources: tuple[bytes, ...]
    make: Callable[[Partitioner, Secrets], Fold]

    def log_name(self, ledger: str) -> str:
        """The full name of this group's ledger topic, by that of the adjudicating one."""
        return ledger.removesuffix(ADJUDICATE.ledger) + self.ledger

    def is_its_letter(self, source: bytes) -> bool:
        """Whether a dead letter of this source is one of this group's."""
        if self.sources:
            return source.startswith(self.sources)
        return not any(source.startswith(other.sources) for other in GROUPS.values() if other.sources)

    def is_stored(self, cut: Cut) -> bool:
        """Whether what is read knows of this group's ledger: exports of earlier packages do not."""
        return self.ledger in cut.ends


ADJUDICATE: Final = Group(
    "adjudicate",
    Adjudicate.ledger,
    Adjudicate.checkpoints,
    Adjudicate.inputs,
    ("admitted", "inadmissible", "review-requests", "re-emission-requests", "dead-letters", VERDICTS),
    (),
    lambda partitioner, secrets: Adjudicate(partitioner, secrets),
)
BIND: Final = Group(
    "bind",
    Bind.ledger,
    Bind.checkpoints,
    Bind.inputs,
    ("dead-letters",),
    (b"sightings/", b"citations/"),
    lambda partitioner, _: Bind(partitioner),
)
FRAME: Final = Group(
    "frame",
    FrameAttestations.ledger,
    FrameAttestations.checkpoints,
    FrameAttestations.inputs,
    ("grounded", "dead-letters"),
    (b"attestations/",),
    lambda partitioner, _: FrameAttestations(partitioner),
)
GROUPS: Final[Mapping[str, Group]] = {group.name: group for group in (ADJUDICATE, BIND, FRAME)}
