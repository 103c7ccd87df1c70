"""ARCHITECTURE.md is short, and its ways lead through the code as it says."""

from __future__ import annotations

import ast
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import measure_code
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
MOST_BYTES = 10_240
MOST_HOPS = {"an emission": 18, "an observation": 15}
SENTENCE = "`retry` in `limits.py` returns `call(LIMIT)`."
BEYOND = ("topology/kafka/", "topology/observers/service.py")
"""What only a service on Kafka runs: `sluice look` runs the rest of the way of an observation."""


def way(page: str, subject: str) -> list[tuple[str, str]]:
    """The hops: file and function (`name` or `Class.name`), in order."""
    return re.findall(r"^\d+\. `([\w/]+\.py):([\w.]+)` \S", section(page, subject), re.MULTILINE)


def section(page: str, subject: str) -> str:
    """The text below a heading."""
    return page.partition(f"\n## The way of {subject}\n")[2].partition("\n## ")[0]


def defined(source: str) -> set[str]:
    """The functions, classes and methods of a module."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            below = (inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
            names.update(f"{node.name}.{inner.name}" for inner in below)
    return names


def test_the_page_is_short():
    """A newcomer reads it in one sitting."""
    assert len(PAGE.encode()) <= MOST_BYTES


@pytest.mark.parametrize("subject", MOST_HOPS)
def test_a_way_has_few_hops_each_in_another_file(subject: str):
    """Every line of its list is a hop."""
    lines = [line for line in section(PAGE, subject).splitlines() if re.match(r"\d", line)]
    hops = way(PAGE, subject)
    assert 0 < len(hops) == len(lines) <= MOST_HOPS[subject]
    assert all(one[0] != other[0] for one, other in pairwise(hops))


@pytest.mark.parametrize(("file", "name"), [hop for subject in MOST_HOPS for hop in way(PAGE, subject)])
def test_a_hop_is_where_the_page_says(file: str, name: str):
    """A function that is moved or renamed is corrected on the page."""
    assert name in defined((ROOT / file).read_text("utf-8"))


def test_a_name_that_is_gone_is_noticed():
    """Functions, methods and classes are found, other names are not."""
    assert defined("class A:\n    def b(self): ...\nasync def c(): ...\nd = 1\n") == {"A", "A.b", "c"}
    page = "\n## The way of x\nText.\n1. `a/b.py:C.d` does it.\n\n## Next\n2. `e.py:f` not.\n"
    assert way(page, "x") == [("a/b.py", "C.d")]


def test_an_observation_goes_its_way(tmp_path: Path):
    """The functions run, in the order of the page."""
    (tmp_path / "limits.py").write_text("LIMIT = 5\n\n\ndef retry(call):\n    return call(LIMIT)\n")
    (tmp_path / "answer.md").write_text(SENTENCE)
    for arguments in (("init", "-q"), ("add", "limits.py"), ("commit", "-q", "-m", "first")):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True)

    ran = measure_code.functions_run(tmp_path, "vet", "answer.md")

    wanted = [f"{file}:{name}" for file, name in way(PAGE, "an observation") if not file.startswith(BEYOND)]
    assert [function for function in ran if function in wanted] == wanted
