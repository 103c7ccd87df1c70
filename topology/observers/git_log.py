"""substrate.git.log: what the history of a repository says [S §4]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...streams.judging.checks import Check, Held
from ...streams.judging.facts import flat
from ...streams.judging.terms import Content, Presence, presence
from ...streams.judging.verify import Parser
from .ask import BOUND, Ask, Finding, ObservationUnavailable, answer, where_from
from .deciding import ON_CHANGES, ON_TREES, Confirming, Deciding, Located, locate, named_path
from .file_contents import APART
from .history import ON_HISTORY, History
from .repository import PREFIX, Change, Commit, read_commits
from .root_set import Site, View
from .trees import CommitTree, Tree, TreePath

_BETWEEN = flat(f"x{APART}x").strip("x")


def words_of(ask: Ask, history: History, path: str | None) -> tuple[Presence, str | None]:
    """The words in one commit, and that commit; where no commit holds them all, those that stand anywhere."""
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
        """Every commit, newest first; those that change the path, where one is named."""
        limit, tip = self.budget.commits, self.history.tip.name
        only = ["--full-history", tip, "--", self.path] if self.path else [tip, "--"]
        names = self.git.run(self.budget, "rev-list", f"--max-count={limit + 1}", *only).decode("ascii").split()
        if len(names) > limit:
            raise ObservationUnavailable(f"more than {limit} commits would have to be searched, {BOUND} `look_commits`")
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
        pieces = [flat(self._says(commit))]
        for change in changed:
            pieces += (*map(flat, change.paths), change.text)
        return presence(self.ask.terms.terms, Content(_BETWEEN.join(pieces), is_normal=True))

    def _changed(self, names: list[str]) -> Iterator[tuple[str, list[Change]]]:
        for name, found in self.history.repository.changes(names, self.budget):
            relevant = self._relevant(found)
            if relevant or not self._has_place:
                yield name, relevant


def _at(path: str, place: str) -> bool:
    return path == place or path.endswith("/" + place)


def git_log(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Looks into the history.

    Raises:
        ObservationUnavailable: the root is no repository, the place is impossible, or a bound is reached.
    """
    tree, exact = view.tree, view.exact
    if site.repository is None or not isinstance(tree, CommitTree) or view.reference is None:
        raise ObservationUnavailable("the root is no git repository")
    where = locate(ask, tree)
    history = History(ask, site.repository, site.denied, tree, view.reference, exact=exact)
    made_up = _made_up(ask, history)
    if made_up is not None:
        return made_up
    deciding = Deciding(ask, site, view, parser, where)
    deciding.region = Located(named_path(ask, where))
    standing = _standing(ask, site)
    helds = [_held(ask, deciding, history, standing, number) for number in range(len(ask.question.checks))]
    words, said_by = Presence((), ()), None
    if ask.question.is_sentence and not any(held.holds for held in helds):
        named = where.default if ask.member("path") is not None else None
        words, said_by = words_of(ask, history, None if named is None else named.path)
    default = None if where.anchor is None else where.anchor.path
    seen = said_by or _seen(helds) or _left_by(history, where.anchor) or tree.tip.name
    commit = tree.tip.name if exact else seen
    return answer(
        ask,
        helds,
        seen,
        words=words,
        missing=where.default is not None and where.default.state == "missing" and not words.whole,
        path=None if where.default is None else where.default.path,
        commit=commit,
        region=deciding.named_text() if ask.wants_region else None,
        confirming=Confirming(ask, tree, deciding, parser, helds),
        where=lambda found: where_from(found, deciding.digests, site.name, commit, default),
    )


def _standing(ask: Ask, site: Site) -> Tree | None:
    """The work tree, where the annotation speaks of HEAD."""
    if ask.member("ref") is not None or ask.member("commit") is not None:
        return None
    return site.work_tree(ask.budget)


def _made_up(ask: Ask, history: History) -> Finding | None:
    """A declared commit that the reference does not reach."""
    declared = (ask.declared or "").lower()
    if not PREFIX.fullmatch(declared):
        return None
    found = history.named([declared])
    if isinstance(found, str):
        return Finding("unknown-observation", ask.declared, reason=f"no commit {declared} is reachable")
    return None


def _held(ask: Ask, deciding: Deciding, history: History, standing: Tree | None, number: int) -> Held:
    """What one check comes to in history. HEAD is no longer what stands where a change is not committed: there it
    refutes nothing, and does not tell what exists.
    """
    check = ask.question.checks[number]
    if isinstance(check, Check) and check.name in ON_HISTORY:
        held = deciding.bind(number, history.held(check, deciding.where.own.get(number)))
        if held.holds is not None and history.exact and held.commit != history.tip.name:
            return held._replace(holds=None, reason="outside-locator")
        return held
    place = deciding.where.of(number)
    held = deciding.held(number)
    name = check.name if isinstance(check, Check) else ""
    is_scope = name in ON_CHANGES or name == "only_in"
    if held.holds is not None and standing is not None and (is_scope or held.path is not None):
        own = deciding.where.own.get(number)
        path = held.path if not is_scope else None if own is None else own.path
        if standing.is_own_edit(path, ask.budget) and (held.holds is False or is_scope or name in ON_TREES):
            held = held._replace(holds=None, reason="not-committed")
    held = history.left_by(deciding.bind(number, held), there=place is not None and place.state != "missing")
    if isinstance(check, Check) and check.name == "contains" and check.path is None and not held.holds:
        return history.said(check) if place is None or history.exact else held
    return held


def _seen(helds: Sequence[Held]) -> str | None:
    """The commit by which a check holds, or else is false, or was decided at all."""
    for wanted in (True, False, None):
        found = next((held.commit for held in helds if held.holds is wanted and held.commit is not None), None)
        if found is not None:
            return found
    return None


def _left_by(history: History, place: TreePath | None) -> str | None:
    touch = None if place is None or place.state == "missing" else history.last(place.path)
    return None if touch is None else touch.commit
