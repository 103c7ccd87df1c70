"""Markdown: which headings a document has, which lines are theirs, and which name means which heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.doc_markdown import Outline, parse_markdown
from sluice.streams.judging.documents import document_extents, parse_document, verify_document
from sluice.streams.judging.results import Held, HeldReason, Source

README = """\
---
title: Front
---
# My *Project* `foo()`

<!--
# Hidden
-->
```
# Fenced
```
    # Indented

> # Quoted

- # Item

  ## Deeper item

<div>
# In HTML
</div>

Two
lines
======

[link]: /url
## [1.2.3] - 2026-05-25
### Added
## v2.0.1 (2025-01-01)
### Added
## 3. Set up [here](http://x)
## 🚀 Features
## Closed {#closed} ##
## Deprecated: old\\_name
#No heading
####### Too deep
|a|b|
|-|-|
|c|d|
---
###### Small
"""


def verify(check: str, text: str = README, lines: tuple[int, int] | None = None) -> Held:
    """What a check comes to in a Markdown document."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source("docs/README.md", text, lines)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ('defines("My Project foo()")', 4),
        ('defines("# My Project `foo()`", section)', 4),
        ('defines("Two lines")', 24),
        ("defines(1.2.3)", 29),
        ("defines(v1.2.3)", 29),
        ('defines("[1.2.3]")', 29),
        ("defines(2026-05-25)", 29),
        ('defines("[1.2.3] - 2026-05-25")', 29),
        ("defines(Added, section)", 30),
        ("defines(2.0.1)", 31),
        ("defines(v2.0.1)", 31),
        ("defines(2025-01-01)", 31),
        ("defines(Added, in=2.0.1)", 32),
        ('defines("Set up here")', 33),
        ('defines("3. Set up here")', 33),
        ("defines(Features)", 34),
        ("defines(Closed)", 35),
        ("defines(Deprecated)", 36),
        ("defines(old_name)", 36),
        ("defines(Small)", 43),
    ],
)
def test_a_heading_is_found_by_its_text_or_a_component_of_it(check: str, line: int):
    """Without markup; versions and dates of a changelog's headings; numbers and pictures before them."""
    assert verify(check) == Held(True, None, (line, line))


@pytest.mark.parametrize(
    "check",
    [
        *("defines(Hidden)", "defines(Fenced)", "defines(Indented)", "defines(Quoted)", "defines(Item)"),
        *('defines("Deeper item")', 'defines("In HTML")', "defines(title)", "defines(Front)", 'defines("No heading")'),
        *('defines("Too deep")', "defines(Usage, section)", "defines(1.2.4)", "defines(c)".replace("c", "zzz")),
        "defines(Small, in=Features)",
    ],
)
def test_what_is_no_heading_of_the_document_is_exactly_none(check: str):
    """In code, comments, HTML, quotes, lists and front matter, and without a space behind the mark."""
    assert verify(check) == Held(False, "differs")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("defines(features)", "not-found"),  # letter case
        ("defines(Project)", "not-found"),  # a word of a heading
        ("defines(two-lines)", "not-found"),  # its anchor
        ("defines(2026-05)", "not-found"),
        ('defines("---")', "not-found"),
        ("defines(x, in=Added)", "ambiguous"),
        ("defines(x, in=Nowhere)", "not-found"),
        ("defines(Added, function)", "unlisted-language"),
        ("equals(Added, 1)", "unlisted-language"),
        ("compare(Added, <, 1)", "unlisted-language"),
    ],
)
def test_what_merely_looks_like_a_heading_decides_nothing(check: str, reason: HeldReason):
    """Neither that it is there nor that it is not."""
    assert verify(check) == Held(None, reason)


def test_a_heading_with_invisible_characters_is_not_taken_for_missing():
    """Nor for the heading that it looks like."""
    assert verify("defines(Install)", "# Ins\u200btall\n") == Held(None, "not-found")


def test_headings_in_html_make_absence_undecided():
    """They are headings to readers, and none to Markdown."""
    text = '<h1 align="center">Sluice</h1>\n\n## Usage\n'
    assert verify("defines(Sluice)", text) == Held(None, "not-found")
    assert verify("defines(Install)", text) == Held(False, "differs")


def test_lines_restrict_which_headings_count():
    """A heading counts where it begins."""
    assert verify("defines(Added)", lines=(31, 33)) == Held(True, None, (32, 32))
    assert verify("defines(Added)", lines=(33, 40)) == Held(False, "differs")
    assert verify("defines(Added, in=1.2.3)", lines=(28, 31)).holds is True


def test_a_section_ends_before_the_next_heading_of_its_level_or_above():
    """The last one ends with the document; headings of the same text have a section each."""
    text = "# A\n\n## B\nx\n### C\ny\n## D\n# B\nz\n"
    document = parse_document(Source("x.md", text))
    assert document is not None
    assert document_extents(document, "A") == [(1, 7)]
    assert document_extents(document, "B") == [(3, 6), (8, 9)]
    assert document_extents(document, "C") == [(5, 6)]
    assert document_extents(document, "D") == [(7, 7)]
    assert document_extents(document, "Nowhere") == []


def test_a_whole_heading_goes_before_a_component_of_another():
    """`in=1.0` is the section called so, not the one that mentions it first."""
    document = parse_document(Source("x.md", "# 1.0 - notes\n# 1.0\nx\n"))
    assert document is not None
    assert document_extents(document, "1.0") == [(2, 3)]
    assert document_extents(document, "notes") == [(1, 1)]


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("---\na: 1\n---\n# H\n", ["H"]),
        ("+++\na = 1\n# c\n+++\n# H\n", ["H"]),
        ("---\nnot a mapping\n---\n", ["not a mapping"]),
        ("---\n# H\ntext\n", ["H"]),
        ("a\n---\nb: 1\n---\n", ["a", "b: 1"]),
    ],
)
def test_front_matter_is_no_heading(text: str, heading: list[str]):
    """Only data at the very beginning, up to its closing line."""
    assert [one.text for one in parse_markdown(text).sections] == heading


def test_line_ends_of_windows_are_line_ends():
    """A carriage return alone is none that others count, so such a text is not read."""
    assert verify("defines(B)", "# A\r\n# B\r\n") == Held(True, None, (2, 2))
    assert verify("defines(B)", "# A\r# B\r") == Held(None, "syntax-error")


headings = st.tuples(st.integers(1, 6), st.from_regex(r"[A-Z][a-z]{0,5}( [a-z]{1,3})?", fullmatch=True))


@given(st.lists(headings, max_size=8))
def test_sections_nest_as_their_levels_say(lines: list[tuple[int, str]]):
    """Every section runs up to the first later heading that is not below its own."""
    outline = parse_markdown("".join(f"{'#' * level} {text}\n\n" for level, text in lines))
    assert [(one.level, one.text) for one in outline.sections] == lines
    for place, one in enumerate(outline.sections):
        later = [other.first for other in outline.sections[place + 1 :] if other.level <= one.level]
        assert one.last == (later[0] - 1 if later else 2 * len(lines))


@given(st.text(st.sampled_from("#-=> *`<>![]()\\_\n\t:ab1|~+"), max_size=60))
def test_no_text_makes_the_parser_fail(text: str):
    """Each section stands on lines that are there."""
    outline = parse_markdown(text)
    assert isinstance(outline, Outline)
    assert all(1 <= one.first <= one.last <= text.count("\n") + 1 for one in outline.sections)
