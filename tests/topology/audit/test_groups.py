"""What the other ledgers decided is audited as well: `grounded`, dead letters, `citations`, and their checkpoints."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sluice.codecs.blocks import Event, unseal
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, origin
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.streams.adjudication.versions import fold_version
from sluice.streams.policy.policy import Policy, Sightings
from sluice.topology.audit.lane_groups import mark_of
from sluice.topology.audit.report import Report, lines
from sluice.topology.audit.report_page import page
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine import export_files
from sluice.topology.engine.chain import BlockBuilder, ChainHead
from sluice.topology.engine.export_files import AUDITED, LATER, MANIFEST, Manifest, Stored, Writing, file_name
from sluice.topology.engine.folds import folds
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.settings.settings import Settings

T, LANES = 1_800_000_000_000, 2
KEPT = 7 * 86_400_000
SIGNER = Signer("sluice/test", b"k" * 32)
POLICY = Policy(sightings=Sightings(classes=["substrate.grep"]))
Topics = dict[tuple[str, int], list[Stored]]


def place_of(key: str) -> int:
    return PARTITIONERS["murmur2"](key.encode(), LANES)


def inputs() -> list[tuple[str, str, Any]]:
    """Topic, key and value: emissions that cite, what was seen, and attestations, of which some are stale or wrong."""
    found: list[tuple[str, str, Any]] = []
    for number in range(6):
        annotation = {"substrate_class": "substrate.grep", "observation_id": f"o-{number % 4}"}
        emission = {"emission_id": f"em-{number}", "emitted_at": format_time(T), "text": "It is so."}
        emission["assertions"] = [{"span": {"chars": [0, 9]}, "provenance": annotation}]  # type: ignore[assignment]
        found.append(("emissions", f"em-{number}", emission))
    for number in range(4):
        sighting = {"observation_id": f"o-{number}", "substrate_class": "substrate.grep", "content": "It is so."}
        found.append(("sightings", f"o-{number}", sighting | {"observed_at": format_time(T), "observer": "observer-1"}))
    for number in range(12):
        claim = "0x" + sha256(bytes([number % 4])).hexdigest()
        word = {"claim_hash": claim, "validator_did": "did:web:v.example", "verdict": "FALSE"}
        word |= {"consensus_domain": "scientific-default", "issued_at": format_time(T - (0, 5000, -1000)[number // 4])}
        found.append(("attestations", claim, word))
    found.append(("sightings", "o-9", {"no": "sighting"}))
    return found


def world(before: int = 0) -> Topics:
    """Both lanes of each group, and what stands on their topics; of attestations the ledger leaves out those before."""
    topics: Topics = {(topic, lane): [] for topic in (*AUDITED, *TOPICS) for lane in range(LANES)}

    def put(topic: str, lane: int, key: bytes | None, value: bytes, headers: Any = ()) -> None:
        records = topics[topic, lane]
        records.append(Stored(len(records), T, key, value, list(headers)))

    for topic, key, value in inputs():
        put(topic, place_of(key), key.encode(), msgspec.json.encode(value))
    for lane in range(LANES):
        put("observations", lane, b"em-0", b"an observer's", [("content-type", b"application/json")])
    for fold in folds():
        tips, previous = [Head()] * LANES, NO_CHECKPOINT
        for lane in range(LANES):
            stood = ChainHead(fold=fold_version(), positions={"attestations": before} if fold.name == "frame" else {})
            builder, previous = BlockBuilder(fold, lane, LANES, POLICY.hash, head=stood), NO_CHECKPOINT
            made = [builder.start(T, POLICY.document)]
            events: list[Event] = []
            for source, topic in enumerate(fold.inputs):
                for one in topics[topic, lane][before if topic == "attestations" else 0 :]:
                    events.append(fold.event_for(source, one.offset, T, list(one.headers), one.key, one.value))
            made += [builder.add(T + 10, T, events[:3]), builder.add(T + 20, T, events[3:]), builder.add(T + 20, T)]
            for block in made:
                put(fold.ledger, lane, None, block.data)
                for output in block.outputs:
                    spread = TOPICS[output.topic].role == "input"
                    at = place_of((output.key or b"").decode()) if spread else lane
                    put(output.topic, at, output.key, output.value, output.headers)
            tree = builder.head.tree
            tips[lane] = head = Head(tree.size, tree.root())
            name = origin("sluice", fold.ledger, lane)
            kept = [(topic, KEPT) for topic in fold.outputs]
            said = Checkpoint(name, head, builder.head.hash, T + 20, previous, tuple(tips), kept)
            put(fold.checkpoints, lane, name.encode(), SIGNER.sign(said.text()).encode())
    return topics


def audited(topics: Topics, folder: Path, **more: Any) -> Report:
    """The audit of an export of these topics."""
    folder.mkdir(exist_ok=True)
    ranges: dict[str, list[tuple[int, int]]] = {}
    for topic in (*AUDITED, *LATER):
        ranges[topic] = []
        for lane in range(LANES):
            with Writing(folder / file_name(topic, lane)) as file:
                file.write(topics[topic, lane])
            ranges[topic].append((more.get("first", {}).get(topic, 0), 1000))
    manifest = Manifest(
        broker="nowhere",
        app_id="sluice",
        ledger="ledger",
        lanes=LANES,
        exported_at=format_time(more.get("at", T)),
        ranges=ranges,
    )
    (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    request = AuditRequest(Settings(), folder, verifiers=[SIGNER.verifier], processes=more.get("processes", 1))
    return asyncio.run(audit(request, format_time(T)))


ORIGINAL = world()
BOUND_ONES = sum(mark_of(one) is not None for lane in range(LANES) for one in ORIGINAL["observations", lane])


def tampered(change: Callable[[Topics], None], folder: Path) -> Report:
    topics = copy.deepcopy(ORIGINAL)
    change(topics)
    return audited(topics, folder / "export")


def kinds(report: Report) -> set[tuple[str, str]]:
    return {(one.fold, one.kind) for one in report.divergences}


@pytest.mark.parametrize("processes", [1, 2])
def test_all_three_ledgers_hold(tmp_path: Path, processes: int):
    """Every lane of each is folded again, its outputs compared, and its end shown by a checkpoint."""
    report = audited(ORIGINAL, tmp_path, processes=processes)

    assert report.divergences == []
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "shown")
    for lanes in (report.lanes, report.bind, report.frame):
        assert [lane.lane for lane in lanes] == [0, 1]
        assert all(lane.folded == lane.blocks == 4 and lane.covered for lane in lanes)
    equal = {topic: sum(lane.topics[topic].equal for lane in report.frame) for topic in ("grounded", "dead-letters")}
    assert equal == {"grounded": 8, "dead-letters": 4}
    assert sum(lane.topics["citations"].equal for lane in report.lanes) == 6
    assert sum(lane.topics["dead-letters"].equal for lane in report.bind) == 1
    assert sum(lane.topics["observations"].equal for lane in report.bind) == BOUND_ONES == 6
    assert any(line.startswith("lane frame 1: ") for line in lines(report))
    assert '<h3>Lane bind 0: <span class="good">holds</span></h3>' in page(report)
    assert [one["fold"] for one in msgspec.to_builtins(report)["frame"]] == ["frame", "frame"]


def changed(topic: str, lane: int, place: int) -> Callable[[Topics], None]:
    def change(topics: Topics) -> None:
        record = topics[topic, lane][place]
        value = (record.value or b"").replace(b'"FALSE"', b'"VERIFIED"').replace(b'"em-', b'"em_')
        assert value != record.value
        topics[topic, lane][place] = replace(record, value=value)

    return change


def first_of(topic: str) -> int:
    return next(lane for lane in range(LANES) if len(ORIGINAL[topic, lane]) > 1)


def test_a_record_on_grounded_that_was_changed_is_found(tmp_path: Path):
    """Where it stands, and what the fold gives instead."""
    lane = first_of("grounded")

    report = tampered(changed("grounded", lane, 1), tmp_path)

    (one,) = report.divergences
    assert (one.fold, one.kind, one.place) == ("frame", "changed-output", f"grounded/{lane}/1")
    assert "FALSE" in one.expected
    assert "VERIFIED" in one.got
    assert report.verdict.integrity == "broken"


@pytest.mark.parametrize("topic", ["grounded", "citations"])
def test_a_record_that_is_gone_is_found(tmp_path: Path, topic: str):
    lane = first_of(topic)

    report = tampered(lambda topics: topics[topic, lane].pop(0) and None, tmp_path)

    assert {kind for _, kind in kinds(report)} == {"missing-output"}


@pytest.mark.parametrize("topic", ["grounded", "citations"])
def test_a_record_that_no_block_gives_is_found(tmp_path: Path, topic: str):
    """A word that nobody framed, a citation that no lane wrote."""
    lane = first_of(topic)

    def forge(topics: Topics) -> None:
        last = topics[topic, lane][-1]
        value = (
            (last.value or b"").replace(b'"FALSE"', b'"VERIFIED"').replace(b'"kind":"assertion"', b'"kind":"denial"')
        )
        value = value.replace(b"/0/", b"/0/9").replace(b"/1/", b"/1/9") if topic == "grounded" else value + b" "
        topics[topic, lane].append(replace(last, offset=last.offset + 1, value=value))

    report = tampered(forge, tmp_path)

    assert {kind for _, kind in kinds(report)} == {"additional-output"}


def test_a_citation_that_was_changed_is_found(tmp_path: Path):
    """Of whichever lane it was: here it now speaks of another emission."""
    report = tampered(changed("citations", first_of("citations"), 0), tmp_path)

    assert {kind for _, kind in kinds(report)} & {"changed-output", "missing-output"}
    assert report.verdict.integrity == "broken"


# ---------------------------------------------------------------- bound observations


def bound(topics: Topics) -> tuple[int, int]:
    """Partition and place of a bound observation."""
    found = [(lane, at) for lane in range(LANES) for at, one in enumerate(topics["observations", lane]) if mark_of(one)]
    return found[0]


def told(report: Report) -> list[tuple[str, str, str]]:
    return [(one.fold, one.kind, one.place.rpartition("/")[0]) for one in report.divergences]


def renumbered(topics: Topics, lane: int) -> None:
    records = topics["observations", lane]
    records[:] = [replace(one, offset=offset) for offset, one in enumerate(records)]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_bound_observation_that_is_gone_is_found(tmp_path: Path, processes: int):
    """Whichever partition its emission's key has put it into."""
    topics = copy.deepcopy(ORIGINAL)
    lane, at = bound(topics)
    topics["observations", lane].pop(at)

    report = audited(topics, tmp_path / "export", processes=processes)

    (one,) = report.divergences
    assert (one.fold, one.kind, one.place) == ("bind", "missing-output", f"observations/{lane}")
    assert report.verdict.integrity == "broken"


def test_a_bound_observation_without_its_mark_is_gone(tmp_path: Path):
    """Without it the record is anybody's: a mark that was taken off hides nothing."""

    def unmark(topics: Topics) -> None:
        lane, at = bound(topics)
        topics["observations", lane][at] = replace(topics["observations", lane][at], headers=[])

    assert told(tampered(unmark, tmp_path)) == [("bind", "missing-output", "observations")]


@pytest.mark.parametrize(("part", "by"), [(b'"outcome":"', b'"outcome":"x'), (b'"em-', b'"em_')])
def test_a_bound_observation_that_was_changed_is_found(tmp_path: Path, part: bytes, by: bytes):
    """What it came to, or of whom it speaks: told with the place of the first byte that differs."""
    lane, at = bound(ORIGINAL)

    def change(topics: Topics) -> None:
        record = topics["observations", lane][at]
        assert part in (record.value or b"")
        topics["observations", lane][at] = replace(record, value=(record.value or b"").replace(part, by))

    (one,) = tampered(change, tmp_path).divergences

    assert (one.fold, one.kind, one.place) == ("bind", "changed-output", f"observations/{lane}/{at}")
    assert one.expected.startswith("byte ")


def test_a_bound_observation_that_stands_twice_is_found(tmp_path: Path):
    """Though the fold counts the same observation once."""

    def double(topics: Topics) -> None:
        lane, at = bound(topics)
        topics["observations", lane].append(topics["observations", lane][at])
        renumbered(topics, lane)

    assert told(tampered(double, tmp_path)) == [("bind", "additional-output", f"observations/{bound(ORIGINAL)[0]}")]


def test_bound_observations_that_changed_places_are_found(tmp_path: Path):
    """Within one partition the lane's order is the ledger's."""

    def turn(topics: Topics) -> None:
        for lane in range(LANES):
            records = topics["observations", lane]
            marks = [(mark_of(one) or b"").split(b"/")[0] for one in records]
            for own in (b"0", b"1"):
                places = [at for at, mark in enumerate(marks) if mark == own]
                if len(places) > 1:
                    first, last = places[0], places[-1]
                    records[first], records[last] = records[last], records[first]
                    renumbered(topics, lane)
                    return
        raise AssertionError("a lane has two in one partition")

    assert {kind for _, kind, _ in told(tampered(turn, tmp_path))} == {"reordered-output"}


@pytest.mark.parametrize("mark", [b"0/2/0", b"1/2/77", b"0/999/0", b"7/2/0", b"", b"0/2", b"0/2/0 ", b"\xff", None])
@pytest.mark.parametrize("partition", range(LANES))
def test_an_observation_with_a_forged_mark_is_found(tmp_path: Path, mark: bytes | None, partition: int):
    """Whoever may write to the topic can write a header: exactly one lane tells of it, whatever it names."""

    def forge(topics: Topics) -> None:
        record = Stored(0, T, b"em-1", b'{"observer":"observer-1"}', [("sluice-bound", mark)])
        topics["observations", partition].append(record)
        renumbered(topics, partition)

    place = f"observations/{partition}"

    assert told(tampered(forge, tmp_path)) == [("bind", "additional-output", place)]


def test_what_observers_write_is_no_finding(tmp_path: Path):
    """Between bound observations, before and behind them, and with the very bytes of one that has a mark."""

    def write(topics: Topics) -> None:
        for lane in range(LANES):
            records = topics["observations", lane]
            plain = [replace(one, headers=[("content-type", b"application/json")]) for one in records]
            records[:] = [*plain, *(part for pair in zip(records, plain, strict=True) for part in pair), *plain]
            renumbered(topics, lane)

    report = tampered(write, tmp_path)

    assert report.divergences == []
    assert sum(lane.topics["observations"].equal for lane in report.bind) == BOUND_ONES


@pytest.mark.parametrize(("read_at", "early"), [(T + 2 * KEPT, 0), (T + KEPT // 2, 1)])
def test_bound_observations_that_retention_took_are_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_at: int, early: int
):
    """Where the log begins later, and they were old enough; what is gone behind that is missing."""
    monkeypatch.setattr(export_files, "now_ms", lambda: read_at)
    lane, at = bound(ORIGINAL)
    topics = copy.deepcopy(ORIGINAL)
    topics["observations", lane] = [one for one in topics["observations", lane] if one.offset > at]

    report = audited(topics, tmp_path / "export", first={"observations": at + 1}, at=read_at)

    assert [(one.kind, one.fold) for one in report.divergences] == [("deleted-early", "bind")] * early
    assert sum(one.topics["observations"].expired for one in report.bind) == 1 - early


def test_the_partition_that_cannot_be_read_is_told(tmp_path: Path):
    """By the lanes that would have had to look there."""
    audited(ORIGINAL, tmp_path)
    lane, _ = bound(ORIGINAL)
    file = tmp_path / file_name("observations", lane)
    file.write_bytes(file.read_bytes()[:-3])

    report = asyncio.run(audit(AuditRequest(Settings(), tmp_path, verifiers=[SIGNER.verifier]), format_time(T)))

    assert ("bind", "unreadable", "observations") in {
        (one.fold, one.kind, one.place.partition("/")[0]) for one in report.divergences
    }


@pytest.mark.parametrize(("fold", "source"), [("frame", b"attestations/"), ("bind", b"sightings/")])
def test_a_dead_letter_is_its_own_groups(tmp_path: Path, fold: str, source: bytes):
    """Three lanes share a partition of dead letters; each ledger answers for its own."""

    def change(topics: Topics) -> None:
        for lane in range(LANES):
            for place, record in enumerate(topics["dead-letters", lane]):
                if dict(record.headers)["sluice-source"].startswith(source):  # type: ignore[union-attr]
                    topics["dead-letters", lane][place] = replace(record, value=b"other")
                    return
        raise AssertionError("there is one")

    assert kinds(tampered(change, tmp_path)) == {(fold, "changed-output")}


@pytest.mark.parametrize("fold", ["bind", "frame"])
def test_a_forged_block_is_found(tmp_path: Path, fold: str):
    """Its successor, and the checkpoint, name another one."""
    ledger, lane = f"{fold}-ledger", 1

    def forge(topics: Topics) -> None:
        record = topics[ledger, lane][1]
        assert unseal(record.value or b"").header.height == 1
        topics[ledger, lane][1] = topics[ledger, 1 - lane][1]

    report = tampered(forge, tmp_path)

    assert report.verdict.integrity == "broken"
    assert {one.fold for one in report.divergences} == {fold}
    assert any(one.place.startswith(f"{ledger}/{lane}") for one in report.divergences)


@pytest.mark.parametrize("fold", ["bind", "frame"])
def test_a_tail_or_a_lane_that_is_gone_is_found_by_the_checkpoint(tmp_path: Path, fold: str):
    def cut(topics: Topics) -> None:
        del topics[f"{fold}-ledger", 0][-1]
        topics[f"{fold}-ledger", 1].clear()

    report = tampered(cut, tmp_path)

    assert {(fold, "cut-tail"), (fold, "lane-gone")} <= kinds(report)
    assert report.verdict.completeness == "broken"


def test_what_a_lane_without_a_ledger_framed_is_no_divergence(tmp_path: Path):
    """It stands before what the ledger gives, and is told as not audited; behind that it is one too many."""
    topics = world(before=2)
    plain = audited(topics, tmp_path / "plain")
    for lane in range(LANES):
        old = Stored(0, T, b"k", b'{"source":"attestations/%d/1"}' % lane, [])
        topics["grounded", lane] = [old, *(replace(one, offset=one.offset + 1) for one in topics["grounded", lane])]

    report = audited(topics, tmp_path / "taken-over")
    late = topics["grounded", 0]
    late.append(replace(late[0], offset=len(late)))
    forged = audited(topics, tmp_path / "forged")

    assert plain.divergences == report.divergences == []
    assert sum(lane.topics["grounded"].foreign for lane in report.frame) == LANES
    assert kinds(forged) == {("frame", "additional-output")}


def test_an_export_of_before_has_only_one_ledger(tmp_path: Path):
    """It says nothing of the other ones, and nothing is missing."""
    audited(ORIGINAL, tmp_path)
    manifest = msgspec.json.decode((tmp_path / MANIFEST).read_bytes(), type=Manifest)
    known = ("ledger", "checkpoints", "admitted", "inadmissible", "review-requests", "re-emission-requests")
    manifest.ranges = {topic: manifest.ranges[topic] for topic in (*known, "dead-letters")}
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(manifest))

    report = asyncio.run(audit(AuditRequest(Settings(), tmp_path, verifiers=[SIGNER.verifier]), format_time(T)))

    assert (report.divergences, report.bind, report.frame) == ([], [], [])
    assert report.verdict.completeness == "shown"
