"""Several repositories: which one a locator means, and how the operator names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import Repository, ask, holds, reason

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.observers.ask import CannotLook
from sluice.topology.observers.roots import Roots


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
        with pytest.raises(CannotLook):
            roots.pick(repo)
