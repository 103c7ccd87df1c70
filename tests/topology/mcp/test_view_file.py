"""The view's file appears whole: no reader finds it without what its writer tells of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sluice.codecs.errors import UsageError
from sluice.topology.http import kept_view
from sluice.topology.http.kept_view import OURS, about_view, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a view that is not there yet."""
    return tmp_path / "view.sqlite"


def test_a_view_is_never_seen_half_made(path: Path, monkeypatch: pytest.MonkeyPatch):
    """A client that asked while the tables were made was told that the view cannot be read."""
    seen: list[dict[str, str]] = []

    def look(_statement: str) -> None:
        if path.exists():
            seen.append(about_view(path))

    connect = sqlite3.connect

    def watched(*args: object, **kwargs: object) -> sqlite3.Connection:
        db = connect(*args, **kwargs)  # type: ignore[call-overload]
        db.set_trace_callback(look)
        return db

    monkeypatch.setattr(kept_view.sqlite3, "connect", watched)
    db = opened(path, "one")
    monkeypatch.undo()
    look("")
    db.close()

    assert seen
    assert all(about.get("identity") == "one" for about in seen)


@pytest.mark.parametrize("half", [b"", b"SQLite format 3\0".ljust(68, b"\0") + OURS.to_bytes(4, "big")])
def test_what_was_left_half_made_is_made_anew(path: Path, half: bytes):
    """Its maker was killed before the view had its name."""
    fresh = path.with_name(path.name + "-new")
    fresh.write_bytes(half)

    opened(path, "one").close()

    assert about_view(path)["identity"] == "one"
    assert not fresh.exists()


def test_somebody_else_s_file_beside_the_view_is_kept(path: Path):
    """Its name is only like ours."""
    other = path.with_name(path.name + "-new")
    other.write_bytes(b"letters" * 30)

    with pytest.raises(UsageError, match="is not a view of sluice's"):
        opened(path, "one")

    assert other.read_bytes() == b"letters" * 30
    assert not path.exists()


def test_a_view_is_its_owners_alone(path: Path):
    """It may hold more than one consumer's scope."""
    opened(path, "one").close()

    assert path.stat().st_mode & 0o777 == 0o600
