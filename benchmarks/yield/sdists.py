"""The pinned source distributions: brought by pip, held against their hashes, unpacked. Nothing of them is ever run.

pip asks a source distribution's build backend for its metadata, which may run code of the package. So a module of our
own stands where pip looks for the backend, and answers with the `PKG-INFO` that the archive holds. (A distribution
that brings its own backend, by `backend-path`, would still be run: none of `packages.txt` may, and a test says so.)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LOCK = HERE / "packages.txt"
PIP_SECONDS = 300
MAX_UNPACKED = 64 << 20
"""Bytes of one package. The largest has 7 MB; a pinned hash says that an archive is the one we know, not that it is
small."""
MAX_MEMBERS = 20_000
BACKENDS = (
    "flit_core",
    "flit_core.buildapi",
    "hatchling",
    "hatchling.build",
    "maturin",
    "scikit_build_core",
    "scikit_build_core.build",
    "setuptools",
    "setuptools.build_meta",
)
"""What the packages name as their build backend, and what those names lie in."""
BACKEND = '''\
"""In the place of a build backend: says what PKG-INFO says, and runs nothing of the package."""

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
'''


class SourcesError(Exception):
    """The packages are not to be had, or are not what was pinned."""


class Pinned(NamedTuple):
    """One line of `packages.txt`."""

    name: str
    version: str
    sha256: str


_PINNED = re.compile(r"([a-z0-9-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")


def pinned(lock: Path = LOCK) -> list[Pinned]:
    """What is pinned, in the order of the file.

    Raises:
        SourcesError: a line is no pin.
    """
    found: list[Pinned] = []
    for number, line in enumerate(lock.read_text("utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = _PINNED.fullmatch(line)
        if match is None:
            raise SourcesError(f"{lock.name}, line {number}: expected name==version --hash=sha256:…")
        found.append(Pinned(match[1], match[2], match[3]))
    return found


def fetch(folder: Path) -> dict[str, Path]:
    """The archives by name, in the folder; pip brings them where they are not there.

    Raises:
        SourcesError: pip cannot bring them, or an archive is not the one that was pinned.
    """
    wanted = pinned()
    found = _held(wanted, folder)
    if len(found) < len(wanted):
        folder.mkdir(parents=True, exist_ok=True)
        _download(folder)
        found = _held(wanted, folder)
    missing = [one.name for one in wanted if one.name not in found]
    if missing:
        raise SourcesError(f"not what was pinned: {', '.join(missing)}")
    return found


def _held(wanted: list[Pinned], folder: Path) -> dict[str, Path]:
    """Those of the wanted archives that lie in the folder, by their hash: how they are called is the index's affair."""
    by_hash = {sha256(path.read_bytes()).hexdigest(): path for path in sorted(folder.glob("*.tar.gz"))}
    return {one.name: by_hash[one.sha256] for one in wanted if one.sha256 in by_hash}


def _download(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-yield-") as stand_ins:
        for name in BACKENDS:
            path = Path(stand_ins, *name.split("."))
            file = path.with_suffix(".py") if "." in name else path / "__init__.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(BACKEND, "utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517", "--require-hashes"]
        command += ["-r", str(LOCK), "-d", str(folder)]
        environment = {**os.environ, "PYTHONPATH": stand_ins}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=PIP_SECONDS)
        except subprocess.TimeoutExpired:
            raise SourcesError(f"pip did not end within {PIP_SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise SourcesError(f"pip download: {lines[-1] if lines else f'exit status {done.returncode}'}")


def unpack(archive: Path, folder: Path) -> None:
    """The one folder that a source distribution holds, as `folder`, which must not be there.

    Raises:
        SourcesError: it holds something else than one folder, too much, or what leads out of it.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as scratch:
        try:
            with tarfile.open(archive, "r:gz") as tar:
                members = tar.getmembers()
                if len(members) > MAX_MEMBERS or sum(one.size for one in members) > MAX_UNPACKED:
                    raise SourcesError(f"{archive.name} is larger than expected")
                tar.extractall(scratch, members, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise SourcesError(f"{archive.name}: {error}") from None
        tops = list(Path(scratch).iterdir())
        if len(tops) != 1 or not tops[0].is_dir():
            raise SourcesError(f"{archive.name} does not hold one folder")
        tops[0].rename(folder)
