"""Checks on text: what stands in a file, where, how often, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.unicode_text import nfkc
from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.facts import cuts, find_quote, flat, verify_text

NOT_FOUND, AMBIGUOUS, NOT_WHOLE = Held(None, "not-found"), Held(None, "ambiguous"), Held(None, "not-whole")


def verify(check: str, text: str, lines: tuple[int, int] | None = None, whole: bool = True) -> Held:
    """What a check comes to over a text."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    return verify_text(parsed, Source("a.txt", text, lines, whole))


def stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, as `contains` has it."""
    held = verify_text(Check("contains", (quote,)), Source("a.txt", text))
    assert held.holds is not False
    return held.holds is True


# ---------------------------------------------------------------- contains


def test_a_quote_is_found_whatever_white_space_stands_in_it():
    """Runs of white space are one space, across lines as well, and the lines of the whole match are told."""
    text = "first\n\nthe  retry\n\tlimit\r\nis 42\n"
    assert verify('contains("the retry limit is 42")', text) == Held(True, lines=(3, 5))
    assert verify("contains(first)", text) == Held(True, lines=(1, 1))
    assert verify("contains(42)", text) == Held(True, lines=(5, 5))


def test_what_is_not_found_is_not_refuted():
    """`contains` has no opposite: not finding is no evidence."""
    assert verify("contains(43)", "42") == NOT_FOUND
    assert verify("contains(x)", "") == NOT_FOUND


def test_the_first_match_that_cuts_nothing_is_the_one_reported():
    """Matches inside of longer words are passed over."""
    assert verify("contains(foo)", "foobar\nbarfoo\nfoo_1\n(foo)\nfoo") == Held(True, lines=(4, 4))


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("25", "2026-05-25"),
        ("2026-05", "2026-05-25"),
        ("1.2", "1.2.3"),
        ("2.3", "1.2.3"),
        ("1.2", "11.2"),
        ("1.2", "1.25"),
        (".2", "1.2"),
        ("1.", "1.2"),
        ("3", "3.14"),
        ("14", "3.14"),
        ("5", "= .5"),
        ("000", "1,000"),
        ("1", "1,000"),
        ("1", "1_000"),
        ("1", "1'000"),
        ("000", "1_000"),
        ("5", "x = -5"),
        ("5", "(-5)"),
        ("5", "-5"),
        ("5", "x = \u22125"),
        ("5", "1e-5"),
        ("1e", "1e-5"),
        ("1", "1e5"),
        ("30", "30s"),
        ("30", "30%"),
        ("30", "30 %"),
        ("30", "$30"),
        ("30", "30€"),
        ("10", "10:30"),
        ("1", "1/2"),
        ("1.2.3", "1.2.3rc1"),
        ("1.2.3", "1.2.3-rc1"),
        ("1.2.3", "1.2.3.dev4"),
        ("1.2.3", "1.2.3~rc1"),
        ("1.2.3", "v1.2.3"),
        ("is 42", "is 420"),
        ("retries: 5", "max-retries: 5"),
        ("max-retries", "max-retries-total"),
        ("foo-", "foo-bar"),
        ("-bar", "foo-bar"),
        ("foo", "foobar"),
        ("bar", "foobar"),
        ("foo", "foo_"),
        ("foo", "foo1"),
        ("caf", "café"),
        ("x", "x\u0302"),
        ("foo", "foo\u200bbar"),
        ("foo", "foo\u00adbar"),
        ("bar", "foo\u2060bar"),
    ],
)
def test_the_ends_of_a_quote_cut_no_identifier_and_no_number(quote: str, text: str):
    """A part of a number, a version, a date or a word is not what stands there."""
    assert not stands(quote, text)
    assert stands(text, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("42", "is 42."),
        ("42", "f(42)"),
        ("42", "x=42,"),
        ("42", "[41, 42]"),
        ("42", "42-"),
        ("5", "x - 5"),
        ("-5", "x = -5"),
        ("5", "f(x)-5"),
        ("5", "1..5"),
        ("1.2.3", "version 1.2.3."),
        ("1.2.3", '"1.2.3"'),
        ("2026-05-25", "## 2026-05-25: more"),
        ("timeout = 5", "self.timeout = 5"),
        ("records.py", "codecs/records.py"),
        ("name", "$name"),
        ("verbose", "--verbose"),
        ("dry-run", "--dry-run"),
        ("x", "x->y"),
        ("(foo", "a(foo)"),
        ("foo(", "foo(bar)"),
        ("東京", "東京都庁"),
        ("25", "第25章"),
        ("⚠", "⚠ careful"),
        ("100%", "100% sure"),
        ("it's", "it's"),
    ],
)
def test_a_quote_is_found_where_its_ends_cut_nothing(quote: str, text: str):
    """Punctuation, brackets, dots between names, and scripts without spaces are no part of it."""
    assert stands(quote, text)


def test_compatible_characters_are_one():
    """NFKC on both sides: ligatures, full-width digits, composed accents, no-break spaces."""
    assert stands("file café 42", "ﬁle\u00a0cafe\u0301 ４２")
    assert stands("ﬁle", "file")
    assert not stands("e", "e\u0301")


def test_an_accent_at_the_start_of_a_line_stays_there():
    """NFKC joins nothing across a line end, so lines stay lines."""
    assert verify("contains(x)", "e\n\u0301 \nx") == Held(True, lines=(3, 3))


def test_only_the_lines_looked_at_count():
    """What stands before and after them is not there; a quote does not reach over their end."""
    text = "a 1\nb 2\nc 3\n"
    assert verify("contains(b)", text, (2, 2)) == Held(True, lines=(2, 2))
    assert verify("contains(b)", text, (1, 1)) == NOT_FOUND
    assert verify('contains("b 2 c")', text, (2, 2)) == NOT_FOUND
    assert verify('contains("b 2 c")', text, (2, 90)) == Held(True, lines=(2, 3))
    assert verify("contains(a)", text, (50, 60)) == NOT_FOUND


def test_pieces_apart_do_not_stand_together():
    """Observers put a NUL between pieces; no quote holds one."""
    assert not stands("a b", "a\n\0\nb")


def test_a_word_that_may_go_on_behind_the_end_of_a_cut_text_is_not_found():
    """A file cut after `30` may say 300."""
    assert verify("contains(30)", "limit 30", whole=False) == NOT_FOUND
    assert verify("contains(limit)", "limit 30", whole=False) == Held(True, lines=(1, 1))
    assert verify("contains(30)", "limit 30\nmore", (1, 1), whole=False) == Held(True, lines=(1, 1))
    assert verify("line(a.txt, 1, 30)", "limit 30", whole=False) == NOT_WHOLE


@pytest.mark.parametrize(
    ("quote", "text", "holds"),
    [
        ("retr…", "retries", True),
        ("…ries", "retries", True),
        ("…tri…", "retries", True),
        ("retr", "retries", False),
        ("…tri", "retries", False),
        ("retr …", "retries", False),
        ("retr…", "re tr", False),
        ("1.2…", "1.2.3", True),
        ("retr...", "retries", False),  # three full stops are text
        ("a...", "a…", True),
        ("a…", "a…", True),
    ],
)
def test_an_ellipsis_lets_an_end_of_a_quote_cut_a_word(quote: str, text: str, holds: bool):
    """Only that sign, only at the ends, and beside no space."""
    assert (verify(f'contains("{quote}")', text).holds is True) is holds


# ---------------------------------------------------------------- absent


def test_an_identifier_that_stands_nowhere_is_absent():
    """In the whole file, or in the whole of the lines looked at."""
    assert verify("absent(foo)", "bar\nbaz\n") == Held(True)
    assert verify("absent(foo)", "bar\nfoo\n", (1, 1)) == Held(True, lines=(1, 1))
    assert verify("absent(foo)", "") == Held(True)


def test_an_identifier_that_stands_there_refutes_its_absence():
    """As a word of its own, also as one part of a dotted name or in a comment."""
    assert verify("absent(foo)", "bar\n  # foo.bar\n") == Held(False, "differs", (2, 2), found="# foo.bar")
    assert verify("absent(foo)", "a\nb\nfoo\n", (3, 3)) == Held(False, "differs", (3, 3), found="foo")
    assert verify("absent(a.b)", "x.a.b.c" + "." * 300) == Held(False, "differs", (1, 1), found="x.a.b.c" + "." * 193)


@pytest.mark.parametrize(
    "text",
    [
        "foobar",
        "my-foo",
        "foo2",
        "Foo",
        "DEFAULT_FOO",
        "f\u200boo",
        "fo\u00ado",
        "f\u043e\u043e",  # Cyrillic
        "f\\u006fo",
        "f\\x6fo",
        "f\\u{6f}o",
        "\\U00000066oo",
    ],
)
def test_a_part_of_a_word_and_a_look_alike_leave_absence_undecided(text: str):
    """Neither «it stands nowhere» nor «it stands there» is exact: letter case, look-alikes, escapes."""
    assert verify("absent(foo)", text) == AMBIGUOUS


def test_absence_needs_the_whole_scope():
    """A cut file, a guessed encoding or lines that the file does not reach prove nothing, in neither direction."""
    assert verify("absent(foo)", "bar", whole=False) == NOT_WHOLE
    assert verify("absent(foo)", "foo", whole=False) == NOT_WHOLE
    assert verify("absent(foo)", "bar\n", (1, 40)) == NOT_WHOLE
    assert verify("absent(foo)", "bar\n", (30, 40)) == NOT_WHOLE
    assert verify("absent(foo)", "bar\n", (1, 2)) == Held(True, lines=(1, 2))  # editors count the line after the last


def test_escapes_beyond_unicode_are_left_as_they_are():
    """A stranger's number that is no character raises nothing."""
    assert verify("absent(foo)", "\\Uffffffff \\u{ffffff} \\u \\xzz") == Held(True)


# ---------------------------------------------------------------- count


@pytest.mark.parametrize(
    ("op", "number", "holds"),
    [
        ("=", 3, True),
        ("!=", 3, False),
        (">=", 3, True),
        (">", 3, False),
        ("<", 4, True),
        ("<=", 2, False),
        ("=", 0, False),
    ],
)
def test_occurrences_of_a_fixed_string_are_counted(op: str, number: int, holds: bool):
    """Also inside of longer words, as `grep -o` counts them; a wrong number is exactly false."""
    held = verify(f"count(foo, {op}, {number})", "foo foobar\nbarfoo\n")
    assert held == (Held(True) if holds else Held(False, "differs"))


def test_occurrences_do_not_overlap_and_letter_case_counts():
    """`aa` stands twice in `aaaa`."""
    assert verify("count(aa, =, 2)", "aaaa").holds is True
    assert verify("count(A, =, 0)", "aaaa").holds is True
    assert verify("count(a, =, 2.5)", "aaaa").holds is False
    assert verify("count(a, <, 4.5)", "aaaa").holds is True


def test_the_count_is_that_of_the_lines_looked_at():
    """Lines that the file has; else nothing is told."""
    text = "a\na\na\n"
    assert verify("count(a, =, 2)", text, (2, 3)) == Held(True, lines=(2, 3))
    assert verify("count(a, =, 1)", text, (2, 3)) == Held(False, "differs", (2, 3))
    assert verify("count(a, =, 2)", text, (2, 30)) == NOT_WHOLE
    assert verify("count(a, =, 3)", text, whole=False) == NOT_WHOLE


def test_a_count_that_depends_on_white_space_is_undecided():
    """A check cannot say which white space its pattern means."""
    assert verify('count("a b", =, 2)', "a b a b").holds is True
    assert verify('count("a b", =, 1)', "a b a  b") == AMBIGUOUS
    assert verify('count("a…", =, 1)', "a") == AMBIGUOUS  # an ellipsis of the text, or one of the check?
    assert verify('count("a b", =, 1)', "a b a\nb") == AMBIGUOUS


# ---------------------------------------------------------------- line


LINES = "one\n\ttwo  three\rx\x0cy\nfour 1.2.3\nF( a,\n  b )\nfour"


@pytest.mark.parametrize(
    ("number", "quote", "holds", "reason", "lines"),
    [
        (2, "two three", True, None, (2, 2)),
        (2, "y", True, None, (2, 2)),
        (3, "1.2…", True, None, (3, 3)),
        (3, "…2.3", True, None, (3, 3)),
        (1, "six", False, "differs", (1, 1)),
        (9, "six", False, "differs", None),
        (1, "two", None, "moved", (2, 2)),
        (9, "two", None, "moved", (2, 2)),
        (5, "four", None, "moved", (6, 6)),  # the nearest
        (1, "one two", None, "moved", (1, 2)),
        (4, "F( a, b )", None, "moved", (4, 5)),
        (3, "1.2", None, "ambiguous", None),  # a part of another number
        (4, "f(a,b)", None, "ambiguous", None),  # other white space and letter case
        (1, "ONE", None, "ambiguous", None),
        (1, "fou", None, "ambiguous", None),
    ],
)
def test_one_line_has_a_quote_or_the_file_has_it_nowhere(
    number: int, quote: str, holds: bool | None, reason: str, lines: tuple[int, int] | None
):
    """A quote that stands elsewhere, or in another form, refutes nothing; the line that stands there is told."""
    held = verify(f'line(a.txt, {number}, "{quote}")', LINES)
    assert (held.holds, held.reason, held.lines) == (holds, reason, lines)
    stands_there = {1: "one", 3: "four 1.2.3", 4: "F( a,", 5: "b )"}.get(number)
    assert held.found == (None if holds else stands_there)


def test_a_line_beyond_the_end_has_nothing():
    """That is exact where the file was read whole; what follows the last line feed is no line."""
    assert verify("line(a.txt, 2, x)", "x\n") == Held(None, "moved", (1, 1))
    assert verify("line(a.txt, 2, y)", "x\n") == Held(False, "differs")
    assert verify("line(a.txt, 1, x)", "") == Held(False, "differs")
    assert verify("line(a.txt, 2, x)", "x\n", whole=False) == NOT_WHOLE


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "1e300", "0x10"])
def test_a_number_that_is_no_line_raises_nothing(number: str):
    """Line 0 neither has a quote nor lacks it; line 10^300 is beyond the end."""
    held = verify(f"line(a.txt, {number}, y)", "x\n")
    assert held == (Held(False, "differs") if number in ("1e300", "0x10") else Held(None, "incomparable"))


def test_a_line_outside_of_the_lines_looked_at_is_undecided():
    """The scope says nothing of it."""
    assert verify("line(a.txt, 3, c)", "a\nb\nc\n", (1, 2)) == NOT_FOUND
    assert verify("line(a.txt, 3, c)", "a\nb\nc\n", (2, 3)) == Held(True, lines=(3, 3))


# ---------------------------------------------------------------- order


def test_the_only_occurrence_of_one_stands_before_that_of_the_other():
    """The lines from the one to the other are told."""
    assert verify("order(connect, close)", "x\nconnect()\ny\nclose()\n") == Held(True, lines=(2, 4))
    assert verify("order(a, b)", "a b") == Held(True, lines=(1, 1))


def test_the_other_order_refutes_and_what_is_not_there_does_not():
    """Each stands there once, and both places show it; two that overlap have no order."""
    assert verify("order(b, a)", "a\nx\nb") == Held(False, "differs", (1, 3))
    assert verify("order(a, c)", "a b") == NOT_FOUND
    assert verify('order("a b", "b c")', "a b c") == NOT_FOUND
    assert verify("order(a, a)", "a") == NOT_FOUND


def test_several_occurrences_have_no_order():
    """Which one is meant cannot be told; a part of a longer word is none."""
    assert verify("order(a, b)", "a b a") == AMBIGUOUS
    assert verify("order(a, b)", "a b b") == AMBIGUOUS
    assert verify("order(a, b)", "a ab b") == Held(True, lines=(1, 1))
    assert verify("order(a, b)", "a b a", (1, 1)) == AMBIGUOUS
    assert verify("order(a, b)", "a\nb\na", (1, 2)) == Held(True, lines=(1, 2))


def test_an_order_needs_the_whole_scope():
    """Another occurrence may stand in what was not read."""
    assert verify("order(a, b)", "a b", whole=False) == NOT_WHOLE
    assert verify("order(a, b)", "a b", (1, 9)) == NOT_WHOLE


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("a", "a" * 2_000_000),
        ("a" * 2000, "a" * 2_000_000),
        ("." + "ab." * 600 + "a", ".ab" * 300_000),
        ("ab" * 900, "ab" * 1_000_000),
        ("1.1", "1." * 1_000_000),
        ("a", "ab " * 700_000),
        (" ".join("a" * 900), "aa " + "a " * 1_000_000),
        ("a", "a\u0302" * 500_000),
    ],
)
def test_text_made_to_match_everywhere_costs_no_more_than_a_bound(quote: str, text: str):
    """What would take the square of the length, hours, is given up, and comes to nothing."""
    held = verify_text(Check("contains", (quote,)), Source("a.txt", text))
    assert held.reason in (None, "not-found", "too-large")


def test_what_is_given_up_is_undecided_for_every_check():
    """A bound is never a verdict."""
    text = ".ab" * 300_000
    quote = "." + "ab." * 600 + "a"
    for name, arguments in (("contains", (quote,)), ("line", ("a", 1, quote)), ("order", (quote, "b"))):
        assert verify_text(Check(name, arguments), Source("a.txt", text)) == Held(None, "too-large")
    assert verify("absent(a)", "ab " * 300_000) == Held(None, "too-large")


# ---------------------------------------------------------------- laws

PIECES = st.sampled_from(
    ["a", "b", "1", "2", ".", "-", " ", "\n", "e", "%", ",", "é", "\u0301", "\u200b", "東", "(", "$"]
)
TEXTS = st.lists(PIECES, max_size=24).map("".join)


@given(TEXTS, TEXTS)
def test_a_quote_is_found_exactly_where_a_slow_search_finds_it(quote: str, text: str):
    """The oracle looks at every place."""
    quote, text = flat(quote), flat(text)
    places = [
        at
        for at in range(len(text) - len(quote) + 1)
        if quote and text.startswith(quote, at) and not cuts(text, at) and not cuts(text, at + len(quote))
    ]
    assert find_quote(quote, text, most=100) == places


@given(TEXTS, st.integers(1, 6), st.integers(0, 3))
def test_the_lines_reported_hold_the_quote(text: str, first: int, more: int):
    """Looked for in these lines alone, the quote is found again, in the same lines; in fewer it is not."""
    words = nfkc(text).split()
    quote = " ".join(words[first - 1 : first + more])
    held = verify_text(Check("contains", (quote,)), Source("a.txt", text)) if quote else NOT_FOUND
    if held.holds is None:
        return
    assert held.lines is not None
    assert verify_text(Check("contains", (quote,)), Source("a.txt", text, held.lines)) == held
    for fewer in ((held.lines[0] + 1, held.lines[1]), (held.lines[0], held.lines[1] - 1)):
        if fewer[0] <= fewer[1]:
            shorter = verify_text(Check("contains", (quote,)), Source("a.txt", text, fewer))
            assert shorter.lines != held.lines


@given(TEXTS)
def test_normalising_line_by_line_is_normalising_the_whole(text: str):
    """So the numbers of lines are right whatever stands at their starts."""
    assert nfkc(text) == "\n".join(map(nfkc, text.split("\n")))


@given(st.from_regex(r"[ab1.-]{1,4}", fullmatch=True), TEXTS)
def test_what_stands_there_is_not_absent(identifier: str, text: str):
    """`absent` and `contains` never both hold, and `absent` is only false where the identifier stands there."""
    absent = verify_text(Check("absent", (identifier,)), Source("a.txt", text))
    contains = verify_text(Check("contains", (identifier,)), Source("a.txt", text))
    if contains.holds:
        assert absent.holds is False
    if absent.holds:
        assert identifier not in nfkc(text)


@given(st.text(max_size=60), st.text(max_size=10), st.integers(-2, 9), st.none() | st.just((2, 3)))
def test_what_strangers_write_raises_nothing(text: str, quote: str, number: int, lines: tuple[int, int] | None):
    """Any text, quote and lines."""
    source = Source("a.txt", text, lines)
    for check in (
        Check("contains", (quote,)),
        Check("count", (quote or "x", "=", number)),
        Check("line", ("a.txt", number, quote)),
        Check("order", (quote, "b")),
    ):
        assert verify_text(check, source).holds in (True, False, None)
