"""The checks on git's records of one commit: `commit`, `changed`, `introduced`, `removed` (docs/checks.md).

They are decided on what an observer read of the commit and of the trees before and after it; what it did not read is
None, and leaves a check undecided. A check is false only where the record is exact: a part of a name, of a subject line
or of a path is neither. Nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from .checks import OPEN, Check
from .moments import SECOND
from .named_times import Stretch, compare_times, read_named_time
from .results import Held
from .scope_facts import DIFFERS, INCOMPARABLE, Standing, all_of, came, may_mean, plain_path
from .text_checks import AMBIGUOUS, NOT_FOUND, NOT_WHOLE, decided, find_quote, flat


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
        before: where the quote of `introduced` or `removed` stands in the tree of its first parent, in the scope of the
            check: its `path`, or every file. None where that was not looked at.
        after: the same of its own tree.
    """

    hash: str
    author: str = ""
    email: str = ""
    authored: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None
    message: str = ""
    changed: tuple[str, ...] | None = None
    before: Standing | None = None
    after: Standing | None = None


def verify_commit(check: Check, facts: CommitFacts | None) -> Held:
    """Whether `commit`, `changed`, `introduced` or `removed` holds.

    A quote is introduced where it stands in no file of the scope before and in one after, and removed the other way
    round: a line that only moved is neither.

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
    return AMBIGUOUS if folded in flat(facts.message).casefold() else DIFFERS


_WORDS: Final = re.compile(r"[^\W_]+")


def _date(named: str, facts: CommitFacts) -> Held:
    """The author's date, in UTC or where the author was; the committer's alone makes it ambiguous."""
    stretch = read_named_time(named)
    if stretch is None:
        return INCOMPARABLE
    if facts.authored is None:
        return NOT_WHOLE
    answer = compare_times("=", stretch, _second(*facts.authored).readings(stretch))
    if answer is not False or facts.committed is None:
        return decided(answer)
    committed = compare_times("=", stretch, _second(*facts.committed).readings(stretch))
    return DIFFERS if committed is False else AMBIGUOUS


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
    return DIFFERS if find_quote(said, recorded) == find_quote(line.casefold(), said) == [] else AMBIGUOUS


def _changed(check: Check, facts: CommitFacts) -> Held:
    path = plain_path(check.text("path"))
    if facts.changed is None:
        return NOT_WHOLE
    if path is None:
        return INCOMPARABLE
    if path in facts.changed:
        return Held(True, path=path)
    return AMBIGUOUS if any(may_mean(path, recorded) for recorded in facts.changed) else DIFFERS


def _introduced(check: Check, facts: CommitFacts) -> Held:
    return _closed(check, came(facts.before, facts.after))


def _removed(check: Check, facts: CommitFacts) -> Held:
    return _closed(check, came(facts.after, facts.before))


def _closed(check: Check, held: Held) -> Held:
    """A quote with `…` may mean this sign, and is never refuted."""
    return AMBIGUOUS if held.holds is False and OPEN in check.text("quote") else held


_COMMIT_VERIFIERS: Final[Mapping[str, Callable[[Check, CommitFacts], Held]]] = {
    "commit": _commit,
    "changed": _changed,
    "introduced": _introduced,
    "removed": _removed,
}
