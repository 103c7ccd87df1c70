"""Which sentences state a result of a kind of command, and of what; what plans, limits or denies states none."""

from __future__ import annotations

import pytest

from sluice.record.session import MAX_SENTENCE, Result, results_of

ELSEWHERE = "…"


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("All tests pass.", [Result("test")]),
        ("✅ All tests passing", [Result("test")]),
        ("**All tests pass.**", [Result("test")]),
        ("The full test suite is green.", [Result("test")]),
        ("No tests failed.", [Result("test")]),
        ("Lint is clean.", [Result("lint")]),
        ("ruff reports no errors.", [Result("lint")]),
        ("No lint errors.", [Result("lint")]),
        ("the build succeeds", [Result("build")]),
        ("Build succeeded with 0 errors.", [Result("build")]),
        ("Everything compiles cleanly.", [Result("build")]),
        ("Formatting is clean.", [Result("format")]),
        ("mypy is clean.", [Result("type-check")]),
        ("Type checking passes with no errors.", [Result("type-check")]),
        ("All tests and lint pass.", [Result("test"), Result("lint")]),
        # numbers
        ("38 passed", [Result("test", (), 38)]),
        ("38/38 tests passed.", [Result("test")]),
        ("37/38 tests passed.", [Result("test", (ELSEWHERE,), 37)]),
        ("3 tests pass.", [Result("test", (), 3)]),
        # what they speak of
        ("All 4 tests in `tests/test_limits.py` pass.", [Result("test", ("tests/test_limits.py",))]),
        ("Every test in `tests/a` and `tests/b` passes.", [Result("test", ("tests/a", "tests/b"))]),
        ("`test_retry` passes.", [Result("test", ("test_retry",))]),
        ("The new tests pass.", [Result("test", (ELSEWHERE,))]),
        ("The tests of `retry` pass.", [Result("test", (ELSEWHERE,))]),
        # commands
        ("`pytest -q tests/a` passes.", [Result("test", ("tests/a",))]),
        ("I ran `pytest -q tests/` and it exited with 0.", [Result("test")]),
        ("`cargo clippy` is clean.", [Result("lint")]),
        ("`npm test` passes.", [Result("test")]),
    ],
)
def test_results(sentence: str, wanted: list[Result]) -> None:
    """Kind, scope and number."""
    assert results_of(sentence) == wanted


@pytest.mark.parametrize(
    "sentence",
    [
        "Tests should pass.",
        "All tests will pass once you install it.",
        "If the tests pass, merge it.",
        "All tests pass except one.",
        "All tests pass, but lint fails.",
        "Most tests pass.",
        "38 passed, 2 failed",
        "The tests don't pass.",
        "Not all tests pass.",
        "Tests passed before the change.",
        "All tests pass in CI.",
        "The previously failing test now passes.",
        "Do the tests pass?",
        "To verify that all tests pass:",
        "Run `pytest` to check that all tests pass.",
        "The function passes the value.",
        "The test passes the value to `f`.",
        "`retry` passes `call` on.",
        "Added 3 tests.",
        "I tried to get the tests to pass.",
        "All tests pass. " * (MAX_SENTENCE // 16 + 1),
    ],
)
def test_other_sentences(sentence: str) -> None:
    """They state no result."""
    assert results_of(sentence) == []
