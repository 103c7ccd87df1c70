"""`sluice broker run`: a real Apache Kafka for development and tests, until it is told to end."""

from __future__ import annotations

import signal
import time
from types import FrameType

import click

from ...codecs.errors import UnreachableError
from ..brokers import RealBroker, RealCluster

LOOK_SECONDS = 0.5
"""So often it is asked which nodes of a cluster still run."""


@click.group()
def broker() -> None:
    """A real Kafka for development, of one node or three."""


class _SignalReceived(BaseException):
    """SIGINT or SIGTERM came. Not an Exception: nobody on the way may take it for a failure of their own."""


def _tell(number: int, frame: FrameType | None) -> None:
    # The first signal ends us in order; one more must not break off the ending.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _SignalReceived


@broker.command()
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
            click.echo(f"sluice: node {number} is process {node.pid} at {node.address}", err=True)
        running = kafka.running
        while kafka.has_quorum:
            time.sleep(LOOK_SECONDS)
            for number in set(running) - set(kafka.running):
                click.echo(
                    f"sluice: node {number} has ended by itself: {kafka.nodes[number].complaint()}; "
                    f"{len(kafka.running)} of {nodes} run",
                    err=True,
                )
            running = kafka.running
        raise UnreachableError("Apache Kafka has ended by itself: too few of its nodes run")
