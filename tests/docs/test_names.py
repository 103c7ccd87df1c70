"""tools/check_names.py: the files, and the classes of modules, that docstrings and comments name are there."""

from __future__ import annotations

from pathlib import Path

import check_names
import pytest

MODULE = '''
"""Lanes. `{}` is what a lane is."""
import asyncio
class Lane: ...
LIMIT = 3
def run(header): ...
'''


def found(tmp_path: Path, named: str) -> list[str]:
    """What is said of a repository with one module, whose docstring names this."""
    file = tmp_path / "worker" / "lanes.py"
    file.parent.mkdir()
    file.write_text(MODULE.format(named).lstrip())
    return list(check_names.faults([file], ["worker/lanes.py"]))


@pytest.mark.parametrize(
    "named",
    ["lanes.py", "worker/lanes.py", "lanes.Lane", "worker.lanes.Lane", "lanes.LIMIT", "lanes.Lane.begin()"]
    + ["asyncio.Task", "header.Time", "os.PathLike", "header.time", "a.py", "docs/lanes.md"],
)
def test_what_is_there_may_be_named(tmp_path: Path, named: str):
    """Files, names in our modules, in those of others, and attributes of what the code has."""
    assert found(tmp_path, named) == []


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("lane.py", "no file of the repository is lane.py"),
        ("audit/lanes.py", "no file of the repository is audit/lanes.py"),
        ("lanes.Tip", "no module lanes has Tip"),
        ("contracts.Meter", "there is no module contracts (`contracts.Meter`)"),
    ],
)
def test_what_is_gone_is_reported(tmp_path: Path, named: str, sentence: str):
    """With the place where it is named."""
    (fault,) = found(tmp_path, named)
    assert fault.endswith(f"lanes.py:1: {sentence}")
