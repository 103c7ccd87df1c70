"""`sluice broker run`: a real Apache Kafka for development and tests, until it is told to end."""

from __future__ import annotations

import signal
from types import FrameType

import click

from ...codecs.errors import UnreachableError
from ..brokers import RealBroker


@click.group()
def broker() -> None:
    """A real single-node Kafka for development."""


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
def run(data: str | None, port: int | None) -> None:
    """Runs Apache Kafka on 127.0.0.1 until Ctrl-C.

    The first line on standard output is its address. Needs Java 17 or later, and Maven the first time.

    \b
    Example:
      sluice broker run --data var/kafka --port 9092
    """
    signal.signal(signal.SIGINT, _tell)
    signal.signal(signal.SIGTERM, _tell)
    try:
        with RealBroker(data, port) as kafka:
            click.echo(kafka.address)
            while not kafka.wait(3600):
                pass
            raise UnreachableError(f"Apache Kafka has ended by itself: {kafka.complaint()}")
    except _SignalReceived:
        pass
