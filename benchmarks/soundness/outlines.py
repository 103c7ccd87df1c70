"""Runs each language's oracle over its packages and keeps what it printed: an outline of every file (README.md).

An oracle is a program that reads a language with that language's own parser. It shares no code with the judge.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from . import fetching

ORACLES = fetching.HERE / "oracles"


class File(NamedTuple):
    """One file of a package with what its oracle says of it."""

    language: str
    package: str
    path: str
    text: str
    outline: dict[str, Any]


def _python(name: str) -> Callable[[Path], list[str]]:
    return lambda cache: [sys.executable, str(ORACLES / f"{name}_oracle.py")]


def _go(cache: Path) -> list[str]:
    made = cache / "go-oracle"
    fetching.run(["go", "build", "-o", str(made), "."], ORACLES / "go")
    return [str(made)]


def _rust(cache: Path) -> list[str]:
    target = cache / "rust"
    manifest = str(ORACLES / "rust/Cargo.toml")
    fetching.run(["cargo", "build", "-q", "--locked", "--manifest-path", manifest, "--target-dir", str(target)])
    return [str(target / "debug/oracle")]


_PROGRAMS: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "c": (_python("clang"), "libclang"),
    "cpp": (_python("clang"), "libclang"),
    "documents": (_python("documents"), ""),
    "go": (_go, ""),
    "java": (lambda cache: ["java", str(ORACLES / "JavaOracle.java")], ""),
    "javascript": (lambda cache: ["node", str(ORACLES / "script_oracle.js")], "typescript"),
    "python": (_python("python"), ""),
    "ruby": (lambda cache: ["ruby", str(ORACLES / "ruby_oracle.rb")], ""),
    "rust": (_rust, ""),
    "typescript": (lambda cache: ["node", str(ORACLES / "script_oracle.js")], "typescript"),
}
"""By language: what makes the oracle's command, and the tool of `packages.txt` that it takes as its second argument."""
LANGUAGES = tuple(_PROGRAMS)


def command(language: str, cache: Path) -> list[str]:
    """The command of a language's oracle, which is built where it must be; it takes the folder of the sources.

    Raises:
        fetching.Missing: the compiler is not installed.
        fetching.FetchingError: it does not build.
    """
    return _PROGRAMS[language][0](cache)


def outlines(language: str, cache: Path) -> list[File]:
    """Every file of a language's packages that its oracle can read.

    Raises:
        fetching.Missing: a program is not installed that is needed for what the cache lacks.
        fetching.FetchingError: a package cannot be had, or the oracle fails.
    """
    made: list[File] = []
    table = fetching.packages()
    tools = {one.name: one for one in table if one.language == "tool"}
    for package in table:
        if package.language == language:
            folder, paths = fetching.unpacked(package, cache)
            for outline in _outlined(language, package, folder, paths, tools, cache):
                text = (folder / outline["path"]).read_text("utf-8", errors="replace")
                made.append(File(language, package.name, outline["path"], text, outline))
    return made


def _outlined(
    language: str,
    package: fetching.Package,
    folder: Path,
    paths: list[str],
    tools: dict[str, fetching.Package],
    cache: Path,
) -> list[dict[str, Any]]:
    sources = [one for one in paths if not one.endswith((".h", ".d.ts"))]
    kept = cache / "outlines" / f"{_version(language)}-{folder.name}.jsonl"
    if not kept.exists():
        tool = _PROGRAMS[language][1]
        arguments = [str(folder)]
        if tool:
            place, names = fetching.unpacked(tools[tool], cache)
            arguments.append(str(place / names[0]) if len(names) == 1 else str((place / names[0]).parents[1]))
        told = fetching.run([*command(language, cache), *arguments], given="".join(f"{one}\n" for one in sources))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(told, "utf-8")
    return [json.loads(line) for line in kept.read_text("utf-8").splitlines()]


def _version(language: str) -> str:
    """A digest of an oracle's sources: an outline that another program made is not used."""
    stem = {"c": "clang", "cpp": "clang", "java": "Java", "javascript": "script", "typescript": "script"}
    files = sorted(one for one in ORACLES.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    wanted = [one for one in files if str(one.relative_to(ORACLES)).startswith(stem.get(language, language))]
    return sha256(b"".join(one.read_bytes() for one in wanted)).hexdigest()[:16]
