"""The statements, the packages that they speak of, and the proposals, as they are kept (README.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from soundness import fetching

from sluice.record.proposing import Context, key_of

HERE = Path(__file__).parent
PACKAGES = HERE / "packages.txt"
CORPUS = HERE / "corpus"
PROPOSERS = ("a", "b")
PARTS = (1, 2)
SECOND = re.compile(r"-[34]-\d+#")
"""In the ids of the second part."""
MAX_FILE = 10_000_000
"""Bytes of a file of a package."""
IDENTITY = {
    "GIT_AUTHOR_NAME": "yield",
    "GIT_AUTHOR_EMAIL": "yield@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "yield",
    "GIT_COMMITTER_EMAIL": "yield@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
"""Of the one commit of each repository, so that it has the same hash everywhere."""


class Statement(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement.

    Attributes:
        id: of the statement; a mutation's ends with `~` and a number.
        before: what stood before it in the answer, at most 300 characters.
        label: it is true.
        wrong: of a false one the words that are wrong, by each reader.
        mutation: how it was made false of a true one; empty where a model wrote it.
    """

    id: str
    package: str
    language: str
    before: str
    text: str
    label: bool
    wrong: tuple[str, ...] = ()
    mutation: str = ""

    @property
    def key(self) -> str:
        """By which its proposals are kept."""
        return key_of(self.text, Context((self.before,) if self.before else ()))

    @property
    def part(self) -> int:
        """The part of the corpus (README.md)."""
        return 2 if SECOND.search(self.id) else 1


def read(name: str) -> list[Statement]:
    """The statements of a file of the corpus."""
    return [msgspec.json.decode(line, type=Statement) for line in (CORPUS / name).read_bytes().splitlines()]


def write(name: str, statements: Iterable[Statement]) -> None:
    """Writes them as a file of the corpus."""
    lines = (json.dumps(msgspec.to_builtins(one), ensure_ascii=False) for one in statements)
    (CORPUS / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def readers() -> dict[str, int]:
    """How many statements were read; how many are left out since the readers differ or both say that they are unclear;
    and how many a third reading settled."""
    told: dict[str, Any] = json.loads((CORPUS / "readers.json").read_bytes())
    return told


def everything() -> list[Statement]:
    """The statements that both readers label alike or a third reading settled, and the mutations."""
    return read("statements.jsonl") + read("mutations.jsonl")


def input_hash() -> str:
    """Of all that a run reads beside sluice itself."""
    made = hashlib.sha256()
    for path in [PACKAGES, *sorted(CORPUS.iterdir())]:
        made.update(f"{path.name}\n".encode() + path.read_bytes())
    return f"sha256:{made.hexdigest()}"


def repositories(cache: Path) -> dict[str, tuple[Path, list[str]]]:
    """By name of a package, its repository of one commit and the paths in it.

    Raises:
        Missing: a client or git is not installed.
        FetchingError: a package cannot be had, or is another one.
    """
    return {name_of(package): _repository(package, cache) for package in fetching.packages(PACKAGES)}


def name_of(package: fetching.Package) -> str:
    """The short name by which statements name a package."""
    return package.name.split(":")[1] if package.manager == "maven" else package.name.rpartition("/")[2]


def _repository(package: fetching.Package, cache: Path) -> tuple[Path, list[str]]:
    source, paths = fetching.unpacked(package, cache, MAX_FILE)
    folder = cache / "repositories" / f"{name_of(package)}-{package.digest[:16]}"
    if not folder.exists():
        made = folder.with_suffix(f".{os.getpid()}")
        shutil.copytree(source, made, ignore=lambda here, names: [".paths"] if Path(here) == source else [])
        env = ["env", *(f"{name}={value}" for name, value in IDENTITY.items()), "git", "-c", "core.autocrlf=false"]
        fetching.run([*env, "init", "-q", "-b", "main"], made)
        fetching.run([*env, "add", "--all", "--force"], made)
        fetching.run([*env, "commit", "-q", "--no-verify", "-m", f"{package.name} {package.version}"], made)
        made.rename(folder)
    return folder, paths
