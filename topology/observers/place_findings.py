"""From what each check came to at one place to the finding: coverage, outcome, and where it was looked
(docs/checks.md).

The same for every class. What is false counts against an assertion only where it was false at the time that the
annotation speaks of: at the commit that it names, or in a file that has not changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from ...codecs.records import LookedAt
from ...streams.judging.checks import Check, Unknown
from ...streams.judging.coverage import NOTHING_CONFIRMED, Confirmed, Scope, cover
from ...streams.judging.outcomes import NEGATIVE, Judged, judged
from ...streams.judging.refuting import excused
from ...streams.judging.results import Held
from ...streams.judging.terms import Presence
from .ask import Ask, CannotLook, Finding

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
        CannotLook: a parser is not installed, or the assertion says nothing that could be looked for.
    """
    if any(held.reason == "no-grammar" for held in helds):
        raise CannotLook("the parser of this language is not installed")
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
            raise CannotLook("the assertion says nothing that could be looked for")
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
