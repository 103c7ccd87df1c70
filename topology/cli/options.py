"""The options that several commands share, most of them settings (settings.py), and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from ...codecs import times
from ...codecs.errors import UsageError
from ..settings.process import now_ms
from ..settings.settings import LogLevel, Settings, load_settings

if TYPE_CHECKING:
    from ..http.http_server import ListenConfig

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


def config_file(ctx: click.Context) -> str | None:
    """The configuration file that `--config` names."""
    found: dict[str, Any] = ctx.obj or {}
    return found.get("config_file")


def broker_settings(obj: dict[str, Any], flags: dict[str, Any]) -> Settings:
    """The settings of a command that asks a broker. From then on its one sentence is all that an error says.

    Raises:
        UsageError: a setting is wrong.
    """
    from ..kafka import connect

    settings = load_settings(obj["config_file"], flags)
    connect.quiet()
    return settings


def time_of(flag: str, text: str | None) -> int | None:
    """The time that an option names, Unix milliseconds; a duration counts back from now. None where it is not given.

    Raises:
        UsageError: it is neither.
    """
    if text is None:
        return None
    back = times.parse_duration(text)
    if back is not None:
        return max(0, now_ms() - back)
    at = times.parse_time(int(text) if text.isdecimal() and len(text) < 20 else text)
    if at is None:
        raise UsageError("not a time", path=flag, expected=f"{times.EXPECTED}, or a duration such as 10m", got=text)
    return max(0, at)


def door_of(given: dict[str, Any]) -> ListenConfig:
    """The door that options name by its fields; they are taken out of `given`. A client may ask for 2 s at once."""
    from ..http.http_server import ListenConfig

    burst = max(1, round(2 * given["rate"]))
    return ListenConfig(burst=burst, **{name: given.pop(name) for name in ListenConfig._fields if name in given})
