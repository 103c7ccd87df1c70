"""A command's standard streams and its end: lines in, lines out, progress on standard error, the exit status."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar

import click
import msgspec
from click.exceptions import Exit, NoArgsIsHelpError

from ...codecs.errors import Fault, SluiceError, UnreachableError, UsageError, printable
from ...codecs.json_text import repeated_member
from ..settings.files import open_plain

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def standard_streams() -> Generator[None]:
    """Has `sys.stdin` and `sys.stdout` tell what is wrong with them; at the end everything is written out.

    Streams that somebody has put in their place (a test's) are left alone.

    Raises:
        Exit: with 0, nobody reads standard output any more.
        UnreachableError: standard output cannot be written to.
        UsageError: a command needs a stream that is closed.
    """
    before = sys.stdin, sys.stdout
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed("standard input is closed", "name a file, or feed it")))
    if sys.stdout is None:
        closed = _Closed("standard output is closed", "give it a file, or /dev/null")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(closed))
    elif sys.stdout is sys.__stdout__:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Output(sys.stdout.fileno(), "wb", closefd=False)),
            encoding=sys.stdout.encoding,
            # No character ends a command: what the encoding has not is shown as an escape.
            errors="backslashreplace" if sys.stdout.errors == "strict" else sys.stdout.errors,
            line_buffering=bool(sys.stdout.line_buffering),
        )
    try:
        yield
    finally:
        try:
            if not sys.stdout.closed:
                sys.stdout.flush()
        finally:
            sys.stdin, sys.stdout = before


def write_document(value: Any) -> None:
    """One JSON document on standard output, for people to read: indented, in UTF-8 whatever the terminal's encoding.

    Characters that a terminal obeys, as those that turn a line round, stand there as JSON's escapes of them.
    """
    from ..settings.showing import escaped

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.buffer.write("\n".join(map(escaped, text.split("\n"))).encode() + b"\n")
    sys.stdout.buffer.flush()


def write_text(path: str, text: str, what: str) -> None:
    """Writes a file of a person's. UsageError: it cannot be written; `what` names it in that sentence."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{what} cannot be written: {error.strerror}", path=path) from None


def write_lines(lines: Iterable[str]) -> None:
    """Lines on standard output, in UTF-8 whatever the locale says: assertions are in any language."""
    for line in lines:
        sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def present(table: Callable[[Console], object], lines: Iterable[str]) -> None:
    """What a command found, for people: a table on a terminal, lines elsewhere."""
    if not sys.stdout.isatty():
        write_lines(lines)
        return
    from rich.console import Console

    table(Console())


class _Output(io.FileIO):
    """Standard output. After the first failure it takes everything, so that no buffer fails once more at the end."""

    _failed = False

    def write(self, raw: Any, /) -> int | None:
        if self._failed:
            return len(raw)
        try:
            return super().write(raw)
        except BlockingIOError:
            raise
        except OSError as error:
            self._failed = True
            if error.errno == errno.EPIPE:
                raise Exit(0) from None
            raise UnreachableError(f"cannot write to standard output: {error.strerror}") from None


class _Closed(io.RawIOBase):
    """Stands in for a stream that is closed: a command that does not need it never notices."""

    def __init__(self, what: str, hint: str) -> None:
        self._what, self._hint, self._reported = what, hint, False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> NoReturn:
        raise UsageError(self._what, hint=self._hint)

    def write(self, raw: Any, /) -> int:
        if self._reported:
            return len(raw)
        self._reported = True
        raise UsageError(self._what, hint=self._hint)


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
    from ..settings.showing import escaped

    sys.stdout.buffer.write(escaped(_encoder.encode(value).decode()).encode() + b"\n")


def shown_name(file: str) -> str:
    """A file's name for a person: `-` is standard input."""
    return "standard input" if file == "-" else file


def tell_repeated(number: int, line: bytes | Fault) -> None:
    """Warns of a member that occurs twice in one object of a line that was taken."""
    name = None if isinstance(line, Fault) else repeated_member(line)
    if name is not None:
        say(f"line {number}: the member {name!r} occurs twice in one object; the last one counts")


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


T = TypeVar("T")

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""


def ended(command: Callable[[], Any], debug: bool) -> int:
    """Runs a command that leaves its exceptions to us, and returns its exit status.

    Args:
        command: Click's, without its standalone mode: it returns the status of `Exit`, as of `--help`, or None.
        debug: our errors and strangers' are raised, for the traceback.
    """
    try:
        with standard_streams():
            status = command()
        return status if isinstance(status, int) else 0
    except Exit as end:
        return end.exit_code
    except NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        say(_usage(error))
        return error.exit_code
    except SluiceError as error:
        if debug:
            raise
        say(str(error))
        return error.exit_status
    except Exception as error:  # a stranger gets a sentence, `--debug` the traceback
        if isinstance(error, click.Abort) and not isinstance(error.__cause__, EOFError):
            say("interrupted")
            return INTERRUPTED
        if debug:
            raise
        stranger = error.__cause__ if isinstance(error, click.Abort) and error.__cause__ else error
        say(f"{type(stranger).__name__}: {stranger}; run again with --debug for the traceback")
        return 1


def run_to_its_end(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """`asyncio.run`, which waits without a bound for every task that is left; here they get some time to end.

    Args:
        work: what to run.
        seconds: how long the tasks that are left may take to end once they are cancelled, and then the generators.
            Threads are waited for when the process ends.

    Raises:
        Exception: what the work raises.
    """
    import asyncio  # most commands run without it, and it takes a tenth of a short one to import

    from ..settings.process import end_what_is_left

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work)
    finally:
        try:
            loop.run_until_complete(end_what_is_left(seconds))
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _usage(error: click.ClickException) -> str:
    """Click's message in one line, and where the right usage stands."""
    what = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return what if context is None else f"{what}; see {context.command_path} --help"


def say(sentence: str) -> None:
    """A sentence of ours on standard error."""
    click.echo(f"sluice: {printable(sentence)}", err=True)


Tell = Callable[[int, int, int], None]
"""Told an offset, the first one and the end."""


@contextmanager
def reading(what: str) -> Generator[Tell]:
    """A bar on standard error while the ledger is read; also the moment between two blocks, for the collector."""
    from ..settings.process import Collector

    collector = Collector()
    collector.start()
    try:
        with _bar(what) as tell:

            def callback(offset: int, first: int, end: int) -> None:
                collector.between_blocks()
                tell(offset, first, end)

            yield callback
    finally:
        collector.stop()


@contextmanager
def _bar(what: str) -> Generator[Tell]:
    if not sys.stderr.isatty():
        yield lambda offset, first, end: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda offset, first, end: bar.update(task, completed=offset + 1 - first, total=max(1, end - first))
