"""Nothing leads an observer out of the roots that the operator named, whatever is written into a repository."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from looking import Repository as Repo
from looking import ask, holds, reason

from sluice.topology.observers.ask import Budget, ObservationUnavailable
from sluice.topology.observers.enclosure import IN_QUOTES, LEADS_OUT, NO_FILE, TOO_DEEP, TOO_LONG, Enclosure
from sluice.topology.observers.git import Git
from sluice.topology.observers.nameable_files import repositories_of, tracked
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.root_set import why_blind
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings
from sluice.topology.vet.sources import roots_around

CLASSES = ("code.read", "grep", "git.log", "fs.mtime")
CHECKS = ("contains(x, path=CHANGELOG.md)", "absent(nowhere)", "missing(nowhere)", "exists(CHANGELOG.md)",
          "modified(CHANGELOG.md, <, 2030)", "last_changed(CHANGELOG.md, <, 2030)")  # fmt: skip


@pytest.fixture
def private(tmp_path: Path) -> Repo:
    """Somebody else's repository, which the operator did not name."""
    path = tmp_path / "private"
    path.mkdir()
    made = Repo(path)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.write("secret.txt", "the launch code is 12345\n")
    made.commit("Private")
    return made


def refused(root: Path | dict[str, Path], why: str = LEADS_OUT, **locator: str) -> None:
    """Nothing is told of a root, to no class and by no check."""
    for name in CLASSES:
        assert reason(root, name, "It has an `x` there now.", **locator) == why
        for check in CHECKS:
            assert reason(root, name, "x", checks=[check], **locator) == why


Way = Callable[[Repo, Repo], None]


def written(path: str, text: str, *more: tuple[str, str]) -> Way:
    """Writes files; a `.git` in place of the folder."""

    def way(one: Repo, other: Repo) -> None:
        if path == ".git":
            shutil.rmtree(one.path / path)
        for name, content in ((path, text), *more):
            one.write(name, content.format(one=one.path, other=other.path, name=other.path.name))

    return way


def link(path: str, to: str = "") -> Way:
    """Puts a link to the other repository in place of what is at a path."""

    def way(one: Repo, other: Repo) -> None:
        place = one.path / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        place.symlink_to(other.path / (to or path))

    return way


def included(path: str, key: str = "include.path", more: str = "") -> Way:
    def way(one: Repo, other: Repo) -> None:
        one.git("config", key, path.format(one=one.path, other=other.path, name=other.path.name))
        if more:
            one.write("more.cfg", more.format(other=other.path))

    return way


def linked_object(one: Repo, other: Repo) -> None:
    blob = other.git("rev-parse", "HEAD:secret.txt")
    target = one.path / ".git/objects" / blob[:2]
    target.mkdir(exist_ok=True)
    (target / blob[2:]).symlink_to(other.path / ".git/objects" / blob[:2] / blob[2:])


LENDERS = ".git/objects/info/alternates"
WAYS: dict[str, Way] = {
    "a .git file": written(".git", "gitdir: {other}/.git\n"),
    "a .git file upwards": written(".git", "gitdir: ../{name}/.git\n"),
    "a .git link": link(".git"),
    "a common folder": written(".git/commondir", "{other}/.git\n"),
    "alternates": written(LENDERS, "{other}/.git/objects\n"),
    "alternates behind a comment": written(LENDERS, "# mine\n../../../{name}/.git/objects"),
    "alternates of alternates": written(
        LENDERS, "{one}/more/objects\n", ("more/objects/info/alternates", "{other}/.git/objects\n")
    ),
    "linked objects": link(".git/objects"),
    "linked packs": link(".git/objects/pack"),
    "a linked object": linked_object,
    "a linked index": link(".git/index"),
    "linked references": link(".git/refs"),
    "linked rules": link(".git/info/exclude", "secret.txt"),
    "included configuration": included("{other}/.git/config"),
    "included upwards": included("../../{name}/.git/config"),
    "included from a home": included("~/.gitconfig"),
    "included on a condition": included("/etc/passwd", "includeIf.gitdir:/never/.path"),
    "included by what is included": included(
        "{one}/more.cfg", more="[core] bare = false\n[a] [InClude]\n\tpath = {other}/x\n"
    ),
    "an included device": included("/dev/zero"),
    "configuration of the work tree": written(".git/config.worktree", "[include]\npath = {other}/.git/config\n"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_repository_that_leads_out_is_not_looked_at(changelog: Repo, private: Repo, way: str):
    """Whichever way it takes; and the observer says of itself that it is not ready."""
    WAYS[way](changelog, private)
    shut(changelog, LEADS_OUT)


def shut(repository: Repo, why: str) -> None:
    refused(repository.path, why)
    with closing(ObserverRegistry(Settings())) as instruments:
        assert why_blind(Roots.of(str(repository.path)), instruments, Settings()) == why
        assert tracked(str(repository.path), Settings(), instruments) == frozenset()


def including(path: str, make: Callable[[Path], object] = lambda path: None) -> Callable[[Path], None]:
    """Makes a file of configuration include a path, and what stands there, relative to the git directory."""

    def write(folder: Path) -> None:
        with (folder / "config").open("a") as config:
            config.write(f"[include]\n\tpath = {path}\n")
        make(folder / path)

    return write


def in_place_of(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return write


def each_other(path: Path) -> None:
    path.write_text("[include]\n\tpath = config\n")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("write", "why"),
    [
        (including("pipe", os.mkfifo), NO_FILE),
        (including("folder", Path.mkdir), NO_FILE),
        (including("info"), NO_FILE),
        (including("to-a-pipe", lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe"))), NO_FILE),
        *((in_place_of(name, os.mkfifo), NO_FILE) for name in ("config", "HEAD", "index", "packed-refs", "shallow")),
        (in_place_of("info/attributes", os.mkfifo), NO_FILE),
        (in_place_of("objects/info/alternates", os.mkfifo), NO_FILE),
        (in_place_of("index", Path.mkdir), NO_FILE),
        (including("config"), TOO_DEEP),
        (including("other", each_other), TOO_DEEP),
        (in_place_of("objects/info/alternates", lambda path: path.write_text("../objects\n")), TOO_DEEP),
        (including("long", lambda path: path.write_bytes(b"#" * 2_000_000)), TOO_LONG),
        (in_place_of("objects/info/alternates", lambda path: path.write_text('"/x"\n')), IN_QUOTES),
    ],
)
def test_a_repository_that_git_cannot_be_led_by_is_refused_by_a_true_sentence(
    changelog: Repo, write: Callable[[Path], None], why: str
):
    """It does not lead out, and is not looked at either; nothing waits for a pipe."""
    write(changelog.path / ".git")
    shut(changelog, why)


@pytest.mark.parametrize("way", ["a .git file", "alternates", "linked objects", "included configuration"])
def test_what_leads_to_another_root_may_be_looked_at(changelog: Repo, private: Repo, way: str):
    """Where the operator names both, neither is out."""
    WAYS[way](changelog, private)
    both = {"": changelog.path, "other": private.path}
    found = ask(both, "code.read", "x", checks=["missing(nowhere)"])
    assert (found.detail or {}).get("reason") != LEADS_OUT


def test_a_way_out_that_is_made_later_is_found(changelog: Repo, private: Repo):
    """What was found to keep to its root is looked at again once anything was written."""
    with closing(ObserverRegistry(Settings())) as instruments:
        for way in (WAYS["alternates"], linked_object):
            assert holds(changelog, "code.read", "exists(CHANGELOG.md)", instruments=instruments) is True
            way(changelog, private)
            assert reason(changelog, "code.read", "x", checks=["missing(a)"], instruments=instruments) == LEADS_OUT
            (changelog.path / ".git/objects/info/alternates").unlink(missing_ok=True)


def test_another_roots_name_opens_nothing_for_who_has_one_root(changelog: Repo, private: Repo):
    """What was allowed to one observer is not allowed to the next, which shares its instruments."""
    WAYS["alternates"](changelog, private)
    both = {"": changelog.path, "other": private.path}
    with closing(ObserverRegistry(Settings())) as instruments:
        assert holds(both, "code.read", "exists(CHANGELOG.md)", instruments=instruments) is True
        assert reason(changelog, "code.read", "x", checks=["missing(a)"], instruments=instruments) == LEADS_OUT


# ---------------------------------------------------------------- linked work trees


@pytest.fixture
def linked(changelog: Repo, tmp_path: Path) -> Path:
    """A linked work tree of the repository, beside it."""
    changelog.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    return tmp_path / "linked"


def test_a_linked_work_tree_needs_its_main_repository_named(changelog: Repo, linked: Path):
    """Its `.git` leads there; so does that of a submodule."""
    refused(linked)
    for main in (changelog.path, changelog.path / ".git"):
        both = {"": linked, "main": main}
        assert holds(both, "code.read", "exists(CHANGELOG.md)") is True
        assert holds(both, "git.log", "equals(MAX_RETRIES, 5)", path="src/times.py") is True


def test_where_nobody_named_a_root_the_main_repository_goes_along(changelog: Repo, linked: Path, private: Repo):
    """If it knows the work tree: a `.git` file alone opens no other repository."""
    assert Roots.of(roots_around(linked)).named == {"default": str(linked), "main": str(changelog.path)}
    assert Roots.of(roots_around(changelog.path / "src")).named == {"default": str(changelog.path)}
    (linked / ".git").write_text(f"gitdir: {private.path}/.git\n")
    assert Roots.of(roots_around(linked)).named == {"default": str(linked)}
    own = linked.parent / "made"
    own.mkdir()
    for name, text in (("commondir", f"{private.path}/.git\n"), ("gitdir", f"{linked}/.git\n")):
        (own / name).write_text(text)
    (linked / ".git").write_text(f"gitdir: {own}\n")
    assert Roots.of(roots_around(linked)).named == {"default": str(linked)}
    assert repositories_of(str(linked.parent)) == {}


@pytest.mark.parametrize("how", ["--shared", "--reference"])
def test_where_nobody_named_a_root_what_a_clone_borrows_from_goes_along(changelog: Repo, tmp_path: Path, how: str):
    """Also what that one borrows from; a folder that is no repository's, or another user's, does not."""
    first, second = tmp_path / "first", tmp_path / "second"
    given = (how, str(changelog.path)) if how == "--reference" else (how,)
    changelog.git("clone", "--quiet", *given, str(changelog.path), str(first))
    changelog.git("clone", "--quiet", "--shared", str(first), str(second))
    refused(second)
    lenders = [first / ".git", changelog.path / ".git"]
    named = dict(zip(("borrowed", "borrowed-2"), map(str, lenders), strict=True))
    assert Roots.of(roots_around(second)).named == {"default": str(second), **named}
    assert holds(Roots.of(roots_around(second)).named, "git.log", "equals(MAX_RETRIES, 5)", path="src/times.py") is True
    bare = tmp_path / "no-repository" / "objects"
    bare.mkdir(parents=True)
    (second / ".git/objects/info/alternates").write_text(f"{bare}\n\n/nowhere/objects\n")
    assert Roots.of(roots_around(second)).named == {"default": str(second)}


def test_where_nobody_named_a_root_a_submodules_repository_goes_along(changelog: Repo, tmp_path: Path, private: Repo):
    """If its configuration names this work tree."""
    above = tmp_path / "above"
    changelog.git("init", "--quiet", str(above))
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(changelog.path), "lib")
    changelog.git("-C", str(above), *add)
    lib = above / "lib"
    refused(lib)
    assert Roots.of(roots_around(lib)).named == {"default": str(lib), "main": str(above / ".git/modules/lib")}
    assert holds(Roots.of(roots_around(lib)).named, "code.read", "equals(MAX_RETRIES, 5)", path="src/times.py") is True
    changelog.git("-C", str(lib), "config", "core.worktree", str(private.path))
    assert Roots.of(roots_around(lib)).named == {"default": str(lib)}


def test_git_does_not_read_the_way_again(changelog: Repo, linked: Path, private: Repo):
    """Where `.git` leads is told to git; what it says later changes nothing. What `commondir` says later gives
    references at most, and no object of another repository."""
    git = Git.at(str(linked))
    assert git is not None
    Enclosure([str(linked), str(changelog.path)]).demand(git)
    (linked / ".git").write_text(f"gitdir: {private.path}/.git\n")
    assert git.run(Budget(10, 10_000), "rev-parse", "HEAD").decode().strip() == changelog.git("rev-parse", "HEAD")
    Path(git.own, "commondir").write_text(f"{private.path}/.git\n")
    blob = private.git("rev-parse", "HEAD:secret.txt")
    with pytest.raises(ObservationUnavailable):
        git.run(Budget(10, 10_000), "cat-file", "blob", blob)


def test_a_root_that_is_a_link_itself_is_where_it_leads(changelog: Repo, tmp_path: Path):
    """The operator named it."""
    (tmp_path / "short").symlink_to(changelog.path)
    assert holds(tmp_path / "short", "code.read", "exists(CHANGELOG.md)") is True


def test_a_folder_whose_name_begins_alike_is_out(tmp_path: Path):
    """A root is a folder, not the beginning of a text."""
    enclosure = Enclosure([str(tmp_path / "app")])
    assert enclosure.holds(str(tmp_path / "app" / "x"))
    assert not enclosure.holds(str(tmp_path / "app2"))
    assert Enclosure(["/"]).holds("/etc")


def test_whatever_is_called_dot_git_makes_a_repository(folder: Repo):
    """Else a broken one would open every file that it does not track."""
    folder.write("notes.txt", "x\n")
    (folder.path / ".git").symlink_to("nowhere")
    for check in ("contains(x, path=notes.txt)", "missing(a)"):
        assert reason(folder, "code.read", "x", checks=[check])


def test_a_repository_of_its_own_keeps_to_itself(changelog: Repo):
    """Work tree and bare one, packed or not, with a configuration that includes a file of the root."""
    changelog.write("more.cfg", "[user]\nname = x\n")
    changelog.git("config", "include.path", "../more.cfg")
    changelog.git("gc", "--quiet")
    assert holds(changelog, "code.read", "exists(CHANGELOG.md)") is True
    assert holds(changelog.bare(), "code.read", "exists(CHANGELOG.md)") is True


def test_what_cannot_be_read_is_not_trusted(changelog: Repo):
    """An endless list of alternates is none."""
    changelog.write(".git/objects/info/alternates", "#" * (1 << 21))
    git = Git.at(str(changelog.path))
    assert git is not None
    with pytest.raises(ObservationUnavailable):
        Enclosure([str(changelog.path)]).demand(git)


# ---------------------------------------------------------------- files that nobody tracks


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc"), None],
                         ids=["file", "folder", "pipe", "link", "nothing"])  # fmt: skip
def test_of_what_git_ignores_nobody_learns_whether_it_is_there(changelog: Repo, make: Callable[[Path], None] | None):
    """A name that the repository ignores is closed, whatever stands there, or nothing; to every check and class."""
    changelog.write(".gitignore", "local*\nbuild/\n")
    changelog.commit("Ignore")
    (changelog.path / "build").mkdir()
    for path in ("local.toml", "build/local.txt", "build/deep/er.txt"):
        if make is not None:
            (changelog.path / path).parent.mkdir(parents=True, exist_ok=True)
            make(changelog.path / path)
        for name in ("code.read", "grep", "git.log", "fs.mtime"):
            for check in (f"missing({path})", f"exists({path})", f"absent(y, path={path})", f"contains(y, path={path})",
                          f"modified({path}, <, 2030)"):  # fmt: skip
                is_decided = not (name == "git.log" and check.startswith("absent"))
                if (name == "fs.mtime") == check.startswith("modified") and is_decided:
                    assert reason(changelog, name, "x", checks=[check]) == "the file is not tracked"
            assert reason(changelog, name, "It has an `x`.", path=path) == "the file is not tracked"


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo], ids=["file", "folder", "pipe"])
def test_of_what_is_not_tracked_nobody_learns_what_it_is(changelog: Repo, make: Callable[[Path], None]):
    """A file, a folder and a pipe are one answer: something is there. Below a folder without a tracked file a
    name that is there and one that is not are one as well."""
    make(changelog.path / "loose")
    assert ask(changelog, "code.read", "x", checks=["missing(loose)", "exists(loose)"]).verified == [1]
    for path in ("loose", "loose/inner.txt"):
        for check in (f"missing({path})", f"exists({path})", f"absent(y, path={path})")[2 * (path == "loose") :]:
            assert reason(changelog, "code.read", "x", checks=[check]) == "the file is not tracked"
        assert reason(changelog, "fs.mtime", "x", checks=[f"modified({path}, <, 2030)"]) == "the file is not tracked"


def test_a_denied_name_is_one_answer_whether_it_is_there_or_not(changelog: Repo, folder: Repo):
    """Tracked, untracked, in a folder that is no repository, or not at all: nothing is read to say so."""
    for place in (changelog, folder):
        place.write("deep/.env", "KEY = 1\n")
    changelog.commit("Env")
    changelog.write("deep/.env.local", "KEY = 1\n")
    for place in (changelog, folder):
        for path in ("deep/.env", "deep/.env.local", "deep/.env.nowhere"):
            seen = {
                str(ask(place, name, "x", checks=[check], path=given).detail)
                for name in ("code.read", "grep")
                for check in (f"missing({path})", f"absent(y, path={path})", f"contains(K, path={path})")
                for given in (path, "README")
            }
            assert seen == {"{'reason': 'a file of that name is never looked at'}"}
