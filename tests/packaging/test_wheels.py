"""The wheels of this interpreter, built, and installed into empty environments (needs the package index)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, Shell, blocks, follow

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Both, as `make wheels` builds and tests them."""
    dist = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_wheels.py", sys.executable, "--dist", dist],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return sorted(dist.glob("*.whl"))


def test_there_is_one_with_the_compiled_core_and_one_for_all_others(wheels: list[Path]) -> None:
    """Both have passed what `make wheels` tries."""
    compiled, pure = wheels

    assert f"-cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-" in compiled.name
    assert pure.name.endswith("-py3-none-any.whl")
    assert pure.stat().st_size < compiled.stat().st_size


def test_the_page_about_vetting_holds_in_an_empty_environment(wheels: list[Path], tmp_path: Path) -> None:
    """Word for word, with the wheel and what it needs alone."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "-q", wheels[0]], check=True)
    shell = Shell(tmp_path / "reader", PATH=f"{environment}/bin:{os.environ['PATH']}")
    try:
        status, printed = shell.run("command -v sluice")
        assert (status, printed.strip()) == (0, f"{environment}/bin/sluice")
        follow(shell, blocks(DOCS / "vetting.md"))
    finally:
        shell.close()
