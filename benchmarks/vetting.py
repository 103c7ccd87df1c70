"""How long `sluice vet` takes for a whole session of 3 MB, in processor seconds and in seconds.

The session is made of this checkout, the same each time from the same files: turn by turn an agent reads some files, as
Claude Code prints them, and says of them what their syntax tells: what is defined, what a constant is, who calls whom,
what is imported. Every tenth statement is false: it names the value or the callee of another one.

It is vetted with somewhat more statements than recorded sessions have (`sparse`), and with twice as many (`dense`):
`benchmarks/README.md` says how many those have.

    python -m benchmarks.vetting              # vets both sessions, and prints what they took
    python -m benchmarks.vetting --write FILE # writes one session, and vets nothing
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SIZE: Final = 3_000_000
"""Bytes of the session, about."""
FILES_A_TURN: Final = 7
STATEMENTS_A_FILE: Final = {"sparse": 2, "dense": 4}
"""How many statements the agent makes about each file that it reads, at most."""
FALSE_EVERY: Final = 10
WORDS: Final = (
    "So much for the files that I read. ",
    "I looked at them one after the other. ",
    "Here is what stands there. ",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the session there, and vet nothing")
    parser.add_argument("--size", type=int, default=SIZE, help="bytes of the session [%(default)s]")
    parser.add_argument("--runs", type=int, default=3, help="runs; the best one counts [%(default)s]")
    parser.add_argument("--only", choices=[*STATEMENTS_A_FILE], help="one of the sessions [both; to write, dense]")
    chosen = parser.parse_args()
    if chosen.write is not None:
        chosen.write.write_text(session(ROOT, chosen.size, STATEMENTS_A_FILE[chosen.only or "dense"]), "utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for name, statements in STATEMENTS_A_FILE.items():
            if chosen.only in (None, name):
                path.write_text(session(ROOT, chosen.size, statements), "utf-8")
                print(json.dumps({name: measured(path, chosen.runs)}, indent=2))


def measured(path: Path, runs: int) -> dict[str, Any]:
    """What `sluice vet` takes for a session: the run with the least processor time, all its processes together.

    Args:
        path: of the session.
        runs: how often it is vetted.
    """
    best: dict[str, Any] = {}
    for _ in range(runs):
        before, began = os.times(), time.monotonic()
        command = [Path(sys.executable).parent / "sluice", "vet", str(path), "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        took, after = time.monotonic() - began, os.times()
        if done.returncode not in (0, 1):
            sys.exit(done.stderr.decode())
        processor = after.children_user + after.children_system - before.children_user - before.children_system
        if not best or processor < best["processor_seconds"]:
            told = [json.loads(line) for line in done.stdout.splitlines()]
            best = {
                "bytes": path.stat().st_size,
                "statements": len(told),
                "verdicts": dict(Counter(one["status"] for one in told).most_common()),
                "processor_seconds": round(processor, 2),
                "seconds": round(took, 2),
            }
    return best


def session(root: Path, size: int, statements: int) -> str:
    """A session of Claude Code about the Python files of a checkout, as JSON Lines.

    Args:
        root: the checkout.
        size: bytes, about; the files are gone through again where they are too few.
        statements: about each file that is read, at most.
    """
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "codecs/*.py", "streams/*.py", "record/*.py", "topology/*.py"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    paths = [path for path in listed if (root / path).stat().st_size < 30_000]
    at = datetime.now(UTC).isoformat()  # later than the files: else what is false may only have changed since
    written: list[str] = []
    length = turn = number = 0
    while length < size:
        chosen = [paths[(turn * FILES_A_TURN + one) % len(paths)] for one in range(FILES_A_TURN)]
        said: list[str] = []
        for path in chosen:
            for one in statements_about(root, path, turn // (len(paths) // FILES_A_TURN + 1), statements):
                number += 1
                said.append(falsified(one) if number % FALSE_EVERY == 0 else one)
        lines = "".join(json.dumps(record) + "\n" for record in _turn(root, turn, at, chosen, said))
        written.append(lines)
        length += len(lines)
        turn += 1
    return "".join(written)


def statements_about(root: Path, path: str, round_: int, many: int) -> list[str]:
    """True statements about a file; other ones each time that the files are gone through."""
    tree = ast.parse((root / path).read_text("utf-8"))
    every = list(dict.fromkeys(_statements(tree, path)))
    begin = round_ * many
    return (every[begin:] + every[:begin])[:many]


def _statements(tree: ast.Module, path: str) -> Iterator[str]:
    several = [
        [f"`{target.id}` is {node.value.value} in `{path}`." for node in tree.body
         if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Constant)
         and isinstance(node.value.value, int)
         for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
         if isinstance(target, ast.Name)],
        [f"`{path}` defines `{node.name}`." for node in tree.body
         if isinstance(node, ast.FunctionDef | ast.ClassDef)],
        [f"In `{path}`, `{node.name}` calls `{called.func.id}` before it returns." for node in tree.body
         if isinstance(node, ast.FunctionDef) for called in ast.walk(node)
         if isinstance(called, ast.Call) and isinstance(called.func, ast.Name)],
        [f"`{path}` imports `{name.name}`." for node in tree.body if isinstance(node, ast.Import)
         for name in node.names],
        [f"The class `{node.name}` has the method `{inner.name}`, which line {inner.lineno} of `{path}` begins."
         for node in tree.body if isinstance(node, ast.ClassDef) for inner in node.body
         if isinstance(inner, ast.FunctionDef)],
    ]  # fmt: skip
    for place in range(max(map(len, several))):
        yield from (kind[place] for kind in several if place < len(kind))


def falsified(statement: str) -> str:
    """The statement with another name or number in it, so that it is false."""
    if " is " in statement:
        head, _, rest = statement.partition(" is ")
        return f"{head} is 9{rest}"
    head, _, rest = statement.rpartition("`") if statement.endswith("`.") else statement.partition(" calls `")
    return f"{head}_of_another`{rest}" if statement.endswith("`.") else f"{head} calls `another_{rest}"


def _turn(root: Path, turn: int, at: str, paths: Sequence[str], said: Sequence[str]) -> Iterator[dict[str, Any]]:
    common = {"sessionId": "s-1", "cwd": str(root), "timestamp": at, "isSidechain": False}
    yield common | {"type": "user", "uuid": f"u{turn}", "message": {"role": "user", "content": "What stands there?"}}
    for place, path in enumerate(paths):
        name = f"t{turn}-{place}"
        call = {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": f"{root}/{path}"}}
        rows = (root / path).read_text("utf-8").splitlines()
        shown = "\n".join(f"{number:6}\t{row}" for number, row in enumerate(rows, 1))
        message = {"id": f"m{name}", "role": "assistant", "content": [call]}
        yield common | {"type": "assistant", "uuid": f"a{name}", "message": message}
        result = {"type": "tool_result", "tool_use_id": name, "content": shown}
        yield common | {"type": "user", "uuid": f"r{name}", "message": {"role": "user", "content": [result]}}
    text = WORDS[turn % len(WORDS)] + "\n\n" + "\n".join(f"- {one}" for one in said)
    message = {"id": f"n{turn}", "role": "assistant", "content": [{"type": "text", "text": text}]}
    yield common | {"type": "assistant", "uuid": f"b{turn}", "message": message}


if __name__ == "__main__":
    main()
