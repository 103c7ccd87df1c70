"""substrate.git.log: message, author date, changed lines and tags of the commits that a named reference reaches [S §4].

All terms have to be in one commit. Where the annotation, its locator or the text names a commit, only that one is
looked at; else every commit from the reference's tip, newest first, and the first that holds them all is the
observation. A path, from the locator or alone in the text, has to be among the files that the commit changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...streams.moments import SECOND, moments
from ...streams.terms import Content, Presence, presence
from .ask import Ask, CannotLook, Finding, judge
from .commits import Change, Commit, changes, changes_of, read_commits
from .confine import Root
from .content import APART
from .git import Git

_HASH = re.compile(r"[0-9a-f]{7,64}")
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_log(ask: Ask, root: Root, git: Git | None) -> Finding:
    """Looks into the history.

    Raises:
        CannotLook: there is none, the place is impossible, or a bound is reached.
    """
    path, ref, commit = ask.member("path"), ask.member("ref"), ask.member("commit")
    path = None if path is None else "/".join(root.components(path))
    if commit is not None and not _HASH.fullmatch(commit.lower()):
        raise CannotLook("the locator's commit is no hash of 7 digits or more")
    if git is None:
        raise CannotLook("the root is no git repository")
    history = _History(ask, git, git.tip(ref, ask.budget), path)
    declared = (ask.declared or "").lower()
    named = [one for one in (declared, (commit or "").lower()) if _HASH.fullmatch(one)]
    if named:
        return _named(ask, history, named)
    if ask.terms.commits:
        reached = history.reached(ask.terms.commits[0])
        return _examine(ask, history, reached) if reached else _nothing(ask, history, "the history has no such commit")
    return _search(ask, history)


class _History:
    """The commits that one tip reaches, and what of them counts for one question."""

    def __init__(self, ask: Ask, git: Git, tip: str, path: str | None) -> None:
        self.ask, self.git, self.tip, self.path = ask, git, tip, path
        self.budget = ask.budget
        self._tags: dict[str, list[str]] | None = None

    def reached(self, prefix: str) -> list[str]:
        """The commits that the tip reaches and whose hash begins so; more than one only for a short prefix."""
        listed = self.git.run(self.budget, "rev-parse", f"--disambiguate={prefix}").decode("ascii", "replace").split()
        found: list[str] = []
        for name in listed:
            if not _NAME.fullmatch(name):
                continue
            kind = self.git.run(self.budget, "cat-file", "--batch-check=%(objecttype)", feed=[f"{name}\n".encode()])
            if kind.strip() != b"commit":
                continue
            if self.git.ask(self.budget, "merge-base", "--is-ancestor", name, self.tip) is not None:
                found.append(name)
        return found

    def names(self) -> list[str]:
        """Every commit, newest first; those that change the locator's path, where it names one.

        Raises:
            CannotLook: there are more than the bound allows.
        """
        limit = self.budget.commits
        only = ["--full-history", self.tip, "--", self.path] if self.path else [self.tip, "--"]
        names = self.git.run(self.budget, "rev-list", f"--max-count={limit + 1}", *only).decode("ascii").split()
        if len(names) > limit:
            raise CannotLook(f"more than {limit} commits would have to be searched")
        return names

    def tags(self, name: str) -> list[str]:
        """The names of the tags at a commit."""
        if self._tags is None:
            self._tags = {}
            wanted = "--format=%(objectname) %(*objectname) %(refname)"
            listed = self.git.run(self.budget, "for-each-ref", wanted, "refs/tags/").decode("utf-8", "replace")
            for line in listed.split("\n")[:-1]:
                tagged, peeled, ref = line.split(" ", 2)
                self._tags.setdefault(peeled or tagged, []).append(ref.removeprefix("refs/tags/"))
        return self._tags.get(name, [])

    def says(self, commit: Commit) -> str:
        """What the commit itself says, without what it changed."""
        return APART.join((commit.name, commit.says(self.tags(commit.name))))

    def relevant(self, found: Iterable[Change]) -> list[Change]:
        """The changes at the place that locator or text name; all where they name none."""
        if self.path is not None:
            return [change for change in found if self.path in change.paths]
        places = self.ask.terms.places
        return [change for change in found if not places or any(_at(path, places[0]) for path in change.paths)]

    @property
    def has_place(self) -> bool:
        return self.path is not None or bool(self.ask.terms.places)

    def holds(self, commit: Commit, changed: list[Change]) -> Presence:
        """Which terms one commit holds, its changes included."""
        pieces = [self.says(commit)]
        for change in changed:
            pieces += (*change.paths, change.text)
        return presence(self.ask.terms.terms, Content(APART.join(pieces)))


def _at(path: str, place: str) -> bool:
    return path == place or path.endswith("/" + place)


def _named(ask: Ask, history: _History, named: list[str]) -> Finding:
    """The commit that annotation and locator declare: it has to be there, and to be one."""
    reached: list[list[str]] = []
    for prefix in named:
        found = history.reached(prefix)
        if not found:
            if history.git.is_shallow(ask.budget):
                raise CannotLook("the repository is shallow: the commit may lie behind its end")
            declared = ask.declared or prefix
            return Finding("unknown-observation", declared, reason=f"no commit {prefix} is reachable")
        reached.append(found)
    same = [name for name in reached[0] if all(name in others for others in reached)]
    if not same:
        return Finding("absent", reached[0][0], reason="annotation and locator name two commits")
    return _examine(ask, history, same)


def _examine(ask: Ask, history: _History, names: list[str]) -> Finding:
    """One commit that is named (or the few that share a short prefix): the first that holds every term."""
    first: Finding | None = None
    for commit in read_commits(history.git, names, ask.budget):
        changed = history.relevant(changes_of(history.git, commit, ask.budget))
        held = history.holds(commit, changed)
        elsewhere = history.has_place and not changed
        if elsewhere and held.whole:
            held = Presence((), (*held.found, *held.missing))
        finding = judge(ask, held, commit.name)
        if finding.outcome in ("corroborates", "contradicts") and held.whole:
            return finding
        if finding.outcome == "absent" and _bears_another_date(ask, commit, held):
            finding = Finding("contradicts", commit.name, held, "the commit bears another date")
        elif finding.outcome == "absent" and elsewhere:
            finding = Finding("absent", commit.name, held, "the commit does not change the file that is named")
        first = first or finding
    if first is None:
        raise CannotLook("a commit of this history is not in the repository")
    return first


def _bears_another_date(ask: Ask, commit: Commit, held: Presence) -> bool:
    """Whether the text names a date that is neither author's nor committer's, in UTC or where they were."""
    named = [one for one in moments(ask.text) if one.text in held.missing]
    dates = [date for date in (commit.authored, commit.committed) if date is not None]
    if not named or commit.authored is None:
        return False
    times = [time for date, offset in dates for time in (date, date + offset * SECOND)]
    return not any(one.holds(time) for one in named for time in times)


def _nothing(ask: Ask, history: _History, reason: str) -> Finding:
    """The whole history was looked through for a commit that only the text names."""
    missing = Presence((), tuple(term.text for term in ask.terms.terms))
    if history.git.is_shallow(ask.budget):
        raise CannotLook("the repository is shallow: the commit may lie behind its end")
    return Finding("corroborates" if ask.denies and missing.missing else "absent", history.tip, missing, reason)


def _search(ask: Ask, history: _History) -> Finding:
    """The newest commit that holds every term."""
    names = history.names()
    said: dict[str, Commit] = {}
    everywhere: set[str] = set()
    for commit in read_commits(history.git, names, ask.budget):
        said[commit.name] = commit
        if not history.has_place:
            held = presence(ask.terms.terms, Content(history.says(commit)))
            if held.whole:
                return judge(ask, held, commit.name)
            everywhere.update(held.found)
    for name, changed in _changed(history, names):
        held = history.holds(said[name], changed)
        if held.whole:
            return judge(ask, held, name)
        everywhere.update(held.found)
    shallow = "the repository is shallow" if history.git.is_shallow(ask.budget) else None
    texts = [term.text for term in ask.terms.terms]
    spread = Presence(
        tuple(text for text in texts if text in everywhere), tuple(text for text in texts if text not in everywhere)
    )
    if not spread.whole:
        return judge(ask, spread, history.tip, shallow)
    scattered = judge(ask, Presence((), spread.found), history.tip, shallow)
    return Finding(scattered.outcome, scattered.seen, spread, scattered.reason or "no commit holds them all")


def _changed(history: _History, names: list[str]) -> Iterator[tuple[str, list[Change]]]:
    for name, found in changes(history.git, names, history.budget):
        relevant = history.relevant(found)
        if relevant or not history.has_place:
            yield name, relevant
