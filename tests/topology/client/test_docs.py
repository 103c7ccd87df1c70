"""docs/client.md, docs/mending.md and docs/verdicts.md say what is so: every example runs, and so do those in
docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
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


@pytest.mark.parametrize(("page", "least"), [(PAGE, 26), (MENDING, 15), (VERDICTS, 6)])
def test_every_example_of_the_page_runs(page: Path, least: int):
    """From the top, as a reader would type them in."""
    test = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, str(page), 0)
    assert len(test.examples) >= least
    run(test)


@pytest.mark.parametrize(("page", "least"), [(PAGE, 10), (MENDING, 3), (VERDICTS, 1)])
def test_no_block_of_code_on_the_page_is_left_out(page: Path, least: int):
    """Each has a prompt, and so is run."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= least
    assert all(block.startswith(">>> ") for block in blocks)


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
