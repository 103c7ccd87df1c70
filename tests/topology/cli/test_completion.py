"""The shell completes commands, options and values, as the reference says how to set up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.topology.cli import COMMANDS

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "commands.md"
BIN = str(Path(sys.executable).parent)


def set_up() -> str:
    """The line for bash that the reference names."""
    (line,) = re.findall(r"`(eval [^`]+)`", REFERENCE.read_text("utf-8"))
    return line


def completed(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words, asked as bash asks it."""
    given = " ".join(f"'{word}'" for word in ("sluice", *words))
    script = f"""
        {set_up()}
        COMP_WORDS=({given}); COMP_CWORD={len(words)}
        "$(complete -p sluice | sed 's/.*-F \\([^ ]*\\).*/\\1/')" sluice '{words[-1]}' ''
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("",), list(COMMANDS)),
        (("con",), ["consume", "config"]),
        (("--ver",), ["--version"]),
        (("key", ""), ["new", "profile", "show", "succeed"]),
        (("consume", "--sta"), ["--status"]),
        (("consume", "--status", "adm"), ["admitted"]),
        (("schema", "--str"), ["--strict"]),
        (("prompt", "--format", ""), ["block", "inline", "json"]),
    ],
    ids=str,
)
def test_bash_completes(tmp_path: Path, words: tuple[str, ...], offered: list[str]) -> None:
    """Set up by the line that the reference names."""
    assert completed(tmp_path, *words) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_that_the_reference_names_get_a_script(tmp_path: Path, shell: str) -> None:
    """Which asks in the same way."""
    assert f"{shell}_source" in REFERENCE.read_text("utf-8")
    done = subprocess.run(
        [f"{BIN}/sluice"],
        cwd=tmp_path,
        env={**os.environ, "_SLUICE_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert f"_SLUICE_COMPLETE={shell}_complete" in done.stdout


def test_completing_a_command_imports_none(tmp_path: Path) -> None:
    """Each of them would take its time."""
    code = (
        "import sys; from sluice.topology.cli import main; import click\n"
        "main.shell_complete(click.Context(main, info_name='sluice'), '')\n"
        "print([name for name in sys.modules if name.startswith('sluice.topology.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.count("sluice.topology.cli.") <= 3  # ending, standard, version
