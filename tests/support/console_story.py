"""The time line of an emission of the console's records, told from a ledger that has folded them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from builders import emission_value, observation_value, review_value
from console_records import CHECKS, CLASSES, console_emission, span
from exported import ExportedLane, explanation_of, lane_of
from hostile_texts import TEXTS
from msgspec.structs import replace

from sluice.codecs.times import format_time
from sluice.topology.audit.explanation import Explanation


def console_lane(emission_id: str, now: int, lanes: int = 1) -> ExportedLane:
    """The lane of an emission whose first sentence was claimed, verified by two observers, and admitted; a third one
    did not find it.

    Args:
        emission_id: of the emission.
        now: Unix ms; the emission came a minute before.
        lanes: how many there are.
    """
    emitted = now - 60_000
    emission = console_emission(emission_id, "docs-bot", emitted).value
    about = {"emission_id": emission_id, "span": {"chars": span(0)}}
    place = {"path": "settings.py", "lines": [14, 14]}
    detail = {"checks": [{"check": CHECKS[0], "holds": True, **place}], "found": ["RETRIES"], "missing": []}
    seen = [
        observation_value(name, **about, at=emitted + 1000 * number, observer=f"observer-{number}", **more)
        for number, name, more in (
            (2, CLASSES[0], {"verified": [0], "coverage": "whole", "detail": detail}),
            (3, "substrate.git.log", {"verified": [0], "coverage": "whole", "detail": detail}),
        )
    ]
    late = observation_value("substrate.grep", "absent", **about, at=emitted + 4000)
    lane = ExportedLane(start=emitted - 1000, lane=lane_of(emission_id, lanes), lanes=lanes)
    lane.block(emitted, [("emissions", emission)])
    for number, one in enumerate([*seen, late]):
        lane.block(emitted + 3000 + 1000 * number, [("observations", one)])
    return lane


def hostile_lane(emission_id: str, now: int, lanes: int = 1) -> ExportedLane:
    """The lane of an emission whose sentences, observers' words and reviews are those of `hostile_texts`.

    Args:
        emission_id: of the emission.
        now: Unix ms; the emission came a minute before.
        lanes: how many there are.
    """
    emitted, at = now - 60_000, 0
    spans: list[list[int]] = []
    for text in TEXTS.values():
        spans.append([at, at + len(text)])
        at += len(text) + 1
    assertions = [
        {"span": {"chars": one}, "provenance": {"substrate_class": "substrate.grep", "locator": {"path": text[:900]}}}
        for one, text in zip(spans, TEXTS.values(), strict=True)
    ]
    emission = emission_value(emission_id, " ".join(TEXTS.values()), at=format_time(emitted), assertions=assertions)
    lane = ExportedLane(start=emitted - 1000, lane=lane_of(emission_id, lanes), lanes=lanes)
    lane.block(emitted, [("emissions", emission)])
    for number, (one, text) in enumerate(zip(spans, TEXTS.values(), strict=True)):
        about = {"emission_id": emission_id, "span": {"chars": one}}
        short = text[:900]
        place = {"check": short, "holds": False, "path": short, "reason": short, "commit": short[:64]}
        detail = {"checks": [place], "found": [short], "missing": [short], "reason": short}
        looked = {"root": short[:256], "path": short}
        seen = observation_value(
            "substrate.grep", "absent", **about, at=emitted + 1000, detail=detail, looked_at=looked
        )
        review = review_value("refuse", **about, attempt=0, reviewer="ada", reason=short)
        lane.block(emitted + 2000 + number, [("observations", seen), ("reviews", review)])
    return lane


async def console_story(emission_id: str, span_key: str | None, now: int) -> Explanation:
    """What `sluice explain` tells from that lane.

    Args:
        emission_id: of the emission.
        span_key: of one of its sentences; None for all.
        now: Unix ms.
    """
    lane = console_lane(emission_id, now)
    with tempfile.TemporaryDirectory() as folder:
        told = await explanation_of(lane, Path(folder), emission_id, span_key, now)
    # The policy's hash is its own business: a further key of the reference policy changes nothing that is drawn.
    told.attempts = [replace(one, policy="sha256:" + "5b1c2d3" * 9 + "f") for one in told.attempts]
    return told
