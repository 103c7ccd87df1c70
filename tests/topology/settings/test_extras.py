"""Which extra a command needs: the table fits pyproject.toml, and without the extras everything else works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import Done, run_each

from sluice.codecs.errors import UsageError
from sluice.topology.cli import COMMANDS as SUBCOMMANDS
from sluice.topology.settings import process

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

sys.meta_path.insert(0, Without())
from sluice.topology.cli import main
main()
"""
"""The command line, where some packages are not installed."""


def run(*arguments: str, cwd: Path, typed: str = "", script: str = WITHOUT) -> subprocess.CompletedProcess[str]:
    """`sluice` in the small client: without every package that only the extras bring."""
    return subprocess.run(
        [sys.executable, "-c", script.format(names=set(process.EXTRAS)), *arguments],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")},
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names(requirements: list[str]) -> set[str]:
    """The distributions of a list of requirements, as they are imported."""
    found = {re.split(r"[\[<>=;! ]", one, maxsplit=1)[0] for one in requirements}
    return {{"opentelemetry-api": "opentelemetry", "faust-streaming": "faust"}.get(one, one) for one in found}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one file, and an answer about it."""
    (tmp_path / "limits.py").write_text("MAX_RETRIES = 5\n")
    (tmp_path / "answer.md").write_text("`MAX_RETRIES` is 5 in `limits.py`.\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "limits.py"), (*who, "commit", "-qm", "Limit")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_each_package_is_brought_by_the_extras_that_the_table_names() -> None:
    """Directly, or by the official MCP SDK, which brings what it is made of."""
    small = names(PROJECT["dependencies"])
    for package, bringing in process.EXTRAS.items():
        assert package not in small
        for extra in bringing:
            own = names(PROJECT["optional-dependencies"][extra])
            own |= {"mcp_types", "httpx2", "starlette"} if "mcp" in own else set()
            assert {package, package.replace("_", "-")} & own, f"[{extra}] does not bring {package}"


def test_commands_and_their_extras_are_there() -> None:
    """A renamed command or extra must not leave a dead hint."""
    assert process.COMMANDS.keys() <= SUBCOMMANDS.keys()
    assert set(process.COMMANDS.values()) <= PROJECT["optional-dependencies"].keys()
    assert PROJECT["name"] == process.DISTRIBUTION


NEEDS_EXTRA = {
    ("worker",): "worker",
    ("faust", "agents"): "worker",
    ("observe",): "observe",
    ("mcp",): "mcp",
    ("serve",): "serve",
    ("demo", "--repo", ".", "--emissions", os.devnull): "demo",
}
NEEDS_BROKER = tuple(
    (*what.split(), "--broker", "kafka://127.0.0.1:1")
    for what in ("produce answer.md", "consume", "audit", "explain em-1", "topics check")
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Done]:
    """What these commands said in one small client."""
    commands, folder = (*NEEDS_EXTRA, *NEEDS_BROKER), tmp_path_factory.mktemp("small")
    (folder / "answer.md").write_text("`MAX_RETRIES` is 5 in `limits.py`.\n")
    prelude = WITHOUT.format(names=set(process.EXTRAS)).partition("from sluice")[0]
    own = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    return dict(zip(commands, run_each(commands, folder, prelude=prelude, environment=own), strict=True))


@pytest.mark.parametrize(("arguments", "extra"), NEEDS_EXTRA.items())
def test_a_command_without_its_extra_says_what_to_install(
    arguments: tuple[str, ...], extra: str, answers: dict[tuple[str, ...], Done]
) -> None:
    """One sentence with the command to copy, exit status 2, no traceback."""
    done = answers[arguments]

    assert (done.stdout, done.status) == ("", 2)
    assert re.fullmatch(
        rf"sluice: sluice {arguments[0]} needs the package \w+, which is not installed; "
        rf'run pip install "sluice-verdicts\[{extra}\]"\n',
        done.stderr,
    )


def test_every_command_has_its_help_without_the_extras(tmp_path: Path) -> None:
    """So that whoever asks what an extra would bring can read it first. The help of `faust` is Faust's own."""
    asked = [name for name in SUBCOMMANDS if name != "faust"]
    every = f"for name in {asked!r}: main([name, '--help'], prog_name='sluice', standalone_mode=False)"

    done = run(cwd=tmp_path, script=WITHOUT.replace("\nmain()", f"\n{every}"))

    assert done.returncode == 0, done.stderr
    assert re.findall(r"^Usage: sluice (\S+)", done.stdout, re.MULTILINE) == asked


def test_the_small_client_vets_and_looks(checkout: Path) -> None:
    """`pip install` without an extra, then `sluice vet`."""
    vetted = run("vet", "answer.md", "--root", ".", cwd=checkout)
    assert vetted.returncode == 0, vetted.stderr
    assert vetted.stdout.startswith("admitted: `MAX_RETRIES` is 5")

    looked = run("look", "--check", "equals(MAX_RETRIES, 6)", "--path", "limits.py", cwd=checkout)
    assert looked.returncode == 1, looked.stderr

    read = run("parse", cwd=checkout, typed='{"emission_id": "em-1", "text": "It is. [substrate.grep; path=a]"}\n')
    assert json.loads(read.stdout)["assertions"][0]["provenance"]


@pytest.mark.parametrize("arguments", NEEDS_BROKER, ids=" ".join)
def test_the_small_client_has_a_kafka_client(arguments: tuple[str, ...], answers: dict[tuple[str, ...], Done]) -> None:
    """What only needs a broker fails for want of one, not of a package."""
    done = answers[arguments]

    assert done.status == 3
    assert "no Kafka broker answers" in done.stderr


@pytest.mark.parametrize(
    ("listed", "package"),
    [
        ('[mcp.notes]\ncommand = ["notes"]\ntools = ["read"]\n', "mcp"),
        ('[sse.news]\nurl = "https://example.org/events"\nevent = "count"\n', "aiohttp"),
    ],
)
def test_a_list_that_needs_more_says_so_at_once(listed: str, package: str, checkout: Path) -> None:
    """Not look by look in a task, as `unavailable`."""
    (checkout / "substrates.toml").write_text(listed)

    done = run("look", "--substrates", "substrates.toml", "--root", ".", cwd=checkout, typed="{}\n")

    assert (done.stdout, done.returncode) == ("", 2), done.stderr
    assert f"needs the package {package}, which is not installed" in done.stderr
    assert 'pip install "sluice-verdicts[observe]"' in done.stderr


def test_a_package_of_nobody_is_no_missing_extra() -> None:
    """Then something else is broken, and no advice would help."""
    assert process.needed("acme_observers") is None
    assert process.needed("") is None


def test_without_a_command_the_first_extra_is_named() -> None:
    """A module of a package counts as the package."""
    error = process.needed("mcp.client.client")

    assert str(error).endswith('run pip install "sluice-verdicts[mcp]"')


def test_what_is_there_is_not_complained_about() -> None:
    """And what is not there is said with who needs it."""
    process.require("json", "observe", "a test")

    with pytest.raises(UsageError, match=r"a test needs the package no_such_package, which is not installed"):
        process.require("no_such_package", "observe", "a test")
