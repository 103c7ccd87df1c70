"""How lanes, their checkpoints and the last audit stand, as rows and sentences for the insight page.

Nothing is audited here: a report is what `sluice audit --json` wrote, and a signature counts where its key is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ...codecs.checkpoints import parse_checkpoint
from ...codecs.errors import DoesNotHoldError
from ...codecs.notes import Verifier, parse_note, signers_of
from ...codecs.times import format_time
from ..settings.files import open_plain
from .lane_tips import LaneTip, Tips
from .queries import LaneStanding

MOST_BYTES: Final = 50_000_000
"""Of a report."""
HEADS: Final = (
    *("Decides", "Lane", "Newest block", "At", "Records in no block yet"),
    *("Blocks under a checkpoint", "Until", "Signed by"),
)
FOLDS: Final = {"ledger": "emissions", "bind-ledger": "sightings", "frame-ledger": "attestations"}
"""About what the lanes of each ledger decide."""
NO_CHECKPOINT: Final = "none"


class _Verdict(msgspec.Struct):
    integrity: str
    completeness: str
    why: str = ""


class _Counted(msgspec.Struct):
    count: int = 1


class _Report(msgspec.Struct):
    """What is shown of a report (topology/audit/report.py)."""

    at: str
    verdict: _Verdict
    ledger: str = ""
    divergences: list[_Counted] = []


_reports = msgspec.json.Decoder(_Report)


def lane_rows(
    lanes: Sequence[LaneStanding], verifiers: Sequence[Verifier], tips: Tips | None = None
) -> list[tuple[object, ...]]:
    """A row of `HEADS` for each lane.

    Args:
        lanes: as the view has them.
        verifiers: whose signatures count.
        tips: as the ledgers have them; None where they cannot be read: then the view's own knowledge is shown.
    """
    rows: list[tuple[object, ...]] = []
    for one in lanes:
        place = _told(one) if tips is None else _read(tips.get((one.ledger, one.lane)))
        rows.append((FOLDS[one.ledger], one.lane, *place, *_checkpoint(one.checkpoint, verifiers)))
    return rows


def _read(tip: LaneTip | None) -> tuple[object, str, object]:
    if tip is None:
        return "none yet", "", ""
    return tip.height, format_time(tip.time), "not known" if tip.behind is None else tip.behind


def _told(one: LaneStanding) -> tuple[object, str, str]:
    """What the topics that the view follows say, which is nothing about the lanes of other ledgers."""
    if one.height is None:
        return "not known now", "", "not known now"
    return one.height, "" if one.told_at is None else format_time(one.told_at), "not known now"


def _checkpoint(raw: bytes | None, verifiers: Sequence[Verifier]) -> tuple[object, str, str]:
    if raw is None:
        return NO_CHECKPOINT, "", ""
    try:
        note = parse_note(raw)
        checkpoint = parse_checkpoint(note.text)
    except DoesNotHoldError:
        return NO_CHECKPOINT, "", ""
    size, until = checkpoint.head.size, format_time(checkpoint.time)
    if not verifiers:
        return size, until, "not checked: --verifier names a key"
    try:
        return size, until, ", ".join(one.name for one in signers_of(note, verifiers))
    except DoesNotHoldError:
        return size, until, "none of the keys of --verifier"


def audit_says(path: Path | None) -> tuple[str, bool]:
    """What the last audit came to in one sentence, and whether that is bad news.

    Args:
        path: what `sluice audit --json` wrote; None: the service was not told of any.
    """
    if path is None:
        return "No report of an audit is named: --audit names the file that sluice audit --json wrote.", False
    try:
        with open_plain(path) as file:
            data = file.read(MOST_BYTES + 1)
        report = _reports.decode(data)
    except OSError as error:
        return f"The report of the audit cannot be read: {error.strerror}.", True
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "The file that --audit names is no report of sluice audit --json.", True
    found, verdict = sum(one.count for one in report.divergences), report.verdict
    counted = "no divergence" if not found else f"{found} divergences" if found > 1 else "1 divergence"
    is_bad = bool(found) or verdict.integrity != "holds" or verdict.completeness == "broken"
    said = f"{report.ledger or 'The ledger'} at {report.at}: integrity {verdict.integrity}, completeness "
    return f"{said}{verdict.completeness} ({verdict.why}); {counted}.", is_bad
