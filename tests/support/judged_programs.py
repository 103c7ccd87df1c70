"""Tables of small programs, and what checks on them come to."""

from __future__ import annotations

from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.verify import Parsing, verify_content

_ANSWERS = {"+": True, "-": False, "?": None}


def held(check: str, text: str, path: str) -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    return verify_content(parsed, Source(path, text), Parsing())


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
