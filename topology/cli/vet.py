"""`sluice vet`: what an agent's answer is worth, without a broker (docs/vetting.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...codecs.errors import UsageError, printable
from ..settings.settings import Settings, load_settings
from .filters import read_policy
from .options import root, root_setting
from .standard import write_document

if TYPE_CHECKING:
    from ..observers.instruments import Instruments
    from ..vet.sources import Source
    from ..vet.verdicts import Verdict

FORMATS = ("claude-code", "codex", "openhands", "swe-agent", "markdown")
BAR_AFTER = 1.0
"""Seconds before a bar is shown."""


@click.command()
@click.argument("file", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), help="What FILE is [found by its content or ending].")
@root
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Policy file [the reference policy].")
@click.option("--all", "every", is_flag=True, help="Every turn of the session, not the last one alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write one self-contained page.")
@click.option("--broker", metavar="URL", help="Send the emissions to Kafka instead, as kafka://host:port.")
@click.pass_context
def vet(
    ctx: click.Context,
    file: str | None,
    form: str | None,
    roots: tuple[str, ...],
    policy_file: str | None,
    every: bool,
    as_json: bool,
    html: str | None,
    broker: str | None,
) -> None:
    """Say of each statement in an agent's answer what observers find it to be worth, without a broker.

    FILE is the transcript of a session, or an answer in Markdown; - is standard input. Without it the newest session
    of a coding agent for this directory is taken. The observers look at the working tree of --root, by default the
    git checkout that this directory is in. Exit status 1 where a statement is contradicted.

    \b
    Example:
        sluice vet
        sluice vet README.md --root ~/src/project
        sluice vet session.jsonl --format claude-code --all --json
    """
    from ..observers.instruments import Instruments
    from ..observers.roots import Roots
    from ..vet.sources import folder_of, roots_around
    from ..vet.verdicts import CONTRADICTED, document
    from ..vet.vetting import VETTING_POLICY, Vetter

    flag = root_setting(roots) or (None if _configured(ctx) else roots_around(Path.cwd()))
    settings = load_settings((ctx.obj or {}).get("config_file"), {"root": flag})
    places = Roots.of(settings.root)
    places.check()
    policy = VETTING_POLICY if policy_file is None else read_policy(policy_file, settings)
    name = file or _newest()
    with closing(Instruments(settings)) as instruments:
        source = _read(name, form, folder_of(places), settings, instruments, every)
        for problem in source.problems:
            click.echo(printable(f"sluice: {name}:{problem.line}: {problem.sentence}"), err=True)
        if broker is not None:
            _send(source, broker)
            return
        vetter = Vetter(settings, places, instruments, policy)
        with _progress(len(source.emissions)) as step:
            verdicts: list[Verdict] = []
            for one in source.emissions:
                verdicts += vetter.vet(one)
                step()
    if html is not None:
        _write_page(html, verdicts, name)
    if as_json:
        write_document(document(verdicts))
    else:
        _show(verdicts)
    if any(one.status == CONTRADICTED for one in verdicts):
        sys.exit(1)


def _configured(ctx: click.Context) -> bool:
    """Whether a root is configured, in the file or the environment."""
    return load_settings((ctx.obj or {}).get("config_file"), {}).root != Settings().root


def _newest() -> str:
    from ...record.transcripts import newest_session
    from ..vet.sources import checkout_of

    here = Path.cwd()
    found = newest_session(here) or newest_session(checkout_of(here))
    if found is None:
        raise UsageError(
            "no session of Claude Code or Codex was found for this directory", path=str(here), hint="name a FILE"
        )
    click.echo(printable(f"sluice: the session {found}"), err=True)
    return str(found)


def _read(
    name: str, form: str | None, folder: str, settings: Settings, instruments: Instruments, every: bool
) -> Source:
    """The emissions of a file.

    Raises:
        UsageError: it cannot be read, or is of no known format.
    """
    from ...record.transcripts import open_transcript
    from ..observers.tracked import tracked
    from ..vet.sources import demand_readable, is_answer, of_answer, of_events, read_answer

    demand_readable(name)
    if form == "markdown" or (form is None and is_answer(name)):
        text = read_answer(name)
        return of_answer(text, folder, tracked(folder, settings, instruments), conversation=_conversation(name))
    events = open_transcript(name, None if form is None else form)  # pyright: ignore[reportArgumentType]
    return of_events(events, folder, conversation=_conversation(name), every=every)


def _conversation(name: str) -> str:
    return "stdin" if name == "-" else Path(name).stem or "session"


def _send(source: Source, broker: str) -> None:
    from ...record import KafkaSink

    with KafkaSink(broker) as sink:
        for one in source.emissions:
            sink.put(one)
    number = len(source.emissions)
    click.echo(f"sluice: {number} emission{'' if number == 1 else 's'} sent to {printable(broker)}", err=True)


def _write_page(path: str, verdicts: list[Verdict], name: str) -> None:
    from ..vet.page import page

    try:
        Path(path).write_text(page(verdicts, Path(name).name), "utf-8")
    except OSError as error:
        raise UsageError(f"the page cannot be written: {error.strerror}", path=path) from None


def _show(verdicts: list[Verdict]) -> None:
    from ..vet import view

    if sys.stdout.isatty():
        from rich.console import Console

        view.print_table(verdicts, Console())
        return
    for line in view.lines(verdicts):
        sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error, once it takes longer than a second; on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=False) as bar:
        task = bar.add_task("vetting", total=total, visible=False)
        began = time.monotonic()
        yield lambda: bar.update(task, advance=1, visible=time.monotonic() - began > BAR_AFTER)
