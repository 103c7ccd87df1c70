"""`sluice --version`: the package's version, and whether the compiled core is there (native/README.md)."""

from __future__ import annotations

import click

from ..settings import process


def version_line() -> str:
    """`sluice 0.1.0, compiled core 14`, or `sluice 0.1.0, pure Python`."""
    from ...codecs import compiled_core as codecs
    from ...streams.adjudication import fold_layout as fold

    parts = [name for name, core in (("codecs", codecs.codecs), ("fold", fold.core)) if core is not None]
    only = f" for the {parts[0]} only" if len(parts) == 1 else ""
    core = f"compiled core {codecs.VERSION}{only}" if parts else "pure Python"
    return f"sluice {process.version()}, {core}"


def show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """What `--version` calls: prints the line and ends the command."""
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()
