"""What git records of commits, as the checks on them need it, and the newest commit that left a file as it is.

Files whose names are never looked at are left out of a commit's changes; then nothing says that all were read. So it is
with a commit at which a shallow history ends: what it changed is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...streams.judging.checks import Check
from ...streams.judging.facts import CommitFacts, Standing, verify_commit, verify_last_changed
from ...streams.judging.results import Held, Source, opposite
from ...streams.judging.text_checks import NOT_FOUND
from ...streams.judging.verify import BARE, verify_content
from .ask import Ask, CannotLook
from .changed_since import standing
from .commit_tree import CommitTree, changed_by
from .commits import Change, Commit, read_commits
from .denied import Denied
from .place_findings import OTHER, dated
from .repository import PREFIX, Repository, Touch
from .trees import Place

ON_COMMITS: Final = frozenset(("commit", "changed", "introduced", "removed"))
ON_HISTORY: Final = ON_COMMITS | {"last_changed"}
"""Checks that git's records decide."""


class History:
    """The commits that one tip reaches.

    Args:
        ask: the question.
        repository: theirs.
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

    def held(self, check: Check, place: Place | None) -> Held:
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

        Raises:
            CannotLook: a bound is reached.
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
            facts = self._with_changes(facts, self.repository.changes_of(commit, self.budget))
        self._facts[commit.name] = facts
        return facts

    def _with_changes(self, facts: CommitFacts, found: Iterable[Change]) -> CommitFacts:
        paths = (path for change in found for path in change.paths if not self._denied.holds(path))
        return facts._replace(changed=tuple(dict.fromkeys(paths)))

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
            CannotLook: none does, and it may lie behind the end of a shallow history.
        """
        found: list[list[str]] = []
        for prefix in prefixes:
            reached = self.repository.reached(prefix, self._reference.name, self.budget)
            if not reached:
                if self.repository.shallow():
                    raise CannotLook("the repository is shallow: the commit may lie behind its end")
                return prefix
            found.append(reached)
        return found
