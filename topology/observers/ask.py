"""What an observer is asked, what it answers, and the bounds of one look (docs/checks.md, observing.md).

Each class has one function `(Ask, …) -> Finding`. A substrate that cannot be read is raised as `ObservationUnavailable`
and becomes `unavailable` with that reason; a file that went away while it was looked at is `Missing`. `answer` makes
the finding from what the checks came to.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Final, NamedTuple, Protocol

import msgspec

from ...codecs.records import Kind, Locator, LookedAt, Outcome
from ...streams.judging.checks import Check, Held, Unknown, opposite
from ...streams.judging.claim_forms import Derived
from ...streams.judging.coverage import NOTHING_CONFIRMED, Confirmed, Coverage, Proposed, Scope, cover, excused
from ...streams.judging.terms import Presence, Terms
from ...streams.judging.verify import NEGATIVE, AssertionChecks, Judged, checks_of_assertion, judged


class ObservationUnavailable(Exception):
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
            ObservationUnavailable: none are.
        """
        if self._seconds is None:
            return math.inf
        left = self._end - time.monotonic()
        if left <= 0:
            raise ObservationUnavailable(f"the look took longer than {self._seconds:.3g} s, {BOUND} of time")
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
            ObservationUnavailable: either bound is reached.
        """
        self.spent += size
        if self.spent > self.bytes:
            raise ObservationUnavailable(f"more than {self.bytes} bytes would have to be read, {BOUND} `look_bytes`")
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
        wants_region: the text that is looked at is wanted as well, for a judge of the operator's (interface.py).
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
            ObservationUnavailable: it is something else, or holds a NUL: no such place can be.
        """
        value = self.locator.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise ObservationUnavailable(f"the locator's {name} is no text")
        if "\0" in value:
            raise ObservationUnavailable(f"the locator's {name} holds a NUL")
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
        opinion: what another judge than the built-in checks says (interface.py).
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


OTHER: Final = Held(None, "other-substrate")
UNKNOWN: Final = Held(None, "unknown-check")
_SYNTAX: Final = frozenset(
    ("calls", "uses", "reaches", "imports", "returns", "raises", "extends", "parameter", "field", "result")
    + ("when", "unless", "before", "line", "order")
)
_CHANGES: Final = frozenset(("added", "deleted", "renamed", "touched", "unchanged"))
_ANYWHERE: Final = frozenset(("contains", "exists", "missing", "defines", "equals", "compare", "members")) | _CHANGES
DECIDES: Final[Mapping[str, frozenset[str]]] = {
    "substrate.code.read": _ANYWHERE | _SYNTAX | {"absent", "count"},
    "substrate.grep": _ANYWHERE | {"absent", "count", "only_in"},
    "substrate.git.log": _ANYWHERE
    | _SYNTAX
    | {"only_in", "commit", "changed", "introduced", "removed", "last_changed"},
    "substrate.fs.mtime": frozenset(("modified",)),
    "substrate.mcp.brief": frozenset(("contains", "equals", "compare", "count")),
    "substrate.do.sse-count": frozenset(("count",)),
    "substrate.unix.peercred": frozenset(("peer",)),
}
"""Which checks each class decides (docs/checks.md). `count` of subscribers is the channel's alone."""
SUBSCRIBERS: Final = "subscribers"
NOTHING: Final = Presence((), ())
OWN_EDIT: Final = "own-edit"
"""What holds, by a change that is not committed: whose working tree it is may have made it so."""


def decides(substrate_class: str, check: Check | Unknown) -> bool:
    """Whether a class decides a check at all.

    `count(subscribers, …)` without a path is what a channel reports, and never a count of that word in a text: else two
    classes would verify one check by two different facts.
    """
    if isinstance(check, Unknown) or check.name not in DECIDES[substrate_class]:
        return False
    if check.name != "count":
        return True
    of_channel = check.text("pattern") == SUBSCRIBERS and not check.named
    return of_channel == (substrate_class == "substrate.do.sse-count")


def decided(substrate_class: str, check: Check | Unknown, verify: Callable[[Check], Held]) -> Held:
    """What a check comes to in `substrate_class`, `not` included; `verify` decides a check of that class without it."""
    if isinstance(check, Unknown):
        return UNKNOWN
    if not decides(substrate_class, check):
        return OTHER
    held = verify(check)
    return opposite(held) if check.negated else held


def is_negative(check: Check | Unknown) -> bool:
    """Whether a check says that something is not so."""
    return isinstance(check, Check) and (check.negated or check.name in NEGATIVE)


def dated(ask: Ask, held: Held, changed: int | None, *, exact: bool = False) -> Held:
    """What is false now, held against time.

    Args:
        ask: the question.
        held: what a check came to.
        changed: when that which makes it false last changed, in Unix milliseconds; None where nobody can tell.
        exact: it was looked at as the annotation names it, so that no time has passed.
    """
    if held.holds is not False or exact:
        return held
    if changed is not None and ask.since is not None and changed <= ask.since:
        return held
    return held._replace(reason="changed-since")


class Confirms(Protocol):
    """Says what a look adds to the sentence; that names are unique only where that is asked for."""

    def __call__(self, *, unique: bool) -> Confirmed: ...


def answer(
    ask: Ask,
    helds: Sequence[Held],
    seen: str | None,
    *,
    words: Presence | None = None,
    missing: bool = False,
    path: str | None = None,
    commit: str | None = None,
    scope: Scope = "file",
    where: Callable[[Judged], LookedAt] | None = None,
    at: int | None = None,
    region: str | None = None,
    own_edit: Callable[[Sequence[Held]], bool] = lambda helds: False,
    confirming: Confirms | None = None,
) -> Finding:
    """The finding of a look.

    Args:
        ask: the question.
        helds: what each of its checks came to, in their order.
        seen: the observation id of what was seen.
        words: which words of an assertion without checks are there; None where none were looked for.
        missing: nothing stands at the path that is named.
        path: the file that checks without a path of their own were held against.
        commit: the commit that was looked at.
        scope: what was looked at where no path is named.
        where: says where it was looked, given what the checks came to.
        at: when it was seen, where that was before the look.
        region: the text that was looked at.
        own_edit: whether checks hold by what is not committed.
        confirming: says what the look adds to the sentence.

    Raises:
        ObservationUnavailable: a parser is not installed, or the assertion says nothing that could be looked for.
    """
    if any(held.reason == "no-grammar" for held in helds):
        raise ObservationUnavailable("the parser of this language is not installed")
    question = ask.question
    checks = question.checks
    asks = confirming if any(held.holds for held in helds) else None
    added = NOTHING_CONFIRMED if asks is None else asks(unique=False)
    covered = cover(ask.said, checks, path=path, commit=commit, scope=scope, proposal=ask.proposed, confirmed=added)
    if asks is not None and covered.level == "part" and not added.narrowed:
        added = asks(unique=True)
        covered = cover(ask.said, checks, path=path, commit=commit, scope=scope, proposal=ask.proposed, confirmed=added)
    spared = excused(ask.said, checks, helds, path) if ask.proposed is not None else ()
    found = judged(question, helds, covered, words is not None and words.whole, spared)
    if found.reason == "terms-missing":
        if missing:
            found = found._replace(reason="path-missing")
        elif words is not None and not words.found and not words.missing:
            raise ObservationUnavailable("the assertion says nothing that could be looked for")
    shown = words if question.is_sentence and not found.verified else None
    looked_at = None if where is None else where(found)
    reason = found.reason
    if found.outcome == "corroborates" and own_edit([found.helds[place] for place in found.verified]):
        reason = OWN_EDIT
    return Finding(found.outcome, seen, shown, reason, at, found, looked_at, region)


def where_from(
    found: Judged, places: Mapping[str, str], root: str, commit: str | None, default: str | None
) -> LookedAt:
    """What an observation says of where it looked.

    Its `content` is that of the one file in which the checks were decided that count; with several files there is no
    one content, so none is told.

    Args:
        found: what the checks came to.
        places: the content hash of each file that was read.
        root: its name.
        commit: whose tree was read; None for what stands on disk.
        default: the file that was looked at where no check was decided in one.
    """
    places_of = [found.helds[place].path for place in found.verified or found.refuted]
    decided = {path for path in places_of if path is not None}
    path = default
    if places_of:
        path = next(iter(decided)) if len(decided) == 1 and None not in places_of else None
    return LookedAt(root=root, path=path, content=places.get(path) if path is not None else None, commit=commit)
