"""Makes docs/reference/ from the code: commands, settings, records with their JSON Schemas, policy, topics, metrics.

Usage: make_reference.py [--check]. With --check it writes nothing, and exits with 1 where a file is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import msgspec
from make_reference_policy import policy
from make_reference_records import MADE, cell, record_pages, record_types, settings

from sluice.codecs.errors import DeadLetterReason
from sluice.codecs.strict_schema import strict_emission_schema
from sluice.codecs.times import format_duration
from sluice.streams.adjudication.decisions import TABLE
from sluice.topology.cli import COMMANDS, main
from sluice.topology.cli.asyncapi_command import MESSAGES
from sluice.topology.engine.telemetry import Metrics
from sluice.topology.http.auth_middleware import ServiceMetrics
from sluice.topology.http.mcp_server import AdapterMetrics
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.observers.observer_metrics import ObserverMetrics

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

# ---------------------------------------------------------------- commands


def commands() -> str:
    """Every command, its options and its example, as `--help` has them."""
    parts = [
        f"# Commands\n\n{MADE}`sluice [--debug] [--config FILE] COMMAND`. Data goes to standard output, messages to "
        "standard error. Exit status: 0 done, 1 the thing asked about does not hold, 2 wrong usage or configuration, "
        "3 a dependency is not to be reached, 130 interrupted by Ctrl-C.\n\n"
        "**Completion.** The shell completes commands, options and their values once it has run "
        '`eval "$(_SLUICE_COMPLETE=bash_source sluice)"`, for instance from `~/.bashrc`; `zsh_source` is for zsh, and '
        "for fish it is `_SLUICE_COMPLETE=fish_source sluice | source`. A checkout's `.venv/bin` has to be on `PATH`.\n"
    ]
    context = click.Context(main, info_name="sluice")
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        parts += _command(command, click.Context(command, info_name=f"sluice {name}"), 2)
    return "\n".join(parts)


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.info_name}\n"
    yield f"```text\n{context.info_name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    text, _, example = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    yield "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip()) + "\n"
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield "| option | default | what it does |\n| --- | --- | --- |"
        yield "".join(f"{_option(one, context)}\n" for one in options)
    if example.strip():
        yield f"Example:\n```text\n{textwrap.dedent(example.strip(chr(10))).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command(below, click.Context(below, info_name=f"{context.info_name} {name}"), level + 1)


def _option(option: click.Option, context: click.Context) -> str:
    names = ", ".join(option.opts + option.secondary_opts)
    takes, choices = "" if option.is_flag else f" {option.make_metavar(context)}", ""
    if isinstance(option.type, click.Choice):
        # A code span within a table cannot hold a vertical bar that both forge and site read alike.
        takes, choices = "", " or ".join(f"`{choice}`" for choice in option.type.choices) + ". "
    default = f"`{option.default}`" if option.show_default and option.default is not None else ""
    return f"| `{names}{takes}` | {default} | {choices}{cell(option.help or '')} |"


# ---------------------------------------------------------------- decisions, topics, metrics


def decisions() -> str:
    """The decision table, and why an input becomes a dead letter."""
    rows = [
        f"| {number} | `{row.status or 'the terminal that was declared'}` | {f'`{row.reason}`' if row.reason else ''} "
        f"| {', '.join(sorted(row.moments))} | {row.source} |"
        for number, row in enumerate(TABLE, 1)
    ]
    letters = "\n".join(f"- `{reason}`" for reason in get_args(DeadLetterReason))
    return (
        f"# Decisions\n\n{MADE}What an assertion becomes until it is admitted. The first row that holds decides; a row "
        "is looked at when its moment comes. S, V and C are the memo, the grounding contract and the library's "
        "contract.\n\n| | status | reason | when | source |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + f"\n\n## Why an input becomes a dead letter\nThe header `sluice-reason` has one of these:\n\n{letters}\n"
    )


def topics() -> str:
    """Every topic: who writes what under which key, and how long it stays."""
    rows: list[str] = []
    for name, spec in TOPICS.items():
        message, kept = MESSAGES[name], int(spec.config["retention.ms"])
        struct = message.struct.__name__ if message.struct else ""
        record = f"[{struct}](records.md#{struct.lower()})" if struct else f"`{message.content_type}`"
        stays = "for ever" if kept < 0 else format_duration(kept)
        compact = ", the last of a key" if "compact" in spec.config["cleanup.policy"] else ""
        count = spec.partitions or "as the setting says"
        rows.append(
            f"| `{name}` | {spec.role} | {message.summary} | {record} "
            f"| {message.key or 'none'} | {stays}{compact} | {count} |"
        )
    return (
        f"# Topics\n\n{MADE}`sluice topics create` makes them, under the setting `topic_prefix`; `sluice topics check` "
        "tells what is otherwise than declared; `sluice asyncapi` prints all of it as an AsyncAPI 3 document. Input, "
        "output, ledger and control are seen from the lanes.\n\n"
        "| topic | role | what stands there | record | key | kept | partitions |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def metrics() -> str:
    """Every metric, as it is told at a scrape."""
    parts = [f"# Metrics\n\n{MADE}What they mean, and what to ask them, is in [metrics](../metrics.md).\n"]
    registries = {
        "Workers": Metrics(lambda: ()).registry,
        "Observers": ObserverMetrics().registry,
        "The adapter": AdapterMetrics().registry,
        "The service": ServiceMetrics().registry,
    }
    for who, registry in registries.items():
        parts.append(f"## {who}\n| metric | type | what it says |\n| --- | --- | --- |")
        for family in sorted(registry.collect(), key=lambda one: one.name):
            suffix = "_total" if family.type == "counter" else ""
            parts.append(f"| `{family.name}{suffix}` | {family.type} | {family.documentation} |")
        parts.append("")
    return "\n".join(parts)


INDEX = f"""# Reference

{MADE}Made from the code: what is here is what runs.

| page | what it lists |
| --- | --- |
| [Commands](commands.md) | every subcommand with its options |
| [Settings](settings.md) | how a process runs |
| [Policy](policy.md) | what decides |
| [Decisions](decisions.md) | statuses and reasons, in the order that decides; dead letters |
| [Records](records.md) | what stands on the topics, with JSON Schemas |
| [Topics](topics.md) | who writes what, under which key, and how long it stays |
| [Metrics](metrics.md) | what is counted |
"""


def pages() -> dict[str, str]:
    """Every file of the reference, by its name below the folder."""
    found = {
        "index.md": INDEX,
        "commands.md": commands(),
        "settings.md": settings(),
        "policy.md": policy(),
        "decisions.md": decisions(),
        "records.md": record_pages(),
        "topics.md": topics(),
        "metrics.md": metrics(),
    }
    for name, struct in record_types().items():
        schema = msgspec.json.format(msgspec.json.encode(msgspec.json.schema(struct)), indent=2)
        found[f"schemas/{name}.json"] = schema.decode() + "\n"
    strict = msgspec.json.format(msgspec.json.encode(strict_emission_schema()), indent=2)
    found["schemas/emission-strict.json"] = strict.decode() + "\n"
    return found


def stale(folder: Path = FOLDER) -> list[str]:
    """The files that are not what the code makes of them now, and those that it does not make."""
    made = pages()
    there = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    changed = [name for name, text in made.items() if name not in there or there[name].read_text("utf-8") != text]
    return sorted({*changed, *(there.keys() - made.keys())})


def run() -> None:
    """Writes the pages, or with --check names those that are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a file is out of date")
    if parser.parse_args().check:
        if names := stale():
            print("out of date, `make reference` makes them anew: " + ", ".join(names), file=sys.stderr)
            sys.exit(1)
        return
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    run()
