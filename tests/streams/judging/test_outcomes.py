"""From what checks came to, to the outcome of a look."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Held, parse_check
from sluice.streams.judging.claim_forms import Derived, checks_of
from sluice.streams.judging.coverage import cover
from sluice.streams.judging.verify import checks_of_assertion, judged

HOLDS, FALSE, OPEN = Held(True), Held(False, "differs"), Held(None, "ambiguous")
CHANGED, DENIED = Held(False, "changed-since"), Held(None, "not-found")


@pytest.mark.parametrize(
    ("sentence", "checks", "helds", "outcome", "reason"),
    [
        ("`f` calls `g`.", ["calls(f, g)"], [HOLDS], "corroborates", None),
        ("`f` calls `g`.", ["calls(f, g)"], [FALSE], "contradicts", None),
        ("`f` calls `g`.", ["calls(f, g)"], [CHANGED], "absent", "changed-since"),
        ("`f` calls `g`.", ["calls(f, g)"], [OPEN], "absent", "check-undecided"),
        ("`f` calls `g`.", ["calls(f, g)"], [DENIED], "absent", "check-fails"),
        ("It is nice.", ["calls(f, g)"], [HOLDS], "absent", "check-not-bound"),
        ("It is nice.", ["calls(f, g)"], [FALSE], "contradicts", None),
        # opposed: neither borne out nor contradicted by itself
        ("`f` never calls `g`.", ["calls(f, g)"], [HOLDS], "absent", "check-not-bound"),
        ("`f` never calls `g`.", ["calls(f, g)"], [FALSE], "absent", "check-not-bound"),
        ("`f` never calls `g`.", ["calls(f, g)"], [CHANGED], "absent", "check-not-bound"),
        ("I removed `f`.", ["defines(f)"], [HOLDS], "absent", "check-not-bound"),
        ("`f` calls `g` but not `h`.", ["calls(f, g)", "calls(f, h)"], [HOLDS, FALSE], "absent", "check-not-bound"),
        ("`f` calls `g` but not `h`.", ["calls(f, g)", "calls(f, h)"], [FALSE, FALSE], "contradicts", None),
        ("`f` calls `g`.", ["no", "calls(f, g)"], [HOLDS, HOLDS], "corroborates", None),
    ],
)
def test_the_outcome_of_a_look(sentence: str, checks: list[str], helds: list[Held], outcome: str, reason: str | None):
    asked = checks_of_assertion("assertion", Derived(tuple(checks), True, "declared"))
    found = judged(asked, helds, cover(sentence, asked.checks), words_present=False)
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("sentence", "declared", "held", "outcome"),
    [
        ("`f` does not call `g`.", ["not calls(f, g)"], HOLDS, "corroborates"),
        ("There is no `x` in `a.py`.", ["absent(x, path=a.py)"], HOLDS, "corroborates"),
        ("`f` calls `g`.", ["calls(f, g)"], HOLDS, "absent"),
        ("`f` calls `g`.", ["calls(f, g)"], FALSE, "contradicts"),
        ("`f` calls `g`.", None, FALSE, "absent"),
    ],
)
def test_only_what_says_that_something_is_not_so_supports_a_denial(
    sentence: str, declared: list[str] | None, held: Held, outcome: str
):
    asked = checks_of_assertion("denial", checks_of(sentence, "denial", declared))
    assert judged(asked, [held], cover(sentence, asked.checks), words_present=True).outcome == outcome


@pytest.mark.parametrize(("present", "outcome"), [(True, "terms-present"), (False, "absent")])
def test_without_checks_words_never_count(present: bool, outcome: str):
    asked = checks_of_assertion("assertion", checks_of("It is far too large.", "assertion", None))
    assert judged(asked, [], cover("It is far too large.", []), present).outcome == outcome


def test_a_check_that_cannot_be_read_is_undecided():
    asked = checks_of_assertion("assertion", Derived(("nonsense",), True, "declared"))
    found = judged(asked, [HOLDS], cover("`f`", [parse_check("nonsense")]), words_present=False)
    assert found.helds == (Held(None, "unknown-check"),)
