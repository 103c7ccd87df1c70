"""What an explanation tells of checks: which an assertion has, what each came to, and how far it has come.

What counts and what stands the core itself says (streams/adjudication/trace.py); what an observer tells of
its looking (`detail.checks`) is its own word, of which only places and known reasons are taken over. The outcome of a
check is read from `verified` and `refuted`, as the fold reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

from msgspec import UNSET, UnsetType

from ...codecs.decode import assertion_text
from ...codecs.records import MAX_CHECKS, Assertion, CheckForm, Effect, Emission, Observation
from ...streams.adjudication.emission_state import AssertionState
from ...streams.adjudication.trace import CheckProgress, progress
from ...streams.judging.checks import Unknown, canonical, parse_check
from ...streams.judging.derivation import checks_of
from ...streams.judging.results import HeldReason
from ...streams.policy.policy import Policy
from ...streams.sanitise import Trace, clean
from . import explanation_checks
from .text import quotes, shown_check

_VALUE_CAP: Final = 2000
_REASONS: Final = frozenset(get_args(HeldReason))
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")


class Stated(NamedTuple):
    """What an emission states in one assertion, as observers take it.

    Attributes:
        text: as it was emitted.
        checks: those that it declares, or the one that its words give, as text.
        form: which of these they are.
    """

    text: str
    effect: Effect
    checks: Sequence[str]
    form: CheckForm


def stated(emission: Emission, assertion: Assertion, effect: Effect) -> Stated:
    """What an assertion states, with the checks that it has by the core's own rules."""
    text = assertion_text(emission, assertion)
    proposed = None if assertion.proposal is None else assertion.proposal.checks
    derived = checks_of(text, assertion.kind, assertion.checks or proposed or None)
    return Stated(text, effect, tuple(derived.checks), derived.form)


def checks(policy: Policy, of: Stated) -> list[explanation_checks.Check]:
    """The checks of an assertion, in their canonical form; what is no check stands as it came."""
    found: list[explanation_checks.Check] = []
    for text in of.checks:
        one = parse_check(text)
        if isinstance(one, Unknown):
            found.append(explanation_checks.Check(check=shown_check(policy, text, of.effect), unknown=one.why))
        else:
            found.append(explanation_checks.Check(check=shown_check(policy, canonical(one), of.effect)))
    return found


# ---------------------------------------------------------------- how far they have come


def counts(state: AssertionState) -> list[explanation_checks.CheckCount]:
    """For each check of an assertion how many independent classes carry it, and which verified it by name."""
    return check_counts(progress(state))


def check_counts(checks: Iterable[CheckProgress]) -> list[explanation_checks.CheckCount]:
    """How far each check has come, as the fold says it."""
    return [explanation_checks.CheckCount(counted=one.counted, k=one.k, classes=one.classes) for one in checks]


# ---------------------------------------------------------------- what an observer says of them


def observed_checks(policy: Policy, observation: Observation, of: Stated | None, *, hidden: bool) -> dict[str, Any]:
    """Members of `Observed` about checks.

    Args:
        policy: whose rules of sanitation hold.
        observation: an observer's word.
        of: what it speaks of; None where that is not known.
        hidden: the place that was looked at is not to be shown [S §12].
    """
    found: dict[str, Any] = {
        "judge": observation.judge or UNSET,
        "verified": _or_unset(observation.verified),
        "refuted": _or_unset(observation.refuted),
        "coverage": observation.coverage or UNSET,
        "unchecked": _or_unset(observation.unchecked),
        "looked_at": UNSET if hidden else _looked_at(observation),
    }
    if of is not None and observation.unchecked:
        found["left_open"] = quotes(policy, of.text, of.effect, observation.unchecked)
    if observation.verified is not None or observation.refuted is not None:
        found["checks"] = _helds(observation, of, hidden=hidden)
    return found


def rest_of(detail: dict[str, Any] | None) -> dict[str, Any] | None:
    """A detail without what `told_of` has taken over."""
    if detail is None or not isinstance(detail.get("checks"), list):
        return detail
    return {name: value for name, value in detail.items() if name != "checks"} or None


def _or_unset(value: list[Any] | None) -> list[Any] | UnsetType:
    return UNSET if value is None else list(value)


def _helds(observation: Observation, of: Stated | None, *, hidden: bool) -> list[explanation_checks.Held]:
    verified, refuted = set(observation.verified or ()), set(observation.refuted or ())
    detail: Any = (observation.detail or {}).get("checks")
    each = cast("list[Any]", detail) if isinstance(detail, list) else []
    known = len(of.checks) if of is not None else 0
    number = min(max([known, len(each) if of is None else 0, *(place + 1 for place in verified | refuted)]), MAX_CHECKS)
    found: list[explanation_checks.Held] = []
    for place in range(number):
        one = cast("dict[str, Any]", each[place]) if place < len(each) and isinstance(each[place], dict) else {}
        holds = None if (place in verified) == (place in refuted) else place in verified
        found.append(
            explanation_checks.Held(
                index=place,
                holds=holds,
                reason=_reason(one, contradicts=place in verified and place in refuted) if holds is not True else UNSET,
                check=_text(one.get("check")) if of is None else UNSET,
                place=UNSET if hidden else _place(one),
            )
        )
    return found


def _reason(one: dict[str, Any], *, contradicts: bool) -> str | UnsetType:
    if contradicts:
        return "contradicts-itself"
    reason = one.get("reason")
    return reason if isinstance(reason, str) and reason in _REASONS else UNSET


def _place(one: dict[str, Any]) -> explanation_checks.Place | UnsetType:
    lines: Any = one.get("lines")
    pair = cast("list[Any]", lines) if isinstance(lines, list) else []
    fits = len(pair) == 2 and all(type(line) is int for line in pair) and 1 <= pair[0] <= pair[1] < 2**31
    commit = one.get("commit")
    place = explanation_checks.Place(
        path=_text(one.get("path")),
        lines=(pair[0], pair[1]) if fits else UNSET,
        commit=commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else UNSET,
    )
    return UNSET if place == explanation_checks.Place() else place


def _looked_at(observation: Observation) -> dict[str, str] | UnsetType:
    if (at := observation.looked_at) is None:
        return UNSET
    texts = {"root": at.root, "path": at.path, "content": at.content, "commit": at.commit, "owner": at.owner}
    shown = {name: _text(text) for name, text in texts.items()}
    return {name: text for name, text in shown.items() if text is not UNSET} or UNSET


def _text(value: Any) -> str | UnsetType:
    """A free text of an observer's, sanitised."""
    if not isinstance(value, str) or not value:
        return UNSET
    return clean(value, "detail", _VALUE_CAP, "replace-in-words", Trace())
