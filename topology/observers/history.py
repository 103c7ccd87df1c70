"""Checks on the history of a repository.

`since` names a commit or a tree by 7 digits or more of its hash. A commit has to be an ancestor of HEAD, or of the
commit that is looked at; a tree has to be kept under a name of git (`refs/sluice/…`), as a recorder of this work tree
keeps it. Without `since` a commit is held against its first parent, and the work tree against HEAD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...streams.judging.checks import Check, Held, Source, opposite
from ...streams.judging.facts import (
    NOT_FOUND,
    CommitFacts,
    SinceFacts,
    Standing,
    inner,
    standing_of,
    verify_commit,
    verify_last_changed,
    verify_since,
)
from ...streams.judging.verify import BARE, Judged, Parser, verify_content
from .ask import OTHER, Ask, Budget, Finding, ObservationUnavailable, dated, is_negative
from .file_contents import Everything, File
from .listings import FILE, Denied
from .repository import PREFIX, Change, Commit, Repository, Touch, read_commits
from .root_set import Site, View
from .trees import CommitTree, Tree, TreePath, changed_by

_PATH: Final = re.compile(r"(?!\.\.?/)[\w@+-][\w@+./-]*")
"""What may be a path; anything else is a text."""
DEFINED: Final = frozenset(("function", "type", "space", "value"))
"""Sorts of definitions that come and go; a key or an attribute is part of another one."""


class Changes:
    """What changed until one tree."""

    def __init__(self, ask: Ask, site: Site, view: View, parser: Parser) -> None:
        self._budget, self._site, self._tree, self._parser = ask.budget, site, view.tree, parser
        self._head = view.tree.commit

    def held(self, check: Check) -> Held:
        """What one of them comes to, `not` included."""
        repository = self._site.repository
        facts = None if repository is None else self._facts(check, repository)
        held = verify_since(check, facts)
        held = opposite(held) if check.negated else held
        return held._replace(commit=None if self._head is None else self._head.name)

    def _facts(self, check: Check, repository: Repository) -> SinceFacts | None:
        head = self._head or repository.tip(None, self._budget)
        before, is_ancestor = self._since(check.text("since").lower(), head, repository)
        if before is None:
            return None
        texts = [text for name in ("what", "old", "new") if (text := check.text(name))]
        stands = {text: self._standings(text, check.path, before) for text in texts}
        changed, whole = self._changed(before, repository)
        there = None
        if check.name == "unchanged":
            there = self._tree.locate(check.text("path"), self._budget).state in ("file", "folder")
        return SinceFacts(
            is_ancestor=is_ancestor,
            before={text: both[0] for text, both in stands.items()},
            after={text: both[1] for text, both in stands.items()},
            changed=changed if whole else None,
            untracked=frozenset() if self._head is not None else self._untracked(repository),
            there=there,
        )

    def _since(self, since: str, head: Commit, repository: Repository) -> tuple[CommitTree | None, bool]:
        """The tree that a check names, and whether what is looked at came from it."""
        tree = self._site.at(head)
        if not since:
            if self._head is None:
                return tree, True
            parent = repository.commit(head.parents[0], self._budget) if head.parents else None
            return (None if parent is None else tree.at(parent)), True
        if not PREFIX.fullmatch(since):
            return None, False
        reached = repository.reached(since, head.name, self._budget)
        if len(reached) == 1 and (commit := repository.commit(reached[0], self._budget)) is not None:
            return tree.at(commit), True
        recorded = repository.recorded_tree(since, self._budget)
        if recorded is not None:
            return tree.at(head._replace(tree=recorded)), self._head is None
        other = repository.objects.read(f"{since}^{{commit}}", self._budget)
        return (None if other is None else tree), False

    def _changed(self, before: CommitTree, repository: Repository) -> tuple[frozenset[str], bool]:
        """The paths that differ from a tree, and whether all could be compared."""
        old = repository.listing(before.tip, self._budget)
        if self._head is not None:
            new = repository.listing(self._head, self._budget)
            both = old.entries.keys() | new.entries.keys()
            return frozenset(path for path in both if old.entries.get(path) != new.entries.get(path)), True
        index = repository.index(self._budget)
        files = dict(self._tree.everything(self._budget).files)
        changed, whole = set[str](), True
        for path in old.entries.keys() | index.entries.keys():
            entry, now = old.entries.get(path), index.entries.get(path)
            if entry is None or now is None or entry.kind != now.kind:
                changed.add(path)
            elif entry.kind != FILE or path not in files:
                # What is no file is known by the index; a file that was not read is gone, or closed to us.
                gone = entry.kind == FILE and self._tree.locate(path, self._budget).state == "missing"
                whole = whole and (gone or entry.name == now.name)
                changed.update({path} if gone or entry.name != now.name else ())
            elif not files[path].is_blob(entry.name):
                changed.add(path)
        return frozenset(changed), whole

    def _untracked(self, repository: Repository) -> frozenset[str]:
        listed = repository.git.run(self._budget, "ls-files", "--others", "--exclude-standard", "-z")
        return frozenset(path.decode("utf-8", "replace") for path in listed.split(b"\0") if path)

    def _standings(self, what: str, path: str | None, before: CommitTree) -> list[Standing]:
        """Where a file, a definition or a text stands before and after: in the file of a path, or in every one."""
        trees: tuple[Tree, ...] = (before, self._tree)
        if path is None and _PATH.fullmatch(what):
            there = [tree.locate(what, self._budget).state != "missing" for tree in trees]
            if any(there):
                return [Standing({what: 1}, True, (what,)) if one else Standing({}, True, ()) for one in there]
        found = [standing(what, path, tree, self._budget) for tree in trees]
        return [
            one._replace(defined=self._defined(what, path, tree, one)) for tree, one in zip(trees, found, strict=True)
        ]

    def _defined(self, what: str, path: str | None, tree: Tree, found: Standing) -> tuple[str, ...] | None:
        """The definitions of a name; None where a file that has the name was not read by its syntax."""
        name = what.replace("::", ".").removesuffix("()")
        wanted = tuple(name.split("."))
        if not all(part.isidentifier() for part in wanted):
            return None
        definitions: list[str] = []
        for where, file in _files(wanted[-1], path, tree, self._budget):
            source = file.source(where)
            code = None if source is None else self._parser.code(source)
            if code is None:
                return None
            definitions += [
                f"{where}:{'.'.join(one.path)}"
                for one in code.definitions
                if one.sort in DEFINED and one.path[-len(wanted) :] == wanted
            ]
        return tuple(definitions) if found.whole or definitions else None


def standing(quote: str, path: str | None, tree: Tree, budget: Budget) -> Standing:
    """Where a text stands in one file of a tree, or in every file.

    Raises:
        ObservationUnavailable: the path is closed, or a bound is reached.
    """
    if path is not None:
        place = tree.locate(path, budget)
        file = tree.file(place, budget) if place.state == "file" else None
        source = None if file is None or file.is_pointer else file.source(place.path)
        if source is None:
            return Standing({}, place.state == "missing")
        return standing_of(quote, [source], whole=True)
    everything = tree.everything(budget)
    needle = max(inner(quote).split(), key=len)
    sources = [file.source(path) for path, file in everything.holding(needle, escaped=True)]
    texts = [source for source in sources if source is not None]
    whole = everything.whole and len(texts) == len(sources) and not everything.may_hide(needle)
    return standing_of(quote, texts, whole=whole)


def _files(word: str, path: str | None, tree: Tree, budget: Budget) -> Iterable[tuple[str, File]]:
    """The files of a scope in which a word may stand."""
    if path is None:
        everything: Everything = tree.everything(budget)
        return [(where, file) for where, file in everything.holding(word) if file.may_name(word)]
    place = tree.locate(path, budget)
    return [(place.path, tree.file(place, budget))] if place.state == "file" else []


ON_COMMITS: Final = frozenset(("commit", "changed", "introduced", "removed"))
ON_HISTORY: Final = ON_COMMITS | {"last_changed"}
"""Checks that git's records decide."""


class History:
    """The commits that one tip reaches.

    Args:
        denied: the names that are never looked at.
        tree: of the newest commit that the checks speak of.
        reference: the one that `ref` names: what an annotation declares has to be reached from there.
        exact: the annotation names the tip.
    """

    def __init__(
        self, ask: Ask, repository: Repository, denied: Denied, tree: CommitTree, reference: Commit, *, exact: bool
    ) -> None:
        self.ask, self.repository, self.tip, self.exact = ask, repository, tree.tip, exact
        self._tree = tree
        self._reference = reference
        self.budget, self._denied = ask.budget, denied
        self._facts: dict[str, CommitFacts] = {}

    def held(self, check: Check, place: TreePath | None) -> Held:
        """What a check on git's records comes to, `not` included.

        Args:
            check: one of `ON_HISTORY`.
            place: that it names, if it names one: what stands there at the tip.
        """
        if check.name != "last_changed":
            held = verify_commit(check, self._of(check))  # of a commit everything is what it ever was
            return opposite(held) if check.negated else held
        assert place is not None, "last_changed names a path"
        held = self._last_changed(check, place.path)
        held = opposite(held) if check.negated else held
        return dated(self.ask, held, self.changed(place.path) if held.holds is False else None, exact=self.exact)

    def _last_changed(self, check: Check, path: str) -> Held:
        touch = self.last(path)
        commit = None if touch is None else self.repository.commit(touch.commit, self.budget)
        if commit is None or commit.committed is None or self.is_end(commit.name):
            return Held(None, "not-found", path=path)
        time, offset = commit.committed
        return verify_last_changed(check, time, commit.name, offset)._replace(path=path)

    def _of(self, check: Check) -> CommitFacts | None:
        """The facts of the commit that a check names; None where there is none, or several."""
        prefix = check.text("hash" if check.name == "commit" else "commit").lower()
        found = self.repository.reached(prefix, self.tip.name, self.budget) if PREFIX.fullmatch(prefix) else []
        if len(found) != 1:
            return None
        commit = self.repository.commit(found[0], self.budget)
        if commit is None:
            return None
        facts = self.facts(commit, changes=check.name == "changed")
        if check.name not in ("introduced", "removed") or self.is_end(commit.name):
            return facts
        parent = self.repository.commit(commit.parents[0], self.budget) if commit.parents else None
        if parent is None and commit.parents:
            return facts
        asked = (check.text("quote"), check.path)
        before = Standing({}, True) if parent is None else standing(*asked, self._tree.at(parent), self.budget)
        return facts._replace(before=before, after=standing(*asked, self._tree.at(commit), self.budget))

    def said(self, check: Check) -> Held:
        """Whether a quote stands in a commit's message: of the one that the annotation names, else of the newest one
        that has it.
        """
        if check.named:
            return OTHER  # a message has no lines and no names of its own
        commits = iter((self.tip,))
        if not self.exact:
            limit = self.budget.commits
            asked = ("rev-list", f"--max-count={limit}", self.tip.name, "--")
            names = self.repository.git.run(self.budget, *asked).decode("ascii").split()
            commits = read_commits(self.repository.objects, names, self.budget)
        for commit in commits:
            held = verify_content(check, Source("", commit.message), BARE)
            if held.holds:
                return Held(True, lines=held.lines, commit=commit.name)
        return NOT_FOUND

    def facts(self, commit: Commit, *, changes: bool) -> CommitFacts:
        """What git records of a commit, what it changed only where that is asked for."""
        known = self._facts.get(commit.name)
        if known is not None and (known.changed is not None or not changes):
            return known
        name, _, email = commit.author.partition(" <")
        facts = CommitFacts(
            commit.name, name.strip(), email.rstrip(">"), commit.authored, commit.committed, commit.message
        )
        if changes and not self.is_end(commit.name):
            files = self.repository.changes_of(commit, self.budget)
            paths = (path for change in files for path in change.paths if not self._denied.holds(path))
            facts = facts._replace(changed=tuple(dict.fromkeys(paths)))
        self._facts[commit.name] = facts
        return facts

    def is_closed(self, change: Change) -> bool:
        """Whether a change is in a file that is never looked at."""
        return any(map(self._denied.holds, change.paths))

    def is_end(self, name: str) -> bool:
        """Whether a shallow history ends at a commit: what it changed, and what lies behind it, is not known."""
        return name in self.repository.shallow()

    def last(self, path: str) -> Touch | None:
        """The newest commit that touched a path."""
        return self.repository.touched(path, self.tip.name, self.budget)

    def changed(self, path: str) -> int | None:
        """When a path was last changed, in Unix milliseconds, or its change merged into the branch of the tip."""
        return changed_by(self.repository, path, self.tip.name, self.budget)

    def left_by(self, held: Held, *, there: bool) -> Held:
        """A check on content or on the tree, with the commit that left the file as it is; the tip where it is none."""
        if held.path is None or held.reason == "path-missing":
            return held
        touch = self.last(held.path) if there else None
        return held._replace(commit=self.tip.name if touch is None else touch.commit)

    def named(self, prefixes: Iterable[str]) -> list[list[str]] | str:
        """The commits that each prefix names; the first prefix that none begins with, where there is one.

        Raises:
            ObservationUnavailable: none does, and it may lie behind the end of a shallow history.
        """
        found: list[list[str]] = []
        for prefix in prefixes:
            reached = self.repository.reached(prefix, self._reference.name, self.budget)
            if not reached:
                if self.repository.shallow():
                    raise ObservationUnavailable("the repository is shallow: the commit may lie behind its end")
                return prefix
            found.append(reached)
        return found


def unless_stale(ask: Ask, site: Site, finding: Finding) -> Finding:
    """A mirror that was not refreshed since proves no absence: of an observation, of what is denied, of a newer file.

    Of a commit that the locator names everything is what it ever was.
    """
    unknown = finding.outcome == "unknown-observation"
    named = ask.locator.get("commit") is not None
    if not unknown and (named or finding.judged is None or not _needs_all(ask, finding, finding.judged)):
        return finding
    if not site.is_older(ask.since, ask.budget):
        return finding
    return Finding("unavailable", reason="the mirror was not refreshed since the annotation's ts")


def _needs_all(ask: Ask, finding: Finding, found: Judged) -> bool:
    """Whether newer commits could make it another finding; what git records of a commit never changes."""
    checks = ask.question.checks
    newer = [place for place, check in enumerate(checks) if isinstance(check, Check) and check.name not in ON_COMMITS]
    if finding.outcome == "contradicts":
        return newer != [] and set(found.refuted) <= set(newer)
    return any(place in newer and is_negative(checks[place]) for place in found.verified)
