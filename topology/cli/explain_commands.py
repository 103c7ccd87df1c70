"""`sluice explain` and `sluice what-if`: an emission's story from the ledger, and the past under another policy."""

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
from ...codecs.identifiers import parse_span_key
from ..settings.process import now_ms
from ..settings.settings import Settings
from . import standard_streams
from .options import broker, broker_settings, time_of, topic_prefix
from .policy_command import sound_policy
from .standard_streams import present, write_lines

if TYPE_CHECKING:
    from ...streams.policy.policy import Policy
    from ..audit.explanation import Explanation
    from ..audit.what_if import Comparison


@click.command()
@click.argument("emission")
@click.argument("span", required=False)
@click.option("--offline", metavar="DIR", help="Read an export (`sluice audit --export DIR`) instead of a broker.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, sluice:Explanation.")
@broker
@topic_prefix
@click.pass_obj
def explain(
    obj: dict[str, Any], emission: str, span: str | None, offline: str | None, as_json: bool, **flags: Any
) -> None:
    """Tells what became of EMISSION, or of its assertions with one SPAN key, and why.

    What was claimed, what was seen when and by whom, what counted and what did not, what was missing, every verdict,
    until when it held. All of it comes from the ledger of the emission's lane, which is folded again from its
    beginning; only whether something holds *now* is by this machine's clock. A key of the output topics will do as well
    (em-1#c:0-43). An input under another key is in that key's lane, and not part of the story.

    \b
    Example:
      sluice explain em-7f3a
      sluice explain em-7f3a c:0-43 --offline march/ --json
    """
    emission, span = _named(emission, span)
    settings = broker_settings(obj, flags)
    explanation = asyncio.run(_explanation(settings, emission, span, None if offline is None else Path(offline)))
    _print_explanation(explanation, as_json)


def _named(emission: str, span: str | None) -> tuple[str, str | None]:
    """The emission id and the span key, which the former may hold as a Kafka key does. UsageError: the span is none."""
    emission, _, named = emission.partition("#")
    span = span or named or None
    if span is not None and parse_span_key(span) is None:
        raise UsageError("not a span key", path="SPAN", expected="one such as c:0-43, t:name:3-9 or p:/a/b", got=span)
    return emission, span


async def _explanation(settings: Settings, emission: str, span: str | None, folder: Path | None) -> Explanation:
    from ..audit.explain import explain
    from ..engine.stored_topics import open_logs

    with standard_streams.reading(f"folding the lane of {emission}") as tell:
        async with open_logs(settings, folder) as logs:
            return await explain(logs, emission, span, now_ms(), tell)


def _print_explanation(explanation: Explanation, as_json: bool) -> None:
    from ..audit import explanation_view
    from ..settings import showing

    if as_json:
        write_lines([showing.escaped(msgspec.json.encode(explanation).decode())])
    else:
        present(partial(explanation_view.show, explanation), explanation_view.lines(explanation))


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
    from ..audit.what_if import Comparison

    settings = broker_settings(obj, flags)
    policy = sound_policy(policy_file, None)
    comparison = Comparison(*_bounds(since, until))
    if csv_file is not None:
        _demand_writable(csv_file)
    folder = None if offline is None else Path(offline)
    where, lanes = asyncio.run(_compared(settings, folder, lane, policy, comparison))
    if csv_file is not None:
        _write(csv_file, comparison)
    _print_comparison(comparison, policy.hash, lanes, where, as_json)


def _bounds(since: str | None, until: str | None) -> tuple[int | None, int | None]:
    first, last = time_of("--since", since), time_of("--until", until)
    if first is not None and last is not None and last < first:
        expected = f"a time from --since on, {times.format_time(first)}"
        raise UsageError("is before --since", path="--until", expected=expected, got=times.format_time(last))
    return first, last


async def _compared(
    settings: Settings, folder: Path | None, lane: int | None, policy: Policy, comparison: Comparison
) -> tuple[str, list[int]]:
    from ..audit.what_if import what_if
    from ..engine.stored_topics import open_logs

    async with open_logs(settings, folder) as logs:
        if lane is not None and lane >= logs.lanes:
            raise UsageError("there is no such lane", path="--lane", expected=f"0 to {logs.lanes - 1}", got=str(lane))
        lanes = list(range(logs.lanes)) if lane is None else [lane]
        for one in lanes:
            with standard_streams.reading(f"folding lane {one} twice") as tell:
                await what_if(logs, one, policy, comparison, tell)
        return logs.where, lanes


def _demand_writable(name: str) -> None:
    """UsageError: the CSV file cannot be written, as far as one sees without touching it, before a long fold."""
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
    from ..audit.what_if_view import write_csv

    try:
        with open(name, "w", encoding="utf-8", newline="") as file:
            write_csv(comparison, file)
    except OSError as error:
        raise _cannot_write(name, error.strerror) from None


def _print_comparison(comparison: Comparison, policy: str, lanes: list[int], where: str, as_json: bool) -> None:
    from ..audit import what_if_view

    if as_json:
        found = what_if_view.report(comparison, policy, lanes, where)
        write_lines([msgspec.json.encode(found).decode()])
    else:
        present(partial(what_if_view.show, comparison), what_if_view.lines(comparison))
