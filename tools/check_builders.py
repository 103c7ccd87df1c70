"""Checks that tests build records with the builders alone: one place knows what a good record has.

`make lint` runs it. No module of the tests but `tests/support/builders.py`, and `fold_lines.py`, which puts its records
into lines of `sluice fold`, may define a function `emission`, `observation`, `review` or the like, however it is
prefixed. A fixture may have such a name, since tests ask for it by its name. What else a test needs is a scenario: it
has a name that says what it is about, and calls the builders.

Exit status: 0 when nothing was found, 1 otherwise.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDERS = [ROOT / "tests" / "support" / name for name in ("builders.py", "fold_lines.py")]
_NAME = re.compile(
    r"_?(?:an?_|make_|build_)?"
    r"(?:emission|observation|review|sighting|attestation|assertion|annotation|provenance|policy)"
    r"(?:_value|_record|_bytes|_json)?"
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _is_fixture(function: _Function) -> bool:
    return any("fixture" in ast.unparse(one) for one in function.decorator_list)


def faults(files: Iterable[Path]) -> Iterator[str]:
    """A sentence for each function that has a builder's name.

    Args:
        files: the Python files of tests, without the builders.
    """
    for file in files:
        place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, _Function) and _NAME.fullmatch(node.name) and not _is_fixture(node):
                yield f"{place}:{node.lineno}: {node.name} is for tests/support/builders.py; name the scenario instead"


def main() -> int:
    """Prints which functions are builders of their own."""
    found = list(faults(file for file in sorted((ROOT / "tests").rglob("*.py")) if file not in BUILDERS))
    for fault in found:
        print(fault)
    if found:
        print(f"check_builders: {len(found)} functions build records of their own", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
