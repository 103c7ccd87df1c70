"""The repository that is vetted against."""

from __future__ import annotations

from pathlib import Path

import pytest
from vetted_session import make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git checkout with one file."""
    return make_repo(tmp_path)
