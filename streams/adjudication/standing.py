"""Which checks of an assertion stand: verified by enough distinct classes that are fresh and independent
(docs/checks.md).

A check stands when k classes verified it, each class once, newest evidence first. The assertion is admitted when all of
its checks stand and they speak of as much of its sentence as the policy wants. An observation that verifies no check by
name (a foreign observer's) speaks of all of them where the policy counts it. An assertion without a `Checking` counts
its classes plainly, as if it had one check. Pure; assertions are changed by `note`, `note_words`,
`note_look`, `drop_looks` and `settle` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...codecs.records import Observation
from ..judging.checks import Check, Unknown, parse_check
from ..judging.derivation import checks_of
from . import check_places
from .check_places import Stamp, files, is_elsewhere, keep, keep_elsewhere, looked_at, place_in
from .emission_state import (
    COVERAGE,
    NO_COVERAGE,
    PART,
    WHOLE,
    AssertionState,
    Checking,
    ClassEvidence,
    Elsewhere,
    Look,
    Looks,
    Place,
    Terms,
    Verified,
)
from .independence import independent
from .uncounted import Uncounted

# ---------------------------------------------------------------- an assertion's checks


def begin(state: AssertionState, declared: Sequence[str] | None, terms: Terms) -> None:
    """Gives a new assertion its `Checking`, where it needs one from the start; may lower or raise its k.

    Args:
        state: the assertion; it is changed.
        declared: the texts of the checks that it declares; None or empty where it declares none.
        terms: that the policy sets; `terms.checks` has the k of single checks, for internal and external effects.
    """
    plain = terms.checks.counts_plainly
    if plain and not declared:
        return
    state.checking = checking = Checking(list(declared) if declared else None)
    if not terms.checks.k_by_check:
        return
    external = state.effect == "external"
    found = [k_by_check(terms.checks.k_by_check, check, external=external) for check in checks(state)]
    if any(found):
        checking.needs = [k or state.k for k in found]
        state.k = max(checking.needs)


def k_by_check(by_check: Mapping[str, tuple[int, int]], check: Check | Unknown, *, external: bool) -> int:
    """The k that a policy sets for a check; 0 where it sets none.

    Args:
        by_check: of internal and external effects, by the name of the check.
        check: the check.
        external: whether the assertion's effect is external.
    """
    return by_check.get(check.name, (0, 0))[external] if isinstance(check, Check) else 0


def texts(state: AssertionState) -> Sequence[str]:
    """The checks of an assertion as text: those that it declares, or the one that its words give."""
    checking = state.checking
    declared = checking.texts if checking is not None else None
    return declared if declared is not None else checks_of(state.text, state.kind, None).checks


def checks(state: AssertionState) -> list[Check | Unknown]:
    """The checks of an assertion, read."""
    return [parse_check(text) for text in texts(state)]


def count(state: AssertionState) -> int:
    """How many checks are counted: at least one, so that what has none is counted as a whole."""
    checking = state.checking
    return 1 if checking is None or checking.texts is None else len(checking.texts)


def each_k(state: AssertionState) -> Iterator[tuple[int, int]]:
    """The place of each check, and its k."""
    given = state.checking.needs if state.checking is not None else []
    for place in range(count(state)):
        yield place, given[place] if given else state.k


# ---------------------------------------------------------------- evidence


def verified(state: AssertionState, observation: Observation) -> list[int] | Uncounted | None:
    """The checks of an assertion that a corroboration verifies.

    Returns:
        The places of these checks, in order; None where the observation names no check and speaks of the assertion as a
        whole; or the reason why it does not count: `verifies-nothing` (also where it saw the check in another file than
        the one that the admitted record names), `check-not-bound` or `contradicts-itself`.
    """
    if observation.verified is None:
        return None
    checking = state.checking
    declared = checking.texts if checking is not None else None
    known = len(declared) if declared is not None else len(texts(state))
    found = sorted({place for place in observation.verified if place < known})
    if checking is not None and checking.coverage >= 0:
        found = [check for check in found if not is_elsewhere(checking, check, place_in(observation, check))]
    if not found:
        return "verifies-nothing"
    if observation.coverage == "none":
        return "check-not-bound"
    return "contradicts-itself" if observation.refuted else found


def note(
    state: AssertionState, seen: ClassEvidence, observation: Observation, places: Sequence[int] | None, ts: int
) -> bool:
    """Takes in what a fresh corroboration that counts verifies; True where it is news.

    Args:
        state: the assertion.
        seen: the evidence of its class, before this observation is counted in it.
        observation: the corroboration.
        places: of the checks that it verifies; None for all.
        ts: when it was observed, Unix ms.
    """
    if places is None and state.checking is None:
        return False  # counted plainly
    checking = _checking(state)
    entry = next((one for one in checking.classes if one.number == seen.number), None)
    if entry is None:
        if places is None and state.bounds.checks.counts_plainly:
            return False  # `seen` says all
        entry = Verified(seen.number, [seen.ts] * count(state))
        checking.classes.append(entry)
    if checking.coverage < 0:  # until it is admitted
        _note_coverage(entry, observation, state, whole=places is None)
    looked = ("", "") if state.bounds.checks.counts_plainly else looked_at(observation)
    news = False
    for check in range(count(state)) if places is None else places:
        if places is not None:
            place = place_in(observation, check)
            if is_elsewhere(checking, check, place):
                if state.min_observers > 1:
                    continue  # observers are counted for the check's own file only (witnesses.py)
                news = keep_elsewhere(checking, Elsewhere(seen.number, check, place, ts, looked)) or news
                continue
            if checking.coverage < 0:
                keep(checking, check, place, count(state))
            entry.named |= 1 << check
        if ts > entry.stamps[check]:
            entry.stamps[check] = ts
            news = True
            if looked != ("", ""):
                entry.looked = entry.looked or [("", "")] * count(state)
                entry.looked[check] = looked
    return news


def own_file(state: AssertionState, observation: Observation, places: Sequence[int]) -> int:
    """The checks that an observation verifies in the check's own file.

    Args:
        state: the assertion.
        observation: that verifies the checks.
        places: of the checks that are looked at.

    Returns:
        A bit mask: the bit at a check's place is set where the observation verifies it in the check's own file.
    """
    checking = _checking(state)
    return sum(1 << check for check in places if not is_elsewhere(checking, check, place_in(observation, check)))


def note_words(state: AssertionState) -> None:
    """Notes that an observer found the assertion's words, and checked nothing. It counts for nothing, and is told."""
    checking = _checking(state)
    if isinstance(checking.words, Looks):
        checking.words.words = True
    else:
        checking.words = True


def note_look(state: AssertionState, look: Look) -> None:
    """Keeps what a class saw instead of evidence, the newest of each class, so that a request to mend can tell it."""
    checking = _checking(state)
    if not isinstance(checking.words, Looks):
        checking.words = Looks(checking.words, [])
    looks = checking.words.looks
    for place, one in enumerate(looks):
        if one.number == look.number:
            if look.ts >= one.ts:
                looks[place] = look
            return
    looks.append(look)


def drop_looks(state: AssertionState) -> None:
    """Drops the looks of an assertion that no request will ask for again. Whether its words were found stays."""
    if state.checking is not None:
        state.checking.words = state.checking.found_words


def _checking(state: AssertionState) -> Checking:
    if state.checking is None:
        state.checking = Checking()
    return state.checking


def _note_coverage(entry: Verified, observation: Observation, state: AssertionState, *, whole: bool) -> None:
    """The least coverage of a class, with the spans that those who told it left open."""
    if whole:
        return
    level = COVERAGE.index(observation.coverage) if observation.coverage is not None else PART
    if level == WHOLE or level > entry.coverage:
        return
    unchecked = observation.unchecked or ()
    length = len(state.text)
    spans = [(start, min(end, length)) for start, end in unchecked if start < min(end, length)] or [(0, length)]
    entry.unchecked = merged([*(entry.unchecked if level == entry.coverage else ()), *spans])
    entry.coverage = level


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


# ---------------------------------------------------------------- counting


def least_k(state: AssertionState) -> int:
    """The least number of classes that any check of the assertion needs to stand."""
    needs = state.checking.needs if state.checking is not None else ()
    return min(needs, default=state.k)


def stands(state: AssertionState) -> bool:
    """Whether enough classes verified every check, and every check is one that this version knows."""
    if state.checking is None:
        return state.fresh >= state.k
    if state.fresh < least_k(state) or any(len(ends(state, place)) < k for place, k in each_k(state)):
        return False
    return not has_unknown(state)


def has_unknown(state: AssertionState) -> bool:
    """Whether one of the declared checks is malformed or not known: then the others cannot admit it."""
    declared = state.checking.texts if state.checking is not None else None
    return declared is not None and any(isinstance(parse_check(text), Unknown) for text in declared)


def missing(state: AssertionState) -> int:
    """How many classes more the check that lacks the most would need."""
    if state.checking is None:
        return max(0, state.k - state.fresh)
    return max(0, *(k - len(ends(state, place)) for place, k in each_k(state)))


def carried(state: AssertionState) -> int:
    """Until when the classes carry every check, Unix ms: the k-th largest of newest ts + W; -1 if one falls short."""
    least = -1
    for place, k in each_k(state):
        found = ends(state, place)
        if len(found) < k:
            return -1
        least = found[k - 1] if least < 0 else min(least, found[k - 1])
    return least


def ends(state: AssertionState, check: int) -> list[int]:
    """Until when each independent class carries a check in one file, Unix ms, the longest first."""
    return [end for end, _ in _carrying(state, check)[1]]


def carriers(state: AssertionState, check: int) -> list[int]:
    """The numbers of the independent classes that carry a check in one file, in order."""
    return sorted({stamp.number for _, stamp in _carrying(state, check)[1]})


def place_of(state: AssertionState, check: int) -> Place:
    """Where a check holds: in the file that is carried longest."""
    return _carrying(state, check)[0]


def _carrying(state: AssertionState, check: int) -> tuple[Place, list[tuple[int, Stamp]]]:
    """The file in which a check is carried longest, and the independent evidence there with its ends."""
    found = [(place, independent(state.bounds, stamps)) for place, stamps in files(state, check)]
    if len(found) == 1:
        return found[0]
    k = dict(each_k(state))[check]
    # The first of equals: the check's own file.
    return max(found, key=lambda one: (one[1][k - 1][0] if len(one[1]) >= k else -1, len(one[1])))


# ---------------------------------------------------------------- coverage


def coverage(state: AssertionState) -> tuple[int, list[tuple[int, int]]]:
    """How much of its sentence the checks speak of, and what they leave open: the least of what counts."""
    checking = state.checking
    if checking is None:
        return WHOLE, []
    if checking.coverage >= 0:
        return checking.coverage, checking.unchecked
    counted = {seen.number for seen in state.seen if seen.ts >= 0}
    least, spans = WHOLE, list[tuple[int, int]]()
    for one in checking.classes:
        if one.number not in counted or one.coverage > least:
            continue
        spans = merged([*(spans if one.coverage == least else ()), *one.unchecked])
        least = one.coverage
    return least, spans


def covers_enough(state: AssertionState) -> bool:
    """Whether the checks speak of as much of the sentence as the policy wants for its effect."""
    internal, external = state.bounds.checks.min_coverage
    return coverage(state)[0] >= (external if state.effect == "external" else internal)


def settle(state: AssertionState) -> None:
    """Fixes coverage, and the file of each check, at admission by evidence: what comes later does not change them."""
    checking = state.checking
    if checking is not None and checking.coverage < 0:
        checking.coverage, checking.unchecked = coverage(state)
        if checking.elsewhere:
            check_places.settle(checking, [_chosen(state, check) for check in range(count(state))])


def _chosen(state: AssertionState, check: int) -> tuple[Place, list[Stamp]]:
    """The file in which a check is carried longest, and all evidence there."""
    place = place_of(state, check)
    return next(one for one in files(state, check) if one[0].path == place.path)


def classes_by_check(state: AssertionState) -> list[int]:
    """For each check how many distinct classes verified it by name, in one file."""
    checking = state.checking
    if checking is None:
        return []
    return [len(verifiers(state, check)) for check in range(count(state))]


def verifiers(state: AssertionState, check: int) -> list[int]:
    """The numbers of the distinct classes that verified a check by name, in one file."""
    if state.checking is None:
        return []
    return sorted({stamp.number for stamp in _chosen(state, check)[1] if stamp.named})


__all__ = ["NO_COVERAGE", "begin", "checks", "covers_enough", "note", "note_words", "settle", "stands", "verified"]
