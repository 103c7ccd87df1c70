"""An answer quotes only what its context says [C §4]."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.errors import UsageError
from sluice.streams.grounded import CitationViolation, Grounded, prompt
from sluice.streams.grounded.citations import quoted_spans, verify
from sluice.streams.judging.prose_literals import quotes

CONTEXT = "The café said “yes” — twice. A second line… and `the_code()` of it; the dogs' bone."


def quoted(text: str) -> list[str]:
    return [text[start:end] for start, end in quoted_spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It says “one two”.", ["one two"]),
        ("Er sagt „eins zwei“.", ["eins zwei"]),
        ("Il dit « un deux ».", [" un deux "]),
        ("Er sagt »eins zwei«.", ["eins zwei"]),
        ("彼は「一つ」と『二つ』と言った。", ["一つ", "二つ"]),
        ('It says "one two".', ["one two"]),
        ("It says 'one two'.", ["one two"]),
        ("It says ‘one two’.", ["one two"]),
        ("It has `one_two` and ``a ` b``.", ["one_two", "a ` b"]),
        ("It's the dogs' bone, isn't it?", []),
        ("He says 'it isn't so', she doesn't.", ["it isn't so"]),
        ("Rock 'n' roll, and 5' by 6'.", []),
        ("“It has `code` in it”, 'and' `more`", ["It has `code` in it", "and", "more"]),
        ("Nothing at all.", []),
        ("An opening “ that nothing closes.", []),
    ],
)
def test_quotes_of_many_scripts_are_found(text: str, found: list[str]) -> None:
    """Outermost ones, without their marks; an apostrophe is no mark."""
    assert quoted(text) == found


@settings(deadline=None)
@given(st.text("ab '“”„«»「」\"`’\n", max_size=30))
def test_every_quote_that_the_lane_looks_at_is_looked_at(text: str) -> None:
    """It is one of the spans, or lies inside one: what passes here passes there."""
    spans = quoted_spans(text)

    assert all(
        any(start <= first and last <= end for start, end in spans)
        for first, last in quotes(text)
        if not overlaps(first, spans)
    )
    assert spans == sorted(spans)


def overlaps(first: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a quotation begins inside another that ends before it: marks that cross."""
    return any(start < first < end for start, end in spans)


@pytest.mark.parametrize(
    ("answer", "verbatim", "normalised"),
    [
        ("It says “A second line…”", True, True),
        ("It says “A second line...”", False, True),
        ("It says “A  second\nline”", False, True),
        ("It says “cafe\u0301”", False, True),
        ('It says «said "yes"»', False, True),
        ("It says «said ″yes‶»", False, True),
        ('It says “never said"', False, False),
        ("It says 'never said'", False, False),
        ("It says ❝never said❞", False, False),
        ("It says &quot;never said&quot;", False, False),
        ("It says `the_code()`", True, True),
        ("It says “a second line”", False, False),
        ("It says “A third line”", False, False),
        ("It quotes nothing.", True, True),
    ],
)
def test_verbatim_is_character_for_character(answer: str, verbatim: bool, normalised: bool) -> None:
    """The looser option lets white space, marks, the ellipsis and the Unicode form differ, and nothing else."""
    assert holds(answer, True) is verbatim
    assert holds(answer, "normalised") is normalised
    assert holds(answer, False)


def holds(answer: object, strictly: object, *contexts: str) -> bool:
    try:
        verify("p", "doc", answer, contexts or (CONTEXT,), strictly)  # type: ignore[arg-type]
    except CitationViolation:
        return False
    return True


def test_the_violation_names_the_first_quote_and_where_it_stands() -> None:
    """In code points of the answer, without its marks."""
    answer = "😀 It says “yes”, “no” and “never”."

    with pytest.raises(CitationViolation, match="'no' at 18-20") as raised:
        verify("summarise", "doc", answer, [CONTEXT], True)

    assert answer[slice(*raised.value.span)] == raised.value.quote == "no"
    assert (raised.value.prompt, raised.value.context) == ("summarise", "doc")


@pytest.mark.parametrize(("strictly", "cites"), [("normalized", "doc"), ("", "doc"), (1, "doc"), (True, ())])
def test_an_option_that_would_verify_nothing_is_refused(strictly: Any, cites: Any) -> None:
    """A slip of the pen, or no parameter to cite: when the prompt is declared, not when it misquotes."""
    with pytest.raises(UsageError, match="strictly"):

        @prompt(cites=cites, strictly=strictly)
        def answer(doc: str) -> Grounded[str]:
            return doc  # type: ignore[return-value]


def test_a_quote_stands_in_any_one_of_the_contexts() -> None:
    """Not half in one and half in the other."""
    assert holds("“one” “two”", True, "one", "two")
    assert not holds("“one two”", True, "one ", "two")
    assert not holds("“one”", True, "")


def test_every_text_inside_a_structured_answer_is_held_to_it() -> None:
    """Lists, dictionaries and structs; what JSON cannot hold quotes nothing."""

    class Found(msgspec.Struct):
        texts: list[str]

    assert holds({"a": ["“yes”"], "b": 1}, True)
    assert not holds({"a": [Found(["fine", "“no”"])]}, True)
    assert holds(object(), True)
