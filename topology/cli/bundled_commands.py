"""`sluice config`, `sluice examples` and `sluice prompt`: the settings in force, and what comes with the package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

import click

from ...codecs.errors import UsageError
from ...streams.judging.check_texts import PROPOSER_SCHEMA, Format, instructions, proposer_instructions
from ..settings.settings import explain_settings
from .standard_streams import say, write_document, write_line


@click.group()
def config() -> None:
    """The configuration: flags, SLUICE_* variables, sluice.toml, defaults."""


@config.command()
@click.option("--json", "as_json", is_flag=True, help="JSON Lines.")
@click.pass_obj
def show(obj: dict[str, Any], as_json: bool) -> None:
    """Prints each setting with its value and where it came from. Secrets are never shown.

    \b
    Example:
      SLUICE_PARTITIONS=8 sluice config show
    """
    settings = explain_settings(obj["config_file"], {})
    if as_json:
        for setting in settings:
            write_line({"setting": setting.name, "value": setting.shown, "origin": setting.origin})
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("setting", "value", "from", "meaning")
        for setting in settings:
            table.add_row(setting.name, Text(_text(setting.shown)), Text(setting.origin), Text(setting.description))
        Console().print(table)
    else:
        for setting in settings:
            click.echo(f"{setting.name} = {_text(setting.shown)}  ({setting.origin})")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


LEFT_OUT = ("__init__.py", "__pycache__")
"""What makes the folder a package, and what Python leaves there."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Copy all of them.")
@click.option("--to", "target", metavar="DIR", type=click.Path(path_type=Path), help="Where to copy to [here].")
def examples(names: tuple[str, ...], every: bool, target: Path | None) -> None:
    """Lists the examples that come with sluice, or copies those that are named.

    A NAME is a file or a folder of the list. Nothing is overwritten: where one of them is there already, none is
    copied. The emissions speak of sluice's own repository; what they look like holds for any.

    \b
    Example:
      sluice examples
      sluice examples grounded
      sluice examples --all --to examples
    """
    found = {one.name: one for one in _entries(files("sluice.examples"))}
    if names and every:
        raise UsageError("--all copies every example", got=names[0], hint="leave the names out, or --all")
    if not names and not every:
        if target is not None:
            raise UsageError("nothing is named to copy", path="--to", hint="name an example, or --all")
        for name, entry in found.items():
            click.echo(f"{name}/\t{' '.join(path for path, _ in _files(entry))}" if entry.is_dir() else name)
        return
    wanted = list(dict.fromkeys(name.rstrip("/") for name in names)) or list(found)
    for name in wanted:
        if name not in found:
            raise UsageError("there is no such example", expected=", ".join(found), got=name)
    _copy([found[name] for name in wanted], target or Path())


def _copy(wanted: list[Traversable], target: Path) -> None:
    """Copies files and folders into a folder, which is made where it is missing.

    Raises:
        UsageError: one of them is there already, or cannot be written.
    """
    for one in wanted:
        if os.path.lexists(target / one.name):
            what = "is there already, and no example overwrites it"
            raise UsageError(what, path=str(target / one.name), hint="name another folder with --to DIR")
    for one in wanted:
        place = target / one.name
        try:
            for path, file in _files(one) if one.is_dir() else [("", one)]:
                written = place / path if path else place
                written.parent.mkdir(parents=True, exist_ok=True)
                with open(written, "xb") as out:
                    out.write(file.read_bytes())
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(error.filename or place)) from None
        say(f"copied {one.name} to {place}")


def _files(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file below a folder with its path there."""
    for one in _entries(folder):
        if one.is_dir():
            yield from _files(one, f"{above}{one.name}/")
        else:
            yield above + one.name, one


def _entries(folder: Traversable) -> list[Traversable]:
    return sorted((one for one in folder.iterdir() if one.name not in LEFT_OUT), key=lambda one: one.name)


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
        say(f"{line}")


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
