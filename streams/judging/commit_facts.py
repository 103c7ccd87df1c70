"""The checks on git's records of one commit: `commit`, `changed`, `introduced`, `removed` (docs/checks.md).

They are decided on what an observer read of the commit; what it did not read is None, and leaves a check undecided. A
check is false only where the record is exact: a part of a name, of a subject line or of a directory is neither. Nothing
is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Check
from .moments import SECOND
from .named_times import Stretch, compare_times, read_named_time
from .results import Held
from .text_checks import AMBIGUOUS, NOT_FOUND, NOT_WHOLE, TOO_LARGE, decided, find_quote, flat

Pieces = Mapping[str, Sequence[str] | None]
"""Runs of lines that a commit added or removed, by path, each run one text; None where a file's are not known."""
_INCOMPARABLE: Final = Held(None, "incomparable")
_DIFFERS: Final = Held(False, "differs")


class CommitFacts(NamedTuple):
    """What git records of one commit.

    Attributes:
        hash: its whole name.
        author: the author's name.
        email: the author's e-mail address, without brackets.
        authored: the author's date in nanoseconds since 1970, and the offset from UTC there in seconds.
        committed: the same of the committer.
        message: the whole message; its first line is the subject.
        changed: the paths that it changed, both names of a file that it renamed; None where they were not all read.
        added: the runs of lines that it added, of a renamed file under both names; None where they were not all read.
        removed: those that it removed.
    """

    hash: str
    author: str = ""
    email: str = ""
    authored: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None
    message: str = ""
    changed: tuple[str, ...] | None = None
    added: Pieces | None = None
    removed: Pieces | None = None


def verify_commit(check: Check, facts: CommitFacts | None) -> Held:
    """Whether `commit`, `changed`, `introduced` or `removed` holds.

    A quote is introduced where it stands in lines that the commit added and in none that it removed: what was only
    moved or indented anew was there before. Without a path no file at all may have lost it. What only the lines around
    deleted ones make up was not introduced: a commit introduces lines.

    Args:
        check: one of these.
        facts: of the commit that its hash names; None where there is none, or several.

    Returns:
        What it comes to, with the commit; undecided where the hash is no hash of this commit in 7 digits or more.
    """
    named = check.text("hash" if check.name == "commit" else "commit").lower()
    if facts is None or _HASH.fullmatch(named) is None or not facts.hash.lower().startswith(named):
        return NOT_FOUND
    return _COMMIT_VERIFIERS[check.name](check, facts)._replace(commit=facts.hash)


_HASH: Final = re.compile(r"[0-9a-f]{7,64}")


def _commit(check: Check, facts: CommitFacts) -> Held:
    answers: list[Held] = []
    if author := check.text("author"):
        answers.append(_author(flat(author), facts))
    if date := check.text("date"):
        answers.append(_date(date, facts))
    if subject := check.text("subject"):
        answers.append(_subject(flat(subject), facts))
    return all_of(answers)


def all_of(answers: Iterable[Held]) -> Held:
    """Of several that all have to hold: one that is false makes the check false, and one undecided undecided."""
    undecided: Held | None = None
    for held in answers:
        if held.holds is False:
            return held
        if held.holds is None:
            undecided = undecided or held
    return undecided or Held(True)


def _author(named: str, facts: CommitFacts) -> Held:
    """Name, e-mail address or `Name <address>`, whole, in any letter case; a part of them is ambiguous."""
    name, email = flat(facts.author), flat(facts.email)
    if not name and not email:
        return NOT_WHOLE
    folded = named.casefold()
    whole = f"{name} <{email}>".casefold()
    if folded in (name.casefold(), email.casefold(), f"<{email}>".casefold(), whole):
        return Held(True)
    words, recorded = set(_WORDS.findall(folded)), set(_WORDS.findall(whole))
    given = set(_WORDS.findall(name.casefold()))
    if folded in whole or words <= recorded or (given and given <= words):
        return AMBIGUOUS
    # Who is named in a trailer (`Co-authored-by`) has had a part in it.
    return AMBIGUOUS if folded in flat(facts.message).casefold() else _DIFFERS


_WORDS: Final = re.compile(r"[^\W_]+")


def _date(named: str, facts: CommitFacts) -> Held:
    """The author's date, in UTC or where the author was; the committer's alone makes it ambiguous."""
    stretch = read_named_time(named)
    if stretch is None:
        return _INCOMPARABLE
    if facts.authored is None:
        return NOT_WHOLE
    answer = compare_times("=", stretch, _second(*facts.authored).readings(stretch))
    if answer is not False or facts.committed is None:
        return decided(answer)
    committed = compare_times("=", stretch, _second(*facts.committed).readings(stretch))
    return _DIFFERS if committed is False else AMBIGUOUS


def _second(time: int, offset: int) -> Stretch:
    """The stretch that git's dates tell: a second, wherever it was."""
    return Stretch(time, time + SECOND, offset * SECOND)


def _subject(named: str, facts: CommitFacts) -> Held:
    """The first line, or the first paragraph as git joins it, whole; a part of it is ambiguous."""
    paragraph = facts.message.lstrip("\n").partition("\n\n")[0]
    line, joined = flat(paragraph.partition("\n")[0]), flat(paragraph)
    if named in (line, joined):
        return Held(True)
    said, recorded = named.casefold(), joined.casefold()
    return _DIFFERS if find_quote(said, recorded) == find_quote(line.casefold(), said) == [] else AMBIGUOUS


def _changed(check: Check, facts: CommitFacts) -> Held:
    path = _plain_path(check.text("path"))
    if facts.changed is None:
        return NOT_WHOLE
    if path is None:
        return _INCOMPARABLE
    if path in facts.changed:
        return Held(True, path=path)
    return AMBIGUOUS if any(map(_may_mean(path), facts.changed)) else _DIFFERS


def _plain_path(path: str) -> str | None:
    """The path as git writes it; None for one that goes up."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts or not parts or path.startswith("/") else "/".join(parts)


def _may_mean(path: str) -> Callable[[str], bool]:
    """Whether a path that git records may be meant: its file in another form of Unicode, or a file below it."""
    below = path + "/"

    def may(recorded: str) -> bool:
        plain = nfkc(recorded)
        return plain == path or plain.startswith(below)

    return may


# ---------------------------------------------------------------- lines that a commit added or removed


def _introduced(check: Check, facts: CommitFacts) -> Held:
    return _came(check, facts.added, facts.removed)


def _removed(check: Check, facts: CommitFacts) -> Held:
    return _came(check, facts.removed, facts.added)


class _Standing(NamedTuple):
    """Where a quote stands in the runs of lines of a commit.

    Attributes:
        places: the paths, in order.
        undecided: why it may stand elsewhere as well, or partly in lines that the commit left alone; None where it
            does not.
    """

    places: list[str]
    undecided: Held | None


def _came(check: Check, into: Pieces | None, out_of: Pieces | None) -> Held:
    """Whether the quote stands in the lines of the one side and in none of the other."""
    if into is None or out_of is None:
        return NOT_WHOLE
    only = None
    if named := check.text("path"):
        only = _plain_path(named)
        if only is None:
            return _INCOMPARABLE
        if only not in into and only not in out_of and any(map(_may_mean(only), (*into, *out_of))):
            return AMBIGUOUS
    quote = flat(check.text("quote"))
    here, there = _standing(quote, into, only), _standing(quote, out_of, only)
    if here.places and not there.places:
        return there.undecided or Held(True, path=here.places[0] if len(here.places) == 1 else None)
    if any(path not in there.places for path in here.places):
        return AMBIGUOUS  # it came into one file and went from another
    return here.undecided or _DIFFERS


def _standing(quote: str, pieces: Pieces, only: str | None) -> _Standing:
    words = quote.split(" ")
    places: list[str] = []
    undecided: Held | None = None
    for path, runs in pieces.items():
        if only is not None and path != only:
            continue
        if runs is None:
            undecided = undecided or NOT_WHOLE
            continue
        for run in map(flat, runs):
            found = find_quote(quote, run)
            if found:
                places.append(path)
                break
            if found is None:
                undecided = undecided or TOO_LARGE
            elif _may_go_on(words, run):
                undecided = undecided or NOT_FOUND
    return _Standing(places, undecided)


def _may_go_on(words: Sequence[str], run: str) -> bool:
    """Whether a quote of several words may stand partly in a run of lines, and partly in the lines around it."""
    if len(words) == 1 or not run:
        return False
    first, last, inner = run.split(" ", 1)[0], run.rsplit(" ", 1)[-1], words[1:-1]
    return first in inner or last in inner or last.endswith(words[0]) or first.startswith(words[-1])


_COMMIT_VERIFIERS: Final[Mapping[str, Callable[[Check, CommitFacts], Held]]] = {
    "commit": _commit,
    "changed": _changed,
    "introduced": _introduced,
    "removed": _removed,
}
