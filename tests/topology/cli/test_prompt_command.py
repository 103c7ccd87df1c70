"""`sluice prompt` prints what teaches a model to attach checks."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner
from figures import shipped

from sluice.streams.judging.teaching import Format, instructions
from sluice.topology.cli import main

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks" / "results"


@pytest.mark.parametrize("form", ["inline", "json"])
def test_it_prints_the_instructions_for_a_form(form: Format) -> None:
    """On standard output, and nothing else: it goes into a system prompt as it stands."""
    result = CliRunner().invoke(main, ["prompt", "--format", form])

    assert (result.exit_code, result.stdout) == (0, instructions(form) + "\n")


def test_it_tells_what_was_measured() -> None:
    """On standard error, with what was measured: figures of a corpus promise nothing about a model."""
    measured = json.loads((RESULTS / "yield.json").read_text())
    told = CliRunner().invoke(main, ["prompt"]).stderr
    proposer = shipped(measured)["proposer"]
    assert f"of {proposer['false refuted']['cases']} false statements {proposer['false refuted']['value']:.1%}" in told
    assert f"of {proposer['true whole']['cases']} true ones {proposer['true refuted']['value']:.1%}" in told
    assert measured["at"][:10] in told
    assert "no model was prompted" in told


def test_the_distribution_has_the_figures_that_the_benchmark_stored() -> None:
    """`make yield` writes both files; whoever edits one has to run it."""
    measured = json.loads((RESULTS / "yield.json").read_text())
    assert json.loads(files("sluice.topology.cli").joinpath("data", "measured.json").read_text()) == shipped(measured)


def test_without_a_form_it_is_the_one_in_brackets() -> None:
    """What any model can write."""
    assert CliRunner().invoke(main, ["prompt"]).stdout == instructions("inline") + "\n"


def test_a_form_that_there_is_not_is_wrong_usage() -> None:
    """Exit 2, with the forms that there are."""
    result = CliRunner().invoke(main, ["prompt", "--format", "xml"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "'inline', 'json'" in result.stderr
