"""Decides the checks of an annotation on the files of a tree.

The locator, a check or the text names the files; a check that was refuted is tried once more in the files that the
sentence names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ...codecs.json_text import is_array
from ...streams.judging.checks import TABLE, Check, Held, Source, Unknown, opposite
from ...streams.judging.coverage import Confirmed
from ...streams.judging.facts import NOT_FOUND, NOT_WHOLE, flat, verify_only_in, verify_tree
from ...streams.judging.prose_literals import SYMBOLIC
from ...streams.judging.verify import Parser, symbol_kinds, verify_content
from .ask import OTHER, UNKNOWN, Ask, Budget, Missing, ObservationUnavailable, dated, decides
from .file_contents import APART, Everything, File, text_of
from .history import Changes
from .nameable_files import is_copy
from .root_set import Site, View
from .trees import UNTRACKED, Tree, TreePath

LAST: Final = 10**9
"""A line behind the end of any file."""
MAX_CONTEXT: Final = 1_000
ON_SCOPE: Final = frozenset(("absent", "count", "order", "only_in"))
"""Checks that speak of all of their scope: some lines of it do not decide them."""
ON_CHANGES: Final = frozenset(("added", "deleted", "renamed", "touched", "unchanged"))
"""Checks on what changed since a commit or tree."""
ON_TREES: Final = frozenset(("exists", "missing"))


class Located(NamedTuple):
    """The region that a locator names.

    Attributes:
        path: the file or folder; None where the locator names none, so that any file is meant.
        lines: first and last; None for all.
        shown: of a search, the numbers of the lines that it shows, by path; None where no pattern is named.
        pattern: its fixed string; empty for an expression.
        commit: the hash of the commit that the locator names; empty where it names none.
    """

    path: str | None = None
    lines: tuple[int, int] | None = None
    shown: Mapping[str, frozenset[int]] | None = None
    pattern: str = ""
    commit: str = ""

    def bind(self, check: Check, held: Held, path: str | None, file: File | None) -> Held:
        """What a check came to, undecided where the region does not hold what decides it.

        Args:
            held: what it came to; its `lines` and `path` are kept.
            path: the file or folder that the check speaks of; None for all files.
            file: in which it was decided; None where it was none, or several.
        """
        if held.holds is None or self._holds(check, held, path, file):
            return held
        return held._replace(holds=None, reason="outside-locator")

    def _holds(self, check: Check, held: Held, path: str | None, file: File | None) -> bool:
        if self.path is not None and (check.name in ON_CHANGES or check.name == "only_in"):
            return path == self.path or self.path in check.arguments
        if self.path is not None and path is not None and not _same(check, self.path, path):
            return False
        if check.name in ON_TREES:
            return True
        lines = _witness(check, held, file)
        if lines is None:
            return self._is_whole(check, file)
        if self.lines is not None and not self.lines[0] <= lines[0] <= lines[1] <= self.lines[1]:
            return False
        if self.shown is None:
            return True
        shown = self.shown.get(held.path or path or "", frozenset[int]())
        return shown.issuperset(range(lines[0], lines[1] + 1))

    def _is_whole(self, check: Check, file: File | None) -> bool:
        """Whether the region is all that a check without lines speaks of: the whole file, or of a search everything in
        which the word of the check could stand."""
        if self.lines is not None and (self.lines[0] > 1 or file is None or self.lines[1] < file.line_count):
            return False
        return self.shown is None or (self.pattern != "" and self.pattern in _word(check))


def _same(check: Check, located: str, path: str) -> bool:
    """Whether a check speaks of the file that the locator names; of a tree also of a folder above or below it."""
    if located == path:
        return True
    return check.name in ON_TREES and (located.startswith(f"{path}/") or path.startswith(f"{located}/"))


def _witness(check: Check, held: Held, file: File | None) -> tuple[int, int] | None:
    """The lines that decide a check; None where its whole scope does.

    A definition is seen where its name stands: nobody has to have read its body.
    """
    if check.name in ON_SCOPE and not (check.name == "absent" and held.holds is check.negated):
        return check.lines if held.lines is None or check.name == "order" else held.lines
    if held.lines is None or check.name != "defines" or file is None:
        return held.lines
    first, last = held.lines
    text = text_of(file.part((first, last)))
    name = _word(check)
    for number, line in enumerate(text.text.split("\n") if text is not None else (), first):
        if name in line:
            return (number, number)
    return held.lines


def _word(check: Check) -> str:
    """The word that a check looks for: of a qualified name its last component."""
    word = next((value for value in check.arguments if isinstance(value, str)), "")
    return word if check.name in ON_SCOPE or check.name == "contains" else word.replace("::", ".").split(".")[-1]


def lines_of(locator: dict[str, Any]) -> tuple[int, int] | None:
    """First and last line of a locator, counted from 1; None where it names none.

    `offset` is the first line and `limit` how many there are, as [S §4] names them.

    Raises:
        ObservationUnavailable: it names lines that no file has, or names them twice.
    """
    value = locator.get("lines")
    if "offset" in locator or "limit" in locator:
        first, many = locator.get("offset", 1), locator.get("limit", LAST)
        if value is not None or type(first) is not int or type(many) is not int or first < 1 or many < 1:
            raise ObservationUnavailable(
                "the locator's offset and limit are not a first line and a number of lines, from 1"
            )
        return first, first + many - 1
    if value is None:
        return None
    if isinstance(value, str):
        value = [int(one) if one.isascii() and one.isdigit() and len(one) < 10 else 0 for one in value.split("-")]
    numbers: list[Any] = value if is_array(value) else [value]
    if len(numbers) not in (1, 2) or not all(type(one) is int for one in numbers) or not 1 <= numbers[0] <= numbers[-1]:
        raise ObservationUnavailable("the locator's lines are not first and last, from 1")
    return numbers[0], numbers[-1]


def context_of(ask: Ask) -> int:
    """How many lines around a matching one a search shows.

    Raises:
        ObservationUnavailable: the locator's `context` is no such number.
    """
    value = ask.locator.get("context", 0)
    if type(value) is not int or not 0 <= value <= MAX_CONTEXT:
        raise ObservationUnavailable(f"the locator's context is not a number of lines from 0 to {MAX_CONTEXT}")
    return value


NO_PATH: Final = "neither the locator nor the assertion names one path"


class Where(NamedTuple):
    """The places of one question in one tree.

    Attributes:
        default: what checks without a path of their own are held against, and the words; None where no path is named.
        own: of the checks that name one, by their number.
        several: the files of that name, where the text names none more exactly; empty where it does not.
    """

    default: TreePath | None
    own: Mapping[int, TreePath]
    several: tuple[str, ...] = ()

    def of(self, number: int) -> TreePath | None:
        """The one file that a check is held against; None where it is all of them, or none."""
        return self.own.get(number, self.default)

    @property
    def anchor(self) -> TreePath | None:
        """The file whose bytes the observation names: that of the locator or text, else of the first check."""
        return self.default or next(iter(self.own.values()), None)


def named_path(ask: Ask, where: Where) -> str | None:
    """The path that the locator names, as it stands there; None where it names none."""
    return None if where.default is None or ask.member("path") is None else where.default.path


def locate(ask: Ask, tree: Tree) -> Where:
    """The places that the checks which this class decides, and the words, speak of.

    Raises:
        ObservationUnavailable: one of them must not be looked at.
    """
    path = ask.member("path")
    default = None if path is None else tree.locate(path, ask.budget)
    own: dict[int, TreePath] = {}
    pathless = ask.question.is_sentence
    for number, check in enumerate(ask.question.checks):
        if not isinstance(check, Check) or not decides(ask.substrate_class, check):
            continue
        if check.path is not None:
            own[number] = place = _own(ask, tree, check, check.path)
            if check.name not in ON_TREES:
                _demand_tracked(place)
        elif TABLE[check.name].content:
            pathless = True
    if default is None and pathless and ask.terms.places:
        place = ask.terms.places[0]
        found = _of_name(tree, place, ask.budget)
        if len(found) > 1:
            return Where(None, own, tuple(found))
        default = tree.locate(found[0] if found else place, ask.budget)
    if pathless and default is not None:
        _demand_tracked(default)
    return Where(default, own)


def _demand_tracked(place: TreePath) -> None:
    """Raises:
    ObservationUnavailable: an untracked file is there: that it is there is all that may be told.
    """
    if place.state == "untracked":
        raise ObservationUnavailable(UNTRACKED)


def _own(ask: Ask, tree: Tree, check: Check, path: str) -> TreePath:
    """The place that a check names. One that was read from the sentence may leave folders out, as people do."""
    place = tree.locate(path, ask.budget)
    if place.state != "missing" or ask.question.derived.declared or not TABLE[check.name].content:
        return place
    found = _of_name(tree, place.path, ask.budget)
    return tree.locate(found[0], ask.budget) if len(found) == 1 else place


def place_of(ask: Ask, tree: Tree) -> TreePath:
    """The one file that the locator names, or else the text, whether it names the folders or not.

    Raises:
        ObservationUnavailable: neither names one file, or it must not be looked at.
    """
    path = ask.member("path")
    if path is not None:
        return tree.locate(path, ask.budget)
    if not ask.terms.places:
        raise ObservationUnavailable(NO_PATH)
    place = ask.terms.places[0]
    paths = _of_name(tree, place, ask.budget)
    if len(paths) > 1:
        raise ObservationUnavailable(f"{len(paths)} files are called {place}")
    return tree.locate(paths[0] if paths else place, ask.budget)


def _of_name(tree: Tree, place: str, budget: Budget) -> list[str]:
    """The file of exactly that path, or else every file of that name in any folder."""
    if tree.locate(place, budget).state != "missing":
        return [place]
    return [path for path in tree.paths(budget) if path.endswith(f"/{place}")]


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
    """

    def __init__(self, ask: Ask, site: Site, view: View, parser: Parser, where: Where) -> None:
        self._ask, self._tree, self.where, self._parser = ask, view.tree, where, parser
        self.exact, self.region = view.exact, Located()
        self._changes = Changes(ask, site, view, parser)
        self.digests: dict[str, str] = {}
        self._files: dict[str, File] = {}
        self._all: Everything | None = None

    def bound(self, number: int) -> Held:
        """What one check comes to by what the annotation says was looked at."""
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
        """What one check comes to, `not` included."""
        check = self._ask.question.checks[number]
        if isinstance(check, Unknown):
            return UNKNOWN
        if not decides(self._ask.substrate_class, check):
            return OTHER
        if check.name in ON_CHANGES:
            return self._changes.held(check)
        if check.name == "only_in":
            return self._of_all(check, self.only_in(check))
        place = self.where.of(number)
        if check.name in ON_TREES:
            return OTHER if place is None else self.in_tree(check, place)
        if place is not None:
            return self.in_file(check, place)
        return self.in_all(check) if self._ask.substrate_class == "substrate.grep" else OTHER

    def in_tree(self, check: Check, place: TreePath) -> Held:
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
        except ObservationUnavailable:
            return True  # too many to be listed: nobody can tell

    def in_file(self, check: Check, place: TreePath) -> Held:
        """What a check on content comes to in one file."""
        if place.state == "missing":
            return Held(None, "path-missing", path=place.path)
        file = self.file(place)
        if file.is_pointer:
            raise ObservationUnavailable(NOT_HERE)
        source = file.source(place.path, check)
        if source is None:
            raise ObservationUnavailable(BINARY)
        held = self._of_tree(verify_content(check, source, self._parser), place)
        self._ask.budget.remaining()
        return dated(self._ask, held, self._changed(held, place), exact=self.exact)

    def _of_tree(self, held: Held, place: TreePath) -> Held:
        commit = self._tree.commit
        return held._replace(path=place.path, commit=None if commit is None else commit.name)

    def _changed(self, held: Held, place: TreePath) -> int | None:
        return None if held.holds is not False or self.exact else self.changed(place)

    def changed(self, place: TreePath) -> int | None:
        """When a file last changed, in Unix milliseconds; None where nobody can tell."""
        return self._tree.changed(place.path, self._ask.since, self._ask.budget)

    @property
    def newest(self) -> int | None:
        """When the newest of all files changed, in Unix milliseconds; None where nobody can tell."""
        return self._tree.newest(self.everything, self._ask.since, self._ask.budget)

    def is_own_edit(self, places: Sequence[Held]) -> bool:
        """Whether any of these holds by what is not committed."""
        return any(self._tree.is_own_edit(held.path, self._ask.budget) for held in places if held.holds)

    def file(self, place: TreePath) -> File:
        """The whole file at a place."""
        known = self._files.get(place.path)
        if known is not None:
            return known
        if place.state != "file":
            raise ObservationUnavailable(UNTRACKED if place.state == "untracked" else NO_FILE)
        try:
            found = self._tree.file(place, self._ask.budget)
        except Missing:
            raise ObservationUnavailable("the file went away while it was looked at") from None
        self._files[place.path] = found
        self.digests[place.path] = found.digest
        return found

    def named_text(self, lines: tuple[int, int] | None = None) -> str | None:
        """The text of the one file that is named, or of some of its lines; None where there is none."""
        place = self.where.default
        text = None if place is None or place.state != "file" else text_of(self.file(place).part(lines))
        return None if text is None else text.text

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
                raise ObservationUnavailable("no file was looked at")
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
            return self._changed(held, TreePath(held.path, "file"))
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


_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*(?:\(\))?")


class Confirming:
    """What one look confirms."""

    def __init__(self, ask: Ask, tree: Tree, deciding: Deciding, parser: Parser, helds: Sequence[Held]) -> None:
        self._ask, self._tree, self._deciding, self._parser, self._helds = ask, tree, deciding, parser, helds

    def __call__(self, *, unique: bool) -> Confirmed:
        """What can be confirmed; that names are unique only where that is asked for: all files are read for it."""
        pairs = [
            (check, held)
            for check, held in zip(self._ask.question.checks, self._helds, strict=True)
            if isinstance(check, Check)
        ]
        return Confirmed(
            unique=unique and all(self._is_unique(check) for check, _ in pairs),
            kinds=self._kinds(pairs),
            narrowed=any(held.holds and held.narrowed for _, held in pairs),
        )

    def _kinds(self, pairs: Sequence[tuple[Check, Held]]) -> dict[str, frozenset[str]]:
        kinds: dict[str, frozenset[str]] = {}
        for check, held in pairs:
            file = None if held.path is None or held.holds is None else self._deciding.known(held.path)
            source = None if file is None else file.source(held.path or "")
            index = None if source is None else self._parser.code(source)
            if index is None:
                continue
            for name in check.arguments:
                if isinstance(name, str) and _NAME.fullmatch(name):
                    bare = name.removesuffix("()")
                    kinds[bare] = kinds.get(bare, frozenset()) | symbol_kinds(index, bare)
        return kinds

    def _is_unique(self, check: Check | Unknown) -> bool:
        """Whether the symbol of a check is defined exactly once in all tracked files, copies aside."""
        if isinstance(check, Unknown) or check.name not in SYMBOLIC:
            return isinstance(check, Check) and check.path is not None
        name = str(check.arguments[0]).removesuffix("()")
        parts = re.split(r"\.|::|#|->", name)
        try:
            everything = self._tree.everything(self._ask.budget)
        except ObservationUnavailable:
            return False  # a bound is reached: nobody knows
        if not everything.whole or everything.may_hide(parts[-1]):
            return False
        count = 0
        # A file that defines it names its owner too, and owners are rarer than what they own.
        for path, file in everything.holding(parts[0]):
            source = file.source(path) if all(map(file.may_name, parts)) else None
            index = None if source is None else self._parser.code(source)
            if index is None:
                continue
            if index.problem is not None:
                return False
            if not is_copy(path):
                named = [one for one in index.definitions if one.path[-len(parts) :] == tuple(parts)]
                types = {one.path for one in named if one.sort == "type"}
                # A constructor is its type's; several of one path are for the check to tell apart.
                count += len({one.path for one in named if one.path[:-1] not in types})
        return count == 1
