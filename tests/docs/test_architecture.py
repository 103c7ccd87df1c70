"""ARCHITECTURE.md is short, and the functions on the way of an emission are where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
MOST_BYTES, MOST_HOPS = 12_000, 25


def way(page: str) -> list[tuple[str, str]]:
    """The hops: file and function (`name` or `Class.name`), in order."""
    _, _, rest = page.partition("\n## The way of an emission\n")
    section, _, _ = rest.partition("\n## ")
    return re.findall(r"^\d+\. `([\w/]+\.py):([\w.]+)` \S", section, re.MULTILINE)


def defined(source: str) -> set[str]:
    """The functions, classes and methods of a module."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            below = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            found.update(f"{node.name}.{one.name}" for one in below)
    return found


def test_the_page_is_short():
    """A newcomer reads it in one sitting."""
    assert len(PAGE.encode()) <= MOST_BYTES


def test_the_way_has_few_hops():
    """And every line of its list is one."""
    _, _, rest = PAGE.partition("\n## The way of an emission\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if re.match(r"\d", line)]
    assert 0 < len(way(PAGE)) == len(lines) <= MOST_HOPS


@pytest.mark.parametrize(("file", "name"), way(PAGE))
def test_a_hop_is_where_the_page_says(file: str, name: str):
    """Whoever moves or renames it corrects the page."""
    assert name in defined((ROOT / file).read_text("utf-8"))


def test_a_name_that_is_gone_is_noticed():
    """Functions, methods and classes are found, other names are not."""
    assert defined("class A:\n    def b(self): ...\nasync def c(): ...\nd = 1\n") == {"A", "A.b", "c"}
    assert way("\n## The way of an emission\nText.\n1. `a/b.py:C.d` does it.\n\n## Next\n2. `e.py:f` not.\n") == [
        ("a/b.py", "C.d")
    ]
