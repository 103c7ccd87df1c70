"""Which evidence of one check counts as independent (docs/checks.md): a pure choice among what there is.

A hostile emitter may choose where observers look, and could have one file, checkout or tool count several times.
So a policy can say that grep and code.read of the same bytes count once (`same_bytes`), that one root gives at most so
many of k (`same_root`), and that named classes count once (`groups`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ...codecs.records import LookedAt, Observation
from .check_places import Stamp
from .emission_state import CLASSES, NUMBER_OF, Terms

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
    """An observation whose root is `ANY_ROOT` where it names none, the policy bounds what one root gives, and its class
    looks below one."""
    looked = observation.looked_at
    if not bounds.checks.same_root or NUMBER_OF[cls] not in ROOTED or (looked is not None and looked.root):
        return observation
    return replace(observation, looked_at=replace(looked or LookedAt(), root=ANY_ROOT))


def _same_content(one: Stamp, other: Stamp) -> bool:
    """Whether two classes that read files saw the same bytes; where one of them does not say, they may have."""
    if one.number not in _SAME_BYTES or other.number not in _SAME_BYTES:
        return False
    return not one.looked[1] or not other.looked[1] or one.looked[1] == other.looked[1]
