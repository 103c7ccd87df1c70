"""`sluice broker`, `sluice topics`, `sluice worker` and `sluice faust`: what an installation runs on."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from ...codecs.errors import UnreachableError, UsageError
from ..kafka.local_broker import RealBroker, RealCluster
from ..settings.settings import Settings, load_settings
from .options import broker, broker_settings, log_level, partitions, replication, retention, topic_prefix
from .policy_command import policy_of, policy_text
from .standard_streams import say

if TYPE_CHECKING:
    from ...streams.policy.policy import Policy

LOOK_SECONDS = 0.5
"""So often it is asked which nodes of a cluster still run."""


@click.group("broker")
def broker_group() -> None:
    """A real Kafka for development, of one node or three."""


class _SignalReceived(BaseException):
    """SIGINT or SIGTERM came. Not an Exception: nobody on the way may take it for a failure of their own."""


def _tell(number: int, frame: FrameType | None) -> None:
    # The first signal ends us in order; one more must not break off the ending.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _SignalReceived


@broker_group.command()
@click.option("--data", type=click.Path(file_okay=False), help="Folder to keep the data in [a temporary one].")
@click.option("--port", type=click.IntRange(1, 65_535), help="Port to listen on [a free one].")
@click.option(
    "--nodes",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="How many brokers. Of three, one may fall.",
)
def run(data: str | None, port: int | None, nodes: str) -> None:
    """Runs Apache Kafka on 127.0.0.1 until Ctrl-C.

    The first line on standard output is its address. Needs Java 17 or later, and Maven the first time.

    With `--nodes 3` there are three brokers on three ports, `--port` being the first one's, and each topic has three
    replicas, of which two must have a record before it counts. Standard error names each node's process, so that one
    can be killed. Two go on without the third; with fewer the command ends.

    \b
    Examples:
      sluice broker run --data var/kafka --port 9092
      sluice broker run --nodes 3
    """
    signal.signal(signal.SIGINT, _tell)
    signal.signal(signal.SIGTERM, _tell)
    try:
        if nodes == "1":
            _run_one(data, port)
        else:
            _run_several(data, port, int(nodes))
    except _SignalReceived:
        pass


def _run_one(data: str | None, port: int | None) -> None:
    with RealBroker(data, port) as kafka:
        click.echo(kafka.address)
        while not kafka.wait(3600):
            pass
        raise UnreachableError(f"Apache Kafka has ended by itself: {kafka.complaint()}")


def _run_several(data: str | None, port: int | None, nodes: int) -> None:
    with RealCluster(data, port, count=nodes) as kafka:
        click.echo(kafka.address)
        for number, node in kafka.nodes.items():
            say(f"node {number} is process {node.pid} at {node.address}")
        running = kafka.running
        while kafka.has_quorum:
            time.sleep(LOOK_SECONDS)
            for number in set(running) - set(kafka.running):
                complaint = kafka.nodes[number].complaint()
                say(f"node {number} has ended by itself: {complaint}; {len(kafka.running)} of {nodes} run")
            running = kafka.running
        raise UnreachableError("Apache Kafka has ended by itself: too few of its nodes run")


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
        say(f"{name} has another retention now")
    rest = "what else was there" if changed else "what was there"
    say(f"{len(made)} of {len(topics.TOPICS)} topics made; {rest} is left as it is")


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
    say("the topics are as declared")


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
    from ..engine.installation import present_group

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

    from ..engine import topic_repair
    from ..engine.signing import load_signer

    settings = broker_settings(obj, flags)
    signer = None if key is None else load_signer(Path(key))
    for one in asyncio.run(topic_repair.adopt(settings, topic, signer)):
        click.echo(f"{one.topic} {one.was} {one.id}")
    say("written; each lane that has refused the topic takes it in with its next block")


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
    from ..engine import topic_repair

    async def run() -> int:
        moved = 0
        async for one in topic_repair.drain(broker_settings(obj, flags)):
            click.echo(f"{one.topic} {one.partition} {one.records}")
            moved += one.records
        return moved

    say(f"{asyncio.run(run())} records moved to partitions that lanes read")


def _settings(obj: dict[str, Any], retentions: tuple[str, ...], flags: dict[str, Any]) -> Settings:
    from ..kafka.topics import retentions as read_retentions

    settings = broker_settings(obj, {**flags, "retention": ",".join(retentions) or None})
    read_retentions(settings)  # a wrong one is told before a broker is asked for
    return settings


@click.command()
@click.option("--policy", metavar="FILE", help="Policy that starts a new ledger [the reference policy].")
@broker
@topic_prefix
@partitions
@click.option("--instance", metavar="NAME", help="Name as a static member of the group, such as the pod's.")
@click.option("--processes", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes.")
@log_level
@click.pass_obj
def worker(obj: dict[str, Any], processes: int, **flags: Any) -> None:
    """Runs the lanes until Ctrl-C or SIGTERM.

    Workers share the lanes out among themselves; a ledger that is there keeps its own policy, whatever --policy says.

    \b
    Example:
      sluice worker --policy policy.toml --broker kafka://127.0.0.1:9092 --processes 4
    """
    from ..engine.worker import run_worker, run_workers

    settings = load_settings(obj["config_file"], flags)
    policy = read_policy(settings)
    if processes == 1:
        run_worker(settings, policy)
    else:
        sys.exit(run_workers(settings, policy, processes))


def read_policy(settings: Settings) -> Policy:
    """The policy of the settings' file, or the reference policy where none is named.

    Raises:
        UsageError: the file cannot be read, is no policy (all its errors at once), lists a key as signed by one that
            did not sign it, or needs a secret that is not set.
    """
    from ...streams.policy.policy import DEFAULT_POLICY
    from ...streams.policy.policy_toml import PolicyError, load_policy, locate

    if settings.policy is None:
        return DEFAULT_POLICY
    text = policy_text(settings.policy)
    policy = load_policy(text, settings.policy)
    if false := locate(text, policy.false_successors()):
        raise PolicyError(settings.policy, false)
    if policy.privacy.hashes and settings.privacy_secret is None:
        # Left out they could be for good reason; but then the policy says so. Lanes of a worker that forgot its secret
        # would leave out what the others hash, and what was left out nobody can put back.
        raise UsageError(
            "the policy hashes identifiers, and there is no secret to hash them with",
            path=settings.policy,
            hint='set privacy_secret (SLUICE_PRIVACY_SECRET), or say "omitted"',
        )
    return policy


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": [], "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def faust(obj: dict[str, Any], arguments: tuple[str, ...]) -> None:
    """Faust's own commands on our app.

    \b
    Example:
      sluice faust agents
      sluice faust --help
    """
    from faust.cli.faust import cli

    from ..engine.app import create_app

    settings = load_settings(obj["config_file"], {})
    app = create_app(settings, policy=read_policy(settings))
    app.finalize()
    cli.epilog = "\b\nExample:\n  sluice faust agents"  # of its --help, which is Faust's own
    cli.main(args=list(arguments), prog_name="sluice faust", app=app)
