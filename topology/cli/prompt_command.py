"""`sluice prompt`: what a model is told, so that it attaches or proposes checks (streams/judging/teaching.py)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, get_args

import click

from ...streams.judging.teaching import PROPOSER_SCHEMA, Format, instructions, proposer_instructions
from .standard_streams import write_document

_form = click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="block",
    show_default=True,
    help="How the model answers: prose and a block of checks, prose with annotations in brackets, or JSON.",
)


@click.group(invoke_without_command=True)
@_form
@click.pass_context
def prompt(ctx: click.Context, form: Format) -> None:
    """Prints instructions for a model: for one that answers, or for one that proposes checks of what another stated.

    Without a subcommand it is `sluice prompt answer`. The list of checks in them is that of this version of sluice.
    What checks were measured to be worth is told on standard error, so that it gets into no prompt.

    \b
    Example:
      sluice prompt answer > instructions.txt
      sluice prompt proposer > translator.txt
    """
    if ctx.invoked_subcommand is None:
        _tell(instructions(form))


@prompt.command()
@_form
def answer(form: Format) -> None:
    """Instructions for a model that answers: in its own prose, with a block of checks behind it.

    Put them into its system prompt. `sluice vet`, `hook`, `record` and `parse` read what it writes.

    \b
    Example:
      sluice prompt answer > instructions.txt
    """
    _tell(instructions(form))


@prompt.command()
@click.option("--schema", is_flag=True, help="The JSON Schema of its answer alone.")
def proposer(schema: bool) -> None:
    """Instructions for a model that says which checks the statements of another have, and the schema of its answer.

    It gets {"statements": [{"number": 1, "text": …, "before": …}]}, and sees no file.

    \b
    Example:
      sluice prompt proposer > translator.txt
      sluice prompt proposer --schema > translator.schema.json
    """
    if schema:
        write_document(PROPOSER_SCHEMA)
    else:
        _tell(proposer_instructions())


def _tell(text: str) -> None:
    click.echo(text)
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
