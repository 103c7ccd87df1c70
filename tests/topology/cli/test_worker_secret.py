"""A worker whose own policy hashes identifiers needs the secret to hash them with [S §12]."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sluice.codecs.errors import UsageError
from sluice.topology.cli import main
from sluice.topology.cli.worker_commands import read_policy
from sluice.topology.settings.settings import Settings

SECRET = "correct horse battery staple"


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """A file that says hashed."""
    file = tmp_path / "policy.toml"
    file.write_text('[privacy]\nobservation_ids = "hashed"\n')
    return str(file)


def test_without_the_secret_it_does_not_start(policy: str):
    """One sentence that says what to do; no broker is asked for anything."""
    with pytest.raises(UsageError, match=r"no secret to hash them with.*SLUICE_PRIVACY_SECRET"):
        read_policy(Settings(policy=policy))


def test_with_it_it_has_its_policy(policy: str):
    """The secret itself is no part of it."""
    read = read_policy(Settings(policy=policy, privacy_secret=SECRET))

    assert read.privacy.hashes
    assert SECRET.encode() not in read.document


def test_a_false_successor_keeps_it_from_starting(tmp_path: Path):
    """One sentence with the line; `sluice policy check` says the same."""
    file = tmp_path / "policy.toml"
    false = f'{{ public_key = "{"22" * 32}", signed_by = "{"11" * 32}", signature = "{"A" * 86}==" }}'
    file.write_text(f'[reviewers.keys]\nann = ["{"11" * 32}", {false}]\n')

    with pytest.raises(UsageError, match=r"reviewers\.keys\.ann: lists a key as signed by one that did not sign it"):
        read_policy(Settings(policy=str(file)))


@pytest.mark.parametrize(("secret", "warned"), [(None, True), (SECRET, False)])
def test_policy_check_warns_where_there_is_none(policy: str, secret: str | None, warned: bool):
    """It is allowed: the policy may be checked elsewhere than where the workers are."""
    result = CliRunner().invoke(main, ["policy", "check", policy], env={"SLUICE_PRIVACY_SECRET": secret})

    assert result.exit_code == 0
    assert ("warning: privacy: identifiers are left out" in result.stdout) == warned


def test_no_secret_is_shown_with_the_settings():
    """Neither the present one nor those from before."""
    variables = {"SLUICE_PRIVACY_SECRET": SECRET, "SLUICE_FORMER_PRIVACY_SECRETS": "one from before, long enough"}
    shown = CliRunner().invoke(main, ["config", "show"], env=variables).stdout

    assert "former_privacy_secrets = (set, not shown)" in shown
    assert SECRET not in shown
    assert "before" not in shown
