"""Errors are one sentence and an exit status; faults are data with a reason of the closed list."""

from __future__ import annotations

from hashlib import sha256
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import (
    DeadLetterReason,
    DoesNotHoldError,
    Fault,
    SluiceError,
    UnreachableError,
    UsageError,
    printable,
    schema_fault,
)


@pytest.mark.parametrize(
    ("error", "status"), [(SluiceError, 2), (UsageError, 2), (DoesNotHoldError, 1), (UnreachableError, 3)]
)
def test_each_kind_of_error_has_the_exit_status_of_the_command_line(error: type[SluiceError], status: int) -> None:
    """1 does not hold, 2 wrong usage or configuration, 3 not to be reached; all are one family."""
    assert error("it went wrong").exit_status == status
    assert issubclass(error, SluiceError)


def test_an_error_reads_as_one_sentence_of_what_where_and_what_to_do() -> None:
    """Path, what, expected, got and hint stand in that order."""
    error = UsageError("the port is no port", path="sluice.toml", expected="1 to 65535", got="0", hint="mend it")

    assert str(error) == "sluice.toml: the port is no port (expected 1 to 65535, got 0); mend it"


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, "it broke"),
        ({"path": "a.toml"}, "a.toml: it broke"),
        ({"expected": "peace"}, "it broke (expected peace)"),
        ({"hint": "try again"}, "it broke; try again"),
        ({"got": "war"}, "it broke"),
    ],
)
def test_what_an_error_does_not_know_leaves_no_gap(parts: dict[str, str], sentence: str) -> None:
    """Each part is left out cleanly; `got` says nothing without `expected`."""
    assert str(SluiceError("it broke", **parts)) == sentence


def test_the_parts_of_an_error_can_be_acted_upon() -> None:
    """Callers read the fields instead of the sentence."""
    error = DoesNotHoldError("no", path="p", expected="e", got="g", hint="h")

    assert (error.what, error.path, error.expected, error.got, error.hint) == ("no", "p", "e", "g", "h")


def test_the_reasons_of_dead_letters_are_those_of_the_design() -> None:
    """The closed list of docs/reference/records.md, those for attestations last."""
    assert list(get_args(DeadLetterReason)) == [
        "not-json",
        "schema",
        "span-out-of-range",
        "misrouted",
        "clock-skew",
        "too-old",
        "oversize",
        "unreadable-batch",
        "conflicting-emission",
        "late-review",
        "too-many-waiting",
        "too-many-annotations",
        "unrequested-review",
        "attempt-out-of-order",
        "unauthorised-observer",
        "unauthorised-emitter",
        "unauthorised-reviewer",
        "unauthorised-validator",
        "unauthorised-policy",
        "stale-word",
        "mistyped",
        "confusable-text",
    ]


def test_a_schema_fault_says_the_path_what_was_expected_and_what_is_there() -> None:
    """One wording for all of them; what is no text is shown as Python writes it."""
    assert schema_fault("$.span", "a span", "nothing") == Fault("schema", "$.span: expected a span, got nothing")
    assert schema_fault("$.at", "a time", -1).detail == "$.at: expected a time, got -1"


@given(st.text() | st.binary() | st.lists(st.integers()))
def test_a_schema_fault_is_short_whatever_stands_there(got: object) -> None:
    """What is there is shown up to 80 characters: a dead letter's header carries no megabyte."""
    detail = schema_fault("$", "a", got).detail
    shown = got if isinstance(got, str) else repr(got)

    assert len(detail) <= len("$: expected a, got ") + 80 * len("\\U0010ffff")
    assert detail.endswith(printable(shown if len(shown) <= 80 else shown[:79] + "…"))


@given(st.text())
def test_what_nobody_sees_is_shown_escaped(text: str) -> None:
    """A sentence quotes strangers: no control, bidi or zero-width character of theirs reaches a terminal."""
    assert printable(text).replace("\n", "").isprintable()
    assert printable("caf\u202eé\x1b[31m\n") == "caf\\u202eé\\u001b[31m\n"
    assert printable("a\U000e0149\u034f\u3164\u2800") == "a\\U000e0149\\u034f\\u3164\\u2800"
    assert "\u202e" not in str(UsageError("no such key", path="a\u202e", got="\x1b"))


def test_a_fault_is_a_value() -> None:
    """Two faults of one reason and detail are equal, and neither can be changed."""
    fault = Fault("misrouted", "elsewhere")

    assert fault == Fault("misrouted", "elsewhere")
    with pytest.raises(AttributeError):
        fault.reason = "schema"  # type: ignore[misc]


def test_what_is_escaped_does_not_depend_on_the_interpreter() -> None:
    """A dead letter's detail is compared byte for byte by an audit, on whichever Python that runs: the table is Unicode
    14.0's, so a character of Unicode 15 is escaped also by a Python that knows it."""
    shown = "".join(chr(point) for point in range(0x110000) if printable(chr(point)) == chr(point))

    assert printable("\U0001fae0 \U0001fae8") == "\U0001fae0 \\U0001fae8"
    assert len(shown) == 144_247
    assert sha256(shown.encode()).hexdigest() == "ef3612f5de29cd1e9321573d14a1637c17d8fceeaed2d5cf304ce7a2bc538107"


@pytest.mark.parametrize("text", ["", "a\nb", "\x7f\x00\x1b", "\u202e\u200b", "\ud800", "é\u0301", "\U000e0041"])
def test_line_ends_stay_and_nothing_unseen_does(text: str) -> None:
    """What is left can be printed, whatever it was."""
    assert all(one == "\n" or one.isprintable() for one in printable(text))
    assert printable(printable(text)) == printable(text)
