"""`sluice what-if`: the past under another policy."""

from __future__ import annotations

import asyncio
import errno
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs import times
from ...codecs.errors import UsageError
from ..settings.settings import Settings
from . import bars
from .options import broker, broker_settings, time_of, topic_prefix
from .policy_command import sound_policy
from .standard_streams import present, write_lines

if TYPE_CHECKING:
    from ...streams.policy.policy import Policy
    from ..explain.what_if_compare import Comparison


@click.command("what-if")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="The policy to decide by.")
@click.option("--since", metavar="TIME", help="Only what came from then on: RFC 3339, Unix ms, or back (10m).")
@click.option("--until", metavar="TIME", help="Only what came up to then.")
@click.option("--lane", type=click.IntRange(min=0), help="Only this lane [all].")
@click.option("--offline", metavar="DIR", help="Read an export (`sluice audit --export DIR`) instead of a broker.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write the assertions that change to a CSV file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, sluice:WhatIf.")
@broker
@topic_prefix
@click.pass_obj
def what_if(
    obj: dict[str, Any],
    policy_file: str,
    since: str | None,
    until: str | None,
    lane: int | None,
    offline: str | None,
    csv_file: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Folds the past under another policy, and tells what would have been decided otherwise.

    Compares the last status and reason of each assertion (discarded ones too; renewed counts as admitted) under the
    policies that the ledger has and under FILE in their place, from the ledger's beginning. --since and --until choose
    assertions by when they came; each is followed to its end.

    What people and machines did because of the old decisions cannot be undone: re-emissions and reviews come as they
    came, whether or not the new policy would have asked for them.

    \b
    Example:
      sluice what-if --policy stricter.toml --since 24h
      sluice what-if --policy stricter.toml --offline march/ --csv changed.csv
    """
    from ..explain.what_if_compare import Comparison

    settings = broker_settings(obj, flags)
    policy = sound_policy(policy_file, None)
    comparison = Comparison(*_bounds(since, until))
    if csv_file is not None:
        _demand_writable(csv_file)
    folder = None if offline is None else Path(offline)
    where, lanes = asyncio.run(_compared(settings, folder, lane, policy, comparison))
    if csv_file is not None:
        _write(csv_file, comparison)
    _print(comparison, policy.hash, lanes, where, as_json)


def _bounds(since: str | None, until: str | None) -> tuple[int | None, int | None]:
    first, last = time_of("--since", since), time_of("--until", until)
    if first is not None and last is not None and last < first:
        expected = f"a time from --since on, {times.format_time(first)}"
        raise UsageError("is before --since", path="--until", expected=expected, got=times.format_time(last))
    return first, last


async def _compared(
    settings: Settings, folder: Path | None, lane: int | None, policy: Policy, comparison: Comparison
) -> tuple[str, list[int]]:
    from ..explain.what_if import what_if
    from ..ledger.log_reader import open_logs

    async with open_logs(settings, folder) as logs:
        if lane is not None and lane >= logs.lanes:
            raise UsageError("there is no such lane", path="--lane", expected=f"0 to {logs.lanes - 1}", got=str(lane))
        lanes = list(range(logs.lanes)) if lane is None else [lane]
        for one in lanes:
            with bars.reading(f"folding lane {one} twice") as tell:
                await what_if(logs, one, policy, comparison, tell)
        return logs.where, lanes


def _demand_writable(name: str) -> None:
    """That the CSV file can be written, as far as one sees without touching it: found now, not after a long fold.

    Raises:
        UsageError: it cannot.
    """
    folder = os.path.dirname(name) or "."
    if os.path.isdir(name):
        why = os.strerror(errno.EISDIR)
    elif not os.path.isdir(folder):
        why = os.strerror(errno.ENOENT)
    elif not os.access(name if os.path.exists(name) else folder, os.W_OK):
        why = os.strerror(errno.EACCES)
    else:
        return
    raise _cannot_write(name, why)


def _cannot_write(name: str, why: str | None) -> UsageError:
    return UsageError(f"cannot write the CSV file: {why}", path=name, hint="name another file after --csv")


def _write(name: str, comparison: Comparison) -> None:
    from ..explain.what_if_view import write_csv

    try:
        with open(name, "w", encoding="utf-8", newline="") as file:
            write_csv(comparison, file)
    except OSError as error:
        raise _cannot_write(name, error.strerror) from None


def _print(comparison: Comparison, policy: str, lanes: list[int], where: str, as_json: bool) -> None:
    from ..explain import what_if_view

    if as_json:
        found = what_if_view.report(comparison, policy, lanes, where)
        write_lines([msgspec.json.encode(found).decode()])
    else:
        present(partial(what_if_view.show, comparison), what_if_view.lines(comparison))
