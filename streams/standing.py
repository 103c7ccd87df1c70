"""Which checks of an assertion stand: verified by enough distinct classes that are fresh and independent (judging.md).

A check stands when k classes verified it, each class once, newest evidence first. The assertion is admitted when all of
its checks stand and they speak of as much of its sentence as the policy wants. An observation that verifies no check by
name (a foreign observer's) speaks of all of them where the policy counts it. A life without a `Checking` counts its
classes plainly, as if it had one check. Pure; lives are changed by `note`, `note_words` and `settle` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from ..codecs.records import Observation
from .judging.checks import Check, Unknown, parse_check
from .judging.derivation import checks_of
from .lives import CLASSES, COVERAGE, NO_COVERAGE, NUMBER_OF, PART, WHOLE, Checking, Life, Place, Seen, Terms, Verified

ROOTED: Final = frozenset(
    NUMBER_OF[name] for name in ("substrate.git.log", "substrate.grep", "substrate.code.read", "substrate.fs.mtime")
)
"""Classes that look below a root: of these at most `same_root` count for one root. A root that nobody names is one."""
_SAME_BYTES: Final = frozenset((NUMBER_OF["substrate.grep"], NUMBER_OF["substrate.code.read"]))
_MAX_PATH, _MAX_COMMIT = 4096, 64


# ---------------------------------------------------------------- an assertion's checks


def begin(life: Life, declared: Sequence[str] | None, terms: Terms) -> None:
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


def texts(life: Life) -> Sequence[str]:
    """The checks of a life as text: those that it declares, or the one that its words give."""
    checking = life.checking
    declared = checking.texts if checking is not None else None
    return declared if declared is not None else checks_of(life.text, life.kind, None).checks


def checks(life: Life) -> list[Check | Unknown]:
    """The checks of a life, read."""
    return [parse_check(text) for text in texts(life)]


def count(life: Life) -> int:
    """How many checks are counted: at least one, so that what has none is counted as a whole."""
    checking = life.checking
    return 1 if checking is None or checking.texts is None else len(checking.texts)


def _needs(life: Life) -> Iterator[tuple[int, int]]:
    """The place of each check, and its k."""
    needs = life.checking.needs if life.checking is not None else []
    for place in range(count(life)):
        yield place, needs[place] if needs else life.k


# ---------------------------------------------------------------- evidence


def verified(life: Life, observation: Observation) -> list[int] | None:
    """The checks of the assertion that a corroboration verifies, by place; None where it speaks of it as a whole.

    Empty where it verifies nothing that the assertion has, contradicts itself, or its checks are not bound to the
    sentence: then it does not count.
    """
    if observation.verified is None:
        return None
    if observation.refuted or observation.coverage == "none":
        return []
    declared = life.checking.texts if life.checking is not None else None
    known = len(declared) if declared is not None else len(texts(life))
    return sorted({place for place in observation.verified if place < known})


def note(life: Life, seen: Seen, observation: Observation, places: Sequence[int] | None, ts: int) -> bool:
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
    news = False
    for place in range(count(life)) if places is None else places:
        if ts > entry.stamps[place]:
            entry.stamps[place] = ts
            news = True
    if checking.coverage < 0:  # until it is admitted
        _note_coverage(entry, observation, life, whole=places is None)
        _note_places(checking, observation, places or (), count(life))
    if places is not None:
        entry.named |= sum(1 << place for place in places)
    if news and not life.bounds.checks.counts_plainly and observation.looked_at is not None:
        entry.root, entry.content = observation.looked_at.root or "", observation.looked_at.content or ""
    return news


def note_words(life: Life) -> None:
    """An observer found the assertion's words, and nothing was checked: that counts for nothing, and is told."""
    _checking(life).words = True


def _checking(life: Life) -> Checking:
    if life.checking is None:
        life.checking = Checking()
    return life.checking


def _note_coverage(entry: Verified, observation: Observation, life: Life, *, whole: bool) -> None:
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


def _note_places(checking: Checking, observation: Observation, places: Sequence[int], known: int) -> None:
    """Where the checks were seen to hold, as far as the observation's `detail.checks` says so in the agreed form."""
    if not places:
        return
    detail: Any = (observation.detail or {}).get("checks")
    told = cast("list[Any]", detail) if isinstance(detail, list) else []
    if len(checking.places) < known:
        checking.places = [*checking.places, *([Place()] * (known - len(checking.places)))]
    for place in places:
        one = told[place] if place < len(told) else None
        checking.places[place] = _place(cast("dict[str, Any]", one)) if isinstance(one, dict) else Place()


def _place(told: dict[str, Any]) -> Place:
    path, commit, lines = told.get("path"), told.get("commit"), told.get("lines")
    first = last = 0
    if isinstance(lines, list) and len(cast("list[Any]", lines)) == 2:
        numbers = cast("list[Any]", lines)
        if all(type(one) is int for one in numbers) and 1 <= numbers[0] <= numbers[1] < 2**31:
            first, last = numbers
    return Place(
        path if isinstance(path, str) and len(path) <= _MAX_PATH else "",
        first,
        last,
        commit if isinstance(commit, str) and len(commit) <= _MAX_COMMIT else "",
    )


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


def least_k(life: Life) -> int:
    """So many classes are needed for any check to stand."""
    needs = life.checking.needs if life.checking is not None else ()
    return min(needs, default=life.k)


def stands(life: Life) -> bool:
    """Whether enough classes verified every check, and every check is one that this version knows."""
    if life.checking is None:
        return life.fresh >= life.k
    if life.fresh < least_k(life) or any(len(ends(life, place)) < k for place, k in _needs(life)):
        return False
    return not has_unknown(life)


def has_unknown(life: Life) -> bool:
    """Whether one of the declared checks is malformed or not known: then the others cannot admit it."""
    declared = life.checking.texts if life.checking is not None else None
    return declared is not None and any(isinstance(parse_check(text), Unknown) for text in declared)


def missing(life: Life) -> int:
    """How many classes more the check that lacks the most would need."""
    if life.checking is None:
        return max(0, life.k - life.fresh)
    return max(0, *(k - len(ends(life, place)) for place, k in _needs(life)))


def carried(life: Life) -> int:
    """Until when the classes carry every check, Unix ms: the k-th largest of newest ts + W; -1 if one falls short."""
    least = -1
    for place, k in _needs(life):
        found = ends(life, place)
        if len(found) < k:
            return -1
        least = found[k - 1] if least < 0 else min(least, found[k - 1])
    return least


def ends(life: Life, place: int) -> list[int]:
    """Until when each independent class carries a check, Unix ms, the longest first."""
    windows, terms = life.bounds.windows, life.bounds.checks
    entries = {one.number: one for one in life.checking.classes} if life.checking is not None else {}
    found: list[tuple[int, int]] = []  # end, class
    for seen in life.seen:
        if seen.ts < 0:
            continue
        entry = entries.get(seen.number)
        stamp = seen.ts if entry is None else entry.stamps[place]
        if stamp >= 0:
            found.append((stamp + windows[CLASSES[seen.number]], seen.number))
    found.sort(key=lambda one: (-one[0], one[1]))
    if not terms.counts_plainly:
        found = _independent(found, entries, terms.same_bytes, terms.same_root, terms.groups)
    return [end for end, _ in found]


def _independent(
    found: Sequence[tuple[int, int]],
    entries: dict[int, Verified],
    same_bytes: bool,
    same_root: int,
    groups: Sequence[Sequence[int]],
) -> list[tuple[int, int]]:
    """Of classes that are not independent the one that carries longest; of one root at most `same_root`."""
    kept: list[tuple[int, int]] = []
    roots: dict[str, int] = {}
    taken: set[int] = set()
    for end, number in found:
        entry = entries.get(number)
        group = next((place for place, members in enumerate(groups) if number in members), None)
        if group is not None and group in taken:
            continue
        if same_bytes and number in _SAME_BYTES and any(_same_content(entry, entries.get(one)) for _, one in kept):
            continue
        if same_root and number in ROOTED:
            root = entry.root if entry is not None else ""
            if roots.get(root, 0) >= same_root:
                continue
            roots[root] = roots.get(root, 0) + 1
        if group is not None:
            taken.add(group)
        kept.append((end, number))
    return kept


def _same_content(one: Verified | None, other: Verified | None) -> bool:
    """Whether two classes that read files saw the same bytes; where one of them does not say, they may have."""
    if other is not None and other.number not in _SAME_BYTES:
        return False
    return one is None or other is None or not one.content or not other.content or one.content == other.content


# ---------------------------------------------------------------- coverage


def coverage(life: Life) -> tuple[int, list[tuple[int, int]]]:
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


def covers_enough(life: Life) -> bool:
    """Whether the checks speak of as much of the sentence as the policy wants for its effect."""
    internal, external = life.bounds.checks.min_coverage
    return coverage(life)[0] >= (external if life.effect == "external" else internal)


def settle(life: Life) -> None:
    """Fixes coverage at admission by evidence: what comes later does not change it."""
    checking = life.checking
    if checking is not None and checking.coverage < 0:
        checking.coverage, checking.unchecked = coverage(life)


def classes_by_check(life: Life) -> list[int]:
    """For each check how many distinct classes verified it by name."""
    checking = life.checking
    if checking is None:
        return []
    counted = {seen.number for seen in life.seen if seen.ts >= 0}
    return [
        sum(one.named >> place & 1 for one in checking.classes if one.number in counted) for place in range(count(life))
    ]


__all__ = ["NO_COVERAGE", "begin", "checks", "covers_enough", "note", "note_words", "settle", "stands", "verified"]
