"""Runs the conformance tests and says how far we conform: `make conformance`.

One run of `tests/conformance`, counted twice: by category of the adversarial corpus [V §9], whose pass rate an adapter
must publish, and in all. Public test data and Unicode's own are categories too. Then every case that failed, every
deviation from the letter on purpose, with its section, and the number of tests: the last line is `N passed, M failed`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "conformance" / "corpus"
_CASE = re.compile(r"test_sanitation_\w+\.py::test_\w+\[(?P<category>[a-z-]+)/[^\]]*\]$")
SECTIONS = (
    ("Adversarial corpus [V §9]", ""),
    ("Public test data [V §9]", "public-"),
    ("Unicode's own data [V §4.2, §4.3]", "unicode-"),
)
"""The headings of the report, and how the categories below each begin; the first has all that are left."""


class Part(NamedTuple):
    """What one test adds to its category: how many cases it went over, and how many of them held."""

    category: str
    cases: int
    held: int


def part_of(report: pytest.TestReport) -> Part | None:
    """A test of one case has its category before the slash in its id; one of many tells it by its properties."""
    properties = dict(report.user_properties)
    if "category" in properties:
        return Part(str(properties["category"]), int(str(properties["cases"])), int(str(properties["passed"])))
    found = _CASE.search(report.nodeid)
    return Part(found["category"], 1, int(report.passed)) if found else None


class Tally:
    """A pytest plugin that counts tests by outcome, and cases by category of the corpus."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.cases: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.deviating: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Called by pytest for each file; one that cannot be imported counts as a failure."""
        self.failed += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each phase of each test; set-up and tear-down count only where they fail."""
        if report.when != "call" and not report.failed:
            return
        self.passed += report.passed
        self.failed += report.failed
        part = part_of(report)
        if part is None:
            return
        self.cases[part.category] += part.cases
        self.held[part.category] += part.held
        if report.failed:
            self.deviating.append(f"{report.nodeid.partition('::')[2]}  {_first_line(report)}")


def _first_line(report: pytest.TestReport) -> str:
    """What pytest's own summary says of a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", "")).partition("\n")[0][:160]


def section_of(category: str) -> str:
    """The heading under which a category stands."""
    return next((title for title, prefix in SECTIONS if prefix and category.startswith(prefix)), SECTIONS[0][0])


def print_rates(tally: Tally) -> None:
    """The pass rate of each category, under its heading, and of all below the heading."""
    for title, _ in SECTIONS:
        categories = sorted(name for name in tally.cases if section_of(name) == title)
        print(f"\n{title}")
        for category in categories:
            print_rate(category, tally.held[category], tally.cases[category])
        print_rate(
            "together", sum(tally.held[name] for name in categories), sum(tally.cases[name] for name in categories)
        )


def print_rate(name: str, held: int, cases: int) -> None:
    # Rounded down: 100.0 % is said only of what has no failure.
    print(f"  {name:30} {held:9,} of {cases:9,}  {held * 1000 // max(cases, 1) / 10:5.1f} %")


def main(arguments: list[str]) -> int:
    tally = Tally()
    status = pytest.main(["-q", "--no-header", str(ROOT / "tests" / "conformance"), *arguments], plugins=[tally])
    print_rates(tally)
    print("\nDeviations, not on purpose")
    print("\n".join(f"  {one}" for one in tally.deviating) or "  none")
    print("\nDeviations from the letter, on purpose")
    for deviation in json.loads((CORPUS / "deviations.json").read_text())["deviations"]:
        print(f"  {deviation['name']} {deviation['section']}")
        print(f"    letter: {deviation['contract']}")
        print(f"    ours:   {deviation['ours']}")
        print(f"    why:    {deviation['why']}")
    print(f"\n{tally.passed} passed, {tally.failed} failed")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
