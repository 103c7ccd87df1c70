"""tools/check_builders.py: records of tests come from the builders alone."""

from __future__ import annotations

from pathlib import Path

import check_builders
import pytest


def found(tmp_path: Path, source: str) -> list[str]:
    """What is said of a test module."""
    file = tmp_path / "test_lanes.py"
    file.write_text(source)
    return list(check_builders.faults([file]))


@pytest.mark.parametrize(
    "name", ["emission", "observation", "an_emission", "_review", "make_sighting", "attestation_value", "policy"]
)
def test_a_function_with_a_builders_name_is_reported(tmp_path: Path, name: str) -> None:
    """With its place, its name, and where it belongs."""
    (fault,) = found(tmp_path, f"\ndef {name}(**fields): ...\n")

    assert fault.endswith(f"test_lanes.py:2: {name} is for tests/support/builders.py; name the scenario instead")


@pytest.mark.parametrize(
    "source",
    [
        "def emission_with_look_alikes(): ...",
        "def emissions(sink): ...",
        "@pytest.fixture(scope='session')\ndef emission(): ...",
        "class World:\n    def emission(self): ...",
        "emission = 1",
    ],
)
def test_a_scenario_and_a_fixture_are_not(tmp_path: Path, source: str) -> None:
    """Nor a method, whose class says what it draws from."""
    assert found(tmp_path, source) == []
