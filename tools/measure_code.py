"""The size of the code: lines, files, importers, strictness, and the files that one vetted sentence runs through.

`.venv/bin/python tools/measure_code.py [--check] [--json]`. Prints a table: each figure, its bound and its goal. The
bounds stand in `measure_code.toml`; `--check`, which `make lint` calls, ends with status 1 where a figure is above its
bound. A bound is lowered with the figure and never raised without a reason in the commit.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("codecs", "streams", "record", "topology")
BOUNDS = Path(__file__).with_suffix(".toml")
SMALL = 200
"""Lines below which a module with one importer in its own room is too small a file."""
SENTENCE = "`MAX_RETRIES` is 5 in `limits.py`."
TRACED = """
import sys, threading
functions = {}
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1:  # no body of a module or of a class
        functions[code.co_filename + ":" + code.co_qualname] = None
threading.setprofile(note)
sys.setprofile(note)
try:
    from sluice.topology.cli import main
    main(sys.argv[1:])
except SystemExit:
    pass
sys.setprofile(None)
print(*functions, sep="\\n", file=sys.stderr)
"""


def python_files(*folders: str) -> list[Path]:
    """The Python files below folders of the repository."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def lines_of(paths: list[Path]) -> int:
    """Lines of files, empty ones and comments included."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def imported(path: Path) -> Iterator[Path]:
    """The modules of sluice that a module imports, also for types only."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            folder = ROOT.joinpath(*filter(None, base))
            yield folder.with_suffix(".py")
            yield from (folder / f"{alias.name}.py" for alias in node.names)


def small_with_one_importer() -> list[Path]:
    """Modules below `SMALL` lines whose only importer stands in the same folder."""
    importers: dict[Path, set[Path]] = {}
    for path in python_files(*ROOMS):
        for module in imported(path):
            importers.setdefault(module, set()).add(path)
    return [
        path
        for path in python_files(*ROOMS)
        if path.name != "__init__.py"
        and [other.parent for other in importers.get(path, ())] == [path.parent]
        and lines_of([path]) < SMALL
    ]


def functions_run(folder: Path, *arguments: str) -> list[str]:
    """The production functions that a command runs, in the order of their first calls; without its child processes.

    Args:
        folder: where it runs; its caches are kept there.
        arguments: of `sluice`, whose standard output has to say `admitted`.
    """
    ran = subprocess.run(
        [sys.executable, "-c", TRACED, *arguments],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    if "admitted" not in ran.stdout:
        raise SystemExit(f"measure_code: the sentence was not admitted: {ran.stdout}{ran.stderr}")
    wanted = tuple(f"{ROOT / room}{os.sep}" for room in ROOMS)
    return [line.removeprefix(f"{ROOT}{os.sep}") for line in ran.stderr.splitlines() if line.startswith(wanted)]


def files_of_a_sentence() -> int:
    """The production files whose functions run while `sluice vet` vets one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        (repository / "limits.py").write_text("MAX_RETRIES = 5\n")
        (repository / "answer.md").write_text(SENTENCE)
        git = ("git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org")
        for arguments in (("init", "-q"), ("add", "limits.py"), ("commit", "-q", "-m", "first")):
            subprocess.run([*git, *arguments], check=True)
        return len({line.partition(":")[0] for line in functions_run(repository, "vet", "answer.md")})


def figures() -> dict[str, int]:
    """Each figure by its name in `measure_code.toml`."""
    production = python_files(*ROOMS)
    strict = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    is_strict = strict.get("typeCheckingMode") == "strict"
    loose = (
        [] if is_strict else [path for path in production if path.relative_to(ROOT).parts[0] not in strict["strict"]]
    )
    return {
        "production-lines": lines_of(production),
        "production-files": len(production),
        "c-lines": lines_of(sorted((ROOT / "native").glob("*.[ch]"))),
        "test-lines": lines_of(python_files("tests")),
        "one-importer": len(small_with_one_importer()),
        "largest-file": max(lines_of([path]) for path in production),
        "lines-not-strict": lines_of(loose),
        "files-of-a-sentence": files_of_a_sentence(),
    }


def by_room() -> dict[str, tuple[int, int]]:
    """Files and lines of each room."""
    paths = python_files(*ROOMS)
    rooms = {path: "/".join(path.relative_to(ROOT).parts[:-1][:2]) for path in paths}
    files = Counter(rooms.values())
    return {room: (files[room], lines_of([path for path in paths if rooms[path] == room])) for room in sorted(files)}


def main() -> int:
    """Prints the table; 1 where a figure is above its bound and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="end with status 1 where a figure is above its bound")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    measured, bounds = figures(), tomllib.loads(BOUNDS.read_text())
    if arguments.json:
        print(json.dumps({"figures": measured, "rooms": by_room(), **bounds}))
    else:
        print(f"{'figure':24}{'now':>9}{'bound':>9}{'goal':>9}")
        for name, number in measured.items():
            print(f"{name:24}{number:>9,}{bounds['bounds'][name]:>9,}{bounds['goals'][name]:>9,}")
        if not arguments.check:
            print(f"\n{'room':24}{'files':>9}{'lines':>9}")
            for room, (files, lines) in by_room().items():
                print(f"{room:24}{files:>9,}{lines:>9,}")
    above = [name for name, number in measured.items() if number > bounds["bounds"][name]]
    for name in above if arguments.check else ():
        print(
            f"measure_code: {name} is {measured[name]:,}, above its bound {bounds['bounds'][name]:,}", file=sys.stderr
        )
    return 1 if above and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
