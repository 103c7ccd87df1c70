"""Literals, dates and quotations in prose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.prose_literals import (
    CLOSERS,
    PLAIN,
    SECOND,
    STOP_WORDS,
    UNIT_OF,
    UNITS,
    cited_spans,
    code_spans,
    format_ns,
    literals,
    negates,
    quotes,
    stretch,
)


def found(text: str) -> list[tuple[str, str]]:
    return [(one.form, one.text) for one in literals(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a_(b)?c=1#d.", [("url", "https://example.org/a_(b)?c=1#d")]),
        ("(at https://example.org/x)", [("url", "https://example.org/x")]),
        ("mail a.b@example.org now", [("email", "a.b@example.org")]),
        ("commit 3f2a9bc broke it", [("hash", "3f2a9bc")]),
        ("1234567 rows", [("number", "1234567 rows")]),
        ("id sha256:e3b0c442 is", [("hash", "sha256:e3b0c442")]),
        ("on 2026-05-25.", [("moment", "2026-05-25")]),
        ("on May 25, 2026 at 10:00 UTC", [("moment", "May 25, 2026 at 10:00 UTC")]),
        ("on the 25th of May 2026", [("moment", "25th of May 2026")]),
        ("in May 2026", [("moment", "May 2026")]),
        ("in 2026 it", [("moment", "2026")]),
        ("with 2026 rows", [("number", "2026 rows")]),
        ("at 2026-05-25T10:00:00.5+02:00,", [("moment", "2026-05-25T10:00:00.5+02:00")]),
        ("at 10:00:30 it", [("clock", "10:00:30")]),
        ("127.0.0.1:9092 and ::1", [("address", "127.0.0.1:9092"), ("address", "::1")]),
        ("kafka.example.org:9092", [("address", "kafka.example.org:9092")]),
        ("v1.2.0, 1.2.3-rc1", [("version", "v1.2.0"), ("version", "1.2.3-rc1")]),
        ("version 1.0 is", [("version", "1.0")]),
        ("in docs/guide.md and Makefile", [("path", "docs/guide.md"), ("path", "Makefile")]),
        ("./run and /etc/hosts", [("path", "./run"), ("path", "/etc/hosts")]),
        ("needs Node.js here", [("name", "Node.js")]),
        (
            "parse_time MAX_RETRIES parseTime times.parse",
            [("name", n) for n in ["parse_time", "MAX_RETRIES", "parseTime", "times.parse"]],
        ),
        ("call times.parse_time() or math.log()", [("name", "times.parse_time"), ("name", "math.log")]),
        ("UTF-8, sha256, GPT-4, k8s, JSON", [("name", n) for n in ("UTF-8", "sha256", "GPT-4", "k8s", "JSON")]),
        ("use --root or #123", [("flag", "--root"), ("flag", "#123")]),
        ("40 files, 30 seconds, 100ms", [("number", "40 files"), ("number", "30 seconds"), ("number", "100ms")]),
        ("-3, +4, 95%, $5, 1,000, 20_000", [("number", n) for n in ("-3", "+4", "95%", "$5", "1,000", "20_000")]),
        ("3.14 and 1e6 and 0x1F", [("number", "3.14"), ("number", "1e6"), ("number", "0x1F")]),
    ],
)
def test_each_form_is_recognised(text: str, expected: list[tuple[str, str]]):
    """A literal is taken whole, without the sentence's punctuation, in its own form."""
    assert found(text) == expected


@pytest.mark.parametrize("text", ["It is NOT so.", "e.g. this and/or that, he/she", "done. Next", "i.e. a.m.", ""])
def test_ordinary_prose_has_no_literals(text: str):
    """Shouted stop words, abbreviations and words joined by a slash are words of prose."""
    assert found(text) == []


_WORDS = (
    *("commit", "3f2a9bc", "sha256:e3b0c442", "a@b.org", "https://b.org/c", "2026-05-25", "May", "25,", "2026", "in"),
    *("10:00:30", "127.0.0.1", "::1", "v1.2", "version", "1.0", "a/b.py", "localhost:80", "--all", "#4", "f()", "3/4"),
    *("30", "ms", "x1", "deadbeef-0000-1111-2222-333344445555", "beef", "$HOME", "it"),
)


@given(st.text(max_size=80))
def test_literals_are_in_order_and_apart(text: str):
    """Whatever the text, each literal stands where it says, and none overlaps another."""
    past = 0
    for one in literals(text):
        assert past <= one.start < one.end
        assert text[one.start : one.end] == one.text
        past = one.end


@given(st.text("aeT159. :-/@#$_,'é٣", max_size=40) | st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join))
def test_what_stands_behind_a_text_adds_no_literal_to_it(text: str):
    """A form is not looked for where no mark of it stands: with every mark behind the text it has the same literals."""
    marks = "\0 9 : :// @ - # $ commit "
    assert literals(text) == [one for one in literals(text + marks) if one.end <= len(text)]


def test_every_spelling_of_a_unit_leads_to_one_unit():
    """The unit table is a partition: no spelling means two units."""
    assert sum(len(spellings) for spellings in UNITS.values()) == len(UNIT_OF)
    assert all(UNIT_OF[spelling] == name for name, spellings in UNITS.items() for spelling in spellings)


def test_stop_words_are_case_folded():
    """The list is compared with case-folded words, so it holds nothing else."""
    assert all(word == word.casefold() for word in STOP_WORDS)


DAY = 86_400 * SECOND


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("text", "first", "length"),
    [
        ("2026", "2026-01-01", 365 * DAY),
        ("May 2026", "2026-05-01", 31 * DAY),
        ("2026-12", "2026-12-01", 31 * DAY),
        ("2026-05-25", "2026-05-25", DAY),
        ("2026/05/25", "2026-05-25", DAY),
        ("25th of May 2026", "2026-05-25", DAY),
        ("Sept. 3, 2026", "2026-09-03", DAY),
        ("2026-05-25T10:00Z", "2026-05-25T10:00", 60 * SECOND),
        ("2026-05-25 10:00:30", "2026-05-25T10:00:30", SECOND),
        ("2026-05-25T10:00:00+02:00", "2026-05-25T08:00", SECOND),
        ("May 25, 2026 at 10:05 pm", "2026-05-25T22:05", 60 * SECOND),
        ("2026-05-25T10:00:00.5Z", "2026-05-25T10:00", SECOND // 10),
    ],
)
def test_a_moment_is_as_long_as_it_is_precise(text: str, first: str, length: int):
    """A day is a day, a minute a minute, tenths of a second a tenth; without a zone it is UTC."""
    start, past = stretch(text) or (0, 0)
    assert past - start == length
    assert start // SECOND == ns(first) // SECOND


@pytest.mark.parametrize("text", ["2026-02-30", "2026-13-01", "31 April 2026"])
def test_a_date_that_no_calendar_has_is_no_moment(text: str):
    """Impossible dates name no time."""
    assert stretch(text) is None


@pytest.mark.parametrize(
    ("text", "holds"),
    [("It is not so.", True), ("It hasn’t changed.", True), ("Unchanged since May.", True), ("A notable one.", False)],
)
def test_a_word_of_negation_is_told(text: str, holds: bool):
    """Whole words, in any letter case."""
    assert negates(text) is holds


@given(st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31)), st.integers(0, SECOND - 1))
def test_a_written_time_names_the_instant_it_was_written_from(time: datetime, rest: int):
    """Formatting, then reading, gives a stretch that begins at that time, whatever its precision."""
    instant = (time - datetime(1970, 1, 1)) // timedelta(seconds=1) * SECOND + rest
    start, past = stretch(format_ns(instant)) or (0, 0)
    assert start == instant < past


def test_a_time_is_written_as_fine_as_it_is():
    """Whole seconds have no fraction, and a fraction has no zeros at its end."""
    assert format_ns(0) == "1970-01-01T00:00:00Z"
    assert format_ns(1_500_000_000) == "1970-01-01T00:00:01.5Z"
    assert format_ns(1) == "1970-01-01T00:00:00.000000001Z"


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


def inner_of_cited(text):
    return [text[start:end] for start, end in cited_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He says:\n> It is so\n> and more.\nSo.", ["It is so", "and more."]),
        (" > > nested", ["nested"]),
        ("<q>It was so.</q> x", ["It was so."]),
        ('<Q cite="a">It was so.</q >', ["a", "It was so."]),
        ("<blockquote>one\n\ntwo</blockquote>", ["one", "two"]),
        ('It "begins here\n\nand ends" there', ["begins here", "and ends"]),
        ('"First paragraph.\n\n"Second one." So.', ["First paragraph.", "Second one."]),
        ("`It was never so said`", ["It was never so said"]),
        ("```\nThe text is this one.\n```", ["The text is this one."]),
        ("“a `b c d e` f”", ["a `b c d e` f"]),
        ('He said “no” and "yes".', ["no", "yes"]),
        ("<cite>It was so.</cite> x", ["It was so."]),
        ("He said &quot;it was so&quot;, &#x201c;no&#8221; and &laquo;yes&raquo;.", ["it was so", "no", "yes"]),
        ("a &amp; b: &ldquo;one\n\n&ldquo;two&quot; x", ["one", "two"]),
        ('&quot;mixed" and “mixed&quot; &amp; more', ["mixed", "mixed"]),
        ('“First paragraph.\n\n“Second one." So.', ["First paragraph.", "Second one."]),
        ("It says 'so it was'.", ["so it was"]),
    ],
)
def test_no_way_of_quoting_is_left_out(text, expected):
    """Line by line and paragraph by paragraph, without the marks."""
    assert inner_of_cited(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a > b and c > d",
        "`git log -3`",
        "`x = y`",
        'a 5" disk\n\nand a 3" disk',
        "<q>never closed",
        "<quote>x</quote>",
        "a &quot; b &amp; c &unknown; d",
        ">",
    ],
)
def test_other_text_quotes_nothing(text):
    """Comparisons, code, inch marks, what is not closed."""
    assert inner_of_cited(text) == []


@given(
    st.lists(
        st.sampled_from(['"', "`", "<q>", "</q>", "> ", "\n", "\n\n", "a b c ", "“", "”", "&quot;", "'", " ", "x"]),
        max_size=30,
    )
)
def test_whatever_quotations_there_are_stand_in_one_of_these(parts):
    """Never less than what quotation marks alone give, in order, and none inside another."""
    text = "".join(parts)
    found = cited_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(before[1] < after[1] for before, after in pairwise(found))
    assert all(any(first <= start and end <= last for first, last in found) for start, end in quotes(text))
