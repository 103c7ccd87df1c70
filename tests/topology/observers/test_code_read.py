"""substrate.code.read on real files."""

from __future__ import annotations

import hashlib

import pytest
from looking import Repository, ask, outcome, reason

TEXT = "CHANGELOG.md has an entry dated 2026-05-25."


def sha(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_the_observation_tells_what_was_read(changelog: Repository):
    """The id is the hash of the bytes, detail lists the terms, the locator is repeated."""
    found = ask(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=[1, 40])
    assert found.outcome == "corroborates"
    assert found.observation_id == sha((changelog.path / "CHANGELOG.md").read_bytes())
    assert found.detail == {"found": ["2026-05-25"], "missing": []}
    assert found.locator == {"path": "CHANGELOG.md", "lines": [1, 40]}


@pytest.mark.parametrize(
    ("lines", "expected", "read"),
    [
        ([3, 3], "corroborates", b"## 2026-05-25\n"),
        ([3], "corroborates", b"## 2026-05-25\n"),
        ("3-4", "corroborates", b"## 2026-05-25\n- `parse_time` reads leap seconds\n"),
        (3, "corroborates", b"## 2026-05-25\n"),
        ([1, 2], "absent", b"# Changes\n\n"),
        ([50, 60], "absent", b""),
    ],
)
def test_lines_bound_the_region(changelog: Repository, lines: object, expected: str, read: bytes):
    """Only the lines from first to last count, and their bytes are what is hashed."""
    found = ask(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=lines)
    assert (found.outcome, found.observation_id) == (expected, sha(read))


@pytest.mark.parametrize(
    "lines", [[0, 1], [2, 1], [-1, 1], [1, 2, 3], [], ["1", "2"], [1.5, 2], "x-y", "1-2-3", {}, True]
)
def test_lines_that_no_file_has_are_unavailable(changelog: Repository, lines: object):
    """An impossible region is no verdict."""
    assert "lines" in reason(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=lines)


def test_a_huge_number_of_lines_is_no_trouble(changelog: Repository):
    """A region that ends far behind the file is the file."""
    assert outcome(changelog, "code.read", TEXT, path="CHANGELOG.md", lines=[1, 10**30]) == "corroborates"


def test_a_declared_hash_that_stands_there_is_the_observations(changelog: Repository):
    """With or without the last line end, and shortened to no fewer than seven digits, a true hash is true."""
    whole = (changelog.path / "CHANGELOG.md").read_bytes()
    for declared in (sha(whole), sha(whole).upper().replace("SHA", "sha"), sha(whole)[:20], sha(whole)[:14] + "..."):
        found = ask(changelog, "code.read", TEXT, declared=declared, path="CHANGELOG.md")
        assert (found.outcome, found.observation_id) == ("corroborates", sha(whole))
    trimmed = sha(whole.removesuffix(b"\n"))
    assert ask(changelog, "code.read", TEXT, declared=trimmed, path="CHANGELOG.md").observation_id == trimmed


def test_a_hash_that_never_stood_there_is_unknown(changelog: Repository):
    """The file has not changed since the annotation's ts: then the declared content was made up."""
    found = ask(changelog, "code.read", TEXT, declared=sha(b"other"), path="CHANGELOG.md")
    assert (found.outcome, found.observation_id) == ("unknown-observation", sha(b"other"))
    assert (
        outcome(changelog, "code.read", TEXT, declared="sha256:e3b0c4...", path="CHANGELOG.md") == "unknown-observation"
    )


def test_a_hash_of_a_file_that_changed_since_is_absent(changelog: Repository):
    """It may have stood there; now another content does, which says nothing about the claim, even if it fits."""
    changelog.touch("CHANGELOG.md", "2026-11-21T08:59:41")
    found = ask(changelog, "code.read", TEXT, declared=sha(b"other"), path="CHANGELOG.md")
    assert (found.outcome, found.detail and found.detail["found"]) == ("absent", ["2026-05-25"])
    assert found.observation_id == sha((changelog.path / "CHANGELOG.md").read_bytes())


def test_without_a_ts_nobody_can_call_a_hash_made_up(changelog: Repository):
    """No time was claimed, so nothing says that the file was the same then."""
    assert outcome(changelog, "code.read", TEXT, declared=sha(b"x"), ts=None, path="CHANGELOG.md") == "absent"


def test_an_id_of_another_form_proves_nothing_either_way(changelog: Repository):
    """What is no content hash cannot be compared: the terms decide."""
    assert outcome(changelog, "code.read", TEXT, declared="read-4711", path="CHANGELOG.md") == "corroborates"


def test_a_file_that_is_not_there_contradicts(changelog: Repository):
    """Whoever read a file that is not there, did not; the id is the declared one, or says that there is none."""
    found = ask(changelog, "code.read", "NEWS.md has an entry dated 2026-05-25.", path="NEWS.md")
    assert (found.outcome, found.observation_id) == ("contradicts", "none:substrate.code.read")
    found = ask(changelog, "code.read", TEXT, declared="sha256:abcdef012", path="CHANGELOG.md/x")
    assert (found.outcome, found.observation_id) == ("contradicts", "sha256:abcdef012")


def test_without_a_locator_the_one_path_of_the_text_is_read(changelog: Repository):
    """One path in the text is the place; none, or two, is none."""
    assert outcome(changelog, "code.read", TEXT) == "corroborates"
    assert outcome(changelog, "code.read", "`src/times.py` sets MAX_RETRIES to 5.") == "corroborates"
    why = "neither the locator nor the assertion names one path"
    assert reason(changelog, "code.read", "There is an entry dated 2026-05-25.") == why
    assert reason(changelog, "code.read", "CHANGELOG.md and src/times.py are dated 2026-05-25.") == why


def test_a_text_may_leave_the_folders_out(changelog: Repository):
    """The one tracked file of that name is meant; of several none, and the file at the top before all others."""
    assert outcome(changelog, "code.read", "times.py sets MAX_RETRIES to 5.") == "corroborates"
    assert outcome(changelog, "fs.mtime", "times.py was written on 2026-05-25.") == "corroborates"
    changelog.write("lib/times.py", "MAX_RETRIES = 6\n")
    changelog.commit("Another")
    assert reason(changelog, "code.read", "times.py sets MAX_RETRIES to 5.") == "2 files are called times.py"
    changelog.write("times.py", "MAX_RETRIES = 7\n")
    assert outcome(changelog, "code.read", "times.py sets MAX_RETRIES to 7.") == "corroborates"
    assert outcome(changelog, "code.read", "clocks.py sets MAX_RETRIES to 7.") == "contradicts"
    assert reason(changelog, "code.read", "/etc/passwd has `root`.") == "the path lies outside the root"


def test_that_a_file_is_there_can_be_stated(changelog: Repository):
    """Who says no more than that the place exists means the place itself."""
    assert outcome(changelog, "code.read", "CHANGELOG.md exists.", path="CHANGELOG.md") == "corroborates"
    assert outcome(changelog, "code.read", "There is a file NEWS.md.") == "contradicts"
    assert outcome(changelog, "code.read", "CHANGELOG.md does not exist.", kind="denial") == "contradicts"
    assert outcome(changelog, "code.read", "There is no file setup.py.", kind="denial") == "corroborates"
    assert outcome(changelog, "code.read", "CHANGELOG.md does not exist.") == "unavailable"
    assert outcome(changelog, "fs.mtime", "There isn't any CHANGELOG.md.") == "unavailable"


def test_a_denial_turns_the_verdict_round(changelog: Repository):
    """Not there: borne out. There: contradicted."""
    text = "CHANGELOG.md has no entry dated {}."
    assert outcome(changelog, "code.read", text.format("2026-05-26"), kind="denial") == "corroborates"
    assert outcome(changelog, "code.read", text.format("2026-05-25"), kind="denial") == "contradicts"


def test_a_denial_cannot_hide_in_a_place_that_is_not_there(changelog: Repository):
    """A region behind the end, or a file that the denial does not speak of, bears nothing out."""
    denial = "CHANGELOG.md has no entry dated 2026-05-25."
    assert reason(changelog, "code.read", denial, kind="denial", path="CHANGELOG.md", lines=[90, 99]) == (
        "the file ends before these lines"
    )
    assert outcome(changelog, "code.read", denial, kind="denial", path="elsewhere.md") == "absent"


def test_a_denial_in_mere_words_needs_all_of_them_away(changelog: Repository):
    """One word too many must not bear a denial out: of words none may stand there."""
    assert outcome(changelog, "code.read", "It never reads seconds backwards.", kind="denial", path="CHANGELOG.md") == (
        "absent"
    )
    assert outcome(changelog, "code.read", "It does not mention tortoises.", kind="denial", path="CHANGELOG.md") == (
        "corroborates"
    )


def test_text_of_every_encoding_is_read(folder: Repository):
    """UTF-16 with its mark, Latin-1, and UTF-8 hold what they hold."""
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"):
        folder.write("file.txt", "Der Schlüssel heißt `Größe_1`.\n".encode(encoding))
        assert outcome(folder, "code.read", "`Größe_1` is the key.", path="file.txt") == "corroborates"
        assert outcome(folder, "code.read", "`Größe_2` is the key.", path="file.txt") == "absent"


def test_a_guessed_encoding_bears_out_only_what_is_ascii(folder: Repository):
    """In an unknown encoding other letters may be written otherwise: not finding them proves nothing."""
    folder.write("file.txt", "Größe".encode("latin-1"))
    assert reason(folder, "code.read", "file.txt lacks `Maß`.", kind="denial") == "the file's encoding is not known"
    assert outcome(folder, "code.read", "file.txt lacks `abc`.", kind="denial") == "corroborates"


def test_a_binary_file_is_unavailable(folder: Repository):
    """Numbers and names would be found in any noise."""
    folder.write("image.png", b"\x89PNG\0\0 3 ")
    assert reason(folder, "code.read", "The count is 3.", path="image.png") == "the file is binary"
    folder.touch("image.png", "2026-05-25T12:00:00")
    assert outcome(folder, "code.read", "The count is 3.", path="image.png", declared=sha(b"no")) == (
        "unknown-observation"
    )


def test_an_empty_file_holds_nothing(folder: Repository):
    """It is there and was read whole: an assertion is absent, a denial borne out."""
    folder.write("file.txt", b"")
    assert outcome(folder, "code.read", "file.txt has `x`.") == "absent"
    assert outcome(folder, "code.read", "file.txt lacks `x`.", kind="denial") == "corroborates"


def test_a_file_over_the_bound_is_no_verdict(folder: Repository):
    """Reaching a bound is unavailable, though the term stands at the very start; a small region may still be read."""
    folder.write("huge.txt", b"`first` line\n" + b"x" * 400_000)
    bounds = {"look_bytes": 200_000}
    assert reason(folder, "code.read", "It holds `first`.", path="huge.txt", bounds=bounds) == (
        "more than 200000 octets would have to be read"
    )
    assert (
        outcome(folder, "code.read", "It holds `first`.", path="huge.txt", lines=[1, 1], bounds=bounds)
        == "corroborates"
    )
    assert outcome(folder, "code.read", "No `x` there.", path="huge.txt", kind="denial", bounds=bounds) == "unavailable"


def test_a_sparse_file_of_a_terabyte_ends_at_the_bound(folder: Repository):
    """What a file claims to be is not what is read."""
    with open(folder.path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    assert "octets" in reason(folder, "code.read", "It holds `x`.", path="sparse", bounds={"look_bytes": 1_000_000})


def test_time_is_bounded(folder: Repository):
    """A look that takes too long is unavailable."""
    folder.write("file.txt", b"x\n" * 2_000_000)
    why = reason(folder, "code.read", "It holds `x`.", path="file.txt", bounds={"look_timeout": 1e-6})
    assert "took longer" in why or "is used up" in why


def test_a_bare_repository_is_read_from_its_head(changelog: Repository):
    """A mirror has no work tree: the files of HEAD's tree are read, and history tells when they changed."""
    bare = changelog.bare()
    assert outcome(bare, "code.read", TEXT, path="CHANGELOG.md") == "corroborates"
    assert outcome(bare, "code.read", TEXT, path="CHANGELOG.md", declared=sha(b"no")) == "unknown-observation"
    assert (
        outcome(bare, "code.read", TEXT, path="CHANGELOG.md", declared=sha(b"no"), ts="2026-05-24T00:00:00Z")
        == "absent"
    )
    assert outcome(bare, "code.read", TEXT, path="HEAD") == "contradicts"
    assert outcome(bare, "code.read", TEXT, path="config") == "contradicts"
    assert reason(bare, "code.read", TEXT, path="src") == "the path names no regular file"
    assert reason(bare, "code.read", TEXT, path="../x") == "the path lies outside the root"


def test_links_and_odd_names_in_a_tree(repository: Repository):
    """In a tree as on disk: a link is not followed, and any name can be named."""
    (repository.path / "link").symlink_to("/etc/passwd")
    for name in ("new\nline", "a b", "Ü", '"q"', "--x"):
        repository.write(name, "`secret`")
    repository.commit("x")
    bare = repository.bare()
    assert reason(bare, "code.read", "It has `root`.", path="link") == "symbolic links are not followed"
    for name in ("new\nline", "a b", "Ü", '"q"', "--x"):
        assert outcome(bare, "code.read", "It holds `secret`.", path=name) == "corroborates"
