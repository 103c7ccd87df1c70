"""What `sluice explain` shows: what is admitted, the emitter's words, and a timeline; in colours or as plain lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, get_args

import msgspec
from msgspec import UNSET
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...streams.adjudication.check_tally import NotCountedReason
from ..settings.showing import STYLES as STATUS_STYLES
from ..settings.showing import WORDS_ALONE, classes, escaped
from .explanation import Assertion, Attempt, ClaimedLook, Event, Explanation, Input, Now, VerdictView
from .explanation_words import check_lines, observation_lines, standing_lines, verdict_lines

SENTENCES: Final[dict[str, str]] = {
    "class-unknown": "its class is of no loaded vocabulary, or a terminal",
    "absent": "the observer looked, and found nothing that bears it out",
    "terms-present": WORDS_ALONE,
    "unavailable": "the observer could not look",
    "low-confidence": "its confidence is below the policy's floor",
    "judge-not-accepted": "this policy does not take the word of whoever judged it",
    "checks-required": "it names no check, and this policy counts nothing without one",
    "writable-by-emitter": "the emitter can write to that substrate",
    "owned-by-vendor": "the emitter's vendor owns that state, or nobody says who does",
    "contradicts-itself": "it finds a check false and bears the assertion out all the same",
    "check-not-bound": "its checks speak of nothing in the sentence",
    "verifies-nothing": "it verifies no check of the assertion",
    "too-old": "older than the window of its class at emission",
    "too-late": "later than the horizon, and nothing was admitted yet",
    "not-newer": "the same class again, and no newer than what counts already",
    "not-declared": "the emitter declared no such observation",
    "declarations-only": "this policy counts declarations, not observations",
    "outweighed": "an observer has corroborated since",
    "repeated": "the same record waits already",
    "other-record": "the observer looked at another record with the same id and attempt",
    "other-checks": "the checks that the observer decided are not the assertion's",
    "not-as-signed": "the signed sighting that it carries does not bear it out",
}
assert set(SENTENCES) == set(get_args(NotCountedReason))


_WHY: Final = {
    **SENTENCES,
    "closed": "the assertion was closed",
    "waits-for-reviewer": "the assertion waits for a reviewer",
    "no-other-reviewer": "more than one reviewer is needed, and this one has spoken already or gives no name",
    "newer-attempt": "by a word of a newer attempt",
    "review-window-over": "no reviewer spoke in time",
}
_STYLES: Final = {"counted": "green", "decided": "green", "dead-letter": "red", "claimed": "bold", "ended": "dim"}


BELOW: Final = " " * 62
"""Before what stands below a moment: under what was said."""
NARROW: Final = 100
"""Columns below which a terminal gets times without their day and milliseconds."""


class Line(NamedTuple):
    """One moment: its time, its block, what happened in a word, the style of that, the rest, and what stands below."""

    at: str
    block: str
    what: str
    style: str
    rest: str
    more: list[str]


class Section(NamedTuple):
    """A heading, what stands out under it, further notes, its moments, and how it ends."""

    head: str
    first: list[str]
    notes: list[str]
    lines: list[Line]
    end: str
    style: str


def sections(explanation: Explanation) -> Iterator[Section]:
    """The story in the order of its telling: the emission, each assertion, what belongs to none."""
    notes = [_attempt(one) for one in explanation.attempts]
    last = f"block {explanation.ledger['height']}, {explanation.ledger['time']}"
    yield Section(
        f"{explanation.emission_id}: lane {explanation.lane} of {explanation.lanes}, told up to {last}",
        [],
        notes,
        [],
        "",
        "bold",
    )
    for one in explanation.assertions:
        yield _assertion(one, len(explanation.attempts) > 1)
    sources = {event.source for one in explanation.assertions for event in one.events}
    others = [_input(one) for one in explanation.inputs if one.source not in sources]
    if others:
        yield Section("inputs that changed no assertion", [], [], others, "", "bold")


def lines(explanation: Explanation) -> Iterator[str]:
    """Plain lines."""
    for place, section in enumerate(sections(explanation)):
        if place:
            yield ""
        yield section.head
        yield from (f"  {note}" for note in (*section.first, *section.notes))
        for one in section.lines:
            yield f"  {one.at:<24} {one.block:>8}  {one.what:<22} {one.rest}".rstrip()
            yield from (f"{BELOW}{more}" for more in one.more)
        if section.end:
            yield f"  {section.end}"


def show(explanation: Explanation, console: Console) -> None:
    """The same on a terminal. Cells are Text, never markup: a square bracket in an assertion is one."""
    for place, section in enumerate(sections(explanation)):
        if place:
            console.print()
        console.print(Text(section.head, style="bold"))
        for first in section.first:
            console.print(Text(f"  {first}", style=section.style))
        for note in section.notes:
            console.print(Text(f"  {note}", style="dim"))
        if section.lines:
            console.print(_table(section.lines, is_narrow=console.width < NARROW))
        if section.end:
            console.print(Text(f"  {section.end}", style=section.style))


def _table(lines: list[Line], *, is_narrow: bool) -> Table:
    """The moments; on a narrow terminal with the time of day alone, under a line with the day where that changes."""
    table = Table.grid(padding=(0, 1))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # half a span key would be another one
    day = ""
    for one in lines:
        at = one.at
        if is_narrow:
            before, (day, _, clock) = day, at.partition("T")
            at = clock[: len("09:00:00")]
            if day != before:
                table.add_row(Text(f"  {day}", style="dim"))
        table.add_row(
            Text(f"  {at}", style="dim"),
            Text(one.block, style="dim", justify="right"),
            Text(one.what, style=one.style),
            Text(one.rest),
        )
        for more in one.more:
            table.add_row("", "", "", Text(f"  {more}", style="dim"))
    return table


# ---------------------------------------------------------------- the parts


def _attempt(one: Attempt) -> str:
    by = "" if one.emitter is UNSET else " by " + ", ".join(one.emitter.values())
    after = "" if one.superseded_by is UNSET else f"; superseded by attempt {one.superseded_by}"
    number = f"{one.assertions} assertion" + ("" if one.assertions == 1 else "s")
    policy = one.policy[:19] + "…"
    return f"attempt {one.attempt}, emitted {one.emitted_at}{by}: {number}, taken in under policy {policy}{after}"


def _assertion(one: Assertion, several: bool) -> Section:
    attempt = f" of attempt {one.attempt}" if several else ""
    facts = [one.kind, f"{one.effect} effect", f"k = {one.k}"]
    if one.min_observers is not UNSET:
        facts.append(f"at least {one.min_observers} observers")
    if one.confidence is not UNSET:
        facts.append(f"confidence {one.confidence:g}")
    if one.grounded is not UNSET:
        facts.append("says that it is grounded" if one.grounded else "says that it is not grounded")
    notes = [", ".join(facts), *check_lines(one), *(_claim(claim) for claim in one.claims)]
    moments: list[Line] = []
    before: VerdictView | None = None
    for event in one.events:
        moments.append(_event(event, one, before))
        before = before if event.verdict is UNSET else event.verdict
    return Section(f"{one.span_key}{attempt}", [*standing_lines(one)], notes, moments, _end(one), _style(one.now))


def _claim(claim: ClaimedLook) -> str:
    parts = [escaped(claim.substrate_class)]
    parts += [value for value in (claim.observation_id, claim.ts) if value is not UNSET]
    if claim.locator is not UNSET:
        parts.append(_value(claim.locator))
    mark = " (a terminal)" if claim.terminal else " (of no loaded vocabulary)" if claim.unknown else ""
    mark += " (its id was computed)" if claim.computed else ""
    return f"claims {', '.join(parts)}{mark}"


def _event(event: Event, of: Assertion, before: VerdictView | None) -> Line:
    what, style, rest = str(event.what), _STYLES.get(str(event.what), ""), ""
    more: list[str] = []
    if event.verdict is not UNSET:
        what, rest = event.verdict.status, _verdict(event.verdict)
        more = [*verdict_lines(event.verdict, of, before)]
        style = STATUS_STYLES.get(what, "")
        if event.verdict.topic is not UNSET and event.verdict.topic.endswith("-requests"):
            what, style, rest = "asked", "cyan", f"{event.verdict.topic}: {_missing(event.verdict)}"
    elif event.fate is not UNSET:
        what, style = event.fate.replace("not-", "not "), _STYLES.get(event.fate, "yellow")
        rest = _arrival(event)
        if event.counted is not UNSET:
            short = "" if event.short is UNSET else f", and a check lacks {classes(event.short)}"
            rest += f": {event.counted} of {event.k}{short}"
        if event.observation is not UNSET:
            more = [*observation_lines(event.observation, of.checks, said=event.why is not UNSET)]
    elif event.why is not UNSET:
        by = "" if event.by_attempt is UNSET else f" ({event.by_attempt})"
        rest = _WHY.get(event.why, event.why) + by
    return Line(event.at, f"#{event.height}", what, style, rest, more)


def _input(one: Input) -> Line:
    rest = _arrival(one)
    if one.span_key is not UNSET:
        rest = f"{one.span_key}: {rest}"
    seen = one.observation
    more = [] if seen is UNSET else [*observation_lines(seen, [], said=one.why is not UNSET)]
    return Line(
        one.at,
        f"#{one.height}",
        one.fate.replace("not-", "not "),
        _STYLES.get(one.fate, "yellow"),
        " ".join(filter(None, (one.source, rest))),
        more,
    )


def _arrival(one: Event | Input) -> str:
    """What somebody said, and why it did not count where it did not."""
    parts: list[str] = []
    observation, review, why = one.observation, one.review, one.why
    if observation is not UNSET:
        which = "" if observation.observation_id is UNSET else f" {observation.observation_id}"
        seen = f"{escaped(observation.substrate_class)}{which}"
        parts.append(f"{observation.observer}: {observation.outcome}, {seen}, seen {observation.observed_at}")
    elif review is not UNSET:
        reason = "" if review.reason is UNSET else f" («{escaped(review.reason)}»)"
        parts.append(f"{'a reviewer' if review.reviewer is UNSET else review.reviewer}: {review.decision}{reason}")
    if why is not UNSET:
        # A dead letter's reason is none of `SENTENCES`, though `too-old` is in both: its own detail explains it.
        said = why if one.fate == "dead-letter" else _WHY.get(why, why)
        parts.append(said + ("" if one.detail is UNSET else f" ({escaped(one.detail)})"))
    return "; ".join(parts)


def _verdict(verdict: VerdictView) -> str:
    parts: list[str] = []
    if verdict.reason is not UNSET and verdict.reason != verdict.status:
        parts.append(verdict.reason)
    if verdict.basis is not UNSET:
        parts.append(f"basis {verdict.basis}")
    parts.append(
        f"{len(verdict.classes)} of {verdict.k}" + (f" ({_classes(verdict.classes)})" if verdict.classes else "")
    )
    if verdict.missing_observers is not UNSET and verdict.missing_observers:
        parts.append(f"{verdict.missing_observers} of {verdict.min_observers} observers missing")
    if verdict.disposition is not UNSET:
        parts.append(f"disposition {verdict.disposition}")
    if verdict.valid_until is not UNSET:
        parts.append(f"valid until {verdict.valid_until}")
    if verdict.topic is not UNSET:
        place = "" if verdict.ledger is UNSET else f" (output {verdict.ledger.index})"
        parts.append(f"on {verdict.topic}, revision {verdict.revision}{place}")
    return ", ".join(parts)


def _missing(verdict: VerdictView) -> str:
    missing = 0 if verdict.missing_floor is UNSET else verdict.missing_floor
    seen = [] if verdict.classes_seen is UNSET else verdict.classes_seen
    # An observer may well have been seen that contradicts it: `classes_seen` are only those that bear it out.
    return f"{missing} missing, " + (f"{_classes(seen)} seen" if seen else "nothing that bears it out")


def _classes(names: list[str]) -> str:
    return ", ".join(name.removeprefix("substrate.") for name in names)


def _style(now: Now) -> str:
    return STATUS_STYLES.get(now.status, "bold")


def _end(one: Assertion) -> str:
    """How it stands, in a sentence; the only place where a clock speaks."""
    now = one.now
    missing = f"; {one.missing_floor} of {one.k} classes missing" if one.missing_floor else ""
    said = now.status if now.reason in (UNSET, now.status) else f"{now.status}, {now.reason}"
    if now.waits_for == "evidence":
        return f"now: pending, waits for evidence until all inputs are read to {now.until}{missing}"
    if now.waits_for == "reviewer":
        return f"now: {said}; waits for a reviewer until {now.until}{missing}"
    if now.holds:
        return f"now: {said}; holds until {now.valid_until} (it is {now.as_of} by this machine's clock)"
    if now.status in ("admitted", "renewed"):
        held = f"held until {now.valid_until}, which is past by this machine's clock ({now.as_of})"
        return f"now: {said}; {held}"
    before = "" if now.valid_until is UNSET else f"; was valid until {now.valid_until}"
    return f"now: {said}{before}{missing}"


def _value(value: Any) -> str:
    return escaped(msgspec.json.encode(value).decode())
