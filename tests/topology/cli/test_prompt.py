"""`sluice prompt` prints what teaches a model to attach checks."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from sluice.streams.judging.teaching import Format, instructions
from sluice.topology.cli import main


@pytest.mark.parametrize("form", ["inline", "json"])
def test_it_prints_the_instructions_for_a_form(form: Format) -> None:
    """On standard output, and nothing else."""
    result = CliRunner().invoke(main, ["prompt", "--format", form])

    assert (result.exit_code, result.stdout, result.stderr) == (0, instructions(form) + "\n", "")


def test_without_a_form_it_is_the_one_in_brackets() -> None:
    """What any model can write."""
    assert CliRunner().invoke(main, ["prompt"]).stdout == instructions("inline") + "\n"


def test_a_form_that_there_is_not_is_wrong_usage() -> None:
    """Exit 2, with the forms that there are."""
    result = CliRunner().invoke(main, ["prompt", "--format", "xml"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "'inline', 'json'" in result.stderr
