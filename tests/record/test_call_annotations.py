"""Which calls bear on a sentence, and what is quoted of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.records import Annotation
from sluice.record import annotations_of, proposals
from sluice.record.call_annotations import (
    MOST_ANNOTATIONS,
    MOST_MADE_BYTES,
    Annotator,
    CallText,
    IdentityCache,
    LineIndex,
)
from sluice.record.looks import GREP, LOG, READ, Commit, Line, Look, LookResult

SOURCE = "LIMIT = 42\n\n\ndef run(job):\n    stop(job)\n    return 3\n"


def read(path: str = "a.py", text: str = SOURCE, first: int = 1, at: int | None = None) -> LookResult:
    rows = text.removesuffix("\n").split("\n")
    look = Look(READ, {"path": path, "lines": [first, first + len(rows) - 1]})
    return LookResult(look, tuple(Line(path, number, row) for number, row in enumerate(rows, first)), at=at)


def grep(pattern: str, *found: tuple[str, int, str], **more: Any) -> LookResult:
    return LookResult(Look(GREP, {"pattern": pattern, **more}, "matches"), tuple(Line(*one) for one in found))


def log(path: str, *commits: Commit) -> LookResult:
    return LookResult(Look(LOG, {"path": path}, "log"), (), commits)


def places(noted: list[Annotation]) -> list[tuple[str, dict[str, Any]]]:
    found = [(one.substrate_class, dict(one.locator or {})) for one in noted]
    for _, locator in found:
        locator.pop("quote", None)
    return found


def quotes(noted: list[Annotation]) -> list[object]:
    return [(one.locator or {}).get("quote") for one in noted]


def note(text: str, *calls: LookResult) -> list[Annotation]:
    """What calls give a sentence, in a checkout whose tracked files hold what came back of them."""
    files = {
        path: "\n".join(line.text for line in one.lines if line.path == path) for one in calls for path in one.paths
    }
    return annotations_of(text, calls, lambda path: files.get(path, "").encode("utf-8", "replace"))


def test_calls_with_the_sentences_terms_bear_on_it() -> None:
    """Others do not, whatever the text says of them."""
    noted = note("`LIMIT` is 42, as `b.py` says.", read(), read("b.py", "x = 1\n"), read("c.py", "nothing\n"))
    assert (READ, {"path": "a.py", "lines": [1, 6]}) in places(noted)
    assert all(locator["path"] != "c.py" for _, locator in places(noted))
    assert quotes(noted)[0] == "LIMIT = 42"


def test_words_of_ascii_are_those_of_any_text() -> None:
    """A text of ASCII is cut into words by each character; beside another character it gives the same words."""
    text = "".join(f"Ab{chr(number)}cD " for number in range(128)) + "x_1 7.5"
    plain, other = CallText(read(text=text)).words, CallText(read(text=f"{text} é")).words
    assert other - plain == {"é"}
    assert plain <= other
    assert {"ab", "cd", "abacd", "ab7cd", "x", "1", "7", "5"} <= plain


def test_quotes_hold_no_more_files_than_there_is_room_for() -> None:
    """An agent that reads one large file after the other: those that the checkout has dropped are not held here."""
    annotator = Annotator(lambda path: b"LIMIT = 42\n" + bytes(1_000_000))
    calls = [CallText(read(f"{number}.py", "LIMIT = 42\n")) for number in range(40)]
    tracemalloc.start()
    for one in calls:
        assert quotes(annotator.note("`LIMIT` is 42.", [one])) == ["LIMIT = 42"]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < 2 * MOST_MADE_BYTES


@pytest.mark.parametrize("text", ["`nothing_here` is 7.", "The weather is nice.", ""])
def test_without_terms_there_is_no_annotation(text: str) -> None:
    """A sentence of which nobody looked anything up is unannotated."""
    assert note(text, read()) == []


def test_each_class_comes_once_before_any_comes_twice() -> None:
    """Only distinct classes count; there are five at most."""
    reads = [read(f"f{number}.py", SOURCE) for number in range(8)]
    noted = note("`LIMIT` is 42.", *reads, grep("LIMIT", ("a.py", 1, "LIMIT = 42")), read())
    classes = [name for name, _ in places(noted)]
    assert len(classes) == MOST_ANNOTATIONS
    assert GREP in classes


def test_a_search_through_many_files_becomes_one_in_the_file_that_fits() -> None:
    """What came back of the others says nothing of this sentence."""
    found = grep("LIMIT", ("x.py", 3, "# LIMIT"), ("src/a.py", 1, "LIMIT = 42"), ("y.py", 9, "LIMIT"))
    assert places(note("`LIMIT` is 42 in `a.py`.", found)) == [(GREP, {"pattern": "LIMIT", "path": "src/a.py"})]


def test_of_two_calls_alike_the_later_one_is_first() -> None:
    """It saw the newer state; the same place is named once."""
    noted = note("`LIMIT` is 42.", read(at=1_000), read(at=2_000))
    assert [one.ts for one in noted] == ["1970-01-01T00:00:02Z"]


SECRETS = [
    "PASSWORD = 'hunter2hunter2'",
    'api_key: "abcdefgh"',
    "-----BEGIN RSA PRIVATE KEY----- KEYS",
    "AKIAABCDEFGHIJKLMNOP of KEYS",
    "token=ghp_abcdefghijklmnopqrstuvwxyz",
    "Authorization: Bearer abcdefgh",
    "url = 'https://user:hunter2@example.org/KEYS'",
    "KEYS = 'Zk3jX9aQ7bL2mN8pR4tV6wY1cD5eF0gH'",
]


@pytest.mark.parametrize("line", SECRETS)
def test_secrets_are_not_quoted(line: str) -> None:
    """Whatever the sentence names of the line."""
    words = " and ".join(f"`{word}`" for word in line.replace("'", " ").replace('"', " ").split()[:2])
    for path in ("a.py", "b.yaml"):
        noted = note(f"The file {path} has {words} in it, I found.", read(path, f"x\n{line}\n"))
        assert all(quote is None or line not in str(quote) for quote in quotes(noted))


@pytest.mark.parametrize(
    "path", [".env", "conf/.env.local", "id_rsa", "a/server.pem", "my_secrets.yaml", ".aws/config"]
)
def test_files_of_secrets_are_not_quoted(path: str) -> None:
    """However harmless a line looks."""
    noted = note(f"The file `{path}` has `HOME_DIR` and `OTHER`.", read(path, "HOME_DIR OTHER\n"))
    assert quotes(noted) == [None]


@pytest.mark.parametrize("line", ["LIMIT \x1b[31m= 42", "LIMIT \u202e= 42", "LIMIT \ufffd = 42", "LIMIT\x00 = 42"])
def test_lines_with_control_characters_are_not_quoted(line: str) -> None:
    """They could say something else to a person than to a machine."""
    assert quotes(note("`LIMIT` is 42.", read(text=line + "\n"))) == [None]


def test_a_quote_is_bounded() -> None:
    """A minified file is one line."""
    (quote,) = quotes(note("`LIMIT` is 42.", read(text="LIMIT = 42; " + "x " * 5000)))
    assert isinstance(quote, str)
    assert len(quote) <= 200


@pytest.mark.parametrize(
    ("text", "listing", "wanted"),
    [
        (
            "`LIMIT` in `codecs/a.py` is 42.",
            ["codecs/a.py", "b.py"],
            [
                (READ, {"path": "codecs/a.py"}),
                (GREP, {"pattern": "LIMIT", "path": "codecs/a.py"}),
                (LOG, {"path": "codecs/a.py"}),
            ],
        ),
        (
            "`LIMIT` is 42 (see a.py:3).",
            ["codecs/a.py"],
            [
                (READ, {"path": "codecs/a.py"}),
                (GREP, {"pattern": "LIMIT", "path": "codecs/a.py"}),
                (LOG, {"path": "codecs/a.py"}),
            ],
        ),
        ("`LIMIT` is 42 in `a.py`.", ["x/a.py", "y/a.py"], [(GREP, {"pattern": "LIMIT"})]),
        ("`run()` calls `stop`.", ["a.py"], [(GREP, {"pattern": "stop"}), (GREP, {"pattern": "run"})]),
        ("It is nice.", ["a.py"], []),
        ("`src/b.py:3` exists.", ["a.py"], [(READ, {"path": "src/b.py"}), (LOG, {"path": "src/b.py"})]),
        ("`../b.py` exists.", ["a.py"], []),
        ("`/etc/b.py` exists.", ["a.py"], []),
        ("`~/b.py` exists.", ["a.py"], []),
        ("`src/a.py` exists.", ["lib/a.py"], []),
    ],
)
def test_a_plain_answer_gets_proposals(
    text: str, listing: Sequence[str], wanted: list[tuple[str, dict[str, Any]]]
) -> None:
    """From the paths that are tracked, or of which nothing like them is; and the symbols that are named."""
    assert places(proposals(text, listing)) == wanted


def test_an_annotator_says_the_same_however_many_turns_it_has_seen() -> None:
    """Which calls have a word is kept from turn to turn: while calls come, while the oldest go, and of another session
    it says what a new annotator says."""
    every = [CallText(read(f"part{one}.py", f"cap = {one}\nlimit_{one} = cap\n")) for one in range(8)]
    used = Annotator()
    sentences = ["`cap` is 3.", "`limit_5` is `cap`.", "`limit_2` and `cap` are set."]
    spans = [(0, 2), (0, 5), (0, 8), (3, 8), (6, 8), (0, 4), (4, 4), (1, 7)]
    for first, end in spans:
        for sentence in sentences:
            calls = tuple(every[first:end])
            assert used.note(sentence, calls) == Annotator().note(sentence, calls), (first, end, sentence)
    assert used.note("`limit_5` is `cap`.", tuple(every))[0].locator == {
        "path": "part5.py",
        "lines": [1, 2],
    }


def test_it_is_made_once_of_each_object_also_of_equal_ones():
    """Objects are told apart by being themselves: nothing is compared."""
    made: list[list[int]] = []

    def make(one: list[int]) -> int:
        made.append(one)
        return len(made)

    once = IdentityCache(make, 2)
    first, second = [1], [1]
    assert [once.of(first), once.of(second), once.of(first)] == [1, 2, 1]
    assert made[0] is first
    assert made[1] is second


def test_no_more_is_kept_than_was_said_and_an_object_that_is_gone_lends_its_id_to_no_other():
    """Made for thousands of objects that live for a moment, it gives each its own."""
    once = IdentityCache(lambda one: one[0], 3)
    assert [once.of([number]) for number in range(1000)] == list(range(1000))


def test_what_is_kept_has_a_bound_of_its_size():
    """Large files one after the other are not all held; what is larger than the bound is held not at all."""
    made: list[bytes] = []

    def make(one: bytes) -> bytes:
        made.append(one)
        return one + b"!"

    once = IdentityCache(make, 64, len, 100)
    small, large, huge = bytes(40), bytes(61), bytes(101)
    assert [once.of(one) for one in (small, small, large, small, huge, huge)] == [
        one + b"!" for one in (small, small, large, small, huge, huge)
    ]
    assert list(map(len, made)) == [40, 61, 40, 101, 101]


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
