"""The claims in a ledger: who owned the lane when, and what an audit finds where that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited_lanes import SIGNER, STRANGER, World
from msgspec import UNSET
from msgspec.structs import replace

from sluice.codecs.blocks import Event, Header
from sluice.codecs.ledger_statements import KEY, Claim, claim_hash, write_claim
from sluice.codecs.notes import Signer, origin
from sluice.codecs.times import format_time
from sluice.topology.audit.report import Report, lines
from sluice.topology.audit.report_page import page
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.export_files import Stored
from sluice.topology.settings.settings import Settings

LANE = 1
CLAIMED_AT = (-1, 2)
"""A lane is claimed when its last block has this height."""


class Claimed(World):
    """Each lane is claimed before its first block, and again by another worker before block 3."""

    def __init__(self, signer: Signer | None = SIGNER, name: Callable[[int], Any] | None = None) -> None:
        self._by, self._name = signer, name
        self._now: dict[int, str] = {}
        super().__init__()

    def claim(self, lane: int, height: int, time: int) -> bytes:
        """The value of the claim after the block of this height."""
        number = CLAIMED_AT.index(height)
        claim = Claim(
            lane=lane, worker=f"w-{number}", member=f"m-{number}", generation=number + 1, package="1.0",
            claimed_at=format_time(time),
        )  # fmt: skip
        return write_claim(claim, origin("sluice", "ledger", lane), self._by)

    def _block(self, builder: Any, lane: int, time: int, events: list[Event], alter: Any) -> None:
        height = builder.head.height
        if height in CLAIMED_AT:
            value = self.claim(lane, height, time)
            self._put("ledger", lane, KEY, value, time)
            self._ends["ledger", lane] += 1
            self._now[lane] = claim_hash(value)

        def named(header: Header) -> Header:
            claim = self._now[lane] if self._name is None or lane != LANE else self._name(header.height)
            return replace(alter(header), claim=self._now[lane] if claim is None else claim)

        super()._block(builder, lane, time, events, named)

    def claims(self, lane: int = LANE) -> list[Stored]:
        """A lane's claims."""
        return [record for record in self.ledger(lane) if record.key == KEY]


def audited(world: World, folder: Path, **asked: Any) -> Report:
    question = AuditRequest(Settings(), world.save(folder), **{"verifiers": (SIGNER.verifier,), **asked})
    return asyncio.run(audit(question, "2026-11-21T09:00:00Z"))


def found(report: Report) -> list[tuple[str, int, int]]:
    """Kind, lane and height of what was found."""
    return [(one.kind, one.lane, one.height) for one in report.divergences]


def test_claims_hold_and_are_listed(tmp_path: Path):
    """By lane: which worker, in which generation, wrote which blocks; in the data, the text and the page."""
    world = Claimed()
    report = audited(world, tmp_path)

    assert found(report) == []
    assert (report.verdict.integrity, report.verdict.completeness) == ("holds", "shown")
    last = report.lanes[LANE].chain - 1
    claims = report.lanes[LANE].claims
    assert [(one.worker, one.member, one.generation, one.first, one.last, one.blocks) for one in claims] == [
        ("w-0", "m-0", 1, 0, 2, 3),
        ("w-1", "m-1", 2, 3, last, last - 2),
    ]
    assert {tuple(one.signed_by) for one in claims} == {(str(SIGNER.verifier),)}
    told = [line for line in lines(report) if line.startswith(f"lane {LANE} was claimed at")]
    assert f"by w-1 (generation 2, package 1.0): blocks 3 to {last}, signed by {SIGNER.verifier}" in told[1]
    assert "Who owned the lanes" in page(report)
    assert f"<td>w-1</td><td>2</td><td>1.0</td><td>3 to {last}</td>" in page(report)


def test_a_ledger_without_claims_holds_as_before(tmp_path: Path):
    """One of an earlier package, or of a broker without transactions."""
    report = audited(World(), tmp_path)

    assert (found(report), report.lanes[LANE].claims) == ([], [])
    assert "Who owned the lanes" not in page(report)


def test_a_block_of_an_earlier_claim_behind_a_later_one(tmp_path: Path):
    """A zombie that wrote after somebody else had claimed the lane: `claim-order`, at its block."""
    old = claim_hash(Claimed().claims()[0].value or b"")
    report = audited(Claimed(name=lambda height: old if height == 4 else None), tmp_path)

    assert found(report) == [("claim-order", LANE, 4)]
    assert report.verdict.integrity == "broken"


def test_a_block_that_names_no_claim_behind_one(tmp_path: Path):
    """Whoever claims nothing does not own a lane that was claimed."""
    report = audited(Claimed(name=lambda height: UNSET if height == 3 else None), tmp_path)

    assert found(report) == [("claim-order", LANE, 3)]


def test_a_block_before_the_claim_that_it_names(tmp_path: Path):
    """A claim counts from where it stands."""
    later = claim_hash(Claimed().claims()[1].value or b"")
    report = audited(Claimed(name=lambda height: later if height == 1 else None), tmp_path)

    assert found(report) == [("claim-order", LANE, 1)]


def test_a_claim_that_is_gone(tmp_path: Path):
    """Every claim that a header names is there, or `claim-missing` tells, and something is not complete."""
    world = Claimed()
    world.topics["ledger", LANE].remove(world.claims()[0])
    report = audited(world, tmp_path)

    assert found(report)[0] == ("claim-missing", LANE, 0)
    assert {kind for kind, *_ in found(report)} == {"claim-missing"}
    assert report.verdict.completeness == "broken"


@pytest.mark.parametrize("place", [0, 1])
def test_a_claim_that_stands_there_again(tmp_path: Path, place: int):
    """Copied to the end, by whoever may write to the topic: it takes the lane from nobody."""
    world = Claimed()
    copied = world.claims()[place]
    last = world.ledger(LANE)[-1]
    world.topics["ledger", LANE].append(replace(copied, offset=last.offset + 1))
    report = audited(world, tmp_path)

    assert [kind for kind, *_ in found(report)] == ["claim-order"]
    assert "stands in the ledger again" in report.divergences[0].sentence


@pytest.mark.parametrize("harm", ["changed", "of another lane", "junk", "headers"])
def test_a_claim_that_is_not_signed_as_it_stands(tmp_path: Path, harm: str):
    """`claim-signature`; the blocks that name it miss it."""
    world = Claimed()
    record = world.claims()[1]
    value = record.value or b""
    changed = {
        "changed": replace(record, value=value.replace(b'"generation":2', b'"generation":3')),
        "of another lane": replace(record, value=world.claims(0)[1].value),
        "junk": replace(record, value=b"junk"),
        "headers": replace(record, headers=[("a", b"b")]),
    }[harm]
    world.topics["ledger", LANE][world.ledger(LANE).index(record)] = changed
    report = audited(world, tmp_path)

    assert ("claim-signature", LANE) in [one[:2] for one in found(report)]
    assert report.verdict.integrity == "broken"


@pytest.mark.parametrize("signer", [STRANGER, None])
def test_a_claim_of_a_key_that_was_not_named_breaks_nothing(tmp_path: Path, signer: Signer | None):
    """It is told, once for each signer and lane with the count; a worker without a key signs nothing."""
    report = audited(Claimed(signer), tmp_path)

    told = [one for one in report.divergences if one.lane == LANE]
    assert [(one.kind, one.count) for one in told] == [("claim-signature", 2)]
    assert report.verdict.integrity == "holds"
    assert report.lanes[LANE].unverified_claims == 2


def test_a_stranger_s_claim_takes_the_lane_from_nobody(tmp_path: Path):
    """Who may write to the topic, and has no key, cannot make an owner's blocks look like a zombie's."""
    world = Claimed()
    ours = world.claims()[1]
    forged = Claimed(STRANGER).claims()[1]
    at = world.ledger(LANE).index(ours)
    world.topics["ledger", LANE].insert(at + 1, replace(forged, offset=ours.offset + 1))
    report = audited(world, tmp_path)

    assert [kind for kind, *_ in found(report)] == ["claim-signature"]
    assert report.verdict.integrity == "holds"


def test_without_keys_no_signature_is_checked(tmp_path: Path):
    """Order and presence are."""
    old = claim_hash(Claimed(STRANGER).claims()[0].value or b"")
    report = audited(Claimed(STRANGER, lambda height: old if height == 4 else None), tmp_path, verifiers=())

    assert found(report) == [("claim-order", LANE, 4)]


def test_several_processes_find_the_same(tmp_path: Path):
    """Keys pass between them as text."""
    old = claim_hash(Claimed().claims()[0].value or b"")
    world = Claimed(name=lambda height: old if height == 4 else None)
    one, several = audited(world, tmp_path / "a"), audited(world, tmp_path / "b", processes=2)

    assert found(one) == found(several) == [("claim-order", LANE, 4)]
    assert [lane.claims for lane in one.lanes] == [lane.claims for lane in several.lanes]
