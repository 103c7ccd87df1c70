"""The view's file appears whole: no reader finds it without what its writer tells of it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from adapter_view import DOMAIN, NOW, attested, claim
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.errors import UsageError
from sluice.topology.http import kept_view, tool_answers
from sluice.topology.http.adapter_view import TOKENIZER
from sluice.topology.http.kept_view import OURS, Readers, about_view, opened


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
    other = path.with_name(path.name + "-new")
    other.write_bytes(b"letters" * 30)

    with pytest.raises(UsageError, match="is not a view of sluice's"):
        opened(path, "one")

    assert other.read_bytes() == b"letters" * 30
    assert not path.exists()


def test_a_view_is_its_owners_alone(path: Path):
    opened(path, "one").close()

    assert path.stat().st_mode & 0o777 == 0o600


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


def ground(db, query):
    return msgspec.to_builtins(tool_answers.ground(db, query, DOMAIN, 10, None, NOW))


def check(db, text):
    return msgspec.to_builtins(tool_answers.check(db, text, "assertion", 10, None, NOW))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The studies were repeated.", "study"),
        ("A study was made.", "studies"),
        ("Vaccinated children", "vaccination"),
        ("Released yesterday", "releasing"),
        ("La décision a été publiée à Orléans.", "decision orleans"),
        ("decision in Orleans", "Décision Orléans"),
        ("Die Änderungen stehen im Protokoll.", "anderung"),
        ("Die Studie wurde wiederholt.", "Studien"),
        ("Los científicos publicaron", "cientifica"),
        ("ＦＵＬＬ width", "full"),
        ("p\u0430yment made", "payment"),
        ("The pay\u200bment", "payment"),
        ("paуment", "p\u0430yment"),
        ("Запись в журнале", "журнал"),
        ("release-notes.md was read", "release-notes.md"),
        ("co2 levels", "CO₂"),
    ],
)
def test_inflected_and_accented_words_are_found(filled, db, text, query):
    filled.put("grounded", attested(text), attested("Something else entirely.", about="other", by="two"))
    filled.admit(text)

    found = ground(db, query)["attestations"]

    assert [one["claim_hash"] for one in found] == [claim("claim")]
    near, same = check(db, query)["near_matches"], check(db, query)["matches"]
    assert len(near) + len(same) == 1


QUERIES = [
    *('"', '""', '" OR words : "', "'", "NEAR(a b)", "a AND", "NOT", "* *", "words:entry", "^entry", "a*", "(", ")"),
    *("{a b}:c", "--", "+", ",", "-entry", "💥", "; DROP TABLE attestations", '"entry" OR "x', "entry NOT entry"),
]
UNSEEN = ["\x00", "a\x00b", "entry\x00", "\u202e", "\u202eentry", "\u0301", "\ud7ff", "a" * 5000, "a " * 3000]


@pytest.mark.parametrize("query", QUERIES + UNSEEN)
def test_no_query_is_taken_for_an_expression(filled, db, query):
    """Nothing in it is an operator, and none is an error."""
    filled.put("grounded", attested("An entry."))

    answer = ground(db, query)
    check(db, query)

    assert len(answer["attestations"]) in (0, 1)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_words_are_always_a_valid_expression(text):
    """Whatever is asked: FTS5 reads each word as a string."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE w USING fts5(words, content='', tokenize='{TOKENIZER}')")
    db.execute("INSERT INTO w (rowid, words) VALUES (1, 'an entry')")

    assert set(kept_view.find_rows(db, "w", text, 5)) <= {1}
    db.close()


def test_the_better_match_comes_first(filled, db):
    """All words before some of them; a rare word before a common one."""
    filled.put("grounded", attested("The glacier melts.", about="a"))
    filled.put("grounded", attested("The glacier melts in summer.", about="b", by="two"))
    filled.put("grounded", attested("Nothing of it.", about="c", by="three"))

    found = [one["claim_hash"] for one in ground(db, "glacier summer")["attestations"]]

    assert found == [claim("b"), claim("a")]


def test_common_words_alone_find_the_newest(filled, db, monkeypatch):
    """They say too little to be weighed, and are found all the same; a rare word beside them decides."""
    monkeypatch.setattr(kept_view, "COMMON", 3)
    for number in range(6):
        filled.put("grounded", attested(f"The entry {'glacier' if number == 2 else ''}.", about=f"c{number}"))

    assert ground(db, "entry")["claims"][0]["claim_hash"] == claim("c5")
    assert ground(db, "entry glacier")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry unheardof glacier")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry glaciers")["claims"][0]["claim_hash"] == claim("c2")
    assert ground(db, "entry unheardof")["claims"] == []
