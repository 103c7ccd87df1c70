"""Checks on text, and on facts that observers collect."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.unicode_text import nfkc
from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.facts import (
    CommitFacts,
    PeerFacts,
    SinceFacts,
    Standing,
    cuts,
    find_quote,
    flat,
    standing_of,
    verify_commit,
    verify_last_changed,
    verify_modified,
    verify_only_in,
    verify_peer,
    verify_since,
    verify_subscribers,
    verify_text,
    verify_tree,
)
from sluice.streams.judging.prose_literals import SECOND

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


HASH = "4f2a91c0" + "d" * 32
DIFFERS = Held(False, "differs")


def read(text: str) -> Check:
    """One check that is well formed."""
    check = parse_check(text)
    assert isinstance(check, Check), check
    return check


def ns(text: str) -> int:
    """Nanoseconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize(
    ("check", "tracked", "holds"),
    [("exists", True, True), ("exists", False, False), ("missing", True, False), ("missing", False, True)],
)
def test_a_path_is_in_the_tree_or_it_is_not(check: str, tracked: bool, holds: bool):
    """Both are exact, and each is the other's opposite."""
    held = verify_tree(read(f"{check}(a.txt)"), tracked)
    assert held == (Held(True) if holds else DIFFERS)


def test_a_path_that_may_not_be_looked_at_is_undecided():
    """Neither there nor missing: an untracked file is no evidence of either."""
    assert {verify_tree(read(f"{name}(a.txt)"), None) for name in ("exists", "missing")} == {
        Held(None, "other-substrate")
    }


# ---------------------------------------------------------------- commit

FACTS = CommitFacts(
    hash=HASH,
    author="Jane Q. Doe",
    email="jane@example.org",
    authored=(ns("2026-05-26T03:30:00"), -5 * 3600),
    committed=(ns("2026-06-01T12:00:00"), 0),
    message="Fix  the retry\tlimit (#12)\n\nIt was 41.\nCo-authored-by: Max Power <max@example.org>\n",
    changed=("codecs/records.py", "docs/index.md", "cafe\u0301.txt"),
)


def commit(check: str, facts: CommitFacts | None = FACTS) -> bool | None:
    """Whether a check on a commit holds; where it is decided, the commit is told."""
    held = verify_commit(read(check), facts)
    assert held.holds is None or held.commit == HASH
    assert held.lines is None
    return held.holds


def test_a_commit_is_named_by_seven_digits_or_more():
    """In any letter case; less, another hash, a name or none at all leaves everything undecided."""
    assert verify_commit(read("commit(4f2a91c)"), FACTS) == Held(True, commit=HASH)
    assert commit(f"commit({HASH})") is True
    assert commit("commit(4F2A91C0)") is True
    for other in ("4f2a91", "4f2a91d", "HEAD", "main", "2f2a91c", HASH + "0", "v1.2.3"):
        assert verify_commit(read(f"commit({other})"), FACTS) == Held(None, "not-found")
        assert verify_commit(read(f"changed(docs/index.md, {other})"), FACTS) == Held(None, "not-found")
    assert commit("commit(4f2a91c)", None) is None


@pytest.mark.parametrize(
    "author",
    [
        "Jane Q. Doe",
        "jane q. doe",
        "JANE@example.ORG",
        "<jane@example.org>",
        "Jane Q. Doe <jane@example.org>",
        "Jane  Q.\tDoe",
    ],
)
def test_an_author_is_reported_by_name_address_or_both(author: str):
    """Whole, in any letter case, white space aside."""
    assert verify_commit(Check("commit", (HASH,), (("author", author),)), FACTS).holds is True


@pytest.mark.parametrize(
    "author", ["Jane", "Doe", "Jane Doe", "jane", "example.org", "Dr. Jane Q. Doe PhD", "Max Power"]
)
def test_a_part_of_an_author_is_neither_the_author_nor_another(author: str):
    """«not authored by Jane Doe» must not be borne out by a middle initial, nor by a co-author's trailer."""
    assert verify_commit(Check("commit", (HASH,), (("author", author),)), FACTS).holds is None


def test_another_author_is_exactly_another():
    """And where git records none, nothing is told."""
    assert commit('commit(4f2a91c, author="Jack Doe")') is False
    assert commit('commit(4f2a91c, author="jack@example.org")') is False
    assert commit("commit(4f2a91c, author=x)", FACTS._replace(author="", email="")) is None


@pytest.mark.parametrize(
    ("date", "holds"),
    [
        ("2026-05-26", True),
        ("2026-05-25", True),
        ("2026-05", True),
        ("2026", True),
        ("May 25, 2026", True),
        ("2026-05-25T22:30", True),
        ("2026-05-26T03:30Z", True),
        ("2026-05-25T22:30:00-05:00", True),
        ("2026-05-25T22:30Z", False),
        ("2026-05-27", False),
        ("2025", False),
        ("2026-05-26T03:31", False),
        ("2026-05-26T03:30:00.5", None),
        ("2026-06-01", None),
        ("2026-06", None),
        ("yesterday", None),
        ("2026-02-30", None),
        ("before 2026-05-25", None),
    ],
)
def test_a_commit_is_dated_where_its_author_was_or_in_utc(date: str, holds: bool | None):
    """At the precision named; the committer's date alone is neither the commit's date nor another."""
    assert commit(f'commit(4f2a91c, date="{date}")') is holds


def test_a_commit_without_a_readable_date_has_none_to_compare():
    """An object may say anything in its date's place."""
    assert commit("commit(4f2a91c, date=2026)", FACTS._replace(authored=None)) is None
    assert commit("commit(4f2a91c, date=2027)", FACTS._replace(committed=None)) is False


def test_a_subject_is_the_whole_first_line():
    """White space aside; a part of it is ambiguous, another one is exactly another."""
    assert commit('commit(4f2a91c, subject="Fix the retry limit (#12)")') is True
    assert commit('commit(4f2a91c, subject="Fix the retry limit")') is None
    assert commit('commit(4f2a91c, subject="fix the retry limit (#12)")') is None
    assert commit('commit(4f2a91c, subject="Fix the retry limit (#12) now")') is None
    assert commit('commit(4f2a91c, subject="It was 41.")') is False
    folded = FACTS._replace(message="\n\nA long\nsubject\n\nbody")
    assert commit('commit(4f2a91c, subject="A long subject")', folded) is True
    assert commit('commit(4f2a91c, subject="A long")', folded) is True
    assert commit('commit(4f2a91c, subject="x")', FACTS._replace(message="")) is False


def test_all_that_a_check_says_of_a_commit_has_to_hold():
    """One that is false makes it false; one that is undecided leaves it undecided, in any order."""
    assert commit('commit(4f2a91c, author="Jane Q. Doe", date=2026-05)') is True
    assert commit("commit(4f2a91c, author=Jane, date=2025)") is False
    assert commit('commit(4f2a91c, author="Jane Q. Doe", date=2026-06, subject=x)') is False
    assert commit('commit(4f2a91c, author=Jane, date=2026, subject="Fix the retry limit (#12)")') is None


# ---------------------------------------------------------------- changed


def test_a_commit_changed_the_paths_that_it_changed():
    """The path is told; any other is exactly not among them."""
    assert verify_commit(read("changed(./codecs//records.py, 4f2a91c)"), FACTS) == Held(
        True, path="codecs/records.py", commit=HASH
    )
    assert commit("changed(README.md, 4f2a91c)") is False
    assert commit("changed(other/records.py, 4f2a91c)") is False


def test_a_path_that_may_mean_a_changed_one_is_undecided():
    """A directory, a file without its folder, another form of Unicode, a path that goes up."""
    assert commit("changed(records.py, 4f2a91c)") is None
    assert commit("changed(codecs, 4f2a91c)") is None
    assert commit('changed("café.txt", 4f2a91c)') is None
    assert commit("changed(docs/../docs/index.md, 4f2a91c)") is None
    assert commit("changed(/etc/passwd, 4f2a91c)") is None
    assert commit("changed(README.md, 4f2a91c)", FACTS._replace(changed=None)) is None


# ---------------------------------------------------------------- introduced, removed

NONE, ONE, TWO = Standing({}, True), Standing({"a": 1}, True), Standing({"a": 2}, True)
OTHER, CUT = Standing({"b": 1}, True), Standing({"a": 1}, False)


@pytest.mark.parametrize(
    ("before", "after", "introduced", "removed"),
    [
        (NONE, ONE, True, False),
        (ONE, NONE, False, True),
        (ONE, ONE, False, False),  # a line that moved, or another one that changed
        (ONE, TWO, None, False),
        (ONE, OTHER, False, False),  # it moved to another file
        (NONE, NONE, None, None),  # it may be written otherwise
        (NONE, CUT, True, None),
        (Standing({}, False), ONE, None, None),
        (CUT, NONE, None, True),
        (CUT, ONE, None, None),
        (None, ONE, None, None),
        (NONE, None, None, None),
    ],
)
def test_a_text_is_introduced_where_it_stood_nowhere_before(
    before: Standing | None, after: Standing | None, introduced: bool | None, removed: bool | None
):
    """And removed the other way round; what was not looked at refutes nothing."""
    facts = FACTS._replace(before=before, after=after)
    assert commit("introduced(x, 4f2a91c)", facts) is introduced
    assert commit("removed(x, 4f2a91c)", facts) is removed


def test_the_file_into_which_a_text_came_is_told_where_it_is_one():
    """Of several none is; a quote with an ellipsis may mean that sign, and is not refuted."""
    held = verify_commit(read("introduced(x, 4f2a91c)"), FACTS._replace(before=NONE, after=ONE))
    assert held == Held(True, path="a", commit=HASH)
    several = FACTS._replace(before=NONE, after=Standing({"a": 1, "b": 1}, True))
    assert verify_commit(read("introduced(x, 4f2a91c)"), several) == Held(True, commit=HASH)
    assert commit('introduced("x…", 4f2a91c)', FACTS._replace(before=ONE, after=ONE)) is None


@pytest.mark.parametrize(
    ("quote", "texts", "standing"),
    [
        ("x = 1", {"a": "x  =\n1; x = 1", "b": "x = 12"}, Standing({"a": 2}, False)),
        ("x", {"a": "x", "b": "y"}, Standing({"a": 1}, True)),
        ("x", {"a": "xy"}, Standing({}, False)),
        ("x…", {"a": "xy"}, Standing({"a": 1}, True)),
        ("x", {"a": "X"}, Standing({}, False)),
        ("x", {"a": "\\u0078"}, Standing({}, False)),
        ("x", {}, Standing({}, True)),
    ],
)
def test_a_text_that_may_stand_in_another_form_leaves_the_scope_not_whole(
    quote: str, texts: dict[str, str], standing: Standing
):
    """A part of a word, another letter case, an escape."""
    assert standing_of(quote, [Source(path, text) for path, text in texts.items()], whole=True) == standing


def test_a_file_that_was_cut_or_has_too_much_leaves_the_scope_not_whole():
    """A bound is no verdict."""
    assert standing_of("x", [Source("a", "y", whole=False)], whole=True) == Standing({}, False)
    assert standing_of("x", [], whole=False) == Standing({}, False)
    assert standing_of("a", [Source("a", "ab " * 300_000)], whole=True) == Standing({}, False)
    assert standing_of("x", [Source("a", "x " * 20_000)], whole=True) == Standing({"a": 10_000}, False)


# ---------------------------------------------------------------- a scope, and what changed in it


@pytest.mark.parametrize(
    ("paths", "files", "whole", "holds"),
    [
        ("[src]", {"src/a": True, "b": False}, True, True),
        ("[src]", {"src/a": True, "b": True}, False, False),
        ("[src]", {"src/a": True, "srcs": True}, True, False),
        ("[src]", {"src/a": True, "b": None}, True, None),
        ("[src]", {"src/a": True}, False, None),
        ("[src]", {"b": False}, True, None),
        ("[src, docs]", {"src/a": True}, True, None),
        ("[a.py]", {"src/a.py": True}, True, None),  # it may be the one that is meant
        ("[./src/]", {"src/a": True}, True, True),
        ("[../src]", {"src/a": True}, True, None),
    ],
)
def test_an_identifier_is_only_in_some_paths(
    paths: str, files: dict[str, bool | None], whole: bool, holds: bool | None
):
    """A file elsewhere that has it refutes; a scope that was not read whole proves nothing."""
    assert verify_only_in(read(f"only_in(x, {paths})"), files.items(), whole=whole).holds is holds


DEF, NO_DEF = Standing({"a": 2}, True, ("a:f",)), Standing({"a": 1}, True, ())
GONE = Standing({}, True, ())


@pytest.mark.parametrize(
    ("before", "after", "added", "deleted"),
    [
        (GONE, DEF, True, False),
        (DEF, GONE, False, True),
        (DEF, DEF, False, False),
        (DEF, NO_DEF, False, True),  # the name stays in a comment
        (NO_DEF, DEF, True, False),
        (DEF, Standing({"b": 1}, True, ("b:f",)), None, None),  # it moved
        (DEF, Standing({"a": 3}, True, ("a:f", "a:C.f")), None, False),
        (NONE, ONE, True, False),
        (ONE, ONE, None, None),  # without definitions a name that stays says nothing
        (ONE, NONE, False, True),
        (NONE, NONE, None, None),
        (Standing({}, True, ("f.py",)), GONE, False, True),  # a file
        (DEF, Standing({}, False), None, None),
        (DEF, None, None, None),
    ],
)
def test_what_is_there_now_and_was_nowhere_before_was_added(
    before: Standing, after: Standing | None, added: bool | None, deleted: bool | None
):
    """And deleted the other way round; a rename is both."""
    there = {} if after is None else {"f": after}
    facts = SinceFacts(True, {"f": before, "g": GONE}, there | {"g": DEF}, untracked=frozenset())
    assert verify_since(read("added(f, since=4f2a91c)"), facts).holds is added
    assert verify_since(read("deleted(f, since=4f2a91c)"), facts).holds is deleted
    assert verify_since(read("renamed(f, g, since=4f2a91c)"), facts).holds is deleted
    untracked = facts._replace(untracked=frozenset(["new"]))
    assert verify_since(read("deleted(f)"), untracked).holds is (None if deleted else deleted)
    assert verify_since(read("deleted(f, path=a)"), untracked).holds is deleted


def test_nothing_follows_from_a_commit_that_is_no_ancestor():
    """Nor from one that is not there."""
    facts = SinceFacts(None, {"f": GONE}, {"f": DEF}, frozenset(["a"]), frozenset(), True)
    for check in ("added(f)", "deleted(f)", "renamed(f, f)", "touched([a])", "unchanged(a)"):
        assert verify_since(read(check), facts) == Held(None, "incomparable")
        assert verify_since(read(check), facts._replace(is_ancestor=False)).holds is None
        assert verify_since(read(check), None) == Held(None, "not-found")


@pytest.mark.parametrize(
    ("check", "changed", "untracked", "holds"),
    [
        ("touched([a, src])", {"a", "src/b"}, set(), True),
        ("touched([a])", {"a", "b"}, {"new"}, False),
        ("touched([a, b])", {"a"}, set(), False),
        ("touched([a])", {"a"}, {"new"}, None),
        ("touched([a])", {"a"}, None, None),
        ("touched([a])", None, set(), None),
        ("touched([a.py])", {"src/a.py"}, set(), None),
        ("touched([../a])", {"a"}, set(), None),
        ("unchanged(a)", {"b"}, {"new"}, True),
        ("unchanged(src)", {"src/b"}, set(), False),
        ("unchanged(src)", {"b"}, {"src/new"}, None),
        ("unchanged(a)", {"b"}, None, None),
        ("unchanged(a)", None, set(), None),
        ("unchanged(/a)", set(), set(), None),
    ],
)
def test_the_paths_that_changed_are_told_whole_or_refute(
    check: str, changed: set[str] | None, untracked: set[str] | None, holds: bool | None
):
    """Files that are neither tracked nor ignored may have been touched too."""
    facts = SinceFacts(
        True,
        changed=None if changed is None else frozenset(changed),
        untracked=None if untracked is None else frozenset(untracked),
        there=True,
    )
    assert verify_since(read(check), facts).holds is holds


def test_a_path_that_is_not_there_is_not_unchanged():
    """It may be another one's name."""
    facts = SinceFacts(True, changed=frozenset(), untracked=frozenset(), there=False)
    assert verify_since(read("unchanged(a)"), facts) == Held(None, "path-missing")
    assert verify_since(read("unchanged(a)"), facts._replace(there=None)) == Held(None, "not-whole")


# ---------------------------------------------------------------- times of files


@pytest.mark.parametrize(
    ("op", "time", "holds"),
    [
        ("=", "2026-05-26", True),
        ("=", "2026-05", True),
        ("=", "2026-05-25", False),
        ("!=", "2026-05-25", True),
        ("<", "2026-05-27", True),
        ("<", "2026-05-26", False),
        ("<=", "2026-05-26", True),
        (">", "2026-05-26", False),
        (">=", "2026-05-26", True),
        (">", "2026-05-25", True),
        ("<", "2027", True),
        (">=", "2027", False),
        ("<", "tomorrow", None),
        ("<", "9999-12", None),
    ],
)
def test_the_time_of_a_file_is_held_against_the_stretch_that_is_named(op: str, time: str, holds: bool | None):
    """Before is before all of it, after is after all of it; what names no time decides nothing."""
    at = ns("2026-05-26T12:00:00")
    modified = verify_modified(read(f"modified(a, {op}, {time})"), at)
    changed = verify_last_changed(read(f"last_changed(a, {op}, {time})"), at, HASH)
    assert modified.holds is holds
    assert changed == modified._replace(commit=HASH)
    assert modified.reason == {True: None, False: "differs", None: "incomparable"}[holds]


def test_a_file_whose_time_is_not_known_is_undecided():
    """No commit touched it, or nobody could look."""
    assert verify_modified(read("modified(a, <, 2026)"), None) == Held(None, "not-found")
    assert verify_last_changed(read("last_changed(a, <, 2026)"), None, None) == Held(None, "not-found")


def test_a_modification_time_is_an_instant_and_a_commit_has_a_second():
    """Nanoseconds are compared where the file system tells them; git tells no part of a second."""
    at = ns("2026-05-26T12:00:00") + 500_000_000
    assert verify_modified(read("modified(a, =, 2026-05-26T12:00:00.5)"), at).holds is True
    assert verify_modified(read("modified(a, =, 2026-05-26T12:00:00.4)"), at).holds is False
    whole = ns("2026-05-26T12:00:00")
    assert verify_last_changed(read("last_changed(a, =, 2026-05-26T12:00:00.0)"), whole, HASH).holds is None


def test_the_day_of_a_commit_may_be_the_day_where_it_was_made():
    """An order that depends on the zone is undecided."""
    late = ns("2026-05-26T03:30:00")
    for day in ("2026-05-25", "2026-05-26"):
        assert verify_last_changed(read(f"last_changed(a, =, {day})"), late, HASH, -5 * 3600).holds is True
    assert verify_last_changed(read("last_changed(a, >, 2026-05-25)"), late, HASH, -5 * 3600).holds is None
    assert verify_last_changed(read("last_changed(a, >, 2026-05-24)"), late, HASH, -5 * 3600).holds is True


# ---------------------------------------------------------------- peers

PEER = PeerFacts(pid=4242, uid=998, gid=997)


def peer(named: str, facts: PeerFacts | None = PEER) -> Held:
    """What a check on a peer comes to; the host knows two users."""
    return verify_peer(read(f"peer({named})"), facts, {"kafka": 998, "root": 0}.get)


def test_a_peer_is_what_the_kernel_says():
    """All that the check names has to hold, and one that differs is exactly false."""
    assert peer("uid=998") == Held(True)
    assert peer("uid=998, gid=997, pid=4242, user=kafka") == Held(True)
    for wrong in ("uid=0", "gid=998", "pid=1", "user=root", "uid=998, pid=1", "uid=998.5", "uid=-1"):
        assert peer(wrong) == DIFFERS


def test_who_is_not_known_is_nobody():
    """A user whom this host does not know may have that uid elsewhere; no peer at all decides nothing."""
    assert peer("user=postgres") == Held(None, "not-found")
    assert peer("user=998") == Held(None, "not-found")
    assert peer("uid=0, user=postgres") == DIFFERS
    assert peer("uid=998", None) == Held(None, "not-found")


def test_what_a_namespace_hides_is_undecided():
    """A pid of 0, and the uid that stands for all that have none here."""
    assert peer("pid=4242", PEER._replace(pid=0)) == Held(None, "not-whole")
    assert peer("pid=0", PEER._replace(pid=0)) == Held(None, "not-whole")
    for field in ("uid", "gid"):
        for hidden in (65534, -1, 2**32 - 1):
            assert peer(f"{field}=998", PEER._replace(**{field: hidden})) == Held(None, "not-whole")
    assert peer("user=root", PEER._replace(uid=65534)) == Held(None, "not-whole")
    assert peer("uid=4294967294", PEER._replace(uid=-2)) == Held(True)


@given(
    st.builds(PeerFacts, st.integers(-1, 70_000), st.integers(-2, 70_000), st.integers(-2, 70_000)),
    st.integers(-2, 70_000),
    st.sampled_from(["uid", "gid", "pid"]),
)
def test_what_is_said_of_a_peer_never_holds_what_it_is(facts: PeerFacts, named: int, field: str):
    """Its values are secrets: a verdict has no lines, no path, no commit."""
    held = peer(f"{field}={named}", facts)
    assert held == Held(held.holds, held.reason)
    assert held.reason in (None, "differs", "not-whole")


# ---------------------------------------------------------------- subscribers


def test_the_subscribers_of_a_channel_are_counted():
    """By the one check that speaks of them; a wrong number is exactly false."""
    assert verify_subscribers(read("count(subscribers, =, 5)"), 5) == Held(True)
    assert verify_subscribers(read("count(subscribers, >, 5)"), 5) == DIFFERS
    assert verify_subscribers(read("count(subscribers, <, 5.5)"), 5) == Held(True)
    assert verify_subscribers(read("count(subscribers, =, 5)"), None) == Held(None, "not-found")


@pytest.mark.parametrize(
    "check",
    [
        "count(errors, =, 5)",
        "count(subscribers, =, 5, path=a.py)",
        "count(subscribers, =, 5, in=f)",
        "contains(subscribers)",
    ],
)
def test_any_other_check_is_not_for_a_channel_to_decide(check: str):
    """A file that is named is another place."""
    assert verify_subscribers(read(check), 5) == Held(None, "other-substrate")


# ---------------------------------------------------------------- laws

COUNTS = st.builds(Standing, st.dictionaries(st.sampled_from("ab"), st.integers(1, 2)), st.booleans())
DEFINED = st.builds(
    Standing,
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 2)),
    st.booleans(),
    st.none() | st.lists(st.sampled_from(["a:f", "b:f"]), max_size=2).map(tuple),
)


@given(DEFINED, DEFINED)
def test_adding_is_deleting_turned_round_and_never_both(before: Standing, after: Standing):
    """One time cannot be both before and after the other."""
    facts = SinceFacts(True, {"f": before}, {"f": after}, untracked=frozenset())
    mirror = facts._replace(before=facts.after, after=facts.before)
    added, deleted = (verify_since(read(f"{name}(f)"), facts).holds for name in ("added", "deleted"))
    assert not (added and deleted)
    assert deleted is verify_since(read("added(f)"), mirror).holds


@given(COUNTS, COUNTS)
def test_what_is_introduced_is_not_removed(before: Standing, after: Standing):
    """And only what was searched whole before is introduced."""
    facts = FACTS._replace(before=before, after=after)
    if commit("introduced(x, 4f2a91c)", facts):
        assert before.whole
        assert not before.counts
        assert not commit("removed(x, 4f2a91c)", facts)
