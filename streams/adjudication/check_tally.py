"""The checks of an assertion counted: in which file each holds, by which independent classes, and which of them stand
(docs/checks.md).

A check stands when k classes verified it in one file, each class once, newest evidence first. An assertion is admitted
when all its checks stand. A hostile emitter may choose where observers look, so evidence counts per file, and a policy
can say which evidence counts once: two looks at the same bytes (`same_bytes`), or more than so many from one root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from ...codecs.records import LookedAt, Observation
from ..judging.checks import Check, Unknown, parse_check
from ..policy.policy import BY_FORM
from .emission_state import (
    CLASSES,
    COVERAGE,
    NUMBER_OF,
    PART,
    AssertionState,
    Checking,
    ClassEvidence,
    Covered,
    Elsewhere,
    Look,
    Looks,
    Place,
    Terms,
    Verified,
)

NotCountedReason: TypeAlias = Literal[
    "class-unknown",
    "absent",
    "terms-present",
    "unavailable",
    "low-confidence",
    "judge-not-accepted",
    "checks-required",
    "writable-by-emitter",
    "owned-by-vendor",
    "contradicts-itself",
    "check-not-bound",
    "verifies-nothing",
    "too-old",
    "too-late",
    "not-newer",
    "not-declared",
    "declarations-only",
    "outweighed",
    "repeated",
    "other-record",
    "other-checks",
    "not-as-signed",
]
"""topology/audit/explanation_view.py has a sentence for each."""


MAX_ELSEWHERE: Final = 4
"""So many other files are kept for each class and check; further ones are left out."""
_MAX_PATH, _MAX_COMMIT = 4096, 64


class Stamp(NamedTuple):
    """The newest evidence of one class for one check in one file.

    Attributes:
        number: of the bare class.
        ts: Unix ms.
        looked: the root and the content hash that it names.
        named: it verified the check by name.
    """

    number: int
    ts: int
    looked: tuple[str, str]
    named: bool


def place_in(observation: Observation, check: int) -> Place:
    """Where an observation saw a check hold, as far as its `detail.checks` says so in the agreed form."""
    detail: Any = (observation.detail or {}).get("checks")
    some = cast("list[Any]", detail) if isinstance(detail, list) else []
    one = some[check] if check < len(some) else None
    return _place(cast("dict[str, Any]", one)) if isinstance(one, dict) else Place()


def _place(one: dict[str, Any]) -> Place:
    path, commit, lines = one.get("path"), one.get("commit"), one.get("lines")
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


def with_file(observation: Observation) -> Observation:
    """An observation in which each check that it verifies, and names no place for, holds in the file looked at.

    A commit is a place too: so our observers tell what is in no file. An observation that names no check says nothing
    of files.
    """
    looked = observation.looked_at
    if not observation.verified or looked is None or not looked.path:
        return observation
    places = {check: place_in(observation, check) for check in observation.verified}
    silent = [check for check, place in places.items() if not place.path and not place.commit]
    if not silent:
        return observation
    detail: Any = (observation.detail or {}).get("checks")
    told = list(cast("list[Any]", detail)) if isinstance(detail, list) else []
    told += [None] * (max(silent) + 1 - len(told))
    for check in silent:
        told[check] = {**(told[check] if isinstance(told[check], dict) else {}), "path": looked.path}
    return replace(observation, detail={**(observation.detail or {}), "checks": told})


def looked_at(observation: Observation) -> tuple[str, str]:
    """The root and the content hash that an observation names; empty where it names none."""
    looked = observation.looked_at
    return ("", "") if looked is None else (looked.root or "", looked.content or "")


def kept_place(checking: Checking, check: int) -> Place:
    """The check's own place; an empty one where none was told."""
    return checking.places[check] if check < len(checking.places) else Place()


def is_elsewhere(checking: Checking, check: int, place: Place) -> bool:
    """Returns whether `place` is in another file than the check's own, as `checking` has it."""
    own = kept_place(checking, check).path
    return bool(place.path and own and place.path != own)


def keep_place(checking: Checking, check: int, place: Place, known: int) -> None:
    """Notes in `checking` the `place` where a `check`, one of the `known`, was last seen to hold in its own file; what
    names no file replaces none that does."""
    if len(checking.places) < known:
        checking.places = [*checking.places, *([Place()] * (known - len(checking.places)))]
    if place.path or not checking.places[check].path:
        checking.places[check] = place


def keep_elsewhere(checking: Checking, new: Elsewhere) -> bool:
    """Notes evidence from another file; False where it is no news."""
    same = [one for one in checking.elsewhere if one.number == new.number and one.check == new.check]
    for one in same:
        if one.place.path == new.place.path:
            if new.ts <= one.ts:
                return False
            one.place, one.ts, one.looked = new.place, new.ts, new.looked
            return True
    if len(same) >= MAX_ELSEWHERE:
        return False
    checking.elsewhere.append(new)
    return True


def files(state: AssertionState, check: int) -> list[tuple[Place, list[Stamp]]]:
    """For each file in which a check was seen to hold the evidence that counts there; the check's own file first."""
    checking = state.checking
    entries = {one.number: one for one in checking.classes} if checking is not None else {}
    own: list[Stamp] = []
    anywhere: list[Stamp] = []  # names no file
    for seen in state.seen:
        if seen.ts < 0:
            continue
        entry = entries.get(seen.number)
        stamp = Stamp(seen.number, seen.ts, ("", ""), False) if entry is None else _stamp_of(entry, check)
        if stamp.ts >= 0:
            own.append(stamp)
            if not stamp.named:
                anywhere.append(stamp)
    if checking is None:
        return [(Place(), own)]
    found = [(kept_place(checking, check), own)]
    others = [one for one in checking.elsewhere if one.check == check]
    for path in sorted({one.place.path for one in others}):
        here = [one for one in others if one.place.path == path]
        stamps = [Stamp(one.number, one.ts, one.looked, True) for one in here]
        numbers = {one.number for one in here}
        newest = max(here, key=lambda one: (one.ts, one.number))
        found.append((newest.place, [*stamps, *(one for one in anywhere if one.number not in numbers)]))
    return found


def _stamp_of(entry: Verified, check: int) -> Stamp:
    looked = entry.looked[check] if check < len(entry.looked) else ("", "")
    return Stamp(entry.number, entry.stamps[check], looked, bool(entry.named >> check & 1))


def settle_places(checking: Checking, chosen: Sequence[tuple[Place, Sequence[Stamp]]]) -> None:
    """Makes the chosen file of each check its own, and lets go of all others."""
    if not checking.elsewhere:
        return
    entries = {one.number: one for one in checking.classes}
    for check, (place, stamps) in enumerate(chosen):
        if place.path == kept_place(checking, check).path:
            continue
        checking.places[check] = place
        for entry in checking.classes:
            entry.stamps[check] = -1
            entry.named &= ~(1 << check)
        for stamp in stamps:
            entry = entries.get(stamp.number)
            if entry is None:
                continue  # counted plainly: it stands in the assertion's `seen`
            entry.stamps[check] = stamp.ts
            entry.named |= stamp.named << check
            if entry.looked:
                entry.looked[check] = stamp.looked
    checking.elsewhere = []


ROOTED: Final = frozenset(
    NUMBER_OF[name] for name in ("substrate.git.log", "substrate.grep", "substrate.code.read", "substrate.fs.mtime")
)
"""Classes that look below a root: of these at most `same_root` count for one root. A root that nobody
names may be any, and is kept as `ANY_ROOT`."""
ANY_ROOT: Final = "\0"
"""The root of evidence that names none: it counts against every root's bound."""
_SAME_BYTES: Final = frozenset((NUMBER_OF["substrate.grep"], NUMBER_OF["substrate.code.read"]))


def independent(bounds: Terms, stamps: Sequence[Stamp]) -> list[tuple[int, Stamp]]:
    """Evidence with its end, the longest first; of classes that are not independent the one that carries longest, of
    one root at most `same_root`."""
    windows, terms = bounds.windows, bounds.checks
    found = sorted(
        ((one.ts + windows[CLASSES[one.number]], one) for one in stamps), key=lambda one: (-one[0], one[1].number)
    )
    if terms.counts_plainly:
        return found
    kept: list[tuple[int, Stamp]] = []
    roots: dict[str, int] = {}
    taken: set[int] = set()
    for end, stamp in found:
        group = next((place for place, members in enumerate(terms.groups) if stamp.number in members), None)
        if group is not None and group in taken:
            continue
        if terms.same_bytes and any(_same_content(stamp, one) for _, one in kept):
            continue
        if terms.same_root and stamp.number in ROOTED:
            root = stamp.looked[0]
            same = max(roots.values(), default=0) if root == ANY_ROOT else roots.get(root, roots.get(ANY_ROOT, 0))
            if same >= terms.same_root:
                continue
            if root == ANY_ROOT:
                roots = {one: count + 1 for one, count in roots.items()} | {ANY_ROOT: roots.get(ANY_ROOT, 0) + 1}
            else:
                roots[root] = same + 1
        if group is not None:
            taken.add(group)
        kept.append((end, stamp))
    return kept


def with_root(bounds: Terms, observation: Observation, cls: str) -> Observation:
    """Returns an observation whose root is `ANY_ROOT` where it names none, the policy bounds what one root gives, and
    its class, `cls`, looks below one."""
    looked = observation.looked_at
    if not bounds.checks.same_root or NUMBER_OF[cls] not in ROOTED or (looked is not None and looked.root):
        return observation
    return replace(observation, looked_at=replace(looked or LookedAt(), root=ANY_ROOT))


def _same_content(one: Stamp, other: Stamp) -> bool:
    """Whether two classes that read files saw the same bytes; where one of them does not say, they may have."""
    if one.number not in _SAME_BYTES or other.number not in _SAME_BYTES:
        return False
    return not one.looked[1] or not other.looked[1] or one.looked[1] == other.looked[1]


MOST_TOLD: Final = 4
"""So many different checks that observers tell are kept of an assertion without its own."""

# ---------------------------------------------------------------- an assertion's checks


def begin(state: AssertionState, declared: Sequence[str] | None, terms: Terms, proposed: str | None = None) -> None:
    """Gives a new assertion its `Checking`, where it needs one from the start; may lower or raise its k.

    `state` is changed. `declared` are the texts of the checks that it declares or that are proposed. `terms` are those
    of the policy; `proposed` is as in `Checking.proposed`.
    """
    plain = terms.checks.counts_plainly
    if plain and not declared and proposed is None:
        return
    state.checking = checking = Checking(list(declared) if declared else None, proposed=proposed)
    if not terms.checks.k_by_check or not declared:
        return
    external = state.effect == "external"
    found = [k_by_check(terms.checks.k_by_check, check, external=external) for check in checks(state)]
    if any(found):
        checking.needs = [k or state.k for k in found]
        state.k = max(checking.needs)


def k_by_check(by_check: Mapping[str, tuple[int, int]], check: Check | Unknown, *, external: bool) -> int:
    """Returns the k that a policy sets `by_check` name, for internal and `external` effects, for this `check`; 0 where
    it sets none."""
    return by_check.get(check.name, (0, 0))[external] if isinstance(check, Check) else 0


def texts(state: AssertionState) -> Sequence[str]:
    """The checks of an assertion as text: those that it declares, that were proposed, or that observers told."""
    checking = state.checking
    return checking.texts if checking is not None and checking.texts is not None else ()


def has_own(state: AssertionState) -> bool:
    """Whether the checks are the assertion's own: declared, proposed, or settled at its admission."""
    checking = state.checking
    return checking is not None and checking.texts is not None and not checking.told


def place_of_told(state: AssertionState, check: Check, text: str, *, verified: bool) -> int | None:
    """Returns the place of a `check`, with the canonical form `text`, that an observer told of an assertion without its
    own checks; None where it is not kept. `state` is changed: the check is taken in where there is room; one that is
    not `verified` only where there is none yet."""
    checking = _checking(state)
    told = checking.texts or []
    if text in told:
        return told.index(text)
    if len(told) >= (MOST_TOLD if verified else 1):
        return None
    k = k_by_check(state.bounds.checks.k_by_check, check, external=state.effect == "external")
    if told or k:
        checking.needs = [*(checking.needs or [state.k] * len(told)), k or state.k]
    checking.texts, checking.told = [*told, text], True
    for entry in checking.classes:  # what verified none by name speaks of each
        entry.stamps.append(-1 if entry.named else entry.stamps[0])
        if entry.looked:
            entry.looked.append(("", "") if entry.named else entry.looked[0])
        entry.covered.append(Covered())
    if checking.places:
        checking.places.append(Place())
    return len(told)


def weighed(state: AssertionState) -> Sequence[int]:
    """The places of the checks that have to stand: of all, or, where observers told them, of the best one."""
    checking = state.checking
    if checking is None or not checking.told:
        return range(count(state))
    needs = dict(each_k(state))
    rated: list[tuple[bool, bool, int]] = []
    for place, k in needs.items():
        classes = len(ends(state, place))
        rated.append((classes >= k and _covers(state, place), classes >= k, classes))
    return [rated.index(max(rated))]  # the first of equals


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


def verified(state: AssertionState, observation: Observation) -> list[int] | NotCountedReason | None:
    """Returns the places of the checks of an assertion that a corroboration verifies; None where it names no check and
    speaks of the assertion as a whole; or why it does not count: `verifies-nothing` (also where it saw the check in
    another file than the one that the admitted record names), `check-not-bound` or `contradicts-itself`."""
    if observation.verified is None:
        return None
    checking, known = state.checking, len(texts(state))
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
    """Takes in what a fresh corroboration that counts verifies; True where it is news. `seen` is the evidence of its
    class in `state`, before this `observation` is counted; `places` are of the checks that it verifies, None for all;
    `ts` in Unix ms."""
    if places is None and state.checking is None:
        return False  # counted plainly
    checking = _checking(state)
    entry = next((one for one in checking.classes if one.number == seen.number), None)
    if entry is None:
        if places is None and state.bounds.checks.counts_plainly:
            return False  # `seen` says all
        groups = count(state) if checking.told else 1
        entry = Verified(seen.number, [seen.ts] * count(state), 0, [Covered()] * groups)
        checking.classes.append(entry)
    if checking.coverage < 0 and places is not None:  # until it is admitted
        for group in places if checking.told else (0,):
            entry.covered[group] = _least(entry.covered[group], _covered(state, checking, observation))
    looked = ("", "") if state.bounds.checks.counts_plainly else looked_at(observation)
    news = False
    for check in range(count(state)) if places is None else places:
        if places is not None:
            place = place_in(observation, check)
            if is_elsewhere(checking, check, place):
                if state.min_observers > 1:
                    continue  # observers are counted for the check's own file only (emission_state.py)
                news = keep_elsewhere(checking, Elsewhere(seen.number, check, place, ts, looked)) or news
                continue
            if checking.coverage < 0:
                keep_place(checking, check, place, count(state))
            entry.named |= 1 << check
        if ts > entry.stamps[check]:
            entry.stamps[check] = ts
            news = True
            if looked != ("", ""):
                entry.looked = entry.looked or [("", "")] * count(state)
                entry.looked[check] = looked
    return news


def own_file(state: AssertionState, observation: Observation, places: Sequence[int]) -> int:
    """Returns a bit for each of the checks at `places` of `state` that the `observation` verifies in the check's own
    file."""
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


def _covered(state: AssertionState, checking: Checking, observation: Observation) -> Covered:
    """How much an observation says that the checks cover, as far as its word counts for that.

    `whole` by a proposer's name counts where that proposer signed it; what does not say by what it is whole counts as
    by a form, unless a proposal came, from which it may have it.
    """
    by = observation.coverage_by or (BY_FORM if checking.proposed is None else "")
    if observation.coverage == "whole" and by and by in (BY_FORM, checking.proposed):
        return Covered(by="" if by == BY_FORM else by)
    level = PART if observation.coverage in (None, "whole") else COVERAGE.index(observation.coverage)
    length = len(state.text)
    unchecked = observation.unchecked or ()
    spans = [(start, min(end, length)) for start, end in unchecked if start < min(end, length)] or [(0, length)]
    return Covered(level, merged(spans))


def _least(one: Covered, other: Covered) -> Covered:
    """The lower of two; of equals both their spans."""
    if one.level != other.level:
        return min(one, other, key=lambda covered: covered.level)
    return Covered(one.level, merged([*one.unchecked, *other.unchecked]), one.by or other.by)


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
    if state.fresh < least_k(state):
        return False
    needs = dict(each_k(state))
    if any(len(ends(state, place)) < needs[place] for place in weighed(state)):
        return False
    return not has_unknown(state)


def has_unknown(state: AssertionState) -> bool:
    """Whether one of the declared checks is malformed or not known: then the others cannot admit it."""
    return any(isinstance(parse_check(text), Unknown) for text in texts(state))


def missing(state: AssertionState) -> int:
    """How many classes more the check that lacks the most would need."""
    if state.checking is None:
        return max(0, state.k - state.fresh)
    needs = dict(each_k(state))
    return max(0, *(needs[place] - len(ends(state, place)) for place in weighed(state)))


def carried(state: AssertionState) -> int:
    """Until when the classes carry every check, Unix ms: the k-th largest of newest ts + W; -1 if one falls short."""
    least, needs = -1, dict(each_k(state))
    for place in weighed(state):
        k, found = needs[place], ends(state, place)
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


def covered(state: AssertionState) -> Covered:
    """How much of its sentence the checks speak of, what they leave open, and by whose word: the least that counts."""
    checking = state.checking
    if checking is None:
        return Covered()
    if checking.coverage >= 0:
        return Covered(checking.coverage, checking.unchecked, checking.by)
    return _covered_by(state, weighed(state)[0] if checking.told else 0)


def _covered_by(state: AssertionState, group: int) -> Covered:
    """The same of one entry of `Verified.covered`."""
    checking = _checking(state)
    counted = {seen.number for seen in state.seen if seen.ts >= 0}
    least = Covered()
    for entry in checking.classes:
        if entry.number in counted and (not checking.told or entry.named >> group & 1):
            least = _least(least, entry.covered[group])
    return least


def _covers(state: AssertionState, group: int) -> bool:
    return _covered_by(state, group).level >= _least_coverage(state)


def _least_coverage(state: AssertionState) -> int:
    internal, external = state.bounds.checks.min_coverage
    return external if state.effect == "external" else internal


def covers_enough(state: AssertionState) -> bool:
    """Whether the checks speak of as much of the sentence as the policy wants for its effect."""
    return covered(state).level >= _least_coverage(state)


def settle(state: AssertionState) -> None:
    """Fixes coverage, the file of each check, and, of checks that observers told, which one it is: what comes after the
    admission does not change them."""
    checking = state.checking
    if checking is not None and checking.coverage < 0:
        least = covered(state)
        checking.coverage, checking.unchecked, checking.by = least.level, least.unchecked, least.by
        if checking.told:
            _keep_one(state, checking, weighed(state)[0])
        if checking.elsewhere:
            settle_places(checking, [_chosen(state, check) for check in range(count(state))])


def _keep_one(state: AssertionState, checking: Checking, place: int) -> None:
    """Makes one of the told checks the only check of an assertion."""
    checking.texts, checking.told = [texts(state)[place]], False
    if checking.needs:
        state.k, checking.needs = checking.needs[place], [checking.needs[place]]
    if checking.places:
        checking.places = [checking.places[place]]
    for entry in checking.classes:
        entry.stamps, entry.named = [entry.stamps[place]], entry.named >> place & 1
        entry.covered = [entry.covered[place]]
        entry.looked = [entry.looked[place]] if entry.looked else []
    checking.elsewhere = [one for one in checking.elsewhere if one.check == place]
    for one in checking.elsewhere:
        one.check = 0
    for witness in state.witnesses:
        witness.checks = witness.checks if witness.checks < 0 else witness.checks >> place & 1


def _chosen(state: AssertionState, check: int) -> tuple[Place, list[Stamp]]:
    """The file in which a check is carried longest, and all evidence there."""
    place = place_of(state, check)
    return next(one for one in files(state, check) if one[0].path == place.path)


def classes_by_check(state: AssertionState) -> list[int]:
    """For each check that has to stand how many distinct classes verified it by name, in one file."""
    if state.checking is None:
        return []
    return [len(verifiers(state, check)) for check in weighed(state)]


def verifiers(state: AssertionState, check: int) -> list[int]:
    """The numbers of the distinct classes that verified a check by name, in one file."""
    if state.checking is None:
        return []
    return sorted({stamp.number for stamp in _chosen(state, check)[1] if stamp.named})
