"""Checks on facts: trees, commits, times of files, peers, subscribers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.facts import (
    CommitFacts,
    PeerFacts,
    SinceFacts,
    Standing,
    standing_of,
    verify_commit,
    verify_last_changed,
    verify_modified,
    verify_only_in,
    verify_peer,
    verify_since,
    verify_subscribers,
    verify_tree,
)
from sluice.streams.judging.prose_literals import SECOND

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
    assert commit("changed(other/records.py, 4f2a91c)") is False


def test_a_path_that_may_mean_a_changed_one_is_undecided():
    """A directory, a file without its folder, another form of Unicode, a path that goes up."""
    assert commit("changed(records.py, 4f2a91c)") is None
    assert commit("changed(codecs, 4f2a91c)") is None
    assert commit('changed("café.txt", 4f2a91c)') is None
    assert commit("changed(docs/../docs/index.md, 4f2a91c)") is None
    assert commit("changed(/etc/passwd, 4f2a91c)") is None
    assert commit("changed(README.md, 4f2a91c)", FACTS._replace(changed=None)) is None


# ---------------------------------------------------------------- introduced, removed

NONE, ONE, TWO = Standing({}, True), Standing({"a": 1}, True), Standing({"a": 2}, True)
OTHER, CUT = Standing({"b": 1}, True), Standing({"a": 1}, False)


@pytest.mark.parametrize(
    ("before", "after", "introduced", "removed"),
    [
        (NONE, ONE, True, False),
        (ONE, NONE, False, True),
        (ONE, ONE, False, False),  # a line that moved, or another one that changed
        (ONE, TWO, None, False),
        (ONE, OTHER, False, False),  # it moved to another file
        (NONE, NONE, None, None),  # it may be written otherwise
        (NONE, CUT, True, None),
        (Standing({}, False), ONE, None, None),
        (CUT, NONE, None, True),
        (CUT, ONE, None, None),
        (None, ONE, None, None),
        (NONE, None, None, None),
    ],
)
def test_a_text_is_introduced_where_it_stood_nowhere_before(
    before: Standing | None, after: Standing | None, introduced: bool | None, removed: bool | None
):
    """And removed the other way round; what was not looked at refutes nothing."""
    facts = FACTS._replace(before=before, after=after)
    assert commit("introduced(x, 4f2a91c)", facts) is introduced
    assert commit("removed(x, 4f2a91c)", facts) is removed


def test_the_file_into_which_a_text_came_is_told_where_it_is_one():
    """Of several none is; a quote with an ellipsis may mean that sign, and is not refuted."""
    held = verify_commit(read("introduced(x, 4f2a91c)"), FACTS._replace(before=NONE, after=ONE))
    assert held == Held(True, path="a", commit=HASH)
    several = FACTS._replace(before=NONE, after=Standing({"a": 1, "b": 1}, True))
    assert verify_commit(read("introduced(x, 4f2a91c)"), several) == Held(True, commit=HASH)
    assert commit('introduced("x…", 4f2a91c)', FACTS._replace(before=ONE, after=ONE)) is None


@pytest.mark.parametrize(
    ("quote", "texts", "standing"),
    [
        ("x = 1", {"a": "x  =\n1; x = 1", "b": "x = 12"}, Standing({"a": 2}, False)),
        ("x", {"a": "x", "b": "y"}, Standing({"a": 1}, True)),
        ("x", {"a": "xy"}, Standing({}, False)),
        ("x…", {"a": "xy"}, Standing({"a": 1}, True)),
        ("x", {"a": "X"}, Standing({}, False)),
        ("x", {"a": "\\u0078"}, Standing({}, False)),
        ("x", {}, Standing({}, True)),
    ],
)
def test_a_text_that_may_stand_in_another_form_leaves_the_scope_not_whole(
    quote: str, texts: dict[str, str], standing: Standing
):
    """A part of a word, another letter case, an escape."""
    assert standing_of(quote, [Source(path, text) for path, text in texts.items()], whole=True) == standing


def test_a_file_that_was_cut_or_has_too_much_leaves_the_scope_not_whole():
    """A bound is no verdict."""
    assert standing_of("x", [Source("a", "y", whole=False)], whole=True) == Standing({}, False)
    assert standing_of("x", [], whole=False) == Standing({}, False)
    assert standing_of("a", [Source("a", "ab " * 300_000)], whole=True) == Standing({}, False)
    assert standing_of("x", [Source("a", "x " * 20_000)], whole=True) == Standing({"a": 10_000}, False)


# ---------------------------------------------------------------- a scope, and what changed in it


@pytest.mark.parametrize(
    ("paths", "files", "whole", "holds"),
    [
        ("[src]", {"src/a": True, "b": False}, True, True),
        ("[src]", {"src/a": True, "b": True}, False, False),
        ("[src]", {"src/a": True, "srcs": True}, True, False),
        ("[src]", {"src/a": True, "b": None}, True, None),
        ("[src]", {"src/a": True}, False, None),
        ("[src]", {"b": False}, True, None),
        ("[src, docs]", {"src/a": True}, True, None),
        ("[a.py]", {"src/a.py": True}, True, None),  # it may be the one that is meant
        ("[./src/]", {"src/a": True}, True, True),
        ("[../src]", {"src/a": True}, True, None),
    ],
)
def test_an_identifier_is_only_in_some_paths(
    paths: str, files: dict[str, bool | None], whole: bool, holds: bool | None
):
    """A file elsewhere that has it refutes; a scope that was not read whole proves nothing."""
    assert verify_only_in(read(f"only_in(x, {paths})"), files.items(), whole=whole).holds is holds


DEF, NO_DEF = Standing({"a": 2}, True, ("a:f",)), Standing({"a": 1}, True, ())
GONE = Standing({}, True, ())


@pytest.mark.parametrize(
    ("before", "after", "added", "deleted"),
    [
        (GONE, DEF, True, False),
        (DEF, GONE, False, True),
        (DEF, DEF, False, False),
        (DEF, NO_DEF, False, True),  # the name stays in a comment
        (NO_DEF, DEF, True, False),
        (DEF, Standing({"b": 1}, True, ("b:f",)), None, None),  # it moved
        (DEF, Standing({"a": 3}, True, ("a:f", "a:C.f")), None, False),
        (NONE, ONE, True, False),
        (ONE, ONE, None, None),  # without definitions a name that stays says nothing
        (ONE, NONE, False, True),
        (NONE, NONE, None, None),
        (Standing({}, True, ("f.py",)), GONE, False, True),  # a file
        (DEF, Standing({}, False), None, None),
        (DEF, None, None, None),
    ],
)
def test_what_is_there_now_and_was_nowhere_before_was_added(
    before: Standing, after: Standing | None, added: bool | None, deleted: bool | None
):
    """And deleted the other way round; a rename is both."""
    there = {} if after is None else {"f": after}
    facts = SinceFacts(True, {"f": before, "g": GONE}, there | {"g": DEF}, untracked=frozenset())
    assert verify_since(read("added(f, since=4f2a91c)"), facts).holds is added
    assert verify_since(read("deleted(f, since=4f2a91c)"), facts).holds is deleted
    assert verify_since(read("renamed(f, g, since=4f2a91c)"), facts).holds is deleted
    untracked = facts._replace(untracked=frozenset(["new"]))
    assert verify_since(read("deleted(f)"), untracked).holds is (None if deleted else deleted)
    assert verify_since(read("deleted(f, path=a)"), untracked).holds is deleted


def test_nothing_follows_from_a_commit_that_is_no_ancestor():
    """Nor from one that is not there."""
    facts = SinceFacts(None, {"f": GONE}, {"f": DEF}, frozenset(["a"]), frozenset(), True)
    for check in ("added(f)", "deleted(f)", "renamed(f, f)", "touched([a])", "unchanged(a)"):
        assert verify_since(read(check), facts) == Held(None, "incomparable")
        assert verify_since(read(check), facts._replace(is_ancestor=False)).holds is None
        assert verify_since(read(check), None) == Held(None, "not-found")


@pytest.mark.parametrize(
    ("check", "changed", "untracked", "holds"),
    [
        ("touched([a, src])", {"a", "src/b"}, set(), True),
        ("touched([a])", {"a", "b"}, {"new"}, False),
        ("touched([a, b])", {"a"}, set(), False),
        ("touched([a])", {"a"}, {"new"}, None),
        ("touched([a])", {"a"}, None, None),
        ("touched([a])", None, set(), None),
        ("touched([a.py])", {"src/a.py"}, set(), None),
        ("touched([../a])", {"a"}, set(), None),
        ("unchanged(a)", {"b"}, {"new"}, True),
        ("unchanged(src)", {"src/b"}, set(), False),
        ("unchanged(src)", {"b"}, {"src/new"}, None),
        ("unchanged(a)", {"b"}, None, None),
        ("unchanged(a)", None, set(), None),
        ("unchanged(/a)", set(), set(), None),
    ],
)
def test_the_paths_that_changed_are_told_whole_or_refute(
    check: str, changed: set[str] | None, untracked: set[str] | None, holds: bool | None
):
    """Files that are neither tracked nor ignored may have been touched too."""
    facts = SinceFacts(
        True,
        changed=None if changed is None else frozenset(changed),
        untracked=None if untracked is None else frozenset(untracked),
        there=True,
    )
    assert verify_since(read(check), facts).holds is holds


def test_a_path_that_is_not_there_is_not_unchanged():
    """It may be another one's name."""
    facts = SinceFacts(True, changed=frozenset(), untracked=frozenset(), there=False)
    assert verify_since(read("unchanged(a)"), facts) == Held(None, "path-missing")
    assert verify_since(read("unchanged(a)"), facts._replace(there=None)) == Held(None, "not-whole")


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

COUNTS = st.builds(Standing, st.dictionaries(st.sampled_from("ab"), st.integers(1, 2)), st.booleans())
DEFINED = st.builds(
    Standing,
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 2)),
    st.booleans(),
    st.none() | st.lists(st.sampled_from(["a:f", "b:f"]), max_size=2).map(tuple),
)


@given(DEFINED, DEFINED)
def test_adding_is_deleting_turned_round_and_never_both(before: Standing, after: Standing):
    """One time cannot be both before and after the other."""
    facts = SinceFacts(True, {"f": before}, {"f": after}, untracked=frozenset())
    mirror = facts._replace(before=facts.after, after=facts.before)
    added, deleted = (verify_since(read(f"{name}(f)"), facts).holds for name in ("added", "deleted"))
    assert not (added and deleted)
    assert deleted is verify_since(read("added(f)"), mirror).holds


@given(COUNTS, COUNTS)
def test_what_is_introduced_is_not_removed(before: Standing, after: Standing):
    """And only what was searched whole before is introduced."""
    facts = FACTS._replace(before=before, after=after)
    if commit("introduced(x, 4f2a91c)", facts):
        assert before.whole
        assert not before.counts
        assert not commit("removed(x, 4f2a91c)", facts)
