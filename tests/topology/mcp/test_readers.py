"""Readers of the view: what is broken off is closed, and never under a question that still runs."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sluice.topology.http.kept_view import Readers

WAIT = 30.0


@pytest.fixture
def readers(tmp_path: Path) -> Readers:
    """Of a file with one row."""
    path = tmp_path / "view.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE one (n); INSERT INTO one VALUES (7);")
    return Readers(path)


class Slow:
    """A question that goes on when it is told to."""

    def __init__(self) -> None:
        self.started, self.go, self.done = threading.Event(), threading.Event(), threading.Event()
        self.db: sqlite3.Connection | None = None
        self.found: object = None

    def __call__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.started.set()
        self.go.wait(WAIT)
        try:
            self.found = db.execute("SELECT n FROM one").fetchone()
        except sqlite3.Error as error:
            self.found = error
        finally:
            self.done.set()


def test_a_loop_that_ends_closes_nothing_under_a_running_question(readers: Readers):
    """Every task is cancelled then, the one that stands for the thread too; SQLite crashed on the freed connection."""
    slow = Slow()

    async def run() -> None:
        asking = asyncio.create_task(readers.ask(slow))
        await asyncio.to_thread(slow.started.wait, WAIT)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait({asking})
        slow.go.set()  # the loop waits for its threads when it ends

    asyncio.run(run())

    assert slow.found == (7,)


async def test_what_nobody_waits_for_any_more_is_closed_when_it_ends(readers: Readers):
    """By the thread that asked."""
    slow = Slow()
    asking = asyncio.create_task(readers.ask(slow))
    await asyncio.to_thread(slow.started.wait, WAIT)
    asking.cancel()
    await asyncio.wait({asking})
    slow.go.set()
    await asyncio.to_thread(slow.done.wait, WAIT)

    assert slow.db is not None
    async with asyncio.timeout(WAIT):
        while not is_closed(slow.db):  # noqa: ASYNC110 -- SQLite tells nobody
            await asyncio.sleep(0.01)
    assert await readers.ask(lambda db: db.execute("SELECT n FROM one").fetchone()) == (7,)


def is_closed(db: sqlite3.Connection) -> bool:
    """Whether nothing can be asked of it."""
    try:
        db.total_changes  # noqa: B018 -- a query could meet the closing in the other thread
    except sqlite3.ProgrammingError:
        return True
    return False
