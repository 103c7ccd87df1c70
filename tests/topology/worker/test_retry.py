"""How many events a lane's block may hold (retry.py)."""

from __future__ import annotations

import pytest

from sluice.codecs.blocks import MAX_EVENTS
from sluice.topology.engine.lane_control import FOLD_SECONDS, BlockSizer


@pytest.mark.parametrize(
    ("folds", "most"),
    [
        ([], MAX_EVENTS),
        ([(MAX_EVENTS, FOLD_SECONDS)], MAX_EVENTS),
        ([(MAX_EVENTS, 4 * FOLD_SECONDS)], MAX_EVENTS // 4),
        ([(100, 1000 * FOLD_SECONDS)], 1),  # there is always one
        ([(1, 1000 * FOLD_SECONDS)], 1),
        ([(0, 9.0)], MAX_EVENTS),  # of timers alone: no smaller block would help
        ([(100, 2 * FOLD_SECONDS), (50, 0.9 * FOLD_SECONDS)], 50),
        ([(100, 2 * FOLD_SECONDS), (50, 0.1 * FOLD_SECONDS)], 100),
        ([(100, 2 * FOLD_SECONDS), (3, 0.0)], 50),  # which says nothing of full ones
        ([(100, 2 * FOLD_SECONDS), *[(MAX_EVENTS, 0.0)] * 20], MAX_EVENTS),
    ],
)
def test_blocks_hold_what_is_folded_in_time(folds: list[tuple[int, float]], most: int) -> None:
    """Fewer after a slow one, and twice as many after each fast one that was full."""
    sizer = BlockSizer()
    for events, seconds in folds:
        sizer.folded(events, seconds)
    assert sizer.most == most
