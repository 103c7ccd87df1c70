"""`sluice look --check`: checks tried by hand, as a list for people or as JSON lines (docs/reference/commands.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

import click

from ...streams.judging.checks import canonical
from ..observers.by_hand import PREFIX, Tried, read_check, read_class, tried
from ..observers.instruments import Instruments
from ..observers.roots import Roots
from ..settings.settings import Settings
from ..terminal.showing import escaped
from .lines import write_line


def try_by_hand(
    settings: Settings,
    substrates: str | None,
    checks: Sequence[str],
    path: str | None,
    classes: Sequence[str],
    as_json: bool,
) -> None:
    """Tries each check, prints what came of it, and exits with 1 where one does not hold.

    Args:
        settings: the roots and the bounds of a look.
        substrates: the operator's list, where a flag names another one.
        checks: as they were typed.
        path: for checks that name none.
        classes: the only ones to look by; all where none is named.
        as_json: JSON lines on a terminal as well.

    Raises:
        UsageError: a check is malformed, or there is no such class.
        UnreachableError: a root is not there.
    """
    wanted = [read_check(text) for text in checks]
    named = {read_class(text) for text in classes}
    roots = Roots.of(settings.root)
    roots.check()
    plain = as_json or not sys.stdout.isatty()
    hold = True
    with closing(Instruments(settings, substrates)) as instruments:
        for check in wanted:
            found: list[Tried] = []
            for one in tried(check, settings, roots, instruments, path=path, classes=named):
                found.append(one)
                write_line(one.form()) if plain else _show(one, first=len(found) == 1)
                sys.stdout.flush()
            holds = any(one.holds for one in found) and not any(one.holds is False for one in found)
            hold = hold and holds
            if not found:
                nobody = Tried(canonical(check), "", "", None, NOBODY, {}, None)
                write_line(nobody.form()) if plain else _show(nobody, first=True)
    if not hold:
        sys.exit(1)


NOBODY = "no class that may look decides it"
_WORDS = {True: ("holds", "green"), False: ("does not hold", "red"), None: ("undecided", "yellow")}


def _show(one: Tried, *, first: bool) -> None:
    if first:
        click.secho(escaped(one.check), bold=True)
    word, colour = _WORDS[one.holds]
    said = one.rendered if one.rendered is not None else _why(one)
    name = one.substrate_class.removeprefix(PREFIX)
    place = "" if one.place in ("", "default") else f" [{escaped(one.place)}]"
    shown = f"{name}{place}: " if name else ""
    click.echo(f"  {shown}{click.style(word, fg=colour)}{'. ' if said else ''}{escaped(said)}")


def _why(one: Tried) -> str:
    where = one.where.get("path")
    lines = one.where.get("lines")
    place = "" if where is None else f" ({where}{'' if lines is None else f', line {lines[0]}'})"
    return f"{one.reason or ''}{place}"
