"""`sluice hook`: a coding agent's stop hook, and its installation (docs/vetting.md)."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from pathlib import Path

import click
import msgspec

from ...codecs.errors import SluiceError, UsageError, printable
from ..settings.settings import load_settings
from .filter_commands import read_policy
from .options import root, root_setting

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

        config = (ctx.obj or {}).get("config_file")
        settings = load_settings(config, {"root": root_setting(roots)}) if roots else None
        policy = VETTING_POLICY if policy_file is None else read_policy(policy_file, settings)
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
        answer = answer_to(data, settings, policy, budget=budget, unsupported=unsupported, agent=KNOWN[agent])
    except SluiceError as error:  # an exit status of 2 would hold the agent up
        click.echo(printable(f"sluice: {error}"), err=True)
        return
    if answer.sentence:
        click.echo(printable(f"sluice: {answer.sentence}"), err=True)
    if answer.document is not None:
        sys.stdout.buffer.write(msgspec.json.encode(answer.document) + b"\n")
        sys.stdout.buffer.flush()


def _install(
    agent: str, yes: bool, budget: float, unsupported: bool, roots: tuple[str, ...], policy_file: str | None
) -> None:
    from ..terminal.showing import escaped
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
        click.echo(printable(f"sluice: the hook is in {change.path} already"), err=True)
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
            click.echo("sluice: nothing was written", err=True)
            return
    write(change)
    if shutil.which("sluice") is None:
        click.echo("sluice: warning: `sluice` is not on the PATH here; the agent needs it on its own", err=True)
    click.echo(printable(f"sluice: written to {change.path}"), err=True)
    if KNOWN[agent].afterwards:
        click.echo(f"sluice: {KNOWN[agent].afterwards}", err=True)
