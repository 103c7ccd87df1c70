"""Which checks an assertion has: declared, claimed, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, canonical, parse_check
from sluice.streams.judging.claim_forms import FORMS_VERSION, Derived, checks_of

NONE = Derived((), False, "none")


@pytest.mark.parametrize(
    ("text", "kind", "declared", "derived"),
    [
        ("`f` calls `g`.", "assertion", ["calls( f,g)", "no"], Derived(("calls( f,g)", "no"), True, "declared")),
        ("`f` calls `g`.", "denial", ["x"], Derived(("x",), True, "declared")),
        ("`f` calls `g`.", "refusal", ["calls(f, g)"], NONE),
        ("`f` calls `g`.", "assertion", None, Derived(("calls(f, g)",), False, "claim")),
        ("`f` calls `g`.", "assertion", [], Derived(("calls(f, g)",), False, "claim")),
        ("In `a.py`, `f` does not call `g`.", "denial", None, Derived(("not calls(f, g, path=a.py)",), False, "claim")),
        ("The retry limit is far too high.", "assertion", None, NONE),
        ("`f` calls `g` every single time.", "assertion", None, NONE),
        ("Commit abc1234 by Ada Lovelace touched `a.py`.", "assertion", None, NONE),
        (f"`a.py` contains `{'x' * 2000}`.", "assertion", None, NONE),
    ],
)
def test_an_assertion_has_its_own_checks_or_one_of_a_form(
    text: str, kind: str, declared: list[str] | None, derived: Derived
):
    """Never that its sentence stands somewhere, and of a form only one check, since evidence is counted by it."""
    assert checks_of(text, kind, declared) == derived  # type: ignore[arg-type]


def test_the_forms_have_a_version():
    """What a bind lane's ledger names."""
    assert FORMS_VERSION >= 1


@given(st.text(max_size=200), st.sampled_from(["assertion", "denial", "refusal"]))
def test_what_is_derived_is_one_canonical_check_or_none(text: str, kind: str):
    """Well formed, and the same every time."""
    found = checks_of(text, kind, None)  # type: ignore[arg-type]
    assert found == checks_of(text, kind, [])  # type: ignore[arg-type]
    assert (len(found.checks), found.declared) == (0 if found.form == "none" else 1, False)
    for one in found.checks:
        check = parse_check(one)
        assert isinstance(check, Check)
        assert canonical(check) == one
