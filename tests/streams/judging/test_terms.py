"""The terms of an assertion, and the test whether a text holds them."""

from __future__ import annotations

import string
from typing import Any, get_args

import pytest
import unicodedata2
from hypothesis import example, given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.judging.terms import (
    MOST_REJECTED,
    Content,
    Term,
    TermKind,
    expression,
    presence,
    shares_a_term,
    stands,
    terms_of,
)

READ, GREP, LOG, MTIME = (f"substrate.{name}" for name in ("code.read", "grep", "git.log", "fs.mtime"))


def texts(text: str, substrate_class: str = READ, **locator: Any) -> list[str]:
    return [term.text for term in terms_of(text, substrate_class, locator).terms]


def holds(assertion: str, content: str, **locator: Any) -> bool:
    return presence(terms_of(assertion, READ, locator).terms, content).whole


def test_quotes_and_code_spans_are_terms_as_a_whole():
    """What is quoted or set as code is one term; the literals and words inside it are none of their own."""
    assert texts("It says “version 2.0 of 2004” in `sluice config show --all` today.") == [
        "version 2.0 of 2004",
        "sluice config show --all",
    ]


def test_a_quote_with_code_in_it_is_whole_and_so_is_the_code():
    """The quotation stands as it was written, marks included; one of nothing but code is that code."""
    assert texts("It says “use `parse_time` here”.") == ["use `parse_time` here", "parse_time"]
    assert texts("It says “`parse_time`”.") == ["parse_time"]
    assert texts('It runs `print("x")`.') == ['print("x")']


def test_literals_are_terms_beside_quotes():
    """Numbers with their unit, dates, versions, identifiers count beside what is quoted; plain words do not."""
    assert texts("Since v1.2.0 the `fold` waits 30 seconds for MAX_RETRIES.") == [
        "v1.2.0",
        "fold",
        "30 seconds",
        "MAX_RETRIES",
    ]


def test_content_words_are_terms_only_where_there_is_nothing_else():
    """Without quotes and literals the words count, case-folded, stop words removed."""
    terms = terms_of("The Reader's answer is never the Last one.", READ).terms
    assert terms == (Term("word", "reader"), Term("word", "answer"), Term("word", "last"))


def test_a_text_that_says_nothing_has_no_terms():
    """Stop words alone are no term; and no term is borne out by anything."""
    assert terms_of("It is what it is.", READ).terms == ()
    assert not presence((), "It is what it is.").whole


@pytest.mark.parametrize(
    ("text", "substrate_class", "locator", "expected"),
    [
        ("CHANGELOG.md has an entry dated 2026-05-25.", READ, {"path": "CHANGELOG.md"}, ["2026-05-25"]),
        ("CHANGELOG.md has an entry dated 2026-05-25.", READ, {}, ["2026-05-25"]),
        ("The CHANGELOG has an entry dated 2026-05-25.", READ, {"path": "docs/CHANGELOG.md"}, ["2026-05-25"]),
        ("`docs/a.md` names `b_c`.", READ, {"path": "docs/a.md"}, ["b_c"]),
        ("“a.md” names b_c.", READ, {"path": "./a.md"}, ["b_c"]),
        ("README.md links to docs/a.md.", READ, {"path": "README.md"}, ["docs/a.md"]),
        ("README.md links to docs/a.md.", GREP, {}, ["README.md", "docs/a.md"]),
        ("It links to docs/a.md.", GREP, {"pattern": "docs/a.md"}, ["docs/a.md"]),
        ("Line 40 of a.py sets `x`.", READ, {"path": "a.py"}, ["x"]),
        ("a.py:40 sets `x`, lines 3-5 use it.", READ, {"path": "a.py"}, ["x"]),
        ("Commit 3f2a9bc adds `x`.", LOG, {}, ["x"]),
        ("Commit 3f2a9bc adds `x`.", LOG, {"commit": "3f2a9bcdd"}, ["x"]),
        ("Commit 3f2a9bc reverts 4e5f6a7.", LOG, {"commit": "3f2a9bc"}, ["4e5f6a7"]),
        ("The pin is 3f2a9bc.", READ, {}, ["3f2a9bc"]),
        ("Tag v1.2.0 has `x`.", LOG, {"ref": "v1.2.0"}, ["x"]),
        ("On branch feature/x-1 stands `y`.", LOG, {}, ["y"]),
    ],
)
def test_what_says_where_to_look_is_no_term(
    text: str, substrate_class: str, locator: dict[str, Any], expected: list[str]
):
    """Paths, refs, commits and line numbers that name the place are left out; other paths and hashes are terms."""
    assert texts(text, substrate_class, **locator) == expected


def test_the_place_that_only_the_text_names_is_reported():
    """One path in the text, where the locator has none, is where to look; two are not."""
    assert terms_of("CHANGELOG.md is long.", READ).places == ("CHANGELOG.md",)
    assert terms_of("a.py and b.py are long.", READ).places == ()
    assert terms_of("CHANGELOG.md is long.", READ, {"path": "a.md"}).places == ()
    assert terms_of("Commit 3F2A9BC is long.", LOG).commits == ("3f2a9bc",)


@pytest.mark.parametrize(
    ("assertion", "content"),
    [
        ("`parse_time` is there", "def parse_time(value):"),
        ("It waits 30 seconds", 'timeout = "30s"'),
        ("It keeps 20,000 commits", "look: 20_000 commits"),
        ("It is 95 percent", "95%"),
        ("It is at −3", "x = -3"),
        ("It is 3", "(3)"),
        ("The mask is 0x1F", "mask = 0x1F"),
        ("It costs $5", "price: $ 5"),
        ("It costs 5 euros", "5 EUR"),
        ("It starts at 10:00", "10:00:30"),
        ("It starts at 10:00:30", "10:00:30.5"),
        ("dated September 2026", "Sept. 3, 2026"),
        ("on May 25, 2026 at 10:00", "2026-05-25 10:00"),
        ("`a...`", "a..."),
        ("dated 2026-05-25", "May 25th, 2026"),
        ("dated 25 May 2026", "## 2026-05-25"),
        ("dated May 2026", "2026-05-25"),
        ("in 2026", "2026-05-25"),
        ("at 2026-05-25T10:00:00Z", "2026-05-25 10:00:00 UTC"),
        ("version 1.2.0", "tag v1.2.0"),
        ("see 3f2a9bc", "This reverts 3f2a9bcd0e."),
        ("Straße und Café", "STRASSE\nUND CAFE\u0301"),
        ("“two  words”", "two\n   words"),
        ("“so strict.”", "it is so strict, indeed"),
        ("「東京」です", "彼は東京です"),
        ("“ﬁle”", "file"),
        ("It is x²", "x2"),
    ],
)
def test_a_term_is_found_in_the_usual_ways_of_writing_it(assertion: str, content: str):
    """NFKC on both sides, white space as one space, words case-folded, units, dates and versions by what they mean."""
    assert holds(assertion, content)


@pytest.mark.parametrize(
    ("assertion", "content"),
    [
        ("`parse_time` is there", "def parse_time_ms(value):"),
        ("`parse_time` is there", "PARSE_TIME"),
        ("“Strict” it says", "strict"),
        ("MAX_RETRIES counts", "max_retries"),
        ("It is 3", "3.14"),
        ("It is 3", "13"),
        ("It is 3", "x = -3"),
        ("It is 3", "v3"),
        ("It is 25", "2026-05-25"),
        ("It is 25", "10:25"),
        ("It is 8", "UTF-8"),
        ("It is 1", "1,000"),
        ("It is 30 seconds", "30 minutes"),
        ("It is 5", "5%"),
        ("It is 5", "$5"),
        ("The mask is 0x1F", "0x1FF"),
        ("It starts at 10:00", "10:001"),
        ("It starts at 10:00", "9:10:00"),
        ("on 2026-05-25 at 10:00", "2026-05-25 11:00, or 10:00"),
        ("dated 2026-05-25", "2026-05-26"),
        ("dated 2026-05-25", "12026-05-251"),
        ("version 1.2.0", "1.2.0.1"),
        ("version 1.2.0", "1.2.0-rc1"),
        ("version 1.2.0", "11.2.0"),
        ("cat is here", "concatenate"),
        ("two words", "two wordsmiths"),
    ],
)
def test_a_term_is_not_found_as_a_part_of_something_else(assertion: str, content: str):
    """Word boundaries, the case of identifiers and quotes, and the whole of a number decide."""
    assert not holds(assertion, content)


@pytest.mark.parametrize(
    ("assertion", "content"),
    [
        ("`parse_time()` is there", "def parse_time(value):"),
        ("parse_time() is there", "from times import parse_time"),
        ("`parse_time(value, strict=True)` is there", "def parse_time(value: str, strict: bool = True):"),
        ("`times.parse_time` is there", "def parse_time(value):"),
        ("`times.parse_time()` is there", "def parse_time(value):"),
        ("times.parse_time is there", "def parse_time(value):"),
        ("`Client.timeout` is there", "class Client:\n    timeout: int = 3"),
        ("`net::Client::timeout` is there", "struct Client {\n    timeout: u64,"),
        ("`fold.go:123` and `b.go:3` are there", "see fold.go and b.go for more"),
        ("There are three copies", "copies = 3"),
        ("It keeps 3 of them", "Three are kept"),
        ("It waits 2 seconds", "two seconds"),
    ],
)
def test_names_and_numbers_are_found_as_they_are_defined(assertion: str, content: str):
    """`f()`, `f(x)`, `pkg.Name`, `Type.Field`, `file.go:123`, number words: how prose writes what code does not."""
    assert holds(assertion, content)


@pytest.mark.parametrize(
    ("assertion", "content"),
    [
        ("`parse_time()` is there", "def parse_time_ms(value):"),
        ("`parse_time(value, strict)` is there", "def parse_time(value):"),
        ("`Client.timeout` is there", "timeout: int = 3"),
        ("`Client.timeout` is there", "class Client:\n    timeouts = 3"),
        ("`config.toml` is there", "toml"),
        ("`1.2.3` is there", "3"),
        ("`fold.go:123` and `b.go:3` are there", "go"),
        ("`localhost:9092` is there", "localhost"),
        ("There are three copies", "copies = 13"),
        ("There are three copies", "copies = 3.5"),
        ("It keeps 3 of them", "threefold"),
        ("It is 1", "one of them"),
    ],
)
def test_pieces_of_a_name_are_found_only_as_wholes(assertion: str, content: str):
    """Every piece has to stand there at its own boundaries, and what is no name has none."""
    assert not holds(assertion, content)


@pytest.mark.parametrize(
    ("text", "substrate_class", "locator", "expected"),
    [
        ("`a.py:40` sets `x`.", READ, {"path": "a.py"}, ["x"]),
        ("`src/a.py:40-42` sets `x`.", GREP, {"path": "src/a.py"}, ["x"]),
        ("`a.py#L40` sets `x`.", READ, {}, ["x"]),
        ("a.py:40:7 sets `x`.", READ, {"path": "a.py"}, ["x"]),
        ("a.py:40 sets `x`.", LOG, {"path": "a.py"}, ["x"]),
        ("Line 12 of a.py sets `x`.", LOG, {"path": "a.py"}, ["x"]),
        ("`b.py:40` names `x`.", READ, {"path": "a.py"}, ["b.py:40", "x"]),
        ("broker.lan:9092 is up.", LOG, {}, ["broker.lan:9092"]),
    ],
)
def test_the_line_behind_a_path_is_a_place(
    text: str, substrate_class: str, locator: dict[str, Any], expected: list[str]
):
    """`file.go:123` and «line 12» only say where to look; a port is no line."""
    assert texts(text, substrate_class, **locator) == expected


def test_found_and_missing_are_reported_in_the_texts_order():
    """The detail of an observation comes from here: what is there, and what is not."""
    assert presence(terms_of("alpha_one, beta_two and gamma_three", READ).terms, "gamma_three alpha_one") == (
        ("alpha_one", "gamma_three"),
        ("beta_two",),
    )


# ---------------------------------------------------------------- laws

WORDS = st.text(alphabet="abcdefgäöß", min_size=2, max_size=6)


def naive_holds(word: str, text: str) -> bool:
    """The oracle: a word is there when it is one of the words, both case-folded and in NFKC."""
    fold = lambda value: unicodedata2.normalize("NFKC", value).casefold()  # noqa: E731
    words = "".join(c if c.isalnum() or c == "_" else " " for c in fold(text)).split()
    return fold(word) in words


@given(WORDS, st.lists(st.one_of(WORDS, st.sampled_from(["\u00c4\u00d6", "ab", "abc", "_", ".", "-"])), max_size=8))
def test_a_word_is_found_exactly_where_the_oracle_finds_it(word: str, pieces: list[str]):
    """Searching with boundaries is the same as splitting the text into words and looking for one that is equal."""
    for joint in ("", " ", "."):
        text = joint.join(pieces)
        assert presence([Term("word", word.casefold())], text).whole == naive_holds(word, text)


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**9), max_size=6))
def test_a_number_is_found_exactly_where_it_stands(number: int, others: list[int]):
    """A whole number is found among others when it is one of them, however they are separated."""
    term = Term("number", str(number))
    assert presence([term], "; ".join(map(str, others))).whole == (number in others)
    assert presence([term], f"x = {number:,}").whole
    assert presence([term], f"x = {number:_}").whole


@given(st.text(max_size=60), st.sampled_from([READ, GREP, LOG, MTIME, ""]))
def test_an_assertion_bears_itself_out(text: str, substrate_class: str):
    """Every term of a text is found in that text: what an assertion says stands in what it says."""
    terms = terms_of(text, substrate_class).terms
    assert presence(terms, text).missing == ()


@given(st.text(alphabet=string.printable, max_size=60), st.text(alphabet=string.printable, max_size=60))
def test_more_text_never_takes_a_term_away(assertion: str, content: str):
    """What a piece holds, a larger region that has it as a line of its own holds as well."""
    terms = terms_of(assertion, READ).terms
    alone = set(presence(terms, content).found)
    assert alone <= set(presence(terms, f"one line\n\0\n{content}\n\0\nanother line").found)


@given(st.text(max_size=200), st.text(max_size=200))
def test_content_is_normalised_once(text: str, other: str):
    """A prepared content and the bare text answer alike."""
    terms = terms_of(other, READ).terms
    assert presence(terms, Content(text)) == presence(terms, text)


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "regex", "expected"),
    [
        ("the", False, False),
        ("e", False, False),
        (".*", True, False),
        (r"\w+", True, False),
        ("[a-z]+", True, False),
        ("30 seconds", False, True),
        ("DEFAULT_TIMEOUT", False, True),
        (r"timeout\s*=", True, True),
        ("config.toml", False, False),
        ("unrelated", False, False),
    ],
)
def test_a_pattern_has_to_be_about_the_assertion(pattern: str, regex: bool, expected: bool):
    """A pattern shares a literal or a content word with the assertion; stop words and the place do not count."""
    text = "The default timeout in config.toml is 30 seconds."
    assert shares_a_term(pattern, text, terms_of(text, GREP, {}), regex) is expected


KINDS = [kind for one in get_args(TermKind) for kind in (get_args(one) or (one,))]
TEXT = st.text(st.sampled_from("aab_1. ,('’)-:é許\u0e01\u0301 \n$"), max_size=8)


@settings(max_examples=examples(1500))
@given(st.sampled_from(KINDS), TEXT, TEXT, TEXT, st.integers(0, 3))
@example("quote", "ab.", "", " ab", 0)
@example("quote", ".", "a", "", 0)
@example("word", "a'b", "a’b", "", 0)
@example("word", "seven", "7", "", 0)
@example("name", "", "", "", 0)
@example("code", "a", "許", "許", 1)
def test_a_term_stands_where_its_expression_finds_it(kind: str, text: str, before: str, after: str, number: int):
    """Of every kind, at every edge, also where it stands within words first."""
    content = f"x{text}" * number + before + text + after
    assert stands(kind, text, content) == (expression(kind, text).search(content) is not None)
    assert stands(kind, text, before + after) == (expression(kind, text).search(before + after) is not None)


@pytest.mark.parametrize("behind", ["", " ab", "ab", "."])
@pytest.mark.parametrize("times", [MOST_REJECTED - 1, MOST_REJECTED, MOST_REJECTED + 1, 500])
def test_many_places_within_words_hide_none_behind_them(times: int, behind: str):
    """The plain search gives up, and the expression goes on."""
    content = "xab" * times + behind
    for kind, text in (("name", "ab"), ("quote", "ab."), ("quote", "ab,"), ("word", "ab")):
        assert stands(kind, text, content) == (expression(kind, text).search(content) is not None)


NUMBERS = st.from_regex(
    r"\A[$+-]?(?:[0-9]{1,5}|[0-9]{1,3}[,_][0-9]{3})(?:\.[0-9]{1,2})?(?: ?(?:%|items|s))?\Z", fullmatch=True
)


@settings(max_examples=examples(1500))
@given(NUMBERS, st.text("0123456789,._ x-$%nie", max_size=12), st.integers(0, 2), st.booleans())
@example("9", "nine", 0, False)
@example("1234", "1,234", 0, False)
@example("1,234", "1234", 0, False)
@example("9", "9" * 100 + " 9", 0, False)
def test_a_number_stands_where_its_expression_finds_it(text: str, around: str, times: int, is_inside: bool):
    """It is looked for by its first digits, but is found in all of the ways to write it, and not in another number."""
    content = around + (text if is_inside else "") * times + around
    assert stands("number", text, content) == (expression("number", text).search(content) is not None)
