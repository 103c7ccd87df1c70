"""Outputs of the compiled core, which lie in bytes that they share (native/outputs.c), like those that were made."""

from __future__ import annotations

import gc
from itertools import pairwise

import pytest
from batch_samples import raw_cursor
from fold_histories import World, fold, pure

from sluice.codecs import blocks, compiled_core
from sluice.codecs.blocks import Output, count_told, leaf_data, output_of, outputs_root
from sluice.codecs.record_batches import pack_records, read_stored
from sluice.streams.policy.policy import Policy
from sluice.topology.audit.output_checks import matching
from sluice.topology.engine.export_files import Stored


def _of_a_world(seed: int = 3) -> list[Output]:
    """All outputs of a history; without the core they are made of their parts."""
    return [one for some in fold(World(seed).steps(60), Policy(verdicts="all")).outputs for one in some]


@pytest.fixture(scope="module")
def lying() -> list[Output]:
    found = _of_a_world()
    if compiled_core.codecs is not None:
        kinds = [type(one) for one in found]
        assert kinds.count(compiled_core.codecs.OutputInPlace) > 50  # type: ignore[arg-type]
        assert {one.topic for one in found} >= {"admitted", "inadmissible", "verdicts", "dead-letters"}
    return found


@pytest.fixture(scope="module")
def made(lying: list[Output]) -> list[Output]:
    return [Output(one.topic, one.key, one.value, one.headers) for one in lying]


def test_they_are_like_outputs_that_were_made(lying: list[Output], made: list[Output]) -> None:
    """Equal both ways, part by part by name and by place, and shown alike."""
    assert lying == made
    assert made == lying
    assert [tuple(one) for one in lying] == [tuple(one) for one in made]
    assert [one[2] for one in lying] == [one[-2] for one in made]
    assert [repr(one) for one in lying] == [repr(one) for one in made]
    assert [len(one) for one in lying] == [4] * len(made)
    with pytest.raises(IndexError):
        _ = lying[0][4]  # type: ignore[misc]


def test_one_is_no_other(lying: list[Output], made: list[Output]) -> None:
    """Nor anything that has not all of its parts; and it is as little a key of a dict as an output that was made."""
    for (one, other), (first, second) in zip(pairwise(lying), pairwise(made), strict=True):
        assert [one == other, one != other, one == second] == [first == second, first != second, first == second]
    assert lying[0] != 7
    assert lying[0] != tuple(made[0])[:3]
    assert lying[0] != made[0]._replace(headers=[])
    with pytest.raises(TypeError):
        hash(lying[0])


def test_they_have_the_leaves_and_batches_of_those_that_were_made(lying: list[Output], made: list[Output]) -> None:
    """By the core and by Python, alone and among others, in as many batches."""
    mixed = [pair[place % 2] for place, pair in enumerate(zip(lying, made, strict=True))]
    root, records = outputs_root(made), pack_records(made, 0, 10**9)

    assert [output_of(leaf_data(one)) for one in lying] == made
    assert outputs_root(lying) == outputs_root(mixed) == root
    assert pack_records(lying, 0, 10**9) == pack_records(mixed, 0, 10**9) == records
    at = 0
    while at < len(made):
        packed = pack_records(lying, at, 20_000)
        assert packed == pack_records(made, at, 20_000)
        at = packed[1]
    with pure():
        assert outputs_root(lying) == root
        assert pack_records(lying, 0, 10**9) == records


def test_they_are_counted_and_sorted_like_those_that_were_made(lying: list[Output], made: list[Output]) -> None:
    """By a header that all have, by one of each one's own, and by one that none has."""
    assert blocks.by_topic(lying) == blocks.by_topic(made)
    for name in ("ce_type", "ce_id", "traceparent", "sluice-reason", "no-such", "\udc80"):
        assert blocks.count_headers(lying, name) == blocks.count_headers(made, name)
    assert count_told(lying) == count_told(made)


@pytest.mark.parametrize("in_place", [True, False])
def test_an_audit_finds_them_in_what_was_stored(lying: list[Output], made: list[Output], in_place: bool) -> None:
    """However the stored records are read; and stops at the first that is another, whatever part of it is."""
    records, _ = pack_records(made, 0, 10**9)
    stored, _ = read_stored(raw_cursor(records, len(made)), 0, 10**6, 10**9, Stored, in_place=in_place)
    at = len(made) // 2
    one = made[at]
    others = (
        one._replace(key=b"x"),
        one._replace(key=None),
        one._replace(value=one.value + b" "),
        one._replace(headers=[*one.headers, ("a", b"b")]),
        one._replace(headers=one.headers[:-1]),
        one._replace(headers=[("a", b"b"), *one.headers[1:]]),
        one._replace(headers=[one.headers[0], ("ce_id", b"x"), *one.headers[2:]]),
    )

    assert matching(lying, 0, stored) == len(made)
    assert matching(lying, at, stored, at) == len(made) - at
    for other in others:
        records, _ = pack_records([*made[:at], other, *made[at + 1 :]], 0, 10**9)
        changed, _ = read_stored(raw_cursor(records, len(made)), 0, 10**6, 10**9, Stored, in_place=in_place)
        assert matching(lying, 0, changed) == at


def test_an_output_holds_the_bytes_that_it_lies_in() -> None:
    """Whoever else lets go of them; and another's list of headers is another list."""
    found = _of_a_world()
    expected = [Output(*one) for one in found]
    found[0].headers.append(("x", b"y"))
    while found:
        assert found.pop() == expected.pop()
        gc.collect(0)
