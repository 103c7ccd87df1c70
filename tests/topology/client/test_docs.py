"""docs/client.md, docs/mending.md and docs/verdicts.md name what is exported, and the examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import sluice.topology.client as client

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "client.md"
MENDING = ROOT / "docs" / "mending.md"
VERDICTS = ROOT / "docs" / "verdicts.md"
MODULES = sorted(path.stem for path in Path(client.__file__ or "").parent.glob("[a-z]*.py"))


def run(test: doctest.DocTest) -> None:
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not failed, "".join(said)


@pytest.mark.parametrize("name", MODULES)
def test_every_example_in_a_docstring_runs(name: str):
    """Against the fake."""
    module = importlib.import_module(f"sluice.topology.client.{name}")
    for test in doctest.DocTestFinder().find(module):
        run(test)


def test_the_docstrings_have_examples():
    """Else the test above would say nothing."""
    found = [test for test in doctest.DocTestFinder().find(client.FakeSluice) if test.examples]
    found += [test for test in doctest.DocTestFinder().find(client.Draft) if test.examples]
    assert len(found) == 2


def test_the_page_names_what_is_exported():
    """Every public name of the package that users call is on it, or on those about mending and verdicts."""
    text = "".join(page.read_text("utf-8") for page in (PAGE, MENDING, VERDICTS))
    called = [name for name in client.__all__ if name.endswith(("Emitter", "Reader", "Auditor", "Sluice", "Draft"))]
    assert len(called) == 12
    assert [name for name in called if name not in text] == []
