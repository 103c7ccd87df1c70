"""What an observation tells beside whether a check holds: by what it was read, and what stands there instead."""

from __future__ import annotations

from typing import Any

import pytest
from looking import Repository, ask

CODE = """LIMIT = 5


class Store:
    def find(self):
        return LIMIT


def only():
    return 1


def twice():
    return 2
"""


@pytest.fixture
def code(repository: Repository) -> Repository:
    repository.write("a.py", CODE, "2026-05-25T12:00:00")
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


def test_a_check_that_was_read_from_the_sentence_says_so(code: Repository):
    """One that is declared is the emitter's."""
    said = "`LIMIT` is 5 in `a.py`."
    assert entry(code, "code.read", said, path="a.py")["by"] == "form"
    assert "by" not in entry(code, "code.read", said, checks=["equals(LIMIT, 5, path=a.py)"], path="a.py")


@pytest.mark.parametrize(
    ("public", "expected"),
    [(None, None), ("other", None), ("default", "LIMIT = 5"), ("other, default", "LIMIT = 5"), ("*", "LIMIT = 5")],
)
def test_the_line_that_stands_there_is_told_of_public_roots_alone(
    code: Repository, public: str | None, expected: str | None
):
    """Else checks would read a file line by line."""
    bounds = {"public_roots": public}
    wrong = entry(code, "code.read", "x", checks=["equals(LIMIT, 6, path=a.py)"], path="a.py", bounds=bounds)
    assert (wrong["holds"], wrong.get("found")) == (False, expected)
    right = entry(code, "code.read", "x", checks=["equals(LIMIT, 5, path=a.py)"], path="a.py", bounds=bounds)
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
def test_what_the_index_confirms_is_covered(code: Repository, said: str, check: str, coverage: str):
    """A noun needs its kind, and a symbol without a path has to be the only one of its name."""
    assert ask(code, "code.read", said, checks=[check], path="a.py").coverage == coverage


@pytest.mark.parametrize(("name", "path", "coverage"), [("E", "E.java", "whole"), ("G", "G.java", "part")])
def test_a_constructor_is_no_second_definition_of_its_type(code: Repository, name: str, path: str, coverage: str):
    """Another type or method of that name is."""
    assert (
        ask(code, "code.read", f"`{name}` extends `F`.", checks=[f"extends({name}, F)"], path=path).coverage == coverage
    )


def test_a_long_line_is_cut(code: Repository):
    """An observation stays small."""
    code.write("d.py", "LONG = " + repr("x" * 900) + "\n", "2026-05-25T12:00:00")
    code.commit("Long")
    found = entry(
        code, "code.read", "x", checks=['equals(LONG, "y", path=d.py)'], path="d.py", bounds={"public_roots": "*"}
    )
    assert 0 < len(found["found"]) <= 200
