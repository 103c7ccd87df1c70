"""The roots that an operator names, and reading below them."""

from __future__ import annotations

import os
import socket
import threading
import time
from itertools import count
from pathlib import Path

import pytest
from looking import Repository, ask, holds, outcome, reason

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.observers.ask import Budget, Missing, ObservationUnavailable
from sluice.topology.observers.roots import Root, Roots


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Two folders, each with a file that says its name."""
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name.txt").write_text(f"{name}_thing\n")
    return {name: tmp_path / name for name in ("app", "lib")}


def test_repo_picks_a_root_by_its_name(places: dict[str, Path]):
    """For every class; the observation says which one it was, and never where it is on this host."""
    for name in ("app", "lib"):
        for substrate in ("code.read", "grep"):
            found = ask(places, substrate, f"`{name}_thing`", checks=[f"contains({name}_thing)"], path="name.txt",
                        repo=name)  # fmt: skip
            assert found.verified == [0]
            assert found.looked_at is not None
            assert (found.looked_at.root, found.locator) == (name, {"path": "name.txt", "repo": name})
            assert str(places[name]) not in str(found)


def test_without_repo_it_is_the_default_or_the_only_one(places: dict[str, Path]):
    """Of several with names none is meant: nobody guesses."""
    check = "contains(app_thing)"
    assert reason(places, "code.read", "x", checks=[check], path="name.txt") == "which-repository"
    assert holds({"app": places["app"]}, "code.read", check, path="name.txt") is True
    assert holds({"default": places["app"], "lib": places["lib"]}, "code.read", check, path="name.txt") is True
    assert holds({"": places["app"], "lib": places["lib"]}, "code.read", check, path="name.txt") is True
    assert holds({"": places["app"]}, "code.read", check, path="name.txt", repo="default") is True


@pytest.mark.parametrize("repo", ["other", "APP", "../app", "", 7, ["app"]])
def test_a_repository_that_is_not_there_is_unavailable(places: dict[str, Path], repo: object):
    """By name, to the letter; a path is none."""
    for check in ("exists(name.txt)", "missing(name.txt)", "absent(x)"):
        assert reason(places, "grep", "x", checks=[check], repo=repo)


def test_of_several_roots_one_that_is_away_keeps_no_other_from_being_looked_at(places: dict[str, Path], tmp_path: Path):
    """It is `unavailable`, and refutes nothing."""
    roots = places | {"gone": tmp_path / "gone"}
    assert holds(roots, "code.read", "contains(app_thing)", path="name.txt", repo="app") is True
    for check in ("exists(a)", "missing(a)"):
        assert reason(roots, "code.read", "x", checks=[check], repo="gone") == "the root is not there"


def test_the_same_question_about_two_repositories_is_two_questions(places: dict[str, Path], repository: Repository):
    """Neither's answer is the other's."""
    for name, expected in (("app", True), ("lib", None)):
        assert holds(places, "code.read", "contains(app_thing)", path="name.txt", repo=name) is expected


@pytest.mark.parametrize("name", ["mcp.brief", "do.sse-count", "unix.peercred"])
@pytest.mark.parametrize("member", ["repo", "ref", "commit"])
def test_beyond_the_root_there_is_no_repository(places: dict[str, Path], name: str, member: str):
    """What is not honoured is answered `unavailable`."""
    assert reason(places, name, "x", **{member: "app"})


def test_a_time_of_a_file_is_of_no_commit(repository: Repository):
    """Git's objects have none."""
    repository.write("a.txt", "x")
    commit = repository.commit("x")
    for locator in ({"ref": "main"}, {"commit": commit}):
        assert "no modification times" in reason(
            repository, "fs.mtime", "x", checks=["modified(a.txt, <, 2030)"], **locator
        )


# ---------------------------------------------------------------- how they are named


def test_roots_are_read_from_words_a_setting_and_a_mapping(tmp_path: Path):
    """`DIR` is the default, `NAME=DIR` has a name; the setting has one a line."""
    assert Roots.parse(["/a", "lib=/b"]).named == {"default": "/a", "lib": "/b"}
    assert Roots.of("/a\nlib=/b").named == {"default": "/a", "lib": "/b"}
    assert Roots.of("lib=/b").named == {"lib": "/b"}
    assert Roots.of(Path("/a")).named == {"default": "/a"}
    assert Roots.of({"": "/a", "x": Path("/b")}).named == {"default": "/a", "x": "/b"}
    assert Roots.of(Roots.of("/a")).named == {"default": "/a"}
    assert Roots.of(Roots.parse(["/a", "lib=/b"]).absolute()).named == {"default": "/a", "lib": "/b"}


def test_a_folder_with_an_equals_sign_is_a_folder(tmp_path: Path):
    """`NAME=DIR` is meant only where the whole is no folder that is there."""
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert Roots.parse([str(odd)]).named == {"default": str(odd)}
    assert Roots.of(str(odd)).named == {"default": str(odd)}
    assert Roots.parse([f"x={odd}"]).named == {"x": str(odd)}
    assert Roots.of(Roots.parse([f"x={odd}", str(tmp_path)]).absolute()).named["x"] == str(odd)
    line = tmp_path / "a\nb"
    line.mkdir()
    assert Roots.of(str(line)).named == {"default": str(line)}


@pytest.mark.parametrize(
    ("given", "what"),
    [(["/a", "/b"], "two roots are without a name"), (["x=/a", "x=/b"], "two roots are called x"),
     (["/a", "default=/b"], "two roots are without a name"), (["x="], "names no folder"), ([], "no root is named"),
     ([""], "names no folder")],
)  # fmt: skip
def test_names_are_unique(given: list[str], what: str):
    """Wrong usage, in one sentence."""
    with pytest.raises(UsageError, match=what):
        Roots.parse(given)


def test_a_mapping_names_what_can_be_a_name():
    """As the command line does."""
    for wrong in ({"a b": "/x"}, {"a/b": "/x"}, {}):
        with pytest.raises(UsageError, match="no name that it can have"):
            Roots.of(wrong)


def test_which_roots_are_there_is_asked_at_the_start(tmp_path: Path):
    """One that is not, or is no folder, is not to be reached."""
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(UnreachableError, match="cannot look at"):
            Roots.of({"a": tmp_path, "b": path}).check()
    Roots.of(tmp_path).check()


def test_what_is_picked():
    """By name, or as the only one that can be meant."""
    assert Roots.parse(["/a", "x=/b"]).pick(None) == "default"
    assert Roots.parse(["x=/b"]).pick(None) == "x"
    for roots, repo in ((Roots.parse(["x=/a", "y=/b"]), None), (Roots.parse(["/a"]), "x")):
        with pytest.raises(ObservationUnavailable):
            roots.pick(repo)


TEXT = "The file holds the word `secret`."


@pytest.fixture
def outside(folder: Repository) -> Path:
    """A secret beside the root."""
    secret = folder.path.parent / "outside"
    secret.mkdir()
    (secret / "file").write_text("secret\n")
    return secret


@pytest.mark.parametrize(
    "path",
    ["../outside/file", "a/../../outside/file", "a/../b", "..", "./..", "/etc/passwd", "//etc/passwd", "a/..", "../"],
)
@pytest.mark.parametrize("name", ["code.read", "grep", "fs.mtime"])
def test_no_path_leads_out(folder: Repository, outside: Path, name: str, path: str):
    """Absolute paths and `..`, wherever they lead, are unavailable before any other test."""
    folder.write("b", "secret")
    assert reason(folder, name, TEXT, path=path) == "the path lies outside the root"


@pytest.mark.parametrize("path", ["link", "link/file", "dir/inner/file", "dir/up", "inside"])
@pytest.mark.parametrize("name", ["code.read", "grep", "fs.mtime"])
def test_no_symbolic_link_is_followed(folder: Repository, outside: Path, name: str, path: str):
    """A link to a file or folder is unavailable, even one that stays inside the root."""
    folder.write("b", "secret")
    (folder.path / "link").symlink_to(outside if "/" in path else outside / "file")
    (folder.path / "dir").mkdir()
    (folder.path / "dir/inner").symlink_to(outside)
    (folder.path / "dir/up").symlink_to("../b")
    (folder.path / "inside").symlink_to("b")
    assert reason(folder, name, TEXT, path=path) == "symbolic links are not followed"


@pytest.mark.parametrize("path", [".git/config", ".git/HEAD", "sub/.git/config", ".GIT/config", ".git"])
def test_what_git_keeps_for_itself_is_never_read(changelog: Repository, path: str):
    """`.git` is closed, however it is written and wherever it stands."""
    assert reason(changelog, "code.read", "It holds `bare`.", path=path) == "what git keeps for itself is not looked at"


def test_a_git_directory_of_another_name_is_closed_as_well(folder: Repository):
    """A repository whose git directory lies inside the root under another name does not open it."""
    folder.git("init", "--quiet", "--separate-git-dir", str(folder.path / "keep"))
    folder.write("file", "x")
    folder.git("add", "file")
    assert (
        reason(folder, "code.read", "It holds `bare`.", path="keep/config")
        == "what git keeps for itself is not looked at"
    )


@pytest.mark.parametrize("path", ["a\0b", "\0"])
@pytest.mark.parametrize("name", ["code.read", "grep", "fs.mtime", "git.log"])
def test_a_nul_is_no_place(changelog: Repository, name: str, path: str):
    """A name with a NUL is unavailable, before any other test."""
    assert "NUL" in reason(changelog, name, TEXT, path=path)


@pytest.mark.parametrize("path", [".", "./", "x" * 300, "x/" * 3000 + "y", "a" * 5000])
def test_a_path_that_names_no_file_is_unavailable(folder: Repository, path: str):
    """The root itself, and names longer than any system takes, are no files."""
    folder.write("file", "x")
    assert reason(folder, "code.read", TEXT, path=path) == "the path names no file"


def test_a_path_that_is_no_text_is_unavailable(folder: Repository):
    """A locator is a stranger's JSON: whatever stands in it, the answer is a reason."""
    folder.write("file", "x")
    for path in (7, ["a"], {"a": 1}, "", True):
        assert reason(folder, "code.read", TEXT, path=path) == "the locator's path is no text"


def test_a_folder_is_no_file(folder: Repository):
    """Of a folder there is nothing to read."""
    folder.write("dir/file", "secret")
    for name in ("code.read", "grep", "fs.mtime"):
        assert reason(folder, name, TEXT, path="dir") == "the path names no regular file"


def test_pipes_sockets_and_devices_do_not_block(folder: Repository):
    """A FIFO without a writer would hold a plain open for ever; it is unavailable at once, and so is a socket."""
    folder.write("file", "x")
    os.mkfifo(folder.path / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder.path / "socket"))
        for path in ("fifo", "socket"):
            for name in ("code.read", "grep", "fs.mtime"):
                assert reason(folder, name, TEXT, path=path) == "the path names no regular file"


def test_an_absolute_path_below_the_root_is_taken(folder: Repository):
    """Whoever names the file from the top of the system means the same file."""
    file = folder.write("file", "secret")
    assert outcome(folder, "code.read", TEXT, path=str(file)) == "terms-present"
    assert holds(folder, "code.read", "contains(secret)", path=str(file)) is True
    assert reason(folder, "code.read", TEXT, path=str(folder.path) + "-other/file") == "the path lies outside the root"


def test_the_root_itself_may_be_a_link(folder: Repository, tmp_path: Path):
    """The root is the operator's word; only what is below it is confined."""
    folder.write("file", "secret")
    (tmp_path / "root").symlink_to(folder.path)
    assert holds(tmp_path / "root", "code.read", "contains(secret)", path="file") is True


def test_a_file_that_may_not_be_read_is_unavailable(folder: Repository, monkeypatch: pytest.MonkeyPatch):
    """No permission is no verdict."""
    folder.write("file", "secret")
    real = os.open

    def refuse(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        if path == "file":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    assert reason(folder, "code.read", TEXT, path="file") == "the file cannot be read: Permission denied"


def test_a_root_that_is_not_there_is_said_to_be_unreachable(tmp_path: Path):
    """A missing root is the operator's trouble, not the emitter's: an error with exit status 3."""
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(UnreachableError, match="cannot look at") as error:
            ask(path, "code.read", TEXT, path="file")
        assert error.value.exit_status == 3


def test_a_folder_swapped_for_a_link_never_leads_out(folder: Repository, outside: Path):
    """While a folder and a link to the outside change places, a look finds the inside, nothing, or a refusal."""
    inner = folder.path / "dir"
    inner.mkdir()
    (inner / "file").write_text("harmless\n")
    (folder.path / "away").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            os.rename(inner, folder.path / "parked")
            os.rename(folder.path / "away", inner)
            os.rename(inner, folder.path / "away")
            os.rename(folder.path / "parked", inner)

    thread = threading.Thread(target=swap)
    thread.start()
    root = Root(folder.path)
    seen: set[bytes] = set()
    try:
        end = time.monotonic() + 30  # on a busy machine the other thread may have its turn at every look
        for turn in count():
            if turn >= 2000 and (b"harmless\n" in seen or time.monotonic() > end):
                break
            try:
                seen.add(root.read("dir/file", None, Budget(5, 1000)).data)
            except (Missing, ObservationUnavailable):
                seen.add(b"")
    finally:
        done.set()
        thread.join()
        root.close()
    assert seen <= {b"harmless\n", b""}
    assert b"harmless\n" in seen


def test_a_file_that_changes_while_it_is_read_is_not_judged(folder: Repository, monkeypatch: pytest.MonkeyPatch):
    """Half of the old and half of the new is no content that ever stood there."""
    file = folder.write("file", "secret\n" * 20_000)
    real, once = os.read, [True]

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if once and data.startswith(b"secret"):
            once.clear()
            file.write_text("changed\n" * 30_000)
        return data

    monkeypatch.setattr(os, "read", read)
    assert reason(folder, "code.read", TEXT, path="file") == "the file changed while it was read"


def test_names_of_every_kind_are_opened(folder: Repository):
    """Spaces, line feeds, quotes, leading dashes and other scripts are names like any other."""
    for path in (
        "a b",
        "new\nline",
        '"quoted"',
        "--option",
        "-rf",
        "Müller/日本語.md",
        "$(id)",
        "*",
        "a\\b",
        ":(top)x",
    ):
        folder.write(path, "secret")
        assert outcome(folder, "code.read", TEXT, path=path) == "terms-present"
        assert holds(folder, "grep", "contains(secret)", path=path, pattern="secret") is True
        assert outcome(folder, "fs.mtime", "It was written after 2020.", path=path) == "absent"


def test_no_descriptor_stays_open(folder: Repository):
    """However a look ends, it leaves nothing open behind it."""
    folder.write("dir/file", "secret")
    os.mkfifo(folder.path / "fifo")
    ask(folder, "code.read", TEXT, path="dir/file")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("dir/file", "fifo", "nowhere", "dir", "dir/file/x", "../x"):
        ask(folder, "code.read", TEXT, path=path)
        ask(folder, "grep", TEXT, path=path)
        ask(folder, "fs.mtime", TEXT, path=path)
    assert len(os.listdir("/proc/self/fd")) == before
