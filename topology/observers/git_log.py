"""substrate.git.log: the history that a named reference reaches [S §4].

Checks on content are decided on the file as it stands at the tip, which is as the newest commit left it that touched
it; that commit is the observation. Checks on commits are decided by git's records of the commit that they name. A
commit that the annotation declares has to be there, and to be reached; it decides nothing else. Of an assertion without
checks the words are looked for in one commit (git_words.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...codecs.records import LookedAt
from ...streams.judging.checks import Check
from ...streams.judging.outcomes import Judged
from ...streams.judging.results import Held
from ...streams.judging.terms import Presence
from ...streams.judging.verify import Parser
from .ask import Ask, CannotLook, Finding
from .asked_files import locate, named_path
from .changed_since import Changes
from .commit_tree import CommitTree
from .confirming import Confirming
from .deciding import Deciding
from .git_words import words_of
from .history import ON_HISTORY, History
from .located import ON_CHANGES, ON_TREES, Located
from .looked_root import Site, View
from .place_findings import answer, where_from
from .repository import PREFIX
from .trees import Place, Tree

NO_REPOSITORY: Final = "the root is no git repository"


def git_log(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Looks into the history.

    Args:
        ask: the question.
        site: the repository.
        view: the tree of the tip, or of the commit that the locator names.
        parser: keeps what was parsed.

    Raises:
        CannotLook: the root is no repository, the place is impossible, or a bound is reached.
    """
    tree, exact = view.tree, view.exact
    if site.repository is None or not isinstance(tree, CommitTree) or view.reference is None:
        raise CannotLook(NO_REPOSITORY)
    where = locate(ask, tree)
    history = History(ask, site.repository, site.denied, tree, view.reference, exact=exact)
    made_up = _made_up(ask, history)
    if made_up is not None:
        return made_up
    deciding = Deciding(ask, tree, where, parser, exact=exact)
    deciding.changes = Changes(ask, site, view, parser)
    deciding.region = Located(named_path(ask, where))
    standing = _standing(ask, site)
    helds = [_held(ask, deciding, history, standing, number) for number in range(len(ask.question.checks))]
    words, said_by = Presence((), ()), None
    if ask.question.is_sentence and not any(held.holds for held in helds):
        named = where.default if ask.member("path") is not None else None
        words, said_by = words_of(ask, history, None if named is None else named.path)
    default = None if where.anchor is None else where.anchor.path
    seen = said_by or _seen(helds) or _left_by(history, where.anchor) or tree.tip.name
    return answer(
        ask,
        helds,
        seen,
        words=words,
        missing=where.default is not None and where.default.state == "missing" and not words.whole,
        path=None if where.default is None else where.default.path,
        commit=tree.tip.name if exact else seen,
        region=_region(ask, deciding),
        confirming=Confirming(ask, tree, deciding, parser, helds),
        where=lambda found: _where(found, deciding, site.name, tree.tip.name if exact else seen, default),
    )


def _standing(ask: Ask, site: Site) -> Tree | None:
    """The work tree, where the annotation speaks of HEAD."""
    if ask.member("ref") is not None or ask.member("commit") is not None:
        return None
    return site.work_tree(ask.budget)


def _where(found: Judged, deciding: Deciding, root: str, commit: str, default: str | None) -> LookedAt:
    return where_from(found, deciding.digests, root, commit, default)


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


def _region(ask: Ask, deciding: Deciding) -> str | None:
    """The text of the one file that is named, where a judge wants it."""
    place = deciding.where.default
    if not ask.wants_region or place is None or place.state != "file":
        return None
    text = deciding.file(place).text
    return None if text is None else text.text


def _left_by(history: History, place: Place | None) -> str | None:
    touch = None if place is None or place.state == "missing" else history.last(place.path)
    return None if touch is None else touch.commit
