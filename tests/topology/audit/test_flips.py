"""Whatever single byte of an export's records is changed, the audit finds it."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from audited_lanes import SIGNER, World
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.topology.audit.report import Report
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.export_files import file_name
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

ORIGINAL = World()
PLACES = sorted(place for place, records in ORIGINAL.topics.items() if records)


def audited(folder: Path) -> Report:
    """The report of an export."""
    return asyncio.run(audit(AuditRequest(Settings(), folder, verifiers=(SIGNER.verifier,)), "now"))


def flipped(data: bytes, at: int, mask: int) -> bytes:
    """The data with some bits of one byte changed."""
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


@cache
def exported() -> Path:
    """The original world, exported once."""
    return ORIGINAL.save(Path(tempfile.mkdtemp()))


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_any_octet_of_any_file_that_changes_is_found(data: st.DataObject):
    """Offsets, timestamps and lengths as well: the manifest has the hash of each file."""
    topic, lane = data.draw(st.sampled_from(PLACES))
    path = exported() / file_name(topic, lane)
    whole = path.read_bytes()
    at, mask = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    path.write_bytes(flipped(whole, at, mask))
    try:
        assert not audited(exported()).holds
    finally:
        path.write_bytes(whole)


@settings(max_examples=examples(120), deadline=None)
@given(st.data())
def test_any_octet_of_any_record_that_changes_is_found_without_the_manifest(data: st.DataObject):
    """Of values, keys and headers: somebody changed it where it was written, before it was exported."""
    world = ORIGINAL.copy()
    topic, lane = data.draw(st.sampled_from(PLACES))
    place = data.draw(st.integers(0, len(world.topics[topic, lane]) - 1))
    record, mask = world.topics[topic, lane][place], data.draw(st.integers(1, 255))
    if topic == "dead-letters" and b"attestations/" in dict(record.headers)["sluice-source"]:
        return  # of a lane that has no ledger: nothing says what it was
    part = data.draw(st.sampled_from([name for name in ("value", "key", "headers") if getattr(record, name)]))
    change: Any
    if part == "headers":
        which = data.draw(st.integers(0, len(record.headers) - 1))
        name, content = record.headers[which]
        at = data.draw(st.integers(0, len(content) - 1))
        change = [*record.headers[:which], (name, flipped(content, at, mask)), *record.headers[which + 1 :]]
    else:
        raw = getattr(record, part)
        change = flipped(raw, data.draw(st.integers(0, len(raw) - 1)), mask)
    world.replace(topic, lane, place, **{part: change})
    with tempfile.TemporaryDirectory() as folder:
        report = audited(world.save(Path(folder)))

    assert not report.holds
    assert report.divergences[0].lane == lane
