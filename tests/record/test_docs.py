"""docs/recording.md says what is so: every example of it runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import sluice.record as record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recording.md"


def test_every_example_of_the_page_runs() -> None:
    """From the top, as a reader would type them in."""
    test = doctest.DocTestParser().get_doctest(PAGE.read_text("utf-8"), {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert tried > 15
    assert not failed, "".join(said)


def test_no_block_of_code_on_the_page_is_left_out() -> None:
    """Each has a prompt, and so is run."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert blocks
    assert all(block.startswith(">>> ") for block in blocks)


def test_the_page_names_the_sinks_and_the_doors() -> None:
    """Every one that users call."""
    text = PAGE.read_text("utf-8")
    called = [name for name in record.__all__ if name.endswith("Sink") and name != "Sink"]
    assert len(called) == 4
    assert [name for name in (*called, "Recorder", "ToolMap", "proposals", "statements") if name not in text] == []
