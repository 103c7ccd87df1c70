"""The options that several commands share: each is a setting of the same name (settings.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import click

from ...codecs.errors import UsageError
from ..settings.settings import LogLevel

broker = click.option("--broker", metavar="URL", help="Kafka's address, as kafka://host:port[,host:port].")
topic_prefix = click.option("--topic-prefix", help="Put before every topic's name.")
partitions = click.option("--partitions", type=int, help="Partitions of every topic of the lane group.")
replication = click.option("--replication", type=int, help="Replication factor [as many as brokers, up to 3].")
retention = click.option(
    "--retention",
    "retentions",
    metavar="TOPIC=DURATION",
    multiple=True,
    help="How long an input or output keeps records, such as dead-letters=1d; may be repeated.",
)
root = click.option(
    "--root",
    "roots",
    metavar="[NAME=]DIR",
    multiple=True,
    help="A repository or folder to look at, by a name of its own or as the default; may be repeated. Else as "
    "configured, or here.",
)
log_level = click.option(
    "--log-level", type=click.Choice(get_args(LogLevel)), help="Least severity that is logged [info]."
)


def root_setting(roots: Sequence[str]) -> str | None:
    """The setting `root` that the options name; None where none was given.

    Raises:
        UsageError: two have one name, or a folder's name holds the mark that stands between several.
    """
    from ..observers.roots import SEPARATOR, Roots

    if not roots:
        return None
    Roots.parse(roots)
    if len(roots) > 1 and any(SEPARATOR in one for one in roots):
        raise UsageError("the name of a root holds a line end", expected="one such folder alone, or none")
    return SEPARATOR.join(roots)
