"""The command line: one Click group, each subcommand in a module of its own, imported only when it is called.

Data goes to standard output, messages to standard error. Exit status (docs/reference/commands.md): 0 done, 1 the thing
asked about does not hold, 2 wrong usage or configuration, 3 a dependency is not to be reached, 130 interrupted by
Ctrl-C. An error is one sentence; a traceback only with `--debug`.
"""

from __future__ import annotations

import gc
import importlib
import sys
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..settings import process
from .standard_streams import ended

__all__ = [
    "main",
]

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module below this package : attribute, one line of help)
    "parse": (
        "filter_commands:parse",
        "emissions to the JSON form, either encoding in; other inputs as lanes read them",
    ),
    "render": ("filter_commands:render", "emissions to the in-line encoding"),
    "fold": ("filter_commands:fold", "the whole of adjudication as a filter"),
    "sanitise": ("sanitation_commands:sanitise", "attestations, sanitised and framed"),
    "canonical-hash": ("sanitation_commands:canonical_hash", "the canonical hash of JSON objects"),
    "look": ("look_command:look", "what the observers see now of an emission's annotations"),
    "check": ("check_command:check", "what grounds what in Python sources, proved before they run"),
    "record": ("record_command:record", "transcripts of agents to emissions"),
    "hook": ("vet_commands:hook", "a coding agent's stop hook: its last message, vetted before it stops"),
    "vet": (
        "vet_commands:vet",
        "an agent's answer, vetted without a broker: what observers find each statement to be worth",
    ),
    "schema": ("filter_commands:schema", "JSON Schemas of the records"),
    "prompt": ("bundled_commands:prompt", "what teaches a model to attach checks"),
    "asyncapi": ("asyncapi_command:asyncapi", "the AsyncAPI document of all topics"),
    "policy": ("policy_command:policy", "check a policy file, bring one into force, show the one in force"),
    "examples": ("bundled_commands:examples", "the examples that come with sluice, listed or copied"),
    "demo": ("demo_command:demo", "the main job from end to end, on real input"),
    "broker": ("worker_commands:broker_group", "a real single-node Kafka for development"),
    "topics": ("worker_commands:topics", "declare the topics, or compare what is there"),
    "worker": ("worker_commands:worker", "run the lanes"),
    "observe": ("look_command:observe", "run the observers"),
    "mcp": ("serving_commands:mcp", "answer language models over the Model Context Protocol"),
    "serve": ("serving_commands:serve", "records in over HTTP, and a console for people"),
    "produce": ("kafka_commands:produce", "send emissions, observations, sightings, reviews or attestations"),
    "consume": ("kafka_commands:consume", "read admitted, or another output topic"),
    "audit": ("audit_command:audit", "the ledger, the outputs and the checkpoints, held against one another"),
    "explain": ("explain_commands:explain", "the story of an emission's assertions, from the ledger"),
    "what-if": ("explain_commands:what_if", "the past under another policy"),
    "prove": ("proof_commands:prove", "a small file that shows that a record stands in a lane's history"),
    "verify": ("proof_commands:verify", "such a file, checked with a key and nothing else"),
    "key": ("proof_commands:key", "the keys that checkpoints are signed with"),
    "config": ("bundled_commands:config", "show the configuration and where each value comes from"),
    "faust": ("worker_commands:faust", "Faust's own commands on our app"),
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for: `sluice parse` must not wait for Faust to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        was_on = gc.isenabled()
        gc.disable()  # what an import makes stays: looking for garbage in it was a twentieth of a short command
        try:
            return getattr(importlib.import_module(f".{module}", __name__), attribute)
        finally:
            if was_on:
                gc.enable()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As Click's, without importing every command for its line of help: a Tab must not take a second."""
        names = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """As Click's, which would put an empty line before what is said of Ctrl-C.

        A package that the small client does not bring is named with the extra that does (docs/installing.md).
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise click.Abort from interrupt
        except ModuleNotFoundError as error:
            from ..settings.process import needed

            sentence = needed(error.name or "", ctx.invoked_subcommand)
            if sentence is None:
                raise
            raise sentence from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """As Click's, but whatever ends a command is one sentence and an exit status of ours."""
        if not kwargs.pop("standalone_mode", True):
            return super().main(*args, standalone_mode=False, **kwargs)
        kwargs.setdefault("prog_name", self.name)
        given = args[0] if args else kwargs.get("args")
        debug = "--debug" in (sys.argv[1:] if given is None else given)
        sys.exit(ended(partial(super().main, *args, standalone_mode=False, **kwargs), debug))


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


@click.group(
    "sluice", cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version, and whether the compiled core is there.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False),
    help="Configuration file [SLUICE_CONFIG, or sluice.toml].",
)
@click.pass_context
def main(ctx: click.Context, debug: bool, config_file: str | None) -> None:
    """Lets through what language models state only as far as k distinct kinds of fresh evidence bear it out."""
    ctx.obj = {"debug": debug, "config_file": config_file}
