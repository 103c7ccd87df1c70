"""A git repository: its commits as git logs them, and what is kept of them between looks."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import getsizeof
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from ...streams.judging.facts import flat
from ...streams.judging.prose_literals import SECOND, format_ns
from .ask import Budget, ObservationUnavailable
from .file_contents import APART, Piece, text_of
from .git import OBJECT_NAME, Git, Object, Objects, demand_true
from .kept_looks import Bounded, State, is_settled, state_of
from .listings import FILE, FOLDER, KINDS, SUBMODULE, Denied, Entry, Listing, parse_tree

_PERSON = re.compile(rb".* (-?\d{1,18}) ([+-]\d{4})")
_ENCODING = re.compile(
    r"utf-?8|us-?ascii|iso-?8859-\d{1,2}|latin-?1|cp125\d|windows-125\d|koi8-[ru]|euc-?(jp|kr)|shift-?jis"
    r"|gb(k|2312|18030)|big5",
    re.IGNORECASE,
)


class Commit(NamedTuple):
    """One commit object.

    Attributes:
        name: its whole hash.
        tree: the hash of its tree.
        parents: the hashes of its parents.
        message: its message as text.
        authored: author date in nanoseconds since 1970, and the author's offset from UTC in seconds; None where the
            object says nothing that is a date.
        committed: the same of the committer.
        author: name and address of the author.
    """

    name: str
    tree: str
    parents: tuple[str, ...]
    message: str
    authored: tuple[int, int] | None
    committed: tuple[int, int] | None
    author: str = ""

    def says(self, tags: Iterable[str]) -> str:
        """Message, author date as it is usually written, and tags, as one text."""
        pieces = [self.message]
        if self.authored is not None:
            pieces += _written(*self.authored)
        for tag in tags:
            pieces.append(tag)
            if re.match(r"[vV]\d", tag):
                pieces.append(tag[1:])
        return APART.join(pieces)


class Change(NamedTuple):
    """What one commit changed in one file.

    Attributes:
        paths: its names before and after.
        text: the removed and the added lines, normalised as `terms.Content` does it; empty where they are no text.
    """

    paths: tuple[str, ...]
    text: str


class Changes(NamedTuple):
    """What one commit changed.

    Attributes:
        commit: its hash.
        files: None where the bound was reached before their end.
        size: bytes that git says of them, as far as they were read.
    """

    commit: str
    files: Sequence[Change] | None
    size: int


def _written(time: int, offset: int) -> list[str]:
    """A time in UTC and where the author was; nothing for a time that no calendar has."""
    try:
        utc, local = format_ns(time), format_ns(time + offset * SECOND)
    except OverflowError:
        return []
    sign, (hours, minutes) = "-" if offset < 0 else "+", divmod(abs(offset) // 60, 60)
    zone = f"{sign}{hours:02}:{minutes:02}"
    there = local.removesuffix("Z")
    return [utc, utc.replace("T", " ").replace("Z", " UTC"), there + zone, f"{there.replace('T', ' ')} {zone}"]


def read_commits(objects: Objects, names: Sequence[str], budget: Budget) -> Iterator[Commit]:
    """The commits of these hashes, in order.

    Raises:
        ObservationUnavailable: an object is not there, is no commit, or is not what its name says.
    """
    for found in objects.many(names, budget):
        if found.kind != "commit":
            raise ObservationUnavailable("a commit of this history is not in the repository")
        yield parse_commit(found.name, found.data)


def parse_commit(name: str, data: bytes) -> Commit:
    """A commit object.

    Raises:
        ObservationUnavailable: the hash of the object is not its name.
    """
    demand_true(name, "commit", data)
    head, _, body = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    parents: list[str] = []
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        fields.setdefault(key, value)
    encoding = fields.get(b"encoding", b"utf-8").decode("ascii", "replace")
    return Commit(
        name,
        fields.get(b"tree", b"").decode("ascii", "replace"),
        tuple(parents),
        _message(body, encoding),
        _date(fields, b"author"),
        _date(fields, b"committer"),
        _person(fields.get(b"author", b""), encoding),
    )


def _person(line: bytes, encoding: str) -> str:
    """Name and address of an author, without the date."""
    return _message(line.rpartition(b"> ")[0] + b">" if b"> " in line else line, encoding)


def _message(body: bytes, encoding: str) -> str:
    """A message in the encoding that the commit claims, where it is one for text; else as any text is read."""
    if _ENCODING.fullmatch(encoding):
        try:
            return codecs.decode(body, encoding)
        except (LookupError, UnicodeError):
            pass
    text = text_of(Piece(body.replace(b"\0", b" "), None))
    return text.text if text else ""


def _date(fields: dict[bytes, bytes], key: bytes) -> tuple[int, int] | None:
    match = _PERSON.fullmatch(fields.get(key, b""))
    if match is None:
        return None
    zone = int(match[2][1:3]) * 3600 + int(match[2][3:5]) * 60
    return int(match[1]) * SECOND, -zone if match[2].startswith(b"-") else zone


# ---------------------------------------------------------------- changed lines

_OPTIONS = ("-r", "--root", "-p", "-U0", "-M", "--cc", "--no-color", "--no-ext-diff", "--no-textconv", "--no-prefix",
            "--submodule=short")  # fmt: skip
_NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_APART = b"\x1e"


def changes(git: Git, names: Iterable[str], budget: Budget) -> Iterator[Changes]:
    """What each of these commits changed, in order; commits that changed nothing are left out.

    Of a merge that is what differs from every parent: the rest is in the commits that it merged. Of a binary file git
    says that it changed, and nothing of its content.

    Args:
        git: the repository.
        names: whole hashes of commits.
        budget: of the look; the caller spends the size of each commit before asking for the next.
    """
    feed = (f"{name}\n".encode() for name in names)
    yield from _by_commit(_lines(git.stream(budget.timed(), "diff-tree", "--stdin", *_OPTIONS, feed=feed)), budget)


def changes_of(git: Git, commit: Commit, budget: Budget) -> Changes:
    """What one commit that is named changed; of a merge, as against its first parent: everything it brought in."""
    if len(commit.parents) < 2:
        told = changes(git, [commit.name], budget)
    else:
        lines = _lines(git.stream(budget.timed(), "diff-tree", *_OPTIONS, commit.parents[0], commit.name))
        told = _by_commit(lines, budget, commit.name)
    return next(told, Changes(commit.name, (), 0))


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    left = b""
    for chunk in chunks:
        *lines, left = (left + chunk).split(b"\n")
        yield from lines
    if left:
        yield left


def _by_commit(lines: Iterator[bytes], budget: Budget, name: str = "") -> Iterator[Changes]:
    done: list[Change] = []
    paths: list[bytes] = []
    content: list[bytes] = []
    columns = 0  # signs before a line of content; 0 outside a hunk
    signs = b""
    size, left = 0, budget.bytes - budget.spent

    def close() -> None:
        if paths:
            done.append(_change(paths, content))
        paths.clear()
        content.clear()

    for line in lines:
        size += len(line) + 1
        if size > left:
            yield Changes(name, None, size)
            return
        if line[:1] in (b"+", b"-", b" ") and columns:
            if line[:columns] != signs:
                signs = line[:columns]
                content.append(_APART)  # what was removed and what was added do not stand together
            content.append(line[columns:])
        elif line.startswith(b"@@"):
            columns, signs = len(line) - len(line.lstrip(b"@")) - 1, b""
        elif line.startswith(b"diff "):
            close()
            columns = 0
            paths += _of_header(line)
        elif _NAME.fullmatch(line):
            close()
            columns = 0
            if done:
                own = len(line) + 1  # of the next commit
                yield Changes(name, tuple(done), size - own)
                done.clear()
                size, left = own, budget.bytes - budget.spent
            name = line.decode()
        elif not columns:
            paths += _of_extended(line)
    close()
    if done:
        yield Changes(name, tuple(done), size)


def _of_header(line: bytes) -> list[bytes]:
    """The path of `diff --git x x` and `diff --cc x`; of a rename nothing, its own lines name both."""
    if line.startswith(b"diff --cc "):
        return [line.removeprefix(b"diff --cc ")]
    rest = line.removeprefix(b"diff --git ")
    half = len(rest) // 2
    return [rest[:half]] if rest[:half] == rest[half + 1 :] else []


def _of_extended(line: bytes) -> list[bytes]:
    for mark in (b"rename from ", b"rename to ", b"copy from ", b"copy to ", b"--- ", b"+++ "):
        if line.startswith(mark):
            path = line.removeprefix(mark).removesuffix(b"\t")
            return [] if path == b"/dev/null" and mark in (b"--- ", b"+++ ") else [path]
    return []


_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)


def unquote(path: bytes) -> bytes:
    """A path as git writes it in a diff: in double quotes with C's escapes where it holds unusual bytes."""
    if len(path) < 2 or not path.startswith(b'"') or not path.endswith(b'"'):
        return path
    return _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else _ESCAPES.get(match[1], match[1]), path[1:-1]
    )


def _change(names: list[bytes], content: list[bytes]) -> Change:
    paths = tuple(dict.fromkeys(unquote(name).decode("utf-8", "surrogateescape") for name in names))
    text = text_of(Piece(b"\n".join(content), None))  # a NUL far behind the beginning makes a file binary, too
    return Change(paths, "" if text is None else flat(text.text.replace("\x1e", "\0")))


PREFIX: Final = re.compile(r"[0-9a-f]{7,64}")
"""How a commit is named: 7 digits or more of its hash."""
MAX_LISTING: Final = 64_000_000
"""Bytes of a list of all files, some 500,000 of them: it is kept, and no look's own reading."""


MAX_CHANGES: Final = 128_000_000
"""Bytes of what commits changed: as much as one look may read by default, twice."""
MAX_LEARNED: Final = 1_000
"""Commits that are looked through for what they changed, before anybody asks."""


_BRANCH: Final = re.compile(r"ref: (refs/heads/[^\x00-\x20/.][^\x00-\x20]*)")
"""What HEAD says where a branch is checked out that may be a file: other storages of names have a word of their own."""


class Touch(NamedTuple):
    """The newest commit that changed a path, and when it was committed, in Unix milliseconds."""

    commit: str
    time: int


_States = dict[str, State | None]
"""Files by path, each with its state; None where there is none."""


class Repository:
    """A repository, shared by all who look at it."""

    def __init__(self, git: Git, denied: Denied) -> None:
        self.git, self.objects, self._denied = git, Objects(git), denied
        self._own, self._common = git.own, git.common
        self._index: tuple[State, Listing] | None = None
        self._commits: Bounded[tuple[int, Commit]] = Bounded(10_000, 16_000_000)
        self._trees: Bounded[tuple[int, dict[bytes, Entry]]] = Bounded(20_000, 32_000_000)
        self._listings: Bounded[Listing] = Bounded(4, 64_000_000)
        self._touches: Bounded[tuple[Touch | None]] = Bounded(50_000, 16_000_000)
        self._reached: Bounded[tuple[bool]] = Bounded(10_000, 4_000_000)
        self._named: Bounded[Changes] = Bounded(1_000, 16_000_000)
        self._changes: Bounded[Changes] = Bounded(40_000, MAX_CHANGES)
        self._mirror: tuple[State | None, bool] | None = None
        self._head: tuple[_States, Commit, int] | None = None

    def close(self) -> None:
        """Ends the processes that are kept."""
        self.objects.close()

    # ---------------------------------------------------------------- commits

    def tip(self, ref: str | None, budget: Budget) -> Commit:
        """The commit that HEAD, a branch, a remote branch or a tag names.

        Raises:
            ObservationUnavailable: it is no such name, or names no commit.
        """
        if ref is None or ref in ("HEAD", "@"):
            return self._tip_of_head(budget)
        found = self.objects.read(self.git.named(ref, budget) + "^{commit}", budget)
        if found is None:
            raise ObservationUnavailable("the ref names no commit")
        return self._kept(found)

    def _tip_of_head(self, budget: Budget) -> Commit:
        """Asked for at each look at history: git is asked again only where a file that says it was written since."""
        known = self._head
        if known is not None and known[0] == {path: state_of(path) for path in known[0]}:
            budget.spend(known[2])
            return known[1]
        before = self._states_of_head()
        found = self.objects.read("HEAD^{commit}", budget)
        if found is None:
            raise ObservationUnavailable("HEAD names no commit")
        commit = self._kept(found)
        is_same = bool(before) and before == self._states_of_head()
        settled = is_same and all(state is None or is_settled(state) for state in before.values())
        self._head = (before, commit, len(found.data)) if settled else None
        return commit

    def _states_of_head(self) -> _States:
        """The files that say which commit HEAD is; none where others may say it too."""
        head = os.path.join(self._own, "HEAD")
        paths = [head]
        said = _line_of(head)
        if not OBJECT_NAME.fullmatch(said):
            branch = _BRANCH.fullmatch(said)
            if branch is None:
                return {}
            loose, packed = os.path.join(self._common, branch[1]), os.path.join(self._common, "packed-refs")
            named = _line_of(loose)
            if named and not OBJECT_NAME.fullmatch(named):
                return {}  # the branch is another name of a branch
            paths += [loose] if named else [loose, packed]
        states = {path: state_of(path) for path in paths}
        return states if states[paths[-1]] is not None else {}

    def commit(self, name: str, budget: Budget) -> Commit | None:
        """The commit of a whole hash; None where there is none."""
        known = self._commits.get(name)
        if known is not None:
            budget.spend(known[0])
            return known[1]
        found = self.objects.read(name, budget)
        return None if found is None or found.kind != "commit" else self._kept(found)

    def _kept(self, found: Object) -> Commit:
        known = self._commits.get(found.name)
        if known is not None:
            return known[1]
        size, made = len(found.data), parse_commit(found.name, found.data)
        return self._commits.put(found.name, 1000 + 4 * size, (size, made))[1]

    def reached(self, prefix: str, tip: str, budget: Budget) -> list[str]:
        """The commits that a tip reaches and whose hash begins so; more than one only for a short prefix."""
        names = [prefix] if OBJECT_NAME.fullmatch(prefix) else self._beginning(prefix, budget)
        return [one for one in names if self.commit(one, budget) is not None and self.reaches(tip, one, budget)]

    def _beginning(self, prefix: str, budget: Budget) -> list[str]:
        assert PREFIX.fullmatch(prefix), "what a stranger wrote is not asked of git"
        one = self.objects.read(f"{prefix}^{{commit}}", budget)
        if one is not None and one.name.startswith(prefix):
            return [one.name]
        # Several begin so, or none; or a branch has a name that looks like a hash.
        listed = self.git.run(budget, "rev-parse", f"--disambiguate={prefix}").decode("ascii", "replace").split()
        return [name for name in listed if OBJECT_NAME.fullmatch(name)]

    def reaches(self, tip: str, commit: str, budget: Budget) -> bool:
        """Whether a commit is a tip's or one of its ancestors."""
        if tip == commit:
            return True
        key = (tip, commit, self._shallow_state())
        known = self._reached.get(key)
        if known is None:
            found = self.git.ask(budget, "merge-base", "--is-ancestor", commit, tip) is not None
            known = self._reached.put(key, 300, (found,))
        return known[0]

    def changes_of(self, commit: Commit, budget: Budget) -> Sequence[Change]:
        """What a commit changed, of a merge as against its first parent; the bytes count each time."""
        known = self._named.get(commit.name)
        if known is None or (known.files is None and known.size <= budget.bytes - budget.spent):
            known = _keep(self._named, changes_of(self.git, commit, budget))
        return _charged(known, budget)

    def changes(self, names: Sequence[str], budget: Budget) -> Iterator[tuple[str, Sequence[Change]]]:
        """What each of these commits changed, in order, of a merge what differs from every parent; the bytes count each
        time. It is read once: the statements of an answer search the same history.
        """
        known = self._changes.get_many(names)
        unread = changes(self.git, [name for name, one in zip(names, known, strict=True) if one is None], budget)
        ahead: Changes | None = None
        for name, found in zip(names, known, strict=True):
            if found is None:
                ahead = ahead or next(unread, None)
                is_told = ahead is not None and ahead.commit == name
                found = ahead if ahead is not None and is_told else Changes(name, (), 0)
                ahead = None if is_told else ahead
                _keep(self._changes, found)
            elif found.files is None and found.size <= budget.bytes - budget.spent:
                found = _keep(self._changes, next(changes(self.git, [name], budget), Changes(name, (), 0)))
            yield name, _charged(found, budget)

    def touched(self, path: str, tip: str, budget: Budget, *, first_parent: bool = False) -> Touch | None:
        """The newest commit reachable from a tip that left a path as it is there; None where none ever touched it.

        Args:
            path: below the root, confined.
            tip: a commit.
            first_parent: a merge counts for all that it brought in: what the branch of the tip itself shows of it.
        """
        key = (tip, self._shallow_state(), first_parent, path)
        known = self._touches.get(key)
        if known is None:
            how = ("--first-parent",) if first_parent else ()
            asked = ("--max-count=1", "--timestamp", *how, tip, "--", path)
            seconds, _, name = (self.git.ask(budget, "rev-list", *asked) or "").partition(" ")
            found = Touch(name, int(seconds) * 1000) if OBJECT_NAME.fullmatch(name) and seconds.isdigit() else None
            known = self._touches.put(key, 300 + 2 * len(path), (found,))
        elif known[0] is not None:
            budget.spend(len(f"{known[0].time // 1000} {known[0].commit}\n"))  # what git says of it
        return known[0]

    def learn_touches(self, tip: str, budget: Budget) -> None:
        """Finds out in one go what `touched` tells of many paths, among at most `MAX_LEARNED` commits. What lies beyond
        is asked for path by path.

        Args:
            tip: a commit.

        Raises:
            ObservationUnavailable: git fails, or a bound is reached; then nothing was learned.
        """
        asked = ("--topo-order", f"--max-count={MAX_LEARNED}", "--timestamp", "--parents", tip)
        times: dict[str, int] = {}
        parents: dict[str, list[str]] = {}
        for line in self.git.run(budget, "rev-list", *asked).decode("ascii", "replace").splitlines():
            seconds, name, *above = line.split(" ")
            times[name], parents[name] = int(seconds) * 1000, above
        shallow = self._shallow_state()
        for path, commit in self._newest_changes(tip, parents, budget):
            key = (tip, shallow, False, path)
            if self._touches.get(key) is None:
                self._touches.put(key, 300 + 2 * len(path), (Touch(commit, times[commit]),))

    def _newest_changes(
        self, tip: str, parents: Mapping[str, Sequence[str]], budget: Budget
    ) -> Iterator[tuple[str, str]]:
        """The paths that these commits changed, each with the commit that `rev-list` names first for it: of a merge
        only the first parent that has the path as it is there is followed; where none has, the merge itself is it.
        No commit stands in `parents` before one that it is a parent of.
        """
        changed = self._changed(parents, budget)
        waiting = {tip: set[str]().union(*changed.values())}
        for commit, above in parents.items():
            paths = waiting.pop(commit, set[str]())
            for parent in above or ("",):
                same = paths
                paths = paths & changed[commit, parent]
                same -= paths
                if parent in parents:
                    other = waiting.get(parent, set[str]())
                    few, many = sorted((same, other), key=len)
                    many |= few
                    waiting[parent] = many
            yield from ((path, commit) for path in paths)

    def _changed(self, parents: Mapping[str, Sequence[str]], budget: Budget) -> dict[tuple[str, str], set[str]]:
        """The paths that commits changed, by commit and parent; of one without parents by commit and an empty text."""
        pairs = [(commit, one) for commit, above in parents.items() for one in above or ("",)]
        asked = ("--stdin", "-r", "--root", "--name-status", "--no-renames", "--always", "-z")
        told = self.git.run(budget, "diff-tree", *asked, feed=(f"{' '.join(one).rstrip()}\n".encode() for one in pairs))
        changed = dict[tuple[str, str], set[str]]()
        paths = set[str]()
        words, places = iter(told.split(b"\0")), iter(pairs)
        for word in words:
            if len(word) > 1:  # a commit; a change is one letter, and its path is the next word, whatever it looks like
                paths = changed[next(places, ("", ""))] = set()
            elif word:
                paths.add(os.fsdecode(next(words, b"")))
        if changed.keys() != set(pairs):
            raise ObservationUnavailable("git tells of other commits than it was asked of")
        return changed

    # ---------------------------------------------------------------- trees

    def recorded_tree(self, prefix: str, budget: Budget) -> str | None:
        """The one tree whose hash begins so among those that a recorder keeps under `refs/sluice/`; None where none or
        several do."""
        listed = self.git.run(budget, "for-each-ref", "--format=%(objecttype) %(objectname)", "refs/sluice/")
        pairs = {tuple(line.split(" ")) for line in listed.decode("ascii", "replace").splitlines()}
        names = [name for kind, name in pairs if kind == "tree" and name.startswith(prefix)]
        return names[0] if len(names) == 1 else None

    def entry(self, commit: Commit, path: str, budget: Budget) -> Entry | None:
        """What stands at a path of a commit's tree; None where nothing does.

        Raises:
            ObservationUnavailable: a tree is not in the repository; or the path leads through a link or a submodule.
        """
        names = path.split("/")
        above = ""
        tree = commit.tree
        for place, name in enumerate(names):
            found = self._in_tree(tree, name, budget)
            if found is None:
                return None
            whole = f"{above}{found.path}"
            if place == len(names) - 1:
                return found._replace(path=whole)
            if found.kind == FILE:
                return None
            if found.kind != FOLDER:
                return Entry(found.kind, found.name, whole)
            above, tree = f"{whole}/", found.name
        return None

    def _in_tree(self, tree: str, name: str, budget: Budget) -> Entry | None:
        entries = self._tree(tree, budget)
        found = entries.get(os.fsencode(name))
        if found is None and not name.isascii():
            same = [one for raw, one in entries.items() if not raw.isascii() and nfkc(one.path) == nfkc(name)]
            found = same[0] if len(same) == 1 else None
        return found

    def _tree(self, name: str, budget: Budget) -> dict[bytes, Entry]:
        known = self._trees.get(name)
        if known is not None:
            budget.spend(known[0])
            return known[1]
        found = self.objects.read(name, budget)
        if found is None or found.kind != "tree":
            raise ObservationUnavailable("a tree of this history is not in the repository")
        size, made = len(found.data), parse_tree(found.data, len(name) // 2)
        return self._trees.put(name, 8 * size + 500, (size, made))[1]

    def listing(self, commit: Commit, budget: Budget) -> Listing:
        """Everything in a commit's tree."""
        known = self._listings.get(commit.tree)
        if known is not None:
            return known
        entries: dict[str, Entry] = {}
        size = 0
        listed = self.git.run(_for_listing(budget), "ls-tree", "-r", "-z", "--full-tree", commit.tree)
        for line in listed.split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if tab:
                mode, _, name = head.split(b" ")
                decoded = os.fsdecode(path)
                size += 400 + 2 * len(path)
                entries[decoded] = Entry(KINDS.get(mode, SUBMODULE), name.decode("ascii"), decoded)
        return self._listings.put(commit.tree, size, Listing(entries, self._denied))

    def index(self, budget: Budget) -> Listing:
        """Everything that the index lists: the tracked files of the work tree."""
        state = state_of(os.path.join(self._own, "index"))
        known = self._index
        if known is not None and state is not None and known[0] == state:
            return known[1]
        entries: dict[str, Entry] = {}
        for line in self.git.run(_for_listing(budget), "ls-files", "--stage", "-t", "-z").split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if tab:
                tag, mode, name, _ = head.split(b" ")
                decoded = os.fsdecode(path)
                entries[decoded] = Entry(KINDS.get(mode, SUBMODULE), name.decode("ascii"), decoded, tag != b"S")
        made = Listing(entries, self._denied)
        after = state_of(os.path.join(self._own, "index"))
        self._index = (state, made) if state is not None and state == after and is_settled(state) else None
        return made

    # ---------------------------------------------------------------- how far it can be trusted to know all

    def shallow(self) -> frozenset[str]:
        """The commits at which a shallow history ends: what they changed, and what lies behind, is not known here."""
        try:
            with open(os.path.join(self._common, "shallow"), "rb") as file:
                return frozenset(file.read(1 << 22).decode("ascii", "replace").split())
        except OSError:
            return frozenset()

    def _shallow_state(self) -> State | None:
        return state_of(os.path.join(self._common, "shallow"))

    def is_older(self, since: int | None, budget: Budget) -> bool:
        """Whether this is a mirror that was not brought up to date after `since`, in Unix milliseconds."""
        if not self.git.bare:
            return False
        state = state_of(os.path.join(self._common, "config"))
        if self._mirror is None or self._mirror[0] != state:
            self._mirror = state, self.git.is_mirror(budget)
        return self._mirror[1] and (since is None or self.git.refreshed() <= since)


def _line_of(path: str) -> str:
    """The first line of a small file; empty where there is none. A pipe in its place is not waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.fsdecode(os.read(file, 4096)).partition("\n")[0].rstrip()
        finally:
            os.close(file)
    except OSError:
        return ""


def _keep(kept: Bounded[Changes], found: Changes) -> Changes:
    size = sum(getsizeof(change.text) + sum(map(len, change.paths)) + 300 for change in found.files or ())
    return kept.put(found.commit, 300 + size, found)


def _charged(found: Changes, budget: Budget) -> Sequence[Change]:
    """The files that a commit changed."""
    budget.spend(found.size)
    assert found.files is not None, "more than is left was spent"
    return found.files


def _for_listing(budget: Budget) -> Budget:
    return Budget(budget.patience, MAX_LISTING)
