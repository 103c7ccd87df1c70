"""What a type checker makes of a program with grounded values: pyright, on a program of every kind of call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = Path(__file__).with_name("typed_sample.py")


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory):
    """`check(source)`: the lines, from 1, that pyright finds fault with, and what it says of each."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "sluice").mkdir()
    for name in ("codecs", "streams"):
        os.symlink(ROOT / name, folder / "sluice" / name)
    settings = {"include": ["program.py"], "extraPaths": ["."], "pythonVersion": "3.11", "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")

    def run(source: str) -> dict[int, str]:
        (folder / "program.py").write_text(source, "utf-8")
        script = Path(sys.executable).with_name("pyright")
        result = subprocess.run(
            [script, "--outputjson", "--pythonpath", sys.executable],
            cwd=folder, capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        reported = json.loads(result.stdout)["generalDiagnostics"]
        return {one["range"]["start"]["line"] + 1: one["message"] for one in reported if one["severity"] == "error"}

    return run


def test_calls_and_operators_have_the_types_that_they_come_to(check) -> None:
    """Every `assert_type` of the sample holds; each line marked `# error` is found to be one, and no other."""
    source = SAMPLE.read_text("utf-8")
    wanted = {number for number, line in enumerate(source.splitlines(), 1) if line.endswith("# error")}

    found = check(source)

    assert set(found) == wanted, found
