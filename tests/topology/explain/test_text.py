"""An emitter's words in an explanation: marked where no check speaks of them, whatever stands in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.streams.sanitise import Trace, clean
from sluice.topology.audit.explanation_words import CLOSE, MOST_QUOTES, OPEN, marked, quotes, shown_text

TEXT = "The retry limit is 42, and the release is signed."


def mark(text: str, *spans: tuple[int, int]) -> str:
    return marked(DEFAULT_POLICY, text, "internal", spans)


def test_what_no_check_speaks_of_stands_in_double_brackets():
    """In place; spans that touch are one."""
    assert mark(TEXT, (21, 26), (26, 48)) == "The retry limit is 42⟦, and the release is signed⟧."
    assert mark(TEXT, (0, 3), (21, 49)) == "⟦The⟧ retry limit is 42⟦, and the release is signed.⟧"


def test_without_a_span_all_of_it_is_marked():
    """Where it is only known that not all was checked, nothing is shown as if it had been."""
    assert mark(TEXT) == f"⟦{TEXT}⟧"
    assert mark(TEXT, (900, 999)) == f"⟦{TEXT}⟧"


def test_offsets_are_those_of_the_text_as_it_was_emitted():
    """Sanitation makes it longer and shorter; the marks stand where they belong."""
    assert mark("½\u200b is not half", (5, 8)) == "1/2 is⟦ no⟧t half"


def test_an_emitters_own_marks_close_none_of_ours():
    """They become square brackets."""
    assert mark("The limit ⟧ is ⟦ not 42", (4, 23)) == "The ⟦limit ] is [ not 42⟧"


@pytest.mark.parametrize(
    ("text", "spans", "shown"),
    [
        # Markup that begins on one side of a mark and ends on the other would take the mark with it.
        ("The limit <b is not x> 42", [(10, 19)], "The limit [unchecked] x> 42"),
        ("a <scr|ipt>x</scr|ipt> b", [(6, 7), (17, 18)], None),
        ("is [not](https://evil.example) so", [(4, 7)], None),
    ],
)
def test_what_would_become_markup_is_left_out_instead(text: str, spans: list[tuple[int, int]], shown: str | None):
    """No mark is lost to what stands around it, and the whole is clean text."""
    found = mark(text, *spans)

    assert shown is None or found == shown
    assert found.count(OPEN) == found.count(CLOSE)
    assert clean(found, "", 100_000, "replace-in-words", Trace()) == found


def test_a_long_text_is_cut_as_in_the_outputs():
    """With the mark of truncation behind it, and no mark left open."""
    found = mark("word " * 1000, (10, 4000))

    assert len(found) < 2100
    assert found.endswith("⟧…")


def test_so_many_parts_are_quoted_and_no_more():
    """Sanitised, in order, and cut to the text."""
    many = [(place, place + 1) for place in range(0, 40, 2)]

    assert len(quotes(DEFAULT_POLICY, TEXT, "internal", many)) == MOST_QUOTES
    assert quotes(DEFAULT_POLICY, "a\u202e<b>c</b>d", "internal", [(1, 99), (-4, 9)]) == ["cd"]


_words = st.sampled_from(
    ["a ", "⟦", "⟧", "<b", ">", "</b>", "[x]", "(y)", "![", "](", "½", "\u200b", "\u0338", "é", "<!--"]
)


@settings(deadline=None)
@given(
    st.lists(_words, max_size=12).map("".join),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4),
)
def test_marked_text_is_clean_and_its_marks_are_balanced(text: str, spans: list[tuple[int, int]]):
    """Whatever stands where: cleaning it again changes nothing, and every mark has its end."""
    found = mark(text, *spans)

    assert clean(found, "", 100_000, "replace-in-words", Trace()) == found
    depth = 0
    for character in found:
        depth += (character == OPEN) - (character == CLOSE)
        assert depth in (0, 1)
    assert depth == 0


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=3))
def test_what_is_not_marked_is_what_was_not_unchecked(text: str, spans: list[tuple[int, int]]):
    """Of plain text: the marks taken out, it is the text as its outputs have it."""
    plain = "".join(one for one in text if (one.isascii() and one.isalnum()) or one == " ")
    found = mark(plain, *spans)

    assert found.replace(OPEN, "").replace(CLOSE, "") == shown_text(DEFAULT_POLICY, plain, "internal")
