"""Quotations and code are told from the author's own prose as CommonMark tells them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from search import examples

from sluice.codecs.prose import CodeSpans, layout


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
