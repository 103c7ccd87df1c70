"""What can go wrong, in two kinds that never mix.

*Errors* are for callers who can act: wrong usage, a bad policy, a broker that is away. Each carries the parts of one
good sentence (what, where, what to do) and the exit status that the command line gives it (docs/reference/commands.md).
*Faults* are data: why one record was refused. They travel as values to the dead letters (docs/reference/records.md) and
are never raised across a layer.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

DeadLetterReason = Literal[
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
"""Why an input became a dead letter."""


class SluiceError(Exception):
    """Base of all errors that sluice raises on purpose; `str()` of it is one sentence for a person.

    Args:
        what: the sentence, without the parts below.
        path: of what is wrong: a file, a setting, a JSONPath or a place in a topic.
        expected: what should be there.
        got: what is there; shown only where `expected` is.
        hint: what the person can do.

    Attributes:
        exit_status: what the command line exits with (docs/reference/commands.md): 1 does not hold, 2 wrong usage, 3
        not to be reached.
    """

    exit_status = 2

    def __init__(self, what: str, *, path: str = "", expected: str = "", got: str = "", hint: str = "") -> None:
        self.what, self.path, self.expected, self.got, self.hint = what, path, expected, got, hint
        super().__init__(what)

    def __str__(self) -> str:
        sentence = f"{self.path}: {self.what}" if self.path else self.what
        if self.expected:
            sentence += f" (expected {self.expected}" + (f", got {self.got})" if self.got else ")")
        return printable(f"{sentence}; {self.hint}" if self.hint else sentence)


class UsageError(SluiceError):
    """Wrong flags, configuration or policy: the caller can mend it and call again."""


class DoesNotHoldError(SluiceError):
    """The thing asked about does not hold: a divergence, an invalid input."""

    exit_status = 1


class LaterVersionError(DoesNotHoldError):
    """A ledger is of a later version's making: no trying again helps, an upgrade does."""


class UnreachableError(SluiceError):
    """A broker or a substrate is not to be reached: trying again later may help."""

    exit_status = 3


class KilledError(SluiceError):
    """A process that worked for us was killed, and its part is not done: that says nothing of what was asked about."""


class Fault(msgspec.Struct, frozen=True, gc=False):
    """Why a record is refused: a reason of the closed list, and one sentence with path, expected and got."""

    reason: DeadLetterReason
    detail: str


def schema_fault(path: str, expected: str, got: object) -> Fault:
    """A `schema` fault: what the member at a JSONPath (`path`) has to be (`expected`), and what came instead (`got`,
    shortened)."""
    shown = cut(got if isinstance(got, str) else repr(got))
    return Fault("schema", printable(f"{path}: expected {expected}, got {shown}"))


def too_many(path: str, what: str, most: int, got: object) -> Fault:
    """A `too-many-annotations` fault: `what` there is too much of at a JSONPath (`path`), how many there may be
    (`most`) and are (`got`)."""
    return Fault("too-many-annotations", f"{path}: expected at most {most} {what}, got {got}")


def cut(text: str) -> str:
    """The text, or its first 79 characters and an ellipsis: a dead letter's header must not carry a megabyte."""
    return text if len(text) <= 80 else text[:79] + "…"


def printable(text: str) -> str:
    """The text with everything that no reader sees (controls, bidi, zero width, fillers) as an escape: `\\u202e`; line
    ends stay.

    The table is ours (Unicode 14.0) and not the interpreter's, so that a ledger folds to the same bytes everywhere.
    """
    if text.isascii() and text.isprintable():
        return text
    return _unprintable().sub(_escape, text)


@cache
def _unprintable() -> re.Pattern[str]:
    """Any character that is not printable, but for a line end (tools/make_unprintable.py)."""
    lines = resources.files("sluice.codecs").joinpath("data", "unprintable.txt").read_text("ascii").splitlines()
    parts: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            first, _, last = line.partition("-")
            parts.append(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}")
    return re.compile(f"(?!\n)[{''.join(parts)}]")


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
