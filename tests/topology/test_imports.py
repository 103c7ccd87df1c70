"""Imports point one way, and the core knows neither clock nor chance nor I/O (ARCHITECTURE.md).

Two readers: import-linter, over the whole graph of modules, with the contracts of pyproject.toml; and a look at the
core's own sources for calls that need no import, or that only a name gives away.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted(path for folder in ("codecs", "streams") for path in (ROOT / folder).rglob("*.py"))

FORBIDDEN_MODULES = {
    # clocks
    *("time", "sched", "zoneinfo"),
    # chance
    *("random", "secrets", "uuid", "numpy"),
    # I/O, processes, threads
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "io", "logging", "mmap", "multiprocessing", "os"),
    *("pathlib", "pickle", "select", "shelve", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys"),
    *("tempfile", "threading", "urllib.request", "urllib.error", "webbrowser"),
    # what topology may know
    *("aiokafka", "click", "confluent_kafka", "faust", "rich", "structlog"),
}
IN_MEMORY = {"io.StringIO"}
"""Of a module of I/O, what reads and writes a text in memory."""
ITS_CLOCK = "streams/grounded/retrieval_clock.py"
"""Where users' programs date what they retrieve; no fold comes past it."""
FORBIDDEN_CALLS = {"open", "print", "input", "hash", "id", "exec", "eval", "__import__", "breakpoint"}
FORBIDDEN_METHODS = {"now", "utcnow", "today", "getpid", "urandom", "getenv"}


def test_the_contracts_of_pyproject_hold() -> None:
    """`lint-imports` finds the packages, and every contract is kept: topology -> streams -> codecs, no I/O below."""
    script = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def test_there_is_a_contract_for_each_direction() -> None:
    """The layers are named from the top, and both folders of the core are held to doing no I/O."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    forbidding = [contract for contract in contracts if contract["type"] == "forbidden"]

    assert layers[0] == ["sluice.topology", "sluice.record", "sluice.streams", "sluice.codecs"]
    assert any(
        set(contract["source_modules"]) >= {"sluice.codecs", "sluice.streams"}
        and set(contract["forbidden_modules"]) >= {"socket", "subprocess", "random", "time", "aiokafka", "faust"}
        for contract in forbidding
    )


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every module that a source imports from outside its package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names} - IN_MEMORY
            yield from ((node.lineno, name) for name in sorted(names | {node.module} if names else names))


def test_the_core_has_sources() -> None:
    """What follows is looked for in files that are there."""
    names = {path.relative_to(ROOT).as_posix() for path in CORE}

    assert {"codecs/blocks.py", "streams/adjudication/fold.py", "streams/sanitise/__init__.py"} <= names


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_of_the_core_imports_no_clock_chance_or_io(path: Path) -> None:
    """Nor anything that only the running system knows; a data file of the package is read through importlib."""
    tree = ast.parse(path.read_text("utf-8"))
    allowed = {"time"} if path.relative_to(ROOT).as_posix() == ITS_CLOCK else set[str]()

    found = [
        f"{path.name}:{line}: {name}"
        for line, name in imported(tree)
        if (name in FORBIDDEN_MODULES or name.partition(".")[0] in FORBIDDEN_MODULES) and name not in allowed
    ]

    assert found == []


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_of_the_core_calls_no_clock_and_opens_nothing(path: Path) -> None:
    """Built-in functions need no import: neither files nor the terminal, nor what depends on hashing or addresses."""
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in FORBIDDEN_CALLS:
                found.append(f"{path.name}:{node.lineno}: {called.id}()")
            elif isinstance(called, ast.Attribute) and called.attr in FORBIDDEN_METHODS:
                found.append(f"{path.name}:{node.lineno}: .{called.attr}()")

    assert found == []


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_of_the_core_imports_its_own_package_relatively(path: Path) -> None:
    """The folders install under another name than they stand in; and never upwards."""
    tree = ast.parse(path.read_text("utf-8"))
    inside_codecs = path.is_relative_to(ROOT / "codecs")
    levels = len(path.relative_to(ROOT).parts)

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("sluice") or node.level
            assert node.level <= levels
            if inside_codecs and node.level == levels:
                assert (node.module or "").partition(".")[0] not in ("streams", "topology")
            if node.level == levels:
                assert (node.module or "").partition(".")[0] != "topology"
        elif isinstance(node, ast.Import):
            assert not any(alias.name.partition(".")[0] == "sluice" for alias in node.names)


def test_no_fold_comes_past_the_cores_clock() -> None:
    """What decides imports nothing of the grounded values' package, which has one."""
    within = ROOT / "streams" / "grounded"
    deciding = [path for path in CORE if not path.is_relative_to(within)]
    importing = [path.name for path in deciding if "grounded" in imports_of(path)]

    assert importing == []


def imports_of(path: Path) -> set[str]:
    """The first names of what a source imports relatively."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    modules = {(node.module or "").partition(".")[0] for node in nodes if node.level}
    return modules | {alias.name for node in nodes if node.level and not node.module for alias in node.names}


def test_the_core_can_be_loaded_without_what_runs_it() -> None:
    """A fold in a fresh interpreter brings neither Faust nor a Kafka client nor the command line with it."""
    code = (
        "import sys, sluice.streams.adjudication.fold, sluice.streams.policy.policy_toml, sluice.codecs.decode\n"
        "print([name for name in ('faust', 'aiokafka', 'confluent_kafka', 'click', 'structlog', 'rich', 'asyncio')"
        " if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
