"""Standard input and output that are gone, full or closed, or that cannot show every character
(docs/reference/commands.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SLUICE = [sys.executable, "-c", "from sluice.topology.cli import main; main()"]
EMISSION = json.dumps({"emission_id": "em-1", "emitted_at": 0, "text": "It is so. [substrate.grep]"}) + "\n"


def shell(line: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A line of sh, in which `"$@"` is sluice with these arguments."""
    return subprocess.run(
        ["bash", "-c", line, "sh", *SLUICE, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def emissions(tmp_path: Path) -> str:
    """More of them than any pipe holds the answers to."""
    file = tmp_path / "emissions.jsonl"
    file.write_text(EMISSION * 2000)
    return str(file)


@pytest.mark.parametrize("command", ["parse", "render", "sanitise", "canonical-hash", "look"])
def test_a_reader_that_has_seen_enough_is_no_error(command: str, emissions: str):
    """`| head -1`: exit 0, and nothing said."""
    done = shell('"$@" | head -1; exit ${PIPESTATUS[0]}', command, emissions)

    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)


@pytest.mark.parametrize("arguments", [["--help"], ["schema"], ["config", "show"]])
def test_a_reader_that_has_gone_before_is_none_either(arguments: list[str]):
    """Of help, of a document, of text."""
    done = shell('{ sleep 0.1; "$@"; echo $? >&2; } | true', *arguments)

    assert done.stderr == "0\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["parse", "{}"], ["--help"], ["schema"], ["config", "show"]])
def test_a_full_disk_is_a_dependency_that_is_not_to_be_had(arguments: list[str], emissions: str):
    """One sentence, exit 3."""
    done = shell('"$@" > /dev/full', *(part.format(emissions) for part in arguments))

    assert done.stderr == "sluice: cannot write to standard output: No space left on device\n"
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("closed", "arguments", "said"),
    [
        (">&-", ["parse", "{}"], "sluice: standard output is closed; give it a file, or /dev/null\n"),
        (">&-", ["--version"], "sluice: standard output is closed; give it a file, or /dev/null\n"),
        ("<&-", ["parse"], "sluice: standard input is closed; name a file, or feed it\n"),
        ("<&-", ["check", "-"], "sluice: standard input is closed; name a file, or feed it\n"),
    ],
)
def test_a_closed_stream_is_wrong_usage(closed: str, arguments: list[str], said: str, emissions: str):
    """One sentence, exit 2."""
    done = shell(f'"$@" {closed}', *(part.format(emissions) for part in arguments))

    assert (done.returncode, done.stderr, done.stdout) == (2, said, "")


def test_who_needs_no_standard_input_does_not_miss_it(emissions: str):
    """As a service manager starts it."""
    done = shell('"$@" <&-', "parse", emissions)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["schema", "asyncapi"])
def test_a_document_is_utf_8_whatever_the_terminal_has(command: str):
    """As the filters' lines are."""
    done = subprocess.run(
        [*SLUICE, command], env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True
    )

    assert not done.stdout.isascii()
    assert json.loads(done.stdout.decode("utf-8"))


def test_a_character_that_the_terminal_has_not_is_shown_as_an_escape():
    """Help has such ones, and must not end in an error."""
    done = shell('"$@"', "parse", "--help", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")

    done = shell('"$@"', "render", "--help", PYTHONIOENCODING="latin-1")
    assert "\\u2026" in done.stdout
