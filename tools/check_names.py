"""Checks that the modules and classes that docstrings and comments name are there.

`make lint` runs it on the Python files of `codecs`, `streams`, `record` and `topology`. Two forms are checked:

- A file: `lanes.py`, `audit/report_page.py`. A file of the repository must end with that path.
- A name with a capital in a module, in back-ticks: `interfaces.Fold`, `state.MAX_TIMERS`. A module or package of that
name
  must define or import it. Where no module of ours has the name, it must be one that the file itself uses, or one of
  Python's own or of an installed package.

Other names (`header.time`, keys of the policy) are not checked: they look like anything.

Exit status: 0 when nothing was found, 1 otherwise.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("codecs", "streams", "record", "topology")
EXAMPLES = {"a.py", "b.py", "a/b.py", "limits.py", "src/limits.py", "pkg.Name", "records.MAX"}
"""Files and names of somebody's repository, in examples."""
_FILE = re.compile(r"(?<![\w./<*{-])((?:[a-z_]\w*/)*[a-z_]\w*\.py)\b(?![/:\w-])")
_NAME = re.compile(r"`((?:[a-z_]\w*\.)+)([A-Z]\w*)(?:\.\w+)*(?:\(\))?`")


def prose(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a Python source, each with its first line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module binds at its top, and those of its classes' members."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def used(tree: ast.Module) -> set[str]:
    """The names that a module's code uses or binds."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def is_elsewhere(module: str) -> bool:
    """Whether a module is one of Python's own or of an installed package."""
    try:
        return module in sys.stdlib_module_names or find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def faults(files: Iterable[Path], all_files: Iterable[str]) -> Iterator[str]:
    """A sentence for each name that leads nowhere.

    Args:
        files: the Python files whose prose is read.
        all_files: the paths of the repository's files, relative to its root.
    """
    there, sources = [f"/{one}" for one in all_files], {file: file.read_text("utf-8") for file in files}
    holds: dict[str, set[str]] = defaultdict(set)
    for file, source in sources.items():
        names = set(defined(ast.parse(source)))
        holds[file.parent.name if file.stem == "__init__" else file.stem] |= names
        holds[file.parent.name] |= {file.stem, *names}
    for file, source in sources.items():
        for line, text in prose(source):
            place = f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}:{line}"
            for name in _FILE.findall(text):
                if name not in EXAMPLES and not any(one.endswith(f"/{name}") for one in there):
                    yield f"{place}: no file of the repository is {name}"
            for path, name in _NAME.findall(text):
                if f"{path}{name}" in EXAMPLES:
                    continue
                first, module = path.split(".")[0], path.split(".")[-2]
                if module in holds:
                    if name not in holds[module]:
                        yield f"{place}: no module {module} has {name}"
                elif first not in used(ast.parse(source)) and not is_elsewhere(first):
                    yield f"{place}: there is no module {module} (`{path}{name}`)"


def main() -> int:
    """Prints what leads nowhere."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = list(faults(files, listed.splitlines()))
    for fault in found:
        print(fault)
    if found:
        print(f"check_names: {len(found)} names lead nowhere", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
