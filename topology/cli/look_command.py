"""`sluice look`: what the observers see now. `sluice observe`: the observers as a service (docs/reference/commands.md,
observing.md).
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from ...codecs.decode import decode_emission
from ...codecs.errors import Fault, UsageError
from ...streams.judging.checks import canonical
from ..kafka.input_records import prepare
from ..observers.look import PREFIX, Tried, read_check, read_class, tried, written
from ..observers.look import look as look_at
from ..observers.observation_record import signing_of
from ..observers.observer_registry import ObserverRegistry
from ..observers.roots import Roots
from ..settings import logs
from ..settings.settings import Settings, load_settings
from ..settings.showing import escaped
from .options import broker, config_file, log_level, root, root_setting, topic_prefix
from .standard_streams import files_argument, run_filter, write_line

_substrates = click.option(
    "--substrates",
    metavar="FILE",
    type=click.Path(),
    help="The MCP servers, event streams and sockets that may be looked at besides; else as configured.",
)
_observer = click.option("--observer", metavar="NAME", help="The name under which observations are written.")
_observer_key = click.option(
    "--observer-key", metavar="FILE", type=click.Path(), help="The private key that signs them; else as configured."
)


def _settings(ctx: click.Context, roots: tuple[str, ...], **flags: str | None) -> Settings:
    return load_settings(config_file(ctx), {"root": root_setting(roots), **flags})


@click.command()
@root
@_substrates
@_observer
@_observer_key
@click.option("--check", "checks", metavar="CHECK", multiple=True, help="Try this check by hand; may be repeated.")
@click.option("--path", metavar="PATH", help="With --check: the file that a check without one of its own speaks of.")
@click.option(
    "--class", "classes", metavar="CLASS", multiple=True, help="With --check: look by this class alone, as code.read."
)
@click.option("--json", "as_json", is_flag=True, help="With --check: JSON lines on a terminal as well.")
@files_argument
@click.pass_context
def look(
    ctx: click.Context,
    roots: tuple[str, ...],
    substrates: str | None,
    checks: tuple[str, ...],
    path: str | None,
    classes: tuple[str, ...],
    as_json: bool,
    files: tuple[str, ...],
    **flags: str | None,
) -> None:
    """See what stands now where an emission's annotations point: emissions in, observations out, as JSON lines.

    One observation for each annotation that is neither terminal nor unknown, in their order. Nothing is written to
    the place that is looked at; servers, streams and sockets are asked only if the file of `--substrates` lists them.
    A missing `emitted_at` is the present time, as in `sluice produce`. Exit status 3 when the place is not there.
    With a key (--observer-key) the observations name the digest of their line: they count for that very record alone.

    With --check nothing is read: each check is tried by every class that decides it, and the answer says where it
    holds or why not. Exit status 1 when one does not hold, 2 when one is malformed.

    \b
    Example:
        sluice look --root ~/src/project < emissions.jsonl
        sluice look --check 'equals(MAX_RETRIES, 5)' --path src/limits.py
        sluice look --root app=~/src/app --root lib=~/src/lib --check 'absent(parse_time)'
    """
    settings = _settings(ctx, roots, **flags)
    if checks:
        if files:
            raise UsageError("--check reads no emissions", got=files[0], hint="leave the files out, or --check")
        try_by_hand(settings, substrates, checks, path, classes, as_json)
        return
    if path is not None or classes or as_json:
        raise UsageError("--path, --class and --json go with --check", hint="name a check")
    signing = signing_of(settings)
    Roots.of(settings.root).check()

    def answer(line: bytes) -> Any | Fault:
        prepared = prepare(line, "emissions", time.time_ns() // 1_000_000)
        if isinstance(prepared, Fault):
            return prepared
        emission = decode_emission(prepared.value)
        if isinstance(emission, Fault):
            return emission
        record = None if signing is None else prepared.value
        seen = look_at(emission, settings, settings.root, instruments=instruments)
        return {"emission_id": emission.emission_id, "observations": [written(one, signing, record) for one in seen]}

    with closing(ObserverRegistry(settings, substrates)) as instruments:
        run_filter(files, answer)


@click.command()
@root
@broker
@topic_prefix
@_substrates
@_observer
@_observer_key
@log_level
@click.pass_context
def observe(ctx: click.Context, roots: tuple[str, ...], substrates: str | None, **flags: str | None) -> None:
    """Run the observers: every emission on the topic `emissions` is looked at, what was seen goes to `observations`.

    \b
    Example:
        sluice observe --root ~/src/project --broker kafka://127.0.0.1:9092
        sluice observe --root ~/src/app --root lib=~/src/lib
    """
    from ..observers.service import ObserverService

    settings = _settings(ctx, roots, **flags)
    logs.configure(settings.log_level)

    async def run() -> None:
        service = ObserverService(settings, substrates=substrates)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, service.request_stop)
        await service.run()

    asyncio.run(run())


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
    with closing(ObserverRegistry(settings, substrates)) as instruments:
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
