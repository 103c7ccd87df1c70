"""`sluice explain` in words: what an observer found, what was verified of a decision, how far each check had come.

An emitter's words are sanitised as in the outputs, and what no check speaks of is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.records import CheckForm, CoverageLevel, Effect
from ...streams.adjudication.check_tally import merged
from ...streams.adjudication.decision_json import CAP as CHECK_CAP
from ...streams.adjudication.decision_json import without
from ...streams.judging.checks import HeldReason
from ...streams.judging.verify import AbsentReason
from ...streams.policy.policy import Policy
from ...streams.sanitise import Trace, Treatment, clean, treatment_of
from ..settings.showing import HELD, WORDS, WORDS_ALONE, basis_from, classes, escaped
from .explanation import Assertion, Check, CheckCount, CheckPlace, CheckResult, Observed, VerdictView

OPEN: Final = "\u27e6"
CLOSE: Final = "\u27e7"
"""Around what no check speaks of. An emitter's own are shown as square brackets."""
_OWN_MARKS: Final = str.maketrans({OPEN: "[", CLOSE: "]"})
MOST_QUOTES: Final = 10
"""So many parts of a sentence are quoted for one observation."""
_NO_CAP: Final = 10_000_000

Spans = Sequence[tuple[int, int]]


def treatment(policy: Policy, effect: Effect) -> Treatment:
    """What becomes of look-alikes: what `reject` refuses is shown all the same, and replaced."""
    return treatment_of(policy.sanitation.confusables.of(effect), "word")


def shown_text(policy: Policy, text: str, effect: Effect) -> str:
    """Returns an assertion's `text` as its outputs would have it, by its `effect` and the sanitation of `policy`."""
    return clean(text, "assertion", policy.sanitation.caps["assertion"], treatment(policy, effect), Trace())


def shown_check(policy: Policy, text: str, effect: Effect) -> str:
    """Returns the `text` of a check as its outputs would have it, by the assertion's `effect` and the sanitation of
    `policy`.
    """
    return clean(text, "checked", CHECK_CAP, treatment(policy, effect), Trace())


def marked(policy: Policy, text: str, effect: Effect, unchecked: Iterable[tuple[int, int]]) -> str:
    """Returns the text with what no check speaks of in double brackets.

    `unchecked` are code points of `text`, as it was emitted, none at all where nothing of it was checked; `policy` and
    `effect` say how it is sanitised.
    """
    kept = plain(text[: policy.sanitation.caps["assertion"]])
    spans = _within(unchecked, len(text)) or [(0, len(text))]
    given, past, pieces = treatment(policy, effect), 0, list[str]()
    for start, end in _within(spans, len(kept)):
        pieces += (_piece(kept[past:start], given), f"{OPEN}{_piece(kept[start:end], given)}{CLOSE}")
        past = end
    whole = "".join((*pieces, _piece(kept[past:], given)))
    if clean(whole, "assertion", _NO_CAP, given, Trace()) != whole:
        return shown_text(policy, plain(without(text, spans)), effect)
    return whole if len(kept) == len(text) else f"{whole}…"


def plain(text: str) -> str:
    """A text without double brackets of its emitter's own: they would say that the rest of it was checked."""
    return text.translate(_OWN_MARKS)


def quotes(policy: Policy, text: str, effect: Effect, unchecked: Iterable[tuple[int, int]]) -> list[str]:
    """Returns the `unchecked` parts of a `text`, at most `MOST_QUOTES`, as `shown_text` shows them by `policy` and
    `effect`.
    """
    return [shown_text(policy, text[start:end], effect) for start, end in _within(unchecked, len(text))[:MOST_QUOTES]]


def _within(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Those that lie in a text, cut to it, in order; an observer may have sent any."""
    return merged([(start, min(end, length)) for start, end in spans if 0 <= start < min(end, length)])


def _piece(text: str, given: Treatment) -> str:
    return clean(text, "assertion", _NO_CAP, given, Trace())


SHORT: Final = 100
"""Characters of a check, where it is only named: it stands in full under its assertion."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9._/@+=~-]+|sha256:[0-9a-f]{64}")

UNDECIDED: Final[Mapping[str, str]] = {
    "not-found": "it was not found",
    "differs": "something else stands there",
    "ambiguous": "there is more than one",
    "computed": "its value is computed",
    "incomparable": "the two values have no order",
    "syntax-error": "the file has a syntax error there",
    "unlisted-language": "not of a language that such checks know",
    "no-grammar": "the parser of its language is not installed",
    "too-large": "too much to be looked through",
    "not-whole": "it was not read whole",
    "other-substrate": "not for this class to decide",
    "unknown-check": "not a check that the observer knows",
    "path-missing": "the file is not there",
    "changed-since": "the file has changed since",
    "denial": "a denial is not borne out by it",
    "moved": "it stands elsewhere in the file",
    "assigned-elsewhere": "its value may be changed elsewhere in the file",
    "outside-locator": "it stands outside of what the annotation says was looked at",
    "not-committed": "what stands there is not committed",
}
"""Why a check does not hold (streams/judging/checks.py)."""
assert set(UNDECIDED) == set(get_args(HeldReason))
CONTRADICTS_ITSELF: Final = "the observer says both"

ABSENT: Final[Mapping[str, str]] = {
    "terms-missing": "its words are not there",
    "check-fails": "what a check asks for was not found",
    "check-undecided": "no check of it could be decided",
    "check-not-bound": "its checks speak of nothing in the sentence, or say the opposite",
    "changed-since": "a check is false now, but the file has changed since",
    "path-missing": "the file is not there",
    "outside-locator": "what decides it stands outside of what the annotation says was looked at",
}
"""Why an observation is `absent` (streams/judging/verify.py)."""
assert set(ABSENT) == set(get_args(AbsentReason))

COVERAGE: Final[Mapping[CoverageLevel, str]] = {
    "whole": "its checks speak of the whole sentence",
    "part": "its checks speak of a part of the sentence",
    "none": "its checks speak of nothing in the sentence",
}
FORMS: Final[Mapping[CheckForm, str]] = {
    "declared": "declared by the emitter",
    "claim": "read from its words",
    "none": "",
}
REASONS: Final[Mapping[str, str]] = {
    "partly-checked": "its checks hold, but speak of less of the sentence than this policy wants",
    "not-checked": WORDS_ALONE,
    "not-looked-at": "no observer has looked at it",
    "session-failed": "the last run in its emitter's own session failed",
    "session-only": "its emitter's own session shows a run of it, and no observer does",
    "narrower-run": "the last run in its emitter's session was of less than it says",
    "stale-run": "files were changed behind the last run in its emitter's session",
    "no-run": "its emitter's session shows no run of it",
}
"""Reasons of the decision table that say how much was checked, or what the emitter's own session shows."""


# ---------------------------------------------------------------- an assertion


def standing_lines(one: Assertion) -> Iterator[str]:
    """What is admitted of an assertion, or was, or why nothing is; then its emitter's words."""
    decided = [verdict for verdict in one.verdicts if not _only_done(verdict)]
    held = [verdict for verdict in decided if verdict.status in HELD]
    last = held[-1] if held else decided[-1] if decided else None
    if last is not None:
        sentences, mark = _basis(last)
        before = "" if not held else "admitted: " if one.now.holds else "was admitted: "
        yield from (f"{before}{escaped(sentence)}" for sentence in sentences or [mark])
    yield f"{WORDS}: «{_prose(one, last)}»"


def _prose(one: Assertion, verdict: VerdictView | None) -> str:
    """The emitter's words; what no check speaks of is marked, where a decision says what that is."""
    marked = UNSET if verdict is None else verdict.marked
    return escaped(plain(one.text) if marked is UNSET else marked)


def check_lines(one: Assertion) -> Iterator[str]:
    """The checks of an assertion, in full."""
    for place, check in enumerate(one.checks):
        unknown = _known(check)
        said = f"{unknown}: the others admit nothing beside it" if unknown else FORMS[one.form]
        yield f"check {place} {_quoted(check.check)}: {said}"


def _known(check: Check) -> str:
    return "" if check.unknown is UNSET else f"not a check that this version knows ({check.unknown})"


# ---------------------------------------------------------------- an observation


def observation_lines(seen: Observed, checks: Sequence[Check], *, said: bool) -> Iterator[str]:
    """Yields what an observer found, by the assertion's `checks` (empty where that is not known).

    `said`: the outcome of `seen` has been told in words already.
    """
    words = _outcome(seen)
    if words and not (said and words == WORDS_ALONE):
        yield words
    for held in [] if seen.checks is UNSET else seen.checks:
        yield f"{_name(held, checks)}: {_came_to(held)}{_at(held.place)}"
    if seen.coverage is not UNSET:
        yield f"coverage {seen.coverage}: {COVERAGE[seen.coverage]}"
    quoted = [] if seen.left_open is UNSET else seen.left_open
    yield from (f"unchecked: «{escaped(quote)}»" for quote in quoted)
    more = 0 if seen.unchecked is UNSET or not quoted else len(seen.unchecked) - len(quoted)
    if more > 0:
        yield f"unchecked: {more} more"
    if seen.judge is not UNSET:
        yield f"judged by {seen.judge}"
    if seen.looked_at is not UNSET:
        yield f"looked at {_looked_at(seen.looked_at)}"


def _outcome(seen: Observed) -> str:
    """The outcome in words; empty where it says all by itself."""
    names_checks = seen.verified is not UNSET or seen.refuted is not UNSET
    if seen.outcome == "corroborates":
        return "bears it out by checks" if names_checks else "bears it out as a whole, naming no check"
    if seen.outcome == "contradicts":
        return "a check is false there" if names_checks else "says otherwise, naming no check"
    if seen.outcome == "terms-present":
        return WORDS_ALONE
    if seen.outcome == "absent":
        detail = cast("dict[str, Any]", seen.detail) if isinstance(seen.detail, dict) else {}
        reason = detail.get("reason")
        return ABSENT.get(reason, "") if isinstance(reason, str) else ""
    return "there is no such observation there" if seen.outcome == "unknown-observation" else ""


def _came_to(held: CheckResult) -> str:
    why = "" if held.reason is UNSET else UNDECIDED.get(held.reason, CONTRADICTS_ITSELF)
    if held.holds is None:
        return "undecided" + (f": {why}" if why else "")
    if held.holds:
        return "holds"
    return "is false" + (f" ({why})" if why and held.reason != "differs" else "")


def _at(place: CheckPlace | UnsetType) -> str:
    """Where, behind what a check came to."""
    if place is UNSET:
        return ""
    lines = "" if place.lines is UNSET else "-".join(map(str, dict.fromkeys(place.lines)))
    if place.path is UNSET:
        where = f"line {lines}" if lines else ""
    else:
        where = _path(place.path) + (f":{lines}" if lines else "")
    commit = "" if place.commit is UNSET else f"commit {place.commit}"
    return " at " + ", ".join(one for one in (where, commit) if one)


def _looked_at(place: Mapping[str, str]) -> str:
    named = ("root", "path", "commit", "content", "owner")
    return ", ".join(f"{name} {_path(place[name])}" for name in named if name in place)


def _path(text: str) -> str:
    """A path, in quotes where it has characters that could be read as ours."""
    return text if _PLAIN.fullmatch(text) else _escaped(msgspec.json.encode(text).decode())


# ---------------------------------------------------------------- a decision


def verdict_lines(one: VerdictView, of: Assertion, before: VerdictView | None) -> Iterator[str]:
    """Yields what was verified when the decision `one` on `of` was made; nothing that the one `before` has said
    already.
    """
    if _only_done(one):
        return
    if one.reason is not UNSET and one.reason in REASONS:
        yield REASONS[one.reason]
    again = before is not None and (one.rendered, one.marked, one.basis) == (
        *(before.rendered, before.marked),
        before.basis,
    )
    if not again:
        yield from _verified(one, of)
    yield from _count_lines(one, of)


def _verified(one: VerdictView, of: Assertion) -> Iterator[str]:
    sentences, mark = _basis(one)
    for sentence in sentences:
        yield f"admitted: {escaped(sentence)}" if one.status in HELD else escaped(sentence)
    if sentences:
        yield f"{WORDS}: «{_prose(of, one)}»"
    elif mark != REASONS.get(one.reason or ""):
        yield mark


def _basis(one: VerdictView) -> tuple[Sequence[str], str]:
    """The sentences that were verified, else on what the decision rests (showing.py)."""
    return basis_from(
        one.status,
        "" if one.basis is UNSET else one.basis,
        "" if one.reason is UNSET else one.reason,
        [] if one.rendered is UNSET else one.rendered,
        [number for number in map(_by_name, [] if one.checks is UNSET else one.checks) if number],
        closed=one.topic == "admitted",
        seen=len(one.classes),
    )


def _by_name(count: CheckCount) -> int:
    return len(count.classes)


def _only_done(one: VerdictView) -> bool:
    """Whether a word says what is done about a decision, and decides nothing itself."""
    return one.basis == "policy" or (one.topic is not UNSET and one.topic.endswith("-requests"))


def _count_lines(one: VerdictView, of: Assertion) -> Iterator[str]:
    """How far each check had come; nothing of an assertion that declares none, where none was verified by name."""
    counts = [] if one.checks is UNSET else one.checks
    for place, count in enumerate(counts):
        known = of.checks[place] if place < len(of.checks) else None
        name = f"check {place}" + (f" {_quoted(_short(known.check))}" if known is not None else "")
        unknown = "" if known is None else _known(known)
        yield f"{name}: {unknown or _counted(count)}"


def _counted(count: CheckCount) -> str:
    names, counted = ", ".join(name.removeprefix("substrate.") for name in count.classes), count.counted
    by_name = len(count.classes)
    said = f"{counted} of {classes(count.k)}"
    if counted < by_name:
        return f"{said}, counting as one what is not independent: {names}"
    if counted > by_name:
        others = f"{counted - by_name} without naming a check"
        return f"{said}: {names}, and {others}" if names else f"{said}, {others}"
    return f"{said}: {names}" if names else said


# ---------------------------------------------------------------- a check


def _name(held: CheckResult, checks: Sequence[Check]) -> str:
    text = checks[held.index].check if held.index < len(checks) else held.check
    return f"check {held.index}" + ("" if text is UNSET else f" {_quoted(_short(text))}")


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"


def _quoted(text: str) -> str:
    """A check in backticks."""
    return f"`{_escaped(text)}`"


def _escaped(text: str) -> str:
    """With backticks escaped as well: in a check they stand within JSON strings, where that is the same character."""
    return escaped(text).replace("`", "\\u0060")
