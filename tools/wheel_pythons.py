"""Where `make wheels` finds an interpreter: on this machine, or in a newer suite of Debian.

A suite's packages are fetched with apt from the mirror that this machine has configured, checked by apt with Debian's
keys, and unpacked into a folder of their own: nothing is installed and no root is needed. The interpreter is told to
load the C library and the other libraries of that folder (`patchelf`), so that it runs beside the machine's older ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

SUITES: Final = ("trixie", "forky", "sid")
"""Debian's suites after bookworm, the most settled one first."""
KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ASKED: Final = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2], sysconfig.get_path('include'))"


class MissingError(Exception):
    """There is no such interpreter, and why not."""


def find(wanted: str, folder: Path, patchelf: Callable[[], Path]) -> Path:
    """An interpreter that runs and has its headers.

    Args:
        wanted: `3.14`, or the path of an interpreter.
        folder: where interpreters are unpacked, and found again.
        patchelf: gives the program of that name, once one is fetched.

    Raises:
        MissingError: none was found, and none could be fetched.
    """
    if not re.fullmatch(r"3\.\d+", wanted):
        if why := unfit(Path(wanted), None):
            raise MissingError(f"{wanted} {why}")
        return Path(wanted).absolute()
    for one in _here(wanted, folder):
        if not unfit(one, wanted):
            return one
    return _unpacked(wanted, folder / wanted, patchelf)


def unfit(python: Path, version: str | None) -> str:
    """Why an interpreter is not to be used; an empty text where it is."""
    try:
        told = subprocess.run([python, "-I", "-c", ASKED], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "does not run"
    if told.returncode or not told.stdout:
        return "does not run"
    found, _, include = told.stdout.strip().partition(" ")
    if version is not None and found != version:
        return f"is Python {found}"
    if not Path(include, "Python.h").is_file():
        return f"has no headers in {include}"
    return ""


def _here(version: str, folder: Path) -> Iterator[Path]:
    name = f"python{version}"
    yield Path(sys.executable)
    if found := shutil.which(name):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    yield from sorted(one / "bin" / name for one in pyenv.glob(f"{version}.*"))
    yield folder / version / "root" / "usr" / "bin" / name


def _unpacked(version: str, folder: Path, patchelf: Callable[[], Path]) -> Path:
    mirror = _mirror()
    shutil.rmtree(folder, ignore_errors=True)
    reasons: list[str] = []
    for suite in SUITES:
        print(f"wheels: looking for Python {version} in Debian {suite}", file=sys.stderr, flush=True)
        try:
            return _from(mirror, suite, version, folder, patchelf)
        except MissingError as error:
            reasons.append(f"{suite}: {error}")
            shutil.rmtree(folder, ignore_errors=True)
    raise MissingError(f"Python {version} is not on this machine, nor in Debian ({'; '.join(reasons)})")


def _mirror() -> str:
    """The address that apt has for this release of Debian.

    Raises:
        MissingError: this is no Debian, or there is none.
    """
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise MissingError("it is not on this machine, and without apt it cannot be fetched")
    release = Path("/etc/os-release").read_text("utf-8") if Path("/etc/os-release").is_file() else ""
    codename = re.search(r'^VERSION_CODENAME="?([a-z]+)', release, re.M)
    if not re.search(r'^ID="?debian"?$', release, re.M) or codename is None:
        raise MissingError("it is not on this machine, and only on Debian can it be fetched")
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"], capture_output=True, text=True, check=False
    )
    for line in told.stdout.splitlines():
        suite, _, address = line.partition(" ")
        if suite == codename[1] and address:
            return address
    raise MissingError(f"it is not on this machine, and apt has no mirror of {codename[1]} to fetch it from")


def _from(mirror: str, suite: str, version: str, folder: Path, patchelf: Callable[[], Path]) -> Path:
    apt = _Apt(mirror, suite, folder / "apt")
    apt.run("update")
    name = f"python{version}"
    if not apt.has(name):
        raise MissingError("it has none")
    apt.run("install", "--yes", "--download-only", "--no-install-recommends", name)
    archives = apt.archives()
    apt.run("download", f"lib{name}-dev")  # the headers, without those of the C library
    archives += apt.archives(apt.folder)
    root = folder / "root"
    root.mkdir()
    for archive in archives:
        _call("dpkg-deb", "--extract", archive, root)
    python = root / "usr" / "bin" / name
    (loader,) = root.glob("usr/lib/*-linux-gnu*/ld-linux*.so.*")
    _call(patchelf(), "--set-interpreter", loader, "--force-rpath", "--set-rpath", loader.parent, python)
    _call(python, "-I", "-c", "import ctypes, hashlib, sqlite3, ssl, venv, zlib")
    if why := unfit(python, version):
        raise MissingError(f"what was unpacked {why}")
    shutil.rmtree(apt.folder)
    return python


class _Apt:
    """apt with folders of its own: it knows one suite, and of no installed package."""

    def __init__(self, mirror: str, suite: str, folder: Path) -> None:
        self.folder = folder
        for one in ("lists/partial", "cache/archives/partial"):
            (folder / one).mkdir(parents=True)
        (folder / "status").touch()
        signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
        (folder / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n", "utf-8")
        options = {
            "Dir::State": folder,
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferencesparts": "-",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "APT::Sandbox::User": "",
        }
        lines = [f'{key} "{value}";\n' for key, value in options.items()]
        (folder / "apt.conf").write_text("".join(lines), "utf-8")
        self._environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive"}

    def run(self, *arguments: str) -> None:
        """Raises:
        MissingError: apt fails, in its last words.
        """
        _call("apt-get", "-qq", *arguments, cwd=self.folder, env=self._environment)

    def has(self, name: str) -> bool:
        command = ["apt-cache", "show", name]
        return subprocess.run(command, env=self._environment, capture_output=True, check=False).returncode == 0

    def archives(self, folder: Path | None = None) -> list[Path]:
        return sorted((folder or self.folder / "cache" / "archives").glob("*.deb"))


def _call(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MissingError(f"{Path(command[0]).name} failed: {said[-1] if said else done.returncode}")
