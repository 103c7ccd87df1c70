"""`sluice examples`: the examples that the package brings, and copies of them to begin with (docs/installing.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from ...codecs.errors import UsageError

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
        click.echo(f"sluice: copied {one.name} to {place}", err=True)


def _files(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file below a folder with its path there."""
    for one in _entries(folder):
        if one.is_dir():
            yield from _files(one, f"{above}{one.name}/")
        else:
            yield above + one.name, one


def _entries(folder: Traversable) -> list[Traversable]:
    return sorted((one for one in folder.iterdir() if one.name not in LEFT_OUT), key=lambda one: one.name)
