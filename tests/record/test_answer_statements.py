"""Statements and their places: whatever the Markdown, a span leads back to the very text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.records import MAX_CHECKS
from sluice.record import answer_statements, markdown_blocks
from sluice.record.answer_statements import MOST_DECLARED, read_answer, statements, states


def texts(markdown: str) -> list[str]:
    return [one.text for one in statements(markdown)]


PIECES = st.sampled_from(
    [
        "`a.py` is 3. ",
        "\n",
        "\r\n",
        "\n\n",
        "- ",
        "> ",
        "1. ",
        "```\n",
        "    ",
        "# ",
        "| a | `b` |\n",
        "|---|---|\n",
        "**",
        "_",
    ]
    + [
        "[x `y`](http://a.b/c.d) ",
        "\\|",
        "🎉",
        "\0",
        "\t",
        "<div>",
        "===\n",
        "---\n",
        "e.g. ",
        "Is it? ",
        "\u2028",
        "~~~\n",
        "[^1]",
        "[^1]: ",
        "[!NOTE]\n",
    ]
)


@settings(max_examples=examples(300))
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_spans_slice_back_to_the_text(text: str) -> None:
    """In order, without overlap, not empty, and each the very words that stand there."""
    past = 0
    for one in statements(text):
        assert past <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == one.text
        assert one.text == one.text.strip()
        past = one.end


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("`a.py` is 3.[^1] `b.py` is 4.[^b-2]\n\n[^1]: `c.py` is 5.", ["`a.py` is 3.", "`b.py` is 4.", "`c.py` is 5."]),
        ("[^1]: `a.py` is 3.\n[^2]: `b.py` is 4.", ["`a.py` is 3.", "`b.py` is 4."]),
        ("> [!NOTE]\n> `a.py` is 3.\n> `b.py` is 4.", ["`a.py` is 3.", "`b.py` is 4."]),
        ("`a.py`[^1] is 3.", ["`a.py`[^1] is 3."]),
        ("`a.py` is 3.[^not so]", ["`a.py` is 3.[^not so]"]),
        ("`x[^1]` in `a.py` is 3.", ["`x[^1]` in `a.py` is 3."]),
    ],
)
def test_numbers_of_footnotes_and_heads_of_alerts_belong_to_no_statement(markdown: str, wanted: list[str]) -> None:
    """At a sentence's ends; what stands within stays in it, and so does what is no footnote's number."""
    assert texts(markdown) == wanted


def test_blocks_of_every_kind_give_their_sentences() -> None:
    """Paragraphs, list items, alerts and cells do; headings, code, quotations and HTML do not."""
    markdown = """# `A` is 1

`B` is 2. `C` is
3, e.g. here.

Setext `D` is 4
===============

- `E` is 5
  - [x] `F` is 6

> `G` is 70, and
> more.

> [!NOTE]
> `G` is 7, and
> more.

1. [`H`](h.py) is 8

| name | is |
| --- | --- |
| `I` | 9 |
| `J \\| K` is 10. | Yes. |

```
`L` is 11
```

    `M` is 12

<p>`N` is 13</p>
"""
    assert texts(markdown) == [
        "`B` is 2.",
        "`C` is\n3, e.g. here.",
        "`E` is 5",
        "`F` is 6",
        "`G` is 7, and\n> more.",
        "[`H`](h.py) is 8",
        "`I` | 9",
        "`J \\| K` is 10. | Yes.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "`MAX` is 3.",
        "`run()` calls `stop`.",
        "`MAX`: 1000",
        "The file a.py has 3 lines.",
        "Test files live in `tests/`.",
        "Call sites of `f` stand in `a.py`.",
        "Build artefacts go to `build/`.",
        "Commit `abc1234` was made by Ada on 2026-05-25.",
        "Test `test_a` fails.",
        "I added `retry` to `a.py`.",
        "There is no `x` in `a.py`.",
        "Next one in line is `y`, as `a.py` says.",
        "**Note:** `x` is 3.",
        "Note that `x` is 3.",
        "If `x` is None, `f` returns 3.",
        "Version 1.2.3 was released on 2026-05-25.",
        "parseDates is slow",
    ],
)
def test_what_states_something_is_a_statement(sentence: str) -> None:
    """It names something and says something of it."""
    assert states(sentence)
    assert texts(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "Is `MAX` 3?",
        "Would you like me to change `a.py`?",
        "I will change `a.py`.",
        "I'll change `a.py` to 3.",
        "Let me look at `a.py`.",
        "Next I'd add `x` to `a.py`.",
        "Now, I'm going to run `make test`.",
        "We could raise `MAX` to 4.",
        "Run `make test`.",
        "Then run `make test`.",
        "- Use `x` instead of `y`",
        "Please see `a.py`.",
        "The fix: change `foo` to `bar`.",
        "See also: `b.py` for more.",
        "Make sure that `x` is 3.",
        "You can set `x` to 3.",
        "If you want `x`, set `y` to 3.",
        "Hi there!",
        "Great, thanks!",
        "Done.",
        "`a.py`",
        "[`a.py`](a.py)",
        "Here is what `a.py` says:",
        "This is nice.",
        "",
        "`x` is 3. " + "a" * 2000,
    ],
)
def test_questions_plans_and_instructions_are_none(sentence: str) -> None:
    """Neither is what names nothing, a bare name, or what is too long to be a sentence."""
    assert not states(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "All tests pass.",
        "All 12 unit tests pass now.",
        "Lint is clean.",
        "38 passed",
        "3 failed, 38 passed",
        "Tests: 38 passed.",
        "The test suite still passes.",
        "mypy reports no issues.",
        "No lint errors.",
        "The build succeeded.",
        "CI is green.",
        "It compiles.",
        "The command exited with status 1.",
        "Great, all tests pass!",
        "Done: all tests pass.",
        "Two tests are failing.",
        "I fixed the bug and all tests pass.",
        "Added tests.",
        "Added a retry to the client.",
        "Renamed the helper to something clearer.",
        "I've removed the old cache.",
        "I also updated the docs.",
        "The cap was raised.",
        "The old helper has been removed.",
        "Nothing else changed.",
        "Only the docs changed.",
        "`limits.py` — fixed",
        "**Fixed the parser.**",
    ],
)
def test_what_a_run_gave_and_what_was_changed_is_a_statement_without_a_name(sentence: str) -> None:
    assert states(sentence)
    assert texts(sentence) == [sentence.strip("*")]


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll add tests.",
        "All tests should pass now.",
        "If all tests pass, merge it.",
        "Once the build is green, deploy.",
        "Make sure all tests pass.",
        "Let me know if the tests fail.",
        "Do the tests pass?",
        "Run the tests.",
        "The approach is clean.",
        "The code is clean and readable.",
        "The tests cover the parser.",
        "The tests would fail without it.",
        "The next step is to fix the parser.",
        "I looked at the file.",
        "A message that was added earlier is kept.",
        "Here is what I changed:",
        "Changes",
        "Added.",
    ],
)
def test_a_wish_a_guess_and_an_opinion_are_still_none(sentence: str) -> None:
    """The noise on real answers is small: 7 sentences more in 300 answers, and none of them wrong."""
    assert not states(sentence)


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("**All tests pass.** More.", ["All tests pass."]),
        ("**All tests pass**", ["All tests pass"]),
        ("**`a` is 1. `b` is 2.** `c` is 3.", ["`a` is 1.", "`b` is 2.", "`c` is 3."]),
        ("*`a` is 1.*", ["`a` is 1."]),
        ("~~`a` is 1.~~", ["`a` is 1."]),
        ("- [ ] **`a` is 1.**", ["`a` is 1."]),
        ("**Cap:** `a` is 1.", ["**Cap:** `a` is 1."]),
        ("**`a`** is 1.", ["**`a`** is 1."]),
        ("`a` is **1**", ["`a` is **1**"]),
        ("**`a`** is **1**", ["**`a`** is **1**"]),
        ("__init__ sets x_y.", ["__init__ sets x_y."]),
        ("**kwargs goes to f_x.", ["**kwargs goes to f_x."]),
    ],
)
def test_marks_around_a_statement_are_no_part_of_it(markdown: str, wanted: list[str]) -> None:
    """Those within it stay: a span is one stretch of the source."""
    assert texts(markdown) == wanted


def test_a_row_is_one_statement_with_the_words_above_its_cells() -> None:
    """Also where a cell holds a sentence; a row that names nothing is none, unless it tells of a run."""
    markdown = (
        "| setting | | note |\n| --- | --- | --- |\n"
        "| `cap` | 5 | `f \\| g` takes it. Yes. |\n| none | so | |\n| tests | pass | |"
    )
    assert [(one.text, one.row) for one in statements(markdown)] == [
        ("`cap` | 5 | `f \\| g` takes it. Yes.", "setting: `cap`; 5; note: `f | g` takes it. Yes."),
        ("tests | pass", "setting: tests; pass"),
    ]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (
            "`a` is 1. [substrate.grep; path=a.py; check=equals(a,%201)] It is fine.",
            [("`a` is 1.", ["equals(a, 1)"], ["substrate.grep"])],
        ),
        ("It is fine.[^1]\n\n[^1]: equals(a, 1)", [("It is fine.", ["equals(a, 1)"], [])]),
        ("It is fine. [unverified-inference]", [("It is fine.", [], ["unverified-inference"])]),
        (
            '- It is *fine*.\n\n```checks\n[{"say": "It is fine", "checks": ["f(a)"]}]\n```',
            [("It is *fine*.", ["f(a)"], [])],
        ),
        ("| a | b |\n|---|---|\n| x | y |[^1]\n\n[^1]: f(a)", [("x | y", ["f(a)"], [])]),
        ("| a | b |\n|---|---|\n| x | y[^1] |\n\n[^1]: f(a)", [("x | y", ["f(a)"], [])]),
        (
            '| a | b |\n|---|---|\n| x | y |\n\n```checks\n[{"say": "a: x; b: y", "checks": ["f(a)"]}]\n```',
            [("x | y", ["f(a)"], [])],
        ),
        ("**It is fine.**[^1]\n\n[^1]: f(a)", [("It is fine.", ["f(a)"], [])]),
        ('It is. It is.\n\n```checks\n[{"say": "It is.", "checks": ["f(a)"]}]\n```', [("It is.", ["f(a)"], [])] * 2),
    ],
)
def test_what_its_author_annotated_is_a_statement(answer: str, wanted: list[tuple[str, list[str], list[str]]]) -> None:
    """Whatever it says, with what it was given; nothing of that stays in the text."""
    read = read_answer(answer)
    found = [
        (one.text, list(one.checks), [each.substrate_class for each in one.annotations])
        for one in read.found
        if one.checks or one.annotations
    ]
    assert found == wanted
    assert read.left_out == []
    assert "f(a)" not in read.text
    assert "substrate" not in read.text
    assert all(read.text[one.start : one.end] == one.text for one in read.found)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("# Title[^1]\n\n`a` is 1.\n\n[^1]: f(a)", "1 annotations stand behind no sentence; they are left out."),
        ("`a` is 1.\n\n<p>b</p> [substrate.grep]", "1 annotations stand behind no sentence; they are left out."),
        ("> `a` is 1.\n\nSo. [substrate.grep]\n\n> b [substrate.grep]", ""),
        (
            '> It is 1.\n\n```checks\n[{"say": "It is 1.", "checks": ["f(a)"]}]\n```',
            "1 entry of a block of checks match no statement of the answer; the first says «It is 1.».",
        ),
        ("<think>\n`a` is 1. [substrate.grep]\n</think>\n\n`b` is 2.", ""),
    ],
)
def test_what_annotates_no_sentence_of_the_author_is_told(answer: str, told: str) -> None:
    """Headings, HTML, quotations and what a model thought are none of its statements."""
    assert read_answer(answer).left_out == ([told] if told else [])


def test_a_statement_has_so_many_checks_and_places() -> None:
    """What is beyond is left out, and told once."""
    notes = "".join(f"[^{number}]: f(a{number})\n" for number in range(MAX_CHECKS + 5))
    marks = "".join(f"[^{number}]" for number in range(MAX_CHECKS + 5)) + " [substrate.grep]" * (MOST_DECLARED + 2)
    read = read_answer(f"It is.{marks} [substrate.grep; check=f({'x' * 3000})]\n\n{notes}")
    (one,) = read.found
    assert (len(one.checks), len(one.annotations)) == (MAX_CHECKS, MOST_DECLARED)
    (told,) = read.left_out
    assert told.startswith("9 annotations are left out")


def test_what_many_statements_share_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A footnote of many checks, referred to many times, makes no more of a short answer than the bound."""
    monkeypatch.setattr(answer_statements, "MAX_SHARED", 10_000)
    note = "; ".join(f"f({number:04})" for number in range(4_000))
    read = read_answer("It is.[^1] " * 1_000 + f"\n\n[^1]: {note}")
    assert sum(len(check) for one in read.found for check in one.checks) <= 10_000
    assert "an answer has 10000 characters of checks" in read.left_out[-1]


def test_code_and_links_end_no_sentence() -> None:
    """A full stop in them is theirs; emphasis begins a sentence."""
    markdown = "See is `a. B` for `x`. **Bold `y`.** `z` is in [a B](http://c.d/E.%20F). End is `w`."
    assert texts(markdown) == [
        "See is `a. B` for `x`.",
        "Bold `y`.",
        "`z` is in [a B](http://c.d/E.%20F).",
        "End is `w`.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        'The page says "It is `a`. It was." and more.',
        "The page says «It is `a`. It was.» and more.",
        "It is in [the page. It is long](http://a.b/c) for `a`.",
        "It is in `a. B` and ``c. D``.",
    ],
)
def test_no_sentence_ends_in_a_quotation_or_a_link(sentence: str) -> None:
    """One that closes with it does."""
    assert texts(sentence) == [sentence]
    assert texts(f'{sentence} He said "`b` is so." `c` is 3.') == [sentence, 'He said "`b` is so."', "`c` is 3."]


HOSTILE = {
    "quotations": "> " * 50_000,
    "lists": "- " * 50_000 + "\n",
    "deep": "".join(" " * (2 * depth) + "- `a` is 3\n" for depth in range(300)),
    "brackets": "[" * 100_000,
    "destinations": "[a](b" * 30_000,
    "references": '[a]: b "\n' * 20_000,
    "backticks": "".join("`" * length + " " for length in range(500)),
    "stars": "*a _b " * 20_000,
    "bars": "|" * 50_000 + "\n" + "|-" * 25_000,
    "lazy": ">" * 30 + "a\n" + "b\n" * 30_000,
    "blank": "\n" * 100_000,
    "comments": "<!-- " * 30_000,
    "dots": ". " * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_is_read_with_bounded_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser sees no more lines and no deeper nesting than the bounds say, and what is masked is linear."""
    masked = 0
    plain = markdown_blocks.masked

    def counting(text: str) -> str:
        nonlocal masked
        masked += len(text)
        return plain(text)

    monkeypatch.setattr(markdown_blocks, "masked", counting)
    text = HOSTILE[name]
    statements(text)
    assert masked <= len(text)


def test_what_is_beyond_the_bounds_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, characters and nesting are bounded; what stands before the bound is read."""
    line = "`a` is 3.\n\n"
    monkeypatch.setattr(markdown_blocks, "MAX_LINES", 6)
    assert len(texts(line * 10)) == 3
    monkeypatch.setattr(markdown_blocks, "MAX_TEXT", 14)
    assert len(texts(line * 10)) == 1
    assert texts("> " * (markdown_blocks.MAX_NESTING + 1) + "`a` is 3.") == []
    assert texts("`a` is 3.\n\n" + "> " * 40 + "`b` is 3.")[:1] == ["`a` is 3."]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("<think>Perhaps.\n\n`A` is 1.\n</think>\n\n`B` is 2.", ["`B` is 2."]),
        ("`A` is 1.\n\n</think>\n\n`B` is 2.", ["`A` is 1.", "`B` is 2."]),  # never opened: all is said
        ("`A` is 1.\n\n<thinking>\n`C` is 3.\n</thinking>\n\n`B` is 2.", ["`A` is 1.", "`B` is 2."]),
        ("`A` is 1.\n\n<think>\n\n`B` is 2.", ["`A` is 1.", "`B` is 2."]),  # never closed: all is said
        ("The tag `<think>` and `</think>` are written.", ["The tag `<think>` and `</think>` are written."]),
        ("You wrote:\n\n> `A` is 1.\n\n`A` is 2.", ["`A` is 2."]),
    ],
)
def test_reasoning_and_quotations_are_not_the_agents_words(answer: str, wanted: list[str]) -> None:
    assert texts(answer) == wanted


def test_many_tags_that_are_never_closed_are_read_in_linear_time() -> None:
    answer = "<think>\n" * 60_000 + "</reasoning>"
    assert markdown_blocks.without_reasoning(answer) == answer
