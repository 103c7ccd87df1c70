"""Which index `make` fills its environments from: the one that pip is told of, or uv, and no other."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPS, OURS = "index-of-pip", "index-of-uv"
UV = """#!/bin/sh
echo "uv $UV_DEFAULT_INDEX $UV_HTTP_RETRIES $UV_HTTP_CONNECT_TIMEOUT"
exit $FAILS
"""
PIP = """#!/bin/sh
echo pip
"""


@pytest.mark.parametrize(
    ("told", "index"),
    [
        ({}, ""),
        ({"PIP_INDEX_URL": PIPS}, PIPS),
        ({"PIP_INDEX_URL": PIPS, "UV_INDEX_URL": OURS}, OURS),
        ({"PIP_INDEX_URL": PIPS, "UV_DEFAULT_INDEX": OURS}, OURS),
    ],
)
@pytest.mark.parametrize("fails", [0, 2])
def test_uv_asks_the_index_that_pip_is_told_of(told: dict[str, str], index: str, fails: int, tmp_path: Path) -> None:
    """It gives a silent one up soon, and then pip takes over."""
    for name, script in (("uv", UV), ("python", PIP)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "MAKE"))}
    made = subprocess.run(
        ["make", "--silent", "--eval=probe: ; $(call LOCKED,there,a.txt)", f"BIN={tmp_path}", "probe"],
        cwd=ROOT,
        env={**plain, **told, "FAILS": str(fails)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.splitlines() == [f"uv {index} 1 5", "pip"][: 2 if fails else 1]
