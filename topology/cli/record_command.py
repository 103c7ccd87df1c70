"""`sluice record`: transcripts of agents to emissions, as JSON lines or to where they belong (docs/recording.md)."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final, cast

import click

from ...codecs.errors import UsageError
from .standard_streams import say, shown_name

if TYPE_CHECKING:
    from ...record import Reading, Recorded, Sink
    from ...record.transcripts import Format

FORMATS = ("claude-code", "codex", "openhands", "swe-agent", "otlp")
TOKEN: Final = "SLUICE_RECORD_TOKEN"
"""The variable with the token for --url: a command line can be seen by everybody on the host."""


@click.command()
@click.argument("file", default="-")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What FILE is [found by its content].")
@click.option("--follow", is_flag=True, help="Go on as the agent writes, until stopped.")
@click.option("--emitter", metavar="NAME", default="coding-agent", show_default=True, help="Who emits.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Append to this file.")
@click.option("--broker", metavar="URL", help="Send to Kafka, as kafka://host:port.")
@click.option("--url", metavar="URL", help=f"Post to this address, with the token in {TOKEN} if there is one.")
@click.option("--root", "folder", metavar="DIR", type=click.Path(), help="The checkout that the agent works in.")
@click.option("--streamed", is_flag=True, help="Each statement as a part of its own.")
def record(
    file: str,
    form: str | None,
    follow: bool,
    emitter: str,
    out: str | None,
    broker: str | None,
    url: str | None,
    folder: str | None,
    streamed: bool,
) -> None:
    """Transcripts of agents to emissions, a JSON line for each turn: annotated by what the agent's calls looked at.

    FILE is a transcript, the folder of an OpenHands conversation, a file of OpenTelemetry's GenAI spans (OTLP JSON, one
    object or one a line), or - for standard input. With --root files are read
    to complete what results show in part. What cannot be read is told on standard error, line by line, and at the
    end how many messages and statements were read and how much was not understood; the rest is recorded, and the exit
    status is 1, or 2 where nothing that an agent did or said was read. Ctrl-C ends --follow; the turn that is open is
    recorded first.

    \b
    Example:
        sluice record --format claude-code session.jsonl --root . | sluice look
        sluice record session.jsonl --follow --broker kafka://127.0.0.1:9092
        sluice record --format otlp traces.jsonl --root . --out emissions.jsonl
    """
    from ...record import Problem, Recorder
    from ...record.adapters.otel import is_otlp
    from ...record.transcripts import follow_transcript, open_transcript
    from ..vet.sources import demand_readable

    if sum(one is not None for one in (out, broker, url)) > 1:
        raise UsageError("emissions can go to one place only", expected="one of --out, --broker and --url")
    if folder is not None and not Path(folder).is_dir():
        raise UsageError("there is no such folder", path=folder, hint="name the checkout with --root")
    demand_readable(file)
    if form == "otlp" or (form is None and file != "-" and is_otlp(file)):
        if follow:
            raise UsageError("a file of spans cannot be followed", hint="use the span processor (docs/adapters.md)")
        _record_spans(file, emitter, _sink(out, broker, url), folder, streamed)
        return
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()

    if follow and file != "-":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        events = follow_transcript(file, cast("Format | None", form), stop=stop)
    else:
        events = open_transcript(file, cast("Format | None", form))
    sink = _sink(out, broker, url)
    try:
        recorder = Recorder(emitter, sink, root=folder, streamed=streamed)
        for one in recorder.recording("stdin" if file == "-" else Path(file).stem or "session", events):
            _tell(file, one)
            for sentence in () if isinstance(one, Problem) else one.left_out:
                say(f"{shown_name(file)}: {sentence}")
    finally:
        sink.close()
    _end(file, recorder.reading)


def _record_spans(file: str, emitter: str, sink: Sink, folder: str | None, streamed: bool) -> None:
    """Records each trace as a turn. Standard input is kept in a file first: a trace's spans come in any order."""
    from ...record import Recorder
    from ...record.adapters.otel import record_otlp

    try:
        recorder = Recorder(emitter, sink, root=folder, streamed=streamed)
        if file == "-":
            with TemporaryFile() as kept:
                copyfileobj(sys.stdin.buffer, kept)
                kept.seek(0)
                problems = record_otlp(recorder, kept)
        else:
            problems = record_otlp(recorder, file)
        for problem in problems:
            _tell(file, problem)
    finally:
        sink.close()
    _end(file, recorder.reading, any(one.nothing_read for one in problems))


def _tell(file: str, one: object) -> None:
    """Tells a problem when it comes."""
    from ...record import Problem

    if isinstance(one, Problem):
        say(f"{shown_name(file)}:{one.line}: {one.sentence}")


def _end(file: str, reading: Reading, nothing_read: bool = False) -> None:
    """Says what was read, and ends with the status that this has."""
    nothing_read = nothing_read or reading.is_nothing
    say(f"{shown_name(file)}: {reading}")
    if nothing_read or reading.not_understood:
        sys.exit(2 if nothing_read else 1)


class _Output:
    """A sink that writes JSON lines to standard output."""

    def put(self, record: Recorded) -> None:
        """See `Sink`."""
        sys.stdout.buffer.write(record.value + b"\n")

    def flush(self) -> None:
        """See `Sink`."""
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """See `Sink`."""
        self.flush()


def _sink(out: str | None, broker: str | None, url: str | None) -> Sink:
    from ...record import FileSink, HttpSink, KafkaSink

    if out is not None:
        return FileSink(out)
    if broker is not None:
        return KafkaSink(broker)
    if url is not None:
        return HttpSink(url, os.environ.get(TOKEN) or None)
    return _Output()
