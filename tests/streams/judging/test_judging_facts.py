"""Checks on facts: trees, commits, times of files, peers, subscribers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.facts import (
    CommitFacts,
    PeerFacts,
    verify_commit,
    verify_last_changed,
    verify_modified,
    verify_peer,
    verify_subscribers,
    verify_tree,
)
from sluice.streams.judging.moments import SECOND
from sluice.streams.judging.results import Held

HASH = "4f2a91c0" + "d" * 32
DIFFERS = Held(False, "differs")


def read(text: str) -> Check:
    """One check that is well formed."""
    check = parse_check(text)
    assert isinstance(check, Check), check
    return check


def ns(text: str) -> int:
    """Nanoseconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize(
    ("check", "tracked", "holds"),
    [("exists", True, True), ("exists", False, False), ("missing", True, False), ("missing", False, True)],
)
def test_a_path_is_in_the_tree_or_it_is_not(check: str, tracked: bool, holds: bool):
    """Both are exact, and each is the other's opposite."""
    held = verify_tree(read(f"{check}(a.txt)"), tracked)
    assert held == (Held(True) if holds else DIFFERS)


def test_a_path_that_may_not_be_looked_at_is_undecided():
    """Neither there nor missing: an untracked file is no evidence of either."""
    assert {verify_tree(read(f"{name}(a.txt)"), None) for name in ("exists", "missing")} == {
        Held(None, "other-substrate")
    }


# ---------------------------------------------------------------- commit

FACTS = CommitFacts(
    hash=HASH,
    author="Jane Q. Doe",
    email="jane@example.org",
    authored=(ns("2026-05-26T03:30:00"), -5 * 3600),
    committed=(ns("2026-06-01T12:00:00"), 0),
    message="Fix  the retry\tlimit (#12)\n\nIt was 41.\nCo-authored-by: Max Power <max@example.org>\n",
    changed=("codecs/records.py", "docs/index.md", "cafe\u0301.txt"),
    added={"codecs/records.py": ["retry limit 42\nsecond line", "alone"], "docs/index.md": ["alone here"]},
    removed={"codecs/records.py": ["retry limit 41"], "docs/index.md": []},
)


def commit(check: str, facts: CommitFacts | None = FACTS) -> bool | None:
    """Whether a check on a commit holds; where it is decided, the commit is told."""
    held = verify_commit(read(check), facts)
    assert held.holds is None or held.commit == HASH
    assert held.lines is None
    return held.holds


def test_a_commit_is_named_by_seven_digits_or_more():
    """In any letter case; less, another hash, a name or none at all leaves everything undecided."""
    assert verify_commit(read("commit(4f2a91c)"), FACTS) == Held(True, commit=HASH)
    assert commit(f"commit({HASH})") is True
    assert commit("commit(4F2A91C0)") is True
    for other in ("4f2a91", "4f2a91d", "HEAD", "main", "2f2a91c", HASH + "0", "v1.2.3"):
        assert verify_commit(read(f"commit({other})"), FACTS) == Held(None, "not-found")
        assert verify_commit(read(f"changed(docs/index.md, {other})"), FACTS) == Held(None, "not-found")
    assert commit("commit(4f2a91c)", None) is None


@pytest.mark.parametrize(
    "author",
    [
        "Jane Q. Doe",
        "jane q. doe",
        "JANE@example.ORG",
        "<jane@example.org>",
        "Jane Q. Doe <jane@example.org>",
        "Jane  Q.\tDoe",
    ],
)
def test_an_author_is_reported_by_name_address_or_both(author: str):
    """Whole, in any letter case, white space aside."""
    assert verify_commit(Check("commit", (HASH,), (("author", author),)), FACTS).holds is True


@pytest.mark.parametrize(
    "author", ["Jane", "Doe", "Jane Doe", "jane", "example.org", "Dr. Jane Q. Doe PhD", "Max Power"]
)
def test_a_part_of_an_author_is_neither_the_author_nor_another(author: str):
    """«not authored by Jane Doe» must not be borne out by a middle initial, nor by a co-author's trailer."""
    assert verify_commit(Check("commit", (HASH,), (("author", author),)), FACTS).holds is None


def test_another_author_is_exactly_another():
    """And where git records none, nothing is told."""
    assert commit('commit(4f2a91c, author="Jack Doe")') is False
    assert commit('commit(4f2a91c, author="jack@example.org")') is False
    assert commit("commit(4f2a91c, author=x)", FACTS._replace(author="", email="")) is None


@pytest.mark.parametrize(
    ("date", "holds"),
    [
        ("2026-05-26", True),
        ("2026-05-25", True),
        ("2026-05", True),
        ("2026", True),
        ("May 25, 2026", True),
        ("2026-05-25T22:30", True),
        ("2026-05-26T03:30Z", True),
        ("2026-05-25T22:30:00-05:00", True),
        ("2026-05-25T22:30Z", False),
        ("2026-05-27", False),
        ("2025", False),
        ("2026-05-26T03:31", False),
        ("2026-05-26T03:30:00.5", None),
        ("2026-06-01", None),
        ("2026-06", None),
        ("yesterday", None),
        ("2026-02-30", None),
        ("before 2026-05-25", None),
    ],
)
def test_a_commit_is_dated_where_its_author_was_or_in_utc(date: str, holds: bool | None):
    """At the precision named; the committer's date alone is neither the commit's date nor another."""
    assert commit(f'commit(4f2a91c, date="{date}")') is holds


def test_a_commit_without_a_readable_date_has_none_to_compare():
    """An object may say anything in its date's place."""
    assert commit("commit(4f2a91c, date=2026)", FACTS._replace(authored=None)) is None
    assert commit("commit(4f2a91c, date=2027)", FACTS._replace(committed=None)) is False


def test_a_subject_is_the_whole_first_line():
    """White space aside; a part of it is ambiguous, another one is exactly another."""
    assert commit('commit(4f2a91c, subject="Fix the retry limit (#12)")') is True
    assert commit('commit(4f2a91c, subject="Fix the retry limit")') is None
    assert commit('commit(4f2a91c, subject="fix the retry limit (#12)")') is None
    assert commit('commit(4f2a91c, subject="Fix the retry limit (#12) now")') is None
    assert commit('commit(4f2a91c, subject="It was 41.")') is False
    folded = FACTS._replace(message="\n\nA long\nsubject\n\nbody")
    assert commit('commit(4f2a91c, subject="A long subject")', folded) is True
    assert commit('commit(4f2a91c, subject="A long")', folded) is True
    assert commit('commit(4f2a91c, subject="x")', FACTS._replace(message="")) is False


def test_all_that_a_check_says_of_a_commit_has_to_hold():
    """One that is false makes it false; one that is undecided leaves it undecided, in any order."""
    assert commit('commit(4f2a91c, author="Jane Q. Doe", date=2026-05)') is True
    assert commit("commit(4f2a91c, author=Jane, date=2025)") is False
    assert commit('commit(4f2a91c, author="Jane Q. Doe", date=2026-06, subject=x)') is False
    assert commit('commit(4f2a91c, author=Jane, date=2026, subject="Fix the retry limit (#12)")') is None


# ---------------------------------------------------------------- changed


def test_a_commit_changed_the_paths_that_it_changed():
    """The path is told; any other is exactly not among them."""
    assert verify_commit(read("changed(./codecs//records.py, 4f2a91c)"), FACTS) == Held(
        True, path="codecs/records.py", commit=HASH
    )
    assert commit("changed(README.md, 4f2a91c)") is False
    assert commit("changed(records.py, 4f2a91c)") is False


def test_a_path_that_may_mean_a_changed_one_is_undecided():
    """A directory, another form of Unicode, a path that goes up."""
    assert commit("changed(codecs, 4f2a91c)") is None
    assert commit('changed("café.txt", 4f2a91c)') is None
    assert commit("changed(docs/../docs/index.md, 4f2a91c)") is None
    assert commit("changed(/etc/passwd, 4f2a91c)") is None
    assert commit("changed(README.md, 4f2a91c)", FACTS._replace(changed=None)) is None


# ---------------------------------------------------------------- introduced, removed


def test_a_quote_is_introduced_where_it_was_added_and_not_removed():
    """The file is told where it is one; several files are no file."""
    held = verify_commit(read('introduced("retry limit 42", 4f2a91c)'), FACTS)
    assert held == Held(True, path="codecs/records.py", commit=HASH)
    assert verify_commit(read("introduced(alone, 4f2a91c)"), FACTS) == Held(True, commit=HASH)
    assert commit("introduced(alone, 4f2a91c, path=docs/index.md)") is True
    assert commit('introduced("42 second", 4f2a91c)') is True


def test_what_a_commit_removed_it_did_not_introduce():
    """And the other way round; the ends of a quote cut no number."""
    assert commit('introduced("retry limit 41", 4f2a91c)') is False
    assert commit('removed("retry limit 41", 4f2a91c)') is True
    assert commit('removed("retry limit 42", 4f2a91c)') is False
    assert commit("introduced(4, 4f2a91c)") is False
    assert commit("introduced(elsewhere, 4f2a91c)") is False
    assert commit('introduced("retry limit 42", 4f2a91c, path=docs/index.md)') is False
    assert commit('introduced("retry limit 42", 4f2a91c, path=README.md)') is False


def test_a_line_that_was_moved_or_indented_anew_was_not_introduced():
    """It was there before: that is exact within one file."""
    facts = FACTS._replace(added={"a": ["    x = 1"]}, removed={"a": ["x  =  1"]})
    assert commit('introduced("x = 1", 4f2a91c)', facts) is False
    assert commit('removed("x = 1", 4f2a91c)', facts) is False


def test_a_line_that_moved_from_one_file_to_another_is_introduced_in_that_one_alone():
    """Of the repository as a whole it is neither."""
    facts = FACTS._replace(added={"a": ["alpha"], "b": []}, removed={"a": [], "b": ["alpha"]})
    assert commit("introduced(alpha, 4f2a91c)", facts) is None
    assert commit("introduced(alpha, 4f2a91c, path=a)", facts) is True
    assert commit("introduced(alpha, 4f2a91c, path=b)", facts) is False
    assert commit("removed(alpha, 4f2a91c)", facts) is None
    assert commit("removed(alpha, 4f2a91c, path=b)", facts) is True
    both = FACTS._replace(added={"a": ["alpha"], "b": ["alpha"]}, removed={"b": ["alpha"]})
    assert commit("introduced(alpha, 4f2a91c)", both) is None


def test_a_quote_over_the_edge_of_what_was_changed_is_undecided():
    """Its other half may stand in a line that the commit left alone: it was there, or it came, and no one can tell."""
    facts = FACTS._replace(added={"a": ["new first\nthe retry"]}, removed={"a": ["gone"]})
    assert commit('introduced("retry limit 42", 4f2a91c)', facts) is None
    assert commit('introduced("call(retry limit 42", 4f2a91c)', facts) is False
    facts = FACTS._replace(added={"a": ["retry limit 42"]}, removed={"a": ["x, (retry"]})
    assert commit('introduced("(retry limit 42", 4f2a91c)', facts._replace(added={"a": ["(retry limit 42"]})) is None
    facts = FACTS._replace(added={"a": ["limit"]}, removed={})
    assert commit('introduced("retry limit 42", 4f2a91c)', facts) is None


def test_runs_of_lines_apart_do_not_stand_together():
    """Between them the file has lines that the commit left alone."""
    facts = FACTS._replace(added={"a": ["alpha", "beta"]}, removed={})
    assert commit('introduced("alpha beta", 4f2a91c)', facts) is not True


def test_a_file_whose_lines_are_not_known_leaves_the_rest_undecided():
    """A binary file may hold anything; what is known to be introduced is so all the same, if nothing else lost it."""
    facts = FACTS._replace(added={"a": ["alpha"], "b.png": None}, removed={"a": []})
    assert commit("introduced(alpha, 4f2a91c)", facts) is True
    assert commit("introduced(beta, 4f2a91c)", facts) is None
    assert commit("introduced(alpha, 4f2a91c)", facts._replace(removed={"b.png": None})) is None
    assert commit("introduced(beta, 4f2a91c, path=a)", facts) is False
    for part in ("added", "removed"):
        assert commit("introduced(alpha, 4f2a91c)", facts._replace(**{part: None})) is None


def test_lines_made_to_match_everywhere_leave_a_quote_undecided():
    """A bound is no verdict."""
    facts = FACTS._replace(added={"a": ["ab " * 300_000]}, removed={})
    assert verify_commit(read("introduced(a, 4f2a91c)"), facts) == Held(None, "too-large", commit=HASH)


def test_a_path_in_another_form_is_undecided_for_lines_as_well():
    """A directory is no file, and a form of Unicode is no other path."""
    facts = FACTS._replace(added={"docs/e\u0301": ["alpha"]}, removed={})
    assert commit("introduced(alpha, 4f2a91c, path=docs)", facts) is None
    assert commit('introduced(alpha, 4f2a91c, path="docs/é")', facts) is None
    assert commit("introduced(alpha, 4f2a91c, path=../docs)", facts) is None
    assert commit("introduced(alpha, 4f2a91c, path=other)", facts) is False


# ---------------------------------------------------------------- times of files


@pytest.mark.parametrize(
    ("op", "time", "holds"),
    [
        ("=", "2026-05-26", True),
        ("=", "2026-05", True),
        ("=", "2026-05-25", False),
        ("!=", "2026-05-25", True),
        ("<", "2026-05-27", True),
        ("<", "2026-05-26", False),
        ("<=", "2026-05-26", True),
        (">", "2026-05-26", False),
        (">=", "2026-05-26", True),
        (">", "2026-05-25", True),
        ("<", "2027", True),
        (">=", "2027", False),
        ("<", "tomorrow", None),
        ("<", "9999-12", None),
    ],
)
def test_the_time_of_a_file_is_held_against_the_stretch_that_is_named(op: str, time: str, holds: bool | None):
    """Before is before all of it, after is after all of it; what names no time decides nothing."""
    at = ns("2026-05-26T12:00:00")
    modified = verify_modified(read(f"modified(a, {op}, {time})"), at)
    changed = verify_last_changed(read(f"last_changed(a, {op}, {time})"), at, HASH)
    assert modified.holds is holds
    assert changed == modified._replace(commit=HASH)
    assert modified.reason == {True: None, False: "differs", None: "incomparable"}[holds]


def test_a_file_whose_time_is_not_known_is_undecided():
    """No commit touched it, or nobody could look."""
    assert verify_modified(read("modified(a, <, 2026)"), None) == Held(None, "not-found")
    assert verify_last_changed(read("last_changed(a, <, 2026)"), None, None) == Held(None, "not-found")


def test_a_modification_time_is_an_instant_and_a_commit_has_a_second():
    """Nanoseconds are compared where the file system tells them; git tells no part of a second."""
    at = ns("2026-05-26T12:00:00") + 500_000_000
    assert verify_modified(read("modified(a, =, 2026-05-26T12:00:00.5)"), at).holds is True
    assert verify_modified(read("modified(a, =, 2026-05-26T12:00:00.4)"), at).holds is False
    whole = ns("2026-05-26T12:00:00")
    assert verify_last_changed(read("last_changed(a, =, 2026-05-26T12:00:00.0)"), whole, HASH).holds is None


def test_the_day_of_a_commit_may_be_the_day_where_it_was_made():
    """An order that depends on the zone is undecided."""
    late = ns("2026-05-26T03:30:00")
    for day in ("2026-05-25", "2026-05-26"):
        assert verify_last_changed(read(f"last_changed(a, =, {day})"), late, HASH, -5 * 3600).holds is True
    assert verify_last_changed(read("last_changed(a, >, 2026-05-25)"), late, HASH, -5 * 3600).holds is None
    assert verify_last_changed(read("last_changed(a, >, 2026-05-24)"), late, HASH, -5 * 3600).holds is True


# ---------------------------------------------------------------- peers

PEER = PeerFacts(pid=4242, uid=998, gid=997)


def peer(named: str, facts: PeerFacts | None = PEER) -> Held:
    """What a check on a peer comes to; the host knows two users."""
    return verify_peer(read(f"peer({named})"), facts, {"kafka": 998, "root": 0}.get)


def test_a_peer_is_what_the_kernel_says():
    """All that the check names has to hold, and one that differs is exactly false."""
    assert peer("uid=998") == Held(True)
    assert peer("uid=998, gid=997, pid=4242, user=kafka") == Held(True)
    for wrong in ("uid=0", "gid=998", "pid=1", "user=root", "uid=998, pid=1", "uid=998.5", "uid=-1"):
        assert peer(wrong) == DIFFERS


def test_who_is_not_known_is_nobody():
    """A user whom this host does not know may have that uid elsewhere; no peer at all decides nothing."""
    assert peer("user=postgres") == Held(None, "not-found")
    assert peer("user=998") == Held(None, "not-found")
    assert peer("uid=0, user=postgres") == DIFFERS
    assert peer("uid=998", None) == Held(None, "not-found")


def test_what_a_namespace_hides_is_undecided():
    """A pid of 0, and the uid that stands for all that have none here."""
    assert peer("pid=4242", PEER._replace(pid=0)) == Held(None, "not-whole")
    assert peer("pid=0", PEER._replace(pid=0)) == Held(None, "not-whole")
    for field in ("uid", "gid"):
        for hidden in (65534, -1, 2**32 - 1):
            assert peer(f"{field}=998", PEER._replace(**{field: hidden})) == Held(None, "not-whole")
    assert peer("user=root", PEER._replace(uid=65534)) == Held(None, "not-whole")
    assert peer("uid=4294967294", PEER._replace(uid=-2)) == Held(True)


@given(
    st.builds(PeerFacts, st.integers(-1, 70_000), st.integers(-2, 70_000), st.integers(-2, 70_000)),
    st.integers(-2, 70_000),
    st.sampled_from(["uid", "gid", "pid"]),
)
def test_what_is_said_of_a_peer_never_holds_what_it_is(facts: PeerFacts, named: int, field: str):
    """Its values are secrets: a verdict has no lines, no path, no commit."""
    held = peer(f"{field}={named}", facts)
    assert held == Held(held.holds, held.reason)
    assert held.reason in (None, "differs", "not-whole")


# ---------------------------------------------------------------- subscribers


def test_the_subscribers_of_a_channel_are_counted():
    """By the one check that speaks of them; a wrong number is exactly false."""
    assert verify_subscribers(read("count(subscribers, =, 5)"), 5) == Held(True)
    assert verify_subscribers(read("count(subscribers, >, 5)"), 5) == DIFFERS
    assert verify_subscribers(read("count(subscribers, <, 5.5)"), 5) == Held(True)
    assert verify_subscribers(read("count(subscribers, =, 5)"), None) == Held(None, "not-found")


@pytest.mark.parametrize(
    "check",
    [
        "count(errors, =, 5)",
        "count(subscribers, =, 5, path=a.py)",
        "count(subscribers, =, 5, in=f)",
        "contains(subscribers)",
    ],
)
def test_any_other_check_is_not_for_a_channel_to_decide(check: str):
    """A file that is named is another place."""
    assert verify_subscribers(read(check), 5) == Held(None, "other-substrate")


# ---------------------------------------------------------------- laws

RUNS = st.dictionaries(st.sampled_from(["a", "b"]), st.lists(st.text("ab \n", max_size=8), max_size=3))


@given(RUNS, RUNS, st.text("ab ", min_size=1, max_size=5).filter(str.strip), st.sampled_from(["", ", path=a"]))
def test_what_is_introduced_is_not_removed_and_removing_is_the_mirror(
    added: dict[str, list[str]], removed: dict[str, list[str]], quote: str, path: str
):
    """One commit cannot have done both, and turned round it has done the other."""
    facts = FACTS._replace(added=added, removed=removed)
    mirror = FACTS._replace(added=removed, removed=added)
    introduced, gone = (commit(f'{name}("{quote}", 4f2a91c{path})', facts) for name in ("introduced", "removed"))
    assert not (introduced and gone)
    assert gone is commit(f'introduced("{quote}", 4f2a91c{path})', mirror)
