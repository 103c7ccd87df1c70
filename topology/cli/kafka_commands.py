"""`sluice produce` and `sluice consume`: records into the input topics and out of the output topics."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, get_args

import click

from ...codecs.errors import Fault, UsageError, printable
from ...codecs.records import Status
from ...codecs.signatures import Signing
from ..kafka.input_records import INPUT_TOPICS, Prepared, prepare
from ..settings.process import now_ms
from ..settings.settings import Settings
from ..settings.showing import DECIDED, OUTPUT_TOPICS, Shown, columns, is_past, parse, row, what_holds
from .options import broker, broker_settings, time_of, topic_prefix
from .standard_streams import files_argument, read_lines, say, tell_repeated, write_line

if TYPE_CHECKING:
    from ..kafka.topic_reader import PassedOver, Told

TABLE_ROWS = 500
"""A table is printed after so many records: one of a million rows would be printed never."""
QUIET_SECONDS = 3.0
"""After so long without a record, who follows is told what is pending."""
WIDE = 160
"""Columns of a terminal on which the six of a decision leave room for what was checked."""


@click.command()
@click.argument("topic", type=click.Choice(OUTPUT_TOPICS), default="admitted")
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--since", metavar="TIME", help="From this time on: RFC 3339, Unix ms, or a duration back (10m).")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(get_args(Status)), help="Only these; repeatable."
)
@click.option("--all", "everything", is_flag=True, help="Also what is past its valid_until.")
@click.option("--current", is_flag=True, help="Only the last word of each assertion, where it still holds.")
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on a terminal as well.")
@broker
@topic_prefix
@click.pass_obj
def consume(
    obj: dict[str, Any],
    topic: str,
    follow: bool,
    since: str | None,
    statuses: tuple[str, ...],
    everything: bool,
    current: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Reads `admitted`, or another output topic, from its beginning to its present end.

    A table shows what was checked first: that is what is admitted. The emitter's own words stand beside it, with
    [unchecked] for what no check speaks of. Leaves out what is past its valid_until. Characters that a terminal would
    obey are shown as \\uXXXX. Where there is nothing to print, standard error says how many assertions wait for a
    verdict, and until when. A batch that cannot be read is passed over: standard error says so, and the exit status
    is 1.

    \b
    Example:
      sluice consume --current
      sluice consume inadmissible --status below-floor --since 10m --follow
    """
    if statuses and topic not in DECIDED:
        raise UsageError(f"records of {topic} have no status", path="--status", hint="leave it out")
    if current and (follow or everything or topic != "admitted"):
        raise UsageError("goes with admitted alone, without --follow and --all", path="--current")
    settings, start = broker_settings(obj, flags), time_of("--since", since)
    wanted = _Wanted(frozenset(statuses), everything)
    passed = list[str]()

    def tell(_: Any, one: PassedOver) -> None:
        passed.append(one.why)
        say(f"{printable(one.why)}; it is passed over")

    shown = _chosen(settings, topic, start, follow, wanted, current, tell)
    printing = _print_lines(shown) if as_json or not sys.stdout.isatty() else _print_tables(topic, shown, follow)
    try:
        all_json = asyncio.run(_print_with_pending(printing, settings, topic, wanted, follow))
    except KeyboardInterrupt:
        if not follow:
            raise
        return  # how following ends
    if passed or not all_json:
        sys.exit(1)


class _Wanted:
    """Which records the flags ask for.

    Attributes:
        asked: about how many it was asked.
        kept: how many of them it wanted.
    """

    def __init__(self, statuses: frozenset[str], everything: bool) -> None:
        self._statuses, self._everything = statuses, everything
        self.asked = self.kept = 0

    def __call__(self, shown: Shown) -> bool:
        is_wanted = self._is_wanted(shown)
        self.asked += 1
        self.kept += is_wanted
        return is_wanted

    def _is_wanted(self, shown: Shown) -> bool:
        if self._statuses and shown.value.get("status") not in self._statuses:
            return False
        return self._everything or not is_past(shown, now_ms())


async def _print_with_pending(
    printing: Coroutine[Any, Any, bool], settings: Settings, topic: str, wanted: _Wanted, follow: bool
) -> bool:
    """Prints; where nothing is printed, standard error says what is pending: at the end, or after a while."""
    later = asyncio.create_task(_tell(settings, topic, wanted, QUIET_SECONDS)) if follow else None
    try:
        all_json = await printing
        if not follow:
            await _tell(settings, topic, wanted, 0)
        return all_json
    finally:
        if later is not None:
            later.cancel()
            await asyncio.gather(later, return_exceptions=True)


async def _tell(settings: Settings, topic: str, wanted: _Wanted, after: float) -> None:
    from .pending import pending_sentence

    await asyncio.sleep(after)
    if wanted.kept:
        return
    said = await pending_sentence(settings, topic, now_ms(), wanted.asked)
    if said is not None and not wanted.kept:
        say(f"{printable(said)}")


async def _chosen(
    settings: Settings, topic: str, since: int | None, follow: bool, wanted: _Wanted, current: bool, tell: Told
) -> AsyncGenerator[Shown, None]:
    from ..kafka.topic_reader import read

    async with aclosing(read(settings, topic, since=since, follow=follow, tell=tell)) as records:
        if current:
            last_words = what_holds([parse(topic, record) async for record in records], now_ms())
            for shown in filter(wanted, last_words):
                yield shown
            return
        async for record in records:
            shown = parse(topic, record)
            if wanted(shown):
                yield shown


async def _print_lines(records: AsyncGenerator[Shown, None]) -> bool:
    """One JSON line a record; False where a record was not JSON."""
    all_json = True
    async with aclosing(records):  # where the reader of our output goes away, the consumer is closed in order
        async for shown in records:
            sys.stdout.buffer.write(shown.json.encode() + b"\n")
            sys.stdout.buffer.flush()
            all_json = all_json and shown.is_json
    return all_json


async def _print_tables(topic: str, records: AsyncIterator[Shown], follow: bool) -> bool:
    """Tables of `TABLE_ROWS` records, or, where one follows, of one; False where a record was not JSON."""
    from rich.console import Console

    console, all_json = Console(), True
    narrow = console.width < WIDE
    rows: list[list[str]] = []
    async for shown in records:
        rows.append(row(topic, shown, narrow=narrow))
        all_json = all_json and shown.is_json
        if follow or len(rows) >= TABLE_ROWS:
            console.print(_table(columns(topic, narrow=narrow), rows, follow))
            rows = []
    if rows:
        console.print(_table(columns(topic, narrow=narrow), rows, follow))
    return all_json


def _table(heads: Sequence[str], rows: list[list[str]], follow: bool) -> Any:
    from rich.box import HEAVY_HEAD
    from rich.table import Table
    from rich.text import Text

    # One record at a time: no heads, and full width, so that columns stay in place from one to the next.
    table = Table(
        show_header=not follow,
        show_lines=True,
        expand=follow,
        box=None if follow else HEAVY_HEAD,
    )
    for head in heads:
        # Half a name or a number in a sentence would say another thing, so nothing is cut.
        table.add_column(head, overflow="fold")
    for cells in rows:
        table.add_row(*(Text(cell) for cell in cells))
    return table


PROGRESS_EVERY = 500


@click.command()
@files_argument
@click.option("--topic", type=click.Choice(INPUT_TOPICS), help="Where every line belongs [its fields tell].")
@click.option(
    "--producer-key",
    metavar="FILE",
    type=click.Path(),
    help="The private key that signs each line; else as configured.",
)
@broker
@topic_prefix
@click.pass_obj
def produce(obj: dict[str, Any], files: tuple[str, ...], topic: str | None, **flags: Any) -> None:
    """Sends lines of JSON: emissions, observations, sightings, reviews or attestations.

    A line that is not valid is not sent, but answered on standard output with the reason; the others go on, and the
    exit status is 1 at the end. An emission without emitted_at gets the present time. With a private key, lines that
    have no signature are signed.

    \b
    Example:
      sluice produce examples/emissions.jsonl --broker kafka://127.0.0.1:9092
    """
    from ..engine.signing import signing_of
    from ..kafka.produce import Sender

    settings = broker_settings(obj, flags)
    signing = signing_of(settings)
    sent: Counter[str] = Counter()
    refused = 0
    with _progress() as tell, Sender(settings) as sender:
        for prepared in _prepared(files, topic, signing):
            if isinstance(prepared, Prepared):
                sender.send(prepared)
                sent[prepared.topic] += 1
            else:
                refused += 1
                write_line(prepared)
                sys.stdout.buffer.flush()
            if (sent.total() + refused) % PROGRESS_EVERY == 0:
                tell(_count(sent, refused))
    say(f"{_count(sent, refused)}")
    if refused:
        sys.exit(1)


def _prepared(
    files: tuple[str, ...], topic: str | None, signing: Signing | None
) -> Iterator[Prepared | dict[str, Any]]:
    """Each line as a record to send, or as the answer to a line that is not valid (docs/reference/commands.md)."""
    for number, line in read_lines(files):
        result = line if isinstance(line, Fault) else prepare(line, topic, time.time_ns() // 1_000_000, signing)
        if isinstance(result, Fault):
            yield {"line": number, "error": {"reason": result.reason, "detail": result.detail}}
        else:
            tell_repeated(number, line)
            yield result


def _count(sent: Counter[str], refused: int) -> str:
    by_topic = ", ".join(f"{number} {topic}" for topic, number in sorted(sent.items())) or "nothing"
    return f"sent {by_topic}" + (f"; {refused} refused" if refused else "")


@contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """A line that changes in place on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("sending") as status:
        yield lambda text: status.update(text)
