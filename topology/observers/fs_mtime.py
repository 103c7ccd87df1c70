"""substrate.fs.mtime: when a file was last modified, as the file system tells [S §4].

The observation id is `mtime:` and the time, RFC 3339 in UTC, to the nanosecond, without zeros at the end. Of the checks
`modified` alone is decided here; of an assertion without checks the words are held against the time as it is usually
written.
"""

from __future__ import annotations

import re
from typing import Final

from ...codecs.records import LookedAt
from ...streams.judging.checks import Check, Unknown
from ...streams.judging.facts import verify_modified
from ...streams.judging.moments import format_ns
from ...streams.judging.results import Held, opposite
from ...streams.judging.terms import Content, presence
from .ask import Ask, CannotLook, Finding, Missing
from .asked_files import place_of
from .commit_tree import CommitTree
from .located import Located
from .looked_root import Site, View
from .place_findings import OTHER, UNKNOWN, answer, dated, decides
from .trees import Place, Tree
from .untracked import UNTRACKED

_DECLARED: Final = re.compile(r"mtime:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


def fs_mtime(ask: Ask, site: Site, view: View) -> Finding:
    """Holds the modification time against those that the checks name.

    Raises:
        CannotLook: no file is named, there is none to be seen, or it must not be looked at.
    """
    if isinstance(view.tree, CommitTree):
        raise CannotLook("git's objects have no modification times")
    looking = _Times(ask, site, view.tree)
    own = {
        number: view.tree.locate(check.path or "", ask.budget)
        for number, check in enumerate(ask.question.checks)
        if isinstance(check, Check) and decides(ask.substrate_class, check)
    }
    place = next(iter(own.values()), None)
    if place is None or ask.member("path") is not None:
        place = place_of(ask, view.tree)
    if place.state in ("folder", "untracked"):
        raise CannotLook(UNTRACKED if place.state == "untracked" else "the path names no regular file")
    time = looking.time(place)
    written = None if time is None else format_ns(time)
    if written is not None and _declares_another(ask, written):
        if ask.ts is not None and time is not None and -(-time // 1_000_000) <= ask.ts:
            why = "nothing has written the file since the annotation's ts"
            return Finding("unknown-observation", ask.declared, reason=why)
        return Finding("absent", f"mtime:{written}", reason="changed-since")
    helds = [looking.held(number, own.get(number)) for number in range(len(ask.question.checks))]
    words = None
    if ask.question.is_sentence and written is not None:
        # Beside the times themselves, nothing can be seen of a file here.
        times = f"{written} {written.replace('T', ' ').removesuffix('Z')} UTC"
        words = presence(ask.terms.terms, Content(place.path if ask.terms.exists else times))
    return answer(
        ask,
        helds,
        None if written is None else f"mtime:{written}",
        words=words,
        missing=place.state == "missing",
        path=place.path,
        where=lambda _: LookedAt(root=site.name, path=place.path),
    )


class _Times:
    """The modification times of one look."""

    def __init__(self, ask: Ask, site: Site, tree: Tree) -> None:
        self._ask, self._site, self._tree = ask, site, tree
        path = ask.member("path")
        self.region = Located(None if path is None else tree.locate(path, ask.budget).path)

    def time(self, place: Place) -> int | None:
        """In nanoseconds since 1970; None where no file stands.

        Raises:
            CannotLook: no calendar has it.
        """
        if place.state != "file":
            return None
        try:
            time = self._site.root.stat(place.path).st_mtime_ns
            format_ns(time)
        except Missing:
            return None
        except OverflowError:
            raise CannotLook("the modification time is one that no calendar has") from None
        return time

    def held(self, number: int, place: Place | None) -> Held:
        """What one check comes to, `not` included."""
        check = self._ask.question.checks[number]
        if isinstance(check, Unknown):
            return UNKNOWN
        if place is not None and place.state == "untracked":
            raise CannotLook(UNTRACKED)
        if place is None or place.state == "folder":
            return OTHER
        time = self.time(place)
        if time is None:
            return Held(None, "path-missing", path=place.path)
        held = verify_modified(check, time)._replace(path=place.path)
        held = opposite(held) if check.negated else held
        held = dated(self._ask, held, -(-time // 1_000_000))
        return self.region.bind(check, held, place.path, None)


def _declares_another(ask: Ask, written: str) -> bool:
    """Whether another time is declared, at the precision at which it is declared."""
    match = _DECLARED.fullmatch(ask.declared or "")
    if match is None:
        return (ask.declared or "").startswith("mtime:")
    second, _, fraction = written.removesuffix("Z").partition(".")
    digits = (match[2] or "").rstrip("0")
    return match[1] != second or not fraction.ljust(9, "0").startswith(digits)
