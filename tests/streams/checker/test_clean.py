"""No false alarm: clean programs, this repository's own sources, and the standard library; no crash, bounded time."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from checked_programs import PRELUDE
from search import SEED

from sluice.streams.checker import Source, check

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
STANDARD = Path(json.__file__).parents[1]
CLEAN = [
    Source(f"{section.partition(':')[0]}.py", section.partition("\n")[2])
    for section in Path(__file__).with_name("clean.txt").read_text("utf-8").split("=== ")[1:]
]
"""Programs of their own, a section each: `=== name: what it does`."""
GROUNDED = "from sluice.streams.grounded import Grounded\n"


def read(*paths: Path) -> list[Source]:
    """Files, or folders with all that is below them."""
    files = [one for path in paths for one in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [Source(str(one), one.read_text("utf-8")) for one in files]


def test_there_are_enough_clean_programs():
    """At least 25 of them, and each uses the library."""
    assert len({one.path for one in CLEAN}) == len(CLEAN) >= 25
    assert all("sluice.streams.grounded" in one.text for one in CLEAN)


@pytest.mark.parametrize("source", CLEAN, ids=[one.path for one in CLEAN])
def test_a_clean_program_has_no_findings(source: Source):
    """Nothing is found in it, and it can be checked."""
    report = check([source])
    assert [one.text() for one in (*report.findings, *report.errors)] == []


def test_the_clean_programs_have_no_findings_together():
    """What lies beside a program does not change what it means."""
    report = check(CLEAN)
    assert (report.findings, report.errors) == ([], [])


@pytest.mark.parametrize("folder", ["codecs", "streams", "topology"])
def test_our_own_sources_have_no_findings(folder: str):
    """The library itself included."""
    report = check(read(ROOT / folder))
    assert [one.text() for one in (*report.findings, *report.errors)] == []


@pytest.mark.parametrize(
    "name", ["asyncio", "json", "dataclasses.py", "functools.py", "typing.py", "email", "argparse.py"]
)
def test_the_standard_library_has_no_findings(name: str):
    """Every module is followed as if it dealt in grounded values, and none does."""
    sources = read(STANDARD / name)
    report = check([Source(one.path, _with_library(one.text)) for one in sources])
    assert [one.text() for one in (*report.findings, *report.errors)] == []


def _with_library(text: str) -> str:
    """The source with the library imported at its end, which makes it relevant, and moves no line."""
    return text + "\n" + GROUNDED


DEEP = {
    "parentheses": "x = " + "(" * 150 + "1" + ")" * 150,
    "a long sum": "x = " + " + ".join(["1"] * 20_000),
    "minus signs": "x = " + "-" * 3_000 + "1",
    "attributes": "x = a" + ".b" * 20_000,
    "calls": "x = " + "f(" * 150 + "1" + ")" * 150,
    "lambdas": "x = " + "lambda: " * 1_000 + "1",
    "elif": "def f(x):\n  if x: pass\n" + "".join(f"  elif x == {one}: pass\n" for one in range(2_000)),
    "nested functions": "".join(f"{' ' * one}def f{one}(x):\n" for one in range(90)) + " " * 90 + "pass",
    "conditions": "x = " + " if y else ".join(["1"] * 1_000),
    "lists": "x = " + "[" * 150 + "]" * 150,
    "subscripts": "def f(x: " + "list[" * 150 + "int" + "]" * 150 + "): pass",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_checked_or_reported(name: str):
    """Never a traceback: what is too deep for the parser or the checker is an error with its place."""
    report = check([Source("deep.py", GROUNDED + DEEP[name] + "\n")])
    assert report.findings == []
    assert all(one.rule == "error" and "too deeply" in one.message for one in report.errors)


def test_one_function_that_is_too_deep_does_not_hide_the_others():
    """It is told by its name, and the rest of the file is checked."""
    deep = "def deep(a):\n    return a" + ".b" * 20_000 + "\n"
    bad = '@agent\ndef bad(x: str) -> Grounded[str]:\n    return "x"\n'
    report = check([Source("one.py", PRELUDE + bad), Source("two.py", GROUNDED + deep)])
    assert [one.rule for one in report.findings] == ["ungrounded-return"]
    assert [one.path for one in report.errors] == ["two.py"]


def test_functions_that_call_one_another_in_every_way_come_to_an_end():
    """Thirty functions that hand one another ever other values: the work is bounded, not exponential."""
    lines = [PRELUDE]
    for one in range(30):
        lines.append(f"def f{one}(a, b):\n    x = [a, b]\n")
        lines += [f"    x = f{other}(x, a) or f{other}(b, x)\n" for other in range(0, 30, 4)]
        lines.append("    return x\n")
    assert check([Source("tangle.py", "".join(lines))]).errors == []


@pytest.mark.parametrize("seed", range(25))
def test_no_mutilated_program_is_a_crash(seed: int):
    """Lines taken out, doubled or swapped: there is a report, whatever is left."""
    chance = random.Random(SEED * 1_000 + seed)
    lines = [line for source in chance.sample(CLEAN, 4) for line in source.text.splitlines()]
    lines = lines[lines.index(next(line for line in lines if line.startswith("from sluice"))) :]
    for _ in range(6):
        here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
        action = chance.choice("ods")
        if action == "o":
            del lines[here]
        elif action == "d":
            lines.insert(there, lines[here])
        else:
            lines[here], lines[there] = lines[there], lines[here]
        report = check([Source("mutant.py", "\n".join(lines))])
        assert all(one.rule for one in (*report.findings, *report.errors))
