"""A filled view for the adapter's tests, and readers of it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapter_view import Filled

from sluice.topology.http.kept_view import Readers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the view is."""
    return tmp_path / "view.sqlite"


@pytest.fixture
def filled(path: Path) -> Iterator[Filled]:
    """An empty view."""
    filled = Filled(path)
    yield filled
    filled.view.close()


@pytest.fixture
def db(filled: Filled, path: Path) -> Iterator[sqlite3.Connection]:
    """A reader of the view."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    yield db
    db.close()


@pytest.fixture
def readers(path: Path) -> Iterator[Readers]:
    """Readers of the view, as the adapter has them."""
    readers = Readers(path)
    yield readers
    readers.close()
