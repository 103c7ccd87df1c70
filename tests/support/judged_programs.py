"""Tables of small programs, and what checks on them come to."""

from __future__ import annotations

from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.verify import Parsing, verify_content

_ANSWERS = {"+": True, "-": False, "?": None}


def held(check: str, text: str, path: str = "src/net/a.py", *, whole: bool = True) -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    return verify_content(parsed, Source(path, text, whole=whole), Parsing())


def assert_each(expected: bool | None, checks: str, text: str, path: str) -> None:
    """That each check of a table, two spaces apart, comes to what is expected."""
    rows = [check.strip() for line in checks.splitlines() for check in line.split("  ") if check.strip()]
    assert {check: held(check, text, path).holds for check in rows} == dict.fromkeys(rows, expected)


def decided(rows: str) -> list[tuple[str, str, bool | None]]:
    """The rows of a table: a program, and under it its checks, each behind what it comes to (`+`, `-`, `?`).

    Programs stand between empty lines.
    """
    found: list[tuple[str, str, bool | None]] = []
    for block in rows.strip("\n").split("\n\n"):
        lines = block.split("\n")
        checks = [line for line in lines if line[:2] in ("+ ", "- ", "? ")]
        program = "\n".join(line for line in lines if line not in checks)
        assert checks, program
        found.extend((program + "\n", line[2:], _ANSWERS[line[0]]) for line in checks)
    return found
