"""What changed between a commit or tree of git and what is looked at: the facts of `added`, `deleted`, `renamed`,
`touched` and `unchanged`, and where a text stands in a tree (streams/judging/facts.py decides).

`since` names a commit or a tree by 7 digits or more of its hash. A commit has to be an ancestor of HEAD, or of the
commit that is looked at; a tree has to be kept under a name of git (`refs/sluice/…`), as a recorder of this work tree
keeps it. Without `since` a commit is held against its first parent, and the work tree against HEAD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...streams.judging.checks import Check
from ...streams.judging.facts import SinceFacts, Standing, standing_of, verify_since
from ...streams.judging.results import Held, opposite
from ...streams.judging.text_checks import inner
from ...streams.judging.verify import Parser
from .ask import Ask, Budget
from .commit_tree import CommitTree
from .commits import Commit
from .file_contents import Everything, File
from .listings import FILE
from .looked_root import Site, View
from .repository import PREFIX, Repository
from .trees import Tree

_PATH: Final = re.compile(r"(?!\.\.?/)[\w@+-][\w@+./-]*")
"""What may be a path; anything else is a text."""
DEFINED: Final = frozenset(("function", "type", "space", "value"))
"""Sorts of definitions that come and go; a key or an attribute is part of another one."""


class Changes:
    """What changed until one tree.

    Args:
        ask: the question.
        site: the repository.
        view: what is looked at.
        parser: keeps what was parsed.
    """

    def __init__(self, ask: Ask, site: Site, view: View, parser: Parser) -> None:
        self._budget, self._site, self._tree, self._parser = ask.budget, site, view.tree, parser
        self._head = view.tree.commit

    def held(self, check: Check) -> Held:
        """What one of them comes to, `not` included.

        Raises:
            CannotLook: a bound is reached.
        """
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
        """Where a file, a definition or a text stands before and after: in the file of a path, or in every one.

        Raises:
            CannotLook: it is a path that is closed, or a bound is reached.
        """
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

    Args:
        quote: of a check.
        path: of the file; None for all.
        tree: which one.
        budget: of the look.

    Raises:
        CannotLook: the path is closed, or a bound is reached.
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
