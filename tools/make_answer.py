"""Runs the tool calls of `examples/answer.jsonl` again, on this checkout, and writes what they gave into it.

The file is a session in the shape of Claude Code's transcripts: a question, tool calls, their results,
and an answer, which also stands in `examples/answer.md`. Paths are relative to the checkout, and no record has a time,
so the session is about the checkout as it is. The answer itself is never changed here: a test says which of its
statements has got another verdict (`tests/topology/cli/test_demo_answer.py`).

    python tools/make_answer.py [--check]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SESSION = ROOT / "examples" / "answer.jsonl"
COMMAND = "python tools/make_answer.py"


def records(text: str) -> list[dict[str, Any]]:
    """The records of a session."""
    return [json.loads(line) for line in text.splitlines()]


def blocks(session: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """The content blocks of one kind, in order."""
    for record in session:
        content = record["message"]["content"]
        yield from (block for block in content if isinstance(block, dict) and block["type"] == kind)


def read(root: Path, file_path: str, offset: int = 1, limit: int = 2000) -> str:
    """What `Read` gives: numbered lines."""
    lines = (root / file_path).read_text("utf-8").split("\n")
    shown = list(enumerate(lines, 1))[offset - 1 : offset - 1 + limit]
    return "\n".join(f"{number:6}\t{line}" for number, line in shown)


def grep(root: Path, pattern: str, path: str) -> str:
    """What `Grep` gives in its mode `content` with numbers: `path:line:text`, of tracked files, by path."""
    listed = subprocess.run(["git", "ls-files", "-z", path], cwd=root, capture_output=True, text=True, check=True)
    found: list[str] = []
    for name in sorted(filter(None, listed.stdout.split("\0"))):
        try:
            lines = (root / name).read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{number}:{line}" for number, line in enumerate(lines, 1) if re.search(pattern, line)]
    return "\n".join(found)


def result_of(root: Path, call: dict[str, Any]) -> str:
    """What a call of the session gives on a checkout."""
    given = call["input"]
    if call["name"] == "Read":
        return read(root, **given)
    if call["name"] == "Grep":
        return grep(root, given["pattern"], given["path"])
    raise SystemExit(f"{SESSION.name}: nobody here can run the tool {call['name']}")


def made(text: str, root: Path = ROOT) -> str:
    """The session with the results that its calls give now."""
    session = records(text)
    calls = {call["id"]: call for call in blocks(session, "tool_use")}
    for result in blocks(session, "tool_result"):
        result["content"] = result_of(root, calls[result["tool_use_id"]])
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in session)


def main(arguments: list[str]) -> int:
    """Writes the session, or with `--check` says whether it is up to date."""
    before = SESSION.read_text("utf-8")
    now = made(before)
    if arguments == ["--check"] and now != before:
        sys.stderr.write(f"{SESSION.name} is out of date: run {COMMAND}\n")
        return 1
    if not arguments:
        SESSION.write_text(now, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
