"""`sluice demo`: the main job from end to end, on real input, in a few seconds."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs.errors import UsageError
from ...streams.policy.policy import DEFAULT_POLICY, Policy
from ..settings.settings import Settings, load_settings
from .filter_commands import read_policy
from .options import root
from .standard_streams import INTERRUPTED, present, run_to_its_end, say, write_lines

if TYPE_CHECKING:
    from rich.console import Console

    from .demo_view import Board

OUR_END = 50_000
"""Milliseconds: with a horizon longer than that, what nobody bears out is named after the demo's end."""


@click.command()
@click.option("--repo", metavar="DIR", help="The same as --root DIR [this checkout, or else here].")
@root
@click.option("--broker", metavar="URL", help="A real Kafka, as kafka://host:port [one in this process].")
@click.option("--emissions", metavar="FILE", help="Emissions, as JSON lines [examples/emissions.jsonl].")
@click.option("--policy", metavar="FILE", help="The policy to decide by [examples/policy.toml].")
@click.option("--json", "as_json", is_flag=True, help="Each assertion's last output record, one a line.")
@click.pass_obj
def demo(
    obj: dict[str, Any] | None,
    repo: str | None,
    roots: tuple[str, ...],
    broker: str | None,
    emissions: str | None,
    policy: str | None,
    as_json: bool,
) -> None:
    """Shows the main job: what a language model says of a repository, and what observers find it to be worth.

    First it vets an example of an answer, as sluice vet does; not with --json, and only in the checkout that
    the examples lie in. Then it starts a broker, the lanes and the observers in this process, sends the emissions, and
    prints what became of each assertion. It ends by itself; exit status 1 means that something was still without a
    verdict then.

    \b
    Example:
      sluice demo
      sluice demo --root ~/src/project --emissions emissions.jsonl --json
    """
    from ..kafka import connect
    from .demo import read_emissions, settings_for

    obj = obj or {}
    base = load_settings(obj.get("config_file"), {"broker": broker})
    lines = read_emissions(emissions)
    rules, looked_at = _policy(policy, is_example=emissions is None), _roots(repo, roots)
    connect.quiet()
    with tempfile.TemporaryDirectory(prefix="sluice-demo-", ignore_cleanup_errors=True) as state:
        settings = settings_for(base, base.broker if broker is not None else None, looked_at, state)
        if emissions is None and not as_json:
            _show_answer(settings)
        with _log(settings, None if obj.get("debug") else Path(state, "demo.log")):
            board = _run(settings, broker is None, rules, lines, as_json)
    if board is None:
        say("stopped")
        sys.exit(INTERRUPTED)
    _finish(board, settings, broker is None, rules, as_json)


def _show_answer(settings: Settings) -> None:
    """The first half: an answer, vetted. Nothing where the examples are about something else."""
    from ..vet import vetted_assertions
    from . import demo_view as answer
    from .demo import examples

    folder = examples()
    if folder is None or not answer.is_about(folder, settings.root):
        return
    answered = answer.vetted(folder, settings)
    lines = (*answer.introduction(answered), *vetted_assertions.lines(answered.verdicts), *answer.between())

    def table(console: Console) -> None:
        from rich.text import Text

        for line in answer.introduction(answered):
            console.print(Text(line))
        vetted_assertions.print_table(answered.verdicts, console)
        for line in answer.between():
            console.print(Text(line))

    present(table, lines)


def _policy(name: str | None, *, is_example: bool) -> Policy:
    """The policy that was named, or the examples'; for emissions of the user's own with the default windows.

    The examples' evidence of git ends within seconds, so that the demo can show an admission that ends.
    """
    from .demo import DEMO_POLICY, examples

    if name is not None:
        return read_policy(name)
    folder = examples()
    policy = DEMO_POLICY if folder is None else read_policy(str(folder / "policy.toml"))
    if is_example:
        return policy
    windows = msgspec.structs.replace(policy.admissibility, window=DEFAULT_POLICY.admissibility.window)
    return msgspec.structs.replace(policy, admissibility=windows)


def _roots(repo: str | None, given: tuple[str, ...]) -> str:
    """The roots as the setting holds them, with absolute paths."""
    from ..observers.roots import Roots
    from .demo import examples

    folder = examples()
    default = () if repo is None else (repo,)
    if not given and repo is None:
        default = (str(folder.parent) if folder is not None else ".",)
    roots = Roots.parse((*default, *given))
    for path in roots.named.values():
        if not Path(path).is_dir():
            raise UsageError("there is no such folder", path=path, hint="name a repository or a folder with --root")
    return roots.absolute()


@contextmanager
def _log(settings: Settings, file: Path | None) -> Generator[None]:
    """The log of everything that runs here, also of threads that end late: to a file, or to standard error."""
    from ..settings import logs

    if file is None:
        logs.configure(settings.log_level)
        yield
        return
    with open(file, "w", encoding="utf-8") as stream:
        logs.configure(settings.log_level, stream)
        logging.captureWarnings(True)
        logging.raiseExceptions = False
        threading.excepthook = lambda args: logging.error("thread %s: %r", args.thread, args.exc_value)
        sys.unraisablehook = lambda args: logging.error("%r: %r", args.object, args.exc_value)
        try:
            yield
        finally:
            logging.getLogger().handlers[:] = [logging.NullHandler()]


def _run(settings: Settings, embedded: bool, policy: Policy, lines: Sequence[bytes], as_json: bool) -> Board | None:
    """The board at the end; None where a signal has ended the demo."""
    from .demo import STOP_SECONDS, run

    interrupted = False

    async def interruptible(show: Callable[[Board], None], tell: Callable[[str], None]) -> Board:
        task = asyncio.create_task(run(settings, embedded, policy, lines, tell, show))

        def stop() -> None:
            nonlocal interrupted
            interrupted = True
            task.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        return await task

    try:
        if as_json or not sys.stdout.isatty():
            return run_to_its_end(interruptible(lambda board: None, say), STOP_SECONDS)
        return _run_live(interruptible)
    except (Exception, asyncio.CancelledError):
        if interrupted:  # whatever else comes of being stopped half started
            return None
        raise


def _run_live(interruptible: Callable[..., Any]) -> Board:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from . import demo_view
    from .demo import STOP_SECONDS

    console = Console()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(board: Board) -> None:
            live.update(demo_view.live(board, *console.size), refresh=True)

        def say_text(text: str) -> None:
            live.update(Text(f" {text}"), refresh=True)

        return run_to_its_end(interruptible(show, say_text), STOP_SECONDS)


def _finish(board: Board, settings: Settings, embedded: bool, policy: Policy, as_json: bool) -> None:
    """Prints what came of it all; exits with 1 where something is without a word."""
    from . import demo_view

    if as_json:
        write_lines(demo_view.json_lines(board))
    else:
        present(partial(demo_view.print_table, board), demo_view.lines(board))
    missing = board.missing()
    if missing:
        hint = "; the policy's horizon is longer than the demo" if policy.admissibility.horizon > OUR_END else ""
        say(f"the time was up before there was a word about {len(missing)}: {', '.join(missing[:5])}{hint}")
        sys.exit(1)
    if not as_json:
        write_lines(demo_view.next_steps(settings.topic_prefix, settings.broker, embedded))
