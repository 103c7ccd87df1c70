"""Each kind of tampering is found, and named by its own name first; what an operator may do in order is not.

Every tampering is done as thoroughly as it can be done by somebody who owns the broker and has not the signing key.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audited_lanes import MINUTE, SIGNER, START, STRANGER, Step, World, resealed, steps, with_outputs
from msgspec.structs import replace

from sluice.codecs.blocks import Event, Header, Source, seal, source_of
from sluice.codecs.notes import Signer, parse_note
from sluice.codecs.times import LATEST, format_time
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import DEFAULT_POLICY, CheckpointKeys
from sluice.topology.audit import divergences
from sluice.topology.audit.divergences import MEANING, MOST
from sluice.topology.audit.report import Report, Span, lines
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine import export_files
from sluice.topology.engine.trust import TrustedKey, listed
from sluice.topology.settings.settings import Settings

KEYS = (SIGNER.verifier,)
ORIGINAL = World()


@pytest.fixture
def world() -> World:
    """A world that may be changed."""
    return ORIGINAL.copy()


def audited(world: World, folder: Path, **asked: Any) -> Report:
    """The report of an audit of the world, exported to a folder."""
    question = AuditRequest(Settings(), world.save(folder), **{"verifiers": KEYS, **asked})
    return asyncio.run(audit(question, "2026-11-21T09:00:00Z"))


def kinds(report: Report) -> list[str]:
    """The kinds of what was found, in the report's order."""
    return [one.kind for one in report.divergences]


def assert_found(
    world: World, folder: Path, kind: str, lane: int, height: int | None = None, *, alone: bool = False
) -> Report:
    """The first divergence is of this kind, and stands there; `alone`: nothing else is found."""
    report = audited(world, folder)
    assert report.divergences, "nothing was found"
    first = report.divergences[0]
    divergences = [(one.kind, one.lane, one.height, one.sentence) for one in report.divergences]
    assert (first.kind, first.lane) == (kind, lane), divergences
    if height is not None:
        assert first.height == height, divergences
    assert not report.holds
    assert len(report.divergences) <= (1 if alone else 4), divergences  # consequences are counted, not listed
    return report


def test_an_untouched_history_holds(world: World, tmp_path: Path):
    """Integrity holds, completeness is shown up to the last checkpoint, and every output was compared."""
    report = audited(world, tmp_path)

    assert report.divergences == []
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "shown")
    outputs = sum(
        len(world.topics[topic, lane]) for topic, lane in world.topics if topic not in ("ledger", "checkpoints")
    )
    compared = sum(counts.equal for lane in report.lanes for counts in lane.topics.values())
    assert compared == outputs - 1  # one dead letter is of the attestation lane
    assert sum(counts.foreign for lane in report.lanes for counts in lane.topics.values()) == 1
    assert [lane.held for lane in report.lanes] == [3, 3, 3]


def test_the_list_of_kinds_is_closed():
    """Each kind has one meaning."""
    assert len(MEANING) == 25


# ---------------------------------------------------------------- blocks


def flipped(data: bytes, at: int) -> bytes:
    """The data with one bit of one byte changed."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("place", range(12))
def test_a_changed_octet_in_an_event_is_a_changed_block(world: World, tmp_path: Path, place: int):
    """Found by the successor or the checkpoint that names the block's hash; the block is folded as it stands."""
    data = world.ledger(1)[place].value or b""
    block = world.blocks(1)[place]
    if block.events:
        value = block.events[-1].value or b""
        at = data.rindex(value) + len(value) // 2
    else:
        at = data.index(b"time") + 8  # a digit of the header's time
    world.replace("ledger", 1, place, value=flipped(data, at))

    report = assert_found(world, tmp_path, "changed-block", 1, place)

    assert report.verdict.integrity == "broken"
    assert "checkpoint-root" not in kinds(report)  # the chain of the others stands


def test_a_block_that_is_no_block_any_more(world: World, tmp_path: Path):
    """Decisions of its lane end there, links and checkpoints are still followed, and other lanes are audited whole."""
    world.replace("ledger", 1, 4, value=b"no block")

    report = assert_found(world, tmp_path, "changed-block", 1, 4, alone=True)
    assert "cannot be recomputed" in report.divergences[0].sentence
    assert [lane.folded for lane in report.lanes] == [12, 4, 12]
    assert report.lanes[1].held == 3


@pytest.mark.parametrize("field", ["key", "headers"])
def test_a_block_with_a_key_or_headers_is_changed(world: World, tmp_path: Path, field: str):
    """Lanes write neither."""
    world.replace("ledger", 2, 5, **{field: b"k" if field == "key" else [("a", b"b")]})

    assert_found(world, tmp_path, "changed-block", 2, 5)


@pytest.mark.parametrize("place", [0, 1, 5, 10])
def test_a_dropped_block_is_missing(world: World, tmp_path: Path, place: int):
    """The heights have a gap."""
    del world.ledger(0)[place]

    assert_found(world, tmp_path, "missing-block", 0, place, alone=True)


def test_several_dropped_blocks_are_one_gap(world: World, tmp_path: Path):
    """Counted in one entry; trees behind it cannot be compared, since nobody tells the hashes of what is gone."""
    del world.ledger(0)[4:7]

    report = assert_found(world, tmp_path, "missing-block", 0, 4)

    assert report.divergences[0].count == 3


@pytest.mark.parametrize("place", [1, 6, 11])
def test_a_block_between_two_is_added(world: World, tmp_path: Path, place: int):
    """Also where it follows upon the one before it: its successor does not name it."""
    last = world.blocks(0)[place - 1]
    header = replace(last.header, height=place, prev=last.hash, sources=_after(last.header))
    world.ledger(0).insert(place, replace(world.ledger(0)[place], value=seal(header, [])[1]))
    world.renumber("ledger", 0)

    assert_found(world, tmp_path, "added-block", 0, place, alone=True)


def _after(header: Header) -> list[Source]:
    return [Source(source.topic, source.next, source.next) for source in header.sources]


def test_a_block_of_another_lane_is_added(world: World, tmp_path: Path):
    """Wherever it stands."""
    world.ledger(0).insert(3, world.ledger(1)[3])
    world.renumber("ledger", 0)

    assert_found(world, tmp_path, "added-block", 0)


def test_a_foreign_block_behind_the_last_is_added(world: World, tmp_path: Path):
    """It follows upon nothing."""
    last = world.blocks(0)[-1]
    header = replace(last.header, height=12, prev="sha256:" + "1" * 64, outputs="sha256:" + "2" * 64)
    world.ledger(0).append(replace(world.ledger(0)[-1], offset=100, value=seal(header, [])[1]))

    assert_found(world, tmp_path, "added-block", 0, 12)


@pytest.mark.parametrize("place", [6, 12])
@pytest.mark.parametrize("height", [1_000, 10**12, 2**63])
def test_a_block_of_a_height_that_its_place_cannot_have_is_added(world: World, tmp_path: Path, place: int, height: int):
    """Each block takes an offset at least: no gap is as long as such a block says, and none is counted up to it."""
    header = replace(world.blocks(0)[5].header, height=height, prev="sha256:" + "1" * 64)
    world.ledger(0).insert(place, replace(world.ledger(0)[5], value=seal(header, [])[1]))
    world.renumber("ledger", 0)

    assert_found(world, tmp_path, "added-block", 0, alone=True)


PREVS = ["x", "", "sha256:", "sha256:" + "g" * 64, "sha256:" + "0" * 63, "SHA256:" + "0" * 64, "\u0660" * 71]


@pytest.mark.parametrize("prev", PREVS)
@pytest.mark.parametrize("before", ["stands", "changed", "rubbish", "gone", "all gone"])
def test_a_block_that_names_no_hash_before_it_is_found(world: World, tmp_path: Path, prev: str, before: str):
    """What is no hash names nothing, whatever stands before the block; the audit goes on to the end."""
    ledger, at = world.ledger(1), 6
    block = world.blocks(1)[at]
    ledger[at] = replace(ledger[at], value=seal(replace(block.header, prev=prev), list(block.events))[1])
    if before == "changed":
        header = world.blocks(1)[at - 1].header
        ledger[at - 1] = replace(ledger[at - 1], value=seal(replace(header, time=header.time + 1), [])[1])
    elif before == "rubbish":
        ledger[at - 1] = replace(ledger[at - 1], value=b"rubbish")
    elif before != "stands":
        del ledger[at - 1 if before == "gone" else at - 3 : at]

    report = audited(world, tmp_path)

    assert report.divergences[0].lane == 1
    assert report.divergences[0].kind in ("changed-block", "missing-block")
    assert report.lanes[1].chain == 12


@pytest.mark.parametrize("named", PREVS)
def test_an_output_that_names_no_hash_is_no_witness(world: World, tmp_path: Path, named: str):
    """Outputs tell which block was changed; one that names what is no hash tells nothing."""
    block = world.blocks(1)[5]  # it has outputs, and no checkpoint ends with it
    header = replace(block.header, time=block.header.time + 1)
    world.replace("ledger", 1, 5, value=seal(header, block.events)[1])
    for topic in ("admitted", "inadmissible", "review-requests"):
        records = world.topics[topic, 1]
        for place, record in enumerate(records):
            value = msgspec.json.decode(record.value or b"")
            value["ledger"]["block"] = named
            records[place] = replace(record, value=msgspec.json.encode(value))

    report = audited(world, tmp_path)

    assert ("changed-block", 1, 5) in [(one.kind, one.lane, one.height) for one in report.divergences]


def test_rubbish_behind_the_last_block_is_added(world: World, tmp_path: Path):
    """A record that is no block."""
    world.ledger(0).append(replace(world.ledger(0)[-1], offset=100, value=b"rubbish"))

    assert_found(world, tmp_path, "added-block", 0)


@pytest.mark.parametrize(("place", "to"), [(3, 4), (3, 6), (6, 3), (10, 11), (1, 2)])
def test_a_block_at_another_place_is_reordered(world: World, tmp_path: Path, place: int, to: int):
    """The chain names where it belongs; with it there, everything else holds."""
    ledger = world.ledger(2)
    ledger.insert(to, ledger.pop(place))
    world.renumber("ledger", 2)

    report = assert_found(world, tmp_path, "reordered-block", 2)

    assert set(kinds(report)) == {"reordered-block"}


@pytest.mark.parametrize(("place", "to"), [(3, 4), (3, 9), (9, 12), (11, 12), (5, 12)])
def test_a_block_that_stands_there_twice_is_replayed(world: World, tmp_path: Path, place: int, to: int):
    """Behind itself, and at the end."""
    ledger = world.ledger(2)
    ledger.insert(to, ledger[place])
    world.renumber("ledger", 2)

    assert_found(world, tmp_path, "replayed-block", 2, place, alone=True)


# ---------------------------------------------------------------- what a block says, with every hash computed anew


def test_input_ranges_that_do_not_follow_are_found(world: World, tmp_path: Path):
    """Somebody took records out of a block, and its range with them."""

    def change(header: Header, events: list[Event]) -> tuple[Header, list[Event]]:
        sources = [replace(header.sources[0], next=header.sources[0].next + 5), *header.sources[1:]]
        return replace(header, sources=sources), events

    resealed(world, 1, 4, change)

    report = audited(world, tmp_path)
    assert ("offsets", 1, 5) in [(one.kind, one.lane, one.height) for one in report.divergences]


def test_another_topic_that_nobody_adopted_is_found(world: World, tmp_path: Path):
    """A worker that was turned reads a topic of its own making under the same name."""

    def named(id: str) -> Any:
        def change(header: Header, events: list[Event]) -> tuple[Header, list[Event]]:
            sources = [source_of(one.topic, one.first, one.next, id) for one in header.sources]
            return replace(header, sources=sources), events

        return change

    for place in range(2, len(world.blocks(1))):
        resealed(world, 1, place, named("A" * 22 if place < 5 else "B" * 22))

    report = audited(world, tmp_path)
    found = [one for one in report.divergences if one.kind == "offsets"]
    assert found[0].height == 5
    assert "another topic emissions" in found[0].sentence


def test_a_time_that_goes_back_is_found(world: World, tmp_path: Path):
    """So would every decision that hangs on it."""
    resealed(world, 1, 4, lambda header, events: (replace(header, time=START - 1), events))

    report = audited(world, tmp_path)
    assert ("time", 1, 4) in [(one.kind, one.lane, one.height) for one in report.divergences]


def test_a_header_that_names_another_policy_is_found(world: World, tmp_path: Path):
    """The policy in force stands in the ledger itself."""
    resealed(world, 1, 4, lambda header, events: (replace(header, policy="sha256:" + "0" * 64), events))

    report = audited(world, tmp_path)
    assert ("policy", 1, 4) in [(one.kind, one.lane, one.height) for one in report.divergences]


OTHER_POLICY = replace(
    DEFAULT_POLICY,
    admissibility=replace(DEFAULT_POLICY.admissibility, k=replace(DEFAULT_POLICY.admissibility.k, internal=1)),
)


def test_another_policy_in_the_ledger_alone_is_found_by_the_outputs(world: World, tmp_path: Path):
    """Outputs name the policy that they were decided under."""

    def change(header: Header, events: list[Event]) -> tuple[Header, list[Event]]:
        event = replace(events[0], value=OTHER_POLICY.document)
        return replace(header, policy=OTHER_POLICY.hash), [event]

    resealed(world, 1, 0, change)

    report = audited(world, tmp_path)
    assert kinds(report)[0] == "policy"
    assert "checkpoint-root" in kinds(report)


def test_another_policy_with_everything_folded_anew_is_found_by_the_checkpoints(world: World, tmp_path: Path):
    """Blocks, roots and outputs agree with one another; only what was signed does not."""
    other = World(policy=OTHER_POLICY)
    other.topics |= {place: records for place, records in world.topics.items() if place[0] == "checkpoints"}

    report = audited(other, tmp_path)

    assert set(kinds(report)) == {"checkpoint-root"}
    assert {one.lane for one in report.divergences} == {0, 1, 2}


def test_another_fold_version_cannot_be_recomputed(world: World, tmp_path: Path):
    """Links are still followed; the other lanes are audited whole."""
    other = World(alter=lambda header: replace(header, fold="7 of somebody else") if header.lane == 2 else header)

    report = assert_found(other, tmp_path, "fold-version", 2, 0, alone=True)
    assert [lane.folded for lane in report.lanes] == [12, 12, 0]


def test_a_fold_version_that_changes_on_the_way_is_found(world: World, tmp_path: Path):
    """What is ours was folded; behind it nothing can be."""
    other = World(alter=lambda header: replace(header, fold="7") if header.lane == 2 and header.height > 5 else header)

    report = assert_found(other, tmp_path, "fold-version", 2, 6)

    assert report.lanes[2].folded == 6


def test_a_root_that_no_outputs_have_is_found(world: World, tmp_path: Path):
    """Every hash behind it computed anew; and no output names the new hashes."""
    world_of_it = World(
        alter=lambda header: (
            replace(header, outputs="sha256:" + "0" * 64) if (header.lane, header.height) == (0, 6) else header
        )
    )

    assert_found(world_of_it, tmp_path, "outputs-root", 0, 6, alone=True)


# ---------------------------------------------------------------- outputs


def changed_value(value: bytes) -> bytes:
    """As somebody would change a decision."""
    return value.replace(b'"admitted"', b'"refused"', 1) if b'"admitted"' in value else value.replace(b"a", b"b", 1)


@pytest.mark.parametrize("topic", ["admitted", "inadmissible", "review-requests", "dead-letters"])
@pytest.mark.parametrize("field", ["key", "value", "headers"])
def test_a_changed_output_is_found(world: World, tmp_path: Path, topic: str, field: str):
    """Any part of it, on any topic, wherever it stands."""
    for place in (0, -1):
        tampered = world.copy()
        record = tampered.topics[topic, 1][place]
        altered: Any = {
            "key": b"other",
            "value": changed_value(record.value or b"") + b" ",
            "headers": record.headers[1:],
        }
        tampered.replace(topic, 1, place, **{field: altered[field]})

        report = assert_found(tampered, tmp_path, "changed-output", 1, alone=True)
        assert report.divergences[0].place == f"{topic}/1/{record.offset}"


@pytest.mark.parametrize("wanted", [True, False])
def test_a_header_without_a_value_is_found(world: World, tmp_path: Path, wanted: bool):
    """Kafka lets one be null: that is another header than an empty one, and one too many where none is expected."""
    record = world.topics["dead-letters", 1][0]
    name = record.headers[0][0]
    headers = [(name, None), *record.headers[1:]] if wanted else [*record.headers, ("more", None)]
    world.replace("dead-letters", 1, 0, headers=headers)

    report = assert_found(world, tmp_path, "changed-output", 1, alone=True)
    assert report.divergences[0].got == f"header {name if wanted else 'more'} without a value"


def last_of_its_key(world: World, topic: str, lane: int, place: int) -> bool:
    records = world.topics[topic, lane]
    return all(record.key != records[place].key for record in records[place + 1 :])


def test_a_missing_output_is_found(world: World, tmp_path: Path):
    """Where it is its key's last word, nothing in order takes it."""
    for lane, place in [one for one in with_outputs(world, "admitted") if last_of_its_key(world, "admitted", *one)]:
        tampered = world.copy()
        del tampered.topics["admitted", lane][place]

        report = assert_found(tampered, tmp_path, "missing-output", lane, alone=True)
        named = msgspec.json.decode(world.topics["admitted", lane][place].value or b"")["ledger"]
        assert report.divergences[0].height == named["height"]


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_missing_dead_letter_is_found(world: World, tmp_path: Path, place: int):
    """That topic is never compacted."""
    del world.topics["dead-letters", 2][place]

    assert_found(world, tmp_path, "missing-output", 2)


def test_an_emptied_topic_is_one_entry_for_each_and_a_count(world: World, tmp_path: Path):
    """Where the log's start does not say that retention did it."""
    world.topics["admitted", 0].clear()

    report = audited(world, tmp_path)

    assert set(kinds(report)) == {"missing-output"}
    assert sum(one.count for one in report.divergences) == len(ORIGINAL.topics["admitted", 0])


@pytest.mark.parametrize("place", [0, 4, None])
@pytest.mark.parametrize("topic", ["admitted", "dead-letters", "re-emission-requests"])
def test_an_additional_output_is_found(world: World, tmp_path: Path, topic: str, place: int | None):
    """At the beginning, within, and behind the last one."""
    records = world.topics[topic, 2]
    at = len(records) if place is None else min(place, len(records))
    model = ORIGINAL.topics["admitted", 2][3]
    value = (model.value or b"").replace(b'"em-', b'"of-')
    records.insert(at, replace(model, key=b"of-1#c:0-43", value=value))
    world.renumber(topic, 2)

    report = assert_found(world, tmp_path, "additional-output", 2, alone=True)
    assert report.divergences[0].place.startswith(f"{topic}/2/")


def test_an_output_that_stands_there_twice_is_additional(world: World, tmp_path: Path):
    """Byte for byte one that was."""
    for lane, place in with_outputs(world, "admitted"):
        tampered = world.copy()
        tampered.topics["admitted", lane].append(tampered.topics["admitted", lane][place])
        tampered.renumber("admitted", lane)

        assert kinds(assert_found(tampered, tmp_path, "additional-output", lane)) == ["additional-output"]


@pytest.mark.parametrize("topic", ["admitted", "dead-letters"])
@pytest.mark.parametrize(("place", "to"), [(0, 1), (1, 3), (3, 0)])
def test_an_output_at_another_place_is_reordered(world: World, tmp_path: Path, topic: str, place: int, to: int):
    """The fold gives them in one order."""
    records = world.topics[topic, 2]
    records.insert(to, records.pop(place))
    world.renumber(topic, 2)

    report = assert_found(world, tmp_path, "reordered-output", 2)

    assert set(kinds(report)) == {"reordered-output"}


# ---------------------------------------------------------------- what retention and compaction may do


def test_what_compaction_took_is_no_divergence(world: World, tmp_path: Path):
    """It leaves the last record of each key, and is counted."""
    for topic in ("admitted", "inadmissible", "review-requests"):
        for lane in range(3):
            records = world.topics[topic, lane]
            world.topics[topic, lane] = [
                record for place, record in enumerate(records) if last_of_its_key(ORIGINAL, topic, lane, place)
            ]

    report = audited(world, tmp_path)

    assert report.divergences == []
    taken = sum(len(records) for records in ORIGINAL.topics.values()) - sum(map(len, world.topics.values()))
    assert sum(counts.compacted for lane in report.lanes for counts in lane.topics.values()) == taken > 0


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_what_retention_took_is_no_divergence(world: World, tmp_path: Path, kept: int):
    """The log begins later, and what stood before is counted."""
    for topic in ("admitted", "dead-letters"):
        records = world.topics[topic, 1]
        gone = max(0, len(records) - kept)
        world.first[topic, 1] = records[gone].offset if gone < len(records) else records[-1].offset + 2
        del records[:gone]

    report = audited(world, tmp_path)

    assert report.divergences == []
    counts = report.lanes[1].topics
    assert counts["admitted"].expired == len(ORIGINAL.topics["admitted", 1]) - len(world.topics["admitted", 1])


MONTH = 30 * 24 * 60 * MINUTE
LAST = max(step.time for step in steps())
EARLY, SINCE_LAST = START + 10 * MINUTE, LAST - START
OUTPUTS = ("admitted", "inadmissible", "review-requests", "re-emission-requests", "verdicts", "dead-letters")
Recorded = Callable[[int], dict[str, int]]


def keeping(*changes: tuple[int, int]) -> Recorded:
    """Checkpoints that record for every output what holds from a time on, in ms each."""

    def recorded(time: int) -> dict[str, int]:
        kept = [ms for since, ms in changes if since <= time]
        return dict.fromkeys(OUTPUTS, kept[-1]) if kept else {}

    return recorded


@pytest.mark.parametrize(
    ("recorded", "read_at", "now", "is_early"),
    [
        pytest.param(keeping((0, MONTH)), LAST + MINUTE, LATEST, True, id="minutes old"),
        pytest.param(keeping((0, -1)), LAST + 2 * MONTH, LATEST, True, id="kept for ever"),
        pytest.param(keeping((0, MONTH)), LAST + MONTH, LATEST, False, id="as old as retention"),
        pytest.param(keeping(), LAST + MINUTE, LATEST, False, id="no checkpoint records it"),
        pytest.param(keeping((0, MONTH), (LAST, 1)), LAST + MINUTE, LATEST, True, id="lowered before"),
        pytest.param(keeping((0, MONTH), (LAST, 1)), LAST + MONTH, LATEST, False, id="lowered, and waited out"),
        pytest.param(keeping((0, MONTH), (EARLY, 0)), LAST + MINUTE, LATEST, True, id="lowered to nothing"),
        pytest.param(lambda time: keeping((0, MONTH))(time) if time < EARLY else {}, LAST, LATEST, True, id="untold"),
        pytest.param(keeping((0, MONTH)), LAST + 2 * MONTH, LAST + MINUTE, True, id="export dated ahead"),
        pytest.param(keeping((LAST, MONTH)), LAST + MINUTE, LATEST, False, id="recorded too late"),
        pytest.param(keeping((0, 1), (LAST, MONTH)), LAST + MINUTE, LATEST, False, id="raised since"),
    ],
)
@pytest.mark.parametrize("topic", ["admitted", "dead-letters"])  # of each key of the first a later record stands
def test_only_what_is_old_enough_was_taken_by_retention(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    topic: str,
    recorded: Recorded,
    read_at: int,
    now: int,
    is_early: bool,
):
    """What stood on a topic until a turn in the middle is gone, and the log begins there."""
    monkeypatch.setattr(export_files, "now_ms", lambda: now)
    world = World(retentions=recorded)
    records = world.topics[topic, 1]
    gone = [one for one in records if one.timestamp < EARLY]
    del records[: len(gone)]
    world.first[topic, 1] = gone[-1].offset + 1

    folder = world.save(tmp_path, format_time(read_at))
    report = asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=KEYS), "2026-11-21T09:00:00Z"))

    standing = {one.key for one in records} if topic == "admitted" else set()
    early = [one for one in gone if one.key not in standing] if is_early else []
    counts = report.lanes[1].topics[topic]
    assert {(one.kind, one.lane) for one in report.divergences} == ({("deleted-early", 1)} if early else set())
    assert sum(one.count for one in report.divergences) == len(early)
    assert (counts.expired, counts.compacted) == ((0, len(gone) - len(early)) if is_early else (len(gone), 0))
    assert counts.unrecorded == (len(gone) if recorded(START) == {} else 0)
    assert report.verdict.completeness == ("broken" if early else "shown")
    assert gone


@pytest.mark.parametrize("topic", ["admitted", "verdicts", "dead-letters"])
def test_a_topic_that_was_emptied_early_was_not_taken_by_compaction(tmp_path: Path, topic: str):
    """Later records of the same keys must stand."""
    world = World(retentions=keeping((0, -1)))
    records = world.topics[topic, 1]
    count, world.first[topic, 1] = len(records), records[-1].offset + 1
    records.clear()

    report = audited(world, tmp_path)

    assert set(kinds(report)) == {"deleted-early"}
    assert sum(one.count for one in report.divergences) == count > 2
    assert (report.verdict.integrity, report.verdict.completeness) == ("broken", "broken")


def test_a_retention_that_was_lowered_is_told(tmp_path: Path):
    """Also where nothing is gone yet."""
    world = World(retentions=keeping((0, MONTH), (LAST, 1000)))

    report = audited(world, tmp_path)

    told = [line for line in lines(report) if "keeps records for 1s, for 30d before" in line]
    assert report.holds
    assert len(told) == len(OUTPUTS)  # the lane whose last checkpoint is that late
    assert all("lane 2: " in line for line in told)


def test_compaction_that_a_topic_does_not_declare_explains_nothing(tmp_path: Path):
    """An operator may set cleanup.policy: a later record of the key counts where compaction is declared."""
    world = World(retentions=keeping((0, MONTH)))
    letters = world.topics["dead-letters", 1]
    assert len({one.key for one in letters}) == 1
    del letters[0]

    assert kinds(audited(world, tmp_path)) == ["missing-output"]


def test_a_changed_output_behind_what_retention_took_is_found(world: World, tmp_path: Path):
    """Also the first that is kept."""
    records = world.topics["admitted", 1]
    del records[:4]
    world.first["admitted", 1] = records[0].offset
    world.replace("admitted", 1, 0, value=changed_value(records[0].value or b""))

    assert_found(world, tmp_path, "changed-output", 1)


# ---------------------------------------------------------------- checkpoints, tails, lanes


def cut_tail(world: World, lane: int, blocks: int) -> None:
    """Takes the last blocks of a lane, and their outputs."""
    del world.ledger(lane)[-blocks:]
    height = len(world.ledger(lane))
    for (topic, other), records in world.topics.items():
        if other == lane and topic not in ("ledger", "checkpoints"):
            world.topics[topic, lane] = [record for record in records if not _is_behind(record, world, lane, height)]


def _is_behind(record: Any, world: World, lane: int, height: int) -> bool:
    return record.timestamp > world.blocks(lane)[height - 1].header.time


def test_a_cut_tail_is_named_by_the_lane_s_own_checkpoints(world: World, tmp_path: Path):
    """No link is broken: integrity holds, completeness does not."""
    cut_tail(world, 1, 3)

    report = assert_found(world, tmp_path, "cut-tail", 1, 9, alone=True)
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "broken")


def test_a_cut_tail_with_its_checkpoints_is_named_by_other_lanes(world: World, tmp_path: Path):
    """Their checkpoints name its tip."""
    cut_tail(world, 1, 3)
    del world.topics["checkpoints", 1][-1]

    report = assert_found(world, tmp_path, "cut-tail", 1, 9)

    assert report.verdict.completeness == "broken"
    assert report.divergences[0].place.startswith("checkpoints/2/")


def test_a_lane_that_is_gone_is_named_by_other_lanes(world: World, tmp_path: Path):
    """With its outputs and checkpoints, as if it had never been."""
    for (topic, lane), records in world.topics.items():
        if lane == 1:
            records.clear()
            world.first[topic, lane] = 0

    report = assert_found(world, tmp_path, "lane-gone", 1, alone=True)
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "broken")


def test_a_checkpoint_that_is_gone_is_named_by_other_lanes(world: World, tmp_path: Path):
    """In the middle its successor names it as well; that is no second entry."""
    del world.topics["checkpoints", 1][1]

    report = assert_found(world, tmp_path, "checkpoint-missing", 1, alone=True)
    assert report.divergences[0].follows == {"checkpoint-chain": 1}


def test_checkpoints_cut_off_in_one_lane_are_missing(world: World, tmp_path: Path):
    """While the others name them."""
    del world.topics["checkpoints", 0][1:]

    report = audited(world, tmp_path)

    assert set(kinds(report)) == {"checkpoint-missing"}


def test_checkpoints_cut_off_everywhere_leave_completeness_shown_for_less(world: World, tmp_path: Path):
    """Nobody can know better; the time up to which it is shown says so."""
    for lane in range(3):
        del world.topics["checkpoints", lane][1:]

    report = audited(world, tmp_path)

    assert report.divergences == []
    whole = audited(ORIGINAL, tmp_path / "whole")
    assert (report.verdict.shown_until or "") < (whole.verdict.shown_until or "")


def test_without_checkpoints_completeness_is_not_shown(world: World, tmp_path: Path):
    """Integrity is."""
    for lane in range(3):
        world.topics["checkpoints", lane].clear()

    report = audited(world, tmp_path)

    assert report.divergences == []
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "not-shown")


def test_without_a_key_completeness_is_not_shown(world: World, tmp_path: Path):
    """Signatures were not checked, and the report says so."""
    report = audited(world, tmp_path, verifiers=())

    assert report.divergences == []
    assert report.verdict.completeness == "not-shown"
    assert "no key" in report.verdict.why


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_forged_signature_is_found(world: World, tmp_path: Path, place: int):
    """A key of the same name does not help."""
    note = parse_note(world.topics["checkpoints", 2][place].value or b"")
    world.replace("checkpoints", 2, place, value=STRANGER.sign(note.text).encode())

    report = assert_found(world, tmp_path, "checkpoint-signature", 2, alone=True)
    assert report.verdict.completeness == "not-shown"


def rotated(world: World, lane: int, count: int) -> None:
    """The lane's first checkpoints are signed by another key, as before a change of keys."""
    for place, record in enumerate(world.topics["checkpoints", lane][:count]):
        text = parse_note(record.value or b"").text
        world.replace("checkpoints", lane, place, value=STRANGER.sign(text).encode())


@pytest.mark.parametrize("count", [1, 2, 3])
def test_checkpoints_of_a_key_that_was_not_named_are_there(world: World, tmp_path: Path, count: int):
    """They show nothing, and nothing is missing: one entry for the signer with the count; integrity holds."""
    rotated(world, 0, count)

    report = audited(world, tmp_path)

    assert [(one.kind, one.lane, one.count) for one in report.divergences] == [("checkpoint-signature", 0, count)]
    signer = f"{STRANGER.name}+{STRANGER.verifier.id.hex()}"
    assert signer in report.divergences[0].sentence
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "not-shown")
    assert report.lanes[0].unverified == count


def test_with_every_key_that_was_ever_used_a_change_of_keys_holds(world: World, tmp_path: Path):
    """Each checkpoint is signed by one of them."""
    for lane in range(3):
        rotated(world, lane, 2)

    report = audited(world, tmp_path, verifiers=(SIGNER.verifier, STRANGER.verifier))

    assert report.divergences == []
    assert report.verdict.completeness == "shown"


def listed_as(since: int | None = None, until: int | None = None, revoked: int | None = None) -> list[TrustedKey]:
    """The world's signer as a policy lists it; times in ms."""
    public = base64.b64encode(SIGNER.verifier.public_key).decode()
    key = Key(public_key=public, since=since, until=until, revoked=revoked)
    return list(listed(replace(DEFAULT_POLICY, checkpoints=CheckpointKeys({SIGNER.name: [key]}))))


def test_a_key_that_a_policy_lists_counts_in_its_time(world: World, tmp_path: Path):
    """authority.md, «Who may say what», checkpoints: validity and revocation in the policy; audit knows them."""
    report = audited(world, tmp_path, verifiers=(), listed=listed_as(since=START))

    assert (report.divergences, report.verdict.completeness) == ([], "shown")
    assert report.keys == [str(SIGNER.verifier)]


@pytest.mark.parametrize("time", [{"since": LATEST}, {"until": START}, {"revoked": START}])
def test_checkpoints_outside_their_keys_time_break_integrity(world: World, tmp_path: Path, time: dict[str, int]):
    """A thief signs on with a key that was revoked, or somebody with one whose time has not begun."""
    report = audited(world, tmp_path, verifiers=(), listed=listed_as(**time))

    assert set(kinds(report)) >= {"checkpoint-signature"}
    assert "time is over, or has not begun" in report.divergences[0].sentence
    assert (report.verdict.integrity, report.verdict.completeness) == ("broken", "not-shown")


def test_a_key_that_is_named_by_itself_counts_at_any_time(world: World, tmp_path: Path):
    """Whoever names it vouches for it."""
    report = audited(world, tmp_path, listed=listed_as(revoked=START))

    assert report.divergences == []


def test_a_wrong_signature_of_a_key_that_was_named_breaks_integrity(world: World, tmp_path: Path):
    """Beside one whose key was not."""
    rotated(world, 0, 1)
    value = world.topics["checkpoints", 1][1].value or b""
    world.replace("checkpoints", 1, 1, value=value.replace(b"\ntime 2026", b"\ntime 2027"))

    report = audited(world, tmp_path)

    assert {(one.kind, one.lane) for one in report.divergences} >= {("checkpoint-signature", lane) for lane in (0, 1)}
    assert report.verdict.integrity == "broken"


def test_a_checkpoint_that_a_stranger_put_between_hides_no_missing_one(world: World, tmp_path: Path):
    """That the next one does not follow upon the one before it is told by itself."""
    other = parse_note(ORIGINAL.topics["checkpoints", 1][0].value or b"").text
    world.replace("checkpoints", 1, 1, value=STRANGER.sign(other).encode())

    report = audited(world, tmp_path)

    assert {"checkpoint-signature", "checkpoint-missing"} <= set(kinds(report))
    assert report.verdict.completeness == "broken"


def _stranger_of(value: bytes) -> bytes:
    return STRANGER.sign(parse_note(value).text).encode()


def _forged(value: bytes) -> bytes:
    """Under a known key's name and id, with a signature that does not hold."""
    return value.replace(b"\ntime 2026", b"\ntime 2027")


STRAYS = {
    "a stranger's": _stranger_of,
    "a forged one": _forged,
    "no note": lambda _: b"no note at all",
    "nothing": lambda _: b"",
    "a replay": bytes,
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", STRAYS)
def test_what_a_stranger_puts_between_checkpoints_is_passed_over(world: World, tmp_path: Path, name: str, place: int):
    """authority.md, «Who may say what»: «only notes that a known key signed count; others are counted, told, and passed
    over». Nobody who can write to the topic turns an audit red for good; nor where a policy lists the keys."""
    lane = world.topics["checkpoints", 1]
    original = lane[0].value or b""
    for _ in range(3):
        lane.insert(place, replace(lane[0], value=STRAYS[name](original)))
    world.renumber("checkpoints", 1)

    for asked in ({}, {"verifiers": (), "listed": listed_as()}):
        report = audited(world, tmp_path / str(len(asked)), **asked)

        assert report.divergences == []
        assert report.holds
        assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "shown")
        assert sum(report.lanes[1].passed_over.values()) == 3
        assert report.lanes[1].unverified == 0
        assert any("lane 1: 3 records among its checkpoints passed over" in line for line in lines(report))


def test_what_a_stranger_puts_behind_the_newest_is_passed_over_unless_it_could_be_the_next(
    world: World, tmp_path: Path
):
    """What could stand in the place of a checkpoint that was there diverges until the next one comes."""
    lane = world.topics["checkpoints", 1]
    lane.append(replace(lane[0], value=_stranger_of(lane[0].value or b"")))  # as if it were the first one
    world.renumber("checkpoints", 1)
    report = audited(world, tmp_path / "stray")
    assert report.divergences == []
    assert report.lanes[1].passed_over == {f"signed by {STRANGER.name}+{STRANGER.verifier.id.hex()}": 1}

    newest = world.topics["checkpoints", 1].pop(2)  # what stood before the stranger's
    world.topics["checkpoints", 1][2] = replace(newest, value=_stranger_of(newest.value or b""))
    world.renumber("checkpoints", 1)
    report = audited(world, tmp_path / "next")
    assert kinds(report) == ["checkpoint-signature"]
    assert report.verdict.completeness == "not-shown"


def test_a_stray_of_the_same_tree_hides_no_missing_checkpoint(world: World, tmp_path: Path):
    """A record that is passed over shows nothing: what other lanes name has to be there."""
    lane = world.topics["checkpoints", 1]
    stray = replace(lane[1], value=_stranger_of(lane[1].value or b""))
    del lane[1:]
    lane.append(stray)
    lane.append(replace(stray, value=_stranger_of(lane[0].value or b"")))
    world.renumber("checkpoints", 1)

    report = audited(world, tmp_path)

    assert "checkpoint-signature" in kinds(report)
    assert not report.holds


def test_passed_over_records_of_many_signers_do_not_fill_the_report(world: World, tmp_path: Path):
    """The others are counted together."""
    lane = world.topics["checkpoints", 1]
    text = parse_note(lane[0].value or b"").text
    for number in range(60):
        signer = Signer(f"sluice/{number}", bytes([number]) * 32)
        lane.insert(1, replace(lane[0], value=signer.sign(text).encode()))
    world.renumber("checkpoints", 1)

    report = audited(world, tmp_path)

    assert report.divergences == []
    assert sum(report.lanes[1].passed_over.values()) == 60
    assert len(report.lanes[1].passed_over) == MOST + 1


@pytest.mark.parametrize("topic", ["ledger", "dead-letters"])
def test_what_is_missing_in_between_breaks_completeness(world: World, tmp_path: Path, topic: str):
    """Although the end is shown."""
    del world.topics[topic, 2][1]

    report = audited(world, tmp_path)

    assert report.verdict.completeness == "broken"
    assert report.verdict.shown_until is None


def test_a_missing_block_is_named_and_where_it_was_noticed(world: World, tmp_path: Path):
    """By their heights."""
    del world.ledger(0)[4]

    (found,) = audited(world, tmp_path).divergences

    assert "block 4 is missing, which was noticed at block 5" in found.sentence


def test_a_changed_header_is_reported_by_its_name(world: World, tmp_path: Path):
    """With the part that differs on either side."""
    headers = world.topics["dead-letters", 1][0].headers
    name, value = headers[0]
    world.replace("dead-letters", 1, 0, headers=[(name, value + b"!"), *headers[1:]])

    (found,) = audited(world, tmp_path).divergences

    assert found.expected.startswith(f"header {name}, byte {len(value)}: ")
    assert found.got.endswith("!")
    assert found.expected != found.got
    assert "b'" not in found.expected + found.got


def test_a_history_that_somebody_else_signed_is_found(world: World, tmp_path: Path):
    """Everything is made anew, and signed with a key of the operator's own."""
    report = audited(World(policy=OTHER_POLICY, signer=STRANGER), tmp_path)

    assert set(kinds(report)) == {"checkpoint-signature"}


def test_a_checkpoint_that_stands_there_twice_breaks_their_chain(world: World, tmp_path: Path):
    """And one of another lane does."""
    for source in (1, 2):
        tampered = world.copy()
        tampered.topics["checkpoints", 1].append(replace(world.topics["checkpoints", source][0], offset=900))

        report = audited(tampered, tmp_path)

        assert kinds(report) == ["checkpoint-chain"]


def test_a_checkpoint_of_another_history_is_found(world: World, tmp_path: Path):
    """Signed with the right key, but for other blocks: what a key that was stolen once is good for."""
    other = World(happened=[*steps(rounds=5), Step(0, START + 10**8, checkpoint=True)])
    lane = 0
    world.topics["checkpoints", lane] = other.topics["checkpoints", lane]

    report = audited(world, tmp_path)

    assert "checkpoint-root" in kinds(report) or "checkpoint-missing" in kinds(report)


# ---------------------------------------------------------------- unreadable


def test_a_file_that_is_cut_short_is_unreadable(world: World, tmp_path: Path):
    """What could be read of it is audited."""
    folder = world.save(tmp_path)
    file = folder / "admitted-1.records"
    file.write_bytes(file.read_bytes()[:-3])

    report = asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=KEYS), "now"))

    assert "unreadable" in kinds(report)


def test_a_file_that_is_not_there_is_unreadable(world: World, tmp_path: Path):
    """The manifest names it."""
    folder = world.save(tmp_path)
    (folder / "dead-letters-1.records").unlink()

    report = asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=KEYS), "now"))

    assert "unreadable" in kinds(report)


@pytest.mark.parametrize("left", [0, 100])
def test_an_unreadable_ledger_is_one_root_cause(world: World, tmp_path: Path, left: int):
    """That blocks do not come and outputs are of none follows; it is not called empty."""
    folder = world.save(tmp_path)
    file = folder / "ledger-1.records"
    file.write_bytes(b"\xff" * 8 + file.read_bytes()[:left])

    report = asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=KEYS), "now"))

    assert kinds(report) == ["unreadable"]
    follows = report.divergences[0].follows
    assert follows["cut-tail"] == 3  # so many of its own checkpoints' sizes
    outputs = [len(world.topics[place]) for place in world.topics if place[1] == 1]
    assert follows["additional-output"] == sum(outputs) - len(world.ledger(1)) - len(world.topics["checkpoints", 1])
    assert report.verdict.completeness == "broken"
    assert "of 0 blocks" not in "\n".join(lines(report))


def test_unreadable_checkpoints_are_not_called_missing(world: World, tmp_path: Path):
    """Whether they are there nobody can tell; so nothing is shown of the end."""
    folder = world.save(tmp_path)
    (folder / "checkpoints-1.records").write_bytes(b"\xff" * 8)

    report = asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=KEYS), "now"))

    assert kinds(report) == ["unreadable"]
    assert report.divergences[0].follows["checkpoint-missing"] > 0
    assert report.verdict.completeness != "shown"


def test_root_causes_stand_first(world: World, tmp_path: Path):
    """Whatever the lane."""
    world.topics["dead-letters", 0].pop()
    world.replace("admitted", 0, 3, value=b"changed")
    del world.ledger(2)[4]

    assert kinds(audited(world, tmp_path)) == ["missing-block", "missing-output", "changed-output"]


# ---------------------------------------------------------------- what is asked about


def test_only_the_lanes_that_are_named_are_audited(world: World, tmp_path: Path):
    """What is wrong elsewhere is not told."""
    world.replace("ledger", 1, 4, value=b"no block")

    assert audited(world, tmp_path, lanes=[0, 2]).divergences == []
    assert kinds(audited(world, tmp_path, lanes=[1])) == ["changed-block"]


def test_several_processes_find_the_same(world: World, tmp_path: Path):
    """One lane each."""
    world.replace("admitted", 1, 4, value=b"changed")
    alone, together = audited(world, tmp_path), audited(world, tmp_path, processes=2)

    assert msgspec.json.encode(together) == msgspec.json.encode(alone)


@pytest.mark.parametrize(
    ("span", "found"),
    [
        (lambda time: Span(since=time + 1), []),
        (lambda time: Span(until=time - 1), []),
        (lambda time: Span(time, time), ["changed-output"]),
    ],
)
def test_a_span_of_time_restricts_what_is_reported(
    world: World, tmp_path: Path, span: Callable[[int], Span], found: Sequence[str]
):
    """Outputs of blocks outside of it are not judged, on either side; and nothing there is called missing."""
    world.replace("admitted", 2, 6, value=changed_value(world.topics["admitted", 2][6].value or b""))
    time = world.topics["admitted", 2][6].timestamp

    assert kinds(audited(world, tmp_path, span=span(time))) == found


def test_many_divergences_before_a_span_hide_none_within(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Only so many of a kind stand by themselves; what is not asked about is none of them."""
    monkeypatch.setattr(divergences, "MOST", 2)
    records = world.topics["admitted", 2]
    for place in range(len(records)):
        world.replace("admitted", 2, place, value=(records[place].value or b"") + b" ")
    last = records[-1].timestamp

    of_all, of_last = audited(world, tmp_path), audited(world, tmp_path, span=Span(since=last))

    assert [one.count for one in of_all.divergences] == [1, len(records) - 1]
    assert {one.time for one in of_last.divergences} == {last}
