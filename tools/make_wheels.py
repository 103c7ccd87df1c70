"""Builds the wheels of the distribution into dist/, and tests each in an empty environment (`make wheels`).

One wheel with the compiled core for each interpreter that is named, and one without it for every other. They are built
from the source distribution, which is made of the files that git tracks, so that it is tested too. The time of the last
commit is the time of every file in them: the same commit gives the same bytes (`--twice` shows it). The compiled ones
get the oldest `manylinux` tag that the symbols they use allow.

A test installs the wheel with its dependencies alone and runs: `sluice --version`, `sluice vet` on a right and a wrong
answer, a command whose extra is missing, `sluice examples`, and check_wheel.py. Where one fails, dist/ stays as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from wheel_pythons import MissingError, find

ROOT: Final = Path(__file__).resolve().parents[1]
WORK: Final = ROOT / "build" / "wheels"
DIST: Final = ROOT / "dist"
LOCK: Final = ROOT / "requirements" / "wheels.txt"
VERSIONS: Final = ("3.11", "3.13", "3.14")
MODULES: Final = 2
"""Extension modules of the compiled core."""
EXTENSIONS: Final = re.compile(r"^\[\[tool\.setuptools\.ext-modules\]\]\n(?:[^\[\n].*\n|\n)*", re.M)


class FailedError(Exception):
    """A wheel cannot be built, or is not as it must be."""


class Built(NamedTuple):
    """A wheel, and what it was tested with."""

    wheel: Path
    python: Path
    compiled: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pythons", nargs="*", default=VERSIONS, help=f"versions or paths [{' '.join(VERSIONS)}]")
    parser.add_argument("--twice", action="store_true", help="build everything again, and compare the bytes")
    parser.add_argument("--dist", type=Path, default=DIST, help="where the wheels go [dist]")
    chosen = parser.parse_args()
    try:
        run(list(dict.fromkeys(chosen.pythons)), chosen.dist, twice=chosen.twice)
    except (FailedError, MissingError) as error:
        sys.exit(f"wheels: {error}")


def run(pythons: list[str], dist: Path, *, twice: bool) -> None:
    """Builds and tests.

    Args:
        pythons: versions or paths of the interpreters.
        dist: where wheels go that have passed; older ones there are removed.
        twice: build everything twice, and compare.

    Raises:
        FailedError: one is not as it must be.
        MissingError: an interpreter is missing.
    """
    found = _interpreters(pythons)
    tools = _tools()
    with tempfile.TemporaryDirectory(prefix="untested-", dir=WORK) as fresh:
        made = _build(found, tools, Path(fresh))
        _check(made, found, tools, twice)
        dist.mkdir(parents=True, exist_ok=True)
        for old in dist.glob("sluice_verdicts-*.whl"):
            old.unlink()
        for one in made:
            wheel = Path(shutil.copy2(one.wheel, dist))
            print(f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel}  {wheel.stat().st_size:,} bytes")


def _check(made: list[Built], pythons: list[Path], tools: Path, twice: bool) -> None:
    if twice:
        with tempfile.TemporaryDirectory(prefix="sluice-wheels-") as again:
            _build(pythons, tools, Path(again))
            for one in made:
                if one.wheel.read_bytes() != (Path(again) / one.wheel.name).read_bytes():
                    raise FailedError(f"{one.wheel.name} has other bytes when it is built again")
        _say("built twice, the same bytes")
    for one in made:
        _say(f"testing {one.wheel.name} with {_version(one.python)}")
        _test(one, tools)


# ---------------------------------------------------------------- building


def _tools() -> Path:
    """The environment that has what builds, from its lock file; its folder of programs."""
    folder = WORK / "tools"
    mark = folder / hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not mark.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        _call("setting up", sys.executable, "-m", "venv", folder)
        _call("setting up", folder / "bin" / "python", "-m", "pip", "install", "-q", "--require-hashes", "-r", LOCK)
        mark.touch()
    return folder / "bin"


def _interpreters(wanted: list[str]) -> list[Path]:
    found: list[Path] = []
    missing: list[str] = []
    for one in wanted:
        try:
            found.append(find(one, WORK / "pythons", lambda: _tools() / "patchelf"))
        except MissingError as error:
            missing.append(f"{one}: {error}")
    if missing:
        raise MissingError(
            f"missing: {'; '.join(missing)}; name an interpreter by its path, or fewer of them, as in "
            f'make wheels PYTHONS="{" ".join(map(str, found)) or "3.11"}"'
        )
    for one in found:
        _say(f"{_version(one)}: {one}")
    return found


def _build(pythons: list[Path], tools: Path, dist: Path) -> list[Built]:
    with tempfile.TemporaryDirectory(prefix="sluice-wheels-") as name:
        scratch = Path(name)
        source = _source(scratch, tools)
        made: list[Built] = []
        for python in pythons:
            _say(f"building for {_version(python)}")
            made.append(Built(_compiled(python, source, scratch, tools, dist), python, True))
        _say("building the one without the compiled core")
        made.append(Built(_pure(pythons[0], source, scratch, tools, dist), pythons[0], False))
        return made


def _source(scratch: Path, tools: Path) -> Path:
    """The source distribution, unpacked: made of what git tracks, as it stands in the checkout."""
    tree = scratch / "tree"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise FailedError(f"{ROOT} is no git checkout; what is built is what git tracks")
    for path in filter(None, listed.stdout.split("\0")):
        if (ROOT / path).is_file():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, tree / path)
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(scratch)!r})"
    _call("making the source distribution", tools / "python", "-c", code, cwd=tree)
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    return scratch / archive.name.removesuffix(".tar.gz")


def _compiled(python: Path, source: Path, scratch: Path, tools: Path, dist: Path) -> Path:
    before = set(scratch.glob("out/*.whl"))
    _wheel(python, source, scratch, tools)
    (wheel,) = set(scratch.glob("out/*.whl")) - before
    with zipfile.ZipFile(wheel) as packed:
        modules = [one for one in packed.namelist() if one.endswith(".so")]
    if len(modules) != MODULES:
        raise FailedError(f"{wheel.name} has {len(modules)} of {MODULES} compiled modules; is there a C compiler?")
    if not sys.platform.startswith("linux"):
        return Path(shutil.copy2(wheel, dist))
    tagged = scratch / "tagged" / wheel.name
    environment = {**_environment(scratch), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    _call("tagging", tools / "auditwheel", "repair", "--wheel-dir", tagged, wheel, env=environment)
    (repaired,) = tagged.glob("*.whl")
    return Path(shutil.copy2(repaired, dist))


def _pure(python: Path, source: Path, scratch: Path, tools: Path, dist: Path) -> Path:
    """The wheel of the same sources without the tables of the extension modules."""
    plain = scratch / "pure" / source.name
    shutil.copytree(source, plain, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    described = (plain / "pyproject.toml").read_text("utf-8")
    described, count = EXTENSIONS.subn("", described)
    if count != MODULES:
        raise FailedError(f"pyproject.toml has {count} tables of extension modules, and {MODULES} were expected")
    (plain / "pyproject.toml").write_text(described, "utf-8")
    _wheel(python, plain, scratch, tools)
    found = list(scratch.glob("out/*-py3-none-any.whl"))
    if len(found) != 1:
        raise FailedError("the wheel without the compiled core is not for every platform")
    return Path(shutil.copy2(found[0], dist))


def _wheel(python: Path, source: Path, scratch: Path, tools: Path) -> None:
    """Builds with the locked tools, and nothing of the machine's."""
    place = scratch / f"env-{len(list(scratch.glob('env-*')))}"
    inside = _empty(python, place)
    _pip("installing what builds", tools, inside, "install", "--no-deps", "--require-hashes", "-r", LOCK)
    shutil.rmtree(source / "build", ignore_errors=True)
    out = ("--wheel-dir", scratch / "out")
    options = ("--no-deps", "--no-build-isolation", "--no-cache-dir")
    _pip("building", tools, inside, "wheel", *options, *out, source, env=_environment(scratch, python))


def _environment(scratch: Path, python: Path | None = None) -> dict[str, str]:
    """What makes the bytes depend on the commit alone: its time, no debug information, no folder's name."""
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    flags = ["-g0", f"-ffile-prefix-map={scratch}=."]
    if python is not None and WORK in python.parents:
        flags.append(f"-I{python.parents[1] / 'include'}")  # Debian's pyconfig.h includes another one from there
    kept = {key: value for key, value in os.environ.items() if key not in ("SLUICE_PURE", "PYTHONPATH")}
    return {
        **kept,
        "SOURCE_DATE_EPOCH": told.stdout.strip() or "315532800",
        "CFLAGS": " ".join(flags),
        "PYTHONHASHSEED": "0",
    }


# ---------------------------------------------------------------- testing

LIMITS = "MAX_RETRIES = 5\n\n\ndef retry(count: int) -> bool:\n    return count < MAX_RETRIES\n"
RIGHT = "`MAX_RETRIES` is 5 in `limits.py`.\n"
WRONG = "`MAX_RETRIES` is 7 in `limits.py`.\n"


def _test(built: Built, tools: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-wheels-") as name:
        scratch = Path(name)
        inside = _empty(built.python, scratch / "env")
        _pip("installing", tools, inside, "install", built.wheel)
        _try(built, inside.parent / "sluice", scratch)
        script = ROOT / "tools" / "check_wheel.py"
        plain = {**_clean(), "PYTHONDONTWRITEBYTECODE": "1"}
        for kind in ("compiled", "pure") if built.compiled else ("pure",):
            variables = plain | ({"SLUICE_PURE": "1"} if kind == "pure" else {})
            _call("check_wheel.py", inside, "-P", script, kind, cwd=scratch, env=variables)


def _try(built: Built, sluice: Path, scratch: Path) -> None:
    """The commands that a newcomer calls first."""
    version = _run(0, sluice, "--version", cwd=scratch)
    if ("compiled core" in version) != built.compiled:
        raise FailedError(f"{built.wheel.name}: `sluice --version` says {version!r}")
    checkout = scratch / "checkout"
    checkout.mkdir()
    for path, text in {"limits.py": LIMITS, "right.md": RIGHT, "wrong.md": WRONG}.items():
        (checkout / path).write_text(text, "utf-8")
    who = ("-c", "user.name=wheels", "-c", "user.email=wheels@example.org")
    for arguments in (("init", "-q"), ("add", "limits.py"), (*who, "commit", "-qm", "Limit the retries")):
        _call("git", "git", *arguments, cwd=checkout, env=_clean())
    for status, answer, verdict in ((0, "right.md", "admitted"), (1, "wrong.md", "contradicted")):
        told = _run(status, sluice, "vet", answer, "--root", ".", "--json", cwd=checkout, both=False)
        found = [json.loads(line)["status"] for line in told.splitlines()]
        if found != [verdict]:
            raise FailedError(f"{built.wheel.name}: `sluice vet {answer}` says {found}, and not {verdict}")
    said = _run(2, sluice, "worker", cwd=scratch)
    if 'pip install "sluice-verdicts[worker]"' not in said or len(said.splitlines()) != 1:
        raise FailedError(f"{built.wheel.name}: `sluice worker` without its extra says {said!r}")
    _run(0, sluice, "examples", "--all", "--to", "examples", cwd=scratch)
    _run(0, sluice, "policy", "check", "examples/policy.toml", cwd=scratch)
    _run(0, sluice, "schema", "emission", cwd=scratch)


def _run(status: int, *command: str | Path, cwd: Path, both: bool = True) -> str:
    """What a command says, where it ends with this status: with another one than 0 on both streams, if both count."""
    done = subprocess.run(command, cwd=cwd, env=_clean(), capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != status:
        shown = " ".join(map(str, command))
        raise FailedError(f"{shown} ended with {done.returncode}, and not {status}: {done.stdout}{done.stderr}")
    return (done.stdout + (done.stderr if status and both else "")).strip()


def _clean() -> dict[str, str]:
    """The variables without what would change what sluice or Python do."""
    own = ("SLUICE_", "PYTHON", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(own)}


# ---------------------------------------------------------------- the tools that are called


def _empty(python: Path, folder: Path) -> Path:
    """A new environment with nothing in it; its interpreter."""
    _call("making an environment", python, "-m", "venv", "--without-pip", folder, env=_clean())
    return folder / "bin" / "python"


def _pip(doing: str, tools: Path, inside: Path, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
    command = (tools / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", inside)
    _call(doing, *command, *arguments, env=env or _clean())


def _call(doing: str, *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{doing} failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}".rstrip())


def _version(python: Path) -> str:
    code = "import platform as p; print(p.python_implementation(), p.python_version())"
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def _say(text: str) -> None:
    print(f"wheels: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
