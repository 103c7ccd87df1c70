"""Exported histories with signed checkpoints, as lanes write them, to prove things from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders import assertion_value, emission_value, observation_value
from exported import ExportedLane

from sluice.codecs import merkle
from sluice.codecs.blocks import unseal
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, leaf_of, origin
from sluice.streams.policy.policy import Admissibility, Floor, Policy
from sluice.topology.engine.export_files import Stored, file_name, framed

T = 1_800_000_000_000
GREP, GIT = "substrate.grep", "substrate.git.log"
SIGNER = Signer("sluice/test", bytes(range(32)))
STRICT = Policy(admissibility=Admissibility(k=Floor(internal=2, external=3)))


class CheckpointedLane(ExportedLane):
    """A lane that closes an empty block and signs a checkpoint when it is told to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.notes: list[str] = []
        self.checkpoints: list[Checkpoint] = []
        super().__init__(*args, **options)

    def checkpoint(self, signer: Signer = SIGNER) -> Checkpoint:
        """The next checkpoint, over all blocks and an empty one more."""
        last = unseal(self.blocks[-1]).header
        assert not self.block(last.time, (), last.watermark), "an empty block at the same time has no outputs"
        blocks = [unseal(data) for data in self.blocks]
        head = Head(len(blocks), merkle.root([leaf_of(block.hash) for block in blocks]))
        tips = [head if lane == self.lane else Head() for lane in range(self.lanes)]
        previous = self.checkpoints[-1].digest if self.checkpoints else NO_CHECKPOINT
        name = origin("sluice", self.fold.ledger, self.lane)
        checkpoint = Checkpoint(name, head, blocks[-1].hash, blocks[-1].header.time, previous, tips)
        self.checkpoints.append(checkpoint)
        self.notes.append(signer.sign(checkpoint.text()))
        return checkpoint

    def export(self, folder: Path) -> Path:
        super().export(folder)
        name = origin("sluice", self.fold.ledger, self.lane).encode()
        with open(folder / file_name(self.fold.checkpoints, self.lane), "wb") as file:
            file.writelines(framed([Stored(at, 0, name, note.encode(), []) for at, note in enumerate(self.notes)]))
        return folder


def emission_of_two_classes(name: str = "em-1", at: int = T, text: str = "It is so.", **fields: Any) -> dict[str, Any]:
    return emission_value(name, text, at=at, **{"assertions": [assertion_value("It is so.", GREP, GIT)], **fields})


def observation_of_class(name: str = "em-1", at: int = T, cls: str = GREP) -> dict[str, Any]:
    return observation_value(cls, emission_id=name, at=at, observation_id=f"o-{cls}")


def history(lane: int = 0, lanes: int = 1, names: tuple[str, ...] = ("em-1", "em-2", "em-3")) -> CheckpointedLane:
    """The first emission is admitted, the second stays below its floor, the third comes behind all checkpoints.

    Checkpoints of 4, 6 and 8 blocks; the verdict on the second is in block 6, its request with it.
    """
    found = CheckpointedLane(STRICT, T, lane=lane, lanes=lanes)
    first, second, third = names
    found.block(
        T + 1,
        [
            ("emissions", emission_of_two_classes(first)),
            ("emissions", emission_of_two_classes(second)),
            ("reviews", (b"x", b"?")),
        ],
    )
    found.block(
        T + 2, [("observations", observation_of_class(first)), ("observations", observation_of_class(first, cls=GIT))]
    )
    found.checkpoint()
    found.block(T + 3, [("observations", observation_of_class(second))])
    found.checkpoint()
    found.block(T + 700_000)
    found.checkpoint()
    found.block(T + 800_000, [("emissions", emission_of_two_classes(third, T + 800_000))])
    return found
