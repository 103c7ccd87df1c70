"""Footnotes and blocks that are checks are read; what is none is prose, and what is left out is told."""

from __future__ import annotations

import json

import pytest

from sluice.codecs import check_notes
from sluice.codecs.check_notes import checks_in, definitions, entries_of, few, matched
from sluice.codecs.prose import layout

CHECK = '{"say": "A.", "checks": ["equals(A, 1)"]}'


@pytest.mark.parametrize(
    ("note", "wanted"),
    [
        (" equals(A, 1)", ["equals(A, 1)"]),
        (" `equals(A, 1)`.", ["equals(A, 1)"]),
        (" equals(A, 1); not calls(f, g)", ["equals(A, 1)", "not calls(f, g)"]),
        (" equals(A, 1), equals(B, 2)", ["equals(A, 1)", "equals(B, 2)"]),
        (" equals(A, 1);\n   equals(B, 2)", ["equals(A, 1)", "equals(B, 2)"]),
        ("\n- equals(A, 1)\n- `equals(B, 2)`\n", ["equals(A, 1)", "equals(B, 2)"]),
        ("\n  1. equals(A, 1)\n  2) equals(B, 2)", ["equals(A, 1)", "equals(B, 2)"]),
        (' contains("a; b) \\" c", path=x)', ['contains("a; b) \\" c", path=x)']),
        (" contains('a)', path=x)", ["contains('a)', path=x)"]),
        (" contains(`a)`, path=x)", ["contains(`a)`, path=x)"]),
        (" contains(don't, path=x)", ["contains(don't, path=x)"]),
        (" members(A, [1, [2, (3)]])", ["members(A, [1, [2, (3)]])"]),
        (" frobnicate(A)", ["frobnicate(A)"]),
        (" See the docs.", None),
        (" equals(A, 1) as said", None),
        (" As said, equals(A, 1)", None),
        (" equals(A, 1)equals(B, 2)", None),
        (" equals(A, 1", None),
        (' contains("a)', None),
        (" `equals(A, 1)", None),
        (" equals(A, 1)[^2]", None),
        (" [^2]", None),
        (" f.g(x)", None),
        (" equals", None),
        ("", None),
    ],
)
def test_a_note_is_checks_or_prose(note: str, wanted: list[str] | None) -> None:
    """Nothing in it is encoded. Whether there is a check of that name is asked elsewhere, and fails closed."""
    found = checks_in(note)
    assert (None if found is None else list(found)) == wanted


def noted(text: str) -> tuple[list[tuple[str, list[str]]], list[str]]:
    found, told = definitions(text, layout(text))
    return [(note.label, list(note.checks)) for note in found], told


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        ("A.[^1]\n\n[^1]: f(a)\n[^B]: g(b)", [("1", ["f(a)"]), ("b", ["g(b)"])], 0),
        ("[^1]: f(a);\ng(b)\n\nA", [("1", ["f(a)", "g(b)"])], 0),
        ("[^1]: f(a)\nMore prose.", [("1", ["f(a)"])], 0),
        ("[^1]: f(a,\nb)\nMore.", [("1", ["f(a,\nb)"])], 0),
        ("[^1]:\n- f(a)\n- g(b)\n\n- prose", [("1", ["f(a)", "g(b)"])], 0),
        ("[^1]: f(a)\n\n    g(b)", [("1", ["f(a)"])], 0),
        ("[^1]: f(a)\n> b", [("1", ["f(a)"])], 0),
        ("[^1]: f(a\n```\nb)", [], 1),
        ("[^1]: f(a)\n[^1]: g(b)\n[^1]: prose", [("1", ["f(a)"]), ("1", [])], 1),
        ("[^1]: f(a)[^2]\n[^2]: [^1]", [], 1),
        ("> [^1]: f(a)\n\n    [^2]: f(a)\n\n```\n[^3]: f(a)\n```", [], 0),
        ("[^a b]: f(a)", [], 0),
        ("x [^1]: f(a)", [], 0),
    ],
)
def test_definitions_are_lines_of_the_authors(text: str, wanted: list[tuple[str, list[str]]], told: int) -> None:
    """The first of a name counts; a note that begins like a check and is none is told."""
    found, sentences = noted(text)
    assert found == wanted
    assert len(sentences) == told


def test_a_note_that_is_too_long_is_prose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_notes, "MAX_NOTE", 5)
    assert noted("[^1]: f(aaaaa)")[0] == []
    assert "footnote 1 begins like a check" in noted("[^1]: f(aaaaa)")[1][0]


@pytest.mark.parametrize(
    ("block", "entries", "told", "was_read"),
    [
        (f"[{CHECK}]", 1, "", True),
        (CHECK, 1, "", True),
        ('{"say": "A.", "checks": "f(a)", "more": 1}', 1, "", True),
        ("[]", 0, "", True),
        (f'[{CHECK}, 3, {{"say": "A."}}, {{"say": 1, "checks": []}}]', 1, "3 of 4 entries", True),
        ('[{"say": "A.", "checks": [{"f": 1}]}]', 0, "1 of 1 entries", True),
        ('[{"say": "A.", "checks": NaN}]', 0, "no JSON", False),
        ('[{"say": "A.", "say": "B.", "checks": []}]', 0, "occurs twice in one object: 'say'", False),
        ("[" * 5_000, 0, "nested deeper", False),
        ("not JSON", 0, "no JSON", False),
        ("", 0, "no JSON", False),
        ('["\\ud800"]', 0, "no JSON", False),
    ],
)
def test_a_block_is_read_or_told(block: str, entries: int, told: str, was_read: bool) -> None:
    """One sentence says why it is left out."""
    found, sentences, read = entries_of(block)
    assert (len(found), read) == (entries, was_read)
    assert told in "".join(sentences)
    assert len(sentences) == bool(told)


def test_a_large_block_and_one_with_many_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with one sentence."""
    monkeypatch.setattr(check_notes, "MAX_BLOCK", 1_000)
    assert entries_of("x" * 10_000_000)[1:] == (
        ["A block of checks has more than 1000 characters; it is left out."],
        False,
    )
    monkeypatch.setattr(check_notes, "MAX_ASSERTIONS", 2)
    found, told, _ = entries_of(f"[{CHECK},{CHECK},{CHECK}]")
    assert (len(found), told) == (2, ["Of a block of checks the first 2 of 3 entries are read."])


def test_a_block_that_no_fence_closes_is_told_so() -> None:
    """Most are what is left of an answer that was cut off."""
    assert "no fence closes it" in entries_of('[{"say": "A', closed=False)[1][0]


@pytest.mark.parametrize(
    ("say", "statement"),
    [
        ("The cap is 5.", "The  cap\nis 5"),
        ("The cap is 5", "**The cap** is `5`."),
        ("See [the page](http://a.b/c) now.", "See the page now."),
        ("The cap is 5.", "The cap[^1] is 5."),
        ("- [x] The cap is 5.", "The cap is 5."),
        ("| `A` | 5 |", "`A` | 5"),
        ("max_size is 5.", "`max_size` is 5."),
    ],
)
def test_an_entry_matches_a_statement_by_its_words(say: str, statement: str) -> None:
    """White space, marks of Markdown and the sign at the end aside."""
    assert matched([check_notes.Entry(say, ("f(a)",))], [("Other.",), (statement,)]) == ({1: ("f(a)",)}, [])


def test_what_matches_no_statement_is_one_sentence() -> None:
    """However many there are; several statements of the same words all have the checks, and entries add up."""
    entries = [check_notes.Entry(say, (f"f({say})",)) for say in ("A.", "B", "**C**", "A", "")]
    checks, told = matched(entries, [("A.",), ("A",), ("x", "D")])
    assert checks == {0: ("f(A.)", "f(A)"), 1: ("f(A.)", "f(A)")}
    assert told == ["3 entries of a block of checks match no statement of the answer; the first says «B»."]
    assert matched([], [("A",)]) == ({}, [])


def test_what_is_told_is_few() -> None:
    """Each sentence once, and a count of the rest."""
    told = few([f"{number}." for number in range(30)] * 2)
    assert len(told) == check_notes.MOST_TOLD + 1
    assert told[-1] == "20 more are left out."
    assert json.dumps(few(["a", "a"])) == '["a"]'
