"""What becomes of each assertion of an answer that is vetted: its status, what was checked, where, what was missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...codecs.records import Session

UNSETTLED: Final = "unsettled"
"""The status of an assertion that the fold said nothing about: its emission was refused as a whole."""
NOT_LOOKED_AT: Final = "not-looked-at"
ADMITTED: Final = "admitted"
BELOW_FLOOR: Final = "below-floor"
CONTRADICTED: Final = "contradicted"
UNANNOTATED: Final = "unannotated"
IN_PART: Final = "admitted in part"
"""What readers are told instead of `admitted` where the checks cover only a part of the sentence."""


SESSION: Final = "session"
"""Stands for the emitter's own session, in the place of a substrate-class."""
SESSION_REASONS: Final = ("session-failed", "session-only", "narrower-run", "stale-run", "no-run")
_INNER: Final = str.maketrans({"`": "'", "«": "‹", "»": "›"})


def session_line(session: Session, reason: str) -> str:
    """What a session shows of a statement about a result, in one sentence.

    Args:
        session: as the recorder wrote it.
        reason: that the fold gives.
    """
    kind = session.kind.replace("-", " ")
    if reason == "no-run":
        return f"the session shows no {kind} run"
    command = f", `{session.command.translate(_INNER)}`," if session.command else ""
    run = f"the last {kind} run{command}"
    if reason == "stale-run":
        noun = "file was" if session.edits_after == 1 else "files were"
        return f"{session.edits_after} {noun} changed after {run.removesuffix(',')}, which {_came_to(session)}"
    came_to = f"{run} {_came_to(session)}"
    if reason == "narrower-run":
        return f"{came_to}, and was of less than this says"
    if reason == "session-only":
        later = session.runs_after and (
            session.counts is not None and session.counts.failed + session.counts.errors > 0
        )
        return f"{came_to}, and something else was run after it" if later else f"{came_to}; only the session shows it"
    return came_to


def _came_to(session: Session) -> str:
    """How a run ended: «failed: 2 of 40»."""
    counts = session.counts
    if counts is None:
        return "has no result" if session.exit is None else f"ended with {session.exit}"
    failed = counts.failed + counts.errors
    if not failed:
        return f"passed: {counts.passed}" if counts.passed else "found nothing"
    return f"failed: {failed} of {failed + counts.passed}" if counts.passed else f"failed: {failed}"


class Place(NamedTuple):
    """Where an observer looked, and what came of it there.

    Attributes:
        substrate_class: who looked.
        outcome: of the whole observation.
        path: the file; None where it is about none.
        lines: the first and the last one, from 1.
        commit: None for a working tree.
    """

    substrate_class: str
    outcome: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    commit: str | None = None


class Missing(NamedTuple):
    """What an observer did not find, or found otherwise.

    Attributes:
        substrate_class: who looked; empty where nobody did, `session` for the emitter's own session.
        reason: in words.
        check: the check that does not hold.
        terms: words of the sentence that are not there.
        path: the file that the reason speaks of.
        lines: where it stands otherwise.
        found: the line that stands there instead; untrusted text.
    """

    substrate_class: str
    reason: str
    check: str | None = None
    terms: Sequence[str] = ()
    path: str | None = None
    lines: tuple[int, int] | None = None
    found: str = ""

    @property
    def head(self) -> str:
        """What stands before it where people read it."""
        return SESSION if self.substrate_class == SESSION else "missing"


class Verdict(NamedTuple):
    """One assertion and what became of it.

    Attributes:
        emission_id: of its emission.
        span: its place in the emission's text, as the record has it.
        text: its words; a stranger wrote them.
        status: as in docs/reference/records.md, but `admitted` also where more evidence came later; or `unsettled`.
        reason: the fold's word for why; empty where it has none.
        rendered: what was checked and verified, a sentence each.
        seen: where, best first.
        missing: what was not found.
        record: the last output record; None where there is none.
        file: that it stands in, as it was named; empty where nobody named one.
        turn: of the transcript, from 1; None for a plain answer.
    """

    emission_id: str
    span: Any
    text: str
    status: str
    reason: str
    rendered: Sequence[str]
    seen: Sequence[Place]
    missing: Sequence[Missing]
    record: dict[str, Any] | None
    file: str = ""
    turn: int | None = None

    @property
    def unsupported(self) -> bool:
        """No observer bore any of it out, and none found it false."""
        return self.status not in (ADMITTED, CONTRADICTED) and not (self.record or {}).get("classes")

    @property
    def not_looked_at(self) -> bool:
        """No observer could look: a bound, a closed root, or a record that the fold refuses."""
        return self.status == UNSETTLED or (self.reason == NOT_LOOKED_AT and bool(self.missing))

    @property
    def in_part(self) -> bool:
        """It is admitted, but its checks say only a part of what its words say (docs/checks.md, coverage)."""
        return self.status == ADMITTED and (self.record or {}).get("coverage") == "part"

    @property
    def label(self) -> str:
        """The status as readers are told it."""
        return IN_PART if self.in_part else self.status

    @property
    def shown(self) -> str:
        """The words as readers are shown them: `[unchecked]` stands for what an admission does not cover."""
        if not self.in_part or self.record is None:
            return self.text
        return str(self.record["_untrusted_text"].get("assertion", ""))

    @property
    def unchecked(self) -> list[str]:
        """The words that an admission does not cover."""
        spans = (self.record or {}).get("unchecked", []) if self.in_part else []
        return [self.text[start:end] for start, end in spans]

    def form(self) -> dict[str, Any]:
        """The verdict as a JSON-ready object: the members of the last output record (docs/reference/records.md), where
        there is one, and what vetting adds. Members without a value are left out.

        `status` is the record's, but `admitted` for `renewed`, and `unsettled` where there is no record.
        """
        return {
            "emission_id": self.emission_id,
            "span": self.span,
            **({"reason": self.reason} if self.reason else {}),
            **(self.record or {}),
            "status": self.status,
            **({"file": self.file} if self.file else {}),
            **({} if self.turn is None else {"turn": self.turn}),
            "statement": self.text,
            **({"shown": self.shown, "not_checked": self.unchecked} if self.in_part else {}),
            "rendered": list(self.rendered),
            "seen": [_members(one) for one in self.seen],
            "missing": [_members(one) for one in self.missing],
        }

    def slim(self) -> Verdict:
        """The verdict with as much of its record as people are shown: for who keeps many."""
        if self.record is None:
            return self
        frame = self.record["_untrusted_text"]
        kept = {name: self.record[name] for name in ("classes", "k", "coverage", "unchecked") if name in self.record}
        return self._replace(record={**kept, "_untrusted_text": {"assertion": frame.get("assertion", "")}})


def _members(one: Place | Missing) -> dict[str, Any]:
    return {name: value for name, value in one._asdict().items() if value not in (None, (), "")}
