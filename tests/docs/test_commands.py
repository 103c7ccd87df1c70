"""Every command of the tutorial, the how-to guides and the README runs as it stands there, and prints what they show.

Here what needs no Kafka; the rest is in tests/integration/test_docs.py.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest
from pages import DOCS, NOTES, ROOT, Block, Shell, Step, blocks, fits, follow, pages
from readme import README, is_elsewhere, lines

NOT_RUN = 5
"""So many blocks at the most are run by nobody; each says why."""


VETTING = "vetting"
"""The page that is followed where nothing else is to be had, and with a wheel alone (tests/packaging)."""


def every_block() -> list[Block]:
    return [block for page in pages() for block in blocks(page)]


@pytest.mark.parametrize("page", [page for page in pages() if page.stem != VETTING], ids=lambda page: page.stem)
def test_what_a_page_says_holds(page: Path, tmp_path: Path):
    """Block by block, in one scratch folder, as far as no Kafka is needed."""
    shell = Shell(tmp_path / "reader")
    try:
        follow(shell, (block for block in blocks(page) if not block.kafka))
    finally:
        shell.close()


def test_vetting_in_two_minutes_needs_nothing_but_sluice_and_git(tmp_path: Path):
    """An empty home, no variable of the developer's, and no other program than these and what the page itself uses."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sluice").symlink_to(Path(sys.executable).with_name("sluice"))
    for name in ("bash", "cat", "git", "mkdir"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    shell = Shell(tmp_path / "reader", alone=str(tmp_path / "bin"))
    try:
        assert list(shell.folder.iterdir()) == []
        named = set(shell.run("command -v python pip ls; compgen -e")[1].split())
        assert named <= {
            "COLUMNS",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_NOSYSTEM",
            "HOME",
            "OLDPWD",
            "PATH",
            "PWD",
            "SHLVL",
            "_",
        }
        follow(shell, iter(blocks(DOCS / f"{VETTING}.md")))
        assert (shell.folder / "vetting.html").is_file()
    finally:
        shell.close()


def test_what_the_readme_shows_runs(tmp_path: Path):
    """Its commands after `$ ` run in a checkout."""
    found = [step for block in blocks(README) for step in block.steps if block.text.startswith("$ ")]
    assert found
    shell = Shell(tmp_path / "reader")
    (shell.folder / ".venv").mkdir()
    (shell.folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    try:
        for step in found:
            status, printed = shell.run(step.command)
            assert status == 0, printed
    finally:
        shell.close()


@pytest.mark.parametrize("line", [line for line in lines() if line.startswith("sluice ")])
def test_a_line_of_the_readme_is_one_that_the_program_takes(line: str):
    """Subcommand, options and arguments; tests/integration/test_docs.py runs it."""
    from sluice.topology.cli import COMMANDS, main

    name, *arguments = shlex.split(line)[1:]
    assert name in COMMANDS
    context = click.Context(main, info_name="sluice", obj={"config_file": None, "debug": False})
    command = main.get_command(context, name)
    while isinstance(command, click.Group):
        below = command.make_context(name, list(arguments), parent=context, allow_extra_args=True)
        rest = [*below._protected_args, *below.args]
        if not rest:
            return  # a group that is a command as well
        name, command, arguments = command.resolve_command(below, rest)
        context = below
    assert command is not None
    command.make_context(name, list(arguments), parent=context)


def test_every_line_of_the_readme_is_run():
    """Ours by us, and nothing else stands there but what something else runs."""
    assert [line for line in lines() if not line.startswith("sluice ") and not is_elsewhere(line)] == []


def test_every_command_is_one_that_is_run():
    """A block of a shell's language is `console`, with `$ `, or says why nobody runs it."""
    for block in every_block():
        where = f"{block.page}:{block.line}"
        if "not run" in block.notes:
            assert len(block.notes["not run"]) > 10, where
        elif "example" in block.notes:
            assert block.text == (ROOT / block.notes["example"]).read_text("utf-8"), where
        elif block.language == "console":
            assert "run by" not in block.notes or (ROOT / block.notes["run by"]).is_file(), where
            assert block.text.startswith("$ "), where
            assert "terminal" not in block.notes or all(step.expected is None for step in block.steps), where
        else:
            assert block.language in ("toml", "json", "python"), where
            assert "file" in block.notes, where


def test_notes_are_of_the_known_kinds():
    """A misspelt one would be passed over."""
    for block in every_block():
        assert set(block.notes) <= set(NOTES), f"{block.page}:{block.line}"


def test_little_is_run_by_nobody():
    """And it does not become more by and by."""
    assert len([block for block in every_block() if "not run" in block.notes]) <= NOT_RUN


def test_every_guide_has_something_to_run():
    """Or there would be nothing to hold it to."""
    guides = [page for page in pages() if page.stem != "index"]
    assert [page.name for page in guides if not any(block.language == "console" for block in blocks(page))] == []
    assert DOCS / "tutorial.md" in guides


def test_a_page_is_read_as_it_is_meant(tmp_path: Path):
    """Commands with further lines, what they print, notes over a block, and where Kafka begins."""
    page = ROOT / "docs" / "x.md"
    text = (
        "<!-- exit: 1 -->\n<!-- soon -->\n```console\n$ cat <<E\n> a\n> E\na\n$ false\n```\n\n"
        "<!-- kafka -->\nText.\n```json\n{}\n```\n"
    )

    class Page(type(page)):  # a page of this test's own, which lies nowhere
        def read_text(self, *_: object, **__: object) -> str:
            return text

    one, two = blocks(Page(page))
    assert one.steps == [Step("cat <<E\na\nE", "a"), Step("false", None)]
    assert (one.notes, one.kafka, one.line) == ({"exit": "1", "soon": ""}, False, 3)
    assert (two.text, two.kafka, two.notes) == ("{}\n", True, {})


@pytest.mark.parametrize(
    ("expected", "got", "holds"),
    [
        ("a … c", "a b c\n", True),
        ("a … c", "a b\nc\n", False),
        ("a\n…\nz", "a\nb\nc\nz\n", True),
        ("a\n…\nz", "a\nz", True),
        ("a.c", "abc", False),
        ("a", "a\nb", False),
    ],
)
def test_an_ellipsis_stands_for_anything_in_a_line_or_for_lines(expected: str, got: str, holds: bool):
    """Everything else stands for itself."""
    assert fits(expected, got) is holds


def test_a_shell_keeps_its_folder_and_its_variables(tmp_path: Path):
    """From one command to the next, as a terminal does."""
    shell = Shell(tmp_path / "reader", COLOUR="blue")
    try:
        assert shell.run("mkdir below; cd below; export SHAPE='a b'") == (0, "")
        assert shell.run('echo "$COLOUR $SHAPE"; basename "$PWD"; exit 3')[1] == "blue a b\nbelow\n"
    finally:
        shell.close()
