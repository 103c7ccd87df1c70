"""substrate.grep on real files."""

from __future__ import annotations

import hashlib
import subprocess

import pytest
from looking import Repository, ask, outcome, reason

TEXT = "MAX_RETRIES is 5."


def sha(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.fixture
def config(repository: Repository) -> Repository:
    """Three tracked files, one that is not tracked."""
    time = "2026-05-25T12:00:00"
    repository.write("a.toml", "# limits\nmax_retries = 5\nMAX_RETRIES = 5\ntimeout = 30\nMAX_RETRIES = 7", time)
    repository.write("b/c.toml", "MAX_RETRIES = 5\n", time)
    repository.write("d.txt", "nothing here\n", time)
    repository.touch(".git/HEAD", time)
    repository.commit("x")
    repository.write("untracked.txt", "MAX_RETRIES = 9\nUNTRACKED_THING\n", time)
    return repository


def test_the_matching_lines_of_a_named_file_are_the_region(config: Repository):
    """The id is the hash of what `grep -h` prints: each matching line with a line feed."""
    found = ask(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES")
    assert (found.outcome, found.observation_id) == ("corroborates", sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\n"))
    assert found.locator == {"path": "a.toml", "pattern": "MAX_RETRIES"}


def test_the_id_is_what_grep_itself_prints(config: Repository):
    """Whoever pipes grep into sha256sum gets the observation id."""
    for arguments in (["-F", "MAX_RETRIES", "a.toml"], ["-hF", "MAX_RETRIES", "a.toml", "b/c.toml"]):
        printed = subprocess.run(["grep", *arguments], cwd=config.path, capture_output=True, check=True).stdout
        locator = {"path": "a.toml"} if arguments[0] == "-F" else {}
        assert ask(config, "grep", TEXT, pattern="MAX_RETRIES", **locator).observation_id == sha(printed)


def test_terms_have_to_be_in_matching_lines(config: Repository):
    """What stands elsewhere in the file does not count."""
    assert outcome(config, "grep", "MAX_RETRIES is 30.", path="a.toml", pattern="MAX_RETRIES") == "absent"
    assert outcome(config, "grep", "MAX_RETRIES is 30.", path="a.toml", pattern="30") == "absent"


def test_a_pattern_has_to_be_found(config: Repository):
    """A pattern that matches no line leaves nothing to bear the assertion out."""
    found = ask(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES = 6")
    assert (found.outcome, found.observation_id) == ("absent", sha(b""))


def test_a_pattern_has_to_share_a_term(config: Repository):
    """A pattern of the emitter's choice that has nothing to do with the assertion proves nothing."""
    for pattern in ("=", "# limits", " = ", "limits"):
        found = ask(config, "grep", TEXT, path="a.toml", pattern=pattern)
        assert found.outcome == "absent"
    assert found.detail is not None
    assert found.detail["reason"] == "the pattern shares no term with the assertion"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern=".", regex=True) == "absent"
    assert outcome(config, "grep", TEXT, kind="denial", path="d.txt", pattern="nothing") == "absent"


def test_lines_bound_the_region(config: Repository):
    """Only the lines from first to last are searched."""
    assert outcome(config, "grep", TEXT, path="a.toml", lines=[3, 3], pattern="MAX_RETRIES") == "corroborates"
    assert outcome(config, "grep", TEXT, path="a.toml", lines=[4, 5], pattern="MAX_RETRIES") == "absent"
    assert (
        outcome(config, "grep", "MAX_RETRIES is 7.", path="a.toml", lines=[5, 5], pattern="MAX_RETRIES")
        == "corroborates"
    )
    assert "names no path" in reason(config, "grep", TEXT, lines=[1, 2], pattern="MAX_RETRIES")


def test_a_fixed_string_is_no_expression(config: Repository):
    """Without `regex` every character stands for itself; with it RE2 reads the pattern."""
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES.*5") == "absent"
    for true in (True, "true"):
        assert outcome(config, "grep", TEXT, path="a.toml", pattern="^MAX_RETRIES.*5$", regex=true) == "corroborates"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="^max_retries", regex=True) == "absent"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="(?i)^MAX_retries", regex=True) == "corroborates"


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=x)", r"\1", "x" * 1001, "(((a{100}){100}){100})", "[z-a]", "*"])
def test_what_re2_does_not_read_is_unavailable(config: Repository, pattern: str, capfd: pytest.CaptureFixture[str]):
    """A broken expression is no verdict, and RE2 says nothing on standard error about it."""
    assert "pattern" in reason(config, "grep", TEXT, path="a.toml", pattern=pattern, regex=True)
    assert "re2" not in capfd.readouterr().err


def test_an_expression_that_explodes_elsewhere_is_linear_here(config: Repository):
    """(a+)+$ over a long line is answered in time."""
    config.write("evil.txt", "a" * 200_000 + "! a_b\n")
    assert outcome(config, "grep", "It has a_b.", path="evil.txt", pattern="(a+)+$|a_b", regex=True) == "corroborates"


def test_a_pattern_that_is_no_text_is_unavailable(config: Repository):
    """A locator is a stranger's JSON."""
    for pattern in (5, ["x"], "", {"a": 1}):
        assert reason(config, "grep", TEXT, path="a.toml", pattern=pattern) == "the locator's pattern is no text"


# ---------------------------------------------------------------- the tracked files


def test_without_a_path_the_tracked_files_are_searched(config: Repository):
    """Every file that git tracks, as it stands in the work tree; others are not."""
    found = ask(config, "grep", TEXT, pattern="MAX_RETRIES")
    assert found.observation_id == sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\nMAX_RETRIES = 5\n")
    assert outcome(config, "grep", "UNTRACKED_THING is there.", pattern="UNTRACKED_THING") == "absent"
    assert outcome(config, "grep", "UNTRACKED_THING is there.", path="untracked.txt") == "corroborates"
    config.write("b/c.toml", "NEW_THING\n")
    assert outcome(config, "grep", "NEW_THING is there.") == "corroborates"


def test_without_a_pattern_lines_with_a_term_match(config: Repository):
    """The terms themselves are searched for."""
    assert ask(config, "grep", "UNTRACKED_THING is there.", path="untracked.txt").observation_id == sha(
        b"UNTRACKED_THING\n"
    )
    assert outcome(config, "grep", "MAX_RETRIES is 5 there.") == "corroborates"


def test_terms_have_to_be_in_one_file(config: Repository):
    """What two files hold between them, neither does."""
    config.write("e.txt", "ALPHA_ONE\n")
    config.write("f.txt", "BETA_TWO\n")
    config.commit("y")
    assert outcome(config, "grep", "ALPHA_ONE goes with BETA_TWO.", pattern="[AB]", regex=True) == "absent"
    assert outcome(config, "grep", "ALPHA_ONE goes with BETA_TWO.") == "absent"


def test_the_file_that_only_the_text_names_is_the_region(config: Repository):
    """A path alone in the text says where to look, in any folder."""
    assert outcome(config, "grep", "c.toml sets MAX_RETRIES to 5.", pattern="MAX_RETRIES") == "corroborates"
    assert outcome(config, "grep", "c.toml sets MAX_RETRIES to 7.", pattern="MAX_RETRIES") == "absent"
    assert outcome(config, "grep", "nowhere.toml sets MAX_RETRIES to 5.", pattern="MAX_RETRIES") == "absent"


def test_a_files_own_name_stands_before_its_lines(config: Repository):
    """As in grep's output: a path in the text that is not the place may be the name of the file that matches."""
    config.write("guide.md", "see d.txt\n")
    config.commit("y")
    assert outcome(config, "grep", "guide.md points to d.txt.", pattern="d.txt") == "corroborates"


def test_links_and_pipes_among_the_tracked_files_are_left_out(config: Repository):
    """A tracked link is not followed; a tracked file that became a pipe does not block."""
    import os

    secret = config.path.parent / "secret"
    secret.write_text("SECRET_THING\n")
    (config.path / "link").symlink_to(secret)
    config.commit("link")
    assert outcome(config, "grep", "SECRET_THING is there.") == "absent"
    (config.path / "d.txt").unlink()
    os.mkfifo(config.path / "d.txt")
    (config.path / "b/c.toml").unlink()
    (config.path / "b/c.toml").symlink_to(secret)
    assert outcome(config, "grep", "SECRET_THING is there.") == "absent"
    assert outcome(config, "grep", TEXT) == "corroborates"
    assert "cannot be read" in reason(config, "grep", "No SECRET_THING is there.", kind="denial")


def test_a_folder_that_is_no_repository_is_searched_whole(folder: Repository):
    """All its regular files, below any folder; `.git` is not entered, links are not followed."""
    folder.write("x/y/z.txt", "DEEP_THING\n")
    folder.write("x/.git/config", "GIT_THING\n")
    (folder.path / "loop").symlink_to(folder.path)
    assert outcome(folder, "grep", "DEEP_THING is there.") == "corroborates"
    assert outcome(folder, "grep", "GIT_THING is there.") == "absent"


def test_odd_names_are_tracked_like_any_other(repository: Repository):
    """Line feeds, quotes and bytes that are no UTF-8 in names do not hide what the files hold."""
    for name in (b"new\nline", b'"q"', b"--x", "日本".encode(), b"caf\xe9"):
        repository.write(name, f"THING_{len(name)}\n")
    repository.commit("x")
    for name in (b"new\nline", b'"q"', b"--x", "日本".encode(), b"caf\xe9"):
        assert outcome(repository, "grep", f"THING_{len(name)} is there.") == "corroborates"


def test_a_bare_repository_is_searched_at_its_head(config: Repository):
    """A mirror's files are those of HEAD's tree."""
    bare = config.bare()
    assert outcome(bare, "grep", TEXT, pattern="MAX_RETRIES") == "corroborates"
    assert outcome(bare, "grep", TEXT, path="b/c.toml", pattern="MAX_RETRIES") == "corroborates"
    assert outcome(bare, "grep", "UNTRACKED_THING is there.") == "absent"
    assert outcome(bare, "grep", "No UNTRACKED_THING is there.", kind="denial") == "corroborates"


# ---------------------------------------------------------------- hashes


def test_a_declared_hash_is_checked(config: Repository):
    """True, made up, or of a state that has changed since."""
    true = sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\n")
    where = {"path": "a.toml", "pattern": "MAX_RETRIES"}
    assert ask(config, "grep", TEXT, declared=true, **where).outcome == "corroborates"
    bare_end = sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7")
    assert ask(config, "grep", TEXT, declared=bare_end, **where).observation_id == bare_end
    found = ask(config, "grep", TEXT, declared=sha(b"no"), **where)
    assert (found.outcome, found.observation_id) == ("unknown-observation", sha(b"no"))
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), pattern="MAX_RETRIES") == "unknown-observation"
    config.touch("a.toml", "2026-11-21T09:30:00")
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), **where) == "absent"
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), pattern="MAX_RETRIES") == "absent"


def test_without_a_pattern_a_hash_refutes_nothing(config: Repository):
    """Nobody can tell what the emitter searched for."""
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), path="a.toml") == "absent"


# ---------------------------------------------------------------- absence


def test_a_file_that_is_not_there_contradicts(config: Repository):
    """The named file is not there; that the tracked files hold nothing is only absent."""
    assert outcome(config, "grep", TEXT, path="nowhere.toml", pattern="MAX_RETRIES") == "contradicts"
    assert outcome(config, "grep", "OTHER_THING is 5.", pattern="OTHER_THING") == "absent"


def test_a_denial_needs_the_whole_region(config: Repository):
    """Borne out when the region does not hold the terms, contradicted when matching lines do."""
    assert outcome(config, "grep", "No OTHER_THING is set.", kind="denial", pattern="OTHER_THING") == "corroborates"
    assert outcome(config, "grep", "No MAX_RETRIES is set.", kind="denial", pattern="MAX_RETRIES") == "contradicts"
    assert outcome(config, "grep", "MAX_RETRIES is not 5.", kind="denial", path="a.toml") == "contradicts"


def test_a_pattern_that_matches_nothing_bears_no_denial_out(config: Repository):
    """The emitter's own pattern must not decide: the terms stand in the region, if not in its matching lines."""
    denial = "MAX_RETRIES is not set."
    assert outcome(config, "grep", denial, kind="denial", path="a.toml", pattern="MAX_RETRIES zzz") == "absent"
    assert outcome(config, "grep", denial, kind="denial", pattern="MAX_RETRIES zzz") == "absent"


def test_binary_files_hold_no_lines(config: Repository):
    """Noise is no evidence; what a denial denies may still stand in it."""
    config.write("blob.bin", b"\0HIDDEN_THING \0 3 ")
    config.commit("y")
    assert outcome(config, "grep", "HIDDEN_THING is there.") == "absent"
    assert reason(config, "grep", "No HIDDEN_THING is there.", kind="denial") == "blob.bin is binary"
    assert outcome(config, "grep", "No OTHER_THING is there.", kind="denial") == "corroborates"
    assert reason(config, "grep", "No OTHER_THING is there.", kind="denial", path="blob.bin") == "blob.bin is binary"


def test_no_files_bear_no_denial_out(repository: Repository):
    """Where nothing is tracked, nothing was looked at."""
    assert reason(repository, "grep", "No OTHER_THING is there.", kind="denial") == "no file was looked at"
    assert outcome(repository, "grep", "OTHER_THING is there.") == "absent"


# ---------------------------------------------------------------- bounds


def test_matches_are_bounded(config: Repository):
    """More matching lines than the bound are no verdict, in one file or over many."""
    config.write("many.txt", "MAX_RETRIES = 5\n" * 20)
    config.commit("y")
    bounds = {"look_matches": 10}
    for where in ({"path": "many.txt"}, {}):
        assert reason(config, "grep", TEXT, pattern="MAX_RETRIES", bounds=bounds, **where) == "more than 10 lines match"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES", bounds=bounds) == "corroborates"


def test_octets_and_time_are_bounded(config: Repository):
    """So are the octets of all files together, and the time."""
    for number in range(5):
        config.write(f"big{number}.txt", "x" * 100_000)
    config.commit("y")
    for place in (config, config.bare()):
        assert "octets" in reason(place, "grep", TEXT, bounds={"look_bytes": 250_000})
        assert "took longer" in reason(place, "grep", TEXT, bounds={"look_timeout": 1e-4})


def test_text_of_every_encoding_is_searched(folder: Repository):
    """UTF-16 with its mark, Latin-1, CRLF: lines are lines."""
    for encoding in ("utf-8", "utf-16", "utf-8-sig", "latin-1"):
        folder.write("file.txt", "eins\r\nGröße_1 = 5\r\n".encode(encoding))
        found = ask(folder, "grep", "`Größe_1` is 5.", path="file.txt", pattern="Größe_1")
        assert found.outcome == "corroborates", encoding
    assert found.observation_id == sha("Größe_1 = 5\r\n".encode("latin-1"))
