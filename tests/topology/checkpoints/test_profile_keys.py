"""`sluice key profile`: every key that the strict profile needs, made once (docs/security.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sluice.codecs.notes import Verifier
from sluice.streams.policy.policy import Policy
from sluice.streams.policy.toml_reader import load_policy
from sluice.topology.checkpoints.signing import load_signer
from sluice.topology.checkpoints.trust import Trust
from sluice.topology.cli import main

PARTIES = ["--worker", "sluice/a", "--observer", "o-1", "--observer", "o-2", "--emitter", "bot", "--role", "console"]


def profile(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["key", "profile", str(folder), *arguments])


def policy_in(folder: Path) -> Policy:
    return load_policy((folder / "policy.toml").read_text("utf-8"))


def test_it_makes_every_key_and_lists_it(tmp_path: Path):
    """In files that only their owner reads; the policy has nothing that one party could get round."""
    result = profile(tmp_path / "keys", *PARTIES, "--reviewer", "ann")

    assert result.exit_code == 0, result.output
    policy = policy_in(tmp_path / "keys")
    assert policy.observers.keys() == {"o-1", "o-2"}
    assert (policy.emitters.keys.keys(), policy.reviewers.roles.keys()) == ({"bot"}, {"console"})
    assert policy.reviewers.keys.keys() == {"ann"}
    assert policy.warnings() == [
        one for one in policy.warnings() if one[0] in ("privacy", "attestations.require_signatures")
    ]
    assert policy.exposures() == []
    files = sorted((tmp_path / "keys").glob("*.key"))
    assert len(files) == 6
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    keys = {one.public_key for listed in policy.emitters.keys.values() for one in listed}
    assert keys == {_public(tmp_path / "keys" / "emitter-bot.key")}


def test_a_second_call_keeps_what_is_there(tmp_path: Path):
    """And makes what is missing."""
    profile(tmp_path, *PARTIES)
    before = policy_in(tmp_path)

    again = profile(tmp_path, *PARTIES)
    assert "made" not in again.output
    assert policy_in(tmp_path) == before

    more = profile(tmp_path, *PARTIES, "--emitter", "another")
    assert more.output.count("(made)") == 1
    assert policy_in(tmp_path).emitters.keys["bot"] == before.emitters.keys["bot"]


def test_workers_trust_one_another_by_it(tmp_path: Path):
    """The names in the policy are those in the notes."""
    profile(tmp_path, "--worker", "sluice/a", "--worker", "sluice/b")
    own, other = (load_signer(tmp_path / f"worker-sluice-{name}.key").verifier for name in "ab")

    known = {str(one.verifier) for one in Trust(own, policy_in(tmp_path)).known()}

    assert known == {str(own), str(other)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name at least one party"),
        (["--emitter", "a b", "--emitter", "a/b"], "would have one key file"),
        (["--emitter", "a", "--policy", "nothing.toml"], "cannot read the policy"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, arguments: list[str], sentence: str):
    result = profile(tmp_path / "keys", *arguments)

    assert result.exit_code == 2
    assert sentence in result.output
    assert not (tmp_path / "keys" / "policy.toml").exists()


def _public(path: Path) -> str:
    import base64

    verifier: Verifier = load_signer(path).verifier
    return base64.b64encode(verifier.public_key).decode()
