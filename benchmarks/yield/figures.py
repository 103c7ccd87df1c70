"""What comes of the verdicts: rates with their 95 % bounds, goals, tables, and the worst verdicts (README.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from statements import Statement

MAX_TRUE_REFUTED, MAX_FALSE_WHOLE = 0.02, 0.005
"""Above these upper bounds a run has failed."""
GOALS = {
    "true refuted": "<= 1 %, bound 2 %",
    "false whole": "0, bound 0.5 %",
    "false refuted": ">= 30 % with a proposer",
    "false refuted, decidable": ">= 60 % with a proposer",
    "true whole": ">= 20 % with a proposer, >= 2 % by forms",
}
WORST = 10
FORMS = "forms"
"""The setting without a proposer."""


class Judged(NamedTuple):
    """One statement in one setting.

    Attributes:
        status: of its assertion; the worst for the reader where it was read as several: contradicted, then admitted.
        whole: it is admitted, and all of it is checked.
        decidable: a check that names something in its wrong words was decided.
        checks: what was looked at and what came of it.
    """

    setting: str
    statement: Statement
    status: str
    whole: bool
    decidable: bool
    checks: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """The statement is called false."""
        return self.status == "contradicted"


class Rate(NamedTuple):
    """A share of cases, with its one-sided 95 % bounds after Clopper and Pearson."""

    count: int
    cases: int

    @property
    def value(self) -> float:
        """The share; 0 of 0 is 0."""
        return self.count / self.cases if self.cases else 0.0

    @property
    def upper(self) -> float:
        """The largest share under which so few are seen in one of twenty runs; 1 where nothing was tried."""
        return 1.0 if self.count >= self.cases else _bound(self.count, self.cases)

    @property
    def lower(self) -> float:
        """The smallest share under which so many are seen in one of twenty runs."""
        return 0.0 if not self.count else 1 - Rate(self.cases - self.count, self.cases).upper


def _bound(count: int, cases: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        logs = [
            math.log(math.comb(cases, k)) + k * math.log(share) + (cases - k) * math.log1p(-share)
            for k in range(count + 1)
        ]
        low, high = (share, high) if math.fsum(map(math.exp, logs)) > 0.05 else (low, share)
    return high


FIGURES: dict[str, tuple[Callable[[Judged], bool], Callable[[Judged], bool]]] = {
    "true refuted": (lambda one: one.statement.label, lambda one: one.refuted),
    "false whole": (lambda one: not one.statement.label, lambda one: one.whole),
    "false refuted": (lambda one: not one.statement.label, lambda one: one.refuted),
    "false refuted, decidable": (lambda one: not one.statement.label and one.decidable, lambda one: one.refuted),
    "true whole": (lambda one: one.statement.label, lambda one: one.whole),
}
"""By name, which statements are counted, and which of them."""


def figures(judged: Iterable[Judged]) -> dict[str, dict[str, Rate]]:
    """By setting and name."""
    by_setting: dict[str, list[Judged]] = {}
    for one in judged:
        by_setting.setdefault(one.setting, []).append(one)
    return {
        setting: {name: _rate(several, *each) for name, each in FIGURES.items()}
        for setting, several in by_setting.items()
    }


def _rate(judged: Sequence[Judged], counts: Callable[[Judged], bool], hit: Callable[[Judged], bool]) -> Rate:
    cases = [one for one in judged if counts(one)]
    return Rate(sum(map(hit, cases)), len(cases))


def missed(told: dict[str, dict[str, Rate]]) -> list[str]:
    """The bounds that are missed, a sentence each."""
    bounds = {"true refuted": MAX_TRUE_REFUTED, "false whole": MAX_FALSE_WHOLE}
    return [
        f"{setting}: {name}: at most {rates[name].upper:.2%} is certain, {most:.1%} is wanted"
        for setting, rates in told.items()
        for name, most in bounds.items()
        if rates[name].upper > most
    ]


def table(told: dict[str, dict[str, Rate]]) -> list[str]:
    """The lines of the table: a figure a line, a setting a column."""
    lines = ["| | goal | " + " | ".join(told) + " |", "| --- | --- |" + " ---: |" * len(told)]
    for name, goal in GOALS.items():
        cells = [
            f"{r.value:.1%} of {r.cases} ({r.lower:.1%} to {r.upper:.1%})"
            for r in (each[name] for each in told.values())
        ]
        lines.append(f"| {name} | {goal} | {' | '.join(cells)} |")
    return lines


def by_kind(judged: Sequence[Judged], setting: str) -> list[str]:
    """The lines of a second table: what a setting says of each kind of statement."""
    kinds = sorted({(one.statement.label, one.statement.mutation) for one in judged}, reverse=True)
    lines = ["| statements | number | refuted | whole |", "| --- | ---: | ---: | ---: |"]
    for label, mutation in kinds:
        several = [
            one for one in judged
            if one.setting == setting and (one.statement.label, one.statement.mutation) == (label, mutation)
        ]  # fmt: skip
        name = "true" if label else f"false, {mutation}" if mutation else "false"
        lines.append(
            f"| {name} | {len(several)} | {sum(x.refuted for x in several)} | {sum(x.whole for x in several)} |"
        )
    return lines


def worst(judged: Iterable[Judged]) -> list[Judged]:
    """What is wrong: true statements that are called false, then false ones that are admitted."""
    wrong = [one for one in judged if (one.statement.label and one.refuted) or (not one.statement.label and one.whole)]
    return sorted(wrong, key=lambda one: (not one.statement.label, one.setting, one.statement.id))


def described(one: Judged) -> str:
    """A wrong verdict, for a person."""
    said = "true, called false" if one.statement.label else "false, admitted"
    return f"{one.setting} {one.statement.id} ({said}): {one.statement.text}\n    " + "\n    ".join(one.checks)


def stored(told: dict[str, dict[str, Rate]]) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        setting: {
            name: {"value": round(r.value, 6), "count": r.count, "cases": r.cases,
                   "lower": round(r.lower, 6), "upper": round(r.upper, 6)}
            for name, r in rates.items()
        }
        for setting, rates in told.items()
    }  # fmt: skip


def shipped(stored: dict[str, Any]) -> dict[str, Any]:
    """What of the results the distribution has: the figures of forms, and of the proposer that covers most."""
    by_setting = stored["figures"]
    best = max(by_setting, key=lambda name: by_setting[name]["true whole"]["value"])
    return {"at": stored["at"], "forms": by_setting[FORMS], "proposer": by_setting[best]}
