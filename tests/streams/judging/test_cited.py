"""What a text quotes, for whoever cites strictly [C §4]."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.prose_literals import cited_spans, quotes


def inner(text):
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
    assert inner(text) == expected


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
    assert inner(text) == []


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
