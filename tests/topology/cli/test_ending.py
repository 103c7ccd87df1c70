"""However a command ends: one sentence on standard error, and the exit status of the contract
(docs/reference/commands.md).
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sluice.codecs.errors import UnreachableError
from sluice.topology.cli import COMMANDS, main
from sluice.topology.cli.standard_streams import ended, run_to_its_end

SLUICE = [sys.executable, "-c", "from sluice.topology.cli import main; main()"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["opinion"], "sluice: No such command 'opinion'; see sluice --help"),
        (["--opinion"], "sluice: No such option: --opinion; see sluice --help"),
        (["parse", "--view"], "sluice: No such option: --view; see sluice parse --help"),
        (["check"], "sluice: Missing argument 'FILES...'; see sluice check --help"),
        (["mcp", "token", "new"], "sluice: Missing option '--name'; see sluice mcp token new --help"),
        (
            ["sanitise", "--typing", "no"],
            "sluice: Invalid value for '--typing': 'no' is not one of 'strict', 'lenient'",
        ),
    ],
)
def test_wrong_usage_is_one_sentence_that_says_where_the_right_one_stands(arguments: list[str], said: str):
    """Exit 2, nothing on standard output."""
    result = CliRunner().invoke(main, arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("--help\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_and_version_are_no_errors(arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Exit 0, on standard output."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "SLUICE_CONFIG"),
        (["--help"], "send emissions, observations, sightings, reviews or attestations"),
        (["worker", "--help"], "[debug|info|warning|error]"),
        (["observe", "--help"], "[debug|info|warning|error]"),
        (["mcp", "--help"], "reads tokens only where --tokens names their file"),
        (["mcp", "token", "new", "--help"], "only where `sluice mcp --transport http --tokens FILE` names it"),
        (["faust", "--help"], "Example: sluice faust agents"),
    ],
)
def test_help_says_what_has_to_be_known(arguments: list[str], said: str):
    """And does not leave it to an error."""
    assert said in " ".join(CliRunner().invoke(main, arguments).stdout.split())


def test_a_group_without_a_command_shows_its_help():
    """Which is no sentence, but what was wanted; exit 2."""
    result = CliRunner().invoke(main, [])

    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: sluice")


def test_whoever_calls_without_the_standalone_mode_gets_the_exceptions():
    """As of any command of Click's."""
    with pytest.raises(click.UsageError):
        main(["opinion"], standalone_mode=False)
    assert main(["--version"], standalone_mode=False) == 0


def raising(error: BaseException):
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UnreachableError("no broker"), 3, "sluice: no broker\n"),
        (ValueError("a\x1bb"), 1, "sluice: ValueError: a\\u001bb; run again with --debug for the traceback\n"),
        (click.Abort(), 130, "sluice: interrupted\n"),
        (click.ClickException("No\nway."), 1, "sluice: No way\n"),
    ],
)
def test_every_error_is_a_sentence(error: Exception, status: int, said: str, capsys: pytest.CaptureFixture[str]):
    """Ours, a stranger's, Click's."""
    assert ended(raising(error), debug=False) == status
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("error", [UnreachableError("no broker"), ValueError("a")])
def test_with_debug_there_is_the_traceback(error: Exception):
    """Of ours and of strangers'."""
    with pytest.raises(type(error)):
        ended(raising(error), debug=True)


def test_an_end_of_file_that_nobody_expected_is_no_interruption(capsys: pytest.CaptureFixture[str]):
    """Click takes it for one."""
    abort = click.Abort()
    abort.__cause__ = EOFError("so soon")

    assert ended(raising(abort), debug=False) == 1
    assert "EOFError: so soon" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["parse", "fold", "look", "sanitise"])
def test_ctrl_c_is_one_word_and_130(command: str):
    """Where a filter waits for its next line."""
    with subprocess.Popen(
        [*SLUICE, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("no JSON\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(60)
        said = process.stderr.read()

    assert (process.returncode, said) == (130, "sluice: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["check", "-"], "sluice.topology.cli.check_command._in_a_deep_thread"),
        (["consume", "--broker", "127.0.0.1:1"], "sluice.topology.cli.kafka_commands._print_lines"),
    ],
)
def test_ctrl_c_ends_any_command_alike(arguments: list[str], where: str, monkeypatch: pytest.MonkeyPatch):
    """One that was to end by itself is not done."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    async def interrupted_there(*_: object) -> None:
        interrupted()

    monkeypatch.setattr(where, interrupted_there if "consume" in where else interrupted)
    result = CliRunner().invoke(main, arguments, input="")

    assert (result.exit_code, result.stderr) == (130, "sluice: interrupted\n")


def test_what_work_gives_or_raises_does_not_wait_for_what_it_leaves() -> None:
    """A task that ends when it is cancelled has ended in order; one that does not end is left."""
    seen: list[str] = []

    async def ends() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            seen.append("ended")

    async def never_ends() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                seen.append("cancelled")

    async def work(error: Exception | None) -> str:
        held.extend(asyncio.create_task(one()) for one in (ends, never_ends))
        held[-1]._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left on purpose
        await asyncio.sleep(0)
        if error is not None:
            raise error
        return "done"

    held: list[asyncio.Task[None]] = []
    assert run_to_its_end(work(None), 0.5) == "done"
    assert sorted(seen) == ["cancelled", "ended"]
    with pytest.raises(UnreachableError):
        run_to_its_end(work(UnreachableError("no broker")), 0.5)
    assert sorted(seen) == ["cancelled", "cancelled", "ended", "ended"]
