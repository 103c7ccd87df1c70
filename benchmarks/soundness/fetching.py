"""The packages and tools that oracles read, at pinned versions: brought by the ordinary client of each kind.

`packages.txt` is the table. An archive is kept under its hash in the cache, and only the files that the table names are
unpacked. Nothing of a package is run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
TABLE = HERE / "packages.txt"
SECONDS = 300
"""What a client may take for one package."""
MAX_FILE = 200_000
"""Bytes of a source file; a tool's may be larger."""


BACKENDS = ("flit_core", "flit_core.buildapi", "hatchling", "hatchling.build", "setuptools", "setuptools.build_meta")
"""What the source distributions name as their build backend, and what these names lie in."""
BACKEND = """\
import sys
from email.parser import HeaderParser
from pathlib import Path

__legacy__ = sys.modules[__name__]


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    text = Path("PKG-INFO").read_text("utf-8")
    head = HeaderParser().parsestr(text)
    made = Path(folder, f"{head['Name'].replace('-', '_')}-{head['Version']}.dist-info")
    made.mkdir()
    (made / "METADATA").write_text(text, "utf-8")
    return made.name
"""


class FetchingError(Exception):
    """A package cannot be had; the message says which and why."""


class Missing(Exception):
    """A program that this needs is not installed; the message names it."""


class Package(NamedTuple):
    """One row of the table.

    Attributes:
        language: of its sources; `tool` for what an oracle runs on.
        manager: whose package it is.
        name: as the manager knows it.
        version: the pinned one.
        digest: SHA-256 of the archive, in hexadecimal digits.
        globs: patterns of the paths that count, below the archive's top folder; `*` matches slashes.
    """

    language: str
    manager: str
    name: str
    version: str
    digest: str
    globs: tuple[str, ...]


def packages(table: Path = TABLE) -> list[Package]:
    """The rows of a table, in its order."""
    made: list[Package] = []
    for line in table.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            language, manager, name, version, digest, globs = line.split()
            made.append(Package(language, manager, name, version, digest, tuple(globs.split(","))))
    return made


def run(command: list[str], folder: Path | None = None, given: str | None = None, seconds: float = SECONDS) -> str:
    """What a program prints.

    Raises:
        Missing: it is not installed.
        FetchingError: it fails, or does not end within `seconds`.
    """
    if shutil.which(command[0]) is None:
        raise Missing(command[0])
    try:
        done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise FetchingError(f"{command[0]} does not end within {seconds:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
        raise FetchingError(f"{' '.join(command)[:200]}: {' / '.join(lines[-3:]) or f'exit status {done.returncode}'}")
    return done.stdout


def _pypi(package: Package, folder: Path) -> Iterator[Path]:
    wanted = f"{package.name}=={package.version}"
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            wanted,
            "-d",
            str(folder),
        ]
    )
    yield from folder.glob("*.whl")


def _npm(package: Package, folder: Path) -> Iterator[Path]:
    run(["npm", "pack", "--silent", "--ignore-scripts", f"{package.name}@{package.version}"], folder)
    yield from folder.glob("*.tgz")


def _go(package: Package, folder: Path) -> Iterator[Path]:
    told = run(["go", "mod", "download", "-json", f"{package.name}@{package.version}"], folder)
    yield Path(json.loads(told)["Zip"])


def _maven(package: Package, folder: Path) -> Iterator[Path]:
    group, artifact, *kind = package.name.split(":")
    wanted = ":".join((group, artifact, package.version, *kind))
    run(["mvn", "-q", "dependency:copy", f"-Dartifact={wanted}", f"-DoutputDirectory={folder}"], folder)
    yield from folder.glob("*.jar")


def _cargo(package: Package, folder: Path) -> Iterator[Path]:
    wanted = f'[package]\nname = "wants"\nversion = "0.0.0"\n[dependencies]\n{package.name} = "={package.version}"\n'
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    (folder / "Cargo.toml").write_text(wanted, "utf-8")
    run(["cargo", "fetch"], folder)
    told = json.loads(run(["cargo", "metadata", "--format-version", "1"], folder))
    sources = next(Path(one["manifest_path"]).parent for one in told["packages"] if one["name"] == package.name)
    yield sources.parents[2] / "cache" / sources.parent.name / f"{sources.name}.crate"


def _sdist(package: Package, folder: Path) -> Iterator[Path]:
    """pip asks a build backend for metadata, which may run code of the package: a stand-in tells what PKG-INFO says.

    (A distribution that brings its own backend, by `backend-path`, would still be run: no table may name one.)
    """
    stands = folder / "stands"
    for name in BACKENDS:
        path = stands.joinpath(*name.split(".")).with_suffix(".py") if "." in name else stands / name / "__init__.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BACKEND, "utf-8")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    command += ["--no-build-isolation", "--use-pep517", f"{package.name}=={package.version}", "-d", str(folder)]
    run(["env", f"PYTHONPATH={stands}", *command])
    yield from folder.glob("*.tar.gz")


CLIENTS = {"pypi": _pypi, "sdist": _sdist, "npm": _npm, "go": _go, "maven": _maven, "cargo": _cargo}


def archive(package: Package, cache: Path) -> Path:
    """A package's archive in the cache; its client brings it where it is not there.

    Raises:
        Missing: the client is not installed.
        FetchingError: it cannot bring the package, or it brings another one.
    """
    kept = cache / "archives" / package.digest
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            for path in CLIENTS[package.manager](package, Path(scratch)):
                found = sha256(path.read_bytes()).hexdigest()
                if found != package.digest:
                    raise FetchingError(f"{package.name} {package.version}: its hash is {found}")
                kept.write_bytes(path.read_bytes())
    if not kept.exists():
        raise FetchingError(f"{package.name} {package.version}: the client brought no archive")
    return kept


def unpacked(package: Package, cache: Path, most: int = MAX_FILE) -> tuple[Path, list[str]]:
    """The folder that holds a package's files, and the paths of those that the table names, sorted.

    Args:
        package: a row of a table.
        cache: the folder that keeps it.
        most: bytes of a file; a larger one is left out, but for a tool's.
    """
    target = cache / "sources" / sha256(repr(package).encode()).hexdigest()[:16]
    listing = target / ".paths"
    if not listing.exists():
        path, names = archive(package, cache), []
        for name, data in _zipped(path) if zipfile.is_zipfile(path) else _tarred(path):
            name = _below_top(name, package)
            if ".." in name.split("/") or not any(fnmatch(name, glob) for glob in package.globs):
                continue
            if len(data) <= most or package.language == "tool":
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(data)
                names.append(name)
        target.mkdir(parents=True, exist_ok=True)
        listing.write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")
    return target, listing.read_text("utf-8").splitlines()


def _below_top(name: str, package: Package) -> str:
    if package.manager in ("npm", "cargo", "sdist"):
        return name.partition("/")[2]
    return name.rpartition(f"@{package.version}/")[2]


def _zipped(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as held:
        for one in held.infolist():
            if not one.is_dir():
                yield one.filename, held.read(one)


def _tarred(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r:gz") as held:
        for one in held:
            file = held.extractfile(one) if one.isfile() else None
            if file is not None:
                yield one.name, file.read()
