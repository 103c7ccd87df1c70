"""Repositories and folders to look at; makes `looking` importable for the tests beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import Repository


@pytest.fixture
def folder(tmp_path: Path) -> Repository:
    """A plain folder, no repository."""
    path = tmp_path / "folder"
    path.mkdir()
    return Repository(path)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository with a work tree."""
    path = tmp_path / "repository"
    path.mkdir()
    made = Repository(path)
    made.git("init", "--quiet", "--initial-branch", "main")
    return made


@pytest.fixture
def changelog(repository: Repository) -> Repository:
    """A repository with one commit of 2026-05-25: CHANGELOG.md and src/times.py, last written before `TS`."""
    repository.write(
        "CHANGELOG.md", "# Changes\n\n## 2026-05-25\n- `parse_time` reads leap seconds\n", "2026-05-25T12:00:00"
    )
    repository.write(
        "src/times.py", "MAX_RETRIES = 5\n\ndef parse_time(value):\n    return None\n", "2026-05-25T12:00:00"
    )
    repository.commit("Read leap seconds")
    return repository
