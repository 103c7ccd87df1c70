"""`sluice topics`: `create`, `check`, `adopt`, `drain` and `group`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from ..settings.settings import Settings
from .options import broker, broker_settings, partitions, replication, retention, topic_prefix
from .policy_command import policy_of


@click.group()
def topics() -> None:
    """Declare the topics, compare what is there, or mend what was made anew or grew."""


@topics.command()
@broker
@partitions
@replication
@retention
@topic_prefix
@click.pass_obj
def create(obj: dict[str, Any], retentions: tuple[str, ...], **flags: Any) -> None:
    """Makes the topics that are missing; prints the name of each.

    Topics that are there stay as they are, but for a retention that --retention or the setting names.

    \b
    Examples:
      sluice topics create --broker kafka://127.0.0.1:9092 --partitions 8
      sluice topics create --retention attestations=7d --retention dead-letters=1d
    """
    from ..kafka import topics

    settings = _settings(obj, retentions, flags)
    made = asyncio.run(topics.create_topics(settings))
    for name in made:
        click.echo(name)
    changed = asyncio.run(topics.keep_topics(settings))
    for name in changed:
        click.echo(f"sluice: {name} has another retention now", err=True)
    rest = "what else was there" if changed else "what was there"
    click.echo(f"sluice: {len(made)} of {len(topics.TOPICS)} topics made; {rest} is left as it is", err=True)


@topics.command()
@broker
@partitions
@replication
@retention
@topic_prefix
@click.option("--policy", metavar="FILE", help="Policy whose max_validity the outputs must outlive.")
@click.pass_obj
def check(obj: dict[str, Any], retentions: tuple[str, ...], **flags: Any) -> None:
    """Prints what is otherwise than declared, a line each; exits with 1 where there is anything.

    \b
    Example:
      sluice topics check --broker kafka://127.0.0.1:9092
    """
    from ..kafka import topics

    settings = _settings(obj, retentions, flags)
    longest = None if settings.policy is None else policy_of(settings.policy).admissibility.max_validity
    differences = asyncio.run(topics.check_topics(settings, longest))
    for difference in differences:
        click.echo(difference)
    if differences:
        sys.exit(1)
    click.echo("sluice: the topics are as declared", err=True)


@topics.command()
@broker
@topic_prefix
@click.pass_obj
def group(obj: dict[str, Any], **flags: Any) -> None:
    """Prints the name of the workers' consumer group, for monitors of its lag and for access rules.

    The name ends in the first characters of the ledger topic's id.

    \b
    Example:
      sluice topics group --broker kafka://127.0.0.1:9092
    """
    from ..ledger.installation import present_group

    click.echo(asyncio.run(present_group(broker_settings(obj, flags))))


@topics.command()
@click.argument("topic")
@click.option(
    "--key",
    metavar="FILE",
    help="Private key that signs it: one of the policy's [policies.keys], else of [checkpoints.keys].",
)
@broker
@topic_prefix
@click.pass_obj
def adopt(obj: dict[str, Any], topic: str, key: str | None, **flags: Any) -> None:
    """Goes on with an input TOPIC that was deleted and made again: lanes read the new one from its beginning.

    Lanes that have refused it take that in with their next block, which names both topics' ids. What the old topic had
    and no block has is lost. Prints the id that was, and the one that is.

    \b
    Example:
      sluice topics adopt emissions --key operator.key
    """
    from pathlib import Path

    from ..checkpoints.signing import load_signer
    from ..ledger import adopting

    settings = broker_settings(obj, flags)
    signer = None if key is None else load_signer(Path(key))
    for one in asyncio.run(adopting.adopt(settings, topic, signer)):
        click.echo(f"{one.topic} {one.was} {one.id}")
    click.echo("sluice: written; each lane that has refused the topic takes it in with its next block", err=True)


@topics.command()
@broker
@topic_prefix
@click.pass_obj
def drain(obj: dict[str, Any], **flags: Any) -> None:
    """Moves records that lie in partitions of inputs which no lane reads to the partitions that lanes read.

    A topic whose partitions were raised has such ones: a ledger keeps its number for ever. Each record is moved once,
    in a transaction, with its key, value, headers and time; what comes later needs another run. Prints the topic, the
    partition and how many records were moved.

    \b
    Example:
      sluice topics drain --broker kafka://127.0.0.1:9092
    """
    from ..ledger import draining

    async def run() -> int:
        moved = 0
        async for one in draining.drain(broker_settings(obj, flags)):
            click.echo(f"{one.topic} {one.partition} {one.records}")
            moved += one.records
        return moved

    click.echo(f"sluice: {asyncio.run(run())} records moved to partitions that lanes read", err=True)


def _settings(obj: dict[str, Any], retentions: tuple[str, ...], flags: dict[str, Any]) -> Settings:
    from ..kafka.topics import retentions as read_retentions

    settings = broker_settings(obj, {**flags, "retention": ",".join(retentions) or None})
    read_retentions(settings)  # a wrong one is told before a broker is asked for
    return settings
