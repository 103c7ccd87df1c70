"""What the tests of the adapters share: a checkout, a recorder, and a provider of models on this machine.

They run against the real packages, in an environment of their own: `make test-adapters`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_provider import SOURCE, Provider, Recorded

# Before the packages are imported: nothing of them may leave this machine.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_MODE"] = "PRODUCTION"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["OPENAI_API_KEY"] = os.environ["ANTHROPIC_API_KEY"] = "none"


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout with `limits.py`."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "limits.py").write_text(SOURCE)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-q", "-m", "limits"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture
def provider() -> Iterator[Provider]:
    found = Provider()
    yield found
    found.close()
