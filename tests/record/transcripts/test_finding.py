"""The newest session for a directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.record.transcripts import newest_session
from sluice.record.transcripts.opening import escaped

Write = Callable[..., Path]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "my.work_dir"
    directory.mkdir()
    return directory


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def put(path: Path, age: int, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def session(environ: dict[str, str], cwd: Path, name: str, age: int, *, began: Path | None = None) -> Path:
    root = Path(environ.get("CLAUDE_CONFIG_DIR", environ["HOME"] + "/.claude"))
    path = root / "projects" / escaped(str(cwd)) / f"{name}.jsonl"
    return put(path, age, {"type": "summary"}, {"type": "user", "cwd": str(began or cwd), "message": {}})


def rollout(environ: dict[str, str], cwd: Path | str, name: str, age: int, **more: object) -> Path:
    root = Path(environ.get("CODEX_HOME", environ["HOME"] + "/.codex"))
    path = root / "sessions" / "2026" / "03" / "02" / f"rollout-{name}.jsonl"
    return put(path, age, {"type": "session_meta", "payload": {"cwd": str(cwd), "source": "cli", **more}})


def test_names_of_directories() -> None:
    assert escaped("/home/me/my.work_dir") == "-home-me-my-work-dir"


def test_there_may_be_none(work: Path, environ: dict[str, str]) -> None:
    assert newest_session(work, environ=environ) is None


def test_the_newest_session_of_this_directory(work: Path, environ: dict[str, str]) -> None:
    session(environ, work, "old", 90)
    newest = session(environ, work, "newest", 10)
    session(environ, work / "below", "other", 5)
    assert newest_session(work, environ=environ) == newest
    assert newest_session(str(work) + "/", environ=environ) == newest


@pytest.mark.parametrize("codex_is_newer", [True, False])
def test_the_newer_one_of_both_agents(work: Path, environ: dict[str, str], codex_is_newer: bool) -> None:
    claude = session(environ, work, "a", 50)
    codex = rollout(environ, work, "a", 40 if codex_is_newer else 60)
    rollout(environ, work.parent, "b", 1)
    assert newest_session(work, environ=environ) == (codex if codex_is_newer else claude)


def test_the_variables_of_both_agents_are_honoured(work: Path, environ: dict[str, str], tmp_path: Path) -> None:
    session(environ, work, "at-home", 1)
    rollout(environ, work, "at-home", 1)
    elsewhere = {**environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    assert newest_session(work, environ=elsewhere) is None
    claude = session(elsewhere, work, "a", 50)
    assert newest_session(work, environ=elsewhere) == claude
    codex = rollout(elsewhere, work, "a", 40)
    assert newest_session(work, environ=elsewhere) == codex


def test_a_directory_whose_name_looks_the_same_is_another(work: Path, environ: dict[str, str]) -> None:
    mine = session(environ, work, "mine", 50)
    session(environ, work, "other", 10, began=work.parent / "my-work-dir")
    assert newest_session(work, environ=environ) == mine


def test_sessions_of_subagents_and_empty_ones_are_passed_over(work: Path, environ: dict[str, str]) -> None:
    mine = session(environ, work, "mine", 50)
    put(mine.with_name("agent-1.jsonl"), 5, {"type": "user", "cwd": str(work), "isSidechain": True})
    put(mine.with_name("empty.jsonl"), 4)
    put(mine.with_name("title.jsonl"), 3, {"type": "summary", "summary": "x"})
    os.mkfifo(mine.with_name("pipe.jsonl"))
    mine.with_name("broken.jsonl").write_bytes(b"\xff\0{")
    rollout(environ, work, "sub", 2, source={"subagent": "review"})
    rollout(environ, work, "sub2", 2, thread_source="subagent")
    rollout(environ, "", "nowhere", 1)
    assert newest_session(work, environ=environ) == mine


def test_pipes_are_never_opened(work: Path, environ: dict[str, str]) -> None:
    for path in (session(environ, work, "a", 5), rollout(environ, work, "a", 5)):
        path.unlink()
        os.mkfifo(path)
    assert newest_session(work, environ=environ) is None


def test_symbolic_links_lead_to_the_same_directory(work: Path, environ: dict[str, str]) -> None:
    link = work.parent / "link"
    link.symlink_to(work)
    mine = session(environ, work, "mine", 50)
    assert newest_session(link, environ=environ) == mine
    through_link = rollout(environ, link, "a", 10)
    assert newest_session(work, environ=environ) == through_link


def test_long_names_are_cut(environ: dict[str, str], tmp_path: Path) -> None:
    work = tmp_path / ("long" * 60)
    name = escaped(str(work))[:200] + "-x1y2z3"
    path = Path(environ["HOME"]) / ".claude" / "projects" / name / "s.jsonl"
    put(path, 5, {"type": "user", "cwd": str(work), "message": {}})
    put(path.with_name("other.jsonl"), 1, {"type": "user", "cwd": str(work) + "er", "message": {}})
    assert newest_session(work, environ=environ) == path
