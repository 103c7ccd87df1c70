"""`sluice prompt`: what a model is told, so that it attaches checks (streams/judging/teaching.py)."""

from __future__ import annotations

from typing import get_args

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

    Put them into its system prompt. The list of checks in them is that of this version of sluice.

    \b
    Example:
      sluice prompt --format json > instructions.txt
    """
    click.echo(instructions(form))
