"""`sluice examples` lists what the package brings and copies it, and overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sluice.topology.cli import main

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["examples", *arguments], prog_name="sluice")


def below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, without what Python makes of a package."""
    found = (one for one in folder.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    return {str(one.relative_to(folder)): one.read_bytes() for one in found if one != EXAMPLES / "__init__.py"}


def test_without_a_name_it_lists_them() -> None:
    """One a line: files, and folders with what is in them."""
    done = run()

    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "policy.toml" in lines
    assert "grounded/\tREADME.md docs_agent.py" in lines
    assert not any("__" in line for line in lines)


def test_all_are_copied_as_they_are(here: Path) -> None:
    """Byte for byte, into a folder that is made."""
    done = run("--all", "--to", "a/b")

    assert done.exit_code == 0
    assert done.stdout == ""
    assert below(here / "a" / "b") == below(EXAMPLES)
    assert len(below(EXAMPLES)) > 5


def test_one_is_copied_by_its_name(here: Path) -> None:
    """A folder or a file, as the list writes it or without the slash; here, where no folder is named."""
    assert run("grounded/", "policy.toml", "grounded").exit_code == 0

    assert sorted(one.name for one in here.iterdir()) == ["grounded", "policy.toml"]
    assert below(here / "grounded") == below(EXAMPLES / "grounded")


def test_nothing_is_overwritten(here: Path) -> None:
    """Where one is there, none is copied, even if it is a link that leads nowhere."""
    (here / "policy.toml").symlink_to("gone")

    done = run("grounded", "policy.toml")

    assert done.exit_code == 2
    assert done.stderr.startswith("sluice: policy.toml: is there already")
    assert [one.name for one in here.iterdir()] == ["policy.toml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "there is no such example (expected README.md, "),
        (("../pyproject.toml",), "there is no such example"),
        (("__init__.py",), "there is no such example"),
        (("--all", "grounded"), "leave the names out, or --all"),
        (("--to", "a"), "name an example, or --all"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], said: str, here: Path) -> None:
    """Exit status 2, and nothing is written."""
    done = run(*arguments)

    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(here.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(here: Path) -> None:
    """Such as below a file."""
    (here / "file").write_text("")

    done = run("policy.toml", "--to", "file/below")

    assert done.exit_code == 2
    assert "cannot be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1
