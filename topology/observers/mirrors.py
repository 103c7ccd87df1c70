"""What a mirror cannot say before it was brought up to date: that something is not, or is otherwise (observing.md)."""

from __future__ import annotations

from ...streams.judging.checks import Check
from ...streams.judging.outcomes import Judged
from .ask import Ask, Finding
from .history import ON_COMMITS
from .looked_root import Site
from .place_findings import is_negative


def unless_stale(ask: Ask, site: Site, finding: Finding) -> Finding:
    """A mirror that was not refreshed since proves no absence: of an observation, of what is denied, of a newer file.

    Of a commit that the locator names everything is what it ever was.
    """
    unknown = finding.outcome == "unknown-observation"
    named = ask.locator.get("commit") is not None
    if not unknown and (named or finding.judged is None or not _needs_all(ask, finding, finding.judged)):
        return finding
    if not site.is_older(ask.since, ask.budget):
        return finding
    return Finding("unavailable", reason="the mirror was not refreshed since the annotation's ts")


def _needs_all(ask: Ask, finding: Finding, found: Judged) -> bool:
    """Whether newer commits could make it another finding; what git records of a commit never changes."""
    checks = ask.question.checks
    newer = [place for place, check in enumerate(checks) if isinstance(check, Check) and check.name not in ON_COMMITS]
    if finding.outcome == "contradicts":
        return newer != [] and set(found.refuted) <= set(newer)
    return any(place in newer and is_negative(checks[place]) for place in found.verified)
