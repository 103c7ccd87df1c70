"""`sluice prompt`: what a model is told, so that it attaches checks (streams/judging/teaching.py)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, get_args

import click

from ...streams.judging.teaching import Format, instructions


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="inline",
    show_default=True,
    help="How the model answers: prose with annotations in brackets, or JSON.",
)
def prompt(form: Format) -> None:
    """Prints instructions for a model, so that it attaches checks to what it states.

    Put them into its system prompt. The list of checks in them is that of this version of sluice. What checks were
    measured to be worth is told on standard error, so that it gets into no prompt.

    \b
    Example:
      sluice prompt --format json > instructions.txt
    """
    click.echo(instructions(form))
    for line in measured_effect():
        click.echo(f"sluice: {line}", err=True)


def measured_effect() -> tuple[str, str]:
    """What checks are worth by `make yield`, and what was measured: checks of a corpus, no model that was prompted."""
    stored = files("sluice.topology.cli").joinpath("data", "measured.json")
    found: dict[str, Any] = json.loads(stored.read_text("utf-8"))
    recall = {name: f"{value:.0%}" for name, value in found["recall"].items()}
    false = found["false"]
    return (
        f"measured {found['at'][:10]}: of {found['cases']} true statements {recall['with_checks']} are admitted, at "
        f"least in part, with checks attached, {recall['derived']} with those that a recorder derives, "
        f"{recall['bare']} without; of {false['cases']} false ones {false['value']:.0%} as a whole",
        "these were checks of a corpus that was written for this project, and no model was prompted: what yours "
        "attaches may be less, or wrong",
    )
