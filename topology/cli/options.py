"""The options that several commands share: each is a setting of the same name (settings.py)."""

from __future__ import annotations

from typing import get_args

import click

from ..settings import LogLevel

broker = click.option("--broker", metavar="URL", help="Kafka's address, as kafka://host:port[,host:port].")
topic_prefix = click.option("--topic-prefix", help="Put before every topic's name.")
partitions = click.option("--partitions", type=int, help="Partitions of every topic of the lane group.")
replication = click.option("--replication", type=int, help="Replication factor.")
log_level = click.option(
    "--log-level", type=click.Choice(get_args(LogLevel)), help="Least severity that is logged [info]."
)
