"""A repository, and a session of an agent about it, for the commands that read sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from vetted_session import ANSWER, TRUE, claude_session, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path)


@pytest.fixture
def session(tmp_path: Path, repo: Path) -> str:
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, TRUE, ANSWER))
    return str(path)
