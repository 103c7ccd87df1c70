"""`sluice look`: what the observers see now. `sluice observe`: the observers as a service (cli.md, observing.md)."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import closing
from typing import Any

import click

from ...codecs.decode import decode_emission
from ...codecs.errors import Fault
from .. import logs
from ..inputs import prepare
from ..observers.instruments import Instruments
from ..observers.look import look as look_at
from ..observers.look import written
from ..observers.record import signer_of
from ..settings import Settings, load_settings
from .lines import files_argument, run_filter
from .options import broker, log_level, topic_prefix

_root = click.option(
    "--root", metavar="DIR", type=click.Path(), help="The repository or folder to look at; else as configured, or here."
)
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


def _settings(ctx: click.Context, **flags: str | None) -> Settings:
    return load_settings((ctx.obj or {}).get("config_file"), flags)


@click.command()
@_root
@_substrates
@_observer
@_observer_key
@files_argument
@click.pass_context
def look(ctx: click.Context, substrates: str | None, files: tuple[str, ...], **flags: str | None) -> None:
    """See what stands now where an emission's annotations point: emissions in, observations out, as JSON lines.

    One observation for each annotation that is neither terminal nor unknown, in their order. Nothing is written to
    the place that is looked at; servers, streams and sockets are asked only if the file of `--substrates` lists them.
    A missing `emitted_at` is the present time, as in `sluice produce`. Exit status 3 when the place is not there.

    \b
    Example:
        sluice look --root ~/src/project < emissions.jsonl
    """
    settings = _settings(ctx, **flags)
    signer = signer_of(settings)

    def answer(line: bytes) -> Any | Fault:
        prepared = prepare(line, "emissions", time.time_ns() // 1_000_000)
        emission = prepared if isinstance(prepared, Fault) else decode_emission(prepared.value)
        if isinstance(emission, Fault):
            return emission
        return {
            "emission_id": emission.emission_id,
            "observations": [
                written(one, signer) for one in look_at(emission, settings, settings.root, instruments=instruments)
            ],
        }

    with closing(Instruments(settings, substrates)) as instruments:
        run_filter(files, answer)


@click.command()
@_root
@broker
@topic_prefix
@_substrates
@_observer
@_observer_key
@log_level
@click.pass_context
def observe(ctx: click.Context, substrates: str | None, **flags: str | None) -> None:
    """Run the observers: every emission on the topic `emissions` is looked at, what was seen goes to `observations`.

    \b
    Example:
        sluice observe --root ~/src/project --broker kafka://127.0.0.1:9092
    """
    from ..observers.service import ObserverService

    settings = _settings(ctx, **flags)
    logs.configure(settings.log_level)

    async def run() -> None:
        service = ObserverService(settings, substrates=substrates)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, service.request_stop)
        await service.run()

    asyncio.run(run())
