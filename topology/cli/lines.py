"""Filters: one JSON line in, one JSON line out (docs/reference/commands.md).

Every filter keeps the order, answers every line, takes files or standard input, and goes on after a bad line, which
gets `{"line": n, "error": {"reason": …, "detail": …}}`; the exit status is then 1 at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, BinaryIO

import click
import msgspec

from ...codecs.errors import Fault, UsageError, printable
from ...codecs.not_json import repeated_member
from ..settings.files import open_plain

MAX_LINE = 16 << 20
"""A line longer than this is refused without being read into memory whole."""

_encoder = msgspec.json.Encoder()

files_argument = click.argument("files", nargs=-1, type=click.Path(allow_dash=True))


def read_lines(files: tuple[str, ...]) -> Iterator[tuple[int, bytes | Fault]]:
    """Each non-empty line with its number, counted over all files; standard input where no file is named.

    Raises:
        UsageError: a file cannot be read.
    """
    number = 0
    for name in files or ("-",):
        try:
            stream: BinaryIO = sys.stdin.buffer if name == "-" else open_plain(name)
        except OSError as error:
            why = error.strerror
            raise UsageError(f"cannot read {name!r}: {why}", hint="name a file of JSON lines, or -") from None
        with stream if name != "-" else nullcontext():
            while line := stream.readline(MAX_LINE + 2):
                number += 1
                text = line.rstrip(b"\r\n")
                if len(text) > MAX_LINE:
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(MAX_LINE)
                    yield number, Fault("oversize", f"the line is longer than {MAX_LINE} bytes")
                elif stripped := text.strip():
                    yield number, stripped


def write_line(value: Any) -> None:
    """One JSON line on standard output."""
    sys.stdout.buffer.write(_encoder.encode(value) + b"\n")


def write_escaped_line(value: Any) -> None:
    """As `write_line`, for lines that people read on a terminal too: what a terminal obeys is written as JSON's escape
    of it."""
    from ..terminal.showing import escaped

    sys.stdout.buffer.write(escaped(_encoder.encode(value).decode()).encode() + b"\n")


def shown_name(file: str) -> str:
    """A file's name for a person: `-` is standard input."""
    return "standard input" if file == "-" else file


def tell_repeated(number: int, line: bytes | Fault) -> None:
    """Warns of a member that occurs twice in one object of a line that was taken.

    Args:
        number: of the line.
        line: as it was read.
    """
    name = None if isinstance(line, Fault) else repeated_member(line)
    if name is not None:
        sentence = f"sluice: line {number}: the member {name!r} occurs twice in one object; the last one counts"
        click.echo(printable(sentence), err=True)


def run_filter(files: tuple[str, ...], answer: Callable[[bytes], Any | Fault]) -> None:
    """Answers every line with what `answer` returns: a JSON-ready value, or a Fault. Exits 1 if there was any Fault."""
    run_filter_many(files, lambda line: (answer(line),))


def run_filter_many(
    files: tuple[str, ...], answer: Callable[[bytes], Iterable[Any | Fault]], end: Callable[[], Iterable[Any]] = tuple
) -> None:
    """As `run_filter`, for filters that answer a line with any number of lines, and may have more at the end."""
    bad = False
    for number, line in read_lines(files):
        told = False
        for result in (line,) if isinstance(line, Fault) else answer(line):
            if isinstance(result, Fault):
                bad = True
                write_line({"line": number, "error": {"reason": result.reason, "detail": result.detail}})
            else:
                if not told:
                    tell_repeated(number, line)
                told = True
                write_line(result)
        sys.stdout.buffer.flush()
    for result in end():
        write_line(result)
    sys.stdout.buffer.flush()
    if bad:
        sys.exit(1)
