"""`sluice audit`: the ledger, the outputs and the checkpoints held against one another."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs import times
from ...codecs.errors import UsageError
from ..settings.settings import Settings
from .filter_commands import read_policy
from .options import broker, broker_settings, time_of, topic_prefix
from .proof_commands import listed_keys, read_verifier
from .standard_streams import say, write_text

if TYPE_CHECKING:
    from ..audit.report import AuditProgress, Report

DRAW_SECONDS = 0.1
TELL_SECONDS = 5.0
"""In a pipe, a line as often as that."""


@click.command()
@click.option("--lane", "lanes", type=click.IntRange(min=0), multiple=True, metavar="N", help="This one; repeatable.")
@click.option("--since", metavar="TIME", help="Compare outputs from this block time on: RFC 3339, Unix ms, or 10m ago.")
@click.option("--until", metavar="TIME", help="Compare outputs up to this block time.")
@click.option("--export", "into", metavar="DIR", help="Write what is read into files first, and audit those.")
@click.option("--offline", metavar="DIR", help="Audit an export instead of a broker.")
@click.option("--key", "keys", multiple=True, metavar="KEY", help="Believe this verifier, or a file's; repeatable.")
@click.option("--policy", "policy_file", metavar="FILE", help="Believe its checkpoint keys, each in its time.")
@click.option("--processes", type=click.IntRange(1, 256), default=1, show_default=True, help="Lanes at once.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--html", metavar="FILE", help="Write the report as one self-contained page besides.")
@broker
@topic_prefix
@click.option("--app-id", help="The application's name, which checkpoints bear.")
@click.pass_obj
def audit(
    obj: dict[str, Any],
    lanes: tuple[int, ...],
    since: str | None,
    until: str | None,
    into: str | None,
    offline: str | None,
    keys: tuple[str, ...],
    policy_file: str | None,
    processes: int,
    as_json: bool,
    html: str | None,
    **flags: Any,
) -> None:
    """Folds every lane's ledger again and compares; exits with 1 where anything diverges.

    Checks every block's bytes, links, times, input ranges, policy, fold version and outputs root, every checkpoint, and
    each record on the output topics, byte for byte. --since and --until restrict which divergences of outputs are told:
    the chain and the checkpoints are checked as a whole, and the fold starts at the ledger's beginning all the same.

    Without --key and --policy signatures are not checked, and that nothing is missing at the end is not shown; after a
    change of keys name every key that was ever used. A key that --policy lists counts in its own time only: not before
    `since`, nor after `until` or `revoked`. Take that file from where you trust it, since a forged ledger could name
    any key.

    \b
    Example:
      sluice audit --key sluice.pub --html report.html
      sluice audit --export march/ && sluice audit --offline march/ --json
    """
    from ..audit.report import Span
    from ..audit.report_page import page
    from ..audit.run import AuditRequest
    from ..engine.trust import revoked_keys

    if into is not None and offline is not None:
        raise UsageError("goes with a broker, not with --offline", path="--export")
    settings = broker_settings(obj, flags)
    span = Span(time_of("--since", since) or 0, Span().until if until is None else time_of("--until", until) or 0)
    if span.since > span.until:
        raise UsageError("no time lies in this span", path="--since", expected="a time before --until", got=since or "")
    folder = None if offline is None else Path(offline)
    verifiers = [read_verifier(key) for key in keys]
    listed = () if policy_file is None else listed_keys(policy_file)
    revoked = () if policy_file is None else revoked_keys(read_policy(policy_file))
    if html is not None:
        _demand_writable(Path(html))
    question = AuditRequest(settings, folder, lanes, span, verifiers, processes, listed, revoked)
    report = asyncio.run(_audit(question, None if into is None else Path(into)))
    _tell(report, as_json)
    if html is not None:  # last: if the disk is full by now, the report has been told all the same
        write_text(html, page(report), "the report")
    if not report.holds:
        sys.exit(1)


def _tell(report: Report, as_json: bool) -> None:
    from ..audit.report import lines

    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    elif sys.stdout.isatty():
        _print(report)
    else:
        for line in lines(report):
            click.echo(line)
    sys.stdout.flush()


def _demand_writable(path: Path) -> None:
    """That the page can be written, before hours are spent on what it is to say; what stands there stays for now."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            return  # a pipe: whoever reads it would take our closing it for the end
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(f"cannot write the report: {error.strerror}", path=str(path)) from None


async def _audit(question: Any, into: Path | None) -> Report:
    from ..audit.run import audit

    began = time.monotonic()
    at = times.format_time(time.time_ns() // 1_000_000)
    if into is not None:
        await _export(question.settings, into, at)
        question = question._replace(folder=into)
    first = math.inf

    def tell(progress: AuditProgress) -> None:
        nonlocal first
        first = min(first, progress.at)
        callback(progress)

    with _progress("auditing") as callback:
        report = await audit(question, at, tell, collects=True)
    ended = time.monotonic()
    report.seconds, report.start_seconds = round(ended - began, 3), round(min(first, ended) - began, 3)
    return report


async def _export(settings: Settings, into: Path, at: str) -> None:
    from ..engine.stored_topics import export, open_logs

    async with open_logs(settings) as logs:
        with _exporting() as callback:
            counts = await export(logs, into, at, callback, _tell_gone)
    records = ", ".join(f"{count:,} of {topic}" for topic, count in counts.items() if count)
    say(f"exported to {into}: {records or 'nothing'}")


def _tell_gone(topic: str, lane: int, first: int, last: int) -> None:
    offsets = f"offsets {first:,} to {last:,} of {topic}/{lane}"
    say(f"retention took {offsets} while it was exported; an audit of the export calls them missing")


@contextmanager
def _exporting() -> Generator[Callable[[str, int, int], None]]:
    reported_at = time.monotonic()

    def callback(topic: str, lane: int, offset: int) -> None:
        nonlocal reported_at
        now = time.monotonic()
        if now - reported_at > TELL_SECONDS:
            reported_at = now
            say(f"exporting {topic}/{lane}, offset {offset:,}")

    yield callback


@contextmanager
def _progress(what: str) -> Generator[Callable[[AuditProgress], None]]:
    """A bar for each lane on a terminal, a line every few seconds elsewhere; both on standard error."""
    began = time.monotonic()
    if not sys.stderr.isatty():
        yield _lines(what, began)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"))
    # No thread refreshes the bars: a process that has one is not forked (audit/run.py).
    console, drawn = Console(stderr=True), 0.0
    with Bars(*columns, TimeRemainingColumn(), console=console, transient=True, auto_refresh=False) as bars:
        tasks: dict[tuple[str, int], Any] = {}
        started: dict[tuple[str, int], float] = {}

        def callback(progress: AuditProgress) -> None:
            nonlocal drawn
            key = (progress.fold, progress.lane)
            if key not in tasks:
                started[key] = time.monotonic()
                tasks[key] = bars.add_task(_lane_of(progress), total=max(1, progress.end), rate="")
            rate = progress.inputs / max(0.001, time.monotonic() - started[key])
            bars.update(tasks[key], completed=progress.offset + 1, rate=f"{rate:,.0f} inputs/s")
            if time.monotonic() - drawn > DRAW_SECONDS:
                bars.refresh()
                drawn = time.monotonic()

        yield callback


def _lane_of(progress: AuditProgress) -> str:
    group = "" if progress.fold == "adjudicate" else f"{progress.fold} "
    return f"lane {group}{progress.lane}"


def _lines(what: str, began: float) -> Callable[[AuditProgress], None]:
    reported_at = began
    inputs: dict[tuple[str, int], int] = {}

    def callback(progress: AuditProgress) -> None:
        nonlocal reported_at
        inputs[progress.fold, progress.lane] = progress.inputs
        now = time.monotonic()
        if now - reported_at > TELL_SECONDS:
            reported_at = now
            percent, rate = 100 * (progress.offset + 1) // max(1, progress.end), sum(inputs.values()) / (now - began)
            say(f"{what} {_lane_of(progress)}: {percent}%, {rate:,.0f} inputs/s")

    return callback


def _print(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ..audit.report import COLUMNS, describe, notes, owners, row
    from ..settings.showing import escaped

    console, verdict = Console(highlight=False), report.verdict
    good = {"holds": "green", "shown": "green", "not-shown": "yellow", "broken": "red"}
    console.print(f"[bold]integrity[/]: [{good[verdict.integrity]}]{verdict.integrity}[/]")
    console.print(
        f"[bold]completeness[/]: [{good[verdict.completeness]}]{verdict.completeness}[/], {escape(verdict.why)}"
    )
    table = Table()
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for lane in report.all_lanes:
        table.add_row(*row(lane))
    console.print(table)
    for line in owners(report):
        console.print(escape(escaped(line)), soft_wrap=True)
    for note in notes(report):
        console.print(escape(note))
    for one in report.divergences:
        console.print(escape(escaped(describe(one))), style="red", soft_wrap=True)
