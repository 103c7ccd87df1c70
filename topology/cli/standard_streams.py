"""Standard input and output as commands use them: what goes wrong with them says so by itself.

An error of writing has no file's name in it: code that catches it later cannot tell standard output from a socket or a
snapshot. So the streams themselves raise what is meant (docs/reference/commands.md): a reader that has gone (`| head`)
ends the command in order, a full disk is a dependency that is not to be had, a closed stream is wrong usage.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from click.exceptions import Exit

from ...codecs.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def standard_streams() -> Iterator[None]:
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
    from ..terminal.showing import escaped

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.buffer.write("\n".join(map(escaped, text.split("\n"))).encode() + b"\n")
    sys.stdout.buffer.flush()


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
