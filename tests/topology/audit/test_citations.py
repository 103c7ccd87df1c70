"""A ledger whose policy has sightings: citations are outputs like others, and stand in other lanes' partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import assertion_value, emission_value
from click.testing import CliRunner
from exported import ExportedLane

from sluice.streams.policy.policy import DEFAULT_POLICY, Policy, Sightings
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.cli import main
from sluice.topology.settings.settings import Settings

T = 1_800_000_000_000
CITING = Policy(sightings=Sightings(classes=["substrate.grep"]))


def grepped(name: str) -> dict[str, Any]:
    note = {"substrate_class": "substrate.grep", "observation_id": f"o-{name}"}
    return emission_value(name, assertions=[assertion_value("It is so.", note)])


def lane(policy: Policy) -> ExportedLane:
    made = ExportedLane(policy, T)
    made.block(T, [("emissions", grepped(f"em-{number}")) for number in range(5)])
    made.block(T + 1, [("emissions", (b"em-9", b"{"))])
    made.block(T + 3_600_000)
    return made


async def test_they_are_compared_like_other_outputs(tmp_path: Path):
    """Wherever their own keys have put them; the laws are in test_groups.py."""
    made = lane(CITING)
    assert [one.topic for one in made.outputs].count("citations") == 5

    report = await audit(AuditRequest(Settings(), made.export(tmp_path)), "now")

    (found,) = report.lanes
    assert found.divergences == []
    assert found.topics["dead-letters"].equal == 1
    assert found.topics["citations"].equal == 5


async def test_one_that_is_otherwise_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By the root, and one by one: a fold that cited otherwise than the one that wrote the ledger."""
    made = lane(CITING)
    monkeypatch.setattr("sluice.streams.adjudication.outputs.MAX_BYTES", 0)

    report = await audit(AuditRequest(Settings(), made.export(tmp_path)), "now")

    assert [one.kind for one in report.lanes[0].divergences] == ["outputs-root", *["additional-output"] * 5]


async def test_dead_letters_of_the_binding_lane_are_foreign(tmp_path: Path):
    """They stand in the same partition, and no block of this ledger gives them."""
    made = lane(DEFAULT_POLICY)
    own = next(one for one in made.outputs if one.topic == "dead-letters")
    for topic in ("sightings", "citations"):
        headers = [("sluice-reason", b"schema"), ("sluice-source", f"{topic}/0/7".encode())]
        made.outputs.append(own._replace(headers=headers))

    report = await audit(AuditRequest(Settings(), made.export(tmp_path)), "now")

    assert report.lanes[0].divergences == []
    assert report.lanes[0].topics["dead-letters"].foreign == 2


def test_the_story_of_an_assertion_and_the_past_under_another_policy_are_reported(tmp_path: Path):
    """Citations are no words about an assertion."""
    folder, policy = lane(CITING).export(tmp_path / "export"), tmp_path / "policy.toml"
    policy.write_text('[sightings]\nclasses = ["substrate.grep"]\n', encoding="utf-8")

    for command in (["explain", "em-1"], ["what-if", "--policy", str(policy)]):
        result = CliRunner().invoke(main, [*command, "--offline", str(folder)])

        assert result.exit_code == 0, result.output
        assert "unverified-inference" in result.output
