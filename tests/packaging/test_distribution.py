"""What the distribution is made of, and what the tools that build its wheels say where something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from make_wheels import EXTENSIONS, MODULES
from wheel_pythons import MissingError, find, unfit

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "pyproject.toml").read_text("utf-8")
PROJECT = tomllib.loads(TEXT)


def script(path: Path, text: str) -> Path:
    """A program in place of an interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_every_package_of_the_tree_is_listed() -> None:
    """One that is not listed is missing from the wheel, and from nothing else."""
    setuptools = PROJECT["tool"]["setuptools"]
    found = {
        ".".join((name, *path.parent.relative_to(ROOT / folder).parts))
        for name, folder in setuptools["package-dir"].items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert found == set(setuptools["packages"])


def test_every_package_is_typed() -> None:
    """The rooms by the marker of the folder they lie in."""
    for name, folder in PROJECT["tool"]["setuptools"]["package-dir"].items():
        assert (ROOT / folder / "py.typed").is_file() or name in ("sluice.examples", "sluice.policies")


def test_the_lock_files_hold_what_all_extras_need() -> None:
    """`make` installs everything that runs; only agents' frameworks and traces are left to whoever wants them."""
    locked = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    for name in ("faust-streaming", "mcp", "confluent-kafka", "uvicorn", "aiokafka", "setuptools"):
        assert f"\n{name}==" in f"\n{locked}"
    for lock in (ROOT / "requirements").glob("*.txt"):
        assert "://" not in lock.read_text("utf-8"), f"{lock.name} names a host"


def test_without_the_extension_modules_pyproject_is_as_before() -> None:
    """What the wheel without the compiled core is built from."""
    plain, count = EXTENSIONS.subn("", TEXT)

    assert count == MODULES
    left = tomllib.loads(plain)
    expected = tomllib.loads(TEXT)
    del expected["tool"]["setuptools"]["ext-modules"]
    assert left == expected


def test_this_interpreter_is_fit() -> None:
    """Named by its path, and by its version."""
    version = f"3.{sys.version_info[1]}"

    assert unfit(Path(sys.executable), version) == ""
    assert find(sys.executable, Path("none"), Path) == Path(sys.executable)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exit 1", "does not run"),
        ("echo 3.12 /none", "is Python 3.12"),
        ("echo 3.14 /none", "has no headers in /none"),
    ],
)
def test_an_interpreter_that_is_not_fit_is_told_why(text: str, why: str, tmp_path: Path) -> None:
    """A shim that leads nowhere, another version, one without its headers."""
    assert unfit(script(tmp_path / "python3.14", text), "3.14").startswith(why)


def test_an_interpreter_by_a_path_is_never_replaced(tmp_path: Path) -> None:
    """Whoever names one wants that one."""
    with pytest.raises(MissingError, match="does not run"):
        find(str(tmp_path / "python3.14"), tmp_path, Path)


def test_a_version_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After one that does not fit."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "Python.h").touch()
    wanted = script(tmp_path / "bin" / "python3.99", f"echo 3.99 {tmp_path}/include")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    assert find("3.99", tmp_path / "kept", Path) == wanted


def test_an_interpreter_that_nobody_has_is_one_sentence(tmp_path: Path) -> None:
    """And says how to go on without it. Without apt, nothing is fetched."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_wheels.py", "3.98", "--dist", tmp_path],
        env={"PATH": str(script(tmp_path / "bin" / "none", "").parent), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("wheels: missing: 3.98: it is not on this machine")
    assert 'make wheels PYTHONS="3.11"' in done.stderr
    assert "Traceback" not in done.stderr
