"""Deciding checks: what the locator's region binds, and what a look confirms of the sentence."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from looking import Repository, ask, try_check

CODE = """LIMIT = 5
OTHER = 6


def first(a):
    return a


class Second:
    def third(self):
        return first(LIMIT)
"""
IN, OUT = True, "outside-locator"


@pytest.fixture
def code(repository: Repository) -> Repository:
    """`a.py` and `b/c.py`, last written before `TS`, in two commits."""
    repository.write("a.py", CODE, "2026-05-25T12:00:00")
    repository.commit("Add the limit of five\n\nIt was four.")
    repository.write("b/c.py", "LIMIT = 7\n", "2026-05-25T12:00:00")
    repository.commit("Add another limit")
    return repository


A: dict[str, Any] = {"path": "a.py"}


@pytest.mark.parametrize(
    ("name", "locator", "check", "expected"),
    [
        # code.read: the witness lies within the lines
        ("code.read", A, "equals(LIMIT, 5)", IN),
        ("code.read", A | {"lines": [1, 2]}, "equals(LIMIT, 5)", IN),
        ("code.read", A | {"lines": [6, 6]}, "equals(LIMIT, 5)", OUT),
        ("code.read", A | {"lines": [6, 6]}, "equals(LIMIT, 6)", OUT),
        ("code.read", A | {"lines": [6, 6]}, "not equals(LIMIT, 6)", OUT),
        ("code.read", A | {"offset": 1, "limit": 1}, "equals(LIMIT, 5)", IN),
        ("code.read", A | {"offset": 2}, "equals(LIMIT, 5)", OUT),
        ("code.read", A | {"limit": 1}, "equals(LIMIT, 5)", IN),
        ("code.read", A | {"limit": 1}, 'contains("LIMIT = 5 OTHER = 6")', OUT),
        ("code.read", A | {"limit": 2}, 'contains("LIMIT = 5 OTHER = 6")', IN),
        # a definition is seen where its name stands, not where its body ends
        ("code.read", A | {"lines": [9, 9]}, "defines(Second, type)", IN),
        ("code.read", A | {"lines": [10, 11]}, "defines(Second, type)", OUT),
        # another file than the one that is named
        ("code.read", A, "contains(LIMIT, path=b/c.py)", OUT),
        ("code.read", A, "equals(LIMIT, 8, path=b/c.py)", OUT),
        ("code.read", A, "exists(b/c.py)", OUT),
        ("code.read", {"path": "b/c.py"}, "exists(b)", IN),
        ("code.read", A, "missing(d.py)", OUT),
        ("code.read", {"path": "d.py"}, "missing(d.py)", IN),
        ("fs.mtime", A, "modified(b/c.py, =, 2026-05-25)", OUT),
        ("fs.mtime", A, "modified(a.py, =, 2026-05-25)", IN),
        # absence and extent: all of what the check speaks of has to be looked at
        ("code.read", A, "absent(nowhere)", IN),
        ("code.read", A | {"lines": [1, 11]}, "absent(nowhere)", IN),
        ("code.read", A | {"lines": [1, 10]}, "absent(nowhere)", OUT),
        ("code.read", A | {"lines": [2, 900]}, "absent(nowhere)", OUT),
        ("code.read", A | {"lines": [1, 4]}, "absent(nowhere, lines=2-3)", IN),
        ("code.read", A | {"lines": [1, 2]}, "absent(nowhere, lines=2-3)", OUT),
        ("code.read", A | {"lines": [1, 1]}, "not absent(LIMIT)", IN),
        ("code.read", A | {"lines": [6, 6]}, "not absent(LIMIT)", OUT),
        ("code.read", A | {"lines": [1, 4]}, "count(LIMIT, =, 2)", OUT),
        ("code.read", A | {"lines": [1, 4]}, 'order("LIMIT = 5", "OTHER = 6")', OUT),
        ("code.read", A, 'order("LIMIT = 5", "OTHER = 6")', IN),
        ("code.read", A | {"lines": [1, 4]}, "not defines(nowhere)", OUT),
        ("code.read", A, "not defines(nowhere)", IN),
        # grep: on a line that the pattern matches, or at most `context` lines from one
        ("grep", A, "equals(LIMIT, 5)", IN),
        ("grep", A | {"pattern": "ZZZ"}, "equals(LIMIT, 5)", OUT),
        ("grep", {"pattern": "ZZZ"}, "contains(OTHER)", OUT),
        ("grep", {"pattern": "OTHER"}, "contains(OTHER)", IN),
        ("grep", A | {"pattern": "OTHER"}, "equals(LIMIT, 5)", OUT),
        ("grep", A | {"pattern": "OTHER", "context": 1}, "equals(LIMIT, 5)", IN),
        ("grep", A | {"pattern": "return a", "context": 3}, "equals(LIMIT, 5)", OUT),
        ("grep", A | {"pattern": "^LIM", "regex": True}, "equals(LIMIT, 5)", IN),
        ("grep", A | {"pattern": "class"}, "defines(Second, type)", IN),
        ("grep", A | {"pattern": "third"}, "defines(Second, type)", OUT),
        ("grep", A | {"pattern": "LIMIT", "lines": [2, 11]}, "equals(LIMIT, 5)", OUT),
        ("grep", A | {"lines": [2, 11]}, "equals(LIMIT, 5)", OUT),
        ("grep", {"pattern": "LIMIT"}, "contains(LIMIT, path=b/c.py)", IN),
        # a search that finds nothing shows that a word is absent only where it would have found that
        ("grep", A | {"pattern": "nowhere"}, "absent(nowhere)", IN),
        ("grep", A | {"pattern": "where"}, "absent(nowhere)", IN),
        ("grep", A | {"pattern": "nowhere at all"}, "absent(nowhere)", OUT),
        ("grep", A | {"pattern": "ZZZ"}, "absent(nowhere)", OUT),
        ("grep", A | {"pattern": "nowhere", "regex": True}, "absent(nowhere)", OUT),
        ("grep", {"pattern": "nowhere"}, "absent(nowhere)", IN),
        ("grep", A | {"pattern": "LIMIT"}, "count(LIMIT, =, 2)", IN),
        ("grep", A | {"pattern": "OTHER"}, "count(LIMIT, =, 2)", OUT),
        # git.log: the file's history, and messages
        ("git.log", A, "contains(LIMIT, path=b/c.py)", OUT),
        ("git.log", {}, 'contains("It was four.")', IN),
        ("git.log", {}, 'contains("It was three.")', "not-found"),
        ("git.log", A, 'contains("It was four.")', "not-found"),
    ],
)
def test_the_locator_binds(code: Repository, name: str, locator: dict[str, Any], check: str, expected: object):
    """What decides a check, either way, has to stand where the annotation says that it looked."""
    came = try_check(code, name, check, **locator)
    if expected is IN:
        assert came.holds is True
    else:
        assert came[:3] == ("absent", None, expected)


def test_the_commit_that_is_named_binds(code: Repository):
    """Its tree and its message are looked at, no other commit's."""
    first, second = code.git("rev-parse", "HEAD~1"), code.git("rev-parse", "HEAD")
    rows = [
        (second, f"changed(a.py, {first})", OUT),
        (first, f"changed(a.py, {first})", IN),
        (first, f'commit({first}, subject="Add the limit of five")', IN),
        (second, f'commit({first}, subject="Add the limit of five")', OUT),
        (first, 'contains("It was four.")', IN),
        (second, 'contains("It was four.")', "not-found"),
        (first, "missing(b/c.py)", IN),
        (second, "equals(LIMIT, 5, path=a.py)", IN),
    ]
    for commit, check, expected in rows:
        came = try_check(code, "git.log", check, commit=commit)
        assert (came.holds or came.reason) == expected, (commit[:7], check)
    said = try_check(code, "git.log", 'contains("It was four.")', commit=first)
    assert said.where["commit"] == first
    assert try_check(code, "git.log", 'contains("It was four.")', path="a.py", commit=first).holds is True


def test_it_is_told_where_it_holds_instead(code: Repository):
    """A reader of the observation finds the line; the id is that of what the annotation names."""
    found = ask(code, "code.read", "`LIMIT` is 5.", checks=["equals(LIMIT, 5)"], path="a.py", lines=[6, 6])
    assert (found.outcome, found.verified, found.refuted) == ("absent", [], [])
    (entry,) = (found.detail or {})["checks"]
    assert (entry["holds"], entry["reason"], entry["path"], entry["lines"]) == (None, OUT, "a.py", [1, 1])
    assert (found.detail or {})["reason"] == OUT


@pytest.mark.parametrize(
    ("name", "locator", "lines"),
    [
        ("code.read", {"lines": [1, 2]}, b"LIMIT = 5\nOTHER = 6\n"),
        ("code.read", {"offset": 1, "limit": 2}, b"LIMIT = 5\nOTHER = 6\n"),
        ("grep", {"pattern": "LIMIT = 5"}, b"LIMIT = 5\n"),
        ("grep", {"pattern": "OTHER", "context": 1}, b"LIMIT = 5\nOTHER = 6\n\n"),
        ("grep", {}, b"LIMIT = 5\n"),
    ],
)
def test_the_id_is_of_lines_that_hold_the_witness(code: Repository, name: str, locator: dict[str, Any], lines: bytes):
    """Whatever verifies a check has the id of bytes in which it is seen, never that of an empty result."""
    found = ask(code, name, "`LIMIT` is 5.", checks=["equals(LIMIT, 5)"], path="a.py", **locator)
    assert (found.outcome, found.observation_id) == ("corroborates", f"sha256:{hashlib.sha256(lines).hexdigest()}")


@pytest.mark.parametrize(
    ("name", "locator"),
    [
        ("code.read", {"offset": 0}),
        ("code.read", {"limit": 0}),
        ("code.read", {"offset": "1"}),
        ("code.read", {"offset": True}),
        ("code.read", {"offset": 1, "lines": [1, 2]}),
        ("grep", {"pattern": "LIMIT", "context": -1}),
        ("grep", {"pattern": "LIMIT", "context": True}),
        ("grep", {"pattern": "LIMIT", "context": 10**6}),
    ],
)
def test_a_region_that_cannot_be_is_unavailable(code: Repository, name: str, locator: dict[str, Any]):
    """Half a locator is no verdict."""
    assert try_check(code, name, "equals(LIMIT, 5)", path="a.py", **locator).outcome == "unavailable"


SYMBOLS = """LIMIT = 5


class Store:
    def find(self):
        return LIMIT


def only():
    return 1


def twice():
    return 2
"""


@pytest.fixture
def symbols(repository: Repository) -> Repository:
    repository.write("a.py", SYMBOLS, "2026-05-25T12:00:00")
    repository.write("E.java", "class E extends F { E() {} E(int a) {} }\nclass G {}", "2026-05-25T12:00:00")
    repository.write(
        "G.java", "class H { void G() {} }\nclass K extends F { class G extends F {} }", "2026-05-25T12:00:00"
    )
    repository.write("b/c.py", "def twice():\n    return 3\n", "2026-05-25T12:00:00")
    repository.commit("Code")
    return repository


def entry(*arguments: Any, **options: Any) -> dict[str, Any]:
    (one,) = (ask(*arguments, **options).detail or {})["checks"]
    return one


def test_a_check_that_was_read_from_the_sentence_says_so(symbols: Repository):
    """One that is declared is the emitter's."""
    said = "`LIMIT` is 5 in `a.py`."
    assert entry(symbols, "code.read", said, path="a.py")["by"] == "form"
    assert "by" not in entry(symbols, "code.read", said, checks=["equals(LIMIT, 5, path=a.py)"], path="a.py")


@pytest.mark.parametrize(
    ("public", "expected"),
    [(None, None), ("other", None), ("default", "LIMIT = 5"), ("other, default", "LIMIT = 5"), ("*", "LIMIT = 5")],
)
def test_the_line_that_stands_there_is_told_of_public_roots_alone(
    symbols: Repository, public: str | None, expected: str | None
):
    """Else checks would read a file line by line."""
    bounds = {"public_roots": public}
    wrong = entry(symbols, "code.read", "x", checks=["equals(LIMIT, 6, path=a.py)"], path="a.py", bounds=bounds)
    assert (wrong["holds"], wrong.get("found")) == (False, expected)
    right = entry(symbols, "code.read", "x", checks=["equals(LIMIT, 5, path=a.py)"], path="a.py", bounds=bounds)
    assert (right["holds"], "found" in right) == (True, False)


@pytest.mark.parametrize(
    ("said", "check", "coverage"),
    [
        ("`a.py` defines the class `Store`.", "defines(Store, type, path=a.py)", "whole"),
        ("`a.py` defines the function `Store`.", "defines(Store, type, path=a.py)", "part"),
        ("`only` returns `1`.", 'returns(only, "1")', "whole"),
        ("`twice` returns `2`.", 'returns(twice, "2")', "part"),
    ],
)
def test_what_the_index_confirms_is_covered(symbols: Repository, said: str, check: str, coverage: str):
    """A noun needs its kind, and a symbol without a path has to be the only one of its name."""
    assert ask(symbols, "code.read", said, checks=[check], path="a.py").coverage == coverage


@pytest.mark.parametrize(("name", "path", "coverage"), [("E", "E.java", "whole"), ("G", "G.java", "part")])
def test_a_constructor_is_no_second_definition_of_its_type(symbols: Repository, name: str, path: str, coverage: str):
    """Another type or method of that name is."""
    assert (
        ask(symbols, "code.read", f"`{name}` extends `F`.", checks=[f"extends({name}, F)"], path=path).coverage
        == coverage
    )


def test_a_long_line_is_cut(symbols: Repository):
    """An observation stays small."""
    symbols.write("d.py", "LONG = " + repr("x" * 900) + "\n", "2026-05-25T12:00:00")
    symbols.commit("Long")
    found = entry(
        symbols, "code.read", "x", checks=['equals(LONG, "y", path=d.py)'], path="d.py", bounds={"public_roots": "*"}
    )
    assert 0 < len(found["found"]) <= 200
