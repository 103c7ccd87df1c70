"""The soundness measurement: its table, its oracles on small programs, the facts they give, and what counts as wrong.

A language is tested where its program is installed; packages are fetched by `make soundness` alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from soundness import __main__ as command
from soundness import facts, fetching, outlines, verdicts

from sluice.streams.judging.checks import Source

PROGRAMS = {
    "python": (
        "a.py",
        "class C:\n    def f(self):\n        self.g()\n\n    def g(self):\n        return K\n\n\nK = 3\n",
    ),
    "go": (
        "a.go",
        "package a\n\nconst K = 3\n\ntype C struct{}\n\nfunc (c C) f() { c.g() }\n\nfunc (c C) g() int { return K }\n",
    ),
    "java": (
        "C.java",
        "class C {\n    static final int K = 3;\n    void f() { this.g(); }\n    int g() { return K; }\n}\n",
    ),
    "ruby": ("a.rb", "class C\n  K = 3\n\n  def f\n    g()\n  end\n\n  def g\n    K\n  end\nend\n"),
}
"""By language: a file in which C.f calls C.g, C.g returns K, and K is 3."""


def outlined(language: str, path: str, text: str, tmp_path: Path) -> facts.File:
    """A file with what its oracle says of it; skips where a program is missing."""
    (tmp_path / path).write_text(text, "utf-8")
    try:
        program = outlines.command(language, tmp_path / "cache")
    except fetching.Missing as missing:
        pytest.skip(f"{missing} is not installed")
    told = fetching.run([*program, str(tmp_path)], given=f"{path}\n")
    return outlines.File(language, "unit", path, text, json.loads(told))


def made(outline: dict[str, Any], text: str) -> dict[str, bool]:
    """The truth of each check that an outline gives."""
    file = outlines.File("python", "unit", "a.py", text, {"imports": [], "definitions": [], "values": [], **outline})
    return {fact.check: fact.truth for fact in facts.facts_of(file, 1)}


def test_each_language_has_two_packages_with_a_hash_and_no_address() -> None:
    table = fetching.packages()
    counted = Counter(one.language for one in table)
    assert all(counted[language] >= 2 for language in outlines.LANGUAGES)
    assert counted.keys() - {"tool"} == set(outlines.LANGUAGES)
    assert all(re.fullmatch(r"[0-9a-f]{64}", one.digest) and one.manager in fetching.CLIENTS for one in table)
    assert "://" not in fetching.TABLE.read_text("utf-8")


@pytest.mark.parametrize("language", PROGRAMS)
def test_an_oracle_tells_calls_values_and_returns(language: str, tmp_path: Path) -> None:
    path, text = PROGRAMS[language]
    (tmp_path / "cache").mkdir()
    told = {fact.check: fact.truth for fact in facts.facts_of(outlined(language, path, text, tmp_path), 1)}
    constant = next(check for check in told if check.startswith("equals(")).partition(",")[0].removeprefix("equals(")
    assert told["calls(C.f, C.g)"] is True
    assert told["not calls(C.f, C.g)"] is False
    assert told[f"equals({constant}, 3)"] is True
    assert told[f"equals({constant}, 4)"] is False
    assert told['returns(C.g, "K")'] is True


@pytest.mark.parametrize(
    ("body", "unsure"),
    [
        ("class C:\n    def g(self): pass\n    def f(self):\n        self = 1\n        self.g()\n", "calls(C.f, C.g)"),
        ("class C:\n    def g(self): pass\n    def f(self):\n        return lambda: self.g()\n", "calls(C.f, C.g)"),
        ("def g(): pass\ndef f(g):\n    g()\n", "calls(f, g)"),
        ("K = 1\nK = 2\n", "equals(K, 1)"),
        ("K = 1\ndef f():\n    global K\n    K = 2\n", "equals(K, 1)"),
        ("K = 1\nglobals()['K'] = 2\n", "equals(K, 1)"),
        ("def f(a):\n    if a:\n        return 1\n    return 2\n", 'returns(f, "2")'),
        ("def f():\n    try:\n        raise KeyError\n    except KeyError: pass\n", "raises(f, KeyError)"),
        ("def g(): pass\ndef f(): g()\ndef f(): pass\n", "calls(f, g)"),
    ],
)
def test_pythons_oracle_leaves_out_what_is_not_sure(body: str, unsure: str, tmp_path: Path) -> None:
    file = outlined("python", "a.py", body, tmp_path)
    assert unsure not in {fact.check for fact in facts.facts_of(file, 1)}


@pytest.mark.parametrize(
    ("outline", "text", "true", "false"),
    [
        ({"values": [{"symbol": "K", "value": True}]}, "", "equals(K, true)", "equals(K, false)"),
        ({"values": [{"symbol": "K", "value": "a"}]}, "", 'equals(K, "a")', 'equals(K, "ax")'),
        ({"values": [{"symbol": "K", "members": ["a", "b"]}]}, "", 'members(K, ["a", "b"])', 'members(K, ["a"])'),
        ({"imports": ["a.b"]}, "import a.b", 'imports("a.b")', None),
        (
            {"definitions": [{"symbol": "f", "kind": "function", "lines": [1, 3], "steps": ["g(1)", "h(2)"]}]},
            "def f():\n    g(1)\n    h(2)\n",
            'before(f, "g(1)", "h(2)")',
            'before(f, "h(2)", "g(1)")',
        ),
        (
            {
                "definitions": [
                    {"symbol": "f", "kind": "function", "lines": [1, 3], "branches": [["a", "g(1)"]], "steps": []}
                ]
            },
            "def f():\n    if a:\n        g(1)\n",
            'when(f, "a", "g(1)")',
            'unless(f, "a", "g(1)")',
        ),
        (
            {
                "definitions": [
                    {"symbol": "f", "kind": "function", "lines": [1, 1], "calls": ["g"]},
                    {"symbol": "g", "kind": "function", "lines": [2, 2]},
                    {"symbol": "h", "kind": "function", "lines": [3, 3]},
                ]
            },
            "def f(): g()\ndef g(): pass\ndef h(): pass\n",
            "calls(f, g)",
            "calls(f, h)",
        ),
    ],
)
def test_facts_are_true_false_and_denied(outline: dict[str, Any], text: str, true: str, false: str | None) -> None:
    told = made(outline, text)
    assert told[true] is True
    if false is None:  # the changed name is random
        false = next(check for check, truth in told.items() if not truth and not check.startswith("not "))
    assert told[false] is False
    if true.partition("(")[0] in facts.DENIABLE:
        assert told[f"not {true}"] is False
        assert told[f"not {false}"] is True


def test_a_sample_is_the_seeds_and_has_no_more_than_asked() -> None:
    values = [{"symbol": f"K{at}", "value": at} for at in range(30)]
    outline = {"imports": [], "definitions": [], "values": values}
    files = [outlines.File("python", "unit", f"{name}.py", "", outline) for name in "abc"]
    chosen = facts.sample(files, 20, 1)
    assert Counter(fact.truth for _, fact in chosen) == {True: 20, False: 20}
    assert chosen == facts.sample(list(reversed(files)), 20, 1) != facts.sample(files, 20, 2)


@pytest.mark.parametrize(
    ("truth", "answer", "unsound"),
    [(True, True, False), (True, False, True), (True, None, False), (False, True, True), (False, False, False)],
)
def test_only_a_refuted_truth_and_a_verified_falsehood_are_unsound(
    truth: bool, answer: bool | None, unsound: bool
) -> None:
    fact = facts.Fact("python", "a.py", "equals", "equals(K, 1)", truth, "`K` is 1.")
    judged = verdicts.Judged(fact, False, answer, "")
    assert judged.unsound is unsound
    assert (str(judged.fact.truth).lower() + " " + verdicts.ANSWERS[answer]) in verdicts.table([judged])[0]


def test_the_judge_is_asked_as_a_check_and_as_a_sentence() -> None:
    fact = facts.Fact("python", "a.py", "equals", "equals(K, 1)", True, "`K` in `a.py` is 1.")
    unread = fact._replace(kind="no such check", check="no_such(K)", text="K")
    judged = verdicts.judge((Source("a.py", "K = 1\n"), one) for one in (fact, unread))
    assert [(one.bare, one.answer) for one in judged] == [(False, True), (True, True), (False, None)]
    assert judged[-1].reason.startswith("unread")


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_missing_program_is_told_and_is_an_error_in_ci(
    ci: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(language: str, cache: Path) -> list[facts.File]:
        raise fetching.Missing("go")

    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(command, "outlines", missing)
    assert command.main(["--languages", "go", "--seed", "1"]) == 1  # nothing was judged
    shown = capsys.readouterr().out
    assert "go: skipped, go is not installed" in shown
    assert ("go: go is missing" in shown) is bool(ci)


def test_a_package_that_is_not_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"other")
    monkeypatch.setitem(fetching.CLIENTS, "npm", lambda package, folder: iter([other]))
    package = fetching.Package("javascript", "npm", "unit", "1", "0" * 64, ("*",))
    with pytest.raises(fetching.FetchingError, match="its hash is"):
        fetching.archive(package, tmp_path / "cache")
    assert not (tmp_path / "cache" / "archives" / package.digest).exists()


def test_a_program_that_fails_is_told() -> None:
    with pytest.raises(fetching.FetchingError, match="reason"):
        fetching.run([sys.executable, "-c", "import sys; sys.exit('reason')"])
