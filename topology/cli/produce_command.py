"""`sluice produce`: lines of JSON to input topics, validated first and keyed rightly."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ...codecs.errors import Fault
from ...codecs.signatures import Signing
from ..kafka.input_records import INPUT_TOPICS, Prepared, prepare
from .lines import files_argument, read_lines, tell_repeated, write_line
from .options import broker, broker_settings, topic_prefix

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
    from ..checkpoints.signing import signing_of
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
    click.echo(f"sluice: {_count(sent, refused)}", err=True)
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
def _progress() -> Iterator[Callable[[str], None]]:
    """A line that changes in place on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("sending") as status:
        yield lambda text: status.update(text)
