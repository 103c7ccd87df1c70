"""Each room has a door and a README, and no two files need each other (docs/decisions/0016-rooms-with-doors.md).

A room is `codecs/`, or a folder of `streams/` or `topology/`. Its door is the `__all__` of its `__init__.py`: names of
its modules, or names that it gives out itself. Other rooms import through the door; `tests` may look inside.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("codecs", "streams", "record", "topology")
ROOMS = [
    "codecs",
    *sorted(
        folder.relative_to(ROOT).as_posix()
        for top in ("streams", "topology")
        for folder in (ROOT / top).iterdir()
        if (folder / "__init__.py").exists()
    ),
]


GENERIC = {"__init__", "errors", "interfaces", "models"}
"""Names that each room may have, since the room's own name says the rest."""


def module_of(path: Path) -> str:
    """The dotted name of a file below the root, without `sluice.`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}


@cache
def imports_of(module: str) -> list[tuple[str, str]]:
    """What a module imports of ours, also for types only: (module, name), the name empty where it is a module."""
    path = FILES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        target = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            full = ".".join([*target, alias.name])
            found.append((full, "") if full in FILES else (".".join(target), alias.name))
    return found


@cache
def graph() -> dict[str, set[str]]:
    """Of each module, those that it imports."""
    return {module: {name for name, _ in imports_of(module) if name in FILES} - {module} for module in FILES}


def room_of(module: str) -> str:
    """`streams/policy` of `streams.policy.policy`; `codecs` of anything there."""
    parts = module.split(".")
    room = "/".join(parts[:2])
    return room if room in ROOMS else parts[0]


@cache
def door_of(room: str) -> set[str]:
    """The names in a room's `__all__`."""
    for node in ast.parse((ROOT / room / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def test_cycles_are_found():
    """The search sees what it is for."""
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_no_files_need_each_other():
    """Not even for their types."""
    assert cycles(graph()) == []


def test_the_root_of_the_topology_holds_nothing():
    """Each of its files is in a room."""
    assert [path.name for path in (ROOT / "topology").glob("*.py")] == ["__init__.py"]
    assert [path.name for path in (ROOT / "streams").glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: str):
    """Its README: what it is for, its way in, what it must not know."""
    lines = (ROOT / room / "README.md").read_text("utf-8").splitlines()

    assert lines[0].startswith("# ")
    assert len([line for line in lines if line.strip()]) <= 8
    assert any(line.startswith("- Way in: ") for line in lines)
    assert any(line.startswith("- Must not know: ") for line in lines)


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_names_what_is_there(room: str):
    """Each name of `__all__` is a module of the room, or is bound in its `__init__.py`."""
    source = ast.parse((ROOT / room / "__init__.py").read_text("utf-8"))
    bound = {
        alias.asname or alias.name
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    bound |= {node.name for node in source.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    here = ROOT / room

    missing = {
        name
        for name in door_of(room) - bound
        if not (here / f"{name}.py").exists() and not (here / name / "__init__.py").exists()
    }
    assert missing == set()


def test_other_rooms_come_in_by_the_door():
    """Whatever a module imports of another room, that room's `__all__` names."""
    past = []
    for module in FILES:
        for target, name in imports_of(module):
            room = room_of(target)
            if room == room_of(module) or room not in ROOMS:
                continue
            inside = target.split(".")[room.count("/") + 1 :]
            if (inside[0] if inside else name) not in door_of(room):
                past.append(f"{module} -> {target} {name}".strip())
    assert past == []


def test_no_door_is_wider_than_it_is_used():
    """A module in a door is imported by another room, or by `pyproject.toml`, the tools or the examples."""
    used = {target for module in FILES for target in graph()[module] if room_of(target) != room_of(module)}
    outside = " ".join(
        path.read_text("utf-8")
        for path in [ROOT / "pyproject.toml", *(ROOT / "tools").glob("*.py"), *(ROOT / "examples").rglob("*.py")]
    )
    idle = [
        f"{room}: {name}"
        for room in ROOMS
        for name in sorted(door_of(room))
        if (ROOT / room / f"{name}.py").exists()
        and f"{room}.{name}".replace("/", ".") not in used
        and f"{room}.{name}".replace("/", ".") not in outside
    ]
    assert idle == []


def test_a_module_has_a_name_of_its_own():
    """One word for one thing: whoever reads a module's name knows which it is, without its folder."""
    names = Counter(path.stem for path in FILES.values())
    assert {name for name, count in names.items() if count > 1} - GENERIC == set()
