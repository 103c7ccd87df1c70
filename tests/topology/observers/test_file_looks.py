"""substrate.code.read and substrate.fs.mtime."""

from __future__ import annotations

import hashlib
import json

import pytest
from looking import Repository, ask, holds, outcome, reason, try_check

from sluice.streams.judging.checks import canonical, parse_check

TEXT = "Perhaps CHANGELOG.md has an entry dated 2026-05-25."
ENTRY = 'contains("2026-05-25")'


def sha(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# ---------------------------------------------------------------- what an observation tells


def test_the_observation_tells_what_was_read(changelog: Repository):
    """The id is the hash of the bytes, what each check came to is told with its place, the locator is repeated."""
    whole = (changelog.path / "CHANGELOG.md").read_bytes()
    text = "`CHANGELOG.md` contains «leap seconds»."
    found = ask(changelog, "code.read", text, checks=['contains("leap seconds")'], path="CHANGELOG.md")
    assert (found.outcome, found.observation_id) == ("corroborates", sha(whole))
    assert found.detail == {
        "checks": [{"check": 'contains("leap seconds")', "holds": True, "path": "CHANGELOG.md", "lines": [4, 4]}]
    }
    assert (found.verified, found.refuted, found.coverage, found.unchecked) == ([0], [], "whole", [])
    place = found.looked_at
    assert place is not None
    assert (place.root, place.path, place.content, place.commit) == ("default", "CHANGELOG.md", sha(whole), None)
    assert found.locator == {"path": "CHANGELOG.md"}


@pytest.mark.parametrize(
    ("lines", "expected", "read"),
    [
        ([3, 3], "terms-present", b"## 2026-05-25\n"),
        ([3], "terms-present", b"## 2026-05-25\n"),
        ("3-4", "terms-present", b"## 2026-05-25\n- `parse_time` reads leap seconds\n"),
        (3, "terms-present", b"## 2026-05-25\n"),
        ([1, 2], "absent", b"# Changes\n\n"),
        ([50, 60], "absent", b""),
    ],
)
def test_lines_bound_the_region(changelog: Repository, lines: object, expected: str, read: bytes):
    """Only the lines from first to last are hashed, searched for words, and decide a check."""
    found = ask(changelog, "code.read", "An entry is dated 2026-05-25 in there.", path="CHANGELOG.md", lines=lines)
    assert (found.outcome, found.observation_id) == (expected, sha(read))
    held = try_check(changelog, "code.read", ENTRY, path="CHANGELOG.md", lines=lines).holds
    assert held is (True if expected == "terms-present" else None)
    assert try_check(changelog, "code.read", 'contains("2026-05-25", lines=1-2)', path="CHANGELOG.md").holds is None


@pytest.mark.parametrize(
    "lines", [[0, 1], [2, 1], [-1, 1], [1, 2, 3], [], ["1", "2"], [1.5, 2], "x-y", "1-2-3", {}, True]
)
def test_lines_that_no_file_has_are_unavailable(changelog: Repository, lines: object):
    """An impossible region is no verdict."""
    assert "lines" in reason(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=lines)


def test_a_huge_number_of_lines_is_no_trouble(changelog: Repository):
    """A region that ends far behind the file is the file."""
    assert outcome(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=[1, 10**30]) == "terms-present"


# ---------------------------------------------------------------- declared hashes


def test_a_declared_hash_that_stands_there_is_the_observations(changelog: Repository):
    """With or without the last line end, and shortened to no fewer than seven digits, a true hash is true."""
    whole = (changelog.path / "CHANGELOG.md").read_bytes()
    for declared in (sha(whole), sha(whole).upper().replace("SHA", "sha"), sha(whole)[:20], sha(whole)[:14] + "..."):
        found = ask(changelog, "code.read", TEXT, declared=declared, path="CHANGELOG.md")
        assert (found.outcome, found.observation_id) == ("terms-present", sha(whole))
    trimmed = sha(whole.removesuffix(b"\n"))
    assert ask(changelog, "code.read", TEXT, declared=trimmed, path="CHANGELOG.md").observation_id == trimmed


def test_a_hash_that_never_stood_there_is_unknown(changelog: Repository):
    """The file has not changed since the annotation's ts: then the declared content was made up."""
    found = ask(changelog, "code.read", TEXT, declared=sha(b"other"), path="CHANGELOG.md", checks=[ENTRY])
    assert (found.outcome, found.observation_id) == ("unknown-observation", sha(b"other"))
    assert (found.verified, found.coverage) == (None, None)
    assert (
        outcome(changelog, "code.read", TEXT, declared="sha256:e3b0c4...", path="CHANGELOG.md") == "unknown-observation"
    )


def test_a_hash_of_a_file_that_changed_since_is_absent(changelog: Repository):
    """It may have stood there; now another content does, which says nothing about the claim, even if it fits."""
    changelog.write("CHANGELOG.md", "# Changes\n\n## 2026-05-25\n", "2026-11-21T08:59:41")
    found = ask(changelog, "code.read", TEXT, declared=sha(b"other"), path="CHANGELOG.md", checks=[ENTRY])
    assert (found.outcome, found.detail, found.verified) == ("absent", {"reason": "changed-since"}, None)
    assert found.observation_id == sha((changelog.path / "CHANGELOG.md").read_bytes())


def test_without_a_ts_nobody_can_call_a_hash_made_up(changelog: Repository):
    """No time was claimed, so nothing says that the file was the same then."""
    assert outcome(changelog, "code.read", TEXT, declared=sha(b"x"), ts=None, path="CHANGELOG.md") == "absent"


def test_an_id_of_another_form_proves_nothing_either_way(changelog: Repository):
    """What is no content hash cannot be compared: the checks decide."""
    assert holds(changelog, "code.read", ENTRY, declared="read-4711", path="CHANGELOG.md") is True


# ---------------------------------------------------------------- which file


def test_a_file_that_is_not_there_leaves_checks_on_content_undecided(changelog: Repository):
    """It cannot say anything; that it is not there is for `exists` and `missing`. The id is the declared one, or says
    that there is none."""
    found = ask(changelog, "code.read", TEXT, path="NEWS.md", checks=[ENTRY, "exists(NEWS.md)", "missing(NEWS.md)"])
    assert (found.outcome, found.observation_id) == ("contradicts", "none:substrate.code.read")
    assert (found.verified, found.refuted) == ([2], [1])
    content = try_check(changelog, "code.read", ENTRY, declared="sha256:abcdef012", path="CHANGELOG.md/x")
    assert content[:3] == ("absent", None, "path-missing")
    assert ask(changelog, "code.read", TEXT, path="NEWS.md").detail == {"reason": "path-missing"}


def test_without_a_locator_the_one_path_of_the_text_is_read(changelog: Repository):
    """One path in the text is the place; none, or two, is none; a check may name its own."""
    assert outcome(changelog, "code.read", TEXT) == "terms-present"
    assert outcome(changelog, "code.read", "It says `src/times.py` sets MAX_RETRIES to 5.") == "terms-present"
    why = "neither the locator nor the assertion names one path"
    assert reason(changelog, "code.read", "There is an entry dated 2026-05-25.") == why
    assert reason(changelog, "code.read", "CHANGELOG.md and src/times.py are dated 2026-05-25.") == why
    two = "CHANGELOG.md and src/times.py are dated 2026-05-25."
    assert outcome(changelog, "code.read", two, checks=['contains("2026-05-25", path=CHANGELOG.md)']) == "corroborates"
    assert reason(changelog, "code.read", two, checks=[ENTRY]) == why


def test_a_text_may_leave_the_folders_out(changelog: Repository):
    """The one tracked file of that name is meant; of several none, and the file at the top before all others."""
    five = "The file times.py says that `MAX_RETRIES = 5`."
    assert outcome(changelog, "code.read", five) == "terms-present"
    assert outcome(changelog, "fs.mtime", "The file times.py was written on 2026-05-25.") == "terms-present"
    changelog.write("lib/times.py", "MAX_RETRIES = 6\n")
    changelog.commit("Another")
    assert reason(changelog, "code.read", five) == "2 files are called times.py"
    changelog.write("times.py", "MAX_RETRIES = 7\n")
    changelog.commit("At the top")
    assert outcome(changelog, "code.read", five.replace("5", "7")) == "terms-present"
    found = ask(changelog, "code.read", "The file clocks.py says that `MAX_RETRIES = 7`.")
    assert (found.outcome, (found.detail or {})["reason"]) == ("absent", "path-missing")
    assert reason(changelog, "code.read", "/etc/passwd has `root`.") == "the path lies outside the root"


def test_a_check_that_was_read_from_the_sentence_may_leave_the_folders_out_as_well(changelog: Repository):
    """One that is declared means the path that it says."""
    text = "`times.py` contains `MAX_RETRIES`."
    found = ask(changelog, "code.read", text, path="src/times.py")
    (entry,) = (found.detail or {})["checks"]
    assert (entry["check"], entry["holds"], entry["path"]) == (
        "contains(MAX_RETRIES, path=times.py)",
        True,
        "src/times.py",
    )
    declared = try_check(changelog, "code.read", "contains(MAX_RETRIES, path=times.py)")
    assert declared.reason == "path-missing"


def test_each_check_may_name_a_file_of_its_own(changelog: Repository):
    """With several files there is no one content that was looked at."""
    checks = ["contains(MAX_RETRIES, path=src/times.py)", 'contains("leap seconds", path=CHANGELOG.md)']
    found = ask(changelog, "code.read", "`MAX_RETRIES` and `leap seconds` are there.", checks=checks)
    assert found.verified == [0, 1]
    assert found.looked_at is not None
    assert (found.looked_at.path, found.looked_at.content) == (None, None)
    assert [one["path"] for one in (found.detail or {})["checks"]] == ["src/times.py", "CHANGELOG.md"]


# ---------------------------------------------------------------- what checks come to


@pytest.mark.parametrize("name", ["code.read", "grep", "git.log"])
def test_a_file_in_a_folder_keeps_its_bare_name_from_being_missing(changelog: Repository, name: str):
    """Who reads «`times.py` does not exist» believes that there is no such file. While `src/times.py` is tracked, no
    observer bears that out, whether the emitter was sloppy or chose the name for it; nobody contradicts it either."""
    said = "`times.py` does not exist."
    for checks in (["missing(times.py)"], ['missing("./times.py")'], None):
        found = ask(changelog, name, said, path="times.py", checks=checks, kind="denial")
        assert found.outcome == "absent", checks
        assert (found.verified, found.refuted) == ([], []), checks
    assert try_check(changelog, name, "missing(times.py)")[1:3] == (None, "ambiguous")
    assert holds(changelog, name, "missing(imes.py)") is True
    assert holds(changelog, name, "missing(src/time.py)") is True
    assert try_check(changelog, name, "exists(times.py)")[1:3] == (None, "ambiguous")
    assert try_check(changelog, name, "exists(imes.py)").holds is False


def test_that_a_file_is_there_is_a_check(changelog: Repository):
    """A folder of tracked files is there as well; either check refutes the other."""
    for path in ("CHANGELOG.md", "src", "./src/times.py"):
        assert holds(changelog, "code.read", f"exists({path})") is True
        assert try_check(changelog, "code.read", f"missing({path})").holds is False
    assert holds(changelog, "code.read", "missing(setup.py)") is True
    assert ask(
        changelog, "code.read", "There is no `setup.py`.", kind="denial", checks=["missing(setup.py)"]
    ).outcome in (
        "corroborates",
        "absent",
    )
    assert try_check(changelog, "code.read", "exists(setup.py)").outcome == "contradicts"


def test_a_denial_is_borne_out_by_its_checks_alone(changelog: Repository):
    """Never by words that are not there; nor does what holds bear it out unless it denies."""
    denial = "CHANGELOG.md does not mention `tortoises`."
    assert outcome(changelog, "code.read", denial, kind="denial", checks=["absent(tortoises)"]) == "corroborates"
    assert outcome(changelog, "code.read", denial, kind="denial", checks=["absent(parse_time)"]) == "contradicts"
    assert outcome(changelog, "code.read", denial, kind="denial", checks=['contains("leap seconds")']) == "absent"
    mere = "It never ever reads any of the tortoises."
    assert outcome(changelog, "code.read", mere, kind="denial", path="CHANGELOG.md") == "absent"
    assert outcome(changelog, "code.read", "It reads leap seconds.", kind="denial", path="CHANGELOG.md") == (
        "terms-present"
    )


def test_a_denial_cannot_hide_in_a_place_that_is_not_there(changelog: Repository):
    """In a file that never was, nothing is absent; nor in lines behind the end."""
    assert try_check(changelog, "code.read", "absent(parse_time)", kind="denial", path="elsewhere.md").reason == (
        "path-missing"
    )
    behind = try_check(changelog, "code.read", "absent(parse_time, lines=90-99)", kind="denial", path="CHANGELOG.md")
    assert behind.holds is None


def test_a_count_and_an_absence_need_the_whole_file(folder: Repository):
    """In an encoding that has to be guessed letters may be written otherwise; ASCII is the same in all of them."""
    folder.write("file.txt", "Größe größe size".encode("latin-1"))
    assert holds(folder, "code.read", "absent(colour)", path="file.txt") is True
    assert try_check(folder, "code.read", "absent(size)", path="file.txt").holds is False
    assert holds(folder, "code.read", "count(size, =, 1)", path="file.txt") is True
    assert holds(folder, "code.read", 'count("Maß", =, 0)', path="file.txt") is None


def test_text_of_every_encoding_is_read(folder: Repository):
    """UTF-16 with its mark, Latin-1, and UTF-8 hold what they hold."""
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"):
        folder.write("file.txt", "Der Schlüssel heißt `Größe_1`.\n".encode(encoding))
        assert holds(folder, "code.read", 'contains("Größe_1")', path="file.txt") is True
        assert holds(folder, "code.read", 'contains("Größe_2")', path="file.txt") is None


def test_a_binary_file_is_unavailable(folder: Repository):
    """Numbers and names would be found in any noise."""
    folder.write("image.png", b"\x89PNG\0\0 3 ")
    assert reason(folder, "code.read", "The count is 3.", path="image.png") == "the file is binary"
    assert reason(folder, "code.read", "No `x`.", checks=["absent(x)"], path="image.png") == "the file is binary"
    folder.touch("image.png", "2026-05-25T12:00:00")
    assert outcome(folder, "code.read", "The count is 3.", path="image.png", declared=sha(b"no")) == (
        "unknown-observation"
    )


def test_an_empty_file_holds_nothing(folder: Repository):
    """It is there and was read whole."""
    folder.write("file.txt", b"")
    assert holds(folder, "code.read", "absent(x)", path="file.txt") is True
    assert outcome(folder, "code.read", "The file file.txt has an `x`.") == "absent"


@pytest.mark.parametrize(
    "check", ["commit(0123456)", "last_changed(CHANGELOG.md, <, 2027-01-01)", "modified(CHANGELOG.md, <, 2027-01-01)",
              "peer(uid=0)", "count(subscribers, =, 0)"],
)  # fmt: skip
def test_what_another_class_decides_is_left_to_it(changelog: Repository, check: str):
    """Undecided, with that reason."""
    found = try_check(changelog, "code.read", check, path="CHANGELOG.md")
    assert found[:3] == ("absent", None, "other-substrate")


def test_a_check_that_nobody_knows_is_undecided_and_shown_short(changelog: Repository):
    """The others are decided all the same; control characters do not get out."""
    unknown = "frobnicate(\u0007" + "x" * 1900 + ")"
    found = ask(changelog, "code.read", "`parse_time`", checks=[unknown, "contains(parse_time)"], path="CHANGELOG.md")
    first, second = (found.detail or {})["checks"]
    assert (first["holds"], first["reason"], second["holds"]) == (None, "unknown-check", True)
    assert len(first["check"]) <= 200
    assert "\u0007" not in first["check"]
    assert found.verified == [1]


def test_checks_are_reported_in_their_canonical_form(changelog: Repository):
    """Whatever white space and spelling the emitter used, and whole, however long they are."""
    long = " ".join(["leap"] * 390)
    for written in ('equals( MAX_RETRIES,0x5,path=src/times.py )'.replace("( ", "(").replace(" )", ")"),
                    f'contains("{long}")'):  # fmt: skip
        entry = try_check(changelog, "code.read", written, path="CHANGELOG.md").where["check"]
        assert entry == canonical(parse_check(written))  # type: ignore[arg-type]


# ---------------------------------------------------------------- time


def test_what_is_false_counts_only_where_nothing_has_changed_since(changelog: Repository):
    """Since `ts`, or since the emission where there is none; else it is only absent."""
    wrong = "absent(parse_time)"
    assert try_check(changelog, "code.read", wrong, path="CHANGELOG.md").outcome == "contradicts"
    changelog.touch("CHANGELOG.md", "2026-11-21T08:59:50")  # as it was committed: it was only checked out then
    assert try_check(changelog, "code.read", wrong, path="CHANGELOG.md").outcome == "contradicts"
    changelog.write("CHANGELOG.md", "parse_time\n", "2026-11-21T08:59:50")  # after ts, before the emission
    found = ask(changelog, "code.read", "x", checks=[wrong], path="CHANGELOG.md")
    assert (found.outcome, (found.detail or {})["reason"], found.refuted) == ("absent", "changed-since", [0])
    assert (found.detail or {})["checks"][0]["holds"] is False
    assert try_check(changelog, "code.read", wrong, path="CHANGELOG.md", ts=None).outcome == "contradicts"
    changelog.touch("CHANGELOG.md", "2026-11-21T09:00:01")
    assert try_check(changelog, "code.read", wrong, path="CHANGELOG.md", ts=None).outcome == "absent"


def test_what_is_true_counts_whenever_the_file_was_written(changelog: Repository):
    """It holds now, and the observation says when."""
    changelog.touch("CHANGELOG.md", "2026-11-21T09:30:00")
    assert try_check(changelog, "code.read", "contains(parse_time)", path="CHANGELOG.md").holds is True


def test_a_file_that_went_since_is_no_contradiction(changelog: Repository):
    """The history tells when it went; of a file that never was there is nothing to tell."""
    changelog.git("rm", "--quiet", "CHANGELOG.md")
    changelog.commit("Drop it", "2026-11-21T09:30:00Z")
    gone = try_check(changelog, "code.read", "exists(CHANGELOG.md)")
    assert gone[:3] == ("absent", False, "changed-since")
    assert try_check(changelog, "code.read", "exists(CHANGELOG.md)", ts="2026-11-21T10:00:00Z").outcome == "contradicts"
    assert try_check(changelog, "code.read", "exists(NEWS.md)").outcome == "contradicts"
    assert holds(changelog, "code.read", "missing(CHANGELOG.md)") is True


def test_a_file_that_came_since_is_no_contradiction(changelog: Repository):
    """Who said that it is missing was right when he said it."""
    changelog.write("new.md", "x")
    changelog.git("add", "new.md")
    assert try_check(changelog, "code.read", "missing(new.md)")[:3] == ("absent", False, "changed-since")


def test_what_is_false_at_the_commit_that_is_named_is_false(changelog: Repository):
    """However young the commit is: its tree never changes."""
    commit = changelog.commit("Later", "2026-11-21T09:30:00Z")
    found = try_check(changelog, "code.read", "absent(parse_time)", path="CHANGELOG.md", commit=commit)
    assert (found.outcome, found.where["commit"]) == ("contradicts", commit)
    young = changelog.write("CHANGELOG.md", "nothing\n")
    assert young.exists()
    assert try_check(changelog, "code.read", "absent(parse_time)", path="CHANGELOG.md").holds is True


# ---------------------------------------------------------------- bounds


def test_a_file_over_the_bound_is_no_verdict(folder: Repository):
    """Reaching a bound is unavailable, though the quote stands at the very start; words of a small region may still be
    looked for."""
    folder.write("huge.txt", b"`first` line\n" + b"x" * 400_000)
    bounds = {"look_bytes": 200_000}
    why = "more than 200000 bytes would have to be read, the bound `look_bytes`"
    assert reason(folder, "code.read", "x", checks=["contains(first)"], path="huge.txt", bounds=bounds) == why
    assert reason(folder, "code.read", "x", checks=["absent(second)"], path="huge.txt", bounds=bounds) == why
    assert outcome(folder, "code.read", "It holds `first`.", path="huge.txt", lines=[1, 1], bounds=bounds) == (
        "terms-present"
    )


def test_a_sparse_file_of_a_terabyte_ends_at_the_bound(folder: Repository):
    """What a file claims to be is not what is read."""
    with open(folder.path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    assert "bytes" in reason(folder, "code.read", "It holds `x`.", path="sparse", bounds={"look_bytes": 1_000_000})


def test_time_is_bounded(folder: Repository):
    """A look that takes longer than an operator's wall is unavailable."""
    folder.write("file.txt", b"x\n" * 2_000_000)
    why = reason(folder, "code.read", "It holds `x`.", path="file.txt", bounds={"look_wall": 1e-6})
    assert why.endswith("the bound of time")


def test_an_observation_of_many_long_checks_is_bounded(changelog: Repository):
    """Twenty checks of two thousand characters, which escapes make longer still."""
    checks = ['contains("' + '\\"' * 990 + f'{number}")' for number in range(20)]
    found = ask(changelog, "code.read", "x", checks=checks, path="CHANGELOG.md")
    assert len((found.detail or {})["checks"]) == 20
    assert len(json.dumps(found.detail)) < 200_000


# ---------------------------------------------------------------- commits


def test_a_bare_repository_is_read_from_its_head(changelog: Repository):
    """A mirror has no work tree: the files of HEAD's tree are read, and history tells when they changed."""
    bare = changelog.bare()
    head = changelog.git("rev-parse", "HEAD")
    found = try_check(bare, "code.read", ENTRY, path="CHANGELOG.md")
    assert (found.holds, found.where["commit"]) == (True, head)
    assert outcome(bare, "code.read", TEXT, path="CHANGELOG.md", declared=sha(b"no")) == "unknown-observation"
    assert (
        outcome(bare, "code.read", TEXT, path="CHANGELOG.md", declared=sha(b"no"), ts="2026-05-24T00:00:00Z")
        == "absent"
    )
    assert holds(bare, "code.read", "missing(HEAD)") is True
    assert holds(bare, "code.read", "missing(config)") is True
    assert reason(bare, "code.read", TEXT, path="src") == "the path names no regular file"
    assert reason(bare, "code.read", TEXT, path="../x") == "the path lies outside the root"


def test_links_and_odd_names_in_a_tree(repository: Repository):
    """In a tree as on disk: a link is not followed, and any name can be named."""
    (repository.path / "link").symlink_to("/etc/passwd")
    for name in ("new\nline", "a b", "Ü", '"q"', "--x", "[slug].tsx"):
        repository.write(name, "`secret`")
    repository.commit("x")
    bare = repository.bare()
    for place in (repository, bare):
        assert reason(place, "code.read", "It has `root`.", path="link") == "symbolic links are not followed"
        assert reason(place, "code.read", "x", checks=["exists(link)"]) == "symbolic links are not followed"
        for name in ("new\nline", "a b", "Ü", '"q"', "--x", "[slug].tsx"):
            assert holds(place, "code.read", "contains(secret)", path=name) is True


TIME = "2026-05-25T12:34:56.789"
ID = "mtime:2026-05-25T12:34:56.789Z"


@pytest.fixture
def log(folder: Repository) -> Repository:
    """A folder with a log file of 2026-05-25."""
    folder.write("app.log", "x", TIME)
    return folder


def test_the_id_is_the_time_as_fine_as_the_file_system_tells(log: Repository):
    """`mtime:` and RFC 3339, without zeros at the end."""
    found = ask(
        log, "fs.mtime", "`app.log` was last modified on 2026-05-25.", checks=["modified(app.log, =, 2026-05-25)"]
    )
    assert (found.outcome, found.observation_id) == ("corroborates", ID)
    assert found.detail == {
        "checks": [{"check": "modified(app.log, =, 2026-05-25)", "holds": True, "path": "app.log"}],
    }
    assert found.looked_at is not None
    assert (found.looked_at.root, found.looked_at.path, found.looked_at.content) == ("default", "app.log", None)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("modified(app.log, =, 2026-05-25)", True),
        ('modified(app.log, =, "May 25, 2026 at 12:34")', True),
        ("modified(app.log, =, 2026-05-25T14:34:56+02:00)", True),
        ("modified(app.log, =, 2026-05)", True),
        ("modified(app.log, =, 2026)", True),
        ("modified(app.log, <, 2026-05-26)", True),
        ("modified(app.log, >, 2026-05-24)", True),
        ("modified(app.log, >=, 2026-05-25)", True),
        ("not modified(app.log, =, 2026-05-26)", True),
        ("modified(app.log, =, 2026-05-26)", False),
        ("modified(app.log, =, 2026-05-25T12:34:57Z)", False),
        ("modified(app.log, =, 1999)", False),
        ("modified(app.log, <, 2026-05-25)", False),
        ("modified(app.log, >, 2026-05-25)", False),
        ("not modified(app.log, =, 2026-05-25)", False),
        ("modified(app.log, =, yesterday)", None),
        ("exists(app.log)", None),
        ("contains(x, path=app.log)", None),
    ],
)
def test_the_named_time_decides(log: Repository, check: str, expected: bool | None):
    """At the precision at which it is named; what another class decides is left to it."""
    found = try_check(log, "fs.mtime", check, path="app.log")
    assert (found.holds, found.outcome) == (expected, "contradicts" if expected is False else "absent")


def test_a_file_that_was_written_since_refutes_nothing(log: Repository):
    """Then it may have been as the check says."""
    log.touch("app.log", "2026-11-21T08:59:50")
    wrong = "modified(app.log, =, 2026-05-25)"
    assert try_check(log, "fs.mtime", wrong)[:3] == ("absent", False, "changed-since")
    assert try_check(log, "fs.mtime", wrong, ts=None).outcome == "contradicts"  # before the emission


def test_words_are_held_against_the_time_and_count_for_nothing(log: Repository):
    """A time that is named in passing is there, or it is not."""
    text = "Somebody wrote that log file on {} they say."
    assert outcome(log, "fs.mtime", text.format("2026-05-25"), path="app.log") == "terms-present"
    assert outcome(log, "fs.mtime", text.format("2026-05-26"), path="app.log") == "absent"
    assert outcome(log, "fs.mtime", text.format("2026-05-26"), path="app.log", kind="denial") == "absent"


@pytest.mark.parametrize(
    ("declared", "ts", "expected"),
    [
        (ID, "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:56Z", "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:56.789000000Z", "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:55Z", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:2026-05-25T12:34:56.788Z", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:yesterday", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:2026-05-20T00:00:00Z", "2026-05-21T00:00:00Z", "absent"),
        ("mtime:2026-05-20T00:00:00Z", None, "absent"),
        ("inode:4711", "2026-11-21T08:59:40Z", "corroborates"),
    ],
)
def test_a_declared_time_is_checked(log: Repository, declared: str, ts: str | None, expected: str):
    """Another time than declared is unknown where nothing wrote the file since ts, and absent where something did."""
    found = ask(log, "fs.mtime", "`app.log` was last modified in May 2026.", declared=declared, ts=ts,
                checks=["modified(app.log, =, 2026-05)"])  # fmt: skip
    assert found.outcome == expected
    assert found.observation_id == (declared if expected == "unknown-observation" else ID)


def test_a_time_before_the_epoch_and_to_the_nanosecond(folder: Repository):
    """Whatever the file system holds is told exactly."""
    import os

    file = folder.write("old.txt", "x")
    os.utime(file, ns=(-1_000_000_001, -1_000_000_001))
    assert holds(folder, "fs.mtime", "modified(old.txt, =, 1969)") is True
    assert (
        ask(folder, "fs.mtime", "The file old.txt is from 1969.").observation_id
        == "mtime:1969-12-31T23:59:58.999999999Z"
    )


def test_a_file_that_is_not_there_is_absent(log: Repository):
    """No time was seen, so none contradicts."""
    for check in ("modified(other.log, =, 2026)", "not modified(other.log, =, 2026)"):
        found = ask(log, "fs.mtime", "x", checks=[check])
        assert (found.outcome, found.observation_id) == ("absent", "none:substrate.fs.mtime")
        assert (found.detail or {})["reason"] == "path-missing"


def test_no_path_no_look(log: Repository):
    """Neither check, locator nor text names the one file."""
    assert reason(log, "fs.mtime", "It was modified in 2026.") == "neither the locator nor the assertion names one path"


def test_a_folder_has_no_time_of_its_own(folder: Repository):
    """Only files are looked at."""
    folder.write("dir/file", "x")
    assert reason(folder, "fs.mtime", "x", checks=["modified(dir, <, 2030)"]) == "the path names no regular file"


def test_a_bare_repository_has_no_times(changelog: Repository):
    """Git keeps none."""
    assert "no modification times" in reason(
        changelog.bare(), "fs.mtime", "x", checks=["modified(CHANGELOG.md, <, 2030)"]
    )
