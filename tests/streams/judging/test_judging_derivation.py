"""Which checks an assertion has: declared, claimed, its sentence, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, canonical, parse_check
from sluice.streams.judging.derivation import Derived, checks_of

SENTENCE = "The retry limit is far too high."


def test_declared_checks_go_before_all_others():
    """They are taken as they are given, whether anybody can read them or not."""
    declared = ["calls( f,g)", "nonsense", "calls(f, g)"]
    assert checks_of("`f` calls `g`.", "assertion", declared) == Derived(tuple(declared), True, "declared")
    assert checks_of("`f` calls `g`.", "denial", ["x"]) == Derived(("x",), True, "declared")


@pytest.mark.parametrize("declared", [None, [], ()])
def test_none_declared_is_none_declared(declared: list[str] | None):
    """An empty list says no more than a missing one."""
    assert checks_of("`f` calls `g`.", "assertion", declared) == Derived(("calls(f, g)",), False, "claim")


def test_a_claim_form_goes_before_the_sentence():
    """Also on a denial, with the polarity of the sentence."""
    assert checks_of("In `a.py`, `f` does not call `g`.", "denial", None).checks == ("not calls(f, g, path=a.py)",)
    assert checks_of("In `a.py`, `f` calls `g`.", "denial", None).form == "claim"


def test_a_sentence_of_five_words_says_that_it_stands_somewhere():
    """Without its final punctuation, white space as one space; a shorter one says too little."""
    assert checks_of(SENTENCE, "assertion", None) == Derived(
        ('contains("The retry limit is far too high")',), False, "sentence"
    )
    assert checks_of("  One\n two\tthree four  five ?! ", "assertion", None).checks == (
        'contains("One two three four five")',
    )
    assert checks_of("One two three four.", "assertion", None) == Derived((), False, "none")
    assert checks_of("One two three four .", "assertion", None).form == "sentence"  # five pieces between white space


def test_a_denial_does_not_say_that_its_sentence_stands_somewhere():
    """It would be borne out by the words that it denies."""
    assert checks_of(SENTENCE, "denial", None) == Derived((), False, "none")


def test_a_refusal_has_no_checks():
    """It states nothing, whatever it declares."""
    assert checks_of("`f` calls `g`.", "refusal", ["calls(f, g)"]) == Derived((), False, "none")


@pytest.mark.parametrize(
    "text",
    [
        "a b c d \x00",
        "a b c d \ud800",
        "a b c d " + "e" * 2000,
        'a b c d "' + '"' * 1000,
        ". . . . .",
    ],
)
def test_what_is_no_check_is_not_derived(text: str):
    """Control characters, half a character, a check of more than 2,000 characters, nothing but punctuation."""
    assert checks_of(text, "assertion", None) == Derived((), False, "none")


def test_a_long_sentence_is_derived_up_to_the_bound():
    """`contains("…")` of exactly 2,000 characters is a check, one of 2,001 is none."""
    fits = "a b c d " + "e" * (2000 - len('contains("a b c d ")'))
    assert len(checks_of(fits, "assertion", None).checks[0]) == 2000
    assert checks_of(fits + "e", "assertion", None).checks == ()


@given(st.text(max_size=200), st.sampled_from(["assertion", "denial", "refusal"]))
def test_what_is_derived_is_one_canonical_check_or_none(text: str, kind: str):
    """Well formed, the same every time, and of the form that it says."""
    found = checks_of(text, kind, None)  # type: ignore[arg-type]
    assert found == checks_of(text, kind, [])  # type: ignore[arg-type]
    assert (len(found.checks), found.declared) == (0 if found.form == "none" else 1, False)
    for one in found.checks:
        check = parse_check(one)
        assert isinstance(check, Check)
        assert canonical(check) == one
        assert found.form == "claim" or check.name == "contains"
