"""What an observer is asked, what it answers, and the bounds of one look (docs/checks.md, observing.md).

Each class has one function `(Ask, …) -> Finding`. Whatever keeps it from looking is raised as `CannotLook` and becomes
`unavailable` with that reason; a file that went away while it was looked at is `Missing`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from copy import copy
from typing import Final, NamedTuple

import msgspec

from ...codecs.records import Kind, Locator, LookedAt, Outcome
from ...streams.judging.coverage import Coverage, Proposed
from ...streams.judging.derivation import Derived
from ...streams.judging.outcomes import AssertionChecks, Judged, checks_of_assertion
from ...streams.judging.terms import Presence, Terms


class CannotLook(Exception):
    """The substrate could not be read, or a bound was reached; the message is the reason, for a person."""


class Missing(Exception):
    """Nothing stands at the path that was named."""


class Budget:
    """What one look may still spend: bytes, and seconds where it waits for somebody else or an operator sets a wall.

    Reaching a bound ends the look as `unavailable`: half a look is no verdict. One budget serves one look.

    Args:
        seconds: None where the work alone bounds the look, so that it comes to the same under any load.
        size: bytes.
        commits, matches: that are searched, or kept, at the most.
    """

    def __init__(self, seconds: float | None, size: int, commits: int = 20_000, matches: int = 1_000) -> None:
        self.bytes, self.commits, self.matches = size, commits, matches
        self._seconds, self.spent = seconds, 0
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left; infinite where the time is not bounded.

        Raises:
            CannotLook: none are.
        """
        if self._seconds is None:
            return math.inf
        left = self._end - time.monotonic()
        if left <= 0:
            raise CannotLook(f"the look took longer than {self._seconds:.3g} s, {BOUND} of time")
        return left

    @property
    def patience(self) -> float | None:
        """As `remaining`, as system calls take it: None for ever."""
        left = self.remaining()
        return None if left == math.inf else left

    def timed(self) -> Budget:
        """The same time, and as many bytes as may come: for what its reader counts."""
        same = copy(self)
        same.bytes = sys.maxsize
        return same

    def spend(self, size: int) -> None:
        """Counts bytes that were read, and looks at the clock. A bound once reached stays reached.

        Raises:
            CannotLook: either bound is reached.
        """
        self.spent += size
        if self.spent > self.bytes:
            raise CannotLook(f"more than {self.bytes} bytes would have to be read, {BOUND} `look_bytes`")
        self.remaining()


BOUND: Final = "the bound"
"""In each reason of a look that a bound ended."""
NOTHING_ASKED: Final = checks_of_assertion("assertion", Derived((), False, "none"))


class Ask(msgspec.Struct, frozen=True):
    """One annotation of one assertion, as an observer needs it.

    Attributes:
        text: what the assertion says, in NFKC.
        terms: the words of an assertion without checks, and the places that its text names.
        declared: the observation id that the annotation declares.
        ts: when the annotation says that the substrate was consulted, in Unix milliseconds.
        budget: what the look may spend.
        emitted: when the emission says that it was made, in Unix milliseconds.
        question: the checks that are to be decided.
        said: the assertion's text as it stands: what the spans of an observation count in.
        wants_region: the text that is looked at is wanted as well, for a judge of the operator's (judges.py).
        proposed: who proposed checks, and whether these are said to say all of the text; None without a proposal.
    """

    substrate_class: str
    kind: Kind
    text: str
    terms: Terms
    locator: Locator
    declared: str | None
    ts: int | None
    budget: Budget
    emitted: int | None = None
    question: AssertionChecks = NOTHING_ASKED
    said: str = ""
    wants_region: bool = False
    proposed: Proposed | None = None

    @property
    def since(self) -> int | None:
        """What is false now was false then, where nothing has changed since: `ts`, or else when it was emitted."""
        return self.emitted if self.ts is None else self.ts

    def member(self, name: str) -> str | None:
        """A member of the locator that must be text; None where it is not given.

        Raises:
            CannotLook: it is something else, or holds a NUL: no such place can be.
        """
        value = self.locator.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise CannotLook(f"the locator's {name} is no text")
        if "\0" in value:
            raise CannotLook(f"the locator's {name} holds a NUL")
        return value


class Opinion(NamedTuple):
    """What another judge than the built-in checks says, as far as it stands in the observation.

    Attributes:
        judge: its name in the operator's list.
        verified: the checks that hold, by their places.
        score: how sure it is, from 0 to 1.
        coverage: how much of the sentence the checks speak of; None where it has none.
    """

    judge: str
    verified: tuple[int, ...]
    score: float
    coverage: Coverage | None


class Finding(msgspec.Struct, frozen=True):
    """What came of one look.

    Attributes:
        seen: the observation id of what was seen; None where nothing could be seen.
        presence: which words of an assertion without checks are there; None where none were looked for.
        reason: why, where the outcome does not explain itself; of `absent` one of docs/checks.md.
        at: when it was seen, in Unix milliseconds, where that was before the look began: what is kept for a while, or
            heard on a stream, must not pass for fresher than it is.
        judged: what the checks came to; None where none was held against anything.
        looked_at: where it looked, as far as that may be told.
        region: the text that was looked at, where `Ask.wants_region`; it never leaves the process.
        opinion: what another judge than the built-in checks says (judges.py).
    """

    outcome: Outcome
    seen: str | None = None
    presence: Presence | None = None
    reason: str | None = None
    at: int | None = None
    judged: Judged | None = None
    looked_at: LookedAt | None = None
    region: str | None = None
    opinion: Opinion | None = None


def declared_digest(ask: Ask) -> str | None:
    """What the annotation declares after `sha256:`, in lower case; None where it declares no content hash."""
    algorithm, colon, digest = (ask.declared or "").partition(":")
    return digest.lower().removesuffix("...") if colon and algorithm == "sha256" else None


def matches(declared: str, digest: str) -> bool:
    """A shortened hash of at least 7 digits stands for the whole one, as for commits."""
    return digest == declared or (len(declared) >= 7 and digest.startswith(declared))


def judge_hash(ask: Ask, digests: tuple[str, ...], changed: Callable[[], int | None]) -> Finding | None:
    """The verdict on a declared content hash that is not what stands there; None where it is, or none was declared.

    Args:
        ask: the question.
        digests: the hex digests that what stands there may be declared by, its own first.
        changed: asked when it last changed, in Unix milliseconds, where that matters; None where nobody can tell.
    """
    declared = declared_digest(ask)
    if declared is None or any(matches(declared, digest) for digest in digests):
        return None
    last = None if ask.ts is None else changed()
    if ask.ts is not None and last is not None and last <= ask.ts:
        reason = "another content stands there, and nothing has changed since the annotation's ts"
        return Finding("unknown-observation", ask.declared, reason=reason)
    return Finding("absent", f"sha256:{digests[0]}", reason="changed-since")


def seen_id(ask: Ask, digests: tuple[str, ...]) -> str:
    """`sha256:` and the digest, in the form in which it was declared where that is one of them."""
    declared = declared_digest(ask)
    digest = next((one for one in digests if declared and matches(declared, one)), digests[0])
    return f"sha256:{digest}"
