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
    """What came of statements of real answers by `make yield`, and what was measured: no model that was prompted."""
    stored = files("sluice.topology.cli").joinpath("data", "measured.json")
    found: dict[str, Any] = json.loads(stored.read_text("utf-8"))
    forms, proposer = found["forms"], found["proposer"]
    share = {name: f"{figure['value']:.1%}" for name, figure in proposer.items()}
    return (
        f"measured {found['at'][:10]}: of {proposer['false refuted']['cases']} false statements "
        f"{share['false refuted']} are contradicted with checks of a proposer, and {share['false whole']} admitted; "
        f"of {proposer['true whole']['cases']} true ones {share['true refuted']} are contradicted, and "
        f"{share['true whole']} admitted ({forms['true whole']['value']:.1%} by claim forms alone)",
        "the proposer saw the statements alone, and no model was prompted with these instructions",
    )
