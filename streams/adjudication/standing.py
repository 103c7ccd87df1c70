"""Which checks of an assertion stand: verified by enough distinct classes that are fresh and independent
(docs/checks.md).

A check stands when k classes verified it, each class once, newest evidence first. The assertion is admitted when all of
its checks stand and they speak of as much of its sentence as the policy wants. An observation that verifies no check by
name (a foreign observer's) speaks of all of them where the policy counts it. A life without a `Checking` counts its
classes plainly, as if it had one check. Pure; lives are changed by `note`, `note_words` and `settle` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...codecs.records import Observation
from ..judging.checks import Check, Unknown, parse_check
from ..judging.derivation import checks_of
from . import check_places
from .check_places import Stamp, files, is_elsewhere, keep, keep_elsewhere, looked_at, told
from .emission_state import (
    COVERAGE,
    NO_COVERAGE,
    PART,
    WHOLE,
    AssertionState,
    Checking,
    ClassEvidence,
    Elsewhere,
    Place,
    Terms,
    Verified,
)
from .independence import independent

# ---------------------------------------------------------------- an assertion's checks


def begin(life: AssertionState, declared: Sequence[str] | None, terms: Terms) -> None:
    """Gives a new life its `Checking`, where it needs one from the start; may lower or raise its k."""
    plain = terms.checks.counts_plainly
    if plain and not declared:
        return
    life.checking = checking = Checking(list(declared) if declared else None)
    if not terms.checks.k_by_check:
        return
    place = 1 if life.effect == "external" else 0
    by_check = terms.checks.k_by_check
    found = [by_check.get(check.name, (0, 0))[place] if isinstance(check, Check) else 0 for check in checks(life)]
    if any(found):
        checking.needs = [k or life.k for k in found]
        life.k = max(checking.needs)


def texts(life: AssertionState) -> Sequence[str]:
    """The checks of a life as text: those that it declares, or the one that its words give."""
    checking = life.checking
    declared = checking.texts if checking is not None else None
    return declared if declared is not None else checks_of(life.text, life.kind, None).checks


def checks(life: AssertionState) -> list[Check | Unknown]:
    """The checks of a life, read."""
    return [parse_check(text) for text in texts(life)]


def count(life: AssertionState) -> int:
    """How many checks are counted: at least one, so that what has none is counted as a whole."""
    checking = life.checking
    return 1 if checking is None or checking.texts is None else len(checking.texts)


def _needs(life: AssertionState) -> Iterator[tuple[int, int]]:
    """The place of each check, and its k."""
    needs = life.checking.needs if life.checking is not None else []
    for place in range(count(life)):
        yield place, needs[place] if needs else life.k


# ---------------------------------------------------------------- evidence


def verified(life: AssertionState, observation: Observation) -> list[int] | None:
    """The checks of the assertion that a corroboration verifies, by place; None where it speaks of it as a whole.

    Empty where it verifies nothing that the assertion has, contradicts itself, its checks are not bound to the
    sentence, or it saw them in another file than the one that the admitted record names: then it does not count.
    """
    if observation.verified is None:
        return None
    if observation.refuted or observation.coverage == "none":
        return []
    checking = life.checking
    declared = checking.texts if checking is not None else None
    known = len(declared) if declared is not None else len(texts(life))
    found = sorted({place for place in observation.verified if place < known})
    if checking is None or checking.coverage < 0:
        return found
    return [check for check in found if not is_elsewhere(checking, check, told(observation, check))]


def note(
    life: AssertionState, seen: ClassEvidence, observation: Observation, places: Sequence[int] | None, ts: int
) -> bool:
    """Takes in what a fresh corroboration that counts verifies; True where it is news.

    Args:
        life: the assertion.
        seen: the evidence of its class, before this observation is counted in it.
        observation: the corroboration.
        places: of the checks that it verifies; None for all.
        ts: when it was observed, Unix ms.
    """
    if places is None and life.checking is None:
        return False  # counted plainly
    checking = _checking(life)
    entry = next((one for one in checking.classes if one.number == seen.number), None)
    if entry is None:
        if places is None and life.bounds.checks.counts_plainly:
            return False  # `seen` says all
        entry = Verified(seen.number, [seen.ts] * count(life))
        checking.classes.append(entry)
    if checking.coverage < 0:  # until it is admitted
        _note_coverage(entry, observation, life, whole=places is None)
    looked = ("", "") if life.bounds.checks.counts_plainly else looked_at(observation)
    news = False
    for check in range(count(life)) if places is None else places:
        if places is not None:
            place = told(observation, check)
            if is_elsewhere(checking, check, place):
                if life.min_observers > 1:
                    continue  # observers are counted for the check's own file only (witnesses.py)
                news = keep_elsewhere(checking, Elsewhere(seen.number, check, place, ts, looked)) or news
                continue
            if checking.coverage < 0:
                keep(checking, check, place, count(life))
            entry.named |= 1 << check
        if ts > entry.stamps[check]:
            entry.stamps[check] = ts
            news = True
            if looked != ("", ""):
                entry.looked = entry.looked or [("", "")] * count(life)
                entry.looked[check] = looked
    return news


def own_file(life: AssertionState, observation: Observation, places: Sequence[int]) -> int:
    """A bit for each of these checks that an observation verifies in the check's own file."""
    checking = _checking(life)
    return sum(1 << check for check in places if not is_elsewhere(checking, check, told(observation, check)))


def note_words(life: AssertionState) -> None:
    """An observer found the assertion's words, and nothing was checked: that counts for nothing, and is told."""
    _checking(life).words = True


def _checking(life: AssertionState) -> Checking:
    if life.checking is None:
        life.checking = Checking()
    return life.checking


def _note_coverage(entry: Verified, observation: Observation, life: AssertionState, *, whole: bool) -> None:
    """The least coverage of a class, with the spans that those who told it left open."""
    if whole:
        return
    level = COVERAGE.index(observation.coverage) if observation.coverage is not None else PART
    if level == WHOLE or level > entry.coverage:
        return
    told = observation.unchecked or ()
    length = len(life.text)
    spans = [(start, min(end, length)) for start, end in told if start < min(end, length)] or [(0, length)]
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


def least_k(life: AssertionState) -> int:
    """So many classes are needed for any check to stand."""
    needs = life.checking.needs if life.checking is not None else ()
    return min(needs, default=life.k)


def stands(life: AssertionState) -> bool:
    """Whether enough classes verified every check, and every check is one that this version knows."""
    if life.checking is None:
        return life.fresh >= life.k
    if life.fresh < least_k(life) or any(len(ends(life, place)) < k for place, k in _needs(life)):
        return False
    return not has_unknown(life)


def has_unknown(life: AssertionState) -> bool:
    """Whether one of the declared checks is malformed or not known: then the others cannot admit it."""
    declared = life.checking.texts if life.checking is not None else None
    return declared is not None and any(isinstance(parse_check(text), Unknown) for text in declared)


def missing(life: AssertionState) -> int:
    """How many classes more the check that lacks the most would need."""
    if life.checking is None:
        return max(0, life.k - life.fresh)
    return max(0, *(k - len(ends(life, place)) for place, k in _needs(life)))


def carried(life: AssertionState) -> int:
    """Until when the classes carry every check, Unix ms: the k-th largest of newest ts + W; -1 if one falls short."""
    least = -1
    for place, k in _needs(life):
        found = ends(life, place)
        if len(found) < k:
            return -1
        least = found[k - 1] if least < 0 else min(least, found[k - 1])
    return least


def ends(life: AssertionState, check: int) -> list[int]:
    """Until when each independent class carries a check in one file, Unix ms, the longest first."""
    return [end for end, _ in _carrying(life, check)[1]]


def place_of(life: AssertionState, check: int) -> Place:
    """Where a check holds: in the file that is carried longest."""
    return _carrying(life, check)[0]


def _carrying(life: AssertionState, check: int) -> tuple[Place, list[tuple[int, Stamp]]]:
    """The file in which a check is carried longest, and the independent evidence there with its ends."""
    found = [(place, independent(life.bounds, stamps)) for place, stamps in files(life, check)]
    if len(found) == 1:
        return found[0]
    k = dict(_needs(life))[check]
    # The first of equals: the check's own file.
    return max(found, key=lambda one: (one[1][k - 1][0] if len(one[1]) >= k else -1, len(one[1])))


# ---------------------------------------------------------------- coverage


def coverage(life: AssertionState) -> tuple[int, list[tuple[int, int]]]:
    """How much of its sentence the checks speak of, and what they leave open: the least of what counts."""
    checking = life.checking
    if checking is None:
        return WHOLE, []
    if checking.coverage >= 0:
        return checking.coverage, checking.unchecked
    counted = {seen.number for seen in life.seen if seen.ts >= 0}
    least, spans = WHOLE, list[tuple[int, int]]()
    for one in checking.classes:
        if one.number not in counted or one.coverage > least:
            continue
        spans = merged([*(spans if one.coverage == least else ()), *one.unchecked])
        least = one.coverage
    return least, spans


def covers_enough(life: AssertionState) -> bool:
    """Whether the checks speak of as much of the sentence as the policy wants for its effect."""
    internal, external = life.bounds.checks.min_coverage
    return coverage(life)[0] >= (external if life.effect == "external" else internal)


def settle(life: AssertionState) -> None:
    """Fixes coverage, and the file of each check, at admission by evidence: what comes later does not change them."""
    checking = life.checking
    if checking is not None and checking.coverage < 0:
        checking.coverage, checking.unchecked = coverage(life)
        if checking.elsewhere:
            check_places.settle(checking, [_chosen(life, check) for check in range(count(life))])


def _chosen(life: AssertionState, check: int) -> tuple[Place, list[Stamp]]:
    """The file in which a check is carried longest, and all evidence there."""
    place = place_of(life, check)
    return next(one for one in files(life, check) if one[0].path == place.path)


def classes_by_check(life: AssertionState) -> list[int]:
    """For each check how many distinct classes verified it by name, in one file."""
    checking = life.checking
    if checking is None:
        return []
    return [len({stamp.number for stamp in _chosen(life, check)[1] if stamp.named}) for check in range(count(life))]


__all__ = ["NO_COVERAGE", "begin", "checks", "covers_enough", "note", "note_words", "settle", "stands", "verified"]
