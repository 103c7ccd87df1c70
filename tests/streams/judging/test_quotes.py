"""Where quotations and code spans begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.prose_literals import CLOSERS, PLAIN, code_spans, quotes


def inner(text: str) -> list[str]:
    return [text[start:end] for start, end in quotes(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He said “no” twice.", ["no"]),
        ("Er sagte „nein“ zweimal.", ["nein"]),
        ("Powiedział „nie” dwa razy.", ["nie"]),
        ("Il a dit « non » et « oui ».", [" non ", " oui "]),
        ("Er sagte »nein« und »ja«.", ["nein", "ja"]),
        ("‹eins› und ›zwei‹", ["eins", "zwei"]),
        ("彼は「はい」と『いいえ』と言った", ["はい", "いいえ"]),
        ("Hon sade ”nej” igen.", ["nej"]),
        ('It says "x = 1" and "y".', ["x = 1", "y"]),
        ("It says ‘maybe’ here.", ["maybe"]),
        ("‚niedrig‘ steht da", ["niedrig"]),
        ("It says 'maybe so' here, isn't it", ["maybe so"]),
        ("＂yes＂ ＇no＇ ″more″ ′less′ ‶all″ ｢one｣", ["yes", "no", "more", "less", "all", "one"]),
        ("❝yes❞ ❛no❜ 《书》 〈篇〉 ﹁一﹂ ﹃二﹄ ❮so❯", ["yes", "no", "书", "篇", "一", "二", "so"]),
    ],
)
def test_quotations_of_many_scripts_are_found(text: str, expected: list[str]):
    """Each script's own pairs are read, and only what stands between them is returned."""
    assert inner(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('“yes" he said', ["yes"]),
        ('"yes” he said', ["yes"]),
        ('„yes" and «no"', ["yes", "no"]),
        ('„yes" and «no”', ['yes" and «no']),
        ("‘yes' and 'no’", ["yes' and 'no"]),
        ('“yes" and “no”', ["yes", "no"]),
        ('“yes "or" no" x', ['yes "or" no']),
        ('“yes” and "no"', ["yes", "no"]),
        ('“a\n\nb"', []),
        ('“a 5" disk', ["a 5"]),
        ("‘a” b", []),
        ('“x "a" and', ["a"]),
    ],
)
def test_marks_that_are_no_pair_quote_as_well(text: str, expected: list[str]):
    """Where no closing mark of the pair comes, one of as many strokes in the same paragraph closes."""
    assert inner(text) == expected


def test_of_nested_quotations_the_outermost_counts():
    """What is quoted inside a quotation stands inside it; the same pair nested ends at its own last mark."""
    assert inner("“a ‘b’ c” d") == ["a ‘b’ c"]
    assert inner("“a “b” c” d") == ["a “b” c"]
    assert inner("„a «b» c“") == ["a «b» c"]


def test_an_apostrophe_is_no_quotation_mark():
    """Apostrophes inside words open and close nothing."""
    assert inner("It’s the dog’s bone, isn’t it") == []
    assert inner("the ‘don’t’ rule") == ["don’t"]
    assert inner("It's the dogs' bone, Rock 'n' roll, 5' by 6', and f′ = g′") == []
    assert inner("' a ' and x 'b '") == []


def test_an_inch_mark_opens_nothing():
    """A straight mark that stands right after a letter or digit opens no quotation."""
    assert inner('a 5" disk and a 3" disk') == []


def test_a_mark_that_nothing_closes_opens_nothing():
    """An unclosed quotation is none, and a straight one ends with its paragraph at the latest."""
    assert inner("“never closed") == []
    assert inner('one " here\n\nand " there') == []
    assert inner('one "here\nand" there') == ["here\nand"]


def test_an_empty_quotation_is_left_out():
    """Marks around nothing, or around white space only, quote nothing."""
    assert inner('“” "" «  » “x”') == ["x"]


MARKS = "".join(PLAIN)


@given(st.text(alphabet="ab \n." + MARKS, max_size=60))
def test_quotations_never_overlap(text: str):
    """Whatever stands in a text, quotations are in order, apart from each other, and enclosed by a pair of marks."""
    past = 0
    for start, end in quotes(text):
        assert past <= start - 1 < end < len(text)
        assert PLAIN[text[end]] == PLAIN[text[start - 1]]
        assert text[start:end].strip()
        past = end + 1


@given(
    st.text(alphabet="ab ", min_size=2, max_size=20).filter(lambda text: text == text.strip()),
    st.sampled_from([*CLOSERS.items()]),
)
def test_what_is_put_between_marks_is_found(words: str, pair: tuple[str, str]):
    """A text between a pair of marks, set apart by spaces, is found whole."""
    opening, closers = pair
    assert inner(f"x {opening}{words}{closers[0]} y") == [words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use `parse_time` here", ["parse_time"]),
        ("use ``a ` b`` here", ["a ` b"]),
        ("use `` `x` `` here", ["`x`"]),
        ("`a` and `b`", ["a", "b"]),
        ("```\nx = 1\n```", ["\nx = 1\n"]),
        ("`open", []),
        ("`a``b`", ["a``b"]),
        ("` `", []),
    ],
)
def test_code_spans_are_read_as_commonmark_reads_them(text: str, expected: list[str]):
    """A run of backticks closes with a run of the same length; one space on either side belongs to the marks."""
    assert [text[start:end] for start, end in code_spans(text)] == expected
