"""A ledger's topic that was made anew beside what an earlier ledger left."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.codecs.errors import UsageError
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import Left, demand_none, own_topics

FOLDER = Path("var/state/ledger")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "adjudicate",
            ["admitted", "inadmissible", "review-requests", "re-emission-requests", "verdicts", "checkpoints"],
        ),
        ("bind", ["bind-checkpoints"]),
        ("frame", ["grounded", "frame-checkpoints"]),
    ],
)
def test_what_a_fold_s_lanes_alone_write(name: str, expected: list[str]) -> None:
    """Neither dead letters, which all of them write, nor what a lane of another fold reads and others write too."""
    (fold,) = [one for one in folds() if one.name == name]

    assert own_topics(fold, folds()) == expected


@pytest.mark.parametrize(
    ("left", "begins", "said"),
    [
        (Left(), None, None),
        (Left(["a.verdicts"], FOLDER, "old"), "new", None),
        (Left(["a.verdicts"]), None, "an earlier ledger left records on a.verdicts"),
        (Left(["a.verdicts", "a.checkpoints"], None, "old"), None, "the ledger old left records on a.verdicts, a.ch"),
        (Left([], FOLDER), None, "an earlier ledger left snapshots in var/state/ledger"),
        (Left(["a.admitted"], FOLDER), "older", "left records on a.admitted and snapshots in var/state/ledger"),
    ],
)
def test_a_ledger_begins_anew_only_where_nothing_is_left_or_it_is_named(
    left: Left, begins: str | None, said: str | None
) -> None:
    """The sentence names what is left, and the way on; the id of another topic is no leave."""
    if said is None:
        demand_none(left, "a.ledger", "new", begins)
        return
    with pytest.raises(UsageError, match=said) as raised:
        demand_none(left, "a.ledger", "new", begins)
    assert "set new_ledger to 'new'" in str(raised.value)
