"""A session that is larger than the memory that vetting may have, with all that goes wrong in sessions of agents."""

from __future__ import annotations

import base64
import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from vetted_session import FALSE, SOURCE, TRUE

LIMIT = 500_000_000
"""Bytes of address space: of these an interpreter with all that vetting imports takes 300 million."""
TURNS = 16
IMAGES = 12
"""Of each turn, a megabyte each."""
BROKEN_TURN = 3


def lines(root: Path) -> Iterator[str]:
    """The session: in each turn calls whose results come in the reverse order, images and bytes among them."""
    at = datetime.now(UTC).isoformat()  # later than the file: else what is false may only have changed since
    common = {"sessionId": "s-1", "cwd": str(root), "timestamp": at, "isSidechain": False}
    image = base64.b64encode(Random(7).randbytes(750_000)).decode()
    numbered = "\n".join(f"{number:6}\t{row}" for number, row in enumerate(SOURCE.splitlines(), 1))
    read = ("Read", {"file_path": f"{root}/limits.py"})
    picture: list[dict[str, Any]] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}
    ]
    for turn in range(TURNS):
        calls: list[tuple[str, tuple[str, dict[str, str]], Any]] = [
            (f"r{turn}", read, numbered),
            (f"b{turn}", ("Bash", {"command": "cat a.bin"}), "\0\1\2" * 1000),
        ]
        calls += [(f"i{turn}-{one}", ("Read", {"file_path": f"{root}/a.png"}), picture) for one in range(IMAGES)]
        records: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "What stands there?"}}]
        for name, (tool, arguments), _ in calls:
            use = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
            records.append({"type": "assistant", "message": {"id": name, "role": "assistant", "content": [use]}})
        for name, _, result in reversed(calls):
            came = {"type": "tool_result", "tool_use_id": name, "content": result}
            records.append({"type": "user", "message": {"role": "user", "content": [came]}})
        text = f"- {TRUE}\n- {FALSE}\n"
        said = {"id": f"n{turn}", "role": "assistant", "content": [{"type": "text", "text": text}]}
        records.append({"type": "assistant", "message": said})
        for number, record in enumerate(records):
            yield json.dumps(common | {"uuid": f"{turn}-{number}"} | record) + "\n"
        if turn == BROKEN_TURN:
            yield '{"type": "user", \n'
    yield '{"type": "assistant", "message": {"role": "assi'


@pytest.mark.slow
def test_a_session_larger_than_the_memory_is_vetted_whole(repo: Path, tmp_path: Path):
    """200 MB where everything together may take 500, which hold no such session: each statement has its verdict, and
    each line that cannot be read costs one sentence."""
    session = tmp_path / "session.jsonl"
    number = broken = 0
    with session.open("w") as file:
        for line in lines(repo):
            number += 1
            broken = broken or (number if line == '{"type": "user", \n' else 0)
            file.write(line)
    assert session.stat().st_size > LIMIT // 3

    done = subprocess.run(
        [Path(sys.executable).parent / "sluice", "vet", str(session), "--json"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
    )

    assert done.returncode == 1, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert Counter(one["status"] for one in told) == {"admitted": TURNS, "contradicted": TURNS}
    assert [one["turn"] for one in told] == [turn for turn in range(1, TURNS + 1) for _ in range(2)]
    *troubles, read = [line for line in done.stderr.splitlines() if "session.jsonl:" in line]
    assert read.endswith(f": {TURNS} messages, {2 * TURNS} statements, 2 not understood")
    assert [int(line.split("session.jsonl:")[1].split(":")[0]) for line in troubles] == [broken, number]
