"""Lines are counted by one search for each word, and come to what every line and every word compared would."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.record.call_annotations import LineIndex

TEXTS = st.text("ab \n", max_size=60)


@settings(max_examples=examples(200))
@given(st.lists(st.text("ab \n", max_size=4), max_size=4), TEXTS)
def test_every_line_is_counted_as_if_each_word_were_looked_for_in_it(words: list[str], text: str):
    """One by one: each line, and each word that is not empty; a word that stands there twice counts twice."""
    expected = {
        place: count
        for place, line in enumerate(text.split("\n"))
        if (count := sum(bool(word) and word in line for word in words))
    }
    lined = LineIndex(text)
    assert lined.word_counts(words) == expected
    assert lined.word_counts(words) == expected


def test_a_word_counts_once_in_a_line_however_often_it_stands_there():
    """A line that says one word ten times has not ten words."""
    assert LineIndex("cap cap cap\nlimit cap\n\n").word_counts(["cap", "limit"]) == {0: 1, 1: 2}
