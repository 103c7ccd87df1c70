"""The packages as git repositories with a history of three commits, the same on every machine down to the hashes.

The statements of `corpus/` are about these. The last commit is the source distribution as it was published; what lies
before it is ours (`history.toml`), so that there is something to say about history. Authors, times, and the times of
the files are fixed, and no configuration of the machine's git is read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import tomllib
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from sdists import HERE, Pinned, SourcesError, fetch, pinned, unpack

CACHE = HERE.parent.parent / "var" / "yield"
HISTORY = HERE / "history.toml"
RECIPE = "1"
"""Counted up when what is made of an archive changes, so that nothing made before is taken for it."""
AUTHORS = ("Ada Archer", "Ada Archer", "Bela Brook")
HOUR = "T09:30:00Z"
_FIXED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
_CONFIGURATION = {
    "core.autocrlf": "false",
    "core.fileMode": "true",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
}


def history() -> dict[str, dict[str, Any]]:
    """What is done to each package's history, by its name."""
    return tomllib.loads(HISTORY.read_text("utf-8"))


def subjects(name: str, version: str) -> tuple[str, str, str]:
    """The subject lines of the three commits."""
    rules = history()[name]
    return f"Import {name}", f"Add {rules['added']}", f"Release {name} {version}"


def roots(cache: Path = CACHE) -> dict[str, Path]:
    """The repositories by the package's name, made where they are not there yet.

    Raises:
        SourcesError: the packages are not to be had, or git failed.
    """
    cache = cache.resolve()
    archives = fetch(cache / "sdists")
    (cache / "repositories").mkdir(parents=True, exist_ok=True)
    rules = history()
    recipe = sha256(f"{RECIPE} {HISTORY.read_text('utf-8')}".encode()).hexdigest()[:12]
    found: dict[str, Path] = {}
    for package in pinned():
        root = cache / "repositories" / f"{package.name}-{package.version}-{recipe}"
        if not root.is_dir():
            _make(package, archives[package.name], root, rules[package.name])
        found[package.name] = root
    return found


def _make(package: Pinned, archive: Path, root: Path, rules: dict[str, Any]) -> None:
    """One repository, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=root.parent, prefix=".making-") as scratch:
        work = Path(scratch, "work")
        unpack(archive, work)
        commit_all(work, package, rules)
        _keep(work, root)


def _keep(work: Path, root: Path) -> None:
    """Puts a finished repository in its place; where another process was first, that one's stands."""
    try:
        work.rename(root)
    except OSError:
        if not root.is_dir():
            raise


def commit_all(root: Path, package: Pinned, rules: dict[str, Any]) -> None:
    """Makes a repository with the three commits of what lies in a folder."""
    git(root, "init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=")
    for key, value in _CONFIGURATION.items():
        git(root, "config", key, value)
    info = root / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n", "utf-8")
    added, changed = root / rules["added"], root / rules["changed"]
    line, stale = rules["line"].encode(), rules["stale"].encode()
    content, late = changed.read_bytes(), added.read_bytes()
    if content.splitlines().count(line) != 1 or stale in content:
        raise SourcesError(f"{package.name}: {rules['changed']} does not have the line of {HISTORY.name} once")
    said = subjects(package.name, package.version)
    added.unlink()
    changed.write_bytes(content.replace(line, stale))
    _commit(root, 0, said[0], rules["days"][0])
    _set_times(root, rules["days"][0])
    added.write_bytes(late)
    _commit(root, 1, said[1], rules["days"][1])
    _set_time(added, rules["days"][1])
    changed.write_bytes(content)
    _commit(root, 2, said[2], rules["days"][2])
    _set_time(changed, rules["days"][2])
    git(root, "update-index", "-q", "--refresh")


def _commit(root: Path, which: int, subject: str, day: str) -> None:
    name = AUTHORS[which]
    mail = f"{name.split()[0].lower()}@example.org"
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", day + HOUR))
    }
    git(root, "add", "--all", "--force", ".")
    git(root, "commit", "--quiet", "--no-verify", "-m", subject, environment=who)


def _set_times(root: Path, day: str) -> None:
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink() and ".git" not in path.relative_to(root).parts[:1]:
            _set_time(path, day)


def _set_time(path: Path, day: str) -> None:
    at = int(datetime.fromisoformat(day + HOUR).astimezone(UTC).timestamp())
    os.utime(path, (at, at))


def git(root: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What git says; no configuration but the repository's own.

    Raises:
        SourcesError: git is not there, or failed.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean["GIT_CEILING_DIRECTORIES"] = str(root.parent)  # never the repository that the cache lies in
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            env={**clean, **_FIXED, **(environment or {})},
            capture_output=True,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourcesError(f"git: {error}") from None
    if done.returncode:
        raise SourcesError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="surrogateescape")


# ---------------------------------------------------------------- a large repository


def forest(found: dict[str, Path], files: int, cache: Path = CACHE) -> Path:
    """One repository with all packages, each below a folder of its name, and small modules up to so many files.

    What a look takes is measured in it.
    """
    root = (
        cache.resolve()
        / "repositories"
        / f"forest-{files}-{sha256(repr(sorted(found.items())).encode()).hexdigest()[:12]}"
    )
    if root.is_dir():
        return root
    with tempfile.TemporaryDirectory(dir=root.parent, prefix=".making-") as scratch:
        work = Path(scratch, "work")
        for name, source in found.items():
            shutil.copytree(source, work / name, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        there = sum(path.is_file() for path in work.rglob("*"))
        for number in range(max(0, files - there)):
            path = work / "filler" / f"part_{number // 100:03}" / f"module_{number:05}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filler(number), "utf-8")
        git(work, "init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=")
        for key, value in _CONFIGURATION.items():
            git(work, "config", key, value)
        (work / ".git" / "info").mkdir(exist_ok=True)
        (work / ".git" / "info" / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n", "utf-8")
        _commit(work, 0, "Import everything", "2026-01-10")
        _keep(work, root)
    return root


def _filler(number: int) -> str:
    lines = [f'"""Module {number}."""', "", f"LIMIT = {number}", ""]
    for each in range(number % 7 + 1):
        lines += ["", f"def step_{each}(value):", f"    return value + {each * number + 1}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    for package_name, place in roots().items():
        print(package_name, place, git(place, "rev-parse", "HEAD").strip())
