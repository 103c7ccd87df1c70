"""Inputs that were deleted and made again: an audit lists who went on with which, and folds on behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from audited_lanes import SIGNER, World

from sluice.codecs.blocks import Event, EventKind
from sluice.codecs.ledger_statements import FORMAT, Adoption, write_adoption
from sluice.topology.audit.report import lines
from sluice.topology.audit.report_page import page
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.settings.settings import Settings

OLD, NEW = "A" * 22, "B" * 22
LANE, HEIGHT = 1, 3


class Remade(World):
    """Every topic has an id, and one lane goes on with other emissions behind block 3."""

    def _block(self, builder: Any, lane: int, time: int, events: list[Event], alter: Any) -> None:
        if builder.head.height < 0:
            builder.head = builder.head._replace(ids=dict.fromkeys(builder.fold.inputs, OLD))
        if (lane, builder.head.height) == (LANE, HEIGHT - 1):
            adoption = Adoption(v=FORMAT, topic="emissions", was=OLD, id=NEW, adopted_at="2026-11-24T09:00:00Z")
            events = [*events, Event(EventKind.ADOPT, 3, 0, time, [], *write_adoption(adoption, "sluice", None))]
        super()._block(builder, lane, time, events, alter)


def test_an_audit_lists_what_was_adopted(tmp_path: Path):
    """The block, both ids and how far the old topic was read; all that was decided behind it is compared."""
    question = AuditRequest(Settings(), Remade().save(tmp_path), verifiers=(SIGNER.verifier,))
    report = asyncio.run(audit(question, "2026-11-24T09:00:00Z"))

    assert report.divergences == []
    (adopted,) = report.lanes[LANE].adopted
    assert (adopted.height, adopted.topic, adopted.was, adopted.id) == (HEIGHT, "emissions", OLD, NEW)
    assert adopted.unread > 0
    said = f"lane {LANE} went on with another topic emissions behind block {HEIGHT}: {NEW} instead of {OLD}"
    assert any(said in line for line in lines(report))
    assert said in "".join(page(report))
    assert [lane.adopted for lane in report.lanes if lane.lane != LANE] == [[], []]
