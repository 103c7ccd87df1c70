"""Holds the checks on content and trees against the files of one tree: one file each, or all that are tracked.

asked_files.py has already decided which files a check is about, and streams/judging decides the check in one file. This
module decides it over several files: the check is verified where it holds in at least one file, and refuted only where
it is false in every file (docs/checks.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ...streams.judging.checks import Check, Unknown
from ...streams.judging.facts import verify_only_in, verify_tree
from ...streams.judging.results import Held, Source, opposite
from ...streams.judging.text_checks import NOT_FOUND, NOT_WHOLE, flat
from ...streams.judging.verify import Parser, verify_content
from .ask import Ask, CannotLook, Missing
from .asked_files import Where
from .changed_since import Changes
from .content import APART, text_of
from .file_contents import Everything, File
from .located import ON_CHANGES, ON_TREES, Located
from .place_findings import OTHER, UNKNOWN, dated, decides
from .trees import Place, Tree
from .untracked import UNTRACKED

BINARY: Final = "the file is binary"
NOT_HERE: Final = "the content is not here: the file is a pointer of Git LFS"
NO_FILE: Final = "the path names no regular file"
_ABSENT_NAME: Final = frozenset(("not-found", "unlisted-language"))
"""Why a value is undecided in a file that only mentions the name."""


class Deciding:
    """One question and one tree.

    Attributes:
        where: the places.
        digests: `sha256:` of each file that was read, by its path.
        exact: the annotation names the commit that is looked at, so that no time has passed since.
        region: what the annotation says was looked at.
        changes: decides what changed since a commit or tree; None where nothing does.
    """

    def __init__(self, ask: Ask, tree: Tree, where: Where, parser: Parser, *, exact: bool) -> None:
        self._ask, self._tree, self.where, self._parser = ask, tree, where, parser
        self.exact, self.region = exact, Located()
        self.changes: Changes | None = None
        self.digests: dict[str, str] = {}
        self._files: dict[str, File] = {}
        self._all: Everything | None = None

    def bound(self, number: int) -> Held:
        """What one check comes to by what the annotation says was looked at (located.py).

        Raises:
            CannotLook: what it speaks of could not be read.
        """
        return self.bind(number, self.held(number))

    def bind(self, number: int, held: Held) -> Held:
        """As `bound`, of what is known already."""
        check, place = self._ask.question.checks[number], self.where.of(number)
        if isinstance(check, Unknown):
            return held
        if check.name in ON_CHANGES or check.name == "only_in":
            place = self.where.own.get(number)  # the locator's file is no scope of theirs
            path = None if place is None else place.path
        else:
            path = held.path if place is None else place.path
        file = None if held.path is None else self.known(held.path)
        held = self.region.bind(check, held, path, file)
        if held.holds is False and held.found is None and held.lines is not None and file is not None:
            text = text_of(file.part((held.lines[0], held.lines[0])))
            held = held._replace(found=None if text is None else text.text.strip()[:200] or None)
        return held

    def held(self, number: int) -> Held:
        """What one check comes to, `not` included.

        Raises:
            CannotLook: what it speaks of could not be read.
        """
        check = self._ask.question.checks[number]
        if isinstance(check, Unknown):
            return UNKNOWN
        if not decides(self._ask.substrate_class, check):
            return OTHER
        if check.name in ON_CHANGES:
            return OTHER if self.changes is None else self.changes.held(check)
        if check.name == "only_in":
            return self._of_all(check, self.only_in(check))
        place = self.where.of(number)
        if check.name in ON_TREES:
            return OTHER if place is None else self.in_tree(check, place)
        if place is not None:
            return self.in_file(check, place)
        return self.in_all(check) if self._ask.substrate_class == "substrate.grep" else OTHER

    def in_tree(self, check: Check, place: Place) -> Held:
        """Whether the path is there, or is not.

        A path is read as the end of any path: while a file that ends so is in some folder, it stays undecided whether
        it is there or missing.
        """
        held = self._of_tree(verify_tree(check, place.state != "missing"), place)
        if held.holds is not None and place.state == "missing" and self._is_end_of_another(place.path):
            return held._replace(holds=None, reason="ambiguous")
        if held.holds is not False or self.exact:
            return held
        if place.state != "missing":
            return dated(self._ask, held, self._changed(held, place))
        went = self._tree.went(place.path, self._ask.budget)
        return dated(self._ask, held, went, exact=went is None)

    def _is_end_of_another(self, path: str) -> bool:
        """Whether a tracked file has this name, or this end of its path, in some folder."""
        try:
            return any(one.endswith(f"/{path}") for one in self._tree.paths(self._ask.budget))
        except CannotLook:
            return True  # too many to be listed: nobody can tell

    def in_file(self, check: Check, place: Place) -> Held:
        """What a check on content comes to in one file."""
        if place.state == "missing":
            return Held(None, "path-missing", path=place.path)
        file = self.file(place)
        if file.is_pointer:
            raise CannotLook(NOT_HERE)
        source = file.source(place.path, check)
        if source is None:
            raise CannotLook(BINARY)
        held = self._of_tree(verify_content(check, source, self._parser), place)
        self._ask.budget.remaining()
        return dated(self._ask, held, self._changed(held, place), exact=self.exact)

    def _of_tree(self, held: Held, place: Place) -> Held:
        commit = self._tree.commit
        return held._replace(path=place.path, commit=None if commit is None else commit.name)

    def _changed(self, held: Held, place: Place) -> int | None:
        return None if held.holds is not False or self.exact else self.changed(place)

    def changed(self, place: Place) -> int | None:
        """When a file last changed, in Unix milliseconds; None where nobody can tell."""
        return self._tree.changed(place.path, self._ask.since, self._ask.budget)

    @property
    def newest(self) -> int | None:
        """When the newest of all files changed, in Unix milliseconds; None where nobody can tell."""
        return self._tree.newest(self.everything, self._ask.since, self._ask.budget)

    def is_own_edit(self, places: Sequence[Held]) -> bool:
        """Whether any of these holds by what is not committed."""
        return any(self._tree.is_own_edit(held.path, self._ask.budget) for held in places if held.holds)

    def file(self, place: Place) -> File:
        """The whole file at a place.

        Raises:
            CannotLook: it is a folder, or could not be read.
        """
        known = self._files.get(place.path)
        if known is not None:
            return known
        if place.state != "file":
            raise CannotLook(UNTRACKED if place.state == "untracked" else NO_FILE)
        try:
            found = self._tree.file(place, self._ask.budget)
        except Missing:
            raise CannotLook("the file went away while it was looked at") from None
        self._files[place.path] = found
        self.digests[place.path] = found.digest
        return found

    def known(self, path: str) -> File | None:
        """A file that was read."""
        if path in self._files or self._all is None:
            return self._files.get(path)
        return next((file for one, file in self._all.files if one == path), None)

    # ---------------------------------------------------------------- all files

    @property
    def has_everything(self) -> bool:
        """Whether all files were read."""
        return self._all is not None

    @property
    def everything(self) -> Everything:
        """The files that a check without a path is held against."""
        if self._all is None:
            several = self.where.several
            self._all = self._tree.everything(self._ask.budget, several or None)
            if not self._all.files:
                raise CannotLook("no file was looked at")
        return self._all

    def in_all(self, check: Check) -> Held:
        """What a check comes to in all files that are tracked, or in those that the text means."""
        if check.lines is not None or (check.name in _OF_ALL and check.value("in") is not None):
            return Held(None, "ambiguous")  # lines of which file?
        positive = replace(check, negated=False)
        held = _IN_ALL[check.name](self, positive)
        return self._of_all(check, held)

    def _of_all(self, check: Check, held: Held) -> Held:
        held = opposite(held) if check.negated else held
        commit = self._tree.commit
        if commit is not None:
            held = held._replace(commit=commit.name)
        if held.path is not None:
            file = self.known(held.path)
            self.digests[held.path] = "" if file is None else file.digest
        return dated(self._ask, held, self._changed_in_all(check, held), exact=self.exact)

    def _changed_in_all(self, check: Check, held: Held) -> int | None:
        if held.holds is not False or self.exact:
            return None
        if check.name == "absent" and held.path is not None:
            # Where it stands now, it stood then, whatever became of the other files.
            return self._changed(held, Place(held.path, "file"))
        return self.newest

    def _verified(self, check: Check, needle: str, *, name: bool = False) -> Iterator[Held]:
        """What a check comes to in each file in which a word of it may stand; of a name all of it."""
        for path, file in self.everything.holding(needle, escaped=check.name == "absent"):
            if name and not file.may_name(needle):
                continue
            source = file.source(path, check)
            self._ask.budget.remaining()
            if source is not None:
                yield verify_content(check, source, self._parser)._replace(path=path)

    def contains(self, check: Check) -> Held:
        """In any one file."""
        for held in self._verified(check, _longest(check.text("quote"))):
            if held.holds:
                return held
        return NOT_FOUND

    def absent(self, check: Check) -> Held:
        """In none of them, and all of them were read."""
        identifier = check.text("identifier")
        undecided: Held | None = None
        for held in self._verified(check, identifier):
            if held.holds is False:
                return held
            if held.holds is None:
                undecided = undecided or held
        if undecided is None and self._whole_without(identifier):
            return Held(True)
        return undecided or NOT_WHOLE

    def count(self, check: Check) -> Held:
        """In all of them together."""
        needle = _longest(check.text("pattern"))
        sources = [file.source("", check) for _, file in self.everything.holding(needle)]
        texts = [source for source in sources if source is not None]
        whole = self._whole_without(needle) and all(source.whole for source in texts)
        return verify_content(check, Source("", APART.join(one.text for one in texts), whole=whole), self._parser)

    def _whole_without(self, word: str) -> bool:
        """Whether all files were read, and none that is no text may hold a word."""
        return self.everything.whole and not self.everything.may_hide(word)

    def only_in(self, check: Check) -> Held:
        """In files under some paths, and in no other."""
        identifier = check.text("identifier")
        absent = Check("absent", (identifier,), (), False)
        files: list[tuple[str, bool | None]] = []
        for path, file in self.everything.holding(identifier, escaped=True):
            source = file.source(path, absent)
            held = None if source is None else verify_content(absent, source, self._parser)
            files.append((path, None if held is None or held.holds is None else not held.holds))
        return verify_only_in(check, files, whole=self._whole_without(identifier))

    def defines(self, check: Check) -> Held:
        """In any one; false where every file that mentions it says so."""
        helds: list[Held] = []
        needle = _last(check.text("symbol"))
        for held in self._verified(check, needle, name=True):
            if held.holds:
                return held
            helds.append(held)
        return self._false_in_all(helds, needle)

    def value(self, check: Check) -> Held:
        """In the one file that defines it, or in several that say the same."""
        needle = _last(check.text("name"))
        helds = list(self._verified(check, needle, name=True))
        named = [held for held in helds if held.reason not in _ABSENT_NAME]
        if len({held.holds for held in named}) > 1:
            return Held(None, "ambiguous")
        if named and named[0].holds:
            return named[0]
        return self._false_in_all(helds, needle) if named else NOT_FOUND

    def _false_in_all(self, helds: list[Held], needle: str) -> Held:
        """What comes of it where it holds in none."""
        undecided = next((held for held in helds if held.holds is None), None)
        if undecided is not None:
            return undecided._replace(path=None, lines=None)
        if not self.everything.whole or (not needle.isascii() and self.everything.may_hide(needle)):
            return NOT_WHOLE
        return helds[0] if len(helds) == 1 else Held(False, "differs")


_IN_ALL: Final[Mapping[str, Callable[[Deciding, Check], Held]]] = {
    "contains": Deciding.contains,
    "absent": Deciding.absent,
    "count": Deciding.count,
    "defines": Deciding.defines,
    "equals": Deciding.value,
    "compare": Deciding.value,
    "members": Deciding.value,
}
_OF_ALL: Final = frozenset(("absent", "count"))
"""Checks that speak of the whole of their scope."""
_WORD: Final = re.compile(r"\w+")


def _longest(quote: str) -> str:
    """The longest piece of a quote without white space: where it stands, that stands."""
    return max(flat(quote).split(), key=len, default="")


def _last(name: str) -> str:
    """The last component of a name, as far as it stands in any text that names it."""
    words = _WORD.findall(name)
    return words[-1] if words else name
