"""Values: when two are the same, and how they compare."""

from __future__ import annotations

import ast
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.unicode_text import nfkc
from sluice.streams.judging.checks import Check, Operator, Source, Value, number_of, parse_check
from sluice.streams.judging.index import value_of
from sluice.streams.judging.languages import languages_of
from sluice.streams.judging.values import (
    ESCAPES,
    RELATIONS,
    LiteralValue,
    Text,
    compare,
    compare_times,
    decode,
    read_named_time,
    read_time,
    same,
    same_text,
    value_of_text,
)
from sluice.streams.judging.verify import parse_code

OPERATORS: tuple[Operator, ...] = get_args(Operator)


def declared(written: str) -> Value:
    """The value of a check as someone writes it."""
    check = parse_check(f"equals(NAME, {written})")
    assert isinstance(check, Check)
    return check.value("value")


@pytest.mark.parametrize("written", ["1000", "1_000", "0x3e8", "1e3", "1000.0", "1000.00", "0b1111101000", "0o1750"])
def test_a_number_is_the_same_however_it_is_written(written: str):
    """Declared in any notation, 1000 is what the file says, as a whole number or as a decimal."""
    assert same(declared(written), 1000) is True
    assert same(declared(written), Decimal("1000.000")) is True
    assert same(declared(written), 1001) is False
    assert same(declared(written), Decimal("1000.0001")) is False


def test_numbers_are_held_against_each_other_exactly():
    """No digit of a whole number is rounded away, however many there are."""
    assert same(2**64 + 1, 2**64) is False
    assert same(10**300, Decimal("1e300")) is True
    assert same(10**300 + 1, Decimal("1e300")) is False
    assert same(Decimal("0.123456789012345"), Decimal("0.123456789012346")) is False
    assert compare(">", 10**300, 10**300 + 1) is True


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ("0.1", "0.1000000000000000055511151231257827", None),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827", None),
        ("1", "1.0000000000000001", None),
        ("0.9999999999999999", "1", None),
        ("0.1", "0.1000000000000155511151231257827", False),
        ("3.14159265358979323846", "3.14", False),
        ("1e-300", "1.0000000000000000000000000000000000001e-300", None),
        ("1000000000000000000.000", "1000000000000000000", True),
        ("-0.0", "0", True),
        ("0", "-0.0", None),
        ("1", "-0.0", False),
    ],
)
def test_fractions_beyond_fifteen_digits_are_told_apart_only_where_floats_are(one: str, other: str, holds: bool | None):
    """And a zero with a sign is not told from one without."""
    assert same(Decimal(one), Decimal(other)) is holds
    if holds is None and "-" not in other:
        assert {compare(op, Decimal(one), Decimal(other)) for op in OPERATORS} == {None}


@pytest.mark.parametrize(
    ("written", "found", "holds"),
    [
        ("True", True, True),
        ("None", None, True),
        ("nil", None, True),
        ("False", True, False),
        ('"None"', None, False),
        ('"True"', True, False),
        ("yes", True, None),
        ("off", False, None),
        ("TRUE", True, None),
        ("off", True, False),
        ("NULL", None, None),
        ("undefined", None, None),
    ],
)
def test_a_constant_is_what_its_language_writes(written: str, found: Value, holds: bool | None):
    """In quotes it is a text; other words for it are neither."""
    assert same(declared(written), found) is holds


@pytest.mark.parametrize("found", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity")])
def test_what_is_no_finite_number_is_neither_the_same_nor_another(found: Decimal):
    """YAML's `.nan` and `.inf` come to nothing, and raise nothing."""
    assert {compare(op, 5, found) for op in OPERATORS} == {None}


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), (False, 0), (1, True), (0, False), (None, False), (None, 0), (False, None), (True, False)],
)
def test_booleans_and_null_are_only_themselves(one: Value, other: Value):
    """A boolean is no number, and null is neither."""
    assert same(one, one) is True
    assert same(one, other) is False
    assert compare("!=", one, other) is True


def test_a_text_that_was_declared_in_quotes_is_no_number():
    """`"30"` is exactly not the number 30, nor `"true"` the boolean."""
    assert same(declared('"30"'), 30) is False
    assert same(declared('"true"'), True) is False
    assert same(declared('"null"'), None) is False


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("30", "30"),
        ("1.2", "1.2"),
        ("1.2", "v1.2"),
        ("1_000", "1000"),
        ("30", "030"),
        ("30", "30s"),
        ("true", "true"),
        ("true", "True"),
        ("true", "yes"),
        ("false", "off"),
        ("null", "null"),
        ("null", ""),
    ],
)
def test_a_word_and_a_quoted_text_that_reads_like_it_are_neither(written: str, found: str):
    """Prose has no quotes: «version is not 1.2» must not be borne out by `"1.2"`, nor «it is 1.2» refuted by it."""
    assert same(declared(written), found) is None
    assert compare("!=", declared(written), found) is None


@pytest.mark.parametrize(("written", "found"), [("30", "45"), ("30", "fast"), ("true", "no"), ("null", "x"), ("1", "")])
def test_a_word_and_a_quoted_text_that_reads_otherwise_are_different(written: str, found: str):
    """No reading makes them the same."""
    assert same(declared(written), found) is False


def test_texts_are_the_same_character_for_character_in_nfkc():
    """Letter case and white space count; the forms of one character do not."""
    assert same("ﬁle", "file") is True
    assert same("café", "cafe\u0301") is True
    assert same("Foo", "foo") is False
    assert same("a b", "a  b") is False
    assert same("", "") is True


def test_texts_that_differ_by_white_space_around_them_are_neither():
    """A YAML block ends with a line feed that nobody names."""
    assert same("abc", "abc\n") is None
    assert same("a ", "a") is None
    assert same("", " ") is None


def test_lists_are_compared_item_by_item_in_order():
    """One item that differs makes them different; one that cannot be told leaves them undecided."""
    assert same(declared("[1, [true, null], x]"), (1, (True, None), "x")) is True
    assert same((1, 2), (2, 1)) is False
    assert same((1, 2), (1, 2, 3)) is False
    assert same((), ()) is True
    assert same((1, 2), 1) is False
    assert same("1", ("1",)) is None  # the text of a pattern may be written like a list
    assert same((30, 2), ("30", 2)) is None
    assert same((30, 2), ("30", 3)) is False
    assert compare("<", (1, 2), (1, 1)) is None


# ---------------------------------------------------------------- quantities


@pytest.mark.parametrize(
    ("one", "other"),
    [("30s", "30 s"), ("30s", "30.0s"), ("1_000 ms", "1000ms"), ("5%", "5 %"), ("10MiB", "10 MiB"), ("5 µs", "5 μs")],
)
def test_a_quantity_is_the_same_with_the_same_number_and_unit(one: str, other: str):
    """White space between number and unit, and the way to write the number, do not count."""
    assert same(one, other) is True
    assert same(other, one) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [("30s", "31s"), ("30s", "30ms"), ("30s", "30 MiB"), ("10MiB", "10KiB"), ("1 min", "61 s"), ("5%", "6%")],
)
def test_quantities_of_another_amount_are_different(one: str, other: str):
    """Also where the units differ, if both units mean one amount everywhere."""
    assert same(one, other) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [("30s", "30000ms"), ("30s", "30 seconds"), ("1 min", "60s"), ("1m", "60s"), ("10MB", "10MiB"), ("5Mi", "5MiB")],
)
def test_quantities_of_units_that_may_mean_one_amount_are_neither(one: str, other: str):
    """They are not the same, and a denial must not be borne out by them either."""
    assert same(one, other) is None
    assert same(other, one) is None


def test_a_quantity_and_a_number_without_a_unit_are_neither():
    """`timeout = 30` may be 30 s: it bears out neither «it is 30s» nor «it is not 30s»."""
    for found in (30, "30", Text("30"), 45, Decimal("0.05")):
        assert same("30s", found) is None
    for text in ("30s", Text("30s"), "30 s"):
        assert same(30, text) is None
        assert same("30", text) is None
    assert same("30s", "soon") is False
    assert same("30s", True) is False


def test_the_unit_is_reported_by_its_letter_case():
    """`10Mb` and `10MB` are two units; whether they differ in amount is not ours to say."""
    assert same("10Mb", "10MB") is not True
    assert compare("<", "10Mb", "1MB") is None


@pytest.mark.parametrize("text", ["1e5f", "100000f0", "007s", "s30", "30 s s", "1.2.3s", "30s/", "٣٠s", "30\ns"])
def test_what_is_no_quantity_is_compared_as_text(text: str):
    """A hash with an exponent in it, a leading zero or digits of another script make no quantity."""
    assert same(text, text) is True
    assert same("100000f", text) is not True
    assert same("7s", text) is not True
    assert compare("<", "99s", text) is None


# ---------------------------------------------------------------- order


@pytest.mark.parametrize(
    ("op", "limit", "found", "holds"),
    [
        (">=", 10, 10, True),
        (">=", 10, 9, False),
        ("<", 10, Decimal("9.5"), True),
        (">", 10, 10, False),
        ("<", "1MiB", "512 MiB", False),
        (">", "1.5s", "1.50 s", False),
        (">=", "1.5s", "1.50 s", True),
        ("<", "1.10.0", "1.2.3", True),
        (">=", "v2", "v1.9", False),
        (">", "2026.05.01", "2026.10.01", True),
    ],
)
def test_numbers_quantities_and_versions_have_an_order(op: Operator, limit: Value, found: Value, holds: bool):
    """`compare(NAME, op, limit)` says how the found value stands to the limit, in this direction."""
    assert compare(op, limit, found) is holds


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        (10, "9"),
        ("10", 9),
        ("b", "a"),
        ("10", "9"),
        ("1.10", "1.9"),
        (10, True),
        (True, False),
        (None, None),
        ("30s", 29),
        ("30s", "29ms"),
        ("1.2.3", "1.2.4-rc1"),
        ("v1.2", "1.2.0"),
        ("1.2.3", "1.2.3.0"),
        (1, (0,)),
        ("2026-05-25", 0),
    ],
)
def test_what_has_no_order_is_undecided(limit: Value, found: Value):
    """Texts, booleans, values of two kinds: neither more nor less, and no exception."""
    assert {compare(op, limit, found) for op in ("<", "<=", ">", ">=")} == {None}


@pytest.mark.parametrize(
    ("one", "other"), [("v1.2.3", "1.2.3"), ("V2", "2"), ("1.2.0.0", "1.2.0"), ("2", "v2"), ("v1.0", "v1")]
)
def test_versions_that_differ_in_spelling_alone_are_neither(one: str, other: str):
    """«not v1.2.3» is not borne out by 1.2.3."""
    assert same(one, other) is None
    assert compare("!=", one, other) is None


def test_a_version_of_many_digits_is_read_or_left():
    """Digits without end are compared as text: no conversion is long."""
    long = "1." * 5000 + "1"
    assert same(long, long) is True
    assert compare("<", "1.2.3", long) is None
    assert compare("<", "1.2.3", "1.2." + "9" * 100_000) is None


# ---------------------------------------------------------------- dates and times


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("2026-05", "2026-05-25"),
        ("2026-05", "2026-05-31T23:59:59Z"),
        ("2026-05-25", "2026-05-25T10:00:00.5"),
        ("2026-05-25", "May 25, 2026"),
        ("25 May 2026", "2026-05-25 10:00"),
        ("2026-05-25T10:00Z", "2026-05-25T12:00:30+02:00"),
        ("2026-05-25", "2026-05-25T23:30:00-05:00"),
        ("2026-05-26", "2026-05-25T23:30:00-05:00"),
        ("2026-05-25T10:00", "2026-05-25T10:00Z"),
    ],
)
def test_a_date_is_the_same_within_the_stretch_that_is_named(named: str, found: str):
    """At the precision declared; a time with a zone is on the day that it was there, or in UTC."""
    assert same(named, found) is True
    assert compare("<=", named, found) is not False
    assert compare("<", named, found) is not True


@pytest.mark.parametrize(
    ("named", "found"),
    [("2026-05", "2026-06-01"), ("2026-05-25", "2026-05-26"), ("2026-05-25", "25 June 2026"), ("2026-05-25", "soon")],
)
def test_another_date_is_exactly_another(named: str, found: str):
    """It lies wholly outside the stretch that is named."""
    assert same(named, found) is False


def test_a_date_found_more_coarsely_than_declared_is_undecided():
    """A file that says May says nothing about the 25th."""
    assert {compare(op, "2026-05-25", "2026-05") for op in OPERATORS} == {None}
    assert compare("<", "2026-05-25", "2026-04") is True


def test_dates_have_the_order_of_their_stretches():
    """Before is before the whole of it, and a day within the month is neither before nor after the month."""
    answers = {
        "2026-04-30": [False, True, True, True, False, False],
        "2026-05-15": [True, False, False, True, False, True],
        "2026-06-01": [False, True, False, False, True, True],
    }
    for found, expected in answers.items():
        assert [compare(op, "2026-05", found) for op in OPERATORS] == expected


def test_an_order_that_depends_on_the_zone_is_undecided():
    """Half past eleven at night in New York is the next day in UTC."""
    assert compare(">", "2026-05-25", "2026-05-25T23:30:00-05:00") is None
    assert compare("<", "2026-05-26", "2026-05-25T23:30:00-05:00") is None
    assert compare("<", "2026-05-26T00:00Z", "2026-05-25T23:30:00-05:00") is False
    assert compare("<", "2026-05-28", "2026-05-25T23:30:00-05:00") is True


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "2026-13",
        "2026-05-25T24:00",
        "2026-05-25T10:75",
        "2026-05-25T10:00+99:99",
        "9999-12",
        "9999-12-31",
        "0000-01-01",
        "before 2026-05-25",
        "2020-01-01 or 2026-05-25",
        "2026-05-25 (draft)",
        "2026 rows",
        "8080",
        "٢٠٢٦-٠٥",
        "2026-05-25T10:00Z\n",
        "x" * 100_000 + "2026-05-25",
    ],
)
def test_what_no_calendar_has_or_says_more_than_a_time_is_no_time(text: str):
    """A stranger's text is a time only where it is nothing else, and it raises nothing."""
    if text != "9999-12-31":
        assert read_time(text) is None
    assert same(text, "2026-05-25T10:00:00Z") is False


def test_a_year_is_a_time_only_where_a_time_has_to_stand():
    """`equals(port, "8080")` is about no year; `last_changed(a, <, 2026)` is."""
    year = read_named_time("2026")
    assert year is not None
    assert read_time("2026") is None
    assert same("2026", "2026-05-25") is False
    assert compare_times("=", year, [year]) is True


def test_a_date_and_a_number_are_neither():
    """A file may say a date in seconds since 1970."""
    assert same("2026-05-25", 1779667200) is None


# ---------------------------------------------------------------- text without quotes


@pytest.mark.parametrize(
    ("written", "text", "expected"),
    [
        ("30", "30", True),
        ("30", " 30.0 ", True),
        ("30", "0x1e", True),
        ('"30"', "30", True),
        ('"30"', "30.0", None),
        ("30", "31", False),
        ("30", "thirty", False),
        ("30", "030", None),
        ("30", "+30", None),
        ("1000", "1,000", None),
        ("30", "30s", None),
        ("30s", "30 s", True),
        ("true", "true", True),
        ("true", "True", True),
        ("true", "yes", None),
        ("true", "1", None),
        ("true", "no", False),
        ("true", "maybe", False),
        ("false", "", None),
        ("1", "true", False),
        ("null", "null", True),
        ("null", "None", None),
        ("null", "x", False),
        ("abc", "abc", True),
        ("abc", "Abc", False),
        ("abc", '"abc"', None),
        ("abc", '"abd"', False),
        ('"\\"abc\\""', '"abc"', True),
        ("30", "'30'", None),
        ("30", "30 # seconds", None),
        ("30", "31 ; seconds", False),
        ("abc", '"abc" // why', None),
        ("abc", "abc#1", False),
        ("[a]", "a", None),
        ("2026-05", "2026-05-25", True),
    ],
)
def test_text_without_quotes_compares_as_text_or_as_a_number(written: str, text: str, expected: bool | None):
    """What not every reader of such files reads alike is left undecided, in both directions."""
    assert same_text(declared(written), text) is expected
    assert same(declared(written), value_of_text(text)) is expected


def test_text_without_quotes_has_the_order_of_the_number_that_it_is():
    """An INI file has no other way to write a number."""
    assert compare(">", 10, value_of_text("30")) is True
    assert compare(">", 10, value_of_text("30s")) is None
    assert compare(">", "10s", value_of_text("30s")) is True
    assert compare(">", "10", value_of_text("30")) is None
    assert compare(">", True, value_of_text("30")) is None


def test_quotes_inside_quotes_are_read_once():
    """Ten thousand quotes take one step, not ten thousand."""
    assert same_text("a", '"' * 20_000) is False


# ---------------------------------------------------------------- laws

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.decimals(-(10**11), 10**11, places=3)  # at most 15 digits
    | st.text(max_size=12)
    | st.sampled_from(["30s", "30 s", "1.2.3", "v1", "2026-05", "2026-05-25", "true", "null", "30", "1_0", "5%"])
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@given(VALUES)
def test_a_value_is_the_same_as_itself(value: Value):
    """Whatever it is, also as text of another form of the same characters."""
    assert same(value, value) is True
    if isinstance(value, str):
        assert same(value, nfkc(value)) is True
        assert same(nfkc(value), value) is True


@given(VALUES, VALUES | SCALARS.filter(lambda one: isinstance(one, str)).map(str).map(value_of_text))
def test_equal_and_unequal_are_opposites_and_an_order_never_contradicts_them(one: Value, other: Value):
    """`=`, `!=`, `<`, `>` and their kin say one thing, or nothing; nothing raises."""
    equal, unequal, less, at_most, more, at_least = (compare(op, one, other) for op in OPERATORS)
    assert unequal is (None if equal is None else not equal)
    if less is not None:
        assert at_least is (not less)
    if less or more:
        assert equal is not True
    assert not (less and more)
    if at_most and at_least:
        assert equal is not False


@given(st.integers(), st.integers())
def test_whole_numbers_have_the_order_that_they_have(limit: int, found: int):
    """The oracle is Python's own."""
    sign = (found > limit) - (found < limit)
    assert all(compare(op, limit, found) is RELATIONS[op](sign) for op in OPERATORS)


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_strangers_write_raises_nothing(one: str, other: str):
    """Any text against any other, as text, as a time, without quotes."""
    assert same(one, other) in (True, False, None)
    assert same_text(one, other) in (True, False, None)
    read_named_time(one)


@given(st.from_regex(r"-?[0-9_.,eExXa-fs ]{1,12}", fullmatch=True), st.integers(0, 400))
def test_a_number_is_never_exactly_another_than_its_own_text(text: str, number: int):
    """Where the two read alike, a text is not taken for a value that differs."""
    if number_of(text) == number:
        assert same(number, text) is None
        assert same_text(number, text) is True


FRAMES = {
    "py": "X = {}\n",
    "go": "package a\n\nvar X = {}\n",
    "js": "const X = {};\n",
    "ts": "const X = {};\n",
    "java": "class A {{ static final Object X = {}; }}\n",
    "rs": "const X: {1} = {0};\n",
    "c": "#define X {}\n",
    "cc": "const auto X = {};\n",
    "cs": "class A {{ static readonly object X = {}; }}\n",
    "rb": "X = {}\n",
    "sh": "X={}\n",
}


def worth(written: str, ending: str, declared: str = "i64") -> LiteralValue | None:
    """The value of an expression in a language; None where it is computed."""
    if not languages_of(f"a.{ending}")[0].queries:
        pytest.skip("this language has no queries yet")
    index = parse_code(Source(f"a.{ending}", FRAMES[ending].format(written, declared)))
    assert index is not None
    assert (index.problem, index.errors) == (None, ()), written
    (one,) = index.by_name["X"]
    return LiteralValue(value_of(one.literal)) if one.literal else None


@pytest.mark.parametrize(
    ("escapes", "text", "meant"),
    [
        ("PYTHON", r"a\tb\x41\u00e9\U0001F600\101\q\\", "a\tbA\u00e9\U0001f600A\\q\\"),
        ("PYTHON", "a\\\nb", "ab"),
        ("PYTHON", r"\x4", None),
        ("SCRIPT", r"\u{1F600}\ud83d\ude00\x41\q\0", "\U0001f600\U0001f600Aq\0"),
        ("SCRIPT", r"\ud83d", None),
        ("GO", r"\x41\u00e9\a", "A\u00e9\a"),
        ("GO", r"\xff", None),
        ("GO", r"\q", None),
        ("JAVA", r"\u00e9\101\s", "\u00e9A "),
        ("RUST", r"\u{e9}\x41", "\u00e9A"),
        ("RUST", "a\\\n    b", "ab"),
        ("RUST", r"\xff", None),
        ("C", r"\x41\101\?", "AA?"),
        ("C", r"\xff", None),
        ("SHARP", r"\x41\u00e9\0", "A\u00e9\0"),
        ("RUBY", r"\e\u{e9}\q\#", "\x1b\u00e9q#"),
        ("QUOTED_ONCE", r"\n\'\\", "\\n'\\"),
        ("SHELL", r"\n\$\"", '\\n$"'),
        ("PYTHON", "a\\", None),
        ("PYTHON", r"\N{DASH}", None),
        ("PYTHON", r"\\N", "\\N"),
        ("GO", "", ""),
    ],
)
def test_escapes_mean_what_their_language_says(escapes: str, text: str, meant: str | None) -> None:
    """Each language decodes its own; what it would not understand, or means bytes, is not decoded."""
    assert decode(text, ESCAPES[escapes]) == meant


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), max_codepoint=0x2FF), max_size=20))
def test_python_strings_are_read_back(text: str) -> None:
    """What `repr` writes is read as the text again, in NFKC; the interpreter judges."""
    from sluice.codecs.unicode_text import nfkc

    found = worth(repr(text), "py")
    assert found is not None
    assert found.value == nfkc(text)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.recursive(
        st.integers(0, 10_000).map(str),
        lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "<<", "**"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        max_leaves=5,
    )
)
def test_python_arithmetic_is_that_of_the_interpreter(written: str) -> None:
    """Where arithmetic gives a value, it is the interpreter's."""
    found = worth(written, "py")
    if found is not None:
        tree = ast.parse(written, mode="eval")
        assert not any(isinstance(node, (ast.Call, ast.Name)) for node in ast.walk(tree))
        assert found.value == eval(compile(tree, "", "eval"), {"__builtins__": {}})


@pytest.mark.parametrize(
    ("ending", "written", "value"),
    [
        ("py", "1_000", 1000),
        ("py", "0x3E8", 1000),
        ("py", "0o17", 15),
        ("py", "0b101", 5),
        ("py", "00", 0),
        ("py", "1e3", 1000),
        ("py", "2 ** 10", 1024),
        ("py", "'a' 'b'", "ab"),
        ("py", "('a'\n     'b')", "ab"),
        ("py", "'a' + 'b'", "ab"),
        ("py", "rb'x'", None),
        ("py", "f'{a}'", None),
        ("py", "f'plain'", "plain"),
        ("py", "'''a\nb'''", "a\nb"),
        ("py", "[1, [2, 'x'], None]", (1, (2, "x"), None)),
        ("py", "()", ()),
        ("py", "7 / 2", None),
        ("py", "7 // 2", None),
        ("py", "8 / 2", 4),
        ("py", "1 if a else 2", None),
        ("py", "9 ** 999", None),
        ("go", "0755", 493),
        ("go", "0o755", 493),
        ("go", "1_000", 1000),
        ("go", "0x1p-2", None),
        ("go", "1 << 40", None),
        ("go", "`a\\b`", "a\\b"),
        ("go", "'a'", None),
        ("js", "017", 15),
        ("js", "10n", 10),
        ("js", "1 << 30", 1073741824),
        ("js", "1 << 31", None),
        ("js", "`a\\n`", "a\n"),
        ("js", "`${a}`", None),
        ("js", "+5", 5),
        ("ts", "5 as const", 5),
        ("ts", "<number>5", None),
        ("java", "10L", 10),
        ("java", "0xFFL", 255),
        ("java", "'a'", None),
        ("java", "24 * 60 * 60 * 1000", 86400000),
        ("java", "1000 * 60 * 60 * 24 * 365", None),
        ("rs", "1_000u32", 1000),
        ("rs", "0xffu8", 255),
        ("rs", "0x1f32", 7986),
        ("rs", "010", 10),
        ("rs", "&[1]", (1,)),
        ("c", "10UL", 10),
        ("c", "0x1F", 31),
        ("c", "010", 8),
        ("c", "-1u", None),
        ("c", '"a" "b"', "ab"),
        ("c", 'L"a"', None),
        ("c", "'a'", None),
        ("cc", "1'000", 1000),
        ("cc", 'R"(a"b)"', 'a"b'),
        ("cs", "010", 10),
        ("cs", "1_000L", 1000),
        ("cs", '@"a\\b"', "a\\b"),
        ("cs", '$"a{b}"', None),
        ("rb", "0755", 493),
        ("rb", "'a\\n'", "a\\n"),
        ("rb", '"a\\n"', "a\n"),
        ("rb", '"#{a}"', None),
        ("rb", "%w[a b]", ("a", "b")),
        ("rb", ":a", "a"),
        ("rb", "[1, nil]", (1, None)),
        ("rb", "2 ** 10", 1024),
        ("sh", "30", "30"),
        ("sh", '"a b"', "a b"),
        ("sh", "'$a'", "$a"),
        ("sh", '"$a"', None),
        ("sh", "$(a)", None),
        ("sh", "(a b)", ("a", "b")),
    ],
)
def test_literals_of_each_language(ending: str, written: str, value: object) -> None:
    """Suffixes, bases, separators, quotes and lists as each language writes them."""
    found = worth(written, ending, "[i64; 1]" if isinstance(value, tuple) else "i64")
    if value is None:
        assert found is None
        return
    assert found is not None
    assert found.value == value
    assert type(found.value) is type(value) or isinstance(value, str)


@pytest.mark.parametrize(
    ("ending", "written"),
    [("py", "None"), ("js", "null"), ("rs", "None"), ("cc", "nullptr"), ("c", "NULL"), ("rb", "nil")],
)
def test_null_is_a_value(ending: str, written: str) -> None:
    """Null in any language is null, which is not the same as being computed."""
    assert worth(written, ending) == LiteralValue(None)


@pytest.mark.parametrize(
    ("ending", "written"), [("py", "1.5"), ("java", "1.5f"), ("rs", "1.5_f64"), ("cs", "1.5m"), ("go", "1.5")]
)
def test_fractions_are_read_exactly(ending: str, written: str) -> None:
    """A fraction is what is written, not what a machine would store."""
    assert worth(written, ending, "f64") == LiteralValue(Decimal("1.5"))


@pytest.mark.parametrize(
    ("ending", "written"),
    [
        ("py", "[" * 40 + "]" * 40),
        ("js", "[" * 40 + "]" * 40),
        ("py", "(" * 40 + "1" + ")" * 40),
        ("py", "-" * 40 + "1"),
    ],
)
def test_depth_of_values_is_bounded(ending: str, written: str) -> None:
    """What is nested deeper than any check could say is computed."""
    assert worth(written, ending) is None


def test_long_texts_and_lists_are_computed() -> None:
    """What is larger than any check could say is not compared."""
    assert worth("'" + "a" * 9_000 + "'", "py") is None
    assert worth("[" + "1," * 3_000 + "]", "py") is None
    assert worth("'" + "a" * 1_900 + "'", "py") == LiteralValue("a" * 1_900)
