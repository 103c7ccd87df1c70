"""Plain terms are found without an expression, and found exactly where the expression finds them."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.judging.terms import MOST_REJECTED, TermKind, expression, stands

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
