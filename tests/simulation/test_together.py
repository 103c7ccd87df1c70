"""Several blocks in a transaction: nothing is lost or doubled, whatever goes wrong in the middle of it.

Blocks of the simulation are small, so that no lane ever has more than one waiting; here a block is full at some hundred
bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from sluice.topology.engine import intake
from sluice.topology.engine.ledger import TOGETHER
from sluice.topology.kafka.transactions import LaneProducer

from .simulated_run import run

pytestmark = pytest.mark.slow


def test_every_invariant_holds_where_blocks_are_committed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In forty worlds, with all their faults; in some of them as many blocks as may be go together."""
    commits = Counter[int]()
    commit = LaneProducer.commit_together

    async def counted(producer: LaneProducer, blocks: Sequence[Any]) -> Any:
        commits[len(blocks)] += 1
        return await commit(producer, blocks)

    monkeypatch.setattr(LaneProducer, "commit_together", counted)
    monkeypatch.setattr(intake, "MAX_BYTES", 600)

    for seed in range(40):
        run(seed)

    assert commits[TOGETHER] > 10
    assert max(commits) == TOGETHER
