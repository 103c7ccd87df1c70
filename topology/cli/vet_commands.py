"""`sluice vet` and `sluice hook`: an answer vetted without a broker, by a person or by an agent's stop hook."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
import msgspec

from ...codecs.errors import SluiceError, UsageError, printable
from ..settings.process import seldom_collected
from ..settings.settings import Settings, load_settings
from .filter_commands import read_policy
from .options import config_file, root, root_setting
from .standard_streams import present, say, shown_name, write_escaped_line, write_text

if TYPE_CHECKING:
    from ...record.transcripts import Format
    from ..vet.vetted_assertions import Verdict
    from ..vet.vetting_runs import Asked, Job, Named, Read, ReadFile

FORMATS = ("claude-code", "codex", "openhands", "swe-agent", "markdown")
BAR_AFTER = 1.0
"""Seconds before a bar is shown."""
TELL_SECONDS = 10.0
"""Seconds between two lines of progress, where there is no terminal."""


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What FILE is [found by its content or ending].")
@root
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Policy file [the reference policy].")
@click.option("--proposer", metavar="NAME", help="form, or file:F: asked which checks each statement has.")
@click.option("--last", is_flag=True, help="Of a session the last turn alone.")
@click.option("--all", "every", is_flag=True, help="Every turn of a session [this is what happens without --last].")
@click.option("--json", "as_json", is_flag=True, help="JSON Lines: an object for each statement.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write one self-contained page.")
@click.option("--broker", metavar="URL", help="Send the emissions to Kafka instead, as kafka://host:port.")
@click.pass_context
@seldom_collected()  # while modules are imported, too
def vet(
    ctx: click.Context,
    files: tuple[str, ...],
    form: str | None,
    roots: tuple[str, ...],
    policy_file: str | None,
    proposer: str | None,
    last: bool,
    every: bool,
    as_json: bool,
    html: str | None,
    broker: str | None,
) -> None:
    """Say of each statement in an agent's answers what observers find it to be worth, without a broker.

    FILE is the transcript of a session, or an answer in Markdown; - is standard input; there may be several. Without
    one the newest session of a coding agent for this directory is taken. All turns of a session are vetted. The
    observers look at the working tree of --root, by default the git checkout that this directory is in. Exit status 1
    where a statement is contradicted, 2 where nothing that an agent did or said could be read, or no
    statement could be looked at.

    --proposer says which checks a statement has, and whether they say all of it: the claim forms, or proposals kept in
    a file. How many statements go to it is told before. What it says counts in this run alone.

    With --json each line is the last output record of one statement, with what vetting adds: file, turn, statement,
    seen, missing, and shown and not_checked where it is admitted in part. The summary goes to standard error.

    \b
    Example:
        sluice vet
        sluice vet README.md docs/*.md --root ~/src/project
        sluice vet session.jsonl --format claude-code --last
        sluice vet README.md --proposer file:proposals.jsonl
        sluice vet session.jsonl --json | jq 'select(.status == "contradicted") | .statement'
    """
    from ...record.proposing import proposer_of
    from ..observers.observer_registry import now
    from ..observers.roots import Roots
    from ..vet.sources import roots_around
    from ..vet.vetted_assertions import CONTRADICTED, Tally, lines, page, print_table
    from ..vet.vetting import VETTING_POLICY
    from ..vet.vetting_runs import Asked, Job, ReadFile, Running, Unread, processes_for

    if last and every:
        raise UsageError("--last and --all contradict each other")
    flag = root_setting(roots) or (None if _configured(ctx) else roots_around(Path.cwd()))
    settings = load_settings(config_file(ctx), {"root": flag, "proposer": proposer})
    if broker is not None and proposer is not None:
        raise UsageError("--broker judges nothing, and --proposer proposes what is judged")
    Roots.of(settings.root).check()
    policy = VETTING_POLICY if policy_file is None else read_policy(policy_file, settings)
    names = files or (_newest(),)
    asked = None if settings.proposer is None else proposer_of(settings.proposer, now)
    job = Job([_named(name, form) for name in names], settings, policy, last, asked)
    if broker is not None:
        _send(job, broker)
        return
    tally, contradicted, is_unread, judged = Tally(), False, False, dict[str, int]()
    kept: list[Verdict] = []
    with seldom_collected(), Running(job, processes_for(job)) as running, _progress(_size(job)) as read:
        for one in running.results(read):
            if isinstance(one, Asked):
                _tell(one, settings.proposer or "")
                continue
            if isinstance(one, Unread):
                say(f"{one.name}:{one.line}: {one.sentence}")
                is_unread = is_unread or one.nothing_read
                continue
            if isinstance(one, ReadFile):
                is_unread = _told(one, judged.pop(one.name, 0)) or is_unread
                continue
            _tell_left_out(one.name, one.left_out)
            judged[one.name] = judged.get(one.name, 0) + len(one.verdicts)
            for verdict in one.verdicts:
                contradicted = contradicted or verdict.status == CONTRADICTED
                tally.add(verdict)
                if as_json:
                    write_escaped_line(verdict.form())
                if html is not None or not as_json:
                    kept.append(verdict.slim())
    sys.stdout.buffer.flush()
    if html is not None:
        write_text(html, page(kept, ", ".join(Path(name).name for name in names)), "the page")
    if as_json:
        for line in tally.lines():
            say(line)
    else:
        present(partial(print_table, kept), lines(kept))
    is_unread = is_unread or tally.saw_nothing
    if contradicted or is_unread:
        sys.exit(1 if contradicted else 2)


def _configured(ctx: click.Context) -> bool:
    """Whether a root is configured, in the file or the environment."""
    return load_settings(config_file(ctx), {}).root != Settings().root


def _newest() -> str:
    from ...record.transcripts import newest_session
    from ..vet.sources import checkout_of

    here = Path.cwd()
    found = newest_session(here) or newest_session(checkout_of(here))
    if found is None:
        raise UsageError(
            "no session of Claude Code or Codex was found for this directory", path=str(here), hint="name a FILE"
        )
    say(f"the session {found}")
    return str(found)


def _named(name: str, form: str | None) -> Named:
    """A file and what it is. UsageError: it cannot be opened, or is of no known format."""
    from ...record.transcripts import detect
    from ..vet.sources import STANDARD_INPUT, demand_readable, is_answer
    from ..vet.vetting_runs import Named

    demand_readable(name)
    if form == "markdown" or (form is None and is_answer(name)):
        if name != STANDARD_INPUT and not Path(name).exists():
            raise UsageError("there is no such file", path=name)
        return Named(name, is_answer=True)
    if name == STANDARD_INPUT:
        return Named(name, cast("Format | None", form))  # its beginning can be read once
    return Named(name, detect(name) if form is None else cast("Format", form))


def _tell_left_out(name: str, left_out: Sequence[str]) -> None:
    for sentence in left_out:
        say(f"{shown_name(name)}: {sentence}")


def _told(one: ReadFile, statements: int) -> bool:
    """Says what was read of a transcript, of which so many statements were judged, and whether that is nothing."""
    one.reading.statements = statements
    say(f"{shown_name(one.name)}: {one.reading}")
    return one.reading.is_nothing


def _tell(asked: Asked, proposer: str) -> None:
    statements = "1 statement goes" if asked.number == 1 else f"{asked.number} statements go"
    for line in filter(None, (f"{statements} to the proposer {proposer}", asked.left_out)):
        say(line)


def _send(job: Job, broker: str) -> None:
    from ...record import KafkaSink
    from ..observers.observer_registry import ObserverRegistry
    from ..vet.vetting_runs import ReadFile, Unread, told

    number, is_unread = 0, False
    with (
        closing(ObserverRegistry(job.settings, vetted=job.paths, on_disk=True)) as instruments,
        KafkaSink(broker) as sink,
    ):
        for one in told(job, instruments):
            if isinstance(one, Unread):
                say(f"{one.name}:{one.line}: {one.sentence}")
            elif isinstance(one, ReadFile):
                is_unread = _told(one, one.reading.statements) or is_unread
            else:
                _tell_left_out(one.name, one.left_out)
                for recorded in one.emissions:
                    sink.put(recorded)
                    number += 1
    say(f"{number} emission{'' if number == 1 else 's'} sent to {printable(broker)}")
    if is_unread:
        sys.exit(2)


def _size(job: Job) -> int | None:
    """Bytes of the transcripts; None where there are none, or some come from a pipe."""
    paths = [Path(one.name) for one in job.files if not one.is_answer]
    return sum(path.stat().st_size for path in paths) or None if all(path.is_file() for path in paths) else None


@contextmanager
def _progress(total: int | None) -> Generator[Read]:
    """On standard error a bar once it takes longer than a second, or without a terminal a line every few seconds."""
    if not sys.stderr.isatty():
        with _lines(total) as read:
            yield read
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("vetting", total=total, visible=False)
        timer = threading.Timer(BAR_AFTER, lambda: bar.update(task, visible=True))
        timer.daemon = True
        timer.start()
        try:
            yield lambda size: bar.advance(task, size)
        finally:
            timer.cancel()


@contextmanager
def _lines(total: int | None) -> Generator[Read]:
    began, ended, been = time.monotonic(), threading.Event(), 0

    def read(size: int) -> None:
        nonlocal been
        been += size

    def tell() -> None:
        while not ended.wait(TELL_SECONDS):
            share = f", {100 * been // total}% read" if total else ""
            say(f"vetting for {time.monotonic() - began:.0f} s{share}")

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield read
    finally:
        ended.set()
        telling.join()


BUDGET = 8.0
SPARE_SECONDS = 10
"""What the agent waits beyond the budget: for Python to start and to end."""
AGENTS = ("claude-code", "codex", "gemini-cli", "cursor")


@click.command()
@click.argument("agent", type=click.Choice(AGENTS), default=AGENTS[0])
@click.option("--install", is_flag=True, help="Write the hook into the agent's settings of this project.")
@click.option("--yes", is_flag=True, help="With --install: do not ask.")
@click.option("--budget", type=click.FloatRange(0.1, 300), default=BUDGET, show_default=True, help="Seconds to vet in.")
@click.option("--unsupported", is_flag=True, help="Hold up the agent for what nothing bears out as well.")
@root
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Policy file [the reference policy].")
@click.pass_context
def hook(
    ctx: click.Context,
    agent: str,
    install: bool,
    yes: bool,
    budget: float,
    unsupported: bool,
    roots: tuple[str, ...],
    policy_file: str | None,
) -> None:
    """The stop hook of a coding agent: vets its last message, and holds it up for what observers contradicted.

    AGENT is Claude Code where it is left out. --install shows what changes in .claude/settings.json, .codex/hooks.json,
    .gemini/settings.json or .cursor/hooks.json, and asks before it writes.

    Reads the hook's JSON from standard input, and answers with its JSON, or with nothing where the agent may stop.
    It may stop whenever something is wrong, too: one sentence on standard error says what, and the exit status is 0.

    \b
    Example:
        sluice hook --install
        sluice hook codex --install
        echo '{"last_assistant_message": "`a.py` defines `f`.", "cwd": "."}' | sluice hook claude-code
    """
    if install:
        _install(agent, yes, budget, unsupported, roots, policy_file)
        return
    if yes:
        raise UsageError("--yes goes with --install")
    if sys.stdin.isatty():  # a person, who would wait for ever
        raise UsageError(
            "the agent gives this command its JSON on standard input", hint=f"set it up: sluice hook {agent} --install"
        )
    try:
        from ..vet.agents import AGENTS as KNOWN
        from ..vet.hook import MAX_INPUT, answer_to
        from ..vet.vetting import VETTING_POLICY

        config = config_file(ctx)
        settings = load_settings(config, {"root": root_setting(roots)}) if roots else None
        policy = VETTING_POLICY if policy_file is None else read_policy(policy_file, settings)
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
        answer = answer_to(data, settings, policy, budget=budget, unsupported=unsupported, agent=KNOWN[agent])
    except SluiceError as error:  # an exit status of 2 would hold the agent up
        say(f"{error}")
        return
    if answer.sentence:
        say(f"{answer.sentence}")
    if answer.document is not None:
        sys.stdout.buffer.write(msgspec.json.encode(answer.document) + b"\n")
        sys.stdout.buffer.flush()


def _install(
    agent: str, yes: bool, budget: float, unsupported: bool, roots: tuple[str, ...], policy_file: str | None
) -> None:
    from ..settings.showing import escaped
    from ..vet.agents import AGENTS as KNOWN
    from ..vet.installing import change_of, write
    from ..vet.sources import checkout_of

    command = ["sluice", "hook", agent]
    command += [] if budget == BUDGET else ["--budget", f"{budget:g}"]
    command += ["--unsupported"] if unsupported else []
    command += [part for one in roots for part in ("--root", one)]
    command += [] if policy_file is None else ["--policy", policy_file]
    seconds = math.ceil(budget) + SPARE_SECONDS
    change = change_of(Path(checkout_of(Path.cwd())), shlex.join(command), seconds, KNOWN[agent])
    if change.text is None:
        say(f"the hook is in {change.path} already")
        return
    for line in change.difference.splitlines():
        click.echo(escaped(line))
    if not yes:
        try:
            agreed = click.confirm("Write this?", err=True)
        except click.Abort as abort:
            raise UsageError(
                "nothing was written, since nobody answered", hint="--yes writes without asking"
            ) from abort
        if not agreed:
            say("nothing was written")
            return
    write(change)
    if shutil.which("sluice") is None:
        say("warning: `sluice` is not on the PATH here; the agent needs it on its own")
    say(f"written to {change.path}")
    if KNOWN[agent].afterwards:
        say(f"{KNOWN[agent].afterwards}")
