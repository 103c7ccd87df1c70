"""The policies that the package has (`policies/`): what they are, and that they are there when it is installed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import main

FOLDER = Path(__file__).resolve().parents[3] / "policies"
NAMES = ("reference", "strict", "development")


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_in_the_package(name: str):
    """The same text as in the repository's folder."""
    packaged = files("sluice.policies") / f"{name}.toml"

    assert packaged.read_text("utf-8") == (FOLDER / f"{name}.toml").read_text("utf-8")


def test_reference_is_the_default():
    """Every key stands there with its default, so both have one hash."""
    reference = load_policy((FOLDER / "reference.toml").read_text("utf-8"))

    assert reference == DEFAULT_POLICY
    assert reference.hash == DEFAULT_POLICY.hash


def test_strict_asks_for_checks_and_independence():
    """docs/checks.md."""
    strict = load_policy((FOLDER / "strict.toml").read_text("utf-8"))
    judging, alone = strict.judging, {"commit", "changed", "introduced", "removed", "last_changed", "modified"}

    assert strict.problems() == []
    assert (judging.require_checks, judging.same_bytes, judging.same_root) == (True, True, 2)
    assert strict.admissibility.min_observers.external == 2
    assert strict.effect_default == "external"
    assert strict.require_signatures
    assert strict.reviewers.require_signatures
    assert strict.reviewers.min_reviewers.external == 2
    assert strict.attestations.require_signatures
    assert strict.emitters.require_vendor
    assert strict.emitters.unauthenticated == "external"
    assert strict.privacy.observation_ids == "hashed"
    assert strict.exposures() == []
    by_check = strict.admissibility.k_by_check
    assert by_check.keys() == alone | {"peer", "absent", "missing", "count"}
    assert all((k.internal, k.external) == (1, None) for k in by_check.values())


def test_development_gives_every_verdict_within_a_minute():
    """Its horizon is short, nothing is discarded, and all else is the reference profile's."""
    development = load_policy((FOLDER / "development.toml").read_text("utf-8"))

    assert (development.problems(), development.warnings()) == ([], [])
    assert development.admissibility.horizon <= 10_000
    assert all("discard" not in (either.internal, either.external) for either in development.disposition.values())
    assert development.admissibility.k == DEFAULT_POLICY.admissibility.k
    assert (development.judging, development.effect_default) == (DEFAULT_POLICY.judging, DEFAULT_POLICY.effect_default)


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_named_like_a_file(name: str):
    """Wherever a command takes a policy."""
    result = CliRunner().invoke(main, ["policy", "check", name])

    assert result.exit_code == 0, result.output


def test_a_name_that_is_neither_says_what_there_is():
    """One sentence."""
    result = CliRunner().invoke(main, ["policy", "check", "lenient"])

    assert result.exit_code == 2
    assert "reference and strict" in result.stderr
