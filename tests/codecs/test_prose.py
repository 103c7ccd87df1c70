"""The author's own words in Markdown, and where sentences begin and end."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from search import examples
from uniseg.sentencebreak import sentence_boundaries, sentence_break

from sluice.codecs import prose as uax29
from sluice.codecs.prose import OURS, SUPPRESSED, CodeSpans, layout, sentences


def foreign(text: str) -> str:
    """The lines that are another one's or code."""
    return "".join(text[start:end] for start, end in layout(text).foreign)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("> a\nb\n\nc", "> a\nb\n"),
        ("> a\n- b\n", "> a\n"),
        ("> a\n# b\n", "> a\n"),
        ("> ```\n> a\n> ```\nb\n", "> ```\n> a\n> ```\n"),
        (">\nb\n", ">\n"),
        ("> [!NOTE]\n> a\nb\n", ""),
        ("- > a\n  > b\n\n  c\n", "- > a\n  > b\n"),
        ("a\n    b\n", ""),
        ("a\n\n    b\n\n    c\nd\n", "    b\n    c\n"),
        ("# a\n    b\n", "    b\n"),
        ("- a\n\n    b\n", ""),
        ("- a\n\n      b\n", "      b\n"),
        ("- a\n\nb\n\n    c\n", "    c\n"),
        ("\ta\n", "\ta\n"),
        ("a\n```\nb\n```\nc", "```\nb\n```\n"),
        ("~~~x\n```\n~~~\nc", "~~~x\n```\n~~~\n"),
        ("````\n```\nb\n```\n````\nc", "````\n```\nb\n```\n````\n"),
        ("```\n\n> a\n", "```\n\n> a\n"),
        ("- ```\n  a\nb\n", "- ```\n  a\n"),
        ("a `` ```b``` c\n", ""),
        ("a\r\n> b\r\nc\r\n\r\nd", "> b\r\nc\r\n"),
        ("    > a\n", "    > a\n"),
    ],
)
def test_code_and_quotations_are_not_the_authors_prose(text: str, wanted: str) -> None:
    assert foreign(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\n```checks\nb\n```\nc", [("checks", "b\n", True)]),
        ("~~~ checks x\nb\n~~~~\n", [("checks x", "b\n", True)]),
        ("```a\n```checks\n```\n```b", [("a", "```checks\n", True), ("b", "", False)]),
        ("> ```checks\n> b\n", []),
        ("- ```checks\n  b\n  ```\n", [("checks", "  b\n", True)]),
        ("- ```checks\n  b\nc\n", [("checks", "  b\n", False)]),
        ("    ```checks\n    b\n", []),
        ("```checks", [("checks", "", False)]),
    ],
)
def test_fences_are_told_with_what_stands_in_them(text: str, wanted: list[tuple[str, str, bool]]) -> None:
    """Those that stand in no other one, and in no quotation."""
    found = [(each.info, text[each.first : each.last], each.closed) for each in layout(text).fences]
    assert found == wanted


LINES = st.sampled_from(["a", "> b", "", "```", "~~~", "- c", "  d", "    e", "# f", ">", "  ```", "1. g", "- > h"])


@settings(max_examples=examples(300))
@given(st.lists(LINES, max_size=12).map("\n".join))
def test_what_a_parser_of_commonmark_takes_for_code_or_quoted_is_never_the_authors(text: str) -> None:
    """The other way round is allowed: where a case is in doubt, the line counts as quoted."""
    lines = text.split("\n")
    theirs = set[int]()
    for token in MarkdownIt("commonmark").parse(text):
        if token.map is not None and token.type in ("fence", "code_block", "blockquote_open"):
            theirs |= set(range(*token.map))
    at, ours = 0, set[int]()
    for number, line in enumerate(lines):
        if any(start <= at < end for start, end in layout(text).foreign):
            ours.add(number)
        at += len(line) + 1
    assert {number for number in theirs if number < len(lines) and lines[number].strip()} <= ours


def test_code_spans_end_where_a_run_of_the_same_length_stands() -> None:
    """Before the bound; what nothing closes is text."""
    text = "`a` ``b`c`` `d"
    spans = CodeSpans(text)
    assert spans.end(0, 1, len(text)) == 3
    assert spans.end(4, 2, len(text)) == 11
    assert spans.end(12, 1, len(text)) == 13
    assert CodeSpans(text).end(0, 1, 2) == 1


@pytest.mark.parametrize("text", ["\n" * 200_000, "> " * 100_000, "- " * 100_000, "```\n" * 50_000, " " * 200_000])
def test_every_line_is_read_once(text: str) -> None:
    """Whatever stands there; the spans are in order and apart."""
    found = layout(text).foreign
    assert all(first[1] < second[0] for first, second in pairwise(found))


# Every Sentence_Break class is here, some more than once, and the letters of a few suppressions.
ALPHABET = ".․!?。)(\"'’“ \t,:;-–aбzAZБ059٣中ªא\u0301\u200b\u00ad\u2060é\U0001d400\U0001f600*…/"


def sentences_in(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def stripped(text: str, boundaries: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start, end in pairwise(boundaries):
        piece = text[start:end]
        if piece.strip():
            begin = start + len(piece) - len(piece.lstrip())
            spans.append((begin, begin + len(piece.strip())))
    return spans


def abbreviated(text: str) -> bool:
    return any(word in text for word in SUPPRESSED)


def by_the_rules(text: str) -> list[int]:
    """UAX #29, SB1 to SB998, read aloud: the slow second opinion, for text without line ends."""
    kinds = [sentence_break(character).value for character in text]
    kept = [place for place, kind in enumerate(kinds) if place == 0 or kind not in ("Extend", "Format")]  # SB5
    letters = {"ATerm": "a", "STerm": "t", "Close": "k", "Sp": "p", "Numeric": "n", "Lower": "l", "Upper": "u"}
    letters |= {"OLetter": "e", "SContinue": "c"}
    line = "".join(letters.get(kinds[place], "o") for place in kept)
    boundaries = [0]
    for place in range(1, len(line)):
        left, right = line[:place], line[place:]
        keeps = (
            (re.search(r"a$", left) and right[0] == "n")  # SB6
            or (re.search(r"[ul]a$", left) and right[0] == "u")  # SB7
            or (re.search(r"ak*p*$", left) and re.match(r"[^euatl]*l", right))  # SB8
            or (re.search(r"[at]k*p*$", left) and right[0] in "cat")  # SB8a
            or (re.search(r"[at]k*$", left) and right[0] in "kp")  # SB9
            or (re.search(r"[at]k*p*$", left) and right[0] == "p")  # SB10
        )
        if not keeps and re.search(r"[at]k*p*$", left):  # SB11
            boundaries.append(kept[place])
    return [*boundaries, len(text)] if text else []


@given(st.text(alphabet=ALPHABET, max_size=24).filter(lambda text: not abbreviated(text)))
def test_sentences_are_those_of_the_rules(text: str) -> None:
    """Every rule of UAX #29 holds, whatever classes of characters meet."""
    assert sentences(text) == stripped(text, by_the_rules(text))


@given(
    st.text(alphabet=ALPHABET, max_size=24).filter(
        # uniseg 0.10.1 reads SB8's «not (OLetter | Upper | …)» as a list that lacks Other, so that class stays out.
        lambda text: not abbreviated(text) and all(sentence_break(character).value != "Other" for character in text)
    )
)
def test_sentences_are_those_of_uniseg(text: str) -> None:
    """An implementation of somebody else's finds the same boundaries."""
    assert sentences(text) == stripped(text, list(sentence_boundaries(text)))


@given(st.text(alphabet=ALPHABET + "\n\r\u2028", max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_sentences_cover_all_but_white_space(text: str, ends: list[int]) -> None:
    """They are ordered, apart, stripped, and what lies between two of them is white space."""
    before = 0
    for start, end in sentences(text, sorted(min(end, len(text)) for end in ends)):
        assert before <= start < end
        assert not text[before:start].strip()
        assert text[start:end] == text[start:end].strip()
        before = end
    assert not text[before:].strip()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_only_a_blank_line_separates(line_end: str) -> None:
    """A single line end is a space, wherever models wrap; an empty line, or one of white space, ends any sentence."""
    wrapped = f"It has an{line_end}entry.{line_end}Then more"

    assert sentences_in(f"{wrapped}{line_end}{line_end}after") == [f"It has an{line_end}entry.", "Then more", "after"]
    assert sentences_in(f"no stop{line_end} \t{line_end}after") == ["no stop", "after"]


def test_suppressed_abbreviations_end_no_sentence() -> None:
    """CLDR's list holds, words with several dots included, as they are written."""
    assert sentences_in("Mr. Smith of the U.S. Senate has a Ph.D. Now.") == [
        "Mr. Smith of the U.S. Senate has a Ph.D. Now."
    ]
    assert sentences_in("It was exec. Smith, vs. Jones.") == ["It was exec. Smith, vs. Jones."]
    assert sentences_in("It is his alt. Yes.") == ["It is his alt.", "Yes."]


def test_what_cldr_lacks_is_added() -> None:
    """Dr. and the lower-case forms of E.g. and I.e. end no sentence either."""
    assert sentences_in("Dr. Smith uses e.g. Python, i.e. Snakes.") == ["Dr. Smith uses e.g. Python, i.e. Snakes."]


def test_only_a_whole_word_is_an_abbreviation() -> None:
    """Mr. at the end of a longer word, of a number or of a dotted name is none."""
    assert sentences_in("The Admr. Yes. At 5Mr. Yes. See x.Dr. Yes.") == [
        "The Admr.",
        "Yes.",
        "At 5Mr.",
        "Yes.",
        "See x.Dr.",
        "Yes.",
    ]


def test_a_sentence_reads_alike_whatever_ended_the_one_before() -> None:
    """An abbreviation that begins a sentence is one, whether rules or a group set that beginning."""
    text = "]1.0.Dr. = A"

    assert sentences(text) == sentences(text, [5]) == [(0, 5), (5, 12)]


def test_an_abbreviation_in_quotes_ends_a_sentence() -> None:
    """After a closing mark the full stop was not the abbreviation's alone."""
    assert sentences_in('He said "Dr." Then he left.') == ['He said "Dr."', "Then he left."]


def test_a_forced_end_needs_a_terminator() -> None:
    """Where a group stood a sentence ends if it looks like one, also before a small letter or after Dr.; else not."""
    text = "It is so. and then (e.g. Python) is.) next"

    assert [text[slice(*span)] for span in sentences(text, [9, 19, 24, 37])] == [
        "It is so.",
        "and then (e.g.",
        "Python) is.)",
        "next",
    ]


def test_the_data_is_cldrs() -> None:
    """The file names its source, version and licence, and nothing of ours is in it already."""
    data = json.loads((files("sluice.codecs") / "data" / "suppressions.json").read_text("utf-8"))

    assert "CLDR 46.1" in data["source"]
    assert "Unicode-3.0" in data["licence"]
    assert len(data["suppressions"]) == len(set(data["suppressions"])) == 151
    assert not OURS & set(data["suppressions"])
    assert "COPYRIGHT AND PERMISSION NOTICE" in (
        files("sluice.codecs") / "data" / "suppressions.LICENSE.txt"
    ).read_text("utf-8")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "A! " * 333_333,
        "aaa. " + " " * 1_000_000,
        ".)" * 500_000,
        "a." + "\u0301" * 1_000_000 + "A",
        "\n" + " " * 1_000_000,
        "\n" * 1_000_000,
        ". (" * 333_333,
        "a. ," * 250_000,
        "A." * 500_000,
    ],
    ids=["exclamations", "spaces", "closes", "marks", "open line", "blank lines", "brackets", "commas", "initials"],
)
def test_a_megabyte_takes_linear_time(text: str) -> None:
    """No run of one class makes the work grow with its square (a megabyte would take hours, not half a second)."""
    assert sum(end - start for start, end in sentences(text)) <= len(text)


@pytest.mark.timeout(60)
def test_forced_ends_take_linear_time() -> None:
    """A position after every closing mark does not look back over all of them each time."""
    text = "(" * 300_000

    assert sentences(text, range(1, len(text))) == [(0, len(text))]


def test_the_letters_of_ascii_are_unisegs() -> None:
    """They are written down, so that uniseg is loaded for other texts alone."""
    assert len(uax29._OF_ASCII) == 128
    for point, letter in enumerate(uax29._OF_ASCII):
        assert letter == uax29._LETTERS[sentence_break(chr(point)).value]
