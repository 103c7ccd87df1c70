"""What an emitter's own session says of a statement about a result (docs/recording.md, `records.Session`).

What a session shows is no substrate [S §3]: it lies on the emitter's machine. So an emitter can only speak against
itself with it: a statement is contradicted by a run that failed, and nothing is admitted by one that passed. Pure.
"""

from __future__ import annotations

from typing import Final

from ...codecs.records import Reason, Session, SessionScope

ALL: Final = "all"


def reason_of(session: Session) -> Reason:
    """Why a statement is contradicted (`session-failed`), or else not verified, as far as its session tells."""
    if session.is_no_run:
        return "no-run"
    if not covers(session.scope, session.stated):
        return "narrower-run"
    if session.edits_after:
        return "stale-run"
    return "session-failed" if _failed(session) and not session.runs_after else "session-only"


def _failed(session: Session) -> bool:
    """Whether the run counted a failure. One that ended with 0 did not, whatever stands in its output."""
    counts = session.counts
    return counts is not None and counts.failed + counts.errors > 0 and session.exit != 0


def covers(scope: SessionScope | None, stated: SessionScope) -> bool:
    """Whether a run on `scope` ran all that is stated: each part of it, or a folder or file around it.

    Args:
        scope: of the run; None where that is not known.
        stated: what a statement speaks of.
    """
    if scope is None or scope == ALL:
        return scope is not None
    parts = [scope] if isinstance(scope, str) else scope
    wanted = [stated] if isinstance(stated, str) else stated
    return bool(wanted) and stated != ALL and all(any(is_within(one, part) for part in parts) for one in wanted)


def is_within(part: str, whole: str) -> bool:
    """Whether a path, or a test in it (`a/b.py::test_x`), is another one or lies in it."""
    whole = whole.rstrip("/")
    return part == whole or part.rstrip("/") == whole or part.startswith((f"{whole}/", f"{whole}::"))
