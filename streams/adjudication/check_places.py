"""Where a check was seen to hold, and the rule that k classes verify it in one file (docs/checks.md).

A check without `path` is looked up in the file of each annotation. Two classes may so verify it in two files, while the
record names one: then no second kind of evidence bears out what the reader is told. So evidence counts per file. The
first file that is told is the check's own (`Checking.places`); what another file shows is kept in `elsewhere`. What
names no file counts for each. At admission the file that is carried longest becomes the check's own, and evidence from
any other counts no more. Files are told apart by path: of one path in two repositories see docs/checks.md.

An observer that names neither file nor commit for a check saw it in the file that it looked at (`with_file`). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace

from ...codecs.records import Observation
from .emission_state import AssertionState, Checking, Elsewhere, Place, Verified

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


def kept(checking: Checking, check: int) -> Place:
    """The check's own place; an empty one where none was told."""
    return checking.places[check] if check < len(checking.places) else Place()


def is_elsewhere(checking: Checking, check: int, place: Place) -> bool:
    """Whether this is another file than the check's own."""
    own = kept(checking, check).path
    return bool(place.path and own and place.path != own)


def keep(checking: Checking, check: int, place: Place, known: int) -> None:
    """Notes where a check was last seen to hold in its own file; what names no file replaces none that does."""
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
        stamp = Stamp(seen.number, seen.ts, ("", ""), False) if entry is None else _stamp(entry, check)
        if stamp.ts >= 0:
            own.append(stamp)
            if not stamp.named:
                anywhere.append(stamp)
    if checking is None:
        return [(Place(), own)]
    found = [(kept(checking, check), own)]
    others = [one for one in checking.elsewhere if one.check == check]
    for path in sorted({one.place.path for one in others}):
        here = [one for one in others if one.place.path == path]
        stamps = [Stamp(one.number, one.ts, one.looked, True) for one in here]
        numbers = {one.number for one in here}
        newest = max(here, key=lambda one: (one.ts, one.number))
        found.append((newest.place, [*stamps, *(one for one in anywhere if one.number not in numbers)]))
    return found


def _stamp(entry: Verified, check: int) -> Stamp:
    looked = entry.looked[check] if check < len(entry.looked) else ("", "")
    return Stamp(entry.number, entry.stamps[check], looked, bool(entry.named >> check & 1))


def settle(checking: Checking, chosen: Sequence[tuple[Place, Sequence[Stamp]]]) -> None:
    """Makes the chosen file of each check its own, and lets go of all others."""
    if not checking.elsewhere:
        return
    entries = {one.number: one for one in checking.classes}
    for check, (place, stamps) in enumerate(chosen):
        if place.path == kept(checking, check).path:
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
