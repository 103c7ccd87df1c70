"""The checks on a whole scope and on what changed in it: `only_in`, `added`, `deleted`, `renamed`, `touched`,
`unchanged`; and when a text came into a scope (docs/checks.md).

An observer tells where something stands in the files of a scope at two times, which paths differ between them and what
it could not look at; here is decided what follows. What only an enumerated scope can show stays undecided while some of
the scope was not looked at. Nothing is read here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Check
from .results import Held, Source
from .text_checks import AMBIGUOUS, NOT_FOUND, NOT_WHOLE, find_quote, flat, inner, looks_like

INCOMPARABLE: Final = Held(None, "incomparable")
DIFFERS: Final = Held(False, "differs")
_PATH_MISSING: Final = Held(None, "path-missing")
_MOST: Final = 10_000
"""Occurrences in one file that are told apart; a file with more is not told."""


def all_of(answers: Iterable[Held]) -> Held:
    """Of several that all have to hold: one that is false makes the check false, and one undecided undecided."""
    undecided: Held | None = None
    for held in answers:
        if held.holds is False:
            return held
        if held.holds is None:
            undecided = undecided or held
    return undecided or Held(True)


# ---------------------------------------------------------------- paths


def plain_path(path: str) -> str | None:
    """The path as git writes it; None for one that goes up."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts or not parts or path.startswith("/") else "/".join(parts)


def may_mean(path: str, recorded: str) -> bool:
    """Whether a path that git records may be meant by another: its file in another form of Unicode, a file below it, or
    a file of that name in a folder that is not named."""
    plain = nfkc(recorded)
    return plain == path or plain.startswith(path + "/") or plain.endswith("/" + path)


def _under(path: str, recorded: str) -> bool:
    return recorded == path or recorded.startswith(path + "/")


def verify_only_in(check: Check, files: Iterable[tuple[str, bool | None]], *, whole: bool) -> Held:
    """Whether `only_in(identifier, [paths])` holds.

    Args:
        check: the check.
        files: of each file that was looked at its path and whether it has the identifier: the opposite of what
            `absent(identifier)` comes to in it, None where that is undecided.
        whole: these are all tracked files but those that surely do not have the identifier, and none of them was too
            large, denied, binary, a pointer or a submodule.

    Returns:
        True where each of the paths has a file with it and no other file has it; false, with the path, where another
        file has it. Undecided where that file may be one that the check means.
    """
    paths = [plain_path(str(path)) for path in _paths(check)]
    if None in paths:
        return INCOMPARABLE
    named = [path for path in paths if path is not None]
    having = set[str]()
    unknown = False
    for recorded, has in files:
        inside = [path for path in named if _under(path, recorded)]
        if has and not inside:
            return AMBIGUOUS if any(may_mean(path, recorded) for path in named) else DIFFERS._replace(path=recorded)
        unknown = unknown or has is None
        having.update(inside if has else ())
    if unknown or not whole:
        return NOT_WHOLE
    return Held(True) if having.issuperset(named) else NOT_FOUND


def _paths(check: Check) -> tuple[object, ...]:
    paths = check.value("paths")
    return paths if isinstance(paths, tuple) else ()


# ---------------------------------------------------------------- where something stands


class Standing(NamedTuple):
    """Where a text, name or file stands in the files of a scope at one time.

    Attributes:
        counts: for each file in which it stands, how often.
        whole: the whole scope was searched: every tracked text file of it, and none of them was too large, denied,
            binary, a pointer, a submodule or in an unknown encoding, or may hold it in another form. Only then a file
            that `counts` does not have is one in which it does not stand.
        defined: of each definition of that name `path:Owner.name`, as often as it is defined, or the path where it is
            that of a file; None where not every file of the scope that has the word was read by its syntax.
    """

    counts: Mapping[str, int] = {}
    whole: bool = False
    defined: tuple[str, ...] | None = None


def standing_of(quote: str, sources: Iterable[Source], *, whole: bool) -> Standing:
    """Where a text stands in the files of a scope.

    Args:
        quote: of a check, as `parse_check` gives it.
        sources: the files of the scope; those that surely hold no part of it may be left out.
        whole: no other file of the scope may hold it.

    Returns:
        The counts by path, without definitions; not whole where a file is not, or may hold the text in another form.
    """
    counts: dict[str, int] = {}
    for source in sources:
        text = flat(source.text)
        places = find_quote(quote, text, most=_MOST)
        if places:
            counts[source.path] = len(places)
        elif places is None or looks_like(inner(quote), text):
            whole = False
        whole = whole and source.whole and len(places or ()) < _MOST
    return Standing(counts, whole)


def came(before: Standing | None, after: Standing | None) -> Held:
    """Whether a text came into a scope: it stands nowhere in it before, and in a file of it after.

    For a text that went, the two are given the other way round.

    Returns:
        False where it stands in the scope, and no more often than before: at most it moved. Undecided where it stood
        there already and stands there more often, and where it never stands there.
    """
    if before is None or after is None:
        return NOT_WHOLE
    if after.counts and before.whole and not before.counts:
        return Held(True, path=next(iter(after.counts)) if len(after.counts) == 1 else None)
    if not (before.whole and after.whole):
        return NOT_WHOLE
    if not before.counts and not after.counts:
        return NOT_FOUND
    return AMBIGUOUS if sum(after.counts.values()) > sum(before.counts.values()) else DIFFERS


# ---------------------------------------------------------------- since a commit


class SinceFacts(NamedTuple):
    """What changed between a commit or tree and what is looked at.

    Attributes:
        is_ancestor: what is looked at came from there: the commit is an ancestor of it, or the tree was recorded in
            this work tree. None where it cannot be told.
        before: for each text that the check names, where it stands at `since`, in the scope of the check: its `path`,
            or every file. What was not looked at is left out.
        after: the same in what is looked at.
        changed: the paths that differ, both names of a renamed file; None where they were not all read.
        untracked: the files that are neither tracked nor ignored; empty where a commit is looked at, None where they
            were not looked for.
        there: the path of `unchanged` is in what is looked at; None where that was not looked at.
    """

    is_ancestor: bool | None = None
    before: Mapping[str, Standing] = {}
    after: Mapping[str, Standing] = {}
    changed: frozenset[str] | None = None
    untracked: frozenset[str] | None = None
    there: bool | None = None


def verify_since(check: Check, facts: SinceFacts | None) -> Held:
    """Whether `added`, `deleted`, `renamed`, `touched` or `unchanged` holds.

    A definition, text or file was added where it is there now and was nowhere in the scope at `since`. That it is
    gone, and that no other file was touched, needs that no untracked file is left that may have it.

    Args:
        check: one of these.
        facts: what was seen; None where `since` names no commit or tree, or several.

    Returns:
        What it comes to, `not` left aside. Undecided where `since` is no ancestor of what is looked at.
    """
    if facts is None:
        return NOT_FOUND
    return _SINCE_VERIFIERS[check.name](check, facts) if facts.is_ancestor else INCOMPARABLE


def _added(check: Check, facts: SinceFacts) -> Held:
    what = check.text("what")
    return _appeared(facts.before.get(what), facts.after.get(what))


def _deleted(check: Check, facts: SinceFacts) -> Held:
    return _went(check.text("what"), facts, scoped=check.path is not None)


def _went(what: str, facts: SinceFacts, *, scoped: bool) -> Held:
    held = _appeared(facts.after.get(what), facts.before.get(what))
    return NOT_WHOLE if held.holds and not scoped and facts.untracked != frozenset() else held


def _appeared(before: Standing | None, after: Standing | None) -> Held:
    """Whether a definition, text or file came. A name may stay in a comment while what it names goes: where the
    definitions are known they decide, and a text alone never refutes while it stands on both sides."""
    if before is None or after is None:
        return NOT_WHOLE
    if before.defined is not None and after.defined is not None and (before.defined or after.defined):
        if after.defined and not before.defined:
            path, _, name = after.defined[0].rpartition(":")
            return Held(True, path=(path or name) if len(after.defined) == 1 else None)
        return AMBIGUOUS if Counter(after.defined) - Counter(before.defined) else DIFFERS
    held = came(before, after)
    return AMBIGUOUS if held.holds is False and after.counts else held


def _renamed(check: Check, facts: SinceFacts) -> Held:
    new = check.text("new")
    return all_of(
        (_went(check.text("old"), facts, scoped=False), _appeared(facts.before.get(new), facts.after.get(new)))
    )


def _touched(check: Check, facts: SinceFacts) -> Held:
    paths = [plain_path(str(path)) for path in _paths(check)]
    if None in paths:
        return INCOMPARABLE
    if facts.changed is None:
        return NOT_WHOLE
    named = [path for path in paths if path is not None]
    outside = sorted(one for one in facts.changed if not any(_under(path, one) for path in named))
    if outside:
        unclear = any(may_mean(path, recorded) for path in named for recorded in outside)
        return AMBIGUOUS if unclear else DIFFERS._replace(path=outside[0])
    if facts.untracked != frozenset():
        return NOT_WHOLE
    still = next((path for path in named if not any(_under(path, one) for one in facts.changed)), None)
    return Held(True) if still is None else DIFFERS._replace(path=still)


def _unchanged(check: Check, facts: SinceFacts) -> Held:
    path = plain_path(check.text("path"))
    if path is None:
        return INCOMPARABLE
    if facts.changed is None or facts.untracked is None or facts.there is None:
        return NOT_WHOLE
    changed = next((recorded for recorded in sorted(facts.changed) if _under(path, recorded)), None)
    if changed is not None:
        return DIFFERS._replace(path=changed)
    if not facts.there:
        return _PATH_MISSING
    return NOT_WHOLE if any(_under(path, one) for one in facts.untracked) else Held(True, path=path)


_SINCE_VERIFIERS: Final[Mapping[str, Callable[[Check, SinceFacts], Held]]] = {
    "added": _added,
    "deleted": _deleted,
    "renamed": _renamed,
    "touched": _touched,
    "unchanged": _unchanged,
}
