"""`sluice prompt` prints what teaches models to attach checks, or to propose them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner
from figures import shipped

from sluice.streams.judging.check_texts import PROPOSER_SCHEMA, Format, instructions, proposer_instructions
from sluice.topology.cli import main

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks" / "results"


@pytest.mark.parametrize("command", [["prompt"], ["prompt", "answer"]])
@pytest.mark.parametrize("form", get_args(Format))
def test_it_prints_the_instructions_for_a_form(command: list[str], form: Format) -> None:
    """On standard output, and nothing else: it goes into a system prompt as it stands. Without a subcommand it is that
    of the model that answers."""
    result = CliRunner().invoke(main, [*command, "--format", form])

    assert (result.exit_code, result.stdout) == (0, instructions(form) + "\n")


def test_a_proposer_has_instructions_of_its_own() -> None:
    """With the schema of its answer, which can be had alone."""
    result = CliRunner().invoke(main, ["prompt", "proposer"])

    assert (result.exit_code, result.stdout) == (0, proposer_instructions() + "\n")
    schema = CliRunner().invoke(main, ["prompt", "proposer", "--schema"])
    assert json.loads(schema.stdout) == PROPOSER_SCHEMA
    assert schema.stderr == ""


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


def test_without_a_form_it_is_prose_and_a_block() -> None:
    """What models can write: in a bracket values are encoded."""
    for command in (["prompt"], ["prompt", "answer"]):
        assert CliRunner().invoke(main, command).stdout == instructions("block") + "\n"


def test_a_form_that_there_is_not_is_wrong_usage() -> None:
    """Exit 2, with the forms that there are."""
    result = CliRunner().invoke(main, ["prompt", "--format", "xml"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "'block', 'inline', 'json'" in result.stderr
