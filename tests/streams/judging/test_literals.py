"""Literals: which characters of a prose text are one thing, and of which form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.prose_literals import STOP_WORDS, UNIT_OF, UNITS, literals


def found(text: str) -> list[tuple[str, str]]:
    return [(one.form, one.text) for one in literals(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a_(b)?c=1#d.", [("url", "https://example.org/a_(b)?c=1#d")]),
        ("(at https://example.org/x)", [("url", "https://example.org/x")]),
        ("mail a.b@example.org now", [("email", "a.b@example.org")]),
        ("commit 3f2a9bc broke it", [("hash", "3f2a9bc")]),
        ("1234567 rows", [("number", "1234567 rows")]),
        ("id sha256:e3b0c442 is", [("hash", "sha256:e3b0c442")]),
        ("on 2026-05-25.", [("moment", "2026-05-25")]),
        ("on May 25, 2026 at 10:00 UTC", [("moment", "May 25, 2026 at 10:00 UTC")]),
        ("on the 25th of May 2026", [("moment", "25th of May 2026")]),
        ("in May 2026", [("moment", "May 2026")]),
        ("in 2026 it", [("moment", "2026")]),
        ("with 2026 rows", [("number", "2026 rows")]),
        ("at 2026-05-25T10:00:00.5+02:00,", [("moment", "2026-05-25T10:00:00.5+02:00")]),
        ("at 10:00:30 it", [("clock", "10:00:30")]),
        ("127.0.0.1:9092 and ::1", [("address", "127.0.0.1:9092"), ("address", "::1")]),
        ("kafka.example.org:9092", [("address", "kafka.example.org:9092")]),
        ("v1.2.0, 1.2.3-rc1", [("version", "v1.2.0"), ("version", "1.2.3-rc1")]),
        ("version 1.0 is", [("version", "1.0")]),
        ("in docs/guide.md and Makefile", [("path", "docs/guide.md"), ("path", "Makefile")]),
        ("./run and /etc/hosts", [("path", "./run"), ("path", "/etc/hosts")]),
        ("needs Node.js here", [("name", "Node.js")]),
        (
            "parse_time MAX_RETRIES parseTime times.parse",
            [("name", n) for n in ["parse_time", "MAX_RETRIES", "parseTime", "times.parse"]],
        ),
        ("call times.parse_time() or math.log()", [("name", "times.parse_time"), ("name", "math.log")]),
        ("UTF-8, sha256, GPT-4, k8s, JSON", [("name", n) for n in ("UTF-8", "sha256", "GPT-4", "k8s", "JSON")]),
        ("use --root or #123", [("flag", "--root"), ("flag", "#123")]),
        ("40 files, 30 seconds, 100ms", [("number", "40 files"), ("number", "30 seconds"), ("number", "100ms")]),
        ("-3, +4, 95%, $5, 1,000, 20_000", [("number", n) for n in ("-3", "+4", "95%", "$5", "1,000", "20_000")]),
        ("3.14 and 1e6 and 0x1F", [("number", "3.14"), ("number", "1e6"), ("number", "0x1F")]),
    ],
)
def test_each_form_is_recognised(text: str, expected: list[tuple[str, str]]):
    """A literal is taken whole, without the sentence's punctuation, in its own form."""
    assert found(text) == expected


@pytest.mark.parametrize("text", ["It is NOT so.", "e.g. this and/or that, he/she", "done. Next", "i.e. a.m.", ""])
def test_ordinary_prose_has_no_literals(text: str):
    """Shouted stop words, abbreviations and words joined by a slash are words of prose."""
    assert found(text) == []


_WORDS = (
    *("commit", "3f2a9bc", "sha256:e3b0c442", "a@b.org", "https://b.org/c", "2026-05-25", "May", "25,", "2026", "in"),
    *("10:00:30", "127.0.0.1", "::1", "v1.2", "version", "1.0", "a/b.py", "localhost:80", "--all", "#4", "f()", "3/4"),
    *("30", "ms", "x1", "deadbeef-0000-1111-2222-333344445555", "beef", "$HOME", "it"),
)


@given(st.text(max_size=80))
def test_literals_are_in_order_and_apart(text: str):
    """Whatever the text, each literal stands where it says, and none overlaps another."""
    past = 0
    for one in literals(text):
        assert past <= one.start < one.end
        assert text[one.start : one.end] == one.text
        past = one.end


@given(st.text("aeT159. :-/@#$_,'é٣", max_size=40) | st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join))
def test_what_stands_behind_a_text_adds_no_literal_to_it(text: str):
    """A form is not looked for where no mark of it stands: with every mark behind the text it has the same literals."""
    marks = "\0 9 : :// @ - # $ commit "
    assert literals(text) == [one for one in literals(text + marks) if one.end <= len(text)]


def test_every_spelling_of_a_unit_leads_to_one_unit():
    """The unit table is a partition: no spelling means two units."""
    assert sum(len(spellings) for spellings in UNITS.values()) == len(UNIT_OF)
    assert all(UNIT_OF[spelling] == name for name, spellings in UNITS.items() for spelling in spellings)


def test_stop_words_are_case_folded():
    """The list is compared with case-folded words, so it holds nothing else."""
    assert all(word == word.casefold() for word in STOP_WORDS)
