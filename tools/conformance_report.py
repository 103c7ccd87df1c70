"""Runs the conformance tests and says how far we conform: `make conformance`.

One run of `tests/conformance`, counted twice: by category of the adversarial corpus [V §9], whose pass rate an adapter
must publish, and in all. Then every deviation from the letter, with its section. The last line is `N passed, M failed`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "conformance" / "corpus"
_CASE = re.compile(r"test_sanitation_corpus\.py::.*\[(?P<category>[a-z-]+)/[^\]]*\]$")


class Tally:
    """A pytest plugin that counts tests by outcome and by category of the corpus."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Called by pytest for each file; one that cannot be imported counts as a failure."""
        self.failed[""] += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each phase of each test; set-up and tear-down count only where they fail."""
        if report.when != "call" and not report.failed:
            return
        found = _CASE.search(report.nodeid)
        category = found["category"] if found else ""
        (self.failed if report.failed else self.passed)[category] += 1


def main(arguments: list[str]) -> int:
    tally = Tally()
    status = pytest.main(["-q", "--no-header", str(ROOT / "tests" / "conformance"), *arguments], plugins=[tally])
    print("\nAdversarial corpus [V §9]")
    for category in sorted((tally.passed.keys() | tally.failed.keys()) - {""}):
        good, bad = tally.passed[category], tally.failed[category]
        print(f"  {category:24} {good:4} of {good + bad:4}  {100 * good / (good + bad):5.1f} %")
    print("\nDeviations from the letter, on purpose")
    for deviation in json.loads((CORPUS / "deviations.json").read_text())["deviations"]:
        print(f"  {deviation['name']} {deviation['section']}")
        print(f"    letter: {deviation['contract']}")
        print(f"    ours:   {deviation['ours']}")
        print(f"    why:    {deviation['why']}")
    print(f"\n{tally.passed.total()} passed, {tally.failed.total()} failed")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
