"""Which files may be looked at: tracked ones, and none whose name is denied; in whichever tree."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from looking import Repository, ask, holds, outcome, reason, try_check

from sluice.codecs.errors import UsageError
from sluice.streams.judging.checks import parse_check
from sluice.topology.observers.ask import decides
from sluice.topology.observers.listings import NAMES, Denied
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.parsing import _shared
from sluice.topology.observers.root_set import why_blind
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings

BELOW = ("code.read", "grep", "git.log", "fs.mtime")
DENIED = "a file of that name is never looked at"


@pytest.fixture
def instruments() -> Iterator[ObserverRegistry]:
    """What is kept between looks."""
    with closing(ObserverRegistry(Settings())) as made:
        yield made


def checks_on(path: str) -> tuple[str, ...]:
    """A check of each kind that names a path."""
    return (f"exists({path})", f"missing({path})", f"contains(x, path={path})", f"absent(x, path={path})",
            f"equals(x, 1, path={path})", f"line({path}, 1, x)", f"modified({path}, <, 2030)",
            f"last_changed({path}, <, 2030)")  # fmt: skip


def reasons(place: Repository, check: str, names: Sequence[str] = BELOW) -> set[str]:
    """Why each of the classes that decide a check cannot look."""
    deciding = [name for name in names if decides(f"substrate.{name}", parse_check(check))]
    assert deciding or names != BELOW, check
    found = [ask(place, name, "x", checks=[check]) for name in deciding]
    why = {(one.detail or {}).get("reason", "") for one in found if one.outcome == "unavailable"}
    assert not any(one.verified or one.refuted for one in found), found
    return why


# ---------------------------------------------------------------- closed places


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../secret", "the path lies outside the root"),
        ("/etc/passwd", "the path lies outside the root"),
        (".git/HEAD", "what git keeps for itself is not looked at"),
        ("src/.GIT/x", "what git keeps for itself is not looked at"),
        ("link.md", "symbolic links are not followed"),
        ("out/passwd", "the file is not tracked"),
        ("loose/file.txt", "the file is not tracked"),
        (".env", DENIED),
        (".ENV.local", DENIED),
        ("deep/.env.d/x", DENIED),
        ("server.pem", DENIED),
        ("id_ed25519", DENIED),
        ("Credentials.json", DENIED),
        ("secrets.yaml", DENIED),
        ("src/*.py", "the path is a pattern, not a file"),
        ("src/??.py", "the path is a pattern, not a file"),
        ("src/{a,b}.py", "the path is a pattern, not a file"),
    ],
)
def test_a_closed_place_is_unavailable_for_every_check_and_class(changelog: Repository, path: str, why: str):
    """Whether the check names it or the locator, whatever the check would come to, and before any other test."""
    (changelog.path / "link.md").symlink_to("CHANGELOG.md")
    for name in (".env", "server.pem", "id_ed25519", "secrets.yaml"):
        changelog.write(name, "x = 1\n")
    changelog.commit("More")
    (changelog.path / "out").symlink_to("/etc")
    changelog.write("loose.txt", "x\n")
    changelog.write("loose/file.txt", "x\n")
    for check in checks_on(path):
        quoted = check.replace(path, f'"{path}"')
        assert reasons(changelog, quoted) <= {why}, quoted
    for name in BELOW:
        assert reason(changelog, name, "It has an `x` there now.", path=path, declared="sha256:0badcafe12") == why
        assert reason(changelog, name, "x", checks=["missing(nowhere)"], path=path) == why


def test_untracked_and_missing_differ_only_for_who_tracks(changelog: Repository):
    """What is not there is missing; of what is there untracked nobody learns more than that; `git add` opens it."""
    assert holds(changelog, "code.read", "missing(loose.txt)") is True
    changelog.write("loose.txt", "x\n")
    assert holds(changelog, "code.read", "exists(loose.txt)") is True
    assert try_check(changelog, "code.read", "missing(loose.txt)").holds is False
    assert reason(changelog, "code.read", "x", checks=["absent(y, path=loose.txt)"]) == "the file is not tracked"
    changelog.git("add", "loose.txt")
    assert holds(changelog, "code.read", "exists(loose.txt)") is True
    # HEAD is history: that no commit has it says nothing of what stands.
    for check in ("missing(loose.txt)", "exists(loose.txt)"):
        assert try_check(changelog, "git.log", check)[1:3] == (None, "not-committed")
    changelog.git("rm", "--cached", "--quiet", "loose.txt")
    for ref in (None, "HEAD", "main"):
        given = {} if ref is None else {"ref": ref}
        for name in ("git.log", "code.read", "grep"):
            on_trees = ("missing(loose.txt)", "exists(loose.txt)") if ref is not None or name == "git.log" else ()
            for check in (*on_trees, "absent(y, path=loose.txt)"):
                if name != "git.log" or not check.startswith("absent"):
                    assert reason(changelog, name, "x", checks=[check], **given) == "the file is not tracked"


def test_a_tracked_file_that_was_removed_from_disk_is_missing(changelog: Repository):
    """The work tree is what is looked at; the history has it still."""
    (changelog.path / "CHANGELOG.md").unlink()
    assert holds(changelog, "code.read", "missing(CHANGELOG.md)") is True
    assert try_check(changelog, "git.log", "exists(CHANGELOG.md)")[1:3] == (None, "not-committed")
    assert holds(changelog, "git.log", "exists(CHANGELOG.md)", ref="HEAD") is True
    # Its folder was written just now: it may have been there when the annotation says.
    assert try_check(changelog, "code.read", "exists(CHANGELOG.md)")[:3] == ("absent", False, "changed-since")


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_missing(changelog: Repository):
    """It is tracked, and nobody looked at it."""
    changelog.git("sparse-checkout", "set", "--no-cone", "/src/")
    assert not (changelog.path / "CHANGELOG.md").exists()
    for check in ("missing(CHANGELOG.md)", "exists(CHANGELOG.md)", "absent(x, path=CHANGELOG.md)"):
        assert reason(changelog, "code.read", "x", checks=[check]) == "the file is not checked out"
    assert try_check(changelog, "grep", "absent(nowhere)").reason == "not-whole"


def test_a_submodule_is_none_of_ours(changelog: Repository, tmp_path: Path):
    """Neither it nor what lies in it."""
    inner = Repository(changelog.path / "vendor")
    inner.path.mkdir()
    inner.git("init", "--quiet")
    inner.write("x.txt", "x\n")
    inner.commit("Inner")
    changelog.commit("With a submodule")
    for place in (changelog, changelog.bare()):
        assert reason(place, "code.read", "x", checks=["exists(vendor)"]) == "the path names no regular file"
        for check in ("exists(vendor/x.txt)", "missing(vendor/y.txt)"):
            assert reason(place, "code.read", "x", checks=[check]) == "the path lies in a submodule"


def test_a_name_in_another_form_of_unicode_is_the_same_name(repository: Repository):
    """Checks are in NFKC; a file system need not be. A denied name stays denied in any form."""
    repository.write("u\u0308ber/re\u0301sume\u0301.txt", "hello\n")
    repository.write(".\uff45nv", "x\n")
    repository.commit("x")
    for place in (repository, repository.bare()):
        found = try_check(place, "code.read", 'contains(hello, path="\u00fcber/r\u00e9sum\u00e9.txt")')
        assert (found.holds, found.where["path"]) == (True, "u\u0308ber/re\u0301sume\u0301.txt")
        assert reason(place, "code.read", "x", checks=['exists(".\uff45nv")']) == DENIED


def test_an_absolute_path_below_the_root_is_reported_relative(changelog: Repository):
    """The host's own path gets into no observation."""
    path = changelog.path / "CHANGELOG.md"
    found = ask(changelog, "code.read", "`parse_time`", checks=[f"contains(parse_time, path={path})"])
    assert found.looked_at is not None
    assert found.looked_at.path == "CHANGELOG.md"
    assert str(changelog.path) not in str((found.detail or {})["checks"][0]["path"])


# ---------------------------------------------------------------- denied names


def test_what_is_never_looked_at_is_left_out_of_a_search(repository: Repository):
    """Nothing is found in it, and so nothing is absent from all files."""
    repository.write("a.py", "TOKEN = 1\n")
    repository.write(".env", "HIDDEN_TOKEN=1\n")
    repository.commit("x")
    for place in (repository, repository.bare()):
        assert holds(place, "grep", "contains(HIDDEN_TOKEN)") is None
        for check in ("absent(HIDDEN_TOKEN)", "absent(OTHER_TOKEN)", "count(OTHER_TOKEN, =, 0)"):
            assert try_check(place, "grep", check)[:3] == ("absent", None, "not-whole"), check
        assert try_check(place, "grep", "absent(TOKEN)").holds is False
        assert outcome(place, "grep", "HIDDEN_TOKEN is in there, is it not.") == "absent"


def test_so_it_is_in_a_folder(folder: Repository):
    """That is no repository."""
    folder.write("a.txt", "TOKEN\n")
    assert holds(folder, "grep", "absent(OTHER)") is True
    folder.write("sub/id_rsa", "OTHER\n")
    assert try_check(folder, "grep", "absent(OTHER)").reason == "not-whole"
    assert reason(folder, "code.read", "x", checks=["exists(sub/id_rsa)"]) == DENIED


def test_the_operator_can_deny_more_names(changelog: Repository):
    """As shell patterns of one name; letter case does not matter."""
    bounds = {"denied_names": "*.sql, Notes?.txt"}
    for path in ("dump.SQL", "a/b.sql/c", "notes1.txt"):
        assert reason(changelog, "code.read", "x", checks=[f"exists({path})"], bounds=bounds) == DENIED
    assert holds(changelog, "code.read", "missing(notes.txt)", bounds=bounds) is True
    assert reason(changelog, "code.read", "x", checks=["exists(.env)"], bounds=bounds) == DENIED
    with pytest.raises(UsageError, match="denied_names holds a path"):
        ObserverRegistry(Settings(denied_names="a/b"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".env", True), (".env.production", True), ("a/.envrc", True), ("env", False), ("my.env", False),
        ("x.pem", True), ("pem", False), ("x.pem.txt", False), ("a/x.KEY", True), ("keys.py", False),
        ("id_rsa", True), ("grid_x", False), ("secrets.py", True), ("secrets", False), ("mysecrets.py", False),
        (".ssh/config", True), ("a/.aws/b", True), ("credentials", True), ("CREDENTIALS.md", True),
        ("x\n.env", False), ("a\n/.env", True),
    ],
)  # fmt: skip
def test_which_names_are_denied(path: str, expected: bool):
    """Each name on the path is held against the whole pattern."""
    assert Denied().holds(path) is expected


def test_a_pattern_never_runs_over_a_slash():
    """`a*` denies names that begin so, and nothing below another folder."""
    denied = Denied((*NAMES, "a*z", "[bc]x", "q?"))
    assert [denied.holds(one) for one in ("abz", "a/z", "ab/cz", "bx", "dx", "qq", "q/x", "q")] == [
        True, False, False, True, False, True, False, False
    ]  # fmt: skip


# ---------------------------------------------------------------- empty roots


def test_an_empty_root_refutes_nothing(folder: Repository, repository: Repository):
    """A volume that is not mounted looks like one: `unavailable`, whatever is asked."""
    (folder.path / "lost+found").mkdir()
    for place, why in ((folder, "the root is empty"), (repository, "no file of this repository is tracked")):
        for name in ("code.read", "grep", "fs.mtime"):
            for check in ("exists(a.txt)", "missing(a.txt)", "absent(x)", "contains(x, path=a.txt)"):
                assert ask(place, name, "x", checks=[check]).outcome in ("unavailable", "absent")
                assert reasons(place, check, (name,)) <= {why}
            assert reason(place, name, "x", checks=["missing(a.txt)"], path="a.txt") == why


def test_an_observer_that_can_see_nothing_is_not_ready(
    folder: Repository, repository: Repository, instruments: ObserverRegistry, tmp_path: Path
):
    """It says which root, and why; it is ready once there is something."""
    settings = Settings()

    def why(**roots: Path) -> str:
        return why_blind(Roots.of(dict(roots)), instruments, settings)

    assert why(default=folder.path) == "the root is empty"
    assert why(default=tmp_path / "nowhere") == "the root is not there"
    assert why(default=repository.path) == "no file of this repository is tracked"
    folder.write("a.txt", "x")
    assert why(default=folder.path) == ""
    assert why(default=folder.path, lib=repository.path) == "lib: no file of this repository is tracked"
    repository.write("a.txt", "x")
    repository.commit("x")
    assert why(default=folder.path, lib=repository.path) == ""
    assert why(default=repository.bare().path) == ""


# ---------------------------------------------------------------- what is kept


def test_what_is_kept_never_hides_a_change(repository: Repository, instruments: ObserverRegistry):
    """Of a file, of the index, of HEAD, of a branch: the next look sees what is there then."""
    repository.write("a.txt", "first\n")
    repository.commit("First")

    def held(check: str, name: str = "code.read", **locator: str) -> object:
        # Another assertion each time: answers to the very same question may be kept.
        asked = f"{check} {time.monotonic_ns()}"
        found = ask(repository, name, asked, checks=[check], instruments=instruments, **locator)
        (one,) = (found.detail or {}).get("checks") or [{"holds": found.outcome}]
        return one["holds"]

    assert held("contains(first)", path="a.txt") is True
    time.sleep(0.15)  # so that the file's state is settled, and kept
    assert held("contains(first)", path="a.txt") is True
    for _ in range(5):
        repository.write("a.txt", "other\n")
        assert held("contains(other)", path="a.txt") is True
        assert held("contains(other)", "grep") is True
        repository.write("a.txt", "first\n")
        assert held("contains(first)", path="a.txt") is True
        assert held("contains(first)", "grep") is True
    repository.write("b.txt", "second\n")
    assert held("contains(second)", path="b.txt") == "unavailable"
    repository.git("add", "b.txt")
    assert held("exists(b.txt)") is True
    assert held("missing(b.txt)", "git.log") is None
    repository.commit("Second")
    assert held("exists(b.txt)", "git.log") is True
    assert held("exists(b.txt)", ref="main") is True
    repository.git("rm", "--quiet", "b.txt")
    repository.commit("Third")
    assert held("missing(b.txt)") is True
    assert held("missing(b.txt)", "git.log") is True
    assert held("missing(b.txt)", ref="main") is True


def test_a_file_that_is_rewritten_in_one_instant_is_not_kept(folder: Repository, instruments: ObserverRegistry):
    """Same size, same times: the state does not tell, so what is young is read again."""
    file = folder.write("a.txt", "one\n")
    state = file.stat()
    for content in ("two\n", "one\n", "six\n"):
        file.write_text(content)
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
        found = ask(folder, "code.read", content, checks=[f"contains({content.strip()})"], path="a.txt",
                    instruments=instruments)  # fmt: skip
        assert found.verified == [0], content


def test_another_repository_in_the_same_place_is_another(repository: Repository, instruments: ObserverRegistry):
    """A clone made anew: nothing of the old one is left."""
    repository.write("a.txt", "old\n")
    old = repository.commit("Old")
    assert ask(repository, "git.log", "1", checks=["contains(old)"], path="a.txt", instruments=instruments).verified
    repository.path.rename(repository.path.with_name("moved"))
    repository.path.mkdir()
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.write("a.txt", "new\n")
    repository.commit("New")
    assert ask(repository, "git.log", "2", checks=["contains(new)"], path="a.txt", instruments=instruments).verified
    found = ask(repository, "git.log", "3", checks=[f"commit({old})"], instruments=instruments)
    assert not found.verified


def test_the_same_state_gives_the_same_answer_cold_and_warm(changelog: Repository, instruments: ObserverRegistry):
    """What is kept counts against the bounds as what is read does."""
    changelog.write("big.txt", "x" * 60_000)
    changelog.write("bigger.txt", "x" * 60_000)
    changelog.commit("Big")
    settings = Settings(look_bytes=100_000)
    with closing(ObserverRegistry(settings)) as warm:
        for place in (changelog, changelog.bare()):
            for number in range(3):
                found = ask(place, "grep", f"x {number}", checks=["absent(nowhere)"], instruments=warm,
                            bounds={"look_bytes": 100_000})  # fmt: skip
                assert found.outcome == "unavailable", number


def test_no_process_and_no_descriptor_is_left_open(changelog: Repository):
    """When the instruments are closed."""
    with closing(ObserverRegistry(Settings())) as made:
        ask(changelog, "git.log", "x", checks=["exists(src)"], instruments=made)
        before = len(os.listdir("/proc/self/fd"))
    ask(changelog, "git.log", "x", checks=["exists(src)"])
    after = len(os.listdir("/proc/self/fd"))
    assert after < before
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.exists():
        parsing = [process._running[0].pid for process in _shared.values() if process._running]
        assert set(children.read_text().split()) <= set(map(str, parsing))


def closed_to_us(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Has the system refuse to open files of these names, whoever runs the tests."""
    real = os.open

    def refusing(path: str | bytes | os.PathLike[str], *arguments: int, **more: int | None) -> int:
        if os.path.basename(os.fsdecode(path)) in names:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, "open", refusing)


def test_a_work_tree_whose_tracked_files_are_all_gone_refutes_nothing(
    repository: Repository, instruments: ObserverRegistry
):
    """Its volume is not mounted, or it was never checked out: nobody deleted every file; git's objects are asked."""
    repository.write("a.txt", "x")
    repository.write("src/b.txt", "y")
    repository.commit("x")
    roots, why = Roots.of(repository.path), "no tracked file is on disk"
    (repository.path / "a.txt").unlink()
    assert outcome(repository, "code.read", "`a.txt` exists.", checks=["exists(a.txt)"]) == "absent"
    assert why_blind(roots, instruments, Settings()) == ""

    (repository.path / "src" / "b.txt").unlink()
    (repository.path / "lost+found").mkdir()
    for name in ("code.read", "grep"):
        for check in ("exists(a.txt)", "missing(a.txt)", "missing(c.txt)", "absent(x, path=a.txt)"):
            assert reasons(repository, check, (name,)) <= {why}
    for name in ("code.read", "grep", "fs.mtime"):
        assert reason(repository, name, "There is no `a.txt`.", path="a.txt") == why
    assert why_blind(roots, instruments, Settings()) == why
    assert holds(repository, "git.log", "exists(a.txt)") is True


def test_an_observer_whose_files_are_all_closed_to_it_is_not_ready(
    folder: Repository, repository: Repository, instruments: ObserverRegistry, monkeypatch: pytest.MonkeyPatch
):
    """What it may not look at does not count; one file that it can read is enough."""
    for place in (folder, repository):
        place.write("a.txt", "x")
        place.write("secrets.toml", "x")
    repository.commit("x")
    closed_to_us(monkeypatch, "a.txt")

    for place in (folder, repository):
        assert why_blind(Roots.of(place.path), instruments, Settings()) == "no file of the root can be read"
        assert reasons(place, "absent(zzz, path=a.txt)", ("code.read",)) == {
            "the file cannot be read: Permission denied"
        }
    folder.write("b.txt", "x")
    assert why_blind(Roots.of(folder.path), instruments, Settings()) == ""


def test_a_root_that_is_closed_to_us_is_unavailable_and_not_ready(
    folder: Repository, repository: Repository, instruments: ObserverRegistry, monkeypatch: pytest.MonkeyPatch
):
    """Which is told apart from one that is not there; the host's path is in neither sentence."""
    folder.write("a.txt", "x")
    repository.write("a.txt", "x")
    roots = {"app": repository.path, "lib": folder.path}
    closed_to_us(monkeypatch, folder.path.name)

    assert why_blind(Roots.of(folder.path), instruments, Settings()) == "the root cannot be read"
    for check in ("exists(a.txt)", "missing(a.txt)", "absent(x, path=a.txt)"):
        assert reason(roots, "code.read", "x", checks=[check], repo="lib") == "the root cannot be read"
