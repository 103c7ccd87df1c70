"""`sluice topics create` and `sluice topics check`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from ..settings.settings import load_settings
from .options import broker, partitions, replication, topic_prefix
from .policy import policy_text


@click.group()
def topics() -> None:
    """Declare the topics, or compare what is there."""


@topics.command()
@broker
@partitions
@replication
@topic_prefix
@click.pass_obj
def create(obj: dict[str, Any], **flags: Any) -> None:
    """Makes the topics that are missing; prints the name of each.

    \b
    Example:
      sluice topics create --broker kafka://127.0.0.1:9092 --partitions 8
    """
    from ..kafka import connect, topics

    settings = load_settings(obj["config_file"], flags)
    connect.quiet()
    made = asyncio.run(topics.create_topics(settings))
    for name in made:
        click.echo(name)
    click.echo(f"sluice: {len(made)} of {len(topics.TOPICS)} topics made; what was there is left as it is", err=True)


@topics.command()
@broker
@partitions
@replication
@topic_prefix
@click.option("--policy", metavar="FILE", help="Policy whose max_validity the outputs must outlive.")
@click.pass_obj
def check(obj: dict[str, Any], **flags: Any) -> None:
    """Prints what is otherwise than declared, a line each; exits with 1 where there is anything.

    \b
    Example:
      sluice topics check --broker kafka://127.0.0.1:9092
    """
    from ..kafka import connect, topics

    settings = load_settings(obj["config_file"], flags)
    connect.quiet()
    longest = None if settings.policy is None else _max_validity(settings.policy)
    differences = asyncio.run(topics.check_topics(settings, longest))
    for difference in differences:
        click.echo(difference)
    if differences:
        sys.exit(1)
    click.echo("sluice: the topics are as declared", err=True)


def _max_validity(file: str) -> int:
    from ...streams.policy.toml_reader import load_policy

    return load_policy(policy_text(file), file).admissibility.max_validity
