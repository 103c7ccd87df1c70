"""`sluice key profile`: every key that the strict profile needs, made once (docs/security.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sluice.codecs.notes import Verifier
from sluice.codecs.signatures import did_of, key_of
from sluice.streams.policy.policy import DEFAULT_POLICY, HEADER, Policy, sign, signer_of
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import main
from sluice.topology.engine.signing import load_signer
from sluice.topology.engine.trust import Trust
from sluice.topology.settings.settings import load_settings

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


def test_an_operator_signs_the_next_policy(tmp_path: Path):
    """Its key is listed under `[policies.keys]`, so that nobody else brings one into force."""
    assert profile(tmp_path, *PARTIES, "--operator", "ops").exit_code == 0

    policy, signer = policy_in(tmp_path), load_signer(tmp_path / "operator-ops.key")
    after = DEFAULT_POLICY.document
    assert policy.policies.keys.keys() == {"ops"}
    assert not any(path == "policies.keys" for path, _ in policy.notes())
    assert signer_of(policy, after, [(HEADER, sign(after, signer, policy.origin))], 0) == "ops"


def test_a_policy_with_an_operator_can_follow_upon_the_one_before(tmp_path: Path):
    """Whenever a party comes its `sequence` is one more; a call that changes nothing writes the same."""
    found = list[int]()
    for more in ([], [], ["--emitter", "another"], ["--emitter", "another"]):
        assert profile(tmp_path, *PARTIES, "--operator", "ops", *more).exit_code == 0
        found.append(policy_in(tmp_path).policies.sequence)

    assert found == [0, 0, 1, 1]


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
        (["--observer", "1", "--observer", "observer-1", "--apart"], "would have one key file"),
        (["--validator", "did:web:"], "the validator's DID is none"),
        (["--emitter", "a", "--policy", "nothing.toml"], "cannot read the policy"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, arguments: list[str], sentence: str):
    result = profile(tmp_path / "keys", *arguments)

    assert result.exit_code == 2
    assert sentence in result.output
    assert not (tmp_path / "keys" / "policy.toml").exists()


def test_validators_are_listed_by_their_dids(tmp_path: Path):
    """In their one spelling; who has none gets the DID that its key is."""
    result = profile(tmp_path, "--validator", "DID:web:Lab.Example", "--validator", "validator-1")

    own = did_of(load_signer(tmp_path / "validator-validator-1.key").verifier.public_key)
    validators = policy_in(tmp_path).attestations.validators
    assert validators.keys() == {"did:web:lab.example", own}
    assert [one.public_key for one in validators[own]] == [key_of(own)]
    assert f"validator {own}: " in result.output
    assert [one for one in policy_in(tmp_path).warnings() if one[0].startswith("attestations")] == []


def test_the_words_of_internal_emitters_stay_internal(tmp_path: Path):
    """Under a profile whose default is external."""
    profile(tmp_path, "--emitter", "bot", "--internal-emitter", "notes")

    policy = policy_in(tmp_path)
    assert (policy.effect_default, policy.effect) == ("external", {"notes": "internal"})
    assert policy.emitters.keys.keys() == {"bot", "notes"}


def test_the_secret_is_made_once_and_for_policies_that_hash(tmp_path: Path):
    """It is one that a worker takes, in a file that only its owner reads."""
    profile(tmp_path, *PARTIES)
    secret = tmp_path / "privacy-secret"
    made = secret.read_text()
    again = profile(tmp_path, *PARTIES)

    assert secret.read_text() == made
    assert "privacy-secret (kept)" in again.output
    assert secret.stat().st_mode & 0o777 == 0o600
    settings = load_settings(None, {"privacy_secret_file": str(secret)})
    assert settings.privacy_secret == made.strip()
    assert len(made.strip()) == 64
    profile(tmp_path / "clear", *PARTIES, "--policy", "reference")
    assert not (tmp_path / "clear" / "privacy-secret").exists()


def test_apart_each_file_has_a_folder_of_its_own(tmp_path: Path):
    """So that each program can be given its own alone."""
    profile(tmp_path, "--apart", "--worker", "worker-1", "--observer", "observer-1", "--emitter", "docs bot")

    files = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    assert files == {
        "worker-1/private.key",
        "observer-1/private.key",
        "emitter-docs-bot/private.key",
        "privacy/privacy-secret",
        "policy/policy.toml",
    }


def test_a_key_that_was_lost_is_told(tmp_path: Path):
    """A ledger knows the one before."""
    profile(tmp_path, *PARTIES)
    (tmp_path / "observer-o-1.key").unlink()

    result = profile(tmp_path, *PARTIES)

    assert "warning: observer o-1 has a new key" in result.output
    assert result.output.count("warning") == 1
    assert "warning" not in profile(tmp_path, *PARTIES).output


def test_keys_that_the_base_lists_stay(tmp_path: Path):
    """The new one stands beside them."""
    profile(tmp_path / "a", *PARTIES)
    profile(tmp_path / "b", *PARTIES, "--policy", str(tmp_path / "a" / "policy.toml"))

    policy = policy_in(tmp_path / "b")
    assert [len(one.all_keys) for one in policy.observers.values()] == [2, 2]
    assert {len(keys) for keys in (*policy.emitters.keys.values(), *policy.checkpoints.keys.values())} == {2}


def _public(path: Path) -> str:
    import base64

    verifier: Verifier = load_signer(path).verifier
    return base64.b64encode(verifier.public_key).decode()
