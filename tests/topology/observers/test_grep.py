"""substrate.grep on real files."""

from __future__ import annotations

import hashlib
import subprocess

import pytest
from looking import Repository, ask, holds, outcome, reason, try_check

TEXT = "MAX_RETRIES was perhaps set to 5 there."


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
    assert (found.outcome, found.observation_id) == ("terms-present", sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\n"))
    assert found.locator == {"path": "a.toml", "pattern": "MAX_RETRIES"}


def test_the_id_is_what_grep_itself_prints(config: Repository):
    """Whoever pipes grep into sha256sum gets the observation id."""
    for arguments in (["-F", "MAX_RETRIES", "a.toml"], ["-hF", "MAX_RETRIES", "a.toml", "b/c.toml"]):
        printed = subprocess.run(["grep", *arguments], cwd=config.path, capture_output=True, check=True).stdout
        locator = {"path": "a.toml"} if arguments[0] == "-F" else {}
        assert ask(config, "grep", TEXT, pattern="MAX_RETRIES", **locator).observation_id == sha(printed)


def test_terms_have_to_be_in_matching_lines(config: Repository):
    """What stands elsewhere in the file does not count."""
    assert (
        outcome(config, "grep", "MAX_RETRIES was perhaps set to 30 there.", path="a.toml", pattern="MAX_RETRIES")
        == "absent"
    )
    assert outcome(config, "grep", "MAX_RETRIES was perhaps set to 30 there.", path="a.toml", pattern="30") == "absent"


def test_a_pattern_has_to_be_found(config: Repository):
    """A pattern that matches no line leaves nothing to bear the assertion out."""
    found = ask(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES = 6")
    assert (found.outcome, found.observation_id) == ("absent", sha(b""))


def test_a_pattern_has_to_share_a_term(config: Repository):
    """A pattern of the emitter's choice that has nothing to do with the assertion proves nothing."""
    for pattern in ("=", "# limits", " = ", "limits"):
        found = ask(config, "grep", TEXT, path="a.toml", pattern=pattern)
        assert found.outcome == "absent"
    assert (found.detail or {})["reason"] == "terms-missing"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern=".", regex=True) == "absent"


def test_lines_bound_the_region(config: Repository):
    """Only the lines from first to last are searched."""
    assert outcome(config, "grep", TEXT, path="a.toml", lines=[3, 3], pattern="MAX_RETRIES") == "terms-present"
    assert outcome(config, "grep", TEXT, path="a.toml", lines=[4, 5], pattern="MAX_RETRIES") == "absent"
    assert (
        outcome(
            config,
            "grep",
            "MAX_RETRIES was perhaps set to 7 there.",
            path="a.toml",
            lines=[5, 5],
            pattern="MAX_RETRIES",
        )
        == "terms-present"
    )
    assert "names no path" in reason(config, "grep", TEXT, lines=[1, 2], pattern="MAX_RETRIES")


def test_a_fixed_string_is_no_expression(config: Repository):
    """Without `regex` every character stands for itself; with it RE2 reads the pattern."""
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES.*5") == "absent"
    for true in (True, "true"):
        assert outcome(config, "grep", TEXT, path="a.toml", pattern="^MAX_RETRIES.*5$", regex=true) == "terms-present"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="^max_retries", regex=True) == "absent"
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="(?i)^MAX_retries", regex=True) == "terms-present"


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=x)", r"\1", "x" * 1001, "(((a{100}){100}){100})", "[z-a]", "*"])
def test_what_re2_does_not_read_is_unavailable(config: Repository, pattern: str, capfd: pytest.CaptureFixture[str]):
    """A broken expression is no verdict, and RE2 says nothing on standard error about it."""
    assert "pattern" in reason(config, "grep", TEXT, path="a.toml", pattern=pattern, regex=True)
    assert "re2" not in capfd.readouterr().err


def test_an_expression_that_explodes_elsewhere_is_linear_here(config: Repository):
    """(a+)+$ over a long line is answered in time."""
    config.write("evil.txt", "a" * 200_000 + "! a_b\n")
    config.git("add", "evil.txt")
    assert outcome(config, "grep", "It has a_b.", path="evil.txt", pattern="(a+)+$|a_b", regex=True) == "terms-present"


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
    assert reason(config, "grep", "UNTRACKED_THING is there.", path="untracked.txt") == "the file is not tracked"
    config.write("b/c.toml", "NEW_THING\n")
    assert outcome(config, "grep", "NEW_THING is there.") == "terms-present"


def test_without_a_pattern_lines_with_a_term_match(config: Repository):
    """The words themselves are searched for; in all files it is the one with most of them that is seen."""
    found = ask(config, "grep", "MAX_RETRIES was perhaps set to 7 there.", path="a.toml")
    assert found.observation_id == sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\n")
    assert ask(config, "grep", "MAX_RETRIES was perhaps set to 30 there.").observation_id == sha(
        b"MAX_RETRIES = 5\ntimeout = 30\nMAX_RETRIES = 7\n"
    )
    assert outcome(config, "grep", "MAX_RETRIES is 5 there.") == "terms-present"


def test_terms_have_to_be_in_one_file(config: Repository):
    """What two files hold between them, neither does."""
    config.write("e.txt", "ALPHA_ONE\n")
    config.write("f.txt", "BETA_TWO\n")
    config.commit("y")
    assert outcome(config, "grep", "ALPHA_ONE goes with BETA_TWO.", pattern="[AB]", regex=True) == "absent"
    assert outcome(config, "grep", "ALPHA_ONE goes with BETA_TWO.") == "absent"


def test_the_file_that_only_the_text_names_is_the_region(config: Repository):
    """A path alone in the text says where to look, in any folder."""
    assert outcome(config, "grep", "The file c.toml says MAX_RETRIES is 5.", pattern="MAX_RETRIES") == "terms-present"
    assert outcome(config, "grep", "The file c.toml says MAX_RETRIES is 7.", pattern="MAX_RETRIES") == "absent"
    assert outcome(config, "grep", "The file nowhere.toml says MAX_RETRIES is 5.", pattern="MAX_RETRIES") == "absent"


def test_a_files_own_name_stands_before_its_lines(config: Repository):
    """As in grep's output: a path in the text that is not the place may be the name of the file that matches."""
    config.write("guide.md", "see d.txt\n")
    config.commit("y")
    assert outcome(config, "grep", "guide.md points to d.txt.", pattern="d.txt") == "terms-present"


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
    assert outcome(config, "grep", TEXT) == "terms-present"
    assert try_check(config, "grep", "absent(SECRET_THING)")[:3] == ("absent", None, "not-whole")


def test_a_folder_that_is_no_repository_is_searched_whole(folder: Repository):
    """All its regular files, below any folder; `.git` is not entered, links are not followed."""
    folder.write("x/y/z.txt", "DEEP_THING\n")
    folder.write("x/.git/config", "GIT_THING\n")
    (folder.path / "loop").symlink_to(folder.path)
    assert outcome(folder, "grep", "DEEP_THING is there.") == "terms-present"
    assert outcome(folder, "grep", "GIT_THING is there.") == "absent"
    assert holds(folder, "grep", "absent(GIT_THING)") is True
    assert holds(folder, "grep", "contains(DEEP_THING)") is True


def test_odd_names_are_tracked_like_any_other(repository: Repository):
    """Line feeds, quotes and bytes that are no UTF-8 in names do not hide what the files hold."""
    for name in (b"new\nline", b'"q"', b"--x", "日本".encode(), b"caf\xe9"):
        repository.write(name, f"THING_{len(name)}\n")
    repository.commit("x")
    for name in (b"new\nline", b'"q"', b"--x", "日本".encode(), b"caf\xe9"):
        assert outcome(repository, "grep", f"THING_{len(name)} is there.") == "terms-present"


def test_a_bare_repository_is_searched_at_its_head(config: Repository):
    """A mirror's files are those of HEAD's tree."""
    bare = config.bare()
    assert outcome(bare, "grep", TEXT, pattern="MAX_RETRIES") == "terms-present"
    assert outcome(bare, "grep", TEXT, path="b/c.toml", pattern="MAX_RETRIES") == "terms-present"
    assert outcome(bare, "grep", "UNTRACKED_THING is there.") == "absent"
    assert holds(bare, "grep", "absent(UNTRACKED_THING)") is True


# ---------------------------------------------------------------- hashes


def test_a_declared_hash_is_checked(config: Repository):
    """True, made up, or of a state that has changed since."""
    true = sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7\n")
    where = {"path": "a.toml", "pattern": "MAX_RETRIES"}
    assert ask(config, "grep", TEXT, declared=true, **where).outcome == "terms-present"
    bare_end = sha(b"MAX_RETRIES = 5\nMAX_RETRIES = 7")
    assert ask(config, "grep", TEXT, declared=bare_end, **where).observation_id == bare_end
    found = ask(config, "grep", TEXT, declared=sha(b"no"), **where)
    assert (found.outcome, found.observation_id) == ("unknown-observation", sha(b"no"))
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), pattern="MAX_RETRIES") == "unknown-observation"
    config.write("a.toml", "MAX_RETRIES = 5\n", "2026-11-21T09:30:00")
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), **where) == "absent"
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), pattern="MAX_RETRIES") == "absent"


def test_without_a_pattern_a_hash_refutes_nothing(config: Repository):
    """Nobody can tell what the emitter searched for."""
    assert outcome(config, "grep", TEXT, declared=sha(b"no"), path="a.toml") == "terms-present"
    assert holds(config, "grep", "contains(timeout)", declared=sha(b"no"), path="a.toml") is True


# ---------------------------------------------------------------- absence


def test_a_file_that_is_not_there(config: Repository):
    """Its words are nowhere, checks on its content undecided; that it is there is refuted."""
    found = ask(config, "grep", TEXT, path="nowhere.toml", pattern="MAX_RETRIES")
    assert (found.outcome, (found.detail or {})["reason"]) == ("absent", "path-missing")
    assert try_check(config, "grep", "exists(nowhere.toml)").outcome == "contradicts"
    assert try_check(config, "grep", "contains(MAX_RETRIES)", path="nowhere.toml").reason == "path-missing"
    assert outcome(config, "grep", "OTHER_THING is 5.", pattern="OTHER_THING") == "absent"


# ---------------------------------------------------------------- checks


def test_without_a_pattern_the_lines_that_decided_are_what_was_seen(config: Repository):
    """As a search for them would print them."""
    found = ask(config, "grep", "x", checks=["contains(timeout)", 'contains("limits")'], path="a.toml")
    assert found.observation_id == sha(b"# limits\ntimeout = 30\n")
    declared = ask(config, "grep", "x", checks=["contains(timeout)"], path="a.toml", declared=sha(b"other"))
    assert (declared.verified, declared.outcome) == ([0], "absent")  # not bound to the sentence, and nothing else


def test_without_a_path_a_quote_may_stand_in_any_tracked_file(config: Repository):
    """Which one is told, with its lines and its content."""
    found = ask(config, "grep", "`timeout = 30`", checks=['contains("timeout = 30")'])
    (entry,) = (found.detail or {})["checks"]
    assert (entry["holds"], entry["path"], entry["lines"]) == (True, "a.toml", [4, 4])
    assert found.looked_at is not None
    assert found.looked_at.content == sha((config.path / "a.toml").read_bytes())
    assert holds(config, "grep", "contains(UNTRACKED_THING)") is None


def test_without_a_path_absence_is_that_from_all_tracked_files(config: Repository):
    """Where it stands refutes it, in one file that has not changed since."""
    assert holds(config, "grep", "absent(UNTRACKED_THING)") is True
    found = try_check(config, "grep", "absent(timeout)")
    assert (found.outcome, found.where["path"], found.where["lines"]) == ("contradicts", "a.toml", [4, 4])
    config.write("d.txt", "something\n", "2026-11-21T09:30:00")
    assert try_check(config, "grep", "absent(timeout)").outcome == "contradicts"
    config.touch("a.toml", "2026-11-21T09:30:00")
    assert try_check(config, "grep", "absent(timeout)").outcome == "contradicts"
    config.write("a.toml", "timeout = 31\n", "2026-11-21T09:30:00")
    assert try_check(config, "grep", "absent(timeout)")[:3] == ("absent", False, "changed-since")


def test_a_name_that_is_hidden_is_not_absent(config: Repository):
    """In escapes, inside of another word, with a character that nobody sees, or in a file that is no text."""
    for content in (b"x = '\\u0048IDDEN'\n", b"prefixHIDDEN\n", "HID\u200bDEN\n".encode(), b"\0 HIDDEN \0",
                    "HIDDEN".encode("utf-16-le")):  # fmt: skip
        config.write("odd.py", content)
        config.git("add", "odd.py")
        assert holds(config, "grep", "absent(HIDDEN)") is None, content


def test_without_a_path_a_count_is_that_of_all_tracked_files(config: Repository):
    """Summed; it is not whole where one of them is no text and may hold one more."""
    assert holds(config, "grep", "count(MAX_RETRIES, =, 3)") is True
    assert holds(config, "grep", "not count(MAX_RETRIES, =, 2)") is True
    assert try_check(config, "grep", "count(MAX_RETRIES, >, 3)").outcome == "contradicts"
    assert holds(config, "grep", "count(NOWHERE_AT_ALL, =, 0)") is True
    config.write("blob.bin", b"\0MAX_RETRIES")
    config.git("add", "blob.bin")
    assert try_check(config, "grep", "count(MAX_RETRIES, =, 3)")[:3] == ("absent", None, "not-whole")


def test_other_letters_are_not_counted_in_an_unknown_encoding(config: Repository):
    """They may be written otherwise there."""
    config.write("latin.txt", "größe".encode("latin-1"))
    config.git("add", "latin.txt")
    assert try_check(config, "grep", 'count("Maß", =, 0)').reason == "not-whole"
    assert try_check(config, "grep", 'not defines("Maß")').reason == "not-whole"
    assert holds(config, "grep", "count(Mass, =, 0)") is True


def test_a_quote_does_not_run_from_one_file_into_the_next(config: Repository):
    """Nor is it counted there."""
    config.write("e.txt", "alpha")
    config.write("f.txt", "beta")
    config.git("add", "e.txt", "f.txt")
    assert holds(config, "grep", 'contains("alpha beta")') is None
    assert holds(config, "grep", 'count("alpha beta", =, 0)') is True


def test_without_a_path_a_value_is_that_of_the_one_file_that_defines_it(config: Repository):
    """Several that say the same agree, several that do not are ambiguous, and none leaves it open."""
    config.write("a.ini", "[x]\nretries = 5\n", "2026-05-25T12:00:00")
    config.git("add", "a.ini")
    assert holds(config, "grep", "equals(x.retries, 5)") is True
    assert try_check(config, "grep", "equals(x.retries, 6)").outcome == "contradicts"
    assert try_check(config, "grep", "equals(x.nothing, 6)")[:3] == ("absent", None, "not-found")
    config.write("b.ini", "[x]\nretries = 5\n", "2026-05-25T12:00:00")
    config.git("add", "b.ini")
    assert holds(config, "grep", "not equals(x.retries, 6)") is True
    config.write("b.ini", "[x]\nretries = 6\n", "2026-05-25T12:00:00")
    for check in ("equals(x.retries, 5)", "equals(x.retries, 6)", "not equals(x.retries, 5)"):
        assert try_check(config, "grep", check)[:3] == ("absent", None, "ambiguous"), check
    assert holds(config, "grep", "equals(x.retries, 6, path=b.ini)") is True


def test_without_a_path_what_is_false_is_so_only_if_no_file_changed_since(config: Repository):
    """Another one may have said otherwise then."""
    config.write("a.ini", "[x]\nretries = 5\n", "2026-05-25T12:00:00")
    config.git("add", "a.ini")
    assert try_check(config, "grep", "equals(x.retries, 6)").outcome == "contradicts"
    config.touch("d.txt", "2026-11-21T09:30:00")
    assert try_check(config, "grep", "equals(x.retries, 6)").outcome == "contradicts"
    config.write("d.txt", "something\n", "2026-11-21T09:30:00")
    assert try_check(config, "grep", "equals(x.retries, 6)")[:3] == ("absent", False, "changed-since")


def test_the_file_that_the_text_names_is_the_scope(config: Repository):
    """For a check without a path, and where several have the name all of them; of none it is missing."""
    config.write("b/a.toml", "OTHER = 1\n", "2026-05-25T12:00:00")
    config.git("add", "b/a.toml")
    text = "`a.toml` has it."
    assert ask(config, "grep", text, checks=["contains(OTHER)"]).verified == []
    assert ask(config, "grep", "`c.toml` has it.", checks=["contains(timeout)"]).verified == []
    assert ask(config, "grep", "`c.toml` has it.", checks=["contains(MAX_RETRIES)"]).verified == [0]
    missing = ask(config, "grep", "`z.toml` has it.", checks=["contains(MAX_RETRIES)"])
    assert (missing.detail or {})["reason"] == "path-missing"


def test_lines_without_a_file_say_nothing(config: Repository):
    """Lines of all files together are lines of none."""
    for check in ("contains(timeout, lines=4-4)", "absent(timeout, lines=1-2)", "count(timeout, =, 0, lines=1-2)"):
        assert try_check(config, "grep", check)[:3] == ("absent", None, "ambiguous")


def test_a_search_decides_no_syntax(config: Repository):
    """That is for those who read the file."""
    for check in ("calls(f, g)", "uses(f, g)", "imports(os)", 'returns(f, "x")', 'line(a.toml, 1, "limits")',
                  'order("limits", "timeout")'):  # fmt: skip
        assert try_check(config, "grep", check, path="a.toml").reason == "other-substrate"


def test_binary_files_hold_no_lines(config: Repository):
    """Noise is no evidence; what is said to be absent may still stand in it."""
    config.write("blob.bin", b"\0HIDDEN_THING \0 3 ")
    config.commit("y")
    assert outcome(config, "grep", "HIDDEN_THING is there.") == "absent"
    assert holds(config, "grep", "absent(HIDDEN_THING)") is None
    assert holds(config, "grep", "absent(OTHER_THING)") is True
    assert reason(config, "grep", "x", checks=["absent(OTHER_THING)"], path="blob.bin") == "the file is binary"


def test_where_nothing_is_tracked_nothing_is_absent(repository: Repository):
    """Such a repository is not what the operator meant."""
    for text, checks in (("OTHER_THING is there.", None), ("x", ["absent(OTHER_THING)"]), ("x", ["missing(a)"])):
        assert reason(repository, "grep", text, checks=checks) == "no file of this repository is tracked"


# ---------------------------------------------------------------- bounds


def test_matches_are_bounded(config: Repository):
    """More matching lines than the bound are no verdict, in one file or over many."""
    config.write("many.txt", "MAX_RETRIES = 5\n" * 20)
    config.commit("y")
    bounds = {"look_matches": 10}
    for where in ({"path": "many.txt"}, {}):
        assert reason(config, "grep", TEXT, pattern="MAX_RETRIES", bounds=bounds, **where) == (
            "more than 10 lines match, the bound `look_matches`"
        )
    assert outcome(config, "grep", TEXT, path="a.toml", pattern="MAX_RETRIES", bounds=bounds) == "terms-present"


def test_bytes_and_time_are_bounded(config: Repository):
    """So are the bytes of all files together, and the time."""
    for number in range(5):
        config.write(f"big{number}.txt", "x" * 100_000)
    config.commit("y")
    for place in (config, config.bare()):
        for checks in (None, ["absent(OTHER_THING)"]):
            assert "bytes" in reason(place, "grep", TEXT, checks=checks, bounds={"look_bytes": 250_000})
            assert "took longer" in reason(place, "grep", TEXT, checks=checks, bounds={"look_wall": 1e-4})


def test_a_project_of_usual_size_is_searched_whole(config: Repository):
    """Tens of megabytes: `sluice vet` was of no use in this repository once it had grown beyond 16 MB."""
    for number in range(3):
        config.write(f"big{number}.txt", "x" * 8_000_000)
    config.commit("Grow")
    for place in (config, config.bare()):
        assert ask(place, "grep", TEXT, checks=["contains(MAX_RETRIES)"]).verified
        assert ask(place, "grep", TEXT, checks=["absent(OTHER_THING)"]).verified
        assert "`look_bytes`" in reason(place, "grep", TEXT, checks=["absent(x)"], bounds={"look_bytes": 20_000_000})


def test_text_of_every_encoding_is_searched(folder: Repository):
    """UTF-16 with its mark, Latin-1, CRLF: lines are lines."""
    for encoding in ("utf-8", "utf-16", "utf-8-sig", "latin-1"):
        folder.write("file.txt", "eins\r\nGröße_1 = 5\r\n".encode(encoding))
        found = ask(folder, "grep", "`Größe_1` is 5.", path="file.txt", pattern="Größe_1")
        assert found.outcome == "terms-present", encoding
    assert found.observation_id == sha("Größe_1 = 5\r\n".encode("latin-1"))
