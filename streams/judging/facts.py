"""The checks on facts that observers collect: trees, times of files, peers, subscribers, commits (docs/checks.md).

An observer says what it saw, and here is decided whether a check holds of it; what it did not see is None, and leaves
the check undecided. A `Held` about a peer says whether, never what. Commits are in `commit_facts.py`. Nothing is looked
at here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from .checks import Check, Value
from .commit_facts import CommitFacts, verify_commit
from .moments import SECOND
from .named_times import Stretch, compare_times, read_named_time
from .results import Held
from .scope_facts import SinceFacts, Standing, all_of, standing_of, verify_only_in, verify_since
from .text_checks import NOT_FOUND, NOT_WHOLE, decided, operator_of
from .values import compare

__all__ = [
    "CommitFacts",
    "PeerFacts",
    "SinceFacts",
    "Standing",
    "standing_of",
    "verify_commit",
    "verify_last_changed",
    "verify_modified",
    "verify_only_in",
    "verify_peer",
    "verify_since",
    "verify_subscribers",
    "verify_tree",
]

_ELSEWHERE: Final = Held(None, "other-substrate")


# ---------------------------------------------------------------- trees


def verify_tree(check: Check, tracked: bool | None) -> Held:
    """Whether `exists` or `missing` holds.

    Args:
        check: one of the two.
        tracked: the path is in the tree that was looked at; None where it is there untracked, or may not be looked at.
    """
    if tracked is None:
        return _ELSEWHERE
    return Held(True) if tracked is (check.name == "exists") else Held(False, "differs")


# ---------------------------------------------------------------- times of files


def verify_last_changed(check: Check, changed_at_ns: int | None, commit: str | None, offset_seconds: int = 0) -> Held:
    """Whether `last_changed(path, op, time)` holds.

    Args:
        check: the check.
        changed_at_ns: the date of the newest reachable commit that touched the path, in nanoseconds since 1970; None
            where there is none, or it was not found.
        commit: that commit.
        offset_seconds: how many seconds from UTC where it was made: a day named without a zone may be the day there.
    """
    if changed_at_ns is None:
        return NOT_FOUND
    return _time(check, Stretch(changed_at_ns, changed_at_ns + SECOND, offset_seconds * SECOND))._replace(commit=commit)


def verify_modified(check: Check, mtime_ns: int | None) -> Held:
    """Whether `modified(path, op, time)` holds.

    Args:
        check: the check.
        mtime_ns: the file's modification time in nanoseconds since 1970; None where it is not known.
    """
    return NOT_FOUND if mtime_ns is None else _time(check, Stretch(mtime_ns, mtime_ns + 1))


def _time(check: Check, time: Stretch) -> Held:
    named = read_named_time(check.text("time"))
    if named is None:
        return Held(None, "incomparable")
    return decided(compare_times(operator_of(check), named, time.readings(named)))


# ---------------------------------------------------------------- peers and subscribers


class PeerFacts(NamedTuple):
    """What the kernel says of a peer (SO_PEERCRED), as the observer's own namespaces show it."""

    pid: int
    uid: int
    gid: int


def verify_peer(check: Check, facts: PeerFacts | None, uid_of_name: Callable[[str], int | None]) -> Held:
    """Whether `peer(uid=, gid=, pid=, user=)` holds: all that it names.

    Args:
        check: the check.
        facts: of the peer; None where nobody was connected to.
        uid_of_name: the uid of a user of this host; None for one that it does not know.

    Returns:
        Whether it holds, and nothing of what the peer is. An id that a namespace hides is undecided, as is a user whom
        this host does not know.
    """
    if facts is None:
        return NOT_FOUND
    answers: list[Held] = []
    for field in ("uid", "gid", "pid"):
        named = check.value(field)
        if named is not None:
            answers.append(_id(field, named, getattr(facts, field)))
    if name := check.text("user"):
        uid = uid_of_name(name)
        answers.append(NOT_FOUND if uid is None else _id("uid", uid, facts.uid))
    return all_of(answers)


def _id(field: str, named: Value, actual: int) -> Held:
    actual %= 2**32  # what comes as a signed number is an unsigned one
    hidden = actual == 0 if field == "pid" else actual in _OVERFLOW
    return NOT_WHOLE if hidden else decided(compare("=", named, actual))


_OVERFLOW: Final = frozenset((65534, 2**32 - 1))
"""What Linux shows for a user or group that the observer's namespace does not have; one such stands for all of them."""


def verify_subscribers(check: Check, count: int | None) -> Held:
    """Whether `count(subscribers, op, number)` holds of a channel.

    Args:
        check: a check; any other than this one is not for the channel to decide.
        count: the subscribers that it reports; None where it reports none.
    """
    if check.name != "count" or check.text("pattern") != "subscribers" or check.named:
        return _ELSEWHERE
    if count is None:
        return NOT_FOUND
    return decided(compare(operator_of(check), check.value("number"), count))
