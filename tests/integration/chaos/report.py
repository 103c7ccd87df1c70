"""The report of a run: what was done, what came of it, and the one line that says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .broker_faults import NODES
from .check import Verdict
from .schedule import KINDS
from .told import Told


class RunReport(NamedTuple):
    """How a run ended: the last line, and whether all was as it should be."""

    line: str
    good: bool


def _spread(seconds: list[float]) -> dict[str, float]:
    """How many there are, and their middle, 99th percentile and greatest, in seconds."""
    ranked = sorted(seconds) or [0.0]
    at = {"p50": len(ranked) // 2, "p99": min(len(ranked) - 1, len(ranked) * 99 // 100), "max": -1}
    return {"count": len(seconds), **{name: round(ranked[place], 2) for name, place in at.items()}}


def write_report(
    path: Path, arguments: Mapping[str, Any], began: str, seconds: float, told: Told, verdict: Verdict
) -> RunReport:
    """Writes the report.

    Args:
        path: of the file.
        arguments: of the run.
        began: RFC 3339.
        seconds: it took, with the start of the brokers and the verdict.
        told: the books of the faults.
        verdict: the judge's.
    """
    complaints = [*verdict.complaints, *told.complaints]
    document = {
        "began": began,
        "seconds": round(seconds),
        "brokers": NODES,
        **{name: arguments[name] for name in ("seed", "minutes", "workers", "rate", "short")},
        "faults": told.done.total(),
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "complaints": complaints,
        "kinds": {name: {"count": told.done[name], "what": kind.what} for name, kind in KINDS.items()},
        "figures": verdict.figures,
        "take_overs_beside_a_frozen_node": _spread(told.take_overs),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    line = f"faults={told.done.total()} lost={verdict.lost} doubled={verdict.doubled}"
    return RunReport(line, not (verdict.lost or verdict.doubled or complaints))
