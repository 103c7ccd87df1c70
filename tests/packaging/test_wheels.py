"""The wheels of this interpreter, built, and installed into empty environments (needs the package index)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, Shell, blocks, follow

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_the_wheels_pass_and_the_page_about_vetting_holds_in_an_empty_environment(tmp_path: Path) -> None:
    """What `make wheels` tries, then the page word for word, with one wheel and what it needs alone.

    One test, so that tests side by side do not build twice.
    """
    dist = tmp_path / "dist"
    script = ROOT / "tools" / "make_wheels.py"
    command = [sys.executable, script, sys.executable, "--dist", dist]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    compiled, pure = sorted(dist.iterdir())
    assert f"-cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-" in compiled.name
    assert pure.name.endswith("-py3-none-any.whl")

    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "-q", compiled], check=True)
    shell = Shell(tmp_path / "reader", PATH=f"{environment}/bin:{os.environ['PATH']}")
    try:
        status, printed = shell.run("command -v sluice")
        assert (status, printed.strip()) == (0, f"{environment}/bin/sluice")
        follow(shell, blocks(DOCS / "vetting.md"))
    finally:
        shell.close()
