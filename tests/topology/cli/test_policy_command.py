"""`sluice policy check`: everything that is wrong or unwise, at once, by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import main


@pytest.fixture
def check(tmp_path: Path):
    """`check(text, *flags)`: runs `sluice policy check` on a file with that text."""

    def run(text: str | bytes, *flags: str) -> Result:
        file = tmp_path / "policy.toml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return CliRunner().invoke(main, ["policy", "check", str(file), *flags])

    return run


EXPOSED = [
    "observers.require_signatures",
    "admissibility.min_observers",
    "judging.same_root",
    "reviewers.require_signatures",
    "emitters.require_vendor",
]
"""Where the reference profile lets one party admit alone."""


def lines_of(result: Result, tmp_path: Path) -> list[str]:
    """The lines of the answer without the file's name, and without what the reference profile is warned of."""
    name = f"{tmp_path / 'policy.toml'}:"
    lines = result.stdout.splitlines()
    assert all(line.startswith(name) for line in lines)
    return [line.removeprefix(name) for line in lines if not any(f": warning: {path}: " in line for path in EXPOSED)]


def test_a_policy_that_one_party_can_get_round_is_warned_of(check) -> None:
    """One line each: one observer, one root, unsigned reviews, unsigned observers, vendors (docs/security.md)."""
    assert paths(check("", "--json")) == sorted(EXPOSED)
    closed = """
[admissibility]
min_observers = 2
[judging]
same_root = 2
[emitters]
require_vendor = true
[observers]
require_signatures = true
[observers.o]
public_key = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
[reviewers]
require_signatures = true
[reviewers.keys]
r = "6kqMCIZ/eS0Fcu/Vlbn3QN66UYiVFcz3AiEY8dFSIz4="
"""
    found = check(closed, "--json")
    assert paths(found) == []
    # Not on standard output: nobody has to act on it.
    assert "note: judging.same_root: is not below k for internal effects" in found.stderr


def test_a_key_under_two_names_is_warned_of(check) -> None:
    """Whoever holds it is two reviewers."""
    key = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
    result = check(f'[reviewers]\nrequire_signatures = true\n[reviewers.keys]\na = "{key}"\nb = "{key}"\n', "--json")

    assert "reviewers.keys.b" in paths(result)


def paths(result: Result) -> list[str]:
    return sorted(json.loads(line)["path"] for line in result.stdout.splitlines())


def test_a_policy_without_fault_is_ok_and_named_by_its_hash(check, tmp_path: Path) -> None:
    """Exit 0; the hash is the one that block headers and outputs carry."""
    result = check("")

    assert (lines_of(result, tmp_path), result.exit_code) == ([f" ok, {DEFAULT_POLICY.hash}"], 0)


def test_every_error_is_reported_with_its_line(check, tmp_path: Path) -> None:
    """Exit 1: what was asked about does not hold."""
    result = check("[admissibility]\nhorizon = 5\n[privacy]\nids = 1\n")

    first, second = lines_of(result, tmp_path)
    assert first.startswith("2: error: admissibility.horizon: expected a duration")
    assert second.startswith("4: error: privacy.ids: unknown key")
    assert result.exit_code == 1


def test_a_window_that_outlasts_max_validity_is_an_error(check, tmp_path: Path) -> None:
    """`W + horizon + late_horizon <= max_validity` for every class; told once, with the classes that outlast it."""
    text = '[admissibility]\nmax_validity = "75m"\n[admissibility.window]\n"substrate.grep" = "56m"\ndefault = "55m"\n'

    result = check(text)

    (line,) = lines_of(result, tmp_path)
    assert line.startswith(
        "2: error: admissibility.max_validity: is less than horizon, late_horizon and window together"
    )
    assert line.endswith(": substrate.grep")
    assert result.exit_code == 1


def test_what_is_unwise_is_a_warning_and_no_failure(check, tmp_path: Path) -> None:
    """The floor below the memo's, and the emitter's word taken for evidence; the hash is told all the same."""
    result = check('[admissibility]\ntrust = "declared"\nk = { internal = 1, external = 2 }\n')

    first, second, third, last = lines_of(result, tmp_path)
    assert first.startswith("2: warning: admissibility.trust: ")
    assert second.startswith("3: warning: admissibility.k.external: is below the memo's floor of 3")
    assert third.startswith("3: warning: admissibility.k.internal: is below the memo's floor of 2")
    assert last.startswith(" ok, sha256:")
    assert result.exit_code == 0


def test_findings_come_as_json_lines_where_they_are_asked_for(check) -> None:
    """One a line: severity, line, path and sentence, and nothing else on standard output."""
    result = check('[admissibility]\ntrust = "declared"\nmax_validity = "1m"\n', "--json")

    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["severity"], one["path"]) for one in found] == [
        ("error", "admissibility.max_validity"),
        ("warning", "admissibility.trust"),
    ]
    assert set(found[0]) == {"line", "severity", "path", "sentence"}
    assert result.exit_code == 1


def test_what_is_not_toml_is_an_error_at_its_line(check, tmp_path: Path) -> None:
    """The parser's own words."""
    result = check("[privacy]\nx = \n")

    (line,) = lines_of(result, tmp_path)
    assert line.startswith("2: error: is not TOML: ")
    assert result.exit_code == 1


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    """Exit 2: nothing was checked."""
    result = CliRunner().invoke(main, ["policy", "check", str(tmp_path / "none.toml")])

    assert result.exit_code == 2
    assert "cannot read the policy" in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_no_text_is_wrong_usage(check) -> None:
    """One sentence."""
    result = check(b"\xff\xfe")

    assert result.exit_code == 2
    assert "it is not UTF-8" in result.stderr
