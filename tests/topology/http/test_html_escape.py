"""Text of strangers is shown and does nothing."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.http.html_escape import Mark, html_escape, pieces
from sluice.topology.settings.showing import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('" onload="x', "&#34; onload=&#34;x"),
        ("a\u202eb", 'a<span class="unseen">U+202E</span>b'),
        ("a\u200bb", 'a<span class="unseen">U+200B</span>b'),
        ("\x00\x1b[2J", '<span class="unseen">U+0000</span><span class="unseen">U+001B</span>[2J'),
        ("\U000e0041", '<span class="unseen">U+E0041</span>'),
        ("plain\nü", "plain\nü"),
    ],
)
def test_markup_is_escaped_and_the_unseen_is_seen(text, shown):
    assert html_escape(text) == shown


@pytest.mark.parametrize("point", [0x3164, 0x34F, 0xFE0F, 0xE0100, 0x2800, 0x115F, 0x17B4, 0x180B, 0xFFA0, 0x1D159])
def test_what_is_printable_and_not_seen_is_seen(point):
    """Fillers, joiners, selectors, blanks: Python calls them printable, and nobody sees them."""
    assert html_escape(f"pay{chr(point)}ment") == f'pay<span class="unseen">U+{point:04X}</span>ment'


@pytest.mark.parametrize("mark", ["\u0301", "\u20dd", "\u0489", "\u0483"])
def test_no_letter_carries_hundreds_of_marks(mark):
    """They would be drawn over other lines, or be one letter that is wider than the page; what scripts need stays."""
    piled = f'<span class="unseen">U+{ord(mark):04X}</span>'

    assert html_escape("x" + mark * 8 + "y" + mark) == "x" + mark * 8 + "y" + mark
    assert html_escape("x" + mark * 11) == "x" + mark * 8 + piled * 3


def test_no_text_puts_marks_on_the_one_before_it():
    """An emitter could pile them up with one assertion after the other."""
    piled = '<span class="unseen">U+0301</span>'

    assert html_escape("\u0301" * 2 + "x\u0301") == piled * 2 + "x\u0301"


def test_every_character_of_the_table_is_seen():
    from sluice.codecs.unicode_text import REPLACED, STRIPPED

    for first, last in (*STRIPPED, *REPLACED):
        for point in {first, (first + last) // 2, last}:
            assert html_escape(chr(point)) == f'<span class="unseen">U+{point:04X}</span>'


@pytest.mark.parametrize(
    "text",
    [
        "⚠\ufe0f",
        "1\ufe0f\u20e3",
        "a\ufe0f",
        "\ufe0f",
        "⚠\ufe0f\ufe0f",
        "e" + "\u0301" * 9,
        "\u0301x",
        "é" + "\u0301" * 8,
    ],
)
def test_a_page_and_a_terminal_show_the_same_marks(text: str):
    """The selector behind an emoji stays on both, and eight marks."""
    shown = re.sub(r'<span class="unseen">U\+(\w+)</span>', lambda match: f"\\u{match[1].lower()}", html_escape(text))
    assert shown == escaped(text)


@given(st.text())
def test_nothing_but_our_own_marks_is_markup(text):
    """Without them no angle bracket and no quote is left, and the rest reads as it was."""
    shown = str(html_escape(text))
    for character in set(text):
        shown = shown.replace(f'<span class="unseen">U+{ord(character):04X}</span>', html.escape(character))

    assert html.unescape(shown) == html.unescape(html.escape(text))
    assert not set("<>\"'") & set(shown)


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70)), max_size=8))
def test_pieces_joined_are_the_text(text, spans):
    """Whatever spans an emitter names: overlapping, reversed, beyond the end."""
    found = pieces(text, [Mark(start, end, f"c:{start}-{end}", "admitted") for start, end in spans])

    assert "".join(one.text for one in found) == text
