"""What an emission says of itself: its provenance chain and citations, its annotations, and its session.

All of it is only the emitter's word. A chain, a citation or a session [S §3] can only make a verdict stricter: an
ungrounded or severed chain that claims grounding, a quote that is not in its context, a confidence below the floor
[C §2, §3, §4, §6, §7], or a run that failed (docs/recording.md) refuse an assertion. Annotations are taken in on
arrival and are never evidence [S §4, §5, §6, §11.1].
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from ...codecs.decode import assertion_text
from ...codecs.errors import Fault, schema_fault
from ...codecs.records import AnyStep, Assertion, Derived, Emission, Reason, Retrieval, Session, SessionScope, Severed
from ...codecs.times import parse_time
from ...codecs.vocabulary import DECAYED, UNVERIFIED, Terminal, recognise
from ..judging.prose_literals import cited_spans
from .emission_state import NUMBER_OF, Declared, short

MAX_CITING: Final = 100_000
"""Characters that the strictly cited assertions of one emission may have together: each is read for quotations."""
MAX_COMPARED: Final = 100_000_000
"""Characters of contexts that their quotations may be looked for in, counted once for each quotation."""


def steps(chain: Sequence[AnyStep] | None) -> Iterator[AnyStep]:
    """Every step of a chain, those inside `derived` included."""
    for step in chain or ():
        yield step
        if isinstance(step, Derived):
            yield from steps(step.left)
            yield from steps(step.right)


def is_ungrounded(assertion: Assertion) -> bool:
    """Claims grounded, but the chain has no retrieval or has a severed step [C §2, §3]."""
    if not assertion.grounded:
        return False
    kinds = {type(step) for step in steps(assertion.chain)}
    return Retrieval not in kinds or Severed in kinds


def least_confidence(assertion: Assertion) -> float | None:
    """The assertion's own confidence or the least over its chain's steps [C §7]; None where none is declared."""
    if not assertion.chain:
        return assertion.confidence
    found = [step.confidence for step in steps(assertion.chain) if step.confidence is not None]
    if assertion.confidence is not None:
        found.append(assertion.confidence)
    return min(found, default=None)


def latest_retrieval(chain: Sequence[AnyStep]) -> int:
    """The latest time of retrieval in a chain, Unix ms; 0 where it names none."""
    times = [step.timestamp for step in steps(chain) if isinstance(step, Retrieval)]
    return max([parse_time(one) or 0 for one in times if one is not None], default=0)


def data_categories(grounded: bool, chain: Sequence[AnyStep] | None) -> list[str]:
    """The union of the chain's data categories, sorted [C §6]."""
    found = {category for step in steps(chain) for category in step.data or ()}
    if grounded:
        found.add("grounded")
    return sorted(found)


def is_matched(chain: Sequence[AnyStep] | None, names: Collection[str]) -> bool:
    """Returns whether a retrieval of the emitter's chain is one that an observation bore out: `names` are the ids of
    the observations that count, and the files in which observers saw a check hold."""
    for step in steps(chain):
        if isinstance(step, Retrieval):
            named = step.metadata.get("observation_id")
            if step.source in names or (isinstance(named, str) and named in names):
                return True
    return False


def citation_violation(emission: Emission, assertion: Assertion, text: str) -> tuple[int, int] | None:
    """Returns the first quote of a strictly cited `assertion` that is not in its context in the `emission`, character
    for character [C §4]: its offsets (code points, without its quotation marks) in the assertion's `text`. None where
    every quote is there. A context that the emission does not carry holds no quote."""
    cites = assertion.cites
    if cites is None or not cites.strictly:
        return None
    context = emission.contexts.get(cites.context, "")
    for start, end in cited_spans(text):
        if text[start:end] not in context:
            return start, end
    return None


def too_much_cited(emission: Emission) -> Fault | None:
    """Returns `schema` where the strict citations of an emission would take seconds to compare: its text may quote a
    thousand times what stands at the end of a long context, and its assertions may lie over one another."""
    cited = [
        (assertion_text(emission, assertion), len(emission.contexts.get(assertion.cites.context, "")))
        for assertion in emission.assertions or ()
        if assertion.cites is not None and assertion.cites.strictly
    ]
    length = sum(len(text) for text, _ in cited)
    if length > MAX_CITING:
        expected = f"strictly cited assertions of at most {MAX_CITING} characters together"
        return schema_fault("$.assertions", expected, str(length))
    if sum(len(text) * size for text, size in cited) <= MAX_COMPARED:
        return None  # nearly always: a text has fewer quotations than characters
    compared = sum(len(cited_spans(text)) * size for text, size in cited)
    if compared <= MAX_COMPARED:
        return None
    expected = f"quotations times characters of their contexts of at most {MAX_COMPARED} together"
    return schema_fault("$.assertions", expected, str(compared))


class Claims(msgspec.Struct, gc=False):
    """What an assertion's annotations claim: those that may count, and what decides by itself.

    Attributes:
        newer: how many anchors of a later vocabulary there are.
        latest: the latest instant that the assertion speaks of, Unix ms.
    """

    ids: list[bytes]
    declared: list[Declared]
    terminal: Terminal | None
    unknown: bool
    newer: int
    latest: int


def claims_of(emission: Emission, assertion: Assertion) -> Claims:
    """Returns the claims of one assertion; a class is one of the emission's vocabulary where it names no version
    itself."""
    ids: list[bytes] = []
    declared: list[Declared] = []
    terminal: Terminal | None = None
    unknown, newer, latest, vocabulary = False, 0, 0, emission.vocabulary
    for annotation in assertion.annotations:
        name, is_terminal, is_newer = recognise(annotation.substrate_class, vocabulary)
        newer += is_newer
        ts = None if annotation.ts is None else parse_time(annotation.ts)
        if ts is not None and ts > latest:
            latest = ts
        if name is None or annotation.unknown:
            unknown = True
        elif is_terminal:
            terminal = terminal or (DECAYED if name == DECAYED else UNVERIFIED)
        else:
            place = -1
            if annotation.declared_id is not None:
                kept = short(annotation.declared_id)
                if kept not in ids:
                    ids.append(kept)
                place = ids.index(kept)
            declared.append(Declared(NUMBER_OF[name], place, ts))
    if assertion.chain:
        latest = max(latest, latest_retrieval(assertion.chain))
    return Claims(ids, declared, terminal, unknown, newer, latest)


ALL_TESTS: Final = "all"


def session_reason(session: Session) -> Reason:
    """Why a statement is contradicted (`session-failed`), or else not verified, as far as its session tells."""
    if session.is_no_run:
        return "no-run"
    if not covers(session.scope, session.stated):
        return "narrower-run"
    if session.edits_after:
        return "stale-run"
    return "session-failed" if _failed(session) and not session.runs_after else "session-only"


def _failed(session: Session) -> bool:
    """Whether the run counted a failure. One that ended with 0 did not, whatever stands in its output."""
    counts = session.counts
    return counts is not None and counts.failed + counts.errors > 0 and session.exit != 0


def covers(scope: SessionScope | None, stated: SessionScope) -> bool:
    """Returns whether a run on `scope` (None where it is not known) ran all that is stated: each part, or a folder or
    file around it."""
    if scope is None or scope == ALL_TESTS:
        return scope is not None
    parts = [scope] if isinstance(scope, str) else scope
    wanted = [stated] if isinstance(stated, str) else stated
    return bool(wanted) and stated != ALL_TESTS and all(any(is_within(one, part) for part in parts) for one in wanted)


def is_within(part: str, whole: str) -> bool:
    """Whether a path, or a test in it (`a/b.py::test_x`), is another one or lies in it."""
    whole = whole.rstrip("/")
    return part == whole or part.rstrip("/") == whole or part.startswith((f"{whole}/", f"{whole}::"))
