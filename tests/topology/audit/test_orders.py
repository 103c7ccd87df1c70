"""However the records of a partition are dropped, repeated and moved, the audit finds it, unless it may be so."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from audited_lanes import SIGNER, World
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from search import examples

from sluice.codecs import compiled_core
from sluice.codecs.blocks import Output
from sluice.codecs.record_batches import Cursor, batches, read_stored
from sluice.topology.audit.output_checks import Comparison, matching, run_of
from sluice.topology.audit.report import Report
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.export_files import Stored
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

ORIGINAL = World()


def audited(world: World) -> Report:
    """The report of a world."""
    with tempfile.TemporaryDirectory() as folder:
        question = AuditRequest(Settings(), world.save(Path(folder)), verifiers=(SIGNER.verifier,))
        return asyncio.run(audit(question, "now"))


@st.composite
def orders(draw: st.DrawFn, length: int) -> list[int]:
    """Places of records in another order: a few are dropped, repeated, or moved."""
    found = list(range(length))
    for _ in range(draw(st.integers(1, 4))):
        if not found:
            break
        place = draw(st.integers(0, len(found) - 1))
        to = draw(st.integers(0, len(found) - 1))
        match draw(st.sampled_from(["drop", "repeat", "move", "swap"])):
            case "drop":
                del found[place]
            case "repeat":
                found.insert(to, found[place])
            case "move":
                found.insert(to, found.pop(place))
            case _:
                found[place], found[to] = found[to], found[place]
    return found


def ordered(topic: str, lane: int, order: list[int]) -> World:
    """The world with a partition's records in this order."""
    world = ORIGINAL.copy()
    records = world.topics[topic, lane]
    world.topics[topic, lane] = [replace(records[place], offset=2 * at) for at, place in enumerate(order)]
    return world


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_a_ledger_holds_in_its_own_order_only(data: st.DataObject):
    """What is found first is a block that is missing, added, reordered, replayed or changed, or a tail that was cut."""
    length = len(ORIGINAL.ledger(1))
    order = data.draw(orders(length))

    report = audited(ordered("ledger", 1, order))

    assert report.holds == (order == list(range(length)))
    assert {one.lane for one in report.divergences} <= {1}
    if not report.holds:
        assert report.divergences[0].kind in {
            "missing-block",
            "added-block",
            "reordered-block",
            "replayed-block",
            "changed-block",
            "cut-tail",
            "lane-gone",
        }


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_dead_letters_hold_in_their_own_order_only(data: st.DataObject):
    """They are never compacted."""
    length = len(ORIGINAL.topics["dead-letters", 2])
    order = data.draw(orders(length))

    report = audited(ordered("dead-letters", 2, order))

    assert report.holds == (order == list(range(length)))
    kinds = {one.kind for one in report.divergences}  # one that stands again in place of another is a changed one
    assert kinds <= {"missing-output", "additional-output", "reordered-output", "changed-output"}


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_a_compacted_topic_holds_where_compaction_may_have_left_it(data: st.DataObject):
    """In order, each once, and of each key at least the last."""
    records = ORIGINAL.topics["admitted", 2]
    order = data.draw(orders(len(records)))
    last = {record.key: place for place, record in enumerate(records)}
    may_be = order == sorted(set(order)) and set(last.values()) <= set(order)

    report = audited(ordered("admitted", 2, order))

    assert report.holds == may_be
    if may_be:
        counts: Any = report.lanes[2].topics["admitted"]
        assert counts.compacted == len(records) - len(order)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_checkpoints_hold_in_their_own_order_or_without_their_end(data: st.DataObject):
    """A checkpoint that nobody names, at the end, may never have been. A copy that anybody may have put there is passed
    over as soon as a checkpoint follows that takes no notice of it."""
    records = ORIGINAL.topics["checkpoints", 2]
    order = data.draw(orders(len(records)))
    firsts = list(dict.fromkeys(order))
    ends_with_a_copy = bool(order) and order[-1] in order[:-1]
    may_be = firsts == list(range(len(firsts))) and len(firsts) >= len(records) - 1 and not ends_with_a_copy

    assert audited(ordered("checkpoints", 2, order)).holds == may_be


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(["admitted", "inadmissible", "dead-letters"]), st.data())
def test_what_is_passed_over_at_once_is_judged_the_same_one_by_one(topic: str, data: st.DataObject):
    """`pass_equal` is the plain case at the least cost, and no other judgement."""
    world = ordered(topic, 2, data.draw(orders(len(ORIGINAL.topics[topic, 2]))))
    at_once = audited(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Comparison, "pass_equal", lambda comparison, some, at: 0)
        one_by_one = audited(world)
    for report in (at_once, one_by_one):
        report.seconds, report.where = 0.0, ""
    assert at_once == one_by_one


PARTS = st.tuples(
    st.sampled_from([None, b"", b"k"]),
    st.sampled_from([b"", b"v", b"V", b"v" * 300]),
    st.lists(st.sampled_from([("a", b""), ("a", b"x"), ("é", b"x"), ("e", b"x")]), max_size=3),
)
OTHERS = PARTS | st.tuples(st.none(), st.none(), st.lists(st.just(("a", None)), max_size=2))


def lying(records: list[Stored]) -> list[Stored]:
    """The same where a batch has them."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
    for one in records:
        builder.append(one.offset, one.timestamp, one.key, one.value, one.headers)
    data = bytes(builder.build())
    batch, count = next(batches(data)), len(records)
    cursor = Cursor(data, batch.records, batch.end, count, 0, batch.first_timestamp, None, count, count, 0)
    found, _ = read_stored(cursor, 0, count, 10**9, Stored, in_place=True)
    return found


@pytest.mark.parametrize("how", ["made", "lying", "python"])
@given(st.lists(PARTS, max_size=5), st.integers(0, 3), st.data())
def test_an_output_is_its_record_where_every_octet_is(how: str, parts: list[Any], at: int, data: st.DataObject):
    """As many as are equal from the first one on, with the compiled core and without, made and where they lie."""
    others = data.draw(st.just(parts[at:]) | st.lists(OTHERS, max_size=5))
    others = others + data.draw(st.lists(OTHERS, max_size=1))
    some = [Output("t", *one) for one in parts]
    records = [Stored(place, 0, key, value, list(headers)) for place, (key, value, headers) in enumerate(others)]
    equal = [one == other for one, other in zip(parts[at:], others, strict=False)]
    if how == "lying" and records:
        records = lying(records)
    passed = [Stored(0, 0, b"passed", None, [])] * data.draw(st.integers(0, 2))

    with pytest.MonkeyPatch.context() as patch:
        if how == "python":
            patch.setattr(compiled_core, "codecs", None)
        assert matching(some, at, [*passed, *records], len(passed)) == [*equal, False].index(False)


@pytest.mark.parametrize("how", ["made", "lying", "python"])
@given(st.lists(st.none() | st.binary(max_size=9), min_size=1, max_size=5), st.integers(-1, 9), st.booleans())
def test_the_bytes_of_a_run_are_those_of_its_values(how: str, values: list[bytes | None], before: int, twice: bool):
    """None where an offset is not above the one before it."""
    records = [Stored(place, 0, b"k" * 9, value, []) for place, value in enumerate(values)]
    byte_count = sum(len(value or b"") for value in values)
    if how == "lying":
        records = lying(records)

    with pytest.MonkeyPatch.context() as patch:
        if how == "python":
            patch.setattr(compiled_core, "codecs", None)
        assert run_of(records + records[: int(twice)], before) == (None if before > -1 or twice else byte_count)
