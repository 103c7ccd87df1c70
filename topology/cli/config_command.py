"""`sluice config show`: each setting, its value, and where that came from."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..settings.settings import explain_settings
from .lines import write_line


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
