"""The fold of a ledger that nobody vouches for, as its headers name it."""

from __future__ import annotations

import pytest

from sluice.codecs.blocks import GENESIS, Header
from sluice.codecs.partition import PARTITIONERS, Partitioner
from sluice.streams.adjudication.versions import FOLD_VERSIONS, fold_version
from sluice.topology.engine.folds import FOLDS, FoldByVersion


@pytest.fixture(autouse=True)
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second version that this package folds."""
    monkeypatch.setitem(FOLD_VERSIONS, 6, FOLD_VERSIONS[5].replace("5", "6", 1))
    for name in PARTITIONERS:
        monkeypatch.setitem(FOLDS, fold_version(name, number=6), name)


def header(fold: str) -> Header:
    return Header(
        lane=0, lanes=1, height=0, prev=GENESIS, time=0, watermark=0, policy="", fold=fold, sources=[], outputs=""
    )


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_the_first_header_chooses_it(partitioner: Partitioner):
    """Its partitioner; the key that identifiers are hashed with makes no other fold."""
    by_version = FoldByVersion()
    assert by_version.fold is None

    fold = by_version.take(header(fold_version(partitioner, "abc", 5)))

    assert fold is not None
    assert fold is by_version.fold is by_version.take(header(fold_version(partitioner, number=5)))
    assert fold.version == fold_version(partitioner)


def test_a_ledger_may_be_raised_and_never_lowered():
    """The same fold goes on with the later version's blocks."""
    by_version = FoldByVersion()
    first = by_version.take(header(fold_version(number=5)))
    assert by_version.expected() == [fold_version(number=5), fold_version(number=6)]

    assert by_version.take(header(fold_version(number=6))) is first
    assert by_version.expected() == [fold_version(number=6)]
    assert by_version.take(header(fold_version(number=5))) is None


@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_ours_is_not_folded(first: bool):
    """A version that nobody knows; behind a block also one by another partitioner. Nothing has changed then."""
    by_version = FoldByVersion()
    others = ["7 of somebody else", ""]
    if not first:
        assert by_version.take(header(fold_version("crc32", number=5))) is not None
        others.append(fold_version("murmur2", number=5))
    before = by_version.fold, by_version.expected()

    assert [by_version.take(header(one)) for one in others] == [None] * len(others)
    assert (by_version.fold, by_version.expected()) == before
