"""Which commit holds the words of an assertion without checks: message, author date, changed lines and tags.

All words have to be in one commit. Where the annotation, its locator or the text names one, only that is looked at;
else every commit from the reference's tip, newest first. A path, from the locator or alone in the text, has to be among
the files that the commit changes. That the words are there proves nothing: it is told, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...streams.judging.terms import Content, Presence, normalised, presence
from .ask import BOUND, Ask, CannotLook
from .commits import Change, Commit, read_commits
from .content import APART
from .history import History
from .repository import PREFIX

_BETWEEN = normalised(f"x{APART}x").strip("x")


def words_of(ask: Ask, history: History, path: str | None) -> tuple[Presence, str | None]:
    """The words that stand in one commit, and that commit; where no commit holds them all, those that stand anywhere.

    Args:
        ask: the question.
        history: the commits.
        path: that the locator or the text names.

    Raises:
        CannotLook: a bound is reached.
    """
    words = _Words(ask, history, path)
    commit = (ask.member("commit") or "").lower()
    declared = (ask.declared or "").lower()
    prefixes = [one for one in (declared, commit) if PREFIX.fullmatch(one)] or list(ask.terms.commits[:1])
    if not prefixes:
        return words.search()
    found = history.named(prefixes)
    if isinstance(found, str):
        return presence(ask.terms.terms, ""), None
    return words.examine([name for name in found[0] if all(name in others for others in found)])


class _Words:
    """The words of one assertion, and what of the commits counts for them."""

    def __init__(self, ask: Ask, history: History, path: str | None) -> None:
        self.ask, self.history, self.path = ask, history, path
        self.git, self.budget = history.repository.git, ask.budget
        self._tags: dict[str, list[str]] | None = None

    def examine(self, names: list[str]) -> tuple[Presence, str | None]:
        """One commit that is named, or the few that share a short prefix: the first that holds every word."""
        best: tuple[Presence, str | None] = presence(self.ask.terms.terms, ""), None
        for commit in read_commits(self.history.repository.objects, names, self.budget):
            changed = self._relevant(self.history.repository.changes_of(commit, self.budget))
            held = self._holds(commit, changed)
            if self._has_place and not changed:
                held = Presence((), (*held.found, *held.missing))
            if held.whole:
                return held, commit.name
            if best[1] is None:
                best = held, commit.name
        return best

    def search(self) -> tuple[Presence, str | None]:
        """The newest commit that holds every word."""
        names = self._names()
        said: dict[str, Commit] = {}
        everywhere: set[str] = set()
        for commit in read_commits(self.history.repository.objects, names, self.budget):
            said[commit.name] = commit
            if not self._has_place:
                held = presence(self.ask.terms.terms, Content(self._says(commit)))
                if held.whole:
                    return held, commit.name
                everywhere.update(held.found)
        for name, changed in self._changed(names):
            held = self._holds(said[name], changed)
            if held.whole:
                return held, name
            everywhere.update(held.found)
        texts = [term.text for term in self.ask.terms.terms]
        if everywhere.issuperset(texts):
            return Presence((), tuple(texts)), None  # no commit holds them all
        found = tuple(text for text in texts if text in everywhere)
        return Presence(found, tuple(text for text in texts if text not in everywhere)), None

    def _names(self) -> list[str]:
        """Every commit, newest first; those that change the path, where one is named.

        Raises:
            CannotLook: there are more than the bound allows.
        """
        limit, tip = self.budget.commits, self.history.tip.name
        only = ["--full-history", tip, "--", self.path] if self.path else [tip, "--"]
        names = self.git.run(self.budget, "rev-list", f"--max-count={limit + 1}", *only).decode("ascii").split()
        if len(names) > limit:
            raise CannotLook(f"more than {limit} commits would have to be searched, {BOUND} `look_commits`")
        return names

    def _tags_at(self, name: str) -> list[str]:
        if self._tags is None:
            self._tags = {}
            wanted = "--format=%(objectname) %(*objectname) %(refname)"
            listed = self.git.run(self.budget, "for-each-ref", wanted, "refs/tags/").decode("utf-8", "replace")
            for line in listed.split("\n")[:-1]:
                tagged, peeled, ref = line.split(" ", 2)
                self._tags.setdefault(peeled or tagged, []).append(ref.removeprefix("refs/tags/"))
        return self._tags.get(name, [])

    def _says(self, commit: Commit) -> str:
        """What the commit itself says, without what it changed."""
        return APART.join((commit.name, commit.says(self._tags_at(commit.name))))

    def _relevant(self, found: Iterable[Change]) -> list[Change]:
        """The changes at the place that locator or text name, all where they name none; none that is closed to us."""
        kept = [change for change in found if not self.history.is_closed(change)]
        if self.path is not None:
            return [change for change in kept if self.path in change.paths]
        places = self.ask.terms.places
        return [change for change in kept if not places or any(_at(path, places[0]) for path in change.paths)]

    @property
    def _has_place(self) -> bool:
        return self.path is not None or bool(self.ask.terms.places)

    def _holds(self, commit: Commit, changed: list[Change]) -> Presence:
        """Which words one commit holds, its changes included."""
        pieces = [normalised(self._says(commit))]
        for change in changed:
            pieces += (*map(normalised, change.paths), change.text)
        return presence(self.ask.terms.terms, Content(_BETWEEN.join(pieces), is_normal=True))

    def _changed(self, names: list[str]) -> Iterator[tuple[str, list[Change]]]:
        for name, found in self.history.repository.changes(names, self.budget):
            relevant = self._relevant(found)
            if relevant or not self._has_place:
                yield name, relevant


def _at(path: str, place: str) -> bool:
    return path == place or path.endswith("/" + place)
