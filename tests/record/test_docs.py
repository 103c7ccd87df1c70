"""docs/recording.md names what users call; its examples run in tests/docs/test_python_blocks.py."""

from __future__ import annotations

from pathlib import Path

import sluice.record as record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recording.md"


def test_the_page_names_the_sinks_and_the_doors() -> None:
    """Every one that users call."""
    text = PAGE.read_text("utf-8")
    called = [name for name in record.__all__ if name.endswith("Sink") and name != "Sink"]
    assert len(called) == 4
    assert [name for name in (*called, "Recorder", "ToolMap", "proposals", "statements") if name not in text] == []
