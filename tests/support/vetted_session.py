"""A small repository, and a session of an agent that says something true, false and unsupported about it."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SOURCE = "MAX_RETRIES = 5\n\n\ndef retry():\n    return MAX_RETRIES\n"
TRUE = "`MAX_RETRIES` is 5 in `limits.py`."
FALSE = "`MAX_RETRIES` is 7 in `limits.py`."
UNSUPPORTED = "`backoff` waits between two calls."
ANSWER = f"{TRUE} {FALSE} {UNSUPPORTED}"


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)


def make_repo(tmp_path: Path) -> Path:
    """A git checkout with one file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "limits.py").write_text(SOURCE)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def claude_session(root: Path, *answers: str, at: str = "") -> str:
    """A session of Claude Code that reads `limits.py` and answers, once for each answer, as JSON Lines."""
    numbered = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(SOURCE.splitlines(), 1))
    at = at or datetime.now(UTC).isoformat().replace("+00:00", "Z")
    common = {"sessionId": "s-1", "cwd": str(root), "timestamp": at, "isSidechain": False}
    records: list[dict[str, Any]] = []
    for turn, answer in enumerate(answers):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Read", "input": {"file_path": f"{root}/limits.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": numbered}
        records += [
            {"type": "user", "uuid": f"u{turn}", "message": {"role": "user", "content": "What are the limits?"}},
            {
                "type": "assistant",
                "uuid": f"a{turn}",
                "message": {"id": f"m{turn}", "role": "assistant", "content": [call]},
            },
            {"type": "user", "uuid": f"r{turn}", "message": {"role": "user", "content": [result]}},
            {
                "type": "assistant",
                "uuid": f"b{turn}",
                "message": {"id": f"n{turn}", "role": "assistant", "content": [{"type": "text", "text": answer}]},
            },
        ]
    return "".join(json.dumps(common | record) + "\n" for record in records)
